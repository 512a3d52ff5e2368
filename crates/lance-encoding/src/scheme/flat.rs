//! Flat: the values as they are.

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use lance_footer::{FormatError, Result};

use super::{ChunkBuffers, Chunks, Scheme, fixed_count};
use crate::block::Block;
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};

/// Values of fixed width, bits too.
pub(super) struct FlatScheme;

impl Scheme for FlatScheme {
    fn estimate(&self, block: &Block) -> Option<u64> {
        match block {
            Block::Bits(_) | Block::Fixed { .. } => Some(block.bytes(0..block.len()) as u64),
            _ => None,
        }
    }

    fn encode<'a>(&self, block: &'a Block) -> Result<Box<dyn Chunks + 'a>> {
        match block {
            Block::Bits(bits) => Ok(Box::new(Bits(bits))),
            Block::Fixed { width, bytes } => Ok(Box::new(Bytes { width: *width, bytes })),
            _ => Err(FormatError::unsupported("flat values of variable width")),
        }
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

struct Bits<'a>(&'a BooleanBuffer);

impl Chunks for Bits<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        encoding(1)
    }

    fn count(&self, _: usize, left: usize) -> usize {
        fixed_count(1, left)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        out.buffer(|bytes| write_bits(self.0, values, bytes));
        Ok(())
    }
}

struct Bytes<'a> {
    width: usize,
    bytes: &'a [u8],
}

impl Chunks for Bytes<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        encoding(self.width as u64 * 8)
    }

    fn count(&self, _: usize, left: usize) -> usize {
        fixed_count(self.width * 8, left)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        let slice = self.bytes.get(values.start * self.width..values.end * self.width);
        out.buffer(|bytes| bytes.extend_from_slice(slice.unwrap_or_default()));
        Ok(())
    }
}
