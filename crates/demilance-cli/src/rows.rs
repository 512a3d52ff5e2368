//! `demilance rows`: rows of the Fory row format as JSON, and back, and byte by byte.

mod decode;
mod encode;
mod hash;
mod inspect;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use demilance::row::{Frame, Layout, Schema};

use crate::output::Output;

const AFTER_HELP: &str = "\
Rows do not say what they hold: --schema names a JSON array of fields, each with name, nullable and type
(bool, int8, int16, int32, int64, float16, float32, float64, date32, timestamp, duration, utf8, binary;
decimal with precision and scale; fixed_binary with width; list with element; map with key and value;
struct with fields). In JSON, timestamps and durations are microseconds, dates are days, decimals are
text, binary values are hexadecimal digits, maps are arrays of [key, value].

Examples:
  echo '[{\"name\": \"id\", \"nullable\": false, \"type\": \"int64\"},
         {\"name\": \"name\", \"nullable\": true, \"type\": \"utf8\"}]' > schema.json
  echo '{\"id\": 7, \"name\": \"arm\"}' | demilance rows encode --schema schema.json - -o row.bin
  demilance rows decode --schema schema.json row.bin
  demilance rows inspect --schema schema.json row.bin
  demilance rows hash --schema schema.json";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a row as JSON.
    Decode(decode::Arguments),
    /// Make a row of JSON.
    Encode(encode::Arguments),
    /// Say what every byte of a row is.
    Inspect(inspect::Arguments),
    /// Print the schema hash that rows are sent with.
    Hash(hash::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Decode(arguments) => decode::run(arguments),
        Command::Encode(arguments) => encode::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Hash(arguments) => hash::run(arguments),
    }
}

/// What the bytes do not say.
#[derive(Debug, Args)]
struct Form {
    #[command(flatten)]
    layout: LayoutForm,
    /// What stands in front: the size, the schema hash; or that it is a bare array or map, of the first field
    #[arg(long, value_name = "KIND", default_value = "row", value_parser = frames())]
    kind: Frame,
}

/// What rows hold, and how they are laid out.
#[derive(Debug, Args)]
struct LayoutForm {
    /// The fields, as JSON; - is stdin
    #[arg(long, value_name = "SCHEMA.json")]
    schema: PathBuf,
    /// How rows are laid out
    #[arg(long, value_enum, default_value_t = Format::Standard)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Eight bytes a field, as all implementations have it
    Standard,
    /// Natural widths, as Java and this one have it
    Compact,
}

fn frames() -> impl TypedValueParser<Value = Frame> {
    PossibleValuesParser::new(Frame::ALL.map(Frame::name)).try_map(|name| name.parse::<Frame>())
}

impl Form {
    /// The schema, and the whole of `input`.
    fn read(&self, input: &Path, most: u64) -> Result<(Layout, Vec<u8>)> {
        if self.layout.schema == Path::new("-") && input == Path::new("-") {
            bail!("schema and input cannot both come from stdin");
        }
        Ok((self.layout.read()?, read(input, most)?))
    }
}

impl LayoutForm {
    fn read(&self) -> Result<Layout> {
        let schema = read(&self.schema, MOST_JSON)?;
        let name = || name(&self.schema);
        let schema = serde_json::from_slice(&schema).context("is not JSON").with_context(name)?;
        let schema = Schema::from_json(&schema).with_context(name)?;
        let format = match self.format {
            Format::Standard => demilance::row::Format::Standard,
            Format::Compact => demilance::row::Format::Compact,
        };
        Layout::new(schema, format).with_context(name)
    }
}

/// The greatest row with what stands in front of it.
const MOST_BYTES: u64 = (2 << 30) + 12;
/// JSON is longer than what it stands for; nobody keeps more of it in one value.
const MOST_JSON: u64 = 16 << 30;

/// The whole of a file, or of stdin, of at most so many bytes.
fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    if path == Path::new("-") {
        std::io::stdin().lock().take(most + 1).read_to_end(&mut bytes).context("input")?;
    } else {
        let file = File::open(path).with_context(|| name(path))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            bail!("{}: is a directory", name(path));
        }
        file.take(most + 1).read_to_end(&mut bytes).with_context(|| name(path))?;
    }
    if bytes.len() as u64 > most {
        bail!("{}: more than the {most} bytes that it can have", name(path));
    }
    Ok(bytes)
}

/// Writes to a file, which appears when it is whole, or to stdout.
fn write(path: Option<&Path>, bytes: &[u8]) -> Result<()> {
    let (mut output, ending) = Output::open(path.filter(|path| *path != Path::new("-")))?;
    output.write_all(bytes).and_then(|()| output.flush()).context("output")?;
    ending.publish()
}

fn name(path: &Path) -> String {
    if path == Path::new("-") { "input".into() } else { path.display().to_string() }
}
