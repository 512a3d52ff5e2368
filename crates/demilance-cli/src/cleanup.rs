//! `demilance cleanup`: old versions go, with the files that only they need.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use demilance::CleanupOptions;
use demilance::table::{Cleanup, CleanupPlan, CleanupReason, OldFile, Total};

use crate::quantity;
use crate::source::Progress;
use crate::which::{WhichVersion, time_text};

const AFTER_HELP: &str = "\
A version goes if it is older than --older-than and not among the newest --keep ones; if only one of the two is said, that
alone counts, and without any, what is older than 14 days goes. A file goes when no version that is left needs it.

What stays:
  - the latest version
  - versions with a tag. If one would go but for its tag, that is an error and nothing is removed: delete the tag, or
    say --keep-tagged
  - versions at which a branch began, and all files that branches need; a branch is cleaned up by itself (--branch)
  - files that no version needs but which are younger than 7 days, since they may be those of a writer that has not
    committed yet. With --delete-unverified they go too: only when nobody is writing
Tables that were cloned from this one (demilance clone) are not known, and break.

It may be interrupted and called again: versions that are left are whole at any time.

Examples:
  demilance cleanup robot.lance --dry-run                list what would go, and why
  demilance cleanup robot.lance --older-than 7d --keep-tagged
  demilance cleanup robot.lance --keep 5
  demilance cleanup robot.lance --older-than 7d --keep 5
  demilance cleanup robot.lance --keep 1 --keep-tagged --delete-unverified";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Table: a path or URL
    #[arg(value_name = "TABLE")]
    path: String,
    /// Age from which on versions go: 90s, 30m, 12h, 7d or 2w [default: 14d, unless --keep is said]
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    older_than: Option<Duration>,
    /// So many of the newest versions stay
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    keep: Option<u64>,
    /// Let versions with tags stay, and remove the others
    #[arg(long)]
    keep_tagged: bool,
    /// Remove files that no version needs even if they are younger than 7 days
    #[arg(long)]
    delete_unverified: bool,
    /// List what would go, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Branch to clean up
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
}

/// `7d`, `12h`, `30m`, `90s`, `2w`.
fn parse_age(text: &str) -> Result<Duration, String> {
    let wrong = || "it is no age such as 7d, 12h or 2w".to_string();
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number = number.parse::<u64>().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

/// Runs the command; whether everything that was to go is gone.
pub(crate) async fn run(arguments: Arguments) -> Result<bool> {
    let path = &arguments.path;
    let table = WhichVersion::of_branch(arguments.branch.clone()).open_path(path).await?;
    let options = CleanupOptions {
        older_than: arguments.older_than,
        keep: arguments.keep,
        delete_unverified: arguments.delete_unverified,
        // What tags hold is told here, with what can be done about it.
        error_if_tagged_old_versions: false,
    };
    let plan = table.plan_cleanup(&options).await.with_context(|| path.clone())?;
    let tagged = if arguments.keep_tagged { None } else { tagged(&plan) };
    if arguments.dry_run {
        let mut text = format!("{path}: would remove {}\n{}{}", amount(&plan), list(&plan), rest(&plan));
        if let Some(tagged) = tagged {
            text.push_str(&format!("without --dry-run nothing would be removed, since {tagged}\n"));
        }
        crate::print(&text)?;
        return Ok(true);
    }
    if let Some(tagged) = tagged {
        bail!("{path}: nothing was removed, since {tagged}");
    }
    let progress = Progress::over(plan.amount().bytes);
    let watched = progress.clone();
    let done = plan.run_watched(&table, &move |bytes| watched.add(bytes)).await;
    progress.clear();
    let done = done.with_context(|| path.clone())?;
    crate::print(&text(path, &done))?;
    for (file, reason) in &done.failed {
        eprintln!("error: {path}: {file} could not be removed: {reason}");
    }
    Ok(done.failed.is_empty())
}

/// The old versions that tags hold, if any, and what can be done.
fn tagged(plan: &CleanupPlan) -> Option<String> {
    let tagged = plan.held.iter().filter_map(|held| {
        let tags = held.by.iter().filter_map(|by| by.strip_prefix("tag ")).collect::<Vec<_>>();
        (!tags.is_empty()).then(|| format!("version {} ({})", held.version, tags.join(", ")))
    });
    let tagged = tagged.collect::<Vec<_>>();
    (!tagged.is_empty()).then(|| {
        format!(
            "old versions have tags: {}; say --keep-tagged to keep these and remove the others, or delete the tags first",
            tagged.join(", ")
        )
    })
}

fn text(path: &str, done: &Cleanup) -> String {
    let (failed, kept) = (done.failed.len() as u64, done.kept.len() as u64);
    if failed + kept == 0 {
        return format!("{path}: removed {}\n{}{}", amount(&done.plan), kinds(&done.plan), rest(&done.plan));
    }
    let removed = quantity::of(done.removed.files, "file");
    let mut text = format!("{path}: removed {removed} ({})", quantity::bytes(done.removed.bytes));
    if failed > 0 {
        text.push_str(&format!("; {} could not be removed", quantity::of(failed, "file")));
    }
    if kept > 0 {
        text.push_str(&format!("; {} stay, since others came to need them", quantity::of(kept, "file")));
    }
    format!("{text}\n{}", rest(&done.plan))
}

/// `11 versions and 34 files (1.2 GB)`, where manifests are not among the files.
pub(crate) fn amount(plan: &CleanupPlan) -> String {
    let all = plan.amount();
    if all.files == 0 {
        return "nothing".into();
    }
    format!(
        "{} and {} ({})",
        quantity::of(plan.versions.len() as u64, "version"),
        quantity::of(plan.files.len() as u64, "file"),
        quantity::bytes(all.bytes)
    )
}

/// How many files of each directory, a line each.
fn kinds(plan: &CleanupPlan) -> String {
    let mut text = String::new();
    for (directory, name) in [
        ("data/", "data"),
        ("_deletions/", "deletions"),
        ("_indices/", "indices"),
        ("_transactions/", "transactions"),
    ] {
        let files = plan.files.iter().filter(|file| file.path.starts_with(directory));
        let (count, bytes) = files.fold((0, 0), |(count, bytes), file| (count + 1, bytes + file.bytes));
        if count > 0 {
            let count = quantity::of(count, "file");
            text.push_str(&format!("  {name:<13}{count} ({})\n", quantity::bytes(bytes)));
        }
    }
    text
}

/// All that goes, and why.
fn list(plan: &CleanupPlan) -> String {
    let mut text = String::new();
    for old in &plan.versions {
        let (time, bytes) = (time_text(old.timestamp), quantity::bytes(old.bytes));
        text.push_str(&format!("- {}  {bytes}  version {}, of {time}\n", old.path, old.version));
    }
    for file in &plan.files {
        text.push_str(&format!("- {}  {}  {}\n", file.path, quantity::bytes(file.bytes), why(file)));
    }
    text
}

fn why(file: &OldFile) -> String {
    match file.reason {
        CleanupReason::OldVersion(version) => format!("version {version} is the last that needs it"),
        CleanupReason::Temporary => "it was never finished".into(),
        _ => "no version needs it".into(),
    }
}

/// What stays.
fn rest(plan: &CleanupPlan) -> String {
    let mut text = String::new();
    for held in &plan.held {
        text.push_str(&format!("version {} stays because of {}\n", held.version, held.by.join(", ")));
    }
    let total =
        |total: Total| format!("{} ({})", quantity::of(total.files, "file"), quantity::bytes(total.bytes));
    text.push_str(&format!("left untouched {}", total(plan.left)));
    if plan.young.files > 0 {
        let young = total(plan.young);
        text.push_str(&format!("; of these {young} are of no version, but younger than 7 days"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_units() {
        for (text, seconds) in [("90s", 90), ("30m", 1800), ("12h", 43_200), ("7d", 604_800), ("0d", 0)] {
            assert_eq!(parse_age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "7", "d", "7 d", "-1d", "7y", "99999999999999999999d", "999999999999999999w", "1.5d"]
        {
            assert!(parse_age(text).is_err(), "{text}");
        }
    }
}
