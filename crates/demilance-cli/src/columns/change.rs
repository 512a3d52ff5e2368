//! `demilance drop-column`, `rename-column`, `cast-column` and `alter-column`.

use std::sync::Arc;

use anyhow::Result;
use clap::{ArgGroup, Args, ValueEnum};
use demilance::arrow::DataType;
use demilance::{ColumnOptions, Misfits};

use super::watch::Watch;
use crate::committing::{Changed, NewFiles};
use crate::source::Progress;
use crate::type_name;

const DROP_HELP: &str = "\
No data are written or removed: older versions still have the column. `demilance compact` makes files without it, and
`demilance cleanup` then removes the old ones. A struct goes with the last of its members.

Examples:
  demilance drop-column robot.lance label
  demilance drop-column robot.lance pose.z debug.trace";

const RENAME_HELP: &str = "\
No data are written. A member of a struct stays in it: NEW is its name without what is before it.

Examples:
  demilance rename-column robot.lance label task
  demilance rename-column robot.lance pose.x forward";

const CAST_HELP: &str = "\
Only the values of the column are written: one small data file for each fragment. Older versions keep the old ones.
A value that does not fit is an error that says which row it is in, and the table stays as it was: a number out of range,
a float with a fraction that should become an integer, a text that is no number.

Examples:
  demilance cast-column robot.lance frame int32
  demilance cast-column robot.lance pose.x double
  demilance cast-column robot.lance reward float --misfits null
  demilance cast-column robot.lance state 'fixed_size_list<float>[14]'";

const ALTER_HELP: &str = "\
No data are written. That nulls are no more allowed is refused if there are any; the column is read to find out.

Examples:
  demilance alter-column robot.lance label --not-null
  demilance alter-column robot.lance pose.x --nullable";

/// What `drop-column` is told.
#[derive(Debug, Args)]
#[command(after_help = DROP_HELP)]
pub(crate) struct DropArguments {
    #[command(flatten)]
    table: Changed,
    /// Columns to drop; dots go into structs
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

/// What `rename-column` is told.
#[derive(Debug, Args)]
#[command(after_help = RENAME_HELP)]
pub(crate) struct RenameArguments {
    #[command(flatten)]
    table: Changed,
    /// Column; dots go into structs
    old: String,
    /// Its new name
    new: String,
}

/// What `cast-column` is told.
#[derive(Debug, Args)]
#[command(after_help = CAST_HELP, after_long_help = format!("{CAST_HELP}\n\n{}", type_name::HELP))]
pub(crate) struct CastArguments {
    #[command(flatten)]
    table: Changed,
    /// Column; dots go into structs
    name: String,
    /// Its new type; --help lists types
    #[arg(value_name = "TYPE", value_parser = type_name::parse)]
    to: DataType,
    /// What becomes of values that do not fit
    #[arg(long, value_enum, default_value_t = OnMisfit::Refuse)]
    misfits: OnMisfit,
    #[command(flatten)]
    files: NewFiles,
}

/// What `alter-column` is told.
#[derive(Debug, Args)]
#[command(after_help = ALTER_HELP)]
#[command(group = ArgGroup::new("nulls").required(true).args(["nullable", "not_null"]))]
pub(crate) struct AlterArguments {
    #[command(flatten)]
    table: Changed,
    /// Column; dots go into structs
    name: String,
    /// It may be null
    #[arg(long)]
    nullable: bool,
    /// It must not be null
    #[arg(long)]
    not_null: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnMisfit {
    /// They are an error
    Refuse,
    /// They become null
    Null,
}

/// Drops columns.
pub(crate) async fn drop(arguments: DropArguments) -> Result<()> {
    let DropArguments { table, names } = &arguments;
    let before = table.open().await?;
    let outcome = before.drop_columns(names, &table.committing.options()).await;
    table.report(&before, outcome.map_err(Into::into)).await
}

/// Renames a column.
pub(crate) async fn rename(arguments: RenameArguments) -> Result<()> {
    let RenameArguments { table, old, new } = &arguments;
    let before = table.open().await?;
    let outcome = before.rename_column(old, new, &table.committing.options()).await;
    table.report(&before, outcome.map_err(Into::into)).await
}

/// Says whether a column may be null.
pub(crate) async fn alter(arguments: AlterArguments) -> Result<()> {
    let AlterArguments { table, name, nullable, .. } = &arguments;
    let before = table.open().await?;
    let progress = match nullable {
        true => Progress::hidden(),
        false => Progress::waiting("looking for nulls"),
    };
    let outcome = before.set_nullable(name, *nullable, &table.committing.options()).await;
    progress.clear();
    table.report(&before, outcome.map_err(Into::into)).await
}

/// Casts a column.
pub(crate) async fn cast(arguments: CastArguments) -> Result<()> {
    let CastArguments { table, name, to, misfits, files } = &arguments;
    let before = table.open().await?;
    let misfits = match misfits {
        OnMisfit::Refuse => Misfits::Refuse,
        OnMisfit::Null => Misfits::Null,
    };
    let options = ColumnOptions { rows_done: Some(Arc::default()), ..table.column_options(files) };
    let watch = options.rows_done.clone().map(|rows| Watch::start(rows, before.rows()));
    let outcome = before.cast_column(name, to, misfits, &options).await;
    std::mem::drop(watch);
    table.report(&before, outcome.map_err(Into::into)).await
}
