use std::fmt;

use arrow_schema::ArrowError;
use fory_row::ErrorKind as RowErrorKind;
use lance_file::FileError;
use lance_footer::FormatError;
use lance_io::IoError;
use lance_table::TableError;

/// What a function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be done. The text is one line that names the place; [`Error::kind`] is for
/// programs.
pub struct Error {
    kind: ErrorKind,
    inner: Box<dyn std::error::Error + Send + Sync>,
}

/// Kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such table, version, tag, branch or file.
    NotFound,
    /// There is a table, tag or branch where one was to be made.
    AlreadyExists,
    /// A branch that tags or other branches need, or whose place is taken by the remains of one.
    InUse,
    /// Bytes contradict the format or each other.
    Corrupt,
    /// The bytes may be right, but this software does not read or write them.
    Unsupported,
    /// Decoding takes more memory than the budget allows. Fewer rows at once take less; if the table is trusted,
    /// [`decode_budget`](crate::DatasetBuilder::decode_budget) allows more.
    OverBudget,
    /// Another writer was first, and what was to be done does not go together with what it did.
    Conflict,
    /// What was asked for makes no sense, such as an unknown column or a row past the end.
    InvalidInput,
    /// The file system, the network or the runtime.
    Io,
}

impl Error {
    /// An error about what was asked for.
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        TableError::InvalidInput { reason: reason.into() }.into()
    }

    /// What kind of error it is.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error").field("kind", &self.kind).field("inner", &self.inner).finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source()
    }
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Self {
        Self { kind: of_table(&error), inner: Box::new(error) }
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Self { kind: of_file(&error), inner: Box::new(error) }
    }
}

impl From<IoError> for Error {
    fn from(error: IoError) -> Self {
        Self { kind: of_io(&error), inner: Box::new(error) }
    }
}

impl From<FormatError> for Error {
    fn from(error: FormatError) -> Self {
        Self { kind: of_format(&error), inner: Box::new(error) }
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self { kind: of_arrow(&error), inner: Box::new(error) }
    }
}

impl From<fory_row::Error> for Error {
    fn from(error: fory_row::Error) -> Self {
        Self { kind: of_row(error.kind()), inner: Box::new(error) }
    }
}

fn of_table(error: &TableError) -> ErrorKind {
    match error {
        TableError::Committed { source, .. } => of_table(source),
        TableError::PartlyCompacted { source, .. } => of_table(source),
        TableError::Contention { .. } | TableError::Outpaced { .. } => ErrorKind::Conflict,
        TableError::NotFound { .. } | TableError::UnknownRef { .. } => ErrorKind::NotFound,
        TableError::AlreadyExists { .. } | TableError::RefExists { .. } => ErrorKind::AlreadyExists,
        TableError::InUse { .. } => ErrorKind::InUse,
        TableError::RefusedFlags { .. } => ErrorKind::Unsupported,
        TableError::Conflict { .. } => ErrorKind::Conflict,
        TableError::InvalidInput { .. } => ErrorKind::InvalidInput,
        TableError::Format { source, .. } => of_format(source),
        TableError::File(error) => of_file(error),
        TableError::Io(error) => of_io(error),
        TableError::Arrow(error) => of_arrow(error),
        _ => ErrorKind::Io,
    }
}

fn of_file(error: &FileError) -> ErrorKind {
    match error {
        FileError::Io(error) => of_io(error),
        FileError::Format { source, .. } => of_format(source),
        FileError::Projection { .. } | FileError::RowOutOfRange { .. } | FileError::Mismatch { .. } => {
            ErrorKind::InvalidInput
        }
        FileError::Arrow { source, .. } => of_arrow(source),
        _ => ErrorKind::Io,
    }
}

fn of_io(error: &IoError) -> ErrorKind {
    match error {
        IoError::NotFound { .. } => ErrorKind::NotFound,
        IoError::AlreadyExists { .. } => ErrorKind::AlreadyExists,
        IoError::Format { source, .. } => of_format(source),
        IoError::InvalidUrl { .. } => ErrorKind::InvalidInput,
        IoError::Unsupported { .. } => ErrorKind::Unsupported,
        _ => ErrorKind::Io,
    }
}

const fn of_format(error: &FormatError) -> ErrorKind {
    match error {
        FormatError::Corrupt { .. } => ErrorKind::Corrupt,
        FormatError::OverBudget { .. } => ErrorKind::OverBudget,
        FormatError::Unsupported { .. } => ErrorKind::Unsupported,
    }
}

const fn of_row(kind: RowErrorKind) -> ErrorKind {
    match kind {
        RowErrorKind::Malformed => ErrorKind::Corrupt,
        RowErrorKind::Unsupported => ErrorKind::Unsupported,
        RowErrorKind::Io => ErrorKind::Io,
        // Rows of another schema, or with values that the table or the format has no room for.
        _ => ErrorKind::InvalidInput,
    }
}

/// Arrow's errors come from the batches that are handed in, as a rule.
const fn of_arrow(error: &ArrowError) -> ErrorKind {
    match error {
        ArrowError::IoError(..) | ArrowError::ExternalError(_) => ErrorKind::Io,
        ArrowError::NotYetImplemented(_) => ErrorKind::Unsupported,
        _ => ErrorKind::InvalidInput,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_error_says_the_kind() {
        let path = || "a".to_string();
        let format = || FormatError::corrupt("footer", "it is short");
        let file = FileError::from(IoError::Format { path: path(), source: format() });
        let error = Error::from(TableError::from(file));
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(error.to_string(), "a: footer is corrupt: it is short");

        let kind = |error: TableError| Error::from(error).kind();
        assert_eq!(kind(IoError::NotFound { path: path() }.into()), ErrorKind::NotFound);
        let source = FormatError::unsupported("x");
        assert_eq!(kind(TableError::Format { path: path(), source }), ErrorKind::Unsupported);
        let reason = "no".to_string();
        assert_eq!(kind(TableError::InvalidInput { reason }), ErrorKind::InvalidInput);
        let schema = fory_row::Schema::new(vec![]).map_err(Error::from);
        assert_eq!(schema.map_err(|error| error.kind()), Err(ErrorKind::InvalidInput));
        let source = Box::new(IoError::NotFound { path: path() });
        let unknown = TableError::UnknownOutcome { location: path(), version: 1, source };
        assert_eq!(kind(unknown), ErrorKind::Io);
    }
}
