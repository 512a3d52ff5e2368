use std::fmt;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use futures::StreamExt;
use futures::stream::{self, BoxStream, Stream};

/// Record batches of one schema that arrive one after the other: what writers take.
///
/// ```
/// use arrow_array::record_batch;
/// use lance_file::Batches;
///
/// let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
/// let batches = Batches::from(vec![batch]);
/// assert_eq!(batches.schema.field(0).name(), "id");
/// # Ok::<(), arrow_schema::ArrowError>(())
/// ```
pub struct Batches {
    /// The schema that every batch has.
    pub schema: SchemaRef,
    /// The batches.
    pub stream: BoxStream<'static, Result<RecordBatch, ArrowError>>,
}

impl Batches {
    /// The batches of `stream`, which all have `schema`.
    pub fn new(
        schema: SchemaRef,
        stream: impl Stream<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    ) -> Self {
        Self { schema, stream: stream.boxed() }
    }

    /// The batches of an iterator. It is advanced on the thread that polls the stream, so it should not
    /// wait for long.
    pub fn from_iter<I>(schema: SchemaRef, batches: I) -> Self
    where
        I: IntoIterator<Item = Result<RecordBatch, ArrowError>>,
        I::IntoIter: Send + 'static,
    {
        Self::new(schema, stream::iter(batches))
    }
}

impl From<Vec<RecordBatch>> for Batches {
    /// The schema is that of the first batch; empty if there is none.
    fn from(batches: Vec<RecordBatch>) -> Self {
        let schema = batches.first().map_or_else(|| Schema::empty().into(), RecordBatch::schema);
        Self::from_iter(schema, batches.into_iter().map(Ok))
    }
}

impl From<RecordBatch> for Batches {
    fn from(batch: RecordBatch) -> Self {
        Self::from(vec![batch])
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("schema", &self.schema).finish_non_exhaustive()
    }
}
