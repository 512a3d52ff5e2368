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
    // From the outside in. A list below a struct that is null somewhere is null there too: without a level of
    // its own, the reference's reader would not see that its entries own no slot.
    let (mut masked, nestings) = (false, nesting.len());
    for (outer, nesting) in nesting.iter().enumerate() {
        let layer = u16::try_from(nestings - 1 - outer).unwrap_or(u16::MAX);
        match levels.get_mut(usize::from(null_code(layer))) {
            Some(null) if *nesting == Nesting::List => {
                *null |= u16::from(masked);
                masked = false;
            }
            Some(null) => masked |= *null > 0,
            None => {}
        }
    }
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
