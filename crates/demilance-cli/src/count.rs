//! `demilance count`: how many rows there are, or pass a filter.

use anyhow::{Context, Result, bail};
use clap::Args;
use demilance::Expr;
use demilance::file::FileReader;
use demilance::table::OpenOptions;

use crate::place::Place;
use crate::which::WhichVersion;

const AFTER_HELP: &str = "\
Prints a number. A filter reads only the columns that it needs; without one, only the manifest is read.

Examples:
  demilance count robot.lance
  demilance count robot.lance --where \"label = 'grasp' AND pose.x BETWEEN 0.5 AND 1\"
  demilance count robot.lance --where 'reward IS NULL' --version 3";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Table, or one .lance file
    path: String,
    /// Count only the rows for which EXPR is true; cat --help says what it may be
    #[arg(long = "where", value_name = "EXPR")]
    filter: Option<Expr>,
    #[command(flatten)]
    which: WhichVersion,
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let count = count(&arguments).await.with_context(|| arguments.path.clone())?;
    crate::print(&format!("{count}\n"))
}

async fn count(arguments: &Arguments) -> Result<u64> {
    match Place::find(&arguments.path).await? {
        Place::Table(store) => {
            let table = arguments.which.open(store, OpenOptions::default()).await?;
            match &arguments.filter {
                Some(filter) => Ok(table.count(filter).await?),
                None => Ok(table.rows()),
            }
        }
        Place::File(_) if arguments.which.is_given() => bail!("is one file, only tables have versions"),
        Place::File(_) if arguments.filter.is_some() => bail!("is one file, only tables can be filtered"),
        Place::File(source) => Ok(FileReader::open(source).await?.rows()),
    }
}
