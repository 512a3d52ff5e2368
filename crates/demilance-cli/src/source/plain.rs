//! Types that Lance does not hold but that have an obvious form that it does, and batches brought to
//! the schema of the table.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::retype;

/// `schema` with views and run-end encoding as the types that they stand for.
pub(super) fn schema(schema: &Schema) -> Schema {
    retype::schema(schema, plain)
}

/// `batch` with the columns of `target`, by name; a column that is absent is null.
pub(super) fn conform(batch: &RecordBatch, target: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = target.fields().iter().map(|field| match batch.column_by_name(field.name()) {
        Some(column) => convert(column, field),
        None => Ok(new_null_array(field.data_type(), batch.num_rows())),
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(target), columns, &options)
}

fn convert(column: &ArrayRef, field: &Field) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == field.data_type() {
        return Ok(Arc::clone(column));
    }
    // A value that does not fit is an error, not null.
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, field.data_type(), &options)
        .map_err(|error| ArrowError::CastError(format!("field {:?}: {error}", field.name())))
}

fn plain(from: DataType) -> DataType {
    match from {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::ListView(item) => DataType::List(item),
        DataType::LargeListView(item) => DataType::LargeList(item),
        DataType::RunEndEncoded(_, values) => values.data_type().clone(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::{Int32Array, Int64Array, StringViewArray};

    #[test]
    fn views_become_plain() {
        let item = Arc::new(Field::new("item", DataType::Utf8View, true));
        let given = Schema::new(vec![
            Field::new("a", DataType::BinaryView, true),
            Field::new("b", DataType::ListView(item), true),
        ]);
        let plain = schema(&given);
        assert_eq!(plain.field(0).data_type(), &DataType::Binary);
        let item = Arc::new(Field::new("item", DataType::Utf8, true));
        assert_eq!(plain.field(1).data_type(), &DataType::List(item));
    }

    #[test]
    fn batches_take_the_schema_of_the_table() {
        let batch = RecordBatch::try_from_iter([
            ("s", Arc::new(StringViewArray::from(vec!["x", "y"])) as ArrayRef),
            ("n", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef),
        ])
        .unwrap();
        let target = Arc::new(Schema::new(vec![
            Field::new("n", DataType::Int64, true),
            Field::new("s", DataType::Utf8, true),
            Field::new("absent", DataType::Boolean, true),
        ]));
        let batch = conform(&batch, &target).unwrap();
        assert_eq!(batch.column(0).as_ref(), &Int64Array::from(vec![1, 2]));
        assert_eq!(batch.column(1).as_string::<i32>().value(1), "y");
        assert_eq!(batch.column(2).null_count(), 2);
    }

    #[test]
    fn what_does_not_fit_is_an_error_with_the_field() {
        let batch =
            RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1 << 40])) as ArrayRef)]);
        let target = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, true)]));
        let error = conform(&batch.unwrap(), &target).unwrap_err().to_string();
        assert!(error.contains("\"n\""), "{error}");
    }
}
