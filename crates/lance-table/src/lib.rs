//! Versioned Lance tables: fragments, manifests, deletion files, commit.
//!
//! A table is a directory. A *manifest* describes one version of it: the schema and the *fragments*, slices
//! of rows that are stored in data files. A commit writes one new manifest and changes no file.
//!
//! ```text
//! _versions/18446744073709551614.manifest     one a version; the newest sorts first
//! _transactions/0-….txn                       what made each version, for other writers
//! data/….lance                                columns of a fragment
//! _deletions/3-7-42.arrow                     rows of a fragment that are gone
//! ```
//!
//! The bytes are described in `docs/format/table.md`.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation, clippy::unwrap_used, clippy::panic))]

mod assemble;
mod changes;
mod cleanup;
mod columns;
mod commit;
mod compact;
mod delete;
mod deletion;
mod error;
mod expr;
mod filter;
mod fragment;
mod key;
mod known;
mod manifest;
mod operation;
mod owners;
mod place;
mod projection;
pub mod proto;
mod refs;
mod replace;
mod restore;
mod row_ids;
mod row_versions;
mod scan;
mod slot;
mod table;
mod take;
mod update;
mod upsert;
pub mod verify;
mod versions;
mod write;

pub use changes::{Changes, FileKind, TableFile, Total};
pub use cleanup::{Cleanup, CleanupOptions, CleanupPlan, CleanupReason, HeldVersion, OldFile, OldVersion};
pub use columns::{ColumnOptions, ConfigChange, Misfits, NewColumns, Pairs};
pub use commit::CommitOptions;
pub use compact::{
    CompactedGroup, Compaction, CompactionOptions, CompactionPlan, CompactionTask, FailedTask, IndexCoverage,
    NewFragment, OldFragment, Uncovered,
};
pub use delete::Deleted;
pub use error::{Result, TableError};
pub use expr::{Bound, Expr};
pub use fragment::{DataFile, Fragment};
pub use known::{ROW_ID, RowColumn};
pub use manifest::{Manifest, Naming};
pub use refs::{At, Branch, Reference, Tag};
pub use scan::ScanOptions;
pub use table::{OpenOptions, Table};
pub use update::Updated;
pub use upsert::{Upsert, Upserted, WhenMatched, WhenMissing};
pub use versions::VersionInfo;
pub use write::{CHECKSUMS, WriteMode, WriteOptions};

#[doc(no_inline)]
pub use lance_file::{Batches, Compression, DecodeBudget, Schema};
#[doc(no_inline)]
pub use lance_footer::{Alignment, FormatError, Version};
