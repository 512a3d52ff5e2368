use crate::layout::{FieldLayout, RowLayout, ValueLayout};
use crate::raw::Slot;
use crate::read::Primitive;
use crate::write::place::{self, Place};
use crate::{ArrayWriter, Error, FieldIndex, Format, Layout, Result, Row, Scalar};

/// Writes the fields of one row, in any order, each once. What is not set is null.
///
/// The bytes do not depend on the order of the calls. Order of declaration is fastest: what was written in another
/// order is put right at the end.
#[derive(Debug)]
pub struct RowWriter<'w> {
    buffer: &'w mut Vec<u8>,
    start: usize,
    layout: &'w RowLayout,
    written: Bits,
    /// One more than the last field of variable width that was written.
    next: usize,
    in_order: bool,
}

impl Layout {
    /// Appends a row to `buffer`. A failure leaves the buffer as it was.
    pub fn write_row(
        &self,
        buffer: &mut Vec<u8>,
        write: impl FnOnce(&mut RowWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        place::append_row(buffer, self.root(), write)
    }
}

impl<'w> RowWriter<'w> {
    /// A row whose fixed region stands at `start`, all zero.
    pub(crate) fn new(buffer: &'w mut Vec<u8>, start: usize, layout: &'w RowLayout) -> Self {
        let written = Bits::new(layout.fields.len());
        Self { buffer, start, layout, written, next: 0, in_order: true }
    }

    /// Writes the fields, and nulls where nothing was written.
    pub(crate) fn finish(mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        write(&mut self)?;
        let geometry = &self.layout.geometry;
        for (index, field) in self.layout.fields.iter().enumerate() {
            if !self.written.has(index) {
                if !field.nullable {
                    return Err(Error::value("not set, and not nullable").in_field(&field.name));
                }
                place::set_bit(self.buffer, self.start + geometry.bitmap, field.bit);
            }
        }
        if self.in_order { Ok(()) } else { self.reorder() }
    }

    /// Writes a value without parts, or null: `row.set("x", 1.5f32)`, `row.set(0, "name")`, `row.set(1, None::<i64>)`.
    #[inline]
    pub fn set<'v>(&mut self, field: impl FieldIndex, value: impl Into<Scalar<'v>>) -> Result<()> {
        match value.into() {
            Scalar::Null => self.set_null(field),
            value => self.write(field, |place| place.scalar(value)),
        }
    }

    /// Writes a struct.
    pub fn row(
        &mut self,
        field: impl FieldIndex,
        write: impl FnOnce(&mut RowWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        self.write(field, |place| place.row(write))
    }

    /// Writes a list of `len` elements, which `write` pushes.
    pub fn list(
        &mut self,
        field: impl FieldIndex,
        len: usize,
        write: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        self.write(field, |place| place.list(len, write))
    }

    /// Writes a list of numbers that are there as a slice.
    pub fn list_of<T: Primitive>(&mut self, field: impl FieldIndex, values: &[T]) -> Result<()> {
        self.list(field, values.len(), |list| list.extend_from_slice(values))
    }

    /// Writes a map of `len` entries, whose keys and values are pushed one array after the other.
    pub fn map(
        &mut self,
        field: impl FieldIndex,
        len: usize,
        keys: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
        values: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        self.write(field, |place| place.map(len, keys, values))
    }

    fn set_null(&mut self, field: impl FieldIndex) -> Result<()> {
        let layout = self.layout;
        let index = layout.index(field)?;
        let field = layout.find(index)?;
        if !field.nullable {
            return Err(Error::value("null, and not nullable").in_field(&field.name));
        }
        self.first(index, field)?;
        place::set_bit(self.buffer, self.start + layout.geometry.bitmap, field.bit);
        self.written.add(index);
        Ok(())
    }

    #[inline]
    fn write(&mut self, field: impl FieldIndex, write: impl FnOnce(Place<'_>) -> Result<()>) -> Result<()> {
        let layout = self.layout;
        let index = layout.index(field)?;
        let field = layout.find(index)?;
        self.first(index, field)?;
        let place = Place {
            buffer: &mut *self.buffer,
            start: self.start,
            slot: self.start + field.slot,
            value: &field.value,
        };
        if let Err(error) = write(place) {
            return Err(error.in_field(&field.name));
        }
        self.written.add(index);
        if field.value.width(layout.format).is_none() {
            self.in_order &= index >= self.next;
            self.next = index + 1;
        }
        Ok(())
    }

    /// Refuses to write a field twice: the first value would stay in the row, unseen.
    #[inline]
    fn first(&self, index: usize, field: &FieldLayout) -> Result<()> {
        if self.written.has(index) {
            return Err(Error::value("written twice").in_field(&field.name));
        }
        Ok(())
    }

    /// Puts variable data in the order of the fields, so that the bytes of a row do not depend on the order in which
    /// it was written.
    fn reorder(&mut self) -> Result<()> {
        let floor = self.layout.geometry.fixed_end;
        let mut ordered = Vec::with_capacity(self.buffer.len() - self.start - floor);
        let mut offset = floor;
        for field in &self.layout.fields {
            let row = Row::open(self.buffer.get(self.start..).unwrap_or_default(), self.layout)?;
            if row.null(field) || field.value.width(self.layout.format).is_some() {
                continue;
            }
            let bytes = Slot::new(row.bytes(), field.slot, floor).payload()?;
            ordered.extend_from_slice(bytes);
            let size = bytes.len();
            place::refer(self.buffer, self.start + field.slot, offset, size)?;
            offset += if field.value.is_padded() { Format::padded(size) } else { size };
            ordered.resize(offset - floor, 0);
        }
        place::put(self.buffer, self.start + floor, &ordered)
    }
}

impl ValueLayout {
    /// Whether zero bytes follow a value up to a multiple of 8 bytes. They do not follow images, which in the
    /// standard format are multiples of 8 already.
    pub(crate) const fn is_padded(&self) -> bool {
        matches!(self, Self::Utf8 | Self::Binary | Self::Decimal { .. })
    }
}

/// A set of small numbers. Rows of up to 64 fields need no memory for it.
#[derive(Debug)]
enum Bits {
    Few(u64),
    Many(Vec<u64>),
}

impl Bits {
    fn new(len: usize) -> Self {
        if len <= 64 { Self::Few(0) } else { Self::Many(vec![0; len.div_ceil(64)]) }
    }

    #[inline]
    fn add(&mut self, index: usize) {
        match self {
            Self::Few(word) => *word |= 1 << (index % 64),
            Self::Many(words) => {
                if let Some(word) = words.get_mut(index / 64) {
                    *word |= 1 << (index % 64);
                }
            }
        }
    }

    #[inline]
    fn has(&self, index: usize) -> bool {
        let word = match self {
            Self::Few(word) => *word,
            Self::Many(words) => words.get(index / 64).copied().unwrap_or_default(),
        };
        word & (1 << (index % 64)) != 0
    }
}
