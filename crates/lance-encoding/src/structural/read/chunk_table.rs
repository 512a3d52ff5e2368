//! The lookup table of a mini-block page: where its chunks lie and which values and rows they hold.
//!
//! ```text
//! chunk words        one u16 or u32 a chunk:  (bytes / 8 - 1) << 4 | log2(values)     0 on the last: the rest
//! repetition index   two u64 a chunk:  rows that finish in it | entries after that, of a row that goes on
//! ```

use std::ops::Range;

use lance_footer::{Cursor, FormatError, Result};

use crate::bounds;

/// Where chunks lie, and what they hold.
#[derive(Debug)]
pub(super) struct ChunkTable {
    /// Byte at which each chunk starts; one more than there are chunks.
    starts: Vec<u64>,
    values: ValueCounts,
    /// With repetition.
    rows: Option<RowCounts>,
}

/// How values are spread over chunks.
#[derive(Debug)]
enum ValueCounts {
    /// All but the last chunk hold 2 to this power.
    Uniform { log2: u32, total: u64 },
    /// Values before each chunk; one more than there are chunks.
    Sums(Vec<u64>),
}

/// Rows that started, and that finished, before each chunk; one more than there are chunks.
#[derive(Debug)]
struct RowCounts {
    started: Vec<u64>,
    finished: Vec<u64>,
}

impl ChunkTable {
    /// The table of chunks that have `data_len` bytes and hold `values` values.
    pub(super) fn parse(words: &[u8], large: bool, data_len: u64, values: u64) -> Result<Self> {
        let width = if large { 4 } else { 2 };
        if !words.len().is_multiple_of(width) {
            return Err(corrupt(format!("{} bytes of words of {width}", words.len())));
        }
        let count = words.len() / width;
        let mut cursor = Cursor::new("chunk table", words);
        let mut starts = Vec::with_capacity(count + 1);
        let mut exponents = Vec::with_capacity(count);
        let mut start = 0;
        for _ in 0..count {
            starts.push(start);
            let word = if large { cursor.u32()? } else { u32::from(cursor.u16()?) };
            start += (u64::from(word >> 4) + 1) * 8;
            exponents.push(word & 15);
        }
        starts.push(start);
        if start != data_len {
            return Err(corrupt(format!("the chunks have {start} bytes, their buffer {data_len}")));
        }
        Ok(Self { starts, values: ValueCounts::new(&exponents, values)?, rows: None })
    }

    /// Adds the repetition index of a page of `rows` rows.
    pub(super) fn with_repetition_index(mut self, index: &[u8], rows: u64) -> Result<Self> {
        bounds::exactly(index, bounds::product(self.len(), 16, "repetition index")?, "repetition index")?;
        let mut cursor = Cursor::new("repetition index", index);
        let mut counts = RowCounts { started: vec![0], finished: vec![0] };
        let mut finished = 0_u64;
        for _ in 0..self.len() {
            let (finishing, trailing) = (cursor.u64()?, cursor.u64()?);
            finished =
                finished.checked_add(finishing).filter(|finished| *finished <= rows).ok_or_else(|| {
                    FormatError::corrupt("repetition index", format!("more than {rows} rows finish"))
                })?;
            counts.finished.push(finished);
            let started = finished.checked_add(u64::from(trailing > 0)).filter(|started| *started <= rows);
            counts.started.push(started.ok_or_else(|| {
                FormatError::corrupt("repetition index", format!("more than {rows} rows start"))
            })?);
        }
        // More rows do not start, so none is left open either.
        if finished != rows {
            return Err(FormatError::corrupt(
                "repetition index",
                format!("{finished} of {rows} rows finish"),
            ));
        }
        if counts.started.iter().zip(counts.started.iter().skip(1)).any(|(a, b)| a > b) {
            return Err(FormatError::corrupt("repetition index", "a row that goes on does not finish"));
        }
        self.rows = Some(counts);
        Ok(self)
    }

    /// Number of chunks.
    pub(super) const fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Bytes of `chunks`, counted from the start of their buffer.
    pub(super) fn bytes(&self, chunks: Range<usize>) -> Result<Range<u64>> {
        match (self.starts.get(chunks.start), self.starts.get(chunks.end)) {
            (Some(start), Some(end)) => Ok(*start..*end),
            _ => Err(corrupt(format!("chunks {chunks:?} of {}", self.len()))),
        }
    }

    /// Values in `chunk`, counted over the page.
    pub(super) fn values(&self, chunk: usize) -> Range<u64> {
        match &self.values {
            ValueCounts::Uniform { log2, total } => {
                let end = if chunk + 1 == self.len() { *total } else { (chunk as u64 + 1) << log2 };
                (chunk as u64) << log2..end
            }
            ValueCounts::Sums(sums) => {
                let sum = |index: usize| sums.get(index).copied().unwrap_or_default();
                sum(chunk)..sum(chunk + 1)
            }
        }
    }

    /// The chunks in which `rows`, which are not empty and within the page, begin and end.
    pub(super) fn chunks(&self, rows: &Range<u64>) -> Range<usize> {
        let last = rows.end.saturating_sub(1);
        match &self.rows {
            Some(counts) => chunk_of(&counts.started, rows.start)..chunk_of(&counts.finished, last) + 1,
            None => self.chunk_of_value(rows.start)..self.chunk_of_value(last) + 1,
        }
    }

    /// Rows that have an entry in `chunk`; and the first of them that also starts there.
    pub(super) fn rows(&self, chunk: usize) -> (Range<u64>, u64) {
        let at = |counts: &[u64], index: usize| counts.get(index).copied().unwrap_or_default();
        match &self.rows {
            Some(counts) => {
                let started = at(&counts.started, chunk);
                (at(&counts.finished, chunk)..at(&counts.started, chunk + 1), started)
            }
            None => {
                let rows = self.values(chunk);
                (rows.clone(), rows.start)
            }
        }
    }

    /// Bytes that the table takes.
    pub(super) fn weight(&self) -> usize {
        let sums = match &self.values {
            ValueCounts::Uniform { .. } => 0,
            ValueCounts::Sums(sums) => sums.len(),
        };
        let rows = self.rows.as_ref().map_or(0, |counts| counts.started.len() * 2);
        (self.starts.len() + sums + rows) * 8
    }

    fn chunk_of_value(&self, value: u64) -> usize {
        match &self.values {
            ValueCounts::Uniform { log2, .. } => {
                let chunk = usize::try_from(value >> log2).unwrap_or(usize::MAX);
                chunk.min(self.len().saturating_sub(1))
            }
            ValueCounts::Sums(sums) => chunk_of(sums, value),
        }
    }
}

/// The last chunk before which at most `position` were counted.
fn chunk_of(sums: &[u64], position: u64) -> usize {
    sums.partition_point(|sum| *sum <= position).saturating_sub(1)
}

impl ValueCounts {
    fn new(exponents: &[u32], total: u64) -> Result<Self> {
        let Some((last, before)) = exponents.split_last() else {
            return match total {
                0 => Ok(Self::Uniform { log2: 0, total }),
                _ => Err(corrupt(format!("no chunk for {total} values"))),
            };
        };
        let mut sums = Vec::with_capacity(exponents.len() + 1);
        let mut sum = 0_u64;
        for exponent in before {
            sums.push(sum);
            sum += 1 << exponent;
            if *exponent == 0 {
                return Err(corrupt("a chunk that is not the last says that it is"));
            }
        }
        let rest = total.checked_sub(sum);
        let rest = rest.ok_or_else(|| corrupt(format!("the chunks hold {sum} of {total} values")))?;
        if *last != 0 && rest != 1 << last {
            return Err(corrupt(format!("the last chunk holds {rest} values but says {}", 1 << last)));
        }
        let log2 = before.first().copied().unwrap_or(63);
        if before.iter().all(|exponent| *exponent == log2) && rest <= 1 << log2 {
            return Ok(Self::Uniform { log2, total });
        }
        sums.extend([sum, total]);
        Ok(Self::Sums(sums))
    }
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("chunk table", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn one_chunk() {
        let table = ChunkTable::parse(&[0x70, 0], false, 64, 5).unwrap();
        assert_eq!((table.bytes(0..1).unwrap(), table.values(0)), (0..64, 0..5));
        assert_eq!(table.chunks(&(1..5)), 0..1);
        assert!(ChunkTable::parse(&[0x70, 0], false, 56, 5).is_err());
        assert!(ChunkTable::parse(&[0x73, 0], false, 64, 5).is_err());
        assert!(ChunkTable::parse(&[0x73, 0], false, 64, 8).is_ok());
        assert!(ChunkTable::parse(&[0x70], false, 64, 5).is_err());
        assert!(ChunkTable::parse(&[], false, 0, 5).is_err());
        assert!(ChunkTable::parse(&[], false, 0, 0).is_ok());
    }

    #[test]
    fn uniform_and_not() {
        let table = ChunkTable::parse(&words(&[2, 2, 0]), false, 24, 11).unwrap();
        assert!(matches!(table.values, ValueCounts::Uniform { log2: 2, .. }));
        assert_eq!((table.values(1), table.values(2)), (4..8, 8..11));
        assert_eq!(table.chunks(&(3..9)), 0..3);
        let table = ChunkTable::parse(&words(&[1, 2, 0]), false, 24, 11).unwrap();
        assert_eq!((table.values(1), table.values(2)), (2..6, 6..11));
        assert_eq!(table.chunks(&(2..6)), 1..2);
        // The last may hold more than the others.
        let table = ChunkTable::parse(&words(&[1, 0]), false, 16, 11).unwrap();
        assert_eq!(table.chunks(&(10..11)), 1..2);
        assert!(ChunkTable::parse(&words(&[0, 1]), false, 16, 3).is_err());
        assert!(ChunkTable::parse(&words(&[2, 0]), false, 16, 3).is_err());
    }

    #[test]
    fn rows_that_span_chunks() {
        // [1,2,3,4,5], null, [], [6,null] in chunks of 2, 2 and 3 values.
        let index: Vec<u8> = [0_u64, 2, 0, 2, 4, 0].iter().flat_map(|n| n.to_le_bytes()).collect();
        let table = ChunkTable::parse(&words(&[1, 1, 0]), false, 24, 7).unwrap();
        let table = table.with_repetition_index(&index, 4).unwrap();
        assert_eq!(table.chunks(&(0..1)), 0..3);
        assert_eq!(table.chunks(&(1..4)), 2..3);
        assert_eq!(table.rows(0), (0..1, 0));
        assert_eq!(table.rows(1), (0..1, 1));
        assert_eq!(table.rows(2), (0..4, 1));

        let table = || ChunkTable::parse(&words(&[1, 1, 0]), false, 24, 7).unwrap();
        assert!(table().with_repetition_index(&index, 5).is_err());
        assert!(table().with_repetition_index(&index, 3).is_err());
        assert!(table().with_repetition_index(&index[8..], 4).is_err());
        let open: Vec<u8> = [0_u64, 2, 0, 2, u64::MAX, 1].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert!(table().with_repetition_index(&open, u64::MAX).is_err());
    }
}
