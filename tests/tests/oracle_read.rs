//! Files that the reference writes, read by us: type × version × null pattern × size, by scan and by take.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use demilance_tests::draw::{Draw, Nulls, Texture};
use demilance_tests::legacy::fit;
use demilance_tests::oracle::Oracle;
use demilance_tests::types::{batch, columns_of, schema, unstorable};
use demilance_tests::{each_version_and_nulls, ours, stream};
use lance_file::Version;
use serde_json::json;

/// Rows in each batch that is written, and whether each batch becomes a page.
const SIZES: &[(&[usize], bool)] = &[
    (&[], false),
    (&[1], false),
    (&[1023], false),
    (&[1024], false),
    (&[1025], false),
    (&[5000], false),
    (&[900, 1, 1100, 1024, 700, 1275], true),
];

each_version_and_nulls!(check: version_2_0 = V2_0, version_2_1 = V2_1, version_2_2 = V2_2);

fn check(version: Version, nulls: Nulls) {
    let Some(oracle) = Oracle::find("files that the reference writes") else { return };
    let place = tempfile::tempdir().unwrap();
    let columns = columns_of(version);
    let mut draw = Draw::new(1);
    let mut cases = vec![];
    let mut jobs = vec![];
    for (index, (sizes, pages)) in SIZES.iter().enumerate() {
        let batches: Vec<_> =
            sizes.iter().map(|rows| fit(batch(&mut draw, &columns, *rows, nulls), version)).collect();
        let (arrow, lance) = paths(place.path(), index);
        stream::write(&arrow, &schema(&columns), &batches);
        let cache = pages.then_some(1);
        jobs.push(
            json!({"do": "write_file", "arrow": arrow, "to": lance, "version": version.to_string(), "data_cache_bytes": cache}),
        );
        cases.push((sizes, batches, lance));
    }
    for (result, job) in oracle.run(&jobs).into_iter().zip(&jobs) {
        result.unwrap_or_else(|error| panic!("{job}: {error}"));
    }

    let wrong = ours::run(async {
        let mut wrong = vec![];
        for (sizes, batches, lance) in cases {
            let rows = draw.rows(sizes.iter().sum::<usize>() as u64, 300);
            let found = match ours::open_path(&lance).await {
                Ok(file) => ours::compare(&file, &schema(&columns), &batches, &rows).await,
                Err(error) => vec![error],
            };
            wrong.extend(found.into_iter().map(|error| format!("{version} {nulls:?} {sizes:?}: {error}")));
        }
        wrong
    });
    ours::none_wrong(wrong);
}

fn paths(place: &Path, index: usize) -> (PathBuf, PathBuf) {
    (place.join(format!("{index}.arrow")), place.join(format!("{index}.lance")))
}

#[test]
fn both_refuse_the_same_types() {
    let oracle = Oracle::find("types that the reference refuses");
    let place = tempfile::tempdir().unwrap();
    let mut draw = Draw::new(2);
    for kind in unstorable() {
        let schema = Arc::new(Schema::new(vec![Field::new("a", kind.clone(), true)]));
        let written = ours::run(ours::written(&schema, &[], ours::Shape::of(Version::default())));
        assert!(written.is_err(), "{kind} was written");
        // Intervals are not drawn.
        let Some(oracle) = oracle.as_ref().filter(|_| !matches!(kind, DataType::Interval(_))) else {
            continue;
        };
        let batch: RecordBatch = draw.batch(&schema, 10, Nulls::None, Texture::Random);
        let (arrow, lance) = paths(place.path(), 0);
        stream::write(&arrow, &schema, &[batch]);
        let job = json!({"do": "write_file", "arrow": arrow, "to": lance, "version": "2.2"});
        assert!(oracle.run(&[job])[0].is_err(), "the reference writes {kind}");
    }
}
