//! Whether arrays hold the same values. What lies under a null does not count, nor how a dictionary is arranged.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

/// All rows of `batches`, of `schema`, as one batch without dictionaries.
pub fn whole(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch, String> {
    let fields: Fields = schema.fields().iter().map(|field| without_dictionary(field)).collect();
    let plain = Arc::new(Schema::new(fields));
    let mut converted = vec![];
    for batch in batches {
        let columns: Result<Vec<_>, _> = batch
            .columns()
            .iter()
            .zip(plain.fields())
            .map(|(column, field)| cast_to(column, field))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&plain), columns?, &options);
        converted.push(batch.map_err(|error| error.to_string())?);
    }
    arrow_select::concat::concat_batches(&plain, &converted).map_err(|error| error.to_string())
}

/// Compares schemas, without metadata. The error names the first difference.
pub fn check_schema(actual: &Schema, expected: &Schema) -> Result<(), String> {
    let names =
        |schema: &Schema| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    if names(actual) != names(expected) {
        return Err(format!("fields {:?} instead of {:?}", names(actual), names(expected)));
    }
    for (actual, expected) in actual.fields().iter().zip(expected.fields()) {
        let (actual, expected) = (without_metadata(actual), without_metadata(expected));
        if actual != expected {
            return Err(format!("field {actual:?} instead of {expected:?}"));
        }
    }
    Ok(())
}

/// Compares two batches from [`whole`], column by column. The error names the first row that differs.
pub fn check(actual: &RecordBatch, expected: &RecordBatch) -> Result<(), String> {
    if actual.num_rows() != expected.num_rows() {
        return Err(format!("{} rows instead of {}", actual.num_rows(), expected.num_rows()));
    }
    if actual.num_columns() != expected.num_columns() {
        return Err(format!("{} columns instead of {}", actual.num_columns(), expected.num_columns()));
    }
    for (index, field) in expected.schema().fields().iter().enumerate() {
        check_array(actual.column(index), expected.column(index))
            .map_err(|difference| format!("{}: {difference}", field.name()))?;
    }
    Ok(())
}

/// Compares two arrays.
pub fn check_array(actual: &ArrayRef, expected: &ArrayRef) -> Result<(), String> {
    if actual.len() != expected.len() {
        return Err(format!("{} rows instead of {}", actual.len(), expected.len()));
    }
    let plain = without_dictionary(&Field::new("", expected.data_type().clone(), true));
    let (actual, expected) = (cast_to(actual, &plain)?, cast_to(expected, &plain)?);
    if actual.to_data().eq(&expected.to_data()) {
        return Ok(());
    }
    // The first row at which they part, by halving.
    let differs =
        |from: usize, len: usize| actual.slice(from, len).to_data() != expected.slice(from, len).to_data();
    let (mut from, mut len) = (0, actual.len());
    while len > 1 {
        let half = len / 2;
        if differs(from, half) {
            len = half;
        } else {
            (from, len) = (from + half, len - half);
        }
    }
    Err(format!(
        "row {from} of {} is {} instead of {}",
        actual.len(),
        show(&actual, from),
        show(&expected, from)
    ))
}

/// The rows of `batch` at `rows`, in this order.
pub fn rows_at(batch: &RecordBatch, rows: &[u64]) -> RecordBatch {
    let indices = UInt64Array::from(rows.to_vec());
    let columns =
        batch.columns().iter().map(|column| arrow_select::take::take(column, &indices, None).unwrap());
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options).unwrap()
}

fn show(array: &ArrayRef, row: usize) -> String {
    let options = FormatOptions::new().with_null("null").with_display_error(true);
    let text = match ArrayFormatter::try_new(array, &options) {
        Ok(formatter) => formatter.value(row).to_string(),
        Err(error) => error.to_string(),
    };
    if text.chars().count() > 300 {
        format!("{}…", text.chars().take(300).collect::<String>())
    } else {
        text
    }
}

fn cast_to(array: &ArrayRef, field: &Field) -> Result<ArrayRef, String> {
    if array.data_type() == field.data_type() {
        return Ok(Arc::clone(array));
    }
    let (from, to) = (array.data_type(), field.data_type());
    if !without_dictionary(&Field::new("", from.clone(), true)).data_type().equals_datatype(to) {
        return Err(format!("type {from} instead of {to}"));
    }
    cast(array, to).map_err(|error| error.to_string())
}

/// `field` without metadata and with the values of a dictionary in its place, at every depth.
fn without_dictionary(field: &Field) -> Field {
    rebuild(field, &|kind| match kind {
        DataType::Dictionary(_, values) => (**values).clone(),
        other => other.clone(),
    })
}

fn without_metadata(field: &Field) -> Field {
    rebuild(field, &DataType::clone)
}

fn rebuild(field: &Field, leaf: &dyn Fn(&DataType) -> DataType) -> Field {
    let inner = |field: &Field| Arc::new(rebuild(field, leaf));
    let kind = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| inner(field)).collect()),
        DataType::List(item) => DataType::List(inner(item)),
        DataType::LargeList(item) => DataType::LargeList(inner(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(inner(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        other => leaf(other),
    };
    Field::new(field.name(), kind, field.is_nullable())
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int8Type;
    use arrow_array::{DictionaryArray, Int32Array, StructArray};
    use arrow_buffer::NullBuffer;

    use super::*;

    fn array(values: impl Array + 'static) -> ArrayRef {
        Arc::new(values)
    }

    #[test]
    fn the_first_row_that_differs_is_named() {
        let left = array(Int32Array::from(vec![1, 2, 3, 4]));
        let right = array(Int32Array::from(vec![Some(1), Some(2), None, Some(5)]));
        assert_eq!(check_array(&left, &left), Ok(()));
        assert_eq!(check_array(&left, &right).unwrap_err(), "row 2 of 4 is 3 instead of null");
    }

    #[test]
    fn values_under_nulls_do_not_count() {
        let make = |hidden: i32| {
            let field = Arc::new(Field::new("a", DataType::Int32, true));
            let values: ArrayRef = Arc::new(Int32Array::from(vec![1, hidden]));
            let nulls = NullBuffer::from(vec![true, false]);
            array(StructArray::try_new(vec![field].into(), vec![values], Some(nulls)).unwrap())
        };
        assert_eq!(check_array(&make(2), &make(3)), Ok(()));
    }

    #[test]
    fn dictionaries_are_compared_by_value() {
        let left: DictionaryArray<Int8Type> = vec!["a", "b", "a"].into_iter().collect();
        let right: DictionaryArray<Int8Type> = vec!["b", "a", "b"].into_iter().collect();
        let right = array(right).slice(1, 1);
        assert_eq!(check_array(&array(left).slice(0, 1), &right), Ok(()));
    }

    #[test]
    fn other_types_are_a_difference() {
        let left = array(Int32Array::from(vec![1]));
        let right = cast(&left, &DataType::Int64).unwrap();
        assert_eq!(check_array(&left, &right).unwrap_err(), "type Int32 instead of Int64");
    }
}
