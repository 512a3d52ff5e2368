use crate::{Error, Format, Result};

/// A container that is being written into zeroed memory of the right size: its fixed region, and behind it the
/// variable data, which grow.
#[derive(Debug)]
pub struct Image<'b> {
    /// From the first byte of the container to the end of the buffer.
    bytes: &'b mut [u8],
    /// Behind what was written.
    end: usize,
}

impl<'b> Image<'b> {
    /// A container at the start of `bytes` with a fixed region of `fixed_end` bytes.
    #[inline]
    pub fn new(bytes: &'b mut [u8], fixed_end: usize) -> Self {
        Self { bytes, end: fixed_end }
    }

    /// Behind what was written: the size of the image, once all is.
    #[inline]
    pub const fn end(&self) -> usize {
        self.end
    }

    /// Overwrites bytes of the fixed region.
    #[inline]
    pub fn put<const N: usize>(&mut self, at: usize, value: [u8; N]) -> Result<()> {
        match self.bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            Some(to) => {
                *to = value;
                Ok(())
            }
            None => Err(changed()),
        }
    }

    /// Memory of the fixed region.
    #[inline]
    pub(crate) fn fixed(&mut self, at: usize, len: usize) -> Result<&mut [u8]> {
        self.bytes.get_mut(at..at.saturating_add(len)).ok_or_else(changed)
    }

    /// Sets bit `bit` of the bitmap at `bitmap`.
    #[inline]
    pub fn set_bit(&mut self, bitmap: usize, bit: usize) -> Result<()> {
        match self.bytes.get_mut(bitmap + bit / 8) {
            Some(byte) => {
                *byte |= 1 << (bit % 8);
                Ok(())
            }
            None => Err(changed()),
        }
    }

    /// Appends bytes with their padding, and refers to them in a slot.
    #[inline]
    pub fn payload(&mut self, slot: usize, value: &[u8]) -> Result<()> {
        let at = self.end;
        match self.bytes.get_mut(at..).and_then(|rest| rest.get_mut(..value.len())) {
            Some(to) => to.copy_from_slice(value),
            None => return Err(changed()),
        }
        self.end = at + Format::padded(value.len());
        self.refer(slot, at, value.len())
    }

    /// Appends an image with a fixed region of `fixed_end` bytes, and refers to it in a slot.
    #[inline]
    pub fn nested(
        &mut self,
        slot: usize,
        fixed_end: usize,
        write: impl FnOnce(&mut Image<'_>) -> Result<()>,
    ) -> Result<()> {
        let at = self.end;
        let mut image = Image::new(self.bytes.get_mut(at..).ok_or_else(changed)?, fixed_end);
        write(&mut image)?;
        let size = image.end;
        self.end = at + size;
        self.refer(slot, at, size)
    }

    /// Writes a container in place: in the `width` bytes of a slot.
    #[inline]
    pub fn inline(
        &mut self,
        slot: usize,
        width: usize,
        write: impl FnOnce(&mut Image<'_>) -> Result<()>,
    ) -> Result<()> {
        write(&mut Image::new(self.fixed(slot, width)?, width))
    }

    /// Appends an image behind the others, which nothing refers to; gives its size.
    #[inline]
    pub(crate) fn append(
        &mut self,
        fixed_end: usize,
        write: impl FnOnce(&mut Image<'_>) -> Result<()>,
    ) -> Result<usize> {
        let mut image = Image::new(self.bytes.get_mut(self.end..).ok_or_else(changed)?, fixed_end);
        write(&mut image)?;
        let size = image.end;
        self.end += size;
        Ok(size)
    }

    #[inline]
    pub(crate) fn refer(&mut self, slot: usize, offset: usize, size: usize) -> Result<()> {
        // The buffer is not larger than 2 GiB.
        self.put(slot, (((offset as u64) << 32) | size as u64).to_le_bytes())
    }
}

/// The size of a row is computed before it is written.
#[cold]
fn changed() -> Error {
    Error::value("a value changed its size while it was written")
}
