//! Where the values of new columns come from.

use std::fmt;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema as ArrowSchema, SchemaRef};
use futures::TryStreamExt;
use lance_file::{Batches, FileError};

use crate::{Result, TableError};

/// Columns that a table does not have yet, and how their values come about.
///
/// A column whose name has dots becomes a member of a struct that the table has: `pose.speed` one of `pose`. So do the
/// members of a struct that the table has already.
pub struct NewColumns {
    pub(super) schema: SchemaRef,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Null,
    Made(Maker),
}

/// What makes the values, batch by batch.
pub(super) enum Maker {
    Function(Function),
    Aligned(Aligned),
}

type Body = Box<dyn FnMut(RecordBatch) -> Result<RecordBatch, ArrowError> + Send>;

impl NewColumns {
    /// Columns that are null in all rows. Nothing is written for them but their names and types.
    pub fn null(schema: impl Into<SchemaRef>) -> Self {
        Self { schema: schema.into(), kind: Kind::Null }
    }

    /// Columns with `schema` that `function` works out: it gets the columns at the dotted paths `reads` of some rows after
    /// others, and gives as many rows. If other writers come between, it gets all rows again.
    ///
    /// Of a blob column it gets where the values are, like [`Table::scan`](crate::Table::scan) does.
    pub fn function<C: Into<String>>(
        reads: impl IntoIterator<Item = C>,
        schema: impl Into<SchemaRef>,
        function: impl FnMut(RecordBatch) -> Result<RecordBatch, ArrowError> + Send + 'static,
    ) -> Self {
        let schema = schema.into();
        let reads = reads.into_iter().map(Into::into).collect();
        let body: Option<Body> = Some(Box::new(function));
        let maker = Maker::Function(Function { reads, schema: SchemaRef::clone(&schema), body });
        Self { schema, kind: Kind::Made(maker) }
    }

    /// The columns of `batches`, whose rows are those of the table in scan order: as many as it has rows that are not
    /// deleted. More or fewer of them are an error. They can be read only once, so another writer that comes between
    /// makes this a [`TableError::Conflict`].
    pub fn aligned(batches: impl Into<Batches>) -> Self {
        let Batches { schema, stream } = batches.into();
        let held = RecordBatch::new_empty(SchemaRef::clone(&schema));
        Self { schema, kind: Kind::Made(Maker::Aligned(Aligned { stream, held, rows: 0 })) }
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

    /// Whether it can be asked for all rows again.
    pub(super) const fn repeats(&self) -> bool {
        !matches!(self, Self::Aligned(_))
    }

    /// The new columns of the first rows of `batch`, which come after those that it was asked for before; of a row at least.
    pub(super) async fn make(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        match self {
            Self::Function(function) => function.call(batch).await,
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

/// A function of the caller.
pub(super) struct Function {
    reads: Vec<String>,
    schema: SchemaRef,
    /// None while it runs; and for good, if it panicked.
    body: Option<Body>,
}

impl Function {
    /// Calls it on another thread, since it may take its time.
    async fn call(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let cut_off = |reason: String| {
            let path = "the function that makes new columns".into();
            TableError::from(FileError::Cancelled { path, reason })
        };
        let Some(mut body) = self.body.take() else { return Err(cut_off("it panicked before".into())) };
        let call = move || {
            let made = body(batch);
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
        f.debug_struct("NewColumns").field("schema", &self.schema).finish_non_exhaustive()
    }
}
