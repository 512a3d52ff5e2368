//! `demilance cat`: rows of a table or of one file.

mod binary;
mod cell;
mod maps;
mod read;
mod rows;
mod table;
mod text;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use demilance::DecodeBudget;
use demilance::Expr;
use futures::StreamExt;

use read::{Reading, Selection};
use rows::RowList;

use crate::output::Output;
use crate::which::WhichVersion;
use crate::{budget, retype, zones};

/// Rows of a table on a terminal when nothing else is said.
const TABLE_ROWS: u64 = 100;

const AFTER_HELP: &str = "\
Formats:
  table    aligned columns; long texts and lists are cut short, binary values show their size. Without
           --limit or --rows it stops after 100 rows and says how many there are; without --columns, it
           names the columns for which a terminal has no room
  json     one JSON object a line; binary values as hexadecimal digits; maps as objects, or as lists of
           entries where the keys are no texts
  csv      header and lines; lists and structs as JSON text, nulls as empty cells
  arrow    an Arrow IPC file; dictionaries as their values, since such a file has one dictionary a column
  parquet  a Parquet file
Times with a named zone are in UTC where they are written as text.
With -o the ending of FILE decides if --format is not given; without both it is table.
Of a table, columns of blobs show where the values are; of one file, the values.
Few bytes may stand for very many. A row that takes more memory than --decode-budget is an error, which keeps
hostile files from taking all there is; raise it for a file that you trust.

Filters (EXPR) are conditions over columns, whether these are shown or not; --offset and --limit count the rows
that pass. Columns are written a, a.b or `with space`, texts 'so' or \"so\". There are
  = <> < <= > >=   IS NULL   IN (1, 2)   BETWEEN 1 AND 2   LIKE 'a%'   ILIKE   NOT AND OR   CASE WHEN … END
  + - * / % ||   CAST(a AS INT)   DATE '2026-01-31'   TIMESTAMP '2026-01-31 12:30:00'   X'00FF'   true   NULL
  abs length lower upper trim starts_with ends_with contains array_length isnan coalesce year month day hour …

Examples:
  demilance cat robot.lance
  demilance cat robot.lance --rows 3,10-20,5 --columns observation.state,action
  demilance cat robot.lance --where \"label = 'grasp' AND reward > 0.5\" --columns frame,label
  demilance cat robot.lance --limit 1000 --offset 5000 --format csv | head
  demilance cat robot.lance --version 2 -o old.parquet
  demilance cat robot.lance --tag train-v1 --limit 3
  demilance cat robot.lance --verify-checksums --format arrow -o checked.arrow
  demilance cat robot.lance/data/0f3a.lance --format json";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Table, or one .lance file
    path: String,
    /// Columns to read, in this order; a.b is the member b of the struct a
    #[arg(long, value_name = "A,B.C", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Rows to read, counted from 0, in this order; both ends of a range are included
    #[arg(long, value_name = "3,10-20,5")]
    rows: Option<RowList>,
    /// Leave out rows for which EXPR is not true: see below
    #[arg(long = "where", value_name = "EXPR", conflicts_with = "rows")]
    filter: Option<Expr>,
    /// Stop after N rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Leave out the first N rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    #[command(flatten)]
    which: WhichVersion,
    /// Check what is read against the checksums of files that have them (import --checksums): what is not as it was
    /// written is an error. Files without checksums are read as ever
    #[arg(long)]
    verify_checksums: bool,
    /// Memory that decoding may take at once beside what rows and stored bytes account for, such as 2GB, or unlimited
    /// [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = budget::parse)]
    decode_budget: Option<DecodeBudget>,
    /// Add a column _rowid
    #[arg(long)]
    with_row_id: bool,
    /// How to write the rows
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write to FILE, which appears when it is whole
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
    Arrow,
    Parquet,
}

/// Something that writes rows in a format.
trait Sink {
    /// Adds rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what is left.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    cat(arguments).await.map_err(budget::advise)
}

async fn cat(arguments: Arguments) -> Result<()> {
    let output = arguments.output.as_deref();
    let format = arguments.format.or_else(|| output.and_then(Format::of)).unwrap_or(Format::Table);
    if format.is_binary() && output.is_none() && std::io::stdout().is_terminal() {
        crate::usage(
            "cat",
            ErrorKind::ArgumentConflict,
            "binary formats do not go to a terminal: say -o FILE, or pipe them",
        );
    }
    let capped = format == Format::Table && output.is_none() && arguments.limit.is_none();
    let limit = match arguments.limit {
        None if capped && arguments.rows.is_none() => Some(TABLE_ROWS),
        limit => limit,
    };
    let reading = Reading::start(&Selection {
        path: &arguments.path,
        columns: arguments.columns.as_deref(),
        rows: arguments.rows.as_ref(),
        filter: arguments.filter.as_ref(),
        offset: arguments.offset,
        limit,
        which: arguments.which.clone(),
        verify_checksums: arguments.verify_checksums,
        budget: arguments.decode_budget.unwrap_or_default(),
        with_row_id: arguments.with_row_id,
    })
    .await?;
    // Columns that were named are shown, however wide they are.
    let terminal = (output.is_none() && arguments.columns.is_none()).then(console::Term::stdout);
    let width = terminal.and_then(|terminal| terminal.size_checked()).map(|(_, width)| usize::from(width));
    let (out, ending) = Output::open(output)?;
    let left = reading.left.clone();
    let written = output.map_or_else(|| "output".to_string(), |path| path.display().to_string());
    let sink = |schema: &SchemaRef| format.sink(out, schema, width);
    match print(reading, format, sink, &arguments.path, &written).await {
        Err(_) if ending.broken() => return Ok(()),
        result => result?,
    }
    ending.publish()?;
    if capped && let Some(left) = left.text().await? {
        crate::print(&format!("… {left} (--limit N shows more)\n"))?;
    }
    Ok(())
}

/// Writes the rows that are read `from` a table or file `to` where `sink`, made for their schema, leads.
async fn print(
    mut reading: Reading,
    format: Format,
    sink: impl FnOnce(&SchemaRef) -> Result<Box<dyn Sink>>,
    from: &str,
    to: &str,
) -> Result<()> {
    let changed = format.change().map(|change| Arc::new(retype::schema(&reading.schema, change)));
    let schema = changed.as_ref().unwrap_or(&reading.schema);
    let mut sink = sink(schema).with_context(|| to.to_string())?;
    while let Some(batch) = reading.batches.next().await {
        let mut batch = batch.with_context(|| from.to_string())?;
        if let Some(schema) = &changed {
            batch = retype::batch(&batch, schema).with_context(|| from.to_string())?;
        }
        sink.write(&batch).with_context(|| to.to_string())?;
    }
    sink.finish().with_context(|| to.to_string())
}

impl Format {
    /// The format that the name of a file asks for.
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "json" | "jsonl" | "ndjson" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "arrow" | "feather" | "ipc" => Some(Self::Arrow),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    fn is_binary(self) -> bool {
        matches!(self, Self::Arrow | Self::Parquet)
    }

    /// How types change that it cannot say as they are.
    fn change(self) -> Option<retype::Change> {
        match self {
            Self::Table | Self::Json | Self::Csv => Some(zones::in_utc),
            Self::Arrow => Some(binary::without_dictionary),
            Self::Parquet => None,
        }
    }

    fn sink(self, out: Output, schema: &SchemaRef, width: Option<usize>) -> Result<Box<dyn Sink>> {
        Ok(match self {
            Self::Table => Box::new(table::Table::new(out, SchemaRef::clone(schema), width)),
            Self::Json => Box::new(text::Json::new(out)),
            Self::Csv => Box::new(text::Csv::new(out, schema)?),
            Self::Arrow => Box::new(binary::Arrow::new(out, schema)?),
            Self::Parquet => Box::new(binary::Parquet::new(out, SchemaRef::clone(schema))?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_decide_the_format() {
        assert_eq!(Format::of(Path::new("a.PARQUET")), Some(Format::Parquet));
        assert_eq!(Format::of(Path::new("a.feather")), Some(Format::Arrow));
        assert_eq!(Format::of(Path::new("a.jsonl")), Some(Format::Json));
        assert_eq!(Format::of(Path::new("a.txt")), None);
    }
}
