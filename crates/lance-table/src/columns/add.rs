//! Columns that are new.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use futures::FutureExt;
use tokio::sync::Mutex;

use super::additions::Additions;
use super::draft::Draft;
use super::fragments::Target;
use super::join::Partners;
use super::source::{Function, Kind, Maker};
use super::{ColumnOptions, NewColumns};
use crate::commit::{abandon, again, commit};
use crate::operation::{Merge, Operation, keep_used};
use crate::proto::DataFragment;
use crate::{Result, Table};

impl Table {
    /// Adds columns. Each fragment gets one data file that has only these; all other files stay as they are, and of them
    /// only those are read that have columns which the new ones are worked out from.
    ///
    /// Memory is bounded by bytes and not by rows: values are written as they come. An error if there is a column of
    /// such a name already; nothing is then left behind, as after any other error.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use arrow_schema::{DataType, Field, Schema};
    /// use lance_io::Store;
    /// use lance_table::{ColumnOptions, Expr, NewColumns, Table, WriteOptions};
    ///
    /// let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
    /// let table = Table::write(Store::memory(), batch.into(), WriteOptions::default()).await?;
    ///
    /// let label = NewColumns::null(Schema::new(vec![Field::new("label", DataType::Utf8, true)]));
    /// let table = table.add_columns(label, &ColumnOptions::default()).await?;
    ///
    /// let next = NewColumns::expressions([("next", Expr::parse("id + 1")?)]);
    /// let table = table.add_columns(next, &ColumnOptions::default()).await?;
    ///
    /// let names = NewColumns::aligned(record_batch!(("name", Utf8, ["a", "b", "c"]))?);
    /// let table = table.add_columns(names, &ColumnOptions::default()).await?;
    ///
    /// let scores = record_batch!(("id", Int32, [3, 1]), ("score", Float32, [0.5, 0.25]))?;
    /// let table = table.add_columns(NewColumns::joined(scores, "id"), &ColumnOptions::default()).await?;
    ///
    /// assert_eq!(table.schema().names(), ["id", "label", "next", "name", "score"]);
    /// let columns = ["id".to_string(), "name".to_string(), "score".to_string()];
    /// let taken = table.take(&[2], Some(&columns), false).await?;
    /// assert_eq!(taken, record_batch!(("id", Int32, [3]), ("name", Utf8, ["c"]), ("score", Float32, [0.5]))?);
    /// # Ok(()) }
    /// ```
    pub async fn add_columns(&self, columns: NewColumns, options: &ColumnOptions) -> Result<Self> {
        self.shared.found.check_writable()?;
        let commit = &options.commit;
        match columns.0 {
            Kind::Null(schema) => {
                let schema = &schema;
                let work = move |table| async move { add_null(&table, schema, options).await }.boxed();
                again(self, commit, work).await
            }
            Kind::Expressions(expressions) => {
                let expressions = &expressions;
                let work = move |table| {
                    let work = async move {
                        let function = Function::evaluate(&table, expressions)?;
                        let schema = SchemaRef::clone(function.schema());
                        add_made(&table, &schema, &mut Maker::Function(function), options).await
                    };
                    work.boxed()
                };
                again(self, commit, work).await
            }
            Kind::Function(schema, function) => {
                let (schema, maker) = (&schema, &Mutex::new(Maker::Function(function)));
                let work = move |table| {
                    let work =
                        async move { add_made(&table, schema, &mut *maker.lock().await, options).await };
                    work.boxed()
                };
                again(self, commit, work).await
            }
            Kind::Aligned(schema, aligned) => {
                add_made(self, &schema, &mut Maker::Aligned(aligned), options).await
            }
            Kind::Join(batches, key) => {
                let partners = &Arc::new(Partners::collect(self, batches, &key).await?);
                let key = &key;
                let work = move |table| {
                    let work = async move {
                        let function = partners.join(&table, key)?;
                        let schema = SchemaRef::clone(function.schema());
                        add_made(&table, &schema, &mut Maker::Function(function), options).await
                    };
                    work.boxed()
                };
                again(self, commit, work).await
            }
        }
    }
}

async fn add_null(table: &Table, schema: &SchemaRef, options: &ColumnOptions) -> Result<Table> {
    table.shared.found.check_writable()?;
    let additions = Additions::plan(table, schema)?;
    additions.refuse_required()?;
    let fragments = table.fragments().iter().map(|fragment| fragment.message.clone()).collect();
    let next =
        Next { draft: &additions.draft, fragments, written: BTreeSet::new(), preserves_nullability: true };
    next.commit(table, options, vec![]).await
}

async fn add_made(
    table: &Table,
    schema: &SchemaRef,
    maker: &mut Maker,
    options: &ColumnOptions,
) -> Result<Table> {
    let additions = Additions::plan(table, schema)?;
    let (sources, parents) = (additions.sources.clone(), additions.parents.clone());
    let target = Target::new(table, additions.schema(), sources, parents, maker.reads(), options)?;
    write(table, &additions.draft, &target, maker, additions.nullable, options).await
}

/// Writes the files of `target`, and commits the schema `draft` with them.
pub(super) async fn write(
    table: &Table,
    draft: &Draft,
    target: &Target<'_>,
    maker: &mut Maker,
    preserves_nullability: bool,
    options: &ColumnOptions,
) -> Result<Table> {
    table.shared.found.check_writable()?;
    let mut files = vec![];
    let (fragments, written) = match target.write(maker, &mut files).await {
        Ok(written) => written,
        Err(error) => {
            abandon(table.store(), files, &error).await;
            return Err(error);
        }
    };
    Next { draft, fragments, written, preserves_nullability }.commit(table, options, files).await
}

/// What the next version has.
struct Next<'a> {
    draft: &'a Draft,
    fragments: Vec<DataFragment>,
    written: BTreeSet<u64>,
    preserves_nullability: bool,
}

impl Next<'_> {
    async fn commit(mut self, table: &Table, options: &ColumnOptions, files: Vec<String>) -> Result<Table> {
        let fields = self.draft.to_stored();
        let left = fields.iter().map(|field| field.id).collect();
        self.fragments.iter_mut().for_each(|fragment| keep_used(fragment, &left));
        let operation = Operation::Merge(Merge {
            fragments: self.fragments,
            written: self.written,
            fields,
            schema_metadata: table.manifest().message.schema_metadata.clone(),
            preserves_nullability: self.preserves_nullability,
        });
        let found = commit(table.store(), table.version(), operation, &options.commit, files).await?;
        Table::from_commit(table.store().clone(), found, table.shared.options).await
    }
}
