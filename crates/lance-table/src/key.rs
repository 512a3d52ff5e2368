//! Keys: columns by whose values rows find each other.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, downcast_primitive_array};
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use lance_file::Schema;

use crate::columns::made::find;
use crate::{Result, TableError};

/// Some columns of a table that make up a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key {
    columns: Vec<KeyColumn>,
}

#[derive(Debug, PartialEq, Eq)]
struct KeyColumn {
    /// From the outermost to the innermost field.
    names: Vec<String>,
    data_type: DataType,
}

impl Key {
    /// The columns at the dotted `paths`.
    pub(crate) fn of(schema: &Schema, paths: &[String]) -> Result<Self> {
        if paths.is_empty() {
            return Err(TableError::invalid("no column is named that is the key"));
        }
        let columns = paths.iter().map(|path| {
            let names = schema.trace(path)?.iter().map(|field| field.name.clone()).collect();
            Ok(KeyColumn { names, data_type: key_type(schema, path)? })
        });
        Ok(Self { columns: columns.collect::<Result<_>>()? })
    }

    /// The names of the top-level columns.
    pub(crate) fn outer(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter_map(|column| column.names.first().map(String::as_str))
    }

    /// The values of `batch`, for [`Places`].
    pub(crate) fn arrays(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let arrays =
            self.columns.iter().map(|column| Ok(cast(&find(batch, &column.names)?, &column.data_type)?));
        arrays.collect()
    }
}

/// Where a row is: which batch, and which row of it.
pub(crate) type Place = (usize, usize);

/// Which row has which key, in memory.
#[derive(Debug, Default)]
pub(crate) struct Places(HashMap<Box<[u8]>, Place>);

impl Places {
    /// Adds the rows of the batch with this `number` by their `keys`; those of which a part is null are left out. The inner
    /// error is a key that is there already, as text.
    pub(crate) fn add(&mut self, number: usize, keys: &[ArrayRef]) -> Result<Result<(), String>> {
        let mut bytes = vec![];
        for row in 0..rows(keys) {
            if !write_key(keys, row, &mut bytes) {
                continue;
            }
            match self.0.entry(bytes.as_slice().into()) {
                Entry::Vacant(place) => drop(place.insert((number, row))),
                Entry::Occupied(_) => {
                    let values = keys.iter().map(|key| Ok(array_value_to_string(key, row)?));
                    return Ok(Err(values.collect::<Result<Vec<_>>>()?.join(", ")));
                }
            }
        }
        Ok(Ok(()))
    }

    /// For each row with `keys`, the row with the same key.
    pub(crate) fn find(&self, keys: &[ArrayRef]) -> Vec<Option<Place>> {
        let mut bytes = vec![];
        let found = (0..rows(keys)).map(|row| match write_key(keys, row, &mut bytes) {
            true => self.0.get(bytes.as_slice()).copied(),
            false => None,
        });
        found.collect()
    }
}

fn rows(keys: &[ArrayRef]) -> usize {
    keys.first().map_or(0, Array::len)
}

/// Writes what stands for the key in `row` to `to`, instead of what is there; not if a part of it is null.
fn write_key(arrays: &[ArrayRef], row: usize, to: &mut Vec<u8>) -> bool {
    to.clear();
    for array in arrays {
        let Some(bytes) = bytes(array, row) else { return false };
        to.extend((bytes.len() as u64).to_le_bytes());
        to.extend(bytes);
    }
    true
}

/// The type as which keys are compared.
pub(crate) fn key_type(schema: &Schema, key: &str) -> Result<DataType> {
    let trace = schema.trace(key)?;
    let fail = |what: String| Err(TableError::invalid(format!("column {key:?} cannot be a key: {what}")));
    if trace.iter().rev().skip(1).any(|above| !matches!(above.data_type(), DataType::Struct(_))) {
        return fail("it is inside of a list".into());
    }
    let data_type = trace.last().map_or(DataType::Null, |field| field.data_type());
    let data_type = match data_type {
        DataType::Dictionary(_, value) => *value,
        other => other,
    };
    let comparable = match &data_type {
        DataType::Boolean | DataType::FixedSizeBinary(_) => true,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => true,
        other => other.is_primitive() && !other.is_floating(),
    };
    match comparable && trace.iter().all(|field| !field.is_blob()) {
        true => Ok(data_type),
        false => fail(format!("its type is {data_type}")),
    }
}

/// Whether keys of type `own` can be those of type `to`: a number that is out of its range is that of no row.
pub(crate) fn alike(own: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (own, to) {
        (T::Dictionary(_, own), to) => alike(own, to),
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::Utf8 | T::LargeUtf8) => true,
        (T::Binary | T::LargeBinary | T::BinaryView, T::Binary | T::LargeBinary) => true,
        (own, to) => own == to || (own.is_integer() && to.is_integer()),
    }
}

/// What stands for the value in `row`; none for null.
fn bytes(array: &ArrayRef, row: usize) -> Option<&[u8]> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::Boolean => Some(if array.as_boolean().value(row) { &[1] } else { &[0] }),
        DataType::Utf8 => Some(array.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row).as_bytes()),
        DataType::Binary => Some(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Some(array.as_binary::<i64>().value(row)),
        DataType::FixedSizeBinary(_) => Some(array.as_fixed_size_binary().value(row)),
        other => {
            let width = other.primitive_width()?;
            let start = row.checked_mul(width)?;
            let array = array.as_ref();
            downcast_primitive_array!(
                array => array.values().inner().as_slice().get(start..start.checked_add(width)?),
                _ => None
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::record_batch;

    use super::*;

    #[test]
    fn parts_of_keys_do_not_run_together() {
        let batch =
            record_batch!(("a", Utf8, [Some("x"), Some("xy"), None]), ("b", Utf8, ["yz", "z", "z"])).unwrap();
        let schema = Schema::from_arrow(&batch.schema()).unwrap();
        let arrays = Key::of(&schema, &["a".into(), "b".into()]).unwrap().arrays(&batch).unwrap();
        let (mut first, mut second) = (vec![7], vec![]);
        assert!(write_key(&arrays, 0, &mut first) && write_key(&arrays, 1, &mut second));
        assert_ne!(first, second);
        assert!(!write_key(&arrays, 2, &mut first));
        let mut places = Places::default();
        assert_eq!(places.add(3, &arrays).unwrap(), Ok(()));
        assert_eq!(places.find(&arrays), [Some((3, 0)), Some((3, 1)), None]);
        assert_eq!(places.add(4, &arrays).unwrap(), Err("x, yz".into()));
        let batch = record_batch!(("a", Float32, [0.5])).unwrap();
        let schema = Schema::from_arrow(&batch.schema()).unwrap();
        assert!(Key::of(&schema, &["a".into()]).is_err() && Key::of(&schema, &[]).is_err());
        assert!(Key::of(&schema, &["b".into()]).is_err());
    }
}
