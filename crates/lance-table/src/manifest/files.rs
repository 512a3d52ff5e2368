//! The files that a manifest refers to.

use lance_footer::{FormatError, Result};
use uuid::Uuid;

use super::Manifest;
use crate::deletion;

/// Which of the files that a manifest refers to are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those below the root of its table.
    Own,
    /// Those below other roots, too, as if they lay below its own.
    All,
}

impl Manifest {
    /// The paths of the files that it refers to, and of the directories of its indices; an error for each that is not known.
    pub(crate) fn files(&self, which: Which) -> impl Iterator<Item = Result<String>> + '_ {
        let meant = move |base: Option<u32>| which == Which::All || base.is_none();
        let fragments = self.message.fragments.iter();
        let files = fragments.clone().flat_map(|fragment| &fragment.files);
        let data =
            files.filter(move |file| meant(file.base_id)).map(|file| Ok(format!("data/{}", file.path)));
        let deletions = fragments.filter_map(move |fragment| {
            let file = fragment.deletion_file.as_ref().filter(|file| meant(file.base_id))?;
            Some(deletion::path(fragment.id, file))
        });
        let name = Some(&self.message.transaction_file).filter(|name| !name.is_empty());
        let transaction = name.map(|name| Ok(format!("_transactions/{name}")));
        let indices = self.indices.iter().filter(move |index| meant(index.base_id)).map(|index| {
            let bytes = index.uuid.as_ref().map(|uuid| uuid.uuid.as_ref()).unwrap_or_default();
            let uuid = Uuid::from_slice(bytes).map_err(|_| {
                FormatError::corrupt("manifest", format!("the id of index {:?} is no UUID", index.name))
            })?;
            Ok(format!("_indices/{uuid}"))
        });
        let overlays = self.message.fragments.iter().filter(|fragment| !fragment.overlays.is_empty());
        let overlays = overlays.map(|_| Err(FormatError::unsupported("data overlay files")));
        data.chain(deletions).chain(transaction).chain(indices).chain(overlays)
    }
}
