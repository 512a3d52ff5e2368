//! Tables in an object store that speaks S3.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use demilance::{CompactionOptions, Dataset, ErrorKind, WriteOptions};
use demilance_tests::oracle::Oracle;
use demilance_tests::s3::S3;
use demilance_tests::{crash, ours, same, stream};
use lance_io::IoError;
use serde_json::json;

/// Rows with numbers that do not compress.
fn noise(range: std::ops::Range<i64>) -> RecordBatch {
    let noise = range.clone().map(|id| id.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(29));
    let noise: ArrayRef = Arc::new(Int64Array::from_iter_values(noise));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    RecordBatch::try_from_iter([("id", ids), ("noise", noise)]).unwrap()
}

/// That a write only happens where nothing is, and what the loser is told. The server does one request after the other, so
/// nothing is shown of one that mixes up two that come at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_first_who_writes_a_name_is_told_so() {
    let Some(s3) = S3::start("conditional writes to an object store") else { return };
    let store = s3.store("some/where");
    assert!(store.honours_conditions("_versions").await.unwrap());
    assert!(store.list("_versions").await.unwrap().is_empty(), "the probe is removed");
    for round in 0..10 {
        let path = format!("raced/{round}");
        let writers = (0..16_u8).map(|number| {
            let (store, path) = (store.clone(), path.clone());
            tokio::spawn(async move { (number, store.put_if_absent(&path, Bytes::from(vec![number])).await) })
        });
        let mut won = vec![];
        for writer in writers.collect::<Vec<_>>() {
            match writer.await.unwrap() {
                (number, Ok(())) => won.push(number),
                (_, Err(IoError::AlreadyExists { .. })) => {}
                (number, Err(error)) => panic!("{number}: {error}"),
            }
        }
        assert_eq!(won.len(), 1, "{won:?}");
        assert_eq!(store.read_all(&path).await.unwrap(), won);
    }
}

/// A table lives its life, and the reference reads each of its versions.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_written_read_compacted_and_cleaned_up() {
    let Some(s3) = S3::start("a table in an object store") else { return };
    let (oracle, place) = (Oracle::find("").unwrap(), tempfile::tempdir().unwrap());
    let (store, url) = (s3.store("lab/table"), S3::url("lab/table"));
    let open = || Dataset::builder("").store(store.clone()).load();
    assert_eq!(open().await.unwrap_err().kind(), ErrorKind::NotFound);

    // More than one part of an upload.
    let options = WriteOptions { max_rows_per_fragment: 700_000, ..Default::default() };
    let table = Dataset::write_to(store.clone(), noise(0..1_000_000), options).await.unwrap();
    table.create_tag("first").await.unwrap();
    let table = table.append(noise(1_000_000..1_000_010)).await.unwrap();
    let deleted = table.delete("id % 3 = 0 OR id = 1000009").await.unwrap();
    Dataset::from(deleted.table).add_expression("twice", "id * 2").await.unwrap();
    let table = open().await.unwrap();
    table.compact(&CompactionOptions::default()).await.unwrap();
    let table = open().await.unwrap();
    assert_eq!(table.fragments().len(), 1);

    let versions = table.version();
    assert_eq!(table.versions().await.unwrap().len() as u64, versions);
    for version in (1..=versions).rev() {
        let to = place.path().join("rows.arrow");
        let options = s3.storage_options();
        oracle.one(json!({
            "do": "read_table", "path": url, "version": version, "to": to, "storage_options": options,
        }));
        let (schema, batches) = stream::read(&to);
        let expected = same::whole(&schema, &batches).unwrap();
        let table = Dataset::builder("").store(store.clone()).version(version).load().await.unwrap();
        let rows = [0, 1, expected.num_rows() as u64 - 1];
        ours::compare_table(table.table(), &expected, &rows).await.unwrap();
    }

    // What only versions without a tag need goes.
    let cleaned = table.clean_up(&crash::all_but_the_newest()).await.unwrap();
    assert_eq!(cleaned.plan.versions.len() as u64, versions - 2);
    assert!(cleaned.removed.files > versions && cleaned.failed.is_empty());
    let again = table.table().plan_cleanup(&crash::all_but_the_newest()).await.unwrap();
    assert_eq!((again.versions.len(), again.files), (0, vec![]));
    let first = Dataset::builder("").store(store.clone()).tag("first").load().await.unwrap();
    assert_eq!(first.count_rows(), 1_000_000);
    assert_eq!(first.take(&[999_999]).await.unwrap(), noise(999_999..1_000_000));

    let error = Dataset::write_to(store, noise(0..1), WriteOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

/// What the reference writes there, too.
#[tokio::test(flavor = "multi_thread")]
async fn both_write_to_a_table() {
    let Some(s3) = S3::start("a table in an object store that the reference writes") else { return };
    let (oracle, place) = (Oracle::find("").unwrap(), tempfile::tempdir().unwrap());
    let (url, store) = (S3::url("both"), s3.store("both"));
    let arrow = place.path().join("rows.arrow");
    for turn in 0..3 {
        let batch = noise(20 * turn..20 * turn + 10);
        stream::write(&arrow, &batch.schema(), &[batch]);
        let mode = if turn == 0 { "create" } else { "append" };
        oracle.one(json!({
            "do": "write_table", "arrow": arrow, "to": url, "mode": mode, "storage_options": s3.storage_options(),
        }));
        let table = Dataset::builder("").store(store.clone()).load().await.unwrap();
        table.append(noise(20 * turn + 10..20 * turn + 20)).await.unwrap();
    }
    let table = Dataset::builder("").store(store).load().await.unwrap();
    let rows = table.scan().collect().await.unwrap();
    let rows = arrow_select::concat::concat_batches(&rows[0].schema(), &rows).unwrap();
    assert_eq!((table.version(), rows), (6, noise(0..60)));
}
