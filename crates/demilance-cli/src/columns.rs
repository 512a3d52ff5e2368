//! The commands that change columns of a table, and what they have in common.

mod add;
mod change;
mod config;
mod watch;

pub(crate) use add::{AddArguments, add};
pub(crate) use change::{
    AlterArguments, CastArguments, DropArguments, RenameArguments, alter, cast, drop, rename,
};
pub(crate) use config::{ConfigArguments, config};

use anyhow::{Context, Result};
use demilance::table::Table;

use crate::committing::Changed;
use crate::diff::summary;
use crate::quantity;

impl Changed {
    /// Says what became of `before`, and names the table in errors.
    async fn report(&self, before: &Table, outcome: Result<Table>) -> Result<()> {
        let told = async {
            let after = outcome?;
            let changes = after.changes_since(Some(before)).await?;
            let mut text = format!(
                "{}: version {}, {}\n",
                self.path,
                after.version(),
                quantity::of(after.rows(), "row")
            );
            for column in &changes.columns_dropped {
                text.push_str(&format!("- {column}\n"));
            }
            for column in &changes.columns_added {
                text.push_str(&format!("+ {column}\n"));
            }
            for (old, new) in &changes.columns_changed {
                text.push_str(&format!("  {old} is {new}\n"));
            }
            let indices = |table: &Table| {
                table.manifest().indices.iter().map(|index| index.name.clone()).collect::<Vec<_>>()
            };
            let left = indices(&after);
            for index in indices(before).into_iter().filter(|index| !left.contains(index)) {
                text.push_str(&format!("- index {index}, over a column that is gone\n"));
            }
            text.push_str(&format!("{}\n", summary(&changes)));
            Ok::<_, anyhow::Error>(text)
        };
        let text = told.await.with_context(|| self.path.clone())?;
        crate::print(&text)
    }
}
