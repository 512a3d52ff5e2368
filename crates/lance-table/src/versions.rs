//! The history of a table.

use std::time::SystemTime;

use futures::{StreamExt, TryStreamExt, stream};
use lance_io::IoError;

use crate::commit::{CommitOptions, transaction_of};
use crate::manifest::latest;
use crate::table::CONCURRENT;
use crate::{Result, Table, TableError, operation};

/// A line of a table's history.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VersionInfo {
    /// Its number.
    pub version: u64,
    /// When it was committed.
    pub timestamp: SystemTime,
    /// What made it: `append`, `delete` and so on; none if that is not known.
    pub operation: Option<&'static str>,
    /// What whoever made it wrote about it: [`CommitOptions::MESSAGE`].
    pub message: Option<String>,
    /// How many fragments it has.
    pub fragments: usize,
    /// How many rows it has, less those that were deleted; as far as the manifest knows.
    pub rows: u64,
    /// How many data and deletion files it has.
    pub files: usize,
    /// The bytes of its data files, as far as the manifest knows.
    pub bytes: u64,
}

impl Table {
    /// All versions that there are now, oldest first; also those that came after this one. Of a branch those since it began.
    pub async fn versions(&self) -> Result<Vec<VersionInfo>> {
        self.versions_with(&mut |_, _| {}).await
    }

    /// The same; `progress` is told how many of how many have been read, after each.
    pub async fn versions_with(
        &self,
        progress: &mut (dyn FnMut(usize, usize) + Send),
    ) -> Result<Vec<VersionInfo>> {
        let Some((versions, naming)) = latest::list(self.store()).await? else { return Ok(vec![]) };
        let total = versions.len();
        let infos = versions.into_iter().map(|version| async move {
            let manifest = match latest::read(self.store(), version, naming).await {
                Ok(found) => found.manifest,
                // Clean-up has removed it since they were listed.
                Err(TableError::Io(IoError::NotFound { .. })) => return Ok(None),
                Err(error) => return Err(error),
            };
            let transaction = transaction_of(self.store(), &manifest).await?;
            let made = transaction.as_ref().and_then(|transaction| transaction.operation.as_ref());
            let message = transaction.as_ref().and_then(|transaction| {
                transaction.transaction_properties.get(CommitOptions::MESSAGE).cloned()
            });
            let fragments = &manifest.message.fragments;
            let files = fragments.iter().flat_map(|fragment| &fragment.files);
            let bytes = files.clone().fold(0_u64, |sum, file| sum.saturating_add(file.file_size_bytes));
            let deletions = fragments.iter().filter(|fragment| fragment.deletion_file.is_some()).count();
            Ok::<_, TableError>(Some(VersionInfo {
                version,
                timestamp: manifest.timestamp(),
                operation: made.map(|made| operation::name(Some(made))),
                message,
                fragments: fragments.len(),
                rows: manifest.rows(),
                files: files.count() + deletions,
                bytes,
            }))
        });
        let mut infos = stream::iter(infos).buffered(CONCURRENT);
        let (mut read, mut done) = (vec![], 0);
        while let Some(info) = infos.try_next().await? {
            read.extend(info);
            done += 1;
            progress(done, total);
        }
        Ok(read)
    }
}
