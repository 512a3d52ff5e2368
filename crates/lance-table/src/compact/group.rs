//! What tasks wrote, and its commit.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use lance_footer::{FormatError, Version};
use serde::{Deserialize, Serialize};

use super::OldFragment;
use super::indices::{Covers, Uncovered};
use super::task::current;
use crate::commit::{self, CommitOptions, commit};
use crate::operation::{Group, Operation, Reserve, Rewrite, Verdict};
use crate::proto::{DataFile, DataFragment};
use crate::row_ids::Carried;
use crate::slot::Slot;
use crate::{Fragment, Result, Table, TableError};

/// Fragments, and the files that were written to take their place: what [`CompactionTask::run`](super::CompactionTask::run)
/// gives. It can be stored and sent, like the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactedGroup {
    pub(super) version: u64,
    pub(super) old: Vec<OldFragment>,
    pub(super) new: Vec<NewFragment>,
}

/// A fragment that was written, of one data file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NewFragment {
    /// Rows.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// The name of the file.
    pub file: String,
    /// Its version.
    version: String,
    pub(super) fields: Vec<i32>,
    pub(super) columns: Vec<i32>,
}

/// What a compaction did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Compaction {
    /// The table afterwards; as it was if there was nothing to do.
    pub table: Table,
    /// What was committed.
    pub groups: Vec<CompactedGroup>,
    /// What was not, because others deleted or changed some of the same rows meanwhile.
    pub conflicting: Vec<CompactedGroup>,
    /// What could not be rewritten. It is as it was, and does not keep anything else from being compacted.
    pub failed: Vec<FailedTask>,
    /// The rows that indices cover no more: see [`IndexCoverage::Shrink`](super::IndexCoverage).
    pub uncovered: Vec<Uncovered>,
}

/// A task of a compaction that failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FailedTask {
    /// What it was to rewrite.
    pub fragments: Vec<OldFragment>,
    /// What went wrong.
    pub cause: Arc<TableError>,
}

impl Compaction {
    pub(super) const fn nothing(table: Table) -> Self {
        Self { table, groups: vec![], conflicting: vec![], failed: vec![], uncovered: vec![] }
    }

    /// This, or an error if there is something that was not compacted, because it could not be rewritten or others went on
    /// changing it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use lance_io::Store;
    /// use lance_table::{CompactionOptions, Table, WriteOptions};
    ///
    /// let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
    /// let options = WriteOptions { max_rows_per_fragment: 1, ..Default::default() };
    /// let table = Table::write(Store::memory(), batch.into(), options).await?;
    /// let table = table.compact(&CompactionOptions::default()).await?.complete()?.table;
    /// assert_eq!(table.fragments().len(), 1);
    /// # Ok(()) }
    /// ```
    pub fn complete(self) -> Result<Self> {
        let location = self.table.store().location("");
        let (first, source) = match (self.failed.first(), self.conflicting.first()) {
            (None, None) => return Ok(self),
            (Some(first), _) => (&first.fragments, Arc::clone(&first.cause)),
            (None, Some(first)) => {
                (&first.old, Arc::new(TableError::Outpaced { location: location.clone() }))
            }
        };
        Err(TableError::PartlyCompacted {
            location,
            version: (!self.groups.is_empty()).then(|| self.table.version()),
            failed: self.failed.len() + self.conflicting.len(),
            fragments: first.iter().map(|old| old.id).collect(),
            source,
        })
    }
}

impl CompactedGroup {
    /// The version of the table that it was made from.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// What was rewritten.
    pub fn old(&self) -> &[OldFragment] {
        &self.old
    }

    /// What takes its place; nothing if no row was left.
    pub fn new_fragments(&self) -> &[NewFragment] {
        &self.new
    }

    /// The paths of the new files.
    pub(super) fn paths(&self) -> Vec<String> {
        self.new.iter().map(|new| format!("data/{}", new.file)).collect()
    }
}

impl NewFragment {
    /// None if it is not of one file.
    pub(super) fn of(fragment: DataFragment) -> Option<Self> {
        let [file] = <[DataFile; 1]>::try_from(fragment.files).ok()?;
        let version = Version::from_manifest(file.file_major_version, file.file_minor_version).ok()?;
        Some(Self {
            rows: fragment.physical_rows,
            bytes: file.file_size_bytes,
            file: file.path,
            version: version.to_string(),
            fields: file.fields,
            columns: file.column_indices,
        })
    }

    /// As manifests have it, without an id.
    fn to_proto(&self) -> Result<DataFragment, FormatError> {
        let (file_major_version, file_minor_version) = self.version.parse::<Version>()?.to_manifest();
        let file = DataFile {
            path: self.file.clone(),
            fields: self.fields.clone(),
            column_indices: self.columns.clone(),
            file_major_version,
            file_minor_version,
            file_size_bytes: self.bytes,
            base_id: None,
        };
        Ok(DataFragment { files: vec![file], physical_rows: self.rows, ..Default::default() })
    }
}

impl Table {
    /// Commits `groups`, all made from one version of this table: first ids for the new fragments, then the new fragments
    /// in the place of the old ones.
    ///
    /// Groups of which others deleted or changed rows since that version are left out, so that nothing of that is lost;
    /// [`Compaction::conflicting`] has them. Their files stay, as they do on an error: whoever sent the groups may have
    /// committed them before.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use arrow_array::record_batch;
    /// # use lance_io::Store;
    /// # use lance_table::{WriteMode, WriteOptions};
    /// use lance_table::{CommitOptions, CompactionOptions, Table};
    ///
    /// # let store = Store::memory();
    /// # let append = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    /// # for id in 0..10 {
    /// #     let batch = record_batch!(("id", Int32, [id]))?;
    /// #     Table::write(store.clone(), vec![batch].into(), append.clone()).await?;
    /// # }
    /// # let table = Table::open(store, None).await?;
    /// let plan = table.plan_compaction(&CompactionOptions::default())?;
    /// let mut groups = vec![];
    /// for task in plan.tasks() {
    ///     groups.push(task.run(&table).await?); // on another machine, perhaps
    /// }
    /// let done = table.commit_compaction(groups, &CommitOptions::default()).await?;
    /// assert_eq!(done.table.fragments().len(), 1);
    /// # Ok(()) }
    /// ```
    pub async fn commit_compaction(
        &self,
        groups: Vec<CompactedGroup>,
        options: &CommitOptions,
    ) -> Result<Compaction> {
        let Some(version) = groups.first().map(|group| group.version) else {
            return Ok(Compaction::nothing(self.clone()));
        };
        let table = self.as_of(version).await?;
        let covers = Covers::of(table.manifest())
            .map_err(|error| TableError::format(table.store().location(""), error))?;
        let mut prepared = prepare(&table, &groups).await?;
        reserve(&table, &mut prepared, options).await?;

        let mut groups = groups.into_iter().zip(prepared).collect::<Vec<_>>();
        let mut conflicting = vec![];
        loop {
            let rewrite = groups.iter().map(|(_, group)| group.clone()).collect();
            let rewrite = Operation::Rewrite(Rewrite { groups: rewrite });
            let refused = match commit(table.store(), version, rewrite, options, vec![]).await {
                Ok(found) => {
                    let groups = groups.into_iter().map(|(group, _)| group).collect::<Vec<_>>();
                    let uncovered = covers.uncovered(groups.iter().map(CompactedGroup::old));
                    let table = Self::from_commit(table.store().clone(), found, table.shared.options).await?;
                    return Ok(Compaction { table, groups, conflicting, failed: vec![], uncovered });
                }
                Err(error @ TableError::Conflict { retryable: true, .. }) => error,
                Err(error) => return Err(error),
            };
            let before = groups.len();
            let untouched = untouched(&table, groups, &mut conflicting).await?;
            if untouched.is_empty() {
                let table = table.latest().await?;
                return Ok(Compaction { conflicting, ..Compaction::nothing(table) });
            }
            // Else it would be refused for ever.
            if untouched.len() == before {
                return Err(refused);
            }
            groups = untouched;
        }
    }
}

/// The groups as manifests have them, without ids for the new fragments.
async fn prepare(table: &Table, groups: &[CompactedGroup]) -> Result<Vec<Group>> {
    let invalid = |reason: String| TableError::invalid(format!("{}: {reason}", table.store().location("")));
    let mut seen = BTreeSet::new();
    let used = table.fragments().iter().flat_map(|fragment| fragment.files());
    let mut used = used.map(|file| file.path.as_str()).collect::<BTreeSet<_>>();
    let mut prepared = Vec::with_capacity(groups.len());
    for group in groups {
        if group.version != table.version() {
            return Err(invalid("the groups were made from different versions".into()));
        }
        if let Some(old) = group.old.iter().find(|old| !seen.insert(old.id)) {
            return Err(invalid(format!("fragment {} was rewritten twice", old.id)));
        }
        let old = current(table, &group.old)?;
        let rows = group.old.iter().map(OldFragment::rows).fold(0, u64::saturating_add);
        let new = group.new.iter().map(|new| new.rows).fold(0, u64::saturating_add);
        if rows != new {
            return Err(invalid(format!("{rows} rows became {new}")));
        }
        let mut fragments = Vec::with_capacity(group.new.len());
        for new in &group.new {
            if new.file.contains('/') || !used.insert(&new.file) {
                return Err(invalid(format!("{:?} is not a new data file", new.file)));
            }
            let fragment = new.to_proto().map_err(|error| TableError::format(&new.file, error))?;
            check_new(table, &fragment).await?;
            fragments.push(fragment);
        }
        if table.manifest().has_stable_row_ids() {
            let mut carried = Carried::default();
            for fragment in &old {
                let live =
                    Slot::new(fragment.clone(), table.shared.options).live(&table.shared.places).await?;
                let added = carried.add(&fragment.message, live.rows());
                added.map_err(|error| {
                    TableError::format(table.store().location(&format!("fragment {}", fragment.id())), error)
                })?;
            }
            carried.give(&mut fragments);
        }
        let old = old.iter().map(Fragment::to_proto).collect();
        prepared.push(Group { old, new: fragments });
    }
    Ok(prepared)
}

/// Sees that the file of a new fragment is there, has the rows that it should, and all columns of `table`. It may have been
/// written elsewhere.
async fn check_new(table: &Table, fragment: &DataFragment) -> Result<()> {
    let checked = Fragment::new(fragment.clone());
    let checked = checked.map_err(|error| TableError::format(table.store().location("data"), error))?;
    for file in checked.files() {
        let mut owners = table.schema().fields.iter().flat_map(|field| field.column_owners(file.version));
        if let Some(missing) = owners.find(|owner| !file.has(owner.id)) {
            let column = table.schema().path(missing.id).unwrap_or_default();
            return Err(TableError::invalid(format!("{}: it lacks the column {column:?}", file.path)));
        }
    }
    Slot::new(checked, table.shared.options).reader(&table.shared.places, table.schema(), 0).await?;
    Ok(())
}

/// Sets ids aside for the new fragments.
async fn reserve(table: &Table, groups: &mut [Group], options: &CommitOptions) -> Result<()> {
    let count = groups.iter().map(|group| group.new.len()).sum::<usize>();
    if count == 0 {
        return Ok(());
    }
    let full = |_| TableError::invalid(format!("{count} new fragments"));
    let reserve = Operation::Reserve(Reserve { fragments: u32::try_from(count).map_err(full)? });
    let found = commit(table.store(), table.version(), reserve, options, vec![]).await?;
    let last = found.manifest.message.max_fragment_id.map_or(0, u64::from);
    let first = last.saturating_sub(count as u64 - 1);
    for (id, fragment) in (first..).zip(groups.iter_mut().flat_map(|group| &mut group.new)) {
        fragment.id = id;
    }
    Ok(())
}

type Prepared = Vec<(CompactedGroup, Group)>;

/// The groups of which nobody touched anything since the version of `table`; the others are added to `conflicting`.
async fn untouched(
    table: &Table,
    groups: Prepared,
    conflicting: &mut Vec<CompactedGroup>,
) -> Result<Prepared> {
    let latest = table.latest().await?;
    let transactions = commit::transactions(table.store(), table.version(), &latest.shared.found);
    let others = transactions.try_collect::<Vec<_>>().await?;
    let mut untouched = vec![];
    for (group, prepared) in groups {
        let alone = Operation::Rewrite(Rewrite { groups: vec![prepared.clone()] });
        let kept = others.iter().all(|other| {
            let operation = other.as_ref().and_then(|other| other.operation.as_ref());
            alone.check(operation) == Verdict::Keep
        });
        match kept {
            true => untouched.push((group, prepared)),
            false => conflicting.push(group),
        }
    }
    Ok(untouched)
}
