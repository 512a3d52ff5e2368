//! The recordings of a robot: imported from Parquet, compared with it, and read by the reference.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use demilance_tests::draw::Draw;
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, recordings, same, stream};
use lance_file::Batches;
use lance_io::Store;
use lance_table::{Table, WriteOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::json;

#[test]
fn a_hundred_episodes() {
    let Some(data) = recordings("the import of a hundred episodes") else { return };
    let mut episodes: Vec<PathBuf> = std::fs::read_dir(data.join("g1/data/chunk-000"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    episodes.sort();
    assert_eq!(episodes.len(), 100);
    check(&episodes, Some(35_965));
}

#[test]
fn frames_with_images() {
    let Some(data) = recordings("the import of frames with images") else { return };
    check(&[data.join("g1/frames.parquet")], None);
}

fn check(sources: &[PathBuf], rows: Option<u64>) {
    let place = tempfile::tempdir().unwrap();
    let (schema, batches) = load(sources);
    let expected = same::whole(&schema, &batches).unwrap();
    let taken = Draw::new(10).rows(expected.num_rows() as u64, 256);
    let oracle = Oracle::find("reading imported recordings with the reference");

    let written = place.path().join("written");
    ours::run(async {
        let fields =
            schema.fields().iter().map(|field| (**field).clone().with_name(without_dots(field.name())));
        let flat = SchemaRef::new(Schema::new(fields.collect::<Vec<_>>()));
        let renamed =
            batches.iter().map(|batch| RecordBatch::try_new(flat.clone(), batch.columns().to_vec()));
        let stream = Batches::from_iter(flat.clone(), renamed.collect::<Vec<_>>());
        Table::write(Store::local(&written), stream, WriteOptions::default()).await.unwrap();
    });
    let imported = place.path().join("imported");
    let status = Command::new(command()).arg("import").args(sources).arg(&imported).status().unwrap();
    assert!(status.success(), "import failed");

    for path in [&written, &imported] {
        ours::run(async {
            let table = Table::open(Store::local(path), None).await.unwrap();
            assert_eq!(table.rows(), rows.unwrap_or(table.rows()));
            same_columns(&ours::scan_table(&table).await.unwrap(), &expected);
            let some = ours::take_table(&table, &taken).await.unwrap();
            same_columns(&some, &same::rows_at(&expected, &taken));
        });
        if let Some(oracle) = &oracle {
            read_by_them(oracle, path, place.path(), &expected, &taken);
        }
    }
}

fn read_by_them(oracle: &Oracle, path: &Path, place: &Path, expected: &RecordBatch, taken: &[u64]) {
    let (scan, take) = (place.join("scan.arrow"), place.join("take.arrow"));
    let described = oracle.one(json!({"do": "describe_table", "path": path}));
    assert_eq!(described["rows"], expected.num_rows());
    oracle.one(json!({"do": "read_table", "path": path, "to": scan}));
    oracle.one(json!({"do": "read_table", "path": path, "to": take, "rows": taken}));
    let (schema, batches) = stream::read(&scan);
    same_columns(&same::whole(&schema, &batches).unwrap(), expected);
    let (schema, batches) = stream::read(&take);
    same_columns(&same::whole(&schema, &batches).unwrap(), &same::rows_at(expected, taken));
}

/// Compares by name. Names in a table have no dots: in ours, `observation.state` is `observation_state`; the command
/// makes it the member `state` of `observation`.
fn same_columns(actual: &RecordBatch, expected: &RecordBatch) {
    for (field, column) in expected.schema().fields().iter().zip(expected.columns()) {
        let name = field.name();
        let found = find(actual, name).unwrap_or_else(|| panic!("no column {name}"));
        same::check_array(&found, column).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

fn find(batch: &RecordBatch, name: &str) -> Option<ArrayRef> {
    if let Some(column) = batch.column_by_name(&without_dots(name)) {
        return Some(column.clone());
    }
    let mut path = name.split('.');
    let first = batch.column_by_name(path.next()?)?.clone();
    path.try_fold(first, |parent, name| parent.as_struct().column_by_name(name).cloned())
}

fn without_dots(name: &str) -> String {
    name.replace('.', "_")
}

/// The command, which is built if it is not there; where all of the workspace is tested, it is.
fn command() -> PathBuf {
    // This test is in target/debug/deps.
    let name = format!("demilance{}", std::env::consts::EXE_SUFFIX);
    let command = std::env::current_exe().unwrap().parent().unwrap().with_file_name(name);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status =
        Command::new(cargo).args(["build", "--quiet", "--locked", "--package", "demilance-cli"]).status();
    assert!(status.unwrap().success(), "the command cannot be built");
    command
}

/// The rows of Parquet files, one after the other; the schema is without the metadata of other software.
fn load(sources: &[PathBuf]) -> (SchemaRef, Vec<RecordBatch>) {
    let mut schema = None;
    let mut batches = vec![];
    for source in sources {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(source).unwrap()).unwrap();
        let plain = SchemaRef::new(Schema::new(builder.schema().fields().clone()));
        for batch in builder.build().unwrap() {
            batches.push(batch.unwrap().with_schema(SchemaRef::clone(&plain)).unwrap());
        }
        schema.get_or_insert(plain);
    }
    (schema.unwrap(), batches)
}
