//! `cargo xtask`: the project's own commands.

mod codegen;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Generate Rust from proto/*.proto.
    Codegen {
        /// Fail when the checked-in code is stale instead of writing it.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    match Args::parse().command {
        Command::Codegen { check } => codegen::run(&root, check),
    }
}
