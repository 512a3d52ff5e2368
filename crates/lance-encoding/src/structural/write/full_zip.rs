//! Full-zip pages: wide values, each with its levels.
//!
//! ```text
//! buffer 0       records: control word | value
//! buffer 1       rows + 1 offsets of records; with lists, or if values vary in width
//!
//! control word   repetition << bits_def | definition, in 0, 1, 2 or 4 bytes
//! value          fixed width: its bytes, unless the entry owns no slot
//!                strings: length | bytes, unless it is missing
//! ```

use arrow_buffer::Buffer;
use bytes::Bytes;
use lance_footer::{FormatError, Result};

use super::page::Page;
use crate::block::{Block, Offsets, shared};
use crate::codec::fsst::{self, Trained};
use crate::codec::general::Compressor;
use crate::codec::{fixed_size_list, flat, variable};
use crate::kernel::bitpack::Word;
use crate::proto::page_layout::Layout;
use crate::proto::{CompressiveEncoding, FullZipLayout, full_zip_layout::Details};
use crate::settings::{Compression, Settings};

/// A page of records, not put together yet.
pub(super) struct FullZip<'a> {
    page: &'a Page,
    values: Values,
    /// What is said of the values, if it is not what they seem to be.
    described: Option<CompressiveEncoding>,
}

enum Values {
    Fixed(Fixed),
    Strings { offsets: Offsets, data: Buffer, codec: StringCodec },
}

/// How strings are stored.
enum StringCodec {
    Plain,
    /// As codes of a table.
    Symbols(Trained),
    /// Each compressed.
    General {
        compressor: Compressor,
        ratio: f64,
    },
}

impl<'a> FullZip<'a> {
    /// `page`, whose values are `values`; none if values of this type are not whole bytes.
    pub(super) fn new(page: &'a Page, values: &[Block], settings: &Settings) -> Result<Option<Self>> {
        let values = match values.first() {
            Some(Block::Variable { .. }) => match Block::concat(values)? {
                Block::Variable { offsets, data } => {
                    let codec = StringCodec::choose(&offsets, &data, settings)?;
                    Some(Values::Strings { offsets, data, codec })
                }
                _ => None,
            },
            _ => fixed(values)?.map(Values::Fixed),
        };
        Ok(values.map(|values| Self { page, values, described: None }))
    }

    /// The same records, which are said to be `encoding`.
    pub(super) fn described(self, encoding: CompressiveEncoding) -> Self {
        Self { described: Some(encoding), ..self }
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> u64 {
        match &self.values {
            Values::Fixed((width, ..)) => self.page.visible() as u64 * *width as u64,
            Values::Strings { offsets, codec, .. } => {
                let bytes = offsets.at(offsets.len()) - offsets.at(0);
                // A length in front of each, and where it is in the lookup table.
                let around = offsets.len() * (offsets.width() + 4);
                codec.bytes(bytes) + around as u64
            }
        }
    }

    /// Puts it together.
    pub(super) fn encode(self) -> Result<(Layout, Vec<Vec<Bytes>>)> {
        let page = self.page;
        let control = Control::new(page);
        let (details, encoding, buffers) = match self.values {
            Values::Strings { offsets, data, codec } => {
                let width = offsets.width();
                let details = Details::BitsPerOffset(u32::try_from(width * 8).unwrap_or_default());
                let plain = variable::encoding(width);
                let (encoding, offsets, data) = match codec {
                    StringCodec::Plain => (plain, offsets, data),
                    StringCodec::Symbols(trained) => {
                        let (offsets, data) = trained.encode(&offsets, &data)?;
                        (fsst::encoding(&trained.table(), plain), offsets, data)
                    }
                    StringCodec::General { mut compressor, .. } => {
                        let (offsets, data) = each_compressed(page, &mut compressor, &offsets, &data)?;
                        (compressor.encoding(plain), offsets, data)
                    }
                };
                (details, encoding, strings(page, &control, &offsets, &data)?)
            }
            Values::Fixed((width, encoding, parts)) => {
                let bits = u32::try_from(width.saturating_mul(8))
                    .map_err(|_| FormatError::unsupported("values of 512 MiB or more"))?;
                (Details::BitsPerValue(bits), encoding, fixed_records(page, &control, width, parts))
            }
        };
        let count = |n: usize| {
            u32::try_from(n).map_err(|_| FormatError::unsupported("a page with more than 2^32 entries"))
        };
        let layout = FullZipLayout {
            bits_rep: control.bits_rep,
            bits_def: control.bits_def,
            num_items: count(page.entries)?,
            num_visible_items: count(page.visible())?,
            value_compression: Some(self.described.unwrap_or(encoding)),
            layers: page.layers(),
            details: Some(details),
        };
        Ok((Layout::FullZipLayout(layout), buffers))
    }
}

/// Strings of more bytes are compressed by default, if that makes them smaller.
const LONG: usize = 32 << 10;

/// Zstd that nobody asked for, and that should be quick.
const QUICK_ZSTD: Compression = Compression::Zstd { level: Some(3) };

/// What is looked at to know whether compression makes strings smaller.
const TRIAL_STRINGS: usize = 32;
const TRIAL_BYTES: usize = 1 << 20;

/// Saving less than this share is not worth the time that reading takes longer.
const WORTHWHILE: f64 = 0.95;

impl StringCodec {
    fn choose(offsets: &Offsets, data: &[u8], settings: &Settings) -> Result<Self> {
        let general = |wanted: Compression| -> Result<Option<Self>> {
            let Some(mut compressor) = Compressor::new(wanted)? else { return Ok(None) };
            let ratio = trial(&mut compressor, offsets, data)?;
            Ok((ratio < WORTHWHILE).then_some(Self::General { compressor, ratio }))
        };
        let chosen = match settings.compression {
            Some(Compression::None) => None,
            Some(Compression::Fsst) => Some(Self::Symbols(Trained::new(offsets, data))),
            // The reference decompresses what is under a null, too: nothing, of which zstd makes nothing, but for LZ4
            // it is an error. So it writes zstd where LZ4 is asked for.
            Some(Compression::Lz4) => general(QUICK_ZSTD)?,
            Some(wanted @ Compression::Zstd { .. }) => general(wanted)?,
            None => {
                let long = offsets.longest() > LONG;
                match if long { general(QUICK_ZSTD)? } else { None } {
                    Some(general) => Some(general),
                    None => Trained::worthwhile(offsets, data).map(Self::Symbols),
                }
            }
        };
        Ok(chosen.unwrap_or(Self::Plain))
    }

    /// What strings of `bytes` bytes take, about.
    fn bytes(&self, bytes: usize) -> u64 {
        match self {
            Self::Plain => bytes as u64,
            Self::Symbols(trained) => trained.estimate(bytes),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
            Self::General { ratio, .. } => (bytes as f64 * ratio) as u64,
        }
    }
}

/// What a byte of some of the strings becomes.
fn trial(compressor: &mut Compressor, offsets: &Offsets, data: &[u8]) -> Result<f64> {
    let (mut before, mut after, mut out) = (0, 0, vec![]);
    let strings = offsets.len().min(TRIAL_STRINGS);
    for string in 0..strings {
        let range = offsets.range(offsets.len() / strings * string);
        let room = (TRIAL_BYTES / strings).min(range.len());
        let string = data.get(range.start..range.start + room).unwrap_or_default();
        out.clear();
        compressor.append(string, &mut out)?;
        (before, after) = (before + string.len(), after + out.len());
    }
    Ok(after as f64 / before.max(1) as f64)
}

/// Each string of `data`, cut at `offsets`, compressed by itself. Those that are null stay without bytes.
fn each_compressed(
    page: &Page,
    compressor: &mut Compressor,
    offsets: &Offsets,
    data: &[u8],
) -> Result<(Offsets, Buffer)> {
    let (mut out, mut lengths) = (vec![], Vec::with_capacity(offsets.len()));
    let mut there = page.validity();
    for index in 0..offsets.len() {
        let start = out.len();
        if there.as_mut().is_none_or(|there| there.next() == Some(true)) {
            compressor.append(data.get(offsets.range(index)).unwrap_or_default(), &mut out)?;
        }
        lengths.push(out.len() - start);
    }
    Ok((Offsets::from_lengths(offsets.width() == 8, lengths.into_iter())?, out.into()))
}

/// The levels in front of records.
struct Control {
    bits_rep: u32,
    bits_def: u32,
    /// Bytes.
    width: usize,
}

impl Control {
    fn new(page: &Page) -> Self {
        // Stored levels take a bit even if all are 0: see `number`.
        let bits =
            |levels: &Option<Vec<u16>>| levels.as_deref().map_or(0, |levels| u16::width(levels).max(1));
        let (rep, def) = (bits(&page.levels.repetition), bits(&page.levels.definition));
        let width = match rep + def {
            0 => 0,
            1..=8 => 1,
            9..=16 => 2,
            _ => 4,
        };
        // At most 16 bits each.
        let bits = |bits: usize| u32::try_from(bits).unwrap_or_default();
        Self { bits_rep: bits(rep), bits_def: bits(def), width }
    }

    fn write(&self, entry: Entry, out: &mut Vec<u8>) {
        let word = u32::from(entry.repetition) << self.bits_def | u32::from(entry.definition);
        out.extend_from_slice(word.to_le_bytes().get(..self.width).unwrap_or_default());
    }
}

#[derive(Clone, Copy)]
struct Entry {
    repetition: u16,
    definition: u16,
}

fn entries(page: &Page) -> impl Iterator<Item = Entry> + '_ {
    let at = |levels: &Option<Vec<u16>>, entry: usize| {
        levels.as_ref().and_then(|levels| levels.get(entry)).copied().unwrap_or(0)
    };
    (0..page.entries).map(move |entry| Entry {
        repetition: at(&page.levels.repetition, entry),
        definition: at(&page.levels.definition, entry),
    })
}

/// Values of fixed width: their bytes, what they are, and all of them in parts.
type Fixed = (usize, crate::proto::CompressiveEncoding, Vec<Buffer>);

fn fixed(values: &[Block]) -> Result<Option<Fixed>> {
    match values.first() {
        Some(Block::Fixed { width, .. }) => {
            let parts = values.iter().filter_map(Block::fixed_bytes).cloned().collect();
            Ok(Some((*width, flat::encoding(*width as u64 * 8), parts)))
        }
        Some(Block::Bits(_)) => {
            let parts = values.iter().filter_map(|block| match block {
                Block::Bits(bits) => Some(bits.iter().map(u8::from).collect::<Vec<_>>().into()),
                _ => None,
            });
            Ok(Some((1, flat::encoding(8), parts.collect())))
        }
        Some(Block::FixedSizeList { .. }) => {
            // All values have bitmaps if one has.
            let block = Block::concat(values)?;
            let zipped = fixed_size_list::zipped(&block).zip(fixed_size_list::encoding(&block));
            Ok(zipped.map(|((width, bytes), encoding)| (width, encoding, vec![bytes])))
        }
        _ => Ok(None),
    }
}

fn fixed_records(page: &Page, control: &Control, width: usize, parts: Vec<Buffer>) -> Vec<Vec<Bytes>> {
    if control.width == 0 {
        return vec![parts.into_iter().map(shared).collect()];
    }
    let (top, max_visible) = (page.numbering.max_repetition(), page.numbering.max_visible());
    let mut out = Vec::with_capacity(page.entries * control.width + page.visible() * width);
    let mut rows = vec![];
    let mut values = parts.iter().flat_map(|part| part.chunks_exact(width));
    for entry in entries(page) {
        if top > 0 && entry.repetition == top {
            rows.push(out.len());
        }
        control.write(entry, &mut out);
        if entry.definition <= max_visible {
            out.extend_from_slice(values.next().unwrap_or_default());
        }
    }
    if top == 0 {
        return vec![vec![out.into()]];
    }
    rows.push(out.len());
    vec![vec![out.into()], vec![index(&rows).into()]]
}

fn strings(page: &Page, control: &Control, offsets: &Offsets, data: &[u8]) -> Result<Vec<Vec<Bytes>>> {
    let (top, max_visible) = (page.numbering.max_repetition(), page.numbering.max_visible());
    let bytes = offsets.at(offsets.len()) - offsets.at(0);
    let mut out = Vec::with_capacity(page.entries * control.width + offsets.len() * offsets.width() + bytes);
    let mut rows = Vec::with_capacity(page.rows + 1);
    let mut value = 0;
    for entry in entries(page) {
        if entry.repetition == top {
            rows.push(out.len());
        }
        control.write(entry, &mut out);
        if entry.definition == 0 {
            let range = offsets.range(value);
            let length = range.len().to_le_bytes();
            out.extend_from_slice(length.get(..offsets.width()).unwrap_or_default());
            out.extend_from_slice(data.get(range).unwrap_or_default());
        }
        value += usize::from(entry.definition <= max_visible);
    }
    rows.push(out.len());
    Ok(vec![vec![out.into()], vec![index(&rows).into()]])
}

/// `offsets`, of which the last is the largest, in the fewest bytes each.
fn index(offsets: &[usize]) -> Vec<u8> {
    let width = match offsets.last().copied().unwrap_or(0) {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    };
    let mut out = Vec::with_capacity(offsets.len() * width);
    for offset in offsets {
        out.extend_from_slice(offset.to_le_bytes().get(..width).unwrap_or_default());
    }
    out
}
