//! Sequences of operations on a table, drawn from a seed, and what it must hold after each: rows in memory are the truth.
//!
//! A [`Step`] is done by us or by the reference; the model works out for itself what comes of it, and then both read the
//! table.

pub mod draw;
pub mod formula;
pub mod look;
pub mod ours;
pub mod predicate;
pub mod sequence;
pub mod step;
pub mod theirs;
pub mod value;

use std::collections::BTreeMap;
use std::path::PathBuf;

use lance_footer::Version;
use lance_table::{At, Reference};

pub use step::Step;
pub use value::{Column, Kind, Value};

/// A row, and what a table with stable row ids says of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Of all columns.
    pub values: Vec<Value>,
    /// None if it was not read yet: in which order new rows get their ids is left open.
    pub id: Option<u64>,
    /// The version that it came with.
    pub created: u64,
    /// The version that wrote it for the last time.
    pub updated: u64,
}

impl Row {
    /// One that comes with `version`.
    pub const fn new(values: Vec<Value>, version: u64) -> Self {
        Self { values, id: None, created: version, updated: version }
    }
}

/// What one version holds.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// The schema.
    pub columns: Vec<Column>,
    /// In scan order.
    pub rows: Vec<Row>,
    /// The config of the table.
    pub config: BTreeMap<String, String>,
}

/// A table, a branch of it, or a clone.
#[derive(Debug, Clone)]
pub struct History {
    /// Where the table is that it belongs to.
    pub path: PathBuf,
    /// The branch; none for the table itself.
    pub branch: Option<String>,
    /// The branch that it began at.
    pub parent: Option<String>,
    /// The version that it began at.
    pub began: u64,
    /// All versions that there are.
    pub versions: BTreeMap<u64, Content>,
    /// All ids of rows in it are less.
    pub ids: u64,
}

impl History {
    /// The number of the latest version.
    pub fn last(&self) -> u64 {
        *self.versions.last_key_value().unwrap().0
    }

    /// The latest version.
    pub fn latest(&self) -> &Content {
        self.versions.last_key_value().unwrap().1
    }

    /// The latest version, or another, as it is opened.
    pub fn reference(&self, version: Option<u64>) -> Reference {
        Reference { branch: self.branch.clone(), at: version.map_or(At::Latest, At::Version) }
    }
}

/// A table with its branches and clones.
#[derive(Debug, Clone)]
pub struct Model {
    /// Of the files.
    pub version: Version,
    /// Whether its manifests have the old kind of names.
    pub old_names: bool,
    /// Whether rows keep their ids.
    pub stable: bool,
    /// The table itself comes first.
    pub histories: Vec<History>,
    /// Names for versions of the table and its branches.
    pub tags: BTreeMap<String, (Option<String>, u64)>,
}

impl Model {
    /// Whether `history` is the table itself or one of its branches.
    pub fn is_own(&self, history: usize) -> bool {
        self.histories[history].path == self.histories[0].path
    }

    /// What belongs to `branch` of the table.
    pub fn of_branch(&self, branch: Option<&str>) -> &History {
        self.histories.iter().find(|history| history.branch.as_deref() == branch).unwrap()
    }

    /// Which versions of `history` tags and branches hold.
    pub fn held(&self, history: usize) -> Vec<u64> {
        if !self.is_own(history) {
            return vec![];
        }
        let own = &self.histories[history].branch;
        let tags = self.tags.values().filter(|(branch, _)| branch == own).map(|(_, version)| *version);
        let branches = self.histories.iter().filter(|other| other.branch.is_some() && other.parent == *own);
        tags.chain(branches.map(|other| other.began)).collect()
    }
}
