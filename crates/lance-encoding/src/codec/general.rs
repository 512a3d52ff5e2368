//! General compression of whole buffers: LZ4 or zstd around another codec.
//!
//! ```text
//! LZ4    size of what comes out (u32) | one LZ4 block, without a frame
//! zstd   size of what comes out (u64) | one zstd frame       the size may be absent
//! ```
//!
//! In a chunk only value buffer 0 is compressed, in a block all of it, in a full-zip page each value.

use std::io::Read;

use lance_footer::{FormatError, Result};

use super::{Codec, Picks, corrupt};
use crate::bounds;
use crate::proto::{self, CompressionScheme};
use crate::values::Values;

/// What a zstd frame starts with.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// An LZ4 byte stands for at most this many.
const LZ4_RATIO: usize = 255;
/// What is believed of a zstd size at once, in multiples of the compressed bytes; beyond it memory grows with
/// what comes out.
const ZSTD_TRUSTED_RATIO: usize = 64;
/// No buffer of a chunk or value is larger.
const MAX_LEN: u64 = 1 << 31;

/// General compression around another codec.
#[derive(Debug, Clone)]
pub(crate) struct General {
    /// How it is compressed.
    pub(crate) scheme: Scheme,
    /// What the bytes are once decompressed.
    pub(crate) inner: Box<Codec>,
}

/// A general compression scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Lz4,
    Zstd,
}

impl General {
    pub(super) fn parse(general: &proto::General, inner: Codec) -> Result<Self> {
        let scheme = general.compression.as_ref().map(|compression| compression.scheme);
        let scheme = match scheme.map(CompressionScheme::try_from) {
            Some(Ok(CompressionScheme::CompressionAlgorithmLz4)) => Scheme::Lz4,
            Some(Ok(CompressionScheme::CompressionAlgorithmZstd)) => Scheme::Zstd,
            _ => return Err(FormatError::unsupported(format!("general compression scheme {scheme:?}"))),
        };
        if let Codec::General(_) = inner {
            return Err(corrupt("general compression twice"));
        }
        Ok(Self { scheme, inner: Box::new(inner) })
    }

    pub(super) fn decode_mini_block(&self, buffers: &[&[u8]], picks: &Picks, out: &mut Values) -> Result<()> {
        let (first, rest) = buffers.split_first().ok_or_else(|| corrupt("compression of no buffer"))?;
        let first = self.scheme.decompress(first)?;
        let mut inner: Vec<&[u8]> = Vec::with_capacity(buffers.len());
        inner.push(&first);
        inner.extend(rest);
        self.inner.decode_mini_block(&inner, picks, out)
    }

    pub(super) fn decode_block(&self, bytes: &[u8], count: usize, out: &mut Values) -> Result<()> {
        self.inner.decode_block(&self.scheme.decompress(bytes)?, count, out)
    }
}

impl Scheme {
    /// What comes out of `bytes`. Takes memory in proportion to `bytes`, or to what really comes out.
    pub(crate) fn decompress(self, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![];
        self.append(bytes, &mut out)?;
        Ok(out)
    }

    /// Appends what comes out of `bytes` to `out`, as [`Self::decompress`] does. After an error, `out` ends with
    /// anything.
    pub(crate) fn append(self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Lz4 => append_lz4(bytes, out),
            Self::Zstd => append_zstd(bytes, out),
        }
    }
}

fn append_lz4(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let bad = |reason: String| FormatError::corrupt("LZ4 data", reason);
    let (size, block) = bytes.split_first_chunk::<4>().ok_or_else(|| bad("it has no size".into()))?;
    let size = bounds::size(u32::from_le_bytes(*size).into(), "LZ4 data")?;
    if size > block.len().saturating_mul(LZ4_RATIO) {
        return Err(bad(format!("{} bytes cannot give {size}", block.len())));
    }
    match lz4_flex::block::decompress_into(block, grown(out, size)) {
        Ok(written) if written == size => Ok(()),
        Ok(written) => Err(bad(format!("{written} bytes came out instead of {size}"))),
        Err(error) => Err(bad(error.to_string())),
    }
}

fn append_zstd(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let bad = |reason: String| FormatError::corrupt("zstd data", reason);
    if bytes.is_empty() {
        return Ok(());
    }
    let (size, frame) = if is_bare_frame(bytes) {
        (None, bytes)
    } else {
        let (size, frame) = bytes.split_first_chunk::<8>().ok_or_else(|| bad("it has no size".into()))?;
        (Some(u64::from_le_bytes(*size)), frame)
    };
    let limit = size.unwrap_or(MAX_LEN);
    if limit > MAX_LEN {
        return Err(bad(format!("{limit} bytes are said to come out")));
    }
    let trusted = frame.len().saturating_mul(ZSTD_TRUSTED_RATIO);
    let written = match size.and_then(|size| usize::try_from(size).ok()) {
        Some(size) if size <= trusted => zstd::bulk::decompress_to_buffer(frame, grown(out, size)),
        _ => zstd::stream::read::Decoder::new(frame).and_then(|decoder| {
            // One byte more than allowed shows that there is too much.
            decoder.single_frame().take(limit + 1).read_to_end(out)
        }),
    };
    let written = written.map_err(|error| bad(error.to_string()))? as u64;
    match size {
        Some(size) if size != written => Err(bad(format!("{written} bytes came out instead of {size}"))),
        None if written > MAX_LEN => Err(bad("too much comes out".into())),
        _ => Ok(()),
    }
}

/// The last `more` bytes of `out`, which it is made longer by.
fn grown(out: &mut Vec<u8>, more: usize) -> &mut [u8] {
    let start = out.len();
    out.resize(start.saturating_add(more), 0);
    out.get_mut(start..).unwrap_or_default()
}

/// Whether there is no size in front: the frame's magic, and the reserved bit of its header is clear.
fn is_bare_frame(bytes: &[u8]) -> bool {
    bytes.starts_with(&ZSTD_MAGIC) && bytes.get(4).is_some_and(|descriptor| descriptor & 0x08 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zstd_with_size(data: &[u8]) -> Vec<u8> {
        let frame = zstd::bulk::compress(data, 0).unwrap();
        [&(data.len() as u64).to_le_bytes()[..], &frame].concat()
    }

    #[test]
    fn both_schemes_come_back() {
        let data: Vec<u8> = (0..10_000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let lz4 = lz4_flex::block::compress_prepend_size(&data);
        assert_eq!(Scheme::Lz4.decompress(&lz4).unwrap(), data);
        assert_eq!(Scheme::Zstd.decompress(&zstd_with_size(&data)).unwrap(), data);
        assert_eq!(Scheme::Zstd.decompress(&zstd_with_size(&data)[8..]).unwrap(), data);
        assert_eq!(Scheme::Zstd.decompress(&[]).unwrap(), []);
        let mut out = b"before".to_vec();
        for bytes in [&zstd_with_size(&data)[..], &zstd_with_size(&data)[8..]] {
            Scheme::Zstd.append(bytes, &mut out).unwrap();
        }
        Scheme::Lz4.append(&lz4, &mut out).unwrap();
        assert_eq!(out, [b"before", &data[..], &data, &data].concat());
    }

    #[test]
    fn very_compressible_data() {
        let zeros = vec![0; 1 << 20];
        assert_eq!(Scheme::Zstd.decompress(&zstd_with_size(&zeros)).unwrap(), zeros);
        let lz4 = lz4_flex::block::compress_prepend_size(&zeros);
        assert_eq!(Scheme::Lz4.decompress(&lz4).unwrap(), zeros);
    }

    #[test]
    fn sizes_that_lie_are_refused() {
        let data = vec![7; 1000];
        for lie in [0_u64, 999, 1001, 1 << 30, 1 << 40, u64::MAX] {
            let mut bytes = zstd_with_size(&data);
            bytes[..8].copy_from_slice(&lie.to_le_bytes());
            assert!(Scheme::Zstd.decompress(&bytes).is_err(), "{lie}");
            let mut bytes = lz4_flex::block::compress_prepend_size(&data);
            bytes[..4].copy_from_slice(&(lie as u32 | 1).to_le_bytes());
            assert!(Scheme::Lz4.decompress(&bytes).is_err(), "{lie}");
        }
        assert!(Scheme::Zstd.decompress(&[1, 2, 3]).is_err());
        assert!(Scheme::Lz4.decompress(&[]).is_err());
    }
}
