use crate::layout::ValueLayout;
use crate::raw::{RawArray, RawMap, Slot};
use crate::scalar::Decimal;
use crate::{ArrayRef, Date, Duration, Error, ErrorKind, Float16, MapRef, Result, Row, Timestamp};

/// The place of a value that is not null, and its type. [`FromCell`] makes values of it.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    pub(crate) slot: Slot<'a>,
    pub(crate) layout: &'a ValueLayout,
}

/// A type that a value of a row can be read as, borrowing from the row.
///
/// | type of the field | can be read as |
/// |---|---|
/// | bool, int8 … int64, float32, float64 | `bool`, `i8` … `i64`, `f32`, `f64` |
/// | float16, date32, timestamp, duration, decimal | [`Float16`], [`Date`], [`Timestamp`], [`Duration`], [`Decimal`] |
/// | utf8 | `&str` |
/// | binary, fixed_binary | `&[u8]` |
/// | list, map, struct | [`ArrayRef`], [`MapRef`], [`Row`] |
/// | any | [`ValueRef`] |
pub trait FromCell<'a>: Sized {
    /// Reads the value.
    fn from_cell(cell: Cell<'a>) -> Result<Self>;
}

/// A value of any type, borrowed from a row.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ValueRef<'a> {
    /// No value.
    Null,
    /// Of `bool`.
    Bool(bool),
    /// Of `int8`.
    Int8(i8),
    /// Of `int16`.
    Int16(i16),
    /// Of `int32`.
    Int32(i32),
    /// Of `int64`.
    Int64(i64),
    /// Of `float16`.
    Float16(Float16),
    /// Of `float32`.
    Float32(f32),
    /// Of `float64`.
    Float64(f64),
    /// Of `date32`.
    Date(Date),
    /// Of `timestamp`.
    Timestamp(Timestamp),
    /// Of `duration`.
    Duration(Duration),
    /// Of `decimal`.
    Decimal(Decimal),
    /// Of `utf8`.
    Utf8(&'a str),
    /// Of `binary` and `fixed_binary`.
    Binary(&'a [u8]),
    /// Of `list`.
    List(ArrayRef<'a>),
    /// Of `map`.
    Map(MapRef<'a>),
    /// Of `struct`.
    Struct(Row<'a>),
}

impl Cell<'_> {
    #[cold]
    fn wrong(self, asked: &str) -> Error {
        Error::new(ErrorKind::Type, format!("a {} was read as {asked}", self.layout.name()))
    }
}

macro_rules! fixed {
    ($($type:ty, $variant:ident, $name:literal, $make:expr;)*) => {$(
        impl<'a> FromCell<'a> for $type {
            #[inline]
            fn from_cell(cell: Cell<'a>) -> Result<Self> {
                match cell.layout {
                    ValueLayout::$variant => cell.slot.fixed().map($make),
                    _ => Err(cell.wrong($name)),
                }
            }
        }
    )*};
}

fixed! {
    i8, Int8, "int8", i8::from_le_bytes;
    i16, Int16, "int16", i16::from_le_bytes;
    i32, Int32, "int32", i32::from_le_bytes;
    i64, Int64, "int64", i64::from_le_bytes;
    f32, Float32, "float32", f32::from_le_bytes;
    f64, Float64, "float64", f64::from_le_bytes;
    Float16, Float16, "float16", |bytes| Self(u16::from_le_bytes(bytes));
    Date, Date32, "date32", |bytes| Self(i32::from_le_bytes(bytes));
    Timestamp, Timestamp, "timestamp", |bytes| Self(i64::from_le_bytes(bytes));
    Duration, Duration, "duration", |bytes| Self(i64::from_le_bytes(bytes));
}

impl<'a> FromCell<'a> for bool {
    #[inline]
    fn from_cell(cell: Cell<'a>) -> Result<Self> {
        match cell.layout {
            ValueLayout::Bool => read_bool(cell.slot),
            _ => Err(cell.wrong("bool")),
        }
    }
}

impl<'a> FromCell<'a> for &'a str {
    #[inline]
    fn from_cell(cell: Cell<'a>) -> Result<Self> {
        match cell.layout {
            ValueLayout::Utf8 => read_str(cell.slot),
            _ => Err(cell.wrong("utf8")),
        }
    }
}

impl<'a> FromCell<'a> for &'a [u8] {
    #[inline]
    fn from_cell(cell: Cell<'a>) -> Result<Self> {
        match cell.layout {
            ValueLayout::Binary => cell.slot.payload(),
            ValueLayout::FixedBinary(width) => cell.slot.inline(*width),
            _ => Err(cell.wrong("binary")),
        }
    }
}

impl<'a> FromCell<'a> for Decimal {
    fn from_cell(cell: Cell<'a>) -> Result<Self> {
        match cell.layout {
            ValueLayout::Decimal { precision, scale } => {
                Self::from_stored(cell.slot.payload()?, *precision, *scale)
            }
            _ => Err(cell.wrong("decimal")),
        }
    }
}

impl<'a> FromCell<'a> for ArrayRef<'a> {
    #[inline]
    fn from_cell(cell: Cell<'a>) -> Result<Self> {
        match cell.layout {
            ValueLayout::List(element) => {
                Ok(Self::new(RawArray::open(cell.slot.payload()?, element.shape)?, element))
            }
            _ => Err(cell.wrong("list")),
        }
    }
}

impl<'a> FromCell<'a> for MapRef<'a> {
    #[inline]
    fn from_cell(cell: Cell<'a>) -> Result<Self> {
        match cell.layout {
            ValueLayout::Map(map) => {
                let raw = RawMap::open(cell.slot.payload()?, map.keys.shape, map.values.shape)?;
                Ok(Self::new(raw, map))
            }
            _ => Err(cell.wrong("map")),
        }
    }
}

impl<'a> FromCell<'a> for Row<'a> {
    #[inline]
    fn from_cell(cell: Cell<'a>) -> Result<Self> {
        match cell.layout {
            ValueLayout::Struct(layout) => Self::open(cell.slot.row(layout.geometry.inline)?, layout),
            _ => Err(cell.wrong("struct")),
        }
    }
}

impl<'a> FromCell<'a> for ValueRef<'a> {
    fn from_cell(cell: Cell<'a>) -> Result<Self> {
        Ok(match cell.layout {
            ValueLayout::Bool => Self::Bool(FromCell::from_cell(cell)?),
            ValueLayout::Int8 => Self::Int8(FromCell::from_cell(cell)?),
            ValueLayout::Int16 => Self::Int16(FromCell::from_cell(cell)?),
            ValueLayout::Int32 => Self::Int32(FromCell::from_cell(cell)?),
            ValueLayout::Int64 => Self::Int64(FromCell::from_cell(cell)?),
            ValueLayout::Float16 => Self::Float16(FromCell::from_cell(cell)?),
            ValueLayout::Float32 => Self::Float32(FromCell::from_cell(cell)?),
            ValueLayout::Float64 => Self::Float64(FromCell::from_cell(cell)?),
            ValueLayout::Date32 => Self::Date(FromCell::from_cell(cell)?),
            ValueLayout::Timestamp => Self::Timestamp(FromCell::from_cell(cell)?),
            ValueLayout::Duration => Self::Duration(FromCell::from_cell(cell)?),
            ValueLayout::Decimal { .. } => Self::Decimal(FromCell::from_cell(cell)?),
            ValueLayout::Utf8 => Self::Utf8(FromCell::from_cell(cell)?),
            ValueLayout::Binary | ValueLayout::FixedBinary(_) => Self::Binary(FromCell::from_cell(cell)?),
            ValueLayout::List(_) => Self::List(FromCell::from_cell(cell)?),
            ValueLayout::Map(_) => Self::Map(FromCell::from_cell(cell)?),
            ValueLayout::Struct(_) => Self::Struct(FromCell::from_cell(cell)?),
        })
    }
}

/// A bool, which is 0 or 1.
#[inline]
pub(crate) fn read_bool(slot: Slot<'_>) -> Result<bool> {
    match slot.fixed()? {
        [0] => Ok(false),
        [1] => Ok(true),
        [byte] => Err(not_bool(byte)),
    }
}

/// Text, which is UTF-8.
#[inline]
pub(crate) fn read_str(slot: Slot<'_>) -> Result<&str> {
    match std::str::from_utf8(slot.payload()?) {
        Ok(text) => Ok(text),
        Err(error) => Err(not_utf8(error)),
    }
}

#[cold]
fn not_bool(byte: u8) -> Error {
    Error::malformed(format!("a bool of {byte} instead of 0 or 1"))
}

#[cold]
pub(crate) fn not_utf8(error: std::str::Utf8Error) -> Error {
    Error::malformed(format!("text that is not UTF-8 from byte {} on", error.valid_up_to()))
}
