//! Flat: values as they are.
//!
//! ```text
//! block, mini-block   value 0 | value 1 | …    each of `bits` bits, little-endian; 1 bit: least significant first
//! per value           the value, whole bytes
//! ```

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use lance_footer::{FormatError, Result};

use super::Picks;
use crate::block::{Block, Parts};
use crate::bounds;
use crate::kernel::bitpack::Word;
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};
use crate::scheme::{
    Asked, ChunkBuffers, Chunks, Proposal, Scheme, count, fixed_chunks, fixed_count, plain_bytes,
};
use crate::values::{Values, misfit};

/// Values as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flat {
    /// Bits of a value.
    pub(crate) bits: usize,
}

impl Flat {
    pub(super) fn parse(flat: &proto::Flat) -> Result<Self> {
        if flat.data.is_some() {
            return Err(FormatError::unsupported("compressed flat values"));
        }
        Ok(Self { bits: bounds::size(flat.bits_per_value, "codec")? })
    }

    pub(super) fn check(self, bytes: &[u8], count: usize) -> Result<()> {
        bounds::exactly(bytes, bounds::bytes_for(count, self.bits, "flat values")?, "flat values")
    }

    pub(super) fn decode_mini_block(self, buffer: &[u8], picks: &Picks, out: &mut Values) -> Result<()> {
        self.check(buffer, picks.count())?;
        match out {
            Values::Bits(bits) if self.bits == 1 => {
                for range in picks.ranges() {
                    bits.append_range(range, buffer);
                }
            }
            Values::Fixed(values) if values.width() * 8 == self.bits => {
                let width = values.width();
                for range in picks.ranges() {
                    let bytes = bounds::slice(buffer, range.start * width..range.end * width, "flat values")?;
                    values.append(bytes, range.len());
                }
            }
            _ => return Err(misfit("flat values")),
        }
        Ok(())
    }

    pub(super) fn decode_words<T: Word>(self, bytes: &[u8], out: &mut [T]) -> Result<()> {
        if self.bits != T::BITS {
            return Err(misfit("flat values"));
        }
        self.check(bytes, out.len())?;
        T::read(bytes, out);
        Ok(())
    }
}

/// Values of fixed width, bits too.
pub(crate) struct FlatScheme;

impl Scheme for FlatScheme {
    fn propose<'a>(&self, asked: Asked<'a>) -> Option<Proposal<'a>> {
        let (bytes, values) = (plain_bytes(asked.blocks), count(asked.blocks));
        if let [Block::Bits(bits)] = asked.blocks {
            return Some(Proposal::new(bytes, fixed_chunks(1, values, asked.fixed_chunk), move || {
                Ok(Box::new(Bits { bits, target: asked.fixed_chunk }))
            }));
        }
        let (width, parts) = Parts::new(asked.blocks)?;
        let target = asked.fixed_chunk;
        let chunks = fixed_chunks(width * 8, values, target);
        Some(Proposal::new(bytes, chunks, move || Ok(Box::new(Bytes { width, parts, target }))))
    }
}

/// The description of plain values of `bits` bits.
pub(crate) fn encoding(bits: u64) -> CompressiveEncoding {
    let flat = proto::Flat { bits_per_value: bits, data: None };
    CompressiveEncoding { compression: Some(Compression::Flat(flat)) }
}

/// Appends the bits at `range`, from a whole byte on; the bits that fill the last byte are 0.
pub(super) fn write_bits(bits: &BooleanBuffer, range: Range<usize>, out: &mut Vec<u8>) {
    let len = range.len();
    let slice = bits.slice(range.start, len).sliced();
    out.extend_from_slice(slice.get(..len.div_ceil(8)).unwrap_or_default());
    if let Some(last) = out.last_mut()
        && !len.is_multiple_of(8)
    {
        *last &= (1 << (len % 8)) - 1;
    }
}

struct Bits<'a> {
    bits: &'a BooleanBuffer,
    /// Bytes that a chunk should have.
    target: usize,
}

impl Chunks for Bits<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        encoding(1)
    }

    fn count(&self, _: usize, left: usize) -> usize {
        fixed_count(1, left, self.target)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        out.buffer(|bytes| write_bits(self.bits, values, bytes));
        Ok(())
    }
}

struct Bytes<'a> {
    width: usize,
    parts: Parts<'a>,
    /// Bytes that a chunk should have.
    target: usize,
}

impl Chunks for Bytes<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        encoding(self.width as u64 * 8)
    }

    fn count(&self, _: usize, left: usize) -> usize {
        fixed_count(self.width * 8, left, self.target)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        let size = values.len() * self.width;
        out.buffer(|bytes| self.parts.next(size, |part| bytes.extend_from_slice(part)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt16Type;
    use arrow_schema::DataType;

    use super::*;
    use crate::storage::Storage;

    #[test]
    fn numbers_and_bits() {
        let mut out = Values::new(&Storage::Fixed { bits: 16 });
        let picks = Picks::new(3, vec![0..1, 2..3]).unwrap();
        Flat { bits: 16 }.decode_mini_block(&[1, 0, 2, 0, 3, 1], &picks, &mut out).unwrap();
        let array = out.finish(&DataType::UInt16, None).unwrap();
        assert_eq!(array.as_primitive::<UInt16Type>().values(), &[1, 259]);

        let mut out = Values::new(&Storage::Fixed { bits: 1 });
        let picks = Picks::new(10, vec![1..3, 8..10]).unwrap();
        Flat { bits: 1 }.decode_mini_block(&[0b10, 0b01], &picks, &mut out).unwrap();
        let array = out.finish(&DataType::Boolean, None).unwrap();
        let bits: Vec<_> = array.as_boolean().values().iter().collect();
        assert_eq!(bits, [true, false, true, false]);
    }

    #[test]
    fn sizes_must_match() {
        let mut out = Values::new(&Storage::Fixed { bits: 32 });
        assert!(Flat { bits: 32 }.decode_mini_block(&[0; 7], &Picks::all(2), &mut out).is_err());
        assert!(Flat { bits: 32 }.decode_mini_block(&[0; 12], &Picks::all(2), &mut out).is_err());
        assert!(Flat { bits: 32 }.check(&[], usize::MAX).is_err());
    }
}
