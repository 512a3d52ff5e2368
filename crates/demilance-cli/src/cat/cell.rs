//! One value as a short text for a terminal.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;

use crate::quantity;

/// Characters of a text that are shown.
const TEXT: usize = 48;
/// Items of a list that are shown.
const ITEMS: usize = 4;
/// Bytes of a binary value that are shown; larger ones show their size.
const BINARY: usize = 8;

/// The value of `row`, shortened: `[1.0, 2.0, 3.0, 4.0, … 26]`, `<44.1 KB>`, `the start of a text…`.
pub(super) fn cell(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return "null".to_string();
    }
    match array.data_type() {
        DataType::Null => "null".to_string(),
        DataType::Utf8 => text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => text(array.as_string::<i64>().value(row)),
        DataType::Binary => binary(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => binary(array.as_binary::<i64>().value(row)),
        DataType::FixedSizeBinary(_) => binary(array.as_fixed_size_binary().value(row)),
        DataType::List(_) => list(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row)),
        DataType::Map(..) => map(&array.as_map().value(row)),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().zip(columns).map(|(field, column)| {
                let value = cell(column.as_ref(), row);
                format!("{}: {value}", field.name())
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        _ => other(array, row),
    }
}

/// Whether numbers of this type stand to the right.
pub(super) fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric()
}

fn text(value: &str) -> String {
    let mut short = String::new();
    for (count, character) in value.chars().enumerate() {
        if count == TEXT {
            short.push('…');
            break;
        }
        // A line of the table stays a line, and a terminal is not steered by data.
        if character.is_control() {
            short.extend(character.escape_default());
        } else {
            short.push(character);
        }
    }
    short
}

fn binary(value: &[u8]) -> String {
    if value.len() > BINARY {
        return format!("<{}>", quantity::bytes(value.len() as u64));
    }
    let digits = value.iter().map(|byte| format!("{byte:02x}"));
    format!("0x{}", digits.collect::<String>())
}

fn list(items: &ArrayRef) -> String {
    format!("[{}]", some(items.len(), |item| cell(items.as_ref(), item)))
}

fn map(entries: &StructArray) -> String {
    let entry = |entry: usize| {
        let parts = entries.columns().iter().map(|part| cell(part.as_ref(), entry));
        parts.collect::<Vec<_>>().join(": ")
    };
    format!("{{{}}}", some(entries.len(), entry))
}

/// The first few of `count` items.
fn some(count: usize, item: impl Fn(usize) -> String) -> String {
    let mut shown = (0..count.min(ITEMS)).map(item).collect::<Vec<_>>();
    if count > ITEMS {
        shown.push(format!("… {count}"));
    }
    shown.join(", ")
}

fn other(array: &dyn Array, row: usize) -> String {
    let options = FormatOptions::default().with_display_error(true);
    match ArrayFormatter::try_new(array, &options) {
        Ok(formatter) => text(&formatter.value(row).to_string()),
        Err(_) => format!("<{}>", array.data_type()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
    use arrow_array::types::Float32Type;
    use arrow_array::{BinaryArray, FixedSizeListArray, Int32Array, StringArray};
    use arrow_schema::Field;

    #[test]
    fn long_values_are_shortened() {
        let long = "x".repeat(100);
        let texts = StringArray::from(vec![Some("a\nb"), Some(long.as_str()), None]);
        assert_eq!(cell(&texts, 0), "a\\nb");
        assert_eq!(cell(&texts, 1).chars().count(), TEXT + 1);
        assert_eq!(cell(&texts, 2), "null");
        let image = vec![0u8; 44_100];
        let binaries = BinaryArray::from(vec![image.as_slice(), &[0xde, 0xad], &[]]);
        assert_eq!(cell(&binaries, 0), "<44.1 KB>");
        assert_eq!(cell(&binaries, 1), "0xdead");
        assert_eq!(cell(&binaries, 2), "0x");
    }

    #[test]
    fn lists_show_their_start_and_length() {
        let values = vec![Some((0..26).map(|value| Some(value as f32)).collect::<Vec<_>>())];
        let states = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(values, 26);
        assert_eq!(cell(&states, 0), "[0.0, 1.0, 2.0, 3.0, … 26]");
    }

    #[test]
    fn maps_show_their_first_entries() {
        let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        for key in ["a", "b", "c", "d", "e"] {
            map.keys().append_value(key);
            map.values().append_option((key != "b").then_some(7));
        }
        map.append(true).unwrap();
        map.append(true).unwrap();
        let map = map.finish();
        assert_eq!(cell(&map, 0), "{a: 7, b: null, c: 7, d: 7, … 5}");
        assert_eq!(cell(&map, 1), "{}");
    }

    #[test]
    fn structs_name_their_members() {
        let field = Arc::new(Field::new("x", DataType::Int32, true));
        let both =
            StructArray::from(vec![(field, Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef)]);
        assert_eq!(cell(&both, 0), "{x: 1}");
        assert_eq!(cell(&both, 1), "{x: null}");
    }
}
