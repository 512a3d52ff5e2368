//! Names for versions: tags and branches (docs/format/table.md §14).
//!
//! ```text
//! _refs/tags/train-v1.json        branch and version; it can be changed
//! _refs/branches/exp%2Fa.json     where the branch exp/a began
//! tree/exp/a/                     the branch: a table of its own, whose files are partly those of where it began
//! ```
//!
//! Both kinds of files lie at the root of the table itself, not at that of a branch.

use std::time::SystemTime;

use futures::{StreamExt, TryStreamExt, stream};
use lance_footer::FormatError;
use lance_io::{IoError, Store};

use crate::manifest::latest::{self, Found};
use crate::table::CONCURRENT;
use crate::{OpenOptions, Result, Table, TableError};

mod branch;
mod file;
mod migrate;
mod name;
mod tag;

pub use branch::Branch;
pub(crate) use branch::list as branches;
pub(crate) use name::DIRECTORIES;
pub use tag::Tag;

/// Which version of a table is meant. By default the latest one, outside of branches.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use arrow_array::record_batch;
/// use lance_io::Store;
/// use lance_table::{At, OpenOptions, Reference, Table, WriteMode, WriteOptions};
///
/// let store = Store::memory();
/// let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
/// let first = Table::write(store.clone(), vec![batch.clone()].into(), WriteOptions::default()).await?;
/// first.create_tag("train-v1").await?;
/// let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
/// first.write_after(vec![batch].into(), more).await?;
///
/// let tagged = Reference { at: At::Tag("train-v1".into()), ..Default::default() };
/// let table = Table::open_at(store, &tagged, OpenOptions::default()).await?;
/// assert_eq!((table.version(), table.rows()), (1, 3));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reference {
    /// The branch. None, or `main`, for the table itself.
    pub branch: Option<String>,
    /// Which of its versions.
    pub at: At,
}

/// One of the versions of a table or branch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum At {
    /// The latest.
    #[default]
    Latest,
    /// The one with this number.
    Version(u64),
    /// The one that a tag names, which says the branch too.
    Tag(String),
    /// The newest that was committed at this time or before.
    Time(SystemTime),
}

impl Reference {
    /// Where it leads from the table in `store`: the root of the table or branch, and the version; none for the latest.
    pub async fn resolve(&self, store: &Store) -> Result<(Store, Option<u64>)> {
        let branch = self.branch.as_deref().filter(|branch| *branch != name::MAIN);
        if let At::Tag(tag) = &self.at {
            let tag = tag::read(store, tag).await?;
            if branch.is_some() && branch != tag.branch.as_deref() {
                let own = tag.branch.as_deref().unwrap_or(name::MAIN);
                let reason =
                    format!("tag {:?} is of the branch {own:?}: a tag says the branch itself", tag.name);
                return Err(TableError::invalid(reason));
            }
            return Ok((root(store, tag.branch.as_deref()), Some(tag.version)));
        }
        if let Some(branch) = branch {
            branch::read(store, branch).await?;
        }
        let root = root(store, branch);
        let version = match &self.at {
            At::Version(version) => Some(*version),
            At::Time(time) => Some(committed_by(&root, *time).await?),
            At::Latest | At::Tag(_) => None,
        };
        Ok((root, version))
    }
}

impl Table {
    /// Opens the version of the table in `store` that `reference` means; `options` say how, but for the version.
    pub async fn open_at(store: Store, reference: &Reference, options: OpenOptions) -> Result<Self> {
        let (root, version) = reference.resolve(&store).await?;
        let opened = Self::open_with(root, OpenOptions { version, ..options }).await;
        opened.map_err(|error| match (error, &reference.at) {
            (TableError::NotFound { location, what }, At::Tag(tag)) => {
                TableError::NotFound { location, what: format!("{what}, which tag {tag:?} names,") }
            }
            (error, _) => error,
        })
    }

    /// The branch that this is a version of; none for the table itself.
    pub fn branch(&self) -> Option<&str> {
        self.manifest().message.branch.as_deref()
    }

    /// The root of the table itself, also if this is a branch of it.
    pub fn main_root(&self) -> Result<Store> {
        main_root(self.store(), &self.shared.found)
    }

    /// An error if a clean-up has removed this version since it was opened.
    async fn still_there(&self) -> Result<()> {
        match self.manifest_size().await {
            Err(TableError::Io(IoError::NotFound { .. })) => {
                Err(TableError::not_found(self.store(), format!("version {}", self.version())))
            }
            size => size.map(drop),
        }
    }

    /// How many bytes the manifest of this version has; an error if it was removed meanwhile.
    async fn manifest_size(&self) -> Result<u64> {
        let path = self.shared.found.naming.path(self.version());
        Ok(self.store().open_file(&path, None).await?.size())
    }
}

/// The root of the table that `found` in `store` is a version of, or a version of a branch.
pub(crate) fn main_root(store: &Store, found: &Found) -> Result<Store> {
    let Some(branch) = found.manifest.message.branch.as_deref() else { return Ok(store.clone()) };
    store.above(&tree(branch)).ok_or_else(|| {
        let reason =
            format!("it says that it is the branch {branch:?}, but does not lie in {}", tree(branch));
        TableError::format(&found.location, FormatError::corrupt("manifest", reason))
    })
}

/// The files of tags and branches of the table in `main` that are not as they should be: which version or branch they name
/// that there is not, or what else is wrong.
pub(crate) async fn dangling(main: &Store) -> Result<Vec<(String, Result<String>)>> {
    let mut found = vec![];
    for (path, tag) in tag::list_each(main).await? {
        match tag {
            Err(error) => found.push((path, Err(error))),
            Ok(tag) => {
                let opened = latest::at(&root(main, tag.branch.as_deref()), tag.version).await;
                if let Err(TableError::NotFound { what, .. }) = opened {
                    found.push((path, Ok(what)));
                }
            }
        }
    }
    for (path, branch) in branch::list_each(main).await? {
        match branch {
            Err(error) => found.push((path, Err(error))),
            Ok(branch) => {
                if let Ok(None) = latest::number(&root(main, Some(&branch.name))).await {
                    found.push((path, Ok("a version of the branch".into())));
                }
            }
        }
    }
    Ok(found)
}

/// The number of the newest version in `root` that was committed at `time` or before. Clocks differ, so that numbers may
/// not be in the order of times.
async fn committed_by(root: &Store, time: SystemTime) -> Result<u64> {
    let (versions, naming) = latest::list(root).await?.ok_or_else(|| TableError::not_found(root, "table"))?;
    let found = versions.into_iter().rev().map(|version| latest::read(root, version, naming));
    let mut found = stream::iter(found).buffered(CONCURRENT);
    while let Some(found) = found.try_next().await? {
        if found.manifest.timestamp() <= time {
            return Ok(found.manifest.version());
        }
    }
    Err(TableError::not_found(root, "version of that time or before"))
}

/// The root of `branch` of the table in `store`.
fn root(store: &Store, branch: Option<&str>) -> Store {
    match branch.filter(|branch| *branch != name::MAIN) {
        None => store.clone(),
        Some(branch) => store.child(&tree(branch)),
    }
}

/// The directory of `branch`.
pub(crate) fn tree(branch: &str) -> String {
    format!("tree/{branch}")
}

#[cfg(test)]
mod tests;
