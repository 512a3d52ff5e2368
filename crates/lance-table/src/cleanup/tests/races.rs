//! What others do in the middle of a clean-up.

use std::sync::atomic::AtomicBool;

use lance_io::Moment;

use super::*;

/// `store`, with which `act` is done once, at the moment that `here` means.
fn at(
    store: &Store,
    here: impl Fn(&Moment<'_>) -> bool + Send + Sync + 'static,
    act: impl AsyncFn() + Send + Sync + 'static,
) -> Store {
    let once = AtomicBool::new(true);
    store.with_failpoints(FailPoints::new(move |moment| {
        if here(moment) && once.swap(false, Ordering::SeqCst) {
            let act = &act;
            let others = move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(act());
            };
            std::thread::scope(|scope| scope.spawn(others).join().unwrap());
        }
        Ok(())
    }))
}

fn deleting(path: String, done: bool) -> impl Fn(&Moment<'_>) -> bool {
    move |moment| moment.write == Write::Delete && moment.done == done && moment.path == path
}

/// Who makes a tag while the manifest goes is told that it went, or the version stays.
#[tokio::test]
async fn versions_stay_that_are_tagged_as_they_go() {
    for done in [false, true] {
        let store = Store::memory();
        let table = history(&store).await;
        let plan = table.plan_cleanup(&keep(1)).await.unwrap();
        let old = Table::open(store.clone(), Some(3)).await.unwrap();
        let watched = at(&store, deleting(Naming::V2.path(3), done), async move || {
            assert_eq!(old.create_tag("t").await.is_ok(), !done);
        });
        let cleaner = Table::open(watched, None).await.unwrap();
        let before = tree(&store).await;
        let cleanup = plan.run(&cleaner).await.unwrap();
        let expected = if done { vec![7] } else { vec![3, 7] };
        assert_eq!(versions(&table).await, expected, "{done}");
        assert_eq!(table.tags().await.unwrap().len(), usize::from(!done));
        assert_eq!(cleanup.kept.contains(&Naming::V2.path(3)), !done);
        assert_eq!(cleanup.kept.len(), if done { 0 } else { 5 }, "{:?}", cleanup.kept);
        // The tag is there, too.
        let after = tree(&store).await.len() - usize::from(!done);
        assert_eq!(cleanup.removed.files, (before.len() - after) as u64);
        assert_eq!(cleanup.removed.files + cleanup.kept.len() as u64, plan.amount().files);
        check(&store).await;
    }
}

/// A branch is seen although it had no version when it was looked at first.
#[tokio::test]
async fn files_stay_of_branches_that_are_begun_meanwhile() {
    let store = Store::memory();
    for start in 0..40 {
        write(&store, WriteMode::Overwrite, start).await;
    }
    let table = Table::open(store.clone(), None).await.unwrap();
    let plan = table.plan_cleanup(&keep(1)).await.unwrap();
    store.put("tree/b/_versions/.tmp-1", "x".into()).await.unwrap();
    let old = Table::open(store.clone(), Some(36)).await.unwrap();
    let others = store.clone();
    let watched = at(&store, deleting(Naming::V2.path(35), false), async move || {
        old.create_branch("b", &CommitOptions::default()).await.unwrap();
        // It has no name yet.
        others.delete("_refs/branches/b.json").await.unwrap();
    });
    plan.run(&Table::open(watched, None).await.unwrap()).await.unwrap();
    assert_eq!(versions(&table).await, [40]);
    assert_eq!(rows(&Table::open(store.child("tree/b"), None).await.unwrap()).await, 3);
}

/// Whether files are there of a version that was restored while it went is not known.
#[tokio::test]
async fn restoring_what_goes_is_taken_back() {
    for done in [false, true] {
        let store = Store::memory();
        let table = history(&store).await;
        let plan = table.plan_cleanup(&keep(1)).await.unwrap();
        let cleaner = table.clone();
        let committing = move |moment: &Moment<'_>| {
            moment.write == Write::PutIfAbsent && moment.done == done && moment.path == Naming::V2.path(8)
        };
        let watched = at(&store, committing, async move || {
            plan.run(&cleaner).await.unwrap();
        });
        let old = Table::open(watched, Some(3)).await.unwrap();
        let error = old.restore(&CommitOptions::default()).await.unwrap_err();
        assert!(matches!(error, TableError::NotFound { .. }), "{error}");
        assert!(error.to_string().contains("made version 8, which version 9 takes back"), "{error}");
        let latest = table.latest().await.unwrap();
        assert_eq!((latest.version(), rows(&latest).await), (9, rows(&table).await));
        assert_eq!(versions(&table).await, [7, 8, 9]);
        if done {
            // The clean-up saw it.
            check(&store).await;
        }
    }
}

/// What newer software committed may need files in ways that are not known.
#[tokio::test]
async fn versions_with_unknown_features_stop_it() {
    for version in [8, 8 | 1 << 63] {
        let store = Store::memory();
        let table = history(&store).await;
        let plan = table.plan_cleanup(&keep(1)).await.unwrap();
        let mut manifest = table.manifest().clone();
        manifest.message.version = version;
        manifest.message.writer_feature_flags |= 1 << 40;
        store.put(&Naming::V2.path(version), manifest.to_file().unwrap()).await.unwrap();
        let before = tree(&store).await;
        let error = plan.run(&table).await.unwrap_err();
        assert!(matches!(error, TableError::RefusedFlags { .. }), "{error}");
        assert_eq!(tree(&store).await, before);
    }
}

#[tokio::test]
async fn manifests_that_are_renamed_meanwhile_stop_it() {
    let store = Store::memory();
    for start in 0..4 {
        let batch = record_batch!(("id", Int32, [start])).unwrap();
        let commit = CommitOptions { naming: Naming::V1, ..Default::default() };
        let options = WriteOptions { mode: WriteMode::Overwrite, commit, ..Default::default() };
        Table::write(store.clone(), vec![batch].into(), options).await.unwrap();
    }
    let table = Table::open(store.clone(), None).await.unwrap();
    let plan = table.plan_cleanup(&keep(1)).await.unwrap();
    let others = store.clone();
    let watched = at(&store, deleting(Naming::V1.path(1), false), async move || {
        assert_eq!(Table::migrate_names(&others).await.unwrap(), 4);
    });
    let error = plan.run(&Table::open(watched, None).await.unwrap()).await.unwrap_err().to_string();
    assert!(error.contains("manifests were renamed"), "{error}");
    let table = Table::open(store.clone(), None).await.unwrap();
    assert_eq!(versions(&table).await, [1, 2, 3, 4]);
    check(&store).await;
}
