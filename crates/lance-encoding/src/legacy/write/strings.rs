//! Strings: where each ends and their bytes, compressed if that is asked for; or, where few are distinct, a dictionary.

use std::collections::HashMap;

use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use bytes::Bytes;
use lance_footer::{FormatError, Result};

use super::values::{Buffers, encoding, flat, no_nulls};
use crate::block::{Block, Offsets, shared};
use crate::codec::fsst::Trained;
use crate::codec::general::Compressor;
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::proto::array::{self as proto, ArrayEncoding};
use crate::settings::Compression;

/// Pages with at least so many rows and fewer distinct strings get a dictionary.
const DISTINCT: usize = 100;

/// LZ4 and zstd take no more bytes at once than this.
const MOST_COMPRESSED: usize = 1 << 30;

/// The strings of `arrays`, which have `data_type`.
pub(super) fn encode(
    arrays: &[ArrayRef],
    data_type: &DataType,
    compression: Option<Compression>,
    buffers: &mut Buffers,
) -> Result<ArrayEncoding> {
    // Only of this type does the reference make dictionaries, and only in these columns does it look for them.
    if *data_type == DataType::Utf8
        && let Some(encoding) = dictionary(arrays, buffers)?
    {
        return Ok(encoding);
    }
    binary(arrays, compression, buffers)
}

/// The strings of `arrays` without a dictionary.
pub(super) fn binary(
    arrays: &[ArrayRef],
    compression: Option<Compression>,
    buffers: &mut Buffers,
) -> Result<ArrayEncoding> {
    let mut blocks = Vec::with_capacity(arrays.len());
    for array in arrays {
        let block = Block::from_array(array)?;
        // What lies under a null is left out, so that it ends where it starts.
        blocks.push(match array.nulls() {
            Some(nulls) => block.without(nulls.iter())?,
            None => block,
        });
    }
    match compression {
        Some(Compression::Fsst) => {
            let block = Block::concat(&blocks)?;
            match &block {
                // The reference has symbols for strings with 32-bit offsets only.
                Block::Variable { offsets: offsets @ Offsets::Small(_), data } if has_bytes(offsets) => {
                    let trained = Trained::new(offsets, data);
                    let (ends, data) = trained.encode(offsets, data)?;
                    let coded = [Block::Variable { offsets: ends, data }];
                    let binary = Some(Box::new(plain(arrays, &coded, None, buffers)?));
                    let fsst = proto::Fsst { binary, symbol_table: trained.table() };
                    Ok(encoding(Kind::Fsst(Box::new(fsst))))
                }
                _ => plain(arrays, &[block], None, buffers),
            }
        }
        _ => plain(arrays, &blocks, compression, buffers),
    }
}

fn plain(
    arrays: &[ArrayRef],
    blocks: &[Block],
    compression: Option<Compression>,
    buffers: &mut Buffers,
) -> Result<ArrayEncoding> {
    let mut ends = Vec::with_capacity(blocks.iter().map(Block::len).sum());
    let mut parts = Vec::with_capacity(blocks.len());
    let mut end = 0_u64;
    for block in blocks {
        let Block::Variable { offsets, data } = block else {
            return Err(FormatError::unsupported("values that are not strings"));
        };
        let (first, last) = (offsets.at(0), offsets.at(offsets.len()));
        ends.extend((1..=offsets.len()).map(|index| end + (offsets.at(index) - first) as u64));
        end += (last - first) as u64;
        parts.push(shared(data.slice_with_length(first, last - first)));
    }
    let null_adjustment = end + 1;
    let valid = arrays.iter().flat_map(|array| (0..array.len()).map(|row| array.is_valid(row)));
    for (end, valid) in ends.iter_mut().zip(valid) {
        *end += if valid { 0 } else { null_adjustment };
    }
    let indices = ends.iter().flat_map(|end| end.to_le_bytes()).collect::<Vec<_>>();
    let indices = Some(Box::new(no_nulls(flat(64, vec![indices.into()], buffers))));
    let bytes = Some(Box::new(bytes(parts, compression, buffers)?));
    Ok(encoding(Kind::Binary(Box::new(proto::Binary { indices, bytes, null_adjustment }))))
}

/// The bytes of strings, after general compression if that is asked for and they are not too many.
fn bytes(
    parts: Vec<Bytes>,
    compression: Option<Compression>,
    buffers: &mut Buffers,
) -> Result<ArrayEncoding> {
    let size: usize = parts.iter().map(Bytes::len).sum();
    let compressor = match compression {
        Some(wanted) if size <= MOST_COMPRESSED => Compressor::new(wanted)?,
        _ => None,
    };
    let Some(mut compressor) = compressor else { return Ok(flat(8, parts, buffers)) };
    let plain: Vec<u8> = parts.into_iter().flatten().collect();
    let mut compressed = vec![];
    compressor.append(&plain, &mut compressed)?;
    let buffer = buffers.add(vec![compressed.into()]);
    // The level is what was asked for, not the default.
    let level = match compression {
        Some(Compression::Zstd { level }) => level,
        _ => None,
    };
    let compression = Some(proto::Compression { scheme: compressor.name().into(), level });
    Ok(encoding(Kind::Flat(proto::Flat { bits_per_value: 8, buffer, compression })))
}

/// The strings as numbers of distinct ones, 0 for null, and these; none if they are too few or too many.
fn dictionary(arrays: &[ArrayRef], buffers: &mut Buffers) -> Result<Option<ArrayEncoding>> {
    let rows: usize = arrays.iter().map(|array| array.len()).sum();
    if rows < DISTINCT {
        return Ok(None);
    }
    let mut numbers: HashMap<&str, u8> = HashMap::new();
    let mut items: Vec<Option<&str>> = vec![];
    let mut indices = Vec::with_capacity(rows);
    for array in arrays {
        let Some(strings) = array.as_any().downcast_ref::<StringArray>() else { return Ok(None) };
        for string in strings {
            let Some(string) = string else {
                indices.push(0);
                continue;
            };
            let next = items.len() + 1;
            let number = *numbers.entry(string).or_insert_with(|| u8::try_from(next).unwrap_or(u8::MAX));
            if usize::from(number) == next {
                if next >= DISTINCT {
                    return Ok(None);
                }
                items.push(Some(string));
            }
            indices.push(number);
        }
    }
    if items.is_empty() {
        items.push(None);
    }
    let num_dictionary_items = u32::try_from(items.len()).unwrap_or(u32::MAX);
    let indices = Some(Box::new(no_nulls(flat(8, vec![indices.into()], buffers))));
    let items: [ArrayRef; 1] = [std::sync::Arc::new(StringArray::from(items))];
    let items = Some(Box::new(binary(&items, None, buffers)?));
    let dictionary = proto::Dictionary { indices, items, num_dictionary_items };
    Ok(Some(encoding(Kind::Dictionary(Box::new(dictionary)))))
}

fn has_bytes(offsets: &Offsets) -> bool {
    offsets.at(offsets.len()) > offsets.at(0)
}
