//! Full-zip pages: wide values, each in one piece with its levels.
//!
//! ```text
//! buffer 0   records, one a level entry, one after the other
//! buffer 1   repetition index, if there are lists or the values are strings: where the records of each row start,
//!            and where the last one ends; all numbers of 1, 2, 4 or 8 bytes
//!
//! record     control word | value                        fixed width; invisible entries have no value
//!            control word | length (u32 or u64) | bytes  strings; only where the definition level is 0
//! ```
//!
//! The control word, of 0, 1, 2 or 4 bytes, is `repetition << bits_def | definition`.

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use lance_footer::{Extent, FormatError, Page, Result, Rows};

use super::leaf::{LeafBuilder, LeafType};
use super::records::{Control, FixedValue, Strings, read_fixed, read_strings};
use super::unravel::Entries;
use crate::bounds;
use crate::budget::TableRoom;
use crate::codec::{Codec, Place};
use crate::layers::Numbering;
use crate::proto::FullZipLayout;
use crate::proto::full_zip_layout::Details;
use crate::storage::Storage;

/// A repetition index up to this size is kept; of a larger one only the parts that rows need are read.
const MAX_KEPT_INDEX: u64 = 256 << 10;

/// A page of records.
#[derive(Debug)]
pub(super) struct FullZip {
    pub(super) numbering: Numbering,
    pub(super) control: Control,
    pub(super) records: Records,
    data: Extent,
    index: Option<Index>,
    /// To how many bytes values are aligned in Arrow.
    alignment: usize,
}

/// What the values of records are.
#[derive(Debug)]
pub(super) enum Records {
    Fixed { bytes: usize, value: FixedValue },
    Strings(Strings),
}

#[derive(Debug)]
struct Index {
    extent: Extent,
    /// Bytes of a number.
    width: usize,
    kept: OnceLock<Bytes>,
}

impl FullZip {
    /// From its layout; the codec must fit the leaf.
    pub(super) fn open(layout: &FullZipLayout, page: &Page, leaf: &LeafType) -> Result<Self> {
        let numbering = Numbering::from_proto(&layout.layers)?;
        leaf.check_layers(&numbering)?;
        let control = Control::new(layout.bits_rep, layout.bits_def)?;
        if control.has_repetition() != (numbering.max_repetition() > 0) && page.length > 0 {
            return Err(corrupt("repetition levels and lists do not go together"));
        }
        let place = match layout.details {
            Some(Details::BitsPerValue(_)) => Place::FixedRecords,
            _ => Place::Records,
        };
        let codec = Codec::parse(layout.value_compression.as_ref(), place)?;
        let records = match layout.details {
            Some(Details::BitsPerValue(bits)) => Records::fixed(codec, bits, leaf)?,
            Some(Details::BitsPerOffset(bits)) => Records::strings(codec, bits, leaf)?,
            None => return Err(corrupt("neither bits a value nor bits an offset")),
        };
        let indexed = control.has_repetition() || matches!(records, Records::Strings(_));
        let (data, index) = match page.buffers.as_slice() {
            [data, index] if indexed => (*data, Some(Index::new(*index, page.length)?)),
            [data] if !indexed => (*data, None),
            buffers => {
                let due = if indexed { "2, records and a repetition index, are" } else { "1 of records is" };
                return Err(corrupt(format!("{} buffers where {due} due", buffers.len())));
            }
        };
        let this = Self { numbering, control, records, data, index, alignment: leaf.storage.alignment() };
        if let Some(width) = this.record_bytes()
            && (width as u64).checked_mul(page.length) != Some(data.len())
        {
            return Err(corrupt(format!("{} bytes for {} records of {width}", data.len(), page.length)));
        }
        Ok(this)
    }

    /// Bytes of the lookup table.
    pub(super) fn weight(&self) -> usize {
        self.index.as_ref().and_then(|index| index.kept.get()).map_or(0, Bytes::len)
    }

    /// What the lookup table is made of; none if it is there, or not kept.
    pub(super) fn table_extents(&self) -> Option<Vec<Extent>> {
        let index = self.index.as_ref().filter(|index| index.is_kept() && index.kept.get().is_none())?;
        Some(vec![index.extent])
    }

    /// Keeps the lookup table.
    pub(super) fn fill_table(&self, buffers: &[Bytes], room: &TableRoom<'_>) -> Result<()> {
        if let (Some(index), [bytes]) = (&self.index, buffers) {
            bounds::exactly(
                bytes,
                bounds::size(index.extent.len(), "repetition index")?,
                "repetition index",
            )?;
            index.check(bytes, self.data.len())?;
            // A copy, since these bytes may be a small part of what was read.
            room.keep(&index.kept, bytes.len(), Bytes::copy_from_slice(bytes))?;
        }
        Ok(())
    }

    /// Bytes of the records of `rows` of a page of `all` rows; estimated where the index is not kept.
    pub(super) fn cost(&self, rows: &Range<u64>, all: u64) -> Option<u64> {
        let count = rows.end.saturating_sub(rows.start);
        if let Some(width) = self.record_bytes() {
            return count.checked_mul(width as u64);
        }
        let index = self.index.as_ref()?;
        match index.kept.get() {
            Some(kept) => {
                let at = |row: u64| index.at(kept, usize::try_from(row).ok()?);
                at(rows.end)?.checked_sub(at(rows.start)?)
            }
            None if index.is_kept() => None,
            None => {
                let bytes = u128::from(self.data.len()) * u128::from(count) / u128::from(all.max(1));
                u64::try_from(bytes).ok()
            }
        }
    }

    /// The parts of the index that `rows` need, if it is not kept.
    pub(super) fn index_parts(&self, rows: &Rows) -> Result<Option<Vec<Extent>>> {
        let Some(index) = self.index.as_ref().filter(|index| index.kept.get().is_none()) else {
            return Ok(None);
        };
        let width = index.width as u64;
        // The number after the last row says where it ends.
        let part = |range: &Range<u64>| index.extent.slice(range.start * width..(range.end + 1) * width);
        Ok(Some(rows.ranges().iter().map(part).collect::<Result<_>>()?))
    }

    /// Where the records of `rows` lie, and where each row starts once they lie one after the other. `parts` are
    /// what [`Self::index_parts`] asked for.
    pub(super) fn plan(&self, rows: &Rows, parts: &[Bytes]) -> Result<(Vec<Extent>, Option<Vec<usize>>)> {
        let mut extents = Vec::with_capacity(rows.ranges().len());
        if let Some(width) = self.record_bytes() {
            for range in rows.ranges() {
                let at = |row: u64| row.checked_mul(width as u64).ok_or_else(|| corrupt("too many rows"));
                extents.push(self.data.slice(at(range.start)?..at(range.end)?)?);
            }
            return Ok((extents, None));
        }
        let Some(index) = &self.index else { return Err(corrupt("no repetition index")) };
        let mut starts = vec![0];
        let mut total = 0_usize;
        let mut previous = 0;
        for (number, range) in rows.ranges().iter().enumerate() {
            let first = bounds::size(range.start, "row")?;
            let count = bounds::size(range.end - range.start, "row")?;
            let (bytes, first) = match (index.kept.get(), parts.get(number)) {
                (Some(kept), _) => (kept, first),
                (None, Some(part)) => (part, 0),
                (None, None) => return Err(corrupt("a part of the repetition index is missing")),
            };
            let at = |row| index.at(bytes, row).ok_or_else(|| corrupt("the repetition index is too short"));
            // Rows come in order. If their records did not, a few bytes could be read as often as there are rows.
            let start = at(first)?;
            if start < previous {
                return Err(corrupt(format!(
                    "row {} starts at byte {start}, before {previous}",
                    range.start
                )));
            }
            previous = start;
            starts.reserve(count.min(bytes.len()));
            for row in first + 1..=first + count {
                let end = at(row)?;
                let len = end.checked_sub(previous);
                let len = len.filter(|_| end <= self.data.len());
                let len = len.ok_or_else(|| corrupt(format!("a row from byte {previous} to {end}")))?;
                total = total
                    .checked_add(bounds::size(len, "row")?)
                    .ok_or_else(|| corrupt("more bytes than fit into memory"))?;
                starts.push(total);
                previous = end;
            }
            extents.push(self.data.slice(start..previous)?);
        }
        Ok((extents, Some(starts)))
    }

    /// Decodes the rows at `positions` among those that were loaded.
    pub(super) fn decode(
        &self,
        bytes: &Bytes,
        starts: Option<&[usize]>,
        positions: Range<usize>,
        out: &mut LeafBuilder,
    ) -> Result<()> {
        let at = |position: usize| match (starts, self.record_bytes()) {
            (Some(starts), _) => starts.get(position).copied(),
            (None, Some(width)) => position.checked_mul(width),
            (None, None) => None,
        };
        let range = at(positions.start).zip(at(positions.end));
        let range = range.filter(|(start, end)| start <= end && *end <= bytes.len());
        let (start, end) = range.ok_or_else(|| corrupt("rows that were not loaded"))?;
        let bytes = bytes.slice(start..end);
        match &self.records {
            Records::Fixed { value: FixedValue::Plain, .. } if self.control.bytes() == 0 => {
                out.levels.append_valid(positions.len());
                out.values.append_shared(bytes, positions.len(), self.alignment)
            }
            // Nothing is stored of them, but that there are as many rows.
            Records::Fixed { bytes: 0, value } if self.control.bytes() == 0 => {
                let entries = Entries { repetition: Err(positions.len()), definition: None };
                value.append_levels(&self.numbering, entries, &mut out.levels)?;
                value.append(&[], positions.len(), &mut out.values)
            }
            Records::Fixed { bytes: width, value } => {
                read_fixed(&bytes, &self.control, &self.numbering, *width, value, out)
            }
            Records::Strings(strings) => {
                read_strings(&bytes, &self.control, &self.numbering, strings, positions.len(), out)
            }
        }
    }

    /// Bytes of a record, if all have the same.
    fn record_bytes(&self) -> Option<usize> {
        match &self.records {
            Records::Fixed { bytes, .. } if self.index.is_none() => bytes.checked_add(self.control.bytes()),
            _ => None,
        }
    }

    /// Where the value of `row` lies, if it can become an Arrow value as it is. The value of a null is none.
    ///
    /// Of a page without lists. The record of a null string is its control word alone, so the index tells which
    /// are null.
    pub(super) fn value_extent(&self, row: u64) -> Result<Option<Extent>> {
        let (range, skipped) = match (&self.records, &self.index) {
            (Records::Fixed { bytes, .. }, None) => {
                let start = row.checked_mul(*bytes as u64).ok_or_else(|| corrupt("too many rows"))?;
                return Ok(Some(self.data.slice(start..start.saturating_add(*bytes as u64))?));
            }
            (Records::Strings(strings), Some(index)) => {
                let row = bounds::size(row, "row")?;
                let at = |row| {
                    let kept = index.kept.get()?;
                    index.at(kept, row)
                };
                let range = at(row).zip(row.checked_add(1).and_then(at));
                (range, self.control.bytes() + strings.length_bytes)
            }
            _ => return Err(corrupt("values that are not stored as they are")),
        };
        let (start, end) = range.ok_or_else(|| corrupt("the repetition index is too short"))?;
        if self.control.bytes() > 0 && end.checked_sub(start) == Some(self.control.bytes() as u64) {
            return Ok(None);
        }
        Ok(Some(self.data.slice(start.saturating_add(skipped as u64)..end)?))
    }

    /// Whether [`Self::value_extent`] can tell where values lie.
    pub(super) fn is_direct(&self) -> bool {
        // One layer's nulls show in the sizes of records; more than one have to be read.
        let told = self.numbering.layers().len() == 1 || self.control.bytes() == 0;
        told && match &self.records {
            Records::Fixed { value: FixedValue::Plain, .. } => self.control.bytes() == 0,
            Records::Fixed { .. } => false,
            Records::Strings(strings) => {
                let kept = self.index.as_ref().is_some_and(|index| index.kept.get().is_some());
                kept && matches!(strings.codec, Codec::Variable(_))
            }
        }
    }
}

impl Records {
    fn fixed(codec: Codec, bits: u32, leaf: &LeafType) -> Result<Self> {
        let bits = bounds::size(bits.into(), "page layout")?;
        if bits % 8 != 0 {
            return Err(corrupt(format!("values of {bits} bits")));
        }
        let (bytes, value) = match (codec, &leaf.storage) {
            (Codec::Flat(flat), Storage::Fixed { bits: 1 }) if flat.bits == 8 => (1, FixedValue::Bool),
            (Codec::Flat(flat), Storage::Fixed { bits }) if flat.bits == *bits && bits % 8 == 0 => {
                (bits / 8, FixedValue::Plain)
            }
            (Codec::FixedSizeList(list), storage) if Codec::FixedSizeList(list.clone()).fits(storage) => {
                let value = match list.validity_inside() {
                    true => FixedValue::Items(list.clone()),
                    false => FixedValue::Plain,
                };
                (list.value_bytes()?, value)
            }
            (Codec::PackedStruct(packed), storage) if Codec::PackedStruct(packed.clone()).fits(storage) => {
                (packed.bytes, FixedValue::Packed(packed))
            }
            (Codec::Constant(constant), storage) if constant.fits(storage) => (0, FixedValue::Same(constant)),
            (codec, _) => {
                return Err(corrupt(format!("{} values of type {}", codec.name(), leaf.data_type)));
            }
        };
        if bytes != bits / 8 {
            return Err(corrupt(format!("values of {bytes} bytes are said to have {bits} bits")));
        }
        Ok(Self::Fixed { bytes, value })
    }

    fn strings(codec: Codec, bits: u32, leaf: &LeafType) -> Result<Self> {
        let wide = match bits {
            32 => false,
            64 => true,
            _ => return Err(corrupt(format!("lengths of {bits} bits"))),
        };
        // The lengths here have the width of the offsets that the codec would have elsewhere; those of structs any.
        let length_fits = match &leaf.storage {
            Storage::Variable { wide: wanted } => wide == *wanted,
            Storage::Packed { .. } => matches!(codec, Codec::VariablePackedStruct(_)),
            _ => false,
        };
        if !length_fits || !codec.fits(&leaf.storage) {
            return Err(corrupt(format!("{} strings of type {}", codec.name(), leaf.data_type)));
        }
        Ok(Self::Strings(Strings { length_bytes: if wide { 8 } else { 4 }, codec }))
    }
}

impl Index {
    fn new(extent: Extent, rows: u64) -> Result<Self> {
        let width = rows.checked_add(1).map(|numbers| (extent.len() / numbers, extent.len() % numbers));
        match width {
            Some((width @ (1 | 2 | 4 | 8), 0)) => {
                Ok(Self { extent, width: bounds::size(width, "index")?, kept: OnceLock::new() })
            }
            _ => Err(corrupt(format!("a repetition index of {} bytes for {rows} rows", extent.len()))),
        }
    }

    const fn is_kept(&self) -> bool {
        self.extent.len() <= MAX_KEPT_INDEX
    }

    /// An error unless the numbers, all of the index, do not fall and end within `data` bytes. Rows are taken in any
    /// order, so this is looked at once, not where rows are read.
    fn check(&self, bytes: &[u8], data: u64) -> Result<()> {
        let mut previous = 0;
        for position in 0..bytes.len() / self.width {
            let at = self.at(bytes, position).unwrap_or_default();
            if at < previous || at > data {
                return Err(corrupt(format!(
                    "row {position} starts at byte {at} instead of between {previous} and {data}"
                )));
            }
            previous = at;
        }
        Ok(())
    }

    /// Number `position` of `bytes`.
    fn at(&self, bytes: &[u8], position: usize) -> Option<u64> {
        let start = position.checked_mul(self.width)?;
        let rest = bytes.get(start..)?;
        Some(match self.width {
            1 => u64::from(*rest.first()?),
            2 => u64::from(u16::from_le_bytes(*rest.first_chunk()?)),
            4 => u64::from(u32::from_le_bytes(*rest.first_chunk()?)),
            _ => u64::from_le_bytes(*rest.first_chunk()?),
        })
    }
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("full-zip page", reason)
}
