//! Rows to batches.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Date64Array, Decimal32Array, Decimal128Array,
    DurationMicrosecondArray, FixedSizeBinaryArray, FixedSizeListArray, Int16Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, UInt8Array, UInt16Array, UInt32Array, record_batch,
};
use arrow_schema::{DataType as A, Field as ArrowField, Schema as ArrowSchema, TimeUnit};
use fory_row::{DataType, DecodeOptions, Error, ErrorKind, Field, Format, Layout, Rows, Schema, Value};
use proptest::prelude::*;

use crate::arrays::{Random, array, batch};
use crate::encode::{FORMATS, layout, one_column, one_field};
use crate::schema::{exact, item, map, other};
use crate::{config, types};

fn decode_as(layout: &Layout, rows: &Rows, schema: &Arc<ArrowSchema>) -> fory_row::Result<RecordBatch> {
    layout.decode_batch_as(rows, schema, DecodeOptions::default())
}

fn one(data_type: A, nullable: bool) -> Arc<ArrowSchema> {
    Arc::new(ArrowSchema::new(vec![ArrowField::new("f", data_type, nullable)]))
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_batch_comes_back_from_its_rows(
        schema in types::schema(false),
        rows in 0_usize..150,
        seed: u64,
    ) {
        let batch = batch(&schema, rows, &mut Random(seed));
        for format in FORMATS {
            let layout = layout(&schema, format);
            let encoded = layout.encode_batch(&batch).unwrap();
            prop_assert_eq!(&decode_as(&layout, &encoded, &schema).unwrap(), &batch);

            let plain = layout.decode_batch(&encoded).unwrap();
            prop_assert_eq!(plain.schema(), Arc::new(layout.schema().to_arrow()));
            prop_assert_eq!(layout.encode_batch(&plain).unwrap(), encoded);
        }
    }

    /// Dictionaries come back as their values.
    #[test]
    fn rows_say_the_same_after_a_round_trip(schema in types::schema(true), rows in 0_usize..100, seed: u64) {
        let batch = batch(&schema, rows, &mut Random(seed));
        for format in FORMATS {
            let layout = layout(&schema, format);
            let encoded = layout.encode_batch(&batch).unwrap();
            let plain = layout.decode_batch(&encoded).unwrap();
            prop_assert_eq!(layout.encode_batch(&plain).unwrap(), encoded);
        }
    }
}

#[test]
fn every_type_that_is_taken_in_is_given_out() {
    let random = &mut Random(3);
    for (data_type, row) in exact().into_iter().chain(other()) {
        for (format, nullable) in FORMATS.into_iter().flat_map(|format| [(format, false), (format, true)]) {
            let schema = one(data_type.clone(), nullable);
            let layout = layout(&schema, format);
            let values = array(&data_type, 40, nullable, random);
            let batch = RecordBatch::try_new(schema.clone(), vec![values]).unwrap();
            let rows = layout.encode_batch(&batch).unwrap();
            match decode_as(&layout, &rows, &schema) {
                Ok(back) => assert_eq!(back, batch, "{data_type} {format:?}"),
                Err(error) => {
                    assert!(matches!(data_type, A::Dictionary(..) | A::Map(_, true)), "{data_type}: {error}");
                    assert_eq!((error.kind(), error.path()), (ErrorKind::Unsupported, "f".into()));
                }
            }
            // As the type that stands for the row type.
            let back = layout.decode_batch(&rows).unwrap();
            let stored = Schema::new(vec![Field::new("f", row.clone(), nullable)]).unwrap().storable(format);
            assert_eq!(back.schema().as_ref(), &stored.to_arrow());
            assert_eq!(layout.encode_batch(&back).unwrap(), rows, "{data_type} {format:?}");
        }
    }
}

fn fixed_list(size: i32) -> A {
    A::FixedSizeList(item(A::Int32, true), size)
}

fn list(values: Vec<Option<Vec<Option<i32>>>>) -> ListArray {
    ListArray::from_iter_primitive::<Int32Type, _, _>(values)
}

/// What rows of a column become in another type: an array, or the row and the field of a value that does not fit.
type Outcome = Result<ArrayRef, (usize, &'static str)>;

#[test]
fn other_types_are_made_of_values_that_fit() {
    let fit = |array: ArrayRef| Ok::<_, (usize, &str)>(array);
    let at = |row: usize, path: &'static str| Err::<ArrayRef, _>((row, path));
    let time = |unit| A::Timestamp(unit, None);
    let micros = |values: Vec<i64>| Arc::new(TimestampMicrosecondArray::from(values)) as ArrayRef;
    let decimals = |values: Vec<i128>| {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(20, 2).unwrap()) as ArrayRef
    };
    let small = Decimal32Array::from(vec![0, -99_999]).with_precision_and_scale(5, 2).unwrap();
    let two_lists = || Arc::new(list(vec![Some(vec![Some(1), None]), None, Some(vec![Some(2), Some(3)])]));
    let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        [Some([Some(1), None]), None, Some([Some(2), Some(3)])],
        2,
    );
    let cases: Vec<(ArrayRef, A, Outcome)> = vec![
        (Arc::new(Int16Array::from(vec![0, 255])), A::UInt8, fit(Arc::new(UInt8Array::from(vec![0, 255])))),
        (Arc::new(Int16Array::from(vec![0, 256])), A::UInt8, at(1, "f")),
        (Arc::new(Int32Array::from(vec![0, -1])), A::UInt16, at(1, "f")),
        (Arc::new(Int32Array::from(vec![65_535])), A::UInt16, fit(Arc::new(UInt16Array::from(vec![65_535])))),
        (Arc::new(Int64Array::from(vec![1 << 32])), A::UInt32, at(0, "f")),
        (Arc::new(Int64Array::from(vec![7])), A::UInt32, fit(Arc::new(UInt32Array::from(vec![7])))),
        (micros(vec![0, 1_000, 1_001]), time(TimeUnit::Millisecond), at(2, "f")),
        (
            micros(vec![-1_000]),
            time(TimeUnit::Millisecond),
            fit(Arc::new(TimestampMillisecondArray::from(vec![-1]))),
        ),
        (micros(vec![1_000_000, -1]), time(TimeUnit::Second), at(1, "f")),
        (
            micros(vec![-3]),
            time(TimeUnit::Nanosecond),
            fit(Arc::new(TimestampNanosecondArray::from(vec![-3_000]))),
        ),
        (micros(vec![0, i64::MAX / 999]), time(TimeUnit::Nanosecond), at(1, "f")),
        (Arc::new(DurationMicrosecondArray::from(vec![5])), A::Duration(TimeUnit::Second), at(0, "f")),
        (
            Arc::new(Date32Array::from(vec![-1, i32::MAX])),
            A::Date64,
            fit(Arc::new(Date64Array::from(vec![-86_400_000, i64::from(i32::MAX) * 86_400_000]))),
        ),
        (decimals(vec![0, -99_999]), A::Decimal32(5, 2), fit(Arc::new(small))),
        (decimals(vec![0, -100_000]), A::Decimal32(5, 2), at(1, "f")),
        (decimals(vec![i128::from(i64::MAX)]), A::Decimal256(18, 2), at(0, "f")),
        (
            Arc::new(StringArray::from(vec!["a", "a text that no view has in place"])),
            A::Utf8View,
            fit(Arc::new(StringViewArray::from(vec!["a", "a text that no view has in place"]))),
        ),
        (
            Arc::new(BinaryArray::from_vec(vec![b"ab", b"cd"])),
            A::FixedSizeBinary(2),
            fit(Arc::new(FixedSizeBinaryArray::try_from_iter([b"ab", b"cd"].iter()).unwrap())),
        ),
        (Arc::new(BinaryArray::from_vec(vec![b"ab", b"abc"])), A::FixedSizeBinary(2), at(1, "f")),
        (two_lists(), fixed_list(2), fit(Arc::new(fixed))),
        (two_lists(), fixed_list(3), at(0, "f")),
        (two_lists(), A::List(item(A::Int32, false)), at(0, "f[1]")),
    ];
    for (values, target, outcome) in cases {
        for format in FORMATS {
            let layout = layout(&one(values.data_type().clone(), true), format);
            let rows = layout.encode_batch(&one_column(values.clone())).unwrap();
            let made = decode_as(&layout, &rows, &one(target.clone(), true));
            match (made, &outcome) {
                (Ok(batch), Ok(expected)) => assert_eq!(batch.column(0), expected, "{target}"),
                (Err(error), Err((row, path))) => {
                    assert_eq!(
                        (error.kind(), error.row(), &*error.path()),
                        (ErrorKind::Value, Some(*row), *path)
                    );
                }
                (made, _) => panic!("{target}: {made:?}"),
            }
        }
    }
}

#[test]
fn types_that_do_not_go_together_are_refused() {
    for format in FORMATS {
        let layout = layout(
            &ArrowSchema::new(vec![
                ArrowField::new("n", A::Int32, true),
                ArrowField::new("m", map(A::Utf8, A::Int8, true, false), true),
            ]),
            format,
        );
        let kind = |name: &str, data_type: A| {
            let schema = Arc::new(ArrowSchema::new(vec![ArrowField::new(name, data_type, true)]));
            let error = decode_as(&layout, &Rows::default(), &schema).unwrap_err();
            assert_eq!(error.path(), name, "{error}");
            error.kind()
        };
        assert_eq!(kind("x", A::Int32), ErrorKind::Type);
        for wrong in [A::Int64, A::UInt32, A::Utf8, A::Null, fixed_list(-1), A::UInt64] {
            assert_eq!(kind("n", wrong), ErrorKind::Type);
        }
        assert_eq!(kind("n", A::Dictionary(Box::new(A::Int8), Box::new(A::Int32))), ErrorKind::Unsupported);
        assert_eq!(kind("m", map(A::Utf8, A::Int8, true, true)), ErrorKind::Unsupported);
    }
}

#[test]
fn columns_are_chosen_by_name() {
    let batch =
        record_batch!(("a", Int32, [1, 2]), ("b", Utf8, ["x", "y"]), ("c", Boolean, [true, false])).unwrap();
    for format in FORMATS {
        let layout = layout(&batch.schema(), format);
        let rows = layout.encode_batch(&batch).unwrap();
        let some = batch.project(&[2, 0]).unwrap();
        assert_eq!(decode_as(&layout, &rows, &some.schema()).unwrap(), some);
        let none = decode_as(&layout, &rows, &Arc::new(ArrowSchema::empty())).unwrap();
        assert_eq!((none.num_columns(), none.num_rows()), (0, 2));
    }
}

#[test]
fn a_null_where_none_may_be_names_its_place() {
    // Standard rows can hold a null in any field, whatever the schema says.
    let lax = one_field(DataType::list(DataType::Int64, true), true, Format::Standard);
    let strict = one_field(DataType::list(DataType::Int64, false), false, Format::Standard);
    let lists =
        [Value::List(vec![Value::Int64(1)]), Value::List(vec![Value::Int64(2), Value::Null]), Value::Null];
    let rows = lists.map(|list| {
        let mut bytes = vec![];
        lax.encode(&Value::Struct(vec![list]), &mut bytes).unwrap();
        bytes
    });
    let error = |rows: &[Vec<u8>]| strict.decode_batch(rows.iter().map(Vec::as_slice)).unwrap_err();
    assert_eq!(error(&rows).to_string(), "wrong value: row 2, field f: null, and not nullable");
    assert_eq!(error(&rows[..2]).to_string(), "wrong value: row 1, field f[1]: null, and not nullable");
    assert!(lax.decode_batch(rows.iter().map(Vec::as_slice)).is_ok());
}

/// Structs in maps in lists: `[{7: {t: "…"}}]`.
fn deep() -> DataType {
    let text = DataType::Struct(vec![Field::new("t", DataType::Utf8, false)]);
    DataType::list(DataType::map(DataType::Int64, text), false)
}

fn deep_row(texts: &[&str]) -> Value {
    let text = |text: &&str| Value::Struct(vec![Value::Utf8((*text).into())]);
    let entry = |(key, value): (i64, &&str)| (Value::Int64(key), text(value));
    let map = Value::Map((0..).zip(texts).map(entry).collect());
    Value::Struct(vec![Value::List(vec![Value::Map(vec![]), map])])
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to);
}

#[test]
fn text_that_is_not_utf8_names_its_place() {
    for format in FORMATS {
        let layout = one_field(deep(), false, format);
        for (target, view) in [(A::Utf8, false), (A::LargeUtf8, false), (A::Utf8View, true)] {
            let mut rows = vec![vec![]; 3];
            layout.encode(&deep_row(&["a"]), &mut rows[0]).unwrap();
            layout.encode(&deep_row(&[]), &mut rows[1]).unwrap();
            layout.encode(&deep_row(&["fine", "", "größe", "fine"]), &mut rows[2]).unwrap();
            // Half of a letter at the end of one text, and the other half at the start of the next are two errors.
            replace(&mut rows[2], "größe".as_bytes(), b"gr\xc3\xb6\xc3oe");
            let structs = A::Struct(vec![ArrowField::new("t", target, false)].into());
            let schema = one(A::List(item(map(A::Int64, structs, true, false), false)), false);
            let rows = rows.iter().map(Vec::as_slice);
            let error = layout.decode_batch_as(rows, &schema, DecodeOptions::default()).unwrap_err();
            let place = (error.kind(), error.row(), error.path());
            assert_eq!(place, (ErrorKind::Malformed, Some(2), "f[1].value[2].t".into()), "{error} {view}");
        }
    }
}

#[test]
fn nulls_that_take_room_in_arrow() {
    // A million null structs and fixed-size lists: as many rows as they like, but not as many elements.
    let wide = Field::new(
        "w",
        DataType::Struct((0..200).map(|i| Field::new(format!("m{i}"), DataType::Int64, false)).collect()),
        true,
    );
    for format in FORMATS {
        let layout = Layout::new(
            Schema::new(vec![wide.clone(), Field::new("l", DataType::list(DataType::Int32, false), true)])
                .unwrap(),
            format,
        )
        .unwrap();
        let mut row = vec![];
        layout.encode(&Value::Struct(vec![Value::Null, Value::Null]), &mut row).unwrap();
        let mut fields = layout.schema().to_arrow().fields().to_vec();
        fields[1] = Arc::new(ArrowField::new("l", A::FixedSizeList(item(A::Int32, false), 768), true));
        let schema = Arc::new(ArrowSchema::new(fields));
        let batch = layout
            .decode_batch_as((0..1_000).map(|_| row.as_slice()), &schema, DecodeOptions::default())
            .unwrap();
        assert_eq!(batch.columns().iter().map(|column| column.null_count()).sum::<usize>(), 2_000);
    }
    let list = DataType::List(Box::new(wide));
    let layout = one_field(list, false, Format::Standard);
    let decode = |nulls: usize, options: DecodeOptions| {
        let mut row = vec![];
        layout.encode(&Value::Struct(vec![Value::List(vec![Value::Null; nulls])]), &mut row).unwrap();
        layout.decode_batch_as([row.as_slice()], &Arc::new(layout.schema().to_arrow()), options)
    };
    assert!(decode(20, DecodeOptions::default()).is_ok());
    let error: Error = decode(10_000, DecodeOptions::default()).unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Limit, Some(0)), "{error}");
    assert!(error.path().starts_with("f["), "{error}");
    assert!(decode(10_000, DecodeOptions { expansion: 300, slack: 0 }).is_ok());
}
