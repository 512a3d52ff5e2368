//! Rows of the Apache Fory row format, standard and compact: one record as bytes of which single fields are read
//! without decoding the rest.

#![forbid(unsafe_code)]

mod error;
mod format;
mod geometry;
mod layout;
mod raw;
mod read;
mod scalar;
mod schema;
mod typed;
mod value;
mod write;

#[cfg(feature = "derive")]
pub use fory_row_derive::ForyRow;

pub use error::{Error, ErrorKind, Result};
pub use format::{Compact, Format, RowFormat, Standard};
pub use layout::Layout;
pub use read::{ArrayRef, Cell, Elements, FieldIndex, FromCell, MapRef, Primitive, Row, ValueRef};
pub use scalar::{Date, Decimal, Duration, Float16, Scalar, Timestamp};
pub use schema::{DataType, Field, MAX_DEPTH, MAX_FIELDS, Schema, SchemaLimits};
pub use typed::{ForyRow, FromRow, FromRowBytes, List, ListIter, Map, MapIter, RowType};
pub use value::{DecodeOptions, Value};
pub use write::{ArrayWriter, RowWriter};

/// What derived code calls. Not for use by hand, and not covered by version numbers.
#[doc(hidden)]
pub mod derive {
    pub use crate::geometry::{RowGeometry, StructGeometry, Widths};
    pub use crate::raw::{Slot, bit, check_row};
    pub use crate::typed::{Image, field, from_field, hash_type, struct_bytes, struct_widths, write_field};
    pub use crate::value::Budget;
}
