//! Which layout a page gets, and how its values are encoded.

use arrow_array::ArrayRef;
use bytes::Bytes;
use lance_footer::{FormatError, Result};

use super::full_zip::FullZip;
use super::levels::LevelCodecs;
use super::packed_struct::Packed;
use super::page::{Page, cuts, longest_gap, prepared, split};
use super::path::{LeafKind, LeafPath};
use super::shred::Shredded;
use super::{constant, items, levels, mini_block};
use crate::Levels;
use crate::block::Block;
use crate::codec::dictionary::Distinct;
use crate::codec::flat::FlatScheme;
use crate::field::at_member;
use crate::proto::page_layout::Layout;
use crate::rules::Rules;
use crate::scheme::{self, Asked, Proposal, Scheme};
use crate::settings::{Compression, Forced, Settings};

/// Values from this many bytes on are wide: each is found by itself instead of with its neighbours.
const WIDE: usize = 256;

/// Values of more bytes are wide even if they are lists of bits.
const HUGE: usize = 8 << 10;

/// Bytes that a chunk may have besides levels and values: the sizes of these, and padding.
const HEADER: usize = 1 << 10;

/// Nothing smaller than a constant page of so many bytes is looked for.
const SMALL: u64 = 512;

/// A page in bytes.
#[derive(Debug)]
pub(super) struct Laid {
    /// Top-level rows.
    pub(super) rows: usize,
    pub(super) layout: Layout,
    pub(super) buffers: Vec<Vec<Bytes>>,
}

/// The pages that hold `shredded`: one, unless its levels do not fit into one. Values are indices into `dictionary`,
/// if there is one. Errors name the leaf.
pub(super) fn lay_out(
    shredded: Shredded,
    path: &LeafPath,
    dictionary: Option<&ArrayRef>,
    rules: &Rules,
) -> Result<Vec<Laid>> {
    let dictionary = dictionary.map(Block::from_array).transpose();
    dictionary.and_then(|dictionary| pages(shredded, path, dictionary.as_ref(), rules)).map_err(|error| {
        let error = match error {
            FormatError::Unsupported { what } => FormatError::unsupported(format!("writing {what}")),
            other => other,
        };
        at_member(error, path.name())
    })
}

fn pages(
    shredded: Shredded,
    path: &LeafPath,
    dictionary: Option<&Block>,
    rules: &Rules,
) -> Result<Vec<Laid>> {
    let page = Page::new(shredded, path)?;
    let laid = |(layout, buffers)| Ok(vec![Laid { rows: page.rows, layout, buffers }]);
    if path.kind == LeafKind::EmptyStruct {
        if page.levels != Levels::default() {
            let what = "a struct without members that is null, or below a null or a list";
            return Err(FormatError::unsupported(what));
        }
        return laid(constant::empty_struct());
    }
    if page.is_missing() {
        return laid(constant::all_missing(&page, rules));
    }
    let mut constant = match rules.constant_values && dictionary.is_none() && path.packed.is_none() {
        true => constant::one_value(&page),
        false => None,
    };
    let small = |(_, buffers): &(Layout, Vec<Vec<Bytes>>)| size(buffers) <= SMALL;
    if let Some(constant) = constant.take_if(|page| path.settings.layout.is_some() || small(page)) {
        return laid(constant);
    }
    let values = prepared(&page)?;
    let filled = Filled { page: &page, values: &values, path, dictionary, rules }.lay_out();
    let Some(constant) = constant else { return filled };
    // Its levels are not packed, as others are.
    match filled {
        Ok(filled) if filled.iter().map(|page| size(&page.buffers)).sum::<u64>() < size(&constant.1) => {
            Ok(filled)
        }
        _ => laid(constant),
    }
}

/// What buffers take, and the padding after each.
fn size(buffers: &[Vec<Bytes>]) -> u64 {
    let bytes = |parts: &Vec<Bytes>| parts.iter().map(|part| part.len() as u64).sum::<u64>();
    buffers.iter().map(|buffer| bytes(buffer).next_multiple_of(64)).sum()
}

/// A page with values.
#[derive(Clone, Copy)]
struct Filled<'a> {
    page: &'a Page,
    values: &'a [Block],
    path: &'a LeafPath,
    dictionary: Option<&'a Block>,
    rules: &'a Rules,
}

impl<'a> Filled<'a> {
    fn lay_out(self) -> Result<Vec<Laid>> {
        if self.dictionary.is_some() {
            return self.chunks(scheme::choose(self.asked(self.values))?, self.dictionary);
        }
        let forced = self.path.settings.layout;
        if let Some(packed) = &self.path.packed {
            return self.packed(packed, forced);
        }
        let wide = forced.map_or_else(|| is_wide(self.values), |forced| forced == Forced::FullZip);
        let records = if wide { self.records()? } else { None };
        if let Some(records) = records {
            return match self.distinct(records.bytes())? {
                Some(pages) => Ok(pages),
                None => self.zip(records),
            };
        }
        if forced == Some(Forced::FullZip) {
            return Err(FormatError::unsupported("full-zip pages of values that are not whole bytes"));
        }
        let proposal = scheme::choose(self.asked(self.values))?;
        match self.distinct(proposal.bytes())? {
            Some(pages) => Ok(pages),
            None => self.chunks(proposal, None),
        }
    }

    /// Pages of rows that are packed structs, which nothing else is made of.
    fn packed(self, packed: &Packed, forced: Option<Forced>) -> Result<Vec<Laid>> {
        let wide = match forced {
            Some(Forced::MiniBlock) if packed.is_variable() => {
                return Err(FormatError::unsupported(
                    "packed structs with strings or lists in mini-block pages",
                ));
            }
            Some(forced) => forced == Forced::FullZip,
            None => packed.is_variable() || is_wide(self.values),
        };
        if wide && let Some(records) = self.records()? {
            return self.zip(records);
        }
        let plain = FlatScheme.propose(self.asked(self.values));
        let plain = plain.ok_or_else(|| FormatError::unsupported("such packed structs"))?;
        self.chunks(packed.described(plain), None)
    }

    fn asked<'b>(self, blocks: &'b [Block]) -> Asked<'b>
    where
        'a: 'b,
    {
        // Half of a small chunk is for levels, if there are any.
        let room = match self.page.levels == Levels::default() {
            true => self.rules.max_chunk_bytes - 64,
            false => self.rules.max_chunk_bytes / 2 - 64,
        };
        Asked::new(blocks, &self.path.settings, room)
    }

    /// The page with a dictionary that is made for it; none if it is no smaller than `other` bytes.
    fn distinct(self, other: u64) -> Result<Option<Vec<Laid>>> {
        let asked = self.asked(self.values);
        let Some(distinct) = Distinct::of(asked, self.page.validity(), self.rules, other) else {
            return Ok(None);
        };
        let indices = std::slice::from_ref(&distinct.indices);
        let proposal = scheme::choose(self.asked(indices))?;
        if proposal.bytes() + distinct.item_bytes() >= other {
            return Ok(None);
        }
        self.chunks(proposal, Some(&distinct.items)).map(Some)
    }

    fn records(self) -> Result<Option<FullZip<'a>>> {
        let Some(packed) = &self.path.packed else {
            return FullZip::new(self.page, self.values, &self.path.settings);
        };
        let plain = Settings { compression: Some(Compression::None), ..Settings::default() };
        let records = FullZip::new(self.page, self.values, &plain)?;
        Ok(records.map(|records| records.described(packed.encoding())))
    }

    fn zip(self, records: FullZip<'_>) -> Result<Vec<Laid>> {
        let (layout, buffers) = records.encode()?;
        Ok(vec![Laid { rows: self.page.rows, layout, buffers }])
    }

    /// A mini-block page with values as `proposal` says, or several.
    fn chunks(self, proposal: Proposal<'_>, dictionary: Option<&Block>) -> Result<Vec<Laid>> {
        let codecs = LevelCodecs::choose(&self.page.levels, self.rules);
        let limit = codecs.limit(self.level_bytes());
        let cuts = if longest_gap(self.page) <= limit.saturating_sub(2) / 3 {
            vec![]
        } else {
            cuts(self.page, limit)
        };
        if let [_] = cuts.as_slice()
            && self.page.entries > limit
        {
            // One row has so many missing lists that no chunk can hold them.
            if self.dictionary.is_none()
                && self.path.settings.layout.is_none()
                && let Some(records) = self.records()?
            {
                return self.zip(records);
            }
            return Err(FormatError::unsupported(format!("a row of {} list entries", self.page.entries)));
        }
        if cuts.len() < 2 {
            let dictionary = dictionary.map(|items| items::encode(items, &self.path.settings, self.rules));
            let (layout, buffers) = mini_block::encode(
                self.page,
                proposal,
                dictionary.transpose()?,
                (codecs, limit),
                self.rules,
            )?;
            return Ok(vec![Laid { rows: self.page.rows, layout, buffers }]);
        }
        let mut laid = vec![];
        for piece in split(self.page, &cuts)? {
            laid.extend(pages(piece, self.path, self.dictionary, self.rules)?);
        }
        Ok(laid)
    }

    /// Bytes that the levels of a chunk may take: what half a chunk of values leaves, or two values if they are more.
    fn level_bytes(self) -> usize {
        let two = self.values.iter().map(|block| 2 * most_bytes(block)).max().unwrap_or(0);
        let chunk = self.rules.max_chunk_bytes;
        chunk.saturating_sub(two.max(chunk / 2) + HEADER).clamp(HEADER / 4, levels::MOST_BYTES)
    }
}

/// Whether there is a wide value. Lists of bits count only if two of them would not fit a chunk: bits cannot
/// always be zipped.
fn is_wide(values: &[Block]) -> bool {
    fn widest(block: &Block) -> usize {
        match block {
            Block::Null(_) | Block::Bits(_) => 0,
            Block::Fixed { width, .. } => *width,
            Block::Variable { offsets, .. } => offsets.longest(),
            Block::FixedSizeList { dimension, items, .. } => dimension.saturating_mul(widest(items)),
        }
    }
    values.iter().any(|block| widest(block) >= WIDE || most_bytes(block) > HUGE)
}

/// Bytes that a value of `block` has at most in a chunk, with its length or which of its items are null.
fn most_bytes(block: &Block) -> usize {
    fn bits(block: &Block) -> usize {
        match block {
            Block::Null(_) => 0,
            Block::Bits(_) => 1,
            Block::Fixed { width, .. } => width.saturating_mul(8),
            Block::Variable { offsets, .. } => (offsets.longest() + offsets.width()).saturating_mul(8),
            Block::FixedSizeList { dimension, validity, items } => {
                dimension.saturating_mul(bits(items) + usize::from(validity.is_some()))
            }
        }
    }
    bits(block).div_ceil(8)
}
