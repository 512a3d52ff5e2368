//! Numbers that rows have another type or unit for than Arrow.

use arrow_schema::{DataType as ArrowType, TimeUnit};

use arrow_buffer::i256;

use crate::layout::ValueLayout;
use crate::{Decimal, Error, Result};

const MICROS_A_SECOND: i64 = 1_000_000;
const MICROS_A_MILLI: i64 = 1_000;
const NANOS_A_MICRO: i64 = 1_000;
const MILLIS_A_DAY: i64 = 86_400_000;

/// How numbers of an Arrow array become numbers of rows, and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// uint8 in int16.
    UInt8,
    /// uint16 in int32.
    UInt16,
    /// uint32 in int64.
    UInt32,
    /// Milliseconds in days.
    Date64,
    /// Seconds in microseconds.
    Seconds,
    /// Milliseconds in microseconds.
    Millis,
    /// Nanoseconds in microseconds.
    Nanos,
}

impl Change {
    pub(super) fn new(data_type: &ArrowType, layout: &ValueLayout) -> Option<Self> {
        Some(match (data_type, layout) {
            (ArrowType::UInt8, ValueLayout::Int16) => Self::UInt8,
            (ArrowType::UInt16, ValueLayout::Int32) => Self::UInt16,
            (ArrowType::UInt32, ValueLayout::Int64) => Self::UInt32,
            (ArrowType::Date64, ValueLayout::Date32) => Self::Date64,
            (ArrowType::Timestamp(unit, _), ValueLayout::Timestamp)
            | (ArrowType::Duration(unit), ValueLayout::Duration) => match unit {
                TimeUnit::Second => Self::Seconds,
                TimeUnit::Millisecond => Self::Millis,
                TimeUnit::Nanosecond => Self::Nanos,
                TimeUnit::Microsecond => return None,
            },
            _ => return None,
        })
    }

    /// Puts number `index` of `bytes` into `to` as rows have it, and gives how many bytes that are.
    pub(super) fn row_bytes(self, bytes: &[u8], index: usize, to: &mut [u8; 8]) -> Result<usize> {
        let long = || read(bytes, index).map(i64::from_ne_bytes);
        // Short ones are cut off: what is cut off is the sign.
        let (number, width) = match self {
            Self::UInt8 => (i64::from(u8::from_ne_bytes(read(bytes, index)?)), 2),
            Self::UInt16 => (i64::from(u16::from_ne_bytes(read(bytes, index)?)), 4),
            Self::UInt32 => (i64::from(u32::from_ne_bytes(read(bytes, index)?)), 8),
            Self::Date64 => (i64::from(days(long()?)?), 4),
            Self::Seconds => (micros_of_seconds(long()?)?, 8),
            Self::Millis => (micros_of_millis(long()?)?, 8),
            Self::Nanos => (micros_of_nanos(long()?), 8),
        };
        *to = number.to_le_bytes();
        Ok(width)
    }

    /// The bytes of a number in Arrow.
    pub(super) const fn width(self) -> usize {
        match self {
            Self::UInt8 => 1,
            Self::UInt16 => 2,
            Self::UInt32 => 4,
            Self::Date64 | Self::Seconds | Self::Millis | Self::Nanos => 8,
        }
    }
}

/// Number `index` of those in `bytes`, as they lie there.
#[inline]
pub(super) fn read<const N: usize>(bytes: &[u8], index: usize) -> Result<[u8; N]> {
    match bytes.get(index * N..).and_then(<[u8]>::first_chunk) {
        Some(number) => Ok(*number),
        None => Err(Error::value("fewer values than rows")),
    }
}

// To rows.

/// Number `index` of those in `bytes`, as rows have it.
#[inline]
pub(super) fn little_endian<const N: usize>(bytes: &[u8], index: usize) -> Result<[u8; N]> {
    let mut number = read(bytes, index)?;
    if cfg!(target_endian = "big") {
        number.reverse();
    }
    Ok(number)
}

/// Integer `index` of those of `width` bytes in `bytes`, as a decimal number of this scale.
pub(super) fn decimal(bytes: &[u8], width: usize, index: usize, scale: u8) -> Result<Decimal> {
    let unscaled = match width {
        4 => i32::from_ne_bytes(read(bytes, index)?).into(),
        8 => i64::from_ne_bytes(read(bytes, index)?).into(),
        16 => i128::from_ne_bytes(read(bytes, index)?),
        _ => {
            let number = i256::from_le_bytes(little_endian(bytes, index)?);
            number.to_i128().ok_or_else(|| Error::value(format!("{number} has more than 38 digits")))?
        }
    };
    Decimal::new(unscaled, scale)
}

/// Days, from milliseconds; what is left of a day is cut off, in the past too.
#[inline]
pub(super) fn days(millis: i64) -> Result<i32> {
    i32::try_from(millis.div_euclid(MILLIS_A_DAY)).map_err(|_| out_of_range(millis, "ms", "days"))
}

#[inline]
pub(super) fn micros_of_seconds(seconds: i64) -> Result<i64> {
    seconds.checked_mul(MICROS_A_SECOND).ok_or_else(|| out_of_range(seconds, "s", "µs"))
}

#[inline]
pub(super) fn micros_of_millis(millis: i64) -> Result<i64> {
    millis.checked_mul(MICROS_A_MILLI).ok_or_else(|| out_of_range(millis, "ms", "µs"))
}

/// Microseconds, from nanoseconds; what is left of a microsecond is cut off, in the past too.
#[inline]
pub(super) const fn micros_of_nanos(nanos: i64) -> i64 {
    nanos.div_euclid(NANOS_A_MICRO)
}

// To Arrow.

#[inline]
pub(super) fn millis_of_days(days: i32) -> i64 {
    i64::from(days) * MILLIS_A_DAY
}

/// Microseconds in the unit of Arrow, if they are a whole number of it.
#[inline]
pub(super) fn of_micros(micros: i64, unit: Change) -> Result<i64> {
    match unit {
        Change::Seconds => exact(micros, MICROS_A_SECOND, "s"),
        Change::Millis => exact(micros, MICROS_A_MILLI, "ms"),
        Change::Nanos => micros.checked_mul(NANOS_A_MICRO).ok_or_else(|| out_of_range(micros, "µs", "ns")),
        _ => Ok(micros),
    }
}

/// A number that Arrow has in a type without a sign.
#[inline]
pub(super) fn unsigned<S: Copy + std::fmt::Display, U: TryFrom<S>>(number: S) -> Result<U> {
    U::try_from(number).map_err(|_| not_unsigned(number, size_of::<U>()))
}

#[cold]
fn not_unsigned(number: impl std::fmt::Display, width: usize) -> Error {
    Error::value(format!("{number} does not fit uint{}", width * 8))
}

#[inline]
fn exact(micros: i64, divisor: i64, unit: &str) -> Result<i64> {
    if micros % divisor == 0 {
        Ok(micros / divisor)
    } else {
        Err(Error::value(format!("{micros} µs are not a whole number of {unit}")))
    }
}

#[cold]
fn out_of_range(number: i64, unit: &str, other: &str) -> Error {
    Error::value(format!("{number} {unit} are too many to be told in {other}"))
}
