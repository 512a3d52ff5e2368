//! Reading values out of rows without decoding the rows. All views borrow from the bytes and copy nothing.

mod array;
mod cell;
mod check;
mod debug;
mod map;
mod row;

pub(crate) use array::no_element;
pub use array::{ArrayRef, Elements, Primitive};
#[cfg(feature = "arrow")]
pub(crate) use cell::not_utf8;
pub use cell::{Cell, FromCell, ValueRef};
pub(crate) use cell::{read_bool, read_str};
pub use map::MapRef;
pub use row::{FieldIndex, Row};
