//! Tables of several fragments, both ways, and with both writing to the same table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::SchemaRef;
use demilance_tests::draw::Draw;
use demilance_tests::legacy::numbered as rows;
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, same, stream};
use lance_file::{Alignment, Batches, Version};
use lance_io::Store;
use lance_table::{Table, WriteMode, WriteOptions};
use serde_json::{Value, json};

async fn open(path: &Path, version: Option<u64>) -> Result<Table, String> {
    Table::open(Store::local(path), version).await.map_err(|error| error.to_string())
}

/// What the reference reads.
fn whole(path: &Path) -> (SchemaRef, RecordBatch) {
    let (schema, batches) = stream::read(path);
    let whole = same::whole(&schema, &batches).unwrap();
    (schema, whole)
}

#[test]
fn written_by_the_reference() {
    let Some(oracle) = Oracle::find("tables that the reference writes") else { return };
    for version in Version::ALL {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let mut draw = Draw::new(8);
        let (first, more) = (rows(&mut draw, 0, 2500, version), rows(&mut draw, 2500, 700, version));
        // The reference fails on nested vectors in a batch that it cuts into fragments itself.
        let cut = [first.slice(0, 1000), first.slice(1000, 1000), first.slice(2000, 500)];
        stream::write(&at("first.arrow"), &first.schema(), &cut);
        stream::write(&at("more.arrow"), &more.schema(), &[more]);
        let (table, arrow) = (at("table"), at("first.arrow"));
        let mut jobs = vec![
            json!({"do": "write_table", "arrow": arrow, "to": table, "version": version.to_string(), "max_rows_per_file": 1000}),
            json!({"do": "write_table", "arrow": at("more.arrow"), "to": table, "mode": "append"}),
            json!({"do": "delete", "path": table, "predicate": "id IN (3, 4, 999, 1000, 3199)"}),
            json!({"do": "delete", "path": table, "predicate": "id > 2100 AND id % 3 != 0"}),
            json!({"do": "add_columns", "path": table, "expressions": {"twice": "id * 2"}}),
            json!({"do": "drop_columns", "path": table, "columns": ["utf8_random", "deep_random"]}),
            json!({"do": "compact", "path": table}),
        ];
        let versions = jobs.len() as u64;
        let scans = (1..=versions).map(|version| {
            json!({"do": "read_table", "path": table, "version": version, "to": at(&format!("{version}.arrow"))})
        });
        jobs.extend(scans.collect::<Vec<_>>());
        must(&oracle, &jobs);

        let wrong = ours::run(async {
            let mut wrong = vec![];
            for number in 1..=versions {
                let (schema, expected) = whole(&at(&format!("{number}.arrow")));
                let rows = draw.rows(expected.num_rows() as u64, 200);
                let outcome = match open(&table, Some(number)).await {
                    Ok(table) => match same::check_schema(&table.arrow_schema(), &schema) {
                        Ok(()) => ours::compare_table(&table, &expected, &rows).await,
                        Err(error) => Err(error),
                    },
                    Err(error) => Err(error),
                };
                wrong.extend(outcome.err().map(|error| format!("{version}, version {number}: {error}")));
            }
            wrong
        });
        ours::none_wrong(wrong);
    }
}

#[test]
fn written_by_us() {
    // All pairs of the two are in the tests of single files.
    check_all_versions_written(false);
}

#[test]
fn written_by_us_with_checksums() {
    check_all_versions_written(true);
}

fn check_all_versions_written(checksums: bool) {
    check_written(Version::V2_0, Alignment::Bytes64, checksums);
    check_written(Version::V2_1, Alignment::Bytes4096, checksums);
    check_written(Version::V2_2, Alignment::Bytes64, checksums);
}

/// We create and append; the reference reads, appends, deletes and compacts; we read and append again.
fn check_written(version: Version, alignment: Alignment, checksums: bool) {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let path = at("table");
    let mut draw = Draw::new(9);
    let (first, more) = (rows(&mut draw, 0, 2500, version), rows(&mut draw, 2500, 700, version));
    let options = WriteOptions {
        version: Some(version),
        alignment,
        max_rows_per_fragment: 1000,
        checksums: Some(checksums),
        ..Default::default()
    };
    let expected = same::whole(&first.schema(), &[first.clone(), more.clone()]).unwrap();
    let rows_taken = draw.rows(3200, 200);
    ours::run(async {
        write(&path, &first, options.clone()).await;
        let table = write(&path, &more, WriteOptions { mode: WriteMode::Append, ..options.clone() }).await;
        assert_eq!((table.version(), table.fragments().len()), (2, 4));
        ours::compare_table(&table, &expected, &rows_taken).await.unwrap();
    });

    let Some(oracle) = Oracle::find("reading our tables with the reference") else { return };
    let third = rows(&mut draw, 3200, 300, version);
    stream::write(&at("third.arrow"), &third.schema(), &[third]);
    let results = must(
        &oracle,
        &[
            json!({"do": "describe_table", "path": path}),
            json!({"do": "read_table", "path": path, "to": at("scan.arrow")}),
            json!({"do": "read_table", "path": path, "to": at("take.arrow"), "rows": rows_taken}),
            json!({"do": "write_table", "arrow": at("third.arrow"), "to": path, "mode": "append"}),
            json!({"do": "read_table", "path": path, "to": at("3.arrow")}),
            json!({"do": "delete", "path": path, "predicate": "id % 5 = 0 OR id < 300"}),
            json!({"do": "read_table", "path": path, "to": at("4.arrow")}),
            json!({"do": "compact", "path": path}),
            json!({"do": "describe_table", "path": path}),
            json!({"do": "read_table", "path": path, "to": at("compacted.arrow")}),
        ],
    );
    let described = &results[0];
    assert_eq!(described["rows"], 3200);
    assert_eq!(described["storage_version"], version.to_string());
    same::check(&whole(&at("scan.arrow")).1, &expected).unwrap();
    same::check(&whole(&at("take.arrow")).1, &same::rows_at(&expected, &rows_taken)).unwrap();
    let compacted = results[8]["version"].as_u64().unwrap();
    assert!(compacted > 4, "the reference compacted nothing");

    let last = rows(&mut draw, 3500, 100, version);
    ours::run(async {
        for (number, file) in [(3, "3.arrow"), (4, "4.arrow"), (compacted, "compacted.arrow")] {
            let table = open(&path, Some(number)).await.unwrap();
            let expected = whole(&at(file)).1;
            let rows = draw.rows(expected.num_rows() as u64, 200);
            let outcome = ours::compare_table(&table, &expected, &rows).await;
            outcome.unwrap_or_else(|error| panic!("{version} {alignment:?}, version {number}: {error}"));
        }
        // On top of what the reference did.
        let table = write(&path, &last, WriteOptions { mode: WriteMode::Append, ..options.clone() }).await;
        assert_eq!(table.version(), compacted + 1);
    });
    let results = must(
        &oracle,
        &[
            json!({"do": "describe_table", "path": path}),
            json!({"do": "read_table", "path": path, "to": at("last.arrow")}),
        ],
    );
    assert_eq!(results[0]["version"], compacted + 1);
    let (schema, before) = whole(&at("compacted.arrow"));
    let after = same::whole(&schema, &[last]).unwrap();
    let both = arrow_select::concat::concat_batches(&before.schema(), &[before.clone(), after]).unwrap();
    same::check(&whole(&at("last.arrow")).1, &both).unwrap();

    // Another schema replaces everything; the reference still reads the past.
    let other =
        RecordBatch::try_from_iter([("other", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)]).unwrap();
    ours::run(write(&path, &other, WriteOptions { mode: WriteMode::Overwrite, ..options }));
    let jobs = [
        json!({"do": "read_table", "path": path, "to": at("other.arrow")}),
        json!({"do": "read_table", "path": path, "to": at("past.arrow"), "version": compacted + 1}),
    ];
    must(&oracle, &jobs);
    assert_eq!(whole(&at("other.arrow")).1.num_rows(), 2);
    same::check(&whole(&at("past.arrow")).1, &both).unwrap();
}

async fn write(path: &PathBuf, batch: &RecordBatch, options: WriteOptions) -> Table {
    let batches: Vec<RecordBatch> = (0..batch.num_rows())
        .step_by(400)
        .map(|start| batch.slice(start, 400.min(batch.num_rows() - start)))
        .collect();
    Table::write(Store::local(path), Batches::from(batches), options).await.unwrap()
}

/// Jobs that have to succeed.
fn must(oracle: &Oracle, jobs: &[Value]) -> Vec<Value> {
    let results = oracle.run(jobs).into_iter().zip(jobs);
    results.map(|(result, job)| result.unwrap_or_else(|error| panic!("{job}: {error}"))).collect()
}
