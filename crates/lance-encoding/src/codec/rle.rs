//! Run lengths: values and how often each is repeated, at most 255 times.
//!
//! ```text
//! mini-block   buffer 0: run values, T bits each      buffer 1: one length byte a run
//! block        bytes of the values part (u64) | run values | lengths
//! ```
//!
//! In a block the lengths sum to the number of values; in a chunk, files by older writers may exceed it.

use std::ops::Range;

use lance_footer::{FormatError, Result};

use super::{Codec, Picks, corrupt, flat, with_word, word_bits};
use crate::block::{Block, Parts};
use crate::bounds;
use crate::kernel::bitpack::{VECTOR, Word};
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};
use crate::scheme::{Asked, CHUNK_VALUES, ChunkBuffers, Chunks, FIXED_CHUNK, Proposal, Scheme, count};
use crate::values::{Values, misfit};

/// The longest run that one length byte tells.
const LONGEST: usize = 255;

/// Run lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rle {
    /// Bits of a value: 8, 16, 32 or 64.
    pub(crate) bits: usize,
}

impl Rle {
    pub(super) fn parse(values: &Codec, lengths: &Codec) -> Result<Self> {
        match (values, lengths) {
            (Codec::Flat(values), Codec::Flat(lengths)) if lengths.bits == 8 => {
                Ok(Self { bits: word_bits(values.bits as u64)? })
            }
            _ => Err(corrupt(format!("runs of {} with lengths of {}", values.name(), lengths.name()))),
        }
    }

    pub(super) fn decode_mini_block(
        self,
        values: &[u8],
        lengths: &[u8],
        picks: &Picks,
        out: &mut Values,
    ) -> Result<()> {
        let Values::Fixed(fixed) = out else { return Err(misfit("numbers")) };
        let total = self.total(values, lengths)?;
        if total < picks.count() {
            return Err(wrong_total(total, picks.count()));
        }
        with_word!(self.bits, T => picks.decode::<T>(fixed, |out| {
            expand(values, lengths, out);
            Ok(())
        }))
    }

    /// An error unless the runs of a block sum to `count`.
    pub(super) fn check_block(self, bytes: &[u8], count: usize) -> Result<()> {
        let (values, lengths) = split(bytes)?;
        let total = self.total(values, lengths)?;
        if total == count { Ok(()) } else { Err(wrong_total(total, count)) }
    }

    pub(super) fn decode_block_words<T: Word>(self, bytes: &[u8], out: &mut [T]) -> Result<()> {
        if self.bits != T::BITS {
            return Err(misfit("numbers"));
        }
        let (values, lengths) = split(bytes)?;
        expand(values, lengths, out);
        Ok(())
    }

    /// Sum of the run lengths.
    fn total(self, values: &[u8], lengths: &[u8]) -> Result<usize> {
        bounds::exactly(values, bounds::bytes_for(lengths.len(), self.bits, "runs")?, "runs")?;
        Ok(lengths.iter().map(|len| usize::from(*len)).sum())
    }
}

fn split(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<8>().ok_or_else(|| corrupt("runs without a header"))?;
    let values = bounds::size(u64::from_le_bytes(*head), "runs")?;
    rest.split_at_checked(values).ok_or_else(|| {
        FormatError::corrupt("runs", format!("{values} bytes of values in {} bytes", rest.len()))
    })
}

/// Writes runs until `out` is full.
fn expand<T: Word>(values: &[u8], lengths: &[u8], out: &mut [T]) {
    let mut rest = out;
    for (value, len) in values.chunks_exact(T::BITS / 8).zip(lengths) {
        let mut word = [T::default()];
        T::read(value, &mut word);
        let len = usize::from(*len).min(rest.len());
        let (run, after) = rest.split_at_mut(len);
        run.fill(word[0]);
        rest = after;
    }
}

/// Numbers that are often the same as the one before.
pub(crate) struct RleScheme;

impl Scheme for RleScheme {
    fn propose<'a>(&self, asked: Asked<'a>) -> Option<Proposal<'a>> {
        let (width, _) = Parts::new(asked.blocks)?;
        // Other widths are not for this scheme.
        with_word!(width * 8, T => Ok(propose::<T>(asked))).ok()?
    }
}

fn propose<T: Word>(asked: Asked<'_>) -> Option<Proposal<'_>> {
    let values = count(asked.blocks);
    let runs = count_runs::<T>(asked.blocks, values)?;
    if asked.settings.rle_threshold.is_some_and(|threshold| runs as f64 >= threshold * values as f64) {
        return None;
    }
    // Long runs are cut, also where a chunk ends.
    let (bytes, chunks) = ((runs + values / LONGEST) * (T::BITS / 8 + 1), values.div_ceil(CHUNK_VALUES));
    let start =
        move || -> Result<Box<dyn Chunks>> { Ok(Box::new(Runs::new(collect::<T>(asked.blocks, runs)))) };
    // There is a second buffer, with a size and padding of its own.
    Some(Proposal::new((bytes + 12 * chunks) as u64, chunks, start))
}

/// How many runs `values` values have.
fn count_runs<T: Word>(blocks: &[Block], values: usize) -> Option<usize> {
    let mut runs = 0;
    let mut last = None;
    each_vector::<T>(blocks, values, |vector| {
        runs += usize::from(vector.first().copied() != last);
        runs += vector.iter().zip(vector.iter().skip(1)).filter(|(one, next)| one != next).count();
        last = vector.last().copied();
    })?;
    Some(runs)
}

/// Each run of the values of `blocks`.
fn collect<T: Word>(blocks: &[Block], runs: usize) -> Vec<(T, usize)> {
    let mut all: Vec<(T, usize)> = Vec::with_capacity(runs);
    each_vector::<T>(blocks, count(blocks), |vector| {
        for part in vector.chunk_by(|one, next| one == next) {
            match (all.last_mut(), part.first()) {
                (Some((value, len)), Some(next)) if value == next => *len += part.len(),
                (_, Some(next)) => all.push((*next, part.len())),
                _ => {}
            }
        }
    });
    all
}

/// Calls `each` with all values of `blocks`, a vector or less at a time.
fn each_vector<T: Word>(blocks: &[Block], values: usize, mut each: impl FnMut(&[T])) -> Option<()> {
    let (_, mut parts) = Parts::new(blocks)?;
    let (mut vector, size) = ([T::default(); VECTOR], T::BITS / 8);
    let mut left = values;
    while left > 0 {
        let wanted = left.min(VECTOR);
        parts.next(wanted * size, |part| {
            let vector = vector.get_mut(..part.len() / size).unwrap_or_default();
            T::read(part, vector);
            each(vector);
        });
        left -= wanted;
    }
    Some(())
}

/// The description of runs of numbers of `bits` bits.
pub(crate) fn encoding(bits: usize) -> CompressiveEncoding {
    let flat = |bits| Some(Box::new(flat::encoding(bits)));
    let rle = proto::Rle { values: flat(bits as u64), run_lengths: flat(8) };
    CompressiveEncoding { compression: Some(Compression::Rle(Box::new(rle))) }
}

/// Appends `values` as one block.
pub(crate) fn write_block<T: Word>(values: &[T], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    let mut lengths = vec![];
    for run in values.chunk_by(|one, next| one == next) {
        put_run(run.first().copied().unwrap_or_default(), run.len(), out, &mut lengths);
    }
    let size = (out.len() - start - 8) as u64;
    if let Some(head) = out.get_mut(start..start + 8) {
        head.copy_from_slice(&size.to_le_bytes());
    }
    out.append(&mut lengths);
}

/// Appends a run to `values` and `lengths`, in as many pieces as it takes.
fn put_run<T: Word>(value: T, mut len: usize, values: &mut Vec<u8>, lengths: &mut Vec<u8>) {
    while len > 0 {
        let piece = len.min(LONGEST);
        T::write(&[value], values);
        lengths.push(u8::try_from(piece).unwrap_or(u8::MAX));
        len -= piece;
    }
}

/// The runs of a page, from the next chunk on.
struct Runs<T> {
    runs: Vec<(T, usize)>,
    /// The run in which the next chunk begins, and how much of it is written.
    next: (usize, usize),
}

impl<T: Word> Runs<T> {
    const fn new(runs: Vec<(T, usize)>) -> Self {
        Self { runs, next: (0, 0) }
    }

    /// The lengths of the runs that are left, and their values.
    fn rest(&self) -> impl Iterator<Item = (T, usize)> + '_ {
        let (first, used) = self.next;
        let rest = self.runs.get(first..).unwrap_or_default().iter().enumerate();
        rest.map(move |(at, (value, len))| (*value, if at == 0 { len - used } else { *len }))
    }

    /// How many of the next `values` values, which are in few runs, have an encoding that fits a chunk.
    fn fitting(&self, values: usize) -> usize {
        let (mut fitting, mut room) = (0, FIXED_CHUNK / (T::BITS / 8 + 1));
        for (_, len) in self.rest() {
            let len = len.min(values - fitting);
            let fits = len.min(room * LONGEST);
            fitting += fits;
            room -= fits.div_ceil(LONGEST);
            if fits < len || fitting == values {
                break;
            }
        }
        fitting
    }
}

impl<T: Word> Chunks for Runs<T> {
    fn encoding(&self) -> CompressiveEncoding {
        encoding(T::BITS)
    }

    fn buffers(&self) -> usize {
        2
    }

    fn count(&self, _: usize, left: usize) -> usize {
        let wanted = left.min(CHUNK_VALUES);
        let fitting = self.fitting(wanted);
        // The first runs always fit.
        if fitting == left { left } else { 1 << fitting.max(2).ilog2() }
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        let (mut bytes, mut lengths) = (vec![], vec![]);
        let mut left = values.len();
        while left > 0 {
            let Some((value, len)) = self.rest().next() else { break };
            let piece = len.min(left);
            put_run(value, piece, &mut bytes, &mut lengths);
            left -= piece;
            self.next = if piece == len { (self.next.0 + 1, 0) } else { (self.next.0, self.next.1 + piece) };
        }
        out.buffer(|out| out.append(&mut bytes));
        out.buffer(|out| out.append(&mut lengths));
        Ok(())
    }
}

fn wrong_total(total: usize, count: usize) -> FormatError {
    FormatError::corrupt("runs", format!("they sum to {total} instead of {count}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int16Type, Int32Type, Int64Type, UInt8Type};
    use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
    use arrow_buffer::ArrowNativeType;
    use arrow_schema::DataType;

    use super::*;
    use crate::scheme::tests::array_through;
    use crate::settings::Settings;
    use crate::storage::Storage;

    /// Runs of these lengths, of numbers that count up.
    fn runs<T: ArrowPrimitiveType>(lengths: impl IntoIterator<Item = usize>) -> ArrayRef {
        let values = lengths.into_iter().enumerate();
        let values = values.flat_map(|(at, len)| std::iter::repeat_n(T::Native::usize_as(at), len));
        Arc::new(PrimitiveArray::<T>::from_iter_values(values.collect::<Vec<_>>()))
    }

    #[test]
    fn runs_come_back() {
        let lengths: [&[usize]; 9] = [
            &[1],
            &[1, 1, 1],
            &[254, 1, 255, 256, 510, 511],
            &[4095, 2],
            &[4096],
            &[4096, 1],
            &[3, 10_000, 5],
            &[1; 6000],
            &[2; 3000],
        ];
        for lengths in lengths {
            let lengths = || lengths.iter().copied();
            for array in [
                runs::<UInt8Type>(lengths()),
                runs::<Int16Type>(lengths()),
                runs::<Int32Type>(lengths()),
                runs::<Int64Type>(lengths()),
            ] {
                let (back, _) = array_through(&RleScheme, &array, &Settings::default()).unwrap();
                assert_eq!(&back, &array);
            }
        }
    }

    #[test]
    fn a_threshold_keeps_runs_away() {
        let array = runs::<Int32Type>([4; 100]);
        let with = |threshold| {
            let settings = Settings { rle_threshold: Some(threshold), ..Settings::default() };
            array_through(&RleScheme, &array, &settings).is_some()
        };
        assert_eq!([with(0.0), with(0.25), with(0.26)], [false, false, true]);
    }

    #[test]
    fn blocks_are_written_as_they_are_read() {
        let values: Vec<u16> = (0..2000).map(|at| at / 300).collect();
        let mut bytes = vec![];
        write_block(&values, &mut bytes);
        let codec = Rle { bits: 16 };
        codec.check_block(&bytes, values.len()).unwrap();
        let mut out = vec![0; values.len()];
        codec.decode_block_words(&bytes, &mut out).unwrap();
        assert_eq!(out, values);
        // Each run in two pieces.
        assert_eq!(bytes.len(), 8 + 7 * 2 * 3 - 3);
    }

    const VALUES: [u8; 12] = [9, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0];
    const LENGTHS: [u8; 3] = [0xff, 0x2d, 1];

    #[test]
    fn a_long_run_is_split() {
        let mut out = Values::new(&Storage::Fixed { bits: 32 });
        Rle { bits: 32 }.decode_mini_block(&VALUES, &LENGTHS, &Picks::all(301), &mut out).unwrap();
        let array = out.finish(&DataType::Int32, None).unwrap();
        let values = array.as_primitive::<Int32Type>().values();
        assert!(values[..300].iter().all(|value| *value == 9));
        assert_eq!(values[300], 8);
    }

    #[test]
    fn a_chunk_may_have_too_much_but_not_too_little() {
        let mut out = Values::new(&Storage::Fixed { bits: 32 });
        let codec = Rle { bits: 32 };
        codec.decode_mini_block(&VALUES, &LENGTHS, &Picks::all(300), &mut out).unwrap();
        assert_eq!(out.len(), 300);
        assert!(codec.decode_mini_block(&VALUES, &LENGTHS, &Picks::all(302), &mut out).is_err());
        assert!(codec.decode_mini_block(&VALUES[..8], &LENGTHS, &Picks::all(1), &mut out).is_err());
    }

    #[test]
    fn blocks_are_exact() {
        let block = [&12_u64.to_le_bytes()[..], &VALUES, &LENGTHS].concat();
        let codec = Rle { bits: 32 };
        assert!(codec.check_block(&block, 301).is_ok());
        assert!(codec.check_block(&block, 300).is_err());
        let mut out = [0_u32; 301];
        codec.decode_block_words(&block, &mut out).unwrap();
        assert_eq!((out[0], out[299], out[300]), (9, 9, 8));
        assert!(codec.check_block(&u64::MAX.to_le_bytes(), 0).is_err());
    }
}
