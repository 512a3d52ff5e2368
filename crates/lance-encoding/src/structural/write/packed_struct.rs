//! Packed structs: the members of a row side by side, as one value.
//!
//! ```text
//! all of fixed width    member 0 | member 1 | …                     in chunks, or in records if that is wide
//! others, from 2.2 on   member 0 | length (u32 or u64) | bytes | …  in records; a member of fixed width has no length
//! ```
//!
//! Members have no nulls, and hold whole bytes. A null struct is a level; what lies under it does not count.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Field, Fields};
use lance_footer::{FormatError, Result};

use crate::block::{Block, Offsets};
use crate::codec::{flat, variable};
use crate::field::at_member;
use crate::proto::compressive_encoding::Compression;
use crate::proto::variable_packed_struct::{FieldEncoding, field_encoding};
use crate::proto::{self, CompressiveEncoding};
use crate::rules::Rules;
use crate::scheme::{ChunkBuffers, Chunks, Proposal};
use crate::storage::Storage;

/// What a packed struct consists of.
#[derive(Debug, Clone)]
pub(super) struct Packed {
    members: Vec<Member>,
}

#[derive(Debug, Clone)]
struct Member {
    name: String,
    storage: Storage,
    width: Width,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    /// Bytes of each value.
    Fixed(usize),
    /// Bytes of the length in front of each.
    Told(usize),
}

impl Packed {
    /// Of these members. An error names the one that cannot be packed, and says why.
    pub(super) fn new(members: &Fields, rules: &Rules) -> Result<Self> {
        let member = |field: &Field| -> Result<Member> {
            let refuse = |why: &str| {
                let what = format!("writing {} in a packed struct, {why}", field.data_type());
                Err(FormatError::unsupported(what))
            };
            let storage = match field.data_type() {
                DataType::Struct(_) | DataType::Dictionary(..) | DataType::Null => {
                    return refuse("which has numbers, strings and fixed-size lists of numbers only");
                }
                other => Storage::of(other),
            };
            let Ok(storage) = storage else {
                return refuse("which has numbers, strings and fixed-size lists of numbers only");
            };
            let width = match (&storage, storage.bits()) {
                (Storage::Variable { .. } | Storage::List { .. }, _) if !rules.newer_types => {
                    return refuse("which needs file version 2.2");
                }
                (Storage::Variable { wide }, _) => Width::Told(if *wide { 8 } else { 4 }),
                // Of bits there may be eight, but the reference would not read them.
                (storage, Some(bits)) if bits > 0 && bits % 8 == 0 && !of_bits(storage) => {
                    Width::Fixed(bits / 8)
                }
                _ => return refuse("where all has whole bytes"),
            };
            Ok(Member { name: field.name().clone(), storage, width })
        };
        let named = members.iter().map(|field| member(field).map_err(|error| at_member(error, field.name())));
        Ok(Self { members: named.collect::<Result<_>>()? })
    }

    /// Whether records have lengths of their own. Vectors could do without, but readers want them to be like strings.
    pub(super) fn is_variable(&self) -> bool {
        self.members
            .iter()
            .any(|member| matches!(member.storage, Storage::Variable { .. } | Storage::List { .. }))
    }

    /// What pages say of it.
    pub(super) fn encoding(&self) -> CompressiveEncoding {
        let compression = if self.is_variable() {
            let fields = self.members.iter().map(Member::encoding).collect();
            Compression::VariablePackedStruct(proto::VariablePackedStruct { fields })
        } else {
            let bits: Vec<u64> = self.members.iter().map(Member::bits).collect();
            let values = Some(Box::new(flat::encoding(bits.iter().sum())));
            Compression::PackedStruct(Box::new(proto::PackedStruct { bits_per_value: bits, values }))
        };
        CompressiveEncoding { compression: Some(compression) }
    }

    /// The rows of `array`, each as one value. An error if a member is null where its struct is not.
    pub(super) fn rows(&self, array: &ArrayRef) -> Result<Block> {
        let columns = array.as_struct_opt().map(|structs| structs.columns()).unwrap_or_default();
        let columns = self.members.iter().zip(columns).map(|(member, column)| {
            refuse_nulls(column, array.nulls()).map_err(|error| at_member(error, &member.name))?;
            Column::new(column, member.width)
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let lengths = (0..array.len()).map(|row| columns.iter().map(|column| column.bytes(row)).sum());
        let mut data = Vec::with_capacity(lengths.clone().sum());
        for row in 0..array.len() {
            columns.iter().for_each(|column| column.write(row, &mut data));
        }
        if self.is_variable() {
            return Ok(Block::Variable {
                offsets: Offsets::from_lengths(false, lengths)?,
                data: data.into(),
            });
        }
        let width = self.members.iter().map(Member::bits).sum::<u64>() / 8;
        Ok(Block::Fixed { width: usize::try_from(width).unwrap_or(usize::MAX), bytes: data.into() })
    }

    /// `plain`, which has the rows as values of fixed width, as what it is.
    pub(super) fn described<'a>(&self, plain: Proposal<'a>) -> Proposal<'a> {
        let encoding = self.encoding();
        Proposal::new(plain.bytes(), 0, move || {
            Ok(Box::new(Described { encoding, inner: plain.start()? }) as Box<dyn Chunks + 'a>)
        })
    }
}

impl Member {
    fn bits(&self) -> u64 {
        match self.width {
            Width::Fixed(bytes) => bytes as u64 * 8,
            Width::Told(_) => 0,
        }
    }

    fn encoding(&self) -> FieldEncoding {
        let (value, layout) = match self.width {
            Width::Fixed(_) => (fixed(&self.storage), field_encoding::Layout::BitsPerValue(self.bits())),
            Width::Told(bytes) => {
                (variable::encoding(bytes), field_encoding::Layout::BitsPerLength(bytes as u64 * 8))
            }
        };
        FieldEncoding { value: Some(value), layout: Some(layout) }
    }
}

/// What is said of a member of fixed width.
fn fixed(storage: &Storage) -> CompressiveEncoding {
    let Storage::List { len, items } = storage else {
        return flat::encoding(storage.bits().unwrap_or_default() as u64);
    };
    let values = Some(Box::new(fixed(items)));
    let list = proto::FixedSizeList { items_per_value: *len as u64, has_validity: false, values };
    CompressiveEncoding { compression: Some(Compression::FixedSizeList(Box::new(list))) }
}

fn of_bits(storage: &Storage) -> bool {
    match storage {
        Storage::List { items, .. } => of_bits(items),
        other => *other == Storage::Fixed { bits: 1 },
    }
}

/// An error if a value of `array`, or an item of one, is null where `there` does not say that it is not there at all.
fn refuse_nulls(array: &ArrayRef, there: Option<&NullBuffer>) -> Result<()> {
    let is_there = |index: usize| there.is_none_or(|there| there.is_valid(index));
    if let Some(nulls) = array.nulls()
        && (0..array.len()).any(|index| nulls.is_null(index) && is_there(index))
    {
        return Err(FormatError::unsupported("writing a null in a packed struct, which files cannot hold"));
    }
    let Some(list) = array.as_fixed_size_list_opt() else { return Ok(()) };
    let count = usize::try_from(list.value_length()).unwrap_or_default();
    let start = usize::try_from(list.value_offset(0)).unwrap_or_default();
    let items = list.values().slice(start, list.len() * count);
    refuse_nulls(&items, there.map(|there| there.expand(count)).as_ref())
}

/// The values of a member.
enum Column {
    Fixed { width: usize, bytes: Buffer },
    Strings { offsets: Offsets, data: Buffer },
}

impl Column {
    fn new(array: &ArrayRef, width: Width) -> Result<Self> {
        let mut block = Block::from_array(array)?;
        loop {
            match (block, width) {
                (Block::FixedSizeList { items, .. }, _) => block = *items,
                (Block::Fixed { bytes, .. }, Width::Fixed(width)) => return Ok(Self::Fixed { width, bytes }),
                (Block::Variable { offsets, data }, Width::Told(_)) => {
                    return Ok(Self::Strings { offsets, data });
                }
                _ => {
                    return Err(FormatError::unsupported(format!(
                        "{} in a packed struct",
                        array.data_type()
                    )));
                }
            }
        }
    }

    /// What `row` takes.
    fn bytes(&self, row: usize) -> usize {
        match self {
            Self::Fixed { width, .. } => *width,
            Self::Strings { offsets, .. } => offsets.width() + offsets.range(row).len(),
        }
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Fixed { width, bytes } => {
                out.extend_from_slice(bytes.get(row * width..(row + 1) * width).unwrap_or_default());
            }
            Self::Strings { offsets, data } => {
                let range = offsets.range(row);
                let length = range.len().to_le_bytes();
                out.extend_from_slice(length.get(..offsets.width()).unwrap_or_default());
                out.extend_from_slice(data.get(range).unwrap_or_default());
            }
        }
    }
}

/// Chunks of rows, and what these are.
struct Described<'a> {
    encoding: CompressiveEncoding,
    inner: Box<dyn Chunks + 'a>,
}

impl Chunks for Described<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        self.encoding.clone()
    }

    fn count(&self, start: usize, left: usize) -> usize {
        self.inner.count(start, left)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        self.inner.write(values, out)
    }
}
