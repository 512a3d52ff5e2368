//! What of a table is read: some of its fields, and what is known of rows besides.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use lance_file::Schema;

use crate::assemble::assemble;
use crate::known::{Known, RowColumn};
use crate::place::Places;
use crate::slot::Slot;
use crate::{Result, TableError};

/// Fields of a table, and how their batches look.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    pub(crate) schema: Schema,
    /// Columns that are not stored, with their places in batches, in the order of these.
    row_columns: Vec<(usize, RowColumn)>,
    arrow_schema: SchemaRef,
}

impl Projection {
    /// What is at the dotted paths `columns`, or all fields; with `_rowid` at the end if it is wanted.
    pub(crate) fn new(schema: &Schema, columns: Option<&[String]>, with_row_id: bool) -> Result<Self> {
        let (mut stored, mut row_columns) = (vec![], vec![]);
        for column in columns.unwrap_or_default() {
            // A field of that name comes first.
            let known =
                RowColumn::named(column).filter(|_| !schema.fields.iter().any(|field| field.name == *column));
            match known {
                None => stored.push(column),
                Some(known) if row_columns.iter().any(|(_, other)| *other == known) => {
                    return Err(TableError::invalid(format!("column {column:?} is asked for twice")));
                }
                // Several paths may be of one field, so the place is known by what was asked for before.
                Some(known) => {
                    row_columns.push((schema.project(&stored)?.fields.len() + row_columns.len(), known))
                }
            }
        }
        let schema = match columns {
            None => schema.clone(),
            Some(_) => schema.project(&stored)?,
        };
        if with_row_id && !row_columns.iter().any(|(_, known)| *known == RowColumn::Id) {
            row_columns.push((schema.fields.len() + row_columns.len(), RowColumn::Id));
        }
        Ok(Self::of(&schema, row_columns))
    }

    /// All fields, and every column that is not stored, but for those whose names fields have.
    pub(crate) fn with_row_columns(schema: &Schema) -> Self {
        let has_field = |name| schema.fields.iter().any(|field| field.name == name);
        let known = RowColumn::ALL.into_iter().filter(|known| !has_field(known.name()));
        Self::of(schema, (schema.fields.len()..).zip(known).collect())
    }

    fn of(schema: &Schema, row_columns: Vec<(usize, RowColumn)>) -> Self {
        // Of large values people want few, and these by themselves.
        let schema = schema.with_blob_descriptions();
        let arrow_schema = schema.to_arrow();
        let mut fields = arrow_schema.fields().to_vec();
        for (place, known) in &row_columns {
            fields.insert(*place, Arc::new(Field::new(known.name(), DataType::UInt64, true)));
        }
        let arrow_schema = Arc::new(ArrowSchema::new_with_metadata(fields, arrow_schema.metadata));
        Self { schema, row_columns, arrow_schema }
    }

    /// What the columns that are not stored need of the fragment of `slot`, which `before` live rows are before.
    pub(crate) async fn known(&self, slot: &Slot, places: &Places, before: u64) -> Result<Vec<Known>> {
        let mut known = Vec::with_capacity(self.row_columns.len());
        for (_, column) in &self.row_columns {
            known.push(slot.known(places, *column, before).await?);
        }
        Ok(known)
    }

    /// How a batch looks.
    pub(crate) const fn arrow_schema(&self) -> &SchemaRef {
        &self.arrow_schema
    }

    /// The columns of `count` rows of a fragment, from what its files have of them and from what else is known. Where
    /// something else is known, `offsets` are their physical offsets.
    pub(crate) fn columns(
        &self,
        parts: &[(&Schema, &[ArrayRef])],
        count: usize,
        offsets: &[u64],
        known: &[Known],
        location: &str,
    ) -> Result<Vec<ArrayRef>> {
        let columns = assemble(&self.schema, parts, count);
        let mut columns = columns.map_err(|error| TableError::format(location, error))?;
        for ((place, _), known) in self.row_columns.iter().zip(known) {
            columns.insert(*place, known.column(offsets));
        }
        Ok(columns)
    }

    /// A batch of `columns`.
    pub(crate) fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.arrow_schema), columns, &options)?)
    }
}
