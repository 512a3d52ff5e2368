//! Other types in place of some, wherever they stand in a schema.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};

/// A type in place of another; the types inside of that were changed before.
pub(crate) type Change = fn(DataType) -> DataType;

/// `schema` with all its types changed.
pub(crate) fn schema(schema: &Schema, change: Change) -> Schema {
    Schema::new_with_metadata(fields(schema.fields(), change), schema.metadata().clone())
}

/// `batch` with the types of `target`, which [`schema`] made for it.
pub(crate) fn batch(batch: &RecordBatch, target: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(target.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() {
            Ok(Arc::clone(column))
        } else {
            cast(column, field.data_type())
        }
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(target), columns, &options)
}

fn fields(fields: &Fields, change: Change) -> Fields {
    fields.iter().map(|member| field(member, change)).collect()
}

fn field(field: &FieldRef, change: Change) -> FieldRef {
    let changed = data_type(field.data_type(), change);
    if &changed == field.data_type() {
        Arc::clone(field)
    } else {
        Arc::new(field.as_ref().clone().with_data_type(changed))
    }
}

fn data_type(from: &DataType, change: Change) -> DataType {
    change(match from {
        DataType::List(item) => DataType::List(field(item, change)),
        DataType::LargeList(item) => DataType::LargeList(field(item, change)),
        DataType::ListView(item) => DataType::ListView(field(item, change)),
        DataType::LargeListView(item) => DataType::LargeListView(field(item, change)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(field(item, change), *length),
        DataType::Struct(members) => DataType::Struct(fields(members, change)),
        DataType::Map(entries, sorted) => DataType::Map(field(entries, change), *sorted),
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(data_type(values, change)))
        }
        DataType::RunEndEncoded(ends, values) => {
            DataType::RunEndEncoded(Arc::clone(ends), field(values, change))
        }
        other => other.clone(),
    })
}
