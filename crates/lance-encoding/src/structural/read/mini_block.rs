//! Mini-block pages: narrow values in chunks that are fetched and decoded as a whole.
//!
//! ```text
//! buffer 0   chunk words
//! buffer 1   chunks
//! buffer 2   dictionary, if there is one
//! last       repetition index, if there are lists
//! ```

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use lance_footer::{Extent, FormatError, Page, Result, Rows};

use super::chunk::{Chunk, ChunkShape, entries_of};
use super::chunk_table::ChunkTable;
use super::leaf::{LeafBuilder, LeafType};
use super::unravel::{Entries, Unraveler};
use crate::bounds;
use crate::budget::TableRoom;
use crate::codec::dictionary::Dictionary;
use crate::codec::{Codec, Picks, Place, with_word};
use crate::layers::Numbering;
use crate::proto::MiniBlockLayout;
use crate::storage::Storage;
use crate::values::{Values, misfit};

/// Items are copied out of a dictionary when there are so many indices, which are those of a few chunks and stay in
/// the cache.
const GATHERED: usize = 8192;

/// A page of chunks.
#[derive(Debug)]
pub(super) struct MiniBlock {
    numbering: Numbering,
    shape: ChunkShape,
    repetition: Option<Codec>,
    definition: Option<Codec>,
    values: Codec,
    /// Values of the page.
    count: u64,
    words: Extent,
    chunks: Extent,
    dictionary: Option<DictionaryBuffer>,
    repetition_index: Option<Extent>,
    table: OnceLock<Table>,
}

#[derive(Debug)]
struct DictionaryBuffer {
    codec: Codec,
    count: usize,
    extent: Extent,
    /// Bits of an index.
    bits: usize,
}

#[derive(Debug)]
struct Table {
    chunks: ChunkTable,
    dictionary: Option<Dictionary>,
}

impl MiniBlock {
    /// From its layout; the codecs must fit the leaf.
    pub(super) fn open(layout: &MiniBlockLayout, page: &Page, leaf: &LeafType) -> Result<Self> {
        let numbering = Numbering::from_proto(&layout.layers)?;
        leaf.check_layers(&numbering)?;
        let levels = |encoding: &Option<_>| {
            encoding.as_ref().map(|encoding| Codec::parse(Some(encoding), Place::Levels)).transpose()
        };
        let (repetition, definition) = (levels(&layout.rep_compression)?, levels(&layout.def_compression)?);
        if repetition.is_some() != (numbering.max_repetition() > 0) {
            return Err(corrupt(match repetition {
                Some(_) => "repetition levels without a list",
                None => "a list without repetition levels",
            }));
        }
        if repetition.is_none() && layout.num_items != page.length {
            return Err(corrupt(format!(
                "{} values in {} rows without lists",
                layout.num_items, page.length
            )));
        }
        let values = Codec::parse(layout.value_compression.as_ref(), Place::Chunks)?;
        let buffers = bounds::size(layout.num_buffers, "page layout")?;
        if buffers != values.mini_block_buffers() {
            return Err(corrupt(format!("{buffers} value buffers of {}", values.name())));
        }

        let mut extents = page.buffers.iter().copied();
        let mut next = |what: &str| {
            extents.next().ok_or_else(|| corrupt(format!("the page has no buffer for its {what}")))
        };
        let (words, chunks) = (next("chunk words")?, next("chunks")?);
        let dictionary = match &layout.dictionary {
            Some(encoding) => {
                let codec = Codec::parse(Some(encoding), Place::Dictionary)?;
                let items = bounds::size(layout.num_dictionary_items, "page layout")?;
                Some(DictionaryBuffer::new(codec, items, next("dictionary")?, &values)?)
            }
            None => None,
        };
        let repetition_index = match layout.repetition_index_depth {
            0 if repetition.is_some() => return Err(corrupt("lists without a repetition index")),
            0 => None,
            1 => Some(next("repetition index")?).filter(|_| repetition.is_some()),
            depth => return Err(corrupt(format!("a repetition index of depth {depth}"))),
        };
        if extents.next().is_some() {
            return Err(corrupt(format!("{} buffers, more than its layout speaks of", page.buffers.len())));
        }
        let fits = match (&dictionary, &leaf.storage) {
            (Some(dictionary), Storage::Dictionary { values }) => dictionary.codec.fits(values),
            (Some(dictionary), storage) => dictionary.codec.fits(storage),
            (None, storage) => values.fits(storage),
        };
        if !fits {
            return Err(corrupt(format!("its values cannot be of type {}", leaf.data_type)));
        }
        let shape = ChunkShape {
            repetition: repetition.is_some(),
            definition: definition.is_some(),
            buffers,
            large: layout.has_large_chunk,
        };
        Ok(Self {
            numbering,
            shape,
            repetition,
            definition,
            values,
            count: layout.num_items,
            words,
            chunks,
            dictionary,
            repetition_index,
            table: OnceLock::new(),
        })
    }

    /// Bytes of the lookup table.
    pub(super) fn weight(&self) -> usize {
        self.table.get().map_or(0, Table::weight)
    }

    /// What the lookup table is made of; none if it is there.
    pub(super) fn table_extents(&self) -> Option<Vec<Extent>> {
        if self.table.get().is_some() {
            return None;
        }
        let dictionary = self.dictionary.as_ref().map(|dictionary| dictionary.extent);
        Some([Some(self.words), dictionary, self.repetition_index].into_iter().flatten().collect())
    }

    /// Makes the lookup table of a page of `rows` rows.
    pub(super) fn fill_table(
        &self,
        buffers: &[Bytes],
        rows: u64,
        leaf: &LeafType,
        room: &TableRoom<'_>,
    ) -> Result<()> {
        let mut buffers = buffers.iter();
        let mut next = || buffers.next().ok_or_else(|| corrupt("a buffer is missing"));
        let mut chunks = ChunkTable::parse(next()?, self.shape.large, self.chunks.len(), self.count)?;
        let dictionary = match &self.dictionary {
            Some(DictionaryBuffer { codec, count, .. }) => {
                let (bytes, most) = (next()?, room.left());
                Some(Dictionary::decode(codec, bytes, *count, &leaf.data_type, &leaf.storage, most)?)
            }
            None => None,
        };
        if self.repetition_index.is_some() {
            chunks = chunks.with_repetition_index(next()?, rows)?;
        }
        let table = Table { chunks, dictionary };
        room.keep(&self.table, table.weight(), table)
    }

    /// Bytes of the chunks that hold `rows`, and of the items that their indices stand for.
    pub(super) fn cost(&self, rows: &Range<u64>) -> Option<u64> {
        if rows.is_empty() {
            return Some(0);
        }
        let Table { chunks, dictionary } = self.table.get()?;
        let bytes = chunks.bytes(chunks.chunks(rows)).ok()?;
        let item = dictionary.as_ref().map_or(0, Dictionary::item_bytes);
        let items = item.saturating_mul(rows.end.saturating_sub(rows.start));
        Some((bytes.end - bytes.start).saturating_add(items))
    }

    /// The runs of chunks that hold `rows`: the first chunk of each, and where they lie.
    pub(super) fn plan(&self, rows: &Rows) -> Result<(Vec<usize>, Vec<Extent>)> {
        let table = &self.table()?.chunks;
        let runs = runs(table, rows);
        let extents = runs.iter().map(|run| self.chunks.slice(table.bytes(run.clone())?));
        let extents = extents.collect::<Result<_>>()?;
        Ok((runs.into_iter().map(|run| run.start).collect(), extents))
    }

    /// Decodes `rows` out of loaded `runs` of chunks.
    pub(super) fn decode(&self, runs: &[(usize, Bytes)], rows: &Rows, out: &mut LeafBuilder) -> Result<()> {
        let table = self.table()?;
        let mut wanted = rows.ranges().iter().peekable();
        let stored = runs.iter().map(|(_, bytes)| bytes.len()).fold(0, usize::saturating_add);
        out.values.expect(usize::try_from(rows.len()).unwrap_or(usize::MAX), stored);
        if let Some(dictionary) = &table.dictionary {
            out.values.expect_strings(rows.len().saturating_mul(dictionary.item_bytes()), stored);
        }
        let mut indices = self.dictionary.as_ref().map(DictionaryBuffer::no_indices);
        let mut picks = vec![];
        for chunk in self::runs(&table.chunks, rows).into_iter().flatten() {
            let (within, started) = table.chunks.rows(chunk);
            picks.clear();
            while let Some(range) = wanted.peek() {
                let part = range.start.max(within.start)..range.end.min(within.end);
                if part.start < part.end {
                    picks.push(part);
                }
                // A range that reaches beyond is looked at again with the next chunk; and so is a row that
                // goes on there.
                if range.end >= within.end {
                    break;
                }
                wanted.next();
            }
            // Ranges that end where the chunk does are done, unless their last row goes on.
            let next = table.chunks.rows(chunk + 1).0.start;
            while wanted.next_if(|range| range.end <= next.max(within.start)).is_some() {}
            let values = table.chunks.values(chunk);
            let count = bounds::size(values.end.saturating_sub(values.start), "chunk")?;
            let chunk = Chunk::parse(chunk_bytes(&table.chunks, runs, chunk)?, self.shape)?;
            let picks = self.decode_levels(&chunk, count, &within, started, &picks, &mut out.levels)?;
            let Some(indices) = &mut indices else {
                self.values.decode_mini_block(&chunk.buffers, &picks, &mut out.values)?;
                out.check()?;
                continue;
            };
            indices.allow(picks.len(), out.values.room())?;
            self.values.decode_mini_block(&chunk.buffers, &picks, indices)?;
            if indices.len() >= GATHERED {
                self.gather(indices, table, &mut out.values)?;
            }
            out.check()?;
        }
        if let Some(indices) = &mut indices {
            self.gather(indices, table, &mut out.values)?;
        }
        out.check()
    }

    /// Appends the levels of `rows` of a chunk, and tells which of its `count` values belong to them.
    fn decode_levels(
        &self,
        chunk: &Chunk<'_>,
        count: usize,
        within: &Range<u64>,
        started: u64,
        rows: &[Range<u64>],
        out: &mut Unraveler,
    ) -> Result<Picks> {
        let levels = |codec: &Option<Codec>, bytes| {
            codec.as_ref().map(|codec| codec.decode_levels(bytes, chunk.levels)).transpose()
        };
        let definition = levels(&self.definition, chunk.definition)?;
        match levels(&self.repetition, chunk.repetition)? {
            None => {
                if definition.as_ref().is_some_and(|definition| definition.len() != count) {
                    return Err(FormatError::corrupt(
                        "chunk",
                        format!("{} levels for {count} values without lists", chunk.levels),
                    ));
                }
                let picks = if rows.first() == Some(within) && within.end - within.start == count as u64 {
                    Picks::all(count)
                } else {
                    let local = |row: u64| bounds::size(row - within.start, "chunk");
                    let ranges = rows.iter().map(|range| Ok(local(range.start)?..local(range.end)?));
                    Picks::new(count, ranges.collect::<Result<_>>()?)?
                };
                for range in picks.ranges() {
                    let entries = Entries {
                        repetition: Err(range.len()),
                        definition: definition.as_ref().and_then(|levels| levels.get(range)),
                    };
                    out.append(&self.numbering, entries)?;
                }
                Ok(picks)
            }
            Some(repetition) => {
                let max = self.numbering.max_repetition();
                let ranges = entries_of(&repetition, max, within.start, started, within.end, rows)?;
                let picks = self.visible(&ranges, definition.as_deref(), count)?;
                for range in ranges {
                    let entries = Entries {
                        repetition: Ok(repetition.get(range.clone()).unwrap_or_default()),
                        definition: definition.as_ref().and_then(|levels| levels.get(range)),
                    };
                    out.append(&self.numbering, entries)?;
                }
                Ok(picks)
            }
        }
    }

    /// The values of ranges of entries.
    fn visible(&self, entries: &[Range<usize>], definition: Option<&[u16]>, count: usize) -> Result<Picks> {
        let Some(definition) = definition else { return Picks::new(count, entries.to_vec()) };
        let visible = |range: Range<usize>| {
            let levels = definition.get(range).unwrap_or_default();
            levels.iter().filter(|level| **level <= self.numbering.max_visible()).count()
        };
        let (mut entry, mut value) = (0, 0);
        let mut ranges = Vec::with_capacity(entries.len());
        for range in entries {
            let start = value + visible(entry..range.start);
            value = start + visible(range.clone());
            entry = range.end;
            ranges.push(start..value);
        }
        Picks::new(count, ranges)
    }

    /// Appends the items that `indices` name, and starts them anew.
    fn gather(&self, indices: &mut Values, table: &Table, out: &mut Values) -> Result<()> {
        let (Some(dictionary), Some(described)) = (&table.dictionary, &self.dictionary) else {
            return Err(misfit("indices"));
        };
        let Values::Fixed(indices) = std::mem::replace(indices, described.no_indices()) else {
            return Err(misfit("indices"));
        };
        with_word!(described.bits, T => dictionary.gather(&indices.words::<T>(), out))
    }

    fn table(&self) -> Result<&Table> {
        self.table
            .get()
            .ok_or_else(|| FormatError::corrupt("step protocol", "rows are read before they are prepared"))
    }
}

impl Table {
    /// Bytes that it takes.
    fn weight(&self) -> usize {
        self.chunks.weight().saturating_add(self.dictionary.as_ref().map_or(0, Dictionary::weight))
    }
}

impl DictionaryBuffer {
    fn no_indices(&self) -> Values {
        Values::new(&Storage::Fixed { bits: self.bits })
    }

    fn new(codec: Codec, count: usize, extent: Extent, values: &Codec) -> Result<Self> {
        let bits = [8, 16, 32, 64].into_iter().find(|bits| values.fits(&Storage::Fixed { bits: *bits }));
        let bits = bits.ok_or_else(|| corrupt("dictionary indices that are not numbers"))?;
        Ok(Self { codec, count, extent, bits })
    }
}

/// The runs of chunks that hold `rows`.
fn runs(table: &ChunkTable, rows: &Rows) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = vec![];
    for range in rows.ranges() {
        let chunks = table.chunks(range);
        match runs.last_mut() {
            Some(last) if chunks.start <= last.end => last.end = last.end.max(chunks.end),
            _ => runs.push(chunks),
        }
    }
    runs
}

/// The bytes of `chunk` among loaded runs.
fn chunk_bytes<'a>(table: &ChunkTable, runs: &'a [(usize, Bytes)], chunk: usize) -> Result<&'a [u8]> {
    let run = runs.partition_point(|(first, _)| *first <= chunk).checked_sub(1).and_then(|run| runs.get(run));
    let (first, bytes) =
        run.ok_or_else(|| FormatError::corrupt("step protocol", "a chunk was not loaded"))?;
    let start = table.bytes(*first..*first)?.start;
    let range = table.bytes(chunk..chunk + 1)?;
    let range = bounds::size(range.start - start, "chunk")?..bounds::size(range.end - start, "chunk")?;
    bounds::slice(bytes, range, "chunk")
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("mini-block page", reason)
}
