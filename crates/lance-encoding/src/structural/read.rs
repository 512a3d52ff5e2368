//! Reading of versions 2.1 and later.
//!
//! ```text
//! field ── tree of structs and lists
//!            └ leaf ── pages ── layout: mini-block │ full-zip │ constant │ blob
//!                                 prepare   lookup table, kept by the page
//!                                 load      bytes of rows
//!                                 decode    levels → validity and offsets, values → array
//! ```

mod blob;
mod chunk;
mod chunk_table;
mod constant;
mod full_zip;
mod leaf;
mod mini_block;
mod page;
mod records;
#[cfg(test)]
mod tests;
mod tree;
mod unravel;
mod wide;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_schema::{DataType, Field};
use lance_footer::{Answer, Ask, Column, FormatError, Join, Machine, Result, Rows, Step};

use crate::budget::{Allowance, Room, TableBudget};
use crate::load::Load;
use crate::order::{check_len, check_order, check_part, order_part, reorder, rows_at, unique};
use crate::reader::{FieldReader, Loaded};
use leaf::{DecodedLeaf, LeafBuilder, LeafReader};
use page::{LoadPage, LoadedPage};
use tree::Tree;
use wide::{LoadWide, LoadedWide};

/// A reader of `field`, whose leaves are stored in `columns`.
pub(crate) fn open_field(
    field: &Field,
    columns: &[Arc<Column>],
    tables: &Arc<TableBudget>,
) -> Result<Arc<dyn FieldReader>> {
    let (tree, leaf_types) = Tree::new(field)?;
    if leaf_types.len() != columns.len() {
        return Err(FormatError::corrupt(
            "schema",
            format!("field {} has {} leaves but {} columns", field.name(), leaf_types.len(), columns.len()),
        ));
    }
    let mut leaves = Vec::with_capacity(leaf_types.len());
    for (leaf, column) in leaf_types.into_iter().zip(columns) {
        leaves.push(LeafReader::open(leaf, column, tables)?);
    }
    let rows = leaves.first().map_or(0, LeafReader::rows);
    if let Some(other) = leaves.iter().find(|leaf| leaf.rows() != rows) {
        return Err(FormatError::corrupt(
            "column",
            format!("the columns of field {} have {rows} and {} rows", field.name(), other.rows()),
        ));
    }
    let data_type = field.data_type().clone();
    Ok(Arc::new(StructuralField(Arc::new(Opened { data_type, tree, leaves, rows }))))
}

/// Reads one field.
struct StructuralField(Arc<Opened>);

/// What is known of a field without its data.
struct Opened {
    data_type: DataType,
    tree: Tree,
    leaves: Vec<LeafReader>,
    rows: u64,
}

impl FieldReader for StructuralField {
    fn rows(&self) -> u64 {
        self.0.rows
    }

    fn weight(&self) -> usize {
        self.0.leaves.iter().flat_map(|leaf| &leaf.pages).map(|page| page.weight()).sum()
    }

    fn prepare(&self, rows: &Rows) -> Result<Option<Box<dyn Machine<Output = ()>>>> {
        self.0.check(rows)?;
        let mut machines = vec![];
        for leaf in &self.0.leaves {
            for (index, _, part) in leaf.touched(rows) {
                if let Some(page) = leaf.pages.get(index) {
                    machines.extend(page.prepare(&part)?);
                }
            }
        }
        Ok(match machines.is_empty() {
            true => None,
            false => Some(Box::new(PrepareField(Join::new(machines)))),
        })
    }

    fn cost(&self, rows: Range<u64>) -> Option<u64> {
        let rows = Rows::range(rows);
        let mut cost = 0_u64;
        for leaf in &self.0.leaves {
            for (index, _, part) in leaf.touched(&rows) {
                let range = part.ranges().first().cloned().unwrap_or_default();
                cost = cost.saturating_add(leaf.pages.get(index)?.cost(range)?);
            }
        }
        Some(cost)
    }

    fn load(
        &self,
        rows: &Rows,
        order: Option<Arc<[u32]>>,
    ) -> Result<Box<dyn Machine<Output = Arc<dyn Loaded>>>> {
        self.0.check(rows)?;
        check_order(rows, order.as_deref())?;
        let (mut machines, mut places) = (vec![], vec![]);
        for (leaf, reader) in self.0.leaves.iter().enumerate() {
            if let Some(machine) = wide::load(&self.0, reader, rows, order.as_ref())? {
                machines.push(LoadPart::Wide(machine));
                places.push(Place { leaf, page: 0, start: 0 });
                continue;
            }
            for (index, start, part) in reader.touched(rows) {
                let page =
                    reader.pages.get(index).ok_or_else(|| FormatError::corrupt("column", "no page"))?;
                machines.push(LoadPart::Page(page.load(part)?));
                places.push(Place { leaf, page: index, start });
            }
        }
        let field = Arc::clone(&self.0);
        Ok(Box::new(LoadField {
            field,
            parts: Join::new(machines),
            places,
            rows: rows.clone(),
            order,
            read: 0,
        }))
    }
}

impl Opened {
    fn check(&self, rows: &Rows) -> Result<()> {
        if rows.end() > self.rows {
            return Err(FormatError::corrupt(
                "rows",
                format!("row {} of {} is asked for", rows.end() - 1, self.rows),
            ));
        }
        Ok(())
    }
}

/// Loads the lookup tables of some pages.
struct PrepareField(Join<Load<()>>);

impl Machine for PrepareField {
    type Output = ();

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<()>> {
        Ok(match self.0.step(answers)? {
            Step::Fetch(asks) => Step::Fetch(asks),
            Step::Ready(_) => Step::Ready(()),
        })
    }
}

/// Which page of which leaf, and its first row.
#[derive(Debug, Clone, Copy)]
struct Place {
    leaf: usize,
    page: usize,
    start: u64,
}

/// Loads rows of all leaves of a field.
struct LoadField {
    field: Arc<Opened>,
    parts: Join<LoadPart>,
    places: Vec<Place>,
    rows: Rows,
    order: Option<Arc<[u32]>>,
    /// Bytes that were asked for.
    read: u64,
}

/// Loads rows of one leaf: of one page, or all of them straight to their place.
enum LoadPart {
    Page(LoadPage),
    Wide(LoadWide),
}

/// What a [`LoadPart`] gives.
enum LoadedPart {
    Page(LoadedPage),
    Wide(LoadedWide),
}

impl Machine for LoadPart {
    type Output = LoadedPart;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<LoadedPart>> {
        Ok(match self {
            Self::Page(machine) => match machine.step(answers)? {
                Step::Fetch(asks) => Step::Fetch(asks),
                Step::Ready(page) => Step::Ready(LoadedPart::Page(page)),
            },
            Self::Wide(machine) => match machine.step(answers)? {
                Step::Fetch(asks) => Step::Fetch(asks),
                Step::Ready(wide) => Step::Ready(LoadedPart::Wide(wide)),
            },
        })
    }
}

impl Machine for LoadField {
    type Output = Arc<dyn Loaded>;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Self::Output>> {
        let parts = match self.parts.step(answers)? {
            Step::Fetch(asks) => {
                self.read = asks.iter().map(Ask::bytes).fold(self.read, u64::saturating_add);
                return Ok(Step::Fetch(asks));
            }
            Step::Ready(parts) => parts,
        };
        let (mut pages, mut wide) = (vec![], vec![]);
        for (place, part) in std::mem::take(&mut self.places).into_iter().zip(parts) {
            match part {
                LoadedPart::Page(page) => pages.push((place, page)),
                LoadedPart::Wide(values) => wide.push((place.leaf, values)),
            }
        }
        Ok(Step::Ready(Arc::new(LoadedField {
            field: Arc::clone(&self.field),
            pages,
            wide,
            rows: std::mem::take(&mut self.rows),
            order: self.order.take(),
            read: self.read,
        })))
    }
}

/// Rows of a field whose bytes are in hand.
struct LoadedField {
    field: Arc<Opened>,
    /// By leaf, then by row.
    pages: Vec<(Place, LoadedPage)>,
    /// Leaves whose values lie in the order asked. Where there is one, the field has no lists.
    wide: Vec<(usize, LoadedWide)>,
    rows: Rows,
    order: Option<Arc<[u32]>>,
    /// Bytes that were read for it.
    read: u64,
}

impl Loaded for LoadedField {
    fn rows(&self) -> u64 {
        self.order.as_ref().map_or(self.rows.len(), |order| order.len() as u64)
    }

    fn decode(&self, part: Range<u64>, allowance: &mut Allowance) -> Result<ArrayRef> {
        check_part(&part, self.rows())?;
        let rows = part.end - part.start;
        allowance.spend(rows, &self.field.data_type, self.read, |room| self.decode_part(part, room))
    }
}

impl LoadedField {
    fn decode_part(&self, part: Range<u64>, room: &mut Room) -> Result<ArrayRef> {
        let (rows, indices) = match &self.order {
            None => (self.rows.select(part.clone()), None),
            Some(order) => {
                let (unique, indices) = unique(order_part(order, &part));
                (rows_at(&self.rows, &unique), indices)
            }
        };
        let indices = indices.map(UInt32Array::from);
        if self.wide.is_empty() {
            let leaves = self.field.leaves.iter().enumerate();
            let leaves = leaves.map(|(number, reader)| self.decode_leaf(number, reader, &rows, room));
            let array = self.field.tree.assemble(leaves.collect::<Result<_>>()?, rows.len())?;
            return reorder(array, indices.as_ref(), room);
        }
        // Wide leaves are in order already, so the others are brought into it one by one.
        let mut leaves = Vec::with_capacity(self.field.leaves.len());
        for (number, reader) in self.field.leaves.iter().enumerate() {
            leaves.push(match self.wide.iter().find(|(leaf, _)| *leaf == number) {
                Some((_, wide)) => wide.decode(&reader.leaf, &part)?,
                None => self.decode_leaf(number, reader, &rows, room)?.reordered(indices.as_ref(), room)?,
            });
        }
        self.field.tree.assemble(leaves, part.end - part.start)
    }

    /// Decodes `rows`, which are among those that were loaded, of leaf `number`.
    fn decode_leaf(
        &self,
        number: usize,
        reader: &LeafReader,
        rows: &Rows,
        room: &mut Room,
    ) -> Result<DecodedLeaf> {
        check_len(rows.len().checked_mul(reader.leaf.slots))?;
        let mut builder = LeafBuilder::new(&reader.leaf, room);
        let first = self.pages.partition_point(|(place, _)| place.leaf < number);
        let pages = self.pages.get(first..).unwrap_or_default();
        let pages = pages.get(..pages.partition_point(|(place, _)| place.leaf == number)).unwrap_or_default();
        for (index, start, part) in reader.touched(rows) {
            let at = pages.partition_point(|(place, _)| place.page < index);
            match pages.get(at) {
                Some((place, page)) if place.page == index && place.start == start => {
                    page.decode(&part, &mut builder)?;
                }
                _ => return Err(FormatError::corrupt("step protocol", "a page was not loaded")),
            }
        }
        room.take(builder.weight(), "values and levels")?;
        builder.finish(&reader.leaf, rows.len())
    }
}
