//! Columns that no file has: what is known of each row by where it lies.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt64Array};

use crate::deletion::LiveRows;
use crate::row_ids::RowIds;
use crate::row_versions::RowVersions;

/// The name of the column of row ids.
pub const ROW_ID: &str = "_rowid";

/// A column of numbers that are known of each row without being stored. It is asked for by its name, like any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowColumn {
    /// `_rowid`: the stable id, or the address in a table without stable ids.
    Id,
    /// `_rowaddr`: fragment id in the upper 32 bits, physical offset in the lower.
    Address,
    /// `_rowoffset`: how many live rows come before it.
    Offset,
    /// `_row_created_at_version`: the version that added it; 1 in a table without stable row ids.
    CreatedAt,
    /// `_row_last_updated_at_version`: the version that wrote its values last; 1 in a table without stable row ids.
    UpdatedAt,
}

impl RowColumn {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Id, Self::Address, Self::Offset, Self::CreatedAt, Self::UpdatedAt];

    /// Its name in batches.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Id => ROW_ID,
            Self::Address => "_rowaddr",
            Self::Offset => "_rowoffset",
            Self::CreatedAt => "_row_created_at_version",
            Self::UpdatedAt => "_row_last_updated_at_version",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }
}

/// What is known of the rows of one fragment.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    Ids(Arc<RowIds>),
    /// Which rows are live, and how many live rows come before the fragment.
    Live(Arc<LiveRows>, u64),
    Versions(Arc<RowVersions>),
}

impl Known {
    /// The column for the live rows at the physical `offsets`.
    pub(crate) fn column(&self, offsets: &[u64]) -> ArrayRef {
        let offsets = offsets.iter().copied();
        let column = match self {
            Self::Ids(ids) => ids.at(offsets),
            Self::Live(live, before) => UInt64Array::from_iter_values(
                offsets.map(|offset| before.saturating_add(live.position(offset).unwrap_or(0))),
            ),
            Self::Versions(versions) => UInt64Array::from_iter_values(offsets.map(|row| versions.at(row))),
        };
        Arc::new(column)
    }
}
