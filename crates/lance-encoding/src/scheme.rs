//! Schemes: the ways in which the values of a mini-block page can be encoded.
//!
//! The list is open: a scheme says how many bytes it would take, and the smallest is used. Each is in the file
//! of its codec; to add one, put it into the list below.

use std::ops::Range;

use lance_footer::{FormatError, Result};

use crate::block::Block;
use crate::codec::fixed_size_list::ListScheme;
use crate::codec::flat::FlatScheme;
use crate::codec::general;
use crate::codec::inline_bitpacking::InlineScheme;
use crate::codec::rle::RleScheme;
use crate::codec::variable::VariableScheme;
use crate::proto::CompressiveEncoding;
use crate::settings::{Compression, Settings};

/// The schemes that are tried, the preferred first where they take the same.
pub(crate) static SCHEMES: &[&dyn Scheme] =
    &[&FlatScheme, &VariableScheme, &ListScheme, &InlineScheme, &RleScheme];

/// Those that leave values as they are.
static PLAIN: &[&dyn Scheme] = &[&FlatScheme, &VariableScheme, &ListScheme];

/// Bytes of values of fixed width that a chunk has: two sectors of a disk, less room for levels.
pub(crate) const FIXED_CHUNK: usize = 8186;

/// Bytes of strings that a chunk has.
const STRING_CHUNK: usize = 4096;

/// Values of fixed width that a chunk has at most.
pub(crate) const CHUNK_VALUES: usize = 4096;

/// Values that a chunk can have: its word says their number as a power of two up to this one.
pub(crate) const MOST_CHUNK_VALUES: usize = 1 << 15;

/// What a chunk takes besides its values: its word, its header, and padding.
const CHUNK_OVERHEAD: u64 = 16;

/// A way to encode the values of a mini-block page.
pub(crate) trait Scheme: Sync {
    /// What encoding in this way would come to; none if it cannot be, or need not be considered.
    fn propose<'a>(&self, asked: Asked<'a>) -> Option<Proposal<'a>>;
}

/// Values that are to be encoded, and what is to be heeded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// Values of fixed width in as many blocks as they came, any others in one.
    pub(crate) blocks: &'a [Block],
    pub(crate) settings: &'a Settings,
    /// Bytes that a chunk of values of fixed width should have.
    pub(crate) fixed_chunk: usize,
    /// Bytes that a chunk of strings should have, with their offsets.
    pub(crate) string_chunk: usize,
    /// Bytes that the values of a chunk may have.
    pub(crate) room: usize,
}

impl<'a> Asked<'a> {
    /// In chunks of the usual size, or of no more than `room` bytes if that is less.
    pub(crate) fn new(blocks: &'a [Block], settings: &'a Settings, room: usize) -> Self {
        let asked = Self { blocks, settings, fixed_chunk: 0, string_chunk: 0, room };
        asked.in_chunks(FIXED_CHUNK, STRING_CHUNK)
    }

    /// The same in chunks of other sizes, unless the settings say what they are to be.
    pub(crate) fn in_chunks(self, fixed: usize, string: usize) -> Self {
        let string_chunk = self.settings.chunk_bytes.unwrap_or(string).min(self.room);
        Self { fixed_chunk: fixed.min(self.room), string_chunk, ..self }
    }
}

/// An offer of a scheme.
pub(crate) struct Proposal<'a> {
    bytes: u64,
    start: Start<'a>,
}

type Start<'a> = Box<dyn FnOnce() -> Result<Box<dyn Chunks + 'a>> + 'a>;

impl<'a> Proposal<'a> {
    /// About `bytes` bytes in `chunks` chunks, which begin with `start`.
    pub(crate) fn new(
        bytes: u64,
        chunks: usize,
        start: impl FnOnce() -> Result<Box<dyn Chunks + 'a>> + 'a,
    ) -> Self {
        Self { bytes: bytes + chunks as u64 * CHUNK_OVERHEAD, start: Box::new(start) }
    }

    /// Bytes that it would take.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Begins to encode.
    pub(crate) fn start(self) -> Result<Box<dyn Chunks + 'a>> {
        (self.start)()
    }
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
    /// or more. `start` is where the last chunk ended.
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

/// The offer that takes the fewest bytes.
pub(crate) fn choose(asked: Asked<'_>) -> Result<Proposal<'_>> {
    let schemes = match asked.settings.compression {
        Some(Compression::None) => PLAIN,
        _ => SCHEMES,
    };
    let proposals = schemes.iter().filter_map(|scheme| scheme.propose(asked));
    // The first of the least.
    let least = proposals.reduce(|least, next| if next.bytes < least.bytes { next } else { least });
    let least = least.ok_or_else(|| FormatError::unsupported("no scheme for these values"))?;
    let compressed = match asked.settings.compression {
        Some(wanted) => general::propose(asked, wanted)?,
        None => None,
    };
    Ok(compressed.filter(|compressed| compressed.bytes < least.bytes).unwrap_or(least))
}

/// Bytes in memory of the values of `blocks`.
pub(crate) fn plain_bytes(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.bytes(0..block.len()) as u64).sum()
}

/// The number of values of `blocks`.
pub(crate) fn count(blocks: &[Block]) -> usize {
    blocks.iter().map(Block::len).sum()
}

/// The largest power of two of values of `bits` bits that makes a chunk of `target` bytes, at least 2; all that are
/// `left` if that is no more.
pub(crate) fn fixed_count(bits: usize, left: usize, target: usize) -> usize {
    let fits = (target * 8 / bits.max(1)).clamp(2, CHUNK_VALUES);
    let count = 1 << fits.ilog2();
    count.min(left)
}

/// How many chunks of [`fixed_count`] values there are.
pub(crate) fn fixed_chunks(bits: usize, values: usize, target: usize) -> usize {
    values.div_ceil(fixed_count(bits, usize::MAX, target))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::codec::{Codec, Picks};
    use crate::storage::Storage;
    use crate::values::Values;

    /// What `scheme` makes of `blocks`: the chunks that it wants, decoded into values of shape `storage`; with the
    /// bytes of all buffers. None if it does not propose anything.
    pub(crate) fn round_trip(
        scheme: &dyn Scheme,
        blocks: &[Block],
        settings: &Settings,
        storage: &Storage,
    ) -> Option<(Values, u64)> {
        let proposal = scheme.propose(Asked::new(blocks, settings, usize::MAX))?;
        let mut chunks = proposal.start().unwrap();
        let (mut start, values, mut size) = (0, count(blocks), 0);
        let mut written = vec![];
        while start < values {
            let left = values - start;
            let count = chunks.count(start, left);
            assert!(
                count == left || (count.is_power_of_two() && (2..left).contains(&count)),
                "{count} of {left}"
            );
            let (mut bytes, mut sizes) = (vec![], vec![]);
            chunks.write(start..start + count, &mut ChunkBuffers::new(&mut bytes, &mut sizes)).unwrap();
            assert_eq!(sizes.len(), chunks.buffers());
            size += sizes.iter().sum::<usize>() as u64;
            written.push((count, bytes, sizes));
            start += count;
        }
        // What is said of a page is complete only when all of it is written.
        let codec = Codec::parse(Some(&chunks.encoding()), crate::codec::Place::Chunks).unwrap();
        assert!(codec.fits(storage));
        assert_eq!(codec.mini_block_buffers(), chunks.buffers());
        let mut out = Values::new(storage);
        for (count, bytes, sizes) in written {
            let mut rest = bytes.as_slice();
            let buffers: Vec<_> = sizes
                .iter()
                .map(|size| {
                    let (buffer, after) = rest.split_at(size.next_multiple_of(8));
                    rest = after;
                    &buffer[..*size]
                })
                .collect();
            codec.decode_mini_block(&buffers, &Picks::all(count), &mut out).unwrap();
        }
        Some((out, size))
    }

    /// `array` through `scheme` with `settings`, with the bytes that it takes.
    pub(crate) fn array_through(
        scheme: &dyn Scheme,
        array: &arrow_array::ArrayRef,
        settings: &Settings,
    ) -> Option<(arrow_array::ArrayRef, u64)> {
        let storage = Storage::of(array.data_type()).unwrap();
        let block = Block::from_array(array).unwrap();
        // In parts of unlike sizes, unless it must be one.
        let len = block.len();
        let parts = match block {
            Block::Fixed { .. } => vec![block.slice(0..len / 3), block.slice(len / 3..len)],
            block => vec![block],
        };
        let (values, size) = round_trip(scheme, &parts, settings, &storage)?;
        Some((values.finish(array.data_type(), None).unwrap(), size))
    }
}
