//! General compression around whatever gets smallest by it.

use std::ops::Range;

use lance_footer::Result;

use super::Compressor;
use crate::block::Block;
use crate::codec::byte_stream_split::SplitScheme;
use crate::proto::CompressiveEncoding;
use crate::scheme::{Asked, ChunkBuffers, Chunks, Proposal, SCHEMES, Scheme, count, plain_bytes};
use crate::settings::Compression;

/// Fewer bytes need not be compressed.
const LEAST: u64 = 4096;

/// So many pieces of a page are compressed to see what becomes of the whole.
const PIECES: usize = 6;

/// Saving less than this share is not worth the time that reading takes longer.
const WORTHWHILE: f64 = 0.97;

/// Bytes that a chunk should have before it is compressed: the more there are, the more alike are among them.
const FIXED_CHUNK: usize = 16 << 10;
const STRING_CHUNK: usize = 64 << 10;

/// Values compressed as `wanted`; none if that is not worthwhile.
pub(crate) fn propose(asked: Asked<'_>, wanted: Compression) -> Result<Option<Proposal<'_>>> {
    let plain = plain_bytes(asked.blocks);
    let Some(mut compressor) = Compressor::new(wanted)?.filter(|_| plain >= LEAST) else { return Ok(None) };
    // What cannot be compressed becomes a little larger.
    let asked = Asked { room: asked.room - asked.room / 64, ..asked }.in_chunks(FIXED_CHUNK, STRING_CHUNK);
    let pieces = pieces(asked);
    let mut best: Option<(f64, &dyn Scheme)> = None;
    for scheme in candidates(asked) {
        let Some(ratio) = trial(scheme, asked, &pieces, &mut compressor)? else { continue };
        if best.is_none_or(|(least, _)| ratio < least) {
            best = Some((ratio, scheme));
        }
    }
    let Some((ratio, scheme)) = best.filter(|(ratio, _)| *ratio < WORTHWHILE) else { return Ok(None) };
    let Some(inner) = scheme.propose(asked) else { return Ok(None) };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
    let bytes = (plain as f64 * ratio) as u64;
    // What chunks take besides is in the ratio.
    Ok(Some(Proposal::new(bytes, 0, move || {
        Ok(Box::new(Compressed { inner: inner.start()?, compressor, bytes: vec![], sizes: vec![] }))
    })))
}

/// What compression may stand around.
fn candidates(asked: Asked<'_>) -> impl Iterator<Item = &'static dyn Scheme> {
    static SPLIT: &[&dyn Scheme] = &[&SplitScheme];
    let (plain, split) = match asked.settings.byte_stream_split {
        Some(true) if SplitScheme.propose(asked).is_some() => (&[][..], SPLIT),
        Some(false) => (SCHEMES, &[][..]),
        _ => (SCHEMES, SPLIT),
    };
    plain.iter().chain(split).copied()
}

/// Parts of the values, each as blocks of its own, from places that are evenly spread.
fn pieces(asked: Asked<'_>) -> Vec<Vec<Block>> {
    let (len, bytes) = (count(asked.blocks), plain_bytes(asked.blocks));
    let strings = matches!(asked.blocks, [Block::Variable { .. }]);
    let wanted = if strings { asked.string_chunk } else { 2 * asked.fixed_chunk };
    let average = usize::try_from(bytes).unwrap_or(usize::MAX) / len.max(1);
    let piece = (wanted / average.max(1)).clamp(2, len.max(2));
    if len <= piece * PIECES {
        return vec![asked.blocks.to_vec()];
    }
    let starts = (0..PIECES).map(|at| (len - piece) / (PIECES - 1) * at);
    starts.map(|start| slice(asked.blocks, start..start + piece)).collect()
}

/// The values at `range` of `blocks`.
fn slice(blocks: &[Block], range: Range<usize>) -> Vec<Block> {
    let mut parts = vec![];
    let mut first = 0;
    for block in blocks {
        let (start, end) = (range.start.max(first), range.end.min(first + block.len()));
        if start < end {
            parts.push(block.slice(start - first..end - first));
        }
        first += block.len();
    }
    parts
}

/// What a byte of the pieces becomes with `scheme` and compression.
fn trial(
    scheme: &dyn Scheme,
    asked: Asked<'_>,
    pieces: &[Vec<Block>],
    compressor: &mut Compressor,
) -> Result<Option<f64>> {
    let (mut before, mut after) = (0, 0);
    let (mut bytes, mut sizes, mut out) = (vec![], vec![], vec![]);
    for piece in pieces {
        let Some(proposal) = scheme.propose(Asked { blocks: piece, ..asked }) else { return Ok(None) };
        let mut chunks = proposal.start()?;
        let (mut start, values) = (0, count(piece));
        while start < values {
            let chunk = chunks.count(start, values - start);
            bytes.clear();
            sizes.clear();
            out.clear();
            chunks.write(start..start + chunk, &mut ChunkBuffers::new(&mut bytes, &mut sizes))?;
            let first = sizes.first().copied().unwrap_or_default();
            compressor.append(bytes.get(..first).unwrap_or_default(), &mut out)?;
            after += out.len() + bytes.len() - first.next_multiple_of(8) + 16;
            start += chunk;
        }
        before += plain_bytes(piece);
    }
    Ok(Some(after as f64 / before.max(1) as f64))
}

/// Chunks whose first buffer is compressed.
struct Compressed<'a> {
    inner: Box<dyn Chunks + 'a>,
    compressor: Compressor,
    /// A chunk before compression.
    bytes: Vec<u8>,
    sizes: Vec<usize>,
}

impl Chunks for Compressed<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        self.compressor.encoding(self.inner.encoding())
    }

    fn buffers(&self) -> usize {
        self.inner.buffers()
    }

    fn count(&self, start: usize, left: usize) -> usize {
        self.inner.count(start, left)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        self.bytes.clear();
        self.sizes.clear();
        self.inner.write(values, &mut ChunkBuffers::new(&mut self.bytes, &mut self.sizes))?;
        let mut at = 0;
        let mut compressed = Ok(());
        for (buffer, size) in self.sizes.iter().enumerate() {
            let plain = self.bytes.get(at..at + size).unwrap_or_default();
            out.buffer(|out| match buffer {
                0 => compressed = self.compressor.append(plain, out),
                _ => out.extend_from_slice(plain),
            });
            at += size.next_multiple_of(8);
        }
        compressed
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int64Array, StringArray,
    };
    use arrow_schema::{DataType, Field};

    use super::*;
    use crate::scheme::tests::array_through;
    use crate::settings::Settings;

    /// Whatever compression proposes.
    struct Any(Compression);

    impl Scheme for Any {
        fn propose<'a>(&self, asked: Asked<'a>) -> Option<Proposal<'a>> {
            propose(asked, self.0).unwrap()
        }
    }

    #[test]
    fn values_come_back_and_are_smaller() {
        let floats = |at: i32| (f64::from(at) / 300.0).sin();
        let items = Arc::new(Float32Array::from_iter_values((0..9000).map(|at| floats(at / 50) as f32)));
        let item = Arc::new(Field::new("item", DataType::Float32, true));
        let arrays: [ArrayRef; 6] = [
            Arc::new(Float32Array::from_iter_values((0..20_000).map(|at| floats(at) as f32))),
            Arc::new(Float64Array::from_iter_values((0..3000).map(floats))),
            Arc::new(Int64Array::from_iter_values((0..10_000).map(|at| at * 1000))),
            Arc::new(StringArray::from_iter_values(
                (0..10_000).map(|at| format!("frame {} of {at}", at / 7)),
            )),
            Arc::new(FixedSizeListArray::new(item, 3, items, None)),
            Arc::new((0..100_000).map(|at| Some(at / 900 % 2 == 0)).collect::<BooleanArray>()),
        ];
        for array in arrays {
            for wanted in
                [Compression::Lz4, Compression::Zstd { level: None }, Compression::Zstd { level: Some(9) }]
            {
                let settings = Settings { compression: Some(wanted), ..Settings::default() };
                let (back, bytes) = array_through(&Any(wanted), &array, &settings).unwrap();
                assert_eq!(&back, &array);
                let plain = plain_bytes(&[Block::from_array(&array).unwrap()]);
                assert!(bytes < plain, "{wanted:?}: {bytes} bytes of {plain}");
            }
        }
    }

    #[test]
    fn noise_and_little_stay_as_they_are() {
        let noise = |count: u64| -> ArrayRef {
            let next =
                |at: u64| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(at | 1);
            Arc::new(Int64Array::from_iter_values((0..count).map(|at| next(at) as i64)))
        };
        let wanted = Compression::Zstd { level: None };
        assert!(array_through(&Any(wanted), &noise(10_000), &Settings::default()).is_none());
        let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; 511]));
        assert!(array_through(&Any(wanted), &zeros, &Settings::default()).is_none());
    }
}
