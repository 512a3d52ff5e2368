//! Two ways to pack integers into fewer bits, which only older writers used.
//!
//! ```text
//! bitpacked              value 0 | value 1 | …        `packed` bits each, least significant first
//! bitpacked_for_non_neg  vector 0 | vector 1 | …      1024 values each, in the FastLanes order (kernel/bitpack.rs)
//! ```

use std::ops::Range;

use lance_footer::{FormatError, Result};

use super::flat::{Flat, Pieces, Run};
use super::parse::Buffers;
use crate::bounds;
use crate::codec::inline_bitpacking::unpack_vector;
use crate::codec::with_word;
use crate::kernel::bitpack::{VECTOR, Word};
use crate::load::{Load, map};
use crate::proto::array as proto;
use crate::values::{FixedValues, Values, misfit};

/// Values of a vector.
const VECTOR_VALUES: u64 = VECTOR as u64;

/// Packed integers.
#[derive(Debug, Clone)]
pub(super) struct Bitpacked {
    order: Order,
    /// Bits of a value once it is unpacked.
    bits: usize,
    /// Bits of a value in the buffer.
    packed: usize,
    /// Of values, or of vectors.
    buffer: Flat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Plain { signed: bool },
    Vectors,
}

/// Packed integers in memory.
#[derive(Debug)]
pub(super) struct HeldBitpacked {
    order: Order,
    bits: usize,
    packed: usize,
    pieces: Pieces,
    /// For vectors: which value of its first vector each range starts with.
    firsts: Vec<u64>,
}

impl Bitpacked {
    pub(super) fn parse(packed: &proto::Bitpacked, buffers: &Buffers) -> Result<Self> {
        let (bits, width) = widths(packed.uncompressed_bits_per_value, packed.compressed_bits_per_value)?;
        let buffer = Flat::plain(buffers.find(packed.buffer.as_ref())?, width as u64);
        Ok(Self { order: Order::Plain { signed: packed.signed }, bits, packed: width, buffer })
    }

    pub(super) fn parse_vectors(packed: &proto::BitpackedForNonNeg, buffers: &Buffers) -> Result<Self> {
        let (bits, width) = widths(packed.uncompressed_bits_per_value, packed.compressed_bits_per_value)?;
        let buffer = Flat::plain(buffers.find(packed.buffer.as_ref())?, width as u64 * VECTOR_VALUES);
        Ok(Self { order: Order::Vectors, bits, packed: width, buffer })
    }

    /// Bits of an unpacked value.
    pub(super) const fn bits(&self) -> usize {
        self.bits
    }

    /// An error unless there are `count` values.
    pub(super) fn check(&self, count: u64) -> Result<()> {
        match self.order {
            Order::Plain { .. } => self.buffer.check(count),
            Order::Vectors => self.buffer.check(count.div_ceil(VECTOR_VALUES)),
        }
    }

    /// Bytes of `count` values.
    pub(super) fn cost(&self, count: u64) -> u64 {
        match self.order {
            Order::Plain { .. } => self.buffer.cost(count, count),
            Order::Vectors => self.buffer.cost(count.div_ceil(VECTOR_VALUES), count),
        }
    }

    /// Loads the values at `ranges`.
    pub(super) fn load(&self, ranges: &[Range<u64>]) -> Result<Load<HeldBitpacked>> {
        let Self { order, bits, packed, .. } = *self;
        let (pieces, firsts) = match order {
            Order::Plain { .. } => (self.buffer.load(ranges)?, vec![]),
            Order::Vectors => {
                let vectors = |range: &Range<u64>| match range.is_empty() {
                    true => 0..0,
                    false => range.start / VECTOR_VALUES..range.end.div_ceil(VECTOR_VALUES),
                };
                let vectors: Vec<_> = ranges.iter().map(vectors).collect();
                let firsts = ranges.iter().map(|range| range.start % VECTOR_VALUES).collect();
                (self.buffer.load(&vectors)?, firsts)
            }
        };
        Ok(map(pieces, move |pieces| Ok(HeldBitpacked { order, bits, packed, pieces, firsts })))
    }
}

impl HeldBitpacked {
    /// Appends the values of `runs`.
    pub(super) fn decode(&self, runs: &[Run], out: &mut Values) -> Result<()> {
        let Values::Fixed(values) = out else { return Err(misfit("packed integers")) };
        if values.width() * 8 != self.bits {
            return Err(misfit("packed integers"));
        }
        for run in runs {
            match self.order {
                Order::Plain { signed } => self.unpack(run, signed, values)?,
                Order::Vectors => with_word!(self.bits, T => self.unpack_vectors::<T>(run, values))?,
            }
        }
        Ok(())
    }

    fn unpack(&self, run: &Run, signed: bool, values: &mut FixedValues) -> Result<()> {
        let (bytes, skip) = self.pieces.stored(run)?;
        let (count, width) = (run.count()?, self.bits / 8);
        let mut unpacked = Vec::with_capacity(bounds::product(count, width, "bit packing")?);
        for at in (skip..).step_by(self.packed).take(count) {
            let mut window = [0; 16];
            let there = bytes.get(at / 8..).unwrap_or_default();
            window.iter_mut().zip(there).for_each(|(byte, stored)| *byte = *stored);
            // To the top, so that what follows the value falls out, and back down.
            let top = u128::from_le_bytes(window) >> (at % 8) << (128 - self.packed);
            let value = match signed {
                true => (top.cast_signed() >> (128 - self.packed)).cast_unsigned(),
                false => top >> (128 - self.packed),
            };
            unpacked.extend_from_slice(value.to_le_bytes().get(..width).unwrap_or_default());
        }
        values.append(&unpacked, count);
        Ok(())
    }

    fn unpack_vectors<T: Word>(&self, run: &Run, values: &mut FixedValues) -> Result<()> {
        let first = self.firsts.get(run.piece).copied().unwrap_or_default();
        let (start, end) = (first.saturating_add(run.range.start), first.saturating_add(run.range.end));
        let vectors = start / VECTOR_VALUES..end.div_ceil(VECTOR_VALUES);
        let (bytes, _) = self.pieces.stored(&Run { piece: run.piece, range: vectors })?;
        let mut skip = bounds::size(start % VECTOR_VALUES, "bit packing")?;
        let mut left = run.count()?;
        let mut unpacked = [T::default(); VECTOR];
        for vector in bytes.chunks(self.packed * VECTOR / 8) {
            unpack_vector(self.packed, vector, &mut unpacked)?;
            let wanted = unpacked.get(skip..).unwrap_or_default();
            let wanted = wanted.get(..left).unwrap_or(wanted);
            values.extend_words::<T>(wanted.len())?.copy_from_slice(wanted);
            left -= wanted.len();
            skip = 0;
        }
        Ok(())
    }
}

fn widths(bits: u64, packed: u64) -> Result<(usize, usize)> {
    let bits = match bits {
        8 | 16 | 32 | 64 => bounds::size(bits, "bit packing")?,
        _ => return Err(FormatError::corrupt("bit packing", format!("integers of {bits} bits"))),
    };
    match bounds::size(packed, "bit packing")? {
        packed if (1..=bits).contains(&packed) => Ok((bits, packed)),
        packed => Err(FormatError::corrupt("bit packing", format!("{bits} bits packed to {packed}"))),
    }
}
