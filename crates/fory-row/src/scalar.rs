//! Values without parts, and the newtypes of those that Rust has no type for.

mod decimal;

pub(crate) use decimal::DECIMAL_LEN;
pub use decimal::Decimal;

/// The bits of an IEEE 754 binary16 number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Float16(pub u16);

/// Days since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Date(pub i32);

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp(pub i64);

/// Microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Duration(pub i64);

/// A value without parts, as writers take it: `7i64`, `"arm"`, `Some(1.5f32)`, `Timestamp(0)`, `None::<i32>`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Scalar<'a> {
    /// No value.
    Null,
    /// For `bool`.
    Bool(bool),
    /// For `int8`.
    Int8(i8),
    /// For `int16`.
    Int16(i16),
    /// For `int32`.
    Int32(i32),
    /// For `int64`.
    Int64(i64),
    /// For `float16`.
    Float16(Float16),
    /// For `float32`.
    Float32(f32),
    /// For `float64`.
    Float64(f64),
    /// For `date32`.
    Date(Date),
    /// For `timestamp`.
    Timestamp(Timestamp),
    /// For `duration`.
    Duration(Duration),
    /// For `decimal`.
    Decimal(Decimal),
    /// For `utf8`.
    Utf8(&'a str),
    /// For `binary` and `fixed_binary`.
    Binary(&'a [u8]),
}

impl Scalar<'_> {
    /// Its type, for errors.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int8(_) => "int8",
            Self::Int16(_) => "int16",
            Self::Int32(_) => "int32",
            Self::Int64(_) => "int64",
            Self::Float16(_) => "float16",
            Self::Float32(_) => "float32",
            Self::Float64(_) => "float64",
            Self::Date(_) => "date32",
            Self::Timestamp(_) => "timestamp",
            Self::Duration(_) => "duration",
            Self::Decimal(_) => "decimal",
            Self::Utf8(_) => "utf8",
            Self::Binary(_) => "binary",
        }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),* $(,)?) => {$(
        impl From<$type> for Scalar<'_> {
            #[inline]
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}

from! {
    bool => Bool, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    Float16 => Float16, f32 => Float32, f64 => Float64,
    Date => Date, Timestamp => Timestamp, Duration => Duration, Decimal => Decimal,
}

impl<'a> From<&'a str> for Scalar<'a> {
    #[inline]
    fn from(value: &'a str) -> Self {
        Self::Utf8(value)
    }
}

impl<'a> From<&'a String> for Scalar<'a> {
    #[inline]
    fn from(value: &'a String) -> Self {
        Self::Utf8(value)
    }
}

impl<'a> From<&'a [u8]> for Scalar<'a> {
    #[inline]
    fn from(value: &'a [u8]) -> Self {
        Self::Binary(value)
    }
}

impl<'a> From<&'a Vec<u8>> for Scalar<'a> {
    #[inline]
    fn from(value: &'a Vec<u8>) -> Self {
        Self::Binary(value)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Scalar<'a> {
    #[inline]
    fn from(value: &'a [u8; N]) -> Self {
        Self::Binary(value)
    }
}

impl<'a, T: Into<Scalar<'a>>> From<Option<T>> for Scalar<'a> {
    #[inline]
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
