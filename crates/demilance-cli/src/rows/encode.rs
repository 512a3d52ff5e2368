use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::{Form, MOST_JSON, name, write};

const AFTER_HELP: &str = "\
Members that an object does not have are null.

Examples:
  demilance rows encode --schema schema.json row.json -o row.bin
  echo '{\"id\": 7}' | demilance rows encode --schema schema.json --format compact - | xxd";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    form: Form,
    /// One value as JSON; - is stdin
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Write to FILE, which appears when it is whole
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let output = arguments.output.as_deref();
    if output.is_none_or(|path| path == Path::new("-")) && std::io::stdout().is_terminal() {
        bail!("bytes do not go to a terminal: say -o FILE, or pipe them");
    }
    let (layout, json) = arguments.form.read(&arguments.input, MOST_JSON)?;
    let kind = arguments.form.kind;
    let name = || name(&arguments.input);
    let json = serde_json::from_slice(&json).context("is not JSON").with_context(name)?;
    let value = layout.value_from_json(kind.image(), &json).with_context(name)?;
    let mut bytes = vec![];
    layout.encode_framed(kind, &value, &mut bytes).with_context(name)?;
    write(output, &bytes)
}
