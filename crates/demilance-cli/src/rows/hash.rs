use anyhow::Result;
use clap::Args;

use super::LayoutForm;

const AFTER_HELP: &str = "\
The hash tells of the types of the fields and their order, and not of names or of what is nullable. That of
compact rows is taken in the order of their bytes.

Examples:
  demilance rows hash --schema schema.json
  demilance rows hash --schema schema.json --format compact";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    layout: LayoutForm,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    crate::print(&format!("{}\n", arguments.layout.read()?.hash()))
}
