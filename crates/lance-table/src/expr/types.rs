//! Types: as which values of a column are worked with, and as which two of different types meet.

use std::sync::Arc;

use arrow_array::timezone::Tz;
use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, TimeUnit};

/// Names of the one time zone whose distance from UTC is known without a table of zones.
const UTC: &[&str] =
    &["UTC", "Etc/UTC", "Etc/UCT", "UCT", "Zulu", "Z", "GMT", "Etc/GMT", "Universal", "Etc/Universal"];

/// The type that values of `stored` are worked with as: dictionaries and views as what they stand for.
pub(super) fn loaded(stored: &DataType) -> DataType {
    match stored {
        DataType::Dictionary(_, values) => loaded(values),
        DataType::RunEndEncoded(_, values) => loaded(values.data_type()),
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Timestamp(unit, Some(zone)) if UTC.iter().any(|utc| utc.eq_ignore_ascii_case(zone)) => {
            DataType::Timestamp(*unit, Some("+00:00".into()))
        }
        other => other.clone(),
    }
}

/// `array` as `to`; what does not fit is an error.
pub(super) fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_or(array, to, false)
}

/// The same, with null for what does not fit if `or_null`.
pub(super) fn cast_or(array: &ArrayRef, to: &DataType, or_null: bool) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    let options = CastOptions { safe: or_null, ..Default::default() };
    cast_with_options(array, to, &options)
}

/// Whether the distance of `zone` from UTC is known.
pub(super) fn knows(zone: &str) -> bool {
    zone.parse::<Tz>().is_ok()
}

/// The type as which a value of `one` and one of `other` are compared.
pub(super) fn common(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    if one == other {
        return Some(one.clone());
    }
    Some(match (one, other) {
        (T::Null, same) | (same, T::Null) => same.clone(),
        _ if one.is_numeric() && other.is_numeric() => return common_number(one, other),
        (T::Utf8 | T::LargeUtf8, T::Utf8 | T::LargeUtf8) => T::LargeUtf8,
        // A text is compared with bytes by its own.
        _ if (is_text(one) || is_binary(one)) && (is_text(other) || is_binary(other)) => {
            let long = [one, other].into_iter().any(|side| matches!(side, T::LargeUtf8 | T::LargeBinary));
            if long { T::LargeBinary } else { T::Binary }
        }
        (T::Date32 | T::Date64, T::Date32 | T::Date64) => T::Date64,
        (T::Date32, time @ T::Timestamp(..)) | (time @ T::Timestamp(..), T::Date32) => time.clone(),
        (T::Date64, T::Timestamp(unit, zone)) | (T::Timestamp(unit, zone), T::Date64) => {
            T::Timestamp(finer(*unit, TimeUnit::Millisecond), zone.clone())
        }
        (T::Timestamp(unit, zone), T::Timestamp(other_unit, other_zone)) => {
            let zone = match (zone, other_zone) {
                // Instants are the same wherever they are seen from.
                (Some(_), Some(_)) => Some("+00:00".into()),
                (zone, other) => zone.clone().or_else(|| other.clone()),
            };
            T::Timestamp(finer(*unit, *other_unit), zone)
        }
        (T::Duration(unit), T::Duration(other)) => T::Duration(finer(*unit, *other)),
        (T::Time32(unit) | T::Time64(unit), T::Time32(other) | T::Time64(other)) => {
            match finer(*unit, *other) {
                unit @ (TimeUnit::Second | TimeUnit::Millisecond) => T::Time32(unit),
                unit => T::Time64(unit),
            }
        }
        _ => return None,
    })
}

fn common_number(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    if one.is_floating() && other.is_floating() {
        return Some(wider_float(one, other));
    }
    if one.is_floating() || other.is_floating() {
        return Some(T::Float64);
    }
    if let Some(integer) = common_integer(one, other) {
        return Some(integer);
    }
    let ((precision, scale), (other_precision, other_scale)) = (decimal(one)?, decimal(other)?);
    let before = |precision: u8, scale: i8| i16::from(precision) - i16::from(scale);
    let digits = before(precision, scale).max(before(other_precision, other_scale));
    let scale = scale.max(other_scale);
    let precision = u8::try_from((digits + i16::from(scale)).max(1)).ok()?.min(DECIMAL256_MAX_PRECISION);
    let long = [one, other].iter().any(|side| matches!(side, T::Decimal256(..)));
    Some(if long || precision > DECIMAL128_MAX_PRECISION {
        T::Decimal256(precision, scale)
    } else {
        T::Decimal128(precision, scale)
    })
}

/// The smallest integer type that holds all of both; none if there is none.
pub(super) fn common_integer(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    if !one.is_integer() || !other.is_integer() {
        return None;
    }
    let signed = one.is_signed_integer() || other.is_signed_integer();
    let bits = |side: &DataType| {
        let own = 8 * side.primitive_width().unwrap_or(8);
        if signed && side.is_unsigned_integer() { 2 * own } else { own }
    };
    Some(match (bits(one).max(bits(other)), signed) {
        (..=8, true) => T::Int8,
        (..=16, true) => T::Int16,
        (..=32, true) => T::Int32,
        (..=64, true) => T::Int64,
        (..=8, false) => T::UInt8,
        (..=16, false) => T::UInt16,
        (..=32, false) => T::UInt32,
        (..=64, false) => T::UInt64,
        _ => return None,
    })
}

pub(super) fn wider_float(one: &DataType, other: &DataType) -> DataType {
    let wider = [DataType::Float64, DataType::Float32];
    wider.into_iter().find(|float| one == float || other == float).unwrap_or(DataType::Float16)
}

/// Precision and scale of a decimal, or of the decimal that holds all values of an integer type.
pub(super) const fn decimal(data_type: &DataType) -> Option<(u8, i8)> {
    match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Some((*precision, *scale)),
        DataType::Int8 | DataType::UInt8 => Some((3, 0)),
        DataType::Int16 | DataType::UInt16 => Some((5, 0)),
        DataType::Int32 | DataType::UInt32 => Some((10, 0)),
        DataType::Int64 => Some((19, 0)),
        DataType::UInt64 => Some((20, 0)),
        _ => None,
    }
}

pub(super) const fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8)
}

pub(super) const fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_))
}

/// Whether values of the type have an order that `=` and `<` go by.
pub(super) fn is_ordered(data_type: &DataType) -> bool {
    !data_type.is_nested() && !matches!(data_type, DataType::Interval(_))
}

/// The finer one of two units of time.
pub(super) fn finer(one: TimeUnit, other: TimeUnit) -> TimeUnit {
    let rank = |unit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    if rank(one) >= rank(other) { one } else { other }
}
