//! Schemes: the ways in which the values of a mini-block page can be encoded.
//!
//! The list is open: a scheme says how many bytes it would take, and the smallest is used. Each is in the file
//! of its codec; to add one, put it into the list below.

use std::ops::Range;

use lance_footer::{FormatError, Result};

use crate::block::Block;
use crate::codec::fixed_size_list::ListScheme;
use crate::codec::flat::FlatScheme;
use crate::codec::inline_bitpacking::InlineScheme;
use crate::codec::variable::VariableScheme;
use crate::proto::CompressiveEncoding;

/// The schemes that are tried, the preferred first where estimates are the same.
static SCHEMES: &[&dyn Scheme] = &[&FlatScheme, &VariableScheme, &ListScheme, &InlineScheme];

/// Bytes of values that a chunk should have: two sectors of a disk, less room for levels.
const CHUNK_BYTES: usize = 8186;

/// Values that a chunk may have.
const CHUNK_VALUES: usize = 4096;

/// A way to encode the values of a mini-block page.
///
/// Values of fixed width come in as many blocks as they came, any others in one.
pub(crate) trait Scheme: Sync {
    /// About how many bytes the values of `blocks` would take; none if they cannot be encoded in this way.
    fn estimate(&self, blocks: &[Block]) -> Option<u64>;

    /// Encodes the values of `blocks`, chunk by chunk.
    fn encode<'a>(&self, blocks: &'a [Block]) -> Result<Box<dyn Chunks + 'a>>;
}

/// The values of a page while they are cut into chunks.
pub(crate) trait Chunks {
    /// What the page says of it.
    fn encoding(&self) -> CompressiveEncoding;

    /// Buffers that each chunk has.
    fn buffers(&self) -> usize {
        1
    }

    /// How many of the `left` values from `start` on the next chunk should have: all, or a power of two of 2
    /// or more.
    fn count(&self, start: usize, left: usize) -> usize;

    /// Writes the buffers of a chunk. Chunks come in order, each value is in one.
    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()>;
}

/// Where the value buffers of a chunk are put.
pub(crate) struct ChunkBuffers<'a> {
    bytes: &'a mut Vec<u8>,
    sizes: &'a mut Vec<usize>,
}

impl<'a> ChunkBuffers<'a> {
    /// Appends to `bytes`, whose length is a multiple of 8, and puts the size of each buffer into `sizes`.
    pub(crate) const fn new(bytes: &'a mut Vec<u8>, sizes: &'a mut Vec<usize>) -> Self {
        Self { bytes, sizes }
    }

    /// Adds a buffer, whose bytes `write` appends.
    pub(crate) fn buffer(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(self.bytes);
        self.sizes.push(self.bytes.len() - start);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}

/// Encodes the values of `blocks` with the scheme that takes the fewest bytes.
pub(crate) fn choose(blocks: &[Block]) -> Result<Box<dyn Chunks + '_>> {
    let mut best: Option<(u64, &dyn Scheme)> = None;
    for scheme in SCHEMES {
        if let Some(bytes) = scheme.estimate(blocks)
            && best.is_none_or(|(least, _)| bytes < least)
        {
            best = Some((bytes, *scheme));
        }
    }
    match best {
        Some((_, scheme)) => scheme.encode(blocks),
        None => Err(FormatError::unsupported("no scheme for these values")),
    }
}

/// Bytes in memory of the values of `blocks`.
pub(crate) fn plain_bytes(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.bytes(0..block.len()) as u64).sum()
}

/// The largest power of two of values of `bits` bits that makes a chunk, at least 2; all that are `left` if
/// that is no more.
pub(crate) fn fixed_count(bits: usize, left: usize) -> usize {
    let fits = (CHUNK_BYTES * 8 / bits.max(1)).clamp(2, CHUNK_VALUES);
    let count = 1 << fits.ilog2();
    count.min(left)
}
