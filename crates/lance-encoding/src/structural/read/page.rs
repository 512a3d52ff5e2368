//! One page: its layout, its lookup table, and the way from rows to bytes to values.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lance_footer::{Answer, Ask, Extent, FormatError, Machine, Page, Result, Rows, Slices, Step};
use prost::Message;

use super::blob::Blob;
use super::constant::Constant;
use super::full_zip::FullZip;
use super::leaf::{LeafBuilder, LeafType};
use super::mini_block::MiniBlock;
use crate::blob::HeldBlobs;
use crate::budget::TableBudget;
use crate::field::at_member;
use crate::load::Load;
use crate::proto::{PageLayout, page_layout};

/// Reads one page.
#[derive(Debug)]
pub(super) struct PageReader {
    /// Which page of its column it is; none if it lies in another page, which tells its place.
    number: Option<usize>,
    /// Its rows.
    pub(super) rows: u64,
    pub(super) leaf: Arc<LeafType>,
    pub(super) layout: Layout,
    /// What the lookup tables of the file may take.
    tables: Arc<TableBudget>,
}

/// How the page is laid out.
#[derive(Debug)]
pub(super) enum Layout {
    MiniBlock(MiniBlock),
    FullZip(FullZip),
    Constant(Constant),
    Blob(Blob),
    /// The page of a struct without members: nothing is stored, nothing is null.
    EmptyStruct,
}

/// The bytes of some rows of a page.
#[derive(Debug)]
pub(super) enum Held {
    /// Nothing but the lookup table is needed.
    Nothing,
    /// Runs of chunks: the first chunk of each, and their bytes.
    Chunks(Vec<(usize, Bytes)>),
    /// The records of the rows one after the other.
    Records {
        bytes: Bytes,
        /// Where the records of each row start, one more than there are rows; none if all are as long.
        starts: Option<Vec<usize>>,
    },
    Blobs(HeldBlobs),
    /// The rows of the page that lies in this one.
    Inner(Box<LoadedPage>),
}

/// Rows of a page whose bytes are in hand.
#[derive(Debug)]
pub(super) struct LoadedPage {
    page: Arc<PageReader>,
    rows: Rows,
    held: Held,
}

impl PageReader {
    /// Reads `page`, number `number` of a column that holds a leaf of this type.
    pub(super) fn open(
        page: &Page,
        number: usize,
        leaf: Arc<LeafType>,
        tables: Arc<TableBudget>,
    ) -> Result<Self> {
        let layout = PageLayout::decode(page.encoding.clone())
            .map_err(|error| FormatError::corrupt("page layout", format!("not a message: {error}")));
        let layout = layout.and_then(|layout| Layout::open(layout.layout, page, &leaf, &tables));
        let layout = layout.map_err(|error| place(error, Some(number), &leaf))?;
        Ok(Self { number: Some(number), rows: page.length, leaf, layout, tables })
    }

    /// Reads what lies in `page` with a layout of its own and a leaf of this type.
    pub(super) fn nested(
        layout: Option<page_layout::Layout>,
        page: &Page,
        leaf: LeafType,
        tables: &Arc<TableBudget>,
    ) -> Result<Self> {
        let layout = Layout::open(layout, page, &leaf, tables)?;
        Ok(Self { number: None, rows: page.length, leaf: Arc::new(leaf), layout, tables: Arc::clone(tables) })
    }

    /// What the lookup tables of the file may take.
    pub(super) fn tables(&self) -> &TableBudget {
        &self.tables
    }

    /// `error` with the place of the page.
    pub(super) fn place(&self, error: FormatError) -> FormatError {
        place(error, self.number, &self.leaf)
    }

    /// Bytes of its lookup table.
    pub(super) fn weight(&self) -> usize {
        match &self.layout {
            Layout::MiniBlock(layout) => layout.weight(),
            Layout::FullZip(layout) => layout.weight(),
            Layout::Constant(layout) => layout.weight(),
            Layout::Blob(layout) => layout.weight(),
            Layout::EmptyStruct => 0,
        }
    }

    /// The buffers that the lookup table is made of; none if it is there, or none is needed.
    fn table_extents(&self) -> Option<Vec<Extent>> {
        match &self.layout {
            Layout::MiniBlock(layout) => layout.table_extents(),
            Layout::FullZip(layout) => layout.table_extents(),
            Layout::Constant(layout) => layout.table_extents(),
            Layout::Blob(_) | Layout::EmptyStruct => None,
        }
    }

    fn fill_table(&self, buffers: &[Bytes]) -> Result<()> {
        let room = self.tables.table_of(buffers);
        match &self.layout {
            Layout::MiniBlock(layout) => layout.fill_table(buffers, self.rows, &self.leaf, &room),
            Layout::FullZip(layout) => layout.fill_table(buffers, &room),
            Layout::Constant(layout) => layout.fill_table(buffers, self.rows, &self.leaf, &room),
            Layout::Blob(_) | Layout::EmptyStruct => Ok(()),
        }
    }

    /// A machine that loads the lookup table, as far as `rows` need it; none if it is there.
    pub(super) fn prepare(self: &Arc<Self>, rows: &Rows) -> Result<Option<Load<()>>> {
        if let Layout::Blob(layout) = &self.layout {
            let inner = layout.prepare(rows).map_err(|error| self.place(error))?;
            let page = Arc::clone(self);
            return Ok(inner.map(|inner| Box::new(Placed { page, inner }) as Load<()>));
        }
        let Some(extents) = self.table_extents() else { return Ok(None) };
        Ok(Some(Box::new(Prepare { page: Arc::clone(self), fetch: Slices::new(extents) })))
    }

    /// Bytes that `rows` take, once prepared.
    pub(super) fn cost(&self, rows: Range<u64>) -> Option<u64> {
        match &self.layout {
            Layout::MiniBlock(layout) => layout.cost(&rows),
            Layout::FullZip(layout) => layout.cost(&rows, self.rows),
            Layout::Constant(layout) => layout.cost(&rows),
            Layout::Blob(layout) => layout.cost(&rows),
            Layout::EmptyStruct => Some(0),
        }
    }

    /// A machine that loads `rows` of this page.
    pub(super) fn load(self: &Arc<Self>, rows: Rows) -> Result<LoadPage> {
        if self.table_extents().is_some() {
            return Err(FormatError::corrupt("step protocol", "rows are loaded before they are prepared"));
        }
        Ok(LoadPage { page: Arc::clone(self), rows, state: State::Start })
    }
}

impl Layout {
    fn open(
        layout: Option<page_layout::Layout>,
        page: &Page,
        leaf: &LeafType,
        tables: &Arc<TableBudget>,
    ) -> Result<Self> {
        Ok(match layout {
            _ if leaf.is_empty_struct() => Self::EmptyStruct,
            Some(page_layout::Layout::MiniBlockLayout(layout)) => {
                Self::MiniBlock(MiniBlock::open(&layout, page, leaf)?)
            }
            Some(page_layout::Layout::FullZipLayout(layout)) => {
                Self::FullZip(FullZip::open(&layout, page, leaf)?)
            }
            Some(page_layout::Layout::ConstantLayout(layout)) => {
                Self::Constant(Constant::open(&layout, page, leaf)?)
            }
            Some(page_layout::Layout::BlobLayout(layout)) => {
                Self::Blob(Blob::open(*layout, page, leaf, tables)?)
            }
            None => return Err(FormatError::corrupt("page layout", "it is missing or unknown")),
        })
    }
}

fn place(error: FormatError, number: Option<usize>, leaf: &LeafType) -> FormatError {
    let Some(number) = number else { return error };
    at_member(error.within(format_args!("page {number}")), &leaf.name)
}

impl LoadedPage {
    /// Decodes `rows`, which are among those that were loaded.
    pub(super) fn decode(&self, rows: &Rows, out: &mut LeafBuilder) -> Result<()> {
        let decoded = self.decode_rows(rows, out).and_then(|()| out.check());
        decoded.map_err(|error| self.page.place(error))
    }

    fn decode_rows(&self, rows: &Rows, out: &mut LeafBuilder) -> Result<()> {
        match (&self.page.layout, &self.held) {
            (Layout::MiniBlock(layout), Held::Chunks(runs)) => layout.decode(runs, rows, out),
            (Layout::FullZip(layout), Held::Records { bytes, starts }) => {
                for positions in positions(&self.rows, rows) {
                    layout.decode(bytes, starts.as_deref(), positions, out)?;
                }
                Ok(())
            }
            (Layout::Constant(layout), Held::Nothing) => layout.decode(rows, out),
            (Layout::Blob(layout), Held::Inner(page)) => layout.decode_descriptions(page, rows, out),
            (Layout::Blob(layout), Held::Blobs(held)) => {
                for (range, positions) in rows.ranges().iter().zip(positions(&self.rows, rows)) {
                    layout.decode(held, range, positions, out)?;
                }
                Ok(())
            }
            (Layout::EmptyStruct, Held::Nothing) => {
                let count = crate::bounds::size(rows.len(), "page")?;
                out.levels.append_valid(count);
                out.values.append_fillers(count)
            }
            _ => Err(FormatError::corrupt("step protocol", "the bytes are not those of the page")),
        }
    }
}

/// Where the ranges of `wanted`, which are among `loaded`, lie in it.
fn positions(loaded: &Rows, wanted: &Rows) -> Vec<Range<usize>> {
    let mut positions = Vec::with_capacity(wanted.ranges().len());
    let mut passed = 0;
    let mut ranges = loaded.ranges().iter().peekable();
    for range in wanted.ranges() {
        while let Some(before) = ranges.next_if(|loaded| loaded.end <= range.start) {
            passed += before.end - before.start;
        }
        if let Some(within) = ranges.peek() {
            let start = passed + range.start.saturating_sub(within.start);
            let to = |position: u64| usize::try_from(position).unwrap_or(usize::MAX);
            positions.push(to(start)..to(start + (range.end - range.start)));
        }
    }
    positions
}

/// Loads the lookup table of a page.
#[derive(Debug)]
struct Prepare {
    page: Arc<PageReader>,
    fetch: Slices,
}

impl Machine for Prepare {
    type Output = ();

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<()>> {
        if answers.is_empty()
            && let Some(ask) = self.fetch.ask()
        {
            return Ok(Step::Fetch(vec![ask]));
        }
        let buffers = self.fetch.of(answers)?;
        self.page.fill_table(&buffers).map_err(|error| self.page.place(error))?;
        Ok(Step::Ready(()))
    }
}

/// A machine whose errors name the page.
struct Placed {
    page: Arc<PageReader>,
    inner: Load<()>,
}

impl Machine for Placed {
    type Output = ();

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<()>> {
        self.inner.step(answers).map_err(|error| self.page.place(error))
    }
}

/// Loads rows of a page.
pub(super) struct LoadPage {
    page: Arc<PageReader>,
    rows: Rows,
    state: State,
}

enum State {
    Start,
    /// Parts of a repetition index that is not kept.
    Index(Slices),
    Chunks {
        firsts: Vec<usize>,
        fetch: Slices,
    },
    /// Records as one slice, or packed.
    Records {
        starts: Option<Vec<usize>>,
        packed: bool,
    },
    Blobs(Load<Held>),
    Done,
}

impl LoadPage {
    fn done(&mut self, held: Held) -> Step<LoadedPage> {
        self.state = State::Done;
        Step::Ready(LoadedPage { page: Arc::clone(&self.page), rows: std::mem::take(&mut self.rows), held })
    }

    fn next(&mut self, page: &PageReader, answers: Vec<Answer>) -> Result<Step<LoadedPage>> {
        match (std::mem::replace(&mut self.state, State::Done), &page.layout) {
            (State::Start, Layout::MiniBlock(layout)) => {
                let (firsts, extents) = layout.plan(&self.rows)?;
                let fetch = Slices::new(extents);
                match fetch.ask() {
                    Some(ask) => {
                        self.state = State::Chunks { firsts, fetch };
                        Ok(Step::Fetch(vec![ask]))
                    }
                    None => {
                        let slices = fetch.of(vec![])?;
                        Ok(self.chunks_there(firsts, slices))
                    }
                }
            }
            (State::Chunks { firsts, fetch }, _) => {
                let slices = fetch.of(answers)?;
                Ok(self.chunks_there(firsts, slices))
            }
            (State::Start, Layout::FullZip(layout)) => {
                if let Some(extents) = layout.index_parts(&self.rows)? {
                    let fetch = Slices::new(extents);
                    if let Some(ask) = fetch.ask() {
                        self.state = State::Index(fetch);
                        return Ok(Step::Fetch(vec![ask]));
                    }
                }
                let (extents, starts) = layout.plan(&self.rows, &[])?;
                Ok(self.records(extents, starts))
            }
            (State::Index(fetch), Layout::FullZip(layout)) => {
                let (extents, starts) = layout.plan(&self.rows, &fetch.of(answers)?)?;
                Ok(self.records(extents, starts))
            }
            (State::Records { starts, packed }, _) => {
                let bytes = match packed {
                    true => Answer::only_packed(answers)?.freeze(),
                    false => Answer::only_slices(answers, 1)?.pop().unwrap_or_default(),
                };
                Ok(self.done(Held::Records { bytes, starts }))
            }
            (State::Start, Layout::Blob(layout)) => {
                let machine = layout.load(&self.rows)?;
                self.blobs(machine, answers)
            }
            (State::Blobs(machine), _) => self.blobs(machine, answers),
            (State::Start, Layout::Constant(_) | Layout::EmptyStruct) => Ok(self.done(Held::Nothing)),
            (State::Done | State::Index(_), _) => {
                Err(FormatError::corrupt("step protocol", "a step after the machine was done"))
            }
        }
    }

    fn chunks_there(&mut self, firsts: Vec<usize>, slices: Vec<Bytes>) -> Step<LoadedPage> {
        self.done(Held::Chunks(firsts.into_iter().zip(slices).collect()))
    }

    fn blobs(&mut self, mut machine: Load<Held>, answers: Vec<Answer>) -> Result<Step<LoadedPage>> {
        Ok(match machine.step(answers)? {
            Step::Ready(held) => self.done(held),
            Step::Fetch(asks) => {
                self.state = State::Blobs(machine);
                Step::Fetch(asks)
            }
        })
    }

    fn records(&mut self, ranges: Vec<Extent>, starts: Option<Vec<usize>>) -> Step<LoadedPage> {
        let extents: Vec<_> = ranges.into_iter().filter(|extent| !extent.is_empty()).collect();
        let ask = match extents.len() {
            0 => return self.done(Held::Records { bytes: Bytes::new(), starts }),
            // One slice can become an Arrow buffer as it is; many are better read into one slab.
            1 => Ask::slices(extents),
            _ => Ask::packed(extents),
        };
        let packed = ask.extents.len() > 1;
        self.state = State::Records { starts, packed };
        Step::Fetch(vec![ask])
    }
}

impl Machine for LoadPage {
    type Output = LoadedPage;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<LoadedPage>> {
        let page = Arc::clone(&self.page);
        self.next(&page, answers).map_err(|error| page.place(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_rows_among_those_loaded() {
        let loaded = Rows::from_ranges([2..5, 10..12, 20..30]).unwrap();
        let wanted = Rows::from_ranges([3..5, 11..12, 20..21, 25..30]).unwrap();
        assert_eq!(positions(&loaded, &wanted), [1..3, 4..5, 5..6, 10..15]);
    }
}
