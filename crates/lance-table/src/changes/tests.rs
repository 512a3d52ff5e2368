use std::sync::Arc;

use arrow_array::{Int32Array, RecordBatch, StringArray};
use lance_io::Store;

use super::*;
use crate::operation::{Delete, Operation};
use crate::{CommitOptions, WriteMode, WriteOptions};

fn rows(range: std::ops::Range<i32>) -> RecordBatch {
    let names = range.clone().map(|number| number.to_string()).collect::<Vec<_>>();
    RecordBatch::try_from_iter([
        ("i", Arc::new(Int32Array::from_iter_values(range)) as _),
        ("name", Arc::new(StringArray::from(names)) as _),
    ])
    .unwrap()
}

async fn write(table: &Table, mode: WriteMode, batch: RecordBatch) -> Table {
    table.write_after(vec![batch].into(), WriteOptions { mode, ..Default::default() }).await.unwrap()
}

async fn delete_first(table: &Table) -> Table {
    let mut files = vec![];
    let rows = table.mark_deleted([(0, [0].into_iter().collect())].into(), &mut files).await.unwrap();
    let operation = Operation::Delete(Delete { rows, predicate: String::new() });
    let options = CommitOptions::default();
    crate::commit::commit(table.store(), table.version(), operation, &options, files).await.unwrap();
    table.latest().await.unwrap()
}

fn kinds(files: &[TableFile]) -> Vec<(FileKind, u64, Option<u64>)> {
    files.iter().map(|file| (file.kind, file.rows, file.fragment)).collect()
}

/// Rows that came, went and stayed.
fn in_rows(changes: &Changes) -> (u64, u64, u64) {
    (changes.rows_added, changes.rows_gone, changes.rows_kept)
}

#[test]
fn a_fragment_is_the_same_if_its_rows_are() {
    let fragment = |path: &str, physical_rows| DataFragment {
        files: vec![crate::proto::DataFile { path: path.into(), ..Default::default() }],
        physical_rows,
        ..Default::default()
    };
    let one = fragment("a", 3);
    for (other, cast, same) in [
        (fragment("a", 3), false, true),
        (fragment("b", 3), false, false),
        (fragment("b", 3), true, true),
        (fragment("b", 4), true, false),
        (fragment("a", 4), false, false),
    ] {
        assert_eq!(is_same(&one, &other, cast), same, "{other:?} {cast}");
    }
}

#[tokio::test]
async fn what_each_operation_writes_and_leaves() {
    let dir = tempfile::tempdir().unwrap();
    for store in [Store::memory(), Store::local(dir.path().join("t"))] {
        let first = Table::write(store, vec![rows(0..4)].into(), WriteOptions::default()).await.unwrap();
        let made = first.changes_since(None).await.unwrap();
        assert_eq!((made.from, made.to, made.rows, made.kept.files), (None, 1, (0, 4), 0));
        assert_eq!(made.columns_added, ["i int32 not null", "name string not null"]);
        assert!(made.added[0].path.starts_with("data/") && made.added[0].bytes.unwrap() > 0);

        let second = write(&first, WriteMode::Append, rows(4..6)).await;
        let appended = second.changes_since(Some(&first)).await.unwrap();
        assert_eq!((appended.from, appended.to, appended.rows), (Some(1), 2, (4, 6)));
        assert_eq!(kinds(&appended.added), [(FileKind::Data, 2, Some(1))]);
        assert_eq!(appended.kept, Total { files: 1, bytes: made.added[0].bytes.unwrap() });
        assert_eq!((appended.fragments_added.as_slice(), appended.fragments_kept), ([1].as_slice(), 1));
        assert_eq!(in_rows(&appended), (2, 0, 4));
        assert!(appended.gone.is_empty() && appended.columns_added.is_empty());

        let third = delete_first(&second).await;
        let deleted = third.changes_since(Some(&second)).await.unwrap();
        assert_eq!(in_rows(&deleted), (0, 1, 5));
        assert_eq!((deleted.rows, deleted.kept.files, deleted.fragments_kept), ((6, 5), 2, 2));
        assert_eq!(kinds(&deleted.added), [(FileKind::Deletion, 1, Some(0))]);
        assert!(deleted.added[0].path.starts_with("_deletions/0-2-") && deleted.added[0].bytes.unwrap() > 0);
        // The other way round, what was added is gone.
        let back = second.changes_since(Some(&third)).await.unwrap();
        assert_eq!((back.gone, back.added.len(), back.rows), (deleted.added, 0, (5, 6)));

        // A branch has all files of what it began at.
        let branch = third.create_branch("b", &CommitOptions::default()).await.unwrap();
        let begun = branch.changes_since(Some(&third)).await.unwrap();
        assert_eq!((begun.kept.files, begun.added.len(), begun.gone.len()), (3, 0, 0));
        assert_eq!(in_rows(&begun), (0, 0, 5));
        let begun =
            write(&branch, WriteMode::Append, rows(9..10)).await.changes_since(Some(&first)).await.unwrap();
        assert_eq!((begun.kept.files, begun.added.len()), (1, 3));

        let other = rows(0..3).project(&[1]).unwrap();
        let fourth = write(&third, WriteMode::Overwrite, other).await;
        let replaced = fourth.changes_since(Some(&third)).await.unwrap();
        assert_eq!((replaced.kept.files, replaced.gone.len(), replaced.added.len()), (0, 3, 1));
        assert_eq!(in_rows(&replaced), (3, 5, 0));
        assert_eq!((replaced.fragments_gone, replaced.fragments_added), (vec![0, 1], vec![2]));
        // Field 0 is another column now.
        assert_eq!(replaced.columns_added, ["name string not null"]);
        assert_eq!(replaced.columns_dropped, ["i int32 not null", "name string not null"]);
        let infos = fourth.versions().await.unwrap();
        let made = infos.iter().map(|info| (info.operation.unwrap(), info.rows, info.files));
        assert_eq!(
            made.collect::<Vec<_>>(),
            [("overwrite", 4, 1), ("append", 6, 2), ("delete", 5, 3), ("overwrite", 3, 1)]
        );
    }
}

#[tokio::test]
async fn columns_and_settings() {
    let store = Store::memory();
    let first = Table::write(store.clone(), vec![rows(0..4)].into(), WriteOptions::default()).await.unwrap();
    let mut manifest = first.manifest().clone();
    manifest.message.version = 2;
    manifest.message.fields[0].name = "number".into();
    manifest.message.fields[1].nullable = !manifest.message.fields[1].nullable;
    manifest.message.config.insert("k".into(), "v".into());
    manifest.message.table_metadata.insert("m".into(), "v".into());
    let mut struct_ = manifest.message.fields[0].clone();
    (struct_.id, struct_.name, struct_.logical_type) = (7, "pose".into(), "struct".into());
    let mut member = struct_.clone();
    (member.id, member.parent_id, member.name, member.logical_type) = (8, 7, "x".into(), "float".into());
    manifest.message.fields.extend([struct_, member]);
    store.put(&crate::Naming::V2.path(2), manifest.to_file().unwrap()).await.unwrap();
    let second = first.latest().await.unwrap();
    let changes = second.changes_since(Some(&first)).await.unwrap();
    assert_eq!(changes.columns_changed.len(), 2);
    assert!(changes.columns_changed[0].0.starts_with("i int32"), "{:?}", changes.columns_changed);
    assert!(changes.columns_changed[0].1.starts_with("number int32"));
    assert_eq!(changes.columns_added.len(), 2);
    assert!(changes.columns_added[1].starts_with("pose.x float"));
    assert_eq!((changes.settings, changes.kept.files), (vec!["k".to_string(), "m".into()], 1));
}
