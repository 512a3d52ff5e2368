//! Which fragments are worth rewriting, by what the manifest says (docs/format/table.md §13).

use std::collections::BTreeSet;

use lance_footer::{FormatError, Version};
use serde::{Deserialize, Serialize};

use super::indices::Covers;
use super::{CompactionOptions, Settings, Uncovered};
use crate::{Fragment, Manifest, Result, Table, TableError};

/// What a compaction would do, worked out from one version of a table: [`Table::plan_compaction`] makes it.
///
/// It is a value that can be stored, as JSON for instance, and its tasks can be run elsewhere. It knows the version that it
/// was made from, which is how rows that others delete meanwhile are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionPlan {
    version: u64,
    tasks: Vec<CompactionTask>,
    uncovered: Vec<Uncovered>,
}

/// Some neighbouring fragments, and what becomes of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionTask {
    pub(super) version: u64,
    pub(super) fragments: Vec<OldFragment>,
    /// How many rows each new fragment has.
    pub(super) rows: Vec<u64>,
    pub(super) settings: Settings,
}

/// A fragment that is to be rewritten, as it was in the version of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OldFragment {
    /// Its id.
    pub id: u32,
    /// Rows with the deleted ones.
    pub physical_rows: u64,
    /// Deleted rows.
    pub deleted_rows: u64,
    /// Bytes of its data files, as far as they are known.
    pub bytes: u64,
    /// The names of its data files.
    pub files: Vec<String>,
}

impl CompactionPlan {
    /// The version of the table that it was made from.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// What is to be done; nothing if the table is in good shape. Tasks do not depend on each other.
    pub fn tasks(&self) -> &[CompactionTask] {
        &self.tasks
    }

    /// The rows that indices will cover no more: see [`IndexCoverage::Shrink`](super::IndexCoverage).
    pub fn uncovered(&self) -> &[Uncovered] {
        &self.uncovered
    }
}

impl CompactionTask {
    /// The version of the table that it was planned from.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The fragments that are rewritten, in their order.
    pub fn fragments(&self) -> &[OldFragment] {
        &self.fragments
    }

    /// How many rows each new fragment has.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }
}

impl OldFragment {
    pub(super) fn of(fragment: &Fragment) -> Self {
        let bytes = fragment.files().iter().filter_map(|file| file.size);
        Self {
            id: fragment.id(),
            physical_rows: fragment.physical_rows(),
            deleted_rows: fragment.deleted_rows(),
            bytes: bytes.fold(0, u64::saturating_add),
            files: fragment.files().iter().map(|file| file.path.clone()).collect(),
        }
    }

    /// Rows without the deleted ones.
    pub const fn rows(&self) -> u64 {
        self.physical_rows.saturating_sub(self.deleted_rows)
    }

    /// About how many bytes its rows take.
    fn live_bytes(&self) -> u64 {
        let bytes = u128::from(self.bytes) * u128::from(self.rows()) / u128::from(self.physical_rows.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// How much of a fragment's target is there: as many rows, or as many bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    rows: u64,
    bytes: u64,
}

impl Amount {
    fn of(fragments: &[Candidate]) -> Self {
        fragments.iter().fold(Self::default(), |sum, one| sum.and(one.live))
    }

    const fn and(self, other: Self) -> Self {
        Self { rows: self.rows.saturating_add(other.rows), bytes: self.bytes.saturating_add(other.bytes) }
    }

    const fn less(self, other: Self) -> Self {
        Self { rows: self.rows.saturating_sub(other.rows), bytes: self.bytes.saturating_sub(other.bytes) }
    }

    /// How many fragments this fills.
    fn fills(self, options: &CompactionOptions) -> u64 {
        let by_rows = self.rows / options.target_rows.max(1);
        let by_bytes = options.target_bytes.map_or(0, |target| self.bytes / target.max(1));
        by_rows.max(by_bytes)
    }
}

/// A fragment that may be rewritten.
#[derive(Debug, Clone)]
struct Candidate {
    fragment: OldFragment,
    live: Amount,
    /// The indices that cover it and whose entries follow its rows.
    indices: BTreeSet<usize>,
    /// Whether it is rewritten even if it has no neighbour to go with.
    alone: bool,
}

impl Table {
    /// Works out which fragments are worth rewriting. Reads nothing.
    ///
    /// An error if the table has columns that cannot be written.
    pub fn plan_compaction(&self, options: &CompactionOptions) -> Result<CompactionPlan> {
        options.check()?;
        self.shared.found.check_writable()?;
        let settings = self.settings(options)?;
        let format = |error| TableError::format(self.store().location(""), error);
        let bins = bins(self.manifest(), self.fragments(), options).map_err(format)?;
        let tasks = bins.into_iter().flat_map(|bin| cut(bin, options)).map(|task| {
            let live = Amount::of(&task);
            CompactionTask {
                version: self.version(),
                rows: even(live.rows, live.fills(options)),
                fragments: task.into_iter().map(|candidate| candidate.fragment).collect(),
                settings: settings.clone(),
            }
        });
        let tasks = tasks.collect::<Vec<_>>();
        let covers = Covers::of(self.manifest()).map_err(format)?;
        let uncovered = covers.uncovered(tasks.iter().map(CompactionTask::fragments));
        Ok(CompactionPlan { version: self.version(), tasks, uncovered })
    }
}

/// Runs of neighbouring candidates that go together: the same indices move with their rows.
fn bins(
    manifest: &Manifest,
    fragments: &[Fragment],
    options: &CompactionOptions,
) -> Result<Vec<Vec<Candidate>>, FormatError> {
    let covers = Covers::of(manifest)?;
    let mut bins: Vec<Vec<Candidate>> = vec![];
    let mut open = false;
    for fragment in fragments {
        let held = covers.hold(fragment.id(), options.indices);
        let candidate = candidate(fragment, covers.following(fragment.id()), options).filter(|_| !held);
        let Some(candidate) = candidate else {
            open = false;
            continue;
        };
        match bins.last_mut() {
            Some(bin) if open && bin.last().is_some_and(|last| last.indices == candidate.indices) => {
                bin.push(candidate);
            }
            _ => bins.push(vec![candidate]),
        }
        open = true;
    }
    bins.retain(|bin| bin.len() > 1 || bin.iter().any(|candidate| candidate.alone));
    Ok(bins)
}

/// `fragment`, if it is small or has many deleted rows.
fn candidate(
    fragment: &Fragment,
    indices: BTreeSet<usize>,
    options: &CompactionOptions,
) -> Option<Candidate> {
    let old = OldFragment::of(fragment);
    let live = Amount { rows: old.rows(), bytes: old.live_bytes() };
    let share = old.deleted_rows as f64 / old.physical_rows.max(1) as f64;
    let worn = options.threshold < 1.0 && share > options.threshold;
    let other_version = |version: Version| fragment.files().iter().any(|file| file.version != version);
    let alone = worn || live.rows == 0 || options.version.is_some_and(other_version);
    let size = Amount { rows: old.physical_rows, bytes: old.bytes };
    let small = size.fills(options) == 0;
    (alone || small).then_some(Candidate { fragment: old, live, indices, alone })
}

/// Cuts a bin where enough rows came together, and enough are left.
fn cut(bin: Vec<Candidate>, options: &CompactionOptions) -> Vec<Vec<Candidate>> {
    let mut left = Amount::of(&bin);
    let (mut tasks, mut task, mut amount) = (vec![], vec![], Amount::default());
    for candidate in bin {
        amount = amount.and(candidate.live);
        left = left.less(candidate.live);
        task.push(candidate);
        if amount.fills(options) > 0 && left.fills(options) > 0 {
            tasks.push(std::mem::take(&mut task));
            amount = Amount::default();
        }
    }
    tasks.push(task);
    tasks
}

/// `rows` in `parts` parts that differ by one at most; none if there is no row.
fn even(rows: u64, parts: u64) -> Vec<u64> {
    if rows == 0 {
        return vec![];
    }
    // Row addresses have room for so many in a fragment.
    let parts = parts.max(rows.div_ceil(u64::from(u32::MAX))).clamp(1, rows);
    let (each, more) = (rows / parts, rows % parts);
    (0..parts).map(|part| each + u64::from(part < more)).collect()
}

#[cfg(test)]
mod tests {
    use roaring::RoaringBitmap;

    use super::*;
    use crate::IndexCoverage;
    use crate::proto::{self, Any, DataFragment, DeletionFile, IndexMetadata};

    /// Fragments by (physical rows, deleted rows); a row has 10 bytes.
    fn fragments(of: &[(u64, u64)]) -> Vec<Fragment> {
        let fragments = of.iter().zip(0..).map(|((rows, deleted), id)| {
            let file = proto::DataFile {
                path: format!("{id}.lance"),
                fields: vec![0],
                column_indices: vec![0],
                file_major_version: 2,
                file_minor_version: if id == 1 { 1 } else { 2 },
                file_size_bytes: rows * 10,
                base_id: None,
            };
            let deletion = DeletionFile { num_deleted_rows: *deleted, ..Default::default() };
            Fragment::new(DataFragment {
                id,
                files: vec![file],
                physical_rows: *rows,
                deletion_file: (*deleted > 0).then_some(deletion),
                ..Default::default()
            })
            .unwrap()
        });
        fragments.collect()
    }

    fn index(name: &str, covered: &[u32]) -> IndexMetadata {
        let mut bytes = vec![];
        covered.iter().copied().collect::<RoaringBitmap>().serialize_into(&mut bytes).unwrap();
        let index_details =
            Some(Any { type_url: "/lance.table.BitmapIndexDetails".into(), ..Default::default() });
        IndexMetadata {
            name: name.into(),
            fragment_bitmap: bytes.into(),
            index_details,
            ..Default::default()
        }
    }

    /// The tasks, as ids of fragments and sizes of new ones.
    fn tasks(
        of: &[(u64, u64)],
        indices: Vec<IndexMetadata>,
        stable: bool,
        options: &CompactionOptions,
    ) -> Vec<(Vec<u32>, Vec<u64>)> {
        let mut manifest = Manifest { indices, ..Default::default() };
        if stable {
            manifest.message.reader_feature_flags = crate::manifest::flags::STABLE_ROW_IDS;
        }
        let bins = bins(&manifest, &fragments(of), options).unwrap();
        let tasks = bins.into_iter().flat_map(|bin| cut(bin, options)).map(|task| {
            let live = Amount::of(&task);
            let ids = task.iter().map(|candidate| candidate.fragment.id).collect();
            (ids, even(live.rows, live.fills(options)))
        });
        tasks.collect()
    }

    fn hundred() -> CompactionOptions {
        CompactionOptions { target_rows: 100, ..Default::default() }
    }

    #[test]
    fn neighbours_that_are_small_go_together() {
        let plain = |of: &[(u64, u64)]| tasks(of, vec![], false, &hundred());
        assert!(plain(&[(100, 0), (40, 0), (100, 0), (40, 0)]).is_empty());
        assert_eq!(plain(&[(40, 0), (40, 0), (100, 0), (40, 0)]), [(vec![0, 1], vec![80])]);
        // A fragment with many deleted rows goes alone; with few it stays.
        assert_eq!(plain(&[(200, 21)]), [(vec![0], vec![179])]);
        assert!(plain(&[(200, 20)]).is_empty());
        let never = CompactionOptions { threshold: 1.0, ..hundred() };
        assert!(tasks(&[(200, 150)], vec![], false, &never).is_empty());
        // What has no row left is taken out.
        assert_eq!(plain(&[(200, 200)]), [(vec![0], vec![])]);
    }

    #[test]
    fn long_runs_are_cut_evenly() {
        let plain = |of: &[(u64, u64)]| tasks(of, vec![], false, &hundred());
        let thirties = [(30, 0); 10];
        assert_eq!(plain(&thirties), [(vec![0, 1, 2, 3], vec![120]), (vec![4, 5, 6, 7, 8, 9], vec![180])]);
        assert_eq!(plain(&[(900, 201), (5, 0)]), [(vec![0, 1], vec![101, 101, 101, 101, 100, 100, 100])]);
    }

    #[test]
    fn bytes_count_like_rows() {
        let options = CompactionOptions { target_rows: 1000, target_bytes: Some(1000), ..Default::default() };
        let by_bytes = |of: &[(u64, u64)]| tasks(of, vec![], false, &options);
        assert!(by_bytes(&[(100, 0), (100, 0)]).is_empty());
        assert_eq!(by_bytes(&[(99, 0), (99, 0), (40, 0)]), [(vec![0, 1, 2], vec![119, 119])]);
        assert_eq!(by_bytes(&[(400, 200)]), [(vec![0], vec![100, 100])]);
    }

    #[test]
    fn files_of_other_versions_are_rewritten_where_that_is_asked_for() {
        let of = [(200, 0), (200, 0)];
        assert!(tasks(&of, vec![], false, &hundred()).is_empty());
        let options = CompactionOptions { version: Some(Version::V2_2), ..hundred() };
        assert_eq!(tasks(&of, vec![], false, &options), [(vec![1], vec![100, 100])]);
    }

    #[test]
    fn indices_keep_fragments_apart_or_where_they_are() {
        let of = [(40, 0); 6];
        let keep = || CompactionOptions { indices: IndexCoverage::Keep, ..hundred() };
        let apart = [(vec![0, 1], vec![80]), (vec![2, 3], vec![80]), (vec![4, 5], vec![80])];
        let around = [(vec![0, 1], vec![80]), (vec![4, 5], vec![80])];
        let together = [(vec![0, 1, 2], vec![120]), (vec![3, 4, 5], vec![120])];
        let two = || vec![index("a", &[2, 3]), index("b", &[3])];
        let one = || vec![index("a", &[2, 3])];
        // Entries of some are addresses even where rows have ids.
        let addresses = || vec![IndexMetadata { index_details: None, ..index("a", &[2, 3]) }];
        for options in [keep(), hundred()] {
            assert_eq!(tasks(&of, two(), true, &options), around);
            assert_eq!(tasks(&of, one(), true, &options), apart);
        }
        for (indices, stable) in [(one(), false), (addresses(), true), (addresses(), false)] {
            assert_eq!(tasks(&of, indices.clone(), stable, &keep()), around);
            assert_eq!(tasks(&of, indices, stable, &hundred()), together);
        }
        // One that does not say what it covers.
        let unknown = || vec![IndexMetadata { name: "c".into(), ..Default::default() }];
        for options in [keep(), hundred()] {
            assert!(tasks(&of, unknown(), false, &options).is_empty());
            assert!(tasks(&of, unknown(), true, &options).is_empty());
        }
        let system = Manifest { indices: vec![index("__lance_frag_reuse", &[])], ..Default::default() };
        let error = bins(&system, &fragments(&of), &hundred()).unwrap_err();
        assert!(matches!(error, FormatError::Unsupported { .. }), "{error}");
    }

    #[test]
    fn rows_are_parted_evenly() {
        assert_eq!(even(0, 3), Vec::<u64>::new());
        assert_eq!(even(2, 5), [1, 1]);
        assert_eq!(even(10, 4), [3, 3, 2, 2]);
        assert_eq!(even(u64::from(u32::MAX) + 1, 0).len(), 2);
    }
}
