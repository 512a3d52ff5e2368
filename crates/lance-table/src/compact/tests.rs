use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::Mutex;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use futures::TryStreamExt;
use lance_io::Store;
use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::*;
use crate::WriteMode;
use crate::commit::commit;
use crate::delete::Offsets;
use crate::operation::{Delete, Operation};
use crate::proto::transaction::Operation as Stored;
use crate::proto::{Any, IndexMetadata};

fn rows(range: std::ops::Range<i32>) -> RecordBatch {
    let names = range.clone().map(|i| (i % 7 != 0).then(|| format!("row {i}")));
    let names: ArrayRef = Arc::new(names.collect::<StringArray>());
    let schema =
        Schema::new(vec![Field::new("i", DataType::Int32, false), Field::new("name", DataType::Utf8, true)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from_iter_values(range)), names])
        .unwrap()
}

async fn append(store: &Store, range: std::ops::Range<i32>, most: u64) -> Table {
    append_as(store, range, most, None).await
}

async fn append_as(store: &Store, range: std::ops::Range<i32>, most: u64, version: Option<Version>) -> Table {
    let options =
        WriteOptions { mode: WriteMode::Append, max_rows_per_fragment: most, version, ..Default::default() };
    Table::write(store.clone(), vec![rows(range)].into(), options).await.unwrap()
}

/// Deletes rows by fragment id and offset.
async fn delete(table: &Table, offsets: &[(u32, &[u32])]) -> Table {
    let offsets = offsets.iter().map(|(id, rows)| (*id, rows.iter().copied().collect::<RoaringBitmap>()));
    let mut files = vec![];
    let rows = table.mark_deleted(offsets.collect::<Offsets>(), &mut files).await.unwrap();
    let delete = Operation::Delete(Delete { rows, predicate: "some".into() });
    commit(table.store(), table.version(), delete, &CommitOptions::default(), files).await.unwrap();
    table.latest().await.unwrap()
}

async fn ints(table: &Table) -> Vec<i32> {
    let batches = table.scan(ScanOptions::default()).unwrap().try_collect::<Vec<_>>().await.unwrap();
    let mut values = vec![];
    for batch in batches {
        assert_eq!(batch.schema(), table.arrow_schema());
        let ints = batch.column(0).as_primitive::<Int32Type>();
        for (i, name) in ints.values().iter().zip(batch.column(1).as_string::<i32>()) {
            assert_eq!(name.map(String::from), (i % 7 != 0).then(|| format!("row {i}")));
        }
        values.extend(ints.values());
    }
    values
}

async fn row_ids(table: &Table) -> Vec<u64> {
    let options = ScanOptions { with_row_id: true, ..Default::default() };
    let batches = table.scan(options).unwrap().try_collect::<Vec<_>>().await.unwrap();
    let ids = batches.iter().map(|batch| batch.column(2).as_primitive::<UInt64Type>().values().to_vec());
    ids.collect::<Vec<_>>().concat()
}

/// (id, rows) of the fragments.
fn fragments(table: &Table) -> Vec<(u32, u64)> {
    table.fragments().iter().map(|fragment| (fragment.id(), fragment.rows())).collect()
}

async fn data_files(table: &Table) -> BTreeSet<String> {
    table.store().list("data").await.unwrap().into_iter().map(|listed| listed.name).collect()
}

fn to(target_rows: u64) -> CompactionOptions {
    CompactionOptions { target_rows, ..Default::default() }
}

/// The next version, as if the table had an index on its first column.
async fn index(table: &Table, covered: &[u32]) -> Table {
    let mut manifest = table.manifest().clone();
    let mut bytes = vec![];
    covered.iter().copied().collect::<RoaringBitmap>().serialize_into(&mut bytes).unwrap();
    manifest.indices.push(IndexMetadata {
        name: "by_i".into(),
        fields: vec![0],
        fragment_bitmap: bytes.into(),
        index_details: Some(Any { type_url: "/lance.table.BitmapIndexDetails".into(), ..Default::default() }),
        ..Default::default()
    });
    edit(table, manifest).await
}

/// The next version, as if the table had been made with stable row ids.
async fn with_stable_ids(table: &Table) -> Table {
    let mut manifest = table.manifest().clone();
    let message = &mut manifest.message;
    message.next_row_id = crate::row_ids::assign(&mut message.fragments, 100, message.version).unwrap();
    message.reader_feature_flags |= crate::manifest::flags::STABLE_ROW_IDS;
    message.writer_feature_flags |= crate::manifest::flags::STABLE_ROW_IDS;
    edit(table, manifest).await
}

async fn edit(table: &Table, mut manifest: crate::Manifest) -> Table {
    manifest.message.version += 1;
    let path = crate::Naming::V2.path(manifest.version());
    table.store().put(&path, manifest.to_file().unwrap()).await.unwrap();
    table.latest().await.unwrap()
}

#[tokio::test]
async fn small_fragments_and_deleted_rows_go() {
    let store = Store::memory();
    append(&store, 0..50, 10).await;
    append(&store, 50..150, 100).await;
    let table = append(&store, 150..155, 10).await;
    let table = delete(&table, &[(0, &[1, 2]), (5, &[0, 7]), (6, &[0, 1, 2, 3, 4])]).await;
    assert_eq!(fragments(&table), [(0, 8), (1, 10), (2, 10), (3, 10), (4, 10), (5, 98)]);

    let seen = Mutex::new(0);
    let done = table.compact_watched(&to(30), &|bytes| *seen.lock().unwrap() += bytes).await.unwrap();
    // Ids are reserved above the highest; the large fragment has few deleted rows.
    assert_eq!(fragments(&done.table), [(5, 98), (7, 48)]);
    let expected = (50..150).filter(|i| ![50, 57].contains(i)).chain((0..50).filter(|i| ![1, 2].contains(i)));
    assert_eq!(ints(&done.table).await, expected.collect::<Vec<_>>());
    let old = done.groups.iter().flat_map(CompactedGroup::old).map(|old| old.bytes).sum::<u64>();
    assert_eq!(*seen.lock().unwrap(), old);
    // One version for the ids, one for the fragments.
    assert_eq!(done.table.version(), table.version() + 2);
    let operation = done.table.transaction().await.unwrap().unwrap().operation;
    assert!(matches!(operation, Some(Stored::Rewrite(_))), "{operation:?}");
    // The old version can still be read.
    assert_eq!(ints(&table).await.len(), 146);
    // There is nothing left to do, and no commit.
    let again = done.table.compact(&to(30)).await.unwrap();
    assert_eq!((again.table.version(), again.groups.len()), (done.table.version(), 0));
}

#[tokio::test]
async fn the_last_deletion_file_takes_its_flag_along() {
    let store = Store::memory();
    let table = append(&store, 0..10, 10).await;
    let table = delete(&table, &[(0, &[0, 1, 2])]).await;
    assert_eq!(table.manifest().message.reader_feature_flags & 1, 1);
    let done = table.compact(&CompactionOptions::default()).await.unwrap();
    assert_eq!(done.table.manifest().message.reader_feature_flags & 1, 0);
    assert_eq!(ints(&done.table).await, (3..10).collect::<Vec<_>>());
}

#[tokio::test]
async fn files_of_several_versions_become_one() {
    let store = Store::memory();
    for (start, version) in [(0, Version::V2_0), (10, Version::V2_1), (20, Version::V2_2)] {
        append_as(&store, start..start + 10, 100, Some(version)).await;
    }
    let table = Table::open(store, None).await.unwrap();
    let done = table.compact(&CompactionOptions::default()).await.unwrap();
    assert_eq!(fragments(&done.table), [(3, 30)]);
    assert_eq!(done.table.fragments()[0].files()[0].version, Version::V2_0);
    let options = CompactionOptions {
        version: Some(Version::V2_1),
        compression: Some(Compression::Zstd { level: Some(1) }),
        checksums: Some(true),
        ..Default::default()
    };
    let done = done.table.compact(&options).await.unwrap();
    assert_eq!(done.table.fragments()[0].files()[0].version, Version::V2_1);
    assert_eq!(ints(&done.table).await, (0..30).collect::<Vec<_>>());
}

#[tokio::test]
async fn stable_row_ids_stay() {
    let store = Store::memory();
    let table = append(&store, 0..40, 10).await;
    let table = with_stable_ids(&table).await;
    let table = index(&table, &[0, 1]).await;
    let table = delete(&table, &[(0, &[3]), (1, &[0, 1]), (3, &[9])]).await;
    let before = row_ids(&table).await;
    let done = table.compact(&to(100)).await.unwrap();
    // Fragments that the index covers do not go together with others.
    assert_eq!(fragments(&done.table), [(4, 17), (5, 19)]);
    assert_eq!(row_ids(&done.table).await, before);
    let covered = &done.table.manifest().indices[0].fragment_bitmap;
    let covered = RoaringBitmap::deserialize_from(&covered[..]).unwrap();
    assert_eq!(covered.iter().collect::<Vec<_>>(), [4]);
    for fragment in done.table.fragments() {
        crate::row_versions::check(&fragment.message, 2).unwrap();
    }
}

#[tokio::test]
async fn an_index_of_addresses_covers_no_more_what_moved() {
    for (indices, expected, covered, rows) in [
        (IndexCoverage::Keep, &[(0, 10), (1, 9), (4, 20)][..], &[1][..], None),
        (IndexCoverage::Shrink, &[(4, 39)], &[], Some(9)),
    ] {
        let store = Store::memory();
        let table = append(&store, 0..40, 10).await;
        let table = delete(&table, &[(1, &[3])]).await;
        let table = index(&table, &[1]).await;
        let options = CompactionOptions { indices, threshold: 1.0, ..to(100) };
        let uncovered = table.plan_compaction(&options).unwrap().uncovered().to_vec();
        let done = table.compact(&options).await.unwrap();
        assert_eq!(done.uncovered, uncovered);
        let uncovered = uncovered.iter().map(|one| (one.index.as_str(), one.rows)).next();
        assert_eq!(uncovered, rows.map(|rows| ("by_i", rows)));
        assert_eq!(fragments(&done.table), expected);
        let bitmap = &done.table.manifest().indices[0].fragment_bitmap;
        let bitmap = RoaringBitmap::deserialize_from(&bitmap[..]).unwrap();
        assert_eq!(bitmap.iter().collect::<Vec<_>>(), covered);
    }
}

#[tokio::test]
async fn plans_and_groups_can_be_sent() {
    let store = Store::memory();
    append(&store, 0..30, 10).await;
    let table = append(&store, 30..60, 10).await;
    let plan = table.plan_compaction(&to(20)).unwrap();
    let sent = serde_json::to_string_pretty(&plan).unwrap();
    let plan: CompactionPlan = serde_json::from_str(&sent).unwrap();
    assert_eq!((plan.version(), plan.tasks().len()), (2, 3));
    // A plan without a version is none.
    let mut without: serde_json::Value = serde_json::from_str(&sent).unwrap();
    without.as_object_mut().unwrap().remove("version");
    assert!(serde_json::from_value::<CompactionPlan>(without).is_err());

    // Somebody deletes rows of the second task meanwhile.
    let deleted = delete(&table, &[(2, &[4])]).await;
    let mut groups = vec![];
    for task in plan.tasks() {
        let task: CompactionTask = serde_json::from_str(&serde_json::to_string(task).unwrap()).unwrap();
        let group = serde_json::to_string(&task.run(&deleted).await.unwrap()).unwrap();
        groups.push(serde_json::from_str::<CompactedGroup>(&group).unwrap());
    }
    let done = deleted.commit_compaction(groups.clone(), &CommitOptions::default()).await.unwrap();
    assert_eq!((done.groups.len(), done.conflicting.len()), (2, 1));
    assert_eq!(done.conflicting[0], groups[1]);
    assert_eq!(fragments(&done.table), [(2, 9), (3, 10), (6, 20), (8, 20)]);
    let mut all = ints(&done.table).await;
    all.sort_unstable();
    assert_eq!(all, (0..60).filter(|i| *i != 24).collect::<Vec<_>>());

    // The same again: nothing is done twice, and no file goes.
    let again = done.table.commit_compaction(groups, &CommitOptions::default()).await.unwrap();
    assert_eq!((again.groups.len(), again.conflicting.len()), (0, 3));
    assert_eq!(ints(&again.table).await.len(), 59);
}

#[tokio::test]
async fn groups_that_do_not_fit_are_refused() {
    let store = Store::memory();
    append(&store, 0..30, 10).await;
    let table = append(&store, 30..60, 10).await;
    let plan = table.plan_compaction(&to(20)).unwrap();
    let group = plan.tasks()[0].run(&table).await.unwrap();
    let refused = async |groups: Vec<CompactedGroup>| {
        let error = table.commit_compaction(groups, &CommitOptions::default()).await.unwrap_err();
        error.to_string()
    };
    let error = refused(vec![group.clone(), group.clone()]).await;
    assert!(error.contains("fragment 0 was rewritten twice"), "{error}");
    let changed = |change: &dyn Fn(&mut CompactedGroup)| {
        let mut group = group.clone();
        change(&mut group);
        vec![group]
    };
    let error = refused(changed(&|group| group.old[0].physical_rows = 9)).await;
    assert!(error.contains("version 2 has no fragment 0 as planned"), "{error}");
    let error = refused(changed(&|group| group.new[0].rows = 7)).await;
    assert!(error.contains("20 rows became 7"), "{error}");
    let living = table.fragments()[5].files()[0].path.clone();
    let error = refused(changed(&|group| group.new[0].file = living.clone())).await;
    assert!(error.contains("is not a new data file"), "{error}");
    let error = refused(changed(&|group| group.new[0].file = "../x.lance".into())).await;
    assert!(error.contains("is not a new data file"), "{error}");
    let error = refused(changed(&|group| group.new[0].bytes = 7)).await;
    assert!(error.contains("bytes, but the manifest says 7"), "{error}");
    let error = refused(changed(&|group| group.new[0].file = "none.lance".into())).await;
    assert!(error.contains("none.lance"), "{error}");
    let without = changed(&|group| {
        group.new[0].fields.truncate(1);
        group.new[0].columns.truncate(1);
    });
    let error = refused(without).await;
    assert!(error.contains("it lacks the column \"name\""), "{error}");
    let error = refused(changed(&|group| group.new[0].columns.push(2))).await;
    assert!(error.contains("2 fields, but 3 columns"), "{error}");
    assert_eq!(table.latest().await.unwrap().version(), 2);

    let mut task = plan.tasks()[0].clone();
    task.rows = vec![19];
    assert!(matches!(task.run(&table).await, Err(TableError::InvalidInput { .. })));
    task.rows = vec![20, 0];
    assert!(matches!(task.run(&table).await, Err(TableError::InvalidInput { .. })));
    // Another table has other files.
    let other = append(&Store::memory(), 0..30, 10).await;
    let other = append(other.store(), 30..60, 10).await;
    assert!(matches!(plan.tasks()[0].run(&other).await, Err(TableError::InvalidInput { .. })));
}

#[tokio::test]
async fn what_others_touch_is_planned_again() {
    let store = Store::memory();
    append(&store, 0..30, 10).await;
    let table = append(&store, 30..60, 10).await;
    // This handle does not know of the deletion, so its first plan fails in part.
    delete(&table, &[(2, &[4])]).await;
    let done = table.compact(&to(20)).await.unwrap();
    assert!(done.conflicting.is_empty());
    assert_eq!(ints(&done.table).await, {
        let first = (0..20).chain(40..60);
        first.chain((20..40).filter(|i| *i != 24)).collect::<Vec<_>>()
    });
    // Files of the group that failed are gone.
    let mut used = BTreeSet::new();
    for version in 1..=done.table.version() {
        let table = Table::open(store.clone(), Some(version)).await.unwrap();
        let files = table.fragments().iter().flat_map(|fragment| fragment.files());
        used.extend(files.map(|file| file.path.clone()));
    }
    assert_eq!(data_files(&done.table).await, used);
}

#[tokio::test]
async fn what_others_go_on_touching_is_an_error() {
    // Rows that others delete, with the version that then has something compacted, and the fragments of the first task that
    // came to nothing.
    type Case = (&'static [(u32, &'static [u32])], Option<u64>, usize, &'static [u32]);
    let cases: [Case; 3] = [
        (&[(2, &[4])], Some(5), 1, &[2, 3]),
        (&[(0, &[1]), (5, &[1])], Some(5), 2, &[0, 1]),
        (&[(1, &[1]), (2, &[4]), (4, &[9])], None, 3, &[0, 1]),
    ];
    for (deleted, compacted, count, first) in cases {
        let store = Store::memory();
        append(&store, 0..30, 10).await;
        let table = append(&store, 30..60, 10).await;
        delete(&table, deleted).await;
        let commit = CommitOptions { retries: 0, ..Default::default() };
        let done = table.compact(&CompactionOptions { commit, ..to(20) }).await.unwrap();
        assert_eq!(done.conflicting.len(), count);
        let error = done.complete().unwrap_err();
        let text = error.to_string();
        let TableError::PartlyCompacted { version, failed, fragments, source, .. } = error else {
            panic!("{text}")
        };
        assert_eq!((version, failed, &fragments[..]), (compacted, count, first), "{text}");
        assert!(matches!(*source, TableError::Outpaced { .. }), "{text}");
        assert_eq!(text.contains("nothing was compacted"), compacted.is_none(), "{text}");
    }
}

#[tokio::test]
async fn a_failed_compaction_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::local(dir.path());
    append(&store, 0..40, 10).await;
    let table = append(&store, 40..50, 10).await;
    let before = data_files(&table).await;
    // The last fragment cannot be read, when the others are done.
    let path = dir.path().join("data").join(&table.fragments()[4].files()[0].path);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    // All fragments are in one group.
    let done = table.compact(&to(50)).await.unwrap();
    assert_eq!((done.groups.len(), done.failed.len(), done.table.version()), (0, 1, 2));
    assert!(done.complete().is_err());
    assert_eq!(data_files(&table).await, before);
    assert_eq!(table.latest().await.unwrap().version(), 2);
}

#[tokio::test]
async fn blobs_are_refused_by_name() {
    let store = Store::memory();
    let table = append(&store, 0..10, 5).await;
    let mut manifest = table.manifest().clone();
    manifest.message.fields[1].metadata.insert("lance-encoding:blob".into(), "true".into());
    manifest.message.fields[1].logical_type = "large_binary".into();
    let table = edit(&table, manifest).await;
    let error = table.compact(&to(100)).await.unwrap_err().to_string();
    assert!(error.contains("unsupported") && error.contains("column \"name\""), "{error}");
}

#[tokio::test]
async fn options_without_sense_are_refused() {
    let table = append(&Store::memory(), 0..10, 5).await;
    for options in [
        to(0),
        to(1 << 32),
        CompactionOptions { threshold: f64::NAN, ..to(10) },
        CompactionOptions { threshold: -0.5, ..to(10) },
        CompactionOptions { target_bytes: Some(0), ..to(10) },
    ] {
        assert!(matches!(table.plan_compaction(&options), Err(TableError::InvalidInput { .. })));
    }
}

#[derive(Debug, Clone)]
enum Step {
    Append { rows: i32, most: u64 },
    Delete { fragment: usize, mask: u64 },
    Compact { target: u64, threshold: f64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1_i32..60, 1_u64..40).prop_map(|(rows, most)| Step::Append { rows, most }),
        (any::<usize>(), any::<u64>()).prop_map(|(fragment, mask)| Step::Delete { fragment, mask }),
        (1_u64..80, 0.0..1.2).prop_map(|(target, threshold)| Step::Compact { target, threshold }),
    ];
    prop::collection::vec(step, 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The model has the rows of each fragment: compaction takes some fragments out and puts their rows, in order,
    /// behind the others.
    #[test]
    fn the_same_rows_are_there_afterwards(steps in steps(), stable in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = Store::memory();
            let mut table = append(&store, 0..20, 7).await;
            if stable {
                table = with_stable_ids(&table).await;
            }
            let mut next = 20;
            for step in steps {
                let before = ints(&table).await;
                match step {
                    Step::Append { rows, most } => {
                        table = append(&store, next..next + rows, most).await;
                        next += rows;
                    }
                    Step::Delete { fragment, mask } => {
                        let fragments = table.fragments();
                        if fragments.is_empty() { continue }
                        let fragment = &fragments[fragment % fragments.len()];
                        let gone = crate::deletion::read(&table.shared.places, &fragment.message).await.unwrap();
                        let rows = u32::try_from(fragment.physical_rows()).unwrap();
                        let rows = (0..rows).filter(|row| mask & (1 << (row % 64)) != 0 && !gone.contains(*row));
                        let rows = rows.collect::<Vec<_>>();
                        table = delete(&table, &[(fragment.id(), &rows)]).await;
                    }
                    Step::Compact { target, threshold } => {
                        let options = CompactionOptions { target_rows: target, threshold, ..Default::default() };
                        let ids = row_ids(&table).await;
                        let by_value = before.iter().copied().zip(ids).collect::<BTreeMap<_, _>>();
                        let mut of = BTreeMap::new();
                        let mut at = 0;
                        for fragment in table.fragments() {
                            let rows = usize::try_from(fragment.rows()).unwrap();
                            of.insert(fragment.id(), before[at..at + rows].to_vec());
                            at += rows;
                        }
                        let done = table.compact(&options).await.unwrap();
                        let mut behind = vec![];
                        for old in done.groups.iter().flat_map(CompactedGroup::old) {
                            behind.extend(of.remove(&old.id).unwrap());
                        }
                        let expected = of.into_values().flatten().chain(behind).collect::<Vec<_>>();
                        table = done.table;
                        let after = ints(&table).await;
                        prop_assert_eq!(&after, &expected);
                        if stable {
                            let ids = row_ids(&table).await;
                            prop_assert_eq!(after.into_iter().zip(ids).collect::<BTreeMap<_, _>>(), by_value.clone());
                        }
                        // What came together now may have a neighbour to go with; that ends.
                        let mut settled = table.clone();
                        for _ in 0..10 {
                            settled = settled.compact(&options).await.unwrap().table;
                        }
                        prop_assert!(settled.plan_compaction(&options).unwrap().tasks().is_empty());
                        let mut all = ints(&settled).await;
                        all.sort_unstable();
                        prop_assert!(all.iter().copied().eq(by_value.into_keys()));
                        table = settled;
                    }
                }
            }
            Ok(())
        })?;
    }
}

/// What cannot be read does not keep the rest from being compacted.
#[tokio::test]
async fn what_fails_is_told_and_left() {
    let store = Store::memory();
    for start in [0, 10, 100, 200, 210, 300, 400, 410] {
        let rows = if [100, 300].contains(&start) { 90 } else { 10 };
        append(&store, start..start + rows, 1000).await;
    }
    let table = Table::open(store.clone(), None).await.unwrap();
    let options = CompactionOptions { target_rows: 50, ..Default::default() };
    let tasks = table.plan_compaction(&options).unwrap();
    let tasks =
        tasks.tasks().iter().map(|task| task.fragments().iter().map(|old| old.id).collect::<Vec<_>>());
    assert_eq!(tasks.collect::<Vec<_>>(), [[0, 1], [3, 4], [6, 7]]);
    let damaged = format!("data/{}", table.fragments()[4].files()[0].path);
    let bytes = store.read_all(&damaged).await.unwrap();
    store.delete(&damaged).await.unwrap();

    let done = table.compact(&options).await.unwrap();
    assert_eq!(done.groups.len(), 2);
    assert_eq!(
        fragments(&done.table).iter().map(|(_, rows)| *rows).collect::<Vec<_>>(),
        [90, 10, 10, 90, 20, 20]
    );
    let [failed] = &done.failed[..] else { panic!("{:?}", done.failed) };
    assert_eq!(failed.fragments.iter().map(|old| old.id).collect::<Vec<_>>(), [3, 4]);
    assert!(failed.cause.to_string().contains(&damaged), "{}", failed.cause);
    let error = done.clone().complete().unwrap_err();
    assert!(matches!(error, TableError::PartlyCompacted { failed: 1, .. }));
    let text = error.to_string();
    assert!(text.contains("fragments [3, 4]") && text.contains(&damaged), "{text}");
    // Of all that was tried, only what was committed left files.
    let files = store.list("data").await.unwrap().len();
    assert_eq!(files, 7 + 2);

    // What came of the others lies side by side now.
    let again = done.table.compact(&options).await.unwrap();
    assert_eq!((again.groups.len(), again.failed.len()), (1, 1));
    assert_eq!(store.list("data").await.unwrap().len(), files + 1);
    store.put(&damaged, bytes).await.unwrap();
    let whole = again.table.compact(&options).await.unwrap().complete().unwrap().table;
    assert_eq!((whole.fragments().len(), whole.rows()), (4, table.rows()));
}
