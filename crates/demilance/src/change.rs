use lance_table::{CommitOptions, Deleted, Expr};

use crate::{Dataset, Result};

impl Dataset {
    /// Deletes the rows for which `filter` is true, text as [`Expr`] describes it, and gives the version without them. Data
    /// files stay as they are: see [`Table::delete`](lance_table::Table::delete).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use demilance::arrow::record_batch;
    /// use demilance::{Dataset, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("robot.lance");
    /// # let path = path.to_str().ok_or("path")?;
    /// let table = Dataset::write(path, vec![record_batch!(("id", Int32, [1, 2, 3]))?], WriteOptions::default()).await?;
    /// let deleted = table.delete("id >= 2").await?;
    /// assert_eq!((deleted.rows, deleted.table.rows(), table.count_rows()), (2, 1, 3));
    /// # Ok(()) }
    /// ```
    pub async fn delete(&self, filter: &str) -> Result<Deleted> {
        Ok(self.table().delete(&Expr::parse(filter)?, &CommitOptions::default()).await?)
    }
}
