//! Going back to an older version.

use crate::commit::{CommitOptions, commit};
use crate::manifest::latest;
use crate::operation::{Operation, Restore};
use crate::{Result, Table, TableError};

impl Table {
    /// Makes this version the newest again, under a new number. The versions between stay, so this can be undone in the
    /// same way.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use lance_io::Store;
    /// use lance_table::{CommitOptions, Table, WriteMode, WriteOptions};
    ///
    /// let store = Store::memory();
    /// let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
    /// let first = Table::write(store.clone(), vec![batch.clone()].into(), WriteOptions::default()).await?;
    /// let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    /// first.write_after(vec![batch].into(), more).await?;
    /// let restored = first.restore(&CommitOptions::default()).await?;
    /// assert_eq!((restored.version(), restored.rows()), (3, 3));
    /// # Ok(()) }
    /// ```
    pub async fn restore(&self, options: &CommitOptions) -> Result<Self> {
        self.shared.found.check_writable()?;
        let store = self.store();
        let (newest, _) =
            latest::number(store).await?.ok_or_else(|| TableError::not_found(store, "table"))?;
        // Clean-up may have removed it since it was opened, and with it files that only it has.
        latest::at(store, self.version()).await?;
        let operation = Operation::Restore(Restore { manifest: Box::new(self.manifest().clone()) });
        let found = commit(store, newest, operation, options, vec![]).await?;
        Self::from_commit(store.clone(), found, self.shared.options).await
    }
}
