//! Batches to rows.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, Date64Array, Decimal128Array, Decimal256Array, DictionaryArray, DurationSecondArray,
    Int32Array, ListArray, RecordBatch, StructArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt64Array, record_batch,
};
use arrow_buffer::i256;
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};
use fory_row::{BatchRows, DataType, Date, Error, ErrorKind, Field, Format, Layout, Rows, Schema, Timestamp};
use proptest::prelude::*;

use crate::arrays::{Random, batch};
use crate::{config, types, values};

pub(crate) const FORMATS: [Format; 2] = [Format::Standard, Format::Compact];

pub(crate) fn layout(schema: &ArrowSchema, format: Format) -> Layout {
    Layout::new(Schema::from_arrow(schema).unwrap().storable(format), format).unwrap()
}

proptest! {
    #![proptest_config(config(400))]

    /// Rows are the same bytes however they are made: all at once, one by one, and of values.
    #[test]
    fn rows_of_a_batch_are_the_rows_of_its_values(
        schema in types::schema(true),
        rows in 0_usize..150,
        seed: u64,
    ) {
        let batch = batch(&schema, rows, &mut Random(seed));
        for format in FORMATS {
            let layout = layout(&schema, format);
            let encoded = layout.encode_batch(&batch).unwrap();
            prop_assert_eq!(encoded.len(), rows);
            let one_by_one = BatchRows::new(&batch, &layout).unwrap();
            for (index, row) in encoded.iter().enumerate() {
                let mut expected = vec![];
                layout.encode(&values::row(&batch, index), &mut expected).unwrap();
                prop_assert_eq!(row, &expected, "row {} of {:?}", index, format);
                let mut alone = vec![];
                one_by_one.write_row(index, &mut alone).unwrap();
                prop_assert_eq!(&alone, &expected, "row {} of {:?}, alone", index, format);
                prop_assert_eq!(one_by_one.row_len(index).unwrap(), expected.len());
            }
        }
    }
}

/// A layout of one field `f`.
pub(crate) fn one_field(data_type: DataType, nullable: bool, format: Format) -> Layout {
    Layout::new(Schema::new(vec![Field::new("f", data_type, nullable)]).unwrap(), format).unwrap()
}

pub(crate) fn one_column(array: impl Array + 'static) -> RecordBatch {
    RecordBatch::try_from_iter([("f", Arc::new(array) as ArrayRef)]).unwrap()
}

/// The error of both ways to make rows, which is one error.
fn error_of(layout: &Layout, batch: &RecordBatch) -> Error {
    let mut rows = [[7_u8, 7]].into_iter().collect::<Rows>();
    let error = layout.encode_batch_to(batch, &mut rows).unwrap_err();
    assert_eq!((rows.len(), rows.as_bytes()), (1, &[7, 7][..]), "{error}");
    let alone = BatchRows::new(batch, layout).and_then(|view| {
        let mut bytes = vec![7];
        (0..view.len()).try_for_each(|row| {
            let before = bytes.len();
            let written = view.write_row(row, &mut bytes);
            assert_eq!(written.is_ok(), bytes.len() > before);
            written
        })
    });
    let alone = alone.unwrap_err();
    assert_eq!((alone.kind(), alone.row()), (error.kind(), error.row()), "{alone}");
    error
}

#[test]
fn units_are_floored_or_checked() {
    let nanos = TimestampNanosecondArray::from(vec![1_999, -1, i64::MIN, i64::MAX]);
    let micros = [1, -1, i64::MIN.div_euclid(1000), i64::MAX / 1000];
    let days = [(0, 0), (86_399_999, 0), (86_400_000, 1), (-1, -1), (-86_400_000, -1)];
    for format in FORMATS {
        let layout = one_field(DataType::Timestamp, false, format);
        let rows = layout.encode_batch(&one_column(nanos.clone())).unwrap();
        for (row, micros) in rows.iter().zip(micros) {
            assert_eq!(layout.row(row).unwrap().get("f").unwrap(), Some(Timestamp(micros)));
        }
        let layout = one_field(DataType::Date32, false, format);
        let millis = Date64Array::from_iter_values(days.iter().map(|(millis, _)| *millis));
        let rows = layout.encode_batch(&one_column(millis)).unwrap();
        for (row, (millis, day)) in rows.iter().zip(days) {
            assert_eq!(layout.row(row).unwrap().get("f").unwrap(), Some(Date(day)), "{millis}");
        }
    }
}

#[test]
fn what_does_not_fit_names_row_and_field() {
    let large = i64::MAX / 999;
    let decimal = |precision, scale| DataType::Decimal { precision, scale };
    let decimals = |values: Vec<i128>| Decimal128Array::from(values).with_precision_and_scale(10, 2).unwrap();
    let wide = Decimal256Array::from(vec![i256::ZERO, i256::MAX]).with_precision_and_scale(38, 2).unwrap();
    let cases = [
        (one_column(TimestampSecondArray::from(vec![0, large])), DataType::Timestamp),
        (one_column(TimestampMillisecondArray::from(vec![0, -large])), DataType::Timestamp),
        (one_column(DurationSecondArray::from(vec![0, large])), DataType::Duration),
        (one_column(Date64Array::from(vec![0, i64::MAX])), DataType::Date32),
        (one_column(decimals(vec![99_999, 100_000])), decimal(5, 2)),
        (one_column(wide), decimal(38, 2)),
        (one_column(Int32Array::from(vec![Some(1), None])), DataType::Int32),
    ];
    for format in FORMATS {
        for (batch, data_type) in &cases {
            let error = error_of(&one_field(data_type.clone(), false, format), batch);
            let place = (error.kind(), error.row(), error.path());
            assert_eq!(place, (ErrorKind::Value, Some(1), "f".into()), "{error}");
        }
    }
}

/// Lists of structs: `[], [{1}, {null}, {3}]`, `null`.
fn lists() -> RecordBatch {
    let x: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let items = StructArray::try_from(vec![("x", x)]).unwrap();
    let item = Arc::new(ArrowField::new("item", items.data_type().clone(), true));
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([0, 3, 0]);
    one_column(ListArray::new(item, offsets, Arc::new(items), Some(vec![true, true, false].into())))
}

#[test]
fn a_null_that_may_not_be_is_found_at_any_depth() {
    let batch = lists();
    let list =
        |nullable| DataType::list(DataType::Struct(vec![Field::new("x", DataType::Int32, nullable)]), false);
    for format in FORMATS {
        let error = error_of(&one_field(list(false), true, format), &batch);
        assert_eq!((error.row(), error.path()), (Some(1), "f[1].x".into()));
        assert_eq!(error.to_string(), "wrong value: row 1, field f[1].x: null, and not nullable");
        let error = error_of(&one_field(list(true), false, format), &batch);
        assert_eq!((error.row(), error.path()), (Some(2), "f".into()));
        assert!(one_field(list(true), true, format).encode_batch(&batch).is_ok());
    }
}

#[test]
fn columns_go_by_name_and_their_types_are_checked() {
    let batch = record_batch!(("b", Utf8, ["x"]), ("c", Int8, [1]), ("a", Int32, [7])).unwrap();
    let schema = |a: DataType, b: &str| {
        Schema::new(vec![Field::new("a", a, false), Field::new(b, DataType::Utf8, false)]).unwrap()
    };
    for format in FORMATS {
        let layout = |schema| Layout::new(schema, format).unwrap();
        let found = layout(schema(DataType::Int32, "b"));
        let rows = found.encode_batch(&batch).unwrap();
        let row = found.row(rows.get(0).unwrap()).unwrap();
        assert_eq!((row.get("a").unwrap(), row.get("b").unwrap()), (Some(7), Some("x")));

        let error = error_of(&layout(schema(DataType::Int32, "d")), &batch);
        assert_eq!((error.kind(), error.path()), (ErrorKind::Type, "d".into()));
        for wrong in [DataType::Int64, DataType::Utf8, DataType::list(DataType::Int32, false)] {
            let error = error_of(&layout(schema(wrong, "b")), &batch);
            assert_eq!((error.kind(), error.path()), (ErrorKind::Type, "a".into()));
        }
    }
    let unsigned = one_column(UInt64Array::from(vec![1]));
    assert_eq!(
        error_of(&one_field(DataType::Int64, false, Format::Standard), &unsigned).kind(),
        ErrorKind::Type
    );
}

#[test]
fn dictionaries_without_values_hold_only_nulls() {
    let empty = DictionaryArray::<Int8Type>::from_iter([None::<&str>, None]);
    for format in FORMATS {
        let layout = one_field(DataType::Utf8, true, format);
        let batch = one_column(empty.clone());
        let rows = layout.encode_batch(&batch).unwrap();
        assert!(rows.iter().all(|row| layout.row(row).unwrap().is_null("f").unwrap()));
    }
}

#[test]
fn many_rows_of_very_different_sizes() {
    let batch = one_column(arrow_array::StringArray::from_iter_values(
        (0..3_000).map(|row| "x".repeat(if row % 700 == 699 { 300_000 } else { row % 7 })),
    ));
    for format in FORMATS {
        let layout = one_field(DataType::Utf8, false, format);
        let rows = layout.encode_batch(&batch).unwrap();
        let view = BatchRows::new(&batch, &layout).unwrap();
        let mut all = vec![];
        (0..view.len()).for_each(|row| view.write_row(row, &mut all).unwrap());
        assert!(rows.as_bytes() == all);
        assert_eq!(rows.range(2_999), Some(all.len() - view.row_len(2_999).unwrap()..all.len()));
        assert!(rows.get(3_000).is_none() && view.write_row(3_000, &mut all).is_err());
    }
}

/// One text of 64 MiB, which a list has 40 times: a row of more than 2 GiB, of which nothing is made.
#[test]
fn rows_of_more_than_two_gib_are_refused() {
    let text = "x".repeat(64 << 20);
    let texts = arrow_array::StringArray::from_iter_values([text]);
    let texts = DictionaryArray::<Int8Type>::new(vec![0; 41].into(), Arc::new(texts));
    let item = Arc::new(ArrowField::new("item", texts.data_type().clone(), true));
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([1, 40]);
    let batch = one_column(ListArray::new(item, offsets, Arc::new(texts), None));
    for format in FORMATS {
        let layout = one_field(DataType::list(DataType::Utf8, true), false, format);
        let error = layout.encode_batch(&batch).unwrap_err();
        assert_eq!((error.kind(), error.row()), (ErrorKind::Value, Some(1)), "{error}");
        let view = BatchRows::new(&batch, &layout).unwrap();
        assert!(view.row_len(0).unwrap() > 64 << 20);
        assert_eq!(view.row_len(1).unwrap_err().row(), Some(1));
    }
}
