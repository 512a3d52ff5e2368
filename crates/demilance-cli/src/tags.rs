//! `demilance tags` and `demilance tag`: names for versions.

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use demilance::Tag;
use serde_json::json;

use crate::aligned::Side;
use crate::listing::Listing;
use crate::which::{WhichVersion, time_json, time_text};

const LIST_HELP: &str = "\
Examples:
  demilance tags robot.lance
  demilance tags robot.lance --json | jq -r '.[].name'";

const TAG_HELP: &str = "\
A tag is a name for a version. As long as it is there, cleaning up leaves what the version needs. Names have ASCII
letters, digits, '.', '-' and '_'.

Examples:
  demilance tag create robot.lance train-v1                 the latest version
  demilance tag create robot.lance train-v0 --version 3
  demilance tag create robot.lance best --branch trial      the latest version of a branch
  demilance tag update robot.lance train-v1                 now it is the latest version
  demilance tag delete robot.lance train-v0
  demilance cat robot.lance --tag train-v1";

/// What `tags` is told.
#[derive(Debug, Args)]
#[command(after_help = LIST_HELP)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    listing: Listing,
}

/// What `tag` is told.
#[derive(Debug, Args)]
#[command(after_help = TAG_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tag a version; an error if there is a tag of that name
    Create(Named),
    /// Make a tag that there is one of another version
    Update(Named),
    /// Remove a tag; no version is removed
    Delete {
        /// Table: a path or URL
        #[arg(value_name = "TABLE")]
        path: String,
        /// The tag
        name: String,
    },
}

#[derive(Debug, Args)]
struct Named {
    /// Table: a path or URL
    #[arg(value_name = "TABLE")]
    path: String,
    /// The tag
    name: String,
    #[command(flatten)]
    which: WhichVersion,
}

/// Lists tags.
pub(crate) async fn list(arguments: ListArguments) -> Result<()> {
    let listing = &arguments.listing;
    let tags = listing.open().await?.tags().await.with_context(|| listing.path.clone())?;
    let columns = [
        ("tag", Side::Left),
        ("branch", Side::Left),
        ("version", Side::Right),
        ("created", Side::Left),
        ("updated", Side::Left),
    ];
    let json = |tag: &Tag| {
        json!({
            "name": tag.name,
            "branch": tag.branch,
            "version": tag.version,
            "created": tag.created.map(time_json),
            "updated": tag.updated.map(time_json),
            "metadata": tag.metadata,
        })
    };
    listing.print("tags", &tags, json, &columns, |tag| {
        vec![
            tag.name.clone(),
            tag.branch.clone().unwrap_or_default(),
            tag.version.to_string(),
            tag.created.map(time_text).unwrap_or_default(),
            tag.updated.map(time_text).unwrap_or_default(),
        ]
    })
}

/// Makes, changes or removes one.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let line = match &arguments.command {
        Command::Create(Named { path, name, which }) => {
            let table = which.open_path(path).await?;
            let tag = table.create_tag(name).await.with_context(|| path.clone())?;
            format!("{path}: tag {name} is {}", version(tag.version, tag.branch.as_deref()))
        }
        Command::Update(Named { path, name, which }) => {
            let table = which.open_path(path).await?;
            let before = table.tag(name).await.with_context(|| path.clone())?;
            let tag = table.update_tag(name).await.with_context(|| path.clone())?;
            let (before, now) = (
                version(before.version, before.branch.as_deref()),
                version(tag.version, tag.branch.as_deref()),
            );
            format!("{path}: tag {name} is {now}, and was {before}")
        }
        Command::Delete { path, name } => {
            let table = WhichVersion::default().open_path(path).await?;
            let tag = table.delete_tag(name).await.with_context(|| path.clone())?;
            format!("{path}: tag {name} is gone; it was {}", version(tag.version, tag.branch.as_deref()))
        }
    };
    crate::print(&format!("{line}\n"))
}

/// `version 3 of branch trial`.
pub(crate) fn version(version: u64, branch: Option<&str>) -> String {
    match branch {
        None => format!("version {version}"),
        Some(branch) => format!("version {version} of branch {branch}"),
    }
}
