//! Rows of the Apache Fory row format, standard and compact: one record as bytes of which single fields are read
//! without decoding the rest.
//!
//! A row does not say what it holds: who writes it and who reads it have the same schema, either a Rust struct or a
//! [`Schema`] that is made at run time.
//!
//! # Structs
//!
//! [`#[derive(ForyRow)]`](macro@ForyRow) makes rows of a struct, decodes them, and makes a view with a getter a field.
//! Offsets are known when the program is compiled. The format is a type parameter.
//!
//! ```
//! use fory_row::{Compact, ForyRow, Standard, Timestamp};
//!
//! #[derive(Debug, PartialEq, ForyRow)]
//! struct Pose {
//!     x: f32,
//!     y: f32,
//! }
//!
//! #[derive(Debug, PartialEq, ForyRow)]
//! struct Frame<'a> {
//!     at: Timestamp,
//!     camera: &'a str,
//!     joints: Vec<f64>,
//!     pose: Option<Pose>,
//! }
//!
//! let pose = Some(Pose { x: 1.0, y: 2.0 });
//! let frame = Frame { at: Timestamp(17), camera: "wrist", joints: vec![0.5, -1.0], pose };
//! let bytes = frame.to_row::<Standard>()?;
//!
//! // One field: the others are neither read nor checked.
//! let view = Frame::view_row::<Standard>(&bytes)?;
//! assert_eq!(view.camera()?, "wrist");
//! assert_eq!(view.joints()?.get(1)?, -1.0);
//! assert_eq!(view.pose()?.ok_or("null")?.y()?, 2.0);
//!
//! // All of it, with text that is borrowed from the bytes.
//! assert_eq!(Frame::from_row::<Standard>(&bytes)?, frame);
//!
//! // Into a buffer that is used again and again.
//! let mut buffer = vec![];
//! for _ in 0..2 {
//!     buffer.clear();
//!     frame.write_row::<Compact>(&mut buffer)?;
//! }
//! assert_eq!((bytes.len(), buffer.len()), (104, 72));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Schemas that are known at run time
//!
//! A [`Layout`] is a schema worked out for one format. Rows are written field by field, in any order, or from a
//! [`Value`].
//!
//! ```
//! use fory_row::{DataType, Field, Format, Layout, Schema, Value};
//!
//! let point = vec![Field::new("x", DataType::Float32, false), Field::new("y", DataType::Float32, false)];
//! let schema = Schema::new(vec![
//!     Field::new("id", DataType::Int64, false),
//!     Field::new("path", DataType::list(DataType::Struct(point), false), false),
//!     Field::new("tags", DataType::map(DataType::Utf8, DataType::Int32), true),
//! ])?;
//! let layout = Layout::new(schema, Format::Compact)?;
//!
//! let mut bytes = vec![];
//! layout.write_row(&mut bytes, |row| {
//!     row.set("id", 7i64)?;
//!     row.list("path", 2, |path| {
//!         for x in [0.5f32, 1.5] {
//!             path.push_row(|point| {
//!                 point.set("x", x)?;
//!                 point.set("y", 0f32)
//!             })?;
//!         }
//!         Ok(())
//!     })?;
//!     row.map("tags", 1, |keys| keys.push("speed"), |values| values.push(3))
//! })?;
//!
//! let Value::Struct(fields) = layout.decode(&bytes)? else { return Err("no struct".into()) };
//! assert_eq!(fields[2], Value::Map(vec![(Value::Utf8("speed".into()), Value::Int32(3))]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Reading single fields
//!
//! A [`Row`] borrows the bytes, and so do the texts, lists, maps and structs in it. Getters take a position in the
//! schema or a name, and give `None` for null.
//!
//! ```
//! use fory_row::{ArrayRef, DataType, Field, Format, Layout, MapRef, Row, Schema};
//!
//! # let inner = vec![Field::new("name", DataType::Utf8, true)];
//! # let schema = Schema::new(vec![
//! #     Field::new("id", DataType::Int64, false),
//! #     Field::new("arm", DataType::Struct(inner), true),
//! #     Field::new("joints", DataType::list(DataType::Float64, true), false),
//! #     Field::new("tags", DataType::map(DataType::Utf8, DataType::Int32), true),
//! # ])?;
//! # let layout = Layout::new(schema, Format::Standard)?;
//! # let mut bytes = vec![];
//! # layout.write_row(&mut bytes, |row| {
//! #     row.set("id", 7i64)?;
//! #     row.row("arm", |arm| arm.set("name", "left"))?;
//! #     row.list("joints", 2, |joints| { joints.push(0.5f64)?; joints.push(None::<f64>) })?;
//! #     row.map("tags", 1, |keys| keys.push("speed"), |values| values.push(3))
//! # })?;
//! let row = layout.row(&bytes)?;
//! assert_eq!(row.get::<i64>("id")?, Some(7));
//! let arm: Row = row.get("arm")?.ok_or("null")?;
//! assert_eq!(arm.get::<&str>(0)?, Some("left"));
//! let joints: ArrayRef = row.get("joints")?.ok_or("null")?;
//! assert_eq!(joints.iter::<f64>().collect::<Result<Vec<_>, _>>()?, [Some(0.5), None]);
//! let tags: MapRef = row.get("tags")?.ok_or("null")?;
//! assert_eq!(tags.get::<&str, i32>(&"speed")?, Some(Some(3)));
//!
//! // Asked for as another type than it has, a field is an error, and not a wrong value.
//! assert!(row.get::<i32>("id").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rows that are sent
//!
//! A [`Frame`] is what stands in front of a row: its size, its schema hash, or both. [`RowStreamWriter`] and
//! [`RowStreamReader`] write and read rows with both, one after the other.
//!
//! ```
//! use fory_row::{DataType, Field, Format, Frame, Layout, RowStreamReader, RowStreamWriter, Schema, Value};
//!
//! let layout = Layout::new(Schema::new(vec![Field::new("v", DataType::Int32, false)])?, Format::Standard)?;
//! let mut bytes = vec![];
//! layout.write_framed_row(Frame::RowWithHash, &mut bytes, |row| row.set("v", 7))?;
//! let body = Frame::RowWithHash.body(layout.hash(), &bytes)?; // an error if the hash is another one
//! assert_eq!(layout.row(body)?.get::<i32>("v")?, Some(7));
//!
//! let mut stream = RowStreamWriter::new(layout.clone(), vec![]);
//! stream.write(&Value::Struct(vec![Value::Int32(1)]))?;
//! stream.write_row(|row| row.set("v", 2))?;
//! let sent = stream.finish()?;
//!
//! let mut stream = RowStreamReader::new(layout, sent.as_slice());
//! let mut sum = 0;
//! while let Some(row) = stream.next_row()? {
//!     sum += row.get::<i32>("v")?.ok_or("null")?;
//! }
//! assert_eq!(sum, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
#![cfg_attr(feature = "arrow", doc = include_str!("arrow.md"))]
//! # Which format
//!
//! The same values in either format are read in the same way. Standard rows are for these:
//!
//! | you want | because |
//! |---|---|
//! | to exchange rows with C++ or Python, or to leave it open with whom | it is the one that all implementations have |
//! | to read fields one by one, very often | each is 8 bytes, aligned, at a place that its position tells |
//! | lists of numbers as slices, without a copy | elements are aligned where the row is |
//! | to make a field nullable later | the bytes do not depend on it: there is a bit for every field |
//! | to keep rows for years | it changes least; upstream calls the compact one unstable |
//!
//! Compact rows are for these:
//!
//! | you want | because |
//! |---|---|
//! | many small fields: flags, small integers, float32 | a field takes its own width, and not 8 bytes |
//! | lists of points, poses or other structs of fixed width | they stand in place, without a reference and 16 bytes and more a struct |
//! | many rows in memory, in a cache or on a slow wire | a bool, int8 to int64, float32 and float64 take 28 bytes together, and not 64 |
//! | to exchange rows with Java alone | its compact encoders write the same bytes |
//!
//! # What null looks like
//!
//! Null is a bit, and the place of the value stays, filled with zeros. It is told by the bit alone: readers do not look
//! at the place, in which other implementations leave what was there before. Empty text is not null: it is a reference
//! of size 0 whose bit is clear.
//!
//! | | standard | compact |
//! |---|---|---|
//! | bits of a row | in front, 8 bytes for 64 fields, always there | behind the values, a byte for 8 fields, only if a field is nullable |
//! | order of the bits | of the schema | of the bytes: the largest fields first |
//! | bits of a list | behind the count, 8 bytes for 64 elements | behind the count, a byte for 8 elements, only if elements are nullable |
//! | null where the schema says that none is | refused when written, seen when read | refused when written; there may be no bit |
//! | a null struct | a bit and 8 zero bytes | a bit, and zeros as wide as the struct where it stands in place |
//! | map | values have bits, keys have none that is set | values have bits, keys have no bits |
//!
//! ```
//! use fory_row::{Compact, ForyRow, Standard};
//!
//! #[derive(ForyRow)]
//! struct Reading {
//!     error: Option<i16>,
//!     value: i32,
//! }
//!
//! let reading = Reading { error: None, value: 7 };
//! assert_eq!(reading.to_row::<Standard>()?, [
//!     1, 0, 0, 0, 0, 0, 0, 0, // bit 0: the first field is null
//!     0, 0, 0, 0, 0, 0, 0, 0, // error
//!     7, 0, 0, 0, 0, 0, 0, 0, // value
//! ]);
//! assert_eq!(reading.to_row::<Compact>()?, [
//!     7, 0, 0, 0, // value, which is wider
//!     0, 0, // error
//!     0b10, // bit 1: the second one in the bytes is null
//! ]);
//! # Ok::<(), fory_row::Error>(())
//! ```
//!
//! # Bytes from anyone
//!
//! Every size, offset, count and text is checked before it is used, when a view is opened or a value is read. Whatever
//! the bytes are, the worst is an [`Error`]. What makes values of bytes has a budget, [`DecodeOptions`], since a few
//! bytes can refer to each other many times; getters need none. Schemas from outside have [`SchemaLimits`].
//!
//! # Features
//!
//! - `derive` (default): the macro.
//! - `chrono`: dates and times of that crate as fields.
//! - `json`: schemas and values as JSON.
//! - `arrow`: record batches to rows and back, column at a time.

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
    pub use crate::raw::{Slot, check_row};
    pub use crate::typed::{
        Image, check_depth, field, from_field, hash_type, struct_depth, struct_widths, write_field,
    };
    pub use crate::value::Budget;
}

/// The examples of the README, run as tests.
#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../README.md")]
pub struct Readme;

/// What the macro refuses.
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
/// A struct that holds itself, because a schema is a tree that ends:
///
/// ```compile_fail,E0391
/// #[derive(fory_row::ForyRow)]
/// struct Node {
///     children: Vec<Node>,
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
#[cfg(all(doctest, feature = "derive"))]
pub struct Refused;
