//! From levels back to validity and list offsets, one pass a nesting depth.
//!
//! With `S_k` the entries whose repetition level is at least `k` (`S_0` are all), and `top(k)` the definition
//! levels of all layers inside list rank `k + 1`, a *slot* of depth `k` is an entry of `S_k` with a definition
//! level of at most `top(k)`:
//!
//! ```text
//! layers, innermost first   item … item | list 1 | item … item | list 2 | …
//! depth of their slots      0             1        1             2
//! ```
//!
//! An item layer has a validity bit a slot of its depth, a list layer of rank `k` a list a slot of depth `k`, whose
//! items are the slots of depth `k - 1` up to the next entry of `S_k`. Pages with different layers feed the same
//! output, so levels are unravelled page by page.

use std::ops::Range;

use arrow_buffer::NullBuffer;
use lance_footer::{FormatError, Result};

use crate::layers::{Layer, Numbering};
use crate::validity::Validity;

/// Collects validity and offsets of all layers of one leaf.
#[derive(Debug)]
pub(super) struct Unraveler {
    /// Innermost first.
    layers: Vec<Slots>,
}

#[derive(Debug)]
enum Slots {
    Item(Validity),
    List { starts: Vec<u64>, validity: Validity },
}

/// A layer whose slots are all there.
#[derive(Debug)]
pub(super) struct Unravelled {
    /// Number of slots.
    pub(super) len: usize,
    /// Which slots are null; none if no slot is.
    pub(super) nulls: Option<NullBuffer>,
    /// Where the lists start and the last one ends; none for an item layer.
    pub(super) offsets: Option<Vec<u64>>,
}

/// Levels of entries that follow each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entries<'a> {
    /// Repetition levels, or the number of entries where there are none.
    pub(super) repetition: Result<&'a [u16], usize>,
    /// Definition levels, as many; none if all are 0.
    pub(super) definition: Option<&'a [u16]>,
}

/// The layers that have slots of one depth.
struct Depth {
    items: Range<usize>,
    list: Option<usize>,
    top: u16,
}

impl Unraveler {
    /// For a leaf whose layers are lists where `lists` says so, innermost first.
    pub(super) fn new(lists: &[bool]) -> Self {
        let layers = lists.iter().map(|list| match list {
            true => Slots::List { starts: vec![], validity: Validity::default() },
            false => Slots::Item(Validity::default()),
        });
        Self { layers: layers.collect() }
    }

    /// Bytes that they take.
    pub(super) fn weight(&self) -> usize {
        self.layers.iter().map(Slots::weight).fold(0, usize::saturating_add)
    }

    /// Slots of the leaf itself.
    pub(super) fn values(&self) -> usize {
        self.layers.first().map_or(0, Slots::len)
    }

    /// Slots of the outermost layer.
    pub(super) fn rows(&self) -> usize {
        self.layers.last().map_or(0, Slots::len)
    }

    /// Adds `rows` rows of a leaf without lists in which nothing is null.
    pub(super) fn append_valid(&mut self, rows: usize) {
        for layer in &mut self.layers {
            layer.validity().push_valid(rows);
        }
    }

    /// Adds entries of a page whose layers have this `numbering`; gives how many have a value.
    pub(super) fn append(&mut self, numbering: &Numbering, entries: Entries<'_>) -> Result<usize> {
        self.append_slots(numbering, entries, false)
    }

    /// The same for a page without values: every slot of the leaf is null, whatever its level.
    pub(super) fn append_null(&mut self, numbering: &Numbering, entries: Entries<'_>) -> Result<usize> {
        self.append_slots(numbering, entries, true)
    }

    fn append_slots(&mut self, numbering: &Numbering, entries: Entries<'_>, null: bool) -> Result<usize> {
        let lists = numbering.layers().iter().map(|layer| layer.is_list());
        if !lists.eq(self.layers.iter().map(|slots| matches!(slots, Slots::List { .. }))) {
            return Err(FormatError::corrupt("page layout", "its layers are not those of the column"));
        }
        check(entries.definition, numbering.max_definition(), "definition")?;
        let repetition = match (entries.repetition, entries.definition) {
            (Ok(repetition), _) => {
                check(Some(repetition), numbering.max_repetition(), "repetition")?;
                repetition
            }
            (Err(_), Some(definition)) if numbering.max_repetition() == 0 => {
                self.append_flat(numbering, definition, null);
                return Ok(definition.len());
            }
            (Err(count), None) if numbering.max_repetition() == 0 => {
                for (index, slots) in self.layers.iter_mut().enumerate() {
                    match index {
                        0 if null => slots.validity().push_null(count),
                        _ => slots.validity().push_valid(count),
                    }
                }
                return Ok(count);
            }
            (Err(_), _) => return Err(FormatError::corrupt("levels", "a list without repetition levels")),
        };
        if entries.definition.is_some_and(|definition| definition.len() != repetition.len()) {
            let (repetition, definition) = (repetition.len(), entries.definition.map_or(0, <[u16]>::len));
            let reason = format!("{repetition} repetition levels but {definition} definition levels");
            return Err(FormatError::corrupt("levels", reason));
        }
        let before = self.values();
        let depths = depths(numbering);
        let mut scratch = vec![];
        for (k, depth) in depths.iter().enumerate().rev() {
            let rank = u16::try_from(k).unwrap_or(u16::MAX);
            if let Some(list) = depth.list {
                let below = numbering.below(list);
                self.append_starts(list, rank, repetition, entries.definition, depth.top, below);
            }
            let count = select(rank, repetition, entries.definition, depth.top, &mut scratch);
            for index in depth.list.into_iter().chain(depth.items.clone()) {
                let layer = numbering.layers().get(index).copied();
                let slots = self.layers.get_mut(index);
                match layer.zip(slots) {
                    Some((_, slots)) if null && index == 0 => slots.validity().push_null(count),
                    Some((layer, slots)) => slots.push(layer, numbering.below(index), count, &scratch),
                    None => {}
                }
            }
        }
        Ok(self.values() - before)
    }

    /// The layers, innermost first.
    pub(super) fn finish(self) -> Vec<Unravelled> {
        let mut layers = Vec::with_capacity(self.layers.len());
        let mut inner = 0;
        for slots in self.layers {
            let len = slots.len();
            layers.push(match slots {
                Slots::Item(validity) => Unravelled { len, nulls: validity.finish(), offsets: None },
                Slots::List { mut starts, validity } => {
                    starts.push(inner as u64);
                    Unravelled { len, nulls: validity.finish(), offsets: Some(starts) }
                }
            });
            inner = len;
        }
        layers
    }

    /// Adds rows of a leaf without lists.
    fn append_flat(&mut self, numbering: &Numbering, definition: &[u16], null: bool) {
        for (index, slots) in self.layers.iter_mut().enumerate() {
            match index {
                0 if null => slots.validity().push_null(definition.len()),
                _ => slots.validity().push_levels(definition, numbering.below(index)),
            }
        }
    }

    /// Adds the starts of the lists of `rank`, whose items come later.
    fn append_starts(
        &mut self,
        list: usize,
        rank: u16,
        repetition: &[u16],
        definition: Option<&[u16]>,
        top: u16,
        items_top: u16,
    ) {
        let items = list.checked_sub(1).and_then(|inner| self.layers.get(inner)).map_or(0, Slots::len);
        let Some(Slots::List { starts, .. }) = self.layers.get_mut(list) else { return };
        let mut next = items as u64;
        match definition {
            None => {
                for r in repetition {
                    if *r >= rank {
                        starts.push(next);
                    }
                    next += u64::from(*r + 1 >= rank);
                }
            }
            Some(definition) => {
                for (r, d) in repetition.iter().zip(definition) {
                    if *r >= rank && *d <= top {
                        starts.push(next);
                    }
                    next += u64::from(*r + 1 >= rank && *d <= items_top);
                }
            }
        }
    }
}

impl Slots {
    const fn len(&self) -> usize {
        match self {
            Self::Item(validity) | Self::List { validity, .. } => validity.len(),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Item(validity) => validity.weight(),
            Self::List { starts, validity } => {
                size_of_val(starts.as_slice()).saturating_add(validity.weight())
            }
        }
    }

    const fn validity(&mut self) -> &mut Validity {
        match self {
            Self::Item(validity) | Self::List { validity, .. } => validity,
        }
    }

    /// Adds the validity of `count` slots, whose definition levels are `levels` if there are any.
    fn push(&mut self, layer: Layer, below: u16, count: usize, levels: &[u16]) {
        let validity = self.validity();
        match layer {
            _ if levels.is_empty() => validity.push_valid(count),
            Layer::List { nullable: true, emptyable: true } => {
                let valid = |level: &u16| *level <= below || *level == below + 2;
                let levels: Vec<u16> = levels.iter().map(|level| u16::from(!valid(level))).collect();
                validity.push_levels(&levels, 0);
            }
            Layer::List { nullable: false, emptyable: true } => validity.push_levels(levels, below + 1),
            // Where a layer itself cannot be null, what lies outside of it still can.
            _ => validity.push_levels(levels, below),
        }
    }
}

fn depths(numbering: &Numbering) -> Vec<Depth> {
    let mut depths = vec![];
    let mut depth = Depth { items: 0..0, list: None, top: numbering.max_definition() };
    for (index, layer) in numbering.layers().iter().enumerate() {
        if layer.is_list() {
            depth.top = numbering.below(index);
            depths.push(depth);
            depth = Depth { items: index + 1..index + 1, list: Some(index), top: numbering.max_definition() };
        } else {
            depth.items.end = index + 1;
        }
    }
    depths.push(depth);
    depths
}

/// Counts the slots of depth `rank`; their definition levels, if there are any, go to `out`.
fn select(rank: u16, repetition: &[u16], definition: Option<&[u16]>, top: u16, out: &mut Vec<u16>) -> usize {
    out.clear();
    match definition {
        None => repetition.iter().filter(|r| **r >= rank).count(),
        Some(definition) => {
            let slots = repetition.iter().zip(definition).filter(|(r, d)| **r >= rank && **d <= top);
            out.extend(slots.map(|(_, d)| *d));
            out.len()
        }
    }
}

fn check(levels: Option<&[u16]>, max: u16, kind: &str) -> Result<()> {
    let highest = levels.unwrap_or_default().iter().fold(0, |max, level| max.max(*level));
    if highest > max {
        return Err(FormatError::corrupt(
            "levels",
            format!("a {kind} level of {highest}, at most {max} is meant"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: Layer = Layer::Item { nullable: true };
    const LIST: Layer = Layer::List { nullable: true, emptyable: true };

    fn unravel(layers: &[Layer], repetition: Option<&[u16]>, definition: &[u16]) -> Vec<Unravelled> {
        let numbering = Numbering::new(layers.to_vec()).unwrap();
        let lists: Vec<_> = layers.iter().map(|layer| layer.is_list()).collect();
        let mut unraveler = Unraveler::new(&lists);
        // In two pieces, as two chunks would have them.
        for range in [0..3, 3..definition.len()] {
            let entries = Entries {
                repetition: repetition.map(|r| &r[range.clone()]).ok_or(range.len()),
                definition: Some(&definition[range]),
            };
            unraveler.append(&numbering, entries).unwrap();
        }
        unraveler.finish()
    }

    fn validity(layer: &Unravelled) -> Vec<u8> {
        (0..layer.len).map(|i| u8::from(layer.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(i)))).collect()
    }

    #[test]
    fn structs() {
        // [{m:{i:1}}, null, {m:null}, {m:{i:null}}]
        let layers = unravel(&[ITEM; 3], None, &[0, 3, 2, 1]);
        assert_eq!(validity(&layers[0]), [1, 0, 0, 0]);
        assert_eq!(validity(&layers[1]), [1, 0, 0, 1]);
        assert_eq!(validity(&layers[2]), [1, 0, 1, 1]);
    }

    #[test]
    fn one_list() {
        // [[1,2], null, [], [null,5], [6]]
        let layers = unravel(&[ITEM, LIST], Some(&[1, 0, 1, 1, 1, 0, 1]), &[0, 0, 2, 3, 1, 0, 0]);
        assert_eq!(validity(&layers[0]), [1, 1, 0, 1, 1]);
        assert_eq!(validity(&layers[1]), [1, 0, 1, 1, 1]);
        assert_eq!(layers[1].offsets.as_deref().unwrap(), [0, 2, 2, 2, 4, 5]);
    }

    #[test]
    fn two_lists() {
        // [[[0,1],[],[2]], [[3],null], [], null, [[4]]]
        let layers = unravel(
            &[Layer::Item { nullable: false }, LIST, LIST],
            Some(&[2, 0, 1, 1, 2, 1, 2, 2, 2]),
            &[0, 0, 2, 0, 0, 1, 4, 3, 0],
        );
        assert_eq!(layers[0].len, 5);
        assert_eq!(validity(&layers[1]), [1, 1, 1, 1, 0, 1]);
        assert_eq!(layers[1].offsets.as_deref().unwrap(), [0, 2, 2, 3, 4, 4, 5]);
        assert_eq!(validity(&layers[2]), [1, 1, 1, 0, 1]);
        assert_eq!(layers[2].offsets.as_deref().unwrap(), [0, 3, 5, 5, 5, 6]);
    }

    #[test]
    fn three_lists() {
        // [[[0,1],[],[2]], [[3]], []], [], [[[4]]]
        let list = Layer::List { nullable: false, emptyable: true };
        let layers = unravel(
            &[Layer::Item { nullable: false }, list, list, list],
            Some(&[3, 0, 1, 1, 2, 2, 3, 3]),
            &[0, 0, 1, 0, 0, 2, 3, 0],
        );
        assert_eq!(layers[1].offsets.as_deref().unwrap(), [0, 2, 2, 3, 4, 5]);
        assert_eq!(layers[2].offsets.as_deref().unwrap(), [0, 3, 4, 4, 5]);
        assert_eq!(layers[3].offsets.as_deref().unwrap(), [0, 3, 3, 4]);
    }

    #[test]
    fn list_of_struct_and_struct_of_list() {
        // [[{a:1}, null, {a:null}], null, []]
        let layers = unravel(&[ITEM, ITEM, LIST], Some(&[1, 0, 0, 1, 1]), &[0, 2, 1, 3, 4]);
        assert_eq!(validity(&layers[0]), [1, 0, 0]);
        assert_eq!(validity(&layers[1]), [1, 0, 1]);
        assert_eq!(validity(&layers[2]), [1, 0, 1]);
        // [{l:[1,null]}, null, {l:null}, {l:[]}]
        let layers = unravel(&[ITEM, LIST, ITEM], Some(&[1, 0, 1, 1, 1]), &[0, 1, 4, 2, 3]);
        assert_eq!(validity(&layers[0]), [1, 0]);
        assert_eq!(validity(&layers[1]), [1, 0, 0, 1]);
        assert_eq!(layers[1].offsets.as_deref().unwrap(), [0, 2, 2, 2, 2]);
        assert_eq!(validity(&layers[2]), [1, 0, 1, 1]);
    }

    #[test]
    fn levels_beyond_the_layers_are_refused() {
        let numbering = Numbering::new(vec![ITEM, LIST]).unwrap();
        let mut unraveler = Unraveler::new(&[false, true]);
        let mut append = |repetition: &[u16], definition: &[u16]| {
            unraveler
                .append(&numbering, Entries { repetition: Ok(repetition), definition: Some(definition) })
                .is_err()
        };
        assert!(append(&[2], &[0]));
        assert!(append(&[1], &[4]));
        assert!(append(&[1, 0], &[0]));
    }
}
