//! Variable: strings of bytes.
//!
//! ```text
//! in a chunk     n + 1 offsets, from the start of the buffer | bytes | padding to the width of an offset
//! as a block     width of an offset in bits | position of the bytes | n + 1 offsets, from 0 | bytes
//! ```
//!
//! Offsets, and the two numbers before them in a block, are as wide as those of the type: 32 or 64 bits.

use std::ops::Range;

use arrow_buffer::ArrowNativeType;
use lance_footer::{FormatError, Result};

use super::{ChunkBuffers, Chunks, Scheme, flat, plain_bytes};
use crate::block::{Block, Offsets};
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};

/// Bytes that a chunk should have, offsets included.
const CHUNK_BYTES: usize = 4096;

/// Strings.
pub(super) struct VariableScheme;

impl Scheme for VariableScheme {
    fn estimate(&self, blocks: &[Block]) -> Option<u64> {
        matches!(blocks, [Block::Variable { .. }]).then(|| plain_bytes(blocks))
    }

    fn encode<'a>(&self, blocks: &'a [Block]) -> Result<Box<dyn Chunks + 'a>> {
        match blocks {
            [Block::Variable { offsets, data }] => Ok(Box::new(Strings { offsets, data })),
            _ => Err(FormatError::unsupported("strings of fixed width")),
        }
    }
}

/// The description of strings with offsets of `width` bytes.
pub(crate) fn encoding(width: usize) -> CompressiveEncoding {
    let offsets = Some(Box::new(flat(width as u64 * 8)));
    let variable = proto::Variable { offsets, values: None };
    CompressiveEncoding { compression: Some(Compression::Variable(Box::new(variable))) }
}

/// Strings as one block.
pub(crate) fn block(offsets: &Offsets, data: &[u8]) -> Vec<u8> {
    let (width, len) = (offsets.width(), offsets.len());
    let strings = data.get(offsets.at(0)..offsets.at(len)).unwrap_or_default();
    let head = width * (2 + len + 1);
    let mut out = Vec::with_capacity(head + strings.len());
    match offsets {
        Offsets::Small(offsets) => write_offsets::<_, 4>(&[32, head], offsets, 0, &mut out),
        Offsets::Large(offsets) => write_offsets::<_, 8>(&[64, head], offsets, 0, &mut out),
    }
    out.extend_from_slice(strings);
    out
}

struct Strings<'a> {
    offsets: &'a Offsets,
    data: &'a [u8],
}

impl Strings<'_> {
    fn size(&self, values: Range<usize>) -> usize {
        (values.len() + 1) * self.offsets.width() + self.offsets.at(values.end)
            - self.offsets.at(values.start)
    }
}

impl Chunks for Strings<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        encoding(self.offsets.width())
    }

    fn count(&self, start: usize, left: usize) -> usize {
        if self.size(start..start + left) <= CHUNK_BYTES {
            return left;
        }
        let mut count = 2;
        while count * 2 < left && self.size(start..start + count * 2) <= CHUNK_BYTES {
            count *= 2;
        }
        count.min(left)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        let width = self.offsets.width();
        let base = (values.len() + 1) * width;
        let span = self.offsets.at(values.start)..self.offsets.at(values.end);
        let strings = self.data.get(span).unwrap_or_default();
        let (first, last) = (values.start, values.end + 1);
        out.buffer(|bytes| {
            let start = bytes.len();
            match self.offsets {
                Offsets::Small(offsets) => {
                    write_offsets::<_, 4>(&[], offsets.get(first..last).unwrap_or_default(), base, bytes);
                }
                Offsets::Large(offsets) => {
                    write_offsets::<_, 8>(&[], offsets.get(first..last).unwrap_or_default(), base, bytes);
                }
            }
            bytes.extend_from_slice(strings);
            let size = (bytes.len() - start).next_multiple_of(width);
            bytes.resize(start + size, 0);
        });
        Ok(())
    }
}

/// Appends `head`, then `offsets` such that the first is `base`; each in `WIDTH` bytes.
fn write_offsets<O: ArrowNativeType, const WIDTH: usize>(
    head: &[usize],
    offsets: &[O],
    base: usize,
    out: &mut Vec<u8>,
) {
    let first = offsets.first().map_or(0, |offset| offset.as_usize());
    let start = out.len();
    out.resize(start + (head.len() + offsets.len()) * WIDTH, 0);
    let (places, _) = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<WIDTH>();
    let numbers = head.iter().copied().chain(offsets.iter().map(|offset| offset.as_usize() - first + base));
    for (place, number) in places.iter_mut().zip(numbers) {
        // The low bytes of a number that is known to fit.
        *place = number.to_le_bytes().first_chunk().copied().unwrap_or([0; WIDTH]);
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, StringArray};
    use std::sync::Arc;

    use super::*;

    fn strings(values: &[&str]) -> Block {
        Block::from_array(&(Arc::new(StringArray::from(values.to_vec())) as ArrayRef)).unwrap()
    }

    #[test]
    fn bytes_of_a_chunk() {
        let values = strings(&["x", "a", "bb", "", "", "ccc"]);
        let values = [values.slice(1..6)];
        let (mut bytes, mut sizes) = (vec![], vec![]);
        let mut chunks = VariableScheme.encode(&values).unwrap();
        chunks.write(0..5, &mut ChunkBuffers::new(&mut bytes, &mut sizes)).unwrap();
        let mut wanted = vec![];
        for offset in [0x18_u32, 0x19, 0x1b, 0x1b, 0x1b, 0x1e] {
            wanted.extend(offset.to_le_bytes());
        }
        wanted.extend(b"abbccc\0\0");
        assert_eq!(bytes, wanted);
        assert_eq!(sizes, [32]);
    }

    #[test]
    fn bytes_of_a_block() {
        let Block::Variable { offsets, data } = strings(&["aa", "b"]) else { panic!("not strings") };
        let wanted = [32, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, b'a', b'a', b'b'];
        assert_eq!(block(&offsets, &data), wanted);
    }
}
