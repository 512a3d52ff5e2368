//! The definition levels of one page: its codes, with those that do not occur left out.

use lance_footer::Result;

use super::path::{LeafKind, LeafPath, Nesting, Step};
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

/// Numbers the `codes` of a page of `entries` entries of the leaf at `path`.
pub(super) fn number(codes: Option<Vec<u16>>, entries: usize, path: &LeafPath) -> Result<Numbered> {
    let steps = path.steps.as_slice();
    // Whether each code occurs, then what level it has.
    let mut levels = vec![0_u16; steps.len() * 2 + 1];
    for code in codes.iter().flatten() {
        if let Some(level) = levels.get_mut(usize::from(*code)) {
            *level = 1;
        }
    }
    if let Some(value) = levels.first_mut() {
        *value = 0;
    }
    let codes = if for_the_reference(&mut levels, steps) {
        Some(codes.unwrap_or_else(|| vec![0; entries]))
    } else {
        codes
    };
    if path.kind == LeafKind::Dictionary {
        null_under_null(&mut levels, steps);
    }
    struct_under_null(&mut levels, steps);
    let mut layers = Vec::with_capacity(steps.len());
    for (layer, step) in (0_u16..).zip(steps.iter().rev()) {
        let occurs = |code: u16| levels.get(usize::from(code)).is_some_and(|level| *level > 0);
        let (null, empty) = (null_code(layer), null_code(layer) + 1);
        layers.push(match step.nesting {
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

/// Sets levels for null aside that may not occur, where the reference's reader goes wrong without them. Returns
/// whether it did.
///
/// When it joins pages, it takes a struct above a list that has no level for null to have as many slots as the page
/// has values. So a struct above a list that may be null by its schema has a level for null in every page, and so has
/// a list below it, or entries that own no slot are counted. A fixed-size list of structs that has such a level in
/// one page and not in the next is counted by its items in the latter; so all layers around and below one have it.
fn for_the_reference(levels: &mut [u16], steps: &[Step]) -> bool {
    let fixed = steps.iter().any(|step| matches!(step.nesting, Nesting::FixedSizeList { .. }));
    let innermost = steps.iter().rposition(|step| step.nesting == Nesting::List).map_or(0, |list| list + 1);
    let mut masked = false;
    for (outer, step) in steps.iter().enumerate().take(if fixed { steps.len() } else { innermost }) {
        masked |= step.nesting != Nesting::List && step.nullable;
        let layer = u16::try_from(steps.len() - 1 - outer).unwrap_or(u16::MAX);
        if let Some(null) = levels.get_mut(usize::from(null_code(layer)))
            && masked
            && (step.nullable || step.nesting == Nesting::List)
        {
            *null = 1;
        }
    }
    masked
}

/// Sets the leaf's level for null aside if a struct right above it is null somewhere.
///
/// The reference's reader otherwise takes the leaf for valid there, and where pages of different dictionaries
/// meet in a batch it gives such a row a key that is in no dictionary.
fn null_under_null(levels: &mut [u16], steps: &[Step]) {
    let above = steps.iter().rev().skip(1).take_while(|step| step.nesting != Nesting::List).count();
    let mut layers = 1..=u16::try_from(above).unwrap_or(u16::MAX);
    let masked =
        layers.any(|layer| levels.get(usize::from(null_code(layer))).is_some_and(|level| *level > 0));
    if let Some(null) = levels.get_mut(usize::from(null_code(0)))
        && masked
        && steps.last().is_some_and(|leaf| leaf.nullable)
    {
        *null = 1;
    }
}

/// Sets levels for null aside for structs, if something above them is null somewhere.
///
/// The reference's reader takes a struct without such a level for valid even there. If a member must not be null, it then
/// refuses the struct, also one that it puts together with members from other files.
fn struct_under_null(levels: &mut [u16], steps: &[Step]) {
    let mut masked = false;
    for (outer, step) in steps.iter().enumerate() {
        let layer = u16::try_from(steps.len() - 1 - outer).unwrap_or(u16::MAX);
        let Some(null) = levels.get_mut(usize::from(null_code(layer))) else { continue };
        if masked && matches!(step.nesting, Nesting::Struct { .. }) {
            *null = 1;
        }
        masked = step.nesting != Nesting::List && (masked || *null > 0);
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;
    use crate::settings::Settings;

    #[test]
    fn a_struct_has_a_level_for_null_below_a_null() {
        let step = |nesting| Step { name: "a".into(), nullable: true, nesting };
        let structs = || step(Nesting::Struct { member: 0 });
        let item = |nullable| Layer::Item { nullable };
        let layers = |steps: Vec<Step>, codes| {
            let path = LeafPath {
                steps,
                kind: LeafKind::Plain,
                data_type: DataType::Int32,
                packed: None,
                settings: Settings::default(),
            };
            number(Some(codes), 2, &path).unwrap().numbering.layers().to_vec()
        };
        let nested = || vec![structs(), structs(), step(Nesting::Leaf)];
        let (there, null) = (0, null_code(2));
        assert_eq!(layers(nested(), vec![there, null]), [item(false), item(true), item(true)]);
        assert_eq!(layers(nested(), vec![there, there]), [item(false); 3]);
        // A null list has no slots below it.
        let below_list = vec![step(Nesting::List), structs(), step(Nesting::Leaf)];
        let list = Layer::List { nullable: true, emptyable: false };
        assert_eq!(layers(below_list, vec![there, null]), [item(false), item(false), list]);
    }

    fn layers(kind: LeafKind, codes: Vec<u16>) -> Vec<Layer> {
        let step = |nesting| Step { name: "a".into(), nullable: true, nesting };
        let steps = vec![step(Nesting::Struct { member: 0 }), step(Nesting::Leaf)];
        let path =
            LeafPath { steps, kind, data_type: DataType::Int32, packed: None, settings: Settings::default() };
        number(Some(codes), 2, &path).unwrap().numbering.layers().to_vec()
    }

    #[test]
    fn a_dictionary_in_a_null_struct_has_a_level_for_null() {
        let (there, null) = (0, null_code(1));
        let item = |nullable| Layer::Item { nullable };
        assert_eq!(layers(LeafKind::Dictionary, vec![there, null]), [item(true), item(true)]);
        assert_eq!(layers(LeafKind::Plain, vec![there, null]), [item(false), item(true)]);
        assert_eq!(layers(LeafKind::Dictionary, vec![there, there]), [item(false), item(false)]);
    }
}
