//! Tags, branches, clones and names of manifests, both ways, and with both writing to the same branches.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, same, stream};
use lance_io::Store;
use lance_table::{At, CommitOptions, OpenOptions, Reference, Table, WriteMode, WriteOptions};
use serde_json::{Value, json};

/// A place for a table and what is read of it.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn table(&self) -> PathBuf {
        self.at("table")
    }

    fn store(&self) -> Store {
        Store::local(self.table())
    }

    /// A stream of the rows `first..first + count`.
    fn arrow(&self, first: i64, count: i64) -> PathBuf {
        let path = self.at(&format!("{first}.arrow"));
        let rows = rows(first, count);
        stream::write(&path, &rows.schema(), &[rows]);
        path
    }
}

fn rows(first: i64, count: i64) -> RecordBatch {
    let texts = (first..first + count).map(|id| (id % 7 != 3).then(|| format!("row {id}")));
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + count));
    RecordBatch::try_from_iter_with_nullable([
        ("id", id, false),
        ("text", Arc::new(texts.collect::<StringArray>()) as ArrayRef, true),
    ])
    .unwrap()
}

/// Jobs that have to succeed.
fn must(oracle: &Oracle, jobs: &[Value]) -> Vec<Value> {
    let results = oracle.run(jobs).into_iter().zip(jobs);
    results.map(|(result, job)| result.unwrap_or_else(|error| panic!("{job}: {error}"))).collect()
}

fn on(branch: Option<&str>, at: At) -> Reference {
    Reference { branch: branch.map(Into::into), at }
}

async fn open(store: &Store, reference: &Reference) -> Table {
    let table = Table::open_at(store.clone(), reference, OpenOptions::default()).await;
    table.unwrap_or_else(|error| panic!("{reference:?}: {error}"))
}

async fn write(table: &Table, mode: WriteMode, batch: RecordBatch) -> Table {
    table.write_after(vec![batch].into(), WriteOptions { mode, ..Default::default() }).await.unwrap()
}

async fn create(store: Store, batch: RecordBatch) -> Table {
    Table::write(store, vec![batch].into(), WriteOptions::default()).await.unwrap()
}

/// Whether we read what the reference read.
fn check(store: &Store, reference: &Reference, read: &Path) {
    let (schema, batches) = stream::read(read);
    let expected = same::whole(&schema, &batches).unwrap();
    let count = expected.num_rows() as u64;
    let taken = (0..count).step_by(7).collect::<Vec<_>>();
    let compared =
        ours::run(async { ours::compare_table(&open(store, reference).await, &expected, &taken).await });
    compared.unwrap_or_else(|error| panic!("{reference:?}: {error}"));
}

fn names(tables: &Table) -> Value {
    let (tags, branches) =
        ours::run(async { (tables.tags().await.unwrap(), tables.branches().await.unwrap()) });
    let tags = tags.into_iter().map(|tag| (tag.name, json!([tag.branch, tag.version])));
    let branches =
        branches.into_iter().map(|branch| (branch.name, json!([branch.parent, branch.parent_version])));
    json!({
        "tags": tags.collect::<serde_json::Map<_, _>>(),
        "branches": branches.collect::<serde_json::Map<_, _>>(),
    })
}

#[test]
fn made_by_the_reference() {
    let Some(oracle) = Oracle::find("tags and branches of the reference") else { return };
    let place = Place::new();
    let (path, store) = (place.table(), place.store());
    let read = |branch: &str, to: &str| json!({"do": "read_branch", "path": path, "branch": branch, "to": place.at(to)});
    let named = must(&oracle, &[
        json!({"do": "write_table", "arrow": place.arrow(0, 500), "to": path, "max_rows_per_file": 200}),
        json!({"do": "delete", "path": path, "predicate": "id % 5 = 0"}),
        json!({"do": "create_index", "path": path, "column": "id"}),
        json!({"do": "tag", "path": path, "name": "train-v1", "version": 2}),
        json!({"do": "branch", "path": path, "name": "dev", "version": 2}),
        json!({"do": "write_branch", "path": path, "branch": "dev", "arrow": place.arrow(500, 100)}),
        json!({"do": "delete_in_branch", "path": path, "branch": "dev", "predicate": "id < 7 OR id > 590"}),
        json!({"do": "branch", "path": path, "name": "exp/a.1", "branch": "dev", "version": 4}),
        json!({"do": "write_branch", "path": path, "branch": "exp/a.1", "arrow": place.arrow(600, 10)}),
        json!({"do": "tag", "path": path, "name": "best", "branch": "dev", "version": 3}),
        json!({"do": "clone", "path": path, "to": place.at("clone"), "version": 4, "branch": "dev"}),
        json!({"do": "read_table", "path": path, "version": "train-v1", "to": place.at("tag")}),
        json!({"do": "read_table", "path": path, "version": "best", "to": place.at("best")}),
        read("dev", "dev"),
        read("exp/a.1", "exp"),
        json!({"do": "read_table", "path": place.at("clone"), "to": place.at("cloned")}),
        json!({"do": "names", "path": path}),
    ])
    .pop()
    .unwrap();
    check(&store, &on(None, At::Tag("train-v1".into())), &place.at("tag"));
    check(&store, &on(None, At::Tag("best".into())), &place.at("best"));
    check(&store, &on(Some("dev"), At::Latest), &place.at("dev"));
    check(&store, &on(Some("exp/a.1"), At::Latest), &place.at("exp"));
    check(&Store::local(place.at("clone")), &Reference::default(), &place.at("cloned"));
    let table = ours::run(open(&store, &Reference::default()));
    assert_eq!(names(&table), named);

    // We write to its branches and change its names; it reads them.
    ours::run(async {
        let dev = open(&store, &on(Some("dev"), At::Latest)).await;
        assert!(dev.delete_branch("dev", false).await.is_err());
        let dev = write(&dev, WriteMode::Append, rows(700, 50)).await;
        dev.update_tag("best").await.unwrap();
        dev.create_tag("ours").await.unwrap();
        let more = dev.create_branch("dev/ours", &CommitOptions::default()).await.unwrap();
        write(&more, WriteMode::Append, rows(800, 5)).await;
        table.delete_tag("train-v1").await.unwrap();
        table.delete_branch("exp/a.1", false).await.unwrap();
        let clone = open(&Store::local(place.at("clone")), &Reference::default()).await;
        write(&clone, WriteMode::Append, rows(900, 5)).await;
    });
    let results = must(
        &oracle,
        &[
            json!({"do": "read_table", "path": path, "version": "ours", "to": place.at("tag")}),
            read("dev", "dev"),
            read("dev/ours", "more"),
            json!({"do": "read_table", "path": place.at("clone"), "to": place.at("cloned")}),
            json!({"do": "delete", "path": place.at("clone"), "predicate": "id = 902"}),
            json!({"do": "compact", "path": place.at("clone")}),
            json!({"do": "read_table", "path": place.at("clone"), "to": place.at("compacted")}),
            json!({"do": "names", "path": path}),
        ],
    );
    check(&store, &on(None, At::Tag("ours".into())), &place.at("dev"));
    check(&store, &on(Some("dev"), At::Latest), &place.at("tag"));
    check(&store, &on(Some("dev/ours"), At::Latest), &place.at("more"));
    check(&Store::local(place.at("clone")), &Reference::default(), &place.at("compacted"));
    assert_eq!(results[7], names(&table));
    assert_eq!(
        results[7],
        json!({
            "tags": {"best": ["dev", 5], "ours": ["dev", 5]},
            "branches": {"dev": [null, 2], "dev/ours": ["dev", 5]},
        })
    );
}

#[test]
fn made_by_us() {
    let Some(oracle) = Oracle::find("our tags and branches with the reference") else { return };
    let place = Place::new();
    let (path, store, options) = (place.table(), place.store(), CommitOptions::default());
    let table = ours::run(async {
        let first = create(store.clone(), rows(0, 300)).await;
        let second = write(&first, WriteMode::Append, rows(300, 100)).await;
        first.create_tag("one").await.unwrap();
        second.create_tag("two").await.unwrap();
        let dev = first.create_branch("dev", &options).await.unwrap();
        let dev = write(&dev, WriteMode::Append, rows(1000, 40)).await;
        dev.create_tag("best").await.unwrap();
        let deep = dev.create_branch("dev/deep", &options).await.unwrap();
        write(&deep, WriteMode::Append, rows(2000, 30)).await;
        // It begins with the deletion files and indices that the reference makes in the table below.
        deep.shallow_clone(Store::local(place.at("clone")), &options).await.unwrap();
        second
    });
    let refused = oracle.run(&[
        json!({"do": "branch", "path": path, "name": "dev", "version": 1}),
        json!({"do": "tag", "path": path, "name": "one", "version": 2}),
        json!({"do": "delete_branch", "path": path, "name": "dev"}),
    ]);
    assert!(refused.iter().all(Result::is_err), "{refused:?}");
    assert!(refused[2].as_ref().unwrap_err().contains("dev/deep"), "{refused:?}");
    let read = |branch: &str, to: &str| json!({"do": "read_branch", "path": path, "branch": branch, "to": place.at(to)});
    let results = must(
        &oracle,
        &[
            json!({"do": "names", "path": path}),
            json!({"do": "read_table", "path": path, "version": "one", "to": place.at("one")}),
            json!({"do": "read_table", "path": path, "version": "best", "to": place.at("best")}),
            json!({"do": "read_table", "path": place.at("clone"), "to": place.at("cloned")}),
            json!({"do": "delete_in_branch", "path": path, "branch": "dev", "predicate": "id % 3 = 0"}),
            json!({"do": "write_branch", "path": path, "branch": "dev", "arrow": place.arrow(3000, 10)}),
            read("dev", "dev"),
            json!({"do": "compact_branch", "path": path, "branch": "dev"}),
            read("dev", "compacted"),
            read("dev/deep", "deep"),
            json!({"do": "delete", "path": path, "predicate": "id % 4 = 1"}),
            json!({"do": "create_index", "path": path, "column": "id"}),
        ],
    );
    assert_eq!(results[0], names(&table));
    check(&store, &on(None, At::Tag("one".into())), &place.at("one"));
    check(&store, &on(None, At::Tag("best".into())), &place.at("best"));
    check(&Store::local(place.at("clone")), &Reference::default(), &place.at("cloned"));
    check(&store, &on(Some("dev"), At::Version(4)), &place.at("dev"));
    check(&store, &on(Some("dev"), At::Latest), &place.at("compacted"));
    check(&store, &on(Some("dev/deep"), At::Latest), &place.at("deep"));

    // A branch with deletion files and indices of the table.
    ours::run(async {
        let latest = table.latest().await.unwrap();
        let branch = latest.create_branch("indexed", &options).await.unwrap();
        assert!(branch.manifest().indices.iter().all(|index| index.base_id == Some(0)));
        write(&branch, WriteMode::Append, rows(5000, 3)).await;
    });
    let results = must(
        &oracle,
        &[
            read("indexed", "indexed"),
            json!({"do": "delete_in_branch", "path": path, "branch": "indexed", "predicate": "id = 5001 OR id = 2"}),
            read("indexed", "deleted"),
            json!({"do": "delete_branch", "path": path, "name": "dev/deep"}),
            json!({"do": "delete_tag", "path": path, "name": "best"}),
            json!({"do": "tag", "path": path, "name": "two", "version": 3, "branch": "dev", "update": true}),
            json!({"do": "names", "path": path}),
        ],
    );
    check(&store, &on(Some("indexed"), At::Version(5)), &place.at("indexed"));
    check(&store, &on(Some("indexed"), At::Latest), &place.at("deleted"));
    assert_eq!(results[6], names(&table));
}

#[test]
fn versions_by_time_and_restored() {
    // Times of the reference have microseconds.
    const APART: Duration = Duration::from_millis(10);
    let Some(oracle) = Oracle::find("versions by time with the reference") else { return };
    let place = Place::new();
    let (path, store) = (place.table(), place.store());
    let last = ours::run(async {
        let mut table = create(store.clone(), rows(0, 10)).await;
        for first in [10, 20, 30] {
            std::thread::sleep(APART);
            table = write(&table, WriteMode::Append, rows(first, 10)).await;
        }
        std::thread::sleep(APART);
        open(&store, &on(None, At::Version(2))).await.restore(&CommitOptions::default()).await.unwrap()
    });
    let versions = ours::run(last.versions()).unwrap();
    assert_eq!(versions.iter().map(|info| info.rows).collect::<Vec<_>>(), [10, 20, 30, 40, 20]);
    assert_eq!(versions.last().unwrap().operation, Some("restore"));
    let moments = versions.iter().map(|info| {
        let since = (info.timestamp + APART / 2).duration_since(UNIX_EPOCH).unwrap();
        (info.version, since.as_secs_f64())
    });
    let moments = moments.collect::<Vec<_>>();
    let jobs =
        moments.iter().map(|(_, seconds)| json!({"do": "version_at", "path": path, "seconds": seconds}));
    let results = must(&oracle, &jobs.collect::<Vec<_>>());
    for ((version, seconds), result) in moments.into_iter().zip(results) {
        assert_eq!(result, version);
        let time = UNIX_EPOCH + Duration::from_secs_f64(seconds);
        assert_eq!(ours::run(open(&store, &on(None, At::Time(time)))).version(), version);
    }
    must(
        &oracle,
        &[
            json!({"do": "read_table", "path": path, "to": place.at("restored")}),
            json!({"do": "restore", "path": path, "version": 4}),
            json!({"do": "read_table", "path": path, "to": place.at("again")}),
        ],
    );
    check(&store, &on(None, At::Version(5)), &place.at("restored"));
    check(&store, &Reference::default(), &place.at("again"));
}

#[test]
fn names_of_manifests() {
    let Some(oracle) = Oracle::find("old names of manifests with the reference") else { return };
    for ours_migrates in [true, false] {
        let place = Place::new();
        let (path, store) = (place.table(), place.store());
        must(
            &oracle,
            &[
                json!({"do": "write_table", "arrow": place.arrow(0, 20), "to": path, "enable_v2_manifest_paths": false}),
                json!({"do": "delete", "path": path, "predicate": "id = 3"}),
                json!({"do": "tag", "path": path, "name": "old", "version": 1}),
            ],
        );
        ours::run(async {
            let table = open(&store, &Reference::default()).await;
            write(&table, WriteMode::Append, rows(20, 5)).await;
        });
        assert!(place.at("table/_versions/3.manifest").exists());
        must(&oracle, &[json!({"do": "read_table", "path": path, "to": place.at("before")})]);
        check(&store, &Reference::default(), &place.at("before"));
        // As if it had been cut short: the newest is there under both names.
        let newest = format!("_versions/{:020}.manifest", u64::MAX - 3);
        std::fs::copy(place.at("table/_versions/3.manifest"), path.join(newest)).unwrap();
        assert!(ours::run(Table::open(store.clone(), None)).is_err());
        let version = json!({"do": "read_table", "path": path, "version": 2, "to": place.at("second")});
        must(&oracle, &[version]);
        check(&store, &on(None, At::Version(2)), &place.at("second"));
        // Either mends what was cut short.
        if ours_migrates {
            assert_eq!(ours::run(Table::migrate_names(&store)).unwrap(), 3);
        }
        must(
            &oracle,
            &[
                json!({"do": "migrate", "path": path}),
                json!({"do": "write_table", "arrow": place.arrow(25, 5), "to": path, "mode": "append"}),
                json!({"do": "read_table", "path": path, "to": place.at("after")}),
                json!({"do": "read_table", "path": path, "version": "old", "to": place.at("old")}),
            ],
        );
        check(&store, &Reference::default(), &place.at("after"));
        check(&store, &on(None, At::Tag("old".into())), &place.at("old"));
        let listed = ours::run(store.list("_versions")).unwrap();
        let manifests = listed.iter().filter(|listed| listed.name.ends_with(".manifest"));
        assert!(manifests.clone().all(|listed| listed.name.len() == 29) && manifests.count() == 4);
    }
}
