//! Rust types as rows: what `#[derive(ForyRow)]` implements, and the types that fields can have.
//!
//! Offsets are worked out when the program is compiled, for both formats, so that a getter is a load and a test of
//! the null bit, and a row is written in one pass over memory whose size was computed before.

#[cfg(feature = "chrono")]
mod chrono;
mod fixed;
mod image;
mod list;
mod map;
mod row;
mod text;
mod view;

pub use image::Image;
pub use list::{List, ListIter};
pub use map::{Map, MapIter};
pub use row::{check_depth, field, from_field, hash_type, struct_depth, struct_widths, write_field};
pub use view::RowView;

use crate::geometry::{MAX_IMAGE, RowGeometry, Widths};
use crate::raw::Slot;
use crate::schema::{HASH_START, hash_step};
use crate::value::Budget;
use crate::{DataType, DecodeOptions, Error, ErrorKind, Layout, Result, RowFormat, Schema};

/// A Rust type that a field of a row, an element of a list, or a key or value of a map can have.
///
/// | Rust | type of the field |
/// |---|---|
/// | `bool`, `i8` … `i64`, `f32`, `f64` | bool, int8 … int64, float32, float64 |
/// | `String`, `&str` | utf8 |
/// | `Vec<u8>`, `&[u8]` | binary |
/// | [`Date`](crate::Date), [`Timestamp`](crate::Timestamp), [`Duration`](crate::Duration) | date32, timestamp, duration |
/// | [`Float16`](crate::Float16) | float16 |
/// | [`Decimal`](crate::Decimal) | decimal(38, 18), which is what Java takes for a `BigDecimal` |
/// | `chrono::NaiveDate`, `DateTime<Utc>` and `NaiveDateTime`, `TimeDelta` (feature `chrono`) | date32, timestamp, duration |
/// | `Vec<T>`, `[T; N]` | list |
/// | `BTreeMap<K, V>`, `HashMap<K, V>` | map |
/// | a struct with `#[derive(ForyRow)]` | struct |
/// | `Option<T>` | as `T`, nullable |
///
/// There are no unsigned integers in the format.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of the row format",
    label = "not a type that a row can hold",
    note = "rows hold bool, i8 to i64, f32, f64, text, bytes, dates and times, decimals, lists, maps and structs with \
            `#[derive(ForyRow)]`; there are no unsigned integers"
)]
pub trait RowType {
    /// What a lazy getter gives: the value itself, text and bytes borrowed from the row, or a view.
    type View<'a, F: RowFormat>;

    #[doc(hidden)]
    const WIDTHS: Widths;
    #[doc(hidden)]
    const NULLABLE: bool = false;
    /// Levels of nesting, of which a type without parts is one.
    #[doc(hidden)]
    const DEPTH: usize = 1;

    /// The type of the field.
    fn data_type() -> DataType;

    /// Takes the type into a schema hash. Types with parts take these in, too.
    #[doc(hidden)]
    #[inline]
    fn hash<F: RowFormat>(hash: i64) -> i64 {
        hash_step(hash, Self::data_type().id())
    }

    #[doc(hidden)]
    #[inline]
    fn is_null(&self) -> bool {
        false
    }

    /// The bytes outside of the slot, with padding.
    #[doc(hidden)]
    fn variable_len<F: RowFormat>(&self) -> usize;

    /// Writes a value that is not null.
    #[doc(hidden)]
    fn write<F: RowFormat>(&self, image: &mut Image<'_>, slot: usize) -> Result<()>;

    #[doc(hidden)]
    fn view<F: RowFormat>(slot: Slot<'_>) -> Result<Self::View<'_, F>>;

    #[doc(hidden)]
    #[inline]
    fn null_view<'a, F: RowFormat>() -> Result<Self::View<'a, F>> {
        Err(unexpected_null())
    }
}

/// A [`RowType`] that can be made from a row as a whole. `'a` is how long the bytes live, for types that borrow.
pub trait FromRow<'a>: RowType + Sized {
    #[doc(hidden)]
    fn from_slot<F: RowFormat>(slot: Slot<'a>, budget: &mut Budget) -> Result<Self>;

    #[doc(hidden)]
    #[inline]
    fn from_null() -> Result<Self> {
        Err(unexpected_null())
    }
}

/// A struct whose values are rows. Made by `#[derive(ForyRow)]`.
///
/// The format is a type parameter of the methods: [`Standard`](crate::Standard) or [`Compact`](crate::Compact).
pub trait ForyRow: RowType {
    /// The fields, in the order of their declaration.
    fn schema() -> Result<Schema> {
        match Self::data_type() {
            DataType::Struct(fields) => Schema::new(fields),
            other => Err(Error::new(ErrorKind::Schema, format!("a row is a struct, not a {}", other.name()))),
        }
    }

    /// The schema worked out for a format, for streams and for what has no struct.
    fn layout<F: RowFormat>() -> Result<Layout> {
        Layout::new(Self::schema()?, F::FORMAT)
    }

    /// The schema hash that framed rows carry.
    #[inline]
    fn schema_hash<F: RowFormat>() -> i64 {
        Self::hash_fields::<F>(HASH_START)
    }

    /// Takes the types of the fields into a hash, in the order of their bytes.
    #[doc(hidden)]
    fn hash_fields<F: RowFormat>(hash: i64) -> i64;

    #[doc(hidden)]
    fn geometry<F: RowFormat>() -> RowGeometry;

    /// The bytes of all fields outside of the fixed region.
    #[doc(hidden)]
    fn fields_len<F: RowFormat>(&self) -> usize;

    #[doc(hidden)]
    fn write_fields<F: RowFormat>(&self, image: &mut Image<'_>) -> Result<()>;

    /// The bytes of this row once encoded.
    #[inline]
    fn encoded_len<F: RowFormat>(&self) -> usize {
        Self::geometry::<F>().fixed_end.saturating_add(self.fields_len::<F>())
    }

    /// Appends the row to `buffer`. A failure leaves the buffer as it was.
    #[inline]
    fn write_row<F: RowFormat>(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let len = self.encoded_len::<F>();
        if len > MAX_IMAGE {
            return Err(Error::value("a row of more than 2 GiB"));
        }
        let start = buffer.len();
        buffer.resize(start + len, 0);
        let bytes = buffer.get_mut(start..).unwrap_or_default();
        let written = self.write_fields::<F>(&mut Image::new(bytes, Self::geometry::<F>().fixed_end));
        if written.is_err() {
            buffer.truncate(start);
        }
        written
    }

    /// The row as bytes of its own.
    fn to_row<F: RowFormat>(&self) -> Result<Vec<u8>> {
        let mut buffer = vec![];
        self.write_row::<F>(&mut buffer)?;
        Ok(buffer)
    }

    /// Opens the row `bytes` for lazy reading.
    fn view_row<F: RowFormat>(bytes: &[u8]) -> Result<Self::View<'_, F>>;

    /// Decodes the row `bytes`.
    fn from_row<'a, F: RowFormat>(bytes: &'a [u8]) -> Result<Self>
    where
        Self: FromRowBytes<'a>,
    {
        Self::from_row_with::<F>(bytes, DecodeOptions::default())
    }

    /// The same with another budget.
    #[inline]
    fn from_row_with<'a, F: RowFormat>(bytes: &'a [u8], options: DecodeOptions) -> Result<Self>
    where
        Self: FromRowBytes<'a>,
    {
        Self::from_bytes::<F>(bytes, &mut Budget::new(options, bytes.len()))
    }
}

/// A [`ForyRow`] that can be made from the bytes of a row. Derived for all whose fields can be.
pub trait FromRowBytes<'a>: FromRow<'a> {
    #[doc(hidden)]
    fn from_bytes<F: RowFormat>(bytes: &'a [u8], budget: &mut Budget) -> Result<Self>;
}

#[cold]
pub(crate) fn unexpected_null() -> Error {
    Error::malformed("null where the Rust type takes none")
}

impl<T: RowType> RowType for Option<T> {
    type View<'a, F: RowFormat> = Option<T::View<'a, F>>;
    const WIDTHS: Widths = T::WIDTHS;
    const NULLABLE: bool = true;
    const DEPTH: usize = T::DEPTH;

    fn data_type() -> DataType {
        T::data_type()
    }

    #[inline]
    fn hash<F: RowFormat>(hash: i64) -> i64 {
        T::hash::<F>(hash)
    }

    #[inline]
    fn is_null(&self) -> bool {
        self.as_ref().is_none_or(T::is_null)
    }

    #[inline]
    fn variable_len<F: RowFormat>(&self) -> usize {
        self.as_ref().map_or(0, T::variable_len::<F>)
    }

    #[inline]
    fn write<F: RowFormat>(&self, image: &mut Image<'_>, slot: usize) -> Result<()> {
        match self {
            Some(value) => value.write::<F>(image, slot),
            None => Ok(()),
        }
    }

    #[inline]
    fn view<F: RowFormat>(slot: Slot<'_>) -> Result<Self::View<'_, F>> {
        T::view::<F>(slot).map(Some)
    }

    #[inline]
    fn null_view<'a, F: RowFormat>() -> Result<Self::View<'a, F>> {
        Ok(None)
    }
}

impl<'a, T: FromRow<'a>> FromRow<'a> for Option<T> {
    #[inline]
    fn from_slot<F: RowFormat>(slot: Slot<'a>, budget: &mut Budget) -> Result<Self> {
        T::from_slot::<F>(slot, budget).map(Some)
    }

    #[inline]
    fn from_null() -> Result<Self> {
        Ok(None)
    }
}
