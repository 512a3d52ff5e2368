use crate::geometry::MAX_IMAGE;
use crate::layout::{ElementLayout, MapLayout, RowLayout, ValueLayout};
use crate::{ArrayWriter, Error, ErrorKind, Format, Result, RowWriter, Scalar};

/// The place for one value: a slot of a container that is being written at the end of a buffer.
pub(crate) struct Place<'p> {
    pub(crate) buffer: &'p mut Vec<u8>,
    /// First byte of the container, which offsets count from.
    pub(crate) start: usize,
    /// First byte of the slot, in the buffer.
    pub(crate) slot: usize,
    pub(crate) value: &'p ValueLayout,
}

impl Place<'_> {
    /// Writes a value without parts, which is not null.
    #[inline]
    pub(crate) fn scalar(self, scalar: Scalar<'_>) -> Result<()> {
        match (self.value, scalar) {
            (ValueLayout::Bool, Scalar::Bool(value)) => self.fixed(&[value.into()]),
            (ValueLayout::Int8, Scalar::Int8(value)) => self.fixed(&value.to_le_bytes()),
            (ValueLayout::Int16, Scalar::Int16(value)) => self.fixed(&value.to_le_bytes()),
            (ValueLayout::Int32, Scalar::Int32(value)) => self.fixed(&value.to_le_bytes()),
            (ValueLayout::Int64, Scalar::Int64(value)) => self.fixed(&value.to_le_bytes()),
            (ValueLayout::Float16, Scalar::Float16(value)) => self.fixed(&value.0.to_le_bytes()),
            (ValueLayout::Float32, Scalar::Float32(value)) => self.fixed(&value.to_le_bytes()),
            (ValueLayout::Float64, Scalar::Float64(value)) => self.fixed(&value.to_le_bytes()),
            (ValueLayout::Date32, Scalar::Date(value)) => self.fixed(&value.0.to_le_bytes()),
            (ValueLayout::Timestamp, Scalar::Timestamp(value)) => self.fixed(&value.0.to_le_bytes()),
            (ValueLayout::Duration, Scalar::Duration(value)) => self.fixed(&value.0.to_le_bytes()),
            (ValueLayout::Decimal { precision, scale }, Scalar::Decimal(value)) => {
                let stored = value.to_stored(*precision, *scale)?;
                self.payload(&stored)
            }
            (ValueLayout::Utf8, Scalar::Utf8(value)) => self.payload(value.as_bytes()),
            (ValueLayout::Binary, Scalar::Binary(value)) => self.payload(value),
            (ValueLayout::FixedBinary(width), Scalar::Binary(value)) => {
                if value.len() != *width {
                    return Err(Error::value(format!("{} bytes for fixed_binary({width})", value.len())));
                }
                self.fixed(value)
            }
            (value, scalar) => Err(wrong_type(value, scalar.name())),
        }
    }

    /// Writes a struct: in place if it is of fixed width in compact rows, or as an image of its own.
    pub(crate) fn row(self, write: impl FnOnce(&mut RowWriter<'_>) -> Result<()>) -> Result<()> {
        let ValueLayout::Struct(layout) = self.value else {
            return Err(wrong_type(self.value, "struct"));
        };
        match layout.geometry.inline {
            Some(width) => {
                let written = RowWriter::new(self.buffer, self.slot, layout).finish(write);
                if written.is_err()
                    && let Some(slot) = self.buffer.get_mut(self.slot..self.slot + width)
                {
                    slot.fill(0);
                }
                written
            }
            None => self.image(|buffer| append_row(buffer, layout, write)),
        }
    }

    /// Writes a list of `len` elements.
    pub(crate) fn list(
        self,
        len: usize,
        write: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.value {
            ValueLayout::List(element) => self.image(|buffer| append_array(buffer, element, len, write)),
            value => Err(wrong_type(value, "list")),
        }
    }

    /// Writes a map of `len` entries.
    pub(crate) fn map(
        self,
        len: usize,
        keys: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
        values: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.value {
            ValueLayout::Map(map) => self.image(|buffer| append_map(buffer, map, len, keys, values)),
            value => Err(wrong_type(value, "map")),
        }
    }

    #[inline]
    pub(crate) fn fixed(self, bytes: &[u8]) -> Result<()> {
        put(self.buffer, self.slot, bytes)
    }

    #[inline]
    pub(crate) fn payload(self, bytes: &[u8]) -> Result<()> {
        let before = self.buffer.len();
        refer(self.buffer, self.slot, before - self.start, bytes.len())?;
        self.buffer.extend_from_slice(bytes);
        // Padded by its own length: in compact rows it may start anywhere.
        self.buffer.resize(before + Format::padded(bytes.len()), 0);
        Ok(())
    }

    /// Appends an image and refers to it. A failure leaves the container as it was.
    pub(crate) fn image(self, append: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let before = self.buffer.len();
        let offset = before - self.start;
        let written = append(self.buffer).and_then(|()| {
            let size = self.buffer.len() - before;
            refer(self.buffer, self.slot, offset, size)
        });
        if written.is_err() {
            self.buffer.truncate(before);
        }
        written
    }
}

/// Appends a row. A failure leaves the buffer as it was.
pub(crate) fn append_row(
    buffer: &mut Vec<u8>,
    layout: &RowLayout,
    write: impl FnOnce(&mut RowWriter<'_>) -> Result<()>,
) -> Result<()> {
    let start = buffer.len();
    buffer.resize(start + layout.geometry.fixed_end, 0);
    or_truncate(buffer, start, |buffer| {
        RowWriter::new(buffer, start, layout).finish(write)?;
        check_image(buffer.len() - start)
    })
}

/// Appends an array of `len` elements. A failure leaves the buffer as it was.
pub(crate) fn append_array(
    buffer: &mut Vec<u8>,
    element: &ElementLayout,
    len: usize,
    write: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
) -> Result<()> {
    let start = buffer.len();
    or_truncate(buffer, start, |buffer| {
        ArrayWriter::start(buffer, element, len)?.finish(write)?;
        check_image(buffer.len() - start)
    })
}

/// Appends a map of `len` entries. A failure leaves the buffer as it was.
pub(crate) fn append_map(
    buffer: &mut Vec<u8>,
    map: &MapLayout,
    len: usize,
    keys: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
    values: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
) -> Result<()> {
    let start = buffer.len();
    or_truncate(buffer, start, |buffer| {
        buffer.extend_from_slice(&[0; 8]);
        append_array(buffer, &map.keys, len, keys)?;
        let size = buffer.len() - start - 8;
        put(buffer, start, &(size as u64).to_le_bytes())?;
        append_array(buffer, &map.values, len, values)?;
        check_image(buffer.len() - start)
    })
}

fn or_truncate(
    buffer: &mut Vec<u8>,
    len: usize,
    write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let written = write(buffer);
    if written.is_err() {
        buffer.truncate(len);
    }
    written
}

/// Writes a reference into a slot.
#[inline]
pub(crate) fn refer(buffer: &mut [u8], slot: usize, offset: usize, size: usize) -> Result<()> {
    let (Ok(offset), Ok(size)) = (i32::try_from(offset), i32::try_from(size)) else {
        return Err(too_large());
    };
    let [o0, o1, o2, o3] = offset.to_le_bytes();
    let [s0, s1, s2, s3] = size.to_le_bytes();
    put(buffer, slot, &[s0, s1, s2, s3, o0, o1, o2, o3])
}

/// Overwrites bytes that are there.
#[inline]
pub(crate) fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) -> Result<()> {
    match buffer.get_mut(at..at + bytes.len()) {
        Some(to) => {
            to.copy_from_slice(bytes);
            Ok(())
        }
        None => Err(Error::value("a slot outside of its container")),
    }
}

/// Sets bit `bit` of the bitmap at `bitmap`.
#[inline]
pub(crate) fn set_bit(buffer: &mut [u8], bitmap: usize, bit: usize) {
    if let Some(byte) = buffer.get_mut(bitmap + bit / 8) {
        *byte |= 1 << (bit % 8);
    }
}

#[inline]
fn check_image(len: usize) -> Result<()> {
    if len > MAX_IMAGE { Err(too_large()) } else { Ok(()) }
}

#[cold]
pub(crate) fn too_large() -> Error {
    Error::value("a row, array or map of more than 2 GiB")
}

#[cold]
fn wrong_type(value: &ValueLayout, given: &str) -> Error {
    Error::new(ErrorKind::Type, format!("a {given} was written to a {}", value.name()))
}
