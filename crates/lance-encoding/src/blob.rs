//! Blobs: large values that lie anywhere in the file, and descriptions of where each is.
//!
//! ```text
//! description   position (u64) | size (u64)
//!
//! size > 0      the value is these bytes of the file
//! (0, 0)        it is empty
//! (n, 0)        there is none: n is 1 in version 2.0, later definition << 16 | repetition
//! ```

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};
use bytes::Bytes;
use lance_footer::{Answer, Ask, Extent, FormatError, Machine, Result, Step};

use crate::bounds;
use crate::budget::TableBudget;
use crate::load::{Load, map, ready};
use crate::validity::Validity;

/// Rows whose descriptions are read together.
const CHUNK: u64 = 4096;
/// Bytes of a description.
pub(crate) const DESCRIPTION: usize = 16;
/// Values may share bytes, but so much that a few bytes become many is no honest file.
const SHARED: u64 = 16;
/// What is read however it is shared.
const HARMLESS: u64 = 64 << 20;

/// Whether these are the members of what describes a blob.
pub(crate) fn are_descriptions(members: &Fields) -> bool {
    let names = members.iter().map(|member| (member.name().as_str(), member.data_type()));
    names.eq([("position", &DataType::UInt64), ("size", &DataType::UInt64)])
}

/// The type of descriptions.
pub(crate) fn description_type() -> DataType {
    let member = |name| Field::new(name, DataType::UInt64, true);
    DataType::Struct(vec![member("position"), member("size")].into())
}

/// Where a blob is, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) position: u64,
    pub(crate) size: u64,
}

impl Description {
    /// Whether there is a blob.
    pub(crate) const fn is_there(self) -> bool {
        self.size > 0 || self.position == 0
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (position, size) = bytes.split_first_chunk()?;
        let size = u64::from_le_bytes(*size.first_chunk()?);
        Some(Self { position: u64::from_le_bytes(*position), size })
    }
}

/// The descriptions of a page's blobs, as far as they were read.
#[derive(Debug, Clone)]
pub(crate) struct Descriptions {
    rows: u64,
    /// By chunk. How many there are is known of what was read only, however many rows the page claims to have.
    kept: Arc<Mutex<HashMap<u64, Bytes>>>,
}

impl Descriptions {
    /// Nothing is read yet of a page of `rows` rows.
    pub(crate) fn new(rows: u64) -> Self {
        Self { rows, kept: Arc::default() }
    }

    /// Bytes that are held.
    pub(crate) fn weight(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).values().map(Bytes::len).sum()
    }

    /// The rows whose descriptions have to be read before those of `ranges` are held, in whole chunks.
    pub(crate) fn missing(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing: Vec<Range<u64>> = vec![];
        for range in ranges {
            for chunk in range.start / CHUNK..range.end.div_ceil(CHUNK) {
                let start = chunk.saturating_mul(CHUNK);
                if !kept.contains_key(&chunk) && missing.last().is_none_or(|last| last.start != start) {
                    missing.push(start..self.rows.min(start.saturating_add(CHUNK)));
                }
            }
        }
        missing
    }

    /// Holds the descriptions of `rows`, which [`Self::missing`] gave, and for which `read` bytes were read. They come
    /// out of `tables`: they are held as long as these.
    pub(crate) fn keep(
        &self,
        rows: &Range<u64>,
        descriptions: &[u8],
        read: u64,
        tables: &TableBudget,
    ) -> Result<()> {
        bounds::exactly(descriptions, described_bytes(rows)?, "blobs")?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Vacant(place) = kept.entry(rows.start / CHUNK) {
            tables.table(read).spend(descriptions.len())?;
            // A copy, since these bytes may be a small part of what was read.
            place.insert(Bytes::copy_from_slice(descriptions));
        }
        Ok(())
    }

    /// Hands the descriptions of `rows` to `take`, which must be held.
    pub(crate) fn each(
        &self,
        rows: &Range<u64>,
        mut take: impl FnMut(Description) -> Result<()>,
    ) -> Result<()> {
        let mut row = rows.start;
        while row < rows.end {
            let chunk = row / CHUNK;
            let end = rows.end.min((chunk + 1).saturating_mul(CHUNK));
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&chunk).cloned();
            let kept = kept.ok_or_else(|| corrupt("rows are read before they are described"))?;
            let at = |row: u64| bounds::size((row - chunk * CHUNK) * DESCRIPTION as u64, "blobs");
            let described = bounds::slice(&kept, at(row)?..at(end)?, "blobs")?.chunks_exact(DESCRIPTION);
            described.filter_map(Description::read).try_for_each(&mut take)?;
            row = end;
        }
        Ok(())
    }

    /// Bytes of the blobs of `rows`; none if their descriptions are not held.
    pub(crate) fn cost(&self, rows: &Range<u64>) -> Option<u64> {
        let mut cost = 0_u64;
        let add = |blob: Description| {
            cost = cost.saturating_add(blob.size);
            Ok(())
        };
        self.each(rows, add).ok()?;
        Some(cost)
    }

    /// Loads the blobs of `ranges`, whose descriptions must be held.
    pub(crate) fn load(&self, ranges: &[Range<u64>]) -> Result<Load<HeldBlobs>> {
        let mut extents = vec![];
        let mut validity = Validity::default();
        let mut end = 0_u64;
        let mut ends = vec![0];
        for range in ranges {
            self.each(range, |blob| {
                validity.push(blob.is_there());
                end =
                    end.checked_add(blob.size).ok_or_else(|| corrupt("more bytes than 64 bits can count"))?;
                ends.push(bounds::size(end, "blobs")?);
                if blob.size > 0 {
                    let extent = Extent::new(blob.position, blob.size);
                    extents.push(extent.map_err(|error| error.within("blob"))?);
                }
                Ok(())
            })?;
        }
        check_shared(&extents, end)?;
        let held = HeldBlobs { ends, nulls: validity.finish(), bytes: Bytes::new() };
        if extents.is_empty() {
            return Ok(ready(held));
        }
        Ok(map(Box::new(Packed(Some(extents))), |bytes| Ok(HeldBlobs { bytes, ..held })))
    }
}

/// Bytes of the descriptions of `rows`.
pub(crate) fn described_bytes(rows: &Range<u64>) -> Result<usize> {
    bounds::product(bounds::size(rows.end.saturating_sub(rows.start), "blobs")?, DESCRIPTION, "blobs")
}

/// Blobs in memory.
#[derive(Debug)]
pub(crate) struct HeldBlobs {
    /// Where each starts, and the last ends.
    ends: Vec<usize>,
    nulls: Option<NullBuffer>,
    bytes: Bytes,
}

impl HeldBlobs {
    /// The blobs at `range`: where each starts and the last ends, which are null, and the bytes from the first on.
    pub(crate) fn part(&self, range: &Range<u64>) -> Result<(&[usize], Option<NullBuffer>, Bytes)> {
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

fn not_loaded() -> FormatError {
    FormatError::corrupt("step protocol", "blobs that were not loaded")
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("blobs", reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::DecodeBudget;

    #[test]
    fn the_same_bytes_as_often_as_there_are_rows() {
        let extents = |count, len| vec![Extent::new(64, len).unwrap(); count];
        check_shared(&extents(1000, 1000), 1_000_000).unwrap();
        check_shared(&extents(10, 1 << 30), 10 << 30).unwrap();
        assert!(check_shared(&extents(1000, 1 << 20), 1000 << 20).is_err());
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "lists of ranges, some with one")]
    fn descriptions_are_held_in_chunks() {
        let (descriptions, tables) = (Descriptions::new(10_000), TableBudget::default());
        assert_eq!(
            descriptions.missing(&[5..7, 4095..4097, 9000..9001]),
            [0..4096, 4096..8192, 8192..10_000]
        );
        let bytes: Vec<u8> =
            (8192..10_000_u64).flat_map(|row| [row, row % 7]).flat_map(u64::to_le_bytes).collect();
        descriptions.keep(&(8192..10_000), &bytes, 0, &tables).unwrap();
        assert!(descriptions.keep(&(0..4096), &bytes, 0, &tables).is_err());
        assert_eq!(descriptions.missing(&[5..7, 9000..9001]), [0..4096]);
        assert_eq!(descriptions.cost(&(8191..8193)), None);
        assert_eq!(descriptions.cost(&(9000..9003)), Some(5 + 6));
        assert_eq!(descriptions.weight(), bytes.len());
        // Another chunk is too much, however often it is tried; and one that is held costs nothing.
        let tables = TableBudget::new(DecodeBudget { per_byte: 1, constant: 1000 });
        for _ in 0..2 {
            assert!(descriptions.keep(&(0..4096), &[0; 4096 * 16], 64_000, &tables).is_err());
            assert_eq!(descriptions.weight(), bytes.len());
            descriptions.keep(&(8192..10_000), &bytes, 0, &tables).unwrap();
        }
        descriptions.keep(&(0..4096), &[0; 4096 * 16], 65_000, &tables).unwrap();
        assert_eq!(descriptions.weight(), bytes.len() + 4096 * 16);
        // However many rows a page claims to have.
        assert_eq!(Descriptions::new(u64::MAX).missing(&[u64::MAX - 2..u64::MAX]).len(), 1);
    }
}
