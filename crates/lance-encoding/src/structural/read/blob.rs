//! Blob pages: a page of descriptions within the page, and the levels that these tell.
//!
//! ```text
//! inner layout   packed structs of position (u64) and size (u64), none of them null
//! layers         those of the blobs: (n, 0) is no blob, but definition << 16 | repetition
//! ```
//!
//! A leaf of large binaries has the values, which are read once their descriptions were; a leaf of structs has the
//! descriptions.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use lance_footer::{FormatError, Page, Result, Rows};

use super::leaf::{LeafBuilder, LeafType};
use super::page::{Held, LoadedPage, PageReader};
use super::unravel::{Entries, Unraveler};
use crate::blob::{
    Description, Descriptions, HeldBlobs, are_descriptions, described_bytes, description_type,
};
use crate::budget::{Room, TableBudget};
use crate::layers::Numbering;
use crate::load::{Load, and_then, counted, map, ready};
use crate::order::check_len;
use crate::proto::{BlobLayout, page_layout};
use crate::storage::Storage;
use crate::values::{Values, misfit};

/// A page of blobs.
#[derive(Debug)]
pub(super) struct Blob {
    numbering: Numbering,
    inner: Arc<PageReader>,
    /// If values are wanted, the descriptions that were read.
    described: Option<Descriptions>,
}

impl Blob {
    /// From its layout; the buffers are those of the page within.
    pub(super) fn open(
        layout: BlobLayout,
        page: &Page,
        leaf: &LeafType,
        tables: &Arc<TableBudget>,
    ) -> Result<Self> {
        let numbering = Numbering::from_proto(&layout.layers)?;
        leaf.check_layers(&numbering)?;
        if numbering.max_repetition() > 0 {
            // The reference writes no levels for the items that there are.
            return Err(FormatError::unsupported("reading blobs in lists"));
        }
        let described = match &leaf.data_type {
            DataType::LargeBinary => Some(Descriptions::new(page.length)),
            DataType::Struct(members) if are_descriptions(members) => None,
            other => return Err(corrupt(format!("blobs in a column of type {other}"))),
        };
        let data_type = description_type();
        let DataType::Struct(members) = &data_type else { return Err(misfit("descriptions")) };
        let storage = Storage::packed(members)?;
        let inner = LeafType { name: leaf.name.clone(), data_type, storage, lists: vec![false], slots: 1 };
        let layout = layout.inner_layout.and_then(|layout| layout.layout);
        // Descriptions are kept, so they must have bytes.
        if let Some(page_layout::Layout::BlobLayout(_) | page_layout::Layout::ConstantLayout(_)) = layout {
            return Err(corrupt("its descriptions are no mini-block or full-zip page"));
        }
        Ok(Self { numbering, inner: Arc::new(PageReader::nested(layout, page, inner, tables)?), described })
    }

    /// Bytes of the lookup tables.
    pub(super) fn weight(&self) -> usize {
        self.inner.weight() + self.described.as_ref().map_or(0, Descriptions::weight)
    }

    /// A machine that loads what has to be known of `rows` before they are read; none if it is.
    pub(super) fn prepare(&self, rows: &Rows) -> Result<Option<Load<()>>> {
        let Some(descriptions) = &self.described else { return self.inner.prepare(rows) };
        check_len(Some(rows.len()))?;
        let missing = descriptions.missing(rows.ranges());
        if missing.is_empty() {
            return Ok(None);
        }
        let all = Rows::from_ranges(missing.iter().cloned())?;
        let table = self.inner.prepare(&all)?.unwrap_or_else(|| ready(()));
        let (inner, descriptions) = (Arc::clone(&self.inner), descriptions.clone());
        let count = missing.len() as u64;
        Ok(Some(and_then(table, move |()| {
            let load: Load<LoadedPage> = Box::new(inner.load(all)?);
            Ok(map(counted(load), move |(page, read)| {
                for rows in missing {
                    // A byte more for each, since the page may have levels.
                    let room = described_bytes(&rows)? as u64 + (rows.end - rows.start);
                    let mut out = LeafBuilder::new(&inner.leaf, &Room::new(room));
                    page.decode(&Rows::range(rows.clone()), &mut out)?;
                    let described = Members::of(&out.values)?.bytes();
                    descriptions.keep(&rows, &described, read / count, inner.tables())?;
                }
                Ok(())
            }))
        })))
    }

    /// Bytes that `rows` take, once prepared.
    pub(super) fn cost(&self, rows: &Range<u64>) -> Option<u64> {
        match &self.described {
            Some(descriptions) => descriptions.cost(rows),
            None => self.inner.cost(rows.clone()),
        }
    }

    /// A machine that loads `rows`.
    pub(super) fn load(&self, rows: &Rows) -> Result<Load<Held>> {
        match &self.described {
            Some(descriptions) => Ok(map(descriptions.load(rows.ranges())?, |held| Ok(Held::Blobs(held)))),
            None => {
                let page: Load<LoadedPage> = Box::new(self.inner.load(rows.clone())?);
                Ok(map(page, |page| Ok(Held::Inner(Box::new(page)))))
            }
        }
    }

    /// Decodes the blobs of `rows`, which are at `positions` among those that were loaded.
    pub(super) fn decode(
        &self,
        held: &HeldBlobs,
        rows: &Range<u64>,
        positions: Range<usize>,
        out: &mut LeafBuilder,
    ) -> Result<()> {
        let descriptions = self.described.as_ref().ok_or_else(|| misfit("blobs"))?;
        let mut levels = Levels::default();
        descriptions.each(rows, |blob| levels.push(blob))?;
        levels.append(&self.numbering, out)?;
        let (ends, _, bytes) = held.part(&(positions.start as u64..positions.end as u64))?;
        let Values::Large(values) = &mut out.values else { return Err(misfit("blobs")) };
        values.append_run(&bytes, ends.first().copied().unwrap_or_default(), ends.iter().skip(1).copied())
    }

    /// Decodes the descriptions of `rows`, which `page` has loaded.
    pub(super) fn decode_descriptions(
        &self,
        page: &LoadedPage,
        rows: &Rows,
        out: &mut LeafBuilder,
    ) -> Result<()> {
        let before = out.values.len();
        // The values go to their place, the levels are those of the page within and mean nothing.
        let values = std::mem::replace(&mut out.values, Values::new(&Storage::Nothing));
        let mut inner = LeafBuilder { values, levels: Unraveler::new(&[false]), room: out.room.clone() };
        page.decode(rows, &mut inner)?;
        out.values = inner.values;
        let mut levels = Levels::default();
        Members::of(&out.values)?.from(before).try_for_each(|blob| levels.push(blob))?;
        levels.append(&self.numbering, out)
    }
}

/// The definition level of each blob.
#[derive(Default)]
struct Levels {
    definition: Vec<u16>,
}

impl Levels {
    fn push(&mut self, blob: Description) -> Result<()> {
        if blob.is_there() {
            self.definition.push(0);
            return Ok(());
        }
        let level = |bits: u64| u16::try_from(bits & 0xffff).unwrap_or(u16::MAX);
        match (blob.position >> 32, level(blob.position >> 16), level(blob.position)) {
            (0, definition, 0) if definition > 0 => self.definition.push(definition),
            _ => return Err(corrupt(format!("no blob, but the levels {:#x}", blob.position))),
        }
        Ok(())
    }

    fn append(&self, numbering: &Numbering, out: &mut LeafBuilder) -> Result<()> {
        let entries = Entries { repetition: Err(self.definition.len()), definition: Some(&self.definition) };
        out.levels.append(numbering, entries).map(|_| ())
    }
}

/// Positions and sizes, as decoded.
struct Members<'a> {
    positions: &'a [u8],
    sizes: &'a [u8],
}

impl<'a> Members<'a> {
    fn of(values: &'a Values) -> Result<Self> {
        let Values::Packed(packed) = values else { return Err(misfit("descriptions")) };
        match packed.members() {
            [Values::Fixed(positions), Values::Fixed(sizes)] => {
                Ok(Self { positions: positions.as_slice(), sizes: sizes.as_slice() })
            }
            _ => Err(misfit("descriptions")),
        }
    }

    /// The descriptions from number `first` on.
    fn from(&self, first: usize) -> impl Iterator<Item = Description> + use<'a> {
        let numbers = |bytes: &'a [u8]| {
            let words = bytes.get(first.saturating_mul(8)..).unwrap_or_default().as_chunks().0;
            words.iter().map(|word| u64::from_le_bytes(*word))
        };
        let pairs = numbers(self.positions).zip(numbers(self.sizes));
        pairs.map(|(position, size)| Description { position, size })
    }

    /// Each position with its size after it.
    fn bytes(&self) -> Vec<u8> {
        self.from(0).flat_map(|blob| [blob.position, blob.size]).flat_map(u64::to_le_bytes).collect()
    }
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("blob page", reason)
}
