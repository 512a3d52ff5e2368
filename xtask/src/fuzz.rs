//! Hostile bytes by the million. The runner is in the tests package, which knows the crates; it is built for speed.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::command::succeed;

/// What is fuzzed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Target {
    /// Fory rows, their frames, streams and schemas.
    Rows,
    /// Lance files of every version.
    Files,
}

#[derive(Debug, Args)]
pub(crate) struct Options {
    target: Target,
    /// How many cases.
    #[arg(long, default_value_t = 100_000)]
    cases: u64,
    /// What the cases are drawn from. A case is made of the seed and its number alone.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first case, to repeat one that failed.
    #[arg(long, default_value_t = 0)]
    first: u64,
}

/// Runs the cases on all cores; fails if one did, after telling which.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let example = match options.target {
        Target::Rows => "fuzz_rows",
        Target::Files => "fuzz_files",
    };
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args([
        "run",
        "--quiet",
        "--release",
        "--locked",
        "--package",
        "demilance-tests",
    ]);
    command.args(["--example", example, "--"]);
    for (name, number) in [("--cases", options.cases), ("--seed", options.seed), ("--first", options.first)] {
        command.args([name, &number.to_string()]);
    }
    succeed(&mut command, example)
}
