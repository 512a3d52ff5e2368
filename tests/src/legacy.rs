//! What files of version 2.0 can hold: structs are never null in them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListArray, Int64Array, OffsetSizeTrait, RecordBatch, RecordBatchOptions,
    StructArray,
};
use arrow_schema::{DataType, Field, Schema};
use lance_file::Version;

use crate::draw::{Draw, Nulls};
use crate::types::{batch, columns};

/// `rows` rows of every type that `version` holds; `id` counts from `first`.
pub fn numbered(draw: &mut Draw, first: i64, rows: usize, version: Version) -> RecordBatch {
    let batch = fit(batch(draw, &columns(), rows, Nulls::Some), version);
    let mut fields = vec![Arc::new(Field::new("id", DataType::Int64, false))];
    fields.extend(batch.schema().fields().iter().cloned());
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + rows as i64));
    let arrays = std::iter::once(id).chain(batch.columns().iter().cloned()).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// `batch` as files of `version` can hold it.
pub fn fit(batch: RecordBatch, version: Version) -> RecordBatch {
    if version > Version::V2_0 {
        return batch;
    }
    let columns = batch.columns().iter().map(without_null_structs).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).unwrap()
}

fn without_null_structs(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Struct(fields) => {
            let members = array.as_struct().columns().iter().map(without_null_structs).collect();
            let array = StructArray::try_new_with_length(fields.clone(), members, None, array.len());
            Arc::new(array.unwrap())
        }
        DataType::List(_) => list::<i32>(array),
        DataType::LargeList(_) => list::<i64>(array),
        _ => Arc::clone(array),
    }
}

fn list<O: OffsetSizeTrait>(array: &ArrayRef) -> ArrayRef {
    let (field, offsets, items, nulls) = array.as_list::<O>().clone().into_parts();
    Arc::new(GenericListArray::new(field, offsets, without_null_structs(&items), nulls))
}
