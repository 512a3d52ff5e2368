//! Files that we write, read by the reference and by us: type × version × null pattern × size × alignment.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use demilance_tests::draw::{Draw, Nulls};
use demilance_tests::legacy::fit;
use demilance_tests::oracle::Oracle;
use demilance_tests::ours::Shape;
use demilance_tests::types::{batch, columns_of, read_together, schema};
use demilance_tests::{each_version_and_nulls, ours, same, stream};
use lance_file::{Alignment, Version};
use lance_io::Store;
use serde_json::json;

/// Rows in each batch, and when a page is closed.
const SIZES: &[(&[usize], u64)] = &[
    (&[], 8 << 20),
    (&[1], 8 << 20),
    (&[1023], 8 << 20),
    (&[1024], 8 << 20),
    (&[1025], 8 << 20),
    (&[5000], 8 << 20),
    // Several batches a page, and several pages.
    (&[900, 1, 1100, 1024, 700, 1275], 6000),
];

each_version_and_nulls!(check: version_2_0 = V2_0, version_2_1 = V2_1, version_2_2 = V2_2);

/// A file, with what it holds and the rows that are taken from it, ascending.
struct Case {
    what: String,
    lance: PathBuf,
    expected: RecordBatch,
    rows: Vec<u64>,
}

/// Without the reference, files are still written and read back by us.
fn check(version: Version, nulls: Nulls) {
    let place = tempfile::tempdir().unwrap();
    let (cases, read_by_us) = ours::run(write(version, nulls, place.path()));
    let mut wrong = vec![];
    if let Some(oracle) = Oracle::find("reading our files with the reference") {
        wrong.extend(read_by_them(&oracle, &cases, place.path()));
    }
    wrong.extend(read_by_us);
    ours::none_wrong(wrong);
}

async fn write(version: Version, nulls: Nulls, place: &Path) -> (Vec<Case>, Vec<String>) {
    let mut columns = columns_of(version);
    columns.retain(|column| version == Version::V2_0 || !column.name.starts_with("packed"));
    let schema = schema(&columns);
    let store = Store::local(place);
    let mut draw = Draw::new(5);
    let (mut cases, mut wrong) = (vec![], vec![]);
    for (index, (sizes, page_bytes)) in SIZES.iter().enumerate() {
        let batches: Vec<_> =
            sizes.iter().map(|rows| fit(batch(&mut draw, &columns, *rows, nulls), version)).collect();
        let expected = same::whole(&schema, &batches).unwrap();
        let mut rows = draw.rows(expected.num_rows() as u64, 200);
        for alignment in [Alignment::Bytes64, Alignment::Bytes4096] {
            let name = format!("{index}-{alignment:?}.lance");
            // Of neighbours one has checksums: the reference must not care.
            let checksums = (index % 2 == 0) == (alignment == Alignment::Bytes64);
            let shape = Shape { alignment, page_bytes: *page_bytes, checksums, ..Shape::of(version) };
            let with = if checksums { " with checksums" } else { "" };
            let what = format!("{version} {nulls:?} {sizes:?} {alignment:?}{with}");
            if let Err(error) = ours::write_file(&store, &name, &schema, &batches, shape).await {
                wrong.push(format!("{what}: writing: {error}"));
                continue;
            }
            let lance = place.join(&name);
            let found = match ours::open_path(&lance).await {
                Ok(file) => {
                    let bytes = std::fs::read(&lance).unwrap();
                    let mut found = ours::compare(&file, &schema, &batches, &rows).await;
                    found.extend(ours::check_layout(&bytes, file.container(), alignment).err());
                    found
                }
                Err(error) => vec![error],
            };
            wrong.extend(found.into_iter().map(|error| format!("{what}: read by us: {error}")));
            rows.sort_unstable();
            rows.dedup();
            cases.push(Case { what, lance, expected: expected.clone(), rows: rows.clone() });
        }
    }
    (cases, wrong)
}

fn read_by_them(oracle: &Oracle, cases: &[Case], place: &Path) -> Vec<String> {
    let mut reads = vec![];
    for case in cases {
        for columns in read_together(&case.expected.schema()) {
            let at = reads.len();
            let to = |how: &str| place.join(format!("{at}-{how}.arrow"));
            let scan = json!({"do": "read_file", "path": case.lance, "to": to("scan"), "columns": columns});
            let mut take = scan.clone();
            take["to"] = json!(to("take"));
            take["rows"] = json!(case.rows);
            let indices: Vec<_> =
                columns.iter().map(|name| case.expected.schema().index_of(name).unwrap()).collect();
            let expected = case.expected.project(&indices).unwrap();
            let some = same::rows_at(&expected, &case.rows);
            reads.push((case, [("scan", to("scan"), scan, expected), ("take", to("take"), take, some)]));
        }
    }
    let jobs: Vec<_> =
        reads.iter().flat_map(|(_, both)| both.iter().map(|(_, _, job, _)| job.clone())).collect();
    let results = oracle.run(&jobs);
    let mut wrong = vec![];
    for ((case, both), results) in reads.iter().zip(results.chunks(2)) {
        for ((how, to, _, expected), result) in both.iter().zip(results) {
            let outcome = result.clone().and_then(|_| {
                let (schema, batches) = stream::try_read(to)?;
                same::check(&same::whole(&schema, &batches)?, expected)
            });
            if let Err(error) = outcome {
                let names: Vec<_> =
                    expected.schema().fields().iter().map(|field| field.name().clone()).collect();
                let one = if names.len() == 1 { names[0].as_str() } else { "all" };
                wrong.push(format!("{}: {how} of {one} by the reference: {error}", case.what));
                if names.len() > 1 {
                    wrong.extend(column_by_column(oracle, case, place));
                }
                break;
            }
        }
    }
    wrong
}

/// Scans and takes each column by itself, so that all that is wrong is told.
fn column_by_column(oracle: &Oracle, case: &Case, place: &Path) -> Vec<String> {
    let schema = case.expected.schema();
    let some = same::rows_at(&case.expected, &case.rows);
    let mut jobs = vec![];
    let to = |index: usize, how: &str| place.join(format!("column-{index}-{how}.arrow"));
    for (index, field) in schema.fields().iter().enumerate() {
        let path = &case.lance;
        jobs.push(
            json!({"do": "read_file", "path": path, "to": to(index, "scan"), "columns": [field.name()]}),
        );
        let to = to(index, "take");
        jobs.push(
            json!({"do": "read_file", "path": path, "to": to, "columns": [field.name()], "rows": case.rows}),
        );
    }
    let results = oracle.run(&jobs);
    let mut wrong = vec![];
    for (index, (field, results)) in schema.fields().iter().zip(results.chunks(2)).enumerate() {
        for (how, result, expected) in [("scan", &results[0], &case.expected), ("take", &results[1], &some)] {
            let outcome = result.clone().and_then(|_| {
                let (schema, batches) = stream::try_read(&to(index, how))?;
                same::check_array(same::whole(&schema, &batches)?.column(0), expected.column(index))
            });
            wrong.extend(outcome.err().map(|error| format!("    {how} of {}: {error}", field.name())));
        }
    }
    wrong
}
