//! The functions that an expression may call.

use std::sync::Arc;

use arrow_arith::boolean::is_not_null;
use arrow_arith::numeric::neg;
use arrow_arith::temporal::{DatePart, date_part};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, GenericStringArray, Int32Array, Int64Array, OffsetSizeTrait, Scalar,
};
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType};
use arrow_select::nullif::nullif;
use arrow_select::zip::zip;
use arrow_string::length::length;
use arrow_string::like;

use super::typed::Value;
use super::types::cast;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    CharLength,
    OctetLength,
    Lower,
    Upper,
    Trim { left: bool, right: bool },
    StartsWith,
    EndsWith,
    Contains,
    ListLength,
    IsNan,
    Coalesce,
    NullIf,
    Part(DatePart),
}

/// Names and functions; those of parts of dates and times are in [`part`].
const NAMES: &[(&str, Function)] = &[
    ("abs", Function::Abs),
    ("length", Function::CharLength),
    ("char_length", Function::CharLength),
    ("character_length", Function::CharLength),
    ("octet_length", Function::OctetLength),
    ("lower", Function::Lower),
    ("upper", Function::Upper),
    ("trim", Function::Trim { left: true, right: true }),
    ("btrim", Function::Trim { left: true, right: true }),
    ("ltrim", Function::Trim { left: true, right: false }),
    ("rtrim", Function::Trim { left: false, right: true }),
    ("starts_with", Function::StartsWith),
    ("ends_with", Function::EndsWith),
    ("contains", Function::Contains),
    ("array_length", Function::ListLength),
    ("list_length", Function::ListLength),
    ("cardinality", Function::ListLength),
    ("len", Function::ListLength),
    ("isnan", Function::IsNan),
    ("coalesce", Function::Coalesce),
    ("nullif", Function::NullIf),
];

const PARTS: &[(&str, DatePart)] = &[
    ("year", DatePart::Year),
    ("quarter", DatePart::Quarter),
    ("month", DatePart::Month),
    ("week", DatePart::Week),
    ("day", DatePart::Day),
    ("hour", DatePart::Hour),
    ("minute", DatePart::Minute),
    ("second", DatePart::Second),
    ("doy", DatePart::DayOfYear),
    ("dow", DatePart::DayOfWeekSunday0),
];

impl Function {
    /// The function `name`, in lower case; also `year(…)` and so on.
    pub(super) fn named(name: &str) -> Option<Self> {
        let found = NAMES.iter().find(|(other, _)| *other == name).map(|(_, function)| *function);
        found.or_else(|| part(name).map(Self::Part))
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        let parts = PARTS.iter().map(|(name, _)| *name);
        NAMES.iter().map(|(name, _)| *name).chain(parts).chain(["date_part", "concat"])
    }

    /// Whether some values make it fail.
    pub(super) const fn is_fallible(self) -> bool {
        matches!(self, Self::Abs)
    }

    /// The result for arguments whose types were checked when the call was bound.
    pub(super) fn call(self, args: &[Value], rows: usize) -> Result<Value, ArrowError> {
        let (Some(first), second) = (args.first(), args.get(1)) else {
            return Err(ArrowError::InvalidArgumentError("no arguments".into()));
        };
        let one = first.array();
        let array: ArrayRef = match (self, second) {
            (Self::Abs, _) => abs(one)?,
            (Self::CharLength, _) => match one.data_type() {
                DataType::LargeUtf8 => Arc::new(letters::<i64, _, Int64Array>(one, as_i64)),
                _ => Arc::new(letters::<i32, _, Int32Array>(one, as_i32)),
            },
            (Self::OctetLength, _) => length(one)?,
            (Self::Lower, _) => text(one, |text| text.to_lowercase().into()),
            (Self::Upper, _) => text(one, |text| text.to_uppercase().into()),
            (Self::Trim { left, right }, _) => text(one, |text| {
                let text = if left { text.trim_start_matches(' ') } else { text };
                let text = if right { text.trim_end_matches(' ') } else { text };
                text.into()
            }),
            (Self::ListLength, _) => cast(&length(one)?, &DataType::UInt64)?,
            (Self::IsNan, _) => Arc::new(is_nan(one)),
            (Self::Part(part), _) => date_part(one, part)?,
            (Self::Coalesce, _) => return coalesce(args, rows),
            (Self::StartsWith, Some(second)) => return both(first, second, rows, like::starts_with),
            (Self::EndsWith, Some(second)) => return both(first, second, rows, like::ends_with),
            (Self::Contains, Some(second)) => return both(first, second, rows, like::contains),
            (Self::NullIf, Some(second)) => {
                let equal = cmp::eq(first, second)?;
                let (equal, one) = match (first.is_one(), second.is_one()) {
                    (true, false) => (equal, many(first, rows)?),
                    _ => (equal, Arc::clone(one)),
                };
                let array = nullif(&one, &equal)?;
                return Ok(if first.is_one() && second.is_one() {
                    Value::One(array)
                } else {
                    Value::Many(array)
                });
            }
            (_, None) => return Err(ArrowError::InvalidArgumentError("too few arguments".into())),
        };
        Ok(first.with(array))
    }
}

/// The part of dates and times that is called `name`.
pub(super) fn part(name: &str) -> Option<DatePart> {
    let name = name.to_ascii_lowercase();
    PARTS.iter().find(|(other, _)| *other == name).map(|(_, part)| *part)
}

/// `value` as an array of `rows` rows.
pub(super) fn many(value: &Value, rows: usize) -> Result<ArrayRef, ArrowError> {
    match value {
        Value::Many(array) => Ok(Arc::clone(array)),
        Value::One(array) => {
            let indices = arrow_array::UInt32Array::from_value(0, rows);
            arrow_select::take::take(array, &indices, None)
        }
    }
}

/// A kernel of two sides; of two constants the result is one.
pub(super) fn both<A: Array + 'static>(
    one: &Value,
    other: &Value,
    rows: usize,
    kernel: impl Fn(&dyn arrow_array::Datum, &dyn arrow_array::Datum) -> Result<A, ArrowError>,
) -> Result<Value, ArrowError> {
    let array: ArrayRef = Arc::new(kernel(one, other)?);
    debug_assert!(one.is_one() && other.is_one() || array.len() == rows);
    Ok(if one.is_one() && other.is_one() { Value::One(array) } else { Value::Many(array) })
}

fn abs(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let data_type = array.data_type();
    if data_type.is_unsigned_integer() || *data_type == DataType::Null {
        return Ok(Arc::clone(array));
    }
    let zero: ArrayRef = Arc::new(Int64Array::from(vec![0]));
    let negative = cmp::lt(array, &Scalar::new(cast(&zero, data_type)?))?;
    // Only of the negative ones: the others have a negative, too, but NaN keeps its sign.
    zip(&negative, &neg(array)?, array)
}

fn letters<O: OffsetSizeTrait, N, A: FromIterator<Option<N>>>(array: &ArrayRef, count: fn(usize) -> N) -> A {
    let texts = array.as_string_opt::<O>().into_iter().flat_map(GenericStringArray::iter);
    texts.map(|text| text.map(|text| count(text.chars().count()))).collect()
}

// A text is no longer than its offsets can say.
fn as_i32(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn as_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn text(array: &ArrayRef, change: impl Fn(&str) -> std::borrow::Cow<'_, str>) -> ArrayRef {
    fn of<O: OffsetSizeTrait>(
        array: &GenericStringArray<O>,
        change: impl Fn(&str) -> std::borrow::Cow<'_, str>,
    ) -> ArrayRef {
        Arc::new(array.iter().map(|text| text.map(&change)).collect::<GenericStringArray<O>>())
    }
    match (array.as_string_opt::<i32>(), array.as_string_opt::<i64>()) {
        (Some(short), _) => of(short, change),
        (_, Some(long)) => of(long, change),
        _ => Arc::clone(array),
    }
}

fn is_nan(array: &ArrayRef) -> BooleanArray {
    if let Some(array) = array.as_primitive_opt::<Float64Type>() {
        return BooleanArray::from_unary(array, f64::is_nan);
    }
    if let Some(array) = array.as_primitive_opt::<Float32Type>() {
        return BooleanArray::from_unary(array, f32::is_nan);
    }
    if let Some(array) = array.as_primitive_opt::<Float16Type>() {
        return BooleanArray::from_unary(array, |value| value.is_nan());
    }
    // Other numbers always are one.
    BooleanArray::new(arrow_buffer::BooleanBuffer::new_unset(array.len()), array.logical_nulls())
}

fn coalesce(args: &[Value], rows: usize) -> Result<Value, ArrowError> {
    let all_one = args.iter().all(Value::is_one);
    let rows = if all_one { 1 } else { rows };
    let mut args = args.iter();
    let Some(first) = args.next() else {
        return Err(ArrowError::InvalidArgumentError("no arguments".into()));
    };
    let mut result = many(first, rows)?;
    for arg in args {
        if result.logical_null_count() == 0 {
            break;
        }
        let there = is_not_null(&result)?;
        result = zip(&there, &result, &many(arg, rows)?)?;
    }
    Ok(if all_one { Value::One(result) } else { Value::Many(result) })
}
