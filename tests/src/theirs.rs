//! Our files, read by the reference.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use serde_json::json;

use crate::oracle::Oracle;
use crate::{same, stream};

/// A file, with what it holds as [`same::whole`] gives it, and the rows that are taken from it, ascending.
#[derive(Debug)]
pub struct Written {
    /// How it came about.
    pub what: String,
    /// Where it is.
    pub lance: PathBuf,
    /// All rows.
    pub expected: RecordBatch,
    /// Rows, ascending.
    pub rows: Vec<u64>,
}

/// Scans each file and takes its rows with the reference, and compares; `place` is for what is read. Gives what is wrong.
pub fn compare(oracle: &Oracle, files: &[Written], place: &Path) -> Vec<String> {
    let mut reads = vec![];
    for file in files {
        let at = reads.len();
        let to = |how: &str| place.join(format!("{at}-{how}.arrow"));
        let scan = json!({"do": "read_file", "path": file.lance, "to": to("scan")});
        let mut take = scan.clone();
        take["to"] = json!(to("take"));
        take["rows"] = json!(file.rows);
        let some = same::rows_at(&file.expected, &file.rows);
        reads.push((
            file,
            [("scan", to("scan"), scan, file.expected.clone()), ("take", to("take"), take, some)],
        ));
    }
    let jobs: Vec<_> =
        reads.iter().flat_map(|(_, both)| both.iter().map(|(_, _, job, _)| job.clone())).collect();
    let results = oracle.run(&jobs);
    let mut wrong = vec![];
    for ((file, both), results) in reads.iter().zip(results.chunks(2)) {
        for ((how, to, _, expected), result) in both.iter().zip(results) {
            let outcome = result.clone().and_then(|_| {
                let (schema, batches) = stream::try_read(to)?;
                same::check(&same::whole(&schema, &batches)?, expected)
            });
            if let Err(error) = outcome {
                let names: Vec<_> =
                    expected.schema().fields().iter().map(|field| field.name().clone()).collect();
                let one = if names.len() == 1 { names[0].as_str() } else { "all" };
                wrong.push(format!("{}: {how} of {one} by the reference: {error}", file.what));
                if names.len() > 1 {
                    wrong.extend(column_by_column(oracle, file, place));
                }
                break;
            }
        }
    }
    wrong
}

/// Scans and takes each column by itself, so that all that is wrong is told.
fn column_by_column(oracle: &Oracle, file: &Written, place: &Path) -> Vec<String> {
    let schema = file.expected.schema();
    let some = same::rows_at(&file.expected, &file.rows);
    let mut jobs = vec![];
    let to = |index: usize, how: &str| place.join(format!("column-{index}-{how}.arrow"));
    for (index, field) in schema.fields().iter().enumerate() {
        let path = &file.lance;
        jobs.push(
            json!({"do": "read_file", "path": path, "to": to(index, "scan"), "columns": [field.name()]}),
        );
        let to = to(index, "take");
        jobs.push(
            json!({"do": "read_file", "path": path, "to": to, "columns": [field.name()], "rows": file.rows}),
        );
    }
    let results = oracle.run(&jobs);
    let mut wrong = vec![];
    for (index, (field, results)) in schema.fields().iter().zip(results.chunks(2)).enumerate() {
        for (how, result, expected) in [("scan", &results[0], &file.expected), ("take", &results[1], &some)] {
            let outcome = result.clone().and_then(|_| {
                let (schema, batches) = stream::try_read(&to(index, how))?;
                same::check_array(same::whole(&schema, &batches)?.column(0), expected.column(index))
            });
            wrong.extend(outcome.err().map(|error| format!("    {how} of {}: {error}", field.name())));
        }
    }
    wrong
}
