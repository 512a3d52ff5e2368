//! From the old names of manifests to the new ones.

use lance_footer::FormatError;
use lance_io::{IoError, Store};

use crate::manifest::Naming;
use crate::manifest::names::{self, VERSIONS};
use crate::{Result, Table, TableError};

impl Table {
    /// Gives the manifests of the table in `store` the names that sort newest first ([`Naming::V2`]), and says how many were
    /// renamed. Without that, finding the latest version of a table with V1 names takes a listing of all of them.
    ///
    /// Nobody may write to the table meanwhile; readers and writers that come in between get an error. If this is cut short
    /// nothing is lost, and doing it again mends it. Branches are tables of their own.
    pub async fn migrate_names(store: &Store) -> Result<usize> {
        let mut renamed = 0;
        // Again, for what a writer may have added under an old name.
        loop {
            let old = old_names(store).await?;
            if old.is_empty() {
                return Ok(renamed);
            }
            // The newest first: whoever sees only the first names of a listing, and there a new one, must take it for the
            // latest. Each is there under the new name before the old one goes, so that each version can be opened all the
            // time.
            for version in old.into_iter().rev() {
                rename(store, version).await?;
                renamed += 1;
            }
        }
    }
}

/// The versions that have old names, oldest first.
async fn old_names(store: &Store) -> Result<Vec<u64>> {
    let listed = store.list(VERSIONS).await?;
    let names = listed.iter().filter(|listed| !listed.is_dir).filter_map(|listed| names::parse(&listed.name));
    let mut names = names.peekable();
    if names.peek().is_none() {
        return Err(TableError::not_found(store, "table"));
    }
    let mut old: Vec<u64> =
        names.filter(|(_, naming)| *naming == Naming::V1).map(|(version, _)| version).collect();
    old.sort_unstable();
    Ok(old)
}

async fn rename(store: &Store, version: u64) -> Result<()> {
    let (from, to) = (Naming::V1.path(version), Naming::V2.path(version));
    let bytes = store.read_all(&from).await?;
    match store.put_if_absent(&to, bytes.clone()).await {
        Ok(()) => {}
        // Done before, but cut short; unless somebody made another version of that number.
        Err(IoError::AlreadyExists { .. }) if store.read_all(&to).await? == bytes => {}
        Err(IoError::AlreadyExists { .. }) => {
            let reason =
                format!("version {version} is there under its old and its new name, and they differ");
            return Err(TableError::format(store.location(&from), FormatError::corrupt("table", reason)));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(store.delete(&from).await?)
}
