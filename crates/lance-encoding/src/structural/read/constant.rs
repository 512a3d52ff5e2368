//! Constant pages: nothing but nulls, or one value again and again.
//!
//! ```text
//! value in the layout   buffers   meaning
//! no                    0         all null
//! no                    2         no value is there: repetition levels, definition levels
//! yes                   0 or 2    this value; levels if there are any
//! no                    1 or 3    the value is buffer 0; levels follow if there are any
//! ```
//!
//! Level buffers that are empty are not stored. Others are u16 numbers, unless the layout has a codec for them. A
//! value in a buffer is the Arrow buffers of an array of length 1: their number (u32), their sizes (u32 each), the
//! buffers.

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use lance_footer::{Cursor, Extent, FormatError, Page, Result, Rows};

use super::leaf::{LeafBuilder, LeafType};
use super::unravel::Entries;
use crate::bounds;
use crate::budget::{TableRoom, over_budget};
use crate::codec::{Codec, Place};
use crate::kernel::bitpack::Word;
use crate::layers::Numbering;
use crate::proto::ConstantLayout;
use crate::storage::Storage;

/// Every how many rows the place of their first level entry is noted.
const NOTED_ROWS: usize = 256;

/// A page of nulls or of one value.
#[derive(Debug)]
pub(super) struct Constant {
    numbering: Numbering,
    value: ValueAt,
    levels: Option<LevelBuffers>,
    table: OnceLock<Table>,
}

#[derive(Debug)]
enum ValueAt {
    /// There is none: all are null.
    Nowhere,
    Inline(Bytes),
    Buffer(Extent),
}

#[derive(Debug)]
struct LevelBuffers {
    repetition: Stream,
    definition: Stream,
}

#[derive(Debug)]
struct Stream {
    extent: Extent,
    /// How it is stored, and how many levels; none for plain numbers.
    codec: Option<(Codec, usize)>,
}

#[derive(Debug)]
struct Table {
    value: Option<Vec<u8>>,
    repetition: Option<Vec<u16>>,
    definition: Option<Vec<u16>>,
    /// Entry at which every 256th row starts.
    noted: Vec<usize>,
}

impl Constant {
    /// From its layout.
    pub(super) fn open(layout: &ConstantLayout, page: &Page, leaf: &LeafType) -> Result<Self> {
        let numbering = Numbering::from_proto(&layout.layers)?;
        leaf.check_layers(&numbering)?;
        let stream = |extent: Extent, encoding: &Option<_>, count: u64| {
            let codec = match encoding {
                Some(encoding) => {
                    Some((Codec::parse(Some(encoding), Place::Levels)?, bounds::size(count, "levels")?))
                }
                None => None,
            };
            Ok(Stream { extent, codec })
        };
        let levels = |repetition: Extent, definition: Extent| -> Result<_> {
            Ok(Some(LevelBuffers {
                repetition: stream(repetition, &layout.rep_compression, layout.num_rep_values)?,
                definition: stream(definition, &layout.def_compression, layout.num_def_values)?,
            }))
        };
        let (value, levels) = match (&layout.inline_value, page.buffers.as_slice()) {
            (None, []) => (ValueAt::Nowhere, None),
            (None, [repetition, definition]) => (ValueAt::Nowhere, levels(*repetition, *definition)?),
            (Some(value), []) => (ValueAt::Inline(value.clone()), None),
            (Some(value), [repetition, definition]) => {
                (ValueAt::Inline(value.clone()), levels(*repetition, *definition)?)
            }
            (None, [value]) => (ValueAt::Buffer(*value), None),
            (None, [value, repetition, definition]) => {
                (ValueAt::Buffer(*value), levels(*repetition, *definition)?)
            }
            (inline, buffers) => {
                let (due, value) = match inline {
                    Some(_) => ("0 or 2", "with a value in its layout"),
                    None => ("0 to 3", "without a value in its layout"),
                };
                return Err(corrupt(format!("{} buffers where {due} are due {value}", buffers.len())));
            }
        };
        if levels.is_none() && matches!(value, ValueAt::Nowhere) && leaf.lists.len() > 1 {
            return Err(corrupt("nulls without levels below a struct or list"));
        }
        let this = Self { numbering, value, levels, table: OnceLock::new() };
        if this.extents().is_empty() {
            let table = this.table(&[], page.length, leaf, usize::MAX)?;
            let _ = this.table.set(table);
        }
        Ok(this)
    }

    /// Bytes of the lookup table.
    pub(super) fn weight(&self) -> usize {
        self.table.get().map_or(0, Table::weight)
    }

    /// What the lookup table is made of; none if it is there.
    pub(super) fn table_extents(&self) -> Option<Vec<Extent>> {
        self.table.get().is_none().then(|| self.extents())
    }

    fn extents(&self) -> Vec<Extent> {
        let mut extents = vec![];
        if let ValueAt::Buffer(extent) = self.value {
            extents.push(extent);
        }
        if let Some(levels) = &self.levels {
            extents.extend([levels.repetition.extent, levels.definition.extent]);
        }
        extents
    }

    /// Bytes of the value, once for each of `rows`: nothing else says how large an array becomes.
    pub(super) fn cost(&self, rows: &Range<u64>) -> Option<u64> {
        let value = self.table.get()?.value.as_ref().map_or(0, |value| value.len() as u64);
        Some(value.saturating_mul(rows.end.saturating_sub(rows.start)))
    }

    /// Makes the lookup table of a page of `rows` rows.
    pub(super) fn fill_table(
        &self,
        buffers: &[Bytes],
        rows: u64,
        leaf: &LeafType,
        room: &TableRoom<'_>,
    ) -> Result<()> {
        let table = self.table(buffers, rows, leaf, room.left())?;
        room.keep(&self.table, table.weight(), table)
    }

    /// The lookup table, which is the value and all levels. It may take `most` bytes.
    fn table(&self, buffers: &[Bytes], rows: u64, leaf: &LeafType, most: usize) -> Result<Table> {
        let mut buffers = buffers.iter();
        let mut next = || buffers.next().ok_or_else(|| corrupt("a buffer is missing"));
        let value = match &self.value {
            ValueAt::Nowhere => None,
            ValueAt::Inline(bytes) => Some(inline_value(bytes, &leaf.storage)?),
            ValueAt::Buffer(_) => Some(buffer_value(next()?, &leaf.storage)?),
        };
        let (repetition, definition) = match &self.levels {
            Some(levels) => {
                (levels.repetition.decode(next()?, most / 2)?, levels.definition.decode(next()?, most / 2)?)
            }
            None => (None, None),
        };
        let entries = repetition.as_ref().or(definition.as_ref()).map(Vec::len);
        if let (Some(repetition), Some(definition)) = (&repetition, &definition)
            && repetition.len() != definition.len()
        {
            return Err(corrupt(format!(
                "{} repetition levels but {} definition levels",
                repetition.len(),
                definition.len()
            )));
        }
        let noted = match (&repetition, self.numbering.max_repetition()) {
            (None, 0) => {
                if entries.is_some_and(|entries| entries as u64 != rows) {
                    let entries = entries.unwrap_or_default();
                    return Err(corrupt(format!(
                        "{entries} definition levels for {rows} rows without lists"
                    )));
                }
                vec![]
            }
            (Some(repetition), max) if max > 0 => note_rows(repetition, max, rows)?,
            (None, _) if rows == 0 => vec![],
            _ => return Err(corrupt("repetition levels and lists do not go together")),
        };
        Ok(Table { value, repetition, definition, noted })
    }

    /// Decodes `rows`.
    pub(super) fn decode(&self, rows: &Rows, out: &mut LeafBuilder) -> Result<()> {
        let table = self.table.get().ok_or_else(|| corrupt("rows are read before they are prepared"))?;
        for range in rows.ranges() {
            let count = bounds::size(range.end - range.start, "page")?;
            let (repetition, definition) = (&table.repetition, &table.definition);
            let entries = match (repetition, definition) {
                (Some(levels), _) => table.entries(levels, self.numbering.max_repetition(), range)?,
                (None, Some(_)) => bounds::size(range.start, "page")?..bounds::size(range.end, "page")?,
                (None, None) => 0..count,
            };
            if repetition.is_some() {
                out.check_starts(entries.len(), self.numbering.max_repetition())?;
            }
            let part = |levels: &'_ Vec<u16>| levels.get(entries.clone()).is_some();
            if ![repetition, definition].into_iter().flatten().all(part) {
                return Err(corrupt(format!(
                    "rows {range:?} need the levels {entries:?}, which are not there"
                )));
            }
            let entries = Entries {
                repetition: match repetition {
                    Some(levels) => Ok(levels.get(entries.clone()).unwrap_or_default()),
                    None => Err(entries.len()),
                },
                definition: definition.as_ref().and_then(|levels| levels.get(entries)),
            };
            match &table.value {
                Some(value) => {
                    let visible = out.levels.append(&self.numbering, entries)?;
                    out.values.append_repeated(value, visible)?;
                }
                None => {
                    let visible = out.levels.append_null(&self.numbering, entries)?;
                    out.values.append_fillers(visible)?;
                }
            }
            out.check()?;
        }
        Ok(())
    }
}

impl Stream {
    /// The levels, which may take `most` bytes; none if they are not stored.
    fn decode(&self, bytes: &[u8], most: usize) -> Result<Option<Vec<u16>>> {
        match &self.codec {
            Some((_, 0)) => Ok(None),
            Some((_, count)) if count.saturating_mul(size_of::<u16>()) > most => {
                Err(over_budget("levels", count.saturating_mul(size_of::<u16>()), most))
            }
            Some((codec, count)) => codec.decode_levels(bytes, *count).map(Some),
            None if bytes.is_empty() => Ok(None),
            None if !bytes.len().is_multiple_of(2) => {
                Err(corrupt(format!("{} bytes of levels of 2 bytes each", bytes.len())))
            }
            None => {
                let mut levels = vec![0; bytes.len() / 2];
                u16::read(bytes, &mut levels);
                Ok(Some(levels))
            }
        }
    }
}

impl Table {
    /// Bytes that it takes.
    fn weight(&self) -> usize {
        let levels = [&self.repetition, &self.definition].into_iter().flatten();
        let levels = levels.map(|levels| levels.len() * 2).sum::<usize>();
        levels + self.noted.len() * size_of::<usize>() + self.value.as_ref().map_or(0, Vec::len)
    }

    /// The level entries of `rows`, which are not empty and within the page.
    fn entries(&self, repetition: &[u16], max: u16, rows: &Range<u64>) -> Result<Range<usize>> {
        let at = |row: u64| {
            let row = usize::try_from(row).ok()?;
            let noted = *self.noted.get(row / NOTED_ROWS)?;
            let mut starts = repetition.get(noted..)?.iter().enumerate().filter(|(_, level)| **level == max);
            starts.nth(row % NOTED_ROWS).map(|(entry, _)| noted + entry)
        };
        let start = at(rows.start).ok_or_else(|| corrupt("a row without an entry"))?;
        // After the last row there is no entry.
        Ok(start..at(rows.end).unwrap_or(repetition.len()))
    }
}

/// Where every 256th row starts.
fn note_rows(repetition: &[u16], max: u16, rows: u64) -> Result<Vec<usize>> {
    if repetition.first().is_some_and(|level| *level != max) {
        return Err(corrupt("the first entry does not start a row"));
    }
    let mut noted = vec![];
    let mut count = 0_usize;
    for (entry, _) in repetition.iter().enumerate().filter(|(_, level)| **level == max) {
        if count.is_multiple_of(NOTED_ROWS) {
            noted.push(entry);
        }
        count += 1;
    }
    if count as u64 != rows {
        return Err(corrupt(format!("its levels have {count} rows instead of {rows}")));
    }
    Ok(noted)
}

fn inline_value(bytes: &[u8], storage: &Storage) -> Result<Vec<u8>> {
    let Storage::Fixed { bits } = storage else { return Err(corrupt("a value that does not fit the type")) };
    bounds::exactly(bytes, bits.div_ceil(8), "constant value")?;
    Ok(bytes.to_vec())
}

fn buffer_value(bytes: &[u8], storage: &Storage) -> Result<Vec<u8>> {
    let mut cursor = Cursor::new("constant value", bytes);
    let count = cursor.u32()?;
    let mut sizes = vec![];
    // Not reserved: the number was not compared with anything yet.
    for _ in 0..count {
        sizes.push(bounds::size(cursor.u32()?.into(), "constant value")?);
    }
    let buffers = sizes.into_iter().map(|size| cursor.take(size)).collect::<Result<Vec<_>>>()?;
    cursor.finish()?;
    match (storage, buffers.as_slice()) {
        (Storage::Fixed { .. }, [value]) => inline_value(value, storage),
        (Storage::Variable { wide }, [offsets, value]) => {
            let width = if *wide { 8 } else { 4 };
            bounds::exactly(offsets, 2 * width, "constant value")?;
            let number = |at: usize| {
                let mut number = [0; 8];
                number.iter_mut().zip(offsets.iter().skip(at).take(width)).for_each(|(to, from)| *to = *from);
                bounds::size(u64::from_le_bytes(number), "constant value")
            };
            Ok(bounds::slice(value, number(0)?..number(width)?, "constant value")?.to_vec())
        }
        (Storage::Fixed { .. }, _) => {
            Err(corrupt(format!("a number in {} buffers instead of 1", buffers.len())))
        }
        (Storage::Variable { .. }, _) => {
            Err(corrupt(format!("a string in {} buffers instead of 2", buffers.len())))
        }
        _ => Err(corrupt("a value of a type that has no constant pages")),
    }
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("constant page", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_buffers() {
        let mut bytes = vec![2, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, b'h', b'i'];
        let storage = Storage::Variable { wide: false };
        assert_eq!(buffer_value(&bytes, &storage).unwrap(), b"hi");
        bytes.push(0);
        assert!(buffer_value(&bytes, &storage).is_err());
        assert!(buffer_value(&[255; 8], &storage).is_err());
        let fixed = [1, 0, 0, 0, 2, 0, 0, 0, 7, 8];
        assert_eq!(buffer_value(&fixed, &Storage::Fixed { bits: 16 }).unwrap(), [7, 8]);
        assert!(buffer_value(&fixed, &Storage::Fixed { bits: 32 }).is_err());
        assert!(inline_value(&[], &Storage::Fixed { bits: 1 }).is_err());
    }

    #[test]
    fn rows_are_found_by_their_first_entry() {
        let repetition: Vec<u16> = (0..3000).map(|i| u16::from(i % 3 == 0)).collect();
        let noted = note_rows(&repetition, 1, 1000).unwrap();
        assert_eq!(noted, [0, 768, 1536, 2304]);
        assert!(note_rows(&repetition, 1, 999).is_err());
        let table = Table { value: None, repetition: None, definition: None, noted };
        assert_eq!(table.entries(&repetition, 1, &(257..300)).unwrap(), 771..900);
        assert_eq!(table.entries(&repetition, 1, &(999..1000)).unwrap(), 2997..3000);
    }
}
