use std::collections::{BTreeMap, BTreeSet};

use lance_footer::Result;
use roaring::RoaringBitmap;

use super::theirs::touched;
use super::{Stored, corrupt};
use crate::Manifest;
use crate::proto::{DataFragment, DeletionFile};

/// The rows that an operation deletes, by fragment.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct DeletedRows {
    fragments: BTreeMap<u64, Deleted>,
}

/// The rows of one fragment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deleted {
    /// The fragment before.
    pub(crate) fragment: DataFragment,
    /// Physical offsets of the rows that the operation deletes; earlier deletions are not among them.
    pub(crate) rows: RoaringBitmap,
    /// What lists all deleted rows afterwards; none if no row is left, which ends the fragment.
    pub(crate) file: Option<DeletionFile>,
}

impl DeletedRows {
    pub(crate) fn insert(&mut self, deleted: Deleted) {
        self.fragments.insert(deleted.fragment.id, deleted);
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Deleted> {
        self.fragments.values_mut()
    }

    /// Whether `operation` touched a fragment of these.
    pub(super) fn touch(&self, operation: &Stored) -> bool {
        touched(operation).iter().any(|id| self.fragments.contains_key(id))
    }

    /// Gives the fragments of `next` their deletion files; whatever else others changed about them stays.
    pub(super) fn apply(&self, next: &mut Manifest) -> Result<()> {
        let fragments = &mut next.message.fragments;
        let there = fragments.iter().map(|fragment| fragment.id).collect::<BTreeSet<_>>();
        if let Some(id) = self.fragments.keys().find(|id| !there.contains(id)) {
            return Err(corrupt(format!("rows of fragment {id} were to be deleted, but it is gone")));
        }
        fragments.retain_mut(|fragment| match self.fragments.get(&fragment.id) {
            None => true,
            Some(deleted) => {
                fragment.deletion_file.clone_from(&deleted.file);
                // Some software leaves the count out, without which the deleted rows would seem to be too many.
                if fragment.physical_rows == 0 {
                    fragment.physical_rows = deleted.fragment.physical_rows;
                }
                deleted.file.is_some()
            }
        });
        Ok(())
    }

    /// As transactions have them: fragments with new deletion files, and the ids of those that are gone.
    pub(super) fn to_proto(&self) -> (Vec<DataFragment>, Vec<u64>) {
        let (mut updated, mut gone) = (vec![], vec![]);
        for (id, deleted) in &self.fragments {
            match &deleted.file {
                None => gone.push(*id),
                Some(file) => {
                    updated.push(DataFragment { deletion_file: Some(*file), ..deleted.fragment.clone() })
                }
            }
        }
        (updated, gone)
    }
}
