//! Other versions, and files that no version refers to.

use std::collections::BTreeSet;

use lance_io::Store;

use super::{ProblemKind, Report};
use crate::deletion;
use crate::manifest::Manifest;
use crate::manifest::latest::{self, Found};

/// What the manifests of a table refer to below its root.
#[derive(Default)]
struct Referenced {
    data: BTreeSet<String>,
    deletions: BTreeSet<String>,
    transactions: BTreeSet<String>,
    indices: BTreeSet<String>,
}

/// Reads the manifests of `versions` other than `found`, and notes what none of them refers to.
pub(super) async fn check(store: &Store, found: &Found, versions: &[u64], report: &mut Report<'_>) {
    let mut referenced = Referenced::default();
    referenced.add(&found.manifest);
    let mut all_known = true;
    for version in versions.iter().filter(|version| **version != found.manifest.version()) {
        match latest::read(store, *version, found.naming).await {
            Ok(other) => referenced.add(&other.manifest),
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
    for (directory, known) in [
        ("data", &referenced.data),
        ("_deletions", &referenced.deletions),
        ("_transactions", &referenced.transactions),
        ("_indices", &referenced.indices),
    ] {
        let listed = match store.list(directory).await {
            Ok(listed) => listed,
            Err(error) => {
                report.io(store.location(directory), error);
                continue;
            }
        };
        for entry in listed {
            // Blobs lie in directories that are named after their data file.
            let name = if entry.is_dir && directory == "data" {
                format!("{}.lance", entry.name)
            } else {
                entry.name.clone()
            };
            if !known.contains(&name) {
                let path = store.location(&format!("{directory}/{}", entry.name));
                report.note(path, ProblemKind::Unreferenced, "no version refers to it");
            }
        }
    }
}

impl Referenced {
    fn add(&mut self, manifest: &Manifest) {
        let message = &manifest.message;
        for fragment in &message.fragments {
            let files = fragment.files.iter().filter(|file| file.base_id.is_none());
            self.data.extend(files.map(|file| file.path.clone()));
            let deletion = fragment.deletion_file.as_ref().filter(|file| file.base_id.is_none());
            let path = deletion.and_then(|file| deletion::path(fragment.id, file).ok());
            let name = path.and_then(|path| Some(path.rsplit_once('/')?.1.to_string()));
            self.deletions.extend(name);
        }
        self.transactions.insert(message.transaction_file.clone());
        for index in &manifest.indices {
            let uuid = index.uuid.as_ref().map(|uuid| uuid.uuid.as_ref()).unwrap_or_default();
            self.indices.extend(uuid::Uuid::from_slice(uuid).map(|uuid| uuid.to_string()));
        }
    }
}
