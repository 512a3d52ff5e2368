//! Mini-block pages: narrow values in chunks that are decoded one by one.
//!
//! ```text
//! buffer 0       a word a chunk: (size / 8 - 1) << 4 | log2 of the values
//! buffer 1       the chunks
//! buffer 2       the dictionary, if there is one
//! last           for each chunk, rows that end in it and entries of a row that goes on; with lists only
//!
//! chunk          u16 entries | u16 size of repetition | u16 size of definition | sizes of value buffers
//!                repetition levels | definition levels | value buffers, each from a multiple of 8 on
//! ```

use std::ops::Range;

use bytes::Bytes;
use lance_footer::{FormatError, Result};

use super::items::Items;
use super::levels::{LevelCodec, LevelCodecs};
use super::page::Page;
use crate::proto::MiniBlockLayout;
use crate::proto::page_layout::Layout;
use crate::rules::Rules;
use crate::scheme::{ChunkBuffers, Chunks, Proposal};

/// `page`, whose values are encoded as `proposal` says and whose levels by `codecs`, `limit` in a chunk; with a dictionary
/// as a block.
pub(super) fn encode(
    page: &Page,
    proposal: Proposal<'_>,
    dictionary: Option<Items>,
    (LevelCodecs(codecs), limit): (LevelCodecs, usize),
    rules: &Rules,
) -> Result<(Layout, Vec<Vec<Bytes>>)> {
    // Half of what is said too much does no harm, and half of what is too little either.
    let capacity = usize::try_from(proposal.bytes()).unwrap_or_default();
    let mut chunks = proposal.start()?;
    let (repetition, definition) = (page.levels.repetition.as_deref(), page.levels.definition.as_deref());
    let mut writer = ChunkWriter {
        levels: [repetition, definition],
        codecs,
        wide: rules.large_chunks,
        max_bytes: rules.max_chunk_bytes,
        words: vec![],
        data: Vec::with_capacity(capacity),
    };
    let (ends, values) = (Ends::new(page), page.visible());
    let (mut value, mut entry, mut starts) = (0, 0, vec![]);
    while value < values {
        let left = values - value;
        let mut count = chunks.count(value, left).clamp(1, left);
        while ends.after(value, count, left) - entry > limit && count > 2 {
            count = if count == left { 1 << (count - 1).ilog2() } else { count / 2 };
        }
        let next = ends.after(value, count, left);
        writer.chunk(chunks.as_mut(), value..value + count, entry..next, count == left)?;
        starts.push(entry);
        (value, entry) = (value + count, next);
    }
    let mut buffers = vec![vec![writer.words.into()], vec![writer.data.into()]];
    let mut layout = MiniBlockLayout {
        rep_compression: codecs[0].map(LevelCodec::encoding),
        def_compression: codecs[1].map(LevelCodec::encoding),
        value_compression: Some(chunks.encoding()),
        layers: page.layers(),
        num_buffers: chunks.buffers() as u64,
        repetition_index_depth: u32::from(repetition.is_some()),
        num_items: values as u64,
        has_large_chunk: rules.large_chunks,
        ..MiniBlockLayout::default()
    };
    if let Some(items) = dictionary {
        layout.dictionary = Some(items.encoding);
        layout.num_dictionary_items = items.count as u64;
        buffers.push(vec![items.bytes]);
    }
    if let Some(repetition) = repetition {
        buffers.push(vec![index(repetition, &starts, page.numbering.max_repetition()).into()]);
    }
    Ok((Layout::MiniBlockLayout(layout), buffers))
}

/// Where the entries of values end.
struct Ends {
    entries: usize,
    /// The entry of each value; none if each entry has one.
    of_values: Option<Vec<usize>>,
}

impl Ends {
    fn new(page: &Page) -> Self {
        let max_visible = page.numbering.max_visible();
        let definition = page.levels.definition.as_ref();
        let of_values = definition.filter(|_| page.numbering.max_definition() > max_visible).map(|levels| {
            let visible = levels.iter().enumerate().filter(|(_, level)| **level <= max_visible);
            visible.map(|(entry, _)| entry).collect()
        });
        Self { entries: page.entries, of_values }
    }

    /// Where a chunk ends that has `count` of the `left` values from `start` on. The last takes all entries;
    /// others end with a value.
    fn after(&self, start: usize, count: usize, left: usize) -> usize {
        let last = start + count - 1;
        match &self.of_values {
            _ if count == left => self.entries,
            None => last + 1,
            Some(entries) => entries.get(last).map_or(self.entries, |entry| entry + 1),
        }
    }
}

struct ChunkWriter<'a> {
    levels: [Option<&'a [u16]>; 2],
    codecs: [Option<LevelCodec>; 2],
    /// Whether words and sizes of value buffers are u32.
    wide: bool,
    max_bytes: usize,
    words: Vec<u8>,
    data: Vec<u8>,
}

impl ChunkWriter<'_> {
    fn chunk(
        &mut self,
        chunks: &mut dyn Chunks,
        values: Range<usize>,
        entries: Range<usize>,
        last: bool,
    ) -> Result<()> {
        let start = self.data.len();
        let stored = self.codecs.iter().flatten().count();
        let size_width = if self.wide { 4 } else { 2 };
        let head = (2 + 2 * stored + size_width * chunks.buffers()).next_multiple_of(8);
        self.data.resize(start + head, 0);

        let mut header = Vec::with_capacity(head);
        let count = if stored == 0 { 0 } else { entries.len() };
        put(&mut header, count, 2)?;
        for (levels, codec) in self.levels.iter().zip(self.codecs) {
            if let (Some(levels), Some(codec)) = (levels, codec) {
                let before = self.data.len();
                codec.encode(levels.get(entries.clone()).unwrap_or_default(), &mut self.data);
                put(&mut header, self.data.len() - before, 2)?;
                self.data.resize(self.data.len().next_multiple_of(8), 0);
            }
        }
        let mut sizes = vec![];
        let count = values.len();
        chunks.write(values, &mut ChunkBuffers::new(&mut self.data, &mut sizes))?;
        for size in sizes {
            put(&mut header, size, size_width)?;
        }
        if let Some(place) = self.data.get_mut(start..start + header.len()) {
            place.copy_from_slice(&header);
        }
        let size = self.data.len() - start;
        if size > self.max_bytes {
            let what = format!("values so long that two take a chunk of {size} bytes");
            return Err(FormatError::unsupported(what));
        }
        let exponent = if last { 0 } else { count.ilog2() as usize };
        put(&mut self.words, ((size / 8 - 1) << 4) | exponent, size_width)
    }
}

/// Appends `number` in `width` bytes.
fn put(out: &mut Vec<u8>, number: usize, width: usize) -> Result<()> {
    let bytes = number.to_le_bytes();
    if width < bytes.len() && number >> (8 * width) != 0 {
        let what = format!("a chunk whose header would hold {number} in {width} bytes");
        return Err(FormatError::unsupported(what));
    }
    out.extend_from_slice(bytes.get(..width).unwrap_or_default());
    Ok(())
}

/// For each chunk that begins at one of `starts`: rows that end in it, and trailing entries of a row that
/// does not.
fn index(repetition: &[u16], starts: &[usize], top: u16) -> Vec<u8> {
    let mut out = Vec::with_capacity(starts.len() * 16);
    let ends = starts.iter().skip(1).copied().chain([repetition.len()]);
    for (start, end) in starts.iter().zip(ends) {
        let levels = repetition.get(*start..end).unwrap_or_default();
        let begun = levels.iter().skip(1).filter(|level| **level == top).count();
        let (rows, rest) = if repetition.get(end).is_none_or(|level| *level == top) {
            (begun + 1, 0)
        } else {
            (begun, levels.len() - levels.iter().rposition(|level| *level == top).unwrap_or(0))
        };
        out.extend_from_slice(&(rows as u64).to_le_bytes());
        out.extend_from_slice(&(rest as u64).to_le_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_span_chunks() {
        // [1, 2, 3, 4, 5], null, [], [6, null] in chunks of 2, 2 and 3 values.
        let repetition = [1, 0, 0, 0, 0, 1, 1, 1, 0];
        let bytes = index(&repetition, &[0, 2, 4], 1);
        let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        assert_eq!(words, [0, 2, 0, 2, 4, 0]);
    }
}
