//! Clean-up: old versions go, with the files that only they need, and so do files that nobody needs any more
//! (docs/format/table.md §13).
//!
//! ```text
//! manifests ─▶ which versions go ─▶ which files living versions need ─▶ which files are there ─▶ what goes
//! tags, branches ──┘                          └── manifests of branches
//! ```

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{Naming, Result, Table, TableError, Total};

mod needed;
mod remove;
mod walk;

/// Files without a version that are younger than this may be those of a writer that has not committed yet.
const IN_PROGRESS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How names of files begin that are being written.
const TEMPORARY: &str = ".tmp";

/// What goes if neither age nor count is said: what is older than this.
const DEFAULT_AGE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// What a clean-up removes. A version goes if it is both old enough and not among the newest that are kept; without a word
/// of either, if it is older than 14 days.
///
/// These always stay: the latest version, the one that the clean-up was started from and all after it, versions with tags,
/// versions that branches began at; and all files that any of these needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupOptions {
    /// Versions must be older than this to go.
    pub older_than: Option<Duration>,
    /// So many of the newest versions stay.
    pub keep: Option<u64>,
    /// Whether files that no version needs go at once. A writer that has not committed yet loses its files then, so that
    /// nobody must be writing. Otherwise they go when they are 7 days old.
    pub delete_unverified: bool,
    /// Whether it is an error, before anything was removed, if a version would go but for a tag; otherwise that version
    /// just stays.
    pub error_if_tagged_old_versions: bool,
}

impl Default for CleanupOptions {
    fn default() -> Self {
        Self { older_than: None, keep: None, delete_unverified: false, error_if_tagged_old_versions: true }
    }
}

/// What a clean-up would remove, and what not: [`Table::plan_cleanup`] makes it, and [`Self::run`] does it.
///
/// It is a value that can be looked at, stored, as JSON for instance, and run later. What became needed meanwhile stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CleanupPlan {
    /// The versions that go, oldest first.
    pub versions: Vec<OldVersion>,
    /// The other files that go.
    pub files: Vec<OldFile>,
    /// Versions that would go but for a tag or a branch.
    pub held: Vec<HeldVersion>,
    /// Files that no version needs, but which are too young to go.
    pub young: Total,
    /// The files of the table that stay, with the young ones; those of tags and branches are not among them.
    pub left: Total,
    /// The newest version that was looked at, when it was committed, and how manifests are named.
    latest: u64,
    time: SystemTime,
    naming: Naming,
}

/// A version that goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OldVersion {
    /// Its number.
    pub version: u64,
    /// When it was committed.
    pub timestamp: SystemTime,
    /// The path of its manifest.
    pub path: String,
    /// Bytes of its manifest.
    pub bytes: u64,
}

/// A file that goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OldFile {
    /// Its path, below the root of the table.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// Why it goes.
    pub reason: CleanupReason,
    /// The path by which manifests know it: of a blob that of its data file, of a file of an index that of the index.
    owner: String,
}

/// Why a file goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CleanupReason {
    /// Only versions that go need it; this is the last of them.
    OldVersion(u64),
    /// No version needs it: it was written for one that was not committed, or is left of an earlier clean-up.
    Unreferenced,
    /// It was being written when its writer ended.
    Temporary,
}

/// A version that would go but for what holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HeldVersion {
    /// Its number.
    pub version: u64,
    /// What holds it, such as `tag train-v1`.
    pub by: Vec<String>,
}

/// What a clean-up removed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cleanup {
    /// What was to be removed.
    pub plan: CleanupPlan,
    /// What was; what another clean-up was first to remove counts, too.
    pub removed: Total,
    /// What was not, since it is needed after all: paths.
    pub kept: Vec<String>,
    /// What could not be removed, with the reason. The next clean-up tries again.
    pub failed: Vec<(String, String)>,
}

impl CleanupPlan {
    /// All that goes.
    pub fn amount(&self) -> Total {
        let sizes = self.versions.iter().map(|old| old.bytes).chain(self.files.iter().map(|file| file.bytes));
        sizes.fold(Total::default(), |mut sum, bytes| {
            sum.count(bytes);
            sum
        })
    }

    /// Removes what is planned from `table`, which must be the one that it was planned for, in any version. What new
    /// versions, tags and branches need meanwhile stays.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use arrow_array::record_batch;
    /// # use lance_io::Store;
    /// # use lance_table::{WriteMode, WriteOptions};
    /// use lance_table::{CleanupOptions, CleanupPlan, Table};
    ///
    /// # let store = Store::memory();
    /// # for start in [1, 4, 7] {
    /// #     let batch = record_batch!(("id", Int32, [start, start + 1]))?;
    /// #     let options = WriteOptions { mode: WriteMode::Overwrite, ..Default::default() };
    /// #     Table::write(store.clone(), vec![batch].into(), options).await?;
    /// # }
    /// let table = Table::open(store.clone(), None).await?;
    /// let plan = table.plan_cleanup(&CleanupOptions { keep: Some(1), ..Default::default() }).await?;
    /// let stored = serde_json::to_string(&plan)?;
    /// Table::open(store, Some(1)).await?.create_tag("wanted").await?;
    ///
    /// let plan: CleanupPlan = serde_json::from_str(&stored)?;
    /// let done = plan.run(&table).await?;
    /// assert_eq!((done.plan.versions.len(), table.versions().await?.len()), (2, 2));
    /// assert_eq!(done.kept.len(), 3); // a manifest, a transaction and a data file
    /// # Ok(()) }
    /// ```
    pub async fn run(&self, table: &Table) -> Result<Cleanup> {
        self.run_watched(table, &|_| {}).await
    }

    /// The same; `watch` is told of bytes that are done with.
    pub async fn run_watched(&self, table: &Table, watch: &(dyn Fn(u64) + Send + Sync)) -> Result<Cleanup> {
        remove::run(self, table, watch).await
    }
}

impl Table {
    /// Says what [`Self::clean_up`] with the same options would remove, and why. Removes nothing.
    ///
    /// All manifests are read, of the branches too. An error if one of them cannot be: what it needs is not known then.
    pub async fn plan_cleanup(&self, options: &CleanupOptions) -> Result<CleanupPlan> {
        self.plan_cleanup_at(options, SystemTime::now()).await
    }

    /// Removes old versions, the files that only they need, and files that no version needs. It can be done again at any
    /// time, and while others read and write; whatever interrupts it, no version that is left lacks a file.
    ///
    /// Tables that were cloned from this one without a copy of its files are not known, and break if they lose files.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use lance_io::Store;
    /// use lance_table::{CleanupOptions, Table, WriteMode, WriteOptions};
    ///
    /// let store = Store::memory();
    /// for start in [1, 4] {
    ///     let batch = record_batch!(("id", Int32, [start, start + 1]))?;
    ///     let options = WriteOptions { mode: WriteMode::Overwrite, ..Default::default() };
    ///     Table::write(store.clone(), vec![batch].into(), options).await?;
    /// }
    /// let table = Table::open(store, None).await?;
    /// let done = table.clean_up(&CleanupOptions { keep: Some(1), ..Default::default() }).await?;
    /// // A manifest, a transaction and a data file.
    /// assert_eq!((done.plan.versions.len(), done.removed.files), (1, 3));
    /// assert_eq!(table.versions().await?.len(), 1);
    /// # Ok(()) }
    /// ```
    pub async fn clean_up(&self, options: &CleanupOptions) -> Result<Cleanup> {
        self.clean_up_watched(options, &|_| {}).await
    }

    /// The same; `watch` is told of bytes that are done with.
    pub async fn clean_up_watched(
        &self,
        options: &CleanupOptions,
        watch: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Cleanup> {
        self.plan_cleanup(options).await?.run_watched(self, watch).await
    }

    async fn plan_cleanup_at(&self, options: &CleanupOptions, now: SystemTime) -> Result<CleanupPlan> {
        if options.keep == Some(0) {
            return Err(TableError::invalid("at least one version must be kept"));
        }
        let needed = self.needed(options, now).await?;
        self.walk(needed, options, now).await
    }
}

#[cfg(all(test, feature = "object-store"))]
mod tests;
