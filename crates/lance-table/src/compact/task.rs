use futures::TryStreamExt;
use lance_footer::FormatError;

use super::group::{CompactedGroup, NewFragment};
use super::{CompactionTask, OldFragment};
use crate::commit::abandon;
use crate::write::{Fragments, Target};
use crate::{Fragment, OpenOptions, Result, Table, TableError};

impl CompactionTask {
    /// Writes the new files. They are part of nothing until [`Table::commit_compaction`] commits them; if they never are,
    /// clean-up removes them in the end.
    ///
    /// `table` is the table that it was planned from, in any version.
    pub async fn run(&self, table: &Table) -> Result<CompactedGroup> {
        self.run_watched(table, &|_| {}).await
    }

    /// The same; `watch` is told of bytes of old data files as they are done with.
    pub async fn run_watched(
        &self,
        table: &Table,
        watch: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<CompactedGroup> {
        let table = table.as_of(self.version).await?;
        let fragments = current(&table, &self.fragments)?;
        let rows = self.fragments.iter().map(OldFragment::rows).fold(0, u64::saturating_add);
        let parted = self.rows.iter().copied().fold(0, u64::saturating_add);
        if parted != rows || self.rows.iter().any(|rows| *rows == 0 || *rows > u64::from(u32::MAX)) {
            return Err(TableError::invalid(format!("{rows} rows cannot be parted into {:?}", self.rows)));
        }

        let target =
            Target { schema: table.schema().clone(), version: self.settings.version()?, append: true };
        let options = self.settings.write(table.schema().pre_order().len())?;
        let mut new = Fragments::new(table.store(), &target, &options, self.rows.clone());
        let written = match self.copy(&table, fragments, &mut new, watch).await {
            Ok(()) => self.check(&table, &new),
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            abandon(table.store(), new.paths(), &error).await;
            return Err(error);
        }
        let new = new.done.into_iter().filter_map(NewFragment::of).collect();
        Ok(CompactedGroup { version: self.version, old: self.fragments.clone(), new })
    }

    async fn copy(
        &self,
        table: &Table,
        fragments: Vec<Fragment>,
        new: &mut Fragments<'_>,
        watch: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<()> {
        let files = fragments.iter().map(|fragment| fragment.files().len()).max();
        let bytes = self.fragments.iter().map(|old| old.bytes).fold(0, u64::saturating_add);
        let rows = self.fragments.iter().map(OldFragment::rows).fold(0, u64::saturating_add);
        let mut batches = table.scan_fragments(fragments, self.settings.scan(files.unwrap_or(1)))?;
        let (mut done, mut told) = (0_u64, 0_u64);
        while let Some(batch) = batches.try_next().await? {
            new.push_all(&batch).await?;
            done += batch.num_rows() as u64;
            let share = u128::from(bytes) * u128::from(done) / u128::from(rows.max(1));
            let share = u64::try_from(share).unwrap_or(bytes);
            watch(share.saturating_sub(told));
            told = told.max(share);
        }
        watch(bytes.saturating_sub(told));
        new.close().await
    }

    /// Sees that no row got lost.
    fn check(&self, table: &Table, new: &Fragments<'_>) -> Result<()> {
        let written = new.done.iter().map(|fragment| fragment.physical_rows).collect::<Vec<_>>();
        if written == self.rows {
            return Ok(());
        }
        let reason = format!("its fragments have {written:?} rows, not {:?}", self.rows);
        Err(TableError::format(table.store().location(""), FormatError::corrupt("table", reason)))
    }
}

impl Table {
    /// This table, in another version if it is not that one.
    pub(super) async fn as_of(&self, version: u64) -> Result<Self> {
        if self.version() == version {
            return Ok(self.clone());
        }
        let options = OpenOptions { version: Some(version), ..self.shared.options };
        Self::open_with(self.store().clone(), options).await
    }
}

/// The fragments of `table` that `old` describes; an error if they are others.
pub(super) fn current(table: &Table, old: &[OldFragment]) -> Result<Vec<Fragment>> {
    let fragments = old.iter().map(|old| {
        let there = table.fragments().iter().find(|fragment| fragment.id() == old.id);
        there.filter(|fragment| OldFragment::of(fragment) == *old).cloned().ok_or_else(|| {
            let (location, version) = (table.store().location(""), table.version());
            TableError::invalid(format!(
                "{location}: version {version} has no fragment {} as planned",
                old.id
            ))
        })
    });
    fragments.collect()
}
