//! Arrays out of what was read.

use std::sync::Arc;

use arrow_array::types::{ByteArrayType, GenericBinaryType, GenericStringType};
use arrow_array::{
    ArrayRef, FixedSizeListArray, GenericByteArray, GenericListArray, MapArray, OffsetSizeTrait, StructArray,
    make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType as ArrowType};

use super::builder::{Builder, Offsets, Values};
use crate::error::Step;
use crate::{Error, Result};

/// An error about one value of an array.
#[derive(Debug)]
pub(super) struct Late {
    pub(super) index: usize,
    pub(super) error: Error,
}

impl From<ArrowError> for Late {
    fn from(error: ArrowError) -> Self {
        Self { index: 0, error: Error::value(error.to_string()) }
    }
}

impl Builder {
    /// The array.
    pub(super) fn finish(self) -> Result<ArrayRef, Late> {
        let Self { data_type, mut nulls, values } = self;
        let len = nulls.builder.len();
        let nulls = nulls.builder.finish();
        let flat = |data_type, buffer, nulls| {
            let data = ArrayData::builder(data_type).len(len).add_buffer(buffer).nulls(nulls);
            Ok::<_, Late>(make_array(data.build()?))
        };
        match values {
            Values::Bool(values) => flat(data_type, values.build().into_inner(), nulls),
            Values::Number1(values) | Values::UInt8(values) => {
                flat(data_type, Buffer::from_vec(values), nulls)
            }
            Values::Number2(values) | Values::UInt16(values) => {
                flat(data_type, Buffer::from_vec(values), nulls)
            }
            Values::Number4(values) | Values::UInt32(values) => {
                flat(data_type, Buffer::from_vec(values), nulls)
            }
            Values::Number8(values) => flat(data_type, Buffer::from_vec(values), nulls),
            Values::Date64(values) | Values::Time(_, values) | Values::Decimal64(_, values) => {
                flat(data_type, Buffer::from_vec(values), nulls)
            }
            Values::Decimal32(_, values) => flat(data_type, Buffer::from_vec(values), nulls),
            Values::Decimal128(_, values) => flat(data_type, Buffer::from_vec(values), nulls),
            Values::Decimal256(_, values) => flat(data_type, Buffer::from_vec(values), nulls),
            Values::FixedBinary(_, values) => flat(data_type, Buffer::from_vec(values), nulls),
            Values::Payload(Offsets::Small(ends), data) => match data_type {
                ArrowType::Utf8 => texts(ends, data, nulls),
                _ => payloads::<GenericBinaryType<i32>>(ends, data, nulls),
            },
            Values::Payload(Offsets::Large(ends), data) => match data_type {
                ArrowType::LargeUtf8 => texts(ends, data, nulls),
                _ => payloads::<GenericBinaryType<i64>>(ends, data, nulls),
            },
            Values::Utf8View(mut views) => Ok(Arc::new(views.finish())),
            Values::BinaryView(mut views) => Ok(Arc::new(views.finish())),
            Values::List(Offsets::Small(ends), item) => list(data_type, ends, *item, nulls),
            Values::List(Offsets::Large(ends), item) => list(data_type, ends, *item, nulls),
            Values::FixedList(size, item) => {
                let items = item.finish().map_err(|late| {
                    let (index, at) = (late.index / size.max(1), late.index % size.max(1));
                    Late { index, error: late.error.in_element(at) }
                })?;
                let ArrowType::FixedSizeList(field, size) = data_type else { return Err(mixed_up()) };
                let lists = FixedSizeListArray::try_new_with_length(field, size, items, nulls, len)?;
                Ok(Arc::new(lists))
            }
            Values::Map(Offsets::Small(ends), entries) => {
                let ArrowType::Map(field, sorted) = data_type else { return Err(mixed_up()) };
                let ArrowType::Struct(fields) = field.data_type() else { return Err(mixed_up()) };
                let [keys, values] = *entries;
                let keys = keys.finish().map_err(|late| late.out_of(&ends, Step::Key))?;
                let values = values.finish().map_err(|late| late.out_of(&ends, Step::Value))?;
                let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
                Ok(Arc::new(MapArray::try_new(field, offsets(ends), entries, nulls, sorted)?))
            }
            Values::Map(Offsets::Large(_), _) => Err(mixed_up()),
            Values::Struct(members) => {
                let ArrowType::Struct(fields) = data_type else { return Err(mixed_up()) };
                let members = members
                    .into_iter()
                    .zip(&fields)
                    .map(|((_, member), field)| member.finish().map_err(|late| late.in_field(field.name())));
                let members = members.collect::<Result<_, _>>()?;
                Ok(Arc::new(StructArray::try_new_with_length(fields, members, nulls, len)?))
            }
        }
    }
}

impl Late {
    #[cold]
    pub(super) fn in_field(mut self, name: &str) -> Self {
        self.error = self.error.in_field(name);
        self
    }

    /// The same error, about the list that ends at `ends` in whose items it was met.
    #[cold]
    fn out_of<O: OffsetSizeTrait>(self, ends: &[O], step: fn(usize) -> Step) -> Self {
        let index = ends.partition_point(|end| end.as_usize() <= self.index).saturating_sub(1);
        let start = ends.get(index).map_or(0, |start| start.as_usize());
        Self { index, error: self.error.within(step(self.index - start)) }
    }
}

#[cold]
fn mixed_up() -> Late {
    Late { index: 0, error: Error::value("an array of another type than its field") }
}

fn offsets<O: OffsetSizeTrait>(ends: Vec<O>) -> OffsetBuffer<O> {
    OffsetBuffer::new(ScalarBuffer::from(ends))
}

fn payloads<T: ByteArrayType>(
    ends: Vec<T::Offset>,
    data: Vec<u8>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Late> {
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets(ends), Buffer::from_vec(data), nulls)?))
}

/// Text, all of which is checked at once.
fn texts<O: OffsetSizeTrait>(
    ends: Vec<O>,
    data: Vec<u8>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Late> {
    let (ends, data) = (offsets(ends), Buffer::from_vec(data));
    match GenericByteArray::<GenericStringType<O>>::try_new(ends.clone(), data.clone(), nulls) {
        Ok(texts) => Ok(Arc::new(texts)),
        Err(error) => Err(not_utf8(&ends, &data).unwrap_or_else(|| error.into())),
    }
}

/// The first text that is none.
#[cold]
fn not_utf8<O: OffsetSizeTrait>(ends: &[O], data: &[u8]) -> Option<Late> {
    ends.windows(2).enumerate().find_map(|(index, span)| {
        let [start, end] = span else { return None };
        let error = std::str::from_utf8(data.get(start.as_usize()..end.as_usize())?).err()?;
        Some(Late { index, error: crate::read::not_utf8(error) })
    })
}

fn list<O: OffsetSizeTrait>(
    data_type: ArrowType,
    ends: Vec<O>,
    item: Builder,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Late> {
    let (ArrowType::List(field) | ArrowType::LargeList(field)) = data_type else { return Err(mixed_up()) };
    let items = item.finish().map_err(|late| late.out_of(&ends, Step::Element))?;
    Ok(Arc::new(GenericListArray::try_new(field, offsets(ends), items, nulls)?))
}
