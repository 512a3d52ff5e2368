//! Going back to an older version.

use lance_io::Store;

use crate::commit::{CommitOptions, commit};
use crate::manifest::latest::{self, Found};
use crate::operation::{Operation, Restore};
use crate::{Result, Table, TableError};

impl Table {
    /// Makes this version the newest again, under a new number. The versions between stay, so this can be undone in the
    /// same way.
    ///
    /// An error if a clean-up removes this version meanwhile. If a version was committed by then, another one takes it back.
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
        self.check_restored(&found, options).await?;
        Self::from_commit(store.clone(), found, self.shared.options).await
    }

    /// Sees that no clean-up has removed this version before it was restored as `restored`. One that removes it from now on
    /// sees that one before it removes files. Of one that did before it is not known which files it leaves.
    async fn check_restored(&self, restored: &Found, options: &CommitOptions) -> Result<()> {
        let (store, version) = (self.store(), restored.manifest.version());
        let committed = |source| {
            let location = store.location("");
            TableError::Committed { location, version, source: Box::new(source) }
        };
        let what = match latest::at(store, self.version()).await {
            Ok(_) => return Ok(()),
            Err(TableError::NotFound { what, .. }) => what,
            Err(error) => return Err(committed(error)),
        };
        let what = format!("{what}, which a clean-up removed while it was made version {version},");
        match take_back(store, restored, options).await {
            Ok(back) => {
                let what = format!("{what} which version {back} takes back,");
                Err(TableError::not_found(store, what))
            }
            Err(_) => Err(committed(TableError::not_found(store, what))),
        }
    }
}

/// Makes the version before `restored` the newest again, and gives its new number; an error if others went on from
/// `restored`. It is not removed, since others may have seen it, and its number must not be given away twice.
async fn take_back(store: &Store, restored: &Found, options: &CommitOptions) -> Result<u64> {
    let version = restored.manifest.version();
    match latest::number(store).await? {
        Some((newest, _)) if newest == version => {}
        _ => return Err(TableError::not_found(store, format!("version {version} as the newest"))),
    }
    let before = latest::read(store, version.saturating_sub(1), restored.naming).await?;
    let operation = Operation::Restore(Restore { manifest: Box::new(before.manifest) });
    let found = commit(store, version, operation, options, vec![]).await?;
    Ok(found.manifest.version())
}
