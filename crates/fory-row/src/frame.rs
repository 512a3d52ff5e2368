//! What stands in front of rows, arrays and maps where they are sent.

use std::fmt;
use std::str::FromStr;

use crate::{DecodeOptions, Error, ErrorKind, Image, Layout, Result, RowWriter, Value};

const SIZE: usize = 4;
const HASH: usize = 8;

/// What stands in front of an image: nothing, its schema hash, its size, or both.
///
/// | frame | bytes | who makes it |
/// |---|---|---|
/// | `row` | row | `toRow` and `to_row` everywhere |
/// | `row_with_hash` | i64 hash, row | `encode(row)` in Java and Python |
/// | `row_with_size_and_hash` | i32 size of what follows, i64 hash, row | `encode(buffer, row)` in Java |
/// | `array`, `map` | image | `encode(array)` in Java, `to_row` in Rust |
/// | `array_with_size`, `map_with_size` | i32 size, image | `encode(buffer, array)` in Java |
///
/// A hash that is right proves the types of the fields and their order, and not their names or whether they are
/// nullable. Sizes do not count themselves.
///
/// ```
/// use fory_row::{DataType, Field, Format, Frame, Layout, Schema};
/// let schema = Schema::new(vec![Field::new("v", DataType::Int32, false)])?;
/// let layout = Layout::new(schema, Format::Compact)?;
/// let frame: Frame = "row_with_hash".parse()?;
/// let mut bytes = vec![];
/// layout.write_framed_row(frame, &mut bytes, |row| row.set("v", 7i32))?;
/// assert_eq!(bytes, [19, 2, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]);
///
/// let body = frame.body(layout.hash(), &bytes)?;
/// assert_eq!(layout.row(body)?.get::<i32>("v")?, Some(7));
/// # Ok::<(), fory_row::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Frame {
    /// A row and nothing else.
    #[default]
    Row,
    /// The schema hash, then the row.
    RowWithHash,
    /// The size of hash and row, the schema hash, then the row.
    RowWithSizeAndHash,
    /// An array and nothing else.
    Array,
    /// The size of the array, then the array.
    ArrayWithSize,
    /// A map and nothing else.
    Map,
    /// The size of the map, then the map.
    MapWithSize,
}

impl Frame {
    /// All frames.
    pub const ALL: [Self; 7] = [
        Self::Row,
        Self::RowWithHash,
        Self::RowWithSizeAndHash,
        Self::Array,
        Self::ArrayWithSize,
        Self::Map,
        Self::MapWithSize,
    ];

    /// What the frame is around.
    pub const fn image(self) -> Image {
        match self {
            Self::Row | Self::RowWithHash | Self::RowWithSizeAndHash => Image::Row,
            Self::Array | Self::ArrayWithSize => Image::Array,
            Self::Map | Self::MapWithSize => Image::Map,
        }
    }

    /// Whether there is a schema hash in front.
    pub const fn has_hash(self) -> bool {
        matches!(self, Self::RowWithHash | Self::RowWithSizeAndHash)
    }

    /// Whether there is a size in front.
    pub const fn has_size(self) -> bool {
        matches!(self, Self::RowWithSizeAndHash | Self::ArrayWithSize | Self::MapWithSize)
    }

    /// The bytes in front of the image.
    pub const fn prefix_len(self) -> usize {
        let size = if self.has_size() { SIZE } else { 0 };
        size + if self.has_hash() { HASH } else { 0 }
    }

    /// Its name, as `row_with_hash`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::RowWithHash => "row_with_hash",
            Self::RowWithSizeAndHash => "row_with_size_and_hash",
            Self::Array => "array",
            Self::ArrayWithSize => "array_with_size",
            Self::Map => "map",
            Self::MapWithSize => "map_with_size",
        }
    }

    /// The image in `bytes`, which are one frame and nothing behind it, after its size and hash were found right.
    /// `hash` is that of [`Layout::hash`] or [`ForyRow::schema_hash`](crate::ForyRow::schema_hash).
    pub fn body(self, hash: i64, bytes: &[u8]) -> Result<&[u8]> {
        match self.split_body(hash, bytes)? {
            (body, []) => Ok(body),
            (_, rest) => {
                let (size, rest) = (bytes.len() - rest.len() - SIZE, rest.len());
                Err(Error::malformed(format!(
                    "{rest} bytes behind the {size} that the size in front tells of"
                )))
            }
        }
    }

    /// The image in the first frame of `bytes`, and what follows the frame. A frame without a size reaches to the end.
    pub fn split_body(self, hash: i64, bytes: &[u8]) -> Result<(&[u8], &[u8])> {
        let (framed, rest) = if self.has_size() { self.split_size(bytes)? } else { (bytes, &[][..]) };
        let body = if self.has_hash() { split_hash(hash, framed)? } else { framed };
        Ok((body, rest))
    }

    /// Appends a frame around the image that `write` appends. A failure leaves the buffer as it was.
    ///
    /// ```
    /// use fory_row::{DataType, Field, Format, Frame, Layout, Schema};
    /// let schema = Schema::new(vec![Field::new("", DataType::list(DataType::Int8, false), false)])?;
    /// let layout = Layout::new(schema, Format::Compact)?;
    /// let mut bytes = vec![];
    /// Frame::ArrayWithSize.write(layout.hash(), &mut bytes, |buffer| {
    ///     layout.write_array(buffer, 3, |list| list.extend_from_slice(&[1i8, 2, 3]))
    /// })?;
    /// assert_eq!(bytes, [12, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0]);
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn write(
        self,
        hash: i64,
        buffer: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let start = buffer.len();
        if self.has_size() {
            buffer.extend_from_slice(&[0; SIZE]);
        }
        if self.has_hash() {
            buffer.extend_from_slice(&hash.to_le_bytes());
        }
        let written = write(buffer);
        let written = written.and_then(|()| if self.has_size() { put_size(buffer, start) } else { Ok(()) });
        if written.is_err() {
            buffer.truncate(start);
        }
        written
    }

    /// Splits off what a size in front tells of.
    fn split_size(self, bytes: &[u8]) -> Result<(&[u8], &[u8])> {
        let Some((size, rest)) = bytes.split_first_chunk() else {
            return Err(Error::malformed(format!("{} bytes have no room for a size of 4", bytes.len())));
        };
        let size = self.check_size(*size)?;
        rest.split_at_checked(size)
            .ok_or_else(|| Error::malformed(format!("a size of {size} in front of {} bytes", rest.len())))
    }

    /// The number of bytes that a size in front tells of.
    pub(crate) fn check_size(self, size: [u8; SIZE]) -> Result<usize> {
        let size = i32::from_le_bytes(size);
        let least = if self.has_hash() { HASH } else { 0 };
        match usize::try_from(size) {
            Ok(size) if size >= least => Ok(size),
            Ok(_) => Err(Error::malformed(format!("a size of {size}, and the schema hash alone is 8 bytes"))),
            Err(_) => Err(Error::malformed(format!("a size of {size}"))),
        }
    }
}

impl Layout {
    /// Appends a frame around an image of `value`. A failure leaves the buffer as it was.
    pub fn encode_framed(&self, frame: Frame, value: &Value, buffer: &mut Vec<u8>) -> Result<()> {
        frame.write(self.hash(), buffer, |buffer| self.encode_image(frame.image(), value, buffer))
    }

    /// Decodes `bytes`, which are one frame and nothing behind it.
    pub fn decode_framed(&self, frame: Frame, bytes: &[u8]) -> Result<Value> {
        self.decode_framed_with(frame, bytes, DecodeOptions::default())
    }

    /// The same with another budget.
    pub fn decode_framed_with(&self, frame: Frame, bytes: &[u8], options: DecodeOptions) -> Result<Value> {
        self.decode_image(frame.image(), frame.body(self.hash(), bytes)?, options)
    }

    /// Appends a frame around a row that is written in its place. A failure leaves the buffer as it was.
    pub fn write_framed_row(
        &self,
        frame: Frame,
        buffer: &mut Vec<u8>,
        write: impl FnOnce(&mut RowWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        if frame.image() != Image::Row {
            return Err(Error::new(ErrorKind::Type, format!("a row in a frame of the kind {frame}")));
        }
        frame.write(self.hash(), buffer, |buffer| self.write_row(buffer, write))
    }
}

/// Splits off a hash that is `expected`.
pub(crate) fn split_hash(expected: i64, bytes: &[u8]) -> Result<&[u8]> {
    let Some((found, body)) = bytes.split_first_chunk() else {
        return Err(Error::malformed(format!("{} bytes have no room for a schema hash of 8", bytes.len())));
    };
    match i64::from_le_bytes(*found) {
        found if found == expected => Ok(body),
        found => Err(Error::new(
            ErrorKind::HashMismatch,
            format!(
                "the row was written with a schema of hash {found}, and the hash of this one is {expected}"
            ),
        )),
    }
}

/// Writes the size of what follows `start`, where its place is.
fn put_size(buffer: &mut [u8], start: usize) -> Result<()> {
    let Some((place, framed)) = buffer.get_mut(start..).and_then(<[u8]>::split_first_chunk_mut) else {
        return Err(Error::value("what was in a frame is gone"));
    };
    let size = i32::try_from(framed.len()).map_err(|_| crate::write::too_large())?;
    *place = size.to_le_bytes();
    Ok(())
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Frame {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|frame| frame.name() == name).ok_or_else(|| {
            let all = Self::ALL.map(Self::name).join(", ");
            Error::value(format!("there is no frame {name:?}; there are {all}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, Field, Format, Schema};

    fn layout() -> Result<Layout> {
        Layout::new(Schema::new(vec![Field::new("v", DataType::Int8, false)])?, Format::Compact)
    }

    #[test]
    fn contradictions_in_front_are_named() -> Result<()> {
        let hash = layout()?.hash().to_le_bytes();
        let with_size = |size: i32, hash: &[u8], row: &[u8]| [&size.to_le_bytes(), hash, row].concat();
        let wrong_hash = 530_i64.to_le_bytes();
        for (frame, bytes, kind, reason) in [
            (
                Frame::RowWithHash,
                vec![0; 7],
                ErrorKind::Malformed,
                "7 bytes have no room for a schema hash of 8",
            ),
            (
                Frame::RowWithHash,
                [&wrong_hash[..], &[1]].concat(),
                ErrorKind::HashMismatch,
                "the row was written with a schema of hash 530, and the hash of this one is 529",
            ),
            (
                Frame::RowWithHash,
                hash.to_vec(),
                ErrorKind::Malformed,
                "0 bytes are shorter than the fixed region of 1",
            ),
            (
                Frame::RowWithSizeAndHash,
                vec![9, 0, 0],
                ErrorKind::Malformed,
                "3 bytes have no room for a size of 4",
            ),
            (Frame::RowWithSizeAndHash, with_size(-1, &hash, &[1]), ErrorKind::Malformed, "a size of -1"),
            (
                Frame::RowWithSizeAndHash,
                with_size(7, &hash, &[1]),
                ErrorKind::Malformed,
                "a size of 7, and the schema hash alone is 8 bytes",
            ),
            (
                Frame::RowWithSizeAndHash,
                with_size(i32::MAX, &hash, &[1]),
                ErrorKind::Malformed,
                "a size of 2147483647 in front of 9 bytes",
            ),
            (
                Frame::RowWithSizeAndHash,
                with_size(9, &hash, &[1, 2, 3]),
                ErrorKind::Malformed,
                "2 bytes behind the 9 that the size in front tells of",
            ),
        ] {
            let error = layout()?.decode_framed(frame, &bytes).err();
            let found = error.as_ref().map(|error| (error.kind(), error.reason()));
            assert_eq!(found, Some((kind, reason)), "{frame} {bytes:?}");
        }
        Ok(())
    }

    #[test]
    fn a_failure_leaves_the_buffer_as_it_was() -> Result<()> {
        for frame in Frame::ALL {
            let mut buffer = vec![1, 2, 3];
            assert!(layout()?.encode_framed(frame, &Value::Null, &mut buffer).is_err());
            let eaten = frame.write(0, &mut buffer, |buffer| {
                buffer.truncate(2);
                Ok(())
            });
            assert_eq!(eaten.is_err(), frame.has_size());
            assert!(buffer.len() <= 3 && frame.to_string().parse::<Frame>()? == frame);
        }
        Ok(())
    }

    #[test]
    fn frames_follow_one_another() -> Result<()> {
        let layout = layout()?;
        let mut bytes = vec![];
        for value in [1_i8, -2] {
            layout.write_framed_row(Frame::RowWithSizeAndHash, &mut bytes, |row| row.set(0, value))?;
        }
        let (first, rest) = Frame::RowWithSizeAndHash.split_body(layout.hash(), &bytes)?;
        let (second, rest) = Frame::RowWithSizeAndHash.split_body(layout.hash(), rest)?;
        assert_eq!((first, second, rest), (&[1][..], &[0xfe][..], &[][..]));
        Ok(())
    }
}
