//! Compaction: many small fragments, and such with many deleted rows, become few whole ones (docs/format/table.md §13).
//!
//! ```text
//! plan, from one version ─▶ tasks, each some neighbours ─▶ groups, with new files ─▶ reserve ids, then one commit
//!          ▲                                                                              │
//!          └──────── groups that others touched meanwhile: again, from the latest ◀───────┘
//! ```
//!
//! Rows stream from the old files to the new ones; nothing holds a fragment.

use std::sync::Arc;
use std::time::Instant;

use lance_file::{Compression, FileWriter};
use lance_footer::{Alignment, FormatError, Version};
use serde::{Deserialize, Serialize};

use crate::commit::{CommitOptions, abandon};
use crate::write::{WriteOptions, file_options, has_checksums};
use crate::{Result, ScanOptions, Table, TableError};

mod group;
mod indices;
mod plan;
mod task;

pub use group::{CompactedGroup, Compaction, FailedTask, NewFragment};
pub use indices::{IndexCoverage, Uncovered};
pub use plan::{CompactionPlan, CompactionTask, OldFragment};

/// What is compacted, and how the new files are written.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionOptions {
    /// New fragments have about so many rows, and ones with fewer are small.
    pub target_rows: u64,
    /// The same in bytes of data files, if that is to count too: what is reached first is enough.
    pub target_bytes: Option<u64>,
    /// A fragment is rewritten if a larger share of its rows than this is deleted; never for that if it is 1 or more.
    pub threshold: f64,
    /// What becomes of fragments below an index that does not follow their rows.
    pub indices: IndexCoverage,
    /// The version of the new data files. If it is said, fragments with files of other versions are rewritten; none for
    /// that of the table.
    pub version: Option<Version>,
    /// About how many bytes of rows are in memory at the same time.
    pub memory_bytes: u64,
    /// To how many bytes buffers are aligned.
    pub alignment: Alignment,
    /// What the values of fields are compressed with whose metadata does not say; none for what is smallest of
    /// what is quick.
    pub compression: Option<Compression>,
    /// Whether the new data files get checksums; none for the way of the table: see [`WriteOptions::checksums`].
    pub checksums: Option<bool>,
    /// How the new version is committed, and how often what others touched meanwhile is planned again.
    pub commit: CommitOptions,
}

impl Default for CompactionOptions {
    fn default() -> Self {
        Self {
            target_rows: 1 << 20,
            target_bytes: None,
            threshold: 0.1,
            indices: IndexCoverage::default(),
            version: None,
            memory_bytes: 128 << 20,
            alignment: Alignment::default(),
            compression: None,
            checksums: None,
            commit: CommitOptions::default(),
        }
    }
}

impl CompactionOptions {
    fn check(&self) -> Result<()> {
        if self.target_rows == 0 || self.target_rows > u64::from(u32::MAX) {
            let rows = self.target_rows;
            return Err(TableError::invalid(format!("a fragment must have 1 to 2^32 - 1 rows, not {rows}")));
        }
        if self.target_bytes == Some(0) {
            return Err(TableError::invalid("a fragment must have a byte or more"));
        }
        if self.threshold.is_nan() || self.threshold < 0.0 {
            let threshold = self.threshold;
            return Err(TableError::invalid(format!("the share of deleted rows must not be {threshold}")));
        }
        Ok(())
    }
}

/// How a task reads and writes, whoever runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    version: String,
    compression: Option<String>,
    checksums: bool,
    alignment: u64,
    memory_bytes: u64,
}

impl Settings {
    fn version(&self) -> Result<Version> {
        self.version.parse().map_err(|error| TableError::format("compaction task", error))
    }

    fn write(&self, columns: usize) -> Result<WriteOptions> {
        let alignment = match self.alignment {
            64 => Alignment::Bytes64,
            4096 => Alignment::Bytes4096,
            other => return Err(TableError::invalid(format!("buffers cannot be aligned to {other} bytes"))),
        };
        let compression = self.compression.as_deref().map(str::parse).transpose();
        let default = WriteOptions::default();
        // Each column fills a page, and some full ones are on their way to the file, as values and as bytes.
        let pages = u64::try_from(columns).unwrap_or(u64::MAX).saturating_add(16);
        let page_bytes = (self.memory_bytes / 2 / pages).max(1 << 16);
        Ok(WriteOptions {
            version: Some(self.version()?),
            alignment,
            compression: compression.map_err(TableError::invalid)?,
            checksums: Some(self.checksums),
            max_rows_per_fragment: u64::from(u32::MAX),
            page_bytes: page_bytes.min(default.page_bytes),
            ..default
        })
    }

    /// How fragments of `files` files at most are read.
    fn scan(&self, files: usize) -> ScanOptions {
        const FRAGMENTS: u64 = 2;
        let default = ScanOptions::default();
        let files = u64::try_from(files).unwrap_or(u64::MAX).max(1);
        // What is ahead is there as it is stored, and decoded.
        let read_ahead_bytes = (self.memory_bytes / 8 / FRAGMENTS / files).max(1 << 16);
        ScanOptions {
            read_ahead_fragments: usize::try_from(FRAGMENTS).unwrap_or(1),
            read_ahead_bytes: read_ahead_bytes.min(default.read_ahead_bytes),
            batch_bytes: (self.memory_bytes / 32).clamp(1 << 16, default.batch_bytes),
            ..default
        }
    }
}

impl Table {
    /// Rewrites fragments that are small or have many deleted rows, as [`CompactionOptions`] say, and gives the version in
    /// which the new ones have taken their place. Rows keep their order within what is rewritten, which comes to lie
    /// behind all other rows; stable row ids stay.
    ///
    /// What others delete or change meanwhile is kept: what they touched is left as it is, and planned again, as often as
    /// [`CompactionOptions::commit`] says; what is left then is in [`Compaction::conflicting`]. What cannot be rewritten, such as
    /// a fragment of which a file is damaged, is left as it is, too, and told in [`Compaction::failed`].
    /// [`Compaction::complete`] makes an error of both. Older versions keep the old files.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use lance_io::Store;
    /// use lance_table::{CompactionOptions, Table, WriteMode, WriteOptions};
    ///
    /// let store = Store::memory();
    /// let append = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    /// for start in 0..10 {
    ///     let batch = record_batch!(("id", Int32, [start, start + 100]))?;
    ///     Table::write(store.clone(), vec![batch].into(), append.clone()).await?;
    /// }
    /// let table = Table::open(store, None).await?;
    /// let done = table.compact(&CompactionOptions::default()).await?.complete()?;
    /// assert_eq!((table.fragments().len(), done.table.fragments().len()), (10, 1));
    /// assert_eq!(done.table.rows(), 20);
    /// # Ok(()) }
    /// ```
    pub async fn compact(&self, options: &CompactionOptions) -> Result<Compaction> {
        self.compact_watched(options, &|_| {}).await
    }

    /// The same; `watch` is told of bytes of old data files as they are done with.
    pub async fn compact_watched(
        &self,
        options: &CompactionOptions,
        watch: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Compaction> {
        let mut done = Compaction::nothing(self.clone());
        let mut since = None;
        for round in 0..=options.commit.retries {
            let plan = done.table.plan_compaction(options)?;
            if plan.tasks().is_empty() {
                // What others did to the rows that were left out is all that there was to do.
                done.conflicting.clear();
                done.failed.clear();
                break;
            }
            let next = self.round(&done.table, &plan, options, watch).await?;
            done.table = next.table;
            done.groups.extend(next.groups);
            for more in next.uncovered {
                match done.uncovered.iter_mut().find(|known| known.index == more.index) {
                    Some(known) => known.rows = known.rows.saturating_add(more.rows),
                    None => done.uncovered.push(more),
                }
            }
            done.conflicting = next.conflicting;
            done.failed = next.failed;
            if done.conflicting.is_empty() {
                break;
            }
            let since = since.get_or_insert_with(Instant::now);
            if round == options.commit.retries || since.elapsed() > options.commit.patience {
                break;
            }
        }
        Ok(done)
    }

    /// Does all of `plan`, and leaves no file of what was not committed.
    async fn round(
        &self,
        table: &Table,
        plan: &CompactionPlan,
        options: &CompactionOptions,
        watch: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Compaction> {
        let (mut groups, mut failed) = (vec![], vec![]);
        for task in plan.tasks() {
            match task.run_watched(table, watch).await {
                Ok(group) => groups.push(group),
                Err(error) => {
                    let fragments = task.fragments().to_vec();
                    failed.push(FailedTask { fragments, cause: Arc::new(error) });
                }
            }
        }
        let files = paths(&groups);
        match table.commit_compaction(groups, &options.commit).await {
            Ok(done) => {
                let dropped = paths(&done.conflicting);
                abandon(table.store(), dropped, &TableError::invalid("others were first")).await;
                Ok(Compaction { failed, ..done })
            }
            Err(error) => {
                abandon(table.store(), files, &error).await;
                Err(error)
            }
        }
    }

    /// What tasks need to know of the options and the table.
    fn settings(&self, options: &CompactionOptions) -> Result<Settings> {
        let format = |error| TableError::format(self.store().location(""), error);
        let version = match options.version {
            Some(version) => version,
            None => self.manifest().file_version().map_err(format)?,
        };
        let settings = Settings {
            version: version.to_string(),
            compression: options.compression.map(|compression| compression.to_string()),
            checksums: has_checksums(options.checksums, Some(self.manifest())),
            alignment: options.alignment.bytes(),
            memory_bytes: options.memory_bytes,
        };
        if let Some(blob) = self.schema().pre_order().into_iter().find(|field| field.is_blob()) {
            let path = self.schema().path(blob.id).unwrap_or_default();
            let what = format!("compaction of a table with blobs (column {path:?})");
            return Err(format(FormatError::unsupported(what)));
        }
        let write = settings.write(1)?;
        FileWriter::check(self.schema(), &file_options(version, &write)).map_err(format)?;
        Ok(settings)
    }
}

fn paths(groups: &[CompactedGroup]) -> Vec<String> {
    groups.iter().flat_map(CompactedGroup::paths).collect()
}

#[cfg(test)]
mod tests;
