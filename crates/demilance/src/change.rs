use lance_table::{Batches, CommitOptions, Deleted, Expr, Updated, Upsert, Upserted, WriteOptions};

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

    /// Sets columns of the rows for which `filter` is true, each to the value of an expression over the row as it was, and
    /// gives the version in which they have them: see [`Table::update`](lance_table::Table::update).
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
    /// let updated = table.update(&[("id", "id * 10")], "id < 3").await?;
    /// assert_eq!(updated.rows, 2);
    /// assert_eq!(Dataset::from(updated.table).take(&[0, 1, 2]).await?, record_batch!(("id", Int32, [3, 10, 20]))?);
    /// # Ok(()) }
    /// ```
    pub async fn update(&self, set: &[(&str, &str)], filter: &str) -> Result<Updated> {
        let set = set.iter().map(|(column, expr)| Ok((*column, Expr::parse(expr)?)));
        let set = set.collect::<Result<Vec<_>>>()?;
        Ok(self.table().update(&set, Some(&Expr::parse(filter)?), &WriteOptions::default()).await?)
    }

    /// Updates the rows whose key `batches` have, and inserts the others, or as `upsert` says otherwise: see
    /// [`Table::upsert`](lance_table::Table::upsert). All of `batches` is held in memory.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use demilance::arrow::record_batch;
    /// use demilance::{Dataset, Upsert, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("robot.lance");
    /// # let path = path.to_str().ok_or("path")?;
    /// let rows = record_batch!(("id", Int32, [1, 2]), ("label", Utf8, ["a", "b"]))?;
    /// let table = Dataset::write(path, vec![rows], WriteOptions::default()).await?;
    /// let rows = record_batch!(("id", Int32, [2, 3]), ("label", Utf8, ["c", "d"]))?;
    /// let done = table.upsert(rows, &Upsert::on(["id"])).await?;
    /// assert_eq!((done.updated, done.inserted, done.table.rows()), (1, 1, 3));
    /// # Ok(()) }
    /// ```
    pub async fn upsert(&self, batches: impl Into<Batches>, upsert: &Upsert) -> Result<Upserted> {
        Ok(self.table().upsert(batches.into(), upsert, &WriteOptions::default()).await?)
    }
}
