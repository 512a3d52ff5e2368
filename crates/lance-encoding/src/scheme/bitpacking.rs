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

use super::{ChunkBuffers, Chunks, Scheme, plain_bytes};
use crate::block::{Block, Parts};
use crate::kernel::bitpack::{VECTOR, Word, packed_words};
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};

/// Integers of 8, 16, 32 or 64 bits.
pub(super) struct InlineScheme;

impl Scheme for InlineScheme {
    fn estimate(&self, blocks: &[Block]) -> Option<u64> {
        let bytes = usize::try_from(plain_bytes(blocks)).ok()?;
        match Parts::new(blocks)? {
            (1, parts) => Some(estimate::<u8>(parts, bytes)),
            (2, parts) => Some(estimate::<u16>(parts, bytes / 2)),
            (4, parts) => Some(estimate::<u32>(parts, bytes / 4)),
            (8, parts) => Some(estimate::<u64>(parts, bytes / 8)),
            _ => None,
        }
    }

    fn encode<'a>(&self, blocks: &'a [Block]) -> Result<Box<dyn Chunks + 'a>> {
        match Parts::new(blocks) {
            Some((1, parts)) => Ok(Box::new(Vectors::<u8>::new(parts))),
            Some((2, parts)) => Ok(Box::new(Vectors::<u16>::new(parts))),
            Some((4, parts)) => Ok(Box::new(Vectors::<u32>::new(parts))),
            Some((8, parts)) => Ok(Box::new(Vectors::<u64>::new(parts))),
            _ => Err(FormatError::unsupported("bit packing of other than integers")),
        }
    }
}

fn estimate<T: Word>(parts: Parts, count: usize) -> u64 {
    let mut vectors = Vectors::<T>::new(parts);
    let full = (0..count / VECTOR).map(|_| VECTOR);
    let sizes = full.chain([count % VECTOR].into_iter().filter(|rest| *rest > 0)).map(|values| {
        vectors.fill(values);
        (T::BITS / 8 + 128 * T::width(vectors.vector.as_slice())) as u64
    });
    sizes.sum()
}

struct Vectors<'a, T> {
    parts: Parts<'a>,
    vector: Box<[T; VECTOR]>,
    packed: Box<[T; VECTOR]>,
}

impl<'a, T: Word> Vectors<'a, T> {
    fn new(parts: Parts<'a>) -> Self {
        let zeros = || Box::new([T::default(); VECTOR]);
        Self { parts, vector: zeros(), packed: zeros() }
    }

    /// Puts the next `count` values into the vector, and zeros after them.
    fn fill(&mut self, count: usize) {
        let size = T::BITS / 8;
        let mut filled = 0;
        let vector = self.vector.as_mut_slice();
        self.parts.next(count * size, |part| {
            T::read(part, vector.get_mut(filled..).unwrap_or_default());
            filled += part.len() / size;
        });
        vector.get_mut(filled..).unwrap_or_default().fill(T::default());
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
        self.fill(values.len());
        let width = T::width(self.vector.as_slice());
        T::pack_vector(width, &self.vector, &mut self.packed);
        out.buffer(|bytes| {
            bytes.extend_from_slice((width as u64).to_le_bytes().get(..size).unwrap_or_default());
            T::write(self.packed.get(..packed_words::<T>(width)).unwrap_or_default(), bytes);
        });
        Ok(())
    }
}
