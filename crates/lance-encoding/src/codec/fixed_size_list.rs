//! Fixed-size lists of values of fixed width, one level of lists a codec.
//!
//! With `c` items in a list (counted over all levels down to this one) and validity of items where a level has
//! it:
//!
//! ```text
//! mini-block   one bitmap buffer of n * c bits a level with validity, outermost first | one buffer of items
//! per value    ceil(c / 8) bitmap bytes a level with validity, outermost first | the items
//! ```
//!
//! Validity of the outermost lists is in the definition levels. Items under a null are there, as fillers; bits
//! of a value's bitmap past its items are garbage.

use std::ops::Range;

use arrow_buffer::{Buffer, NullBuffer};
use lance_footer::{FormatError, Result};

use super::constant::Constant;
use super::flat::{encoding as flat, write_bits};
use super::{Codec, Picks, corrupt};
use crate::block::Block;
use crate::bounds;
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};
use crate::scheme::{Asked, ChunkBuffers, Chunks, Proposal, Scheme, fixed_chunks, fixed_count, plain_bytes};
use crate::storage::Storage;
use crate::values::{Values, misfit};

/// Lists of the same length.
#[derive(Debug, Clone)]
pub(crate) struct FixedSizeList {
    /// Items of a list.
    pub(crate) len: usize,
    /// Whether there is a bitmap that says which items are there.
    pub(crate) has_validity: bool,
    /// How the items are stored.
    pub(crate) items: Box<Codec>,
}

impl FixedSizeList {
    pub(super) fn parse(list: &proto::FixedSizeList, items: Codec) -> Result<Self> {
        match items {
            Codec::Flat(_) | Codec::FixedSizeList(_) | Codec::Constant(_) => Ok(Self {
                len: bounds::size(list.items_per_value, "codec")?,
                has_validity: list.has_validity,
                items: Box::new(items),
            }),
            other => Err(corrupt(format!("a fixed-size list of {}", other.name()))),
        }
    }

    pub(super) fn fits(&self, storage: &Storage) -> bool {
        matches!(storage, Storage::List { len, items } if *len == self.len && self.items.fits(items))
    }

    /// Whether any level has validity, or items that are not stored.
    pub(crate) fn validity_inside(&self) -> bool {
        self.has_validity
            || match &*self.items {
                Codec::FixedSizeList(inner) => inner.validity_inside(),
                Codec::Constant(_) => true,
                _ => false,
            }
    }

    /// Bytes of one value of a full-zip page. An error if they are not whole.
    pub(crate) fn value_bytes(&self) -> Result<usize> {
        let bytes = self.parts(1)?.into_iter().try_fold(0, usize::checked_add);
        bytes.ok_or_else(|| corrupt("a fixed-size list that is too large"))
    }

    pub(crate) fn decode_mini_block(&self, buffers: &[&[u8]], picks: &Picks, out: &mut Values) -> Result<()> {
        let Values::List(lists) = out else { return Err(misfit("lists")) };
        let items = picks.times(self.len)?;
        lists.check_items(items.len())?;
        let rest = match buffers.split_first() {
            Some((bitmap, rest)) if self.has_validity => {
                let due = items.count().div_ceil(8);
                bounds::exactly(bitmap, due, "validity of items")?;
                items.ranges().for_each(|range| lists.validity.push_bits(range, bitmap));
                rest
            }
            _ if self.has_validity => return Err(corrupt("a fixed-size list without its bitmap")),
            _ => buffers,
        };
        lists.count += picks.len();
        // First what may be refused: validity takes memory too.
        self.items.decode_mini_block(rest, &items, &mut lists.items)?;
        match &*self.items {
            _ if self.has_validity => {}
            // Items without a value and without a bitmap, as older writers stored them.
            Codec::Constant(Constant { value: None }) => lists.validity.push_null(items.len()),
            _ => lists.validity.push_valid(items.len()),
        }
        Ok(())
    }

    /// Appends one value of a full-zip page.
    pub(crate) fn decode_value(&self, bytes: &[u8], out: &mut Values) -> Result<()> {
        let mut buffers = vec![];
        let mut rest = bytes;
        for len in self.parts(1)? {
            let (buffer, after) = rest.split_at_checked(len).ok_or_else(|| {
                FormatError::corrupt("fixed-size list", format!("{} bytes are too few", bytes.len()))
            })?;
            buffers.push(buffer);
            rest = after;
        }
        bounds::exactly(rest, 0, "fixed-size list")?;
        self.decode_mini_block(&buffers, &Picks::all(1), out)
    }

    /// Bytes of each buffer of one value, where there are `outer` lists in it.
    fn parts(&self, outer: usize) -> Result<Vec<usize>> {
        let items = bounds::product(outer, self.len, "fixed-size list")?;
        let mut parts = if self.has_validity { vec![items.div_ceil(8)] } else { vec![] };
        match &*self.items {
            Codec::FixedSizeList(inner) => parts.extend(inner.parts(items)?),
            Codec::Flat(flat) => {
                let bits = bounds::product(items, flat.bits, "fixed-size list")?;
                if bits % 8 != 0 {
                    return Err(corrupt(format!("fixed-size lists of {bits} bits in a full-zip page")));
                }
                parts.push(bits / 8);
            }
            _ => {}
        }
        Ok(parts)
    }
}

/// Fixed-size lists.
pub(crate) struct ListScheme;

impl Scheme for ListScheme {
    fn propose<'a>(&self, asked: Asked<'a>) -> Option<Proposal<'a>> {
        let [block] = asked.blocks else { return None };
        let nested = Nested::new(block)?;
        let target = asked.fixed_chunk;
        let chunks = fixed_chunks(nested.bits(), block.len(), target);
        let start = move || -> Result<Box<dyn Chunks>> { Ok(Box::new(Lists { nested, target })) };
        Some(Proposal::new(plain_bytes(asked.blocks), chunks, start))
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

struct Lists<'a> {
    nested: Nested<'a>,
    /// Bytes that a chunk should have.
    target: usize,
}

impl Chunks for Lists<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        encoding(self.nested.block).unwrap_or_default()
    }

    fn buffers(&self) -> usize {
        self.nested.bitmaps.len() + 1
    }

    fn count(&self, _: usize, left: usize) -> usize {
        fixed_count(self.nested.bits(), left, self.target)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        for (per, bits) in &self.nested.bitmaps {
            out.buffer(|bytes| write_bits(bits.inner(), values.start * per..values.end * per, bytes));
        }
        let items = values.start * self.nested.per_value..values.end * self.nested.per_value;
        out.buffer(|out| match self.nested.items {
            Block::Bits(bits) => write_bits(bits, items, out),
            Block::Fixed { width, bytes } => {
                out.extend_from_slice(bytes.get(items.start * width..items.end * width).unwrap_or_default());
            }
            _ => {}
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int16Type;
    use arrow_schema::{DataType, Field};

    use super::*;
    use crate::codec::constant::Constant;
    use crate::codec::flat::Flat;

    fn pairs() -> (DataType, FixedSizeList) {
        let data_type = DataType::FixedSizeList(Field::new("item", DataType::Int16, true).into(), 2);
        let items = Box::new(Codec::Flat(Flat { bits: 16 }));
        (data_type, FixedSizeList { len: 2, has_validity: true, items })
    }

    fn check(values: Values, data_type: &DataType) {
        let array = values.finish(data_type, None).unwrap();
        let items = array.as_fixed_size_list().values();
        let items = items.as_primitive::<Int16Type>();
        assert_eq!(items.iter().take(4).collect::<Vec<_>>(), [Some(1), Some(2), None, Some(4)]);
    }

    #[test]
    fn a_chunk_has_a_bitmap_and_items() {
        let (data_type, codec) = pairs();
        let mut out = Values::new(&Storage::of(&data_type).unwrap());
        let items = [1, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0, 0];
        codec.decode_mini_block(&[&[0x0b], &items], &Picks::all(3), &mut out).unwrap();
        assert_eq!(out.len(), 3);
        check(out, &data_type);
    }

    #[test]
    fn a_value_has_them_too() {
        let (data_type, codec) = pairs();
        assert_eq!(codec.value_bytes().unwrap(), 5);
        let mut out = Values::new(&Storage::of(&data_type).unwrap());
        codec.decode_value(&[0x0b, 1, 0, 2, 0], &mut out).unwrap();
        codec.decode_value(&[0x02, 0, 0, 4, 0], &mut out).unwrap();
        assert!(codec.decode_value(&[0x02, 0, 0, 4], &mut out).is_err());
        check(out, &data_type);
    }

    #[test]
    fn items_that_are_all_null_are_not_stored() {
        let (data_type, _) = pairs();
        let items = Box::new(Codec::Constant(Constant { value: None }));
        let codec = FixedSizeList { len: 2, has_validity: true, items };
        assert_eq!(codec.value_bytes().unwrap(), 1);
        let mut out = Values::new(&Storage::of(&data_type).unwrap());
        codec.decode_value(&[0], &mut out).unwrap();
        let array = out.finish(&data_type, None).unwrap();
        assert_eq!(array.as_fixed_size_list().values().null_count(), 2);
    }
}
