//! Which files are there, and which manifests need them: what clean-up and verification have in common.

use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt, stream};
use lance_footer::FormatError;
use lance_io::{IoError, Listed, Store};
use uuid::Uuid;

use crate::manifest::files::Which;
use crate::manifest::latest::{self, Found};
use crate::manifest::names::{self, VERSIONS};
use crate::refs::{self, DIRECTORIES, tree};
use crate::table::CONCURRENT;
use crate::{Manifest, Naming, Result, TableError};

/// The directories of what manifests refer to.
pub(crate) const FILES: [&str; 4] = ["data", "_deletions", "_transactions", "_indices"];

/// A file that is there.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) listed: Listed,
    /// Its path, below the root of the table.
    pub(crate) path: String,
    /// The path by which manifests know it: of a blob that of its data file, of a file of an index that of the index.
    pub(crate) owner: String,
    /// Whether it is of a kind that manifests refer to.
    pub(crate) known: bool,
}

impl Stored {
    fn new(listed: Listed, directory: &str, owner: Option<String>, known: bool) -> Self {
        let path = format!("{directory}/{}", listed.name);
        Self { owner: owner.unwrap_or_else(|| path.clone()), listed, path, known }
    }
}

/// The files in `directory`, one of [`FILES`], and below.
pub(crate) async fn files_in(store: &Store, directory: &str) -> Result<Vec<Stored>, IoError> {
    let extensions = match directory {
        "data" => &[".lance"][..],
        "_deletions" => &[".arrow", ".bin"],
        "_transactions" => &[".txn"],
        _ => &[],
    };
    let mut files = vec![];
    for listed in store.list(directory).await? {
        let path = format!("{directory}/{}", listed.name);
        match (listed.is_dir, directory) {
            // Blobs live and die with the data file that they are of.
            (true, "data") => {
                for blob in store.list(&path).await?.into_iter().filter(|blob| !blob.is_dir) {
                    let known = blob.name.ends_with(".blob");
                    files.push(Stored::new(blob, &path, Some(format!("{path}.lance")), known));
                }
            }
            (true, "_indices") => {
                let known = Uuid::try_parse(&listed.name).is_ok_and(|uuid| uuid.to_string() == listed.name);
                of_index(store, path, known, &mut files).await?;
            }
            (true, _) | (false, "_indices") => {}
            (false, _) => {
                let known = extensions.iter().any(|extension| listed.name.ends_with(extension));
                files.push(Stored::new(listed, directory, None, known));
            }
        }
    }
    Ok(files)
}

/// All files of the index in the directory `index`.
async fn of_index(store: &Store, index: String, known: bool, files: &mut Vec<Stored>) -> Result<(), IoError> {
    let mut directories = vec![index.clone()];
    while let Some(directory) = directories.pop() {
        for below in store.list(&directory).await? {
            match below.is_dir {
                true => directories.push(format!("{directory}/{}", below.name)),
                false => files.push(Stored::new(below, &directory, Some(index.clone()), known)),
            }
        }
    }
    Ok(())
}

/// The files that a version needs.
pub(crate) fn files(found: &Found, which: Which) -> Result<Vec<String>> {
    let files = found.manifest.files(which).collect::<Result<_, FormatError>>();
    files.map_err(|error| TableError::format(&found.location, error))
}

/// The manifest of `version`; none if it was removed meanwhile.
pub(crate) async fn read(store: &Store, version: u64, naming: Naming) -> Result<Option<Found>> {
    match latest::read(store, version, naming).await {
        // What it has beyond what is known here may need files.
        Ok(found) => found.check_writable().map(|()| Some(found)),
        Err(TableError::Io(IoError::NotFound { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The files that versions outside of the history need.
pub(crate) async fn detached(store: &Store) -> Result<Vec<String>> {
    detached_among(store, &store.list(VERSIONS).await?).await
}

/// The same of what was `listed` before.
pub(crate) async fn detached_among(store: &Store, listed: &[Listed]) -> Result<Vec<String>> {
    let mut needed = vec![];
    for name in listed.iter().filter(|listed| names::is_detached(&listed.name)).map(|listed| &listed.name) {
        let path = format!("{VERSIONS}/{name}");
        let location = store.location(&path);
        let manifest = match store.read_all(&path).await {
            Ok(bytes) => Manifest::parse(&bytes).map_err(|error| TableError::format(&location, error))?,
            Err(IoError::NotFound { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        let found = Found { manifest, naming: Naming::default(), location };
        found.check_writable()?;
        needed.extend(files(&found, Which::Own)?);
    }
    Ok(needed)
}

/// The files that the versions of the branch in `root` need. Which of them are its own, and which those of where it began,
/// is said by base paths, which may be written in many ways; names are unique. None if there is no version, as of a branch
/// that is being made.
pub(crate) async fn of_branch(root: &Store) -> Result<Option<BTreeSet<String>>> {
    let Some((versions, naming)) = latest::list(root).await? else { return Ok(None) };
    let (mut needed, mut any) = (BTreeSet::new(), false);
    let read = versions.into_iter().map(|version| read(root, version, naming));
    let mut read = stream::iter(read).buffer_unordered(CONCURRENT);
    while let Some(found) = read.try_next().await? {
        if let Some(found) = found {
            needed.extend(files(&found, Which::All)?);
            any = true;
        }
    }
    needed.extend(detached(root).await?);
    Ok(any.then_some(needed))
}

/// The roots of all branches of the table in `main` but the branch `own`, also of ones that are being made and have no name
/// yet.
pub(crate) async fn other_roots(main: &Store, own: Option<&str>) -> Result<Vec<Store>> {
    let branches = refs::branches(main).await?;
    let mut trees = branches.iter().map(|branch| tree(&branch.name)).collect::<BTreeSet<_>>();
    let mut directories = vec!["tree".to_string()];
    while let Some(directory) = directories.pop() {
        for below in main.list(&directory).await?.into_iter().filter(|listed| listed.is_dir) {
            if below.name == VERSIONS {
                trees.insert(directory.clone());
            } else if !DIRECTORIES.contains(&below.name.as_str()) {
                directories.push(format!("{directory}/{}", below.name));
            }
        }
    }
    let own = own.map(tree);
    let others = trees.into_iter().filter(|tree| own.as_ref() != Some(tree));
    Ok(others.map(|tree| main.child(&tree)).collect())
}
