//! Types as they are spelled in stored schemas (`docs/format/file.md` §11).
//!
//! ```text
//! int32                               timestamp:us:America/New_York
//! decimal:128:38:10                   fixed_size_list:fixed_size_list:int8:2:3     (outer 3, inner 2)
//! dict:string:int16:false             list.struct                                  (+ child fields)
//! ```

use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, IntervalUnit, TimeUnit};

use super::{EXTENSION_METADATA, EXTENSION_NAME};
use crate::FormatError;

/// The extension type of two-byte brain floats.
const BFLOAT16: &str = "lance.bfloat16";

/// How deep fixed-size lists may nest in each other.
const MAX_DEPTH: usize = 32;

/// The type of a field, but for what its child fields say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogicalType {
    /// A type without child fields: primitives, strings, dictionaries, fixed-size lists of those.
    Leaf(DataType),
    /// JSON: a large binary column with the extension type `lance.json`.
    Json,
    /// How older files spell a large binary column that is stored as a blob.
    Blob,
    /// A struct; the children are its members.
    Struct,
    /// A list; the only child is its item.
    List,
    /// A list with 64-bit offsets.
    LargeList,
    /// A fixed-size list of structs, with its length; the only child is the struct.
    FixedSizeList(i32),
    /// A map with unsorted keys; the only child is the struct of key and value.
    Map,
}

impl LogicalType {
    /// Parses a stored type.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let parsed = match text {
            "json" => Some(Self::Json),
            "blob" => Some(Self::Blob),
            "struct" => Some(Self::Struct),
            "list" | "list.struct" => Some(Self::List),
            "large_list" | "large_list.struct" => Some(Self::LargeList),
            "map" => Some(Self::Map),
            _ => match text.strip_prefix("fixed_size_list:struct:") {
                Some(size) => parse_size(size).map(Self::FixedSizeList),
                None => parse_leaf(text, 0).map(Self::Leaf),
            },
        };
        parsed.ok_or_else(|| FormatError::unsupported(format!("logical type {text:?}")))
    }

    /// The type of an Arrow field, but for its children; or why it cannot be stored.
    pub(super) fn from_arrow(field: &ArrowField) -> Result<Self, String> {
        let extension = field.metadata().get(EXTENSION_NAME).map(String::as_str);
        Ok(match (field.data_type(), extension) {
            (DataType::LargeBinary, Some("lance.json"))
            | (DataType::Utf8 | DataType::LargeUtf8, Some("arrow.json")) => Self::Json,
            (DataType::Struct(_), _) => Self::Struct,
            (DataType::List(_), _) => Self::List,
            (DataType::LargeList(_), _) => Self::LargeList,
            (DataType::FixedSizeList(item, size), _) if matches!(item.data_type(), DataType::Struct(_)) => {
                Self::FixedSizeList(*size)
            }
            (DataType::Map(_, false), _) => Self::Map,
            (DataType::Map(_, true), _) => return Err("maps with sorted keys cannot be stored".into()),
            (leaf, _) => Self::Leaf(storable_leaf(leaf)?),
        })
    }

    /// The stored form; that of a list says whether its item is a struct.
    pub(super) fn to_string_with(&self, child_is_struct: bool) -> String {
        match self {
            Self::Leaf(data_type) => leaf_to_string(data_type),
            Self::Json => "json".into(),
            Self::Blob => "blob".into(),
            Self::Struct => "struct".into(),
            Self::List if child_is_struct => "list.struct".into(),
            Self::List => "list".into(),
            Self::LargeList if child_is_struct => "large_list.struct".into(),
            Self::LargeList => "large_list".into(),
            Self::FixedSizeList(size) => format!("fixed_size_list:struct:{size}"),
            Self::Map => "map".into(),
        }
    }
}

/// The types that are one word.
const WORDS: [(&str, DataType); 27] = [
    ("null", DataType::Null),
    ("bool", DataType::Boolean),
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("halffloat", DataType::Float16),
    ("float", DataType::Float32),
    ("double", DataType::Float64),
    ("string", DataType::Utf8),
    ("large_string", DataType::LargeUtf8),
    ("binary", DataType::Binary),
    ("large_binary", DataType::LargeBinary),
    ("date32:day", DataType::Date32),
    ("date64:ms", DataType::Date64),
    ("time32:s", DataType::Time32(TimeUnit::Second)),
    ("time32:ms", DataType::Time32(TimeUnit::Millisecond)),
    ("time64:us", DataType::Time64(TimeUnit::Microsecond)),
    ("time64:ns", DataType::Time64(TimeUnit::Nanosecond)),
    ("duration:s", DataType::Duration(TimeUnit::Second)),
    ("duration:ms", DataType::Duration(TimeUnit::Millisecond)),
    ("duration:us", DataType::Duration(TimeUnit::Microsecond)),
    ("duration:ns", DataType::Duration(TimeUnit::Nanosecond)),
];

fn parse_leaf(text: &str, depth: usize) -> Option<DataType> {
    if let Some((_, data_type)) = WORDS.iter().find(|(word, _)| *word == text) {
        return Some(data_type.clone());
    }
    let (head, rest) = text.split_once(':')?;
    match head {
        "fixed_size_list" if depth < MAX_DEPTH => {
            let (child, size) = rest.rsplit_once(':')?;
            let size = parse_size(size)?;
            let item = match child {
                BFLOAT16 => bfloat16_item(),
                _ => ArrowField::new("item", parse_leaf(child, depth + 1)?, true),
            };
            Some(DataType::FixedSizeList(Arc::new(item), size))
        }
        "fixed_size_binary" => parse_size(rest).map(DataType::FixedSizeBinary),
        "dict" => parse_dictionary(rest),
        "decimal" => parse_decimal(rest),
        "timestamp" => {
            let (unit, zone) = rest.split_once(':')?;
            let zone = (zone != "-").then(|| Arc::from(zone));
            Some(DataType::Timestamp(parse_unit(unit)?, zone))
        }
        _ => None,
    }
}

fn parse_dictionary(rest: &str) -> Option<DataType> {
    let mut parts = rest.split(':');
    let (value, index, _ordered) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let word = |text| WORDS.iter().find(|(word, _)| *word == text).map(|(_, data_type)| data_type.clone());
    let index = word(index).filter(DataType::is_dictionary_key_type)?;
    Some(DataType::Dictionary(Box::new(index), Box::new(word(value)?)))
}

fn parse_decimal(rest: &str) -> Option<DataType> {
    let mut parts = rest.split(':');
    let (bits, precision, scale) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let (precision, scale) = (precision.parse::<u8>().ok()?, scale.parse::<i8>().ok()?);
    let digits = i16::from(precision);
    match bits {
        "128" if (1..=38).contains(&digits) && i16::from(scale) <= digits => {
            Some(DataType::Decimal128(precision, scale))
        }
        "256" if (1..=76).contains(&digits) && i16::from(scale) <= digits => {
            Some(DataType::Decimal256(precision, scale))
        }
        _ => None,
    }
}

fn parse_size(text: &str) -> Option<i32> {
    text.parse().ok().filter(|size| *size >= 0)
}

fn parse_unit(text: &str) -> Option<TimeUnit> {
    match text {
        "s" => Some(TimeUnit::Second),
        "ms" => Some(TimeUnit::Millisecond),
        "us" => Some(TimeUnit::Microsecond),
        "ns" => Some(TimeUnit::Nanosecond),
        _ => None,
    }
}

/// `data_type` as it comes back after it was stored, or why it cannot be stored.
fn storable_leaf(data_type: &DataType) -> Result<DataType, String> {
    Ok(match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::FixedSizeList(item, size) => {
            let extension = item.metadata().get(EXTENSION_NAME).map(String::as_str);
            let item = match (item.data_type(), extension) {
                (DataType::FixedSizeBinary(2), Some(BFLOAT16)) => bfloat16_item(),
                (inner, _) => match storable_leaf(inner) {
                    Ok(inner) => ArrowField::new("item", inner, true),
                    Err(_) => return Err(format!("fixed-size lists of {inner} cannot be stored")),
                },
            };
            DataType::FixedSizeList(Arc::new(item), *size)
        }
        DataType::Dictionary(index, value) => {
            let value = storable_leaf(value)?;
            let text = leaf_to_string(&value);
            if text.contains(':') || !index.is_dictionary_key_type() {
                return Err(format!("dictionaries of {value} cannot be stored"));
            }
            DataType::Dictionary(index.clone(), Box::new(value))
        }
        DataType::Interval(unit) => {
            let unit = match unit {
                IntervalUnit::YearMonth => "months",
                IntervalUnit::DayTime => "days and milliseconds",
                IntervalUnit::MonthDayNano => "months, days and nanoseconds",
            };
            return Err(format!("intervals in {unit} have no stored form"));
        }
        other => match leaf_to_string(other) {
            text if text.is_empty() => return Err(format!("the type {other} has no stored form")),
            text if parse_leaf(&text, 0).as_ref() != Some(other) => {
                return Err(format!("the type {other} does not come back from its stored form {text:?}"));
            }
            _ => other.clone(),
        },
    })
}

/// Empty for types that have no stored form.
fn leaf_to_string(data_type: &DataType) -> String {
    if let Some((word, _)) = WORDS.iter().find(|(_, known)| known == data_type) {
        return (*word).into();
    }
    match data_type {
        DataType::Timestamp(unit, zone) => {
            let zone = zone.as_deref().unwrap_or("-");
            format!("timestamp:{}:{zone}", unit_to_str(*unit))
        }
        DataType::Decimal128(precision, scale) => format!("decimal:128:{precision}:{scale}"),
        DataType::Decimal256(precision, scale) => format!("decimal:256:{precision}:{scale}"),
        DataType::FixedSizeBinary(size) => format!("fixed_size_binary:{size}"),
        DataType::FixedSizeList(item, size) if is_bfloat16(item) => {
            format!("fixed_size_list:{BFLOAT16}:{size}")
        }
        DataType::FixedSizeList(item, size) => {
            format!("fixed_size_list:{}:{size}", leaf_to_string(item.data_type()))
        }
        DataType::Dictionary(index, value) => {
            format!("dict:{}:{}:false", leaf_to_string(value), leaf_to_string(index))
        }
        _ => String::new(),
    }
}

const fn unit_to_str(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

fn bfloat16_item() -> ArrowField {
    let extension = [(EXTENSION_NAME, BFLOAT16), (EXTENSION_METADATA, "")];
    ArrowField::new("item", DataType::FixedSizeBinary(2), true)
        .with_metadata(extension.map(|(key, value)| (key.to_string(), value.to_string())).into())
}

fn is_bfloat16(item: &ArrowField) -> bool {
    item.data_type() == &DataType::FixedSizeBinary(2)
        && item.metadata().get(EXTENSION_NAME).is_some_and(|name| name == BFLOAT16)
}

#[cfg(test)]
mod tests;
