use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::record_batch;
use futures::TryStreamExt;
use lance_io::{FailPoints, IoError, Store, Write};
use roaring::RoaringBitmap;

use super::*;
use crate::commit::{CommitOptions, commit};
use crate::operation::{Delete, Operation};
use crate::{CompactionOptions, ScanOptions, WriteMode, WriteOptions};

mod races;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn keep(versions: u64) -> CleanupOptions {
    CleanupOptions { keep: Some(versions), ..Default::default() }
}

async fn write(store: &Store, mode: WriteMode, start: i32) -> Table {
    let batch = record_batch!(("id", Int32, [start, start + 1, start + 2])).unwrap();
    let options = WriteOptions { mode, ..Default::default() };
    Table::write(store.clone(), vec![batch].into(), options).await.unwrap()
}

async fn delete(table: &Table, fragment: u32, offset: u32) -> Table {
    let offsets = [(fragment, RoaringBitmap::from_iter([offset]))].into();
    let mut files = vec![];
    let rows = table.mark_deleted(offsets, &mut files).await.unwrap();
    let delete = Operation::Delete(Delete { rows, predicate: String::new() });
    commit(table.store(), table.version(), delete, &CommitOptions::default(), files).await.unwrap();
    table.latest().await.unwrap()
}

/// Seven versions: three appends, two deletions, and a compaction with its two.
async fn history(store: &Store) -> Table {
    for start in [0, 10, 20] {
        write(store, WriteMode::Append, start).await;
    }
    let table = Table::open(store.clone(), None).await.unwrap();
    let table = delete(&table, 0, 1).await;
    let table = delete(&table, 0, 2).await;
    table.compact(&CompactionOptions::default()).await.unwrap().table
}

async fn versions(table: &Table) -> Vec<u64> {
    table.versions().await.unwrap().into_iter().map(|info| info.version).collect()
}

async fn rows(table: &Table) -> u64 {
    let batches = table.scan(ScanOptions::default()).unwrap().try_collect::<Vec<_>>().await.unwrap();
    batches.iter().map(|batch| batch.num_rows() as u64).sum()
}

/// All versions that there are can be read.
async fn check(store: &Store) {
    for info in Table::open(store.clone(), None).await.unwrap().versions().await.unwrap() {
        let table = Table::open(store.clone(), Some(info.version)).await.unwrap();
        assert_eq!(rows(&table).await, info.rows, "version {}", info.version);
        if !table.manifest().message.transaction_file.is_empty() {
            let path = format!("_transactions/{}", table.manifest().message.transaction_file);
            store.read_all(&path).await.unwrap();
        }
    }
}

/// All files of the table.
async fn tree(store: &Store) -> BTreeSet<String> {
    let (mut files, mut directories) = (BTreeSet::new(), vec![String::new()]);
    while let Some(directory) = directories.pop() {
        for listed in store.list(&directory).await.unwrap() {
            let path = format!("{directory}/{}", listed.name).trim_start_matches('/').to_string();
            match listed.is_dir {
                true => directories.push(path),
                false => drop(files.insert(path)),
            }
        }
    }
    files
}

fn in_directory(files: &BTreeSet<String>, directory: &str) -> usize {
    files.iter().filter(|file| file.starts_with(directory)).count()
}

#[tokio::test]
async fn old_versions_go_with_what_only_they_need() {
    let directory = tempfile::tempdir().unwrap();
    let objects = Store::object(Arc::new(object_store::memory::InMemory::new()), "some/table");
    for store in [Store::memory(), Store::local(directory.path()), objects] {
        check_old_versions_go(store).await;
    }
}

async fn check_old_versions_go(store: Store) {
    let table = history(&store).await;
    assert_eq!(versions(&table).await, [1, 2, 3, 4, 5, 6, 7]);
    let before = tree(&store).await;
    let plan = table.plan_cleanup(&keep(1)).await.unwrap();
    assert_eq!(plan.versions.iter().map(|old| old.version).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    // The last version that needs the old data files is the one that set ids aside.
    let data = plan.files.iter().filter(|file| file.path.starts_with("data/"));
    assert_eq!(data.map(|file| file.reason).collect::<Vec<_>>(), [CleanupReason::OldVersion(6); 3]);
    assert_eq!(tree(&store).await, before);

    let bytes = std::sync::Mutex::new(0);
    let done = table.clean_up_watched(&keep(1), &|more| *bytes.lock().unwrap() += more).await.unwrap();
    assert_eq!((done.removed, &done.failed), (plan.amount(), &vec![]));
    assert_eq!(*bytes.lock().unwrap(), plan.amount().bytes);
    let after = tree(&store).await;
    assert_eq!(before.len() as u64 - done.removed.files, after.len() as u64);
    assert_eq!(after.len() as u64, done.plan.left.files);
    assert_eq!(versions(&table).await, [7]);
    for (directory, files) in [("data", 1), ("_deletions", 0), ("_transactions", 1), ("_versions/1", 1)] {
        assert_eq!(in_directory(&after, directory), files, "{directory}");
    }
    check(&store).await;
    // Again, there is nothing to do.
    let again = table.clean_up(&keep(1)).await.unwrap();
    assert_eq!((again.removed, tree(&store).await), (Total::default(), after));
}

/// What becomes needed between a plan and its run stays, whoever has stored the plan.
#[tokio::test]
async fn plans_do_not_take_what_others_came_to_need() {
    for what in ["nothing", "tag", "branch", "restore", "detached"] {
        let store = Store::memory();
        let table = history(&store).await;
        let plan = table.plan_cleanup(&keep(1)).await.unwrap();
        let plan = serde_json::to_string(&plan).unwrap();
        let old = Table::open(store.clone(), Some(3)).await.unwrap();
        match what {
            "tag" => drop(old.create_tag("t").await.unwrap()),
            "branch" => drop(old.create_branch("b", &CommitOptions::default()).await.unwrap()),
            "restore" => drop(old.restore(&CommitOptions::default()).await.unwrap()),
            "detached" => {
                let manifest = store.read_all(&Naming::V2.path(3)).await.unwrap();
                store.put(&Naming::V2.path(3 | 1 << 63), manifest).await.unwrap();
            }
            _ => {}
        }
        let plan: CleanupPlan = serde_json::from_str(&plan).unwrap();
        let done = plan.run(&table).await.unwrap();
        let held = matches!(what, "tag" | "branch");
        let expected = match what {
            "tag" | "branch" => vec![3, 7],
            "restore" => vec![7, 8],
            _ => vec![7],
        };
        assert_eq!(versions(&table).await, expected, "{what}");
        // Three data files and a transaction; and a manifest.
        let kept = done.kept.iter().filter(|path| path.starts_with("data/")).count();
        assert_eq!((kept, done.failed.len()), (if what == "nothing" { 0 } else { 3 }, 0), "{what}");
        let manifest = done.kept.iter().any(|path| path.starts_with("_versions/"));
        assert_eq!(manifest, held, "{what}");
        check(&store).await;
    }
}

#[tokio::test]
async fn plans_of_other_tables_are_refused() {
    let store = Store::memory();
    let table = history(&store).await;
    let plan = table.plan_cleanup(&keep(1)).await.unwrap();
    let before = tree(&store).await;
    let refused = async |plan: &CleanupPlan| plan.run(&table).await.unwrap_err().to_string();
    let latest = Naming::V2.path(7);
    for path in [&latest, "../x", "data/../../x", "data", "data/", "/etc/x", "other/x", "data/./x", ""] {
        let mut plan = plan.clone();
        plan.files[0].path = path.into();
        plan.files[0].owner = path.into();
        assert!(refused(&plan).await.contains("no plan of a clean-up has"), "{path}");
    }
    for (path, owner) in [
        ("data/x.lance", "data/other.lance"),
        ("data/x.lance", "data"),
        ("data/x/0.blob", "data/x"),
        ("data/x/0.blob", "data/x/0.blob"),
        ("data/x/y/0.blob", "data/x.lance"),
        ("_indices/a/b.idx", "_indices"),
        ("_indices/a/b.idx", "_indices/a/b.idx"),
        ("_indices/a/b/c.idx", "_indices/a/b"),
        ("_indices/a", "_indices/a"),
        ("_deletions/x.bin", "_deletions"),
    ] {
        let mut wrong = plan.clone();
        (wrong.files[0].path, wrong.files[0].owner) = (path.into(), owner.into());
        assert!(refused(&wrong).await.contains("no plan of a clean-up has"), "{path} of {owner}");
    }
    let mut wrong = plan.clone();
    wrong.versions[0].version = 7;
    assert!(refused(&wrong).await.contains("no plan of a clean-up has"));
    let mut wrong = plan.clone();
    wrong.time += DAY;
    assert!(refused(&wrong).await.contains("version 7 is not the one"));
    assert_eq!(tree(&store).await, before);
    let other = Store::memory();
    let other = write(&other, WriteMode::Create, 0).await;
    assert!(plan.run(&other).await.unwrap_err().to_string().contains("version 7 is not the one"));
}

#[tokio::test]
async fn age_and_count_must_both_say_so() {
    let store = Store::memory();
    let table = history(&store).await;
    let later = |days: u32| SystemTime::now() + DAY * days;
    let cases = [
        (None, None, 13, 0),
        (None, None, 15, 6),
        (Some(DAY * 2), None, 1, 0),
        (Some(DAY * 2), None, 3, 6),
        (None, Some(3), 0, 4),
        (None, Some(100), 100, 0),
        (Some(DAY * 2), Some(3), 1, 0),
        (Some(DAY * 2), Some(3), 3, 4),
        (Some(Duration::ZERO), None, 0, 6),
    ];
    for (older_than, keep, days, gone) in cases {
        let options = CleanupOptions { older_than, keep, ..Default::default() };
        let plan = table.plan_cleanup_at(&options, later(days)).await.unwrap();
        assert_eq!(plan.versions.len(), gone, "{options:?} after {days} days");
    }
    assert!(matches!(table.plan_cleanup(&keep(0)).await, Err(TableError::InvalidInput { .. })));
    // What the handle has, and what came after, stays.
    let old = Table::open(store, Some(3)).await.unwrap();
    let plan = old.plan_cleanup(&keep(1)).await.unwrap();
    assert_eq!(plan.versions.iter().map(|old| old.version).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn tags_hold_versions() {
    let store = Store::memory();
    let table = history(&store).await;
    Table::open(store.clone(), Some(4)).await.unwrap().create_tag("train-v1").await.unwrap();
    let before = tree(&store).await;
    let error = table.clean_up(&keep(1)).await.unwrap_err().to_string();
    assert!(error.contains("nothing was removed: version 4 (train-v1)"), "{error}");
    assert_eq!(tree(&store).await, before);
    let options = CleanupOptions { error_if_tagged_old_versions: false, ..keep(1) };
    let done = table.clean_up(&options).await.unwrap();
    assert_eq!(done.plan.held, [HeldVersion { version: 4, by: vec!["tag train-v1".into()] }]);
    assert_eq!(versions(&table).await, [4, 7]);
    check(&store).await;
    // A tag that would stay anyway is no error.
    Table::open(store.clone(), None).await.unwrap().create_tag("newest").await.unwrap();
    assert!(table.clean_up(&keep(2)).await.is_ok());
}

#[tokio::test]
async fn branches_hold_where_they_began_and_what_they_need() {
    let store = Store::memory();
    let table = history(&store).await;
    let begun = Table::open(store.clone(), Some(4)).await.unwrap();
    let branch = begun.create_branch("exp/a", &CommitOptions::default()).await.unwrap();
    let done = table.clean_up(&keep(1)).await.unwrap();
    assert_eq!(done.plan.held, [HeldVersion { version: 4, by: vec!["branch exp/a".into()] }]);
    assert_eq!(versions(&table).await, [4, 7]);
    assert_eq!(rows(&branch.latest().await.unwrap()).await, 8);
    // A branch that has no name yet.
    store.delete("_refs/branches/exp%2Fa.json").await.unwrap();
    let done = table.clean_up(&CleanupOptions { delete_unverified: true, ..keep(1) }).await.unwrap();
    assert_eq!(done.plan.versions.len(), 1);
    assert_eq!(rows(&branch.latest().await.unwrap()).await, 8);

    // The branch is cleaned up by itself; files of the table stay.
    let branch = write(branch.store(), WriteMode::Append, 30).await;
    let branch = write(branch.store(), WriteMode::Overwrite, 40).await;
    let before = tree(&store).await;
    let done = branch.clean_up(&keep(1)).await.unwrap();
    assert_eq!((versions(&branch).await.len(), done.plan.versions.len()), (1, 2));
    let gone = before.difference(&tree(&store).await).cloned().collect::<Vec<_>>();
    assert!(gone.iter().all(|path| path.starts_with("tree/exp/a/")), "{gone:?}");
    assert_eq!(in_directory(&gone.into_iter().collect(), "tree/exp/a/data"), 1);
    check(&store).await;
    check(branch.store()).await;
}

#[tokio::test]
async fn files_without_a_version_wait_until_they_are_old() {
    let store = Store::memory();
    let table = write(&store, WriteMode::Create, 0).await;
    let leftovers = [
        "_deletions/0-1-5.bin",
        "_indices/00000000-0000-4000-8000-000000000000/page_data.lance",
        "_transactions/.tmp-1",
        "_transactions/1-x.txn",
        "_versions/.tmp-2",
        "data/.tmp-3",
        "data/gone.lance",
        "data/gone/0.blob",
        "data/only/0.blob",
    ];
    let others = [
        "README.md",
        "_indices/mine/x.lance",
        "_versions/latest_version_hint.json",
        "data/notes.txt",
        "data/sub/x.lance",
        "other/x.lance",
    ];
    let kept = format!("data/{}/0.blob", table.fragments()[0].files()[0].path.trim_end_matches(".lance"));
    for path in leftovers.iter().chain(&others).copied().chain([kept.as_str()]) {
        store.put(path, "x".into()).await.unwrap();
    }
    let young = table.plan_cleanup(&CleanupOptions::default()).await.unwrap();
    assert_eq!((young.files.len(), young.young), (0, Total { files: 9, bytes: 9 }));
    let paths = |plan: &CleanupPlan| plan.files.iter().map(|file| file.path.clone()).collect::<BTreeSet<_>>();
    let expected = leftovers.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let later = SystemTime::now() + DAY * 8;
    let old = table.plan_cleanup_at(&CleanupOptions::default(), later).await.unwrap();
    assert_eq!((paths(&old), old.young.files), (expected.clone(), 0));
    let options = CleanupOptions { delete_unverified: true, ..Default::default() };
    let done = table.clean_up(&options).await.unwrap();
    assert_eq!((paths(&done.plan), done.removed.files), (expected, 9));
    let temporary = done.plan.files.iter().filter(|file| file.reason == CleanupReason::Temporary).count();
    assert_eq!(temporary, 3);
    let left = tree(&store).await;
    assert!(others.iter().chain([&kept.as_str()]).all(|path| left.contains(*path)), "{left:?}");
    check(&store).await;
}

#[tokio::test]
async fn a_manifest_that_cannot_be_read_stops_it() {
    let store = Store::memory();
    let table = history(&store).await;
    let path = crate::Naming::V2.path(2);
    let whole = store.read_all(&path).await.unwrap();
    store.put(&path, whole.slice(..whole.len() - 1)).await.unwrap();
    let before = tree(&store).await;
    let error = table.clean_up(&keep(1)).await.unwrap_err();
    assert!(matches!(error, TableError::Format { .. }), "{error}");
    assert_eq!(tree(&store).await, before);
    // Nor one outside of the history, or of a branch.
    store.put(&path, whole).await.unwrap();
    for path in ["_versions/d9223372036854775813.manifest", "tree/b/_versions/18446744073709551614.manifest"]
    {
        store.put(path, "x".into()).await.unwrap();
        assert!(table.clean_up(&keep(1)).await.is_err(), "{path}");
        store.delete(path).await.unwrap();
    }
    assert_eq!(tree(&store).await, before);
    assert!(table.clean_up(&keep(1)).await.is_ok());
}

/// A copy of all files.
async fn copy(store: &Store) -> Store {
    let to = Store::memory();
    for path in tree(store).await {
        to.put(&path, store.read_all(&path).await.unwrap()).await.unwrap();
    }
    to
}

#[tokio::test]
async fn wherever_it_ends_nothing_is_lost_and_the_next_one_finishes() {
    let original = Store::memory();
    let table = history(&original).await;
    Table::open(original.clone(), Some(3)).await.unwrap().create_tag("held").await.unwrap();
    original.put("data/gone.lance", "x".into()).await.unwrap();
    let options = CleanupOptions { delete_unverified: true, error_if_tagged_old_versions: false, ..keep(1) };
    let deletes = table.plan_cleanup(&options).await.unwrap().amount().files;
    let whole = copy(&original).await;
    Table::open(whole.clone(), None).await.unwrap().clean_up(&options).await.unwrap();
    let expected = tree(&whole).await;
    assert!(deletes > 10);

    for alive in 0..=usize::try_from(deletes).unwrap() {
        // The process ends after so many files were removed: nothing of what it does has an effect any more.
        let store = copy(&original).await;
        let count = Arc::new(AtomicUsize::new(0));
        let failpoints = FailPoints::new(move |moment| {
            let dead = moment.write != Write::Delete
                || !moment.done && count.fetch_add(1, Ordering::SeqCst) >= alive;
            match dead {
                true => Err(IoError::Unsupported { path: moment.path.into(), what: "life".into() }),
                false => Ok(()),
            }
        });
        let dying = Table::open(store.with_failpoints(failpoints), None).await.unwrap();
        let done = dying.clean_up(&options).await.unwrap();
        assert_eq!(done.removed.files.min(deletes), alive as u64);
        check(&store).await;
        let table = Table::open(store.clone(), None).await.unwrap();
        let later = table.plan_cleanup_at(&options, SystemTime::now() + DAY * 8).await.unwrap();
        later.run(&table).await.unwrap();
        assert_eq!(tree(&store).await, expected, "after {alive} files");
        check(&store).await;
    }
}

#[tokio::test]
async fn versions_that_are_gone_are_not_named() {
    let store = Store::memory();
    let gone = write(&store, WriteMode::Create, 0).await;
    let table = write(&store, WriteMode::Overwrite, 10).await;
    table.clean_up(&keep(1)).await.unwrap();
    let before = tree(&store).await;
    let options = CommitOptions::default();
    for error in [
        gone.restore(&options).await.unwrap_err(),
        gone.create_tag("train").await.unwrap_err(),
        gone.create_branch("trial", &options).await.unwrap_err(),
        gone.shallow_clone(store.child("clone"), &options).await.unwrap_err(),
    ] {
        assert!(matches!(error, TableError::NotFound { .. } | TableError::Io(_)), "{error}");
    }
    assert_eq!(tree(&store).await, before);
}

#[tokio::test]
async fn files_below_other_roots_are_not_touched() {
    let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = write(&Store::local(there.path()), WriteMode::Create, 0).await;
    let clone = source.shallow_clone(Store::local(here.path()), &CommitOptions::default()).await.unwrap();
    let clone = write(clone.store(), WriteMode::Overwrite, 10).await;
    let before = tree(source.store()).await;
    let options = CleanupOptions { delete_unverified: true, ..keep(1) };
    let done = clone.clean_up(&options).await.unwrap();
    assert_eq!(done.plan.versions.len(), 1);
    assert_eq!(tree(source.store()).await, before);
}
