use std::fmt;
use std::str::FromStr;

use crate::geometry::{ElementShape, FieldShape, Widths};
use crate::{Error, Result};

/// The two layouts of rows.
///
/// | | standard | compact |
/// |---|---|---|
/// | who has it | Java, C++, Python, Rust | Java, and this crate |
/// | fixed-width values | 8 bytes each | their own width |
/// | order in the bytes | as declared | largest first |
/// | bitmap of nulls | always, in front | only where a field is nullable, behind the values |
/// | structs of fixed width | a reference and a row | in place |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Eight bytes a field: simple, aligned, the same in all languages.
    Standard,
    /// Natural widths: as small as the values are.
    Compact,
}

/// The standard format, for [`ForyRow`](crate::ForyRow) and what else is generic over formats.
#[derive(Debug, Clone, Copy)]
pub enum Standard {}

/// The compact format, for [`ForyRow`](crate::ForyRow) and what else is generic over formats.
#[derive(Debug, Clone, Copy)]
pub enum Compact {}

/// A [`Format`] as a type: [`Standard`] or [`Compact`].
pub trait RowFormat: Copy + std::fmt::Debug + Send + Sync + 'static + sealed::Sealed {
    /// Which one it is.
    const FORMAT: Format;
}

impl RowFormat for Standard {
    const FORMAT: Format = Format::Standard;
}

impl RowFormat for Compact {
    const FORMAT: Format = Format::Compact;
}

impl Format {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Standard, Self::Compact];

    /// Its name, `standard` or `compact`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Compact => "compact",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| Error::value(format!("there is no format {name:?}; there are standard, compact")))
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Standard {}
    impl Sealed for super::Compact {}
}

impl Format {
    /// The bytes of a value in its slot, and `None` for those of variable length, which have a reference there.
    #[inline]
    pub(crate) const fn width(self, widths: Widths) -> Option<usize> {
        match self {
            Self::Standard => widths.standard,
            Self::Compact => widths.compact,
        }
    }

    #[inline]
    pub(crate) const fn field(self, widths: Widths, nullable: bool) -> FieldShape {
        FieldShape { width: self.width(widths), nullable }
    }

    #[inline]
    pub(crate) const fn element(self, widths: Widths, nullable: bool) -> ElementShape {
        ElementShape { format: self, width: self.width(widths), nullable }
    }

    /// The bytes that utf8, binary and decimal values take, with their padding. Images are never padded: in the
    /// standard format they are multiples of 8 already.
    #[inline]
    pub(crate) const fn padded(len: usize) -> usize {
        len.saturating_add(7) & !7
    }
}
