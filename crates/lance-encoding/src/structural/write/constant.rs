//! Constant pages: all values are missing, or (2.2) all that are there are the same.
//!
//! ```text
//! nothing but nulls, one layer       no buffers
//! nothing but missing values         repetition levels, definition levels
//! one value of up to 32 bytes        no buffers, or the two levels
//! one value otherwise                the value; then the two levels, if there are any
//! ```

use arrow_buffer::Buffer;
use bytes::Bytes;

use super::levels::{LevelCodec, raw};
use super::page::Page;
use crate::block::{Block, Offsets};
use crate::proto::page_layout::Layout;
use crate::proto::{ConstantLayout, RepDefLayer};
use crate::rules::Rules;

/// Longer values are put into a buffer.
const INLINE_BYTES: usize = 32;

type Encoded = (Layout, Vec<Vec<Bytes>>);

/// Rows of a struct without members.
pub(super) fn empty_struct() -> Encoded {
    let layers = vec![RepDefLayer::RepdefNullableItem.into()];
    (Layout::ConstantLayout(ConstantLayout { layers, ..ConstantLayout::default() }), vec![])
}

/// A page without values.
pub(super) fn all_missing(page: &Page, rules: &Rules) -> Encoded {
    if page.numbering.layers().len() == 1 {
        // The same bytes, and for the same reason: there is nothing to say.
        return empty_struct();
    }
    let mut layout = ConstantLayout { layers: page.layers(), ..ConstantLayout::default() };
    let (repetition, definition) = (page.levels.repetition.as_deref(), page.levels.definition.as_deref());
    if !rules.packed_null_levels {
        return (Layout::ConstantLayout(layout), levels(page));
    }
    let pack = |levels: Option<&[u16]>| {
        let Some(levels) = levels else { return (None, 0, vec![]) };
        let codec = LevelCodec::choose(levels, rules);
        let mut bytes = vec![];
        codec.encode(levels, &mut bytes);
        (Some(codec.encoding()), levels.len() as u64, vec![Bytes::from(bytes)])
    };
    let (rep_buffer, def_buffer);
    (layout.rep_compression, layout.num_rep_values, rep_buffer) = pack(repetition);
    (layout.def_compression, layout.num_def_values, def_buffer) = pack(definition);
    (Layout::ConstantLayout(layout), vec![rep_buffer, def_buffer])
}

/// `page`, if all values that are there are the same.
pub(super) fn one_value(page: &Page) -> Option<Encoded> {
    let value = Value::only_of(page)?;
    let mut layout = ConstantLayout { layers: page.layers(), ..ConstantLayout::default() };
    let mut buffers = vec![];
    match value {
        Value::Inline(bytes) => layout.inline_value = Some(bytes),
        Value::Buffers(parts) => buffers.push(scalar(&parts)),
    }
    if page.levels.repetition.is_some() || page.levels.definition.is_some() {
        buffers.extend(levels(page));
    }
    Some((Layout::ConstantLayout(layout), buffers))
}

fn levels(page: &Page) -> Vec<Vec<Bytes>> {
    let raw = |levels: &Option<Vec<u16>>| vec![Bytes::from(raw(levels.as_deref()))];
    vec![raw(&page.levels.repetition), raw(&page.levels.definition)]
}

/// A value, as the buffers of an array of one value have it.
enum Value {
    Inline(Bytes),
    Buffers(Vec<Bytes>),
}

impl Value {
    fn only_of(page: &Page) -> Option<Self> {
        match page.values.first()? {
            Block::Bits(_) => {
                let bits = page.values.iter().filter_map(|block| match block {
                    Block::Bits(bits) => Some(bits.iter()),
                    _ => None,
                });
                let bit = only(bits.flatten(), page)?;
                Some(Self::Inline(vec![u8::from(bit)].into()))
            }
            Block::Fixed { width, bytes } => {
                let parts = || page.values.iter().filter_map(Block::fixed_bytes);
                let first = bytes.get(..*width)?;
                let value = if page.levels.definition.is_none() {
                    parts().all(|part| repeats(part, first)).then_some(first)
                } else {
                    only(parts().flat_map(|part| part.chunks_exact(*width)), page)
                };
                let value = Bytes::copy_from_slice(value?);
                Some(if value.len() <= INLINE_BYTES {
                    Self::Inline(value)
                } else {
                    Self::Buffers(vec![value])
                })
            }
            Block::Variable { offsets, .. } => {
                let large = matches!(offsets, Offsets::Large(_));
                let values = page.values.iter().flat_map(|block| {
                    let (offsets, data) = match block {
                        Block::Variable { offsets, data } => (Some(offsets), Some(data)),
                        _ => (None, None),
                    };
                    let values = 0..offsets.map_or(0, Offsets::len);
                    values.filter_map(move |value| data?.get(offsets?.range(value)))
                });
                let value = only(values, page)?;
                let ends = [0, value.len()].into_iter();
                let offsets: Vec<u8> = if large {
                    ends.flat_map(|end| (end as u64).to_le_bytes()).collect()
                } else {
                    ends.filter_map(|end| i32::try_from(end).ok()).flat_map(i32::to_le_bytes).collect()
                };
                Some(Self::Buffers(vec![offsets.into(), Bytes::copy_from_slice(value)]))
            }
            Block::Null(_) | Block::FixedSizeList { .. } => None,
        }
    }
}

/// The value that all of `values` are that are not missing.
fn only<T: PartialEq>(values: impl Iterator<Item = T>, page: &Page) -> Option<T> {
    let mut there = page.validity();
    let mut values = values.filter(|_| there.as_mut().is_none_or(|there| there.next() == Some(true)));
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Whether `bytes` is `value` over and over.
fn repeats(bytes: &Buffer, value: &[u8]) -> bool {
    let shifted = bytes.get(value.len()..).unwrap_or_default();
    bytes.starts_with(value) && bytes.starts_with(shifted)
}

/// How many buffers there are, the size of each, the buffers.
fn scalar(parts: &[Bytes]) -> Vec<Bytes> {
    let mut head = vec![];
    // A value of 4 GiB or more is in no page.
    let sizes = parts.iter().map(Bytes::len);
    for number in std::iter::once(parts.len()).chain(sizes) {
        head.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }
    std::iter::once(Bytes::from(head)).chain(parts.iter().cloned()).collect()
}
