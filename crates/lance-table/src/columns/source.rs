//! Where the values of new columns come from.

use std::fmt;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema as ArrowSchema, SchemaRef};
use futures::{StreamExt, TryStreamExt};
use lance_file::{Batches, FileError};
use lance_footer::FormatError;

use crate::{Expr, Result, Table, TableError};

/// Columns that a table does not have yet, and how their values come about.
///
/// A column whose name has dots becomes a member of a struct that the table has: `pose.speed` one of `pose`. So do the
/// members of a struct that the table has already.
pub struct NewColumns(pub(super) Kind);

pub(super) enum Kind {
    Null(SchemaRef),
    Expressions(Vec<(String, Expr)>),
    Function(SchemaRef, Function),
    Aligned(SchemaRef, Aligned),
    Join(Batches, String),
}

/// What makes the values, batch by batch.
pub(super) enum Maker {
    Function(Function),
    Aligned(Aligned),
}

/// It is told how many live rows of the table come before those of the batch.
type Body = Box<dyn FnMut(u64, RecordBatch) -> Result<RecordBatch> + Send>;

impl NewColumns {
    /// Columns that are null in all rows. Nothing is written for them but their names and types.
    pub fn null(schema: impl Into<SchemaRef>) -> Self {
        Self(Kind::Null(schema.into()))
    }

    /// A column for each name, with the values of an expression over the columns of the table. It may be null.
    pub fn expressions<N: Into<String>>(expressions: impl IntoIterator<Item = (N, Expr)>) -> Self {
        Self(Kind::Expressions(expressions.into_iter().map(|(name, expr)| (name.into(), expr)).collect()))
    }

    /// Columns with `schema` that `function` works out: it gets the columns at the dotted paths `reads` of some rows after
    /// others, and gives as many rows. If other writers come between, it gets the rows that they added, too, and
    /// once more all rows of fragments in which they changed what it reads; all rows of the table if they changed a struct that
    /// the new columns are in.
    ///
    /// Of a blob column it gets where the values are, like [`Table::scan`] does.
    pub fn function<C: Into<String>>(
        reads: impl IntoIterator<Item = C>,
        schema: impl Into<SchemaRef>,
        mut function: impl FnMut(RecordBatch) -> Result<RecordBatch, ArrowError> + Send + 'static,
    ) -> Self {
        let schema = schema.into();
        let reads = reads.into_iter().map(Into::into).collect();
        let body = move |_, batch| Ok(function(batch)?);
        Self(Kind::Function(SchemaRef::clone(&schema), Function::new(reads, schema, body)))
    }

    /// The columns of `batches` but `key`, which is also a column of the table: rows get the values of the row with the same
    /// key, or null if there is none. Keys are numbers without fractions, texts, bytes, truth values, dates or times; a
    /// null matches nothing, and a key that stands in two rows of `batches` is an error.
    ///
    /// All of `batches` is held in memory, and for each of its rows about 64 bytes and the key.
    pub fn joined(batches: impl Into<Batches>, key: impl Into<String>) -> Self {
        Self(Kind::Join(batches.into(), key.into()))
    }

    /// The columns of `batches`, whose rows are those of the table in scan order: as many as it has rows that are not
    /// deleted. More or fewer of them are an error. They can be read only once, so another writer that
    /// adds or changes rows meanwhile makes this a [`TableError::Conflict`].
    pub fn aligned(batches: impl Into<Batches>) -> Self {
        let Batches { schema, stream } = batches.into();
        let held = RecordBatch::new_empty(SchemaRef::clone(&schema));
        // It is asked for more rows than there are in each attempt.
        let stream = stream.fuse().boxed();
        Self(Kind::Aligned(schema, Aligned { stream, held, rows: 0 }))
    }
}

impl Maker {
    /// The columns of the table that it reads.
    pub(super) fn reads(&self) -> &[String] {
        match self {
            Self::Function(function) => &function.reads,
            Self::Aligned(_) => &[],
        }
    }

    /// The new columns of the first rows of `batch`, which come after those that it was asked for before; of a row at least.
    /// `before` live rows of the table come before them.
    pub(super) async fn make(&mut self, before: u64, batch: RecordBatch) -> Result<RecordBatch> {
        match self {
            Self::Function(function) => function.call(before, batch).await,
            Self::Aligned(aligned) => aligned.next(batch.num_rows()).await,
        }
    }

    /// Sees that nothing is left over when all rows were asked for.
    pub(super) async fn finish(&mut self) -> Result<()> {
        match self {
            Self::Function(_) => Ok(()),
            Self::Aligned(aligned) => aligned.finish().await,
        }
    }
}

/// A function of batches.
pub(super) struct Function {
    reads: Vec<String>,
    schema: SchemaRef,
    /// None while it runs; and for good, if it panicked.
    body: Option<Body>,
}

impl Function {
    pub(super) fn new(
        reads: Vec<String>,
        schema: SchemaRef,
        body: impl FnMut(u64, RecordBatch) -> Result<RecordBatch> + Send + 'static,
    ) -> Self {
        Self { reads, schema, body: Some(Box::new(body)) }
    }

    /// What evaluates `expressions` over the columns of `table`.
    pub(super) fn evaluate(table: &Table, expressions: &[(String, Expr)]) -> Result<Self> {
        let columns = table.schema().with_blob_descriptions();
        let arrow = columns.to_arrow();
        let (mut fields, mut bound, mut reads) = (vec![], vec![], vec![]);
        for (name, expr) in expressions {
            let expr = expr.bind(&arrow)?;
            for path in expr.columns() {
                if table.schema().trace(&path)?.iter().any(|field| field.is_blob()) {
                    let error = FormatError::unsupported(format!("an expression over blobs (column {path})"));
                    return Err(TableError::format(table.store().location(""), error));
                }
                if !reads.contains(&path) {
                    reads.push(path);
                }
            }
            if *expr.data_type() == DataType::Null {
                return Err(TableError::invalid(format!(
                    "the values of column {name:?} have no type: cast them to one, as in CAST(NULL AS INT)"
                )));
            }
            fields.push(Field::new(name, expr.data_type().clone(), true));
            bound.push(expr);
        }
        let schema = SchemaRef::new(ArrowSchema::new(fields));
        let made = SchemaRef::clone(&schema);
        Ok(Self::new(reads, schema, move |_, batch| {
            let columns = bound.iter().map(|expr| expr.evaluate(&batch)).collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(SchemaRef::clone(&made), columns, &options)?)
        }))
    }

    pub(super) const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Calls it on another thread, since it may take its time.
    async fn call(&mut self, before: u64, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let cut_off = |reason: String| {
            let path = "the function that makes new columns".into();
            TableError::from(FileError::Cancelled { path, reason })
        };
        let Some(mut body) = self.body.take() else { return Err(cut_off("it panicked before".into())) };
        let call = move || {
            let made = body(before, batch);
            (body, made)
        };
        let (body, made) =
            tokio::task::spawn_blocking(call).await.map_err(|error| cut_off(error.to_string()))?;
        self.body = Some(body);
        let made = made?;
        if made.num_rows() != rows {
            let made = made.num_rows();
            return Err(TableError::invalid(format!(
                "the function that makes new columns gave {made} rows for {rows}"
            )));
        }
        check_names(&made, &self.schema)?;
        Ok(made)
    }
}

/// Batches whose rows are those of the table.
pub(super) struct Aligned {
    stream: futures::stream::BoxStream<'static, Result<RecordBatch, ArrowError>>,
    /// What of the last batch was not asked for yet.
    held: RecordBatch,
    /// Rows that were given.
    rows: u64,
}

impl Aligned {
    /// The next rows, `most` or fewer.
    async fn next(&mut self, most: usize) -> Result<RecordBatch> {
        if !self.fill().await? {
            let rows = self.rows;
            return Err(TableError::invalid(format!(
                "the new columns have {rows} rows, fewer than the table, whose rows they must be in scan order"
            )));
        }
        let rows = most.min(self.held.num_rows());
        let next = self.held.slice(0, rows);
        self.held = self.held.slice(rows, self.held.num_rows() - rows);
        self.rows = self.rows.saturating_add(rows as u64);
        Ok(next)
    }

    async fn finish(&mut self) -> Result<()> {
        if self.fill().await? {
            let rows = self.rows;
            return Err(TableError::invalid(format!(
                "the new columns have more rows than the table, which has {rows}"
            )));
        }
        Ok(())
    }

    /// Holds a row, if there is one.
    async fn fill(&mut self) -> Result<bool> {
        while self.held.num_rows() == 0 {
            let Some(batch) = self.stream.try_next().await? else { return Ok(false) };
            check_names(&batch, &self.held.schema())?;
            self.held = batch;
        }
        Ok(true)
    }
}

/// An error unless `batch` has the columns of `schema`. Their types are looked at when they are written.
fn check_names(batch: &RecordBatch, schema: &ArrowSchema) -> Result<()> {
    let names = |schema: &ArrowSchema| schema.fields().iter().map(|field| field.name().clone()).collect();
    let (has, wants): (Vec<String>, Vec<String>) = (names(&batch.schema()), names(schema));
    if has == wants {
        return Ok(());
    }
    let (has, wants) = (has.join(", "), wants.join(", "));
    Err(TableError::invalid(format!("a batch of new columns has {has}, but they are {wants}")))
}

impl fmt::Debug for NewColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Null(schema) => f.debug_tuple("Null").field(schema).finish(),
            Kind::Expressions(expressions) => f.debug_tuple("Expressions").field(expressions).finish(),
            Kind::Function(schema, _) => f.debug_tuple("Function").field(schema).finish_non_exhaustive(),
            Kind::Aligned(schema, _) => f.debug_tuple("Aligned").field(schema).finish_non_exhaustive(),
            Kind::Join(batches, key) => f.debug_tuple("Join").field(&batches.schema).field(key).finish(),
        }
    }
}
