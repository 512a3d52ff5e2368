use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, DurationSecondArray,
    Float16Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    LargeStringArray, ListArray, RecordBatch, StringArray, StructArray, Time32SecondArray,
    TimestampMicrosecondArray, TimestampSecondArray, UInt8Array, UInt64Array, record_batch,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use half::f16;

use super::*;

mod hostile;
mod names;
mod text;
mod values;

/// Eight rows of many types; nearly all are null in the sixth.
fn batch() -> RecordBatch {
    let floats = [0.1, 0.0, -0.0, 2.5, f64::NAN, 0.0, f64::INFINITY, -1.5];
    let valid = || Some(NullBuffer::from(vec![true, true, true, true, true, false, true, true]));
    let texts =
        vec![Some("a"), Some(""), Some("A"), Some("abc"), Some("a%c"), None, Some("2020-01-01"), Some("10")];
    let bytes: Vec<Option<&[u8]>> = vec![
        Some(b"a"),
        Some(b""),
        Some(b"\x01\xff"),
        Some(b"abc"),
        Some(b"z"),
        None,
        Some(b"q"),
        Some(b"r"),
    ];
    // 2020-01-01 01:02:03, 2021-05-06 and 1969-01-01.
    let seconds = [1577840523, 1577840523, 1577840523, 1620259200, 1620259200, 0, -31536000, -31536000];
    let micros = seconds.map(|seconds: i64| seconds * 1_000_000).to_vec();
    let stamps = || TimestampMicrosecondArray::new(micros.clone().into(), valid());
    let z = Field::new("z", DataType::Utf8, true);
    let y = StructArray::new(
        Fields::from(vec![z]),
        vec![Arc::new(StringArray::from(vec![
            Some("q"),
            Some("hidden"),
            Some("hidden"),
            None,
            Some("r"),
            Some("a"),
            Some("a"),
            Some("a"),
        ]))],
        Some(NullBuffer::from(vec![true, false, true, true, true, true, true, true])),
    );
    let x = Int32Array::from(vec![Some(1), None, Some(7), Some(3), Some(4), Some(9), Some(9), Some(9)]);
    let st = StructArray::new(
        Fields::from(vec![
            Field::new("x", DataType::Int32, true),
            Field::new("y", y.data_type().clone(), true),
        ]),
        vec![Arc::new(x), Arc::new(y)],
        Some(NullBuffer::from(vec![true, true, false, true, true, true, true, true])),
    );
    let lists = vec![
        Some(vec![Some(1), Some(2)]),
        Some(vec![]),
        None,
        Some(vec![Some(3)]),
        Some(vec![None]),
        Some(vec![Some(1), Some(2), Some(3)]),
        Some(vec![Some(4)]),
        Some(vec![Some(5)]),
    ];
    let dict: DictionaryArray<Int32Type> =
        vec![Some("a"), Some("b"), Some("a"), None, Some("c"), Some("a"), Some("b"), Some("")]
            .into_iter()
            .collect();
    let p53 = 1 << 53;
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "i8",
            Arc::new(Int8Array::from(vec![
                Some(-128),
                Some(-1),
                Some(0),
                Some(1),
                Some(127),
                None,
                Some(5),
                Some(7),
            ])),
        ),
        (
            "u8",
            Arc::new(UInt8Array::from(vec![
                Some(0),
                Some(1),
                Some(2),
                Some(255),
                Some(200),
                None,
                Some(5),
                Some(7),
            ])),
        ),
        (
            "i32",
            Arc::new(Int32Array::from(vec![
                Some(-5),
                Some(0),
                Some(1),
                Some(2),
                Some(3),
                None,
                Some(i32::MAX),
                Some(i32::MIN),
            ])),
        ),
        (
            "i64",
            Arc::new(Int64Array::from(vec![
                Some(-5),
                Some(0),
                Some(1),
                Some(2),
                Some(p53 + 1),
                None,
                Some(i64::MAX),
                Some(i64::MIN),
            ])),
        ),
        (
            "u64",
            Arc::new(UInt64Array::from(vec![
                Some(5),
                Some(0),
                Some(1),
                Some(2),
                Some(9007199254740993),
                None,
                Some(1 << 63),
                Some(u64::MAX),
            ])),
        ),
        ("f16", Arc::new(Float16Array::new(floats.map(f16::from_f64).to_vec().into(), valid()))),
        ("f32", Arc::new(Float32Array::new(floats.map(|float| float as f32).to_vec().into(), valid()))),
        ("f64", Arc::new(Float64Array::new(floats.to_vec().into(), valid()))),
        (
            "b",
            Arc::new(BooleanArray::from(vec![
                Some(true),
                Some(false),
                None,
                Some(true),
                Some(false),
                None,
                Some(true),
                Some(false),
            ])),
        ),
        ("s", Arc::new(StringArray::from(texts.clone()))),
        ("ls", Arc::new(LargeStringArray::from(texts))),
        ("bin", Arc::new(BinaryArray::from(bytes))),
        (
            "d32",
            Arc::new(Date32Array::new(
                vec![18262, 18262, 18262, 18753, 18753, 0, -365, -365].into(),
                valid(),
            )),
        ),
        ("ts", Arc::new(stamps())),
        ("tss", Arc::new(TimestampSecondArray::new(seconds.to_vec().into(), valid()))),
        ("tsz", Arc::new(stamps().with_timezone("UTC"))),
        ("tsp", Arc::new(stamps().with_timezone("Europe/Paris"))),
        (
            "t32",
            Arc::new(Time32SecondArray::from(vec![
                Some(3723),
                Some(3723),
                Some(3723),
                Some(3723),
                None,
                Some(0),
                Some(0),
                Some(0),
            ])),
        ),
        (
            "dur",
            Arc::new(DurationSecondArray::from(vec![
                Some(1),
                Some(2),
                Some(3),
                Some(4),
                None,
                Some(5),
                Some(6),
                Some(7),
            ])),
        ),
        (
            "dec",
            Arc::new(
                Decimal128Array::from(vec![
                    Some(150),
                    Some(0),
                    Some(-125),
                    Some(9999999999),
                    None,
                    Some(200),
                    Some(151),
                    Some(300),
                ])
                .with_precision_and_scale(10, 2)
                .unwrap(),
            ),
        ),
        ("dict", Arc::new(dict)),
        ("l", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
        ("st", Arc::new(st)),
        ("Cap", Arc::new(Int64Array::from_iter_values(0..8))),
        ("with space", Arc::new(Int64Array::from_iter_values(0..8))),
        ("q`uote", Arc::new(Int64Array::from_iter_values(0..8))),
        ("do.t", Arc::new(Int64Array::from_iter_values(0..8))),
        ("lower", Arc::new(Int64Array::from_iter_values(0..8))),
        ("LOWER", Arc::new(Int64Array::from_iter_values(8..16))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

fn bind(text: &str) -> Result<Bound> {
    Expr::parse(text)?.bind(&batch().schema())
}

/// The rows that `text` is true for, or what is wrong with it.
fn passing(text: &str) -> Result<Vec<usize>, String> {
    let matches = bind(text).and_then(|bound| bound.matches(&batch())).map_err(|error| error.to_string())?;
    Ok(matches.values().set_indices().collect())
}

/// Checks filters and the rows that pass them.
fn check(cases: &[(&str, &[usize])]) {
    for (text, expected) in cases {
        assert_eq!(passing(text).as_deref(), Ok(*expected), "{text}");
        // What is printed means the same.
        let printed = Expr::parse(text).unwrap().to_string();
        assert_eq!(passing(&printed).as_deref(), Ok(*expected), "{text} as {printed}");
        assert_eq!(Expr::parse(&printed).unwrap().to_string(), printed);
    }
}

/// Checks what is refused, and what the errors say.
fn refused(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        match passing(text) {
            Ok(rows) => panic!("{text} passes {rows:?}"),
            Err(error) => assert!(error.contains(expected), "{text}: {error}"),
        }
    }
}

/// The value of `text` for one row.
fn value(text: &str, row: usize) -> (DataType, String) {
    let bound = bind(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let values = bound.evaluate(&batch().slice(row, 1)).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(values.data_type(), bound.data_type(), "{text}");
    (values.data_type().clone(), arrow_cast::display::array_value_to_string(&values, 0).unwrap())
}
