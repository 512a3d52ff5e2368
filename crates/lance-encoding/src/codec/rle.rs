//! Run lengths: values and how often each is repeated, at most 255 times.
//!
//! ```text
//! mini-block   buffer 0: run values, T bits each      buffer 1: one length byte a run
//! block        bytes of the values part (u64) | run values | lengths
//! ```
//!
//! In a block the lengths sum to the number of values; in a chunk, files by older writers may exceed it.

use lance_footer::{FormatError, Result};

use super::{Codec, Picks, corrupt, with_word, word_bits};
use crate::bounds;
use crate::kernel::bitpack::Word;
use crate::values::{Values, misfit};

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

fn wrong_total(total: usize, count: usize) -> FormatError {
    FormatError::corrupt("runs", format!("they sum to {total} instead of {count}"))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_schema::DataType;

    use super::*;
    use crate::storage::Storage;

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
