//! Literals as values of the type that they meet.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal256Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, IntervalMonthDayNanoArray, StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
    new_null_array,
};
use arrow_buffer::i256;
use arrow_cast::parse::parse_interval_month_day_nano;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, TimeUnit};

use super::number::{Number, Position};
use super::syntax::Literal;
use super::types::{cast, decimal, finer, is_text, knows, loaded};

/// What a literal is among the values of a type.
#[derive(Debug, Clone)]
pub(super) enum Met {
    /// This value. Its type may be another one that it can be compared with without loss.
    At(ArrayRef),
    /// It lies between this value and the next.
    Above(ArrayRef),
    /// It is below, or above, all of them.
    Below,
    Beyond,
}

impl Literal {
    /// The literal by itself.
    pub(super) fn alone(&self) -> Result<ArrayRef, String> {
        Ok(match self {
            Self::Null => new_null_array(&DataType::Null, 1),
            Self::Bool(value) => Arc::new(BooleanArray::from(vec![*value])),
            Self::Number(digits) => alone(&number(digits)?),
            Self::Text { value, .. } => Arc::new(StringArray::from(vec![value.as_str()])),
            Self::Bytes(bytes) => Arc::new(BinaryArray::from(vec![bytes.as_slice()])),
            Self::Interval(text) => {
                let interval = parse_interval_month_day_nano(text);
                let interval =
                    interval.map_err(|_| format!("{text:?} is no interval, as in '1 day 2 hours'"))?;
                Arc::new(IntervalMonthDayNanoArray::from(vec![interval]))
            }
        })
    }

    /// The literal among values of `data_type`.
    pub(super) fn meets(&self, data_type: &DataType) -> Result<Met, String> {
        match self {
            Self::Null => Ok(Met::At(new_null_array(data_type, 1))),
            Self::Number(digits) if data_type.is_numeric() => among(&number(digits)?, data_type),
            Self::Text { value, .. } if data_type.is_temporal() => Ok(Met::At(time(value, data_type)?)),
            Self::Text { value, .. } if !is_text(data_type) && *data_type != DataType::Null => {
                let why = match data_type {
                    _ if data_type.is_numeric() => "; numbers are written without quotes",
                    DataType::Boolean => "; the values are true and false, without quotes",
                    DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
                        "; bytes are written X'00FF'"
                    }
                    _ => "",
                };
                Err(format!("the text '{value}' cannot be compared with {data_type}{why}"))
            }
            Self::Number(digits) if !data_type.is_numeric() && *data_type != DataType::Null => {
                let why = match data_type {
                    _ if is_text(data_type) => "; texts are written in single quotes",
                    DataType::Date32 | DataType::Date64 => "; dates are written DATE '2026-01-31'",
                    DataType::Timestamp(..) => "; times are written TIMESTAMP '2026-01-31 12:30:00'",
                    DataType::Boolean => "; the values are true and false",
                    _ => "",
                };
                Err(format!("the number {digits} cannot be compared with {data_type}{why}"))
            }
            _ => Ok(Met::At(self.alone()?)),
        }
    }

    /// The literal as a side of an operator whose other side is `data_type`.
    pub(super) fn beside(&self, data_type: &DataType) -> Result<ArrayRef, String> {
        match self {
            Self::Number(digits) => {
                let number = number(digits)?;
                match data_type {
                    DataType::UInt64 => Ok(unsigned(&number).unwrap_or_else(|| alone(&number))),
                    _ if data_type.is_floating() && number.is_whole() => float(number.to_f64(), data_type),
                    _ if data_type.is_decimal() => Ok(exact(&number).unwrap_or_else(|| alone(&number))),
                    _ => Ok(alone(&number)),
                }
            }
            Self::Text { value, .. } if data_type.is_temporal() => time(value, data_type),
            Self::Null => Ok(new_null_array(data_type, 1)),
            _ => self.alone(),
        }
    }
}

fn number(digits: &str) -> Result<Number, String> {
    Number::parse(digits).ok_or_else(|| format!("{digits} is no number"))
}

/// 64 bits, signed if possible, and a float if there are not enough or it was written like one.
fn alone(number: &Number) -> ArrayRef {
    match number.position(0) {
        Position::At(value) if number.is_whole() => match value.to_i128().map(i64::try_from) {
            Some(Ok(value)) => Arc::new(Int64Array::from(vec![value])),
            _ => unsigned(number).unwrap_or_else(|| Arc::new(Float64Array::from(vec![number.to_f64()]))),
        },
        _ => Arc::new(Float64Array::from(vec![number.to_f64()])),
    }
}

fn unsigned(number: &Number) -> Option<ArrayRef> {
    let Position::At(value) = number.position(0) else { return None };
    let value = u64::try_from(value.to_i128()?).ok().filter(|_| number.is_whole())?;
    Some(Arc::new(UInt64Array::from(vec![value])))
}

/// The shortest decimal.
fn exact(number: &Number) -> Option<ArrayRef> {
    let (precision, scale) = number.digits()?;
    let data_type = match precision {
        ..=DECIMAL128_MAX_PRECISION => DataType::Decimal128(precision, scale),
        _ if precision <= DECIMAL256_MAX_PRECISION => DataType::Decimal256(precision, scale),
        _ => return None,
    };
    let Position::At(value) = number.position(scale) else { return None };
    scaled(value, precision, scale, &data_type).ok()
}

fn float(value: f64, data_type: &DataType) -> Result<ArrayRef, String> {
    let array: ArrayRef = Arc::new(Float64Array::from(vec![value]));
    cast(&array, data_type).map_err(|error| error.to_string())
}

/// A number among those of a column.
fn among(number: &Number, data_type: &DataType) -> Result<Met, String> {
    if data_type.is_floating() {
        return Ok(Met::At(float(number.to_f64(), data_type)?));
    }
    let (precision, scale) = decimal(data_type).ok_or_else(|| format!("numbers of type {data_type}"))?;
    let (value, between) = match number.position(scale) {
        Position::At(value) => (value, false),
        Position::Above(value) => (value, true),
        Position::Below => return Ok(Met::Below),
        Position::Beyond => return Ok(Met::Beyond),
    };
    let (least, most) = bounds(data_type, precision);
    if value < least {
        return Ok(Met::Below);
    }
    if value > most {
        return Ok(Met::Beyond);
    }
    let value = scaled(value, precision.max(1), scale, data_type)?;
    Ok(if between { Met::Above(value) } else { Met::At(value) })
}

/// The least and the greatest value of a type of integers or decimals, without the scale.
fn bounds(data_type: &DataType, precision: u8) -> (i256, i256) {
    let (least, most) = match data_type {
        DataType::Int8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
        DataType::Int16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        DataType::Int32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        DataType::Int64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        DataType::UInt8 => (0, i128::from(u8::MAX)),
        DataType::UInt16 => (0, i128::from(u16::MAX)),
        DataType::UInt32 => (0, i128::from(u32::MAX)),
        DataType::UInt64 => (0, i128::from(u64::MAX)),
        _ => {
            let most = i256::from_string(&"9".repeat(usize::from(precision))).unwrap_or(i256::MAX);
            return (i256::ZERO.wrapping_sub(most), most);
        }
    };
    (i256::from_i128(least), i256::from_i128(most))
}

/// The value · 10^-`scale` as `data_type`.
fn scaled(value: i256, precision: u8, scale: i8, data_type: &DataType) -> Result<ArrayRef, String> {
    if let Some(integer) = integer(value, data_type) {
        return Ok(integer);
    }
    let array = Decimal256Array::from(vec![value]);
    // Of a negative scale Arrow wants a precision that holds what it stands for.
    let array = array
        .with_precision_and_scale(precision.max(scale.unsigned_abs()).min(DECIMAL256_MAX_PRECISION), scale);
    let array: ArrayRef = Arc::new(array.map_err(|error| error.to_string())?);
    cast(&array, data_type).map_err(|error| error.to_string())
}

/// The value as an integer; none if `data_type` is none, or does not hold it. There may be a million in a list.
fn integer(value: i256, data_type: &DataType) -> Option<ArrayRef> {
    let value = value.to_i128()?;
    Some(match data_type {
        DataType::Int8 => Arc::new(Int8Array::from(vec![i8::try_from(value).ok()?])),
        DataType::Int16 => Arc::new(Int16Array::from(vec![i16::try_from(value).ok()?])),
        DataType::Int32 => Arc::new(Int32Array::from(vec![i32::try_from(value).ok()?])),
        DataType::Int64 => Arc::new(Int64Array::from(vec![i64::try_from(value).ok()?])),
        DataType::UInt8 => Arc::new(UInt8Array::from(vec![u8::try_from(value).ok()?])),
        DataType::UInt16 => Arc::new(UInt16Array::from(vec![u16::try_from(value).ok()?])),
        DataType::UInt32 => Arc::new(UInt32Array::from(vec![u32::try_from(value).ok()?])),
        DataType::UInt64 => Arc::new(UInt64Array::from(vec![u64::try_from(value).ok()?])),
        _ => return None,
    })
}

/// The date, time or timestamp that `text` says. A timestamp may come out finer than `data_type`, so that it is not cut.
fn time(text: &str, data_type: &DataType) -> Result<ArrayRef, String> {
    let fail = |what: &str| format!("the text '{text}' is no {what}");
    let array: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let (unit, zone) = match data_type {
        DataType::Date32 | DataType::Date64 => {
            return cast(&array, data_type).map_err(|_| fail("date, as in '2026-01-31'"));
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            let unit = finer(*unit, written(text));
            let time = match unit {
                TimeUnit::Second | TimeUnit::Millisecond => DataType::Time32(unit),
                _ => DataType::Time64(unit),
            };
            return cast(&array, &time).map_err(|_| fail("time of day, as in '12:30:00'"));
        }
        DataType::Timestamp(unit, zone) => (finer(*unit, written(text)), zone),
        _ => {
            let interval = Literal::Interval(text.into()).alone()?;
            return cast(&interval, data_type).map_err(|error| error.to_string());
        }
    };
    let no_time = || fail("time, as in '2026-01-31 12:30:00'");
    let naive = |unit| cast(&array, &DataType::Timestamp(unit, None)).map_err(|_| no_time());
    let Some(zone) = zone else { return naive(unit) };
    if has_offset(text) {
        let instant = cast(&array, &DataType::Timestamp(unit, Some("+00:00".into())));
        return instant.map_err(|_| no_time());
    }
    if !knows(zone) {
        return Err(format!(
            "the column has times of the zone {zone}, of which no table is at hand; write the distance from UTC, as in '{text}+00:00'"
        ));
    }
    cast(&naive(unit)?, &loaded(&DataType::Timestamp(unit, Some(Arc::clone(zone))))).map_err(|_| no_time())
}

/// The unit that a text with a fraction of a second needs.
fn written(text: &str) -> TimeUnit {
    let fraction = text.rsplit_once('.').map_or("", |(_, fraction)| fraction);
    match fraction.bytes().take_while(u8::is_ascii_digit).count() {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

/// Whether a text of a time ends with a distance from UTC.
fn has_offset(text: &str) -> bool {
    let time = text.trim().get("2026-01-31".len()..).unwrap_or_default();
    time.ends_with(['Z', 'z']) || time.contains(['+', '-'])
}
