//! The definition levels of one page: its codes, with those that do not occur left out.

use lance_footer::Result;

use super::path::Nesting;
use super::shred::null_code;
use crate::{Layer, Numbering};

/// The layers that `codes` say a page has, and its definition levels; none if nothing is missing.
pub(super) fn number(codes: Option<&[u16]>, nesting: &[Nesting]) -> Result<(Numbering, Option<Vec<u16>>)> {
    // Whether each code occurs, then what level it has.
    let mut levels = vec![0_u16; nesting.len() * 2 + 1];
    for code in codes.unwrap_or_default() {
        if let Some(level) = levels.get_mut(usize::from(*code)) {
            *level = 1;
        }
    }
    for_the_reference(&mut levels, nesting);
    let mut layers = Vec::with_capacity(nesting.len());
    for (layer, nesting) in (0_u16..).zip(nesting.iter().rev()) {
        let occurs = |code: u16| levels.get(usize::from(code)).is_some_and(|level| *level > 0);
        let (null, empty) = (null_code(layer), null_code(layer) + 1);
        layers.push(match nesting {
            Nesting::List => Layer::List { nullable: occurs(null), emptyable: occurs(empty) },
            _ => Layer::Item { nullable: occurs(null) },
        });
    }
    let mut next = 0;
    for level in levels.iter_mut().skip(1).filter(|level| **level > 0) {
        next += 1;
        *level = next;
    }
    if let Some(value) = levels.first_mut() {
        *value = 0;
    }
    let definition = codes.filter(|_| next > 0).map(|codes| {
        let level = |code: &u16| levels.get(usize::from(*code)).copied().unwrap_or(0);
        codes.iter().map(level).collect()
    });
    Ok((Numbering::new(layers)?, definition))
}

/// Sets levels aside that do not occur, where the reference's reader goes wrong without them.
///
/// It loses count of the entries that own no slot in two cases. One is a list that has no level for null below
/// a struct that is null somewhere; such a list is null there too, so it gets one. The other is a page in
/// which a struct above all lists has no level for null, next to a page in which it has. (A struct between
/// lists must not get one in vain: that is a third.)
fn for_the_reference(levels: &mut [u16], nesting: &[Nesting]) {
    let Some(outermost) = nesting.iter().position(|nesting| *nesting == Nesting::List) else { return };
    if levels.iter().skip(1).all(|level| *level == 0) {
        return;
    }
    let mut masked = false;
    for (outer, nesting) in nesting.iter().enumerate() {
        let layer = u16::try_from(levels.len() / 2 - 1 - outer).unwrap_or(u16::MAX);
        let Some(null) = levels.get_mut(usize::from(null_code(layer))) else { continue };
        if *nesting == Nesting::List {
            *null |= u16::from(masked);
            masked = false;
        } else {
            masked |= *null > 0;
            *null |= u16::from(outer < outermost);
        }
    }
}
