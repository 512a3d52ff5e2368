use crate::layout::{ElementLayout, MapLayout, ValueLayout};
use crate::{Error, ErrorKind, Layout, Result};

/// What bytes are an image of. A row holds the fields of the schema; arrays and maps can also stand alone, and then
/// the first field of the schema is the list or the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Image {
    /// A row.
    Row,
    /// The elements of a list.
    Array,
    /// The entries of a map.
    Map,
}

impl Layout {
    /// The list that is the first field.
    pub(crate) fn first_list(&self) -> Result<&ElementLayout> {
        match self.root().field(0).map(|field| &field.value) {
            Some(ValueLayout::List(element)) => Ok(element),
            _ => Err(Error::new(ErrorKind::Type, "the first field of the schema is not a list")),
        }
    }

    /// The map that is the first field.
    pub(crate) fn first_map(&self) -> Result<&MapLayout> {
        match self.root().field(0).map(|field| &field.value) {
            Some(ValueLayout::Map(map)) => Ok(map),
            _ => Err(Error::new(ErrorKind::Type, "the first field of the schema is not a map")),
        }
    }
}
