//! What indices have to do with which fragments are rewritten.

use std::collections::{BTreeMap, BTreeSet};

use lance_footer::FormatError;
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

use super::OldFragment;
use crate::Manifest;
use crate::manifest::index::follows_rows;

/// What becomes of fragments below an index whose entries are the places of rows. Indices of stable row ids are no matter:
/// they cover the new fragments.
///
/// An index of which it cannot be read which fragments it covers holds all of them, either way: then nothing is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexCoverage {
    /// They are rewritten, and the index covers their rows no more. Queries find these rows all the same, by looking
    /// through them, until the index is brought up to date; in the reference that is `optimize_indices`.
    #[default]
    Shrink,
    /// They stay as they are, however small or worn.
    Keep,
}

/// Rows that an index covers no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Uncovered {
    /// The name of the index.
    pub index: String,
    /// How many.
    pub rows: u64,
}

/// Which fragments the indices of a version cover.
pub(super) struct Covers<'a> {
    indices: Vec<Cover<'a>>,
}

struct Cover<'a> {
    name: &'a str,
    /// None if that is not known.
    fragments: Option<RoaringBitmap>,
    follows: bool,
}

impl<'a> Covers<'a> {
    pub(super) fn of(manifest: &'a Manifest) -> Result<Self, FormatError> {
        let stable = manifest.has_stable_row_ids();
        let indices = manifest.indices.iter().map(|index| {
            // They say how others are to be read after fragments moved, which compaction would have to keep true.
            if index.name.starts_with("__lance_") {
                return Err(FormatError::unsupported(format!("compaction of a table with {}", index.name)));
            }
            let fragments = RoaringBitmap::deserialize_from(&index.fragment_bitmap[..]).ok();
            Ok(Cover { name: &index.name, fragments, follows: follows_rows(index, stable) })
        });
        Ok(Self { indices: indices.collect::<Result<_, _>>()? })
    }

    /// Whether the fragment must stay where it is. What is not known to be covered cannot be corrected.
    pub(super) fn hold(&self, fragment: u32, coverage: IndexCoverage) -> bool {
        self.indices.iter().any(|index| match &index.fragments {
            None => true,
            Some(covered) => coverage == IndexCoverage::Keep && !index.follows && covered.contains(fragment),
        })
    }

    /// The indices that cover the fragment and will cover what takes its place.
    pub(super) fn following(&self, fragment: u32) -> BTreeSet<usize> {
        let following = self.indices.iter().enumerate().filter(|(_, index)| {
            index.follows && index.fragments.as_ref().is_some_and(|covered| covered.contains(fragment))
        });
        following.map(|(at, _)| at).collect()
    }

    /// The rows of `groups` of fragments that go together which are covered now and will not be.
    pub(super) fn uncovered<'b>(&self, groups: impl Iterator<Item = &'b [OldFragment]>) -> Vec<Uncovered> {
        let mut uncovered = BTreeMap::<&str, u64>::new();
        for group in groups {
            for index in &self.indices {
                let covered = |old: &&OldFragment| {
                    index.fragments.as_ref().is_some_and(|fragments| fragments.contains(old.id))
                };
                let rows = group.iter().filter(covered).map(OldFragment::rows).fold(0, u64::saturating_add);
                let moves_along = index.follows && group.iter().all(|old| covered(&old));
                if rows > 0 && !moves_along {
                    let sum = uncovered.entry(index.name).or_default();
                    *sum = sum.saturating_add(rows);
                }
            }
        }
        let uncovered = uncovered.into_iter();
        uncovered.map(|(index, rows)| Uncovered { index: index.into(), rows }).collect()
    }
}
