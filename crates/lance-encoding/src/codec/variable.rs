//! Variable: byte strings with offsets.
//!
//! ```text
//! mini-block   n + 1 offsets, counted from the start of the buffer | bytes | padding to the offset width
//! block        offset bits (u32 or u64) | position of the bytes | n + 1 offsets, the first is 0 | bytes
//! per value    the bytes
//! ```
//!
//! Offsets have 32 or 64 bits, and so have the two numbers in front of a block.

use std::ops::Range;

use arrow_buffer::{ArrowNativeType, Buffer};
use bytes::Bytes;
use lance_footer::{FormatError, Result};

use super::fsst::{self, Trained};
use super::{Codec, Picks, corrupt, flat};
use crate::block::{Block, Offsets};
use crate::bounds;
use crate::proto::{self, CompressiveEncoding, compressive_encoding};
use crate::scheme::{Asked, ChunkBuffers, Chunks, MOST_CHUNK_VALUES, Proposal, Scheme, plain_bytes};
use crate::settings::Compression;
use crate::storage::Storage;
use crate::values::{Offset, Values, VariableValues, misfit};

/// Byte strings with offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Whether offsets have 64 bits.
    pub(crate) wide: bool,
}

/// Byte strings and where they begin and end, not checked yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strings<'a> {
    offsets: &'a [u8],
    /// What the offsets count from.
    bytes: &'a [u8],
    wide: bool,
}

impl Variable {
    pub(super) fn parse(offsets: &Codec) -> Result<Self> {
        match offsets {
            Codec::Flat(flat) if flat.bits == 32 => Ok(Self { wide: false }),
            Codec::Flat(flat) if flat.bits == 64 => Ok(Self { wide: true }),
            _ => Err(corrupt("string offsets that are neither flat 32 nor flat 64 bits")),
        }
    }

    pub(super) fn fits(self, storage: &Storage) -> bool {
        matches!(storage, Storage::Variable { wide } if *wide == self.wide)
    }

    /// Bytes of an offset.
    pub(crate) const fn offset_bytes(self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    pub(super) fn decode_mini_block(self, buffer: &[u8], picks: &Picks, out: &mut Values) -> Result<()> {
        self.mini_block(buffer, picks.count())?.append(picks, out)
    }

    /// The strings of a chunk.
    pub(super) fn mini_block(self, buffer: &[u8], count: usize) -> Result<Strings<'_>> {
        let offsets = bounds::slice(buffer, 0..self.offsets_len(count)?, "strings")?;
        Ok(Strings { offsets, bytes: buffer, wide: self.wide })
    }

    pub(super) fn decode_block(self, bytes: &[u8], count: usize, out: &mut Values) -> Result<()> {
        self.block(bytes, count)?.append(&Picks::all(count), out)
    }

    /// The strings of a block.
    fn block(self, bytes: &[u8], count: usize) -> Result<Strings<'_>> {
        let width = self.offset_bytes();
        let offsets_end = bounds::product(width, 2, "strings")?.checked_add(self.offsets_len(count)?);
        let offsets_end = offsets_end.ok_or_else(|| corrupt("too many strings"))?;
        let header =
            Strings { offsets: bounds::slice(bytes, 0..2 * width, "strings")?, bytes, wide: self.wide };
        let (bits, data) = (header.offset(0)?, header.offset(1)?);
        if bits != width * 8 {
            return Err(FormatError::unsupported(format!("a block of strings with offsets of {bits} bits")));
        }
        if data < offsets_end {
            return Err(FormatError::corrupt(
                "strings",
                format!("the bytes start at {data}, within the offsets"),
            ));
        }
        let offsets = bounds::slice(bytes, 2 * width..offsets_end, "strings")?;
        Ok(Strings { offsets, bytes: bounds::slice(bytes, data..bytes.len(), "strings")?, wide: self.wide })
    }

    fn offsets_len(self, count: usize) -> Result<usize> {
        let offsets = count.checked_add(1).ok_or_else(|| corrupt("too many strings"))?;
        bounds::product(offsets, self.offset_bytes(), "strings")
    }
}

impl<'a> Strings<'a> {
    /// Appends the picked strings.
    fn append(&self, picks: &Picks, out: &mut Values) -> Result<()> {
        match out {
            Values::Small(values) if !self.wide => self.append_to(picks, values),
            Values::Large(values) if self.wide => self.append_to(picks, values),
            _ => Err(misfit("strings")),
        }
    }

    fn append_to<O: Offset>(&self, picks: &Picks, out: &mut VariableValues<O>) -> Result<()> {
        for range in picks.ranges() {
            if range.is_empty() {
                continue;
            }
            let (first, last) = (self.offset(range.start)?, self.offset(range.end)?);
            let data = bounds::slice(self.bytes, first..last, "strings")?;
            let width = if self.wide { 8 } else { 4 };
            let ends =
                bounds::slice(self.offsets, (range.start + 1) * width..(range.end + 1) * width, "strings")?;
            out.reserve(range.len(), data.len());
            if self.wide {
                // Where usize has 32 bits, an offset that does not fit is beyond any buffer.
                let ends = ends.as_chunks::<8>().0.iter();
                let ends = ends.map(|end| usize::try_from(u64::from_le_bytes(*end)).unwrap_or(usize::MAX));
                out.append_run(data, first, ends)?;
            } else {
                let ends = ends.as_chunks::<4>().0.iter();
                out.append_run(data, first, ends.map(|end| u32::from_le_bytes(*end) as usize))?;
            }
        }
        Ok(())
    }

    /// String `index`.
    pub(super) fn get(&self, index: usize) -> Result<&'a [u8]> {
        bounds::slice(self.bytes, self.offset(index)?..self.offset(index + 1)?, "strings")
    }

    /// The bytes of the strings of `range`, which are one after the other if all of them can be had.
    pub(super) fn bytes(&self, range: &Range<usize>) -> Result<&'a [u8]> {
        let (first, last) = (self.offset(range.start)?, self.offset(range.end)?);
        bounds::slice(self.bytes, first..last, "strings")
    }

    fn offset(&self, index: usize) -> Result<usize> {
        let number = if self.wide {
            self.offsets.as_chunks().0.get(index).map(|offset| u64::from_le_bytes(*offset))
        } else {
            self.offsets.as_chunks().0.get(index).map(|offset| u32::from_le_bytes(*offset).into())
        };
        let number = number.ok_or_else(|| FormatError::corrupt("strings", format!("no offset {index}")))?;
        bounds::size(number, "strings")
    }
}

/// Strings, as they are or as codes of a table of symbols.
pub(crate) struct VariableScheme;

impl Scheme for VariableScheme {
    fn propose<'a>(&self, asked: Asked<'a>) -> Option<Proposal<'a>> {
        let [Block::Variable { offsets, data }] = asked.blocks else { return None };
        let strings = plain_bytes(asked.blocks);
        let trained = match asked.settings.compression {
            None => Trained::worthwhile(offsets, data),
            Some(Compression::Fsst) => Some(Trained::new(offsets, data)),
            Some(_) => None,
        };
        let target = asked.string_chunk;
        let bytes = match &trained {
            None => strings,
            Some(trained) => {
                let bytes = offsets.at(offsets.len()) - offsets.at(0);
                strings - bytes as u64 + trained.estimate(bytes)
            }
        };
        let start = move || -> Result<Box<dyn Chunks + 'a>> {
            let ((offsets, data), table) = match trained {
                None => ((offsets.clone(), data.clone()), None),
                Some(trained) => (trained.encode(offsets, data)?, Some(trained.table())),
            };
            Ok(Box::new(ChunkStrings { offsets, data, table, target }))
        };
        Some(Proposal::new(bytes, chunks_of(bytes, target), start))
    }
}

/// The description of strings with offsets of `width` bytes.
pub(crate) fn encoding(width: usize) -> CompressiveEncoding {
    let offsets = Some(Box::new(flat::encoding(width as u64 * 8)));
    let variable = proto::Variable { offsets, values: None };
    CompressiveEncoding { compression: Some(compressive_encoding::Compression::Variable(Box::new(variable))) }
}

/// Strings as one block.
pub(crate) fn block(offsets: &Offsets, data: &[u8]) -> Vec<u8> {
    let (width, len) = (offsets.width(), offsets.len());
    let strings = data.get(offsets.at(0)..offsets.at(len)).unwrap_or_default();
    let head = width * (2 + len + 1);
    let mut out = Vec::with_capacity(head + strings.len());
    match offsets {
        Offsets::Small(offsets) => write_offsets::<_, 4>(&[32, head], offsets, 0, &mut out),
        Offsets::Large(offsets) => write_offsets::<_, 8>(&[64, head], offsets, 0, &mut out),
    }
    out.extend_from_slice(strings);
    out
}

/// How many chunks strings of `bytes` bytes make, about: they are half full to full.
fn chunks_of(bytes: u64, target: usize) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX) / (target * 3 / 4).max(1) + 1
}

struct ChunkStrings {
    offsets: Offsets,
    data: Buffer,
    /// The symbols, if the strings are codes.
    table: Option<Bytes>,
    /// Bytes that a chunk should have.
    target: usize,
}

impl ChunkStrings {
    fn size(&self, values: Range<usize>) -> usize {
        (values.len() + 1) * self.offsets.width() + self.offsets.at(values.end)
            - self.offsets.at(values.start)
    }
}

impl Chunks for ChunkStrings {
    fn encoding(&self) -> CompressiveEncoding {
        let strings = encoding(self.offsets.width());
        match &self.table {
            Some(table) => fsst::encoding(table, strings),
            None => strings,
        }
    }

    fn count(&self, start: usize, left: usize) -> usize {
        if left <= MOST_CHUNK_VALUES && self.size(start..start + left) <= self.target {
            return left;
        }
        let (mut count, most) = (2, left.min(MOST_CHUNK_VALUES + 1));
        while count * 2 < most && self.size(start..start + count * 2) <= self.target {
            count *= 2;
        }
        count.min(left)
    }

    fn write(&mut self, values: Range<usize>, out: &mut ChunkBuffers) -> Result<()> {
        let width = self.offsets.width();
        let base = (values.len() + 1) * width;
        let span = self.offsets.at(values.start)..self.offsets.at(values.end);
        let strings = self.data.get(span).unwrap_or_default();
        let (first, last) = (values.start, values.end + 1);
        out.buffer(|bytes| {
            let start = bytes.len();
            match &self.offsets {
                Offsets::Small(offsets) => {
                    write_offsets::<_, 4>(&[], offsets.get(first..last).unwrap_or_default(), base, bytes);
                }
                Offsets::Large(offsets) => {
                    write_offsets::<_, 8>(&[], offsets.get(first..last).unwrap_or_default(), base, bytes);
                }
            }
            bytes.extend_from_slice(strings);
            let size = (bytes.len() - start).next_multiple_of(width);
            bytes.resize(start + size, 0);
        });
        Ok(())
    }
}

/// Appends `head`, then `offsets` such that the first is `base`; each in `WIDTH` bytes.
fn write_offsets<O: ArrowNativeType, const WIDTH: usize>(
    head: &[usize],
    offsets: &[O],
    base: usize,
    out: &mut Vec<u8>,
) {
    let first = offsets.first().map_or(0, |offset| offset.as_usize());
    let start = out.len();
    out.resize(start + (head.len() + offsets.len()) * WIDTH, 0);
    let (places, _) = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<WIDTH>();
    let numbers = head.iter().copied().chain(offsets.iter().map(|offset| offset.as_usize() - first + base));
    for (place, number) in places.iter_mut().zip(numbers) {
        // The low bytes of a number that is known to fit.
        *place = number.to_le_bytes().first_chunk().copied().unwrap_or([0; WIDTH]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, StringArray};
    use arrow_schema::DataType;

    use super::*;
    use crate::settings::Settings;

    const SMALL: Storage = Storage::Variable { wide: false };

    fn chunk() -> Vec<u8> {
        let offsets = [0x18_u32, 0x19, 0x1b, 0x1b, 0x1b, 0x1e];
        let mut bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        bytes.extend(b"abbcccHH");
        bytes
    }

    fn strings(values: Values) -> Vec<String> {
        let array = values.finish(&DataType::Utf8, None).unwrap();
        array.as_string::<i32>().iter().map(|value| value.unwrap().to_string()).collect()
    }

    #[test]
    fn offsets_of_a_chunk_count_from_its_start() {
        let codec = Variable { wide: false };
        let mut out = Values::new(&SMALL);
        codec.decode_mini_block(&chunk(), &Picks::all(5), &mut out).unwrap();
        codec.decode_mini_block(&chunk(), &Picks::new(5, vec![1..2, 4..5]).unwrap(), &mut out).unwrap();
        assert_eq!(strings(out), ["a", "bb", "", "", "ccc", "bb", "ccc"]);
    }

    #[test]
    fn a_block_has_a_header() {
        let mut bytes: Vec<u8> =
            [32_u32, 20, 0, 2, 3].iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend(b"aab");
        let mut out = Values::new(&SMALL);
        Variable { wide: false }.decode_block(&bytes, 2, &mut out).unwrap();
        assert_eq!(strings(out), ["aa", "b"]);
        bytes[1] = 1;
        let mut out = Values::new(&SMALL);
        assert!(Variable { wide: false }.decode_block(&bytes, 2, &mut out).is_err());
    }

    #[test]
    fn offsets_must_be_monotone_and_inside() {
        let codec = Variable { wide: false };
        for (at, byte) in [(4, 0x1c), (20, 0x21), (8, 0xff), (0, 0x1a), (16, 0x1f)] {
            let mut bytes = chunk();
            bytes[at] = byte;
            let mut out = Values::new(&SMALL);
            assert!(codec.decode_mini_block(&bytes, &Picks::all(5), &mut out).is_err(), "byte {at}");
        }
        assert!(codec.mini_block(&chunk(), 8).is_err());
        assert!(codec.mini_block(&chunk(), usize::MAX).is_err());
        let mut out = Values::new(&Storage::Variable { wide: true });
        assert!(codec.decode_mini_block(&chunk(), &Picks::all(5), &mut out).is_err());
    }

    fn block_of(values: &[&str]) -> Block {
        Block::from_array(&(Arc::new(StringArray::from(values.to_vec())) as ArrayRef)).unwrap()
    }

    #[test]
    fn bytes_of_a_chunk() {
        let values = block_of(&["x", "a", "bb", "", "", "ccc"]);
        let values = [values.slice(1..6)];
        let (mut bytes, mut sizes) = (vec![], vec![]);
        let settings = Settings::default();
        let asked = Asked::new(&values, &settings, usize::MAX);
        let mut chunks = VariableScheme.propose(asked).unwrap().start().unwrap();
        chunks.write(0..5, &mut ChunkBuffers::new(&mut bytes, &mut sizes)).unwrap();
        let mut wanted = vec![];
        for offset in [0x18_u32, 0x19, 0x1b, 0x1b, 0x1b, 0x1e] {
            wanted.extend(offset.to_le_bytes());
        }
        wanted.extend(b"abbccc\0\0");
        assert_eq!(bytes, wanted);
        assert_eq!(sizes, [32]);
    }

    #[test]
    fn a_chunk_has_no_more_values_than_its_word_can_say() {
        for (len, wanted) in [(10, 10), (32_768, 32_768), (32_769, 32_768), (100_000, 32_768)] {
            let values = [block_of(&vec![""; len])];
            let settings = Settings { chunk_bytes: Some(1 << 20), ..Settings::default() };
            let asked = Asked::new(&values, &settings, usize::MAX);
            let chunks = VariableScheme.propose(asked).unwrap().start().unwrap();
            assert_eq!(chunks.count(0, len), wanted, "of {len}");
        }
    }

    #[test]
    fn bytes_of_a_block() {
        let Block::Variable { offsets, data } = block_of(&["aa", "b"]) else { panic!("not strings") };
        let wanted = [32, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, b'a', b'a', b'b'];
        assert_eq!(block(&offsets, &data), wanted);
    }
}
