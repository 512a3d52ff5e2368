//! Other versions, and files that no version refers to.

use std::collections::BTreeSet;

use lance_io::Store;

use super::{ProblemKind, Report};
use crate::manifest::Manifest;
use crate::manifest::files::Which;
use crate::manifest::latest::{self, Found};

/// Reads the manifests of `versions` other than `found`, and notes what none of them refers to.
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
    // What a manifest that cannot be read refers to is not known.
    if !all_known {
        return;
    }
    for directory in ["data", "_deletions", "_transactions", "_indices"] {
        let listed = match store.list(directory).await {
            Ok(listed) => listed,
            Err(error) => {
                report.io(store.location(directory), error);
                continue;
            }
        };
        for entry in listed {
            // Blobs lie in directories that are named after their data file.
            let path = format!("{directory}/{}", entry.name);
            let owner = match entry.is_dir && directory == "data" {
                true => format!("{path}.lance"),
                false => path.clone(),
            };
            if !referenced.contains(&owner) {
                report.note(store.location(&path), ProblemKind::Unreferenced, "no version refers to it");
            }
        }
    }
}
