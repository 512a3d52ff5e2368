//! Values as array encodings, and the buffers that these name.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBufferBuilder, Buffer};
use arrow_schema::DataType;
use bytes::Bytes;
use lance_footer::{FormatError, Result};

use super::{dictionary, strings};
use crate::block::{Block, shared};
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::proto::array::buffer::BufferType;
use crate::proto::array::nullable::Nullability;
use crate::proto::array::{self as proto, ArrayEncoding};
use crate::settings::Compression;

/// The buffers of a page, in the order of their numbers.
#[derive(Default)]
pub(super) struct Buffers(Vec<Vec<Bytes>>);

impl Buffers {
    /// Adds one that consists of `parts`.
    pub(super) fn add(&mut self, parts: Vec<Bytes>) -> Option<proto::Buffer> {
        let buffer_index = u32::try_from(self.0.len()).ok()?;
        self.0.push(parts);
        Some(proto::Buffer { buffer_index, buffer_type: BufferType::Page as i32 })
    }

    /// All of them.
    pub(super) fn into_parts(self) -> Vec<Vec<Bytes>> {
        self.0
    }
}

/// The values of `arrays`, which have `data_type`. Compression is for strings.
pub(super) fn values(
    arrays: &[ArrayRef],
    data_type: &DataType,
    compression: Option<Compression>,
    buffers: &mut Buffers,
) -> Result<ArrayEncoding> {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
            strings::encode(arrays, data_type, compression, buffers)
        }
        DataType::Dictionary(..) => dictionary::encode(arrays, buffers),
        DataType::FixedSizeList(item, _) => nullable(arrays, buffers, |buffers| {
            let items = arrays.iter().map(items).collect::<Result<Vec<_>>>()?;
            let dimension = match data_type {
                DataType::FixedSizeList(_, len) => u32::try_from(*len).unwrap_or_default(),
                _ => 0,
            };
            let items = values(&items, item.data_type(), None, buffers)?;
            let items = Some(Box::new(items));
            let list = proto::FixedSizeList { dimension, items, has_validity: false };
            Ok(encoding(Kind::FixedSizeList(Box::new(list))))
        }),
        _ => nullable(arrays, buffers, |buffers| flat_values(arrays, buffers)),
    }
}

/// What is stored of `arrays`: nothing if all values are null, else what `values` makes, and a bit a value if some are.
fn nullable(
    arrays: &[ArrayRef],
    buffers: &mut Buffers,
    values: impl FnOnce(&mut Buffers) -> Result<ArrayEncoding>,
) -> Result<ArrayEncoding> {
    let len: usize = arrays.iter().map(|array| array.len()).sum();
    let null_type = arrays.iter().all(|array| *array.data_type() == DataType::Null);
    let nulls = if null_type { len } else { arrays.iter().map(|array| array.null_count()).sum() };
    let nullability = if nulls == len {
        Nullability::AllNulls(proto::AllNull {})
    } else if nulls == 0 {
        Nullability::NoNulls(Box::new(proto::NoNull { values: Some(Box::new(values(buffers)?)) }))
    } else {
        let mut validity = BooleanBufferBuilder::new(len);
        for array in arrays {
            match array.nulls() {
                Some(nulls) => validity.append_buffer(nulls.inner()),
                None => validity.append_n(array.len(), true),
            }
        }
        let validity = Some(Box::new(bits(validity, buffers)));
        let values = Some(Box::new(values(buffers)?));
        Nullability::SomeNulls(Box::new(proto::SomeNull { validity, values }))
    };
    Ok(encoding(Kind::Nullable(Box::new(proto::Nullable { nullability: Some(nullability) }))))
}

/// Values of which none is null, as far as that is said here.
pub(super) fn no_nulls(values: ArrayEncoding) -> ArrayEncoding {
    let nulls = proto::NoNull { values: Some(Box::new(values)) };
    let nullability = Some(Nullability::NoNulls(Box::new(nulls)));
    encoding(Kind::Nullable(Box::new(proto::Nullable { nullability })))
}

/// Values of `bits_per_value` bits in a buffer of their own.
pub(super) fn flat(bits_per_value: u64, parts: Vec<Bytes>, buffers: &mut Buffers) -> ArrayEncoding {
    let buffer = buffers.add(parts);
    encoding(Kind::Flat(proto::Flat { bits_per_value, buffer, compression: None }))
}

/// An encoding of this kind.
pub(super) const fn encoding(kind: Kind) -> ArrayEncoding {
    ArrayEncoding { array_encoding: Some(kind) }
}

fn flat_values(arrays: &[ArrayRef], buffers: &mut Buffers) -> Result<ArrayEncoding> {
    let blocks = arrays.iter().map(Block::from_array).collect::<Result<Vec<_>>>()?;
    let Some(Block::Fixed { width, .. }) = blocks.first() else {
        let mut all = BooleanBufferBuilder::new(blocks.iter().map(Block::len).sum());
        for block in &blocks {
            match block {
                Block::Bits(bits) => all.append_buffer(bits),
                _ => return Err(FormatError::unsupported("values that are not flat")),
            }
        }
        return Ok(bits(all, buffers));
    };
    let bits = *width as u64 * 8;
    let parts = blocks.iter().filter_map(Block::fixed_bytes).cloned().map(shared);
    Ok(flat(bits, parts.collect(), buffers))
}

fn bits(mut bits: BooleanBufferBuilder, buffers: &mut Buffers) -> ArrayEncoding {
    let bytes = bits.len().div_ceil(8);
    let buffer: Buffer = bits.finish().into_inner();
    flat(1, vec![shared(buffer.slice_with_length(0, bytes))], buffers)
}

/// The items of all lists of `array`, those of null lists too.
fn items(array: &ArrayRef) -> Result<ArrayRef> {
    let list = array.as_fixed_size_list_opt();
    let list =
        list.ok_or_else(|| FormatError::unsupported(format!("lists of type {}", array.data_type())))?;
    let at = |list_index| usize::try_from(list.value_offset(list_index)).unwrap_or_default();
    Ok(list.values().slice(at(0), at(list.len()) - at(0)))
}
