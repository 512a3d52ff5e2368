//! Levels as a block: 16-bit numbers, plain or bit-packed, all of a page in the same way.

use crate::codec::flat;
use crate::kernel::bitpack::{VECTOR, Word, packed_words};
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};

/// How the levels of a page are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LevelCodec {
    /// As they are.
    Flat,
    /// In one vector, which says its width itself.
    Inline(usize),
    /// In vectors of a width that the page says; the last may be left as it is.
    OutOfLine(usize),
}

impl LevelCodec {
    /// The smallest for `levels`, all those of a page, which may be encoded in parts.
    pub(super) fn choose(levels: &[u16]) -> Self {
        let width = u16::width(levels);
        if levels.len() > VECTOR && width < u16::BITS as usize {
            Self::OutOfLine(width)
        } else if levels.len() <= VECTOR && 2 + 128 * width < 2 * levels.len() {
            Self::Inline(width)
        } else {
            Self::Flat
        }
    }

    /// Bits of a level, about.
    pub(super) const fn bits(self) -> usize {
        match self {
            Self::Flat => 16,
            Self::Inline(width) | Self::OutOfLine(width) => width,
        }
    }

    /// Its description.
    pub(super) fn encoding(self) -> CompressiveEncoding {
        match self {
            Self::Flat => flat::encoding(16),
            Self::Inline(_) => CompressiveEncoding {
                compression: Some(Compression::InlineBitpacking(proto::InlineBitpacking {
                    uncompressed_bits_per_value: 16,
                    values: None,
                })),
            },
            Self::OutOfLine(width) => CompressiveEncoding {
                compression: Some(Compression::OutOfLineBitpacking(Box::new(proto::OutOfLineBitpacking {
                    uncompressed_bits_per_value: 16,
                    values: Some(Box::new(flat::encoding(width as u64))),
                }))),
            },
        }
    }

    /// Appends `levels`.
    pub(super) fn encode(self, levels: &[u16], out: &mut Vec<u8>) {
        match self {
            Self::Flat => u16::write(levels, out),
            Self::Inline(width) => {
                u16::write(&[u16::try_from(width).unwrap_or_default()], out);
                pack(width, levels, out);
            }
            Self::OutOfLine(width) => {
                let (vectors, tail) = levels.as_chunks::<VECTOR>();
                for vector in vectors {
                    pack(width, vector, out);
                }
                // The reader tells a raw tail from a packed one by its length, so the two must differ.
                if tail.len() > packed_words::<u16>(width) {
                    pack(width, tail, out);
                } else {
                    u16::write(tail, out);
                }
            }
        }
    }
}

/// Raw levels, as pages without values have them.
pub(super) fn raw(levels: Option<&[u16]>) -> Vec<u8> {
    let mut bytes = vec![];
    u16::write(levels.unwrap_or_default(), &mut bytes);
    bytes
}

fn pack(width: usize, levels: &[u16], out: &mut Vec<u8>) {
    let mut vector = [0_u16; VECTOR];
    for (to, from) in vector.iter_mut().zip(levels) {
        *to = *from;
    }
    let mut packed = [0_u16; VECTOR];
    u16::pack_vector(width, &vector, &mut packed);
    u16::write(packed.get(..packed_words::<u16>(width)).unwrap_or_default(), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_raw_when_that_is_shorter() {
        let codec = LevelCodec::OutOfLine(2);
        let size = |n: usize| {
            let mut out = vec![];
            codec.encode(&vec![3; n], &mut out);
            out.len()
        };
        // 128 words of 16 bits are a packed vector of 2 bits a level.
        assert_eq!(size(1024), 256);
        assert_eq!(size(1024 + 128), 256 + 256);
        assert_eq!(size(1024 + 127), 256 + 254);
        assert_eq!(size(1024 + 129), 256 + 256);
    }

    #[test]
    fn choice() {
        assert_eq!(LevelCodec::choose(&[1; 100]), LevelCodec::Inline(1));
        assert_eq!(LevelCodec::choose(&[1; 65]), LevelCodec::Flat);
        assert_eq!(LevelCodec::choose(&[1; 1025]), LevelCodec::OutOfLine(1));
        assert_eq!(LevelCodec::choose(&[0; 1025]), LevelCodec::OutOfLine(0));
        assert_eq!(LevelCodec::choose(&[u16::MAX; 1025]), LevelCodec::Flat);
    }
}
