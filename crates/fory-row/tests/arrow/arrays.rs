//! Random arrays of any type, as awkward as arrays can be: sliced, with values below nulls that are no nulls, and
//! with items in front of, between and behind those of lists.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, DictionaryArray, FixedSizeListArray, LargeListArray,
    ListArray, MapArray, PrimitiveArray, RecordBatch, StringViewArray, StructArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_data::ArrayData;
use arrow_schema::{DataType, FieldRef, Schema, TimeUnit};

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// Any integer, small ones more often.
    fn integer(&mut self) -> i64 {
        let shift = self.below(64);
        (self.next() >> shift).cast_signed().wrapping_mul([1, -1][self.below(2)])
    }
}

/// A batch of `rows` rows of `schema`.
pub(crate) fn batch(schema: &Arc<Schema>, rows: usize, random: &mut Random) -> RecordBatch {
    let columns = schema.fields().iter().map(|field| column(field, rows, random)).collect();
    RecordBatch::try_new(schema.clone(), columns).unwrap()
}

/// Values for a field, with nulls if it is nullable.
fn column(field: &FieldRef, len: usize, random: &mut Random) -> ArrayRef {
    array(field.data_type(), len, field.is_nullable(), random)
}

fn nulls(len: usize, nullable: bool, random: &mut Random) -> Option<NullBuffer> {
    // All, none and some.
    let share = [0, 0, 1, 3, 6, 6][random.below(6)];
    (nullable && share > 0).then(|| (0..len).map(|_| random.below(6) >= share).collect::<Vec<_>>().into())
}

/// `len` values out of the middle of a longer array.
pub(crate) fn array(data_type: &DataType, len: usize, nullable: bool, random: &mut Random) -> ArrayRef {
    let (before, after) = (random.below(4), random.below(3));
    whole(data_type, before + len + after, nullable, random).slice(before, len)
}

fn whole(data_type: &DataType, len: usize, nullable: bool, random: &mut Random) -> ArrayRef {
    use DataType as D;
    let nulls = nulls(len, nullable, random);
    match data_type {
        D::Boolean => {
            let values = (0..len).map(|_| random.below(2) == 1).collect::<Vec<_>>();
            Arc::new(BooleanArray::new(values.into(), nulls))
        }
        D::Utf8 | D::LargeUtf8 | D::Utf8View => {
            let texts = (0..len).map(|_| text(random)).collect::<Vec<_>>();
            bytes(data_type, texts.iter().map(String::as_bytes).collect(), nulls)
        }
        D::Binary | D::LargeBinary | D::BinaryView => {
            let values = (0..len).map(|_| blob(random)).collect::<Vec<_>>();
            bytes(data_type, values.iter().map(Vec::as_slice).collect(), nulls)
        }
        D::FixedSizeBinary(width) => {
            let values = (0..len * usize::try_from(*width).unwrap()).map(|_| random.next().to_le_bytes()[0]);
            flat(data_type, len, values.collect::<Vec<_>>().into(), nulls)
        }
        D::Decimal32(precision, _)
        | D::Decimal64(precision, _)
        | D::Decimal128(precision, _)
        | D::Decimal256(precision, _) => {
            let values = (0..len).map(|_| {
                let value = i128::from(random.integer()) * i128::from(random.integer());
                value % 10_i128.pow(u32::from(*precision))
            });
            let values = values.collect::<Vec<_>>();
            let buffer = match data_type {
                D::Decimal32(..) => Buffer::from_iter(values.iter().map(|v| i32::try_from(*v).unwrap())),
                D::Decimal64(..) => Buffer::from_iter(values.iter().map(|v| i64::try_from(*v).unwrap())),
                D::Decimal128(..) => values.into(),
                _ => Buffer::from_iter(values.iter().map(|v| i256::from_i128(*v))),
            };
            flat(data_type, len, buffer, nulls)
        }
        // Whole microseconds and days, so that rows have all of them.
        D::Timestamp(unit, _) | D::Duration(unit) => {
            let values = (0..len).map(|_| match unit {
                TimeUnit::Second => random.integer() / 1_000_000,
                TimeUnit::Millisecond => random.integer() / 1_000,
                TimeUnit::Microsecond => random.integer(),
                TimeUnit::Nanosecond => random.integer() / 1_000 * 1_000,
            });
            flat(data_type, len, values.collect(), nulls)
        }
        D::Date64 => {
            let values = (0..len).map(|_| i64::from(random.integer() as i32) * 86_400_000);
            flat(data_type, len, values.collect(), nulls)
        }
        D::List(item) => {
            let (offsets, end) = offsets::<i32>(len, random);
            let items = column(item, end, random);
            Arc::new(ListArray::new(item.clone(), offsets, items, nulls))
        }
        D::LargeList(item) => {
            let (offsets, end) = offsets::<i64>(len, random);
            let items = column(item, end, random);
            Arc::new(LargeListArray::new(item.clone(), offsets, items, nulls))
        }
        D::FixedSizeList(item, size) => {
            let items = column(item, len * usize::try_from(*size).unwrap(), random);
            Arc::new(FixedSizeListArray::try_new_with_length(item.clone(), *size, items, nulls, len).unwrap())
        }
        D::Struct(fields) => {
            let mut members = vec![];
            for field in fields {
                // A null where no null may be, below a null.
                let hidden = nulls.as_ref().filter(|_| !field.is_nullable() && random.below(2) == 0);
                members.push(match hidden {
                    Some(nulls) => {
                        let member = whole(field.data_type(), len, false, random).to_data();
                        make_array(member.into_builder().nulls(Some(nulls.clone())).build().unwrap())
                    }
                    None => column(field, len, random),
                });
            }
            Arc::new(StructArray::new(fields.clone(), members, nulls))
        }
        D::Map(field, ordered) => {
            let (offsets, end) = offsets::<i32>(len, random);
            let D::Struct(members) = field.data_type() else { panic!("a map of {field}") };
            let members_ = members.iter().map(|member| column(member, end, random)).collect();
            let entries = StructArray::new(members.clone(), members_, None);
            Arc::new(MapArray::new(field.clone(), offsets, entries, nulls, *ordered))
        }
        D::Dictionary(key, values) => {
            let some = random.below(6) + usize::from(!nullable);
            let values = array(values, some, nullable, random);
            dictionary(key, values, len, nullable, random)
        }
        _ => {
            let width = data_type.primitive_width().unwrap();
            let values = (0..len).flat_map(|_| random.integer().to_le_bytes()[..width].to_vec());
            flat(data_type, len, values.collect::<Vec<_>>().into(), nulls)
        }
    }
}

fn text(random: &mut Random) -> String {
    let pieces = ["", "a", "lever", "größe", "😀", "\0", "a text that no view has in place"];
    (0..random.below(4)).map(|_| pieces[random.below(pieces.len())]).collect()
}

fn blob(random: &mut Random) -> Vec<u8> {
    (0..random.below(20)).map(|_| random.next().to_le_bytes()[0]).collect()
}

fn flat(data_type: &DataType, len: usize, buffer: Buffer, nulls: Option<NullBuffer>) -> ArrayRef {
    // Aligned, as arrays have to be.
    let data = ArrayData::builder(data_type.clone()).len(len).add_buffer(buffer).nulls(nulls);
    make_array(data.align_buffers(true).build().unwrap())
}

fn bytes(data_type: &DataType, values: Vec<&[u8]>, nulls: Option<NullBuffer>) -> ArrayRef {
    let data = values.concat();
    let lens = values.iter().map(|value| value.len());
    let with = |offsets: Buffer| {
        let built = ArrayData::builder(data_type.clone()).len(values.len()).add_buffer(offsets);
        make_array(built.add_buffer(data.clone().into()).nulls(nulls.clone()).build().unwrap())
    };
    match data_type {
        DataType::Utf8 | DataType::Binary => {
            with(OffsetBuffer::<i32>::from_lengths(lens).into_inner().into_inner())
        }
        DataType::LargeUtf8 | DataType::LargeBinary => {
            with(OffsetBuffer::<i64>::from_lengths(lens).into_inner().into_inner())
        }
        DataType::Utf8View => {
            let texts = StringViewArray::from_iter_values(values.iter().map(|v| str::from_utf8(v).unwrap()));
            let (views, buffers, _) = texts.into_parts();
            Arc::new(StringViewArray::new(views, buffers, nulls))
        }
        _ => {
            let (views, buffers, _) = BinaryViewArray::from_iter_values(values).into_parts();
            Arc::new(BinaryViewArray::new(views, buffers, nulls))
        }
    }
}

/// Offsets of lists, not from 0 on, and some items behind the last.
fn offsets<O: arrow_array::OffsetSizeTrait>(len: usize, random: &mut Random) -> (OffsetBuffer<O>, usize) {
    let most = [1, 3, 6, 70][[0, 1, 1, 2, 2, 2, 2, 3][random.below(8)]];
    let mut end = random.below(3);
    let mut offsets = vec![O::usize_as(end)];
    for _ in 0..len {
        end += random.below(most);
        offsets.push(O::usize_as(end));
    }
    (OffsetBuffer::new(ScalarBuffer::from(offsets)), end + random.below(3))
}

fn dictionary(key: &DataType, values: ArrayRef, len: usize, nullable: bool, random: &mut Random) -> ArrayRef {
    let mut keys = |_| match values.len() {
        0 => None,
        _ if nullable && random.below(4) == 0 => None,
        some => Some(random.below(some)),
    };
    let keys = (0..len).map(&mut keys).collect::<Vec<_>>();
    macro_rules! typed {
        ($($variant:ident => $type:ty),*) => {
            match key {
                $(DataType::$variant => {
                    let keys = keys.into_iter().map(|key| key.map(|key| key as _));
                    Arc::new(DictionaryArray::new(keys.collect::<PrimitiveArray<$type>>(), values)) as ArrayRef
                })*
                _ => panic!("{key} as key"),
            }
        };
    }
    typed! {
        Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type
    }
}
