//! Reads everything of a version of a table and says all that is wrong with it.
//!
//! ```text
//! manifest      its flags, schema and fragments against each other, its transaction
//! fragments     each data file as `lance_file::verify` does, with the rows, the version and the columns that the
//!               manifest says; deletion files; row ids
//! indices       their files are there
//! other files   manifests of other versions; files that no version refers to; what tags and branches name
//! ```
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use arrow_array::record_batch;
//! use lance_io::Store;
//! use lance_table::verify::{Finding, VerifyOptions, verify};
//! use lance_table::{Table, WriteOptions};
//!
//! let store = Store::memory();
//! let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
//! let table = Table::write(store.clone(), vec![batch].into(), WriteOptions::default()).await?;
//! store.delete(&format!("data/{}", table.fragments()[0].files()[0].path)).await?;
//!
//! let mut lines = vec![];
//! let mut report = |finding| {
//!     if let Finding::Problem(problem) = finding {
//!         lines.push(problem.to_string());
//!     }
//! };
//! let verified = verify(&store, VerifyOptions::default(), &mut report).await?;
//! assert_eq!(verified.problems, 1);
//! assert!(lines[0].ends_with("a file that the manifest lists is not there"), "{}", lines[0]);
//! # Ok(()) }
//! ```

mod fragments;
mod leftovers;
mod manifest;

use lance_footer::FormatError;
use lance_io::Store;

#[doc(no_inline)]
pub use lance_file::verify::{Finding, Place, Problem, ProblemKind, Verified};

use crate::manifest::latest::{self, Found};
use crate::refs;
use crate::{DecodeBudget, Result, TableError};

/// What of a table is verified, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerifyOptions {
    /// The version; none for the latest.
    pub version: Option<u64>,
    /// How much memory decoding may take: see [`lance_file::verify::VerifyOptions::budget`].
    pub budget: DecodeBudget,
}

/// Reads all of the latest version of the table in `store`, or of the one asked for, and tells `report` what is
/// wrong with it, going on after each problem as far as possible.
///
/// Without a version the manifests of the others are looked at too, and so are files that none refers to: these
/// are told as notes, since a writer that failed may leave some.
///
/// An error if there is no such table or version.
pub async fn verify(
    store: &Store,
    options: VerifyOptions,
    report: &mut (dyn FnMut(Finding) + Send),
) -> Result<Verified> {
    let VerifyOptions { version, budget } = options;
    let mut report = Report { out: report, verified: Verified::default() };
    let (versions, naming) = match latest::list(store).await {
        Ok(Some(found)) => found,
        Ok(None) => return Err(TableError::NotFound { location: store.location(""), what: "table".into() }),
        // Mixed names: which is the latest cannot be told, unless somebody says it.
        Err(TableError::Format { path, source }) if version.is_some() => {
            report.format(path, &source);
            (vec![], crate::Naming::default())
        }
        Err(TableError::Format { path, source }) => {
            report.format(path, &source);
            return Ok(report.verified);
        }
        Err(error) => return Err(error),
    };
    let Some(chosen) = version.or_else(|| versions.last().copied()) else { return Ok(report.verified) };
    let found = match version {
        Some(version) => latest::at(store, version).await,
        None => latest::read(store, chosen, naming).await,
    };
    match found {
        Ok(found) => {
            manifest::check(store, &found, &mut report).await;
            fragments::check(store, &found, budget, &mut report).await;
            if version.is_none() {
                leftovers::check(store, &found, &versions, &mut report).await;
                check_names(store, &found, &mut report).await;
            }
        }
        Err(error @ TableError::NotFound { .. }) => return Err(error),
        Err(error) => report.error(store.location("_versions"), error),
    }
    Ok(report.verified)
}

/// Checks that what tags and branches name is there. They lie at the root of the table, not at those of branches.
async fn check_names(store: &Store, found: &Found, report: &mut Report<'_>) {
    if found.manifest.message.branch.is_some() {
        return;
    }
    let dangling = match refs::dangling(store).await {
        Ok(dangling) => dangling,
        Err(error) => return report.error(store.location("_refs"), error),
    };
    for (path, wrong) in dangling {
        match wrong {
            Ok(what) => {
                report.problem(store.location(&path), ProblemKind::Missing, format!("{what} is not there"));
            }
            Err(error) => report.error(store.location(&path), error),
        }
    }
}

/// Tells problems, and counts.
struct Report<'a> {
    out: &'a mut (dyn FnMut(Finding) + Send),
    verified: Verified,
}

impl Report<'_> {
    fn problem(&mut self, path: impl Into<String>, kind: ProblemKind, reason: impl Into<String>) {
        self.verified.problems += 1;
        (self.out)(Finding::Problem(problem(path, kind, reason)));
    }

    fn note(&mut self, path: impl Into<String>, kind: ProblemKind, reason: impl Into<String>) {
        (self.out)(Finding::Note(problem(path, kind, reason)));
    }

    fn corrupt(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        self.problem(path, ProblemKind::Corrupt, reason);
    }

    fn format(&mut self, path: impl Into<String>, error: &FormatError) {
        self.problem(path, error.into(), error.to_string());
    }

    /// An error about the file at `path`, unless it names another.
    fn error(&mut self, path: String, error: TableError) {
        match error {
            TableError::Format { path, source } => self.format(path, &source),
            TableError::Io(error) => self.io(path, error),
            TableError::RefusedFlags { .. } => {
                self.problem(path, ProblemKind::Unsupported, error.to_string());
            }
            error => self.corrupt(path, error.to_string()),
        }
    }

    fn io(&mut self, path: String, error: lance_io::IoError) {
        match error {
            lance_io::IoError::NotFound { path } => {
                self.problem(path, ProblemKind::Missing, "a file that the manifest lists is not there");
            }
            lance_io::IoError::Format { path, source } => self.format(path, &source),
            error => self.problem(path, ProblemKind::Unreadable, error.to_string()),
        }
    }
}

fn problem(path: impl Into<String>, kind: ProblemKind, reason: impl Into<String>) -> Problem {
    Problem { path: path.into(), place: Place::default(), kind, reason: reason.into() }
}
