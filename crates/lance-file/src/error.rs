use arrow_schema::ArrowError;
use lance_footer::FormatError;
use lance_io::IoError;

/// What a function of this crate returns.
pub type Result<T, E = FileError> = std::result::Result<T, E>;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Reading or writing bytes failed; the path is in the source.
    #[error(transparent)]
    Io(IoError),
    /// The file contradicts the format, or uses what is not supported. The field and the page are in the
    /// text of the source.
    #[error("{path}: {source}")]
    Format {
        /// The file.
        path: String,
        /// What is wrong.
        source: FormatError,
    },
    /// A projection names what the schema does not have.
    #[error("column {column:?}: {reason}")]
    Projection {
        /// The dotted path that was asked for.
        column: String,
        /// What is wrong with it, and what there is instead.
        reason: String,
    },
    /// A row past the end was asked for.
    #[error("{path}: row {row} was asked for, but there are {rows} rows")]
    RowOutOfRange {
        /// The file.
        path: String,
        /// The row.
        row: u64,
        /// How many rows there are.
        rows: u64,
    },
    /// A batch does not fit the schema of the file that is written.
    #[error("a batch does not fit the schema: {reason}")]
    Mismatch {
        /// The field and the difference.
        reason: String,
    },
    /// Arrow refused to put arrays together.
    #[error("{path}: {source}")]
    Arrow {
        /// The file.
        path: String,
        /// What Arrow says.
        source: ArrowError,
    },
    /// A computation on another thread was cancelled or panicked.
    #[error("{path}: a computation was cut off: {reason}")]
    Cancelled {
        /// The file.
        path: String,
        /// What the runtime says.
        reason: String,
    },
}

impl FileError {
    /// Whether reading took more memory than the [budget](crate::OpenOptions::budget) allows.
    pub const fn is_over_budget(&self) -> bool {
        matches!(self, Self::Format { source: FormatError::OverBudget { .. }, .. })
    }

    pub(crate) fn format(path: &str, source: FormatError) -> Self {
        Self::Format { path: path.into(), source }
    }

    pub(crate) fn arrow(path: &str, source: ArrowError) -> Self {
        Self::Arrow { path: path.into(), source }
    }
}

impl From<IoError> for FileError {
    /// What the driver says of a format error is the same as what this crate says.
    fn from(error: IoError) -> Self {
        match error {
            IoError::Format { path, source } => Self::Format { path, source },
            error => Self::Io(error),
        }
    }
}
