//! What a page says of its encoding, checked against the type of the column.

use std::sync::Arc;

use arrow_schema::DataType;
use lance_footer::{Column, Extent, FormatError, Page, Result};

use super::bitpacked::Bitpacked;
use super::dictionary::Dictionary;
use super::encoded::Encoded;
use super::flat::Flat;
use super::strings::Strings;
use crate::bounds;
use crate::budget::TableBudget;
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::proto::array::buffer::BufferType;
use crate::proto::array::nullable::Nullability;
use crate::proto::array::{self as proto, ArrayEncoding};
use crate::storage::Storage;

/// Encodings within encodings; real files have about six.
const MAX_DEPTH: usize = 32;

/// The buffers that an encoding can name.
pub(super) struct Buffers<'a> {
    page: &'a [Extent],
    column: &'a [Extent],
    /// What the lookup tables of the file may take.
    pub(super) tables: &'a Arc<TableBudget>,
}

impl<'a> Buffers<'a> {
    pub(super) fn of(page: &'a Page, column: &'a Column, tables: &'a Arc<TableBudget>) -> Self {
        Self { page: &page.buffers, column: &column.buffers, tables }
    }

    pub(super) fn find(&self, buffer: Option<&proto::Buffer>) -> Result<Extent> {
        let buffer = buffer.ok_or_else(|| corrupt("no buffer is named"))?;
        let (list, name) = match BufferType::try_from(buffer.buffer_type) {
            Ok(BufferType::Page) => (self.page, "page"),
            Ok(BufferType::Column) => (self.column, "column"),
            Ok(BufferType::File) => return Err(FormatError::unsupported("values in global buffers")),
            Err(_) => return Err(corrupt(format!("a buffer of type {}", buffer.buffer_type))),
        };
        let index = usize::try_from(buffer.buffer_index).unwrap_or(usize::MAX);
        let found = list.get(index).copied();
        found.ok_or_else(|| corrupt(format!("{name} buffer {index} of {}", list.len())))
    }
}

/// The kind of an encoding that must be there.
pub(super) fn kind(encoding: Option<&ArrayEncoding>) -> Result<&Kind> {
    let kind = encoding.and_then(|encoding| encoding.array_encoding.as_ref());
    kind.ok_or_else(|| corrupt("an encoding is missing or unknown"))
}

/// How values of `data_type` are stored.
pub(super) fn values(
    encoding: Option<&ArrayEncoding>,
    data_type: &DataType,
    buffers: &Buffers,
) -> Result<Encoded> {
    Parse { buffers, depth: 0 }.values(encoding, data_type, &Storage::of(data_type)?)
}

/// Where offsets lie: numbers of 64 bits, none of which is null.
pub(super) fn offsets(encoding: Option<&ArrayEncoding>, buffers: &Buffers) -> Result<Encoded> {
    Parse { buffers, depth: 0 }.numbers(encoding, 64)
}

#[derive(Clone, Copy)]
struct Parse<'a> {
    buffers: &'a Buffers<'a>,
    depth: usize,
}

impl Parse<'_> {
    fn values(
        self,
        encoding: Option<&ArrayEncoding>,
        data_type: &DataType,
        storage: &Storage,
    ) -> Result<Encoded> {
        if self.depth > MAX_DEPTH {
            return Err(corrupt(format!("more than {MAX_DEPTH} encodings within each other")));
        }
        let below = Self { depth: self.depth + 1, ..self };
        let misfit = |name: &str| Err(corrupt(format!("{name} values of type {data_type}")));
        let bits = |wanted: u64| matches!(storage, Storage::Fixed { bits } if *bits as u64 == wanted);
        match kind(encoding)? {
            Kind::Nullable(nullable) => match &nullable.nullability {
                Some(Nullability::NoNulls(nulls)) => {
                    below.values(nulls.values.as_deref(), data_type, storage)
                }
                Some(Nullability::SomeNulls(nulls)) => {
                    let validity = below.validity(nulls.validity.as_deref())?;
                    let values = below.values(nulls.values.as_deref(), data_type, storage)?;
                    Ok(match values {
                        Encoded::Nulls => Encoded::Nulls,
                        values => Encoded::Nullable { validity, values: Box::new(values) },
                    })
                }
                Some(Nullability::AllNulls(_)) => Ok(Encoded::Nulls),
                None => Err(corrupt("nothing is said of nulls")),
            },
            Kind::Flat(flat) => {
                let flat = Flat::parse(flat, self.buffers)?;
                if bits(flat.bits()) { Ok(Encoded::Flat(flat)) } else { misfit("flat") }
            }
            Kind::Bitpacked(packed) => {
                let packed = Bitpacked::parse(packed, self.buffers)?;
                if bits(packed.bits() as u64) { Ok(Encoded::Bitpacked(packed)) } else { misfit("bit-packed") }
            }
            Kind::BitpackedForNonNeg(packed) => {
                let packed = Bitpacked::parse_vectors(packed, self.buffers)?;
                if bits(packed.bits() as u64) { Ok(Encoded::Bitpacked(packed)) } else { misfit("bit-packed") }
            }
            Kind::FixedSizeList(list) => match (storage, data_type) {
                (Storage::List { len, items }, DataType::FixedSizeList(field, _)) => {
                    if bounds::size(list.dimension.into(), "array encoding")? != *len {
                        return Err(corrupt(format!("lists of {} items instead of {len}", list.dimension)));
                    }
                    let items = below.values(list.items.as_deref(), field.data_type(), items)?;
                    Ok(Encoded::Lists { len: *len as u64, items: Box::new(items) })
                }
                _ => misfit("fixed-size-list"),
            },
            Kind::Binary(binary) if is_strings(storage) => Ok(Encoded::Strings(below.strings(binary, &[])?)),
            Kind::Fsst(fsst) if is_strings(storage) => match kind(fsst.binary.as_deref())? {
                Kind::Binary(binary) => Ok(Encoded::Strings(below.strings(binary, &fsst.symbol_table)?)),
                _ => Err(corrupt("FSST of something else than strings")),
            },
            Kind::FixedSizeBinary(binary) if is_strings(storage) => {
                let bytes = below.bytes(binary.bytes.as_deref())?;
                Ok(Encoded::StringsOfWidth { width: binary.byte_width.into(), bytes })
            }
            Kind::Dictionary(dictionary) => below.dictionary(dictionary, data_type, storage),
            Kind::Binary(_) => misfit("binary"),
            Kind::Fsst(_) => misfit("FSST"),
            Kind::FixedSizeBinary(_) => misfit("fixed-size-binary"),
            Kind::Constant(_) => Err(FormatError::unsupported("the array encoding constant")),
            Kind::List(_) => misfit("list"),
            Kind::Struct(_) => misfit("struct"),
            Kind::PackedStruct(_) => misfit("packed-struct"),
        }
    }

    fn validity(self, encoding: Option<&ArrayEncoding>) -> Result<Flat> {
        match self.numbers(encoding, 1)? {
            Encoded::Flat(flat) => Ok(flat),
            _ => Err(corrupt("validity that is not flat")),
        }
    }

    fn bytes(self, encoding: Option<&ArrayEncoding>) -> Result<Flat> {
        match self.numbers(encoding, 8)? {
            Encoded::Flat(flat) => Ok(flat),
            _ => Err(corrupt("bytes of strings that are not flat")),
        }
    }

    /// Numbers of which none is null.
    fn numbers(self, encoding: Option<&ArrayEncoding>, bits: usize) -> Result<Encoded> {
        let data_type = match bits {
            1 => DataType::Boolean,
            8 => DataType::UInt8,
            16 => DataType::UInt16,
            32 => DataType::UInt32,
            _ => DataType::UInt64,
        };
        match self.values(encoding, &data_type, &Storage::Fixed { bits })? {
            numbers @ (Encoded::Flat(_) | Encoded::Bitpacked(_)) => Ok(numbers),
            _ => Err(corrupt("numbers that may be null")),
        }
    }

    fn strings(self, binary: &proto::Binary, symbol_table: &[u8]) -> Result<Strings> {
        let ends = self.numbers(binary.indices.as_deref(), 64)?;
        let bytes = self.bytes(binary.bytes.as_deref())?;
        Strings::new(ends, bytes, binary.null_adjustment, symbol_table)
    }

    fn dictionary(
        self,
        dictionary: &proto::Dictionary,
        data_type: &DataType,
        storage: &Storage,
    ) -> Result<Encoded> {
        let (indices, items) = (dictionary.indices.as_deref(), dictionary.items.as_deref());
        let (count, tables) = (dictionary.num_dictionary_items.into(), self.buffers.tables);
        Ok(Encoded::Dictionary(match (storage, data_type) {
            (Storage::Dictionary { values }, DataType::Dictionary(key, value)) => {
                let bits = key.primitive_width().unwrap_or_default() * 8;
                let items = self.values(items, value, values)?;
                Dictionary::of_column(
                    self.numbers(indices, bits)?,
                    bits,
                    items,
                    count,
                    values,
                    value,
                    tables,
                )?
            }
            (Storage::Variable { .. }, _) => {
                let items = self.values(items, data_type, storage)?;
                Dictionary::of_strings(self.numbers(indices, 8)?, items, count, storage, tables)?
            }
            _ => return Err(corrupt(format!("dictionary values of type {data_type}"))),
        }))
    }
}

const fn is_strings(storage: &Storage) -> bool {
    matches!(storage, Storage::Variable { .. })
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("array encoding", reason)
}
