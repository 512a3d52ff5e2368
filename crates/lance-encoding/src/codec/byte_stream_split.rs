//! Byte stream split: the first bytes of all values, then the second bytes, and so on.
//!
//! ```text
//! mini-block   byte j of value i is at j * n + i     n values of the chunk, of 4 or 8 bytes
//! ```
//!
//! It makes nothing smaller; general compression around it does.

use std::ops::Range;

use lance_footer::{FormatError, Result};

use super::{Codec, Picks, corrupt, flat, with_word};
use crate::block::Parts;
use crate::bounds;
use crate::kernel::bitpack::Word;
use crate::proto::{self, CompressiveEncoding, compressive_encoding::Compression};
use crate::scheme::{
    Asked, ChunkBuffers, Chunks, Proposal, Scheme, count, fixed_chunks, fixed_count, plain_bytes,
};
use crate::values::{Values, misfit};

/// Bytes of the same significance lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteStreamSplit {
    /// Bits of a value: 32 or 64.
    pub(crate) bits: usize,
}

impl ByteStreamSplit {
    pub(super) fn parse(values: &Codec) -> Result<Self> {
        match values {
            Codec::Flat(flat) if matches!(flat.bits, 32 | 64) => Ok(Self { bits: flat.bits }),
            _ => Err(corrupt("a byte stream split of something else than 32 or 64 flat bits")),
        }
    }

    pub(super) fn decode_mini_block(self, buffer: &[u8], picks: &Picks, out: &mut Values) -> Result<()> {
        let Values::Fixed(values) = out else { return Err(misfit("numbers")) };
        let due = bounds::bytes_for(picks.count(), self.bits, "byte stream split")?;
        bounds::exactly(buffer, due, "byte stream split")?;
        with_word!(self.bits, T => picks.decode::<T>(values, |out| {
            merge(buffer, out);
            Ok(())
        }))
    }
}

fn merge<T: Word>(buffer: &[u8], out: &mut [T]) {
    let count = out.len().max(1);
    let mut streams = buffer.chunks_exact(count);
    let streams: [&[u8]; 8] = std::array::from_fn(|_| streams.next().unwrap_or_default());
    for (i, value) in out.iter_mut().enumerate() {
        let bytes = streams.map(|stream| stream.get(i).copied().unwrap_or_default());
        T::read(&bytes, std::slice::from_mut(value));
    }
}

/// Numbers of 32 or 64 bits, for general compression to make smaller.
pub(crate) struct SplitScheme;

impl Scheme for SplitScheme {
    fn propose<'a>(&self, asked: Asked<'a>) -> Option<Proposal<'a>> {
        let (width @ (4 | 8), parts) = Parts::new(asked.blocks)? else { return None };
        let (bytes, target) = (plain_bytes(asked.blocks), asked.fixed_chunk);
        let chunks = fixed_chunks(width * 8, count(asked.blocks), target);
        Some(Proposal::new(bytes, chunks, move || {
            Ok(Box::new(Split { width, parts, target, values: vec![] }))
        }))
    }
}

struct Split<'a> {
    width: usize,
    parts: Parts<'a>,
    /// Bytes that a chunk should have.
    target: usize,
    /// A chunk before it is split.
    values: Vec<u8>,
}

impl Chunks for Split<'_> {
    fn encoding(&self) -> CompressiveEncoding {
        let split = proto::ByteStreamSplit { values: Some(Box::new(flat::encoding(self.width as u64 * 8))) };
        CompressiveEncoding { compression: Some(Compression::ByteStreamSplit(Box::new(split))) }
    }

    fn count(&self, _: usize, left: usize) -> usize {
        fixed_count(self.width * 8, left, self.target)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        self.values.clear();
        self.parts.next(values.len() * self.width, |part| self.values.extend_from_slice(part));
        out.buffer(|out| match self.width {
            4 => split::<4>(&self.values, out),
            _ => split::<8>(&self.values, out),
        });
        Ok(())
    }
}

/// Appends the first bytes of all `values`, then the second ones, and so on.
fn split<const WIDTH: usize>(values: &[u8], out: &mut Vec<u8>) {
    let (values, _) = values.as_chunks::<WIDTH>();
    for stream in 0..WIDTH {
        out.extend(values.iter().map(|value| value.get(stream).copied().unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt32Type;
    use arrow_array::{ArrayRef, Float32Array, Float64Array, Int16Array, Int64Array, UInt32Array};
    use arrow_schema::DataType;

    use super::*;
    use crate::block::Block;
    use crate::scheme::tests::array_through;
    use crate::settings::Settings;
    use crate::storage::Storage;

    #[test]
    fn values_come_back() {
        let arrays: [ArrayRef; 4] = [
            Arc::new(Float32Array::from_iter_values((0..5000).map(|at| at as f32 * 1.5))),
            Arc::new(Float64Array::from_iter_values((0..5001).map(|at| f64::from(at) / 3.0))),
            Arc::new(UInt32Array::from(vec![0x0403_0201])),
            Arc::new(Int64Array::from(vec![-1, 7])),
        ];
        for array in arrays {
            let (back, bytes) = array_through(&SplitScheme, &array, &Settings::default()).unwrap();
            assert_eq!(&back, &array);
            assert_eq!(bytes, plain_bytes(&[Block::from_array(&array).unwrap()]));
        }
        let narrow: ArrayRef = Arc::new(Int16Array::from(vec![1, 2]));
        assert!(array_through(&SplitScheme, &narrow, &Settings::default()).is_none());
    }

    #[test]
    fn bytes_come_together() {
        let codec = ByteStreamSplit { bits: 32 };
        let mut out = Values::new(&Storage::Fixed { bits: 32 });
        codec.decode_mini_block(&[1, 5, 2, 6, 3, 7, 4, 8], &Picks::all(2), &mut out).unwrap();
        assert!(codec.decode_mini_block(&[1, 5, 2, 6, 3, 7, 4], &Picks::all(2), &mut out).is_err());
        let array = out.finish(&DataType::UInt32, None).unwrap();
        assert_eq!(array.as_primitive::<UInt32Type>().values(), &[0x0403_0201, 0x0807_0605]);
    }
}
