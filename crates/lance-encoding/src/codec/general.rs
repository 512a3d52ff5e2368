//! General compression of whole buffers: LZ4 or zstd around another codec.
//!
//! ```text
//! LZ4    size of what comes out (u32) | one LZ4 block, without a frame
//! zstd   size of what comes out (u64) | one zstd frame       the size may be absent
//! ```
//!
//! In a chunk only value buffer 0 is compressed, in a block all of it, in a full-zip page each value.

mod compressor;
mod decompressor;
mod scheme;

use lance_footer::{FormatError, Result};

pub(crate) use compressor::Compressor;
pub(crate) use decompressor::Decompressor;
pub(crate) use scheme::propose;

use super::{Codec, Picks, corrupt};
use crate::proto::{self, CompressionScheme};
use crate::values::Values;

/// General compression around another codec.
#[derive(Debug, Clone)]
pub(crate) struct General {
    decompressor: Decompressor,
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
        Ok(Self { decompressor: Decompressor::new(scheme), inner: Box::new(inner) })
    }

    pub(super) fn decode_mini_block(&self, buffers: &[&[u8]], picks: &Picks, out: &mut Values) -> Result<()> {
        let (first, rest) = buffers.split_first().ok_or_else(|| corrupt("compression of no buffer"))?;
        let first = self.decompress(first, self.inner.first_buffer(picks.count(), rest), out)?;
        let mut inner: Vec<&[u8]> = Vec::with_capacity(buffers.len());
        inner.push(&first);
        inner.extend(rest);
        self.inner.decode_mini_block(&inner, picks, out)
    }

    pub(super) fn decode_block(&self, bytes: &[u8], count: usize, out: &mut Values) -> Result<()> {
        let bytes = self.decompress(bytes, self.inner.first_buffer(count, &[]), out)?;
        self.inner.decode_block(&bytes, count, out)
    }

    /// Appends the string that comes out of a record's `bytes`, and may have `most` of them.
    pub(super) fn decode_string(&self, bytes: &[u8], out: &mut Vec<u8>, most: usize) -> Result<()> {
        match &*self.inner {
            // Straight to its place, unless it is a string of codes.
            Codec::Variable(_) => self.decompressor.append(bytes, most, out),
            inner => inner.decode_string(&self.decompressor.decompress(bytes, most)?, out, most),
        }
    }

    /// What comes out of a buffer of values that go to `out`, and has at most `due` bytes.
    fn decompress(&self, bytes: &[u8], due: usize, out: &Values) -> Result<Vec<u8>> {
        let room = out.scratch();
        self.decompressor.decompress(bytes, due.min(room)).map_err(|error| match error {
            FormatError::OverBudget { needed, .. } if due <= room => FormatError::corrupt(
                "compressed values",
                format!("{needed} bytes are said to come out where {due} are too many"),
            ),
            error => error,
        })
    }
}

/// The last `more` bytes of `out`, which it is made longer by.
fn grown(out: &mut Vec<u8>, more: usize) -> &mut [u8] {
    let start = out.len();
    out.resize(start.saturating_add(more), 0);
    out.get_mut(start..).unwrap_or_default()
}
