//! Layers, and how repetition and definition levels are numbered.
//!
//! For a leaf, the layers are listed **from the inside out**: layer 0 is the leaf itself, then each ancestor
//! up to the top-level field. Definition levels count from the inside out too, 0 is a real value; a list
//! that can be null and empty takes two levels, the lower for null. Repetition ranks count list layers from
//! the inside: 1 is the innermost; the level of an entry is the rank of the outermost list that begins there.

use lance_footer::{FormatError, Result};

use crate::proto::RepDefLayer;

/// One nesting step of a leaf, and what a page says it can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// A leaf or a struct.
    Item {
        /// Whether a level is set aside for null.
        nullable: bool,
    },
    /// A list or a map.
    List {
        /// Whether a level is set aside for null.
        nullable: bool,
        /// Whether a level is set aside for empty.
        emptyable: bool,
    },
}

impl Layer {
    /// From its number in a page layout.
    pub fn from_proto(number: i32) -> Result<Self> {
        let layer = RepDefLayer::try_from(number).unwrap_or(RepDefLayer::RepdefUnspecified);
        Ok(match layer {
            RepDefLayer::RepdefAllValidItem => Self::Item { nullable: false },
            RepDefLayer::RepdefNullableItem => Self::Item { nullable: true },
            RepDefLayer::RepdefAllValidList => Self::List { nullable: false, emptyable: false },
            RepDefLayer::RepdefNullableList => Self::List { nullable: true, emptyable: false },
            RepDefLayer::RepdefEmptyableList => Self::List { nullable: false, emptyable: true },
            RepDefLayer::RepdefNullAndEmptyList => Self::List { nullable: true, emptyable: true },
            RepDefLayer::RepdefUnspecified => {
                return Err(FormatError::corrupt("page layout", format!("unknown layer {number}")));
            }
        })
    }

    /// Its number in a page layout.
    pub fn to_proto(self) -> i32 {
        let layer = match self {
            Self::Item { nullable: false } => RepDefLayer::RepdefAllValidItem,
            Self::Item { nullable: true } => RepDefLayer::RepdefNullableItem,
            Self::List { nullable: false, emptyable: false } => RepDefLayer::RepdefAllValidList,
            Self::List { nullable: true, emptyable: false } => RepDefLayer::RepdefNullableList,
            Self::List { nullable: false, emptyable: true } => RepDefLayer::RepdefEmptyableList,
            Self::List { nullable: true, emptyable: true } => RepDefLayer::RepdefNullAndEmptyList,
        };
        layer.into()
    }

    /// Whether it is a list.
    pub const fn is_list(self) -> bool {
        matches!(self, Self::List { .. })
    }

    /// Definition levels that it uses.
    pub const fn levels(self) -> u16 {
        match self {
            Self::Item { nullable } => nullable as u16,
            Self::List { nullable, emptyable } => nullable as u16 + emptyable as u16,
        }
    }
}

/// The levels of one page or of a part of it: one entry a position, in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Levels {
    /// Repetition levels; none where the path has no list.
    pub repetition: Option<Vec<u16>>,
    /// Definition levels; none where no layer uses one.
    pub definition: Option<Vec<u16>>,
}

/// What the levels of a list of layers mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbering {
    layers: Vec<Layer>,
    /// For each layer, the definition levels used by all layers inside it.
    below: Vec<u16>,
    max_repetition: u16,
    max_definition: u16,
    max_visible: u16,
}

impl Numbering {
    /// The numbering of `layers`, innermost first. An error if there is none, or more levels than fit.
    pub fn new(layers: Vec<Layer>) -> Result<Self> {
        if layers.is_empty() || layers.len() > 1024 {
            return Err(FormatError::corrupt(
                "page layout",
                format!("{} layers, of which there must be 1 to 1024", layers.len()),
            ));
        }
        let mut below = Vec::with_capacity(layers.len());
        let (mut max_definition, mut max_repetition, mut max_visible) = (0_u16, 0_u16, None);
        for layer in &layers {
            below.push(max_definition);
            if layer.is_list() {
                max_visible.get_or_insert(max_definition);
                max_repetition += 1;
            }
            max_definition += layer.levels();
        }
        let max_visible = max_visible.unwrap_or(max_definition);
        Ok(Self { layers, below, max_repetition, max_definition, max_visible })
    }

    /// From the numbers in a page layout.
    pub fn from_proto(layers: &[i32]) -> Result<Self> {
        Self::new(layers.iter().map(|number| Layer::from_proto(*number)).collect::<Result<_>>()?)
    }

    /// The layers, innermost first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Definition levels used by the layers inside of layer `index`: the layer's own null level, if it has
    /// one, is this plus 1, its empty level comes after.
    pub fn below(&self, index: usize) -> u16 {
        self.below.get(index).copied().unwrap_or(self.max_definition)
    }

    /// Number of list layers, which is also the repetition level at which a new top-level row starts.
    pub const fn max_repetition(&self) -> u16 {
        self.max_repetition
    }

    /// The highest definition level.
    pub const fn max_definition(&self) -> u16 {
        self.max_definition
    }

    /// Entries with a definition level up to this own a slot in the value stream.
    pub const fn max_visible(&self) -> u16 {
        self.max_visible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: Layer = Layer::Item { nullable: true };
    const LIST: Layer = Layer::List { nullable: true, emptyable: true };

    #[test]
    fn levels_count_from_the_inside() {
        // list<struct<int>>: 1 null int, 2 null struct, 3 null list, 4 empty list.
        let numbering = Numbering::new(vec![ITEM, ITEM, LIST]).unwrap();
        assert_eq!((0..3).map(|i| numbering.below(i)).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(numbering.max_definition(), 4);
        assert_eq!(numbering.max_visible(), 2);
        assert_eq!(numbering.max_repetition(), 1);
        // struct<list<int>>
        let numbering = Numbering::new(vec![ITEM, LIST, ITEM]).unwrap();
        assert_eq!(numbering.max_definition(), 4);
        assert_eq!(numbering.max_visible(), 1);
        // Without lists everything is visible.
        let numbering = Numbering::new(vec![ITEM, ITEM]).unwrap();
        assert_eq!(numbering.max_visible(), 2);
        assert!(Numbering::new(vec![]).is_err());
    }

    #[test]
    fn layer_numbers_come_back() {
        for number in 1..=6 {
            assert_eq!(Layer::from_proto(number).unwrap().to_proto(), number);
        }
        assert!(Layer::from_proto(0).is_err());
        assert!(Layer::from_proto(7).is_err());
    }
}
