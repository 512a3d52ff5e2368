//! Verifying what the reference writes today: nothing is wrong with it.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use demilance_tests::draw::{Draw, Nulls};
use demilance_tests::oracle::Oracle;
use demilance_tests::types::{batch, columns};
use demilance_tests::{legacy, ours, stream, verified};
use lance_io::Store;
use serde_json::{Value, json};

const VERSIONS: [&str; 3] = ["2.0", "2.1", "2.2"];

#[test]
fn files_of_every_type() {
    let Some(oracle) = Oracle::find("verifying files of the reference") else { return };
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let mut draw = Draw::new(21);
    let mut jobs = vec![];
    for nulls in [Nulls::None, Nulls::Some, Nulls::All] {
        for rows in [0, 1, 3000] {
            let whole = batch(&mut draw, &columns(), rows, nulls);
            for version in VERSIONS {
                let batch = legacy::fit(whole.clone(), version.parse().unwrap());
                let (arrow, to) = (
                    at(&format!("{nulls:?}-{rows}-{version}.arrow")),
                    at(&format!("{nulls:?}-{rows}-{version}.lance")),
                );
                let halves = [batch.slice(0, rows / 2), batch.slice(rows / 2, rows - rows / 2)];
                stream::write(&arrow, &batch.schema(), &halves);
                jobs.push(json!({"do": "write_file", "arrow": arrow, "to": to, "version": version}));
            }
        }
    }
    let (mut wrong, mut refused) = (vec![], 0);
    for (job, result) in jobs.iter().zip(oracle.run(&jobs)) {
        // What the reference refuses is no file.
        if result.is_err() {
            refused += 1;
            continue;
        }
        let file = Path::new(job["to"].as_str().unwrap());
        let (_, lines) = ours::run(verified::path(file));
        let name = file.file_name().unwrap().display();
        wrong.extend(lines.into_iter().map(|line| format!("{name}: {line}")));
    }
    assert!(refused <= 2, "the reference wrote only {} of {} files", jobs.len() - refused, jobs.len());
    ours::none_wrong(wrong);
}

fn rows(first: i64, count: i64) -> RecordBatch {
    let mut draw = Draw::new(first as u64);
    let columns = columns().into_iter().filter(|column| !column.name.starts_with("vector")).take(30);
    let batch = batch(&mut draw, &columns.collect::<Vec<_>>(), count as usize, Nulls::Some);
    let mut fields = vec![Arc::new(Field::new("id", DataType::Int64, false))];
    fields.extend(batch.schema().fields().iter().cloned());
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + count));
    let arrays = std::iter::once(id).chain(batch.columns().iter().cloned()).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

#[test]
fn tables_after_every_operation() {
    let Some(oracle) = Oracle::find("verifying tables of the reference") else { return };
    for version in VERSIONS {
        for stable in [false, true] {
            let place = tempfile::tempdir().unwrap();
            let at = |name: &str| place.path().join(name);
            for (name, first, count) in
                [("first.arrow", 0, 2500), ("more.arrow", 2500, 700), ("merge.arrow", 3000, 500)]
            {
                let batch = rows(first, count);
                stream::write(&at(name), &batch.schema(), &[batch]);
            }
            let path = at("table");
            let jobs = [
                json!({"do": "write_table", "arrow": at("first.arrow"), "to": path, "version": version,
                       "max_rows_per_file": 1000, "enable_stable_row_ids": stable}),
                json!({"do": "write_table", "arrow": at("more.arrow"), "to": path, "mode": "append"}),
                json!({"do": "create_index", "path": path, "column": "id"}),
                json!({"do": "delete", "path": path, "predicate": "id IN (3, 4, 999, 1000, 3199)"}),
                json!({"do": "update", "path": path, "updates": {"id": "id + 10000"}, "where": "id % 500 = 7"}),
                json!({"do": "merge_insert", "path": path, "arrow": at("merge.arrow"), "on": "id"}),
                json!({"do": "add_columns", "path": path, "expressions": {"twice": "id * 2"}}),
                json!({"do": "drop_columns", "path": path, "columns": [rows(0, 1).schema().field(2).name()]}),
                json!({"do": "delete", "path": path, "predicate": "id % 3 = 0"}),
                json!({"do": "compact", "path": path}),
                json!({"do": "restore", "path": path, "version": 4}),
                json!({"do": "tag", "path": path, "name": "kept", "version": 2}),
            ];
            must(&oracle, &jobs);
            let store = Store::local(&path);
            let (_, lines, notes) = ours::run(verified::table(&store, None));
            let lines = lines.into_iter().chain(notes);
            let mut wrong: Vec<_> = lines.map(|line| format!("{version} {stable}: {line}")).collect();
            let last = must(&oracle, &[json!({"do": "describe_table", "path": path})]);
            for number in last[0]["versions"].as_array().unwrap() {
                let number = number.as_u64().unwrap();
                let (_, lines, notes) = ours::run(verified::table(&store, Some(number)));
                let lines = lines.into_iter().chain(notes);
                wrong.extend(lines.map(|line| format!("{version} {stable}, version {number}: {line}")));
            }
            ours::none_wrong(wrong);
        }
    }
}

fn must(oracle: &Oracle, jobs: &[Value]) -> Vec<Value> {
    let results = oracle.run(jobs).into_iter().zip(jobs);
    results.map(|(result, job)| result.unwrap_or_else(|error| panic!("{job}: {error}"))).collect()
}
