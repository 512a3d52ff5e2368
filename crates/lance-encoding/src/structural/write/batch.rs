//! One leaf of an array that was pushed: its ancestors' nulls and offsets, and its values. Nothing is
//! copied until a page is encoded.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt8Array, UInt16Array, UInt32Array, UInt64Array, cast::AsArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use lance_footer::{FormatError, Result};

use super::path::{LeafKind, LeafPath, Nesting};
use crate::block::{Block, Offsets};
use crate::field::at_member;

/// Some rows of a leaf.
#[derive(Debug, Clone)]
pub(super) struct LeafBatch {
    /// Top-level rows.
    pub(super) rows: usize,
    /// From the top-level field down, without the leaf.
    pub(super) ancestors: Vec<Ancestor>,
    /// Which leaf slots are null.
    pub(super) nulls: Option<NullBuffer>,
    /// The leaf slots; keys for a dictionary.
    pub(super) values: Block,
    /// What the keys look up.
    pub(super) dictionary: Option<ArrayRef>,
}

/// A struct or a list, of fixed size or not, above a leaf.
#[derive(Debug, Clone)]
pub(super) enum Ancestor {
    /// Its slots are those of its member.
    Struct(Option<NullBuffer>),
    /// Its offsets count slots of its items.
    List {
        /// Which lists are null.
        nulls: Option<NullBuffer>,
        /// Where their items are.
        offsets: Offsets,
    },
    /// Each slot has as many of its items.
    FixedSizeList {
        /// Which lists are null.
        nulls: Option<NullBuffer>,
        /// Items of a list.
        len: usize,
    },
}

impl LeafBatch {
    /// The leaf at `path` of `array`. Errors name the leaf.
    pub(super) fn new(array: &ArrayRef, path: &LeafPath) -> Result<Self> {
        let mut array = array.clone();
        let rows = array.len();
        let mut ancestors = vec![];
        for step in &path.steps {
            let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
            let wrong = || {
                let error = FormatError::unsupported(format!("writing an array of {}", array.data_type()));
                at_member(error, &step.name)
            };
            let next = match step.nesting {
                Nesting::Leaf => break,
                Nesting::Struct { member } => {
                    let child = array.as_struct_opt().and_then(|array| array.columns().get(member)).cloned();
                    ancestors.push(Ancestor::Struct(nulls));
                    child.ok_or_else(wrong)?
                }
                Nesting::List => {
                    let (offsets, child) = if let Some(list) = array.as_list_opt::<i32>() {
                        (Offsets::Small(list.offsets().clone()), list.values().clone())
                    } else if let Some(map) = array.as_map_opt() {
                        let entries: ArrayRef = Arc::new(map.entries().clone());
                        (Offsets::Small(map.offsets().clone()), entries)
                    } else {
                        let list = array.as_list_opt::<i64>().ok_or_else(wrong)?;
                        (Offsets::Large(list.offsets().clone()), list.values().clone())
                    };
                    ancestors.push(Ancestor::List { nulls, offsets });
                    child
                }
                Nesting::FixedSizeList { len } => {
                    let list = array.as_fixed_size_list_opt().ok_or_else(wrong)?;
                    let start = usize::try_from(list.value_offset(0)).map_err(|_| wrong())?;
                    ancestors.push(Ancestor::FixedSizeList { nulls, len });
                    list.values().slice(start, array.len().saturating_mul(len))
                }
            };
            array = next;
        }
        let leaf = leaf(&array, path).map_err(|error| at_member(error, path.name()));
        let (nulls, values, dictionary) = leaf?;
        Ok(Self { rows, ancestors, nulls, values, dictionary })
    }

    /// The keys of a dictionary that are not null.
    pub(super) fn keys(&self) -> impl Iterator<Item = usize> + '_ {
        let (width, bytes) = match &self.values {
            Block::Fixed { width, bytes } => (*width, bytes.as_slice()),
            _ => (1, &[][..]),
        };
        let key = |bytes: &[u8]| bytes.iter().rev().fold(0, |key, byte| key << 8 | usize::from(*byte));
        let valid = |index: usize| self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(index));
        let keys = bytes.chunks_exact(width).enumerate();
        keys.filter(move |(index, _)| valid(*index)).map(move |(_, bytes)| key(bytes))
    }

    /// The rows at `range`, which must lie inside.
    pub(super) fn slice(&self, range: Range<usize>) -> Self {
        let cut = |nulls: &Option<NullBuffer>, slots: &Range<usize>| {
            nulls.as_ref().map(|nulls| nulls.slice(slots.start, slots.len()))
        };
        let mut sliced = self.clone();
        sliced.rows = range.len();
        let mut slots = range;
        for ancestor in &mut sliced.ancestors {
            match ancestor {
                Ancestor::Struct(nulls) => *nulls = cut(nulls, &slots),
                Ancestor::List { nulls, offsets } => {
                    *nulls = cut(nulls, &slots);
                    *offsets = offsets.slice(slots);
                    // Everything below is found by these offsets.
                    return sliced;
                }
                Ancestor::FixedSizeList { nulls, len } => {
                    *nulls = cut(nulls, &slots);
                    slots = slots.start * *len..slots.end * *len;
                }
            }
        }
        sliced.nulls = cut(&sliced.nulls, &slots);
        sliced.values = sliced.values.slice(slots);
        sliced
    }

    /// Bytes in memory of the rows at `range`: values, offsets, and the levels they will have.
    pub(super) fn bytes(&self, range: Range<usize>) -> u64 {
        let mut slots = range;
        let mut bytes = 0;
        let mut level = 0;
        for ancestor in &self.ancestors {
            match ancestor {
                Ancestor::Struct(_) => {}
                Ancestor::List { offsets, .. } => {
                    bytes += slots.len() * offsets.width();
                    slots = offsets.at(slots.start)..offsets.at(slots.end);
                    level = 2;
                }
                Ancestor::FixedSizeList { len, .. } => slots = slots.start * len..slots.end * len,
            }
        }
        let nullable = self.nulls.is_some() || matches!(self.values, Block::Null(_));
        level += usize::from(nullable && level > 0);
        (bytes + slots.len() * level + self.values.bytes(slots)) as u64
    }
}

fn leaf(array: &ArrayRef, path: &LeafPath) -> Result<(Option<NullBuffer>, Block, Option<ArrayRef>)> {
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
    match path.kind {
        LeafKind::Null => Ok((Some(NullBuffer::new_null(array.len())), Block::Null(array.len()), None)),
        LeafKind::EmptyStruct => Ok((nulls, Block::Null(array.len()), None)),
        LeafKind::Plain => match &path.packed {
            Some(packed) => Ok((nulls, packed.rows(array)?, None)),
            None => Ok((nulls, Block::from_array(array)?, None)),
        },
        LeafKind::Dictionary => {
            let (keys, dictionary) = dictionary(array)?;
            let nulls = keys.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
            Ok((nulls, Block::from_array(&keys)?, Some(dictionary)))
        }
    }
}

/// Keys and dictionary of `array` such that only keys are null, and keys of nulls are in range.
///
/// The keys come as unsigned numbers of the same width.
fn dictionary(array: &ArrayRef) -> Result<(ArrayRef, ArrayRef)> {
    let failed = |error: arrow_schema::ArrowError| FormatError::unsupported(format!("dictionary: {error}"));
    let array = array.as_ref();
    let values = array.as_any_dictionary().values();
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    // Where each value goes when the null ones are taken out.
    let places = values.logical_nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| {
        let mut next = 0_usize;
        let places = nulls.iter().map(|valid| {
            next += usize::from(valid);
            next - usize::from(valid)
        });
        (places.collect::<Vec<_>>(), nulls)
    });
    // With an empty dictionary all keys are null.
    let keys =
        if values.is_empty() { vec![0; array.len()] } else { array.as_any_dictionary().normalized_keys() };
    let place = |(index, key): (usize, &usize)| match &nulls {
        Some(nulls) if nulls.is_null(index) => 0,
        _ => places.as_ref().and_then(|(places, _)| places.get(*key)).copied().unwrap_or(*key),
    };
    macro_rules! keys {
        ($array:ident, $native:ty) => {{
            let keys =
                keys.iter().enumerate().map(place).map(|key| <$native>::try_from(key).unwrap_or_default());
            std::sync::Arc::new($array::new(keys.collect::<Vec<_>>().into(), nulls.clone())) as ArrayRef
        }};
    }
    let DataType::Dictionary(key, _) = array.data_type() else {
        return Err(FormatError::unsupported(format!("an array of {} as dictionary", array.data_type())));
    };
    let keys = match key.primitive_width() {
        Some(1) => keys!(UInt8Array, u8),
        Some(2) => keys!(UInt16Array, u16),
        Some(4) => keys!(UInt32Array, u32),
        _ => keys!(UInt64Array, u64),
    };
    let values = match &places {
        None => values.clone(),
        Some((_, nulls)) => {
            let keep = arrow_array::BooleanArray::new(nulls.inner().clone(), None);
            arrow_select::filter::filter(values, &keep).map_err(failed)?
        }
    };
    Ok((keys, values))
}
