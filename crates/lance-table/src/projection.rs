//! What of a table is read: some of its fields, and perhaps the row ids.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use lance_file::Schema;

use crate::assemble::assemble;
use crate::{Result, TableError};

/// The name of the column of row ids.
pub const ROW_ID: &str = "_rowid";

/// Fields of a table, and how their batches look.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    pub(crate) schema: Schema,
    pub(crate) with_row_id: bool,
    arrow_schema: SchemaRef,
}

impl Projection {
    /// The fields of `schema` at the dotted paths `columns`, or all.
    pub(crate) fn new(schema: &Schema, columns: Option<&[String]>, with_row_id: bool) -> Result<Self> {
        let schema = match columns {
            None => schema.clone(),
            Some(columns) => schema.project(columns)?,
        };
        // Of large values people want few, and these by themselves.
        let schema = schema.with_blob_descriptions();
        let arrow_schema = schema.to_arrow();
        let arrow_schema = if with_row_id {
            let mut fields = arrow_schema.fields().to_vec();
            fields.push(Arc::new(Field::new(ROW_ID, DataType::UInt64, true)));
            ArrowSchema::new_with_metadata(fields, arrow_schema.metadata)
        } else {
            arrow_schema
        };
        Ok(Self { schema, with_row_id, arrow_schema: Arc::new(arrow_schema) })
    }

    /// How a batch looks.
    pub(crate) const fn arrow_schema(&self) -> &SchemaRef {
        &self.arrow_schema
    }

    /// The columns of `rows` rows of a fragment, from what its files have of them and from their ids.
    pub(crate) fn columns(
        &self,
        parts: &[(&Schema, &[ArrayRef])],
        rows: usize,
        ids: Option<UInt64Array>,
        location: &str,
    ) -> Result<Vec<ArrayRef>> {
        let columns = assemble(&self.schema, parts, rows);
        let mut columns = columns.map_err(|error| TableError::format(location, error))?;
        if let Some(ids) = ids {
            columns.push(Arc::new(ids));
        }
        Ok(columns)
    }

    /// A batch of `columns`.
    pub(crate) fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.arrow_schema), columns, &options)?)
    }
}
