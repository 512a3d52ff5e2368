//! `--message` and `--lock`, which all commands have that make a version; and how its new files are written.

use std::path::PathBuf;

use clap::Args;
use demilance::Compression;
use demilance::table::CommitOptions;

use crate::import::parse_compression;

/// How a version is committed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Committing {
    /// Message that the new version has
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// File that is locked while the version is published: for stores on which two writers could both believe to be first,
    /// which are refused without; all who write must name the same
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
