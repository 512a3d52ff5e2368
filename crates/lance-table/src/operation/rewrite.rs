use std::collections::BTreeSet;
use std::time::SystemTime;

use lance_footer::Result;
use roaring::RoaringBitmap;

use super::theirs::touched;
use super::{Stored, Verdict, corrupt, finish, flags_of, following};
use crate::Manifest;
use crate::manifest::index::follows_rows;
use crate::proto::transaction::{self, rewrite};
use crate::proto::{DataFragment, IndexMetadata};

/// Replaces fragments by others that have the same rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Rewrite {
    pub(crate) groups: Vec<Group>,
}

/// Fragments, and what takes their place.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Group {
    pub(crate) old: Vec<DataFragment>,
    /// With ids that were reserved.
    pub(crate) new: Vec<DataFragment>,
}

impl Rewrite {
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let mut next = following(previous, now)?;
        let fragments = &mut next.message.fragments;
        for group in &self.groups {
            let old = group.old.iter().map(|fragment| fragment.id).collect::<BTreeSet<_>>();
            let before = fragments.len();
            fragments.retain(|fragment| !old.contains(&fragment.id));
            if before - fragments.len() != old.len() {
                return Err(corrupt("fragments were to be rewritten that are gone"));
            }
            fragments.extend(group.new.iter().cloned());
        }
        let stable = next.has_stable_row_ids();
        for index in &mut next.indices {
            self.cover(index, follows_rows(index, stable))?;
        }
        finish(next, flags_of(previous))
    }

    /// Corrects which fragments `index` covers. If its entries follow rows that move, it covers the new fragments instead of
    /// the old; otherwise, or if it covered some of the rows only, neither: readers leave out the entries of fragments
    /// that it does not cover, and look through the rows of these themselves.
    fn cover(&self, index: &mut IndexMetadata, follows: bool) -> Result<()> {
        let bad = |reason: &str| corrupt(format!("index {:?}: {reason}", index.name));
        let mut covered = RoaringBitmap::deserialize_from(&index.fragment_bitmap[..])
            .map_err(|_| bad("its list of fragments is not a roaring bitmap"))?;
        let mut changed = false;
        for group in &self.groups {
            let ids = |fragments: &[DataFragment]| {
                fragments.iter().filter_map(|one| u32::try_from(one.id).ok()).collect::<RoaringBitmap>()
            };
            let old = ids(&group.old);
            let both = covered.intersection_len(&old);
            if both > 0 {
                if both == old.len() && follows {
                    covered |= ids(&group.new);
                }
                covered -= old;
                changed = true;
            }
        }
        if changed {
            let mut bytes = vec![];
            covered.serialize_into(&mut bytes).map_err(|error| bad(&error.to_string()))?;
            index.fragment_bitmap = bytes.into();
        }
        Ok(())
    }

    pub(crate) fn check(&self, other: &Stored) -> Verdict {
        let ours = || self.groups.iter().flat_map(|group| &group.old).map(|fragment| fragment.id);
        match other {
            Stored::Merge(_) => Verdict::Retry("columns were added"),
            Stored::Delete(_) | Stored::Update(_) | Stored::Rewrite(_) | Stored::DataReplacement(_) => {
                let theirs = touched(other);
                match ours().any(|id| theirs.contains(&id)) {
                    true => Verdict::Retry("some of the same rows were deleted, replaced or rewritten"),
                    false => Verdict::Keep,
                }
            }
            Stored::CreateIndex(created) => {
                let covered = created.new_indices.iter().map(|index| {
                    // An index that does not say what it covers may cover anything.
                    RoaringBitmap::deserialize_from(&index.fragment_bitmap[..]).ok()
                });
                let stale = covered.into_iter().any(|covered| {
                    let inside = |id| {
                        u32::try_from(id)
                            .is_ok_and(|id| covered.as_ref().is_none_or(|covered| covered.contains(id)))
                    };
                    ours().any(inside)
                });
                match stale {
                    true => Verdict::Retry("an index was made of some of the same rows"),
                    false => Verdict::Keep,
                }
            }
            Stored::Overwrite(_) => Verdict::Conflict("the table was overwritten"),
            Stored::Restore(_) => Verdict::Conflict("an older version was restored"),
            _ => Verdict::Keep,
        }
    }

    pub(crate) fn to_proto(&self) -> transaction::Rewrite {
        let groups = self.groups.iter().map(|group| rewrite::RewriteGroup {
            old_fragments: group.old.clone(),
            new_fragments: group.new.clone(),
        });
        transaction::Rewrite { groups: groups.collect(), ..Default::default() }
    }
}
