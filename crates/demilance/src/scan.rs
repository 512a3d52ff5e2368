use arrow_array::RecordBatch;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use lance_table::{Expr, ScanOptions, Table};

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

    /// Reads the fields at these dotted paths, in this order. An error if one is unknown. What is known of rows without being
    /// stored goes by name, too: see [`RowColumn`](lance_table::RowColumn).
    pub fn columns<C: AsRef<str>>(mut self, columns: impl IntoIterator<Item = C>) -> Result<Self> {
        let columns = columns.into_iter().map(|column| column.as_ref().to_string()).collect::<Vec<_>>();
        self.options.columns = Some(columns);
        // Describes the scan and drops it, which reads nothing.
        drop(self.table.scan(self.options.clone())?);
        Ok(self)
    }

    /// Reads only the rows for which `filter` is true, text as [`Expr`] describes it. The columns that it needs are read
    /// first, and those that were asked for only of the rows that pass. An error if the text is broken, or names an
    /// unknown column.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use demilance::arrow::record_batch;
    /// use demilance::{Dataset, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("robot.lance");
    /// # let path = path.to_str().ok_or("path")?;
    /// let batch = record_batch!(("frame", Int32, [1, 2, 3]), ("label", Utf8, ["lift", "grasp", "grasp"]))?;
    /// let table = Dataset::write(path, vec![batch], WriteOptions::default()).await?;
    /// let found = table.scan().columns(["frame"])?.filter("label = 'grasp' AND frame > 2")?.collect().await?;
    /// assert_eq!(found, [record_batch!(("frame", Int32, [3]))?]);
    /// assert_eq!(table.count_rows_where("label = 'grasp'").await?, 2);
    /// # Ok(()) }
    /// ```
    pub fn filter(mut self, filter: &str) -> Result<Self> {
        self.options.filter = Some(Expr::parse(filter)?);
        drop(self.table.scan(self.options.clone())?);
        Ok(self)
    }

    /// Skips so many rows, of those that pass the filter. They are not read.
    pub const fn offset(mut self, rows: u64) -> Self {
        self.options.offset = rows;
        self
    }

    /// Reads so many rows at most, of those that pass the filter.
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
