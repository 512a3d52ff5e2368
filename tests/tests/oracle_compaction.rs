//! Compaction and clean-up of tables that the reference wrote, and what it makes of them afterwards.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use demilance_tests::draw::Draw;
use demilance_tests::legacy::numbered as rows;
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, same, stream};
use lance_file::Version;
use lance_io::Store;
use lance_table::{CleanupOptions, CommitOptions, Compaction, CompactionOptions, IndexCoverage, Table};
use serde_json::{Value, json};

/// A directory with a table, and files of batches.
struct Place {
    directory: tempfile::TempDir,
    oracle: Oracle,
}

impl Place {
    fn new(oracle: Oracle) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), oracle }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn table(&self) -> PathBuf {
        self.at("table")
    }

    fn jobs(&self, jobs: &[Value]) -> Vec<Value> {
        let results = jobs.iter().zip(self.oracle.run(jobs));
        results.map(|(job, result)| result.unwrap_or_else(|error| panic!("{job}: {error}"))).collect()
    }

    /// What the reference reads.
    fn read(&self, more: Value) -> RecordBatch {
        let to = self.at("read.arrow");
        let mut job = json!({"do": "read_table", "path": self.table(), "to": to});
        let more = more.as_object().unwrap().clone();
        job.as_object_mut().unwrap().extend(more);
        self.jobs(&[job]);
        let (schema, batches) = stream::read(&to);
        same::whole(&schema, &batches).unwrap()
    }

    fn write(&self, name: &str, batch: &RecordBatch) -> PathBuf {
        let to = self.at(name);
        stream::write(&to, &batch.schema(), std::slice::from_ref(batch));
        to
    }

    fn compact(&self, options: &CompactionOptions) -> Compaction {
        let table = self.table();
        ours::run(async { open(&table, None).await.compact(options).await.unwrap() })
    }

    /// Both read the same, in the same order.
    fn check_both(&self) -> RecordBatch {
        let theirs = self.read(json!({}));
        self.jobs(&[json!({"do": "describe_table", "path": self.table()})]);
        let table = self.table();
        ours::run(async {
            ours::compare_table(&open(&table, None).await, &theirs, &[]).await.unwrap();
        });
        theirs
    }
}

async fn open(path: &Path, version: Option<u64>) -> Table {
    Table::open(Store::local(path), version).await.unwrap()
}

fn numbers(range: std::ops::Range<i64>) -> RecordBatch {
    RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from_iter_values(range)) as ArrayRef)]).unwrap()
}

fn ids(batch: &RecordBatch) -> Vec<i64> {
    batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().values().to_vec()
}

/// The rows in the order of their ids.
fn sorted(batch: &RecordBatch) -> RecordBatch {
    let ids = ids(batch);
    let mut order = (0..ids.len()).collect::<Vec<_>>();
    order.sort_by_key(|row| ids[*row]);
    same::rows_at(batch, &order.into_iter().map(|row| row as u64).collect::<Vec<_>>())
}

/// Fragments of one and of several files, with deleted rows, with columns that were added and dropped, nested ones too;
/// after our compaction the reference reads the same rows, writes more, and compacts itself.
#[test]
fn every_type_in_every_version() {
    for version in Version::ALL {
        let Some(oracle) = Oracle::find("compaction of tables of the reference") else { return };
        let place = Place::new(oracle);
        let table = place.table();
        let mut draw = Draw::new(31);
        let first = rows(&mut draw, 0, 1500, version);
        let more = rows(&mut draw, 1500, 300, version);
        let batches = (0..5).map(|part| first.slice(part * 300, 300)).collect::<Vec<_>>();
        stream::write(&place.at("first.arrow"), &first.schema(), &batches);
        let arrow = place.write("more.arrow", &more);
        let of_version = version.to_string();
        place.jobs(&[
            json!({"do": "write_table", "arrow": place.at("first.arrow"), "to": table, "version": of_version,
                   "max_rows_per_file": 300}),
            json!({"do": "delete", "path": table, "predicate": "id IN (3, 299, 300, 901)"}),
            json!({"do": "write_table", "arrow": arrow, "to": table, "mode": "append"}),
            json!({"do": "add_columns", "path": table, "expressions": {"twice": "id * 2"}}),
            json!({"do": "drop_columns", "path": table, "columns": ["utf8_random", "deep_random"]}),
            json!({"do": "delete", "path": table, "predicate": "id % 7 = 5 AND id > 1200"}),
        ]);
        let before = place.read(json!({}));
        for checksums in [false, true] {
            let options = CompactionOptions {
                target_rows: if checksums { 100_000 } else { 700 },
                checksums: Some(checksums),
                ..Default::default()
            };
            let done = place.compact(&options);
            assert!(!done.groups.is_empty());
            let after = place.check_both();
            same::check(&sorted(&after), &before).unwrap_or_else(|error| panic!("{version}: {error}"));
            for fragment in done.table.fragments() {
                assert_eq!((fragment.files().len(), fragment.deleted_rows()), (1, 0));
                assert_eq!(fragment.files()[0].version, version);
            }
        }
        place.jobs(&[
            json!({"do": "delete", "path": table, "predicate": "id < 100"}),
            json!({"do": "compact", "path": table, "target_rows_per_fragment": 500}),
        ]);
        assert_eq!(ids(&place.check_both()).len(), before.num_rows() - 99);
    }
}

/// Ids, and the versions that made and changed rows, stay. An index of ids covers the new fragments and is still used; one
/// that has addresses even here covers them no more, or keeps its fragments where they are.
#[test]
fn stable_row_ids() {
    use IndexCoverage::{Keep, Shrink};
    for (kind, indices, fragments, covers) in
        [("BITMAP", Shrink, 2, true), ("BTREE", Shrink, 2, false), ("BTREE", Keep, 5, true)]
    {
        let Some(oracle) = Oracle::find("compaction of tables with stable row ids") else { return };
        check_stable_row_ids(&Place::new(oracle), kind, indices, fragments, covers);
    }
}

fn check_stable_row_ids(place: &Place, kind: &str, indices: IndexCoverage, fragments: usize, covers: bool) {
    let (table, arrow) = (place.table(), place.write("a.arrow", &numbers(0..1000)));
    let more = place.write("b.arrow", &numbers(1000..1300));
    let last = place.write("c.arrow", &numbers(1300..1400));
    place.jobs(&[
        json!({"do": "write_table", "arrow": arrow, "to": table, "max_rows_per_file": 250,
               "enable_stable_row_ids": true}),
        json!({"do": "create_index", "path": table, "column": "id", "kind": kind}),
        json!({"do": "write_table", "arrow": more, "to": table, "mode": "append"}),
        json!({"do": "delete", "path": table, "predicate": "id % 3 = 0 AND id < 400"}),
        json!({"do": "delete", "path": table, "predicate": "id IN (400, 403, 1001)"}),
        json!({"do": "update", "path": table, "updates": {"id": "id + 10000"}, "where": "id % 50 = 1"}),
        json!({"do": "write_table", "arrow": last, "to": table, "mode": "append"}),
    ]);
    let lineage =
        json!({"columns": ["id", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]});
    let before = sorted(&place.read(lineage.clone()));
    let indexed = place.jobs(&[json!({"do": "index_rows", "path": table, "name": "id_idx"})]);

    let done = place.compact(&CompactionOptions { target_rows: 450, indices, ..Default::default() });
    assert_eq!(done.table.fragments().len(), fragments, "{kind}");
    assert_eq!(sorted(&place.read(lineage.clone())), before);
    place.check_both();
    let rows = place.jobs(&[json!({"do": "index_rows", "path": table, "name": "id_idx"})]);
    assert_eq!(rows == indexed, covers, "{kind}: {rows:?}, and before {indexed:?}");
    for wanted in [2, 402, 599, 1002, 10_101, 1399] {
        let found = place.read(json!({"where": format!("id = {wanted}"), "with_row_id": true}));
        assert_eq!(ids(&found), [wanted], "{kind}");
    }
    assert!(ids(&place.read(json!({"where": "id = 3 OR id = 400"}))).is_empty());

    // The reference goes on: it puts the rest into the index, changes rows, and compacts.
    place.jobs(&[
        json!({"do": "optimize_index", "path": table}),
        json!({"do": "compact", "path": table, "target_rows_per_fragment": 10_000}),
    ]);
    assert_eq!(sorted(&place.read(lineage)), before);
    assert_eq!(ids(&place.read(json!({"where": "id = 1399"}))), [1399]);
}

/// Without stable row ids the entries of an index are addresses: what it covers stays where it is, if that is asked for.
#[test]
fn below_an_index() {
    let Some(oracle) = Oracle::find("compaction of tables with an index") else { return };
    let place = Place::new(oracle);
    let table = place.table();
    let arrow = place.write("a.arrow", &numbers(0..500));
    place.jobs(&[
        json!({"do": "write_table", "arrow": arrow, "to": table, "max_rows_per_file": 100}),
        json!({"do": "create_index", "path": table, "column": "id"}),
    ]);
    for start in [500, 600, 700] {
        let more = place.write("more.arrow", &numbers(start..start + 100));
        place.jobs(&[json!({"do": "write_table", "arrow": more, "to": table, "mode": "append"})]);
    }
    place.jobs(&[json!({"do": "delete", "path": table, "predicate": "id % 2 = 0"})]);
    let keep = CompactionOptions { indices: IndexCoverage::Keep, ..Default::default() };
    let done = place.compact(&keep);
    let left = done.table.fragments().iter().map(|fragment| (fragment.id(), fragment.rows()));
    assert_eq!(left.collect::<Vec<_>>(), [(0, 50), (1, 50), (2, 50), (3, 50), (4, 50), (8, 150)]);
    place.check_both();
    for wanted in [1, 499, 501, 799] {
        assert_eq!(ids(&place.read(json!({"where": format!("id = {wanted}")}))), [wanted]);
    }
    assert!(ids(&place.read(json!({"where": "id = 2 OR id = 702"}))).is_empty());
    // The reference can move what we leave.
    place.jobs(&[json!({"do": "compact", "path": table}), json!({"do": "optimize_index", "path": table})]);
    assert_eq!(ids(&place.check_both()).len(), 400);
    assert_eq!(ids(&place.read(json!({"where": "id = 799"}))), [799]);
}

/// What the reference deletes between plan and commit is kept, and what it deletes by a handle that does not know of our
/// compaction too.
#[test]
fn deletions_meanwhile() {
    let Some(oracle) = Oracle::find("deletions during compaction") else { return };
    let place = Place::new(oracle);
    let (table, arrow) = (place.table(), place.write("a.arrow", &numbers(0..600)));
    place.jobs(&[json!({"do": "write_table", "arrow": arrow, "to": table, "max_rows_per_file": 100})]);
    let options = CompactionOptions { target_rows: 200, ..Default::default() };
    let groups = ours::run(async {
        let opened = open(&table, None).await;
        let plan = opened.plan_compaction(&options).unwrap();
        let mut groups = vec![];
        for task in plan.tasks() {
            groups.push(task.run(&opened).await.unwrap());
        }
        groups
    });
    assert_eq!(groups.len(), 3);
    place.jobs(&[json!({"do": "delete", "path": table, "predicate": "id BETWEEN 250 AND 260"})]);
    let done = ours::run(async {
        open(&table, None).await.commit_compaction(groups, &CommitOptions::default()).await.unwrap()
    });
    assert_eq!((done.groups.len(), done.conflicting.len()), (2, 1));
    let expected = (0..600).filter(|id| !(250..=260).contains(id)).collect::<Vec<i64>>();
    assert_eq!(ids(&sorted(&place.check_both())), expected);

    // The handle has version 2, from before the compaction.
    place.jobs(&[json!({"do": "delete", "path": table, "predicate": "id < 10", "version": 2})]);
    assert_eq!(ids(&sorted(&place.check_both())), expected[10..]);
    let stale = ours::run(async { open(&table, Some(2)).await.compact(&options).await.unwrap() });
    assert!(stale.conflicting.is_empty());
    assert_eq!(ids(&sorted(&place.check_both())), expected[10..]);
}

/// Each cleans up what the other wrote; tags and branches of the reference hold what they need.
#[test]
fn clean_up() {
    let Some(oracle) = Oracle::find("clean-up of tables of the reference") else { return };
    let place = Place::new(oracle);
    let table = place.table();
    let first = place.write("a.arrow", &numbers(0..100));
    let more = place.write("b.arrow", &numbers(100..200));
    place.jobs(&[
        json!({"do": "write_table", "arrow": first, "to": table}),
        json!({"do": "write_table", "arrow": more, "to": table, "mode": "append"}),
        json!({"do": "create_index", "path": table, "column": "id"}),
        json!({"do": "delete", "path": table, "predicate": "id < 10"}),
        json!({"do": "tag", "path": table, "name": "held", "version": 2}),
        json!({"do": "branch", "path": table, "name": "exp/a", "version": 4}),
        json!({"do": "delete", "path": table, "predicate": "id < 20"}),
        json!({"do": "compact", "path": table}),
        json!({"do": "create_index", "path": table, "column": "id"}),
    ]);
    let before = place.check_both();
    let keep = CleanupOptions { keep: Some(1), ..Default::default() };
    let error = ours::run(async { open(&table, None).await.clean_up(&keep).await.unwrap_err().to_string() });
    assert!(error.contains("version 2 (held)"), "{error}");
    let options =
        CleanupOptions { error_if_tagged_old_versions: false, delete_unverified: true, ..keep.clone() };
    let done = ours::run(async {
        let done = open(&table, None).await.clean_up(&options).await.unwrap();
        assert!(done.failed.is_empty());
        done
    });
    let held = done.plan.held.iter().map(|held| held.version).collect::<BTreeSet<_>>();
    assert_eq!(held, BTreeSet::from([2, 4]));
    assert_eq!(place.check_both(), before);
    assert_eq!(ids(&place.read(json!({"version": 2}))), (0..200).collect::<Vec<i64>>());
    assert_eq!(ids(&place.read(json!({"version": 4}))), (10..200).collect::<Vec<i64>>());
    assert_eq!(ids(&place.read(json!({"path": table.join("tree/exp/a")}))), (10..200).collect::<Vec<i64>>());
    assert_eq!(ids(&place.read(json!({"where": "id = 199"}))), [199]);
    // There is nothing left for the reference to remove, but a transaction of the version that the branch holds.
    let tree = tree(&table);
    let left = place.jobs(&[json!({"do": "clean_up", "path": table, "keep": 1,
                                   "error_if_tagged_old_versions": false, "delete_unverified": true})]);
    assert_eq!(left.len(), 1);
    let gone = tree.difference(&self::tree(&table)).cloned().collect::<Vec<_>>();
    assert!(gone.iter().all(|path| path.starts_with(table.join("_transactions"))), "{gone:?}");

    // The reference cleans up after our compaction.
    let done = place.compact(&CompactionOptions { threshold: 0.0, ..Default::default() });
    let more = place.write("c.arrow", &numbers(200..210));
    place.jobs(&[
        json!({"do": "write_table", "arrow": more, "to": table, "mode": "append"}),
        json!({"do": "clean_up", "path": table, "keep": 1, "error_if_tagged_old_versions": false,
               "delete_unverified": true}),
    ]);
    assert!(done.table.version() > 0);
    let after = place.check_both();
    assert_eq!(after.num_rows(), before.num_rows() + 10);
    let nothing = ours::run(async { open(&table, None).await.clean_up(&options).await.unwrap() });
    assert_eq!(nothing.removed.files, 0, "{:?}", nothing.plan);
}

/// All files below `path`, but for the hint of the latest version.
fn tree(path: &Path) -> BTreeSet<PathBuf> {
    let (mut files, mut directories) = (BTreeSet::new(), vec![path.to_path_buf()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => drop(files.insert(path)),
            }
        }
    }
    files.retain(|path| !path.ends_with("latest_version_hint.json"));
    files
}
