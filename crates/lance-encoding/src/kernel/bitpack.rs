//! Packing of unsigned integers into fewer bits, in the FastLanes order.
//!
//! A *vector* is 1024 integers of `T` bits; packed to `W` bits it has `1024 * W / T` words of `T` bits, that
//! is `128 * W` bytes. With `LANES = 1024 / T` and `FL = [0, 4, 2, 6, 1, 5, 3, 7]`:
//!
//! ```text
//! index(row, lane)       = FL[row / 8] * 16 + (row % 8) * 128 + lane     row < T, lane < LANES
//! bits of a lane         = low W bits of value[index(row, lane)], row = 0.., least significant first
//! packed[w * LANES + lane] = word w of that lane's bits
//! ```
//!
//! The crate `fastlanes` does it for widths known at compile time; here its safe functions are chosen by a
//! width that is known at run time.

use arrow_buffer::ArrowNativeType;
use fastlanes::BitPacking;
use zerocopy::FromBytes;

/// Values in a vector.
pub(crate) const VECTOR: usize = 1024;

/// An unsigned integer that values, levels and indices are made of.
pub(crate) trait Word: ArrowNativeType + Default {
    /// Its bits.
    const BITS: usize;

    /// Reads little-endian words; as many as both have.
    fn read(bytes: &[u8], out: &mut [Self]);

    /// Appends `words`, little-endian.
    fn write(words: &[Self], out: &mut Vec<u8>);

    /// Bits that the largest of `values` needs.
    fn width(values: &[Self]) -> usize;

    /// Packs the low `width` bits of each value into the first words of `out`. False, and nothing done, if
    /// `width` is more than [`Self::BITS`].
    fn pack_vector(width: usize, values: &[Self; VECTOR], out: &mut [Self; VECTOR]) -> bool;

    /// Unpacks a vector of `width` bits a value from the little-endian words at the front of `packed`. False, and
    /// nothing done, if `width` is more than [`Self::BITS`] or `packed` has too few bytes.
    fn unpack_vector(width: usize, packed: &[u8], out: &mut [Self; VECTOR]) -> bool;
}

/// Words of a packed vector of `width` bits a value.
pub(crate) const fn packed_words<T: Word>(width: usize) -> usize {
    VECTOR / T::BITS * width
}

macro_rules! word {
    ($word:ty, $bits:literal, [$($width:literal)*]) => {
        impl Word for $word {
            const BITS: usize = $bits;

            fn read(bytes: &[u8], out: &mut [Self]) {
                let (words, _) = bytes.as_chunks::<{ $bits / 8 }>();
                for (value, word) in out.iter_mut().zip(words) {
                    *value = Self::from_le_bytes(*word);
                }
            }

            fn write(words: &[Self], out: &mut Vec<u8>) {
                let start = out.len();
                out.resize(start + words.len() * ($bits / 8), 0);
                let (places, _) = out.get_mut(start..).unwrap_or_default().as_chunks_mut();
                for (place, word) in places.iter_mut().zip(words) {
                    *place = word.to_le_bytes();
                }
            }

            fn width(values: &[Self]) -> usize {
                let all = values.iter().fold(0, |all, value| all | value);
                $bits - all.leading_zeros() as usize
            }

            fn pack_vector(width: usize, values: &[Self; VECTOR], out: &mut [Self; VECTOR]) -> bool {
                match width {
                    0 => true,
                    $($width => {
                        const WORDS: usize = VECTOR * $width / $bits;
                        match out.first_chunk_mut::<WORDS>() {
                            Some(out) => {
                                <Self as BitPacking>::pack::<$width, WORDS>(values, out);
                                true
                            }
                            None => false,
                        }
                    })*
                    _ => false,
                }
            }

            fn unpack_vector(width: usize, packed: &[u8], out: &mut [Self; VECTOR]) -> bool {
                match width {
                    0 => {
                        out.fill(0);
                        true
                    }
                    $($width => {
                        const WORDS: usize = VECTOR * $width / $bits;
                        let Some(packed) = packed.first_chunk::<{ 128 * $width }>() else { return false };
                        let in_place = if cfg!(target_endian = "little") {
                            <[Self; WORDS]>::ref_from_bytes(packed).ok()
                        } else {
                            None
                        };
                        match in_place {
                            Some(words) => <Self as BitPacking>::unpack::<$width, WORDS>(words, out),
                            // Not aligned, or the other way round.
                            None => {
                                let mut words = [0; WORDS];
                                Self::read(packed, &mut words);
                                <Self as BitPacking>::unpack::<$width, WORDS>(&words, out);
                            }
                        }
                        true
                    })*
                    _ => false,
                }
            }
        }
    };
}

word!(u8, 8, [1 2 3 4 5 6 7 8]);
word!(u16, 16, [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16]);
word!(u32, 32, [
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
]);
word!(u64, 64, [
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
]);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The formula of the module docs, value by value.
    pub(crate) fn pack_by_formula<T: Word>(values: &[u64; VECTOR], width: usize) -> Vec<u64> {
        const FL: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];
        let lanes = VECTOR / T::BITS;
        let mut packed = vec![0_u64; packed_words::<T>(width)];
        for lane in 0..lanes {
            for row in 0..T::BITS {
                let value = values[FL[row / 8] * 16 + (row % 8) * 128 + lane];
                for bit in 0..width {
                    let at = row * width + bit;
                    packed[at / T::BITS * lanes + lane] |= (value >> bit & 1) << (at % T::BITS);
                }
            }
        }
        packed
    }

    fn agrees_with_the_formula<T: Word + TryFrom<u64> + Into<u64>>() {
        for width in 0..=T::BITS {
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            let values: [u64; VECTOR] = std::array::from_fn(|i| {
                (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) & mask
            });
            let packed: Vec<T> = pack_by_formula::<T>(&values, width)
                .into_iter()
                .map(|word| T::try_from(word).ok().unwrap())
                .collect();
            let mut out = [T::default(); VECTOR];
            // Wherever it lies.
            for start in 0..8 {
                let mut bytes = vec![0xff; start];
                T::write(&packed, &mut bytes);
                out.fill(T::default());
                assert!(T::unpack_vector(width, &bytes[start..], &mut out));
                let same = out.iter().zip(values).all(|(a, b)| (*a).into() == b);
                assert!(same, "{} bits to {width}, {start} bytes on", T::BITS);
            }
            assert_eq!(T::width(&out), width);
            let mut again = [T::default(); VECTOR];
            assert!(T::pack_vector(width, &out, &mut again));
            assert!(again.starts_with(&packed), "{} bits to {width}", T::BITS);
        }
    }

    #[test]
    fn all_widths_agree_with_the_formula() {
        agrees_with_the_formula::<u8>();
        agrees_with_the_formula::<u16>();
        agrees_with_the_formula::<u32>();
        agrees_with_the_formula::<u64>();
    }

    #[test]
    fn too_wide_and_too_short_are_refused() {
        let mut out = [0_u8; VECTOR];
        assert!(!u8::unpack_vector(9, &[0; VECTOR], &mut out));
        assert!(!u8::unpack_vector(5, &[0; 639], &mut out));
    }

    #[test]
    fn known_words() {
        let words = pack_by_formula::<u32>(&std::array::from_fn(|i| i as u64), 10);
        assert_eq!(words[..4], [0x1002_0000, 0x5012_0401, 0x9022_0802, 0xd032_0c03]);
        assert_eq!(words[16..18], [0x1102_4010, 0x5112_4411]);
    }
}
