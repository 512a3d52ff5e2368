//! Packed structs: the members of a row side by side.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Fields};
use lance_footer::{FormatError, Result};

use super::values::{Buffers, encoding, no_nulls};
use crate::block::Block;
use crate::field::at_member;
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::proto::array::buffer::BufferType;
use crate::proto::array::{self as proto, ArrayEncoding};
use crate::storage::Storage;

/// What rows consist of.
pub(super) struct PackedWriter {
    members: Vec<Member>,
}

struct Member {
    name: String,
    /// Bytes of a value.
    width: usize,
    /// What is said of it, which means nothing to readers.
    encoding: ArrayEncoding,
}

impl PackedWriter {
    /// Of `fields`, which must have whole bytes.
    pub(super) fn new(fields: &Fields) -> Result<Self> {
        let mut members = Vec::with_capacity(fields.len());
        for field in fields {
            let name = field.name().clone();
            let refuse = || {
                let what = format!("{} in a packed struct, where all is of whole bytes", field.data_type());
                Err(at_member(FormatError::unsupported(what), &name))
            };
            let storage = Storage::of(field.data_type()).map_err(|error| at_member(error, &name))?;
            let bits = match field.data_type() {
                DataType::FixedSizeList(item, _) if *item.data_type() == DataType::Boolean => {
                    return refuse();
                }
                _ => storage.bits(),
            };
            match bits {
                Some(bits) if bits > 0 && bits % 8 == 0 => {
                    let encoding = described(field.data_type());
                    members.push(Member { name, width: bits / 8, encoding });
                }
                _ => return refuse(),
            }
        }
        if members.is_empty() {
            return Err(FormatError::unsupported("a packed struct without members"));
        }
        Ok(Self { members })
    }

    /// An error if there is a null in `array`.
    pub(super) fn check(&self, array: &ArrayRef) -> Result<()> {
        let null =
            || FormatError::unsupported("a null in a packed struct, which file version 2.0 cannot hold");
        if array.null_count() > 0 {
            return Err(null());
        }
        let columns = array.as_struct_opt().map(|structs| structs.columns()).unwrap_or_default();
        for (member, column) in self.members.iter().zip(columns) {
            if has_nulls(column) {
                return Err(at_member(null(), &member.name));
            }
        }
        Ok(())
    }

    /// The rows of `arrays`.
    pub(super) fn encode(&self, arrays: &[ArrayRef], buffers: &mut Buffers) -> Result<ArrayEncoding> {
        let stride: usize = self.members.iter().map(|member| member.width).sum();
        let count: usize = arrays.iter().map(|array| array.len()).sum();
        let mut rows = vec![0_u8; stride.saturating_mul(count)];
        let mut first = 0;
        for array in arrays {
            let columns = array.as_struct_opt().map(|structs| structs.columns()).unwrap_or_default();
            let mut start = 0;
            for (member, column) in self.members.iter().zip(columns) {
                let bytes = plain(column)?;
                let places = rows.chunks_exact_mut(stride).skip(first);
                for (place, value) in places.zip(bytes.chunks_exact(member.width)) {
                    if let Some(place) = place.get_mut(start..start + member.width) {
                        place.copy_from_slice(value);
                    }
                }
                start += member.width;
            }
            first += array.len();
        }
        let buffer = buffers.add(vec![rows.into()]);
        let inner = self.members.iter().map(|member| member.encoding.clone()).collect();
        Ok(encoding(Kind::PackedStruct(proto::PackedStruct { inner, buffer })))
    }
}

fn has_nulls(array: &ArrayRef) -> bool {
    if array.null_count() > 0 {
        return true;
    }
    array.as_fixed_size_list_opt().is_some_and(|list| {
        let at = |index| usize::try_from(list.value_offset(index)).unwrap_or_default();
        has_nulls(&list.values().slice(at(0), at(list.len()) - at(0)))
    })
}

/// The bytes of values of fixed width, those of lists one after the other.
fn plain(array: &ArrayRef) -> Result<arrow_buffer::Buffer> {
    let mut block = Block::from_array(array)?;
    loop {
        match block {
            Block::Fixed { bytes, .. } => return Ok(bytes),
            Block::FixedSizeList { items, .. } => block = *items,
            _ => return Err(FormatError::unsupported("a member of a packed struct that has no fixed width")),
        }
    }
}

/// What is said of a member of `data_type`.
fn described(data_type: &DataType) -> ArrayEncoding {
    if let DataType::FixedSizeList(item, len) = data_type {
        let list = proto::FixedSizeList {
            dimension: u32::try_from(*len).unwrap_or_default(),
            items: Some(Box::new(described(item.data_type()))),
            has_validity: false,
        };
        return no_nulls(encoding(Kind::FixedSizeList(Box::new(list))));
    }
    let bits = Storage::of(data_type).ok().and_then(|storage| storage.bits()).unwrap_or_default();
    let buffer = Some(proto::Buffer { buffer_index: 0, buffer_type: BufferType::Page as i32 });
    no_nulls(encoding(Kind::Flat(proto::Flat { bits_per_value: bits as u64, buffer, compression: None })))
}
