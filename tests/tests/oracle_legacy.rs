//! What only files of version 2.0 have, both ways: compressed buffers and symbol tables of strings, packed structs,
//! dictionaries with items that are null, blobs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, LargeBinaryArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use demilance_tests::draw::{Draw, Nulls, Texture};
use demilance_tests::oracle::Oracle;
use demilance_tests::ours::Shape;
use demilance_tests::theirs::{self, Written};
use demilance_tests::types::vector;
use demilance_tests::{ours, same, stream};
use lance_file::Version;
use lance_io::Store;
use serde_json::json;

/// A file: its columns, and words that describe what some of its pages are.
struct Case {
    name: String,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    pages: bool,
    has: Vec<&'static str>,
}

fn with(name: &str, kind: DataType, hints: &[(&str, &str)]) -> Field {
    let hints = hints.iter().map(|(key, value)| (format!("lance-encoding:{key}"), (*value).to_string()));
    Field::new(name, kind, true).with_metadata(hints.collect::<HashMap<_, _>>())
}

fn cases() -> Vec<Case> {
    let mut draw = Draw::new(20);
    let mut cases = vec![];
    for (scheme, has) in [("zstd", "flat[zstd]"), ("lz4", "flat[lz4]"), ("none", "binary"), ("fsst", "fsst")]
    {
        for (nulls, pages) in [(Nulls::None, true), (Nulls::Some, false), (Nulls::Ends, true)] {
            let hints = [("compression", scheme)];
            let levels = [("compression", scheme), ("compression-level", "7")];
            let texts = with("item", DataType::Utf8, &hints);
            let mut fields = vec![
                with("text", DataType::Utf8, &hints),
                with("binary", DataType::Binary, &levels),
                with("ints", DataType::Int64, &hints),
                Field::new("texts", DataType::List(texts.into()), true),
            ];
            if scheme != "fsst" {
                // The reference has no symbol tables for these, and fails.
                fields.push(with("large", DataType::LargeUtf8, &hints));
                fields.push(with("large_binary", DataType::LargeBinary, &hints));
            }
            let schema = Arc::new(Schema::new(fields));
            let textures = [Texture::Long, Texture::Random, Texture::Narrow];
            let batches = textures.map(|texture| draw.batch(&schema, 700, nulls, texture));
            let name = format!("{scheme} {nulls:?}");
            cases.push(Case { name, schema, batches: batches.into(), pages, has: vec![has] });
        }
    }
    cases.extend([packed(&mut draw), items_that_are_null()]);
    cases
}

fn packed(draw: &mut Draw) -> Case {
    let inner = [
        ("a", DataType::Int8),
        ("b", DataType::Decimal128(20, 2)),
        ("c", vector(DataType::Float32, 3)),
        ("d", DataType::FixedSizeBinary(5)),
        ("e", vector(vector(DataType::UInt16, 2), 2)),
    ];
    let inner: Fields = inner.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect();
    let packed = with("packed", DataType::Struct(inner.clone()), &[("packed", "true")]);
    let listed = with("item", DataType::Struct(inner), &[("packed", "true")]);
    let fields = vec![
        packed,
        Field::new("listed", DataType::List(listed.into()), true),
        Field::new("id", DataType::Int32, true),
    ];
    let schema = Arc::new(Schema::new(fields));
    let batches = [500, 1, 300].map(|rows| draw.batch(&schema, rows, Nulls::None, Texture::Random));
    Case { name: "packed".into(), schema, batches: batches.into(), pages: true, has: vec!["packed-struct"] }
}

fn items_that_are_null() -> Case {
    let dictionary = |keys: Vec<Option<i8>>, items: Vec<Option<&str>>| -> ArrayRef {
        let keys =
            DictionaryArray::<Int8Type>::new(Int8Array::from(keys), Arc::new(StringArray::from(items)));
        Arc::new(keys)
    };
    let kind = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    let schema = Arc::new(Schema::new(vec![Field::new("x", kind, true)]));
    let arrays = [
        dictionary(vec![Some(0), None, Some(1), Some(2)], vec![Some("a"), None, Some("c")]),
        dictionary(vec![Some(0), Some(0)], vec![None]),
        dictionary(vec![None, None, None], vec![Some("only")]),
        dictionary(vec![Some(1), Some(1)], vec![Some("a"), Some("b")]),
    ];
    let batches = arrays.map(|array| RecordBatch::try_new(Arc::clone(&schema), vec![array]).unwrap());
    Case { name: "null items".into(), schema, batches: batches.into(), pages: true, has: vec!["dictionary"] }
}

async fn compare(path: &Path, case: &Case, draw: &mut Draw) -> Vec<String> {
    let rows = case.batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let rows = draw.rows(rows as u64, 200);
    let mut wrong = match ours::open_path(path).await {
        Ok(file) => {
            let mut wrong = ours::compare(&file, &case.schema, &case.batches, &rows).await;
            let missing = case.has.iter().filter(|words| !ours::has(&file, words));
            wrong.extend(missing.map(|words| format!("no page has {words}")));
            wrong
        }
        Err(error) => vec![error],
    };
    wrong.iter_mut().for_each(|error| *error = format!("{}: {error}", case.name));
    wrong
}

#[test]
fn written_by_the_reference() {
    let Some(oracle) = Oracle::find("files of version 2.0 that the reference writes") else { return };
    let place = tempfile::tempdir().unwrap();
    let path = |index: usize, ending: &str| place.path().join(format!("{index}.{ending}"));
    let cases = cases();
    let jobs: Vec<_> = cases
        .iter()
        .enumerate()
        .map(|(index, case)| {
            stream::write(&path(index, "arrow"), &case.schema, &case.batches);
            let cache = case.pages.then_some(1);
            let (arrow, to) = (path(index, "arrow"), path(index, "lance"));
            json!({"do": "write_file", "arrow": arrow, "to": to, "version": "2.0", "data_cache_bytes": cache})
        })
        .collect();
    let results = oracle.run(&jobs);
    let wrong = ours::run(async {
        let (mut wrong, mut draw) = (vec![], Draw::new(21));
        for (index, (case, result)) in cases.iter().zip(results).enumerate() {
            match result {
                Ok(_) => wrong.extend(compare(&path(index, "lance"), case, &mut draw).await),
                Err(error) => wrong.push(format!("{}: writing: {error}", case.name)),
            }
        }
        wrong
    });
    ours::none_wrong(wrong);
}

#[test]
fn written_by_us() {
    let place = tempfile::tempdir().unwrap();
    let path = |index: usize, ending: &str| place.path().join(format!("{index}.{ending}"));
    let store = Store::local(place.path());
    let cases = cases();
    let mut draw = Draw::new(22);
    let mut wrong = ours::run(async {
        let mut wrong = vec![];
        for (index, case) in cases.iter().enumerate() {
            let page_bytes = if case.pages { 40_000 } else { 8 << 20 };
            let shape = Shape { page_bytes, ..Shape::of(Version::V2_0) };
            let name = format!("{index}.lance");
            match ours::write_file(&store, &name, &case.schema, &case.batches, shape).await {
                Ok(()) => wrong.extend(compare(&path(index, "lance"), case, &mut draw).await),
                Err(error) => wrong.push(format!("{}: writing: {error}", case.name)),
            }
        }
        wrong
    });
    if let Some(oracle) = Oracle::find("reading our files of version 2.0 with the reference") {
        let files = cases.iter().enumerate().map(|(index, case)| {
            let expected = same::whole(&case.schema, &case.batches).unwrap();
            let mut rows = draw.rows(expected.num_rows() as u64, 150);
            rows.sort_unstable();
            rows.dedup();
            Written { what: case.name.clone(), lance: path(index, "lance"), expected, rows }
        });
        wrong.extend(theirs::compare(&oracle, &files.collect::<Vec<_>>(), place.path()));
    }
    ours::none_wrong(wrong);
}

/// The reference writes a blob column; its values, and where they are, are read by us. We do not write any.
#[test]
fn blobs() {
    let values: Vec<Option<Vec<u8>>> = (0..9000_usize)
        .map(|row| match row % 11 {
            3 => None,
            5 => Some(vec![]),
            _ => Some(vec![row as u8; row % 300]),
        })
        .collect();
    let field = with("blob", DataType::LargeBinary, &[("blob", "true")]);
    let pair = Fields::from(vec![field.clone(), Field::new("n", DataType::Int8, true)]);
    let array: ArrayRef = Arc::new(LargeBinaryArray::from_iter(values));
    let numbers: ArrayRef = Arc::new(Int8Array::from(vec![1; array.len()]));
    let pairs: ArrayRef = Arc::new(StructArray::new(pair.clone(), vec![Arc::clone(&array), numbers], None));
    let schema = Arc::new(Schema::new(vec![field.clone(), Field::new("pair", DataType::Struct(pair), true)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array, pairs]).unwrap();
    let batches = vec![batch.slice(0, 5000), batch.slice(5000, 4000)];

    let refused = ours::run(ours::written(&Schema::new(vec![field]), &[], Shape::of(Version::V2_0)));
    assert!(refused.unwrap_err().contains("writing blobs (field blob)"));

    let Some(oracle) = Oracle::find("blobs that the reference writes") else { return };
    let place = tempfile::tempdir().unwrap();
    let (arrow, lance) = (place.path().join("a.arrow"), place.path().join("a.lance"));
    stream::write(&arrow, &schema, &batches);
    oracle.one(json!({"do": "write_file", "arrow": arrow, "to": lance, "version": "2.0"}));
    let case = Case { name: "blobs".into(), schema, batches, pages: false, has: vec!["packed-struct"] };
    ours::none_wrong(ours::run(compare(&lance, &case, &mut Draw::new(23))));
}
