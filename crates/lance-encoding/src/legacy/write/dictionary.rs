//! Dictionary columns: numbers of the width of the key type, and the items. A null row names an item that is null.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::DataType;
use lance_footer::{FormatError, Result};

use super::strings;
use super::values::{Buffers, encoding, flat, no_nulls, values};
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::proto::array::{self as proto, ArrayEncoding};
use crate::vocabulary::Vocabulary;

/// `arrays` as those of pages, each with one dictionary: one if keys can name what their dictionaries have together, and
/// null if there are nulls, else all apart.
pub(super) fn join(arrays: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
    let parts: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    match arrow_select::concat::concat(&parts) {
        Ok(one) if place_of_null(&one).is_ok() => Ok(vec![vec![one]]),
        _ => Ok(arrays.iter().map(|array| vec![Arc::clone(array)]).collect()),
    }
}

/// Adds the values of `array` to `vocabulary`.
pub(super) fn note(array: &ArrayRef, vocabulary: &mut Vocabulary) -> Result<()> {
    let Some(dictionary) = array.as_any_dictionary_opt().filter(|array| !array.values().is_empty()) else {
        return Ok(());
    };
    let nulls = array.logical_nulls();
    let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let keys = dictionary.normalized_keys().into_iter().enumerate();
    vocabulary.add(dictionary.values(), keys.filter(|(row, _)| valid(*row)).map(|(_, key)| key))
}

/// The item that is null for the sake of the nulls of `array`, as a number that keys can have: one that there is, or the
/// one after all that there are; none if there are no nulls.
fn place_of_null(array: &ArrayRef) -> Result<Option<usize>> {
    let (DataType::Dictionary(key, _), Some(dictionary)) = (array.data_type(), array.as_any_dictionary_opt())
    else {
        return Ok(None);
    };
    if array.logical_null_count() == 0 {
        return Ok(None);
    }
    let items = dictionary.values();
    let absent = items.logical_nulls().and_then(|nulls| nulls.iter().position(|valid| !valid));
    match absent.unwrap_or(items.len()) {
        null if null as u64 <= largest(key) => Ok(Some(null)),
        _ => {
            let reason = format!("a null beside {} values, of which keys of {key} name no more", items.len());
            Err(FormatError::unsupported(reason))
        }
    }
}

/// The only one of `arrays`.
pub(super) fn encode(arrays: &[ArrayRef], buffers: &mut Buffers) -> Result<ArrayEncoding> {
    let unknown = || FormatError::unsupported("a page of several dictionaries");
    let [array] = arrays else { return Err(unknown()) };
    let (DataType::Dictionary(key, value), Some(dictionary)) =
        (array.data_type(), array.as_any_dictionary_opt())
    else {
        return Err(unknown());
    };
    let width = key.primitive_width().unwrap_or(8);
    let null = place_of_null(array)?;
    let mut items = Arc::clone(dictionary.values());
    // With an empty dictionary all keys are null.
    let mut keys = match items.is_empty() {
        true => vec![0; array.len()],
        false => dictionary.normalized_keys(),
    };
    if let (Some(null), Some(nulls)) = (null, array.logical_nulls()) {
        if null == items.len() {
            let more = arrow_select::concat::concat(&[items.as_ref(), &new_null_array(value, 1)]);
            items = more.map_err(|error| FormatError::unsupported(error.to_string()))?;
        }
        for (key, valid) in keys.iter_mut().zip(&nulls) {
            if !valid {
                *key = null;
            }
        }
    }
    let numbers = keys.iter().flat_map(|key| (*key as u64).to_le_bytes().into_iter().take(width));
    let numbers: Vec<u8> = numbers.collect();
    let count = items.len();
    let indices = Some(Box::new(no_nulls(flat(width as u64 * 8, vec![numbers.into()], buffers))));
    let items = match **value {
        DataType::Utf8 => strings::binary(&[items], None, buffers)?,
        _ => values(&[items], value, None, buffers)?,
    };
    let num_dictionary_items = u32::try_from(count)
        .map_err(|_| FormatError::unsupported(format!("a dictionary of {count} values")))?;
    let dictionary = proto::Dictionary { indices, items: Some(Box::new(items)), num_dictionary_items };
    Ok(encoding(Kind::Dictionary(Box::new(dictionary))))
}

/// The largest number that a key has.
const fn largest(key: &DataType) -> u64 {
    match key {
        DataType::Int8 => i8::MAX as u64,
        DataType::UInt8 => u8::MAX as u64,
        DataType::Int16 => i16::MAX as u64,
        DataType::UInt16 => u16::MAX as u64,
        DataType::Int32 => i32::MAX as u64,
        DataType::UInt32 => u32::MAX as u64,
        DataType::Int64 => i64::MAX as u64,
        _ => u64::MAX,
    }
}
