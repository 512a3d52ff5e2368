//! Files of every encoding both ways: those of the reference are read by us, ours by the reference. What was met is in
//! `docs/format/coverage.md`.

use std::path::Path;

use demilance_tests::corpus::{Case, cases};
use demilance_tests::coverage::{By, Coverage};
use demilance_tests::draw::Draw;
use demilance_tests::oracle::Oracle;
use demilance_tests::ours::Shape;
use demilance_tests::theirs::{self, Written};
use demilance_tests::{ours, package, same, stream};
use lance_file::Version;
use lance_io::Store;
use serde_json::json;

#[test]
fn what_is_read_and_written() {
    let Some(oracle) = Oracle::find("docs/format/coverage.md") else { return };
    let (mut coverage, mut wrong) = (Coverage::default(), vec![]);
    for version in Version::ALL {
        let cases = cases(version);
        let place = tempfile::tempdir().unwrap();
        wrong.extend(read(&oracle, &cases, version, place.path(), &mut coverage));
        let place = tempfile::tempdir().unwrap();
        wrong.extend(written(&oracle, &cases, version, place.path(), &mut coverage));
    }
    ours::none_wrong(wrong);

    let (text, path) = (coverage.text(), package().join("../docs/format/coverage.md"));
    if std::env::var("DEMILANCE_COVERAGE").as_deref() == Ok("write") {
        std::fs::write(&path, &text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let differing = |a: &str, b: &str| {
        let lines: std::collections::BTreeSet<_> = b.lines().collect();
        a.lines().filter(|line| !lines.contains(line)).map(str::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(
        text == there,
        "docs/format/coverage.md is not what was met.\nMet:\n{}\nSaid:\n{}",
        differing(&text, &there),
        differing(&there, &text)
    );
}

/// What the reference refuses is no file.
fn read(
    oracle: &Oracle,
    cases: &[Case],
    version: Version,
    place: &Path,
    coverage: &mut Coverage,
) -> Vec<String> {
    let path = |index: usize, ending: &str| place.join(format!("{index}.{ending}"));
    let job = |(index, case): (usize, &Case)| {
        stream::write(&path(index, "arrow"), &case.schema, &case.batches);
        json!({
            "do": "write_file", "arrow": path(index, "arrow"), "to": path(index, "lance"),
            "version": version.to_string(), "data_cache_bytes": 1,
        })
    };
    let jobs: Vec<_> = cases.iter().enumerate().map(job).collect();
    let (mut draw, mut wrong, mut refused) = (Draw::new(42), vec![], 0);
    for ((index, case), result) in cases.iter().enumerate().zip(oracle.run(&jobs)) {
        if result.is_err() {
            refused += 1;
            continue;
        }
        let rows = draw.rows(case.batches.iter().map(|batch| batch.num_rows() as u64).sum(), 50);
        let found = ours::run(async {
            let file = match ours::open_path(&path(index, "lance")).await {
                Ok(file) => file,
                Err(error) => return vec![error],
            };
            let found = ours::compare(&file, &case.schema, &case.batches, &rows).await;
            if found.is_empty() {
                coverage.add(&file, By::Reference);
            }
            found
        });
        wrong.extend(found.into_iter().map(|error| format!("reading {}: {error}", case.what)));
    }
    assert!(refused * 4 < cases.len(), "the reference refused {refused} of {} columns", cases.len());
    wrong
}

/// What we refuse has other tests.
fn written(
    oracle: &Oracle,
    cases: &[Case],
    version: Version,
    place: &Path,
    coverage: &mut Coverage,
) -> Vec<String> {
    let store = Store::local(place);
    let (mut draw, mut wrong, mut files) = (Draw::new(43), vec![], vec![]);
    let files_of = |case: &'_ Case| [case.batches.clone(), case.without_nulls().to_vec()];
    let each = cases.iter().flat_map(|case| files_of(case).map(|batches| (case, batches)));
    for (index, (case, batches)) in each.enumerate() {
        let name = format!("{index}.lance");
        let outcome = ours::write_file(&store, &name, &case.schema, &batches, Shape::of(version));
        match ours::run(outcome) {
            Ok(()) => {
                let expected = same::whole(&case.schema, &batches).unwrap();
                let mut rows = draw.rows(expected.num_rows() as u64, 50);
                rows.sort_unstable();
                rows.dedup();
                files.push(Written { what: case.what.clone(), lance: place.join(name), expected, rows });
            }
            Err(error) if error.contains("unsupported") => {}
            Err(error) => wrong.push(format!("writing {}: {error}", case.what)),
        }
    }
    assert!(files.len() > cases.len() * 3 / 2, "we wrote {} files of {} columns", files.len(), cases.len());
    let unread = theirs::compare(oracle, &files, place);
    if unread.is_empty() {
        for file in files {
            let file = ours::run(ours::open_path(&file.lance)).unwrap();
            coverage.add(&file, By::Us);
        }
    }
    wrong.extend(unread);
    wrong
}
