//! Blobs that the reference writes: in files by themselves, where they have their values or say where these are, and in
//! tables, which only say where they are. We do not write any.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, Int8Array, LargeBinaryArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use demilance_tests::draw::Draw;
use demilance_tests::oracle::Oracle;
use demilance_tests::ours::Shape;
use demilance_tests::{ours, same, stream, verified};
use lance_file::{FileReader, Version};
use lance_io::Store;
use lance_table::Table;
use serde_json::json;

/// What a row has.
type Pattern = fn(usize) -> Row;

/// Which rows have what.
const ROWS: &[(&str, Pattern)] = &[
    ("all there", |row| Row::Bytes(1 + row % 300)),
    ("some null, some empty", |row| match row % 11 {
        3 => Row::Null,
        5 => Row::Empty,
        _ => Row::Bytes(row % 300),
    }),
    ("null first", |row| if row < 4090 { Row::Null } else { Row::Bytes(7) }),
    ("null and empty", |row| if row.is_multiple_of(2) { Row::Null } else { Row::Empty }),
    ("all null", |_| Row::Null),
    ("all empty", |_| Row::Empty),
];

enum Row {
    Null,
    Empty,
    Bytes(usize),
}

fn values(rows: usize, what: Pattern) -> ArrayRef {
    let values = (0..rows).map(|row| match what(row) {
        Row::Null => None,
        Row::Empty => Some(vec![]),
        Row::Bytes(len) => Some(vec![row as u8; len]),
    });
    Arc::new(LargeBinaryArray::from_iter(values))
}

fn field(key: &str, value: &str) -> Field {
    let metadata = HashMap::from([(key.to_string(), value.to_string())]);
    Field::new("blob", DataType::LargeBinary, true).with_metadata(metadata)
}

/// A blob, and one in a struct that is null at times, which version 2.0 cannot say.
fn batch(rows: usize, what: Pattern, version: Version) -> RecordBatch {
    let field = field("lance-encoding:blob", "true");
    let pair = Fields::from(vec![field.clone(), Field::new("n", DataType::Int8, true)]);
    let blobs = values(rows, what);
    let numbers: ArrayRef = Arc::new(Int8Array::from_iter((0..rows).map(|row| Some((row % 100) as i8))));
    let nulls = (version > Version::V2_0)
        .then(|| NullBuffer::from_iter((0..rows).map(|row| !row.is_multiple_of(13))));
    let pairs = StructArray::new(pair.clone(), vec![Arc::clone(&blobs), numbers], nulls);
    let schema = Schema::new(vec![field, Field::new("pair", DataType::Struct(pair), true)]);
    RecordBatch::try_new(Arc::new(schema), vec![blobs, Arc::new(pairs)]).unwrap()
}

#[test]
fn files_have_the_values_or_where_they_are() {
    let Some(oracle) = Oracle::find("blobs that the reference writes") else { return };
    let place = tempfile::tempdir().unwrap();
    let (mut cases, mut jobs) = (vec![], vec![]);
    for version in Version::ALL {
        for (name, what) in ROWS {
            for pages in [false, true] {
                let whole = batch(9000, *what, version);
                let batches = vec![whole.slice(0, 5000), whole.slice(5000, 1), whole.slice(5001, 3999)];
                let index = cases.len();
                let at = |ending: &str| place.path().join(format!("{index}.{ending}"));
                stream::write(&at("arrow"), &whole.schema(), &batches);
                jobs.push(json!({
                    "do": "write_file", "arrow": at("arrow"), "to": at("lance"), "version": version.to_string(),
                    "data_cache_bytes": pages.then_some(1),
                }));
                cases.push((
                    format!("{version}, {name}, pages {pages}"),
                    version,
                    at("lance"),
                    whole,
                    batches,
                ));
            }
        }
    }
    for (result, (name, ..)) in oracle.run(&jobs).into_iter().zip(&cases) {
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let mut draw = Draw::new(23);
    let wrong = ours::run(async {
        let mut wrong = vec![];
        for (name, version, path, whole, batches) in cases {
            let rows = draw.rows(9000, 200);
            let found = match ours::open_path(&path).await {
                Ok(file) => {
                    let mut found = ours::compare(&file, &whole.schema(), &batches, &rows).await;
                    found.extend(verified::path(&path).await.1);
                    let bytes = std::fs::read(&path).unwrap();
                    found.extend(compare_described(&file, version, &bytes, &whole, &rows).await.err());
                    found
                }
                Err(error) => vec![error],
            };
            wrong.extend(found.into_iter().map(|error| format!("{name}: {error}")));
        }
        wrong
    });
    ours::none_wrong(wrong);
}

/// Reads where blobs are, and looks there.
async fn compare_described(
    file: &FileReader,
    version: Version,
    bytes: &[u8],
    whole: &RecordBatch,
    rows: &[u64],
) -> Result<(), String> {
    let described = file.schema().with_blob_descriptions();
    let all = ours::scan(file, &described, 777).await?;
    let some = ours::take(file, rows, &described).await?;
    same::check(&some, &same::rows_at(&all, rows))
        .map_err(|error| format!("take of descriptions: {error}"))?;
    let in_pair = |batch: &RecordBatch| batch.column(1).as_struct().column(0).clone();
    let pair = all.column(1).as_struct();
    if pair.logical_nulls() != whole.column(1).logical_nulls() {
        return Err("other structs around descriptions are null".into());
    }
    check_described(all.column(0), whole.column(0), None, version, bytes)?;
    check_described(&in_pair(&all), &in_pair(whole), pair.nulls(), version, bytes)
}

fn check_described(
    described: &ArrayRef,
    values: &ArrayRef,
    above: Option<&NullBuffer>,
    version: Version,
    bytes: &[u8],
) -> Result<(), String> {
    let (described, values) = (described.as_struct(), values.as_binary::<i64>());
    let member = |name: &str| described.column_by_name(name).unwrap().as_primitive::<UInt64Type>().clone();
    let (positions, sizes) = (member("position"), member("size"));
    for row in 0..values.len() {
        if above.is_some_and(|above| above.is_null(row)) {
            continue;
        }
        let (position, size) = (positions.value(row) as usize, sizes.value(row) as usize);
        let right = match (values.is_null(row), described.is_null(row)) {
            (false, false) => match values.value(row) {
                [] => (position, size) == (0, 0),
                value => bytes.get(position..position + size) == Some(value),
            },
            (true, false) => version == Version::V2_0 && (position, size) == (1, 0),
            (true, true) => version > Version::V2_0,
            (false, true) => false,
        };
        if !right {
            return Err(format!("row {row} is described as ({position}, {size})"));
        }
    }
    Ok(())
}

/// A column of blobs as tables of 2.2 have them: values, and references to values elsewhere.
fn second_kind(rows: usize, what: Pattern) -> (Field, ArrayRef) {
    let members = Fields::from(vec![
        Field::new("data", DataType::LargeBinary, true),
        Field::new("uri", DataType::Utf8, true),
    ]);
    let metadata = [("ARROW:extension:name", "lance.blob.v2"), ("ARROW:extension:metadata", "")];
    let metadata = metadata.map(|(key, value)| (key.to_string(), value.to_string()));
    let field = Field::new("blob", DataType::Struct(members.clone()), true).with_metadata(metadata.into());
    let mut data: Vec<Option<Vec<u8>>> = vec![];
    for (row, value) in values(rows, what).as_binary::<i64>().iter().enumerate() {
        // Some are stored beside the file, in one of their own or together.
        let value = value.map(|value| if row % 500 == 499 { vec![7; 70_000] } else { value.to_vec() });
        data.push(if row % 700 == 699 { Some(vec![8; 4_300_000]) } else { value });
    }
    let nulls = NullBuffer::from_iter(data.iter().map(Option::is_some));
    let data: ArrayRef = Arc::new(LargeBinaryArray::from_iter(data));
    let uris: ArrayRef = Arc::new(StringArray::new_null(rows));
    (field, Arc::new(StructArray::new(members, vec![data, uris], Some(nulls))))
}

#[test]
fn tables_say_where_they_are() {
    let Some(oracle) = Oracle::find("tables of blobs that the reference writes") else { return };
    let place = tempfile::tempdir().unwrap();
    let mut draw = Draw::new(24);
    let (mut cases, mut jobs) = (vec![], vec![]);
    for version in Version::ALL {
        for (name, what) in ROWS {
            for second in [false, true] {
                if second && version < Version::V2_2 {
                    continue;
                }
                let (field, array) = match second {
                    true => second_kind(1500, *what),
                    false => (field("lance-encoding:blob", "true"), values(1500, *what)),
                };
                let fields = vec![field, Field::new("n", DataType::Int8, true)];
                let schema: SchemaRef = Arc::new(Schema::new(fields));
                let numbers: ArrayRef = Arc::new(Int8Array::from(vec![1; array.len()]));
                let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array, numbers]).unwrap();
                let index = cases.len();
                let at = |ending: &str| place.path().join(format!("{index}.{ending}"));
                stream::write(&at("arrow"), &schema, &[batch]);
                let mut rows = draw.rows(1500, 100);
                rows.sort_unstable();
                rows.dedup();
                let (table, version) = (at("table"), version.to_string());
                jobs.push(json!({
                    "do": "write_table", "arrow": at("arrow"), "to": table, "version": version, "max_rows_per_file": 800,
                }));
                jobs.push(json!({"do": "read_table", "path": table, "to": at("scan")}));
                jobs.push(json!({"do": "read_table", "path": table, "to": at("take"), "rows": rows}));
                cases.push((format!("{version}, {name}, second kind: {second}"), index, rows));
            }
        }
    }
    for (result, job) in oracle.run(&jobs).into_iter().zip(&jobs) {
        result.unwrap_or_else(|error| panic!("{job}: {error}"));
    }
    let wrong = ours::run(async {
        let mut wrong = vec![];
        for (name, index, rows) in cases {
            let at = |ending: &str| place.path().join(format!("{index}.{ending}"));
            let compared = async {
                let store = Store::local(at("table"));
                let (_, lines, _) = verified::table(&store, None).await;
                ours::none_wrong(lines);
                let table = Table::open(store, None).await.map_err(|error| error.to_string())?;
                let read = |how: &str| {
                    let (schema, batches) = stream::try_read(&at(how))?;
                    Ok::<_, String>((same::whole(&schema, &batches)?, schema))
                };
                let (scanned, schema) = read("scan")?;
                let described = table.schema().with_blob_descriptions().to_arrow();
                same::check_schema(&described, &schema)?;
                same::check(&ours::scan_table(&table).await?, &scanned)
                    .map_err(|error| format!("scan: {error}"))?;
                same::check(&ours::take_table(&table, &rows).await?, &read("take")?.0)
                    .map_err(|error| format!("take: {error}"))
            };
            wrong.extend(compared.await.err().map(|error| format!("{name}: {error}")));
        }
        wrong
    });
    ours::none_wrong(wrong);
}

#[test]
fn writing_is_refused_by_name() {
    let second = second_kind(1, |_| Row::Null).0;
    let first = [field("lance-encoding:blob", "true"), field("lance-encoding:blob", "")];
    let inside = Field::new("pair", DataType::Struct(vec![first[0].clone()].into()), true);
    for (field, path) in [(&first[0], "blob"), (&first[1], "blob"), (&second, "blob"), (&inside, "pair.blob")]
    {
        for version in Version::ALL {
            let schema = Schema::new(vec![field.clone()]);
            let refused = ours::run(ours::written(&schema, &[], Shape::of(version))).unwrap_err();
            let wanted = format!("writing blobs (field {path})");
            assert!(refused.contains(&wanted) || refused.contains("2.2"), "{version} {path}: {refused}");
        }
    }
}
