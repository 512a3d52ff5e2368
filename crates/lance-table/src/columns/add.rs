//! Columns that are new.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use futures::FutureExt;
use tokio::sync::Mutex;

use super::additions::Additions;
use super::draft::Draft;
use super::fragments::Target;
use super::source::{Kind, Maker};
use super::{ColumnOptions, NewColumns};
use crate::commit::{abandon, again, commit};
use crate::operation::{Merge, Operation};
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
    /// use lance_table::{ColumnOptions, NewColumns, Table, WriteOptions};
    ///
    /// let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
    /// let table = Table::write(Store::memory(), batch.into(), WriteOptions::default()).await?;
    ///
    /// let label = NewColumns::null(Schema::new(vec![Field::new("label", DataType::Utf8, true)]));
    /// let table = table.add_columns(label, &ColumnOptions::default()).await?;
    ///
    /// let names = NewColumns::aligned(record_batch!(("name", Utf8, ["a", "b", "c"]))?);
    /// let table = table.add_columns(names, &ColumnOptions::default()).await?;
    ///
    /// let taken = table.take(&[2], None, false).await?;
    /// let expected = record_batch!(("id", Int32, [3]), ("label", Utf8, [None::<&str>]), ("name", Utf8, ["c"]))?;
    /// assert_eq!(taken, expected);
    /// # Ok(()) }
    /// ```
    pub async fn add_columns(&self, columns: NewColumns, options: &ColumnOptions) -> Result<Self> {
        let NewColumns { schema, kind } = columns;
        let schema = &schema;
        match kind {
            Kind::Null => {
                again(self, &options.commit, move |table| {
                    async move { add_null(&table, schema, options).await }.boxed()
                })
                .await
            }
            Kind::Made(mut maker) if !maker.repeats() => add_made(self, schema, &mut maker, options).await,
            Kind::Made(maker) => {
                let maker = Arc::new(Mutex::new(maker));
                again(self, &options.commit, move |table| {
                    let maker = Arc::clone(&maker);
                    let work =
                        async move { add_made(&table, schema, &mut *maker.lock().await, options).await };
                    work.boxed()
                })
                .await
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
    async fn commit(self, table: &Table, options: &ColumnOptions, files: Vec<String>) -> Result<Table> {
        let operation = Operation::Merge(Merge {
            fragments: self.fragments,
            written: self.written,
            fields: self.draft.to_stored(),
            schema_metadata: table.manifest().message.schema_metadata.clone(),
            preserves_nullability: self.preserves_nullability,
        });
        let found = commit(table.store(), table.version(), operation, &options.commit, files).await?;
        Table::from_found(table.store().clone(), found, table.shared.options).await
    }
}
