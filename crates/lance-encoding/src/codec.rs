//! Codecs: what the bytes of a buffer mean. One file a codec.
//!
//! A codec can stand in three contexts, and its bytes can differ between them:
//!
//! * *block*: a whole buffer of known number of values, such as levels and dictionaries;
//! * *mini-block*: the value buffers of a chunk, of known number of values;
//! * *per value*: the bytes of one value of a full-zip page.

pub(crate) mod byte_stream_split;
pub(crate) mod constant;
pub(crate) mod dictionary;
pub(crate) mod fixed_size_list;
pub(crate) mod flat;
pub(crate) mod fsst;
pub(crate) mod general;
pub(crate) mod inline_bitpacking;
pub(crate) mod out_of_line_bitpacking;
pub(crate) mod packed_struct;
mod picks;
mod place;
pub(crate) mod rle;
pub(crate) mod variable;
pub(crate) mod variable_packed_struct;

use lance_footer::{FormatError, Result};

pub(crate) use picks::Picks;
pub(crate) use place::Place;

use crate::kernel::bitpack::{VECTOR, Word};
use crate::proto::CompressiveEncoding;
use crate::proto::compressive_encoding::Compression;
use crate::storage::Storage;
use crate::values::{Values, misfit};
use byte_stream_split::ByteStreamSplit;
use constant::Constant;
use fixed_size_list::FixedSizeList;
use flat::Flat;
use fsst::Fsst;
use general::General;
use inline_bitpacking::InlineBitpacking;
use out_of_line_bitpacking::OutOfLineBitpacking;
use packed_struct::PackedStruct;
use rle::Rle;
use variable::Variable;
use variable_packed_struct::VariablePackedStruct;

/// Codecs within codecs; real files have three or four.
pub(crate) const MAX_DEPTH: usize = 32;

/// How a buffer is decoded.
#[derive(Debug, Clone)]
pub(crate) enum Codec {
    Flat(Flat),
    Variable(Variable),
    Constant(Constant),
    InlineBitpacking(InlineBitpacking),
    OutOfLineBitpacking(OutOfLineBitpacking),
    Rle(Rle),
    Fsst(Fsst),
    ByteStreamSplit(ByteStreamSplit),
    FixedSizeList(FixedSizeList),
    General(General),
    PackedStruct(PackedStruct),
    VariablePackedStruct(VariablePackedStruct),
}

impl Codec {
    /// The codec that a page layout describes for `place`. An error if there is none, or one that does not belong there.
    pub(crate) fn parse(encoding: Option<&CompressiveEncoding>, place: Place) -> Result<Self> {
        let codec = parse_nested(encoding, 0)?;
        codec.check_place(place)?;
        Ok(codec)
    }

    /// Whether it gives values of shape `storage`.
    pub(crate) fn fits(&self, storage: &Storage) -> bool {
        let bits = |wanted| matches!(storage, Storage::Fixed { bits } if *bits == wanted);
        match self {
            Self::Flat(flat) => bits(flat.bits),
            Self::InlineBitpacking(packed) => bits(packed.bits),
            Self::OutOfLineBitpacking(packed) => bits(packed.bits),
            Self::Rle(rle) => bits(rle.bits),
            Self::ByteStreamSplit(split) => bits(split.bits),
            Self::Variable(variable) => variable.fits(storage),
            Self::Fsst(fsst) => fsst.values.fits(storage),
            Self::Constant(constant) => constant.fits(storage),
            Self::FixedSizeList(list) => list.fits(storage),
            Self::General(general) => general.inner.fits(storage),
            Self::PackedStruct(packed) => packed.fits(storage),
            Self::VariablePackedStruct(packed) => packed.fits(storage),
        }
    }

    /// Value buffers of a chunk.
    pub(crate) fn mini_block_buffers(&self) -> usize {
        match self {
            Self::Rle(_) => 2,
            Self::Constant(_) => 0,
            Self::FixedSizeList(list) => usize::from(list.has_validity) + list.items.mini_block_buffers(),
            Self::General(general) => general.inner.mini_block_buffers(),
            _ => 1,
        }
    }

    /// Bytes that the first value buffer of `count` values has at most, as far as their number and the buffers after
    /// it say.
    fn first_buffer(&self, count: usize, rest: &[&[u8]]) -> usize {
        // What is said of a width was checked when it was parsed.
        match self {
            Self::Flat(Flat { bits }) | Self::ByteStreamSplit(ByteStreamSplit { bits }) => {
                count.saturating_mul(*bits).div_ceil(8)
            }
            Self::InlineBitpacking(InlineBitpacking { bits }) => (bits / 8).saturating_mul(VECTOR + 1),
            Self::PackedStruct(packed) => count.saturating_mul(packed.bytes),
            // A value for each length.
            Self::Rle(Rle { bits }) if let [lengths, ..] = rest => lengths.len().saturating_mul(bits / 8),
            Self::FixedSizeList(list) => {
                let items = count.saturating_mul(list.len);
                if list.has_validity { items.div_ceil(8) } else { list.items.first_buffer(items, rest) }
            }
            _ => usize::MAX,
        }
    }

    /// Appends the picked values of a chunk to `out`.
    pub(crate) fn decode_mini_block(&self, buffers: &[&[u8]], picks: &Picks, out: &mut Values) -> Result<()> {
        match (self, buffers) {
            (Self::Flat(flat), [buffer]) => flat.decode_mini_block(buffer, picks, out),
            (Self::Variable(variable), [buffer]) => variable.decode_mini_block(buffer, picks, out),
            (Self::InlineBitpacking(packed), [buffer]) => packed.decode_mini_block(buffer, picks, out),
            (Self::Rle(rle), [values, lengths]) => rle.decode_mini_block(values, lengths, picks, out),
            (Self::Fsst(fsst), [buffer]) => fsst.decode_mini_block(buffer, picks, out),
            (Self::ByteStreamSplit(split), [buffer]) => split.decode_mini_block(buffer, picks, out),
            (Self::FixedSizeList(list), buffers) => list.decode_mini_block(buffers, picks, out),
            (Self::General(general), buffers) => general.decode_mini_block(buffers, picks, out),
            (Self::PackedStruct(packed), [buffer]) => packed.decode(buffer, picks, out),
            (Self::Constant(constant), []) => constant.decode(picks.len(), out),
            _ => Err(FormatError::corrupt(
                "chunk",
                format!(
                    "{} value buffers where {} has {}",
                    buffers.len(),
                    self.name(),
                    self.mini_block_buffers()
                ),
            )),
        }
    }

    /// Appends the `count` values of a block to `out`.
    pub(crate) fn decode_block(&self, bytes: &[u8], count: usize, out: &mut Values) -> Result<()> {
        match self {
            Self::Flat(flat) => flat.decode_mini_block(bytes, &Picks::all(count), out),
            Self::Variable(variable) => variable.decode_block(bytes, count, out),
            Self::General(general) => general.decode_block(bytes, count, out),
            Self::FixedSizeList(list) if !list.validity_inside() => out.append_plain(bytes, count),
            Self::InlineBitpacking(InlineBitpacking { bits })
            | Self::OutOfLineBitpacking(OutOfLineBitpacking { bits, .. })
            | Self::Rle(Rle { bits }) => {
                self.check_block(bytes, count)?;
                let Values::Fixed(values) = out else { return Err(misfit("numbers")) };
                with_word!(*bits, T => self.decode_words(bytes, values.extend_words::<T>(count)?))
            }
            Self::Constant(_)
            | Self::Fsst(_)
            | Self::ByteStreamSplit(_)
            | Self::FixedSizeList(_)
            | Self::PackedStruct(_)
            | Self::VariablePackedStruct(_) => {
                Err(FormatError::unsupported(format!("a block of {}", self.name())))
            }
        }
    }

    /// Appends the string that a record of a full-zip page holds, which may have `most` bytes.
    pub(crate) fn decode_string(&self, bytes: &[u8], out: &mut Vec<u8>, most: usize) -> Result<()> {
        match self {
            Self::Variable(_) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Self::Fsst(fsst) => fsst.decode_value(bytes, out, most),
            Self::General(general) => general.decode_string(bytes, out, most),
            _ => Err(FormatError::corrupt("record", format!("a string of {}", self.name()))),
        }
    }

    /// The `count` levels of a block.
    pub(crate) fn decode_levels(&self, bytes: &[u8], count: usize) -> Result<Vec<u16>> {
        if !self.fits(&Storage::Fixed { bits: 16 }) {
            return Err(FormatError::corrupt("levels", "they do not have 16 bits"));
        }
        if let Self::General(_) = self {
            let mut values = Values::within(&Storage::Fixed { bits: 16 }, count.saturating_mul(2));
            self.decode_block(bytes, count, &mut values)?;
            let Values::Fixed(values) = values else { return Err(misfit("levels")) };
            return Ok(values.words());
        }
        self.check_block(bytes, count)?;
        let mut levels = vec![0; count];
        self.decode_words(bytes, &mut levels)?;
        Ok(levels)
    }

    /// An error unless `count` values can come out of a block of numbers of as many bytes.
    fn check_block(&self, bytes: &[u8], count: usize) -> Result<()> {
        match self {
            Self::Flat(flat) => flat.check(bytes, count),
            Self::InlineBitpacking(_) => InlineBitpacking::check(count),
            Self::OutOfLineBitpacking(packed) => packed.check(bytes, count),
            Self::Rle(rle) => rle.check_block(bytes, count),
            _ => Err(FormatError::unsupported(format!("a block of {}", self.name()))),
        }
    }

    /// Fills `out` with the numbers of a block that was checked.
    fn decode_words<T: Word>(&self, bytes: &[u8], out: &mut [T]) -> Result<()> {
        match self {
            Self::Flat(flat) => flat.decode_words(bytes, out),
            Self::InlineBitpacking(packed) => packed.decode_words(bytes, out),
            Self::OutOfLineBitpacking(packed) => packed.decode_words(bytes, out),
            Self::Rle(rle) => rle.decode_block_words(bytes, out),
            _ => Err(FormatError::unsupported(format!("a block of {}", self.name()))),
        }
    }

    /// What the format calls it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Flat(_) => "flat",
            Self::Variable(_) => "variable",
            Self::Constant(_) => "constant",
            Self::InlineBitpacking(_) => "inline-bitpacking",
            Self::OutOfLineBitpacking(_) => "out-of-line-bitpacking",
            Self::Rle(_) => "rle",
            Self::Fsst(_) => "fsst",
            Self::ByteStreamSplit(_) => "byte-stream-split",
            Self::FixedSizeList(_) => "fixed-size-list",
            Self::General(_) => "general",
            Self::PackedStruct(_) => "packed-struct",
            Self::VariablePackedStruct(_) => "variable-packed-struct",
        }
    }
}

fn parse_nested(encoding: Option<&CompressiveEncoding>, depth: usize) -> Result<Codec> {
    if depth > MAX_DEPTH {
        return Err(corrupt(format!("more than {MAX_DEPTH} codecs within each other")));
    }
    let compression = encoding.and_then(|encoding| encoding.compression.as_ref());
    let nested = |encoding: &Option<Box<CompressiveEncoding>>| parse_nested(encoding.as_deref(), depth + 1);
    Ok(match compression.ok_or_else(|| corrupt("a codec is missing or unknown"))? {
        Compression::Flat(flat) => Codec::Flat(Flat::parse(flat)?),
        Compression::Variable(variable) if variable.values.is_some() => {
            return Err(FormatError::unsupported("compressed bytes of strings"));
        }
        Compression::Variable(variable) => Codec::Variable(Variable::parse(&nested(&variable.offsets)?)?),
        Compression::Constant(constant) => Codec::Constant(Constant::parse(constant)),
        Compression::InlineBitpacking(packed) => Codec::InlineBitpacking(InlineBitpacking::parse(packed)?),
        Compression::OutOfLineBitpacking(packed) => {
            let values = nested(&packed.values)?;
            Codec::OutOfLineBitpacking(OutOfLineBitpacking::parse(packed, &values)?)
        }
        Compression::Rle(rle) => Codec::Rle(Rle::parse(&nested(&rle.values)?, &nested(&rle.run_lengths)?)?),
        Compression::Fsst(fsst) => Codec::Fsst(Fsst::parse(fsst, nested(&fsst.values)?)?),
        Compression::ByteStreamSplit(split) => {
            Codec::ByteStreamSplit(ByteStreamSplit::parse(&nested(&split.values)?)?)
        }
        Compression::FixedSizeList(list) => {
            Codec::FixedSizeList(FixedSizeList::parse(list, nested(&list.values)?)?)
        }
        Compression::General(general) => Codec::General(General::parse(general, nested(&general.values)?)?),
        Compression::PackedStruct(packed) => {
            Codec::PackedStruct(PackedStruct::parse(packed, &nested(&packed.values)?)?)
        }
        Compression::VariablePackedStruct(packed) => {
            let nested = |encoding: Option<&CompressiveEncoding>| parse_nested(encoding, depth + 1);
            Codec::VariablePackedStruct(VariablePackedStruct::parse(&packed.fields, nested)?)
        }
        Compression::Dictionary(_) => return Err(FormatError::unsupported("the codec Dictionary")),
    })
}

/// The width of the numbers of a codec that packs or repeats them.
fn word_bits(bits: u64) -> Result<usize> {
    match bits {
        8 => Ok(8),
        16 => Ok(16),
        32 => Ok(32),
        64 => Ok(64),
        _ => Err(corrupt(format!("numbers of {bits} bits"))),
    }
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("codec", reason)
}

/// Runs code for the unsigned integer type of 8, 16, 32 or 64 bits.
macro_rules! with_word {
    ($bits:expr, $word:ident => $body:expr) => {
        match $bits {
            8 => {
                type $word = u8;
                $body
            }
            16 => {
                type $word = u16;
                $body
            }
            32 => {
                type $word = u32;
                $body
            }
            64 => {
                type $word = u64;
                $body
            }
            bits => Err(FormatError::corrupt("codec", format!("numbers of {bits} bits"))),
        }
    };
}
pub(crate) use with_word;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto;

    #[test]
    fn depth_is_bounded() {
        let mut encoding = CompressiveEncoding {
            compression: Some(Compression::Flat(proto::Flat { bits_per_value: 8, data: None })),
        };
        for _ in 0..MAX_DEPTH {
            encoding = CompressiveEncoding {
                compression: Some(Compression::FixedSizeList(Box::new(proto::FixedSizeList {
                    items_per_value: 1,
                    has_validity: false,
                    values: Some(Box::new(encoding)),
                }))),
            };
        }
        assert!(Codec::parse(Some(&encoding), Place::Chunks).is_ok());
        let one_more = proto::FixedSizeList {
            items_per_value: 1,
            has_validity: false,
            values: Some(Box::new(encoding)),
        };
        let one_more =
            CompressiveEncoding { compression: Some(Compression::FixedSizeList(Box::new(one_more))) };
        assert!(Codec::parse(Some(&one_more), Place::Chunks).is_err());
        assert!(Codec::parse(None, Place::Chunks).is_err());
    }
}
