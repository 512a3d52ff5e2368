//! `cargo xtask`: the project's own commands.

mod codegen;
mod command;
mod deps;
mod fixtures;
mod fuzz;
mod oracle;
mod release;
mod test;
mod tidy;

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
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
    /// Check what the compiler does not: which crate depends on which, where `unsafe` stands, sizes of files.
    Tidy,
    /// Count the external crates that users of the libraries compile, and fail above the caps.
    Deps,
    /// Make the Python environment of the reference implementation in `.oracle/`.
    Oracle,
    /// Run all tests; those against the reference too where Python is there.
    Test {
        /// Passed on to the test runner.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Write the files in tests/fixtures anew with the reference implementation.
    Fixtures,
    /// Try hostile bytes, built for speed, on all cores.
    Fuzz(fuzz::Options),
    /// Check that the committed tree can be released as a version, and write that version into it.
    ///
    /// Checks the changelog, the manifests and the public API, and builds each crate from its package. Publishes
    /// nothing: it prints the commands that do.
    Release {
        /// The version to release, X.Y.Z.
        version: Version,
        /// Check everything on a copy and change nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

fn main() -> Result<()> {
    // Cargo tells it when it starts this; where target directories are shared, the compiled-in one may be that of
    // another clone.
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = PathBuf::from(package).join("..");
    let root = root.canonicalize().context("finding the root of the repository")?;
    match Args::parse().command {
        Command::Codegen { check } => codegen::run(&root, check),
        Command::Tidy => tidy::run(&root),
        Command::Deps => deps::run(&root),
        Command::Oracle => oracle::run(&root),
        Command::Test { args } => test::run(&root, &args),
        Command::Fixtures => fixtures::run(&root),
        Command::Fuzz(options) => fuzz::run(&root, &options),
        Command::Release { version, dry_run } => release::run(&root, &version, dry_run),
    }
}
