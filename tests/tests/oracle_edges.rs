//! What the format can say and the reference does not read: we refuse to write it, or write something else.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int32Array, ListArray, NullArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Schema};
use demilance_tests::draw::{Draw, Nulls, Texture};
use demilance_tests::oracle::Oracle;
use demilance_tests::ours::{self, Shape};
use demilance_tests::trial::{self, Trial};
use demilance_tests::{same, stream};
use lance_file::Version;
use serde_json::json;

const ROWS: usize = 5;

fn columns(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.iter().map(|(_, array)| Arc::clone(array)).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
}

fn nothing() -> ArrayRef {
    Arc::new(StructArray::new_empty_fields(ROWS, None))
}

fn number() -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(0..ROWS as i32))
}

fn structs(members: &[(&str, ArrayRef)]) -> ArrayRef {
    Arc::new(StructArray::from(columns(members)))
}

/// Columns with structs without members, and the name of the one after which there are values.
fn empty_structs() -> Vec<(RecordBatch, Option<&'static str>)> {
    let null = || -> ArrayRef { Arc::new(NullArray::new(ROWS)) };
    vec![
        (columns(&[("e", nothing())]), None),
        (columns(&[("a", number()), ("e", nothing()), ("f", nothing())]), None),
        (columns(&[("e", nothing()), ("n", null()), ("s", structs(&[("f", nothing())]))]), None),
        (columns(&[("s", structs(&[("a", number()), ("e", nothing())]))]), None),
        (columns(&[("e", nothing()), ("a", number())]), Some("e")),
        (columns(&[("e", nothing()), ("n", null()), ("a", number())]), Some("e")),
        (columns(&[("e", nothing()), ("f", nothing()), ("s", structs(&[("a", number())]))]), Some("f")),
        (columns(&[("s", structs(&[("e", nothing()), ("a", number())]))]), Some("s.e")),
        (columns(&[("s", structs(&[("a", number()), ("e", nothing())])), ("b", number())]), Some("s.e")),
    ]
}

/// The reference takes the column of a struct without members for that of the leaf after it, which it then says is null,
/// or fails: also in its own files.
#[test]
fn no_values_after_a_struct_without_members() {
    let mut trials = vec![];
    for version in [Version::V2_0, Version::V2_1, Version::V2_2] {
        for (batch, after) in empty_structs() {
            let written =
                ours::run(ours::written(&batch.schema(), std::slice::from_ref(&batch), Shape::of(version)));
            match after {
                Some(name) if version > Version::V2_0 => {
                    let error = written.expect_err("is refused");
                    let wanted = format!("field {name} in file version {version}: a struct without members");
                    assert!(error.contains(&wanted), "{error}");
                }
                _ => {
                    let what = format!("{version} {:?}", batch.schema());
                    let (schema, batches) = (batch.schema(), vec![batch]);
                    trials.push(Trial { what, schema, batches, shape: Shape::of(version) });
                }
            }
        }
    }
    ours::none_wrong(trial::wrong(trials, &mut Draw::new(71)));
}

#[test]
fn the_reference_loses_values_after_a_struct_without_members() {
    let Some(oracle) = Oracle::find("what the reference makes of structs without members") else { return };
    let place = tempfile::tempdir().unwrap();
    let (mut jobs, mut cases) = (vec![], vec![]);
    for version in ["2.1", "2.2"] {
        for (batch, after) in empty_structs() {
            let path = |kind: &str| place.path().join(format!("{}.{kind}", cases.len()));
            let (arrow, lance, back) = (path("arrow"), path("lance"), path("back"));
            stream::write(&arrow, &batch.schema(), std::slice::from_ref(&batch));
            jobs.push(json!({"do": "write_file", "arrow": arrow, "to": lance, "version": version}));
            jobs.push(json!({"do": "read_file", "path": lance, "to": back}));
            cases.push((version, batch, after, back));
        }
    }
    for ((version, batch, after, back), results) in cases.into_iter().zip(oracle.run(&jobs).chunks(2)) {
        assert!(results[0].is_ok(), "{:?}", results[0]);
        let same = results[1].is_ok() && {
            let (schema, batches) = stream::read(&back);
            let actual = same::whole(&schema, &batches).unwrap();
            let expected = same::whole(&batch.schema(), std::slice::from_ref(&batch)).unwrap();
            same::check(&actual, &expected).is_ok()
        };
        assert_eq!(same, after.is_none(), "{version} {:?}", batch.schema());
    }
}

fn pairs(kind: &DataType, rows: usize) -> ArrayRef {
    Draw::new(72).array(kind, rows, Nulls::None, Texture::Random)
}

fn lists(lengths: &[usize], field: &Arc<Field>) -> ArrayRef {
    let nulls = lengths.iter().enumerate().map(|(row, length)| *length > 0 || row % 2 == 0).collect();
    let items = pairs(field.data_type(), lengths.iter().sum());
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(Arc::clone(field), offsets, items, Some(nulls)))
}

/// In version 2.0 lists may have pages without a single item. The reference panics where such a page has packed structs.
#[test]
fn packed_structs_in_lists_without_items() {
    let members =
        Fields::from(vec![Field::new("a", DataType::Int8, false), Field::new("b", DataType::Float64, false)]);
    let packed = [("lance-encoding:packed".to_string(), "true".to_string())];
    let item = Arc::new(Field::new("item", DataType::Struct(members), true).with_metadata(packed.into()));
    let mut trials = vec![];
    for version in [Version::V2_0, Version::V2_1, Version::V2_2] {
        for (index, batches) in [
            vec![lists(&[0, 0, 0], &item)],
            vec![lists(&[1, 0, 2], &item), lists(&[0; 9], &item), lists(&[0, 3], &item)],
            vec![lists(&[0; 9], &item), lists(&[0, 3], &item)],
            vec![lists(&[2, 3, 0, 1, 1], &item), lists(&[0; 9], &item)],
            vec![lists(&[0; 9], &item), lists(&[0; 9], &item)],
        ]
        .into_iter()
        .enumerate()
        {
            for page_bytes in [8 << 20, 16] {
                let what = format!("{version} lists {index}, pages of {page_bytes}");
                let shape = Shape { page_bytes, ..Shape::of(version) };
                trials.push(Trial::of_column(what, batches.clone(), shape));
            }
        }
    }
    ours::none_wrong(trial::wrong(trials, &mut Draw::new(73)));
}

fn words(items: std::ops::Range<usize>, null: bool) -> ArrayRef {
    let values = StringArray::from_iter_values(items.clone().map(|item| format!("word {item}")));
    let keys = (0..items.len()).map(|item| Some(item as i8)).chain(null.then_some(None));
    Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from_iter(keys), Arc::new(values)))
}

/// In version 2.0 a null takes a key, which joining dictionaries must not use up.
#[test]
fn dictionaries_leave_a_key_for_null() {
    let mut trials = vec![];
    for version in [Version::V2_0, Version::V2_1, Version::V2_2] {
        for (first, second) in [(63, 127), (63, 128), (64, 128), (1, 128)] {
            for (null_first, null_second) in [(false, false), (true, false), (false, true), (true, true)] {
                let batches = vec![words(0..first, null_first), words(first..second, null_second)];
                for page_bytes in [8 << 20, 100] {
                    let what = format!(
                        "{version} {first} of {second} words, nulls {null_first} {null_second}, {page_bytes}"
                    );
                    let shape = Shape { page_bytes, ..Shape::of(version) };
                    trials.push(Trial::of_column(what, batches.clone(), shape));
                }
            }
        }
    }
    ours::none_wrong(trial::wrong(trials, &mut Draw::new(74)));
}

/// The reference puts the dictionaries of pages together, and fails where keys do not name all of their values; as we do
/// when we read.
#[test]
fn more_values_than_keys_can_name_are_refused() {
    for version in [Version::V2_0, Version::V2_1, Version::V2_2] {
        let within = |words: ArrayRef| columns(&[("x", structs(&[("word", words)]))]);
        let batches = [within(words(0..100, false)), within(words(100..129, true))];
        let error = ours::run(ours::written(&batches[0].schema(), &batches, Shape::of(version)));
        let error = error.expect_err("is refused");
        assert!(error.contains("field x: word: writing more than 128 distinct values"), "{error}");
    }
}
