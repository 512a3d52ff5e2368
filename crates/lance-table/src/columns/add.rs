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
use super::kept::Kept;
use super::source::{Function, Kind, Maker};
use super::{ColumnOptions, NewColumns};
use crate::commit::{again, again_while, commit};
use crate::operation::{Merge, Operation, keep_used};
use crate::proto::DataFragment;
use crate::{Fragment, Result, Table};

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
        let source = match columns.0 {
            Kind::Null(schema) => {
                let schema = &schema;
                let work = move |table| async move { add_null(&table, schema, options).await }.boxed();
                return again(self, &options.commit, work).await;
            }
            Kind::Expressions(expressions) => {
                Source::Anew(Box::new(move |table| Function::evaluate(table, &expressions)))
            }
            Kind::Function(schema, function) => Source::Same(schema, Maker::Function(function)),
            Kind::Aligned(schema, aligned) => Source::Same(schema, Maker::Aligned(aligned)),
            Kind::Join(batches, key) => {
                let partners = Arc::new(Partners::collect(self, batches, &key).await?);
                Source::Anew(Box::new(move |table| partners.join(table, &key)))
            }
        };
        let adding = Mutex::new(Adding { source, kept: Kept::default() });
        let work = |table| {
            let adding = &adding;
            async move { adding.lock().await.attempt(&table, options).await }.boxed()
        };
        let goes_on = |table| {
            let adding = &adding;
            async move { adding.lock().await.goes_on(&table, options).await }.boxed()
        };
        let added = again_while(self, &options.commit, work, goes_on).await;
        adding.into_inner().kept.end(self, added).await
    }
}

/// Values that are on their way into a table.
struct Adding {
    source: Source,
    kept: Kept,
}

/// What makes them.
enum Source {
    /// It does not depend on the version of the table.
    Same(SchemaRef, Maker),
    Anew(Box<Make>),
}

type Make = dyn Fn(&Table) -> Result<Function> + Send + Sync;

impl Adding {
    async fn attempt(&mut self, table: &Table, options: &ColumnOptions) -> Result<Table> {
        let anew;
        let mut function;
        let (schema, maker) = match &mut self.source {
            Source::Same(schema, maker) => (&*schema, maker),
            Source::Anew(make) => {
                let made = make(table)?;
                anew = SchemaRef::clone(made.schema());
                function = Maker::Function(made);
                (&anew, &mut function)
            }
        };
        let additions = Additions::plan(table, schema)?;
        let target = target(table, &additions, maker, options)?;
        write(&target, &additions.draft, maker, &mut self.kept, additions.nullable).await
    }

    /// Whether another attempt is possible, from `table`: what can be read only once is not there any more for rows that
    /// others added.
    async fn goes_on(&mut self, table: &Table, options: &ColumnOptions) -> Result<bool> {
        let Source::Same(schema, maker @ Maker::Aligned(_)) = &self.source else { return Ok(true) };
        let additions = Additions::plan(table, schema)?;
        let target = target(table, &additions, maker, options)?;
        target.is_written(&mut self.kept).await
    }
}

fn target<'a>(
    table: &'a Table,
    additions: &Additions,
    maker: &Maker,
    options: &'a ColumnOptions,
) -> Result<Target<'a>> {
    let (sources, parents) = (additions.sources.clone(), additions.parents.clone());
    Target::new(table, additions.schema(), sources, parents, maker.reads(), options)
}

async fn add_null(table: &Table, schema: &SchemaRef, options: &ColumnOptions) -> Result<Table> {
    table.shared.found.check_writable()?;
    let additions = Additions::plan(table, schema)?;
    additions.refuse_required()?;
    let fragments = table.fragments().iter().map(Fragment::to_proto).collect();
    let next =
        Next { draft: &additions.draft, fragments, written: BTreeSet::new(), preserves_nullability: true };
    next.commit(table, options).await
}

/// Writes the files of `target` that `kept` does not have, and commits the schema `draft` with all of them.
pub(super) async fn write(
    target: &Target<'_>,
    draft: &Draft,
    maker: &mut Maker,
    kept: &mut Kept,
    preserves_nullability: bool,
) -> Result<Table> {
    let table = target.table();
    table.shared.found.check_writable()?;
    let (fragments, written) = target.write(maker, kept).await?;
    Next { draft, fragments, written, preserves_nullability }.commit(table, target.options()).await
}

/// What the next version has.
struct Next<'a> {
    draft: &'a Draft,
    fragments: Vec<DataFragment>,
    written: BTreeSet<u64>,
    preserves_nullability: bool,
}

impl Next<'_> {
    /// What was written stays, whatever happens.
    async fn commit(mut self, table: &Table, options: &ColumnOptions) -> Result<Table> {
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
        let found = commit(table.store(), table.version(), operation, &options.commit, vec![]).await?;
        Table::from_commit(table.store().clone(), found, table.shared.options).await
    }
}
