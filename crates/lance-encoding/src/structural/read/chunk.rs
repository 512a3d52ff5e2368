//! One chunk of a mini-block page.
//!
//! ```text
//! u16                number of level entries; 0 if no levels are stored
//! u16                bytes of the repetition levels, if there are any
//! u16                bytes of the definition levels, if there are any
//! u16 or u32 each    bytes of each value buffer
//! padding to 8, then each of these buffers, in this order, each padded to 8
//! ```

use std::ops::Range;

use lance_footer::{Cursor, FormatError, Result};

use crate::bounds;

/// What the chunks of a page have.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkShape {
    pub(super) repetition: bool,
    pub(super) definition: bool,
    /// Value buffers.
    pub(super) buffers: usize,
    /// Whether sizes of value buffers have 32 bits.
    pub(super) large: bool,
}

/// The parts of a chunk.
#[derive(Debug)]
pub(super) struct Chunk<'a> {
    /// Number of level entries.
    pub(super) levels: usize,
    pub(super) repetition: &'a [u8],
    pub(super) definition: &'a [u8],
    pub(super) buffers: Vec<&'a [u8]>,
}

impl<'a> Chunk<'a> {
    /// The parts of `bytes`.
    pub(super) fn parse(bytes: &'a [u8], shape: ChunkShape) -> Result<Self> {
        let mut cursor = Cursor::new("chunk", bytes);
        let levels = usize::from(cursor.u16()?);
        let repetition = if shape.repetition { usize::from(cursor.u16()?) } else { 0 };
        let definition = if shape.definition { usize::from(cursor.u16()?) } else { 0 };
        let width = if shape.large { 4 } else { 2 };
        let mut sizes = Cursor::new("chunk", cursor.take(bounds::product(shape.buffers, width, "chunk")?)?);
        cursor.align(8)?;
        let mut part = |len: usize| {
            let part = cursor.take(len);
            cursor.align(8)?;
            part
        };
        let (repetition, definition) = (part(repetition)?, part(definition)?);
        let mut buffers = Vec::with_capacity(shape.buffers);
        for _ in 0..shape.buffers {
            let len = if shape.large {
                bounds::size(sizes.u32()?.into(), "chunk")?
            } else {
                usize::from(sizes.u16()?)
            };
            buffers.push(part(len)?);
        }
        Ok(Self { levels, repetition, definition, buffers })
    }
}

/// The level entries of `rows`, which are sorted, in a chunk that has entries of the rows from `first` up to `end`,
/// of which those from `started` on start there.
///
/// A row starts at each entry of level `max`.
pub(super) fn entries_of(
    repetition: &[u16],
    max: u16,
    first: u64,
    started: u64,
    end: u64,
    rows: &[Range<u64>],
) -> Result<Vec<Range<usize>>> {
    // What follows counts rows from `first`; a row that goes on from the chunk before starts at entry 0.
    let goes_on = started > first;
    if goes_on == (repetition.first() == Some(&max)) {
        return Err(wrong_rows());
    }
    let mut starts =
        repetition.iter().enumerate().filter(|(_, level)| **level == max).map(|(entry, _)| entry);
    let all = rows.len() == 1 && rows.first().is_some_and(|range| *range == (first..end));
    let expected = end - started;
    if all {
        // Nothing is looked up, but the rows must be as many as the index says.
        return match starts.count() as u64 == expected {
            #[expect(clippy::single_range_in_vec_init, reason = "one range")]
            true => Ok(vec![0..repetition.len()]),
            false => Err(wrong_rows()),
        };
    }
    let mut next = if goes_on { first + 1 } else { first };
    let mut start_of = |row: u64| {
        if row == first && goes_on {
            return Some(0);
        }
        if row == end {
            return Some(repetition.len());
        }
        let skip = usize::try_from(row.checked_sub(next)?).ok()?;
        next = row + 1;
        starts.nth(skip)
    };
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(rows.len());
    // Ranges do not touch, so no row is looked up twice.
    for range in rows {
        let start = start_of(range.start).ok_or_else(wrong_rows)?;
        let end = start_of(range.end).ok_or_else(wrong_rows)?;
        ranges.push(start..end);
    }
    Ok(ranges)
}

fn wrong_rows() -> FormatError {
    FormatError::corrupt("chunk", "its levels do not have the rows that the repetition index says")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        // [[1,2], null, [], [null,5], [6]] as in docs/format/encoding.md, section 6.3.
        let mut bytes = vec![7, 0, 14, 0, 14, 0, 20, 0];
        bytes.extend([1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0xfe, 0xfe]);
        bytes.extend([0, 0, 0, 0, 2, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0xfe, 0xfe]);
        bytes.extend([1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 0xfe, 0xfe, 0xfe, 0xfe]);
        let shape = ChunkShape { repetition: true, definition: true, buffers: 1, large: false };
        let chunk = Chunk::parse(&bytes, shape).unwrap();
        assert_eq!(chunk.levels, 7);
        assert_eq!((chunk.repetition.len(), chunk.definition[4], chunk.buffers[0][12]), (14, 2, 5));
        assert!(Chunk::parse(&bytes[..60], shape).is_err());
        assert!(Chunk::parse(&bytes, ChunkShape { buffers: 9, ..shape }).is_err());
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "lists of ranges, some with one")]
    fn entries_of_rows() {
        let levels = [1, 0, 1, 1, 1, 0, 1];
        let entries = |rows: &[Range<u64>]| entries_of(&levels, 1, 0, 0, 5, rows).unwrap();
        assert_eq!(entries(&[0..5]), [0..7]);
        assert_eq!(entries(&[0..1, 3..4]), [0..2, 4..6]);
        assert_eq!(entries(&[1..3, 4..5]), [2..4, 6..7]);
        // The chunk begins within row 9.
        let entries = |rows: &[Range<u64>]| entries_of(&[0, 0, 1, 0, 1], 1, 9, 10, 12, rows).unwrap();
        assert_eq!(entries(&[9..10]), [0..2]);
        assert_eq!(entries(&[10..12]), [2..5]);
        assert_eq!(entries(&[9..11]), [0..4]);
        assert!(entries_of(&[0, 1], 1, 0, 0, 1, &[0..1]).is_err());
        assert!(entries_of(&[1, 0], 1, 0, 0, 2, &[0..2]).is_err());
    }
}
