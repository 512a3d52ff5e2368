//! Ids that rows keep, and which versions made and changed them: tables that both write, read by both.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, same, stream};
use futures::TryStreamExt;
use lance_io::Store;
use lance_table::{RowColumn, ScanOptions, Table, WriteMode, WriteOptions};
use serde_json::json;

fn rows(range: std::ops::Range<i64>) -> RecordBatch {
    let names = range.clone().map(|row| (row % 5 != 0).then(|| format!("row {row}")));
    let names: ArrayRef = Arc::new(names.collect::<StringArray>());
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    RecordBatch::try_from_iter_with_nullable([("id", id, false), ("name", names, true)]).unwrap()
}

/// Each version after ours was made by the reference in another way; all say the same of each row.
#[test]
fn both_say_the_same_of_rows() {
    let Some(oracle) = Oracle::find("row ids that both write") else { return };
    for stable_row_ids in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let path = at("table");
        let store = Store::local(&path);
        let write = |batch: RecordBatch, mode| {
            let options =
                WriteOptions { mode, max_rows_per_fragment: 40, stable_row_ids, ..Default::default() };
            let table = ours::run(Table::write(store.clone(), vec![batch].into(), options));
            table.unwrap().version()
        };
        write(rows(0..100), WriteMode::Create);
        write(rows(100..130), WriteMode::Append);
        stream::write(&at("more.arrow"), &rows(0..0).schema(), &[rows(120..150)]);
        let jobs = [
            json!({"do": "update", "path": path, "updates": {"name": "'new'"}, "where": "id % 7 = 3"}),
            json!({"do": "delete", "path": path, "predicate": "id IN (0, 39, 40, 77, 129)"}),
            json!({"do": "merge_insert", "path": path, "arrow": at("more.arrow"), "on": "id"}),
            json!({"do": "compact", "path": path}),
        ];
        let results = oracle.run(&jobs);
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        let last = write(rows(150..160), WriteMode::Append);
        assert!(last > 6, "the reference compacted nothing");

        let mut columns = vec!["id".to_string()];
        columns.extend(RowColumn::ALL.map(|column| column.name().to_string()));
        let job = |version: u64| {
            let to = at(&format!("{version}.arrow"));
            json!({"do": "read_table", "path": path, "to": to, "version": version, "columns": columns})
        };
        let results = oracle.run(&(1..=last).map(job).collect::<Vec<_>>());
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        for version in 1..=last {
            let (schema, batches) = stream::read(&at(&format!("{version}.arrow")));
            let expected = same::whole(&schema, &batches).unwrap();
            ours::run(async {
                let table = Table::open(store.clone(), Some(version)).await.unwrap();
                let order = (0..table.rows()).rev().collect::<Vec<_>>();
                let taken = table.take(&order, Some(&columns), false).await.unwrap();
                let options = ScanOptions { columns: Some(columns.clone()), ..Default::default() };
                let scanned = table.scan(options).unwrap().try_collect::<Vec<_>>().await.unwrap();
                let scanned = same::whole(&taken.schema(), &scanned).unwrap();
                same::check(&scanned, &expected).unwrap_or_else(|error| panic!("version {version}: {error}"));
                same::check(&taken, &same::rows_at(&expected, &order)).unwrap();
                // Every row is found by its id, wherever it went.
                let ids = expected.column_by_name("_rowid").unwrap();
                let found = table
                    .take_ids(ids.as_primitive::<UInt64Type>().values(), Some(&columns), false)
                    .await
                    .unwrap();
                same::check(&found, &expected).unwrap();
            });
        }
    }
}
