//! Takes of wide values: all of them in one slab, in the order asked, which then is the values buffer.
//!
//! Copies decide how fast random rows of, say, images are: where a full-zip page stores values as Arrow wants them,
//! each value is read straight to its final place, whichever pages they lie in. Lengths and control words are not
//! even read: the repetition index tells where values lie and which are null.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use bytes::Bytes;
use lance_footer::{Answer, Ask, Extent, FormatError, Machine, Result, Rows, Step};

use super::Opened;
use super::leaf::{DecodedLeaf, LeafReader, LeafType};
use super::page::Layout;
use super::unravel::Unravelled;
use crate::bounds;
use crate::order::check_part;
use crate::storage::Storage;
use crate::validity::Validity;
use crate::values::{Values, string_array};

/// Loads values straight to their place.
pub(super) struct LoadWide {
    ask: Option<Ask>,
    /// What becomes of it, without its bytes.
    loaded: Option<LoadedWide>,
}

/// Values in one slab.
pub(super) struct LoadedWide {
    slab: Bytes,
    count: usize,
    ends: Ends,
}

/// Where values end in the slab.
enum Ends {
    /// All have as many bytes.
    Every(usize),
    /// One more than there are values, starting with 0; and which are null.
    At(Vec<usize>, Option<NullBuffer>),
}

/// A machine that loads `rows` in `order`, if all of them can be read straight to their place and it is not one
/// run of rows, which is better left where it is read.
///
/// No leaf of the field may be in a list, of fixed size or not: what lists hold is put in order as a whole.
pub(super) fn load(
    field: &Opened,
    leaf: &LeafReader,
    rows: &Rows,
    order: Option<&Arc<[u32]>>,
) -> Result<Option<LoadWide>> {
    let lists = field.leaves.iter().any(|leaf| leaf.leaf.lists.contains(&true) || leaf.leaf.slots > 1);
    if lists || rows.is_empty() || (order.is_none() && rows.ranges().len() < 2) {
        return Ok(None);
    }
    let touched = leaf.touched(rows);
    let mut zipped = Vec::with_capacity(touched.len());
    let mut sorted = Vec::with_capacity(bounds::size(rows.len(), "rows")?.min(1 << 20));
    for (index, _, part) in &touched {
        let Some(page) = leaf.pages.get(*index) else { return Ok(None) };
        match &page.layout {
            Layout::FullZip(layout) if layout.is_direct() => zipped.push((page, layout)),
            _ => return Ok(None),
        }
        sorted.extend(part.iter().map(|row| (zipped.len() - 1, row)));
    }

    // A row that is asked for twice is read twice: that is one copy, where a gather would copy every row.
    let sequence: Vec<(usize, u64)> = match order {
        Some(order) => {
            let at = |position: &u32| sorted.get(usize::try_from(*position).ok()?).copied();
            order.iter().filter_map(at).collect()
        }
        None => sorted,
    };
    let mut extents: Vec<Extent> = Vec::with_capacity(sequence.len());
    let mut offsets = Vec::with_capacity(sequence.len() + 1);
    let mut validity = Validity::default();
    let mut total = 0_usize;
    offsets.push(0);
    for (page, row) in &sequence {
        let (page, layout) =
            zipped.get(*page).ok_or_else(|| FormatError::corrupt("full-zip page", "it is missing"))?;
        let value = layout.value_extent(*row).map_err(|error| page.place(error))?;
        validity.push(value.is_some());
        if let Some(value) = value {
            total = total
                .checked_add(bounds::size(value.len(), "values")?)
                .ok_or_else(|| FormatError::corrupt("values", "more bytes than fit into memory"))?;
            add(&mut extents, value)?;
        }
        offsets.push(total);
    }
    let ends = match leaf.leaf.storage.bits() {
        Some(bits) => Ends::Every(bits / 8),
        None => Ends::At(offsets, validity.finish()),
    };
    let loaded = LoadedWide { slab: Bytes::new(), count: sequence.len(), ends };
    let ask = (!extents.is_empty()).then(|| Ask::packed(extents));
    Ok(Some(LoadWide { ask, loaded: Some(loaded) }))
}

/// Adds an extent; it goes with the last one if they touch.
fn add(extents: &mut Vec<Extent>, extent: Extent) -> Result<()> {
    match extents.last_mut() {
        _ if extent.is_empty() => {}
        Some(last) if last.end() == extent.offset() => *last = Extent::between(last.offset(), extent.end())?,
        _ => extents.push(extent),
    }
    Ok(())
}

impl Machine for LoadWide {
    type Output = LoadedWide;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Self::Output>> {
        if let Some(ask) = self.ask.take() {
            return Ok(Step::Fetch(vec![ask]));
        }
        let mut loaded = self
            .loaded
            .take()
            .ok_or_else(|| FormatError::corrupt("step protocol", "a step after the machine was done"))?;
        if !answers.is_empty() {
            loaded.slab = Answer::only_packed(answers)?.freeze();
        }
        Ok(Step::Ready(loaded))
    }
}

impl LoadedWide {
    /// The loaded rows at positions `part` of `leaf`.
    pub(super) fn decode(&self, leaf: &LeafType, part: &Range<u64>) -> Result<DecodedLeaf> {
        check_part(part, self.count as u64)?;
        let range = bounds::size(part.start, "rows")?..bounds::size(part.end, "rows")?;
        // Layers above the leaf are all valid, or the page would have control words.
        let layers = leaf.lists.iter().map(|_| Unravelled { len: range.len(), nulls: None, offsets: None });
        Ok(DecodedLeaf { layers: layers.collect(), array: self.values(leaf, range)? })
    }

    fn values(&self, leaf: &LeafType, range: Range<usize>) -> Result<ArrayRef> {
        match &self.ends {
            Ends::Every(width) => {
                let bytes = self.bytes(range.start * width..range.end * width)?;
                let mut values = Values::new(&leaf.storage);
                values.append_shared(bytes, range.len(), leaf.storage.alignment())?;
                values.finish(&leaf.data_type, None)
            }
            Ends::At(ends, nulls) => {
                let ends = ends.get(range.start..=range.end).unwrap_or_default();
                let (first, last) = ends.first().zip(ends.last()).unwrap_or((&0, &0));
                let bytes = self.bytes(*first..*last)?;
                let nulls = nulls.as_ref().map(|nulls| nulls.slice(range.start, range.len()));
                let wide = leaf.storage == Storage::Variable { wide: true };
                string_array(&leaf.data_type, wide, ends, bytes, nulls)
            }
        }
    }

    fn bytes(&self, range: Range<usize>) -> Result<Bytes> {
        if range.start > range.end || range.end > self.slab.len() {
            return Err(FormatError::corrupt("step protocol", "an answer is not as long as asked"));
        }
        Ok(self.slab.slice(range))
    }
}
