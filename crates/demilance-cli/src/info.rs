//! `demilance info`: what a table or a file holds, and how it is stored.

mod columns;
mod sample;

use anyhow::{Context, Result};
use arrow_schema::Schema;
use clap::Args;
use demilance::file::FileReader;
use demilance::file::describe::describe;
use demilance::io::Store;
use demilance::table::{OpenOptions, Table};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use crate::place::Place;
use crate::which::WhichVersion;
use crate::{quantity, tags};
use columns::Columns;

/// Files whose metadata are read at the same time.
const OPEN: usize = 8;

const AFTER_HELP: &str = "\
Every physical column has a line: its type, the bytes that it takes, how many bytes of Arrow memory stand for
one byte of the file, and how its pages are encoded. Only metadata are read, but for strings, binary values
and lists: their ratio is estimated (~) from some rows.

Examples:
  demilance info robot.lance
  demilance info robot.lance --version 2
  demilance info robot.lance --tag train-v1
  demilance info robot.lance/data/0f3a.lance
  demilance info robot.lance --json | jq .columns";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Table, or one .lance file
    path: String,
    #[command(flatten)]
    which: WhichVersion,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let path = &arguments.path;
    let (value, text) = match Place::find(path).await? {
        Place::Table(store) => of_table(path, store, &arguments.which).await.with_context(|| path.clone())?,
        Place::File(source) => {
            let file = FileReader::open(source).await?;
            of_file(path, &file).await
        }
    };
    if arguments.json { crate::print_json(value) } else { crate::print(&text) }
}

async fn of_file(path: &str, file: &FileReader) -> (Value, String) {
    let mut columns = Columns::default();
    let description = describe(file);
    columns.add(&description);
    let take = async |rows: &[u64], field: &str| file.take(rows, &file.schema().project(&[field])?).await;
    sample::estimate(&mut columns, file.schema(), file.rows(), take).await;
    let schema = file.schema().to_arrow();
    let value = json!({
        "path": path,
        "kind": "file",
        "format": file.version().to_string(),
        "rows": file.rows(),
        "bytes": description.size,
        "schema": schema_json(&schema),
        "columns": columns.json(),
    });
    let text = format!(
        "{path}: one file of {}, format {}, {}\n\n{}\n{}",
        quantity::bytes(description.size),
        file.version(),
        quantity::of(file.rows(), "row"),
        schema_text(&schema),
        columns.text()
    );
    (value, text)
}

async fn of_table(path: &str, store: Store, which: &WhichVersion) -> Result<(Value, String)> {
    let table = which.open(store, OpenOptions::default()).await?;
    let versions = table.versions().await?;
    let fragments = table.fragments().iter().enumerate();
    let files: Vec<(usize, usize)> = fragments
        .flat_map(|(index, fragment)| (0..fragment.files().len()).map(move |file| (index, file)))
        .collect();
    let format = formats(&table);
    let mut columns = Columns::default();
    let mut opened =
        stream::iter(&files).map(|(fragment, file)| table.data_file(*fragment, *file)).buffered(OPEN);
    let mut bytes = 0;
    while let Some(file) = opened.try_next().await? {
        let description = describe(&file);
        bytes += description.size;
        columns.add(&description);
    }
    drop(opened);
    let take = async |rows: &[u64], field: &str| table.take(rows, Some(&[field.to_string()]), false).await;
    sample::estimate(&mut columns, table.schema(), table.rows(), take).await;
    let deleted: u64 = table.fragments().iter().map(|fragment| fragment.deleted_rows()).sum();
    let schema = table.arrow_schema();
    let value = json!({
        "path": path,
        "kind": "table",
        "version": table.version(),
        "branch": table.branch(),
        "versions": versions.iter().map(|version| json!({
            "version": version.version,
            "rows": version.rows,
            "fragments": version.fragments,
            "time": columns::time(version.timestamp),
        })).collect::<Vec<_>>(),
        "format": format,
        "rows": table.rows(),
        "deleted_rows": deleted,
        "fragments": table.fragments().len(),
        "files": files.len(),
        "bytes": bytes,
        "schema": schema_json(&schema),
        "columns": columns.json(),
    });
    let others = match versions.len() {
        0 | 1 => "the only one".to_string(),
        count => format!("one of {}", quantity::of(count as u64, "version")),
    };
    let deleted = match deleted {
        0 => String::new(),
        deleted => format!(" ({} deleted)", quantity::count(deleted)),
    };
    let text = format!(
        "{path}: table, {} ({others}), format {format}\n{}{deleted} in {}, {} of {}\n\n{}\n{}",
        tags::version(table.version(), table.branch()),
        quantity::of(table.rows(), "row"),
        quantity::of(table.fragments().len() as u64, "fragment"),
        quantity::of(files.len() as u64, "file"),
        quantity::bytes(bytes),
        schema_text(&schema),
        columns.text()
    );
    Ok((value, text))
}

/// The versions of the data files; before there are any, the one that they will have.
fn formats(table: &Table) -> String {
    let files = table.fragments().iter().flat_map(|fragment| fragment.files());
    let mut formats: Vec<String> = files.map(|file| file.version.to_string()).collect();
    if formats.is_empty() {
        let format = table.manifest().message.data_format.as_ref();
        formats.push(format.map_or_else(|| "unknown".to_string(), |format| format.version.clone()));
    }
    formats.sort();
    formats.dedup();
    formats.join(" and ")
}

fn schema_text(schema: &Schema) -> String {
    let width = schema.fields().iter().map(|field| field.name().chars().count()).max().unwrap_or(0);
    let lines = schema.fields().iter().map(|field| {
        let null = if field.is_nullable() { "" } else { ", not null" };
        format!("  {:width$}  {}{null}\n", field.name(), field.data_type())
    });
    format!("schema\n{}", lines.collect::<String>())
}

fn schema_json(schema: &Schema) -> Value {
    let fields = schema.fields().iter().map(|field| {
        json!({
            "name": field.name(),
            "type": field.data_type().to_string(),
            "nullable": field.is_nullable(),
            "metadata": field.metadata(),
        })
    });
    json!({ "fields": fields.collect::<Vec<_>>(), "metadata": schema.metadata() })
}
