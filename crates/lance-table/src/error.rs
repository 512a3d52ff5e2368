use std::sync::Arc;
use std::time::Duration;

use arrow_schema::ArrowError;
use lance_file::FileError;
use lance_footer::FormatError;
use lance_io::{IoError, Store};

/// What a function of this crate returns.
pub type Result<T, E = TableError> = std::result::Result<T, E>;

/// Why a table could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// There is no table, or no such version of it.
    #[error("{location}: {what} not found")]
    NotFound {
        /// Where it was looked for.
        location: String,
        /// What was looked for: `table` or a version.
        what: String,
    },
    /// A table was to be created where there is one.
    #[error("{location}: there is a table already")]
    AlreadyExists {
        /// Where it is.
        location: String,
    },
    /// There is no such tag or branch.
    #[error("{location}: there is no {kind} {name:?}{instead}")]
    UnknownRef {
        /// The table.
        location: String,
        /// `tag` or `branch`.
        kind: &'static str,
        /// What it would be called.
        name: String,
        /// Which ones there are, for the end of the message.
        instead: String,
    },
    /// A tag or branch was to be made where there is one of that name.
    #[error("{location}: there is a {kind} {name:?} already")]
    RefExists {
        /// The table.
        location: String,
        /// `tag` or `branch`.
        kind: &'static str,
        /// What it is called.
        name: String,
    },
    /// A branch cannot be made or deleted.
    #[error("{location}: {kind} {name:?}: {reason}")]
    InUse {
        /// The table.
        location: String,
        /// `branch`.
        kind: &'static str,
        /// What it is called.
        name: String,
        /// What is in the way.
        reason: String,
    },
    /// The table uses features that this software does not know how to read or write.
    #[error("{location}: unsupported: {action} a table with {features}")]
    RefusedFlags {
        /// The table.
        location: String,
        /// `reading` or `writing to`.
        action: &'static str,
        /// The features by name, with their flag bits.
        features: String,
    },
    /// Another writer committed something that this operation does not go together with.
    #[error("{location}: conflict of {ours} with {theirs}, version {version}: {reason}")]
    Conflict {
        /// The table.
        location: String,
        /// The version that the other writer made.
        version: u64,
        /// What was to be committed.
        ours: &'static str,
        /// What the other writer did.
        theirs: &'static str,
        /// What does not go together.
        reason: String,
        /// Whether doing the operation again from the latest version may work.
        retryable: bool,
    },
    /// So many others wrote that nothing came through.
    #[error("{location}: too much write contention: gave up after {took:.1?}")]
    Contention {
        /// The table.
        location: String,
        /// How long it was tried.
        took: Duration,
    },
    /// The commit was sent, but whether it took effect could not be found out. Nothing was deleted.
    #[error("{location}: it is not known whether version {version} was committed")]
    UnknownOutcome {
        /// The table.
        location: String,
        /// The version that was to be made.
        version: u64,
        /// What the store said.
        #[source]
        source: Box<IoError>,
    },
    /// The commit took effect, but the new version could not be opened. It is not to be done again.
    #[error("{location}: version {version} was committed, but cannot be opened: {source}")]
    Committed {
        /// The table.
        location: String,
        /// The new version.
        version: u64,
        /// What went wrong then.
        source: Box<TableError>,
    },
    /// Some or all of what was to be compacted was not. It is as it was.
    #[error(
        "{location}: {failed} of the tasks of the compaction came to nothing, {}; fragments {fragments:?}: {source}",
        of_the_others(*version)
    )]
    PartlyCompacted {
        /// The table.
        location: String,
        /// A version with what was compacted; none if nothing was.
        version: Option<u64>,
        /// How many tasks came to nothing.
        failed: usize,
        /// The fragments of the first of them.
        fragments: Vec<u32>,
        /// What went wrong there; [`TableError::Outpaced`] if it was that others wrote.
        source: Arc<TableError>,
    },
    /// Others changed or deleted some of the same rows again and again. Trying it again later may work.
    #[error("{location}: others went on changing what was to be rewritten")]
    Outpaced {
        /// The table.
        location: String,
    },
    /// What the caller asked for makes no sense for this table.
    #[error("{reason}")]
    InvalidInput {
        /// What is wrong with it.
        reason: String,
    },
    /// A file of the table contradicts the format, or uses a part of it that is not supported.
    #[error("{path}: {source}")]
    Format {
        /// The file.
        path: String,
        /// What is wrong with it.
        source: FormatError,
    },
    /// A data file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The store.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Arrow, or the source of the batches to write.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

/// What became of the tasks that did not come to nothing.
fn of_the_others(version: Option<u64>) -> String {
    match version {
        Some(version) => format!("while version {version} has what the other tasks wrote"),
        None => "and nothing was compacted".into(),
    }
}

impl TableError {
    /// A [`TableError::NotFound`] of `what` in `store`.
    pub(crate) fn not_found(store: &Store, what: impl Into<String>) -> Self {
        Self::NotFound { location: store.location(""), what: what.into() }
    }

    /// A [`TableError::InvalidInput`].
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::InvalidInput { reason: reason.into() }
    }

    /// A [`TableError::Format`] of the file at `path`.
    pub(crate) fn format(path: impl Into<String>, source: FormatError) -> Self {
        Self::Format { path: path.into(), source }
    }
}
