//! `demilance inspect`: the physical map of one file.

use std::fmt::Write;

use anyhow::{Result, bail};
use clap::Args;
use demilance::file::FileReader;
use demilance::file::describe::{EncodingTree, FileDescription, RegionKind, describe};
use serde_json::{Value, json};

use crate::place::Place;
use crate::quantity;

const AFTER_HELP: &str = "\
First every region of the file in the order of offsets, with its size and the padding after it; then every
page of every column with its rows, its layout and the tree of its codecs. No page is read.

Examples:
  demilance inspect robot.lance/data/0f3a.lance
  demilance inspect robot.lance/data/0f3a.lance --json | jq '.regions[] | select(.padding > 0)'";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// One .lance file
    file: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let path = &arguments.file;
    let Place::File(source) = Place::find(path).await? else {
        bail!("{path}: is a table; inspect looks at one file, such as those in {path}/data");
    };
    let file = describe(&FileReader::open(source).await?);
    if arguments.json {
        crate::print_json(json_of(path, &file))
    } else {
        crate::print(&text_of(path, &file)?)
    }
}

fn json_of(path: &str, file: &FileDescription) -> Value {
    let regions = file.regions.iter().map(|region| {
        json!({
            "offset": region.extent.offset(),
            "size": region.extent.len(),
            "padding": region.padding,
            "what": name(&region.kind, file),
        })
    });
    let columns = file.columns.iter().map(|column| {
        let pages = column.pages.iter().map(|page| {
            json!({
                "first_row": page.first_row,
                "rows": page.rows,
                "encoding": encoding_json(&page.encoding),
                "buffers": page.buffers.iter().map(|buffer| json!({
                    "offset": buffer.offset(),
                    "size": buffer.len(),
                })).collect::<Vec<_>>(),
            })
        });
        json!({
            "index": column.index,
            "field": column.field,
            "name": column.path,
            "type": column.logical_type,
            "bytes": column.encoded_bytes,
            "arrow_bytes": column.arrow_bytes,
            "pages": pages.collect::<Vec<_>>(),
        })
    });
    json!({
        "path": path,
        "size": file.size,
        "format": file.version.to_string(),
        "rows": file.rows,
        "regions": regions.collect::<Vec<_>>(),
        "columns": columns.collect::<Vec<_>>(),
    })
}

fn text_of(path: &str, file: &FileDescription) -> Result<String> {
    let mut text = String::new();
    let size = quantity::bytes(file.size);
    let rows = quantity::of(file.rows, "row");
    writeln!(text, "{path}: {size}, format {}, {rows}", file.version)?;
    writeln!(text, "\n{:>14}  {:>12}  {:>7}  what", "offset", "size", "padding")?;
    for region in &file.regions {
        let (offset, size) = (region.extent.offset(), region.extent.len());
        let offset = format!("{offset:#x}");
        writeln!(text, "{offset:>14}  {size:>12}  {:>7}  {}", region.padding, name(&region.kind, file))?;
    }
    for column in &file.columns {
        let bytes = quantity::bytes(column.encoded_bytes);
        let pages = quantity::of(column.pages.len() as u64, "page");
        writeln!(
            text,
            "\ncolumn {} {}: {}, {pages}, {bytes}",
            column.index, column.path, column.logical_type
        )?;
        for (number, page) in column.pages.iter().enumerate() {
            // Rows of pages are as the file says, so the sum is not sure to fit.
            let end = page.first_row.saturating_add(page.rows);
            writeln!(text, "  page {number}: rows {}..{end}", page.first_row)?;
            write_encoding(&mut text, &page.encoding, "", 4)?;
            for (number, buffer) in page.buffers.iter().enumerate() {
                writeln!(text, "    buffer {number}: {:#x} + {}", buffer.offset(), buffer.len())?;
            }
        }
    }
    Ok(text)
}

/// The tree, an encoding a line: `values: flat, bits 32`.
fn write_encoding(text: &mut String, encoding: &EncodingTree, role: &str, indent: usize) -> Result<()> {
    write!(text, "{:indent$}{role}{}", "", encoding.name)?;
    for (name, value) in &encoding.facts {
        write!(text, ", {name} {value}")?;
    }
    writeln!(text)?;
    for (role, part) in &encoding.parts {
        write_encoding(text, part, &format!("{role}: "), indent + 2)?;
    }
    Ok(())
}

fn encoding_json(encoding: &EncodingTree) -> Value {
    let facts: serde_json::Map<String, Value> =
        encoding.facts.iter().map(|(name, value)| ((*name).to_string(), json!(value))).collect();
    let parts =
        encoding.parts.iter().map(|(role, part)| json!({ "role": role, "encoding": encoding_json(part) }));
    json!({ "name": encoding.name, "facts": facts, "parts": parts.collect::<Vec<_>>() })
}

fn name(kind: &RegionKind, file: &FileDescription) -> String {
    let path = |column: usize| match file.columns.get(column) {
        Some(described) if !described.path.is_empty() => format!("column {column} {}", described.path),
        _ => format!("column {column}"),
    };
    match *kind {
        RegionKind::PageBuffer { column, page, buffer } => {
            format!("{}, page {page}, buffer {buffer}", path(column))
        }
        RegionKind::ColumnBuffer { column, buffer } => format!("{}, column buffer {buffer}", path(column)),
        RegionKind::GlobalBuffer { index: 0 } => "global buffer 0, the schema".to_string(),
        RegionKind::GlobalBuffer { index } => format!("global buffer {index}"),
        RegionKind::ColumnMetadata { column } => format!("metadata of {}", path(column)),
        RegionKind::Unnamed => "not named by metadata (values of blobs)".to_string(),
        RegionKind::CmoTable => "table of column metadata (CMO)".to_string(),
        RegionKind::GboTable => "table of global buffers (GBO)".to_string(),
        RegionKind::Footer => "footer".to_string(),
        _ => "unknown".to_string(),
    }
}
