//! Out-of-line bit packing: integers of `T` bits packed to `W` bits, `W` in the page layout.
//!
//! ```text
//! block   vector 0 | vector 1 | … | tail     each whole vector 1024 * W / T words of T bits, FastLanes order
//! ```
//!
//! The tail of `r = n mod 1024` values is either `r` unpacked words or one vector padded with zeros. Nothing
//! says which; the length tells: unpacked iff the words are `whole vectors * 1024 * W / T + r`. `W` may be 0,
//! then all values are 0 and there may be no byte at all.

use lance_footer::{FormatError, Result};

use super::inline_bitpacking::{pack_vector, unpack_vector};
use super::{Codec, corrupt, flat, word_bits};
use crate::bounds;
use crate::kernel::bitpack::{VECTOR, Word, packed_words};
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};
use crate::values::misfit;

/// Bit packing whose width is stored in the page layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfLineBitpacking {
    /// Bits of an unpacked value: 8, 16, 32 or 64.
    pub(crate) bits: usize,
    /// Bits of a packed value.
    pub(crate) width: usize,
}

/// Most values that a block without bytes may stand for: the levels of a chunk.
const MAX_EMPTY: usize = u16::MAX as usize;

impl OutOfLineBitpacking {
    pub(super) fn parse(packed: &proto::OutOfLineBitpacking, values: &Codec) -> Result<Self> {
        let bits = word_bits(packed.uncompressed_bits_per_value)?;
        match values {
            Codec::Flat(flat) if flat.bits <= bits => Ok(Self { bits, width: flat.bits }),
            Codec::Flat(flat) => Err(corrupt(format!("{bits} bits packed to {}", flat.bits))),
            other => Err(corrupt(format!("bit packing of {}", other.name()))),
        }
    }

    /// An error unless the block has a length that `count` values can have.
    pub(super) fn check(self, bytes: &[u8], count: usize) -> Result<()> {
        self.raw_tail(bytes, count).map(|_| ())
    }

    pub(super) fn decode_words<T: Word>(self, bytes: &[u8], out: &mut [T]) -> Result<()> {
        if self.bits != T::BITS {
            return Err(misfit("numbers"));
        }
        let raw_tail = self.raw_tail(bytes, out.len())?;
        let vector_bytes = VECTOR / 8 * self.width;
        let mut rest = bytes;
        for values in out.chunks_mut(VECTOR) {
            if values.len() < VECTOR && raw_tail {
                T::read(rest, values);
                return Ok(());
            }
            let (vector, after) = rest.split_at_checked(vector_bytes).unwrap_or_default();
            unpack_vector(self.width, vector, values)?;
            rest = after;
        }
        Ok(())
    }

    /// Whether the tail is not packed.
    fn raw_tail(self, bytes: &[u8], count: usize) -> Result<bool> {
        let (vectors, tail) = (count / VECTOR, count % VECTOR);
        let vector_bytes = VECTOR / 8 * self.width;
        let whole = bounds::product(vectors, vector_bytes, "bit packing")?;
        if bytes.is_empty() && count > MAX_EMPTY {
            return Err(FormatError::corrupt("bit packing", format!("{count} values in no bytes")));
        }
        match bytes.len().checked_sub(whole) {
            Some(0) if tail == 0 => Ok(false),
            Some(rest) if rest == tail * (self.bits / 8) => Ok(true),
            Some(rest) if rest == vector_bytes => Ok(false),
            _ => Err(FormatError::corrupt(
                "bit packing",
                format!("{} bytes for {count} values of {} bits", bytes.len(), self.width),
            )),
        }
    }
}

/// The description of numbers of `bits` bits packed to `width`.
pub(crate) fn encoding(bits: usize, width: usize) -> CompressiveEncoding {
    let packing = proto::OutOfLineBitpacking {
        uncompressed_bits_per_value: bits as u64,
        values: Some(Box::new(flat::encoding(width as u64))),
    };
    CompressiveEncoding { compression: Some(Compression::OutOfLineBitpacking(Box::new(packing))) }
}

/// Appends `values`, none of which has more than `width` bits, as one block.
pub(crate) fn write_block<T: Word>(width: usize, values: &[T], out: &mut Vec<u8>) {
    let (vectors, tail) = values.as_chunks::<VECTOR>();
    for vector in vectors {
        pack_vector(width, vector, out);
    }
    // The reader tells a raw tail from a packed one by its length, so the two must differ.
    if tail.len() > packed_words::<T>(width) {
        pack_vector(width, tail, out);
    } else {
        T::write(tail, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::bitpack::tests::pack_by_formula;

    const CODEC: OutOfLineBitpacking = OutOfLineBitpacking { bits: 16, width: 3 };

    fn vector(len: usize) -> Vec<u8> {
        let values = std::array::from_fn(|i| if i < len { i as u64 % 8 } else { 0 });
        pack_by_formula::<u16>(&values, 3).iter().flat_map(|word| (*word as u16).to_le_bytes()).collect()
    }

    fn decoded(bytes: &[u8], count: usize) -> Result<Vec<u16>> {
        let mut out = vec![0; count];
        CODEC.decode_words(bytes, &mut out).map(|()| out)
    }

    #[test]
    fn tails() {
        let expected = |count: usize| (0..count).map(|i| (i % 1024 % 8) as u16).collect::<Vec<_>>();
        assert_eq!(decoded(&vector(1024), 1024).unwrap(), expected(1024));
        let packed = [vector(1024), vector(500)].concat();
        assert_eq!(decoded(&packed, 1524).unwrap(), expected(1524));
        let mut raw = vector(1024);
        raw.extend([0, 0, 1, 0, 2, 0]);
        assert_eq!(decoded(&raw, 1027).unwrap(), expected(1027));
        assert!(decoded(&raw, 1028).is_err());
        assert!(decoded(&raw, 2048).is_err());
    }

    #[test]
    fn blocks_are_written_as_they_are_read() {
        let check = |width: usize, count: usize| {
            let values: Vec<u64> =
                (0..count as u64).map(|at| at.wrapping_mul(0x9e37_79b9) % (1 << width)).collect();
            let mut bytes = vec![];
            write_block(width, &values, &mut bytes);
            let codec = OutOfLineBitpacking { bits: 64, width };
            let mut out = vec![9; count];
            codec.decode_words(&bytes, &mut out).unwrap();
            assert_eq!(out, values, "{count} of {width} bits");
        };
        for width in [0, 1, 3, 17] {
            for tail in [0, 1, 16 * width - usize::from(width > 0), 16 * width, 16 * width + 1, 1023] {
                check(width, tail);
                check(width, 2048 + tail);
            }
        }
    }

    #[test]
    fn width_zero() {
        let codec = OutOfLineBitpacking { bits: 16, width: 0 };
        let mut out = [9_u16; 1500];
        codec.decode_words(&[], &mut out).unwrap();
        assert_eq!(out, [0; 1500]);
        assert!(codec.check(&[], 1 << 40).is_err());
    }
}
