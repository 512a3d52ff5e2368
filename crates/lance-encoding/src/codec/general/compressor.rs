//! Compression of one buffer after another.

use lance_footer::{FormatError, Result};

use super::{Scheme, grown};
use crate::proto::{self, BufferCompression, CompressionScheme, CompressiveEncoding, compressive_encoding};
use crate::settings::{Compression, ZSTD_LEVEL};

/// Compresses with LZ4 or zstd.
pub(crate) struct Compressor {
    scheme: Scheme,
    level: Option<i32>,
    /// For zstd; made once, since that takes longer than to compress a small buffer.
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl Compressor {
    /// One that does what is `wanted`; none if that is something else than general compression.
    pub(crate) fn new(wanted: Compression) -> Result<Option<Self>> {
        let (scheme, level) = match wanted {
            Compression::None | Compression::Fsst => return Ok(None),
            Compression::Lz4 => (Scheme::Lz4, None),
            Compression::Zstd { level } => (Scheme::Zstd, Some(level.unwrap_or(ZSTD_LEVEL))),
        };
        let zstd = match scheme {
            Scheme::Lz4 => None,
            Scheme::Zstd => Some(zstd::bulk::Compressor::new(level.unwrap_or(0)).map_err(failed)?),
        };
        Ok(Some(Self { scheme, level, zstd }))
    }

    /// Appends what becomes of `bytes`, with its size in front.
    pub(crate) fn append(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let head = match self.scheme {
            Scheme::Lz4 => {
                let size = u32::try_from(bytes.len());
                out.extend_from_slice(&size.map_err(|_| too_long())?.to_le_bytes());
                4
            }
            Scheme::Zstd => {
                out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
                8
            }
        };
        let written = match &mut self.zstd {
            None => {
                let most = lz4_flex::block::get_maximum_output_size(bytes.len());
                lz4_flex::block::compress_into(bytes, grown(out, most)).map_err(failed)?
            }
            Some(zstd) => {
                let most = zstd::zstd_safe::compress_bound(bytes.len());
                zstd.compress_to_buffer(bytes, grown(out, most)).map_err(failed)?
            }
        };
        out.truncate(start + head + written);
        Ok(())
    }

    /// What file version 2.0 calls it.
    pub(crate) const fn name(&self) -> &'static str {
        match self.scheme {
            Scheme::Lz4 => "lz4",
            Scheme::Zstd => "zstd",
        }
    }

    /// What is said of buffers that are `inner` once they are decompressed.
    pub(crate) fn encoding(&self, inner: CompressiveEncoding) -> CompressiveEncoding {
        let scheme = match self.scheme {
            Scheme::Lz4 => CompressionScheme::CompressionAlgorithmLz4,
            Scheme::Zstd => CompressionScheme::CompressionAlgorithmZstd,
        };
        let general = proto::General {
            compression: Some(BufferCompression { scheme: scheme.into(), level: self.level }),
            values: Some(Box::new(inner)),
        };
        CompressiveEncoding {
            compression: Some(compressive_encoding::Compression::General(Box::new(general))),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> FormatError {
    FormatError::unsupported(format!("compression that fails: {error}"))
}

fn too_long() -> FormatError {
    FormatError::unsupported("LZ4 of 4 GiB or more at once")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::general::Decompressor;

    #[test]
    fn buffers_come_back() {
        let buffers: [Vec<u8>; 4] = [
            vec![],
            b"x".to_vec(),
            vec![7; 100_000],
            (0..70_000_u32).flat_map(|i| (i / 3).to_le_bytes()).collect(),
        ];
        for wanted in [
            Compression::Lz4,
            Compression::Zstd { level: None },
            Compression::Zstd { level: Some(-7) },
            Compression::Zstd { level: Some(19) },
        ] {
            let mut compressor = Compressor::new(wanted).unwrap().unwrap();
            for buffer in &buffers {
                let mut out = b"before".to_vec();
                compressor.append(buffer, &mut out).unwrap();
                assert_eq!(&out[..6], b"before");
                let back = Decompressor::new(compressor.scheme).decompress(&out[6..], buffer.len()).unwrap();
                assert_eq!(&back, buffer, "{wanted:?}");
            }
        }
        assert!(Compressor::new(Compression::Fsst).unwrap().is_none());
    }
}
