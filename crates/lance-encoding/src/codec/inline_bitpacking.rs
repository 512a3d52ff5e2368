//! Inline bit packing: up to 1024 integers of `T` bits packed to `W` bits, `W` in front.
//!
//! ```text
//! block, mini-block   W (one T-bit word) | 1024 * W / T words of T bits, packed in the FastLanes order
//! ```
//!
//! The size is always `T / 8 + 128 * W` bytes: fewer values are padded with zeros. `W` varies from chunk to
//! chunk. Values are raw bit patterns; a negative number needs all `T` bits.

use std::ops::Range;

use lance_footer::{FormatError, Result};

use super::{Picks, with_word, word_bits};
use crate::block::Parts;
use crate::bounds;
use crate::kernel::bitpack::{VECTOR, Word, packed_words};
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};
use crate::scheme::{Asked, ChunkBuffers, Chunks, Proposal, Scheme, count};
use crate::values::{Values, misfit};

/// Bit packing whose width is stored with the bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InlineBitpacking {
    /// Bits of an unpacked value: 8, 16, 32 or 64.
    pub(crate) bits: usize,
}

impl InlineBitpacking {
    pub(super) fn parse(packed: &proto::InlineBitpacking) -> Result<Self> {
        if packed.values.is_some() {
            return Err(FormatError::unsupported("compressed bit packing"));
        }
        Ok(Self { bits: word_bits(packed.uncompressed_bits_per_value)? })
    }

    pub(super) fn check(count: usize) -> Result<()> {
        if count > VECTOR {
            return Err(FormatError::corrupt(
                "bit packing",
                format!("{count} values in a vector of {VECTOR}"),
            ));
        }
        Ok(())
    }

    pub(super) fn decode_mini_block(self, buffer: &[u8], picks: &Picks, out: &mut Values) -> Result<()> {
        let Values::Fixed(values) = out else { return Err(misfit("numbers")) };
        Self::check(picks.count())?;
        with_word!(self.bits, T => picks.decode::<T>(values, |out| self.decode_words(buffer, out)))
    }

    pub(super) fn decode_words<T: Word>(self, bytes: &[u8], out: &mut [T]) -> Result<()> {
        let (head, packed) = bytes.split_at_checked(T::BITS / 8).unwrap_or_default();
        let mut width = [T::default()];
        T::read(head, &mut width);
        let width = width[0].as_usize();
        if width > T::BITS {
            return Err(FormatError::corrupt("bit packing", format!("{width} bits for {}", T::BITS)));
        }
        bounds::exactly(bytes, T::BITS / 8 + VECTOR / 8 * width, "bit packing")?;
        unpack_vector(width, packed, out)
    }
}

/// Unpacks the first values of a vector, as many as `out` has (at most a vector), from its bytes.
pub(crate) fn unpack_vector<T: Word>(width: usize, packed: &[u8], out: &mut [T]) -> Result<()> {
    if let Ok(whole) = <&mut [T; VECTOR]>::try_from(&mut *out) {
        return ok(T::unpack_vector(width, packed, whole));
    }
    let mut all = [T::default(); VECTOR];
    ok(T::unpack_vector(width, packed, &mut all))?;
    for (value, unpacked) in out.iter_mut().zip(all) {
        *value = unpacked;
    }
    Ok(())
}

/// Appends `values`, at most a vector of them, packed to `width` bits each.
pub(super) fn pack_vector<T: Word>(width: usize, values: &[T], out: &mut Vec<u8>) {
    let mut vector = [T::default(); VECTOR];
    for (to, from) in vector.iter_mut().zip(values) {
        *to = *from;
    }
    let mut packed = [T::default(); VECTOR];
    T::pack_vector(width, &vector, &mut packed);
    T::write(packed.get(..packed_words::<T>(width)).unwrap_or_default(), out);
}

/// The description of packed numbers of `bits` bits.
pub(crate) fn encoding(bits: usize) -> CompressiveEncoding {
    let packing = proto::InlineBitpacking { uncompressed_bits_per_value: bits as u64, values: None };
    CompressiveEncoding { compression: Some(Compression::InlineBitpacking(packing)) }
}

/// Appends `values`, at most a vector of them and none of more than `width` bits, as one block.
pub(crate) fn write_block<T: Word>(width: usize, values: &[T], out: &mut Vec<u8>) {
    out.extend_from_slice((width as u64).to_le_bytes().get(..T::BITS / 8).unwrap_or_default());
    pack_vector(width, values, out);
}

fn ok(unpacked: bool) -> Result<()> {
    if unpacked { Ok(()) } else { Err(FormatError::corrupt("bit packing", "the width is too large")) }
}

/// Integers of 8, 16, 32 or 64 bits.
pub(crate) struct InlineScheme;

impl Scheme for InlineScheme {
    fn propose<'a>(&self, asked: Asked<'a>) -> Option<Proposal<'a>> {
        let (width, _) = Parts::new(asked.blocks)?;
        // Other widths are not for this scheme.
        with_word!(width * 8, T => Ok(propose::<T>(asked))).ok()?
    }
}

fn propose<T: Word>(asked: Asked<'_>) -> Option<Proposal<'_>> {
    let vectors = || Some(Vectors::<T>::new(Parts::new(asked.blocks)?.1));
    let (mut measured, mut left) = (vectors()?, count(asked.blocks));
    let (mut bytes, chunks) = (0, left.div_ceil(VECTOR));
    while left > 0 {
        let values = left.min(VECTOR);
        measured.fill(values);
        bytes += (T::BITS / 8 + 128 * T::width(measured.vector.as_slice())) as u64;
        left -= values;
    }
    let vectors = vectors()?;
    Some(Proposal::new(bytes, chunks, move || Ok(Box::new(vectors))))
}

struct Vectors<'a, T> {
    parts: Parts<'a>,
    vector: Box<[T; VECTOR]>,
    packed: Box<[T; VECTOR]>,
}

impl<'a, T: Word> Vectors<'a, T> {
    fn new(parts: Parts<'a>) -> Self {
        let zeros = || Box::new([T::default(); VECTOR]);
        Self { parts, vector: zeros(), packed: zeros() }
    }

    /// Puts the next `count` values into the vector, and zeros after them.
    fn fill(&mut self, count: usize) {
        let size = T::BITS / 8;
        let mut filled = 0;
        let vector = self.vector.as_mut_slice();
        self.parts.next(count * size, |part| {
            T::read(part, vector.get_mut(filled..).unwrap_or_default());
            filled += part.len() / size;
        });
        vector.get_mut(filled..).unwrap_or_default().fill(T::default());
    }
}

impl<T: Word> Chunks for Vectors<'_, T> {
    fn encoding(&self) -> CompressiveEncoding {
        encoding(T::BITS)
    }

    fn count(&self, _: usize, left: usize) -> usize {
        left.min(VECTOR)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        let size = T::BITS / 8;
        self.fill(values.len());
        let width = T::width(self.vector.as_slice());
        T::pack_vector(width, &self.vector, &mut self.packed);
        out.buffer(|bytes| {
            bytes.extend_from_slice((width as u64).to_le_bytes().get(..size).unwrap_or_default());
            T::write(self.packed.get(..packed_words::<T>(width)).unwrap_or_default(), bytes);
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::bitpack::tests::pack_by_formula;

    #[test]
    fn a_partial_vector() {
        let values: [u64; VECTOR] = std::array::from_fn(|i| if i < 700 { i as u64 } else { 0 });
        let mut bytes = 10_u32.to_le_bytes().to_vec();
        bytes
            .extend(pack_by_formula::<u32>(&values, 10).iter().flat_map(|word| (*word as u32).to_le_bytes()));
        let mut out = vec![0_u32; 700];
        let codec = InlineBitpacking { bits: 32 };
        codec.decode_words(&bytes, &mut out).unwrap();
        assert!(out.iter().enumerate().all(|(i, value)| i as u32 == *value));
        bytes.pop();
        assert!(codec.decode_words(&bytes, &mut out).is_err());
    }

    #[test]
    fn blocks_are_written_as_they_are_read() {
        for (width, count) in [(0, 1024), (7, 1), (7, 1023), (16, 1024)] {
            let values: Vec<u16> = (0..count).map(|at| ((at * 31) % (1_u32 << width)) as u16).collect();
            let mut bytes = vec![];
            write_block(width, &values, &mut bytes);
            let mut out = vec![9; values.len()];
            InlineBitpacking { bits: 16 }.decode_words(&bytes, &mut out).unwrap();
            assert_eq!(out, values, "{count} of {width} bits");
        }
    }

    #[test]
    fn width_zero_and_too_large() {
        let mut out = [7_u8; 5];
        let codec = InlineBitpacking { bits: 8 };
        codec.decode_words(&[0], &mut out).unwrap();
        assert_eq!(out, [0; 5]);
        assert!(codec.decode_words(&[9; 1 + 128 * 9], &mut out).is_err());
        assert!(codec.decode_words(&[], &mut out).is_err());
        assert!(InlineBitpacking::check(1025).is_err());
    }
}
