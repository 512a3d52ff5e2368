//! What commands have in common that make a version of a table: which table, `--message` and `--lock`, and how new files are
//! written.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use demilance::table::{CommitOptions, Table, WriteOptions};
use demilance::{ColumnOptions, Compression};

use crate::import::parse_compression;
use crate::which::WhichVersion;

/// The table that a command changes.
#[derive(Debug, Args)]
pub(crate) struct Changed {
    /// Table: a path or URL
    #[arg(value_name = "TABLE")]
    pub(crate) path: String,
    /// Branch of the table
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

/// How a version is committed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Committing {
    /// Message that the new version has
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// File to lock while the version is published, the same for all writers: for stores that do not tell who was first
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
}

/// How new data files are written.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct NewFiles {
    /// How to compress columns that do not say it in their metadata: see import --help
    #[arg(long, value_name = "SCHEME[:LEVEL]", value_parser = parse_compression)]
    pub(crate) compression: Option<Compression>,
    /// Store checksums in the new files [default: as the table has them]
    #[arg(long)]
    checksums: bool,
}

impl Changed {
    /// The latest version. Errors name the table.
    pub(crate) async fn open(&self) -> Result<Table> {
        WhichVersion::of_branch(self.branch.clone()).open_path(&self.path).await
    }

    /// How rows are written to it.
    pub(crate) fn write_options(&self, files: &NewFiles) -> WriteOptions {
        WriteOptions {
            compression: files.compression,
            checksums: files.checksums(),
            commit: self.committing.options(),
            ..WriteOptions::default()
        }
    }

    /// How columns are.
    pub(crate) fn column_options(&self, files: &NewFiles) -> ColumnOptions {
        ColumnOptions {
            compression: files.compression,
            checksums: files.checksums(),
            commit: self.committing.options(),
            ..ColumnOptions::default()
        }
    }
}

impl Committing {
    pub(crate) fn options(&self) -> CommitOptions {
        let message = self.message.as_ref().map(CommitOptions::with_message);
        CommitOptions { lock: self.lock.clone(), ..message.unwrap_or_default() }
    }
}

impl NewFiles {
    /// None for the way of the table.
    pub(crate) fn checksums(&self) -> Option<bool> {
        self.checksums.then_some(true)
    }
}
