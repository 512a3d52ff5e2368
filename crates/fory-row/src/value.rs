//! Values of any type that own what they hold: whole rows decoded, and rows to be encoded.

mod decode;
mod encode;

pub use decode::{Budget, DecodeOptions};

use crate::{Date, Decimal, Duration, Float16, Scalar, Timestamp};

/// A value of any type. A row is a [`Value::Struct`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
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
    Utf8(String),
    /// For `binary` and `fixed_binary`.
    Binary(Vec<u8>),
    /// The elements of a `list`.
    List(Vec<Value>),
    /// The entries of a `map`, in order.
    Map(Vec<(Value, Value)>),
    /// The fields of a `struct` or a row, in the order of the schema.
    Struct(Vec<Value>),
}

impl Value {
    /// The value as writers take it; `None` for lists, maps and structs.
    pub(crate) fn scalar(&self) -> Option<Scalar<'_>> {
        Some(match self {
            Self::Null => Scalar::Null,
            Self::Bool(value) => Scalar::Bool(*value),
            Self::Int8(value) => Scalar::Int8(*value),
            Self::Int16(value) => Scalar::Int16(*value),
            Self::Int32(value) => Scalar::Int32(*value),
            Self::Int64(value) => Scalar::Int64(*value),
            Self::Float16(value) => Scalar::Float16(*value),
            Self::Float32(value) => Scalar::Float32(*value),
            Self::Float64(value) => Scalar::Float64(*value),
            Self::Date(value) => Scalar::Date(*value),
            Self::Timestamp(value) => Scalar::Timestamp(*value),
            Self::Duration(value) => Scalar::Duration(*value),
            Self::Decimal(value) => Scalar::Decimal(*value),
            Self::Utf8(value) => Scalar::Utf8(value),
            Self::Binary(value) => Scalar::Binary(value),
            Self::List(_) | Self::Map(_) | Self::Struct(_) => return None,
        })
    }
}
