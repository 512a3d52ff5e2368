//! Reads everything of a file and says all that is wrong with it.
//!
//! ```text
//! container   footer, offset tables, metadata: each entry and each page by itself, so that one that is wrong
//!             does not hide the others
//! regions     what lies where, and what lies on top of each other
//! rows        row counts of pages and columns against each other and the descriptor
//! checksums   of every byte, if the file has them
//! values      every page of every column is decoded, with the checks that reading makes; rows one by one, where a
//!             page says where each is
//! ```
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use arrow_array::record_batch;
//! use lance_file::verify::{Finding, VerifyOptions, verify};
//! use lance_file::{Alignment, FileWriter, Schema, WriteOptions};
//! use lance_io::Store;
//!
//! let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
//! let store = Store::memory();
//! let writer = store.create("a.lance", Alignment::Bytes64).await?;
//! let schema = Schema::from_arrow(&batch.schema())?;
//! let mut writer = FileWriter::new(writer, schema, WriteOptions::default())?;
//! writer.push(&batch).await?;
//! writer.finish().await?;
//!
//! let mut bytes = store.read_all("a.lance").await?.to_vec();
//! let end = bytes.len() - 40;
//! bytes[end] ^= 1; // where the column metadata begin, as the footer has it
//! store.put("b.lance", bytes.into()).await?;
//! let mut lines = vec![];
//! let mut report = |finding| {
//!     if let Finding::Problem(problem) = finding {
//!         lines.push(problem.to_string());
//!     }
//! };
//! let whole = verify(store.open_file("a.lance", None).await?, VerifyOptions::default(), &mut report).await;
//! assert_eq!((whole.rows, whole.pages, whole.problems), (3, 1, 0));
//! verify(store.open_file("b.lance", None).await?, VerifyOptions::default(), &mut report).await;
//! assert!(lines.iter().all(|line| line.starts_with("memory://b.lance: ")));
//! # Ok(()) }
//! ```

mod checksums;
mod container;
mod problem;
mod regions;
mod rows;
mod targets;
mod values;
mod windows;

use std::sync::Arc;

use lance_encoding::DecodeBudget;
use lance_footer::{FormatError, Rows, Version};
use lance_io::ReadAt;

use crate::Schema;
use crate::reader::descriptor;
use problem::Report;
pub use problem::{Finding, Place, Problem, ProblemKind};
use targets::Columns;

/// What is known of a file from elsewhere, as a table knows its data files.
#[derive(Debug, Clone, Default)]
pub struct VerifyOptions {
    /// The schema that its fields are read with; without it, the one that the file has.
    pub schema: Option<Schema>,
    /// Which column each field is stored in, as (field id, column index). Without it, the fields that own a
    /// column have them in order. Columns that are not named are read with the file's own schema.
    pub columns: Option<Vec<(i32, u32)>>,
    /// How many rows it must have.
    pub rows: Option<u64>,
    /// The rows that count, if not all do: where others are null that must not be, it is no problem.
    pub live: Option<Rows>,
    /// The version that it must have.
    pub version: Option<Version>,
    /// How much memory decoding may take, as in [`OpenOptions::budget`](crate::OpenOptions::budget). A row or a lookup
    /// table that takes more is a problem of the kind [`ProblemKind::OverBudget`], since it was not checked; its line
    /// says how much was needed when decoding stopped. With a larger budget, files that are trusted are checked too.
    pub budget: DecodeBudget,
}

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Verified {
    /// Lance files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows, as far as they are known.
    pub rows: u64,
    /// Physical columns.
    pub columns: u64,
    /// Pages of these.
    pub pages: u64,
    /// Files that have checksums.
    pub checksummed: u64,
    /// How many problems were found.
    pub problems: u64,
}

impl Verified {
    /// Both together, the rows of both added.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            files: self.files.saturating_add(other.files),
            bytes: self.bytes.saturating_add(other.bytes),
            rows: self.rows.saturating_add(other.rows),
            columns: self.columns.saturating_add(other.columns),
            pages: self.pages.saturating_add(other.pages),
            checksummed: self.checksummed.saturating_add(other.checksummed),
            problems: self.problems.saturating_add(other.problems),
        }
    }
}

/// Reads all of `source` and tells `report` what is wrong with it, going on after each problem as far as
/// possible.
///
/// A page that claims many more rows than its bytes can tell apart is decoded at both ends only.
///
/// Like reading, it must be done within a Tokio runtime.
pub async fn verify(
    source: Arc<dyn ReadAt>,
    options: VerifyOptions,
    report: &mut (dyn FnMut(Finding) + Send),
) -> Verified {
    let mut report = Report::new(source.path(), report);
    report.total(source.size());
    let mut verified = Verified { files: 1, bytes: source.size(), ..Verified::default() };
    if let Some(survey) = container::survey(&source, &mut report).await {
        let own = survey.descriptor.as_ref().and_then(|(extent, bytes)| {
            let place = Place { bytes: Some(*extent), ..Place::default() };
            descriptor(bytes).map_err(|error| report.format(place, &error)).ok()
        });
        let length = own.as_ref().and_then(|(_, length)| *length);
        let own = own.map(|(schema, _)| schema);
        let (rows, version, budget) = (options.rows, options.version, options.budget);
        let live = options.live.clone();
        if let Some(version) = version.filter(|version| *version != survey.version()) {
            let reason = format!("it has version {}, but the manifest says {version}", survey.version());
            let bytes = survey.footer_extent();
            report.format(Place { bytes, ..Place::default() }, &FormatError::corrupt("data file", reason));
        }
        let columns = Columns::new(&survey, own, options, &mut report);
        container::check_columns(&survey, &columns, &mut report);
        regions::check(&survey, &columns, &mut report);
        verified.rows = rows::check(&survey, &columns, length, &mut report);
        if let Some(rows) = rows.filter(|rows| *rows != verified.rows && !survey.columns.is_empty()) {
            let reason = format!("{} rows, but the manifest says {rows}", verified.rows);
            report.format(Place::default(), &FormatError::corrupt("data file", reason));
        }
        verified.columns = survey.columns.len() as u64;
        let pages = survey.columns.iter().flatten().map(|column| column.survey.pages.len() as u64);
        verified.pages = pages.sum();
        verified.checksummed = u64::from(checksums::check(&source, &survey, &columns, &mut report).await);
        values::check(&source, &survey, &columns, budget, live.as_ref(), &mut report).await;
    }
    verified.problems = report.problems();
    verified
}
