//! Columns whose values go to rows by a key.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::interleave::interleave;
use futures::TryStreamExt;
use lance_file::Batches;

use super::made::find;
use super::source::Function;
use crate::key::{Places, alike, key_type};
use crate::{Result, Table, TableError};

/// Rows by their keys, all in memory.
#[derive(Debug)]
pub(super) struct Partners {
    /// Columns other than the key, all of which may be null.
    schema: SchemaRef,
    /// For each of these columns, one null and then the arrays of all batches.
    columns: Vec<Vec<ArrayRef>>,
    /// Batches are counted from 1.
    rows: Places,
    key_type: DataType,
}

impl Partners {
    /// All rows of `batches`, by `key`, which is a column there and in `table`.
    pub(super) async fn collect(table: &Table, batches: Batches, key: &str) -> Result<Self> {
        let key_type = key_type(table.schema(), key)?;
        let Batches { schema, mut stream } = batches;
        let Ok(at) = schema.index_of(key) else {
            let names = schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>();
            return Err(TableError::invalid(format!(
                "the key {key:?} is not among the columns to be added, which are: {}",
                names.join(", ")
            )));
        };
        let own_type = schema.field(at).data_type();
        if !alike(own_type, &key_type) {
            return Err(TableError::invalid(format!(
                "the key {key:?} is of type {own_type} in the columns to be added, but of type {key_type} in the table"
            )));
        }
        let others = || schema.fields().iter().enumerate().filter(|(index, _)| *index != at);
        let columns = others().map(|(_, field)| vec![new_null_array(field.data_type(), 1)]);
        let mut columns = columns.collect::<Vec<_>>();
        let mut rows = Places::default();
        let mut batch_number = 0;
        while let Some(batch) = stream.try_next().await? {
            batch_number += 1;
            let Some(keys) = batch.columns().get(at) else { continue };
            let keys = cast(keys, &key_type)?;
            if let Err(value) = rows.add(batch_number, &[keys])? {
                let reason = format!("two rows of the columns to be added have the same {key:?}, {value}");
                return Err(TableError::invalid(reason));
            }
            let others = batch.columns().iter().enumerate().filter(|(index, _)| *index != at);
            for (arrays, (_, array)) in columns.iter_mut().zip(others) {
                arrays.push(Arc::clone(array));
            }
        }
        let fields = others().map(|(_, field)| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<Field>>()));
        Ok(Self { schema, columns, rows, key_type })
    }

    /// What finds the partners of the rows of `table` by its column `key`.
    pub(super) fn join(self: &Arc<Self>, table: &Table, key: &str) -> Result<Function> {
        if key_type(table.schema(), key)? != self.key_type {
            let reason = format!("the type of the key {key:?} was changed");
            // Only columns that are added give one another type.
            return Err(TableError::Conflict {
                location: table.store().location(""),
                version: table.version(),
                ours: "add columns",
                theirs: "add columns",
                reason,
                retryable: true,
            });
        }
        let partners = Arc::clone(self);
        let trace = table.schema().trace(key)?;
        let names = trace.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
        let body = move |_, batch: RecordBatch| partners.of(&find(&batch, &names)?);
        Ok(Function::new(vec![key.into()], SchemaRef::clone(&self.schema), body))
    }

    /// The partners of the rows with `keys`.
    fn of(&self, keys: &ArrayRef) -> Result<RecordBatch> {
        let keys = cast(keys, &self.key_type)?;
        let rows = keys.len();
        let partners = self.rows.find(&[keys]).into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
        let columns = self.columns.iter().map(|arrays| {
            let arrays = arrays.iter().map(AsRef::as_ref).collect::<Vec<_>>();
            interleave(&arrays, &partners)
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(SchemaRef::clone(&self.schema), columns, &options)?)
    }
}
