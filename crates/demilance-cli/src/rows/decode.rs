use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::{Form, MOST_BYTES, name, write};

const AFTER_HELP: &str = "\
Examples:
  demilance rows decode --schema schema.json row.bin
  demilance rows decode --schema schema.json --format compact --kind row_with_hash row.bin -o row.json";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    form: Form,
    /// The bytes of one row, array or map; - is stdin
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Write to FILE, which appears when it is whole
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let (layout, bytes) = arguments.form.read(&arguments.input, MOST_BYTES)?;
    let kind = arguments.form.kind;
    let name = || name(&arguments.input);
    let value = layout.decode_framed(kind, &bytes).with_context(name)?;
    let json = layout.value_to_json(kind.image(), &value).with_context(name)?;
    write(arguments.output.as_deref(), format!("{json}\n").as_bytes())
}
