//! `demilance versions`: the history of a table.

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;

use crate::aligned::{self, Side};
use crate::quantity;
use crate::source::Progress;
use crate::which::{WhichVersion, time_json, time_text};

const AFTER_HELP: &str = "\
Each version has a line, the oldest first: when it was committed (UTC), by which operation, what it holds, the tags that
name it, and what whoever made it wrote about it. Of a branch the versions since it began are listed; the one that it
began at has the operation clone.

Examples:
  demilance versions robot.lance
  demilance versions robot.lance --branch trial
  demilance versions robot.lance --json | jq '.[-1].version'";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Table: a path or URL
    #[arg(value_name = "TABLE")]
    path: String,
    /// Branch of the table
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let path = &arguments.path;
    let table = WhichVersion::of_branch(arguments.branch.clone()).open_path(path).await?;
    let progress = Progress::steps("versions");
    let versions = table.versions_with(&mut |done, total| progress.set(done as u64, total as u64)).await;
    progress.clear();
    let versions = versions.with_context(|| path.clone())?;
    let tags = table.tags().await.with_context(|| path.clone())?;
    let tags_of = |version: u64| {
        let own = tags.iter().filter(|tag| tag.version == version && tag.branch.as_deref() == table.branch());
        own.map(|tag| tag.name.as_str()).collect::<Vec<_>>()
    };
    if arguments.json {
        let versions = versions.iter().map(|info| {
            json!({
                "version": info.version,
                "time": time_json(info.timestamp),
                "operation": info.operation,
                "message": info.message,
                "rows": info.rows,
                "fragments": info.fragments,
                "files": info.files,
                "bytes": info.bytes,
                "tags": tags_of(info.version),
            })
        });
        let value = versions.collect::<Vec<_>>();
        return crate::print_json(value);
    }
    let rows = versions.iter().map(|info| {
        vec![
            info.version.to_string(),
            time_text(info.timestamp),
            info.operation.unwrap_or("?").to_string(),
            quantity::count(info.rows),
            quantity::count(info.fragments as u64),
            quantity::count(info.files as u64),
            quantity::bytes(info.bytes),
            tags_of(info.version).join(", "),
            info.message.clone().unwrap_or_default(),
        ]
    });
    let columns = [
        ("version", Side::Right),
        ("time", Side::Left),
        ("operation", Side::Left),
        ("rows", Side::Right),
        ("fragments", Side::Right),
        ("files", Side::Right),
        ("bytes", Side::Right),
        ("tags", Side::Left),
        ("message", Side::Left),
    ];
    crate::print(&aligned::lines(&columns, &rows.collect::<Vec<_>>()))
}
