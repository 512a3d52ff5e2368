use std::fmt;

/// What functions of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a row was not read or written: what kind of thing went wrong, at which field, and the contradiction.
///
/// It is one pointer wide, so that a getter that returns it stays cheap.
///
/// ```
/// use fory_row::{DataType, ErrorKind, Field, Format, Layout, Schema};
/// let schema = Schema::new(vec![Field::new("x", DataType::Int32, false)])?;
/// let layout = Layout::new(schema, Format::Standard)?;
/// let error = layout.row(&[0; 15]).err().ok_or("15 bytes are no row")?;
/// assert_eq!(error.kind(), ErrorKind::Malformed);
/// assert_eq!(error.to_string(), "malformed row: 15 bytes are shorter than the fixed region of 16");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Error(Box<Inner>);

/// The kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Bytes contradict the format, the schema, or each other.
    Malformed,
    /// The schema hash in front of a row is not that of the schema.
    HashMismatch,
    /// A schema that cannot be: no fields, two of one name, too deep.
    Schema,
    /// A field was asked for that is not there, or as another type than it has.
    Type,
    /// A value that the schema or the format cannot hold, such as a null in a field that takes none.
    Value,
    /// A limit was passed, such as the expansion budget of a decode.
    Limit,
    /// Right perhaps, but not supported here.
    Unsupported,
    /// Reading or writing of a stream failed.
    Io,
}

struct Inner {
    kind: ErrorKind,
    /// Which one of many rows.
    row: Option<usize>,
    /// From the inside out, as it is found on the way up.
    path: Vec<Step>,
    reason: String,
    source: Option<std::io::Error>,
}

/// One step of the way to the place of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Field(String),
    Element(usize),
    Key(usize),
    Value(usize),
}

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, reason: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, row: None, path: vec![], reason: reason.into(), source: None }))
    }

    #[cold]
    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, reason)
    }

    #[cold]
    pub(crate) fn value(reason: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, reason)
    }

    #[cold]
    pub(crate) fn unsupported(reason: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, reason)
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Which row it is about, where many were read or written together.
    pub fn row(&self) -> Option<usize> {
        self.0.row
    }

    /// The field that it is about, such as `pose.joints[3]`; empty where it is about the whole row.
    pub fn path(&self) -> String {
        let member = |path: &mut String, name: &str| {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
        };
        let mut path = String::new();
        for step in self.0.path.iter().rev() {
            match step {
                Step::Field(name) => member(&mut path, name),
                Step::Element(index) => path.push_str(&format!("[{index}]")),
                Step::Key(index) => member(&mut path, &format!("key[{index}]")),
                Step::Value(index) => member(&mut path, &format!("value[{index}]")),
            }
        }
        path
    }

    /// The contradiction, with the numbers that show it, without the place.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The same error, met inside of the field `name`.
    #[cold]
    pub(crate) fn in_field(self, name: &str) -> Self {
        self.within(Step::Field(name.into()))
    }

    /// The same error, met inside of element `index` of a list.
    #[cfg(any(feature = "arrow", feature = "json"))]
    #[cold]
    pub(crate) fn in_element(self, index: usize) -> Self {
        self.within(Step::Element(index))
    }

    /// The same error, met in row `row` of many.
    #[cold]
    #[must_use]
    pub fn in_row(mut self, row: usize) -> Self {
        self.0.row = Some(row);
        self
    }

    #[cold]
    pub(crate) fn within(mut self, step: Step) -> Self {
        self.0.path.push(step);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.kind {
            ErrorKind::Malformed => "malformed row: ",
            ErrorKind::HashMismatch => "schema hash: ",
            ErrorKind::Schema => "schema: ",
            ErrorKind::Type => "wrong type: ",
            ErrorKind::Value => "wrong value: ",
            ErrorKind::Limit => "limit: ",
            ErrorKind::Unsupported => "unsupported: ",
            ErrorKind::Io => "input and output: ",
        })?;
        match (self.0.row, self.0.path.is_empty()) {
            (Some(row), false) => write!(f, "row {row}, field {}: ", self.path())?,
            (Some(row), true) => write!(f, "row {row}: ")?,
            (None, false) => write!(f, "field {}: ", self.path())?,
            (None, true) => {}
        }
        f.write_str(&self.0.reason)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("row", &self.0.row)
            .field("path", &self.path())
            .field("reason", &self.0.reason)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Self {
        let reason = source.to_string();
        Self(Box::new(Inner { kind: ErrorKind::Io, row: None, path: vec![], reason, source: Some(source) }))
    }
}
