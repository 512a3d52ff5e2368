use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array,
};
use arrow_schema::{DataType, Field as ArrowField, Fields, Schema as ArrowSchema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use arrow_select::interleave::interleave;
use futures::TryStreamExt;
use lance_file::{Batches, Field, Schema};

use crate::commit::columns_changed;
use crate::key::{Key, Place, Places};
use crate::update::{fitting, refuse_nulls};
use crate::write::match_append;
use crate::{Result, Table, TableError};

/// The rows that are compared with those of a table, all in memory.
pub(super) struct Source {
    /// Of the table from which it was made.
    version: u64,
    /// Columns of the table, in its order.
    fields: Vec<Field>,
    key: Key,
    on: Vec<String>,
    /// With these columns.
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: Places,
}

/// Which rows of the source have a partner in the table.
pub(super) struct Seen(Vec<Vec<bool>>);

impl Seen {
    pub(super) fn see(&mut self, (batch, row): Place) {
        if let Some(seen) = self.0.get_mut(batch).and_then(|rows| rows.get_mut(row)) {
            *seen = true;
        }
    }
}

impl Source {
    /// All of `batches`, which have columns of `table`, by the key `on`.
    pub(super) async fn collect(table: &Table, batches: Batches, on: &[String]) -> Result<Self> {
        let Batches { schema: incoming, mut stream } = batches;
        let fields = columns_of(table, &incoming)?;
        let key = Key::of(table.schema(), on)?;
        if let Some(missing) = key.outer().find(|name| !fields.iter().any(|field| field.name == **name)) {
            let names = incoming.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>();
            return Err(TableError::invalid(format!(
                "the key {missing:?} is not among the columns of the source, which are: {}",
                names.join(", ")
            )));
        }
        let schema = Schema { fields: fields.clone(), metadata: table.schema().metadata.clone() }.to_arrow();
        let (schema, on) = (Arc::new(schema), on.to_vec());
        let version = table.version();
        let mut source = Self { version, fields, key, on, schema, batches: vec![], rows: Places::default() };
        while let Some(batch) = stream.try_next().await? {
            if batch.num_rows() > 0 {
                source.add(&batch)?;
            }
        }
        Ok(source)
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut columns = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let Some(column) = batch.column_by_name(&field.name) else {
                return Err(TableError::invalid(format!(
                    "a batch of the source has no column {:?}",
                    field.name
                )));
            };
            let column = fitting(column, &field.data_type(), &field.name)?;
            if !field.nullable {
                refuse_nulls(&column, None, &field.name)?;
            }
            columns.push(column);
        }
        let batch = with_columns(&self.schema, columns, batch.num_rows())?;
        let keys = self.key.arrays(&batch)?;
        if let Err(values) = self.rows.add(self.batches.len(), &keys)? {
            let on = self.on.join(", ");
            let reason = format!("two rows of the source have the same key: {on} = {values}");
            return Err(TableError::invalid(reason));
        }
        self.batches.push(batch);
        Ok(())
    }

    /// Sees that the source goes with `table`, which others may have changed since. That is so if its columns have the same
    /// names, types and ids.
    pub(super) async fn check(&self, table: &Table) -> Result<()> {
        for (at, field) in self.fields.iter().enumerate() {
            let own = table.schema().fields.iter().find(|own| own.id == field.id && own.name == field.name);
            let Some(own) = own.filter(|own| own.data_type() == field.data_type()) else {
                let reason = format!("column {:?}, which the source has, was changed", field.name);
                return Err(columns_changed(table, self.version, "update", reason).await);
            };
            if field.nullable && !own.nullable {
                let mut columns = self.batches.iter().filter_map(|batch| batch.columns().get(at));
                columns.try_for_each(|column| refuse_nulls(column, None, &field.name))?;
            }
        }
        Ok(())
    }

    /// The names of the top-level columns that the key is in.
    pub(super) fn key_columns(&self) -> impl Iterator<Item = &str> {
        self.key.outer()
    }

    /// For each row of `batch`, the row with the same key.
    pub(super) fn partners(&self, batch: &RecordBatch) -> Result<Vec<Option<Place>>> {
        Ok(self.rows.find(&self.key.arrays(batch)?))
    }

    /// The values of the rows at `places`.
    pub(super) fn values(&self, places: &[Place]) -> Result<Vec<ArrayRef>> {
        let columns = (0..self.fields.len()).map(|at| {
            let arrays = self.batches.iter().filter_map(|batch| batch.columns().get(at).map(AsRef::as_ref));
            Ok(interleave(&arrays.collect::<Vec<&dyn Array>>(), places)?)
        });
        columns.collect()
    }

    /// `batch`, of rows of the table, with `values` in place of its own.
    pub(super) fn put(&self, batch: &RecordBatch, values: &[ArrayRef]) -> Result<RecordBatch> {
        let mut columns = batch.columns().to_vec();
        for (field, value) in self.fields.iter().zip(values) {
            if let Some(column) = columns.get_mut(batch.schema().index_of(&field.name)?) {
                *column = Arc::clone(value);
            }
        }
        with_columns(&batch.schema(), columns, batch.num_rows())
    }

    /// What conditions are about: `source` and `target`, the latter with `schema`.
    pub(super) fn both_schema(&self, schema: &SchemaRef) -> ArrowSchema {
        let group = |name, fields: &Fields| ArrowField::new(name, DataType::Struct(fields.clone()), false);
        ArrowSchema::new(vec![group("source", self.schema.fields()), group("target", schema.fields())])
    }

    /// The same of some rows of the table and `values`, those of their partners.
    pub(super) fn both(&self, batch: &RecordBatch, values: Vec<ArrayRef>) -> Result<RecordBatch> {
        let schema = Arc::new(self.both_schema(&batch.schema()));
        let rows = batch.num_rows();
        let source = StructArray::try_new_with_length(self.schema.fields().clone(), values, None, rows)?;
        let target = StructArray::from(batch.clone());
        with_columns(&schema, vec![Arc::new(source), Arc::new(target)], rows)
    }

    pub(super) fn none_seen(&self) -> Seen {
        Seen(self.batches.iter().map(|batch| vec![false; batch.num_rows()]).collect())
    }

    /// The rows that were not seen.
    pub(super) fn unseen(&self, seen: &Seen) -> impl Iterator<Item = Result<RecordBatch>> {
        self.batches.iter().zip(&seen.0).map(|(batch, seen)| {
            let unseen = seen.iter().map(|seen| Some(!seen)).collect::<BooleanArray>();
            Ok(filter_record_batch(batch, &unseen)?)
        })
    }

    /// `batch`, rows of the source, with all columns of the table, whose batches have `arrow`.
    pub(super) fn complete(
        &self,
        batch: &RecordBatch,
        schema: &Schema,
        arrow: &SchemaRef,
    ) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let columns = schema.fields.iter().map(|field| match batch.column_by_name(&field.name) {
            Some(column) => Ok(Arc::clone(column)),
            None if field.nullable || rows == 0 => Ok(new_null_array(&field.data_type(), rows)),
            None => Err(TableError::invalid(format!(
                "column {:?} is missing in the source and must not be null, but rows are to be inserted",
                field.name
            ))),
        });
        with_columns(arrow, columns.collect::<Result<_>>()?, rows)
    }
}

fn with_columns(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// The columns of `table` that `incoming` has.
fn columns_of(table: &Table, incoming: &ArrowSchema) -> Result<Vec<Field>> {
    let incoming =
        Schema::from_arrow(incoming).map_err(|error| TableError::invalid(format!("the source: {error}")))?;
    let all = &table.schema().fields;
    if let Some(field) = incoming.fields.iter().find(|field| !all.iter().any(|own| own.name == field.name)) {
        let names = all.iter().map(|own| own.name.as_str()).collect::<Vec<_>>().join(", ");
        let name = &field.name;
        return Err(TableError::invalid(format!("column {name:?} is not in the table, which has: {names}")));
    }
    let there = |own: &&Field| incoming.fields.iter().any(|field| field.name == own.name);
    let own = all.iter().filter(there).cloned().collect::<Vec<_>>();
    let matched = match_append(&own, &incoming.fields).map_err(TableError::invalid)?;
    match own.iter().zip(&matched).find(|(own, matched)| own != matched) {
        None => Ok(own),
        Some((own, _)) => {
            Err(TableError::invalid(format!("column {:?} must be there with all its fields", own.name)))
        }
    }
}
