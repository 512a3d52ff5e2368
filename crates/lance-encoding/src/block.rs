//! A block: the uncompressed values of a leaf, as buffers, without their validity.

use std::ops::{Add, Range, Sub};

use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use bytes::Bytes;
use lance_footer::{FormatError, Result};

/// Values of one leaf. Slots of nulls hold whatever the array had there.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    /// No values at all, only how many there would be.
    Null(usize),
    /// One bit a value.
    Bits(BooleanBuffer),
    /// `width` bytes a value.
    Fixed {
        /// Bytes of a value, at least 1.
        width: usize,
        /// The values, one after the other.
        bytes: Buffer,
    },
    /// Strings of bytes.
    Variable {
        /// Where each starts, and where the last ends.
        offsets: Offsets,
        /// The bytes; there may be more before the first and after the last.
        data: Buffer,
    },
    /// `dimension` items a value.
    FixedSizeList {
        /// Items of a value, at least 1.
        dimension: usize,
        /// Which items are null.
        validity: Option<NullBuffer>,
        /// The items of all values.
        items: Box<Block>,
    },
}

/// Offsets of strings, or of the items of lists.
#[derive(Debug, Clone)]
pub(crate) enum Offsets {
    /// 32 bits each.
    Small(OffsetBuffer<i32>),
    /// 64 bits each.
    Large(OffsetBuffer<i64>),
}

impl Offsets {
    /// Values, one less than there are offsets.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Small(offsets) => offsets.len().saturating_sub(1),
            Self::Large(offsets) => offsets.len().saturating_sub(1),
        }
    }

    /// Bytes of an offset.
    pub(crate) const fn width(&self) -> usize {
        match self {
            Self::Small(_) => 4,
            Self::Large(_) => 8,
        }
    }

    /// Offset `index`; that of the end for anything beyond.
    pub(crate) fn at(&self, index: usize) -> usize {
        match self {
            Self::Small(offsets) => offsets.get(index).or(offsets.last()).map_or(0, |at| at.as_usize()),
            Self::Large(offsets) => offsets.get(index).or(offsets.last()).map_or(0, |at| at.as_usize()),
        }
    }

    /// What value `index` spans.
    pub(crate) fn range(&self, index: usize) -> Range<usize> {
        self.at(index)..self.at(index + 1)
    }

    /// The value that has byte `position`, or the first after it; the last for a position that none has.
    pub(crate) fn index_at(&self, position: usize) -> usize {
        fn index_at<O: ArrowNativeType>(offsets: &[O], position: usize) -> usize {
            let ends = offsets.get(1..).unwrap_or_default();
            ends.partition_point(|end| end.as_usize() <= position).min(ends.len().saturating_sub(1))
        }
        match self {
            Self::Small(offsets) => index_at(offsets, position),
            Self::Large(offsets) => index_at(offsets, position),
        }
    }

    /// The offsets of `values`.
    pub(crate) fn slice(&self, values: Range<usize>) -> Self {
        match self {
            Self::Small(offsets) => Self::Small(offsets.slice(values.start, values.len())),
            Self::Large(offsets) => Self::Large(offsets.slice(values.start, values.len())),
        }
    }

    /// Those of 32 bits.
    fn small(&self) -> Option<&[i32]> {
        match self {
            Self::Small(offsets) => Some(offsets),
            Self::Large(_) => None,
        }
    }

    /// Those of 64 bits.
    fn large(&self) -> Option<&[i64]> {
        match self {
            Self::Small(_) => None,
            Self::Large(offsets) => Some(offsets),
        }
    }

    /// Whether a value has bytes for which `keep` says no.
    fn any_without(&self, keep: impl Iterator<Item = bool>) -> bool {
        fn any<O: PartialEq>(offsets: &[O], keep: impl Iterator<Item = bool>) -> bool {
            offsets
                .iter()
                .zip(offsets.iter().skip(1))
                .zip(keep)
                .any(|((start, end), keep)| !keep && start != end)
        }
        match self {
            Self::Small(offsets) => any(offsets, keep),
            Self::Large(offsets) => any(offsets, keep),
        }
    }

    /// Bytes of the longest value.
    pub(crate) fn longest(&self) -> usize {
        fn longest<O: ArrowNativeType + Sub<Output = O>>(offsets: &[O]) -> usize {
            let pairs = offsets.iter().zip(offsets.iter().skip(1));
            pairs.map(|(start, end)| (*end - *start).as_usize()).max().unwrap_or(0)
        }
        match self {
            Self::Small(offsets) => longest(offsets),
            Self::Large(offsets) => longest(offsets),
        }
    }

    /// Offsets from 0 on of values of these `lengths`.
    pub(crate) fn from_lengths(large: bool, lengths: impl Iterator<Item = usize>) -> Result<Self> {
        let mut end = 0_usize;
        let ends = std::iter::once(0).chain(lengths.map(|length| {
            end = end.saturating_add(length);
            end
        }));
        let too_long =
            |_| FormatError::unsupported("strings of more than 2 GiB in a page, with 32-bit offsets");
        if large {
            let offsets = ends.map(i64::try_from).collect::<Result<Vec<_>, _>>().map_err(too_long)?;
            Ok(Self::Large(OffsetBuffer::new(offsets.into())))
        } else {
            let offsets = ends.map(i32::try_from).collect::<Result<Vec<_>, _>>().map_err(too_long)?;
            Ok(Self::Small(OffsetBuffer::new(offsets.into())))
        }
    }
}

impl Block {
    /// The values of `array`, which must be of a type that is stored as it is. Nothing is copied.
    pub(crate) fn from_array(array: &ArrayRef) -> Result<Self> {
        let len = array.len();
        let unknown = || FormatError::unsupported(format!("values of the type {}", array.data_type()));
        match array.data_type() {
            DataType::Null => Ok(Self::Null(len)),
            DataType::Boolean => Ok(Self::Bits(array.as_boolean().values().clone())),
            DataType::Utf8 => Ok(variable(array.as_string::<i32>(), Offsets::Small)),
            DataType::LargeUtf8 => Ok(variable(array.as_string::<i64>(), Offsets::Large)),
            DataType::Binary => Ok(variable(array.as_binary::<i32>(), Offsets::Small)),
            DataType::LargeBinary => Ok(variable(array.as_binary::<i64>(), Offsets::Large)),
            DataType::FixedSizeList(_, dimension) => {
                let dimension = usize::try_from(*dimension).map_err(|_| unknown())?;
                let list = array.as_fixed_size_list();
                let start = usize::try_from(list.value_offset(0)).map_err(|_| unknown())?;
                let items = list.values().slice(start, len.saturating_mul(dimension));
                let validity = items.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
                let items = Box::new(Self::from_array(&items)?);
                Ok(Self::FixedSizeList { dimension, validity, items })
            }
            other => {
                let width = match other {
                    DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
                    other => other.primitive_width(),
                };
                let width = width.filter(|width| *width > 0).ok_or_else(unknown)?;
                let data = array.to_data();
                let buffer = data.buffers().first().ok_or_else(unknown)?;
                let (start, size) = (data.offset().saturating_mul(width), len.saturating_mul(width));
                if start.saturating_add(size) > buffer.len() {
                    return Err(unknown());
                }
                Ok(Self::Fixed { width, bytes: buffer.slice_with_length(start, size) })
            }
        }
    }

    /// Values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Null(len) => *len,
            Self::Bits(bits) => bits.len(),
            Self::Fixed { width, bytes } => bytes.len() / width.max(&1),
            Self::Variable { offsets, .. } => offsets.len(),
            Self::FixedSizeList { dimension, items, .. } => items.len() / dimension.max(&1),
        }
    }

    /// The values at `range`, which must lie inside.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::Null(_) => Self::Null(range.len()),
            Self::Bits(bits) => Self::Bits(bits.slice(range.start, range.len())),
            Self::Fixed { width, bytes } => Self::Fixed {
                width: *width,
                bytes: bytes.slice_with_length(range.start * width, range.len() * width),
            },
            Self::Variable { offsets, data } => {
                Self::Variable { offsets: offsets.slice(range), data: data.clone() }
            }
            Self::FixedSizeList { dimension, validity, items } => {
                let (start, len) = (range.start * dimension, range.len() * dimension);
                Self::FixedSizeList {
                    dimension: *dimension,
                    validity: validity
                        .as_ref()
                        .map(|validity| validity.slice(start, len))
                        .filter(|validity| validity.null_count() > 0),
                    items: Box::new(items.slice(start..start + len)),
                }
            }
        }
    }

    /// Bytes in memory of the values at `range`.
    pub(crate) fn bytes(&self, range: Range<usize>) -> usize {
        match self {
            // As if they had a bit each: a page of nulls has levels, and so must end somewhere too.
            Self::Null(_) | Self::Bits(_) => range.len().div_ceil(8),
            Self::Fixed { width, .. } => range.len().saturating_mul(*width),
            Self::Variable { offsets, .. } => {
                offsets.at(range.end) - offsets.at(range.start) + range.len() * offsets.width()
            }
            Self::FixedSizeList { dimension, validity, items } => {
                let inner = range.start * dimension..range.end * dimension;
                let bitmap = if validity.is_some() { inner.len().div_ceil(8) } else { 0 };
                items.bytes(inner) + bitmap
            }
        }
    }

    /// All of `blocks`, which are of the same kind, as one. A single one is not copied.
    pub(crate) fn concat(blocks: &[Self]) -> Result<Self> {
        let first = match blocks {
            [] => return Ok(Self::Null(0)),
            [only] => return Ok(only.clone()),
            [first, ..] => first,
        };
        Ok(match first {
            Self::Null(_) => Self::Null(blocks.iter().map(Self::len).sum()),
            Self::Bits(_) => {
                let mut all = BooleanBufferBuilder::new(blocks.iter().map(Self::len).sum());
                for block in blocks {
                    if let Self::Bits(bits) = block {
                        all.append_buffer(bits);
                    }
                }
                Self::Bits(all.finish())
            }
            Self::Fixed { width, .. } => {
                let parts = || blocks.iter().filter_map(Self::fixed_bytes);
                let mut all = Vec::with_capacity(parts().map(|part| part.len()).sum());
                parts().for_each(|part| all.extend_from_slice(part));
                Self::Fixed { width: *width, bytes: all.into() }
            }
            Self::Variable { offsets, .. } => concat_variable(blocks, offsets.width() == 8)?,
            Self::FixedSizeList { dimension, .. } => concat_lists(blocks, *dimension)?,
        })
    }

    /// The values of a block of fixed width.
    pub(crate) fn fixed_bytes(&self) -> Option<&Buffer> {
        match self {
            Self::Fixed { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// The same, with the strings emptied for which `keep` says no. Copies only if there is one.
    pub(crate) fn without(self, keep: impl Iterator<Item = bool> + Clone) -> Result<Self> {
        let Self::Variable { offsets, data } = &self else { return Ok(self) };
        if !offsets.any_without(keep.clone()) {
            return Ok(self);
        }
        let values = || keep.clone().enumerate().map(|(index, keep)| (offsets.range(index), keep));
        let kept = || values().map(|(range, keep)| if keep { range } else { range.start..range.start });
        let new = Offsets::from_lengths(offsets.width() == 8, kept().map(|range| range.len()))?;
        let mut bytes = Vec::with_capacity(new.at(new.len()));
        for range in kept() {
            bytes.extend_from_slice(data.get(range).unwrap_or_default());
        }
        Ok(Self::Variable { offsets: new, data: bytes.into() })
    }
}

/// The bytes of blocks of fixed width, from the first on.
pub(crate) struct Parts<'a> {
    rest: Vec<&'a [u8]>,
}

impl<'a> Parts<'a> {
    /// The width of `blocks` and their bytes; none if a block is not of this width, or there is none.
    pub(crate) fn new(blocks: &'a [Block]) -> Option<(usize, Self)> {
        let Some(Block::Fixed { width, .. }) = blocks.first() else { return None };
        let part = |block: &'a Block| match block {
            Block::Fixed { width: own, bytes } if own == width => Some(bytes.as_slice()),
            _ => None,
        };
        // The next is the last.
        let rest = blocks.iter().rev().map(part).collect::<Option<_>>()?;
        Some((*width, Self { rest }))
    }

    /// Hands the next `count` bytes to `take`, in pieces.
    pub(crate) fn next(&mut self, mut count: usize, mut take: impl FnMut(&'a [u8])) {
        while count > 0
            && let Some(part) = self.rest.pop()
        {
            let (now, later) = part.split_at_checked(count).unwrap_or((part, &[]));
            take(now);
            count -= now.len();
            if !later.is_empty() {
                self.rest.push(later);
            }
        }
    }
}

/// The bytes of an Arrow buffer, shared, not copied.
pub(crate) fn shared(buffer: Buffer) -> Bytes {
    struct Owner(Buffer);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Owner(buffer))
}

fn variable<T: arrow_array::types::ByteArrayType>(
    array: &arrow_array::GenericByteArray<T>,
    wrap: impl Fn(OffsetBuffer<T::Offset>) -> Offsets,
) -> Block {
    Block::Variable { offsets: wrap(array.offsets().clone()), data: array.values().clone() }
}

fn concat_variable(blocks: &[Block], large: bool) -> Result<Block> {
    let parts = || {
        blocks.iter().filter_map(|block| match block {
            Block::Variable { offsets, data } => Some((offsets, data)),
            _ => None,
        })
    };
    let total: usize = parts().map(|(offsets, _)| offsets.at(offsets.len()) - offsets.at(0)).sum();
    let count = parts().map(|(offsets, _)| offsets.len()).sum::<usize>() + 1;
    let too_long = |_| FormatError::unsupported("more than 2 GiB of strings in a page, with 32-bit offsets");
    let all = if large {
        let all = joined(count, parts().filter_map(|(offsets, _)| offsets.large()));
        Offsets::Large(OffsetBuffer::new(all.into()))
    } else {
        i32::try_from(total).map_err(too_long)?;
        let all = joined(count, parts().filter_map(|(offsets, _)| offsets.small()));
        Offsets::Small(OffsetBuffer::new(all.into()))
    };
    let mut bytes = Vec::with_capacity(total);
    for (offsets, data) in parts() {
        bytes.extend_from_slice(data.get(offsets.at(0)..offsets.at(offsets.len())).unwrap_or_default());
    }
    Ok(Block::Variable { offsets: all, data: bytes.into() })
}

/// `parts` such that each goes on where the one before it ended. The end must be known to fit.
fn joined<'a, O: ArrowNativeType + Add<Output = O> + Sub<Output = O>>(
    count: usize,
    parts: impl Iterator<Item = &'a [O]>,
) -> Vec<O> {
    let mut all = Vec::with_capacity(count);
    let mut end = O::default();
    all.push(end);
    for part in parts {
        let (first, base) = (part.first().copied().unwrap_or_default(), end);
        all.extend(part.iter().skip(1).map(|offset| *offset - first + base));
        end = all.last().copied().unwrap_or_default();
    }
    all
}

fn concat_lists(blocks: &[Block], dimension: usize) -> Result<Block> {
    let mut items = vec![];
    let mut bits = BooleanBufferBuilder::new(0);
    let mut nulls = false;
    for block in blocks {
        let Block::FixedSizeList { validity, items: own, .. } = block else { continue };
        match validity {
            Some(validity) => bits.append_buffer(validity.inner()),
            None => bits.append_n(own.len(), true),
        }
        nulls |= validity.is_some();
        items.push(own.as_ref().clone());
    }
    let validity = nulls.then(|| NullBuffer::new(bits.finish()));
    Ok(Block::FixedSizeList { dimension, validity, items: Box::new(Block::concat(&items)?) })
}
