use lance_io::Store;
use lance_table::{Branch, CommitOptions, Table, Tag, VersionInfo};

use crate::{Dataset, Result};

/// Versions and their names.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use demilance::arrow::record_batch;
/// use demilance::{Dataset, WriteOptions};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("robot.lance");
/// # let path = path.to_str().ok_or("path")?;
/// let batch = record_batch!(("frame", Int64, [0, 1, 2]))?;
/// let first = Dataset::write(path, vec![batch.clone()], WriteOptions::default()).await?;
/// first.create_tag("train-v1").await?;
/// first.append(vec![batch.clone()]).await?;
/// assert_eq!(Dataset::builder(path).tag("train-v1").load().await?.count_rows(), 3);
///
/// let trial = first.create_branch("trial").await?;        // what is written to it is not seen in the table
/// trial.append(vec![batch.clone()]).await?;
/// assert_eq!(Dataset::builder(path).branch("trial").load().await?.versions().await?.len(), 2);
///
/// let restored = first.restore().await?;                  // the first version again, as the third
/// assert_eq!((restored.version(), restored.count_rows()), (3, 3));
/// # Ok(()) }
/// ```
impl Dataset {
    /// All versions that there are now, oldest first. Of a branch those since it began.
    pub async fn versions(&self) -> Result<Vec<VersionInfo>> {
        Ok(self.table().versions().await?)
    }

    /// Makes this version the newest again, under a new number. The versions between stay, so this can be undone in the
    /// same way.
    pub async fn restore(&self) -> Result<Self> {
        Ok(self.table().restore(&CommitOptions::default()).await?.into())
    }

    /// The tags of the table, by name, also those of its branches.
    pub async fn tags(&self) -> Result<Vec<Tag>> {
        Ok(self.table().tags().await?)
    }

    /// Tags this version. An error if there is a tag of that name. A tag keeps a version from being cleaned up.
    pub async fn create_tag(&self, name: &str) -> Result<Tag> {
        Ok(self.table().create_tag(name).await?)
    }

    /// Makes the tag `name`, which must exist, one of this version.
    pub async fn update_tag(&self, name: &str) -> Result<Tag> {
        Ok(self.table().update_tag(name).await?)
    }

    /// Removes the tag `name`, and gives what it was. No version is removed.
    pub async fn delete_tag(&self, name: &str) -> Result<Tag> {
        Ok(self.table().delete_tag(name).await?)
    }

    /// The branch that this is a version of; none for the table itself.
    pub fn branch(&self) -> Option<&str> {
        self.table().branch()
    }

    /// The branches of the table, by name.
    pub async fn branches(&self) -> Result<Vec<Branch>> {
        Ok(self.table().branches().await?)
    }

    /// Begins a branch at this version without copying data, and gives its first version.
    pub async fn create_branch(&self, name: &str) -> Result<Self> {
        Ok(self.table().create_branch(name, &CommitOptions::default()).await?.into())
    }

    /// Removes the branch `name` with all that was written to it, and gives what it was. An error while tags are on it or
    /// other branches began on it: [`ErrorKind::InUse`](crate::ErrorKind).
    pub async fn delete_branch(&self, name: &str) -> Result<Option<Branch>> {
        Ok(self.table().delete_branch(name, false).await?)
    }

    /// Makes a table at `uri` that has the rows of this version without a copy of them. It breaks when the files of this
    /// table are removed.
    pub async fn shallow_clone(&self, uri: &str) -> Result<Self> {
        self.shallow_clone_to(Store::open(uri)?).await
    }

    /// The same in `store`.
    pub async fn shallow_clone_to(&self, store: Store) -> Result<Self> {
        Ok(self.table().shallow_clone(store, &CommitOptions::default()).await?.into())
    }

    /// Gives the manifests of the table at `uri` the names that sort newest first, and says how many were renamed: see
    /// [`Table::migrate_names`].
    pub async fn migrate_names(uri: &str) -> Result<usize> {
        Ok(Table::migrate_names(&Store::open(uri)?).await?)
    }
}
