//! The items of a dictionary, as one block.

use bytes::Bytes;
use lance_footer::{FormatError, Result};

use crate::block::{Block, shared};
use crate::codec::general::Compressor;
use crate::codec::{flat, inline_bitpacking, out_of_line_bitpacking, variable, with_word};
use crate::kernel::bitpack::{VECTOR, Word};
use crate::proto::CompressiveEncoding;
use crate::rules::Rules;
use crate::settings::Settings;

/// Fewer bytes need not be compressed.
const WORTHWHILE: usize = 128;

/// The items of a dictionary.
#[derive(Debug, Clone)]
pub(super) struct Items {
    pub(super) count: usize,
    pub(super) encoding: CompressiveEncoding,
    /// The block.
    pub(super) bytes: Bytes,
}

/// A block, and what a page says of it.
type Encoded = (CompressiveEncoding, Bytes);

/// `items`, in the smallest form that there is.
pub(super) fn encode(items: &Block, settings: &Settings, rules: &Rules) -> Result<Items> {
    let plain = match items {
        Block::Variable { offsets, data } => {
            (variable::encoding(offsets.width()), Bytes::from(variable::block(offsets, data)))
        }
        Block::Fixed { width, bytes } => (flat::encoding(*width as u64 * 8), shared(bytes.clone())),
        Block::Bits(bits) => {
            let bytes = bits.sliced();
            (flat::encoding(1), shared(bytes.slice_with_length(0, bits.len().div_ceil(8))))
        }
        Block::Null(_) | Block::FixedSizeList { .. } => {
            return Err(FormatError::unsupported("dictionaries of other than plain values"));
        }
    };
    let mut best = plain.clone();
    if let Block::Fixed { width: width @ (1 | 2 | 4 | 8), bytes } = items
        && let Some(packed) = with_word!(*width * 8, T => Ok(packed::<T>(bytes)))?
        && packed.1.len() < best.1.len()
    {
        best = packed;
    }
    if rules.compressed_dictionaries
        && best.1.len() >= WORTHWHILE
        && let Some(mut compressor) = Compressor::new(settings.dictionary.compression)?
    {
        let mut bytes = vec![];
        compressor.append(&plain.1, &mut bytes)?;
        // It takes time to read, so it must save something.
        if bytes.len() < best.1.len() / 8 * 7 {
            best = (compressor.encoding(plain.0), bytes.into());
        }
    }
    let (encoding, bytes) = best;
    Ok(Items { count: items.len(), encoding, bytes })
}

/// Numbers, packed to as many bits as the largest has; none if that is all.
fn packed<T: Word>(bytes: &[u8]) -> Option<Encoded> {
    let mut values = vec![T::default(); bytes.len() / (T::BITS / 8)];
    T::read(bytes, &mut values);
    // A block without bytes would not tell how many numbers it has.
    let width = T::width(&values).max(1);
    if width == T::BITS {
        return None;
    }
    let mut out = vec![];
    let encoding = if values.len() <= VECTOR {
        inline_bitpacking::write_block(width, &values, &mut out);
        inline_bitpacking::encoding(T::BITS)
    } else {
        out_of_line_bitpacking::write_block(width, &values, &mut out);
        out_of_line_bitpacking::encoding(T::BITS, width)
    };
    Some((encoding, out.into()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Decimal128Array, Float32Array, Int64Array, StringArray, UInt8Array};
    use lance_footer::Version;

    use super::*;
    use crate::codec::Codec;
    use crate::settings::Compression;
    use crate::storage::Storage;
    use crate::values::Values;

    #[test]
    fn items_come_back() {
        let arrays: [(ArrayRef, &str); 10] = [
            (Arc::new(StringArray::from(vec!["a", "", "bcd"])), "variable"),
            (Arc::new(StringArray::from(vec!["a long one"; 50])), "general"),
            (Arc::new(Int64Array::from_iter_values(0..300)), "inline-bitpacking"),
            (Arc::new(Int64Array::from_iter_values((0..3000).map(|at| at * at))), "out-of-line-bitpacking"),
            (Arc::new(Int64Array::from(vec![0; 300])), "general"),
            (Arc::new(Int64Array::from(vec![0; 70_000])), "general"),
            (Arc::new(Int64Array::from(vec![-1, 1])), "flat"),
            (Arc::new(UInt8Array::from(vec![1, 2, 3])), "flat"),
            (Arc::new(Float32Array::from(vec![-1.5; 1000])), "general"),
            (Arc::new(Decimal128Array::from(vec![-1, 1])), "flat"),
        ];
        for (array, name) in arrays {
            for version in [Version::V2_1, Version::V2_2] {
                for compression in [Compression::None, Compression::Lz4, Compression::Zstd { level: None }] {
                    let mut settings = Settings::default();
                    settings.dictionary.compression = compression;
                    let rules = Rules::of(version).unwrap();
                    let block = Block::from_array(&array).unwrap();
                    let Items { count, encoding, bytes } = encode(&block, &settings, &rules).unwrap();
                    assert_eq!(count, array.len());
                    let codec = Codec::parse(Some(&encoding), crate::codec::Place::Dictionary).unwrap();
                    if version == Version::V2_2 && compression == Compression::Lz4 {
                        assert_eq!(codec.name(), name);
                    }
                    if version == Version::V2_1 || compression == Compression::None {
                        assert_ne!(codec.name(), "general");
                    }
                    let mut out = Values::new(&Storage::of(array.data_type()).unwrap());
                    codec.decode_block(&bytes, array.len(), &mut out).unwrap();
                    assert_eq!(&out.finish(array.data_type(), None).unwrap(), &array);
                }
            }
        }
    }
}
