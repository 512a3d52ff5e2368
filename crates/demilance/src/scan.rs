use arrow_array::RecordBatch;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use lance_table::{ScanOptions, Table};

use crate::{Error, Result};

/// A scan that is being described. Made by [`Dataset::scan`](crate::Dataset::scan).
#[derive(Debug, Clone)]
pub struct Scan {
    table: Table,
    options: ScanOptions,
}

impl Scan {
    pub(crate) fn new(table: Table) -> Self {
        Self { table, options: ScanOptions::default() }
    }

    /// Reads the fields at these dotted paths, in this order. An error if one is unknown.
    pub fn columns<C: AsRef<str>>(mut self, columns: impl IntoIterator<Item = C>) -> Result<Self> {
        let columns = columns.into_iter().map(|column| column.as_ref().to_string()).collect::<Vec<_>>();
        self.options.columns = Some(columns);
        // Describes the scan and drops it, which reads nothing.
        drop(self.table.scan(self.options.clone())?);
        Ok(self)
    }

    /// Skips so many rows. They are not read.
    pub const fn offset(mut self, rows: u64) -> Self {
        self.options.offset = rows;
        self
    }

    /// Reads so many rows at most.
    pub const fn limit(mut self, rows: u64) -> Self {
        self.options.limit = Some(rows);
        self
    }

    /// Adds the column `_rowid`.
    pub const fn with_row_id(mut self) -> Self {
        self.options.with_row_id = true;
        self
    }

    /// Makes batches of so many rows at most.
    pub const fn batch_rows(mut self, rows: u32) -> Self {
        self.options.batch_rows = rows;
        self
    }

    /// Makes batches of about so many bytes at most.
    pub const fn batch_bytes(mut self, bytes: u64) -> Self {
        self.options.batch_bytes = bytes;
        self
    }

    /// The batches as they come.
    pub fn stream(self) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        Ok(self.table.scan(self.options)?.map_err(Error::from).boxed())
    }

    /// All batches.
    pub async fn collect(self) -> Result<Vec<RecordBatch>> {
        self.stream()?.try_collect().await
    }
}
