//! Arrays of any storable type, drawn from a seed.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, FixedSizeListArray, GenericListArray,
    LargeBinaryArray, LargeStringArray, MapArray, NullArray, OffsetSizeTrait, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray, make_array,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType, Field, FieldRef, SchemaRef, TimeUnit};
use half::f16;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Which rows are null. Items of lists and members of structs are null at random unless it is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// No row.
    None,
    /// Three of ten.
    Some,
    /// Every row.
    All,
    /// The first and the last.
    Ends,
}

/// What the values are like, since it decides how they are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texture {
    /// Any value; strings up to 20 bytes.
    Random,
    /// Few bits; short strings.
    Narrow,
    /// The same value many times, then another.
    Runs,
    /// One value.
    Constant,
    /// A dozen values in any order.
    Few,
    /// Strings of hundreds of bytes.
    Long,
}

/// Draws arrays.
#[derive(Debug)]
pub struct Draw {
    rng: StdRng,
}

impl Draw {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed) }
    }

    /// A number below `bound`, which is above 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.rng.random_range(0..bound)
    }

    /// True with `chance` in a hundred.
    pub fn chance(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// `count` row numbers below `rows`, in any order and with duplicates; none if there are no rows.
    pub fn rows(&mut self, rows: u64, count: usize) -> Vec<u64> {
        let count = if rows == 0 { 0 } else { count };
        (0..count).map(|_| self.rng.random_range(0..rows)).collect()
    }

    /// A batch of `schema`; `texture` and `nulls` apply to every column. Fields that are not nullable have no
    /// nulls.
    pub fn batch(&mut self, schema: &SchemaRef, rows: usize, nulls: Nulls, texture: Texture) -> RecordBatch {
        let columns = schema.fields().iter().map(|field| self.field(field, rows, nulls, texture)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).unwrap()
    }

    fn field(&mut self, field: &Field, rows: usize, nulls: Nulls, texture: Texture) -> ArrayRef {
        let nulls = if field.is_nullable() { nulls } else { Nulls::None };
        self.array(field.data_type(), rows, nulls, texture)
    }

    /// An array of `kind`.
    pub fn array(&mut self, kind: &DataType, rows: usize, nulls: Nulls, texture: Texture) -> ArrayRef {
        let validity = self.validity(rows, nulls);
        // Members and items have nulls of their own, also below rows that are null.
        let inner = if nulls == Nulls::None { Nulls::None } else { Nulls::Some };
        match kind {
            DataType::Null => Arc::new(NullArray::new(rows)),
            DataType::Struct(fields) => {
                let columns = fields.iter().map(|field| self.field(field, rows, inner, texture)).collect();
                Arc::new(StructArray::try_new_with_length(fields.clone(), columns, validity, rows).unwrap())
            }
            DataType::List(item) => self.list::<i32>(item, validity, rows, inner, texture),
            DataType::LargeList(item) => self.list::<i64>(item, validity, rows, inner, texture),
            DataType::Map(entries, _) => self.map(entries, validity, rows, inner, texture),
            DataType::FixedSizeList(item, size) => {
                let items = rows * usize::try_from(*size).unwrap();
                let values = self.field(item, items, inner, texture);
                let list =
                    FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, values, validity, rows);
                Arc::new(list.unwrap())
            }
            DataType::Dictionary(key, value) => self.dictionary(key, value, rows, validity),
            _ => with_nulls(&self.values(kind, rows, texture), validity),
        }
    }

    fn validity(&mut self, rows: usize, nulls: Nulls) -> Option<NullBuffer> {
        let valid: Vec<bool> = match nulls {
            Nulls::None => return None,
            Nulls::Some => (0..rows).map(|_| !self.chance(30)).collect(),
            Nulls::All => vec![false; rows],
            Nulls::Ends => (0..rows).map(|row| row != 0 && row + 1 != rows).collect(),
        };
        Some(valid.into())
    }

    fn offsets<O: OffsetSizeTrait>(&mut self, validity: Option<&NullBuffer>, rows: usize) -> OffsetBuffer<O> {
        // Null lists are long at times: what lies under them does not count.
        let lengths: Vec<usize> = (0..rows)
            .map(|row| {
                let hidden = validity.is_some_and(|validity| validity.is_null(row)) && row % 4 != 0;
                // Few are so long that their items are on several pages.
                let longest = if self.chance(1) { 400 } else { 5 };
                if hidden { 0 } else { self.below(longest) }
            })
            .collect();
        OffsetBuffer::from_lengths(lengths)
    }

    fn list<O: OffsetSizeTrait>(
        &mut self,
        item: &FieldRef,
        validity: Option<NullBuffer>,
        rows: usize,
        nulls: Nulls,
        texture: Texture,
    ) -> ArrayRef {
        let offsets = self.offsets::<O>(validity.as_ref(), rows);
        let items = offsets.last().map_or(0, |last| last.as_usize());
        let values = self.field(item, items, nulls, texture);
        Arc::new(GenericListArray::try_new(Arc::clone(item), offsets, values, validity).unwrap())
    }

    fn map(
        &mut self,
        entries: &FieldRef,
        validity: Option<NullBuffer>,
        rows: usize,
        nulls: Nulls,
        texture: Texture,
    ) -> ArrayRef {
        let offsets = self.offsets::<i32>(validity.as_ref(), rows);
        let items = offsets.last().map_or(0, |last| last.as_usize());
        let values = self.field(entries, items, nulls, texture);
        let map =
            MapArray::try_new(Arc::clone(entries), offsets, values.as_struct().clone(), validity, false);
        Arc::new(map.unwrap())
    }

    fn dictionary(
        &mut self,
        key: &DataType,
        value: &DataType,
        rows: usize,
        validity: Option<NullBuffer>,
    ) -> ArrayRef {
        let count = 1 + self.below(12);
        // A row may be null because its key is, or because the value that its key names is.
        let nulls = if validity.is_some() && self.chance(30) { Nulls::Some } else { Nulls::None };
        let values = self.array(value, count, nulls, Texture::Random);
        match key {
            DataType::Int8 => self.keyed::<Int8Type>(values, rows, validity),
            DataType::Int16 => self.keyed::<Int16Type>(values, rows, validity),
            DataType::Int32 => self.keyed::<Int32Type>(values, rows, validity),
            DataType::Int64 => self.keyed::<Int64Type>(values, rows, validity),
            DataType::UInt8 => self.keyed::<UInt8Type>(values, rows, validity),
            DataType::UInt16 => self.keyed::<UInt16Type>(values, rows, validity),
            DataType::UInt32 => self.keyed::<UInt32Type>(values, rows, validity),
            DataType::UInt64 => self.keyed::<UInt64Type>(values, rows, validity),
            other => panic!("{other} is no key"),
        }
    }

    fn keyed<K: ArrowDictionaryKeyType>(
        &mut self,
        values: ArrayRef,
        rows: usize,
        validity: Option<NullBuffer>,
    ) -> ArrayRef {
        let keys = (0..rows).map(|_| K::Native::usize_as(self.below(values.len())));
        let keys = PrimitiveArray::<K>::new(keys.collect(), validity);
        Arc::new(DictionaryArray::try_new(keys, values).unwrap())
    }

    /// Numbers of the given texture, from which the values of all types are made.
    fn numbers(&mut self, rows: usize, texture: Texture) -> Vec<u64> {
        let few: Vec<u64> = (0..12).map(|_| self.rng.random()).collect();
        let one = few[0];
        let mut current = one;
        (0..rows)
            .map(|_| match texture {
                Texture::Random | Texture::Long => self.rng.random(),
                Texture::Narrow => self.rng.random_range(0..100),
                Texture::Constant => one,
                Texture::Few => few[self.below(few.len())],
                Texture::Runs => {
                    if self.chance(1) {
                        current = self.rng.random();
                    }
                    current
                }
            })
            .collect()
    }

    /// An array of a type without children, without nulls.
    fn values(&mut self, kind: &DataType, rows: usize, texture: Texture) -> ArrayRef {
        let numbers = self.numbers(rows, texture);
        let texts = || numbers.iter().map(|number| text(*number, texture));
        match kind {
            DataType::Boolean => {
                Arc::new(BooleanArray::from_iter(numbers.iter().map(|number| Some(number % 2 == 1))))
            }
            DataType::Int8 => primitive::<Int8Type>(&numbers, |number| number as i8),
            DataType::Int16 => primitive::<Int16Type>(&numbers, |number| number as i16),
            DataType::Int32 => primitive::<Int32Type>(&numbers, |number| number as i32),
            DataType::Int64 => primitive::<Int64Type>(&numbers, |number| number as i64),
            DataType::UInt8 => primitive::<UInt8Type>(&numbers, |number| number as u8),
            DataType::UInt16 => primitive::<UInt16Type>(&numbers, |number| number as u16),
            DataType::UInt32 => primitive::<UInt32Type>(&numbers, |number| number as u32),
            DataType::UInt64 => primitive::<UInt64Type>(&numbers, |number| number),
            // Bits as they come: infinities, odd zeros and values that are no numbers among them.
            DataType::Float16 => primitive::<Float16Type>(&numbers, |number| f16::from_bits(number as u16)),
            DataType::Float32 => primitive::<Float32Type>(&numbers, |number| f32::from_bits(number as u32)),
            DataType::Float64 => primitive::<Float64Type>(&numbers, f64::from_bits),
            DataType::Decimal128(precision, _) => {
                let bound = 10_i128.pow(u32::from(*precision).min(38));
                let array = primitive::<Decimal128Type>(&numbers, |number| wide(number) % bound);
                retyped(&array, kind)
            }
            DataType::Decimal256(..) => {
                let array = primitive::<Decimal256Type>(&numbers, |number| i256::from_i128(wide(number)));
                retyped(&array, kind)
            }
            DataType::Utf8 => Arc::new(StringArray::from_iter_values(texts())),
            DataType::LargeUtf8 => Arc::new(LargeStringArray::from_iter_values(texts())),
            DataType::Binary => Arc::new(BinaryArray::from_iter_values(texts())),
            DataType::LargeBinary => Arc::new(LargeBinaryArray::from_iter_values(texts())),
            DataType::FixedSizeBinary(size) => {
                let mut builder = FixedSizeBinaryBuilder::new(*size);
                for number in numbers {
                    let bytes: Vec<u8> =
                        number.to_le_bytes().into_iter().cycle().take(*size as usize).collect();
                    builder.append_value(bytes).unwrap();
                }
                Arc::new(builder.finish())
            }
            _ => {
                let bound = bound(kind);
                let array = if kind.primitive_width() == Some(4) {
                    primitive::<Int32Type>(&numbers, |number| {
                        bound.map_or(number as i32, |bound| (number % bound) as i32)
                    })
                } else {
                    primitive::<Int64Type>(&numbers, |number| {
                        bound.map_or(number as i64, |bound| (number % bound) as i64)
                    })
                };
                let array = match kind {
                    // Whole days.
                    DataType::Date64 => {
                        primitive::<Int64Type>(&numbers, |number| (number % 40_000) as i64 * 86_400_000)
                    }
                    _ => array,
                };
                retyped(&array, kind)
            }
        }
    }
}

/// Values of a time of day stay below a day.
fn bound(kind: &DataType) -> Option<u64> {
    match kind {
        DataType::Time32(TimeUnit::Second) => Some(86_400),
        DataType::Time32(_) => Some(86_400_000),
        DataType::Time64(TimeUnit::Microsecond) => Some(86_400_000_000),
        DataType::Time64(_) => Some(86_400_000_000_000),
        _ => None,
    }
}

fn text(number: u64, texture: Texture) -> String {
    let base = format!("{number:x}é");
    match texture {
        Texture::Narrow => (number % 50).to_string(),
        Texture::Long => base.repeat(200 / base.len() + (number % 20) as usize),
        _ => base.chars().take((number % 20) as usize).collect(),
    }
}

fn wide(number: u64) -> i128 {
    // Both signs, and more than 64 bits.
    i128::from(number as i64) * i128::from(number >> 3 | 1)
}

fn primitive<T: ArrowPrimitiveType>(numbers: &[u64], value: impl Fn(u64) -> T::Native) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values(numbers.iter().map(|number| value(*number))))
}

/// `array` as another type of the same width.
fn retyped(array: &ArrayRef, kind: &DataType) -> ArrayRef {
    make_array(array.to_data().into_builder().data_type(kind.clone()).build().unwrap())
}

fn with_nulls(array: &ArrayRef, validity: Option<NullBuffer>) -> ArrayRef {
    make_array(array.to_data().into_builder().nulls(validity).build().unwrap())
}

#[cfg(test)]
mod tests {
    use lance_file::Version;

    use super::*;
    use crate::{nested, types};

    #[test]
    fn every_column_is_a_valid_array() {
        let mut draw = Draw::new(1);
        for column in types::columns_of(Version::V2_2) {
            for nulls in [Nulls::None, Nulls::Some, Nulls::All, Nulls::Ends] {
                for rows in [0, 1, 100] {
                    let array = draw.array(&column.kind, rows, nulls, column.texture);
                    array.to_data().validate_full().unwrap();
                    assert_eq!(array.data_type(), &column.kind);
                    assert_eq!(array.len(), rows);
                    let expected = match nulls {
                        _ if column.kind == DataType::Null => 0,
                        Nulls::None => 0,
                        Nulls::All => rows,
                        Nulls::Ends => rows.min(2),
                        Nulls::Some => continue,
                    };
                    assert_eq!(array.null_count(), expected, "{} {nulls:?}", column.name);
                }
            }
        }
    }

    #[test]
    fn a_seed_repeats() {
        let batch = || {
            let mut draw = Draw::new(7);
            let schema = nested::schema(&mut draw, Version::V2_2, 3, true);
            draw.batch(&schema, 50, Nulls::Some, Texture::Few)
        };
        assert_eq!(batch(), batch());
    }
}
