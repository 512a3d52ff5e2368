//! What others committed, as far as it matters for what comes after.

use std::collections::BTreeSet;

use super::Stored;
use crate::proto::{DataFragment, UpdateMap, transaction};

/// The name of `operation`, for messages.
pub(crate) const fn name(operation: Option<&Stored>) -> &'static str {
    let Some(operation) = operation else { return "an unknown operation" };
    match operation {
        Stored::Append(_) => "append",
        Stored::Delete(_) => "delete",
        Stored::Overwrite(_) => "overwrite",
        Stored::CreateIndex(_) => "create index",
        Stored::Rewrite(_) => "compaction",
        Stored::Merge(_) => "add columns",
        Stored::Restore(_) => "restore",
        Stored::ReserveFragments(_) => "reserve fragments",
        Stored::Update(_) => "update",
        Stored::Project(_) => "change columns",
        Stored::UpdateConfig(_) => "change config",
        Stored::DataReplacement(_) => "replace data",
        Stored::UpdateMemWalState(_) => "update write-ahead log",
        Stored::Clone(_) => "clone",
        Stored::UpdateBases(_) => "change base paths",
        Stored::DataOverlay(_) => "overlay data",
    }
}

/// The fragments whose rows or files `operation` changed, removed or moved.
pub(super) fn touched(operation: &Stored) -> BTreeSet<u64> {
    let ids = |fragments: &[DataFragment]| fragments.iter().map(|fragment| fragment.id).collect::<Vec<_>>();
    let touched = match operation {
        Stored::Delete(delete) => {
            [ids(&delete.updated_fragments), delete.deleted_fragment_ids.clone()].concat()
        }
        Stored::Update(update) => {
            [ids(&update.updated_fragments), update.removed_fragment_ids.clone()].concat()
        }
        Stored::Rewrite(rewrite) => {
            let groups = rewrite.groups.iter().flat_map(|group| ids(&group.old_fragments));
            ids(&rewrite.old_fragments).into_iter().chain(groups).collect()
        }
        Stored::DataReplacement(replaced) => {
            replaced.replacements.iter().map(|replaced| replaced.fragment_id).collect()
        }
        _ => vec![],
    };
    touched.into_iter().collect()
}

/// Whether `operation` changes the schema without saying that no field became non-nullable.
pub(super) const fn may_lose_nullability(operation: &Stored) -> bool {
    match operation {
        Stored::Merge(merge) => !merge.preserves_nullability,
        Stored::Project(project) => !project.preserves_nullability,
        _ => false,
    }
}

/// Whether `operation` brings values that may be null.
pub(super) const fn supplies_values(operation: &Stored) -> bool {
    matches!(operation, Stored::Append(_) | Stored::Update(_) | Stored::DataReplacement(_))
}

/// Whether `operation` changes the key-value pairs of the schema or of fields.
pub(super) fn changes_schema_metadata(operation: &Stored) -> bool {
    let Stored::UpdateConfig(config) = operation else { return false };
    config.schema_metadata_updates.as_ref().is_some_and(changes)
        || config.field_metadata_updates.values().any(changes)
        || !config.schema_metadata.is_empty()
        || !config.field_metadata.is_empty()
}

pub(super) const fn changes(map: &UpdateMap) -> bool {
    map.replace || !map.update_entries.is_empty()
}

/// The keys of the config that `config` gives values to.
pub(super) fn set_keys(config: &transaction::UpdateConfig) -> impl Iterator<Item = &String> {
    let entries = config.config_updates.iter().flat_map(|updates| &updates.update_entries);
    let set = entries.filter(|entry| entry.value.is_some()).map(|entry| &entry.key);
    set.chain(config.upsert_values.keys())
}
