//! Levels as a block: 16-bit numbers, plain, bit-packed or as runs, all of a page in the same way.

use crate::Levels;
use crate::codec::{flat, inline_bitpacking, out_of_line_bitpacking, rle};
use crate::kernel::bitpack::{VECTOR, Word};
use crate::proto::CompressiveEncoding;
use crate::rules::Rules;

/// Bytes of a run.
const RUN: usize = 3;

/// Bytes of a block of runs besides the runs.
const RUNS_HEAD: usize = 8;

/// Entries of a chunk, about, as far as how levels are stored goes.
const CHUNK: usize = 1024;

/// Bytes that the levels of a chunk may take together.
pub(super) const MOST_BYTES: usize = 15 << 10;

/// How the repetition and the definition levels of a page are stored; none for those that are not.
#[derive(Debug, Clone, Copy)]
pub(super) struct LevelCodecs(pub(super) [Option<LevelCodec>; 2]);

impl LevelCodecs {
    /// The smallest for `levels`.
    pub(super) fn choose(levels: &Levels, rules: &Rules) -> Self {
        let choose = |levels: &Option<Vec<u16>>| levels.as_deref().map(|l| LevelCodec::choose(l, rules));
        Self([choose(&levels.repetition), choose(&levels.definition)])
    }

    /// Entries that a chunk may have whose levels take no more than `bytes`: their number, and the bytes of either level,
    /// have 16 bits.
    pub(super) fn limit(self, bytes: usize) -> usize {
        let bits = self.0.iter().flatten().map(|codec| codec.bits()).sum::<usize>().max(1);
        // Whole vectors, since what is left may take as much as one; or levels as they are.
        let packed = (bytes / (VECTOR / 8 * bits) * VECTOR).max(bytes / (2 * size_of::<u16>()));
        let most = usize::from(u16::MAX);
        // No entry may be like the one before it.
        let runs = if self.0.contains(&Some(LevelCodec::Rle)) { (most - RUNS_HEAD) / RUN } else { most };
        packed.min(runs).min(most)
    }
}

/// How the levels of a page are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LevelCodec {
    /// As they are.
    Flat,
    /// In one vector, which says its width itself.
    Inline(usize),
    /// In vectors of a width that the page says; the last may be left as it is.
    OutOfLine(usize),
    /// As runs (2.2).
    Rle,
}

impl LevelCodec {
    /// The smallest for `levels`, all those of a page, which may be encoded in parts.
    pub(super) fn choose(levels: &[u16], rules: &Rules) -> Self {
        let width = u16::width(levels);
        let packed = if levels.len() > VECTOR && width < u16::BITS as usize {
            Self::OutOfLine(width)
        } else if levels.len() <= VECTOR && 2 + 128 * width < 2 * levels.len() {
            Self::Inline(width)
        } else {
            Self::Flat
        };
        // Levels that are all 0 take no byte as it is.
        if rules.level_runs && width > 0 {
            let chunks = levels.len().div_ceil(CHUNK);
            let runs =
                levels.chunk_by(|one, next| one == next).map(|run| run.len().div_ceil(255)).sum::<usize>();
            if RUN * (runs + chunks) + RUNS_HEAD * chunks < packed.bytes(levels.len()) {
                return Self::Rle;
            }
        }
        packed
    }

    /// Bytes of `levels` levels, about.
    fn bytes(self, levels: usize) -> usize {
        match self {
            Self::Inline(width) => 2 + 128 * width,
            codec => levels * codec.bits() / 8,
        }
    }

    /// Bits of a packed level; none of runs, whose size is not known.
    const fn bits(self) -> usize {
        match self {
            Self::Flat => 16,
            Self::Inline(width) | Self::OutOfLine(width) => width,
            Self::Rle => 0,
        }
    }

    /// Its description.
    pub(super) fn encoding(self) -> CompressiveEncoding {
        match self {
            Self::Flat => flat::encoding(16),
            Self::Inline(_) => inline_bitpacking::encoding(16),
            Self::OutOfLine(width) => out_of_line_bitpacking::encoding(16, width),
            Self::Rle => rle::encoding(16),
        }
    }

    /// Appends `levels`.
    pub(super) fn encode(self, levels: &[u16], out: &mut Vec<u8>) {
        match self {
            Self::Flat => u16::write(levels, out),
            Self::Inline(width) => inline_bitpacking::write_block(width, levels, out),
            Self::OutOfLine(width) => out_of_line_bitpacking::write_block(width, levels, out),
            Self::Rle => rle::write_block(levels, out),
        }
    }
}

/// Raw levels, as pages without values have them.
pub(super) fn raw(levels: Option<&[u16]>) -> Vec<u8> {
    let mut bytes = vec![];
    u16::write(levels.unwrap_or_default(), &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use lance_footer::Version;

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
        let choose = |version, levels: &[u16]| LevelCodec::choose(levels, &Rules::of(version).unwrap());
        let old = |levels: &[u16]| choose(Version::V2_1, levels);
        assert_eq!(old(&[1; 100]), LevelCodec::Inline(1));
        assert_eq!(old(&[1; 65]), LevelCodec::Flat);
        assert_eq!(old(&[1; 1025]), LevelCodec::OutOfLine(1));
        assert_eq!(old(&[0; 1025]), LevelCodec::OutOfLine(0));
        assert_eq!(old(&[u16::MAX; 1025]), LevelCodec::Flat);
        let new = |levels: &[u16]| choose(Version::V2_2, levels);
        assert_eq!(new(&[1; 5000]), LevelCodec::Rle);
        assert_eq!(new(&[0; 5000]), LevelCodec::OutOfLine(0));
        let alternating: Vec<u16> = (0..5000).map(|at| at % 2).collect();
        assert_eq!(new(&alternating), LevelCodec::OutOfLine(1));
    }
}
