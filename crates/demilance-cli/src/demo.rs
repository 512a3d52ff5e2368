//! `demilance demo`: the life of a table from end to end.
//!
//! Episodes of a robot are imported and more are appended; a column is added, an episode deleted, the version tagged; the
//! table is compacted while the tag still reads the old files, and cleaned up. Then batches of random rows are read as
//! training does it. Every step says what it wrote and left untouched, and which files each version names.

mod arm;
mod batch;
mod ledger;
mod picture;
mod random;
mod recording;
mod story;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::place;
use random::Random;
use recording::Recording;
use story::Story;

const AFTER_HELP: &str = "\
Imports episodes, appends more, adds a column, deletes an episode, tags the version, compacts, cleans up, and reads
training batches: after each step it shows which files each version names. Files are called data 1, column 1 and so on in
the order in which they come up.

Without --from, a simulated arm with two joints reaches for goals and a camera draws it; the episodes are the
same every time. With --from, DIR is a LeRobot v2 data set (meta/info.json, data/chunk-*/episode_*.parquet,
and images in frames.parquet if that is there), or a directory of Parquet files, or one such file.
Without TABLE, a temporary table is written and removed at the end.

Examples:
  demilance demo
  demilance demo arm.lance --episodes 100
  demilance demo --from /data/g1 g1.lance";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Table to write, which must not exist [default: a temporary one]
    table: Option<String>,
    /// Real recordings instead of the simulated arm
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Episodes of the simulated arm
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    episodes: u64,
    /// Frames of an episode of the simulated arm
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    frames: u64,
    /// Rows of a training batch
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    batch: u64,
    /// Where the random numbers start
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let recordings = match &arguments.from {
        Some(from) => recording::of_directory(from)?,
        None => vec![Recording::simulated(arguments.seed, arguments.frames, arguments.episodes)],
    };
    // Removed when it goes out of scope, on success and on failure.
    let mut temporary = None;
    let table = match &arguments.table {
        Some(table) => table.clone(),
        None => {
            let directory = tempfile::Builder::new().prefix("demilance-demo-").tempdir();
            let directory = directory.context("no temporary directory")?;
            let table = directory.path().join("robot.lance").display().to_string();
            temporary = Some(directory);
            table
        }
    };
    let mut random = Random::new(arguments.seed);
    for recording in recordings {
        let table = recording.table(&table);
        refuse_existing(&table).await?;
        show(recording, &table, arguments.batch, &mut random).await?;
    }
    if let Some(directory) = temporary {
        let path = directory.path().display().to_string();
        directory.close().with_context(|| path.clone())?;
        crate::print("Removed the temporary table; `demilance demo TABLE` keeps it.\n")?;
    } else {
        crate::print(&format!("Next: `demilance info {table}`, `demilance cat {table} --limit 5`.\n"))?;
    }
    Ok(())
}

async fn show(recording: Recording, table: &str, batch: u64, random: &mut Random) -> Result<()> {
    crate::print(&format!("{}\nTable {table}\n\n", recording.title))?;
    Story::new(table).tell(recording.parts, batch, random).await.with_context(|| table.to_string())?;
    crate::print("\n")
}

async fn refuse_existing(table: &str) -> Result<()> {
    let there = match place::local(table) {
        Some(path) => path.exists(),
        None => place::is_table(&place::store(table)?).await?,
    };
    if there {
        bail!("{table}: exists already, the demo writes a new table");
    }
    Ok(())
}
