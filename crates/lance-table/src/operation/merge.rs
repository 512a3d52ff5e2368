use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use bytes::Bytes;
use lance_file::proto::Field;
use lance_footer::Result;

use super::theirs::changes_schema_metadata;
use super::{Stored, Verdict, finish, flags_of, following};
use crate::proto::{DataFragment, transaction};
use crate::{Manifest, row_ids};

/// Adds columns: the schema grows, and fragments may get a data file each that has the new columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merge {
    /// All fragments of the table.
    pub(crate) fragments: Vec<DataFragment>,
    /// Ids of those whose rows got values.
    pub(crate) written: BTreeSet<u64>,
    pub(crate) fields: Vec<Field>,
    pub(crate) schema_metadata: BTreeMap<String, Bytes>,
    /// Whether no field became non-nullable, and no new one is.
    pub(crate) preserves_nullability: bool,
}

impl Merge {
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let mut next = following(previous, now)?;
        let stable = next.has_stable_row_ids();
        let message = &mut next.message;
        message.fragments.clone_from(&self.fragments);
        message.fields.clone_from(&self.fields);
        message.schema_metadata.clone_from(&self.schema_metadata);
        // Where ids are never used again, the highest one is written down.
        if let Some(highest) = &mut message.max_allocated_field_id {
            *highest = self.fields.iter().map(|field| field.id).fold(*highest, i32::max);
        }
        if stable {
            let written = message.fragments.iter_mut().filter(|one| self.written.contains(&one.id));
            written.for_each(|fragment| row_ids::set_updated(fragment, message.version));
        }
        finish(next, flags_of(previous))
    }

    /// The list of fragments is replaced as a whole, so nobody may have changed it.
    pub(crate) fn check(&self, other: &Stored) -> Verdict {
        match other {
            Stored::Append(_) => Verdict::Retry("rows were added, which lack the new columns"),
            Stored::Delete(_) | Stored::Update(_) => Verdict::Retry("rows were deleted or replaced"),
            Stored::Rewrite(_) | Stored::DataReplacement(_) => Verdict::Retry("rows were rewritten"),
            Stored::Merge(_) => Verdict::Retry("other columns were added"),
            Stored::Project(_) => Verdict::Conflict("columns were changed"),
            Stored::UpdateConfig(_) if changes_schema_metadata(other) => {
                Verdict::Retry("the metadata of the schema was changed")
            }
            Stored::Overwrite(_) => Verdict::Conflict("the table was overwritten"),
            Stored::Restore(_) => Verdict::Conflict("an older version was restored"),
            _ => Verdict::Keep,
        }
    }

    pub(crate) fn to_proto(&self) -> transaction::Merge {
        transaction::Merge {
            fragments: self.fragments.clone(),
            schema: self.fields.clone(),
            schema_metadata: self.schema_metadata.clone(),
            preserves_nullability: self.preserves_nullability,
        }
    }
}
