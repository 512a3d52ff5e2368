//! What a page holds, which layout it gets, and where it must be cut for the sake of its levels.

use arrow_array::ArrayRef;
use bytes::Bytes;
use lance_footer::{FormatError, Result};

use super::levels::LevelCodecs;
use super::number::number;
use super::path::{LeafKind, LeafPath};
use super::shred::Shredded;
use super::{constant, full_zip, mini_block};
use crate::block::Block;
use crate::field::at_member;
use crate::proto::page_layout::Layout;
use crate::rules::Rules;
use crate::scheme::Asked;
use crate::settings::Forced;
use crate::{Levels, Numbering};

/// Values from this many bytes on are wide: each is found by itself instead of with its neighbours.
const WIDE: usize = 256;

/// Values of more bytes are wide even if they are lists of bits.
const HUGE: usize = 8 << 10;

/// A page in bytes.
#[derive(Debug)]
pub(super) struct Laid {
    /// Top-level rows.
    pub(super) rows: usize,
    pub(super) layout: Layout,
    pub(super) buffers: Vec<Vec<Bytes>>,
}

/// The contents of a page.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) rows: usize,
    /// Positions in the levels; rows if there are none.
    pub(super) entries: usize,
    pub(super) numbering: Numbering,
    /// What each definition level was before it was numbered.
    codes: Vec<u16>,
    pub(super) levels: Levels,
    /// The values of the entries that own one, in order.
    pub(super) values: Vec<Block>,
}

impl Page {
    /// The contents of one page that holds `shredded`.
    pub(super) fn new(shredded: Shredded, path: &LeafPath) -> Result<Self> {
        let numbered = number(shredded.codes, shredded.entries, path)?;
        Ok(Self {
            rows: shredded.rows,
            entries: shredded.entries,
            numbering: numbered.numbering,
            codes: numbered.codes,
            levels: Levels { repetition: shredded.repetition, definition: numbered.definition },
            values: shredded.values,
        })
    }

    /// Slots in the value stream.
    pub(super) fn visible(&self) -> usize {
        self.values.iter().map(Block::len).sum()
    }

    /// Whether each value slot holds a value; none if all do.
    pub(super) fn validity(&self) -> Option<impl Iterator<Item = bool> + Clone + '_> {
        let max_visible = self.numbering.max_visible();
        let definition = self.levels.definition.as_ref()?;
        Some(definition.iter().filter(move |level| **level <= max_visible).map(|level| *level == 0))
    }

    /// The layers, as a layout names them.
    pub(super) fn layers(&self) -> Vec<i32> {
        self.numbering.layers().iter().map(|layer| layer.to_proto()).collect()
    }

    /// Whether there is no value at all.
    fn is_missing(&self) -> bool {
        match &self.levels.definition {
            Some(definition) => definition.iter().all(|level| *level != 0),
            None => self.visible() == 0,
        }
    }
}

/// The pages that hold `shredded`: one, unless its levels do not fit into one.
pub(super) fn lay_out(
    shredded: Shredded,
    path: &LeafPath,
    dictionary: Option<&ArrayRef>,
    rules: &Rules,
) -> Result<Vec<Laid>> {
    let page = Page::new(shredded, path)?;
    let laid = |(layout, buffers)| Ok(vec![Laid { rows: page.rows, layout, buffers }]);
    if path.kind == LeafKind::EmptyStruct {
        if page.levels != Levels::default() {
            let what = "a struct without members that is null, or below a null or a list";
            return Err(named(FormatError::unsupported(what), path));
        }
        return laid(constant::empty_struct());
    }
    if page.is_missing() {
        return laid(constant::all_missing(&page, rules));
    }
    if rules.constant_values
        && dictionary.is_none()
        && let Some(page) = constant::one_value(&page)
    {
        return laid(page);
    }
    let fail = |error| named(error, path);
    let values = prepared(&page)?;
    let asked = Asked { blocks: &values, settings: &path.settings };
    let (zippable, forced) = (dictionary.is_none(), path.settings.layout.filter(|_| dictionary.is_none()));
    if zippable
        && forced.map_or_else(|| is_wide(&values), |forced| forced == Forced::FullZip)
        && let Some(page) = full_zip::encode(&page, &values).map_err(fail)?
    {
        return laid(page);
    }
    if forced == Some(Forced::FullZip) {
        return Err(fail(FormatError::unsupported("full-zip pages of values that are not whole bytes")));
    }
    let codecs = LevelCodecs::choose(&page.levels, rules);
    let limit = codecs.limit();
    let mini_block = || laid(mini_block::encode(&page, asked, dictionary, codecs, rules).map_err(fail)?);
    if longest_gap(&page) <= limit.saturating_sub(2) / 3 {
        return mini_block();
    }
    let cuts = cuts(&page, limit);
    if let [_] = cuts.as_slice()
        && page.entries > limit
    {
        // One row has so many missing lists that no chunk can hold them.
        if zippable
            && forced.is_none()
            && let Some(page) = full_zip::encode(&page, &values).map_err(fail)?
        {
            return laid(page);
        }
        return Err(fail(FormatError::unsupported(format!("a row of {} list entries", page.entries))));
    }
    if cuts.len() < 2 {
        return mini_block();
    }
    let mut pages = vec![];
    for piece in split(&page, &cuts)? {
        pages.extend(lay_out(piece, path, dictionary, rules)?);
    }
    Ok(pages)
}

/// The values: of fixed width as they came, others in one block, with nothing left in strings that are
/// missing.
fn prepared(page: &Page) -> Result<Vec<Block>> {
    match (page.values.first(), page.validity()) {
        (Some(Block::Variable { .. }), validity) => {
            let block = Block::concat(&page.values)?;
            Ok(vec![match validity {
                Some(validity) => block.without(validity)?,
                None => block,
            }])
        }
        (Some(Block::Fixed { .. }), _) => Ok(page.values.clone()),
        _ => Ok(vec![Block::concat(&page.values)?]),
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
    let huge = |block: &Block| block.len() > 0 && block.bytes(0..1) > HUGE;
    values.iter().any(|block| widest(block) >= WIDE || huge(block))
}

/// The most entries without a value slot that follow one another.
fn longest_gap(page: &Page) -> usize {
    let max_visible = page.numbering.max_visible();
    let (mut longest, mut gap) = (0, 0);
    if page.numbering.max_definition() > max_visible {
        for level in page.levels.definition.iter().flatten() {
            gap = if *level > max_visible { gap + 1 } else { 0 };
            longest = longest.max(gap);
        }
    }
    longest
}

/// Where the pieces end, in entries: at ends of rows, with at most `limit` entries unless a row has more.
fn cuts(page: &Page, limit: usize) -> Vec<usize> {
    let top = page.numbering.max_repetition();
    let mut cuts = vec![];
    let (mut start, mut row) = (0, 0);
    for (entry, level) in page.levels.repetition.iter().flatten().enumerate().skip(1) {
        if *level == top {
            if entry - start > limit && row > start {
                cuts.push(row);
                start = row;
            }
            row = entry;
        }
    }
    if page.entries - start > limit && row > start {
        cuts.push(row);
    }
    cuts.push(page.entries);
    cuts
}

fn split(page: &Page, cuts: &[usize]) -> Result<Vec<Shredded>> {
    let values = Block::concat(&page.values)?;
    let (top, max_visible) = (page.numbering.max_repetition(), page.numbering.max_visible());
    let code = |level: &u16| page.codes.get(usize::from(*level)).copied().unwrap_or(0);
    let (mut start, mut value) = (0, 0);
    let mut pieces = vec![];
    for end in cuts {
        let cut = |levels: &'_ Option<Vec<u16>>| {
            levels.as_ref().map(|levels| levels.get(start..*end).unwrap_or_default().to_vec())
        };
        let (repetition, definition) = (cut(&page.levels.repetition), cut(&page.levels.definition));
        let hidden = definition.iter().flatten().filter(|level| **level > max_visible).count();
        let next = value + (end - start) - hidden;
        pieces.push(Shredded {
            rows: repetition.iter().flatten().filter(|level| **level == top).count(),
            entries: end - start,
            repetition,
            codes: definition.map(|levels| levels.iter().map(code).collect()),
            values: vec![values.slice(value..next)],
        });
        (start, value) = (*end, next);
    }
    Ok(pieces)
}

/// The same error, with the name of the leaf.
fn named(error: FormatError, path: &LeafPath) -> FormatError {
    match error {
        FormatError::Unsupported { what } => {
            at_member(FormatError::unsupported(format!("writing {what}")), path.name())
        }
        other => other,
    }
}
