//! Batches made on a thread of their own, a few ahead of whoever takes them.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use futures::stream::BoxStream;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// How many batches are made ahead.
const AHEAD: usize = 2;

/// Batches on their way, and what went wrong.
#[derive(Debug)]
pub(crate) struct Stream {
    schema: SchemaRef,
    batches: Receiver<Item>,
    failure: Failure,
}

/// Why reading stopped, kept as it was: what the writer says of it may be wrapped more than once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<anyhow::Error>>>);

#[derive(Debug)]
enum Item {
    Batch(RecordBatch),
    Failed(ArrowError),
    /// There are no more. Without it, the thread did not end as it should.
    Done,
}

impl Stream {
    /// Starts to make the batches, which all have `schema`.
    pub(crate) fn start(
        schema: SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = channel(AHEAD);
        let failure = Failure::default();
        let told = failure.clone();
        std::thread::spawn(move || {
            let last = match send_all(batches, &sender) {
                Ok(()) => Item::Done,
                Err(error) => {
                    let text = ArrowError::ExternalError(format!("{error:#}").into());
                    told.set(error);
                    Item::Failed(text)
                }
            };
            // Nobody listens any more if the writer failed.
            let _ = sender.blocking_send(last);
        });
        Self { schema, batches: receiver, failure }
    }

    /// The schema of the batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Where the error of the batches is kept.
    pub(crate) fn failure(&self) -> Failure {
        self.failure.clone()
    }

    /// The batches as writers take them.
    pub(crate) fn into_stream(self) -> BoxStream<'static, Result<RecordBatch, ArrowError>> {
        let state = Some(self.batches);
        Box::pin(futures::stream::unfold(state, |state| async move {
            let mut batches = state?;
            match batches.recv().await {
                Some(Item::Batch(batch)) => Some((Ok(batch), Some(batches))),
                Some(Item::Failed(error)) => Some((Err(error), None)),
                Some(Item::Done) => None,
                None => {
                    let error = "the thread that makes the batches stopped early";
                    Some((Err(ArrowError::ExternalError(error.into())), None))
                }
            }
        }))
    }
}

impl Failure {
    /// The error of the batches if there is one, else `other`.
    pub(crate) fn or(&self, other: anyhow::Error) -> anyhow::Error {
        self.0.lock().ok().and_then(|mut error| error.take()).unwrap_or(other)
    }

    fn set(&self, error: anyhow::Error) {
        if let Ok(mut place) = self.0.lock() {
            *place = Some(error);
        }
    }
}

fn send_all(batches: impl Iterator<Item = Result<RecordBatch>>, sender: &Sender<Item>) -> Result<()> {
    for batch in batches {
        if sender.blocking_send(Item::Batch(batch?)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
