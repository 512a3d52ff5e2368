//! Puts columns that were made together as data files have them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field as ArrowField};
use lance_file::{Field, Schema};
use std::collections::BTreeMap;

/// The arrays of `schema`. A field whose id is in `sources` is found by the names there in `made`, and one that is not is
/// a struct of the table, of which `own` says where it is null.
pub(super) fn arrays(
    schema: &Schema,
    sources: &BTreeMap<i32, Vec<String>>,
    made: &RecordBatch,
    own: &RecordBatch,
) -> Result<Vec<ArrayRef>, ArrowError> {
    let rows = made.num_rows();
    let arrays = schema.fields.iter().map(|field| match sources.get(&field.id) {
        Some(names) => find(made, names),
        None => members(field, sources, made, own.column_by_name(&field.name), rows),
    });
    arrays.collect()
}

fn members(
    field: &Field,
    sources: &BTreeMap<i32, Vec<String>>,
    made: &RecordBatch,
    own: Option<&ArrayRef>,
    rows: usize,
) -> Result<ArrayRef, ArrowError> {
    let own = own.and_then(|own| own.as_struct_opt());
    let (mut fields, mut arrays) = (vec![], vec![]);
    for child in &field.children {
        let array = match sources.get(&child.id) {
            Some(names) => find(made, names)?,
            None => {
                let below = own.and_then(|own| own.column_by_name(&child.name));
                members(child, sources, made, below, rows)?
            }
        };
        fields.push(ArrowField::new(&child.name, array.data_type().clone(), child.nullable));
        arrays.push(array);
    }
    let nulls = own.and_then(Array::nulls).cloned();
    Ok(Arc::new(StructArray::try_new_with_length(fields.into(), arrays, nulls, rows)?))
}

/// The column of `made` that goes by `names`: null where a struct is that it is in.
pub(crate) fn find(made: &RecordBatch, names: &[String]) -> Result<ArrayRef, ArrowError> {
    let missing = || ArrowError::SchemaError(format!("the column {:?} was not made", names.join(".")));
    let (first, rest) = names.split_first().ok_or_else(missing)?;
    let mut array = made.column_by_name(first).ok_or_else(missing)?;
    let mut nulls: Option<NullBuffer> = None;
    for name in rest {
        let own = array.as_struct_opt().ok_or_else(missing)?;
        nulls = NullBuffer::union(nulls.as_ref(), own.nulls());
        array = own.column_by_name(name).ok_or_else(missing)?;
    }
    masked(array, nulls.as_ref())
}

/// `array`, null also where `nulls` is.
pub(crate) fn masked(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    match nulls {
        Some(nulls) if nulls.null_count() > 0 && *array.data_type() != DataType::Null => {
            let nulls = NullBuffer::union(Some(nulls), array.nulls());
            Ok(make_array(array.to_data().into_builder().nulls(nulls).build()?))
        }
        _ => Ok(Arc::clone(array)),
    }
}
