//! Whether a path or URL names a table or one file.

use std::sync::Arc;

use anyhow::{Result, bail};
use demilance::io::{IoError, ReadAt, Store};

/// What is there.
#[derive(Debug)]
pub(crate) enum Place {
    /// A directory with versions.
    Table(Store),
    /// One Lance file, opened.
    File(Arc<dyn ReadAt>),
}

impl Place {
    /// Looks at `path`.
    pub(crate) async fn find(path: &str) -> Result<Self> {
        let store = store(path)?;
        if is_table(&store).await? {
            return Ok(Self::Table(store));
        }
        if local(path).is_some_and(std::path::Path::is_dir) {
            bail!("{path}: not a Lance table, the directory has no versions");
        }
        match store.open_file("", None).await {
            Ok(file) => Ok(Self::File(file)),
            Err(IoError::NotFound { .. }) => bail!("{path}: no such table or file"),
            Err(error) => Err(error.into()),
        }
    }
}

/// The store at `path`. What an object store needs to know, such as keys, comes from the environment.
pub(crate) fn store(path: &str) -> Result<Store> {
    let variables = std::env::vars_os();
    let texts =
        variables.filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
    Ok(Store::open_with(path, texts)?)
}

/// Whether `store` has the directory of versions that every table has.
pub(crate) async fn is_table(store: &Store) -> Result<bool> {
    if let Ok(Some((first, _))) = store.first("_versions").await {
        return Ok(!first.is_empty());
    }
    Ok(match store.list("_versions").await {
        Ok(versions) => !versions.is_empty(),
        // What is below a file cannot be listed.
        Err(IoError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotADirectory => false,
        Err(error) => return Err(error.into()),
    })
}

/// The local path that `path` is, unless it is a URL.
pub(crate) fn local(path: &str) -> Option<&std::path::Path> {
    (!path.contains("://")).then(|| std::path::Path::new(path))
}
