//! Columns of many types, made up.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, FixedSizeListBuilder, Float32Builder, Int32Builder, ListBuilder, StringBuilder,
    StringDictionaryBuilder,
};
use arrow_array::types::{Float16Type, Int8Type};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int64Array,
    LargeBinaryArray, LargeStringArray, NullArray, PrimitiveArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray, UInt8Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

/// Which rows are null.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Nulls {
    None,
    Some,
    All,
    Ends,
}

impl Nulls {
    pub(crate) const ALL: [Self; 4] = [Self::None, Self::Some, Self::All, Self::Ends];

    fn valid(self, row: usize, rows: usize) -> bool {
        match self {
            Self::None => true,
            Self::Some => row % 3 != 1,
            Self::All => false,
            Self::Ends => row != 0 && row + 1 != rows,
        }
    }
}

fn options<T>(rows: Range<usize>, nulls: Nulls, value: impl Fn(usize) -> T) -> Vec<Option<T>> {
    let last = rows.end;
    rows.map(|row| nulls.valid(row, last).then(|| value(row))).collect()
}

fn number(row: usize) -> i64 {
    (row as i64).wrapping_mul(2_654_435_761) % 100_003
}

/// A column of every kind.
fn columns(rows: Range<usize>, nulls: Nulls) -> Vec<(&'static str, ArrayRef)> {
    let n = rows.len();
    let valid: Vec<bool> = rows.clone().map(|row| nulls.valid(row, rows.end)).collect();
    let text = |row: usize| format!("row {row} {}", "x".repeat(row % 40));
    let halves = options(rows.clone(), nulls, |row| half::f16::from_f32(row as f32));
    let mut vectors = FixedSizeListBuilder::new(Float32Builder::new(), 3);
    let mut lists = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    let mut names = ListBuilder::new(StringBuilder::new());
    let mut words = StringDictionaryBuilder::<Int8Type>::new();
    let mut wide = BinaryBuilder::new();
    for (row, valid) in rows.clone().zip(&valid) {
        (0..3).for_each(|n| vectors.values().append_value((row * 3 + n) as f32));
        vectors.append(*valid);
        for inner in 0..row % 3 {
            (0..inner).for_each(|n| lists.values().values().append_option((n != 1).then_some(row as i32)));
            lists.values().append(inner != 1);
        }
        lists.append(*valid);
        (0..row % 4).for_each(|n| names.values().append_value(text(row + n)));
        names.append(*valid);
        words.append_option(valid.then_some(["red", "green", "blue"][row % 3]));
        wide.append_option(valid.then(|| vec![row as u8; 600 + row % 100]));
    }
    let members: Vec<(Arc<Field>, ArrayRef)> = vec![
        (
            Arc::new(Field::new("a", DataType::Int64, true)),
            Arc::new(Int64Array::from(options(rows.clone(), Nulls::Some, number))),
        ),
        (
            Arc::new(Field::new("b", DataType::Utf8, true)),
            Arc::new(StringArray::from(options(rows.clone(), Nulls::Ends, text))),
        ),
    ];
    let (fields, arrays): (Vec<_>, Vec<_>) = members.into_iter().unzip();
    let structs = StructArray::new(fields.into(), arrays, Some(NullBuffer::from(valid)));
    let bytes = options(rows.clone(), nulls, |row| text(row).into_bytes());
    let borrowed = bytes.iter().map(|value| value.as_deref()).collect::<Vec<_>>();
    let fixed = options(rows.clone(), nulls, |row| [row as u8; 5]).into_iter();
    let decimals = options(rows.clone(), nulls, |row| i128::from(number(row)) << 40);
    let times = options(rows.clone(), nulls, |row| 1_700_000_000_000_000 + number(row));
    vec![
        ("null", Arc::new(NullArray::new(n))),
        ("bool", Arc::new(BooleanArray::from(options(rows.clone(), nulls, |row| row % 5 < 2)))),
        ("u8", Arc::new(UInt8Array::from(options(rows.clone(), nulls, |row| row as u8)))),
        ("i64", Arc::new(Int64Array::from(options(rows.clone(), nulls, number)))),
        ("constant", Arc::new(Int64Array::from(options(rows.clone(), nulls, |_| 7)))),
        ("f16", Arc::new(PrimitiveArray::<Float16Type>::from(halves))),
        ("f64", Arc::new(Float64Array::from(options(rows.clone(), nulls, |row| row as f64 / 7.0)))),
        ("decimal", Arc::new(Decimal128Array::from(decimals).with_precision_and_scale(38, 10).unwrap())),
        ("time", Arc::new(TimestampMicrosecondArray::from(times).with_timezone("+08:00"))),
        ("string", Arc::new(StringArray::from(options(rows.clone(), nulls, text)))),
        ("large_string", Arc::new(LargeStringArray::from(options(rows.clone(), nulls, text)))),
        ("large_binary", Arc::new(LargeBinaryArray::from(borrowed))),
        ("fixed", Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 5).unwrap())),
        ("vector", Arc::new(vectors.finish())),
        ("lists", Arc::new(lists.finish())),
        ("names", Arc::new(names.finish())),
        ("words", Arc::new(words.finish())),
        ("wide", Arc::new(wide.finish())),
        ("struct", Arc::new(structs)),
    ]
}

pub(crate) fn batch(columns: Vec<(&'static str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

pub(crate) fn every(rows: Range<usize>, nulls: Nulls) -> RecordBatch {
    batch(columns(rows, nulls))
}
