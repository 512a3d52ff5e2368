//! `demilance branches` and `demilance branch`: lines of versions beside that of the table.

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use demilance::Branch;
use serde_json::json;

use crate::aligned::Side;
use crate::committing::Committing;
use crate::listing::Listing;
use crate::tags::version;
use crate::which::{WhichVersion, time_json, time_text};

const LIST_HELP: &str = "\
Examples:
  demilance branches robot.lance
  demilance branches robot.lance --json | jq -r '.[].name'";

const BRANCH_HELP: &str = "\
A branch has versions of its own, that began at one of the table or of another branch. Making one copies no data; what
is written to it is not seen in the table. Names have ASCII letters, digits, '.', '-', '_' and '/'.

Examples:
  demilance branch create robot.lance trial                 begins at the latest version
  demilance branch create robot.lance trial/b --branch trial
  demilance branch create robot.lance old --tag train-v1
  demilance cat robot.lance --branch trial
  demilance import more.parquet robot.lance --mode append --branch trial
  demilance branch delete robot.lance trial/b";

/// What `branches` is told.
#[derive(Debug, Args)]
#[command(after_help = LIST_HELP)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    listing: Listing,
}

/// What `branch` is told.
#[derive(Debug, Args)]
#[command(after_help = BRANCH_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Begin a branch
    Create {
        /// Table: a path or URL
        #[arg(value_name = "TABLE")]
        path: String,
        /// The branch
        name: String,
        #[command(flatten)]
        which: WhichVersion,
        #[command(flatten)]
        committing: Committing,
    },
    /// Remove a branch with all that was written to it, unless tags or other branches need it
    Delete {
        /// Table: a path or URL
        #[arg(value_name = "TABLE")]
        path: String,
        /// The branch
        name: String,
        /// Also remove what is left of one that was not finished or not wholly deleted
        #[arg(long)]
        force: bool,
    },
}

/// Lists branches.
pub(crate) async fn list(arguments: ListArguments) -> Result<()> {
    let listing = &arguments.listing;
    let branches = listing.open().await?.branches().await.with_context(|| listing.path.clone())?;
    let columns = [("branch", Side::Left), ("began at", Side::Left), ("created", Side::Left)];
    let json = |branch: &Branch| {
        json!({
            "name": branch.name,
            "parent": branch.parent,
            "parent_version": branch.parent_version,
            "created": time_json(branch.created),
            "metadata": branch.metadata,
        })
    };
    listing.print("branches", &branches, json, &columns, |branch| {
        let began = version(branch.parent_version, branch.parent.as_deref());
        vec![branch.name.clone(), began, time_text(branch.created)]
    })
}

/// Makes or removes one.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let line = match &arguments.command {
        Command::Create { path, name, which, committing } => {
            let table = which.open_path(path).await?;
            table.create_branch(name, &committing.options()).await.with_context(|| path.clone())?;
            format!(
                "{path}: branch {name} begins at {}; no data were copied",
                version(table.version(), table.branch())
            )
        }
        Command::Delete { path, name, force } => {
            let table = WhichVersion::default().open_path(path).await?;
            match table.delete_branch(name, *force).await.with_context(|| path.clone())? {
                Some(branch) => {
                    let began = version(branch.parent_version, branch.parent.as_deref());
                    format!("{path}: branch {name} is gone; it began at {began}")
                }
                None => format!("{path}: what was left of branch {name} is gone"),
            }
        }
    };
    crate::print(&format!("{line}\n"))
}
