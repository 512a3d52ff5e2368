//! Columns of a table that is there already: added, dropped, renamed, cast; and its key-value pairs.
//!
//! Data files are never changed. New values of a column are written to one new file for each fragment, next to those that
//! it has: a column of numbers next to one of videos costs its own bytes, and those of the columns that it is worked
//! out from.

mod add;
mod additions;
mod cast;
mod change;
mod config;
pub(crate) mod convert;
mod draft;
mod fragments;
mod join;
mod kept;
pub(crate) mod made;
mod nulls;
mod source;
mod spread;

pub use cast::Misfits;
pub use config::{ConfigChange, Pairs};
pub use source::NewColumns;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use lance_file::Compression;
use lance_footer::Alignment;

use crate::write::has_checksums;
use crate::{CommitOptions, Manifest, WriteOptions};

/// How the values of new columns are written.
#[derive(Debug, Clone, Default)]
pub struct ColumnOptions {
    /// To how many bytes buffers are aligned.
    pub alignment: Alignment,
    /// A page is closed when it has more bytes than this; none for the default.
    pub page_bytes: Option<u64>,
    /// What the values of fields are compressed with whose metadata does not say; none for what is smallest of what is
    /// quick.
    pub compression: Option<Compression>,
    /// Whether the new data files get checksums; none for the way of the table: see [`WriteOptions::checksums`].
    pub checksums: Option<bool>,
    /// How the new version is committed.
    pub commit: CommitOptions,
    /// Is counted up by the rows whose values are written, for whoever wants to show how far it is. It starts again from
    /// 0 when another writer was first, and at once gets to the rows whose values are still good.
    pub rows_done: Option<Arc<AtomicU64>>,
}

impl ColumnOptions {
    fn to_write(&self, table: &Manifest) -> WriteOptions {
        let Self { alignment, page_bytes, compression, checksums, .. } = *self;
        let checksums = Some(has_checksums(checksums, Some(table)));
        let default = WriteOptions::default();
        let page_bytes = page_bytes.unwrap_or(default.page_bytes);
        WriteOptions { alignment, page_bytes, compression, checksums, ..default }
    }
}

#[cfg(test)]
mod tests;
