//! Files that the reference wrote once, read without it.

use arrow_array::RecordBatch;
use demilance_tests::draw::Draw;
use demilance_tests::{fixture, ours, stream};

#[test]
fn files_are_read_as_the_reference_reads_them() {
    let mut draw = Draw::new(3);
    let wrong = ours::run(async {
        let mut wrong = vec![];
        for fixture in fixture::files() {
            let (schema, batches) = stream::read(&fixture.expected);
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            let rows = draw.rows(rows as u64, 100);
            let found = match ours::open_path(&fixture.path).await {
                Ok(file) => {
                    assert_eq!(file.version().to_string(), fixture.version);
                    ours::compare(&file, &schema, &batches, &rows).await
                }
                Err(error) => vec![error],
            };
            wrong.extend(
                found.into_iter().map(|error| format!("{} {}: {error}", fixture.name, fixture.version)),
            );
        }
        wrong
    });
    ours::none_wrong(wrong);
}

#[test]
fn other_versions_are_refused_by_name() {
    for (name, word) in [("2.3", "2.3"), ("legacy", "0.2")] {
        let result = ours::run(async {
            let file = ours::open_path(&fixture::refused(name)).await?;
            ours::scan(&file, file.schema(), 100).await
        });
        let error = result.expect_err(name);
        assert!(error.contains(word), "{name}: {error}");
    }
}
