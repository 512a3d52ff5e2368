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
mod value;
mod write;

pub use error::{Error, ErrorKind, Result};
pub use format::{Compact, Format, RowFormat, Standard};
pub use layout::Layout;
pub use read::{ArrayRef, Cell, Elements, FieldIndex, FromCell, MapRef, Primitive, Row, ValueRef};
pub use scalar::{Date, Decimal, Duration, Float16, Scalar, Timestamp};
pub use schema::{DataType, Field, MAX_DEPTH, MAX_FIELDS, Schema, SchemaLimits};
pub use value::{DecodeOptions, Value};
pub use write::{ArrayWriter, RowWriter};
