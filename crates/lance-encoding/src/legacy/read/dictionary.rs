//! Dictionaries: numbers that name items, which are the same for all rows of a page.
//!
//! In a dictionary column, number k names item k, and a null row names an item that is null. In a column of strings,
//! which writers store so where few are distinct, number 0 is null and k names item k - 1.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use lance_footer::{FormatError, Join, Result};

use super::encoded::{Encoded, Held, count};
use super::flat::Run;
use crate::bounds;
use crate::budget::TableBudget;
use crate::load::{Load, counted, map, ready};
use crate::storage::Storage;
use crate::values::{Values, misfit};

/// Numbers and items of a page.
#[derive(Debug)]
pub(super) struct Dictionary {
    indices: Box<Encoded>,
    /// Bits of a number.
    bits: usize,
    items: Box<Encoded>,
    count: u64,
    storage: Storage,
    /// The type of the items of a dictionary column.
    item_type: Option<DataType>,
    kept: Arc<OnceLock<Arc<Items>>>,
    /// What the lookup tables of the file may take.
    tables: Arc<TableBudget>,
}

/// Numbers in memory, and the items.
#[derive(Debug)]
pub(super) struct HeldDictionary {
    indices: Box<Held>,
    bits: usize,
    items: Arc<Items>,
}

/// Items, and which of them are there.
#[derive(Debug)]
enum Items {
    /// Every item is null.
    Nulls { count: u64, shared: bool },
    /// Of a column of strings; one more, the last, is empty and stands for null.
    Plain(Values, Option<NullBuffer>),
    /// Of a dictionary column: arrays share them.
    Shared(ArrayRef, Option<NullBuffer>),
}

impl Dictionary {
    /// Of a column of strings.
    pub(super) fn of_strings(
        indices: Encoded,
        items: Encoded,
        count: u64,
        storage: &Storage,
        tables: &Arc<TableBudget>,
    ) -> Result<Self> {
        Self::new(indices, 8, items, count, storage, None, tables)
    }

    /// Of a dictionary column whose items have `item_type`.
    pub(super) fn of_column(
        indices: Encoded,
        bits: usize,
        items: Encoded,
        count: u64,
        storage: &Storage,
        item_type: &DataType,
        tables: &Arc<TableBudget>,
    ) -> Result<Self> {
        Self::new(indices, bits, items, count, storage, Some(item_type.clone()), tables)
    }

    fn new(
        indices: Encoded,
        bits: usize,
        items: Encoded,
        count: u64,
        storage: &Storage,
        item_type: Option<DataType>,
        tables: &Arc<TableBudget>,
    ) -> Result<Self> {
        items.check(count)?;
        if let Encoded::Dictionary(_) | Encoded::Lists { .. } = items {
            return Err(FormatError::unsupported("a dictionary of dictionaries or lists"));
        }
        let kept = OnceLock::new();
        if let Encoded::Nulls = items {
            // Not stored, so their number must not decide how much memory they take.
            let _ = kept.set(Arc::new(Items::Nulls { count, shared: item_type.is_some() }));
        }
        let (indices, items, storage) = (Box::new(indices), Box::new(items), storage.clone());
        let (kept, tables) = (Arc::new(kept), Arc::clone(tables));
        Ok(Self { indices, bits, items, count, storage, item_type, kept, tables })
    }

    pub(super) fn check(&self, count: u64) -> Result<()> {
        self.indices.check(count)
    }

    pub(super) fn cost(&self, count: u64, all: u64) -> u64 {
        let item = match self.kept.get().map(AsRef::as_ref) {
            Some(Items::Plain(items, _)) => (items.weight() / items.len().max(1)) as u64,
            Some(_) => 0,
            None => self.items.cost(1, self.count),
        };
        self.indices.cost(count, all).saturating_add(item.saturating_mul(count))
    }

    pub(super) fn weight(&self) -> usize {
        match self.kept.get().map(AsRef::as_ref) {
            Some(Items::Plain(items, _)) => items.weight(),
            Some(Items::Shared(items, _)) => items.get_buffer_memory_size(),
            Some(Items::Nulls { .. }) | None => 0,
        }
    }

    pub(super) fn prepare(&self) -> Result<Option<Load<()>>> {
        match self.kept.get() {
            Some(_) => Ok(None),
            None => Ok(Some(map(self.load_items()?, |_| Ok(())))),
        }
    }

    pub(super) fn load(&self, ranges: &[Range<u64>]) -> Result<Load<HeldDictionary>> {
        enum Part {
            Indices(Held),
            Items(Arc<Items>),
        }
        let bits = self.bits;
        let indices = map(self.indices.load(ranges)?, |held| Ok(Part::Indices(held)));
        let items = map(self.load_items()?, |items| Ok(Part::Items(items)));
        let both: Load<Vec<Part>> = Box::new(Join::new([indices, items]));
        Ok(map(both, move |both| match <[Part; 2]>::try_from(both) {
            Ok([Part::Indices(indices), Part::Items(items)]) => {
                Ok(HeldDictionary { indices: Box::new(indices), bits, items })
            }
            _ => Err(misfit("dictionary")),
        }))
    }

    /// The items; they are kept.
    fn load_items(&self) -> Result<Load<Arc<Items>>> {
        if let Some(items) = self.kept.get() {
            return Ok(ready(Arc::clone(items)));
        }
        let (count, storage, item_type) = (self.count, self.storage.clone(), self.item_type.clone());
        let (kept, tables) = (Arc::clone(&self.kept), Arc::clone(&self.tables));
        #[expect(clippy::single_range_in_vec_init, reason = "one range")]
        let all = self.items.load(&[0..count])?;
        Ok(map(counted(all), move |(held, read)| {
            let room = tables.table(read);
            let mut values = Values::within(&storage, room.left());
            let nulls = held.decode(&[Run { piece: 0, range: 0..count }], &mut values)?;
            room.spend(values.weight())?;
            let items = match item_type {
                Some(item_type) => Items::Shared(values.finish(&item_type, nulls.clone())?, nulls),
                None => {
                    values.append_fillers(1)?;
                    Items::Plain(values, nulls)
                }
            };
            Ok(Arc::clone(kept.get_or_init(|| Arc::new(items))))
        }))
    }
}

impl HeldDictionary {
    /// Appends what `runs` name, and says which of it is there.
    pub(super) fn decode(&self, runs: &[Run], out: &mut Values) -> Result<Option<NullBuffer>> {
        let mut indices = self.indices.numbers(self.bits, runs, out.room())?;
        match &*self.items {
            Items::Nulls { count: items, shared } => {
                let outside = |index: &&u64| if *shared { **index >= *items } else { **index > *items };
                if let Some(index) = indices.iter().find(outside) {
                    return Err(outside_of(*index, *items));
                }
                let count = count(runs)?;
                out.append_fillers(count)?;
                Ok((count > 0).then(|| NullBuffer::new_null(count)))
            }
            Items::Plain(items, nulls) => {
                let null = items.len() as u64 - 1;
                for index in &mut indices {
                    *index = match *index {
                        0 => null,
                        item if item <= null => item - 1,
                        item => return Err(outside_of(item, null)),
                    };
                    if is_null(nulls.as_ref(), *index) {
                        *index = null;
                    }
                }
                out.append_gathered(items, &indices)?;
                Ok(validity(&indices, |index| index != null))
            }
            Items::Shared(items, nulls) => {
                let Values::Dictionary(out) = out else { return Err(misfit("indices")) };
                let len = items.len() as u64;
                if let Some(index) = indices.iter().find(|index| **index >= len) {
                    return Err(outside_of(*index, len));
                }
                let there =
                    nulls.as_ref().and_then(|_| validity(&indices, |at| !is_null(nulls.as_ref(), at)));
                out.append(indices, Some(Arc::clone(items)));
                Ok(there)
            }
        }
    }
}

fn is_null(nulls: Option<&NullBuffer>, item: u64) -> bool {
    let position = bounds::size(item, "dictionary").unwrap_or(usize::MAX);
    nulls.is_some_and(|nulls| position < nulls.len() && nulls.is_null(position))
}

fn validity(indices: &[u64], there: impl Fn(u64) -> bool) -> Option<NullBuffer> {
    let bits =
        BooleanBuffer::collect_bool(indices.len(), |at| indices.get(at).is_some_and(|index| there(*index)));
    Some(NullBuffer::new(bits)).filter(|nulls| nulls.null_count() > 0)
}

fn outside_of(index: u64, items: u64) -> FormatError {
    FormatError::corrupt("dictionary", format!("number {index} names none of the {items} items"))
}
