//! Rows of the Apache Fory row format, standard and compact: one record as bytes of which single fields are read
//! without decoding the rest.

#![forbid(unsafe_code)]

#[cfg(feature = "arrow")]
mod arrow;
mod error;
mod format;
mod frame;
mod geometry;
mod image;
mod inspect;
#[cfg(feature = "json")]
mod json;
mod layout;
mod raw;
mod read;
mod scalar;
mod schema;
mod stream;
mod typed;
mod value;
mod write;

/// # What is refused
///
/// What cannot be a row does not compile.
///
/// A struct whose fields have no names, a struct without fields, an enum:
///
/// ```compile_fail
/// #[derive(fory_row::ForyRow)]
/// struct Point(f32, f32);
/// ```
///
/// ```compile_fail
/// #[derive(fory_row::ForyRow)]
/// struct Nothing {}
/// ```
///
/// ```compile_fail
/// #[derive(fory_row::ForyRow)]
/// enum Gripper {
///     Open { width: f32 },
///     Closed,
/// }
/// ```
///
/// A type parameter, since offsets are worked out when the struct is compiled:
///
/// ```compile_fail
/// #[derive(fory_row::ForyRow)]
/// struct Wrapper<T> {
///     value: T,
/// }
/// ```
///
/// An attribute that is not known, and two fields of one name:
///
/// ```compile_fail
/// #[derive(fory_row::ForyRow)]
/// struct Pose {
///     #[fory(skip)]
///     x: f32,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(fory_row::ForyRow)]
/// struct Pose {
///     x: f32,
///     #[fory(rename = "x")]
///     y: f32,
/// }
/// ```
///
/// A type that the format does not have, such as an unsigned integer, and keys of a map that could be null:
///
/// ```compile_fail,E0277
/// #[derive(fory_row::ForyRow)]
/// struct Count {
///     count: u32,
/// }
/// ```
///
/// ```compile_fail,E0080
/// #[derive(fory_row::ForyRow)]
/// struct Names {
///     names: std::collections::BTreeMap<Option<String>, i32>,
/// }
/// ```
#[cfg(feature = "derive")]
#[doc(inline)]
pub use fory_row_derive::ForyRow;

#[cfg(feature = "arrow")]
pub use arrow::{BatchRows, Rows, RowsIter};
pub use error::{Error, ErrorKind, Result};
pub use format::{Compact, Format, RowFormat, Standard};
pub use frame::Frame;
pub use image::Image;
pub use inspect::{Region, RegionKind};
pub use layout::Layout;
pub use read::{ArrayRef, Cell, Elements, FieldIndex, FromCell, MapRef, Primitive, Row, ValueRef};
pub use scalar::{Date, Decimal, Duration, Float16, Scalar, Timestamp};
pub use schema::{DataType, Field, MAX_DEPTH, MAX_FIELDS, Schema, SchemaLimits};
pub use stream::{RowStreamReader, RowStreamWriter, StreamOptions};
pub use typed::{ForyRow, FromRow, FromRowBytes, List, ListIter, Map, MapIter, RowType, RowView};
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

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
