use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use demilance::row::Region;
use serde_json::json;

use super::{Form, MOST_BYTES, name};

/// Bytes of a line.
const LINE: usize = 8;

const AFTER_HELP: &str = "\
A line has the offset, eight bytes, and what starts in them: field and value, or what it is. Offsets of
references count from the first byte of the row, array or map that they stand in.

Examples:
  demilance rows inspect --schema schema.json row.bin
  demilance rows inspect --schema schema.json row.bin --json | jq '.[] | select(.kind == \"unused\")'";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    form: Form,
    /// The bytes of one row, array or map; - is stdin
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let (layout, bytes) = arguments.form.read(&arguments.input, MOST_BYTES)?;
    let regions = layout.inspect(arguments.form.kind, &bytes).with_context(|| name(&arguments.input))?;
    if arguments.json {
        let regions = regions.iter().map(json_of).collect::<Vec<_>>();
        crate::print_json(regions)
    } else {
        crate::print(&text_of(&bytes, &regions)?)
    }
}

fn json_of(region: &Region) -> serde_json::Value {
    json!({
        "offset": region.range.start,
        "size": region.range.len(),
        "field": region.path,
        "kind": region.kind.name(),
        "value": region.text,
    })
}

fn text_of(bytes: &[u8], regions: &[Region]) -> Result<String> {
    let mut text = String::new();
    let mut regions = regions.iter().peekable();
    let width = bytes.len().to_string().len().max(4);
    for (line, bytes) in bytes.chunks(LINE).enumerate() {
        let offset = line * LINE;
        let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
        let mut notes = vec![];
        while let Some(region) = regions.next_if(|region| region.range.start < offset + LINE) {
            notes.push(on_one_line(&region.to_string()));
        }
        if notes.is_empty() {
            writeln!(text, "{offset:width$}  {hex}")?;
        } else {
            writeln!(text, "{offset:width$}  {hex:23}  ; {}", notes.join("; "))?;
        }
    }
    Ok(text)
}

/// Names of fields can have any character.
fn on_one_line(note: &str) -> String {
    let mut line = String::new();
    for character in note.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}
