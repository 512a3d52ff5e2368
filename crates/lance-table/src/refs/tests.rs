use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Int32Array, RecordBatch};
use futures::TryStreamExt;
use prost::Message;

use super::*;
use crate::manifest::{Naming, flags};
use crate::proto::Transaction;
use crate::proto::transaction::Operation as Stored;
use crate::{CommitOptions, ScanOptions, WriteMode, WriteOptions};

fn numbers(range: std::ops::Range<i32>) -> RecordBatch {
    RecordBatch::try_from_iter([("i", Arc::new(Int32Array::from_iter_values(range)) as _)]).unwrap()
}

async fn append(table: &Table, range: std::ops::Range<i32>) -> Table {
    let options = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    table.write_after(vec![numbers(range)].into(), options).await.unwrap()
}

/// A table of two versions, with 0..3 and 0..5.
async fn table(store: &Store) -> (Table, Table) {
    let first =
        Table::write(store.clone(), vec![numbers(0..3)].into(), WriteOptions::default()).await.unwrap();
    let second = append(&first, 3..5).await;
    (first, second)
}

async fn rows(table: &Table) -> Vec<i32> {
    let batches: Vec<RecordBatch> = table.scan(ScanOptions::default()).unwrap().try_collect().await.unwrap();
    let values =
        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec());
    values.collect()
}

async fn open(store: &Store, branch: Option<&str>, at: At) -> Result<Table> {
    let reference = Reference { branch: branch.map(Into::into), at };
    Table::open_at(store.clone(), &reference, OpenOptions::default()).await
}

fn tag(name: &str) -> At {
    At::Tag(name.into())
}

/// A store of each kind that lists and names places in its own way.
fn stores() -> Vec<(Store, Option<tempfile::TempDir>)> {
    let dir = tempfile::tempdir().unwrap();
    let mut stores = vec![(Store::memory(), None), (Store::local(dir.path().join("t")), Some(dir))];
    if cfg!(feature = "object-store") {
        let objects = Arc::new(object_store::memory::InMemory::new());
        stores.push((Store::object(objects, "some/table"), None));
    }
    stores
}

#[tokio::test]
async fn the_life_of_a_tag() {
    for (store, _kept) in stores() {
        let (first, second) = table(&store).await;
        assert!(second.tags().await.unwrap().is_empty());
        let made = first.create_tag("train-v1").await.unwrap();
        assert_eq!(open(&store, None, tag("train-v1")).await.unwrap().version(), 1);
        let error = second.create_tag("train-v1").await.unwrap_err();
        assert!(matches!(error, TableError::RefExists { .. }), "{error}");
        let changed = second.update_tag("train-v1").await.unwrap();
        assert_eq!((changed.version, changed.created), (2, made.created));
        assert!(changed.updated >= made.updated);
        assert_eq!(rows(&open(&store, Some("main"), tag("train-v1")).await.unwrap()).await.len(), 5);
        first.create_tag("a").await.unwrap();
        let names = second.tags().await.unwrap().into_iter().map(|tag| (tag.name, tag.version));
        assert_eq!(names.collect::<Vec<_>>(), [("a".to_string(), 1), ("train-v1".into(), 2)]);
        assert_eq!(second.tag("train-v1").await.unwrap(), second.delete_tag("train-v1").await.unwrap());

        for error in [
            second.update_tag("tren").await.unwrap_err(),
            second.delete_tag("tren").await.unwrap_err(),
            second.tag("tren").await.unwrap_err(),
            open(&store, None, tag("tren")).await.unwrap_err(),
        ] {
            assert!(matches!(error, TableError::UnknownRef { .. }), "{error}");
            assert!(error.to_string().ends_with("there is no tag \"tren\"; there are: a"), "{error}");
        }
        assert!(matches!(second.create_tag("a/b").await, Err(TableError::InvalidInput { .. })));
        for outside in ["../../a", "", "..", "x/y"] {
            assert!(matches!(second.tag(outside).await, Err(TableError::UnknownRef { .. })), "{outside}");
        }
    }
}

#[tokio::test]
async fn a_version_that_is_gone_cannot_be_tagged() {
    let store = Store::memory();
    let (first, second) = table(&store).await;
    first.create_tag("old").await.unwrap();
    store.delete(&Naming::V2.path(1)).await.unwrap();
    assert!(first.create_tag("new").await.is_err());
    assert_eq!(second.tags().await.unwrap().len(), 1);
    let error = open(&store, None, tag("old")).await.unwrap_err().to_string();
    assert!(error.contains("version 1, which tag \"old\" names, not found"), "{error}");
}

#[tokio::test]
async fn files_of_tags_that_are_wrong_or_of_others() {
    let store = Store::memory();
    let (_, second) = table(&store).await;
    let put = async |name: &str, text: &str| {
        store.put(&format!("_refs/tags/{name}.json"), text.to_string().into()).await.unwrap();
    };
    // The least that others take, and more than is known here.
    put("least", r#"{"version":1,"manifestSize":10}"#).await;
    put("more", r#"{"branch":"main","version":2,"manifestSize":0,"of":{"a":[1]},"metadata":{"k":"v"}}"#)
        .await;
    put(
        "%C3%A9 x",
        r#"{"branch":null,"version":1,"manifestSize":10,"createdAt":"2026-11-30T10:53:12.5+01:00"}"#,
    )
    .await;
    store.put("_refs/tags/notes.txt", "hello".into()).await.unwrap();
    let tags = second.tags().await.unwrap();
    let named = tags.iter().map(|tag| (tag.name.as_str(), tag.version, tag.branch.as_deref()));
    assert_eq!(named.collect::<Vec<_>>(), [("least", 1, None), ("more", 2, None), ("\u{e9} x", 1, None)]);
    assert_eq!(tags[2].created, Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_796_032_392_500)));
    assert_eq!(tags[1].metadata.get("k").map(String::as_str), Some("v"));
    assert_eq!(open(&store, None, tag("more")).await.unwrap().version(), 2);
    // What others gave along is kept.
    let changed = second.update_tag("more").await.unwrap();
    assert_eq!(changed.metadata, tags[1].metadata);

    assert_eq!(second.update_tag("\u{e9} x").await.unwrap().version, 2);
    assert_eq!(second.tags().await.unwrap()[2].version, 2);
    second.delete_tag("\u{e9} x").await.unwrap();
    assert_eq!(second.tags().await.unwrap().len(), 2);

    for (text, reason) in [
        ("", "no JSON"),
        ("{\"version\":", "no JSON"),
        ("[1]", "no JSON object"),
        (r#"{"manifestSize":1}"#, "version is missing"),
        (r#"{"version":1}"#, "manifestSize is missing"),
        (r#"{"version":-1,"manifestSize":1}"#, "version is -1"),
        (r#"{"version":"1","manifestSize":1}"#, "version is \"1\""),
        (r#"{"version":1,"manifestSize":1,"branch":7}"#, "branch is 7"),
        (r#"{"version":1,"manifestSize":1,"createdAt":"yesterday"}"#, "createdAt is \"yesterday\""),
        (r#"{"version":1,"manifestSize":1,"metadata":{"a":1}}"#, "metadata is"),
        (&"[".repeat(100_000), "no JSON"),
    ] {
        put("wrong", text).await;
        for error in [second.tags().await.unwrap_err(), second.tag("wrong").await.unwrap_err()] {
            assert!(matches!(error, TableError::Format { .. }), "{error}");
            let error = error.to_string();
            assert!(
                error.contains("_refs/tags/wrong.json: tag is corrupt") && error.contains(reason),
                "{error}"
            );
        }
    }
    put("wrong", r#"{"version":99,"manifestSize":1,"branch":"../../other"}"#).await;
    assert!(open(&store, None, tag("wrong")).await.is_err());
}

#[tokio::test]
async fn verifying_finds_names_of_nothing() {
    let (store, options) = (Store::memory(), CommitOptions::default());
    let (first, second) = table(&store).await;
    first.create_tag("good").await.unwrap();
    second.create_branch("fine", &options).await.unwrap().create_tag("also").await.unwrap();
    let verify = async || {
        let mut problems = vec![];
        let mut report = |finding| {
            if let crate::verify::Finding::Problem(problem) = finding {
                problems.push(problem.to_string());
            }
        };
        crate::verify::verify(&store, Default::default(), &mut report).await.unwrap();
        problems
    };
    assert_eq!(verify().await, [""; 0]);
    second.create_branch("lost", &options).await.unwrap().store().delete_all("_versions").await.unwrap();
    for (name, text) in [
        ("broken", "{"),
        ("far", r#"{"version":77,"manifestSize":1}"#),
        ("nowhere", r#"{"version":1,"manifestSize":1,"branch":"none"}"#),
    ] {
        store.put(&format!("_refs/tags/{name}.json"), text.into()).await.unwrap();
    }
    let problems = verify().await;
    assert!(problems[0].starts_with("memory://_refs/tags/broken.json: tag is corrupt"), "{problems:?}");
    assert_eq!(
        problems[1..],
        [
            "memory://_refs/tags/far.json: version 77 is not there",
            "memory://_refs/tags/nowhere.json: version 1 is not there",
            "memory://_refs/branches/lost.json: a version of the branch is not there",
        ]
    );
}

#[tokio::test]
async fn versions_by_time() {
    let store = Store::memory();
    let (first, second) = table(&store).await;
    let (one, two) = (first.manifest().timestamp(), second.manifest().timestamp());
    let third = append(&second, 5..6).await;
    for (time, version) in [
        (one, Some(1)),
        (two, Some(2)),
        (two - Duration::from_nanos(1), Some(1)),
        (third.manifest().timestamp() + Duration::from_secs(9), Some(3)),
        (one - Duration::from_nanos(1), None),
    ] {
        match (open(&store, None, At::Time(time)).await, version) {
            (Ok(table), Some(version)) => assert_eq!(table.version(), version),
            (Err(TableError::NotFound { .. }), None) => {}
            (other, _) => panic!("{version:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn the_life_of_a_branch() {
    let options = CommitOptions::default();
    for (store, _kept) in stores() {
        let (first, second) = table(&store).await;
        let branch = first.create_branch("exp/a", &options).await.unwrap();
        assert_eq!((branch.version(), branch.branch()), (1, Some("exp/a")));
        assert_eq!(rows(&branch).await, [0, 1, 2]);
        let Some(Stored::Clone(made)) = branch.transaction().await.unwrap().unwrap().operation else {
            panic!()
        };
        assert_eq!(
            (made.is_shallow, made.ref_version, made.branch_name.as_deref()),
            (true, 1, Some("exp/a"))
        );

        // What is written to the one is not seen in the other.
        let branch = append(&branch, 10..12).await;
        assert_eq!((branch.version(), rows(&branch).await), (2, vec![0, 1, 2, 10, 11]));
        assert_eq!(rows(&second.latest().await.unwrap()).await, [0, 1, 2, 3, 4]);
        let opened = open(&store, Some("exp/a"), At::Latest).await.unwrap();
        assert_eq!(rows(&opened).await, rows(&branch).await);
        assert_eq!(rows(&open(&store, Some("exp/a"), At::Version(1)).await.unwrap()).await, [0, 1, 2]);
        let early = At::Time(first.manifest().timestamp());
        assert!(open(&store, Some("exp/a"), early).await.is_err(), "before it began");

        // Rows of the parent's files are deleted in files of its own.
        let offsets = [(0, [1].into_iter().collect())].into();
        let (mut files, mut deleted) = (vec![], branch.manifest().clone());
        let rows_deleted = branch.mark_deleted(offsets, &mut files).await.unwrap();
        let operation = crate::operation::Delete { rows: rows_deleted, predicate: String::new() };
        deleted =
            crate::operation::Operation::Delete(operation).apply(Some(&deleted), SystemTime::now()).unwrap();
        store.child("tree/exp/a").put(&Naming::V2.path(3), deleted.to_file().unwrap()).await.unwrap();
        let branch = branch.latest().await.unwrap();
        assert_eq!(rows(&branch).await, [0, 2, 10, 11]);

        // A branch of the branch, whose files lie in three places.
        let further = append(&branch.create_branch("exp/a/b", &options).await.unwrap(), 20..21).await;
        assert_eq!((further.version(), rows(&further).await), (4, vec![0, 2, 10, 11, 20]));
        let bases = &further.manifest().message.base_paths;
        assert_eq!(
            bases.iter().map(|base| (base.id, base.name.as_deref())).collect::<Vec<_>>(),
            [(0, None), (1, Some("exp/a"))]
        );
        let branches = further.branches().await.unwrap();
        let named = branches.iter().map(|b| (b.name.as_str(), b.parent.as_deref(), b.parent_version));
        assert_eq!(named.collect::<Vec<_>>(), [("exp/a", None, 1), ("exp/a/b", Some("exp/a"), 3)]);
        assert!(branches[1].ancestors.starts_with(&branches[0].ancestors));

        // Tags of branches lie at the root of the table.
        branch.create_tag("best").await.unwrap();
        assert_eq!(second.tag("best").await.unwrap().branch.as_deref(), Some("exp/a"));
        assert_eq!(rows(&open(&store, None, tag("best")).await.unwrap()).await, [0, 2, 10, 11]);
        assert!(matches!(
            open(&store, Some("exp/a/b"), tag("best")).await,
            Err(TableError::InvalidInput { .. })
        ));

        // What others need is not deleted.
        let refused = second.delete_branch("exp/a", false).await.unwrap_err().to_string();
        assert!(refused.ends_with("it is needed by branch exp/a/b, tag best"), "{refused}");
        assert!(second.delete_branch("exp/a", true).await.is_err());
        second.delete_tag("best").await.unwrap();
        assert!(matches!(second.delete_branch("exp/b", false).await, Err(TableError::UnknownRef { .. })));
        assert_eq!(branch.delete_branch("exp/a/b", false).await.unwrap().unwrap().name, "exp/a/b");
        assert_eq!(rows(&open(&store, Some("exp/a"), At::Latest).await.unwrap()).await.len(), 4);
        second.delete_branch("exp/a", false).await.unwrap();
        let error = open(&store, Some("exp/a"), At::Latest).await.unwrap_err().to_string();
        assert!(error.ends_with("there is no branch \"exp/a\"; there are none"), "{error}");
        assert_eq!(rows(&second).await, [0, 1, 2, 3, 4]);
        second.create_branch("exp/a", &options).await.unwrap();
    }
}

#[tokio::test]
async fn a_branch_below_another_outlives_it() {
    let (store, options) = (Store::memory(), CommitOptions::default());
    let (first, _) = table(&store).await;
    first.create_branch("a", &options).await.unwrap();
    let below = append(&first.create_branch("a/b", &options).await.unwrap(), 7..8).await;
    first.delete_branch("a", false).await.unwrap();
    assert_eq!(rows(&below.latest().await.unwrap()).await, [0, 1, 2, 7]);
    // As others may have called it.
    let text = store.read_all("_refs/branches/a%2Fb.json").await.unwrap();
    store.put("_refs/branches/a%2Fdata.json", text).await.unwrap();
    store.put("tree/a/data/_versions/1.manifest", "x".into()).await.unwrap();
    first.create_branch("a", &options).await.unwrap();
    first.delete_branch("a", false).await.unwrap();
    assert!(store.read_all("tree/a/data/_versions/1.manifest").await.is_ok());
    assert!(open(&store, Some("a"), At::Latest).await.is_err());
    first.create_branch("a", &options).await.unwrap();
}

#[tokio::test]
async fn what_is_left_of_a_branch_is_in_the_way_until_it_is_removed() {
    let (store, options) = (Store::memory(), CommitOptions::default());
    let (first, second) = table(&store).await;
    first.create_branch("a", &options).await.unwrap();
    let again = first.create_branch("a", &options).await.unwrap_err();
    assert!(matches!(again, TableError::RefExists { .. }), "{again}");
    // As if it had been cut short.
    store.delete("_refs/branches/a.json").await.unwrap();
    assert!(open(&store, Some("a"), At::Latest).await.is_err());
    assert!(first.branches().await.unwrap().is_empty());
    let error = second.create_branch("a", &options).await.unwrap_err();
    assert!(matches!(error, TableError::InUse { .. }) && error.to_string().contains("with force"), "{error}");
    assert!(matches!(first.delete_branch("a", false).await, Err(TableError::UnknownRef { .. })));
    assert_eq!(first.delete_branch("a", true).await.unwrap(), None);
    assert!(matches!(first.delete_branch("a", true).await, Err(TableError::UnknownRef { .. })));
    assert_eq!(second.create_branch("a", &options).await.unwrap().version(), 2);
    for (text, reason) in [
        (r#"{"parentVersion":1,"manifestSize":1}"#, "createAt is missing"),
        (r#"{"parentVersion":1,"createAt":1,"manifestSize":1,"identifier":5}"#, "identifier is 5"),
        (r#"{"createAt":1,"manifestSize":1}"#, "parentVersion is missing"),
        (r#"{"parentVersion":1,"createAt":18446744073709551615,"manifestSize":1}"#, "beyond all times"),
    ] {
        store.put("_refs/branches/wrong.json", text.into()).await.unwrap();
        let error = first.branches().await.unwrap_err().to_string();
        assert!(
            error.contains("_refs/branches/wrong.json: branch is corrupt") && error.contains(reason),
            "{error}"
        );
    }
}

#[tokio::test]
async fn clones_refer_to_what_they_were_made_from() {
    let dir = tempfile::tempdir().unwrap();
    let stores = [Store::memory(), Store::local(dir.path())];
    for store in stores {
        let (_, second) = table(&store.child("a")).await;
        let options = CommitOptions::with_message("to try something");
        let clone = second.shallow_clone(store.child("b"), &options).await.unwrap();
        assert_eq!((clone.version(), clone.branch(), rows(&clone).await), (2, None, vec![0, 1, 2, 3, 4]));
        assert_eq!(clone.manifest().message.reader_feature_flags & flags::BASE_PATHS, flags::BASE_PATHS);
        let named = clone.manifest().message.transaction_file.clone();
        let bytes = store.read_all(&format!("b/_transactions/{named}")).await.unwrap();
        assert!(named.starts_with("2-") && Transaction::decode(bytes).unwrap().read_version == 2);
        assert!(second.shallow_clone(store.child("b"), &options).await.is_err(), "there is a table");
        let clone = append(&clone, 9..10).await;
        assert_eq!(rows(&append(&clone.restore(&options).await.unwrap(), 8..9).await).await.len(), 7);
        // Of the clone's clone, files lie in both.
        let third = clone.shallow_clone(store.child("c"), &options).await.unwrap();
        assert_eq!(rows(&third).await, [0, 1, 2, 3, 4, 9]);
        let mut problems = vec![];
        let mut report = |finding| {
            if let crate::verify::Finding::Problem(problem) = finding {
                problems.push(problem.to_string());
            }
        };
        crate::verify::verify(third.store(), Default::default(), &mut report).await.unwrap();
        assert_eq!(problems, [""; 0]);
        // A clone is a table: it has its own names.
        clone.create_tag("x").await.unwrap();
        assert!(second.tags().await.unwrap().is_empty());
    }
}

/// A table with old names of manifests, of so many versions.
async fn old_table(store: &Store, versions: u64) -> Table {
    let (first, _) = table(&Store::memory()).await;
    let mut manifest = first.manifest().clone();
    for version in 1..=versions {
        manifest.message.version = version;
        store.put(&Naming::V1.path(version), manifest.to_file().unwrap()).await.unwrap();
    }
    Table::open(store.clone(), None).await.unwrap()
}

async fn manifests(store: &Store) -> Vec<(u64, Naming)> {
    let listed = store.list(crate::manifest::names::VERSIONS).await.unwrap();
    let mut found: Vec<_> =
        listed.iter().filter_map(|listed| crate::manifest::names::parse(&listed.name)).collect();
    found.sort_unstable_by_key(|(version, naming)| (*version, *naming == Naming::V2));
    found
}

#[tokio::test]
async fn old_names_become_new_ones() {
    let store = Store::memory();
    assert_eq!(old_table(&store, 12).await.version(), 12);
    assert_eq!(Table::migrate_names(&store).await.unwrap(), 12);
    let all_new = (1..=12).map(|version| (version, Naming::V2)).collect::<Vec<_>>();
    assert_eq!(manifests(&store).await, all_new);
    assert_eq!(Table::open(store.clone(), None).await.unwrap().version(), 12);
    assert_eq!(Table::migrate_names(&store).await.unwrap(), 0);
    assert!(matches!(Table::migrate_names(&Store::memory()).await, Err(TableError::NotFound { .. })));

    // Cut short at any point: each version opens by its number, the latest is never taken to be an older one, and doing it
    // again mends it.
    for cut in 0..24 {
        let store = Store::memory();
        old_table(&store, 12).await;
        for version in (1..=12).rev().take(cut / 2 + cut % 2) {
            let bytes = store.read_all(&Naming::V1.path(version)).await.unwrap();
            store.put(&Naming::V2.path(version), bytes).await.unwrap();
            if (12 - version) < cut as u64 / 2 {
                store.delete(&Naming::V1.path(version)).await.unwrap();
            }
        }
        for version in 1..=12 {
            assert_eq!(Table::open(store.clone(), Some(version)).await.unwrap().version(), version);
        }
        match Table::open(store.clone(), None).await {
            Ok(table) => assert_eq!(table.version(), 12, "cut at {cut}"),
            Err(error) => assert!(error.to_string().contains("migrating again mends that"), "{error}"),
        }
        Table::migrate_names(&store).await.unwrap();
        assert_eq!(manifests(&store).await, all_new, "cut at {cut}");
    }

    // Two versions of one number are not made one.
    let store = Store::memory();
    let mut other = old_table(&store, 2).await.manifest().clone();
    other.message.tag = "other".into();
    store.put(&Naming::V2.path(2), other.to_file().unwrap()).await.unwrap();
    let error = Table::migrate_names(&store).await.unwrap_err().to_string();
    assert!(error.contains("_versions/2.manifest") && error.contains("differ"), "{error}");
    assert_eq!(manifests(&store).await.len(), 3);
}

#[tokio::test]
async fn transactions_that_are_inline_only() {
    let store = Store::memory();
    let (_, second) = table(&store).await;
    let mut manifest = second.manifest().clone();
    manifest.message.writer_feature_flags |= flags::INLINE_TRANSACTIONS;
    store.put(&Naming::V2.path(2), manifest.to_file().unwrap()).await.unwrap();
    let before = store.list("_transactions").await.unwrap();
    let mut table = append(&Table::open(store.clone(), None).await.unwrap(), 5..6).await;
    for round in 0..2 {
        assert_eq!(store.list("_transactions").await.unwrap(), before);
        assert_eq!(table.manifest().message.transaction_file, "");
        assert!(table.transaction().await.unwrap().is_some());
        // Others go after it all the same; and it stays so in what is made from it.
        append(&second, 6..7).await;
        assert_eq!(store.list("_transactions").await.unwrap(), before);
        if round == 0 {
            table = table.create_branch("b", &CommitOptions::default()).await.unwrap();
            assert!(table.store().list("_transactions").await.unwrap().is_empty());
            table = append(&table, 7..8).await;
        }
    }
}

/// An answer that is lost says nothing of whether the file is there, and neither does "there is one already" to a request
/// that was sent twice.
#[tokio::test]
async fn names_are_made_although_answers_get_lost() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use lance_io::{FailPoints, IoError, Moment, Write};

    let timeout = |path: &str| {
        let source = std::io::Error::from(std::io::ErrorKind::TimedOut);
        IoError::Io { path: path.into(), source }
    };
    let exists = |path: &str| IoError::AlreadyExists { path: path.into() };
    type Answer = fn(&str) -> IoError;
    let answers: [(&str, Answer); 2] = [("timeout", timeout), ("exists", exists)];
    for (store, _kept) in stores() {
        let (_, second) = table(&store).await;
        second.create_tag("taken").await.unwrap();
        second.create_branch("taken", &CommitOptions::default()).await.unwrap();
        for ((what, answer), done) in answers.into_iter().flat_map(|answer| [(answer, true), (answer, false)])
        {
            for (kind, taken) in [("tag", false), ("tag", true), ("branch", false), ("branch", true)] {
                let once = AtomicBool::new(true);
                let lost = FailPoints::new(move |moment: &Moment<'_>| {
                    let here = moment.write == Write::PutIfAbsent && moment.done == done;
                    match here && moment.path.contains("_refs/") && once.swap(false, Ordering::Relaxed) {
                        true => Err(answer(moment.path)),
                        false => Ok(()),
                    }
                });
                let lossy = Table::open(store.with_failpoints(lost), Some(1)).await.unwrap();
                let name = if taken { "taken".to_string() } else { format!("{what}-{done}") };
                let made = match kind {
                    "tag" => lossy.create_tag(&name).await.map(drop),
                    _ => lossy.create_branch(&name, &CommitOptions::default()).await.map(drop),
                };
                let case = format!("{kind} {name}: {made:?}");
                match (taken, done) {
                    (true, _) => assert!(matches!(made, Err(TableError::RefExists { .. })), "{case}"),
                    (false, done) => assert_eq!(made.is_ok(), done, "{case}"),
                }
                // The one that was there is as it was, and a new one is there just if that was said.
                let there = match kind {
                    "tag" => second.tag(&name).await.map(|tag| tag.version),
                    _ => second.find_branch(&name).await.map(|branch| branch.parent_version),
                };
                let expected = if taken { Some(2) } else { done.then_some(1) };
                assert_eq!(there.ok(), expected, "{case}");
            }
        }
    }
}
