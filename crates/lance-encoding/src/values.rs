//! Leaf values on their way from chunks and records to one Arrow array.

mod bits;
mod fixed;
mod list;
mod packed;
mod variable;

use std::sync::Arc;

use arrow_array::types::{ArrowDictionaryKeyType, BinaryType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow_array::{ArrayRef, make_array};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use bytes::Bytes;
use lance_footer::{FormatError, Result};

pub(crate) use bits::BitValues;
pub(crate) use fixed::{FixedValues, typed_or_copy};
pub(crate) use list::{list_offsets, too_many_items};
pub(crate) use packed::PackedValues;
pub(crate) use variable::{Offset, VariableValues, too_long};

use crate::bounds;
use crate::budget::over_budget;
use crate::kernel::bitpack::Word;
use crate::storage::Storage;
use crate::validity::Validity;

/// Bytes that values may take whose number was compared with the bytes that they come from.
const UNBOUNDED: usize = usize::MAX;

/// A byte in a file gives rarely more bytes in memory than this.
const BELIEVED_RATIO: usize = 64;

/// Bytes on the way to values that are no values, where there are hardly any.
const SLACK: usize = 1 << 16;

/// An error unless values of `held` bytes, of which there may be `limit`, may grow by `more`. To be called before
/// there are more than the file has bytes: fillers, constants, items of a dictionary.
pub(crate) fn check_room(held: usize, more: usize, limit: usize) -> Result<()> {
    match held.checked_add(more) {
        Some(total) if total <= limit => Ok(()),
        _ if more == 0 => Ok(()),
        _ => Err(over_budget("values", held.saturating_add(more), limit)),
    }
}

/// Bytes that may be taken on the way to values that have this `room`: what is around them, offsets and runs, is not more
/// than they are, or little.
const fn scratch(room: usize) -> usize {
    room.saturating_mul(2).saturating_add(SLACK)
}

/// Values of a leaf. Null slots hold a filler.
#[derive(Debug)]
pub(crate) enum Values {
    /// Slots without values.
    Nothing(usize),
    /// One bit a value.
    Bits(BitValues),
    /// Values of whole bytes.
    Fixed(FixedValues),
    /// Byte strings with 32-bit offsets.
    Small(VariableValues<i32>),
    /// Byte strings with 64-bit offsets.
    Large(VariableValues<i64>),
    /// Lists of the same length.
    List(ListValues),
    /// Indices into dictionaries.
    Dictionary(DictionaryValues),
    /// The members of packed structs, as many values of each.
    Packed(PackedValues),
}

/// Lists of the same length; their own validity is elsewhere.
#[derive(Debug)]
pub(crate) struct ListValues {
    /// Items of a list.
    pub(crate) len: usize,
    /// Bytes that there may be.
    limit: usize,
    /// Number of lists.
    pub(crate) count: usize,
    /// Which items are there.
    pub(crate) validity: Validity,
    /// The items.
    pub(crate) items: Box<Values>,
}

/// Indices, in parts that each have a dictionary of their own.
#[derive(Debug)]
pub(crate) struct DictionaryValues {
    len: usize,
    /// Bytes that there may be.
    limit: usize,
    parts: Vec<(Vec<u64>, Option<ArrayRef>)>,
}

impl Values {
    /// No values yet, of shape `storage`. For values that are known to be few.
    pub(crate) fn new(storage: &Storage) -> Self {
        Self::within(storage, UNBOUNDED)
    }

    /// No values yet, of shape `storage`, which may take `limit` bytes.
    pub(crate) fn within(storage: &Storage, limit: usize) -> Self {
        match storage {
            Storage::Nothing => Self::Nothing(0),
            Storage::Fixed { bits: 1 } => Self::Bits(BitValues::within(limit)),
            Storage::Fixed { bits } => Self::Fixed(FixedValues::within(bits / 8, limit)),
            Storage::Variable { wide: false } => Self::Small(VariableValues::within(limit)),
            Storage::Variable { wide: true } => Self::Large(VariableValues::within(limit)),
            Storage::List { len, items } => Self::List(ListValues {
                len: *len,
                limit,
                count: 0,
                validity: Validity::default(),
                items: Box::new(Self::within(items, limit)),
            }),
            Storage::Dictionary { .. } => Self::Dictionary(DictionaryValues { len: 0, limit, parts: vec![] }),
            Storage::Packed { members } => Self::Packed(PackedValues::within(members, limit)),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Nothing(len) => *len,
            Self::Bits(bits) => bits.len(),
            Self::Fixed(values) => values.len(),
            Self::Small(values) => values.len(),
            Self::Large(values) => values.len(),
            Self::List(lists) => lists.count,
            Self::Dictionary(values) => values.len,
            Self::Packed(members) => members.len(),
        }
    }

    /// `count` fillers: zeros, or empty strings.
    pub(crate) fn append_fillers(&mut self, count: usize) -> Result<()> {
        match self {
            Self::Nothing(len) => *len = add(*len, count)?,
            Self::Bits(bits) => bits.append_repeated(false, count)?,
            Self::Fixed(values) => values.append_zeros(count)?,
            Self::Small(values) => values.append_empty(count)?,
            Self::Large(values) => values.append_empty(count)?,
            Self::List(lists) => {
                let items = bounds::product(count, lists.len, "values")?;
                lists.count = add(lists.count, count)?;
                lists.check_items(items)?;
                // First what may be refused: validity takes memory too.
                lists.items.append_fillers(items)?;
                lists.validity.push_valid(items);
            }
            Self::Dictionary(values) => {
                values.check_more(count)?;
                values.append(vec![0; count], None);
            }
            Self::Packed(members) => members.each(|member| member.append_fillers(count))?,
        }
        Ok(())
    }

    /// `count` values of fixed width as they lie in memory, without validity of items.
    pub(crate) fn append_plain(&mut self, bytes: &[u8], count: usize) -> Result<()> {
        match self {
            Self::Bits(bits) => {
                bounds::exactly(bytes, count.div_ceil(8), "values")?;
                bits.append_range(0..count, bytes);
                Ok(())
            }
            Self::Fixed(values) => {
                bounds::exactly(bytes, bounds::product(count, values.width(), "values")?, "values")?;
                values.append(bytes, count);
                Ok(())
            }
            Self::List(lists) => {
                let items = bounds::product(count, lists.len, "values")?;
                lists.items.append_plain(bytes, items)?;
                lists.count += count;
                lists.validity.push_valid(items);
                Ok(())
            }
            _ => Err(misfit("plain values")),
        }
    }

    /// Appends `count` values of fixed width as they lie in memory. If they are the first, and aligned as Arrow
    /// wants them, they are not copied.
    pub(crate) fn append_shared(&mut self, bytes: Bytes, count: usize, alignment: usize) -> Result<()> {
        match self {
            Self::Fixed(values) => {
                bounds::exactly(&bytes, bounds::product(count, values.width(), "values")?, "values")?;
                values.append_shared(bytes, count, alignment);
                Ok(())
            }
            Self::List(lists) => {
                let items = bounds::product(count, lists.len, "values")?;
                lists.items.append_shared(bytes, items, alignment)?;
                lists.count += count;
                lists.validity.push_valid(items);
                Ok(())
            }
            other => other.append_plain(&bytes, count),
        }
    }

    /// Appends `count` times `value`: the bytes of a number or string, or a byte whose lowest bit is the value.
    pub(crate) fn append_repeated(&mut self, value: &[u8], count: usize) -> Result<()> {
        match self {
            Self::Bits(bits) => bits.append_repeated(value.first().is_some_and(|byte| byte & 1 == 1), count),
            Self::Fixed(values) => values.append_repeated(value, count),
            Self::Small(values) => values.append_repeated(value, count),
            Self::Large(values) => values.append_repeated(value, count),
            _ => Err(misfit("a constant")),
        }
    }

    /// Appends a string that `write` puts at the end of the buffer that it is given, of at most as many bytes as it is
    /// told.
    pub(crate) fn append_string(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>, usize) -> Result<()>,
    ) -> Result<()> {
        let room = self.room();
        match self {
            Self::Small(values) => values.append_with(|data| write(data, room)),
            Self::Large(values) => values.append_with(|data| write(data, room)),
            _ => Err(misfit("strings")),
        }
    }

    /// Makes room for `count` strings of `bytes` bytes in all, which must be bounded by bytes in hand.
    pub(crate) fn reserve_strings(&mut self, count: usize, bytes: usize) {
        match self {
            Self::Small(values) => values.reserve(count, bytes),
            Self::Large(values) => values.reserve(count, bytes),
            _ => {}
        }
    }

    /// Makes room for about `count` values that come out of `stored` bytes in hand, so that what is there need not be
    /// moved when more comes. Where the number is not believable, there is less.
    pub(crate) fn expect(&mut self, count: usize, stored: usize) {
        let most = stored.saturating_mul(BELIEVED_RATIO).min(self.room());
        match self {
            Self::Fixed(values) => values.reserve(count.min(most / values.width().max(1))),
            Self::Small(values) => values.reserve(count.min(most / size_of::<i32>()), 0),
            Self::Large(values) => values.reserve(count.min(most / size_of::<i64>()), 0),
            _ => {}
        }
    }

    /// Makes room for about `bytes` bytes of strings in the same way.
    pub(crate) fn expect_strings(&mut self, bytes: u64, stored: usize) {
        let most = stored.saturating_mul(BELIEVED_RATIO).min(self.room());
        self.reserve_strings(0, usize::try_from(bytes).unwrap_or(usize::MAX).min(most));
    }

    /// Lets `count` more numbers come, for what may take `room` bytes. For indices, which are not kept.
    pub(crate) fn allow(&mut self, count: usize, room: usize) -> Result<()> {
        match self {
            Self::Fixed(values) => values.allow(count, room),
            _ => Err(misfit("indices")),
        }
    }

    /// Appends the values of `dictionary` that `indices` name.
    pub(crate) fn append_gathered<I: Word>(&mut self, dictionary: &Self, indices: &[I]) -> Result<()> {
        match (self, dictionary) {
            (Self::Bits(bits), Self::Bits(items)) => {
                for index in indices {
                    let index = index.to_usize().filter(|index| *index < items.len());
                    bits.append(items.value(index.ok_or_else(|| outside(dictionary.len()))?));
                }
                Ok(())
            }
            (Self::Fixed(values), Self::Fixed(items)) => values.append_gathered(items, indices),
            (Self::Small(values), Self::Small(items)) => values.append_gathered(items, indices),
            (Self::Large(values), Self::Large(items)) => values.append_gathered(items, indices),
            _ => Err(misfit("dictionary")),
        }
    }

    /// The values as an array of `data_type`, which has the shape that they were made for.
    pub(crate) fn finish(self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let len = self.len();
        if let Self::Dictionary(values) = self {
            return values.finish(data_type, nulls);
        }
        if let Self::Packed(members) = self {
            return members.finish(data_type, nulls);
        }
        match (self, data_type) {
            (Self::Small(values), DataType::Utf8) => values.finish_as::<Utf8Type>(nulls),
            (Self::Small(values), DataType::Binary) => values.finish_as::<BinaryType>(nulls),
            (Self::Large(values), DataType::LargeUtf8) => values.finish_as::<LargeUtf8Type>(nulls),
            (Self::Large(values), DataType::LargeBinary) => values.finish_as::<LargeBinaryType>(nulls),
            (values, _) => values.build(data_type, nulls, len),
        }
    }

    fn build(self, data_type: &DataType, nulls: Option<NullBuffer>, len: usize) -> Result<ArrayRef> {
        let builder = ArrayData::builder(data_type.clone()).len(len);
        let builder = match self {
            // The null type has no validity bits, and a struct without members no child.
            Self::Nothing(_) if *data_type == DataType::Null => builder,
            Self::Nothing(_) => builder.nulls(nulls),
            Self::Bits(bits) => builder.nulls(nulls).add_buffer(bits.finish()),
            Self::Fixed(values) => builder.nulls(nulls).add_buffer(values.finish()),
            Self::Small(values) => builder.nulls(nulls).buffers(values.finish()),
            Self::Large(values) => builder.nulls(nulls).buffers(values.finish()),
            Self::List(lists) => {
                let DataType::FixedSizeList(item, _) = data_type else { return Err(misfit("lists")) };
                let items = lists.items.finish(item.data_type(), lists.validity.finish())?;
                builder.nulls(nulls).add_child_data(items.to_data())
            }
            Self::Dictionary(_) | Self::Packed(_) => return Err(misfit("indices")),
        };
        Ok(make_array(builder.build().map_err(invalid)?))
    }

    /// Bytes by which they may still grow.
    pub(crate) fn room(&self) -> usize {
        match self {
            // They take none.
            Self::Nothing(_) => 0,
            Self::Bits(bits) => bits.room(),
            Self::Dictionary(values) => values.limit.saturating_sub(values.weight()),
            Self::Fixed(values) => values.room(),
            Self::Small(values) => values.room(),
            Self::Large(values) => values.room(),
            Self::List(lists) => lists.items.room(),
            Self::Packed(members) => members.room(),
        }
    }

    /// Bytes that may be taken on the way to them, such as they are before they are decompressed.
    pub(crate) fn scratch(&self) -> usize {
        scratch(self.room())
    }

    /// Lets them grow by no more than `room` bytes.
    fn limit_to(&mut self, room: usize) {
        match self {
            Self::Nothing(_) => {}
            Self::Bits(bits) => bits.limit_to(room),
            Self::Dictionary(values) => values.limit = values.weight().saturating_add(room),
            Self::Fixed(values) => values.limit_to(room),
            Self::Small(values) => values.limit_to(room),
            Self::Large(values) => values.limit_to(room),
            Self::List(lists) => {
                lists.limit = lists.items.weight().saturating_add(room);
                lists.items.limit_to(room);
            }
            Self::Packed(members) => members.limit_to(room),
        }
    }

    /// An error if they take more than they may.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Nothing(_) => Ok(()),
            Self::Bits(bits) => bits.check(),
            Self::Dictionary(values) => check_room(0, values.weight(), values.limit),
            Self::Fixed(values) => values.check(),
            Self::Small(values) => values.check(),
            Self::Large(values) => values.check(),
            Self::List(lists) => lists.items.check(),
            Self::Packed(members) => members.check(),
        }
    }

    /// Bytes that they take.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Nothing(_) => 0,
            Self::Dictionary(values) => values.weight(),
            Self::Bits(bits) => bits.weight(),
            Self::Fixed(values) => values.as_slice().len(),
            Self::Small(values) => values.weight(),
            Self::Large(values) => values.weight(),
            Self::List(lists) => lists.items.weight(),
            Self::Packed(members) => members.weight(),
        }
    }
}

impl ListValues {
    /// An error if `count` more items are too many, even if each is a bit. They may not be stored.
    pub(crate) fn check_items(&self, count: usize) -> Result<()> {
        check_room(self.items.weight(), count / 8, self.limit)
    }
}

impl DictionaryValues {
    /// Bytes that they take.
    const fn weight(&self) -> usize {
        self.len.saturating_mul(size_of::<u64>())
    }

    /// An error unless there is room for `count` more.
    pub(crate) fn check_more(&self, count: usize) -> Result<()> {
        check_room(self.weight(), count.saturating_mul(size_of::<u64>()), self.limit)
    }

    /// Indices into `dictionary`; without one, all of them are null.
    pub(crate) fn append(&mut self, indices: Vec<u64>, dictionary: Option<ArrayRef>) {
        self.len += indices.len();
        match (self.parts.last_mut(), &dictionary) {
            (Some((last, Some(held))), Some(dictionary)) if Arc::ptr_eq(held, dictionary) => {
                last.extend(indices)
            }
            (Some((last, _)), None) => last.extend(indices),
            (Some((last, held @ None)), Some(_)) => {
                last.extend(indices);
                *held = dictionary;
            }
            _ => self.parts.push((indices, dictionary)),
        }
    }

    fn finish(self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let DataType::Dictionary(keys, values) = data_type else { return Err(misfit("indices")) };
        let mut arrays = Vec::with_capacity(self.parts.len().max(1));
        let mut start = 0;
        let none = || arrow_array::new_empty_array(values);
        if self.parts.is_empty() {
            return Ok(arrow_array::new_empty_array(data_type));
        }
        for (indices, dictionary) in self.parts {
            let nulls = nulls.as_ref().map(|nulls| nulls.slice(start, indices.len()));
            start += indices.len();
            let dictionary = dictionary.unwrap_or_else(none);
            arrays.push(dictionary_array(keys, data_type, &indices, &dictionary, nulls)?);
        }
        match arrays.as_slice() {
            [array] => Ok(Arc::clone(array)),
            _ => {
                let arrays: Vec<_> = arrays.iter().map(AsRef::as_ref).collect();
                arrow_select::concat::concat(&arrays).map_err(invalid)
            }
        }
    }
}

fn dictionary_array(
    keys: &DataType,
    data_type: &DataType,
    indices: &[u64],
    dictionary: &ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    use arrow_array::types as t;
    let buffer = match keys {
        DataType::Int8 => key_buffer::<t::Int8Type>(indices)?,
        DataType::Int16 => key_buffer::<t::Int16Type>(indices)?,
        DataType::Int32 => key_buffer::<t::Int32Type>(indices)?,
        DataType::Int64 => key_buffer::<t::Int64Type>(indices)?,
        DataType::UInt8 => key_buffer::<t::UInt8Type>(indices)?,
        DataType::UInt16 => key_buffer::<t::UInt16Type>(indices)?,
        DataType::UInt32 => key_buffer::<t::UInt32Type>(indices)?,
        DataType::UInt64 => key_buffer::<t::UInt64Type>(indices)?,
        _ => return Err(misfit("indices")),
    };
    let data = ArrayData::builder(data_type.clone())
        .len(indices.len())
        .nulls(nulls)
        .add_buffer(buffer)
        .add_child_data(dictionary.to_data());
    Ok(make_array(data.build().map_err(invalid)?))
}

fn key_buffer<K: ArrowDictionaryKeyType>(indices: &[u64]) -> Result<arrow_buffer::Buffer>
where
    K::Native: TryFrom<u64>,
{
    // A page can have more items than keys can name: writers put the dictionaries of several batches together.
    let key = |index: &u64| K::Native::try_from(*index).map_err(|_| *index);
    match indices.iter().map(key).collect::<Result<Vec<K::Native>, u64>>() {
        Ok(keys) => Ok(arrow_buffer::Buffer::from_vec(keys)),
        Err(index) => {
            let reason = format!("index {index} does not fit the key type {}", K::DATA_TYPE);
            Err(FormatError::corrupt("dictionary", reason))
        }
    }
}

/// The error of values whose shape is not that of the type.
pub(crate) fn misfit(what: &str) -> FormatError {
    FormatError::corrupt("values", format!("{what} do not fit the type of the column"))
}

/// What Arrow says about an array that cannot be.
pub(crate) fn invalid(error: ArrowError) -> FormatError {
    FormatError::corrupt("values", error.to_string())
}

fn outside(items: usize) -> FormatError {
    FormatError::corrupt("dictionary", format!("an index is not within its {items} items"))
}

fn add(a: usize, b: usize) -> Result<usize> {
    a.checked_add(b).ok_or_else(|| FormatError::corrupt("values", "more values than fit into memory"))
}

/// An array of the strings in `bytes`: `positions` are where they start and, at last, end; the first is where
/// `bytes` start.
pub(crate) fn string_array(
    data_type: &DataType,
    wide: bool,
    positions: &[usize],
    bytes: Bytes,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let offsets = match wide {
        true => variable::offsets::<i64>(positions)?,
        false => variable::offsets::<i32>(positions)?,
    };
    let array = ArrayData::builder(data_type.clone())
        .len(positions.len().saturating_sub(1))
        .nulls(nulls)
        .add_buffer(offsets)
        .add_buffer(typed_or_copy(bytes, 1));
    Ok(make_array(array.build().map_err(invalid)?))
}
