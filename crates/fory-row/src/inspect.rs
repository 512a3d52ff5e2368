//! What every byte of a row is.

pub(crate) mod text;
mod walk;

use std::fmt;
use std::ops::Range;

use crate::{Frame, Layout, Result};

/// Some bytes of a framed row, array or map, and what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Which bytes, counted from the first one of the frame.
    pub range: Range<usize>,
    /// The field that they belong to, such as `pose.joints[3]`; empty where that is the whole.
    pub path: String,
    /// What they are.
    pub kind: RegionKind,
    /// The value that they have, as text.
    pub text: String,
}

/// The kinds of a [`Region`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegionKind {
    /// The size in front of a row, array or map.
    Size,
    /// The schema hash in front of a row.
    Hash,
    /// The bits that say which fields or elements are null.
    Bitmap,
    /// One value in its slot, or some elements of fixed width.
    Value,
    /// The slot of a value that is null.
    Null,
    /// A size and an offset, which say where the value is.
    Reference,
    /// The number of elements of an array.
    Count,
    /// The size of the keys of a map.
    KeysSize,
    /// The bytes of a text, of binary or of a decimal.
    Payload,
    /// Bytes up to a multiple of eight.
    Padding,
    /// Bytes that nothing refers to.
    Unused,
}

impl RegionKind {
    /// Its name in lower case, as `keys_size`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Hash => "hash",
            Self::Bitmap => "bitmap",
            Self::Value => "value",
            Self::Null => "null",
            Self::Reference => "reference",
            Self::Count => "count",
            Self::KeysSize => "keys_size",
            Self::Payload => "payload",
            Self::Padding => "padding",
            Self::Unused => "unused",
        }
    }
}

impl Layout {
    /// Says what every byte of `bytes` is, which are one frame and nothing behind it: the ranges follow one another
    /// and leave nothing out.
    ///
    /// Values are checked as in a decode. References that overlap are an error, so that the regions are no more than
    /// the bytes.
    ///
    /// ```
    /// use fory_row::{DataType, Field, Format, Frame, Layout, Schema};
    /// let schema = Schema::new(vec![
    ///     Field::new("id", DataType::Int16, false),
    ///     Field::new("name", DataType::Utf8, true),
    /// ])?;
    /// let layout = Layout::new(schema, Format::Compact)?;
    /// let mut bytes = vec![];
    /// layout.write_row(&mut bytes, |row| {
    ///     row.set("id", 7i16)?;
    ///     row.set("name", "arm")
    /// })?;
    /// let regions = layout.inspect(Frame::Row, &bytes)?;
    /// let lines: Vec<_> = regions.iter().map(|region| format!("{:?} {region}", region.range)).collect();
    /// assert_eq!(lines, [
    ///     "0..8 name: 3 bytes at offset 0x10",
    ///     "8..10 id = 7",
    ///     "10..11 bitmap: no nulls",
    ///     "11..16 padding",
    ///     "16..19 name = \"arm\"",
    ///     "19..24 padding",
    /// ]);
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn inspect(&self, frame: Frame, bytes: &[u8]) -> Result<Vec<Region>> {
        walk::walk(self, frame, bytes)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, text, .. } = self;
        let before = |mark: &str| if path.is_empty() { String::new() } else { format!("{path}{mark}") };
        match self.kind {
            RegionKind::Size => write!(f, "size: {text}"),
            RegionKind::Hash => write!(f, "schema hash: {text}"),
            RegionKind::Bitmap => write!(f, "{}bitmap: {text}", before(" ")),
            RegionKind::Value | RegionKind::Payload | RegionKind::Null => write!(f, "{path} = {text}"),
            RegionKind::Reference | RegionKind::Count | RegionKind::KeysSize => {
                write!(f, "{}{text}", before(": "))
            }
            RegionKind::Padding | RegionKind::Unused => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, ErrorKind, Field, Format, Schema};

    fn texts(format: Format) -> Result<(Layout, Vec<u8>)> {
        let field = |name| Field::new(name, DataType::Utf8, true);
        let layout = Layout::new(Schema::new(vec![field("a"), field("b")])?, format)?;
        let mut bytes = vec![];
        layout.write_row(&mut bytes, |row| {
            row.set("a", "first")?;
            row.set("b", "second")
        })?;
        Ok((layout, bytes))
    }

    #[test]
    fn references_that_overlap_are_named() -> Result<()> {
        let (layout, mut bytes) = texts(Format::Standard)?;
        assert!(layout.inspect(Frame::Row, &bytes).is_ok());
        // The offset of b becomes that of a.
        if let Some(offset) = bytes.get_mut(20) {
            *offset = 24;
        }
        let error = layout.inspect(Frame::Row, &bytes).err();
        assert_eq!(error.as_ref().map(|error| error.kind()), Some(ErrorKind::Malformed));
        let text = "malformed row: field b: bytes 24..30 are also those of a";
        assert_eq!(error.map(|error| error.to_string()).as_deref(), Some(text));
        Ok(())
    }

    #[test]
    fn what_nothing_refers_to_is_told_from_padding() -> Result<()> {
        let (layout, mut bytes) = texts(Format::Compact)?;
        bytes.extend([0, 0, 0]);
        if let Some(padding) = bytes.get_mut(31) {
            *padding = 9;
        }
        let regions = layout.inspect(Frame::Row, &bytes)?;
        let of = |kind| {
            let of = regions.iter().filter(|region| region.kind == kind);
            of.map(|region| (region.range.clone(), region.text.as_str())).collect::<Vec<_>>()
        };
        assert_eq!(
            of(RegionKind::Padding),
            [(17..24, "padding"), (29..32, "padding, not all zero"), (38..40, "padding")]
        );
        assert_eq!(of(RegionKind::Unused), [(40..43, "3 bytes that nothing refers to")]);
        Ok(())
    }
}
