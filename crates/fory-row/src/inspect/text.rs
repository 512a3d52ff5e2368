//! Values in few words.

use crate::ValueRef;

/// As many characters, bytes, or names are shown.
const SHOWN: usize = 40;

/// A value, and of one with parts how many there are.
pub(crate) fn of(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".into(),
        ValueRef::Bool(value) => value.to_string(),
        ValueRef::Int8(value) => value.to_string(),
        ValueRef::Int16(value) => value.to_string(),
        ValueRef::Int32(value) => value.to_string(),
        ValueRef::Int64(value) => value.to_string(),
        ValueRef::Float16(value) => format!("f16:{:04x}", value.0),
        ValueRef::Float32(value) => format!("{value:?}"),
        ValueRef::Float64(value) => format!("{value:?}"),
        ValueRef::Date(value) => format!("{} days", value.0),
        ValueRef::Timestamp(value) => format!("{} µs", value.0),
        ValueRef::Duration(value) => format!("{} µs", value.0),
        ValueRef::Decimal(value) => value.to_string(),
        ValueRef::Utf8(text) => match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{:?}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()),
            None => format!("{text:?}"),
        },
        ValueRef::Binary(bytes) => {
            let hex: String = bytes.iter().take(SHOWN / 2).map(|byte| format!("{byte:02x}")).collect();
            if bytes.len() > SHOWN / 2 { format!("{hex}… ({} bytes)", bytes.len()) } else { hex }
        }
        ValueRef::List(list) => count(list.len(), "element"),
        ValueRef::Map(map) if map.len() == 1 => "1 entry".into(),
        ValueRef::Map(map) => format!("{} entries", map.len()),
        ValueRef::Struct(row) => count(row.len(), "field"),
    }
}

/// Which bits are set.
pub(super) fn nulls(names: impl Iterator<Item = String>) -> String {
    let mut names = names.peekable();
    let shown = names.by_ref().take(SHOWN / 4).collect::<Vec<_>>().join(", ");
    match (shown.is_empty(), names.count()) {
        (true, _) => "no nulls".into(),
        (false, 0) => format!("null: {shown}"),
        (false, more) => format!("null: {shown} and {more} more"),
    }
}

/// How many there are.
pub(super) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
