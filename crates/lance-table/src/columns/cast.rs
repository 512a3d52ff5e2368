//! A column gets another type: only its values are written anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_cast::can_cast_types;
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use futures::FutureExt;
use lance_file::{Field, Schema};
use lance_footer::Version;
use tokio::sync::Mutex;

use super::ColumnOptions;
use super::add::write;
use super::convert::{Refused, convert};
use super::draft::Draft;
use super::fragments::Target;
use super::kept::Kept;
use super::source::{Function, Maker};
use crate::commit::again;
use crate::{Result, Table, TableError};

/// What becomes of values that a type has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Misfits {
    /// The first is an error that names it and its row.
    #[default]
    Refuse,
    /// They become null.
    Null,
}

impl Table {
    /// Gives the column at the dotted path `path` the type `to`. It stays where it is in the schema, but is a new field: its
    /// values are written to one new file for each fragment, and indices over it are dropped. (In a table of file version
    /// 2.0 a struct or list is written as a whole for the sake of a field in it.)
    ///
    /// A value must fit: a text must read as a number that has to become one, a number be in the range of the new type, and
    /// a float that becomes an integer be whole. Digits behind the point of floats and decimals, and parts of a unit of
    /// time, are rounded or cut as Arrow does.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use arrow_schema::DataType;
    /// use lance_io::Store;
    /// use lance_table::{ColumnOptions, Misfits, Table, WriteOptions};
    ///
    /// let batch = record_batch!(("id", Int64, [1, 300]))?;
    /// let table = Table::write(Store::memory(), batch.into(), WriteOptions::default()).await?;
    /// let options = ColumnOptions::default();
    /// let error = table.cast_column("id", &DataType::UInt8, Misfits::Refuse, &options).await.unwrap_err();
    /// assert_eq!(error.to_string(), "column \"id\", row 1: 300 does not fit UInt8");
    /// let table = table.cast_column("id", &DataType::Int16, Misfits::Refuse, &options).await?;
    /// assert_eq!(table.take(&[1], None, false).await?, record_batch!(("id", Int16, [300]))?);
    /// # Ok(()) }
    /// ```
    pub async fn cast_column(
        &self,
        path: &str,
        to: &DataType,
        misfits: Misfits,
        options: &ColumnOptions,
    ) -> Result<Self> {
        self.shared.found.check_writable()?;
        let kept = Mutex::new(Kept::default());
        let work = |table| {
            let kept = &kept;
            let work = async move {
                let Cast { draft, schema, reads, root } = Cast::plan(&table, path, to)?;
                let sources = root.into_iter().collect::<BTreeMap<_, _>>();
                let mut maker = Maker::Function(function(&schema, reads.clone(), path.into(), misfits));
                let target = Target::new(&table, schema, sources, vec![], &[reads], options)?;
                // What others append meanwhile has the old field, which nobody would find: they have to do it again.
                write(&target, &draft, &mut maker, &mut *kept.lock().await, false).await
            };
            work.boxed()
        };
        let cast = again(self, &options.commit, work).await;
        kept.into_inner().end(self, cast).await
    }
}

/// What is to be done.
struct Cast {
    draft: Draft,
    /// The new field, with what is above it.
    schema: Schema,
    /// The path of what is read.
    reads: String,
    /// The top-level field of `schema`, and how it is found in what was converted.
    root: Option<(i32, Vec<String>)>,
}

impl Cast {
    fn plan(table: &Table, path: &str, to: &DataType) -> Result<Self> {
        let format = |error| TableError::format(table.store().location(""), error);
        let version = table.manifest().file_version().map_err(format)?;
        let mut draft = Draft::of(table);
        let first_id = draft.next_id();
        let trace = draft.trace(path, "casting")?;
        let (Some(top), Some(field)) = (trace.first(), trace.last()) else {
            return Err(TableError::invalid(format!("no column {path:?}")));
        };
        // The reference cannot read a struct or list of that version whose members are in different files.
        let whole = version == Version::V2_0 && trace.len() > 1;
        let written = if whole { top } else { field };
        if has_blobs(written) {
            return Err(draft.unsupported(format!("casting {path}: {} has blobs", written.name)));
        }
        let mut new = changed(field, path, to)?;
        let (id, top_id, top_name) = (field.id, top.id, top.name.clone());
        let reads = if whole { top_name.clone() } else { path.to_string() };
        if whole {
            *draft.field_mut(id)? = new;
            let mut all = draft.field_mut(top_id)?.clone();
            draft.number(&mut all)?;
            *draft.field_mut(top_id)? = all;
        } else {
            draft.number(&mut new)?;
            *draft.field_mut(id)? = new;
        }
        let schema = draft.schema.project_ids(|id| id >= first_id);
        let root = schema.fields.first().map(|field| (field.id, vec![top_name]));
        Ok(Self { draft, schema, reads, root })
    }
}

fn has_blobs(field: &Field) -> bool {
    field.is_blob() || field.children.iter().any(has_blobs)
}

/// `field` with the type `to`, without ids.
fn changed(field: &Field, path: &str, to: &DataType) -> Result<Field> {
    let from = field.data_type();
    let mut metadata = field.metadata.clone();
    // What the values of the old type mean, and how they are best stored, does not hold for those of the new one.
    let kept = |key: &str| !key.starts_with("ARROW:extension:") && !key.starts_with("lance-encoding:");
    metadata.retain(|key, _| kept(key) || key == "lance-encoding:packed");
    let arrow = ArrowField::new(&field.name, to.clone(), field.nullable)
        .with_metadata(metadata.into_iter().collect());
    let schema = Schema::from_arrow(&ArrowSchema::new(vec![arrow.with_name("column")]));
    let schema = schema.map_err(|error| TableError::invalid(format!("column {path:?}: {error}")))?;
    let Some(mut new) = schema.fields.into_iter().next() else {
        return Err(TableError::invalid(format!("column {path:?} cannot be of type {to}")));
    };
    if new.data_type() == from {
        return Err(TableError::invalid(format!("column {path:?} is of type {from} already")));
    }
    if has_blobs(&new) || !can_cast_types(&from, &new.data_type()) {
        return Err(TableError::invalid(format!(
            "column {path:?} is of type {from}, which cannot be cast to {to}"
        )));
    }
    new.name.clone_from(&field.name);
    Ok(new)
}

/// What converts batches of one column to the only field of `schema`.
fn function(schema: &Schema, reads: String, path: String, misfits: Misfits) -> Function {
    let schema = SchemaRef::new(schema.to_arrow());
    let target = SchemaRef::clone(&schema);
    let body = move |before: u64, batch: RecordBatch| {
        let (Some(column), Some(field)) = (batch.columns().first(), target.fields().first()) else {
            return Err(TableError::invalid("the column to be cast was not read"));
        };
        let converted = convert(column, field.data_type(), misfits).map_err(|refused| match refused {
            Refused::Arrow(error) => error.into(),
            Refused::Value { row, value, to } => {
                let row = before.saturating_add(row as u64);
                TableError::invalid(format!("column {path:?}, row {row}: {value} does not fit {to}"))
            }
        })?;
        let field = ArrowField::new(field.name(), converted.data_type().clone(), true);
        let options = RecordBatchOptions::new().with_row_count(Some(converted.len()));
        let schema = Arc::new(ArrowSchema::new(vec![field]));
        Ok(RecordBatch::try_new_with_options(schema, vec![converted], &options)?)
    };
    Function::new(vec![reads], schema, body)
}
