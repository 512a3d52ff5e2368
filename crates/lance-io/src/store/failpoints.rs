use std::fmt;
use std::sync::Arc;

use crate::error::Result;

/// What tests do at each step of what is written through a store, such as ending the process there.
#[derive(Clone)]
pub struct FailPoints(Arc<Hook>);

type Hook = dyn Fn(&Moment<'_>) -> Result<()> + Send + Sync;

/// Just before or just after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment<'a> {
    /// What is written.
    pub write: Write,
    /// Whether it has taken effect.
    pub done: bool,
    /// The file, below the store's root or with it.
    pub path: &'a str,
}

/// A step that changes what lies in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Write {
    /// A file is begun under a temporary name.
    Create,
    /// A file that was begun gets its name.
    Finish,
    /// A file is written in one step, whatever was there.
    Put,
    /// A file is written in one step, if none is there.
    PutIfAbsent,
    /// The bytes of a local file are made durable, before it gets its name.
    SyncFile,
    /// The name of a local file is made durable.
    SyncName,
    /// A file is removed.
    Delete,
}

impl FailPoints {
    /// Calls `hook` at each moment. It need not return; an error is what the caller of the store gets: before a write it
    /// does not happen, after it the answer is lost.
    pub fn new(hook: impl Fn(&Moment<'_>) -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    pub(crate) fn hit(&self, write: Write, done: bool, path: &str) -> Result<()> {
        (self.0)(&Moment { write, done, path })
    }
}

impl fmt::Debug for FailPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FailPoints")
    }
}
