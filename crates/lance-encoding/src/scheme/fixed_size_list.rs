//! Fixed-size lists of bits or of values of fixed width, nested or not.
//!
//! ```text
//! in a chunk     for each nesting with null items, the outermost first: a bitmap of the items
//!                the innermost items
//! zipped         the same for each value alone, each bitmap from a whole byte on
//! ```

use std::ops::Range;

use arrow_buffer::{Buffer, NullBuffer};
use lance_footer::{FormatError, Result};

use super::flat::write_bits;
use super::{ChunkBuffers, Chunks, Scheme, fixed_count, flat, plain_bytes};
use crate::block::Block;
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};

/// Fixed-size lists.
pub(super) struct ListScheme;

impl Scheme for ListScheme {
    fn estimate(&self, blocks: &[Block]) -> Option<u64> {
        let [block] = blocks else { return None };
        Nested::new(block).map(|_| plain_bytes(blocks))
    }

    fn encode<'a>(&self, blocks: &'a [Block]) -> Result<Box<dyn Chunks + 'a>> {
        match blocks.first().and_then(Nested::new) {
            Some(nested) if blocks.len() == 1 => Ok(Box::new(nested)),
            _ => Err(FormatError::unsupported("fixed-size lists of strings")),
        }
    }
}

/// The description of `block` of fixed width.
pub(crate) fn encoding(block: &Block) -> Option<CompressiveEncoding> {
    match block {
        Block::Bits(_) => Some(flat(1)),
        Block::Fixed { width, .. } => Some(flat(*width as u64 * 8)),
        Block::FixedSizeList { dimension, validity, items } => {
            let list = proto::FixedSizeList {
                items_per_value: *dimension as u64,
                values: Some(Box::new(encoding(items)?)),
                has_validity: validity.is_some(),
            };
            Some(CompressiveEncoding { compression: Some(Compression::FixedSizeList(Box::new(list))) })
        }
        Block::Null(_) | Block::Variable { .. } => None,
    }
}

/// The values of `block` one after the other, with the bytes of each; none if that is not whole bytes.
pub(crate) fn zipped(block: &Block) -> Option<(usize, Buffer)> {
    let nested = Nested::new(block)?;
    match nested.items {
        Block::Fixed { width, bytes } if nested.bitmaps.is_empty() => {
            Some((nested.per_value * width, bytes.clone()))
        }
        Block::Fixed { width, bytes } => {
            let items = nested.per_value * width;
            let width = items + nested.bitmaps.iter().map(|(per, _)| per.div_ceil(8)).sum::<usize>();
            let mut out = Vec::with_capacity(width * block.len());
            for value in 0..block.len() {
                for (per, bits) in &nested.bitmaps {
                    write_bits(bits.inner(), value * per..(value + 1) * per, &mut out);
                }
                out.extend_from_slice(bytes.get(value * items..(value + 1) * items).unwrap_or_default());
            }
            Some((width, out.into()))
        }
        Block::Bits(bits) if nested.bitmaps.is_empty() && nested.per_value % 8 == 0 => {
            let mut out = Vec::with_capacity(bits.len() / 8);
            write_bits(bits, 0..bits.len(), &mut out);
            Some((nested.per_value / 8, out.into()))
        }
        _ => None,
    }
}

/// A fixed-size list taken apart.
struct Nested<'a> {
    block: &'a Block,
    /// For each nesting with null items, the items in a value and which are there.
    bitmaps: Vec<(usize, &'a NullBuffer)>,
    /// Innermost items in a value.
    per_value: usize,
    items: &'a Block,
}

impl<'a> Nested<'a> {
    fn new(block: &'a Block) -> Option<Self> {
        let mut nested = Self { block, bitmaps: vec![], per_value: 1, items: block };
        while let Block::FixedSizeList { dimension, validity, items } = nested.items {
            nested.per_value *= dimension;
            nested.bitmaps.extend(validity.as_ref().map(|validity| (nested.per_value, validity)));
            nested.items = items;
        }
        let known = matches!(nested.items, Block::Bits(_) | Block::Fixed { .. });
        (known && matches!(block, Block::FixedSizeList { .. })).then_some(nested)
    }

    fn bits(&self) -> usize {
        let item = match self.items {
            Block::Fixed { width, .. } => width * 8,
            _ => 1,
        };
        self.per_value * item + self.bitmaps.iter().map(|(per_value, _)| per_value).sum::<usize>()
    }
}

impl Chunks for Nested<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        encoding(self.block).unwrap_or_default()
    }

    fn buffers(&self) -> usize {
        self.bitmaps.len() + 1
    }

    fn count(&self, _: usize, left: usize) -> usize {
        fixed_count(self.bits(), left)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        for (per, bits) in &self.bitmaps {
            out.buffer(|bytes| write_bits(bits.inner(), values.start * per..values.end * per, bytes));
        }
        let items = values.start * self.per_value..values.end * self.per_value;
        out.buffer(|out| match self.items {
            Block::Bits(bits) => write_bits(bits, items, out),
            Block::Fixed { width, bytes } => {
                out.extend_from_slice(bytes.get(items.start * width..items.end * width).unwrap_or_default());
            }
            _ => {}
        });
        Ok(())
    }
}
