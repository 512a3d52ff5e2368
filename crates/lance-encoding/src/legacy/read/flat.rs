//! Flat: values of 1 bit or of whole bytes, one after the other, in one buffer.
//!
//! ```text
//! value 0 | value 1 | …      `bits` bits each, little-endian; 1 bit: least significant first
//! ```
//!
//! The buffer as a whole may be compressed with zstd or LZ4; reading any value then takes all of it.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use arrow_buffer::NullBuffer;
use bytes::Bytes;
use lance_footer::{Extent, FormatError, Result, Rows};

use super::parse::Buffers;
use crate::bounds;
use crate::codec::general::{Decompressor, Scheme};
use crate::load::{Load, and_then, map, ready, slices};
use crate::proto::array as proto;
use crate::validity::Validity;
use crate::values::{Values, misfit};

/// A buffer of values of the same number of bits.
#[derive(Debug, Clone)]
pub(super) struct Flat {
    extent: Extent,
    bits: u64,
    compressed: Option<Arc<Compressed>>,
}

/// How a buffer is compressed, and what of it is in use.
#[derive(Debug)]
struct Compressed {
    scheme: Scheme,
    /// The parts of a page are loaded one after the other while earlier ones are still in use: they share this.
    recent: Mutex<Weak<Whole>>,
}

/// A compressed buffer in memory.
#[derive(Debug)]
struct Whole {
    scheme: Scheme,
    bytes: Bytes,
    plain: OnceLock<Bytes>,
}

/// The bytes in which some ranges of the values of a [`Flat`] lie.
#[derive(Debug)]
pub(super) struct Pieces {
    bits: u64,
    bytes: PiecesBytes,
}

#[derive(Debug)]
enum PiecesBytes {
    /// Those of each range, and the bits before its first value in its first byte.
    Apart(Vec<(Bytes, u64)>),
    /// All, and the number of the first value of each range.
    Whole(Arc<Whole>, Vec<u64>),
}

/// Values of one of the ranges that were loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// Which range.
    pub(super) piece: usize,
    /// The values, counted from its first.
    pub(super) range: Range<u64>,
}

impl Flat {
    pub(super) fn parse(flat: &proto::Flat, buffers: &Buffers) -> Result<Self> {
        let bits = flat.bits_per_value;
        if bits != 1 && !bits.is_multiple_of(8) {
            return Err(corrupt(format!("values of {bits} bits")));
        }
        let scheme = match flat.compression.as_ref().map(|compression| compression.scheme.as_str()) {
            None | Some("none") => None,
            Some("zstd") => Some(Scheme::Zstd),
            Some("lz4") => Some(Scheme::Lz4),
            Some(other) => return Err(FormatError::unsupported(format!("the compression scheme {other:?}"))),
        };
        let compressed = scheme.map(|scheme| Arc::new(Compressed { scheme, recent: Mutex::default() }));
        Ok(Self { extent: buffers.find(flat.buffer.as_ref())?, bits, compressed })
    }

    /// Values of `bits` bits in `extent`, not compressed.
    pub(super) const fn plain(extent: Extent, bits: u64) -> Self {
        Self { extent, bits, compressed: None }
    }

    /// Bits of a value.
    pub(super) const fn bits(&self) -> u64 {
        self.bits
    }

    /// An error unless there are `count` values, as far as that can be told without the bytes.
    pub(super) fn check(&self, count: u64) -> Result<()> {
        let due = u128::from(count) * u128::from(self.bits);
        if self.compressed.is_none() && due.div_ceil(8) > u128::from(self.extent.len()) {
            let len = self.extent.len();
            return Err(corrupt(format!("{len} bytes for {count} values of {} bits", self.bits)));
        }
        Ok(())
    }

    /// About how many bytes `count` of `all` values take.
    pub(super) fn cost(&self, count: u64, all: u64) -> u64 {
        let bytes = match self.compressed {
            None => u128::from(count) * u128::from(self.bits) / 8,
            Some(_) => share(self.extent.len(), count, all),
        };
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// About how many bytes `count` of `all` rows take, whose values vary in number.
    pub(super) fn cost_of_share(&self, count: u64, all: u64) -> u64 {
        u64::try_from(share(self.extent.len(), count, all)).unwrap_or(u64::MAX)
    }

    /// Loads the values at `ranges`.
    pub(super) fn load(&self, ranges: &[Range<u64>]) -> Result<Load<Pieces>> {
        let bits = self.bits;
        if let Some(compressed) = &self.compressed {
            let starts = ranges.iter().map(|range| range.start).collect();
            let whole = compressed.load(self.extent);
            return Ok(map(whole, move |whole| {
                Ok(Pieces { bits, bytes: PiecesBytes::Whole(whole, starts) })
            }));
        }
        let (mut extents, mut skips) = (Vec::with_capacity(ranges.len()), Vec::with_capacity(ranges.len()));
        for range in ranges {
            let (start, end) = (times(range.start, bits)?, times(range.end, bits)?);
            // No byte holds no values, wherever they start.
            let first = if start == end { end.div_ceil(8) } else { start / 8 };
            extents.push(
                self.extent.slice(first..end.div_ceil(8)).map_err(|error| error.within("flat values"))?,
            );
            skips.push(start % 8);
        }
        Ok(map(slices(extents), move |bytes| {
            Ok(Pieces { bits, bytes: PiecesBytes::Apart(bytes.into_iter().zip(skips).collect()) })
        }))
    }
}

impl Compressed {
    fn load(self: &Arc<Self>, extent: Extent) -> Load<Arc<Whole>> {
        if let Some(whole) = self.recent().upgrade() {
            return ready(whole);
        }
        let this = Arc::clone(self);
        let bytes = slices(vec![extent]);
        and_then(bytes, move |bytes| {
            let mut recent = this.recent();
            // Another part of the page may have been faster.
            let whole = recent.upgrade().unwrap_or_else(|| {
                let bytes = bytes.into_iter().next().unwrap_or_default();
                Arc::new(Whole { scheme: this.scheme, bytes, plain: OnceLock::new() })
            });
            *recent = Arc::downgrade(&whole);
            drop(recent);
            Ok(ready(whole))
        })
    }

    fn recent(&self) -> std::sync::MutexGuard<'_, Weak<Whole>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Whole {
    /// What comes out, which may have `most` bytes.
    fn plain(&self, most: usize) -> Result<Bytes> {
        if let Some(plain) = self.plain.get() {
            return Ok(plain.clone());
        }
        // An error is not kept: another reader may have more room.
        let plain = Decompressor::new(self.scheme).decompress(&self.bytes, most)?;
        Ok(self.plain.get_or_init(|| Bytes::from(plain)).clone())
    }
}

impl Pieces {
    /// The same of a buffer that is never compressed.
    pub(super) fn stored(&self, run: &Run) -> Result<(Bytes, usize)> {
        self.bytes(run, 0)
    }

    /// The bytes in which the values of `run` lie, and the bits before the first of them. Where they are compressed,
    /// all of the buffer may have `most` bytes.
    pub(super) fn bytes(&self, run: &Run, most: usize) -> Result<(Bytes, usize)> {
        let (bytes, skip, first) = match &self.bytes {
            PiecesBytes::Apart(pieces) => {
                let (bytes, skip) = pieces.get(run.piece).ok_or_else(not_loaded)?;
                (bytes.clone(), *skip, 0)
            }
            PiecesBytes::Whole(whole, starts) => {
                (whole.plain(most)?, 0, *starts.get(run.piece).ok_or_else(not_loaded)?)
            }
        };
        let at = |value: u64| {
            let value = value.checked_add(first).ok_or_else(too_many)?;
            times(value, self.bits)?.checked_add(skip).ok_or_else(too_many)
        };
        let (start, end) = (at(run.range.start)?, at(run.range.end)?);
        if start == end {
            return Ok((Bytes::new(), 0));
        }
        let range = bounds::size(start / 8, "flat values")?..bounds::size(end.div_ceil(8), "flat values")?;
        if range.start > range.end || range.end > bytes.len() {
            return Err(corrupt(format!("bytes {range:?} of a buffer of {}", bytes.len())));
        }
        Ok((bytes.slice(range), bounds::size(start % 8, "flat values")?))
    }

    /// Appends the values of `runs`.
    pub(super) fn decode(&self, runs: &[Run], out: &mut Values) -> Result<()> {
        for run in runs {
            let (bytes, skip) = self.bytes(run, out.room())?;
            let count = run.count()?;
            match out {
                Values::Bits(bits) if self.bits == 1 => bits.append_range(skip..skip + count, &bytes),
                Values::Fixed(values) if values.width() as u64 * 8 == self.bits => {
                    let width = values.width();
                    let alignment = if width.is_power_of_two() { width.min(16) } else { 1 };
                    out.append_shared(bytes, count, alignment)?;
                }
                _ => return Err(misfit("flat values")),
            }
        }
        Ok(())
    }

    /// Which of the values of `runs` are there, where each is a bit that says it.
    pub(super) fn validity(&self, runs: &[Run], most: usize) -> Result<Option<NullBuffer>> {
        let mut validity = Validity::default();
        for run in runs {
            let (bytes, skip) = self.bytes(run, most)?;
            validity.push_bits(skip..skip + run.count()?, &bytes);
        }
        Ok(validity.finish())
    }
}

impl Run {
    /// Its values.
    pub(super) fn count(&self) -> Result<usize> {
        bounds::size(self.range.end.saturating_sub(self.range.start), "values")
    }
}

/// The values at `positions` of those at `ranges`, one range after the other.
pub(super) fn runs(ranges: &[Range<u64>], positions: &Rows) -> Vec<Run> {
    let mut runs = Vec::with_capacity(positions.ranges().len());
    let mut pieces = ranges.iter().enumerate();
    let mut piece = pieces.next();
    let mut passed = 0;
    for wanted in positions.ranges() {
        while let Some((number, range)) = piece {
            let end = passed + (range.end - range.start);
            let part = wanted.start.max(passed)..wanted.end.min(end);
            if part.start < part.end {
                runs.push(Run { piece: number, range: part.start - passed..part.end - passed });
            }
            if end >= wanted.end {
                break;
            }
            passed = end;
            piece = pieces.next();
        }
    }
    runs
}

/// `runs` of lists as runs of their items, of which each has `len`.
pub(super) fn runs_of_items(runs: &[Run], len: u64) -> Result<Vec<Run>> {
    let items = runs.iter().map(|run| {
        Ok(Run { piece: run.piece, range: times(run.range.start, len)?..times(run.range.end, len)? })
    });
    items.collect()
}

/// `a * b`.
pub(super) fn times(a: u64, b: u64) -> Result<u64> {
    a.checked_mul(b).ok_or_else(too_many)
}

fn share(bytes: u64, count: u64, all: u64) -> u128 {
    u128::from(bytes) * u128::from(count) / u128::from(all.max(1))
}

pub(super) fn not_loaded() -> FormatError {
    FormatError::corrupt("step protocol", "values that were not loaded")
}

fn too_many() -> FormatError {
    corrupt("more values than 64 bits can count")
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("flat values", reason)
}
