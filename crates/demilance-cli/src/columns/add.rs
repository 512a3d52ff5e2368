//! `demilance add-column`: columns that a table does not have yet.

use std::sync::Arc;

use anyhow::{Result, bail};
use clap::{ArgGroup, Args};
use demilance::arrow::{DataType, Field, Schema, SchemaRef};
use demilance::file::Batches;
use demilance::table::Table;
use demilance::{ColumnOptions, Expr, NewColumns};
use futures::{StreamExt, TryStreamExt};

use super::watch::Watch;
use crate::committing::{Changed, NewFiles};
use crate::source::{Progress, Sources, expand};
use crate::type_name;

const AFTER_HELP: &str = "\
Each fragment of the table gets one small data file that has only the new columns. All other files stay as they are, and
only columns that EXPR names are read. With --null nothing is written at all.
A name with dots is that of a new member of a struct: pose.speed.

Without --on, FILE has a row for each row of the table, in the order of `demilance cat`. With it, rows get the values of
the row of FILE with the same KEY, and null if there is none; FILE is then held in memory.
What EXPR may be is said by demilance cat --help.

Examples:
  demilance add-column robot.lance --name fast --expr 'speed > 0.5'
  demilance add-column robot.lance --name pose.norm --expr 'pose.x * pose.x + pose.y * pose.y'
  demilance add-column robot.lance --name label --null string
  demilance add-column robot.lance --name embedding --null 'fixed_size_list<float>[64]'
  demilance add-column robot.lance --from scores.parquet --compression zstd
  demilance add-column robot.lance --from labels.csv --on frame
  demilance add-column robot.lance --from labels.csv --on frame --name label";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, after_long_help = format!("{AFTER_HELP}\n\n{}", type_name::HELP))]
#[command(group = ArgGroup::new("values").required(true).args(["expr", "from", "null"]))]
pub(crate) struct AddArguments {
    #[command(flatten)]
    table: Changed,
    /// Name of the new column; with --from, which columns of FILE are added [default: all]
    #[arg(long = "name", value_name = "N", required_unless_present = "from")]
    names: Vec<String>,
    /// Values: those of an expression over the columns of the table
    #[arg(long, value_name = "EXPR")]
    expr: Option<Expr>,
    /// Values: the columns of a .parquet, .arrow, .csv or .jsonl file, or of all such files in a directory
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<String>,
    /// Values: null, in a column of this type; --help lists types
    #[arg(long, value_name = "TYPE", value_parser = type_name::parse)]
    null: Option<DataType>,
    /// Column of both FILE and the table by which rows find each other
    #[arg(long, value_name = "KEY", conflicts_with_all = ["expr", "null"])]
    on: Option<String>,
    #[command(flatten)]
    files: NewFiles,
}

/// Runs the command.
pub(crate) async fn add(arguments: AddArguments) -> Result<()> {
    let before = arguments.table.open().await?;
    let outcome = arguments.added(&before).await;
    arguments.table.report(&before, outcome).await
}

impl AddArguments {
    async fn added(&self, table: &Table) -> Result<Table> {
        if !self.from.is_empty() {
            return self.added_from_files(table).await;
        }
        let [name] = self.names.as_slice() else { bail!("one --name is wanted, not {}", self.names.len()) };
        let columns = match (&self.expr, &self.null) {
            (Some(expr), _) => NewColumns::expressions([(name, expr.clone())]),
            (None, Some(data_type)) => {
                NewColumns::null(Schema::new(vec![Field::new(name, data_type.clone(), true)]))
            }
            (None, None) => bail!("say where the values come from: --expr, --from or --null"),
        };
        let options =
            ColumnOptions { rows_done: Some(Arc::default()), ..self.table.column_options(&self.files) };
        let watch = options.rows_done.clone().map(|rows| Watch::start(rows, table.rows()));
        let added = table.add_columns(columns, &options).await;
        drop(watch);
        Ok(added?)
    }

    async fn added_from_files(&self, table: &Table) -> Result<Table> {
        let sources = Sources::open(&expand(&self.from)?, None)?;
        let wanted = self.wanted(sources.schema())?;
        let schema = SchemaRef::new(sources.schema().project(&wanted)?);
        let progress = Progress::over(sources.bytes());
        let stream = sources.stream(progress.clone());
        let failure = stream.failure();
        let batches = stream.into_stream().map(move |batch| batch.and_then(|batch| batch.project(&wanted)));
        let batches = Batches::new(schema, batches.into_stream());
        let columns = match &self.on {
            Some(key) => NewColumns::joined(batches, key),
            None => NewColumns::aligned(batches),
        };
        let added = table.add_columns(columns, &self.table.column_options(&self.files)).await;
        progress.clear();
        // What is wrong with a source has the path of that.
        added.map_err(|error| failure.or(error.into()))
    }

    /// Which columns of `schema` are added, and the key.
    fn wanted(&self, schema: &Schema) -> Result<Vec<usize>> {
        let fields = schema.fields().iter().map(|field| field.name());
        if self.names.is_empty() {
            return Ok((0..schema.fields().len()).collect());
        }
        let names = self.names.iter().chain(&self.on);
        let missing = names.clone().find(|name| schema.index_of(name).is_err());
        if let Some(name) = missing {
            let there = fields.map(String::as_str).collect::<Vec<_>>().join(", ");
            bail!("{} has no column {name:?}; there are: {there}", self.from.join(", "));
        }
        let wanted = fields.enumerate().filter(|(_, field)| names.clone().any(|name| name == *field));
        Ok(wanted.map(|(index, _)| index).collect())
    }
}
