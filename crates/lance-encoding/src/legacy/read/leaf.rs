//! One column of values: its pages, and what decoding them gives.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use lance_footer::{Column, ColumnKind, FormatError, Join, Page, Result, Rows};
use prost::Message;

use super::blob::{self, Blobs};
use super::encoded::{Encoded, Held, push};
use super::flat::{Flat, Pieces, runs};
use super::packed_struct::PackedStruct;
use super::parse::{self, Buffers};
use crate::blob::{HeldBlobs, are_descriptions};
use crate::budget::{Room, TableBudget};
use crate::field::is_packed;
use crate::load::{Load, map};
use crate::paged::{Starts, Touched};
use crate::proto::array::ArrayEncoding;
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::storage::Storage;
use crate::validity::Validity;
use crate::values::{Values, misfit, string_array};

/// A column of values.
#[derive(Debug)]
pub(super) struct Leaf {
    data_type: DataType,
    shape: Shape,
    pages: Vec<LeafPage>,
    starts: Starts,
}

/// What is made of the values.
#[derive(Debug)]
enum Shape {
    Values(Storage),
    Packed(PackedStruct),
    Blobs,
}

#[derive(Debug)]
struct LeafPage {
    number: usize,
    length: u64,
    root: Root,
}

#[derive(Debug)]
enum Root {
    /// Of a page without rows.
    Nothing,
    Values(Encoded),
    Packed(Flat),
    Blobs(Blobs),
}

/// Rows of a column whose bytes are in hand.
#[derive(Debug)]
pub(super) struct HeldLeaf(Vec<HeldPage>);

#[derive(Debug)]
struct HeldPage {
    /// The page's number, and the position of its first row among those that were loaded.
    number: usize,
    first: u64,
    ranges: Vec<Range<u64>>,
    root: HeldRoot,
}

#[derive(Debug)]
enum HeldRoot {
    Values(Held),
    Packed(Pieces),
    Blobs(HeldBlobs),
}

impl Leaf {
    /// Reads `column`, which holds `field`.
    pub(super) fn open(field: &Field, column: &Column, tables: &Arc<TableBudget>) -> Result<Self> {
        let data_type = field.data_type();
        let shape = match (column.kind, data_type) {
            (ColumnKind::Blob, DataType::LargeBinary) => Shape::Blobs,
            (ColumnKind::Blob, DataType::Struct(members)) if are_descriptions(members) => {
                Shape::Packed(PackedStruct::new(members)?)
            }
            (ColumnKind::Blob, _) => {
                return Err(FormatError::corrupt("column", format!("blobs in a column of type {data_type}")));
            }
            (ColumnKind::Values, DataType::Struct(members)) if is_packed(field) => {
                Shape::Packed(PackedStruct::new(members)?)
            }
            (ColumnKind::Values, _) => Shape::Values(Storage::of(data_type)?),
        };
        let mut pages = Vec::with_capacity(column.pages.len());
        for (number, page) in column.pages.iter().enumerate() {
            let root = Root::open(&shape, data_type, page, column, tables);
            let root = root.map_err(|error| at_page(error, number))?;
            pages.push(LeafPage { number, length: page.length, root });
        }
        let starts = Starts::new(column.pages.iter().map(|page| page.length))?;
        Ok(Self { data_type: data_type.clone(), shape, pages, starts })
    }

    /// Values of the column.
    pub(super) fn rows(&self) -> u64 {
        self.starts.rows()
    }

    /// Bytes of the lookup tables that are held.
    pub(super) fn weight(&self) -> usize {
        let weights = self.pages.iter().map(|page| match &page.root {
            Root::Values(encoded) => encoded.weight(),
            Root::Blobs(blobs) => blobs.weight(),
            Root::Nothing | Root::Packed(_) => 0,
        });
        weights.sum()
    }

    /// Machines that load the lookup tables which `rows` need and which are not held.
    pub(super) fn prepare(&self, rows: &Rows, machines: &mut Vec<Load<()>>) -> Result<()> {
        for Touched { page, rows, .. } in self.starts.touched(rows) {
            let machine = match self.pages.get(page).map(|page| &page.root) {
                Some(Root::Values(encoded)) => encoded.prepare(),
                Some(Root::Blobs(blobs)) => blobs.prepare(rows.ranges()),
                _ => Ok(None),
            };
            machines.extend(machine.map_err(|error| at_page(error, page))?);
        }
        Ok(())
    }

    /// About how many bytes `rows` take; none if that cannot be told before they are prepared.
    pub(super) fn cost(&self, rows: Range<u64>) -> Option<u64> {
        let mut cost = 0_u64;
        for Touched { page, rows, .. } in self.starts.touched(&Rows::range(rows)) {
            let page = self.pages.get(page)?;
            cost = cost.saturating_add(match &page.root {
                Root::Nothing => 0,
                Root::Values(encoded) => encoded.cost(rows.len(), page.length),
                Root::Packed(flat) => flat.cost(rows.len(), page.length),
                Root::Blobs(blobs) => blobs.cost(rows.ranges().first()?)?,
            });
        }
        Some(cost)
    }

    /// Loads `rows`, which are within the column.
    pub(super) fn load(&self, rows: &Rows) -> Result<Load<HeldLeaf>> {
        let mut first = 0;
        let mut machines = vec![];
        for Touched { page, rows, .. } in self.starts.touched(rows) {
            let page = self.pages.get(page).ok_or_else(|| FormatError::corrupt("column", "no page"))?;
            let machine = page.load(first, rows.ranges().to_vec());
            machines.push(machine.map_err(|error| at_page(error, page.number))?);
            first += rows.len();
        }
        let all: Load<Vec<HeldPage>> = Box::new(Join::new(machines));
        Ok(map(all, |pages| Ok(HeldLeaf(pages))))
    }

    /// The loaded rows at `positions`.
    pub(super) fn decode(&self, held: &HeldLeaf, positions: &Rows, room: &mut Room) -> Result<ArrayRef> {
        let rows = usize::try_from(positions.len()).unwrap_or(usize::MAX);
        match &self.shape {
            Shape::Values(storage) => {
                let mut values = Values::within(storage, room.left());
                let mut validity = Validity::default();
                held.each(positions, |page, positions| {
                    let HeldRoot::Values(held) = &page.root else { return Err(misfit("values")) };
                    let runs = runs(&page.ranges, positions);
                    let nulls = held.decode(&runs, &mut values)?;
                    push(&mut validity, nulls.as_ref(), super::encoded::count(&runs)?);
                    values.check()?;
                    room.check(values.weight().saturating_add(validity.weight()), "values")
                })?;
                check_count(values.len(), rows)?;
                room.take(values.weight().saturating_add(validity.weight()), "values")?;
                values.finish(&self.data_type, validity.finish())
            }
            Shape::Packed(packed) => {
                let mut values = packed.values();
                held.each(positions, |page, positions| {
                    let HeldRoot::Packed(pieces) = &page.root else { return Err(misfit("a packed struct")) };
                    packed.decode(pieces, &runs(&page.ranges, positions), &mut values)
                })?;
                check_count(values.first().map_or(0, Values::len), rows)?;
                packed.finish(values, rows)
            }
            Shape::Blobs => self.decode_blobs(held, positions, rows),
        }
    }

    fn decode_blobs(&self, held: &HeldLeaf, positions: &Rows, rows: usize) -> Result<ArrayRef> {
        let mut parts: Vec<(Vec<usize>, Bytes)> = vec![];
        let mut validity = Validity::default();
        held.each(positions, |page, positions| {
            let HeldRoot::Blobs(blobs) = &page.root else { return Err(misfit("blobs")) };
            for range in positions.ranges() {
                let (ends, nulls, bytes) = blobs.part(range)?;
                push(&mut validity, nulls.as_ref(), ends.len().saturating_sub(1));
                parts.push((ends.to_vec(), bytes));
            }
            Ok(())
        })?;
        check_count(validity.len(), rows)?;
        // A single part need not be copied.
        if let [(ends, bytes)] = parts.as_slice() {
            return string_array(&self.data_type, true, ends, bytes.clone(), validity.finish());
        }
        let mut values = Values::new(&Storage::Variable { wide: true });
        if let Values::Large(values) = &mut values {
            values.reserve(rows, parts.iter().map(|(_, bytes)| bytes.len()).sum());
            for (ends, bytes) in &parts {
                let first = ends.first().copied().unwrap_or_default();
                values.append_run(bytes, first, ends.iter().skip(1).copied())?;
            }
        }
        values.finish(&self.data_type, validity.finish())
    }
}

impl Root {
    fn open(
        shape: &Shape,
        data_type: &DataType,
        page: &Page,
        column: &Column,
        tables: &Arc<TableBudget>,
    ) -> Result<Self> {
        if page.length == 0 {
            return Ok(Self::Nothing);
        }
        let encoding = decode_message(&page.encoding)?;
        let buffers = Buffers::of(page, column, tables);
        match shape {
            Shape::Values(_) => {
                let encoded = parse::values(Some(&encoding), data_type, &buffers)?;
                encoded.check(page.length)?;
                Ok(Self::Values(encoded))
            }
            Shape::Packed(packed) => {
                let rows = packed_rows(&encoding, &buffers, packed.bits())?;
                rows.check(page.length)?;
                Ok(Self::Packed(rows))
            }
            Shape::Blobs => {
                let rows = packed_rows(&encoding, &buffers, blob::BITS)?;
                Ok(Self::Blobs(Blobs::new(rows, page.length, tables)?))
            }
        }
    }
}

/// The rows of a packed struct. What it says of its members is not looked at: their types say it all, and which
/// buffers it names means nothing.
fn packed_rows(encoding: &ArrayEncoding, buffers: &Buffers, bits: u64) -> Result<Flat> {
    match parse::kind(Some(encoding))? {
        Kind::PackedStruct(packed) => Ok(Flat::plain(buffers.find(packed.buffer.as_ref())?, bits)),
        _ => Err(FormatError::corrupt("array encoding", "a packed struct is stored as something else")),
    }
}

/// The encoding message of a page.
pub(super) fn decode_message(encoding: &Bytes) -> Result<ArrayEncoding> {
    ArrayEncoding::decode(encoding.clone())
        .map_err(|error| FormatError::corrupt("array encoding", format!("not a message: {error}")))
}

impl LeafPage {
    fn load(&self, first: u64, ranges: Vec<Range<u64>>) -> Result<Load<HeldPage>> {
        let root = match &self.root {
            Root::Values(encoded) => map(encoded.load(&ranges)?, |held| Ok(HeldRoot::Values(held))),
            Root::Packed(flat) => map(flat.load(&ranges)?, |pieces| Ok(HeldRoot::Packed(pieces))),
            Root::Blobs(blobs) => map(blobs.load(&ranges)?, |held| Ok(HeldRoot::Blobs(held))),
            Root::Nothing => return Err(FormatError::corrupt("column", "rows of a page without rows")),
        };
        let number = self.number;
        Ok(map(root, move |root| Ok(HeldPage { number, first, ranges, root })))
    }
}

impl HeldLeaf {
    /// Hands the pages to `take` that hold rows at `positions`, and these positions counted from the page's first.
    fn each(&self, positions: &Rows, mut take: impl FnMut(&HeldPage, &Rows) -> Result<()>) -> Result<()> {
        for page in &self.0 {
            let len = page.ranges.iter().fold(0, |sum, range| sum + (range.end - range.start));
            let within = positions.within(page.first..page.first + len).shifted_down(page.first);
            if !within.is_empty() {
                take(page, &within).map_err(|error| at_page(error, page.number))?;
            }
        }
        Ok(())
    }
}

fn check_count(values: usize, rows: usize) -> Result<()> {
    if values == rows {
        return Ok(());
    }
    Err(FormatError::corrupt("column", format!("{values} values instead of {rows}")))
}

/// An error of page `number`.
pub(super) fn at_page(error: FormatError, number: usize) -> FormatError {
    error.within(format_args!("page {number}"))
}
