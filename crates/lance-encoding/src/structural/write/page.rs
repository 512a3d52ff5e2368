//! What a page holds, and where it must be cut for the sake of its levels.

use lance_footer::Result;

use super::number::number;
use super::path::LeafPath;
use super::shred::Shredded;
use crate::block::Block;
use crate::{Levels, Numbering};

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
    pub(super) fn is_missing(&self) -> bool {
        match &self.levels.definition {
            Some(definition) => definition.iter().all(|level| *level != 0),
            None => self.visible() == 0,
        }
    }
}

/// The values: of fixed width as they came, others in one block, with nothing left in strings that are
/// missing.
pub(super) fn prepared(page: &Page) -> Result<Vec<Block>> {
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

/// The most entries without a value slot that follow one another.
pub(super) fn longest_gap(page: &Page) -> usize {
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
pub(super) fn cuts(page: &Page, limit: usize) -> Vec<usize> {
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

/// The pieces that end at `cuts`.
pub(super) fn split(page: &Page, cuts: &[usize]) -> Result<Vec<Shredded>> {
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
