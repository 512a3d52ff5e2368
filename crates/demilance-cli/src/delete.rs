//! `demilance delete` and `update`: rows that pass a filter go, or get new values.

use anyhow::{Context, Result};
use clap::Args;
use demilance::Expr;
use demilance::table::Table;

use crate::committing::{Changed, NewFiles};
use crate::source::Progress;
use crate::{diff, quantity};

const DELETE_HELP: &str = "\
Data files stay as they are; a small file for each fragment lists the rows that are gone, and a fragment of which none is
left is not part of the new version. Older versions still have the rows (cat --version N), until a clean-up.

Examples:
  demilance delete robot.lance --where \"label = 'idle'\"
  demilance delete robot.lance --where 'reward IS NULL' --dry-run
  demilance delete robot.lance --where 'episode IN (3, 7)' --branch trial";

const UPDATE_HELP: &str = "\
Rows that pass are written anew with all their columns, and come to lie behind all others; nothing else is written but a
small file for each fragment that lists the rows that are gone from it. Expressions are worked out over the row as
it was. A value that does not fit the type of its column is an error, and nothing is changed then.

Examples:
  demilance update robot.lance --set reward=0 --where 'reward IS NULL'
  demilance update robot.lance --set \"label=lower(label)\" --set 'pose.x=pose.x / 1000' --where 'episode < 5'
  demilance update robot.lance --set checked=true --where true --dry-run";

/// What `delete` is told.
#[derive(Debug, Args)]
#[command(after_help = DELETE_HELP)]
pub(crate) struct DeleteArguments {
    #[command(flatten)]
    rows: Rows,
}

/// Some rows of a table that is changed.
#[derive(Debug, Args)]
struct Rows {
    #[command(flatten)]
    table: Changed,
    /// The rows for which EXPR is true; cat --help says what it may be
    #[arg(long = "where", value_name = "EXPR")]
    filter: Expr,
    /// Say how many rows these are, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What `update` is told.
#[derive(Debug, Args)]
#[command(after_help = UPDATE_HELP)]
pub(crate) struct UpdateArguments {
    #[command(flatten)]
    rows: Rows,
    /// Column that gets the value of an expression; may be said several times
    #[arg(long, value_name = "COLUMN=EXPR", required = true, value_parser = parse_assignment)]
    set: Vec<(String, Expr)>,
    #[command(flatten)]
    files: NewFiles,
}

fn parse_assignment(text: &str) -> Result<(String, Expr), String> {
    let (column, expr) = text.split_once('=').ok_or("it is not COLUMN=EXPR")?;
    let expr = Expr::parse(expr.trim()).map_err(|error| error.to_string())?;
    Ok((column.trim().to_string(), expr))
}

/// Deletes rows.
pub(crate) async fn delete(arguments: DeleteArguments) -> Result<()> {
    let DeleteArguments { rows: Rows { table: changed, filter, dry_run } } = arguments;
    let (table, path) = (changed.open().await?, &changed.path);
    if dry_run {
        return would(path, "delete", &table, &filter).await;
    }
    let options = changed.committing.options();
    let progress = Progress::waiting("looking for the rows to delete");
    let deleted = table.delete(&filter, &options).await;
    progress.clear();
    let deleted = deleted.with_context(|| path.clone())?;
    let what = format!("deleted {}", quantity::of(deleted.rows, "row"));
    report(path, &what, &deleted.table).await
}

/// Updates rows.
pub(crate) async fn update(arguments: UpdateArguments) -> Result<()> {
    let UpdateArguments { rows: Rows { table: changed, filter, dry_run }, set, files } = arguments;
    let (table, path) = (changed.open().await?, &changed.path);
    if dry_run {
        table.check_update(&set).with_context(|| path.clone())?;
        return would(path, "update", &table, &filter).await;
    }
    let progress = Progress::waiting("looking for the rows to update, and writing them anew");
    let updated = table.update(&set, Some(&filter), &changed.write_options(&files)).await;
    progress.clear();
    let updated = updated.with_context(|| path.clone())?;
    let what = format!("updated {}", quantity::of(updated.rows, "row"));
    report(path, &what, &updated.table).await
}

/// Says how many rows an operation would concern.
async fn would(path: &str, what: &str, table: &Table, filter: &Expr) -> Result<()> {
    let progress = Progress::waiting("counting the rows");
    let rows = table.count(filter).await;
    progress.clear();
    let rows = rows.with_context(|| path.to_string())?;
    let (rows, all) = (quantity::count(rows), quantity::of(table.rows(), "row"));
    crate::print(&format!("{path}: would {what} {rows} of {all}\n"))
}

/// Prints what was done to the table at `path`, and what that wrote and left untouched. `after` is the version that it made.
pub(crate) async fn report(path: &str, what: &str, after: &Table) -> Result<()> {
    let (version, rows) = (after.version(), quantity::of(after.rows(), "row"));
    let mut text = format!("{path}: {what}; version {version} has {rows}\n");
    text.extend(diff::of_version(after).await);
    crate::print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_parted_at_the_first_sign() {
        let (column, expr) = parse_assignment("pose.x = a = b").unwrap();
        assert_eq!((column.as_str(), expr.to_string().as_str()), ("pose.x", "a = b"));
        assert!(parse_assignment("a").is_err() && parse_assignment("a=").is_err());
    }
}
