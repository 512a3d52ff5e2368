//! Rows by pyfory, both ways: any schema and values of the types that it supports, but for its own faults, which
//! docs/format/row.md lists (§11).

use demilance_tests::any_row::{self, same};
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, row_bytes, seed};
use fory_row::{DataType, Date, Field, Format, Frame, Image, Layout, Schema, Timestamp, Value};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Value as Json, json};

const SCHEMAS: usize = 300;
const ROWS: usize = 3;
const FRAME: Frame = Frame::RowWithHash;

/// A type of a field: in lists and maps are no lists and maps (D22), and no times shorter than a second's 64th (D25).
fn data_type(depth: u32) -> BoxedStrategy<DataType> {
    use DataType::{Binary, Bool, Date32, Float32, Float64, Int8, Int16, Int32, Int64, Timestamp, Utf8};
    let plain = vec![Bool, Int8, Int16, Int32, Int64, Float32, Float64, Utf8, Binary, Date32, Timestamp];
    let plain = prop::sample::select(plain).boxed();
    if depth == 0 {
        return plain;
    }
    // Keys of a dict: none of which two are equal though their bytes differ.
    let key = prop::sample::select(vec![Bool, Int8, Int16, Int32, Int64, Utf8, Date32, Binary]);
    let members = fields(data_type(depth - 1), 1..5).prop_map(DataType::Struct).boxed();
    let element = prop_oneof![3 => plain.clone(), 1 => members.clone()].boxed();
    let list = element.clone().prop_map(|element| DataType::list(element, true));
    let map = (key, element).prop_map(|(key, value)| DataType::map(key, value));
    prop_oneof![4 => plain, 2 => list, 2 => map, 2 => members].boxed()
}

/// All nullable, as all fields are in Python.
fn fields(
    data_type: impl Strategy<Value = DataType>,
    count: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<Field>> {
    prop::collection::vec(data_type, count).prop_map(|types| {
        let types = types.into_iter().enumerate();
        types.map(|(index, data_type)| Field::new(format!("f{index}"), data_type, true)).collect()
    })
}

/// Schemas with rows of each.
fn cases() -> Vec<(Layout, Vec<Value>)> {
    let schema = prop_oneof![9 => fields(data_type(3), 1..8), 1 => fields(data_type(0), 60..130)];
    let case = schema.prop_flat_map(|fields| {
        let schema = Schema::new(fields).unwrap();
        let rows = prop::collection::vec(any_row::row(&schema), ROWS);
        (Just(Layout::new(schema, Format::Standard).unwrap()), rows)
    });
    let mut runner = TestRunner::new(Config { rng_seed: RngSeed::Fixed(seed()), ..Config::default() });
    let cases = (0..SCHEMAS).map(|_| {
        let (layout, mut rows) = case.new_tree(&mut runner).unwrap().current();
        for row in &mut rows {
            members(layout.schema().fields(), row);
        }
        (layout, rows)
    });
    cases.collect()
}

fn members(fields: &[Field], row: &mut Value) {
    if let Value::Struct(values) = row {
        fields.iter().zip(values).for_each(|(field, value)| suit(&field.data_type, value));
    }
}

/// Makes a value one that Python has, and that pyfory stores as it is.
fn suit(data_type: &DataType, value: &mut Value) {
    match (data_type, value) {
        // The years of Python are 1 to 9999.
        (_, Value::Date(Date(days))) => *days %= 700_000,
        // 64ths of a second are exact as floats.
        (_, Value::Timestamp(Timestamp(micros))) => *micros = *micros % 3_000_000_000 * 15_625,
        (_, Value::Float32(number)) if number.is_nan() => *number = f32::NAN,
        (_, Value::Float64(number)) if number.is_nan() => *number = f64::NAN,
        // Empty bytes fail (D22).
        (_, Value::Binary(bytes)) if bytes.is_empty() => bytes.push(0),
        (DataType::List(element), Value::List(values)) => {
            values.iter_mut().for_each(|value| suit(&element.data_type, value));
        }
        (DataType::Map(key, value), Value::Map(entries)) => {
            for entry in entries.iter_mut() {
                suit(&key.data_type, &mut entry.0);
                suit(&value.data_type, &mut entry.1);
            }
            // A dict has a key once.
            let mut kept = Vec::<(Value, Value)>::new();
            entries.retain(|entry| {
                let new = kept.iter().all(|other| !same(&other.0, &entry.0));
                if new {
                    kept.push(entry.clone());
                }
                new
            });
        }
        (DataType::Struct(fields), row) => members(fields, row),
        _ => {}
    }
}

fn rows_as_json(layout: &Layout, rows: &[Value]) -> Vec<Json> {
    rows.iter().map(|row| layout.value_to_json(Image::Row, row).unwrap()).collect()
}

fn encoded(layout: &Layout, row: &Value) -> Vec<u8> {
    let mut bytes = vec![];
    layout.encode_framed(FRAME, row, &mut bytes).unwrap();
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

#[test]
fn rows_by_pyfory_are_ours() {
    let Some(oracle) = Oracle::find("rows that pyfory writes") else { return };
    let cases = cases();
    let jobs = cases.iter().map(|(layout, rows)| {
        json!({"do": "encode_rows", "schema": layout.schema().to_json(), "rows": rows_as_json(layout, rows)})
    });
    let answers = oracle.run(&jobs.collect::<Vec<_>>());
    let wrong = cases.iter().zip(answers).filter_map(|((layout, rows), answer)| {
        let outcome = answer.and_then(|answer| {
            let theirs = answer.as_array().unwrap().iter().map(|row| unhex(row.as_str().unwrap()));
            rows.iter().zip(theirs).try_for_each(|(row, theirs)| read(layout, row, theirs))
        });
        Some(format!("{}: {}", layout.schema().to_json(), outcome.err()?))
    });
    ours::none_wrong(wrong.collect());
}

fn read(layout: &Layout, row: &Value, mut theirs: Vec<u8>) -> Result<(), String> {
    let value = layout.decode_framed(FRAME, &theirs).map_err(|error| error.to_string())?;
    if !same(&value, row) {
        return Err(format!("{value:?} instead of {row:?}"));
    }
    // Old memory is in the slots of nulls (D10).
    row_bytes::clear_nulls(layout.schema(), &mut theirs[FRAME.prefix_len()..]);
    let bytes = encoded(layout, row);
    if bytes == theirs { Ok(()) } else { Err(format!("{} instead of {}", hex(&bytes), hex(&theirs))) }
}

#[test]
fn pyfory_reads_our_rows() {
    let Some(oracle) = Oracle::find("reading our rows with pyfory") else { return };
    let cases = cases();
    let jobs = cases.iter().map(|(layout, rows)| {
        let rows = rows.iter().map(|row| hex(&encoded(layout, row))).collect::<Vec<_>>();
        json!({"do": "decode_rows", "schema": layout.schema().to_json(), "rows": rows})
    });
    let answers = oracle.run(&jobs.collect::<Vec<_>>());
    let wrong = cases.iter().zip(answers).filter_map(|((layout, rows), answer)| {
        let outcome = answer.and_then(|answer| {
            let theirs = answer.as_array().unwrap().iter();
            rows.iter().zip(theirs).try_for_each(|(row, theirs)| {
                let value = layout.value_from_json(Image::Row, theirs).map_err(|error| error.to_string())?;
                if same(&value, row) { Ok(()) } else { Err(format!("{value:?} instead of {row:?}")) }
            })
        });
        Some(format!("{}: {}", layout.schema().to_json(), outcome.err()?))
    });
    ours::none_wrong(wrong.collect());
}
