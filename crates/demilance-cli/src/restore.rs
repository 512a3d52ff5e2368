//! `demilance restore`, `clone` and `migrate`: commits that write no data.

use anyhow::{Context, Result};
use clap::Args;
use clap::error::ErrorKind;
use demilance::table::Table;

use crate::committing::Committing;
use crate::tags::version;
use crate::which::{WhichVersion, table_at};
use crate::{diff, place, quantity};

const RESTORE_HELP: &str = "\
The older version gets a new number. The versions between stay, so this can be undone in the same way.

Examples:
  demilance restore robot.lance --version 3
  demilance restore robot.lance --tag train-v1
  demilance restore robot.lance --as-of 2026-11-30
  demilance restore robot.lance --branch trial --version 3";

const CLONE_HELP: &str = "\
The clone is a table of its own, whose data are the files of SOURCE: it breaks when these are removed, and cleaning up
SOURCE does not know of it.

Examples:
  demilance clone robot.lance scratch.lance
  demilance clone robot.lance scratch.lance --tag train-v1";

const MIGRATE_HELP: &str = "\
Gives manifests with old names (1.manifest) those that sort newest first, by which object stores find the latest version
without listing all of them. Nobody may write to the table meanwhile. If it is cut short nothing is lost, and calling it
again goes on.

Examples:
  demilance migrate robot.lance";

/// What `restore` is told.
#[derive(Debug, Args)]
#[command(after_help = RESTORE_HELP)]
pub(crate) struct Arguments {
    /// Table: a path or URL
    #[arg(value_name = "TABLE")]
    path: String,
    #[command(flatten)]
    which: WhichVersion,
    #[command(flatten)]
    committing: Committing,
}

/// What `clone` is told.
#[derive(Debug, Args)]
#[command(after_help = CLONE_HELP)]
pub(crate) struct CloneArguments {
    /// Table: a path or URL
    #[arg(value_name = "TABLE")]
    source: String,
    /// Where the clone is made
    target: String,
    #[command(flatten)]
    which: WhichVersion,
    #[command(flatten)]
    committing: Committing,
}

/// What `migrate` is told.
#[derive(Debug, Args)]
#[command(after_help = MIGRATE_HELP)]
pub(crate) struct MigrateArguments {
    /// Table: a path or URL
    #[arg(value_name = "TABLE")]
    path: String,
}

/// Restores a version.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let Arguments { path, which, committing } = &arguments;
    if !which.is_one_version() {
        let missing = "say which version: --version N, --tag NAME or --as-of TIME";
        crate::usage("restore", ErrorKind::MissingRequiredArgument, missing);
    }
    let old = which.open_path(path).await?;
    let done = async {
        let before = old.latest().await?;
        let restored = old.restore(&committing.options()).await?;
        Ok::<_, demilance::Error>((restored.changes_since(Some(&before)).await?, restored))
    };
    let (changes, restored) = done.await.with_context(|| path.clone())?;
    let now = version(restored.version(), restored.branch());
    crate::print(&format!("{path}: {now} is version {} again\n{}\n", old.version(), diff::summary(&changes)))
}

/// Clones a table.
pub(crate) async fn clone(arguments: CloneArguments) -> Result<()> {
    let CloneArguments { source, target, which, committing } = &arguments;
    let table = which.open_path(source).await?;
    let clone = table.shallow_clone(place::store(target)?, &committing.options()).await;
    let clone = clone.with_context(|| target.clone())?;
    crate::print(&format!(
        "{target}: {} of {source}, {}; no data were copied\n",
        version(table.version(), table.branch()),
        quantity::of(clone.rows(), "row")
    ))
}

/// Renames manifests.
pub(crate) async fn migrate(arguments: MigrateArguments) -> Result<()> {
    let path = &arguments.path;
    let renamed = Table::migrate_names(&table_at(path).await?).await.with_context(|| path.clone())?;
    crate::print(&match renamed {
        0 => format!("{path}: nothing to do, all manifests have new names\n"),
        renamed => format!("{path}: renamed {}\n", quantity::of(renamed as u64, "manifest")),
    })
}
