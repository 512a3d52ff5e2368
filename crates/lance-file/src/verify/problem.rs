//! What is wrong, and where.

use std::fmt;
use std::ops::Range;

use lance_footer::{Extent, FormatError};
use lance_io::IoError;

use crate::FileError;

/// What is told while something is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// Something is wrong.
    Problem(Problem),
    /// Something is not as it is as a rule, and not wrong either.
    Note(Problem),
    /// About so many bytes are going to be looked at.
    Total(u64),
    /// So many more of them were.
    Read(u64),
}

/// Something that is wrong.
///
/// Its text is one line: the path, the place as far as it is known, the contradiction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: String,
    /// Where in the file.
    pub place: Place,
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// The contradiction.
    pub reason: String,
}

/// Where something is in a file; what does not apply is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Dotted path of the field.
    pub field: Option<String>,
    /// The physical column's index.
    pub column: Option<usize>,
    /// The page's number in its column.
    pub page: Option<usize>,
    /// Rows of the file.
    pub rows: Option<Range<u64>>,
    /// Bytes of the file: those of the structure that the problem is in.
    pub bytes: Option<Extent>,
}

/// Kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The bytes contradict the format or each other.
    Corrupt,
    /// The bytes are not those that were written.
    Checksum,
    /// This software does not read it, so it could not be checked.
    Unsupported,
    /// Decoding it takes more memory than is allowed, so it could not be checked.
    OverBudget,
    /// A file that is referred to is not there.
    Missing,
    /// The bytes could not be had.
    Unreadable,
    /// A file that nothing refers to.
    Unreferenced,
}

impl ProblemKind {
    /// Its name, in small letters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Checksum => "checksum",
            Self::Unsupported => "unsupported",
            Self::OverBudget => "over budget",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
            Self::Unreferenced => "unreferenced",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path)?;
        let place = self.place.to_string();
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        // What a file says of itself must not break the line.
        let words = self.reason.split(|c: char| c.is_control() || c.is_whitespace());
        let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>();
        f.write_str(&words.join(" "))
    }
}

impl fmt::Display for Place {
    /// `field pose.x, column 3, page 2, rows 0..100, bytes 64..128`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.field.as_ref().map(|field| format!("field {}", field.escape_debug())),
            self.column.map(|column| format!("column {column}")),
            self.page.map(|page| format!("page {page}")),
            self.rows.as_ref().map(|rows| format!("rows {}..{}", rows.start, rows.end)),
            self.bytes.map(|bytes| format!("bytes {}..{}", bytes.offset(), bytes.end())),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// Tells the problems of one file.
pub(crate) struct Report<'a> {
    path: String,
    out: &'a mut (dyn FnMut(Finding) + Send),
    problems: u64,
}

impl<'a> Report<'a> {
    pub(super) fn new(path: &str, out: &'a mut (dyn FnMut(Finding) + Send)) -> Self {
        Self { path: path.into(), out, problems: 0 }
    }

    pub(super) const fn problems(&self) -> u64 {
        self.problems
    }

    /// Something is wrong.
    pub(super) fn problem(&mut self, place: Place, kind: ProblemKind, reason: impl Into<String>) {
        self.problems += 1;
        let problem = Problem { path: self.path.clone(), place, kind, reason: reason.into() };
        (self.out)(Finding::Problem(problem));
    }

    /// The bytes contradict the format or each other.
    pub(super) fn corrupt(&mut self, place: Place, reason: impl Into<String>) {
        self.problem(place, ProblemKind::Corrupt, reason);
    }

    /// The same, as an error says it.
    pub(super) fn format(&mut self, place: Place, error: &FormatError) {
        let (kind, reason) = format_problem(error);
        self.problem(place, kind, reason);
    }

    /// Bytes could not be read.
    pub(super) fn io(&mut self, place: Place, error: IoError) {
        let (kind, reason) = io_problem(error);
        self.problem(place, kind, reason);
    }

    /// About `bytes` bytes are going to be looked at.
    pub(super) fn total(&mut self, bytes: u64) {
        (self.out)(Finding::Total(bytes));
    }

    /// `bytes` more were looked at.
    pub(super) fn read(&mut self, bytes: u64) {
        (self.out)(Finding::Read(bytes));
    }
}

impl From<&FormatError> for ProblemKind {
    fn from(error: &FormatError) -> Self {
        match error {
            FormatError::Corrupt { .. } => Self::Corrupt,
            FormatError::OverBudget { .. } => Self::OverBudget,
            FormatError::Unsupported { .. } => Self::Unsupported,
        }
    }
}

/// The kind of problem that an error is, and its text.
pub(crate) fn format_problem(error: &FormatError) -> (ProblemKind, String) {
    (error.into(), error.to_string())
}

/// The same, without the path.
pub(crate) fn io_problem(error: IoError) -> (ProblemKind, String) {
    match error {
        IoError::NotFound { .. } => (ProblemKind::Missing, "not found".into()),
        IoError::Format { source, .. } => ((&source).into(), source.to_string()),
        IoError::Io { source, .. } => (ProblemKind::Unreadable, source.to_string()),
        error => (ProblemKind::Unreadable, error.to_string()),
    }
}

/// The same of an error of this crate.
pub(super) fn file_problem(error: FileError) -> (ProblemKind, String) {
    match error {
        FileError::Io(error) => io_problem(error),
        FileError::Format { source, .. } => ((&source).into(), source.to_string()),
        FileError::Arrow { source, .. } => (ProblemKind::Corrupt, source.to_string()),
        error => (ProblemKind::Corrupt, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line() {
        let place = Place {
            field: Some("a\nb".into()),
            column: Some(3),
            page: Some(2),
            rows: Some(5..10),
            bytes: Some(Extent::new(64, 8).unwrap()),
        };
        let problem = Problem {
            path: "a.lance".into(),
            place,
            kind: ProblemKind::Corrupt,
            reason: "chunk is corrupt:\n\tit is  short".into(),
        };
        let line =
            "a.lance: field a\\nb, column 3, page 2, rows 5..10, bytes 64..72: chunk is corrupt: it is short";
        assert_eq!(problem.to_string(), line);
        let bare = Problem { place: Place::default(), ..problem };
        assert_eq!(bare.to_string(), "a.lance: chunk is corrupt: it is short");
    }
}
