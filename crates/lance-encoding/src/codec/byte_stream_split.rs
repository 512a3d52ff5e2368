//! Byte stream split: the first bytes of all values, then the second bytes, and so on.
//!
//! ```text
//! mini-block   byte j of value i is at j * n + i     n values of the chunk, of 4 or 8 bytes
//! ```
//!
//! It makes nothing smaller; general compression around it does.

use lance_footer::{FormatError, Result};

use super::{Codec, Picks, corrupt, with_word};
use crate::bounds;
use crate::kernel::bitpack::Word;
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

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt32Type;
    use arrow_schema::DataType;

    use super::*;
    use crate::storage::Storage;

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
