//! Other versions, and files that no version refers to.

use std::collections::BTreeSet;

use lance_io::Store;

use super::{ProblemKind, Report};
use crate::manifest::Manifest;
use crate::manifest::files::Which;
use crate::manifest::latest::{self, Found};
use crate::owners::{FILES, detached, files_in, of_branch, other_roots};
use crate::{Result, TableError, refs};

/// Reads the manifests of `versions` other than `found`, and notes what none of them refers to, nor a branch.
pub(super) async fn check(store: &Store, found: &Found, versions: &[u64], report: &mut Report<'_>) {
    let mut referenced = BTreeSet::new();
    // What a file is called that is not known is told where its fragment is looked at.
    let mut add = |manifest: &Manifest| referenced.extend(manifest.files(Which::Own).flatten());
    add(&found.manifest);
    let mut all_known = true;
    for version in versions.iter().filter(|version| **version != found.manifest.version()) {
        match latest::read(store, *version, found.naming).await {
            Ok(other) => add(&other.manifest),
            Err(error) => {
                all_known = false;
                report.error(store.location(&found.naming.path(*version)), error);
            }
        }
    }
    match of_others(store, found).await {
        Ok(others) => referenced.extend(others),
        // Branches are looked at by themselves; what some of their versions refer to is just not known here.
        Err(TableError::RefusedFlags { .. }) => all_known = false,
        Err(error) => {
            all_known = false;
            report.error(store.location("tree"), error);
        }
    }
    // What a manifest that cannot be read refers to is not known.
    if !all_known {
        return;
    }
    for directory in FILES {
        let stored = match files_in(store, directory).await {
            Ok(stored) => stored,
            Err(error) => {
                report.io(store.location(directory), error);
                continue;
            }
        };
        for file in stored.iter().filter(|file| !referenced.contains(&file.owner)) {
            report.note(store.location(&file.path), ProblemKind::Unreferenced, "no version refers to it");
        }
    }
}

/// What versions outside of the history refer to, and those of other branches.
async fn of_others(store: &Store, found: &Found) -> Result<Vec<String>> {
    let mut files = detached(store).await?;
    let branch = found.manifest.message.branch.as_deref();
    for root in other_roots(&refs::main_root(store, found)?, branch).await? {
        files.extend(of_branch(&root).await?.into_iter().flatten());
    }
    Ok(files)
}
