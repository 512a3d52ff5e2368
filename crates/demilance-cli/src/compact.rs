//! `demilance compact`: small fragments and such with many deleted rows become whole ones.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use demilance::footer::Version;
use demilance::table::{CompactionPlan, CompactionTask, FailedTask, OldFragment, Table, Uncovered};
use demilance::{CompactionOptions, IndexCoverage};

use crate::committing::{Changed, NewFiles};
use crate::import::{Align, FileVersion};
use crate::output::Output;
use crate::source::Progress;
use crate::{diff, failure, quantity};

const AFTER_HELP: &str = "\
Every append makes a fragment, and deleted rows stay in their files until these are rewritten. Compaction rewrites
  - neighbouring fragments that have fewer rows than --target-rows (or, if it is given, fewer bytes than --target-bytes),
    together: many small ones become few
  - fragments of which a larger share of the rows than --threshold is deleted
  - with --file-version, fragments whose files have another version
All else is left untouched. Rows keep their order among what is rewritten; this comes behind the other rows.
It takes two versions: one sets the numbers of the new fragments aside, one puts these in the place of the old.

Fragments that cannot be rewritten, such as ones with a damaged file, are named with the cause, and the exit code is that
of an error; all else is compacted nevertheless.
Others may go on writing. What they delete or change meanwhile is kept: fragments that they touched are planned again, and
are an error, too, if that goes on for too long.
The old files stay for the older versions, which can still be read, until demilance cleanup removes them.
Rows stream from the old files to the new ones, with about --memory bytes of them in memory.

An index that points at places of rows no longer covers those that are rewritten: queries look through them, until the
index is brought up to date (optimize_indices of the reference). --indices keep leaves such fragments alone instead.
Where rows have ids that stay, BITMAP and vector indices move along. Tables with blob columns are refused.

Examples:
  demilance compact robot.lance --dry-run                  say what would be done
  demilance compact robot.lance
  demilance compact robot.lance --target-rows 100000 --target-bytes 1GB
  demilance compact robot.lance --threshold 0              no deleted row stays
  demilance compact robot.lance --file-version 2.2 --compression zstd:9
  demilance compact robot.lance --dry-run --plan-out plan.json";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    table: Changed,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Rows that a fragment should have; ones with fewer are small
    #[arg(long, value_name = "N", value_parser = parse_rows, default_value_t = CompactionOptions::default().target_rows)]
    target_rows: u64,
    /// Bytes of data files that a fragment should have at most, such as 1GB: what is reached first counts
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    target_bytes: Option<u64>,
    /// Share of deleted rows, from 0 to 1, above which a fragment is rewritten; 1 for never
    #[arg(long, value_name = "F", value_parser = parse_share, default_value_t = CompactionOptions::default().threshold)]
    threshold: f64,
    /// Bytes of rows in memory at the same time, about
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "128MiB")]
    memory: u64,
    /// What to do with fragments below an index that points at places of rows
    #[arg(long, value_enum, default_value_t = Indices::Shrink)]
    indices: Indices,
    /// Version of the new files; files of other versions are rewritten [default: that of the table]
    #[arg(long, value_enum, value_name = "VERSION")]
    file_version: Option<FileVersion>,
    #[command(flatten)]
    files: NewFiles,
    /// Bytes to which buffers are aligned; 4096 suits direct I/O
    #[arg(long, value_enum, value_name = "BYTES", default_value_t = Align::Bytes64)]
    align: Align,
    /// Write the plan to FILE, as JSON: for programs with the library, which share its tasks among processes
    #[arg(long, value_name = "FILE")]
    plan_out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Indices {
    /// Rewrite them; the index covers them no more, and queries look through their rows
    Shrink,
    /// Leave them alone
    Keep,
}

impl From<Indices> for IndexCoverage {
    fn from(indices: Indices) -> Self {
        match indices {
            Indices::Shrink => Self::Shrink,
            Indices::Keep => Self::Keep,
        }
    }
}

/// `512MB`, `2GiB` or a number of bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    match quantity::parse_bytes(text) {
        None => Err("it is no size such as 512MB or 2GiB".into()),
        Some(0) => Err("it must be a byte or more".into()),
        Some(bytes) => Ok(bytes),
    }
}

/// As many as a fragment may have.
fn parse_rows(text: &str) -> Result<u64, String> {
    let rows = text.parse::<u32>().map_err(|error| error.to_string())?;
    if rows == 0 {
        return Err("a fragment has a row or more".into());
    }
    Ok(rows.into())
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().map_err(|error| error.to_string())?;
    if !(0.0..=1.0).contains(&share) {
        return Err("it is not from 0 to 1".into());
    }
    Ok(share)
}

/// Runs the command; whether all that was to be compacted is.
pub(crate) async fn run(arguments: Arguments) -> Result<bool> {
    let path = &arguments.table.path;
    let table = arguments.table.open().await?;
    let options = arguments.options();
    let plan = table.plan_compaction(&options).with_context(|| path.clone())?;
    if let Some(file) = &arguments.plan_out {
        store_plan(file, &plan)?;
    }
    let text = match (arguments.dry_run, plan.tasks()) {
        (_, []) => {
            let fragments = quantity::of(table.fragments().len() as u64, "fragment");
            format!("{path}: nothing to compact in {fragments}, version {}\n", table.version())
        }
        (true, _) => planned(path, &table, &plan),
        (false, _) => {
            let (text, left) = compact(path, &table, &plan, &options).await?;
            crate::print(&text)?;
            left.iter().for_each(|left| eprintln!("error: {path}: {left}"));
            return Ok(left.is_empty());
        }
    };
    crate::print(&text)?;
    Ok(true)
}

/// Which fragments are as they were, and why.
fn failure_of(task: &FailedTask) -> String {
    let cause = failure::one_line(&anyhow::Error::new(task.cause.clone()));
    format!("{}: {cause}", name(&task.fragments))
}

/// What was done, and a line for each thing that was not.
async fn compact(
    path: &str,
    table: &Table,
    plan: &CompactionPlan,
    options: &CompactionOptions,
) -> Result<(String, Vec<String>)> {
    let old = plan.tasks().iter().flat_map(CompactionTask::fragments);
    let progress = Progress::over(old.map(|old| old.bytes).sum());
    let watched = progress.clone();
    let done = table.compact_watched(options, &move |bytes| watched.add(bytes)).await;
    progress.clear();
    let done = done.with_context(|| path.to_string())?;
    let left = done.conflicting.iter().map(|group| group.old().len() as u64).sum::<u64>();
    let mut failures = done.failed.iter().map(failure_of).collect::<Vec<_>>();
    if left > 0 {
        let left = quantity::of(left, "fragment");
        failures.push(format!("others went on changing {left} that were to be compacted: try again"));
    }
    if done.groups.is_empty() {
        return Ok((format!("{path}: nothing was compacted\n"), failures));
    }
    let (mut gone, mut added, mut rows) = (0, 0, 0);
    for group in &done.groups {
        gone += group.old().len() as u64;
        added += group.new_fragments().len() as u64;
        rows += group.new_fragments().iter().map(|new| new.rows).sum::<u64>();
    }
    let (gone, added) = (quantity::of(gone, "fragment"), quantity::of(added, "fragment"));
    let (rows, version) = (quantity::of(rows, "row"), done.table.version());
    let changes = done.table.changes_since(Some(table)).await.with_context(|| path.to_string())?;
    let mut text = format!("{path}: compacted {gone} into {added} of {rows} in all, version {version}\n");
    text.push_str(&format!("{}\n", diff::summary(&changes)));
    if !done.failed.is_empty() {
        let failed = done.failed.iter().map(|task| task.fragments.len() as u64).sum();
        let failed = quantity::of(failed, "fragment");
        text.push_str(&format!("{failed} could not be compacted, and stay as they are\n"));
    }
    text.push_str(&uncovered(&done.uncovered, "no longer covers"));
    text.push_str("older versions keep the old files until demilance cleanup removes them\n");
    Ok((text, failures))
}

/// What a plan would do, a line a task.
fn planned(path: &str, table: &Table, plan: &CompactionPlan) -> String {
    let total = table.fragments().len();
    let mut old = 0;
    let mut lines = String::new();
    let mut new = 0;
    for task in plan.tasks() {
        old += task.fragments().len();
        new += task.rows().len() as u64;
        lines.push_str(&line(task));
    }
    let planned = plan.tasks().iter().flat_map(CompactionTask::fragments).map(|old| old.id);
    let planned = planned.collect::<std::collections::BTreeSet<_>>();
    let (mut files, mut bytes, mut rows) = (0, 0, 0);
    for fragment in table.fragments().iter().filter(|fragment| !planned.contains(&fragment.id())) {
        files += fragment.files().len() as u64;
        bytes += fragment.files().iter().filter_map(|file| file.size).sum::<u64>();
        rows += fragment.rows();
    }
    let left = match files {
        0 => "nothing".into(),
        files => {
            let (files, bytes) = (quantity::of(files, "data file"), quantity::bytes(bytes));
            format!("{files} ({bytes}, {})", quantity::of(rows, "row"))
        }
    };
    let (total, version) = (quantity::of(total as u64, "fragment"), plan.version());
    let uncovered = uncovered(plan.uncovered(), "would no longer cover");
    format!(
        "{path}: would compact {old} of {total} into {new}, from version {version}\n{lines}left untouched {left}\n{uncovered}"
    )
}

/// A line an index.
fn uncovered(uncovered: &[Uncovered], what: &str) -> String {
    let lines = uncovered.iter().map(|Uncovered { index, rows, .. }| {
        format!("index {index} {what} {}, which queries look through\n", quantity::of(*rows, "row"))
    });
    lines.collect()
}

/// `  fragments 0 to 4: 5 files, 1.2 MB, 5,000 rows, 120 of them deleted: 1 fragment of 4,880 rows`.
fn line(task: &CompactionTask) -> String {
    let old = task.fragments();
    let sum = |of: &dyn Fn(&OldFragment) -> u64| old.iter().map(of).sum::<u64>();
    let name = name(old);
    let deleted = match sum(&|old| old.deleted_rows) {
        0 => String::new(),
        deleted => format!(", {} of them deleted", quantity::count(deleted)),
    };
    let becomes = match task.rows() {
        [] => "nothing is left".to_string(),
        rows => {
            let (least, most) = (rows.iter().min(), rows.iter().max());
            let (least, most) = (least.copied().unwrap_or(0), most.copied().unwrap_or(0));
            let each = match least == most {
                true => quantity::of(most, "row"),
                false => format!("{} to {}", quantity::count(least), quantity::of(most, "row")),
            };
            format!("{} of {each}", quantity::of(rows.len() as u64, "fragment"))
        }
    };
    format!(
        "  {name}: {}, {}, {}{deleted}: {becomes}\n",
        quantity::of(sum(&|old| old.files.len() as u64), "file"),
        quantity::bytes(sum(&|old| old.bytes)),
        quantity::of(sum(&|old| old.physical_rows), "row")
    )
}

fn name(fragments: &[OldFragment]) -> String {
    match fragments {
        [first, .., last] => format!("fragments {} to {}", first.id, last.id),
        [one] => format!("fragment {}", one.id),
        [] => String::new(),
    }
}

fn store_plan(file: &Path, plan: &CompactionPlan) -> Result<()> {
    let (mut output, ending) = Output::open(Some(file))?;
    let text = serde_json::to_string_pretty(plan)?;
    writeln!(output, "{text}").and_then(|()| output.flush()).with_context(|| file.display().to_string())?;
    ending.publish()
}

impl Arguments {
    fn options(&self) -> CompactionOptions {
        CompactionOptions {
            target_rows: self.target_rows,
            target_bytes: self.target_bytes,
            threshold: self.threshold,
            indices: self.indices.into(),
            version: self.file_version.map(Version::from),
            memory_bytes: self.memory,
            alignment: self.align.into(),
            compression: self.files.compression,
            checksums: self.files.checksums(),
            commit: self.table.committing.options(),
        }
    }
}
