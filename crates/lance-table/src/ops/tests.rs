use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::proto::transaction::{self as op};
use crate::proto::{DataFile, DataStorageFormat, DeletionFile, IndexMetadata};
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
    })
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
    let mut first = overwrite(vec![]).apply(None, now()).unwrap();
    first.message.reader_feature_flags |= flags::STABLE_ROW_IDS;
    first.message.writer_feature_flags |= flags::STABLE_ROW_IDS;
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

/// What the rows for append and overwrite of the table in docs/format/table.md §11 say.
#[test]
fn conflicts() {
    let merge =
        |preserves_nullability| Stored::Merge(op::Merge { preserves_nullability, ..Default::default() });
    let project =
        |preserves_nullability| Stored::Project(op::Project { preserves_nullability, ..Default::default() });
    let cases = [
        (Some(Stored::Append(Default::default())), 'k', 'k'),
        (Some(Stored::Delete(Default::default())), 'k', 'k'),
        (Some(Stored::Update(Default::default())), 'k', 'k'),
        (Some(merge(true)), 'k', 'k'),
        (Some(merge(false)), 'r', 'k'),
        (Some(project(true)), 'k', 'k'),
        (Some(project(false)), 'r', 'k'),
        (Some(Stored::Rewrite(Default::default())), 'k', 'k'),
        (Some(Stored::Overwrite(Default::default())), 'x', 'r'),
        (Some(Stored::Restore(Default::default())), 'x', 'k'),
        (Some(Stored::CreateIndex(Default::default())), 'k', 'k'),
        (Some(Stored::ReserveFragments(Default::default())), 'k', 'k'),
        (Some(Stored::UpdateConfig(Default::default())), 'k', 'k'),
        (Some(Stored::DataReplacement(Default::default())), 'k', 'k'),
        (Some(Stored::UpdateBases(Default::default())), 'k', 'k'),
        (Some(Stored::Clone(Default::default())), 'k', 'k'),
        (Some(Stored::UpdateMemWalState(Default::default())), 'x', 'x'),
        (Some(Stored::DataOverlay(Default::default())), 'x', 'x'),
        (None, 'x', 'x'),
    ];
    let letter = |rebase: Rebase, ours: Operation| match rebase {
        Rebase::Keep(kept) if kept == ours => 'k',
        Rebase::Keep(_) => '?',
        Rebase::Retry(_) => 'r',
        Rebase::Conflict(_) => 'x',
    };
    for (theirs, on_append, on_overwrite) in cases {
        let (added, replaced) = (append(vec![fragment(1)]), overwrite(vec![fragment(1)]));
        assert_eq!(letter(added.clone().rebase(theirs.as_ref()), added), on_append, "{theirs:?}");
        assert_eq!(letter(replaced.clone().rebase(theirs.as_ref()), replaced), on_overwrite, "{theirs:?}");
    }
}
