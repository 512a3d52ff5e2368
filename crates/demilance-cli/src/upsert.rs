//! `demilance upsert`: rows of files update those of a table with the same key, and the others are added.

use anyhow::{Result, bail};
use arrow_schema::{Field, Schema};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use demilance::Expr;
use demilance::table::{Batches, Table, Upsert, WhenMatched, WhenMissing};

use crate::committing::{Changed, NewFiles};
use crate::delete::report;
use crate::quantity;
use crate::source::{Progress, Sources, expand};

const AFTER_HELP: &str = "\
SRC are files or directories as import has them. They may have some columns of the table only: rows that are updated keep
their other values, and rows that are added have null there. Two rows of SRC with the same key are an error; a key that is
null is equal to none. All rows of SRC are held in memory.

Rows that are updated are written anew with all their columns, and come to lie behind all others; nothing else is written
but the new rows, and a small file for each fragment that lists the rows that are gone from it.

Examples:
  demilance upsert robot.lance --on id corrections.csv
  demilance upsert robot.lance --on episode,frame labels.parquet --when-not-matched skip
  demilance upsert robot.lance --on id newer.csv --update-if 'source.time > target.time'
  demilance upsert robot.lance --on id more.parquet --when-matched keep                   # only rows that are not there yet
  demilance upsert robot.lance --on id today.parquet --when-not-matched-by-source delete  # afterwards the keys are those of SRC
  demilance upsert robot.lance --on id today.csv --when-not-matched-by-source delete --delete-if \"day = 'today'\"";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    table: Changed,
    /// Files or directories to read
    #[arg(value_name = "SRC", required = true, num_args = 1..)]
    sources: Vec<String>,
    /// Columns that are the key
    #[arg(long, value_name = "KEY[,KEY…]", required = true, value_delimiter = ',')]
    on: Vec<String>,
    /// What becomes of rows of the table whose key is in SRC
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Matched::Update)]
    when_matched: Matched,
    /// Update only where EXPR is true, which names columns as source.label (of SRC) and target.label (of the table)
    #[arg(long, value_name = "EXPR")]
    update_if: Option<Expr>,
    /// What becomes of rows of SRC whose key is not in the table
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = NotMatched::Insert)]
    when_not_matched: NotMatched,
    /// What becomes of rows of the table whose key is not in SRC
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = NotMatchedBySource::Keep)]
    when_not_matched_by_source: NotMatchedBySource,
    /// Delete only rows of the table for which EXPR is true
    #[arg(long, value_name = "EXPR")]
    delete_if: Option<Expr>,
    #[command(flatten)]
    files: NewFiles,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Matched {
    /// They get the values of SRC; columns that it does not have stay as they are
    Update,
    /// Nothing
    Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NotMatched {
    /// They are added
    Insert,
    /// Nothing
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NotMatchedBySource {
    /// Nothing
    Keep,
    /// They are deleted
    Delete,
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let upsert = arguments.upsert();
    let Arguments { table: changed, sources, files, .. } = arguments;
    let (table, path) = (changed.open().await?, &changed.path);
    let paths = expand(&sources)?;
    let found = Sources::open(&paths, None)?;
    let expected = columns_of(path, &table, found.schema())?;
    let sources = Sources::open(&paths, Some((path, &expected)))?;
    let progress = Progress::over(sources.bytes());
    let stream = sources.stream(progress.clone());
    let failure = stream.failure();
    let batches = Batches::new(stream.schema().clone(), stream.into_stream());
    let done = table.upsert(batches, &upsert, &changed.write_options(&files)).await;
    progress.clear();
    // What is wrong with a source has the path of that; anything else is about the table.
    let done = done.map_err(|error| failure.or(anyhow::Error::from(error).context(path.clone())))?;
    let (inserted, deleted) = (quantity::count(done.inserted), quantity::count(done.deleted));
    let what = format!("updated {}, added {inserted}, deleted {deleted}", quantity::of(done.updated, "row"));
    report(path, &what, &done.table).await
}

impl Arguments {
    /// What is to be done; ends the command if that contradicts itself.
    fn upsert(&self) -> Upsert {
        let matched = match (self.when_matched, &self.update_if) {
            (Matched::Update, None) => WhenMatched::Update,
            (Matched::Update, Some(condition)) => WhenMatched::UpdateIf(condition.clone()),
            (Matched::Keep, None) => WhenMatched::Keep,
            (Matched::Keep, Some(_)) => conflict("--update-if goes with --when-matched update"),
        };
        let missing = match (self.when_not_matched_by_source, &self.delete_if) {
            (NotMatchedBySource::Keep, None) => WhenMissing::Keep,
            (NotMatchedBySource::Delete, None) => WhenMissing::Delete,
            (NotMatchedBySource::Delete, Some(condition)) => WhenMissing::DeleteIf(condition.clone()),
            (NotMatchedBySource::Keep, Some(_)) => {
                conflict("--delete-if goes with --when-not-matched-by-source delete")
            }
        };
        let insert = self.when_not_matched == NotMatched::Insert;
        if !insert && matches!((&matched, &missing), (WhenMatched::Keep, WhenMissing::Keep)) {
            conflict("nothing is left to do: no row is to be updated, added or deleted");
        }
        Upsert { on: self.on.clone(), matched, insert, missing }
    }
}

fn conflict(message: &str) -> ! {
    crate::usage("upsert", ErrorKind::ArgumentConflict, message)
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
