//! Names of a table, a line each, or as JSON: `demilance tags` and `branches`.

use anyhow::Result;
use clap::Args;
use demilance::table::Table;
use serde_json::Value;

use crate::aligned::{self, Side};
use crate::which::WhichVersion;

/// Whose names are listed, and how.
#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Table: a path or URL
    #[arg(value_name = "TABLE")]
    pub(crate) path: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Listing {
    pub(crate) async fn open(&self) -> Result<Table> {
        WhichVersion::default().open_path(&self.path).await
    }

    /// Prints `names`, of which each has `cells` below the `columns`.
    pub(crate) fn print<N>(
        &self,
        what: &str,
        names: &[N],
        json: impl Fn(&N) -> Value,
        columns: &[(&str, Side)],
        cells: impl Fn(&N) -> Vec<String>,
    ) -> Result<()> {
        if self.json {
            return crate::print_json(names.iter().map(json).collect::<Vec<_>>());
        }
        if names.is_empty() {
            return crate::print(&format!("{}: no {what}\n", self.path));
        }
        crate::print(&aligned::lines(columns, &names.iter().map(cells).collect::<Vec<_>>()))
    }
}
