//! Flat: the values as they are.

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use lance_footer::{FormatError, Result};

use super::{ChunkBuffers, Chunks, Scheme, fixed_count, plain_bytes};
use crate::block::{Block, Parts};
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};

/// Values of fixed width, bits too.
pub(super) struct FlatScheme;

impl Scheme for FlatScheme {
    fn estimate(&self, blocks: &[Block]) -> Option<u64> {
        let flat = matches!(blocks, [Block::Bits(_)]) || Parts::new(blocks).is_some();
        flat.then(|| plain_bytes(blocks))
    }

    fn encode<'a>(&self, blocks: &'a [Block]) -> Result<Box<dyn Chunks + 'a>> {
        match (blocks, Parts::new(blocks)) {
            ([Block::Bits(bits)], _) => Ok(Box::new(Bits(bits))),
            (_, Some((width, parts))) => Ok(Box::new(Bytes { width, parts })),
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
    parts: Parts<'a>,
}

impl Chunks for Bytes<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        encoding(self.width as u64 * 8)
    }

    fn count(&self, _: usize, left: usize) -> usize {
        fixed_count(self.width * 8, left)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        let size = values.len() * self.width;
        out.buffer(|bytes| self.parts.next(size, |part| bytes.extend_from_slice(part)));
        Ok(())
    }
}
