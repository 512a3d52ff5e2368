//! From nested arrays to levels: what every entry of a page repeats, and why a value is missing.
//!
//! While a page is shredded, a missing value is marked with a *code* that names the layer which lacks it,
//! whatever else the page holds: for layer `l`, counted from the leaf, `2l + 1` is null and `2l + 2` is an
//! empty list; 0 is a value. The order of codes is the order of definition levels, so that a page's levels
//! are its codes with the unused ones left out (see `number`).

use std::ops::Range;

use arrow_buffer::NullBuffer;
use lance_footer::{FormatError, Result};

use super::batch::{Ancestor, LeafBatch};
use super::path::{LeafKind, LeafPath, Step};
use crate::block::{Block, Offsets};
use crate::field::at_member;

/// The entries of a page.
#[derive(Debug, Clone, Default)]
pub(super) struct Shredded {
    /// Top-level rows.
    pub(super) rows: usize,
    /// How many entries there are.
    pub(super) entries: usize,
    /// Repetition levels; none where the path has no list.
    pub(super) repetition: Option<Vec<u16>>,
    /// Why each value is missing; none if none is.
    pub(super) codes: Option<Vec<u16>>,
    /// The values of the entries that own a slot, in order.
    pub(super) values: Vec<Block>,
}

impl Shredded {
    /// The entries of `batches`, one after the other. An error if a field has nulls against its schema.
    pub(super) fn new(batches: &[LeafBatch], path: &LeafPath) -> Result<Self> {
        let mut all = Self::default();
        for batch in batches {
            all.append(shred(batch, path)?);
        }
        Ok(all)
    }

    fn append(&mut self, next: Self) {
        match (&mut self.codes, next.codes) {
            (None, None) => {}
            (Some(codes), None) => codes.resize(codes.len() + next.entries, 0),
            (own, Some(codes)) => {
                let own = own.get_or_insert_with(|| vec![0; self.entries]);
                if own.is_empty() {
                    *own = codes;
                } else {
                    own.extend_from_slice(&codes);
                }
            }
        }
        if let Some(repetition) = next.repetition {
            match &mut self.repetition {
                Some(own) => own.extend_from_slice(&repetition),
                own => *own = Some(repetition),
            }
        }
        self.rows += next.rows;
        self.entries += next.entries;
        self.values.extend(next.values);
    }
}

fn shred(batch: &LeafBatch, path: &LeafPath) -> Result<Shredded> {
    let mut layer = u16::try_from(path.steps.len()).unwrap_or(u16::MAX);
    let mut rank = u16::try_from(path.lists()).unwrap_or(u16::MAX);
    let mut walk = Walk::new(batch.rows, rank);
    for (ancestor, step) in batch.ancestors.iter().zip(&path.steps) {
        layer = layer.saturating_sub(1);
        match ancestor {
            Ancestor::Struct(nulls) => walk.item(nulls.as_ref(), layer, step)?,
            Ancestor::FixedSizeList { nulls, len } => {
                walk.item(nulls.as_ref(), layer, step)?;
                walk.repeat(*len);
            }
            Ancestor::List { nulls, offsets } => {
                rank = rank.saturating_sub(1);
                match offsets {
                    Offsets::Small(offsets) => walk.list(nulls.as_ref(), offsets, layer, rank, step)?,
                    Offsets::Large(offsets) => walk.list(nulls.as_ref(), offsets, layer, rank, step)?,
                }
            }
        }
    }
    if let Some(step) = path.steps.last() {
        // The schema of a null column may say anything.
        let nullable = step.nullable || path.kind == LeafKind::Null;
        walk.item(batch.nulls.as_ref(), 0, &Step { nullable, ..step.clone() })?;
    }
    let values = walk.slots.into_iter().map(|slots| batch.values.slice(slots)).collect();
    Ok(Shredded {
        rows: batch.rows,
        entries: walk.entries,
        repetition: walk.repetition,
        codes: walk.codes,
        values,
    })
}

/// Entries on the way from the top-level field down to the leaf.
struct Walk {
    entries: usize,
    /// What the first element of a row repeats.
    row: u16,
    /// None before the first list: every entry is a row.
    repetition: Option<Vec<u16>>,
    codes: Option<Vec<u16>>,
    /// Entries whose code is below this own a slot of the array that the walk has come to.
    owned: u16,
    /// These slots, in order.
    slots: Vec<Range<usize>>,
}

impl Walk {
    fn new(rows: usize, row: u16) -> Self {
        let slots = std::iter::once(0..rows).filter(|slots| !slots.is_empty()).collect();
        Self { entries: rows, row, repetition: None, codes: None, owned: u16::MAX, slots }
    }

    /// Marks the null slots of an item layer.
    fn item(&mut self, nulls: Option<&NullBuffer>, layer: u16, step: &Step) -> Result<()> {
        let Some(nulls) = nulls else { return Ok(()) };
        let code = null_code(layer);
        if self.codes.is_none() {
            self.codes = marks(nulls, &self.slots, self.entries, code);
            return if self.codes.is_some() && !step.nullable { Err(not_nullable(step)) } else { Ok(()) };
        }
        let mut marked = false;
        let owned = self.owned;
        let mut owners = self.codes.iter_mut().flatten().filter(|code| **code < owned);
        for slots in &self.slots {
            // In this order: the shorter one comes first, so that no entry is taken in vain.
            for (valid, entry) in nulls.slice(slots.start, slots.len()).iter().zip(owners.by_ref()) {
                if !valid && *entry == 0 {
                    *entry = code;
                    marked = true;
                }
            }
        }
        if marked && !step.nullable { Err(not_nullable(step)) } else { Ok(()) }
    }

    /// Replaces each slot by `len` slots, all of which say what it says. No list is around them.
    fn repeat(&mut self, len: usize) {
        self.entries *= len;
        for slots in &mut self.slots {
            *slots = slots.start * len..slots.end * len;
        }
        if let Some(codes) = &mut self.codes {
            *codes = codes.iter().flat_map(|code| std::iter::repeat_n(*code, len)).collect();
        }
    }

    /// Replaces each slot of a list layer by the slots of its items. Further elements of a list repeat
    /// `rank`.
    fn list<O: arrow_buffer::ArrowNativeType>(
        &mut self,
        nulls: Option<&NullBuffer>,
        offsets: &[O],
        layer: u16,
        rank: u16,
        step: &Step,
    ) -> Result<()> {
        let (null, empty) = (null_code(layer), null_code(layer) + 1);
        let repetition = self.repetition.take().unwrap_or_else(|| vec![self.row; self.entries]);
        let codes = self.codes.take().unwrap_or_else(|| vec![0; self.entries]);
        let mut slots = self.slots.iter().cloned().flatten();
        let items = |slots: &Range<usize>| match (offsets.get(slots.start), offsets.get(slots.end)) {
            (Some(start), Some(end)) => end.as_usize() - start.as_usize(),
            _ => 0,
        };
        let mut grown = Grown::new(self.entries + self.slots.iter().map(items).sum::<usize>(), rank);
        let mut marked = false;
        for (repetition, code) in repetition.into_iter().zip(codes) {
            if code >= self.owned {
                grown.missing(repetition, code);
                continue;
            }
            let slot = slots.next().unwrap_or_default();
            if code != 0 {
                grown.missing(repetition, code);
            } else if nulls.is_some_and(|nulls| nulls.is_null(slot)) {
                marked = true;
                grown.missing(repetition, null);
            } else {
                match (offsets.get(slot), offsets.get(slot + 1)) {
                    (Some(start), Some(end)) if start.as_usize() < end.as_usize() => {
                        grown.items(repetition, start.as_usize()..end.as_usize());
                    }
                    _ => grown.missing(repetition, empty),
                }
            }
        }
        if marked && !step.nullable {
            return Err(not_nullable(step));
        }
        self.entries = grown.repetition.len();
        if !grown.codes.is_empty() {
            grown.codes.resize(self.entries, 0);
            self.codes = Some(grown.codes);
        }
        self.repetition = Some(grown.repetition);
        self.slots = grown.slots;
        self.owned = null;
        Ok(())
    }
}

/// The entries after a list layer.
struct Grown {
    rank: u16,
    repetition: Vec<u16>,
    /// As far as the last entry that is missing.
    codes: Vec<u16>,
    slots: Vec<Range<usize>>,
}

impl Grown {
    fn new(entries: usize, rank: u16) -> Self {
        Self { rank, repetition: Vec::with_capacity(entries), codes: vec![], slots: vec![] }
    }

    fn missing(&mut self, repetition: u16, code: u16) {
        self.codes.resize(self.repetition.len(), 0);
        self.codes.push(code);
        self.repetition.push(repetition);
    }

    fn items(&mut self, repetition: u16, items: Range<usize>) {
        self.repetition.push(repetition);
        self.repetition.extend(std::iter::repeat_n(self.rank, items.len() - 1));
        match self.slots.last_mut() {
            Some(last) if last.end == items.start => last.end = items.end,
            _ => self.slots.push(items),
        }
    }
}

/// The codes of entries that all own a slot, of which the null ones get `code`; none if there are none.
fn marks(nulls: &NullBuffer, slots: &[Range<usize>], entries: usize, code: u16) -> Option<Vec<u16>> {
    let parts = || slots.iter().map(|slots| nulls.slice(slots.start, slots.len()));
    if parts().all(|part| part.null_count() == 0) {
        return None;
    }
    // A whole word more than there are may be appended.
    let mut codes = Vec::with_capacity(entries + 64);
    for part in parts() {
        let bits = part.inner().bit_chunks();
        let rest = std::iter::once(bits.remainder_bits()).filter(|_| bits.remainder_len() > 0);
        let end = codes.len() + part.len();
        for word in bits.iter().chain(rest) {
            codes.extend((0..64).map(|bit| if word >> bit & 1 == 0 { code } else { 0 }));
        }
        codes.truncate(end);
    }
    Some(codes)
}

pub(super) const fn null_code(layer: u16) -> u16 {
    layer.saturating_mul(2).saturating_add(1)
}

fn not_nullable(step: &Step) -> FormatError {
    let error = FormatError::unsupported("writing nulls where the schema says that there are none");
    at_member(error, &step.name)
}
