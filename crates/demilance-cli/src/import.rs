//! `demilance import`: files of rows become a table.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use demilance::Compression;
use demilance::file::Batches;
use demilance::footer::{Alignment, Version};
use demilance::io::Store;
use demilance::table::proto::transaction::Operation;
use demilance::table::{At, CommitOptions, Naming, Reference, Table, WriteMode, WriteOptions};

use crate::committing::Committing;
use crate::source::{Progress, Sources, Stream, expand};
use crate::{diff, place, quantity};

const AFTER_HELP: &str = "\
Sources are .parquet, .arrow/.feather/.ipc (Arrow IPC, file or stream), .csv (with a header line) and
.jsonl/.ndjson; a directory stands for all such files below it, in the order of their names. All files make
one table: their fields must agree. Types of CSV and JSON are inferred from the first rows.
A name with dots becomes a member of a struct, since Lance has no dots in names: observation.state is then
the member state of observation, and --columns observation.state still reads it.
Files are read as a stream, so they may be larger than memory. Nothing appears in the table before all of them
were read; then one new version does, and older versions can still be read (cat --version N).

Compression (--compression):
  (nothing)  bit packing, runs, dictionaries, tables of frequent pieces for strings, zstd for strings of more
             than 32 KiB: what is smallest of what is quick to read
  none       values as they are, but for dictionaries
  fsst       strings by tables of frequent pieces even where that saves little; the rest as by default
  lz4        LZ4 on top, where it saves something
  zstd       zstd on top: smaller, and slower to read; levels from 1, the quickest, to 22, 6 if none is said
In files of version 2.0 only strings are compressed, and only if this is given.

Examples:
  demilance import episode_0.parquet episode_1.parquet robot.lance
  demilance import data/chunk-000 robot.lance
  demilance import more.csv robot.lance --mode append
  demilance import frames.parquet frames.lance --align 4096 --max-rows-per-fragment 100000
  demilance import logs.jsonl logs.lance --compression zstd:9";

/// What the command is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Files or directories to read
    #[arg(value_name = "SRC", required = true, num_args = 1..)]
    sources: Vec<String>,
    /// Table to write: a path or URL
    #[arg(value_name = "TABLE", required = true)]
    table: String,
    /// What to do with a table that exists: refuse it, add to it, or replace its rows by a new version
    #[arg(long, value_enum, default_value_t = Mode::Create)]
    mode: Mode,
    /// Version of the file format [default: 2.2, or that of the table]
    #[arg(long, value_enum, value_name = "VERSION")]
    file_version: Option<FileVersion>,
    /// How to compress columns that do not say it in their metadata: none, fsst, lz4, zstd or zstd:LEVEL; see below
    /// [default: what is smallest of what is quick to read]
    #[arg(long, value_name = "SCHEME[:LEVEL]", value_parser = parse_compression)]
    compression: Option<Compression>,
    /// Bytes to which buffers are aligned; 4096 suits direct I/O
    #[arg(long, value_enum, value_name = "BYTES", default_value_t = Align::Bytes64)]
    align: Align,
    /// Rows after which a new fragment begins [default: 1048576]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_rows_per_fragment: Option<u64>,
    /// Store checksums in the new data files, by which `verify` and `cat --verify-checksums` find every flipped bit; they
    /// take next to no room and time [default: as the table was made]
    #[arg(long)]
    checksums: bool,
    /// Store no checksums, whatever the table has so far
    #[arg(long, conflicts_with = "checksums")]
    no_checksums: bool,
    /// Let the rows of a new table keep their _rowid when they are updated or compacted
    #[arg(long)]
    stable_row_ids: bool,
    /// How the manifests of a new table are named: v2 sorts newest first, v1 is what old readers know [default: v2]
    #[arg(long, value_enum, value_name = "NAMES")]
    manifest_names: Option<Names>,
    /// Branch to add to or to overwrite
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    #[command(flatten)]
    committing: Committing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Names {
    V1,
    V2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    Create,
    Append,
    Overwrite,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FileVersion {
    #[value(name = "2.0")]
    V2_0,
    #[value(name = "2.1")]
    V2_1,
    #[value(name = "2.2")]
    V2_2,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Align {
    #[value(name = "64")]
    Bytes64,
    #[value(name = "4096")]
    Bytes4096,
}

impl From<FileVersion> for Version {
    fn from(version: FileVersion) -> Self {
        match version {
            FileVersion::V2_0 => Self::V2_0,
            FileVersion::V2_1 => Self::V2_1,
            FileVersion::V2_2 => Self::V2_2,
        }
    }
}

impl From<Align> for Alignment {
    fn from(align: Align) -> Self {
        match align {
            Align::Bytes64 => Self::Bytes64,
            Align::Bytes4096 => Self::Bytes4096,
        }
    }
}

pub(crate) fn parse_compression(text: &str) -> Result<Compression, String> {
    text.parse()
}

/// What was written.
#[derive(Debug)]
pub(crate) struct Summary {
    rows: u64,
    fragments: u64,
    files: u64,
    bytes: u64,
    elapsed: Duration,
    /// The table afterwards.
    pub(crate) table: Table,
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let options = arguments.options();
    let table = &arguments.table;
    if place::local(table).is_some_and(std::path::Path::is_file) {
        bail!("{table}: is a file; the last argument is the table to write, a directory");
    }
    let mut store = place::store(table)?;
    if let Some(option) = arguments.for_new_tables() {
        let append = arguments.mode == Mode::Append;
        if append || (arguments.mode == Mode::Overwrite && place::is_table(&store).await?) {
            let message = format!("{option} is for new tables, and {table} is none");
            crate::usage("import", ErrorKind::ArgumentConflict, &message);
        }
    }
    if let Some(branch) = &arguments.branch {
        if arguments.mode == Mode::Create {
            crate::usage(
                "import",
                ErrorKind::ArgumentConflict,
                "--branch goes with --mode append or overwrite",
            );
        }
        let branch = Reference { branch: Some(branch.clone()), at: At::Latest };
        store = branch.resolve(&store).await.with_context(|| table.clone())?.0;
    }
    let paths = expand(&arguments.sources)?;
    let sources = match arguments.mode {
        Mode::Append => {
            let existing = Table::open(store.clone(), None).await.with_context(|| table.clone())?;
            Sources::open(&paths, Some((table, existing.arrow_schema().as_ref())))?
        }
        Mode::Create | Mode::Overwrite => Sources::open(&paths, None)?,
    };
    let progress = Progress::over(sources.bytes());
    let summary = write(&store, sources.stream(progress.clone()), options).await;
    progress.clear();
    let summary = summary?;
    let mut text = format!("{table}: {}\n", summary.line());
    if summary.table.version() > 1 {
        text.extend(diff::of_version(&summary.table).await);
    }
    crate::print(&text)
}

/// Writes `stream` to the table in `store`.
pub(crate) async fn write(store: &Store, stream: Stream, options: WriteOptions) -> Result<Summary> {
    let start = Instant::now();
    let failure = stream.failure();
    let batches = Batches::new(stream.schema().clone(), stream.into_stream());
    let table = Table::write(store.clone(), batches, options).await;
    // What is wrong with a source has the path of that; anything else is about the table.
    let table = table.map_err(|error| failure.or(anyhow::Error::from(error).context(store.location(""))))?;
    let elapsed = start.elapsed();
    let (mut rows, mut fragments, mut files, mut bytes) = (0, 0, 0, 0);
    // What is new is at the end; other writers may have added fragments before it.
    let added = match table.transaction().await?.and_then(|transaction| transaction.operation) {
        Some(Operation::Append(append)) => append.fragments.len(),
        _ => table.fragments().len(),
    };
    for fragment in table.fragments().iter().rev().take(added) {
        rows += fragment.rows();
        fragments += 1;
        files += fragment.files().len() as u64;
        bytes += fragment.files().iter().filter_map(|file| file.size).sum::<u64>();
    }
    Ok(Summary { rows, fragments, files, bytes, elapsed, table })
}

impl Summary {
    /// `35,965 rows in 1 fragment, 1 file, 9.9 MB in 0.21 s (47.3 MB/s), version 1`.
    pub(crate) fn line(&self) -> String {
        format!(
            "{} in {}, {}, {} in {} ({}), version {}",
            quantity::of(self.rows, "row"),
            quantity::of(self.fragments, "fragment"),
            quantity::of(self.files, "file"),
            quantity::bytes(self.bytes),
            quantity::time(self.elapsed),
            quantity::rate(self.bytes, self.elapsed),
            self.table.version()
        )
    }
}

impl Arguments {
    /// The option that means nothing for a table that is there, if one was said.
    fn for_new_tables(&self) -> Option<&'static str> {
        match (self.stable_row_ids, self.manifest_names) {
            (true, _) => Some("--stable-row-ids"),
            (false, Some(_)) => Some("--manifest-names"),
            (false, None) => None,
        }
    }

    fn options(&self) -> WriteOptions {
        let default = WriteOptions::default();
        WriteOptions {
            mode: match self.mode {
                Mode::Create => WriteMode::Create,
                Mode::Append => WriteMode::Append,
                Mode::Overwrite => WriteMode::Overwrite,
            },
            version: self.file_version.map(Version::from),
            alignment: self.align.into(),
            max_rows_per_fragment: self.max_rows_per_fragment.unwrap_or(default.max_rows_per_fragment),
            compression: self.compression,
            stable_row_ids: self.stable_row_ids,
            commit: CommitOptions {
                naming: match self.manifest_names {
                    Some(Names::V1) => Naming::V1,
                    Some(Names::V2) | None => Naming::V2,
                },
                ..self.committing.options()
            },
            checksums: match (self.checksums, self.no_checksums) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                (false, false) => None,
            },
            ..default
        }
    }
}
