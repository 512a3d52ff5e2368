use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::proto::transaction::{self as op};
use crate::proto::{DataFile, DataStorageFormat, DeletionFile, IndexMetadata};
use bytes::Bytes;
use lance_file::proto::Field;
use lance_footer::Version;

const NOW: Duration = Duration::new(1_700_000_000, 5);

fn now() -> SystemTime {
    UNIX_EPOCH + NOW
}

fn fragment(rows: u64) -> DataFragment {
    let file = DataFile {
        path: "a.lance".into(),
        fields: vec![0],
        column_indices: vec![0],
        file_major_version: 2,
        file_minor_version: 2,
        file_size_bytes: 100,
        base_id: None,
    };
    DataFragment { files: vec![file], physical_rows: rows, ..Default::default() }
}

fn overwrite(fragments: Vec<DataFragment>) -> Operation {
    let field = Field { name: "a".into(), parent_id: -1, logical_type: "int32".into(), ..Default::default() };
    Operation::Overwrite(Overwrite {
        fragments,
        fields: vec![field],
        schema_metadata: BTreeMap::new(),
        version: Version::V2_2,
        stable_row_ids: false,
        config: BTreeMap::new(),
    })
}

/// A table without rows.
fn with_stable_row_ids() -> Manifest {
    let Operation::Overwrite(create) = overwrite(vec![]) else { panic!("no overwrite") };
    Overwrite { stable_row_ids: true, ..create }.apply(None, now()).unwrap()
}

fn append(fragments: Vec<DataFragment>) -> Operation {
    Operation::Append(Append { fragments })
}

fn ids(manifest: &Manifest) -> Vec<u64> {
    manifest.message.fragments.iter().map(|fragment| fragment.id).collect()
}

#[test]
fn the_first_version() {
    let manifest = overwrite(vec![fragment(3), fragment(4)]).apply(None, now()).unwrap();
    let message = &manifest.message;
    assert_eq!((message.version, ids(&manifest)), (1, vec![0, 1]));
    assert_eq!(message.max_fragment_id, Some(1));
    assert_eq!(
        message.data_format,
        Some(DataStorageFormat { file_format: "lance".into(), version: "2.2".into() })
    );
    assert_eq!(message.writer_version.as_ref().unwrap().library, "demilance");
    assert_eq!((message.reader_feature_flags, message.writer_feature_flags), (0, 0));
    assert_eq!(manifest.timestamp(), now());

    let empty = overwrite(vec![]).apply(None, now()).unwrap();
    assert_eq!((empty.version(), empty.message.max_fragment_id), (1, None));
}

#[test]
fn appended_fragments_come_above_the_high_water_mark() {
    let mut first = overwrite(vec![fragment(3)]).apply(None, now()).unwrap();
    first.message.max_fragment_id = Some(6);
    first.message.config.insert("k".into(), "v".into());
    first.message.fragments[0].deletion_file = Some(DeletionFile::default());
    first.indices.push(IndexMetadata { name: "by_a".into(), fields: vec![0], ..Default::default() });
    first.transaction = Some(proto::Transaction::default());
    let second = append(vec![fragment(2)]).apply(Some(&first), now()).unwrap();
    assert_eq!((second.version(), ids(&second)), (2, vec![0, 7]));
    assert_eq!(second.message.max_fragment_id, Some(7));
    assert_eq!(second.indices, first.indices);
    assert_eq!((second.message.reader_feature_flags, second.message.writer_feature_flags), (1, 9));
    assert_eq!(second.transaction, None);
}

#[test]
fn overwriting_keeps_the_history() {
    let mut first = overwrite(vec![fragment(3), fragment(3)]).apply(None, now()).unwrap();
    first.message.max_fragment_id = None;
    first.message.config.insert("k".into(), "v".into());
    first.indices.push(IndexMetadata { name: "by_a".into(), fields: vec![0], ..Default::default() });
    let second = overwrite(vec![fragment(1)]).apply(Some(&first), now()).unwrap();
    assert_eq!((second.version(), ids(&second)), (2, vec![2]));
    assert_eq!(second.message.config, first.message.config);
    assert!(second.indices.is_empty());
    let third = overwrite(vec![]).apply(Some(&second), now()).unwrap();
    assert_eq!(third.message.max_fragment_id, Some(2));
}

#[test]
fn stable_row_ids_go_on() {
    let first = with_stable_row_ids();
    let second = append(vec![fragment(3), fragment(2)]).apply(Some(&first), now()).unwrap();
    assert_eq!(second.message.next_row_id, 5);
    assert!(second.has_stable_row_ids());
    let third = overwrite(vec![fragment(2)]).apply(Some(&second), now()).unwrap();
    assert_eq!(third.message.next_row_id, 7);
    let ids = row_ids::RowIds::of(&third.message.fragments[0]).unwrap();
    assert_eq!((ids.id(0), ids.id(1)), (5, 6));
}

#[test]
fn missing_formats_are_taken_from_the_files() {
    let mut first = overwrite(vec![fragment(3)]).apply(None, now()).unwrap();
    first.message.data_format = None;
    let second = append(vec![]).apply(Some(&first), now()).unwrap();
    assert_eq!(second.message.data_format.unwrap().version, "2.2");
}

#[test]
fn used_up_numbers_are_errors() {
    let mut first = overwrite(vec![]).apply(None, now()).unwrap();
    first.message.max_fragment_id = Some(u32::MAX - 1);
    assert!(append(vec![fragment(1)]).apply(Some(&first), now()).is_err());
    first.message.version = u64::MAX;
    assert!(append(vec![]).apply(Some(&first), now()).is_err());
    let mut first = overwrite(vec![]).apply(None, now()).unwrap();
    first.message.writer_feature_flags = flags::KEPT_FIELD_IDS;
    assert!(overwrite(vec![]).apply(Some(&first), now()).is_err());
}

fn deleted(id: u64, rows: &[u32]) -> DeletedRows {
    let mut deleted = DeletedRows::default();
    let fragment = DataFragment { id, ..fragment(3) };
    let file = DeletionFile { num_deleted_rows: rows.len() as u64, ..Default::default() };
    let file = (rows.len() < 3).then_some(file);
    deleted.insert(Deleted { fragment, rows: rows.iter().copied().collect(), file });
    deleted
}

/// Two fragments of three rows each, with the ids 0 and 1.
fn two() -> Manifest {
    overwrite(vec![fragment(3), fragment(3)]).apply(None, now()).unwrap()
}

#[test]
fn deleting_changes_deletion_files_only() {
    let mut first = two();
    // Somebody replaced a file meanwhile: it stays.
    first.message.fragments[1].files[0].path = "b.lance".into();
    let operation = Operation::Delete(Delete { rows: deleted(1, &[0, 2]), predicate: "a = 1".into() });
    let second = operation.apply(Some(&first), now()).unwrap();
    let fragment = &second.message.fragments[1];
    assert_eq!(fragment.deletion_file.as_ref().unwrap().num_deleted_rows, 2);
    assert_eq!((fragment.files[0].path.as_str(), fragment.physical_rows), ("b.lance", 3));
    assert_eq!((second.rows(), second.message.reader_feature_flags), (4, 1));

    let whole = Operation::Delete(Delete { rows: deleted(1, &[0, 1, 2]), predicate: "true".into() });
    let third = whole.apply(Some(&second), now()).unwrap();
    assert_eq!((ids(&third), third.message.max_fragment_id), (vec![0], Some(1)));
    assert_eq!(third.message.reader_feature_flags, 0);
    let gone = whole.apply(Some(&third), now());
    assert!(gone.unwrap_err().to_string().contains("fragment 1"));
}

#[test]
fn updated_rows_stand_in_new_fragments() {
    let operation =
        Operation::Update(Update { rows: deleted(0, &[1]), fragments: vec![fragment(1)], inserts: false });
    let second = operation.apply(Some(&two()), now()).unwrap();
    assert_eq!((ids(&second), second.rows()), (vec![0, 1, 2], 6));

    // With stable row ids the new fragment keeps the id that it has, and only new rows get one.
    let first = with_stable_row_ids();
    let first = append(vec![fragment(3)]).apply(Some(&first), now()).unwrap();
    let mut kept = fragment(3);
    row_ids::assign(std::slice::from_mut(&mut kept), 0, 1).unwrap();
    let operation = Operation::Update(Update {
        rows: deleted(0, &[0, 1, 2]),
        fragments: vec![kept, fragment(2)],
        inserts: false,
    });
    let second = operation.apply(Some(&first), now()).unwrap();
    assert_eq!((ids(&second), second.message.next_row_id), (vec![1, 2], 5));
    let ids = |at: usize| row_ids::RowIds::of(&second.message.fragments[at]).unwrap();
    assert_eq!((ids(0).id(2), ids(1).id(1)), (2, 4));
}

#[test]
fn fragments_take_the_place_of_others() {
    let mut first = two();
    let bitmap = |ids: &[u32]| {
        let mut bytes = vec![];
        let bitmap = ids.iter().copied().collect::<roaring::RoaringBitmap>();
        bitmap.serialize_into(&mut bytes).unwrap();
        Bytes::from(bytes)
    };
    let reserved = Operation::Reserve(Reserve { fragments: 2 }).apply(Some(&first), now()).unwrap();
    assert_eq!((reserved.message.max_fragment_id, ids(&reserved)), (Some(3), vec![0, 1]));
    let group =
        Group { old: first.message.fragments.clone(), new: vec![DataFragment { id: 3, ..fragment(6) }] };
    let operation = Operation::Rewrite(Rewrite { groups: vec![group] });
    let second = operation.apply(Some(&reserved), now()).unwrap();
    assert_eq!((ids(&second), second.message.max_fragment_id), (vec![3], Some(3)));
    assert!(operation.apply(Some(&second), now()).is_err());

    let details = |kind: &str| Some(proto::Any { type_url: format!("/x.{kind}"), ..Default::default() });
    for (kind, stable, covered, expected) in [
        ("VectorIndexDetails", true, &[0, 1, 7][..], &[3, 7][..]),
        ("VectorIndexDetails", true, &[7], &[7]),
        // Only a part of what goes together.
        ("VectorIndexDetails", true, &[0, 7], &[7]),
        // Its entries are addresses.
        ("VectorIndexDetails", false, &[0, 1, 7], &[7]),
        ("InvertedIndexDetails", true, &[1], &[]),
    ] {
        let index = IndexMetadata {
            uuid: Some(proto::Uuid { uuid: Bytes::from_static(&[1; 16]) }),
            name: "by_a".into(),
            fields: vec![0],
            fragment_bitmap: bitmap(covered),
            index_details: details(kind),
            ..Default::default()
        };
        let mut first = first.clone();
        if stable {
            first.message.reader_feature_flags |= crate::manifest::flags::STABLE_ROW_IDS;
        }
        first.indices = vec![index.clone()];
        let second = operation.apply(Some(&first), now()).unwrap();
        let expected = IndexMetadata { fragment_bitmap: bitmap(expected), ..index };
        assert_eq!(second.indices, [expected], "{kind} {stable} {covered:?}");
    }
    let unknown = IndexMetadata { name: "by_a".into(), ..Default::default() };
    first.indices = vec![unknown];
    assert!(operation.apply(Some(&first), now()).is_err());
}

#[test]
fn columns_that_are_dropped_take_their_files_along() {
    let mut first = two();
    let field = |id, name: &str| Field { id, name: name.into(), parent_id: -1, ..Default::default() };
    first.message.fields = vec![field(0, "a"), field(1, "b")];
    let file =
        DataFile { path: "b.lance".into(), fields: vec![1], ..first.message.fragments[0].files[0].clone() };
    let mut merge = Merge {
        fragments: first.message.fragments.clone(),
        written: [0].into(),
        fields: first.message.fields.clone(),
        schema_metadata: BTreeMap::new(),
        preserves_nullability: true,
    };
    merge.fragments[0].files.push(file);
    let second = Operation::Merge(merge).apply(Some(&first), now()).unwrap();
    assert_eq!(second.message.fragments[0].files.len(), 2);
    let project = Project { fields: vec![field(0, "renamed")], preserves_nullability: true };
    let third = Operation::Project(project).apply(Some(&second), now()).unwrap();
    assert_eq!(third.message.fragments[0].files.len(), 1);
    assert_eq!(third.message.fields[0].name, "renamed");
}

#[test]
fn a_restored_version_gives_no_number_away_twice() {
    let mut first = two();
    first.message.config.insert("k".into(), "old".into());
    let mut second = append(vec![fragment(1)]).apply(Some(&first), now()).unwrap();
    second.message.config.insert("k".into(), "new".into());
    let restore = Operation::Restore(Restore { manifest: Box::new(first.clone()) });
    let third = restore.apply(Some(&second), now()).unwrap();
    assert_eq!((third.version(), ids(&third), third.message.max_fragment_id), (3, vec![0, 1], Some(2)));
    assert_eq!(third.message.config["k"], "old");
    second.message.reader_feature_flags |= flags::STABLE_ROW_IDS;
    assert!(restore.apply(Some(&second), now()).is_err());
}

#[test]
fn columns_that_were_dropped_are_dropped_from_new_rows() {
    let mut two = fragment(3);
    (two.files[0].fields, two.files[0].column_indices) = (vec![0, 3], vec![0, 1]);
    let field = |id| Field { id, name: "a".into(), parent_id: -1, ..Default::default() };
    let dropped = |ids: &[i32]| {
        let schema = ids.iter().map(|id| field(*id)).collect();
        Stored::Project(op::Project { schema, preserves_nullability: true })
    };
    let mut operation = append(vec![two.clone()]);
    operation.follow(&dropped(&[0, 3])).unwrap();
    assert_eq!(operation, append(vec![two.clone()]));
    operation.follow(&dropped(&[0, 7])).unwrap();
    // Whoever gets the id 3 next does not find these values.
    let Operation::Append(Append { fragments }) = &operation else { panic!() };
    assert_eq!(
        (&fragments[0].files[0].fields[..], &fragments[0].files[0].column_indices[..]),
        (&[0, -2][..], &[0, 1][..])
    );
    assert!(operation.follow(&dropped(&[7])).is_err());
    let mut update =
        Operation::Update(Update { rows: deleted(0, &[0]), fragments: vec![two.clone()], inserts: false });
    assert!(update.follow(&dropped(&[1])).is_err());
    // A column that was cast has another field, in which nobody would find the values of this one.
    let merged = |ids: &[i32]| {
        let schema = ids.iter().map(|id| field(*id)).collect();
        Stored::Merge(op::Merge { schema, preserves_nullability: true, ..Default::default() })
    };
    let mut operation = append(vec![two.clone()]);
    operation.follow(&merged(&[0, 3, 4])).unwrap();
    assert!(operation.follow(&merged(&[0, 4])).is_err());
    assert_eq!(operation, append(vec![two]));
}

/// Fragments whose manifests leave the count of rows out.
#[test]
fn rows_are_deleted_where_their_count_is_not_written() {
    let mut first = two();
    first.message.fragments[1].physical_rows = 0;
    let operation = Operation::Delete(Delete { rows: deleted(1, &[0, 2]), predicate: String::new() });
    let second = operation.apply(Some(&first), now()).unwrap();
    let fragment = crate::Fragment::new(second.message.fragments[1].clone()).unwrap();
    assert_eq!((fragment.physical_rows(), fragment.rows()), (3, 1));
}

fn pairs(entries: &[(&str, Option<&str>)], replace: bool) -> proto::UpdateMap {
    let entries = entries.iter().map(|(key, value)| proto::update_map::Entry {
        key: (*key).to_string(),
        value: value.map(str::to_string),
    });
    proto::UpdateMap { update_entries: entries.collect(), replace }
}

#[test]
fn pairs_are_set_removed_and_replaced() {
    let mut first = two();
    first.message.config = [("a".into(), "1".into()), ("b".into(), "2".into())].into();
    let config = Config {
        config: pairs(&[("a", None), ("c", Some("3"))], false),
        table: pairs(&[("t", Some("4"))], true),
        schema: pairs(&[("s", Some("5"))], false),
        fields: [(0, pairs(&[("f", Some("6"))], false))].into(),
    };
    let second = Operation::Config(config.clone()).apply(Some(&first), now()).unwrap();
    let message = &second.message;
    assert_eq!(message.config, [("b".into(), "2".into()), ("c".into(), "3".into())].into());
    assert_eq!(message.table_metadata, [("t".into(), "4".into())].into());
    assert_eq!(message.schema_metadata["s"], "5");
    assert_eq!(message.fields[0].metadata["f"], "6");
    assert_eq!(message.writer_feature_flags, flags::CONFIG);
    let config = Config { fields: [(9, pairs(&[], true))].into(), ..config };
    assert!(Operation::Config(config).apply(Some(&first), now()).is_err());
}

mod conflicts;
