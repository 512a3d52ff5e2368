//! Files in memory.

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use lance_footer::{Answer, Ask};

use crate::error::Result;
use crate::gather::{addressable, assemble};
use crate::read::check_inside;
use crate::{IoError, ReadAt};

/// A file that is wholly in memory. Slices of it are not copied.
#[derive(Debug, Clone)]
pub struct MemoryFile {
    path: String,
    bytes: Bytes,
}

impl MemoryFile {
    /// The file of these bytes; `path` names it in errors.
    pub fn new(path: impl Into<String>, bytes: Bytes) -> Self {
        Self { path: path.into(), bytes }
    }

    fn answer(&self, asks: &[Ask]) -> Result<Vec<Answer>> {
        check_inside(asks, self.size(), &self.path)?;
        let mut slices = vec![];
        for extent in asks.iter().flat_map(|ask| &ask.extents) {
            let start = addressable(extent.offset(), &self.path)?;
            slices.push(self.bytes.slice(start..start + addressable(extent.len(), &self.path)?));
        }
        assemble(asks, slices, &self.path)
    }
}

impl ReadAt for MemoryFile {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn read(&self, asks: Vec<Ask>) -> BoxFuture<'_, Result<Vec<Answer>, IoError>> {
        ready(self.answer(&asks)).boxed()
    }
}
