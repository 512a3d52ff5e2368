//! Finding and reading manifests.

use bytes::Bytes;
use lance_io::{IoError, Listed, Store};

use super::names::{self, Naming, VERSIONS};
use super::{Manifest, flags};
use crate::{Result, TableError};

/// A manifest, and how its file is named.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) manifest: Manifest,
    pub(crate) naming: Naming,
    /// For errors.
    pub(crate) location: String,
}

/// The versions that there are, oldest first, and how they are named.
pub(crate) async fn list(store: &Store) -> Result<Option<(Vec<u64>, Naming)>> {
    among(store, &store.list(VERSIONS).await?)
}

/// The same of what was `listed` before.
pub(crate) fn among(store: &Store, listed: &[Listed]) -> Result<Option<(Vec<u64>, Naming)>> {
    let names = listed.iter().filter(|listed| !listed.is_dir).map(|listed| listed.name.as_str());
    select(names).map_err(|error| TableError::format(store.location(VERSIONS), error))
}

/// What the names of a listing say; none if there is no manifest among them.
fn select<'a>(
    names: impl Iterator<Item = &'a str>,
) -> Result<Option<(Vec<u64>, Naming)>, lance_footer::FormatError> {
    let (mut versions, mut seen) = (vec![], None);
    for (version, naming) in names.filter_map(names::parse) {
        if seen.is_some_and(|seen| seen != naming) {
            return Err(lance_footer::FormatError::corrupt(
                "table",
                "it mixes V1 and V2 manifest names, as a migration that was cut short leaves them; migrating again mends that",
            ));
        }
        seen = Some(naming);
        versions.push(version);
    }
    versions.sort_unstable();
    Ok(seen.map(|naming| (versions, naming)))
}

/// The latest version; none if there is no table.
pub(crate) async fn latest(store: &Store) -> Result<Option<Found>> {
    match number(store).await? {
        None => Ok(None),
        Some((version, naming)) => read(store, version, naming).await.map(Some),
    }
}

/// The number of the latest version; none if there is no table. V2 names have the newest first, so that it is seen in the
/// beginning of the listing where that can be had by itself.
pub(crate) async fn number(store: &Store) -> Result<Option<(u64, Naming)>> {
    if let Some((first, all)) = store.first(VERSIONS).await? {
        let names = first.iter().map(|listed| listed.name.as_str());
        let seen = select(names).map_err(|error| TableError::format(store.location(VERSIONS), error))?;
        if all || seen.as_ref().is_some_and(|(_, naming)| *naming == Naming::V2) {
            return Ok(newest(seen));
        }
    }
    Ok(newest(list(store).await?))
}

fn newest(seen: Option<(Vec<u64>, Naming)>) -> Option<(u64, Naming)> {
    let (versions, naming) = seen?;
    Some((*versions.last()?, naming))
}

/// The manifest of `version`.
pub(crate) async fn at(store: &Store, version: u64) -> Result<Found> {
    match read(store, version, Naming::V2).await {
        Err(TableError::Io(IoError::NotFound { .. })) => {}
        other => return other,
    }
    match read(store, version, Naming::V1).await {
        Err(TableError::Io(IoError::NotFound { .. })) => {
            Err(TableError::not_found(store, format!("version {version}")))
        }
        other => other,
    }
}

/// The manifest of `version`, whose name is known.
pub(crate) async fn read(store: &Store, version: u64, naming: Naming) -> Result<Found> {
    let bytes = store.read_all(&naming.path(version)).await?;
    parse(store, version, naming, &bytes)
}

/// The manifest of `version`, whose file has `bytes`.
pub(crate) fn parse(store: &Store, version: u64, naming: Naming, bytes: &Bytes) -> Result<Found> {
    let location = store.location(&naming.path(version));
    let manifest = Manifest::parse(bytes).map_err(|error| TableError::format(&location, error))?;
    if manifest.version() != version {
        let reason = format!("it says that it is of version {}", manifest.version());
        return Err(TableError::format(location, lance_footer::FormatError::corrupt("manifest", reason)));
    }
    Ok(Found { manifest, naming, location })
}

impl Found {
    /// An error if the table has features that this software cannot read.
    pub(crate) fn check_readable(&self) -> Result<()> {
        self.refuse("reading", flags::unreadable(&self.manifest.message))
    }

    /// An error if the table has features that this software cannot keep when it makes a next version.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_readable()?;
        self.refuse("writing to", flags::unwritable(&self.manifest.message))
    }

    fn refuse(&self, action: &'static str, features: Option<String>) -> Result<()> {
        let location = self.location.clone();
        match features {
            None => Ok(()),
            Some(features) => Err(TableError::RefusedFlags { location, action, features }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_version_is_the_latest() {
        let (first, second) = ("18446744073709551614.manifest", "18446744073709551613.manifest");
        let mixed = ["d9223372036854775813.manifest", second, ".tmp", "latest_version_hint.json", first];
        assert_eq!(select(mixed.into_iter()).unwrap(), Some((vec![1, 2], Naming::V2)));
        let old = ["9.manifest", "10.manifest", "1.manifest"];
        assert_eq!(select(old.into_iter()).unwrap(), Some((vec![1, 9, 10], Naming::V1)));
        assert_eq!(select(["latest_version_hint.json"].into_iter()).unwrap(), None);
        assert!(select([first, "2.manifest"].into_iter()).is_err());
    }
}
