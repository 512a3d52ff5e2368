//! One leaf column: its type, its pages, and what decoding it gives.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_schema::DataType;
use lance_footer::{Column, ColumnKind, FormatError, Result, Rows};

use super::page::PageReader;
use super::unravel::{Unraveler, Unravelled};
use crate::budget::{Room, TableBudget};
use crate::layers::Numbering;
use crate::order::reorder;
use crate::paged::{Starts, Touched};
use crate::storage::Storage;
use crate::values::Values;

/// What is known of a leaf from the schema.
#[derive(Debug)]
pub(super) struct LeafType {
    /// Its dotted name below the top-level field; empty if it is that field.
    pub(super) name: String,
    pub(super) data_type: DataType,
    pub(super) storage: Storage,
    /// Which layers are lists, innermost first.
    pub(super) lists: Vec<bool>,
    /// Slots of a page that a row has: the product of the lengths of the fixed-size lists of structs around it.
    pub(super) slots: u64,
}

impl LeafType {
    /// Whether it is a struct without members, whose pages tell nothing.
    pub(super) fn is_empty_struct(&self) -> bool {
        matches!(&self.data_type, DataType::Struct(members) if members.is_empty())
    }

    /// An error unless a page's layers are those of the leaf.
    pub(super) fn check_layers(&self, numbering: &Numbering) -> Result<()> {
        if numbering.layers().iter().map(|layer| layer.is_list()).eq(self.lists.iter().copied()) {
            return Ok(());
        }
        Err(FormatError::corrupt(
            "page layout",
            format!("layers {:?} in a column of {} layers", numbering.layers(), self.lists.len()),
        ))
    }
}

/// Reads one leaf column.
#[derive(Debug)]
pub(super) struct LeafReader {
    pub(super) leaf: Arc<LeafType>,
    pub(super) pages: Vec<Arc<PageReader>>,
    starts: Starts,
}

impl LeafReader {
    /// Reads `column`, which holds a leaf of this type.
    pub(super) fn open(leaf: LeafType, column: &Column, tables: &Arc<TableBudget>) -> Result<Self> {
        if column.kind != ColumnKind::Values || !column.buffers.is_empty() {
            return Err(FormatError::unsupported("columns of legacy blobs"));
        }
        let leaf = Arc::new(leaf);
        let mut pages = Vec::with_capacity(column.pages.len());
        let mut lengths = Vec::with_capacity(column.pages.len());
        for (number, page) in column.pages.iter().enumerate() {
            pages.push(Arc::new(PageReader::open(page, number, Arc::clone(&leaf), Arc::clone(tables))?));
            let whole = page.length.checked_rem(leaf.slots) == Some(0);
            let rows = page.length.checked_div(leaf.slots).filter(|_| whole);
            lengths.push(rows.ok_or_else(|| {
                let reason = format!("page {number} has {} slots of rows of {}", page.length, leaf.slots);
                FormatError::corrupt("column", reason)
            })?);
        }
        let starts = Starts::new(lengths.into_iter())?;
        Ok(Self { leaf, pages, starts })
    }

    /// Rows of the column.
    pub(super) fn rows(&self) -> u64 {
        self.starts.rows()
    }

    /// The pages that `rows` touch: index, first row, and what is wanted of the page, counted in its slots.
    pub(super) fn touched(&self, rows: &Rows) -> Vec<(usize, u64, Rows)> {
        let touched = self.starts.touched(rows).into_iter();
        touched.map(|Touched { page, start, rows }| (page, start, times(rows, self.leaf.slots))).collect()
    }
}

/// `rows` where each consists of as many `slots`, which are no more than a page has.
fn times(rows: Rows, slots: u64) -> Rows {
    if slots == 1 {
        return rows;
    }
    let range = |range: &Range<u64>| range.start.saturating_mul(slots)..range.end.saturating_mul(slots);
    Rows::from_ranges(rows.ranges().iter().map(range)).unwrap_or_default()
}

/// Collects what is decoded of a leaf, page by page.
#[derive(Debug)]
pub(super) struct LeafBuilder {
    pub(super) values: Values,
    pub(super) levels: Unraveler,
    /// What was there before it.
    pub(super) room: Room,
}

/// A decoded leaf.
#[derive(Debug)]
pub(super) struct DecodedLeaf {
    pub(super) array: ArrayRef,
    /// Innermost first; the first is the leaf itself.
    pub(super) layers: Vec<Unravelled>,
}

impl DecodedLeaf {
    /// The rows at `indices`, if there are any, of a leaf that is in no list.
    pub(super) fn reordered(self, indices: Option<&UInt32Array>, room: &mut Room) -> Result<Self> {
        let Some(indices) = indices else { return Ok(self) };
        let array = reorder(self.array, Some(indices), room)?;
        let mut layers = self.layers;
        for layer in &mut layers {
            layer.len = indices.len();
            let nulls = layer.nulls.take();
            let picked =
                nulls.map(|nulls| indices.values().iter().map(|at| nulls.is_valid(*at as usize)).collect());
            layer.nulls = picked;
        }
        Ok(Self { array, layers })
    }
}

impl LeafBuilder {
    /// Nothing yet, and no more than there is `room` for.
    pub(super) fn new(leaf: &LeafType, room: &Room) -> Self {
        let room = room.clone();
        let values = Values::within(&leaf.storage, room.left());
        Self { values, levels: Unraveler::new(&leaf.lists), room }
    }

    /// Bytes that it takes.
    pub(super) fn weight(&self) -> usize {
        self.values.weight().saturating_add(self.levels.weight())
    }

    /// An error if it takes more than there is room for. To be called after each piece of bounded size.
    pub(super) fn check(&self) -> Result<()> {
        self.values.check()?;
        self.room.check(self.weight(), "values and levels")
    }

    /// An error if the starts of lists would take too much, of which there are up to `entries` in each of `lists`
    /// layers.
    pub(super) fn check_starts(&self, entries: usize, lists: u16) -> Result<()> {
        let starts = entries.saturating_mul(usize::from(lists)).saturating_mul(size_of::<u64>());
        self.room.check(self.weight().saturating_add(starts), "levels")
    }

    /// The leaf, which must have `rows` rows.
    pub(super) fn finish(self, leaf: &LeafType, rows: u64) -> Result<DecodedLeaf> {
        let (slots, values) = (self.levels.values(), self.values.len());
        if slots != values {
            return Err(FormatError::corrupt("levels", format!("{slots} slots but {values} values")));
        }
        let due = rows.saturating_mul(leaf.slots);
        if self.levels.rows() as u64 != due {
            return Err(FormatError::corrupt(
                "levels",
                format!("they have {} rows instead of {due}", self.levels.rows()),
            ));
        }
        let mut layers = self.levels.finish();
        let nulls = layers.first_mut().and_then(|layer| layer.nulls.take());
        Ok(DecodedLeaf { array: self.values.finish(&leaf.data_type, nulls)?, layers })
    }
}
