//! Decompression of one buffer after another, into no more memory than what comes out.

use std::fmt;
use std::io::Read;
use std::sync::{Arc, Mutex};

use lance_footer::{FormatError, Result};
use zstd::zstd_safe::{DCtx, get_frame_content_size};

use super::{Scheme, grown};
use crate::bounds;
use crate::budget::over_budget;

/// What a zstd frame starts with.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// An LZ4 byte stands for at most this many.
const LZ4_RATIO: usize = 255;
/// What is believed of a zstd size at once, in multiples of the compressed bytes; beyond it memory grows with
/// what comes out.
const ZSTD_TRUSTED_RATIO: usize = 64;
/// A context that takes more memory is not kept: a frame whose size is not believed makes it as large as its window.
const MOST_SPARE: usize = 1 << 20;
/// No buffer of a chunk or value is larger.
const MAX_LEN: usize = 1 << 31;
/// Bytes for which there is room before the first of them come out, if it is not known how many come.
const FIRST_READ: u64 = 1 << 16;

/// What buffers are decompressed with.
#[derive(Clone)]
pub(crate) struct Decompressor {
    scheme: Scheme,
    /// A context that nobody uses at the moment. To make one takes longer than to decompress a small buffer.
    spare: Arc<Mutex<Option<DCtx<'static>>>>,
}

impl Decompressor {
    pub(crate) fn new(scheme: Scheme) -> Self {
        Self { scheme, spare: Arc::default() }
    }

    /// Appends what comes out of `bytes` to `out`. An error if that is more than `limit`. Takes memory in proportion to
    /// `bytes`, or to what really comes out. After an error, `out` ends with anything.
    pub(crate) fn append(&self, bytes: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<()> {
        let limit = limit.min(MAX_LEN);
        if self.scheme == Scheme::Lz4 {
            return append_lz4(bytes, limit, out);
        }
        let spare = self.spare.lock().ok().and_then(|mut spare| spare.take());
        let mut context = spare
            .or_else(DCtx::try_create)
            .ok_or_else(|| FormatError::unsupported("decompression without memory for it"))?;
        append_zstd(bytes, limit, &mut context, out)?;
        // After an error it may be in the middle of a frame, and is not kept.
        if context.sizeof() <= MOST_SPARE
            && let Ok(mut spare) = self.spare.lock()
        {
            *spare = Some(context);
        }
        Ok(())
    }

    /// What comes out of `bytes`, as [`Self::append`] does it.
    pub(crate) fn decompress(&self, bytes: &[u8], limit: usize) -> Result<Vec<u8>> {
        let mut out = vec![];
        self.append(bytes, limit, &mut out)?;
        Ok(out)
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Decompressor").field(&self.scheme).finish()
    }
}

fn append_lz4(bytes: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<()> {
    let bad = |reason: String| FormatError::corrupt("LZ4 data", reason);
    let (size, block) = bytes.split_first_chunk::<4>().ok_or_else(|| bad("it has no size".into()))?;
    let size = bounds::size(u32::from_le_bytes(*size).into(), "LZ4 data")?;
    if size > block.len().saturating_mul(LZ4_RATIO) {
        return Err(bad(format!("{} bytes cannot give {size}", block.len())));
    }
    if size > limit {
        return Err(over_budget("LZ4 data", size, limit));
    }
    match lz4_flex::block::decompress_into(block, grown(out, size)) {
        Ok(written) if written == size => Ok(()),
        Ok(written) => Err(bad(format!("{written} bytes came out instead of {size}"))),
        Err(error) => Err(bad(error.to_string())),
    }
}

fn append_zstd(bytes: &[u8], limit: usize, context: &mut DCtx<'static>, out: &mut Vec<u8>) -> Result<()> {
    let bad = |reason: String| FormatError::corrupt("zstd data", reason);
    if bytes.is_empty() {
        return Ok(());
    }
    let (size, frame) = if is_bare_frame(bytes) {
        // The frame may say it, too.
        (get_frame_content_size(bytes).ok().flatten(), bytes)
    } else {
        let (size, frame) = bytes.split_first_chunk::<8>().ok_or_else(|| bad("it has no size".into()))?;
        (Some(u64::from_le_bytes(*size)), frame)
    };
    let size = size.map(|size| bounds::size(size, "zstd data")).transpose()?;
    if let Some(size) = size.filter(|size| *size > limit) {
        return Err(over_budget("zstd data", size, limit));
    }
    let written = match size {
        Some(size) if size <= frame.len().saturating_mul(ZSTD_TRUSTED_RATIO) => {
            let written = context.decompress(grown(out, size), frame);
            written.map_err(|code| bad(zstd::zstd_safe::get_error_name(code).into()))?
        }
        size => {
            // One byte more than allowed shows that there is too much.
            let most = size.unwrap_or(limit) as u64 + 1;
            let decoder = zstd::stream::read::Decoder::with_context(frame, context).single_frame();
            read_up_to(decoder, most, out).map_err(|error| bad(error.to_string()))?
        }
    };
    match size {
        Some(size) if size != written => Err(bad(format!("{written} bytes came out instead of {size}"))),
        None if written > limit => Err(over_budget("zstd data", written, limit)),
        _ => Ok(()),
    }
}

/// Appends up to `limit` bytes. Memory grows with what is read, and not beyond the limit.
fn read_up_to(mut source: impl Read, limit: u64, out: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut total = 0;
    loop {
        let part = (total as u64).max(FIRST_READ).min(limit - total as u64);
        out.reserve_exact(usize::try_from(part).unwrap_or_default());
        let read = source.by_ref().take(part).read_to_end(out)?;
        total += read;
        if (read as u64) < part || total as u64 == limit {
            return Ok(total);
        }
    }
}

/// Whether there is no size in front: the frame's magic, and the reserved bit of its header is clear.
fn is_bare_frame(bytes: &[u8]) -> bool {
    bytes.starts_with(&ZSTD_MAGIC) && bytes.get(4).is_some_and(|descriptor| descriptor & 0x08 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decompress(scheme: Scheme, bytes: &[u8]) -> Result<Vec<u8>> {
        Decompressor::new(scheme).decompress(bytes, MAX_LEN)
    }

    fn zstd_with_size(data: &[u8]) -> Vec<u8> {
        let frame = zstd::bulk::compress(data, 0).unwrap();
        [&(data.len() as u64).to_le_bytes()[..], &frame].concat()
    }

    #[test]
    fn both_schemes_come_back() {
        let data: Vec<u8> = (0..10_000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let lz4 = lz4_flex::block::compress_prepend_size(&data);
        assert_eq!(decompress(Scheme::Lz4, &lz4).unwrap(), data);
        assert_eq!(decompress(Scheme::Zstd, &zstd_with_size(&data)).unwrap(), data);
        assert_eq!(decompress(Scheme::Zstd, &zstd_with_size(&data)[8..]).unwrap(), data);
        assert_eq!(decompress(Scheme::Zstd, &[]).unwrap(), []);
        let mut out = b"before".to_vec();
        let zstd = Decompressor::new(Scheme::Zstd);
        for bytes in [&zstd_with_size(&data)[..], &zstd_with_size(&data)[8..]] {
            zstd.append(bytes, data.len(), &mut out).unwrap();
        }
        Decompressor::new(Scheme::Lz4).append(&lz4, data.len(), &mut out).unwrap();
        assert_eq!(out, [b"before", &data[..], &data, &data].concat());
    }

    #[test]
    fn very_compressible_data() {
        let zeros = vec![0; 1 << 20];
        assert_eq!(decompress(Scheme::Zstd, &zstd_with_size(&zeros)).unwrap(), zeros);
        assert_eq!(decompress(Scheme::Zstd, &zstd_with_size(&zeros)[8..]).unwrap(), zeros);
        let lz4 = lz4_flex::block::compress_prepend_size(&zeros);
        assert_eq!(decompress(Scheme::Lz4, &lz4).unwrap(), zeros);
    }

    #[test]
    fn no_more_than_the_limit() {
        let zeros = vec![0; 1 << 20];
        let zstd = zstd_with_size(&zeros);
        // A frame that does not say how much it is.
        let mut encoder = zstd::stream::Encoder::new(vec![], 0).unwrap();
        std::io::Write::write_all(&mut encoder, &zeros).unwrap();
        let unsized_frame = encoder.finish().unwrap();
        let lz4 = lz4_flex::block::compress_prepend_size(&zeros);
        let cases = [
            (Scheme::Zstd, &zstd[..]),
            (Scheme::Zstd, &zstd[8..]),
            (Scheme::Zstd, &unsized_frame),
            (Scheme::Lz4, &lz4),
        ];
        for (scheme, bytes) in cases {
            let decompressor = Decompressor::new(scheme);
            for _ in 0..2 {
                let mut out = vec![];
                assert!(decompressor.append(bytes, zeros.len() - 1, &mut out).is_err());
                assert!(out.capacity() <= 2 * zeros.len());
                assert_eq!(decompressor.decompress(bytes, zeros.len()).unwrap(), zeros);
            }
        }
    }

    #[test]
    fn only_small_contexts_are_kept() {
        let kept = |bytes: &[u8]| {
            let decompressor = Decompressor::new(Scheme::Zstd);
            decompressor.decompress(bytes, MAX_LEN).unwrap();
            let spare = decompressor.spare.lock().unwrap();
            spare.is_some()
        };
        assert!(kept(&zstd_with_size(b"a few bytes")));
        // Streamed, since it says nothing of its size, through a window of 8 MiB.
        let mut encoder = zstd::stream::Encoder::new(vec![], 0).unwrap();
        encoder.window_log(23).unwrap();
        std::io::Write::write_all(&mut encoder, &vec![1; 10 << 20]).unwrap();
        assert!(!kept(&encoder.finish().unwrap()));
    }

    #[test]
    fn sizes_that_lie_are_refused() {
        let data = vec![7; 1000];
        for lie in [0_u64, 999, 1001, 1 << 30, 1 << 40, u64::MAX] {
            let mut bytes = zstd_with_size(&data);
            bytes[..8].copy_from_slice(&lie.to_le_bytes());
            assert!(decompress(Scheme::Zstd, &bytes).is_err(), "{lie}");
            let mut bytes = lz4_flex::block::compress_prepend_size(&data);
            bytes[..4].copy_from_slice(&(lie as u32 | 1).to_le_bytes());
            assert!(decompress(Scheme::Lz4, &bytes).is_err(), "{lie}");
        }
        assert!(decompress(Scheme::Zstd, &[1, 2, 3]).is_err());
        assert!(decompress(Scheme::Lz4, &[]).is_err());
    }
}
