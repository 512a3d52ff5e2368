//! Inline bit packing: 1024 integers in as many bits as the largest needs.
//!
//! ```text
//! word of T bits: W | 1024 * W / T words: the packed vector
//! ```
//!
//! Values are packed as unsigned numbers: one that is negative takes all bits. A short vector is filled with
//! zeros.

use std::ops::Range;

use lance_footer::{FormatError, Result};

use super::{ChunkBuffers, Chunks, Scheme};
use crate::block::Block;
use crate::kernel::bitpack::{VECTOR, Word, packed_words};
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};

/// Integers of 8, 16, 32 or 64 bits.
pub(super) struct InlineScheme;

impl Scheme for InlineScheme {
    fn estimate(&self, block: &Block) -> Option<u64> {
        match block {
            Block::Fixed { width: 1, bytes } => Some(estimate::<u8>(bytes)),
            Block::Fixed { width: 2, bytes } => Some(estimate::<u16>(bytes)),
            Block::Fixed { width: 4, bytes } => Some(estimate::<u32>(bytes)),
            Block::Fixed { width: 8, bytes } => Some(estimate::<u64>(bytes)),
            _ => None,
        }
    }

    fn encode<'a>(&self, block: &'a Block) -> Result<Box<dyn Chunks + 'a>> {
        match block {
            Block::Fixed { width: 1, bytes } => Ok(Box::new(Vectors::<u8>::new(bytes))),
            Block::Fixed { width: 2, bytes } => Ok(Box::new(Vectors::<u16>::new(bytes))),
            Block::Fixed { width: 4, bytes } => Ok(Box::new(Vectors::<u32>::new(bytes))),
            Block::Fixed { width: 8, bytes } => Ok(Box::new(Vectors::<u64>::new(bytes))),
            _ => Err(FormatError::unsupported("bit packing of other than integers")),
        }
    }
}

fn estimate<T: Word>(bytes: &[u8]) -> u64 {
    let mut vector = [T::default(); VECTOR];
    let size = T::BITS / 8;
    let vectors = bytes.chunks(VECTOR * size).map(|chunk| {
        T::read(chunk, &mut vector);
        let width = T::width(vector.get(..chunk.len() / size).unwrap_or_default());
        (size + 128 * width) as u64
    });
    vectors.sum()
}

struct Vectors<'a, T> {
    bytes: &'a [u8],
    vector: Box<[T; VECTOR]>,
    packed: Box<[T; VECTOR]>,
}

impl<'a, T: Word> Vectors<'a, T> {
    fn new(bytes: &'a [u8]) -> Self {
        let zeros = || Box::new([T::default(); VECTOR]);
        Self { bytes, vector: zeros(), packed: zeros() }
    }
}

impl<T: Word> Chunks for Vectors<'_, T> {
    fn encoding(&self) -> CompressiveEncoding {
        let packing = proto::InlineBitpacking { uncompressed_bits_per_value: T::BITS as u64, values: None };
        CompressiveEncoding { compression: Some(Compression::InlineBitpacking(packing)) }
    }

    fn count(&self, _: usize, left: usize) -> usize {
        left.min(VECTOR)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        let size = T::BITS / 8;
        let chunk = self.bytes.get(values.start * size..values.end * size).unwrap_or_default();
        T::read(chunk, self.vector.as_mut_slice());
        if let Some(rest) = self.vector.get_mut(values.len()..) {
            rest.fill(T::default());
        }
        let width = T::width(self.vector.as_slice());
        T::pack_vector(width, &self.vector, &mut self.packed);
        out.buffer(|bytes| {
            bytes.extend_from_slice((width as u64).to_le_bytes().get(..size).unwrap_or_default());
            T::write(self.packed.get(..packed_words::<T>(width)).unwrap_or_default(), bytes);
        });
        Ok(())
    }
}
