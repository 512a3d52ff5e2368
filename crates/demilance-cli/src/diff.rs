//! `demilance diff`: what two versions have in common and what not; and what an operation wrote and left untouched.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use clap::Args;
use demilance::table::{At, Changes, FileKind, OpenOptions, Reference, Table, TableFile, Total};
use serde_json::{Value, json};

use crate::quantity;
use crate::which::table_at;

const AFTER_HELP: &str = "\
A version is a number or a tag. Files of which a line begins with + are in the second version only, with - in the first
only; those are still there until a clean-up. No data are read.
Rows that come to lie in another fragment, by compaction or an update, count as gone and as added.

Examples:
  demilance diff robot.lance 3 5
  demilance diff robot.lance train-v1 5
  demilance diff robot.lance 3 4 --branch trial
  demilance diff robot.lance 3 5 --json | jq .added";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Table: a path or URL
    #[arg(value_name = "TABLE")]
    path: String,
    /// The version before
    #[arg(value_name = "V1")]
    before: String,
    /// The version after
    #[arg(value_name = "V2")]
    after: String,
    /// Branch that the numbers are of
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let path = &arguments.path;
    let store = table_at(path).await?;
    let open = async |text: &str| {
        let reference = match text.parse() {
            Ok(version) => Reference { branch: arguments.branch.clone(), at: At::Version(version) },
            Err(_) => Reference { at: At::Tag(text.into()), ..Reference::default() },
        };
        Table::open_at(store.clone(), &reference, OpenOptions::default()).await.with_context(|| path.clone())
    };
    let (before, after) = (open(&arguments.before).await?, open(&arguments.after).await?);
    let changes = after.changes_since(Some(&before)).await.with_context(|| path.clone())?;
    if arguments.json {
        let value = json_of(path, &changes);
        return crate::print_json(value);
    }
    crate::print(&text(path, &changes))
}

/// The line about what made this version; none if the version before is gone. What was done is done, whatever becomes of
/// what is said about it.
pub(crate) async fn of_version(after: &Table) -> Option<String> {
    let options = OpenOptions { version: after.version().checked_sub(1), ..OpenOptions::default() };
    let before = Table::open_with(after.store().clone(), options).await.ok()?;
    let changes = after.changes_since(Some(&before)).await.ok()?;
    Some(format!("{}\n", summary(&changes)))
}

/// What an operation wrote, took out and left untouched, in one line.
pub(crate) fn summary(changes: &Changes) -> String {
    let kinds = [
        (FileKind::Data, "data file"),
        (FileKind::Deletion, "deletion file"),
        (FileKind::Index, "index file"),
    ];
    let part = |files: &[TableFile]| {
        let parts = kinds.iter().filter_map(|(kind, noun)| {
            let mut total = Total::default();
            // The data files of a fragment are columns of the same rows.
            let mut rows = BTreeMap::new();
            for file in files.iter().filter(|file| file.kind == *kind) {
                total.add(file);
                rows.insert(file.fragment, file.rows);
            }
            let rows = rows.into_values().sum::<u64>();
            let rows = match kind {
                FileKind::Index => String::new(),
                _ => format!(", {}", quantity::of(rows, "row")),
            };
            let (count, bytes) = (quantity::of(total.files, noun), quantity::bytes(total.bytes));
            (total.files > 0).then(|| format!("{count} ({bytes}{rows})"))
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    let wrote = match part(&changes.added) {
        none if none.is_empty() => "wrote no data".to_string(),
        added => format!("wrote {added}"),
    };
    let gone = match part(&changes.gone) {
        none if none.is_empty() => String::new(),
        gone => format!("; does without {gone}"),
    };
    let kept = match changes.kept.files {
        0 => String::new(),
        files => {
            let (files, bytes) = (quantity::of(files, "file"), quantity::bytes(changes.kept.bytes));
            format!("; left untouched {files} ({bytes}, {})", quantity::of(changes.rows_kept, "row"))
        }
    };
    format!("{wrote}{gone}{kept}")
}

fn text(path: &str, changes: &Changes) -> String {
    let mut text = format!("{path}: version {} to version {}\n", changes.from.unwrap_or(0), changes.to);
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:<10}{value}\n"));
    let (before, after) = changes.rows;
    let rows = match after.abs_diff(before) {
        0 => format!("{}, as many as before", quantity::count(after)),
        more if after > before => format!("{}, {} more", quantity::count(after), quantity::count(more)),
        less => format!("{}, {} less", quantity::count(after), quantity::count(less)),
    };
    let (added, gone) = (quantity::count(changes.rows_added), quantity::count(changes.rows_gone));
    line("rows", format!("{rows}: +{added} -{gone}"));
    let fragments = format!(
        "{} kept, {} added, {} gone",
        quantity::count(changes.fragments_kept as u64),
        quantity::count(changes.fragments_added.len() as u64),
        quantity::count(changes.fragments_gone.len() as u64)
    );
    line("fragments", fragments);
    for column in &changes.columns_dropped {
        line("column", format!("- {column}"));
    }
    for column in &changes.columns_added {
        line("column", format!("+ {column}"));
    }
    for (before, after) in &changes.columns_changed {
        line("column", format!("{before} is {after}"));
    }
    for key in &changes.settings {
        line("setting", format!("{key} has another value"));
    }
    for (sign, files) in [('-', &changes.gone), ('+', &changes.added)] {
        for file in files {
            text.push_str(&format!("{sign} {}{}\n", file.path, about(file)));
        }
    }
    let (files, bytes) = (quantity::of(changes.kept.files, "file"), quantity::bytes(changes.kept.bytes));
    text.push_str(&format!("{files} ({bytes}, {}) in both\n", quantity::of(changes.rows_kept, "row")));
    text
}

/// `  4.1 MB, 1,000 rows, fragment 3`.
fn about(file: &TableFile) -> String {
    let mut parts = vec![];
    parts.extend(file.bytes.map(quantity::bytes));
    match file.kind {
        FileKind::Data => parts.push(quantity::of(file.rows, "row")),
        FileKind::Deletion => parts.push(format!("{} deleted", quantity::of(file.rows, "row"))),
        _ => {}
    }
    parts.extend(file.fragment.map(|fragment| format!("fragment {fragment}")));
    format!("  {}", parts.join(", "))
}

fn json_of(path: &str, changes: &Changes) -> Value {
    let files = |files: &[TableFile]| {
        let files = files.iter().map(|file| {
            let kind = match file.kind {
                FileKind::Data => "data",
                FileKind::Deletion => "deletion",
                _ => "index",
            };
            json!({
                "kind": kind,
                "path": file.path,
                "bytes": file.bytes,
                "rows": file.rows,
                "fragment": file.fragment,
            })
        });
        files.collect::<Vec<_>>()
    };
    let changed = changes.columns_changed.iter();
    let changed = changed.map(|(before, after)| json!({ "before": before, "after": after }));
    json!({
        "path": path,
        "from": changes.from,
        "to": changes.to,
        "rows": {
            "before": changes.rows.0,
            "after": changes.rows.1,
            "added": changes.rows_added,
            "gone": changes.rows_gone,
            "kept": changes.rows_kept,
        },
        "added": files(&changes.added),
        "gone": files(&changes.gone),
        "kept": { "files": changes.kept.files, "bytes": changes.kept.bytes },
        "fragments": {
            "added": changes.fragments_added,
            "gone": changes.fragments_gone,
            "kept": changes.fragments_kept,
        },
        "columns": {
            "added": changes.columns_added,
            "dropped": changes.columns_dropped,
            "changed": changed.collect::<Vec<_>>(),
        },
        "settings": changes.settings,
    })
}
