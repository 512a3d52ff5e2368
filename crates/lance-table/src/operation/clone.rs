use std::time::SystemTime;

use lance_footer::Result;

use super::{corrupt, finish, flags_of, following};
use crate::Manifest;
use crate::proto::{BasePath, transaction};

/// Begins a branch or a table with the rows of a version, whose files stay where they are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShallowClone {
    /// The manifest of the version.
    pub(crate) source: Box<Manifest>,
    /// The root of its table, by a path or URL that does not depend on the current directory.
    pub(crate) path: String,
    /// The name of the new branch; none for a table of its own.
    pub(crate) branch: Option<String>,
}

impl ShallowClone {
    /// All is as it was, and has the same version number, but for where files lie.
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        if previous.is_some() {
            return Err(corrupt("a clone is not the first version"));
        }
        let mut next = following(Some(&self.source), now)?;
        let message = &mut next.message;
        message.version = self.source.version();
        let used = |id: &u32| message.base_paths.iter().any(|base| base.id == *id);
        let own = (0..=u32::MAX)
            .find(|id| !used(id))
            .ok_or_else(|| corrupt("the ids of base paths are used up"))?;
        message.base_paths.push(BasePath {
            id: own,
            name: message.branch.take(),
            is_dataset_root: true,
            path: self.path.clone(),
        });
        for fragment in &mut message.fragments {
            let files = fragment.files.iter_mut().map(|file| &mut file.base_id);
            let deletions = fragment.deletion_file.iter_mut().map(|file| &mut file.base_id);
            for base in files.chain(deletions) {
                base.get_or_insert(own);
            }
        }
        for index in &mut next.indices {
            index.base_id.get_or_insert(own);
        }
        next.message.branch.clone_from(&self.branch);
        finish(next, flags_of(Some(&self.source)))
    }

    pub(crate) fn to_proto(&self) -> transaction::Clone {
        transaction::Clone {
            is_shallow: true,
            ref_name: self.source.message.branch.clone(),
            ref_version: self.source.version(),
            ref_path: self.path.clone(),
            branch_name: self.branch.clone(),
        }
    }
}
