//! Blobs: large values that lie anywhere in the file, and where each is.
//!
//! ```text
//! page    row 0: position (u64) | size (u64)    row 1: …
//!         (1, 0) is null, (0, 0) is empty
//! ```

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_buffer::NullBuffer;
use bytes::Bytes;
use lance_footer::{Answer, Ask, Extent, FormatError, Machine, Result, Step};

use super::flat::{Flat, Run, not_loaded};
use super::load::{Load, and_then, map, ready};
use crate::bounds;
use crate::validity::Validity;

/// Rows whose descriptions are read together.
const CHUNK: u64 = 4096;
/// Bits of a description.
pub(super) const BITS: u64 = 128;
/// Values may share bytes, but so much that a few bytes become many is no honest file.
const SHARED: u64 = 16;
/// What is read however it is shared.
const HARMLESS: u64 = 64 << 20;

/// The descriptions of a page's blobs.
#[derive(Debug, Clone)]
pub(super) struct Blobs {
    buffer: Flat,
    rows: u64,
    kept: Arc<Vec<OnceLock<Bytes>>>,
}

/// Blobs in memory.
#[derive(Debug)]
pub(super) struct HeldBlobs {
    /// Where each starts, and the last ends.
    pub(super) ends: Vec<usize>,
    pub(super) nulls: Option<NullBuffer>,
    pub(super) bytes: Bytes,
}

impl Blobs {
    /// The descriptions of `rows` rows, of which there must be as many.
    pub(super) fn new(buffer: Flat, rows: u64) -> Result<Self> {
        buffer.check(rows)?;
        let chunks = bounds::size(rows.div_ceil(CHUNK), "blobs")?;
        Ok(Self {
            buffer,
            rows,
            kept: Arc::new(std::iter::repeat_with(OnceLock::new).take(chunks).collect()),
        })
    }

    /// Bytes of the descriptions that are held.
    pub(super) fn weight(&self) -> usize {
        self.kept.iter().filter_map(OnceLock::get).map(Bytes::len).sum()
    }

    /// A machine that loads the descriptions of `ranges` that are not held.
    pub(super) fn prepare(&self, ranges: &[Range<u64>]) -> Result<Option<Load<()>>> {
        let mut missing: Vec<u64> = vec![];
        for range in ranges {
            for chunk in range.start / CHUNK..range.end.div_ceil(CHUNK) {
                if missing.last() != Some(&chunk) && self.kept(chunk).is_none() {
                    missing.push(chunk);
                }
            }
        }
        if missing.is_empty() {
            return Ok(None);
        }
        let rows = |chunk: &u64| chunk * CHUNK..self.rows.min((chunk + 1) * CHUNK);
        let ranges: Vec<_> = missing.iter().map(rows).collect();
        let kept = Arc::clone(&self.kept);
        Ok(Some(map(self.buffer.load(&ranges)?, move |pieces| {
            for (piece, (chunk, range)) in missing.into_iter().zip(ranges).enumerate() {
                let (bytes, _) = pieces.bytes(&Run { piece, range: 0..range.end - range.start })?;
                let slot = usize::try_from(chunk).ok().and_then(|chunk| kept.get(chunk));
                // A copy, since these bytes may be a small part of what was read.
                let _ = slot.map(|slot| slot.set(Bytes::copy_from_slice(&bytes)));
            }
            Ok(())
        })))
    }

    /// Bytes of the blobs of `range`; none if their descriptions are not held.
    pub(super) fn cost(&self, range: Range<u64>) -> Option<u64> {
        range.map(|row| self.description(row)).try_fold(0_u64, |sum, blob| Some(sum.saturating_add(blob?.1)))
    }

    /// Loads the blobs of `ranges`.
    pub(super) fn load(&self, ranges: &[Range<u64>]) -> Result<Load<HeldBlobs>> {
        let described = self.prepare(ranges)?.unwrap_or_else(|| ready(()));
        let (this, ranges) = (self.clone(), ranges.to_vec());
        Ok(and_then(described, move |()| this.fetch(&ranges)))
    }

    fn fetch(&self, ranges: &[Range<u64>]) -> Result<Load<HeldBlobs>> {
        let mut extents = vec![];
        let mut validity = Validity::default();
        let mut end = 0_u64;
        let mut ends = vec![0];
        for row in ranges.iter().cloned().flatten() {
            let (position, size) = self.description(row).ok_or_else(|| corrupt("a row is not described"))?;
            validity.push(size > 0 || position == 0);
            end = end.checked_add(size).ok_or_else(|| corrupt("more bytes than 64 bits can count"))?;
            ends.push(bounds::size(end, "blobs")?);
            if size > 0 {
                extents.push(Extent::new(position, size).map_err(|error| error.within("blob"))?);
            }
        }
        check_shared(&extents, end)?;
        let held = HeldBlobs { ends, nulls: validity.finish(), bytes: Bytes::new() };
        if extents.is_empty() {
            return Ok(ready(held));
        }
        Ok(map(Box::new(Packed(Some(extents))), |bytes| Ok(HeldBlobs { bytes, ..held })))
    }

    fn kept(&self, chunk: u64) -> Option<&Bytes> {
        self.kept.get(usize::try_from(chunk).ok()?)?.get()
    }

    fn description(&self, row: u64) -> Option<(u64, u64)> {
        let at = usize::try_from(row % CHUNK).ok()? * 16;
        let (position, rest) = self.kept(row / CHUNK)?.get(at..)?.split_first_chunk::<8>()?;
        Some((u64::from_le_bytes(*position), u64::from_le_bytes(*rest.first_chunk::<8>()?)))
    }
}

impl HeldBlobs {
    /// The blobs at `range`: where each starts and the last ends, which are null, and the bytes from the first on.
    pub(super) fn part(&self, range: &Range<u64>) -> Result<(&[usize], Option<NullBuffer>, Bytes)> {
        let (start, end) = (bounds::size(range.start, "blobs")?, bounds::size(range.end, "blobs")?);
        let ends = self.ends.get(start..=end).ok_or_else(not_loaded)?;
        let (Some(first), Some(last)) = (ends.first(), ends.last()) else { return Err(not_loaded()) };
        if *last > self.bytes.len() {
            return Err(not_loaded());
        }
        let nulls = self.nulls.as_ref().map(|nulls| nulls.slice(start, end - start));
        Ok((ends, nulls, self.bytes.slice(*first..*last)))
    }
}

/// All extents in one slab.
struct Packed(Option<Vec<Extent>>);

impl Machine for Packed {
    type Output = Bytes;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Bytes>> {
        match self.0.take() {
            Some(extents) => Ok(Step::Fetch(vec![Ask::packed(extents)])),
            None => Ok(Step::Ready(Answer::only_packed(answers)?.freeze())),
        }
    }
}

/// An error if the `total` bytes of `extents` are few bytes read again and again.
fn check_shared(extents: &[Extent], total: u64) -> Result<()> {
    if total <= HARMLESS {
        return Ok(());
    }
    let mut sorted = extents.to_vec();
    sorted.sort_unstable();
    let (mut distinct, mut reached) = (0_u64, 0);
    for extent in sorted {
        distinct += extent.end().saturating_sub(extent.offset().max(reached));
        reached = reached.max(extent.end());
    }
    if total / SHARED > distinct {
        return Err(corrupt(format!("{total} bytes of values share {distinct} bytes of the file")));
    }
    Ok(())
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("blobs", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_as_often_as_there_are_rows() {
        let extents = |count, len| vec![Extent::new(64, len).unwrap(); count];
        check_shared(&extents(1000, 1000), 1_000_000).unwrap();
        check_shared(&extents(10, 1 << 30), 10 << 30).unwrap();
        assert!(check_shared(&extents(1000, 1 << 20), 1000 << 20).is_err());
    }
}
