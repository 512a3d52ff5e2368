//! Writing rows field by field, straight into the buffer where they end up.
//!
//! Nested values are written by closures, which get a writer for the place where the value belongs: nothing is
//! built aside and copied, and a value that was not finished cannot stay in the row.

mod array;
mod place;
mod row;

pub use array::ArrayWriter;
pub(crate) use place::too_large;
#[cfg(feature = "arrow")]
pub(crate) use place::{Place, put, refer, set_bit};
pub use row::RowWriter;
