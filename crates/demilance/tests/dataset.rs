//! The facade: a dataset's life, and the kinds of its errors.

#![allow(clippy::unwrap_used)]

use arrow_array::{RecordBatch, record_batch};
use demilance::io::Store;
use demilance::{Dataset, ErrorKind, WriteMode, WriteOptions};

fn poses() -> RecordBatch {
    record_batch!(("id", Int64, [1, 2, 3]), ("x", Float32, [0.5, 1.5, 2.5])).unwrap()
}

#[tokio::test]
async fn the_life_of_a_dataset() {
    let store = Store::memory();
    let first = Dataset::write_to(store.clone(), poses(), WriteOptions::default()).await.unwrap();
    let second = first.append(poses().project(&[1, 0]).unwrap()).await.unwrap();
    assert_eq!((second.version(), second.count_rows(), second.fragments().len()), (2, 6, 2));
    assert_eq!(second.schema(), poses().schema());
    assert_eq!(second.manifest().version(), 2);
    // From a version that is not the latest any more.
    let third = first.append(poses()).await.unwrap();
    assert_eq!((third.version(), third.count_rows()), (3, 9));
    let versions = third.versions().await.unwrap();
    assert_eq!(versions.iter().map(|info| info.rows).collect::<Vec<_>>(), [3, 6, 9]);

    let old = Dataset::builder("").store(store).version(1).load().await.unwrap();
    assert_eq!(old.scan().collect().await.unwrap(), [poses()]);
    let ids = third.scan().columns(["id"]).unwrap().offset(2).limit(2).with_row_id();
    let ids = ids.collect().await.unwrap();
    let expected = [
        record_batch!(("id", Int64, [3]), ("_rowid", UInt64, [2])).unwrap(),
        record_batch!(("id", Int64, [1]), ("_rowid", UInt64, [1_u64 << 32])).unwrap(),
    ];
    for (batch, expected) in ids.iter().zip(&expected) {
        assert_eq!(batch.columns(), expected.columns());
    }
    let taken = third.take_columns(&[8, 0, 8], &["x"]).await.unwrap();
    assert_eq!(taken.columns(), record_batch!(("x", Float32, [2.5, 0.5, 2.5])).unwrap().columns());
}

#[tokio::test]
async fn kinds_of_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let uri = path.to_str().unwrap();
    let kind = |result: demilance::Result<Dataset>| result.unwrap_err().kind();
    assert_eq!(kind(Dataset::open(uri).await), ErrorKind::NotFound);
    let dataset = Dataset::write(uri, poses(), WriteOptions::default()).await.unwrap();
    let again = Dataset::write(uri, poses(), WriteOptions::default()).await;
    assert_eq!(kind(again), ErrorKind::AlreadyExists);
    assert_eq!(kind(Dataset::builder(uri).version(2).load().await), ErrorKind::NotFound);

    let error = dataset.take(&[3]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("row 3 was asked for"), "{error}");
    let error = dataset.scan().columns(["id", "y"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains('y') && error.to_string().contains("id, x"), "{error}");
    let error = dataset.scan().filter("idd > 1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("did you mean id?"), "{error}");
    assert_eq!(dataset.count_rows_where("id >").await.unwrap_err().kind(), ErrorKind::InvalidInput);
    let other = record_batch!(("id", Utf8, ["a"])).unwrap();
    assert_eq!(kind(dataset.append(other).await), ErrorKind::InvalidInput);

    let overwrite = WriteOptions { mode: WriteMode::Overwrite, ..Default::default() };
    Dataset::write(uri, poses(), overwrite).await.unwrap();
    assert_eq!(kind(dataset.append(poses()).await), ErrorKind::Conflict);

    let name = dataset.fragments().first().unwrap().files().first().unwrap().path.clone();
    std::fs::write(path.join("data").join(&name), b"short").unwrap();
    let old = Dataset::builder(uri).version(1).load().await.unwrap();
    assert_eq!(old.take(&[0]).await.unwrap_err().kind(), ErrorKind::Corrupt);
    std::fs::remove_file(path.join("data").join(&name)).unwrap();
    let old = Dataset::builder(uri).version(1).load().await.unwrap();
    let error = old.scan().collect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains(&name), "{error}");
    assert_eq!(kind(Dataset::open("ftp://a/b").await), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn names_of_versions() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("t"), dir.path().join("other"));
    let (uri, other) = (path.to_str().unwrap(), other.to_str().unwrap());
    let first = Dataset::write(uri, poses(), WriteOptions::default()).await.unwrap();
    let second = first.append(poses()).await.unwrap();
    first.create_tag("a").await.unwrap();
    assert_eq!(first.create_tag("a").await.unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(first.create_tag("a b").await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(second.delete_tag("b").await.unwrap_err().kind(), ErrorKind::NotFound);
    let branch = second.create_branch("x").await.unwrap().append(poses()).await.unwrap();
    assert_eq!((branch.branch(), branch.version(), branch.count_rows()), (Some("x"), 3, 9));
    branch.update_tag("a").await.unwrap();
    let tagged = Dataset::builder(uri).tag("a").load().await.unwrap();
    assert_eq!((tagged.branch(), tagged.version()), (Some("x"), 3));
    assert_eq!(second.delete_branch("x").await.unwrap_err().kind(), ErrorKind::InUse);
    let early = Dataset::builder(uri).branch("x").version(2).load().await.unwrap();
    assert_eq!((early.count_rows(), early.branches().await.unwrap().len()), (6, 1));
    let past = Dataset::builder(uri).as_of(first.manifest().timestamp()).load().await.unwrap();
    assert_eq!((past.version(), past.branch()), (1, None));
    let clone = tagged.shallow_clone(other).await.unwrap();
    assert_eq!((clone.version(), clone.count_rows(), clone.branch()), (3, 9, None));
    assert_eq!(Dataset::open(other).await.unwrap().take(&[8]).await.unwrap().num_rows(), 1);
    second.delete_tag("a").await.unwrap();
    second.delete_branch("x").await.unwrap();
    assert_eq!(Dataset::builder(uri).branch("x").load().await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(first.restore().await.unwrap().count_rows(), 3);
    assert_eq!(Dataset::migrate_names(uri).await.unwrap(), 0);
}
