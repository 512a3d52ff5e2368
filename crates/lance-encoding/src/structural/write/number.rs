//! The definition levels of one page: its codes, with those that do not occur left out.

use lance_footer::Result;

use super::path::Nesting;
use super::shred::null_code;
use crate::{Layer, Numbering};

/// The levels of a page.
#[derive(Debug)]
pub(super) struct Numbered {
    /// The layers that the page has.
    pub(super) numbering: Numbering,
    /// Definition levels; none if nothing is missing.
    pub(super) definition: Option<Vec<u16>>,
    /// The code of each level.
    pub(super) codes: Vec<u16>,
}

/// Numbers the `codes` of a page of the given nesting.
pub(super) fn number(codes: Option<Vec<u16>>, nesting: &[Nesting]) -> Result<Numbered> {
    // Whether each code occurs, then what level it has.
    let mut levels = vec![0_u16; nesting.len() * 2 + 1];
    for code in codes.iter().flatten() {
        if let Some(level) = levels.get_mut(usize::from(*code)) {
            *level = 1;
        }
    }
    if let Some(value) = levels.first_mut() {
        *value = 0;
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
    let mut of_levels = vec![0];
    for (code, level) in (0..).zip(&mut levels).filter(|(_, level)| **level > 0) {
        *level = u16::try_from(of_levels.len()).unwrap_or(u16::MAX);
        of_levels.push(code);
    }
    let mut definition = codes.filter(|_| of_levels.len() > 1);
    if (0..).zip(&of_levels).any(|(level, code): (u16, _)| level != *code) {
        for code in definition.iter_mut().flatten() {
            *code = levels.get(usize::from(*code)).copied().unwrap_or(0);
        }
    }
    Ok(Numbered { numbering: Numbering::new(layers)?, definition, codes: of_levels })
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
