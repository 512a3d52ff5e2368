//! The offsets column of a list; its items are in the columns after it.
//!
//! ```text
//! page    where each list ends (u64), counted from the page's first item; that of a null has `adjustment` added,
//!         which is more than any end
//! ```

use std::sync::Arc;

use arrow_buffer::NullBuffer;
use lance_footer::{Column, FormatError, Join, Result, Rows};

use super::encoded::{Encoded, push};
use super::leaf::{at_page, decode_message};
use super::parse::{self, Buffers};
use super::strings::{Ends, load_ends};
use crate::budget::TableBudget;
use crate::load::{Load, map};
use crate::paged::{Starts, Touched};
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::validity::Validity;

/// Where lists end.
#[derive(Debug)]
pub(super) struct Lists {
    pages: Vec<ListPage>,
    starts: Starts,
    items: u64,
}

#[derive(Debug)]
struct ListPage {
    /// None of a page without rows.
    ends: Option<Encoded>,
    adjustment: u64,
    /// Its items, and those of the pages before it.
    items: u64,
    base: u64,
}

/// Lists whose ends are in hand.
#[derive(Debug)]
pub(super) struct HeldLists {
    /// The items of all lists.
    pub(super) items: Rows,
    /// Where each list starts among them, and the last ends.
    pub(super) starts: Vec<u64>,
    pub(super) nulls: Option<NullBuffer>,
}

impl Lists {
    /// Reads `column`.
    pub(super) fn open(column: &Column, tables: &Arc<TableBudget>) -> Result<Self> {
        let mut pages = Vec::with_capacity(column.pages.len());
        let mut base = 0_u64;
        for (number, page) in column.pages.iter().enumerate() {
            let mut opened = ListPage { ends: None, adjustment: 0, items: 0, base };
            if page.length > 0 {
                let buffers = Buffers::of(page, column, tables);
                let open = opened.open(&page.encoding, page.length, &buffers);
                open.map_err(|error| at_page(error, number))?;
            }
            base =
                base.checked_add(opened.items).ok_or_else(|| corrupt("more items than 64 bits can count"))?;
            pages.push(opened);
        }
        Ok(Self { pages, starts: Starts::new(column.pages.iter().map(|page| page.length))?, items: base })
    }

    /// Lists of the column.
    pub(super) fn rows(&self) -> u64 {
        self.starts.rows()
    }

    /// Items of all lists.
    pub(super) const fn items(&self) -> u64 {
        self.items
    }

    /// About how many bytes the ends of `rows` take, and about which items these have.
    pub(super) fn cost(&self, rows: &Rows) -> (u64, std::ops::Range<u64>) {
        let (mut cost, mut items) = (0_u64, None);
        for Touched { page, start, rows } in self.starts.touched(rows) {
            let end = self.starts.end(page);
            let (Some(page), Some(range)) = (self.pages.get(page), rows.ranges().first()) else { continue };
            let length = end.saturating_sub(start).max(1);
            let at = |row: u64| {
                let share = u128::from(page.items) * u128::from(row) / u128::from(length);
                page.base.saturating_add(u64::try_from(share).unwrap_or(u64::MAX))
            };
            cost = cost.saturating_add(page.ends.as_ref().map_or(0, |ends| ends.cost(rows.len(), length)));
            let first = items.map_or_else(|| at(range.start), |(first, _)| first);
            items = Some((first, at(range.end)));
        }
        let (first, last) = items.unwrap_or_default();
        (cost, first..last)
    }

    /// Loads where the lists of `rows` end.
    pub(super) fn load(&self, rows: &Rows) -> Result<Load<HeldLists>> {
        let mut machines = vec![];
        let mut bases = vec![];
        for Touched { page: number, rows, .. } in self.starts.touched(rows) {
            let page = self.pages.get(number);
            let Some((page, ends)) = page.and_then(|page| Some((page, page.ends.as_ref()?))) else {
                return Err(corrupt("rows of a page without rows"));
            };
            let machine = load_ends(ends, rows.ranges(), page.adjustment);
            machines.push(machine.map_err(|error| at_page(error, number))?);
            bases.push((page.base, page.items));
        }
        let all: Load<Vec<Vec<Ends>>> = Box::new(Join::new(machines));
        Ok(map(all, move |pages| HeldLists::new(pages.into_iter().zip(bases))))
    }
}

impl ListPage {
    fn open(&mut self, encoding: &bytes::Bytes, length: u64, buffers: &Buffers) -> Result<()> {
        let message = decode_message(encoding)?;
        let Kind::List(list) = parse::kind(Some(&message))? else {
            return Err(FormatError::corrupt("array encoding", "a list is stored as something else"));
        };
        let ends = parse::offsets(list.offsets.as_deref(), buffers)?;
        ends.check(length)?;
        self.ends = Some(ends);
        self.adjustment = list.null_offset_adjustment;
        self.items = list.num_items;
        Ok(())
    }
}

impl HeldLists {
    /// From the ends of lists in some pages, each with the number of its first item and of its items.
    fn new(pages: impl Iterator<Item = (Vec<Ends>, (u64, u64))>) -> Result<Self> {
        let (mut items, mut starts) = (vec![], vec![0]);
        let mut validity = Validity::default();
        let mut total = 0_u64;
        for (ranges, (base, count)) in pages {
            for ends in ranges {
                let span = ends.span();
                if span.end > count {
                    return Err(corrupt(format!("a list ends at item {} of {count}", span.end)));
                }
                // The numbers of all items fit 64 bits, and so do these.
                items.push(base.saturating_add(span.start)..base.saturating_add(span.end));
                push(&mut validity, ends.nulls.as_ref(), ends.len());
                starts.extend(ends.at.iter().skip(1).map(|end| total.saturating_add(end - span.start)));
                total = total.saturating_add(span.end - span.start);
            }
        }
        Ok(Self { items: Rows::from_ranges(items)?, starts, nulls: validity.finish() })
    }

    /// The items of the lists at `positions`.
    pub(super) fn items_of(&self, positions: &Rows) -> Result<Rows> {
        let items =
            positions.ranges().iter().map(|range| Ok(self.start(range.start)?..self.start(range.end)?));
        Rows::from_ranges(items.collect::<Result<Vec<_>>>()?)
    }

    /// Where the lists at `positions` start among [`Self::items_of`] these, and the last ends.
    pub(super) fn starts_of(&self, positions: &Rows) -> Result<Vec<u64>> {
        let mut starts = vec![0];
        let mut total = 0_u64;
        for range in positions.ranges() {
            let first = self.start(range.start)?;
            for position in range.start + 1..=range.end {
                starts.push(total.saturating_add(self.start(position)? - first));
            }
            total = starts.last().copied().unwrap_or_default();
        }
        Ok(starts)
    }

    /// Which of the lists at `positions` are there.
    pub(super) fn nulls_of(&self, positions: &Rows) -> Option<NullBuffer> {
        let nulls = self.nulls.as_ref()?;
        let mut validity = Validity::default();
        for range in positions.ranges() {
            // They were found among the starts before.
            let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(nulls.len());
            let (start, end) = (at(range.start), at(range.end));
            push(&mut validity, Some(&nulls.slice(start, end - start)), end - start);
        }
        validity.finish()
    }

    fn start(&self, position: u64) -> Result<u64> {
        let start = usize::try_from(position).ok().and_then(|position| self.starts.get(position));
        start.copied().ok_or_else(super::flat::not_loaded)
    }
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("list offsets", reason)
}
