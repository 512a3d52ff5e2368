//! The command `demilance`: Lance tables and files from the command line.

mod aligned;
mod branches;
mod budget;
mod cat;
mod cleanup;
mod columns;
mod committing;
mod compact;
mod count;
mod delete;
mod demo;
mod diff;
mod failure;
mod import;
mod info;
mod inspect;
mod listing;
mod output;
mod place;
mod quantity;
mod restore;
mod retype;
mod rows;
mod source;
mod tags;
mod type_name;
mod upsert;
mod verify;
mod versions;
mod which;
mod zones;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

const AFTER_HELP: &str = "\
Examples:
  demilance import episodes/ robot.lance       every Parquet, Arrow, CSV or JSON file below episodes/
  demilance cat robot.lance --rows 0,7,100-109
  demilance cat robot.lance --where \"label = 'grasp' AND pose.x > 0.5\"
  demilance info robot.lance
  demilance add-column robot.lance --name fast --expr 'speed > 0.5'
  demilance versions robot.lance
  demilance tag create robot.lance train-v1    name the latest version, and keep it
  demilance compact robot.lance                few whole fragments out of many small ones
  demilance cleanup robot.lance --older-than 7d --keep-tagged
  demilance verify robot.lance                 read everything, and say what is wrong
  demilance demo                               the life of a table, and what each step writes and leaves

A table or file is a path or a URL. Errors are one line, with exit code 1; wrong usage has exit code 2.";

/// Import, read and inspect Lance tables and files, and Fory rows.
#[derive(Debug, Parser)]
#[command(name = "demilance", version, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write Parquet, Arrow, CSV or JSON files to a table.
    Import(import::Arguments),
    /// Print rows of a table or of one file.
    Cat(cat::Arguments),
    /// Count the rows of a table, or those that pass a filter.
    Count(count::Arguments),
    /// Say what a table or a file holds and how it is stored.
    Info(info::Arguments),
    /// Show the physical map of one file: every region and page.
    Inspect(inspect::Arguments),
    /// Read everything of a table or a file, and say all that is wrong with it.
    Verify(verify::Arguments),
    /// Add columns to a table: of an expression, of files, or of nulls.
    AddColumn(columns::AddArguments),
    /// Drop columns of a table.
    DropColumn(columns::DropArguments),
    /// Give a column of a table another name.
    RenameColumn(columns::RenameArguments),
    /// Give a column of a table another type.
    CastColumn(columns::CastArguments),
    /// Allow nulls in a column of a table, or no more.
    AlterColumn(columns::AlterArguments),
    /// Print or change key-value pairs of a table.
    Config(columns::ConfigArguments),
    /// Delete the rows of a table that pass a filter.
    Delete(delete::DeleteArguments),
    /// Give the rows of a table that pass a filter new values.
    Update(delete::UpdateArguments),
    /// Update the rows of a table whose key is in files, and add the others.
    Upsert(upsert::Arguments),
    /// List the versions of a table.
    Versions(versions::Arguments),
    /// Say what two versions of a table have in common, and what not.
    Diff(diff::Arguments),
    /// List the tags of a table.
    Tags(tags::ListArguments),
    /// Name a version of a table, or take the name away.
    Tag(tags::Arguments),
    /// List the branches of a table.
    Branches(branches::ListArguments),
    /// Begin or remove a branch of a table.
    Branch(branches::Arguments),
    /// Make an older version of a table the newest again.
    Restore(restore::Arguments),
    /// Make few whole fragments out of many small ones, and let deleted rows go.
    Compact(compact::Arguments),
    /// Remove old versions, and the files that only they need.
    Cleanup(cleanup::Arguments),
    /// Make a table of the files of another, without a copy.
    Clone(restore::CloneArguments),
    /// Give manifests the names that sort newest first.
    Migrate(restore::MigrateArguments),
    /// Rows of the Apache Fory row format: to JSON, from JSON, byte by byte.
    Rows(rows::Arguments),
    /// Show the life of a table of robot episodes, step by step, and what each step writes and leaves untouched.
    Demo(demo::Arguments),
}

fn main() -> ExitCode {
    failure::report_panics_in_one_line();
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if failure::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", failure::one_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// Whether all is well; what is not was told.
fn run(command: Command) -> Result<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the threads that read and write could not be started")?;
    runtime.block_on(async {
        match command {
            Command::Import(arguments) => import::run(arguments).await,
            Command::Cat(arguments) => cat::run(arguments).await,
            Command::Count(arguments) => count::run(arguments).await,
            Command::Info(arguments) => info::run(arguments).await,
            Command::Inspect(arguments) => inspect::run(arguments).await,
            Command::AddColumn(arguments) => columns::add(arguments).await,
            Command::DropColumn(arguments) => columns::drop(arguments).await,
            Command::RenameColumn(arguments) => columns::rename(arguments).await,
            Command::CastColumn(arguments) => columns::cast(arguments).await,
            Command::AlterColumn(arguments) => columns::alter(arguments).await,
            Command::Config(arguments) => columns::config(arguments).await,
            Command::Delete(arguments) => delete::delete(arguments).await,
            Command::Update(arguments) => delete::update(arguments).await,
            Command::Upsert(arguments) => upsert::run(arguments).await,
            Command::Versions(arguments) => versions::run(arguments).await,
            Command::Diff(arguments) => diff::run(arguments).await,
            Command::Tags(arguments) => tags::list(arguments).await,
            Command::Tag(arguments) => tags::run(arguments).await,
            Command::Branches(arguments) => branches::list(arguments).await,
            Command::Branch(arguments) => branches::run(arguments).await,
            Command::Restore(arguments) => restore::run(arguments).await,
            Command::Compact(arguments) => return compact::run(arguments).await,
            Command::Cleanup(arguments) => return cleanup::run(arguments).await,
            Command::Clone(arguments) => restore::clone(arguments).await,
            Command::Migrate(arguments) => restore::migrate(arguments).await,
            Command::Rows(arguments) => rows::run(&arguments),
            Command::Demo(arguments) => demo::run(arguments).await,
            Command::Verify(arguments) => return verify::run(arguments).await,
        }
        .map(|()| true)
    })
}

/// Writes to stdout, where a reader that went away is an error and not a panic.
fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("output")
}

/// Writes JSON to stdout, on several lines.
fn print_json(value: impl Into<serde_json::Value>) -> Result<()> {
    print(&format!("{:#}\n", value.into()))
}

/// Ends the command `name` because it was called wrongly.
fn usage(name: &str, kind: clap::error::ErrorKind, message: &str) -> ! {
    use clap::CommandFactory;
    let mut all = Arguments::command();
    // Until then commands do not know that they are below another.
    all.build();
    match all.find_subcommand_mut(name) {
        Some(command) => command.error(kind, message),
        None => all.error(kind, message),
    }
    .exit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Arguments::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{}", command.get_name());
        }
    }
}
