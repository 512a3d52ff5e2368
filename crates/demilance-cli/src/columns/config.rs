//! `demilance config`: key-value pairs of a table.

use anyhow::{Context, Result};
use clap::Args;
use demilance::table::{ConfigChange, Pairs, Table};

use crate::committing::Changed;

const AFTER_HELP: &str = "\
Without --set and --unset the pairs are printed. They are those of the table's config, where keys that begin with lance.
mean something to software that reads the format; or with an option those of its metadata, its schema or a column.

Examples:
  demilance config robot.lance
  demilance config robot.lance --set lance.compaction.target_rows_per_fragment=100000
  demilance config robot.lance --metadata --set owner=lab --set robot=g1
  demilance config robot.lance --field pose.x --set unit=m --unset note";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ConfigArguments {
    #[command(flatten)]
    table: Changed,
    /// Add a pair, or give a key another value
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    set: Vec<(String, String)>,
    /// Remove a key
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
    /// Of the table's metadata
    #[arg(long, conflicts_with_all = ["schema", "field"])]
    metadata: bool,
    /// Of the metadata of the schema
    #[arg(long, conflicts_with = "field")]
    schema: bool,
    /// Of the metadata of this column
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
}

/// Runs the command.
pub(crate) async fn config(arguments: ConfigArguments) -> Result<()> {
    let before = arguments.table.open().await?;
    if arguments.set.is_empty() && arguments.unset.is_empty() {
        let pairs = arguments.pairs(&before).with_context(|| arguments.table.path.clone())?;
        return crate::print(&lines(&pairs));
    }
    if !arguments.is_needed(&arguments.pairs(&before).with_context(|| arguments.table.path.clone())?) {
        let (path, version) = (&arguments.table.path, before.version());
        return crate::print(&format!("{path}: nothing to do, version {version} is like that\n"));
    }
    let outcome = before.update_config(&arguments.change(), &arguments.table.committing.options()).await;
    let after = outcome.with_context(|| arguments.table.path.clone())?;
    let pairs = arguments.pairs(&after)?;
    crate::print(&format!(
        "{}: version {}; wrote no data\n{}",
        arguments.table.path,
        after.version(),
        lines(&pairs)
    ))
}

impl ConfigArguments {
    /// Whether a key of `pairs` gets another value, comes or goes.
    fn is_needed(&self, pairs: &[(String, String)]) -> bool {
        self.set.iter().any(|pair| !pairs.contains(pair))
            || pairs.iter().any(|(key, _)| self.unset.contains(key))
    }

    fn change(&self) -> ConfigChange {
        let set = self.set.iter().cloned().collect();
        let unset = self.unset.iter().cloned().collect();
        let pairs = Pairs { set, unset, replace: false };
        let mut change = ConfigChange::default();
        match &self.field {
            Some(field) => drop(change.field_metadata.insert(field.clone(), pairs)),
            None if self.schema => change.schema_metadata = pairs,
            None if self.metadata => change.table_metadata = pairs,
            None => change.config = pairs,
        }
        change
    }

    /// The pairs that are asked for, in the order of their keys.
    fn pairs(&self, table: &Table) -> Result<Vec<(String, String)>> {
        let message = &table.manifest().message;
        let pairs = match &self.field {
            Some(field) => table.schema().trace(field)?.pop().map(|field| &field.metadata),
            None if self.schema => Some(&table.schema().metadata),
            None if self.metadata => Some(&message.table_metadata),
            None => Some(&message.config),
        };
        Ok(pairs.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

fn lines(pairs: &[(String, String)]) -> String {
    pairs.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err("it is no KEY=VALUE".into()),
    }
}
