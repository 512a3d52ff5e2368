use crate::geometry::ArrayGeometry;
use crate::layout::ElementLayout;
use crate::read::Primitive;
use crate::write::place::{self, Place};
use crate::{Error, ErrorKind, Layout, Result, RowWriter, Scalar};

/// Writes the elements of one list, or the keys or values of a map, in order.
#[derive(Debug)]
pub struct ArrayWriter<'w> {
    buffer: &'w mut Vec<u8>,
    start: usize,
    element: &'w ElementLayout,
    geometry: ArrayGeometry,
    len: usize,
    next: usize,
}

impl Layout {
    /// Appends a top-level array of `len` elements: the first field of the schema is the list that it is an image of.
    /// A failure leaves the buffer as it was.
    pub fn write_array(
        &self,
        buffer: &mut Vec<u8>,
        len: usize,
        write: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        place::append_array(buffer, self.first_list()?, len, write)
    }

    /// Appends a top-level map of `len` entries: the first field of the schema is the map that it is an image of. A
    /// failure leaves the buffer as it was.
    pub fn write_map(
        &self,
        buffer: &mut Vec<u8>,
        len: usize,
        keys: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
        values: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        place::append_map(buffer, self.first_map()?, len, keys, values)
    }
}

impl<'w> ArrayWriter<'w> {
    /// Appends the count, the bitmap and the slots, all zero.
    pub(crate) fn start(buffer: &'w mut Vec<u8>, element: &'w ElementLayout, len: usize) -> Result<Self> {
        let geometry = element.shape.array(len).ok_or_else(place::too_large)?;
        let start = buffer.len();
        buffer.resize(start + geometry.fixed_end(), 0);
        let count = (len as u64).to_le_bytes();
        place::put(buffer, start, count.get(..element.shape.count_len()).unwrap_or_default())?;
        Ok(Self { buffer, start, element, geometry, len, next: 0 })
    }

    pub(crate) fn finish(mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        write(&mut self)?;
        if self.next != self.len {
            return Err(Error::value(format!("{} elements instead of {}", self.next, self.len)));
        }
        Ok(())
    }

    /// Writes the next element: a value without parts, or null.
    #[inline]
    pub fn push<'v>(&mut self, value: impl Into<Scalar<'v>>) -> Result<()> {
        match value.into() {
            Scalar::Null => self.push_null(),
            value => self.write(|place| place.scalar(value)),
        }
    }

    /// Writes the next element, which is a struct.
    pub fn push_row(&mut self, write: impl FnOnce(&mut RowWriter<'_>) -> Result<()>) -> Result<()> {
        self.write(|place| place.row(write))
    }

    /// Writes the next element, which is a list of `len` elements.
    pub fn push_list(
        &mut self,
        len: usize,
        write: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        self.write(|place| place.list(len, write))
    }

    /// Writes the next element, which is a map of `len` entries.
    pub fn push_map(
        &mut self,
        len: usize,
        keys: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
        values: impl FnOnce(&mut ArrayWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        self.write(|place| place.map(len, keys, values))
    }

    /// Writes the next elements, which are numbers, none of them null.
    pub fn extend_from_slice<T: Primitive>(&mut self, values: &[T]) -> Result<()> {
        let name = self.element.value.name();
        if !T::NAMES.contains(&name) {
            let given = T::NAMES.first().copied().unwrap_or_default();
            return Err(Error::new(ErrorKind::Type, format!("{given} were written to a list of {name}")));
        }
        if values.len() > self.len - self.next {
            return Err(too_many(self.len));
        }
        let at = self.start + self.geometry.elements + self.next * size_of::<T>();
        if let Some(to) = self.buffer.get_mut(at..at + size_of_val(values)) {
            T::write_le(values, to);
        }
        self.next += values.len();
        Ok(())
    }

    /// Writes the next elements, whose bytes these are as they stand in their slots.
    #[cfg(feature = "arrow")]
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let stride = self.element.shape.stride();
        let len = bytes.len() / stride;
        if len > self.len - self.next {
            return Err(too_many(self.len));
        }
        place::put(self.buffer, self.start + self.geometry.elements + self.next * stride, bytes)?;
        self.next += len;
        Ok(())
    }

    pub(crate) fn push_null(&mut self) -> Result<()> {
        if !self.element.shape.nullable {
            return Err(self.element.within(self.next, Error::value("null, and not nullable")));
        }
        if self.next == self.len {
            return Err(too_many(self.len));
        }
        place::set_bit(self.buffer, self.start + self.geometry.bitmap, self.next);
        self.next += 1;
        Ok(())
    }

    #[inline]
    pub(crate) fn write(&mut self, write: impl FnOnce(Place<'_>) -> Result<()>) -> Result<()> {
        if self.next == self.len {
            return Err(too_many(self.len));
        }
        let slot = self.start + self.geometry.elements + self.next * self.element.shape.stride();
        let place = Place { buffer: &mut *self.buffer, start: self.start, slot, value: &self.element.value };
        if let Err(error) = write(place) {
            return Err(self.element.within(self.next, error));
        }
        self.next += 1;
        Ok(())
    }
}

#[cold]
fn too_many(len: usize) -> Error {
    Error::value(format!("more elements than the {len} that were announced"))
}
