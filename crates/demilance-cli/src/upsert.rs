//! `demilance upsert`: rows of files update those of a table with the same key, and the others are added.

use anyhow::{Result, bail};
use arrow_schema::{Field, Schema};
use clap::Args;
use clap::error::ErrorKind;
use demilance::table::{Batches, Table, Upsert, WhenMatched, WhenMissing, WriteOptions};

use crate::delete::report;
use crate::quantity;
use crate::source::{Progress, Sources, expand};
use crate::which::WhichVersion;

const AFTER_HELP: &str = "\
SRC are files or directories as import has them. They may have some columns of the table only: rows that are updated keep
their other values, and rows that are added have null there. Two rows of SRC with the same key are an error; a key that is
null is equal to none. All rows of SRC are held in memory.

Rows that are updated are written anew with all their columns, and come to lie behind all others; nothing else is written
but the new rows, and a small file for each fragment that lists the rows that are gone from it.

Examples:
  demilance upsert robot.lance --on id corrections.csv
  demilance upsert robot.lance --on episode,frame labels.parquet --no-insert
  demilance upsert robot.lance --on id today.parquet --delete-missing     # afterwards the keys are those of the file
  demilance upsert robot.lance --on id more.parquet --no-update           # only rows that are not there yet";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Table
    path: String,
    /// Files or directories to read
    #[arg(value_name = "SRC", required = true, num_args = 1..)]
    sources: Vec<String>,
    /// Columns that are the key
    #[arg(long, value_name = "KEY[,KEY…]", required = true, value_delimiter = ',')]
    on: Vec<String>,
    /// Delete rows of the table whose key is not in SRC
    #[arg(long)]
    delete_missing: bool,
    /// Leave rows of the table whose key is in SRC as they are
    #[arg(long)]
    no_update: bool,
    /// Do not add rows of SRC whose key is not in the table
    #[arg(long)]
    no_insert: bool,
    /// Branch of the table
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let Arguments { path, sources, on, delete_missing, no_update, no_insert, branch } = arguments;
    if no_update && no_insert && !delete_missing {
        let nothing = "--no-update and --no-insert leave nothing to do without --delete-missing";
        crate::usage(ErrorKind::ArgumentConflict, nothing);
    }
    let upsert = Upsert {
        on,
        matched: if no_update { WhenMatched::Keep } else { WhenMatched::Update },
        insert: !no_insert,
        missing: if delete_missing { WhenMissing::Delete } else { WhenMissing::Keep },
    };
    let table = WhichVersion::of_branch(branch).open_path(&path).await?;
    let paths = expand(&sources)?;
    let found = Sources::open(&paths, None)?;
    let expected = columns_of(&path, &table, found.schema())?;
    let sources = Sources::open(&paths, Some((&path, &expected)))?;
    let progress = Progress::over(sources.bytes());
    let stream = sources.stream(progress.clone());
    let failure = stream.failure();
    let batches = Batches::new(stream.schema().clone(), stream.into_stream());
    let done = table.upsert(batches, &upsert, &WriteOptions::default()).await;
    progress.clear();
    // What is wrong with a source has the path of that; anything else is about the table.
    let done = done.map_err(|error| failure.or(anyhow::Error::from(error).context(path.clone())))?;
    let (inserted, deleted) = (quantity::count(done.inserted), quantity::count(done.deleted));
    let what = format!("updated {}, added {inserted}, deleted {deleted}", quantity::of(done.updated, "row"));
    report(&path, &what, &done.table).await
}

/// The columns of `table` that files with the schema `found` have.
fn columns_of(path: &str, table: &Table, found: &Schema) -> Result<Schema> {
    let own = table.arrow_schema();
    for field in found.fields() {
        if own.index_of(field.name()).is_err() {
            let names = own.fields().iter().map(|own| own.name().as_str()).collect::<Vec<_>>();
            bail!("column {:?} is not in {path}, which has: {}", field.name(), names.join(", "));
        }
    }
    let fields = own.fields().iter().filter(|own| found.index_of(own.name()).is_ok());
    let fields = fields.map(|own| own.as_ref().clone()).collect::<Vec<Field>>();
    Ok(Schema::new_with_metadata(fields, own.metadata().clone()))
}
