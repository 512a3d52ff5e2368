use std::collections::BTreeSet;
use std::time::SystemTime;

use lance_file::proto::Field;
use lance_footer::Result;

use super::theirs::supplies_values;
use super::{Stored, Verdict, finish, flags_of, following};
use crate::Manifest;
use crate::proto::{DataFragment, transaction};

/// Drops or renames columns, or changes whether they are nullable: only the schema changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Project {
    pub(crate) fields: Vec<Field>,
    /// Whether no field became non-nullable.
    pub(crate) preserves_nullability: bool,
}

impl Project {
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let mut next = following(previous, now)?;
        let message = &mut next.message;
        message.fields.clone_from(&self.fields);
        let left = self.fields.iter().map(|field| field.id).collect();
        message.fragments.iter_mut().for_each(|fragment| keep_used(fragment, &left));
        finish(next, flags_of(previous))
    }

    pub(crate) fn check(&self, other: &Stored) -> Verdict {
        match other {
            _ if supplies_values(other) && !self.preserves_nullability => {
                Verdict::Retry("values were added that may be null")
            }
            Stored::Merge(_) | Stored::Project(_) => Verdict::Retry("other columns were changed"),
            Stored::UpdateConfig(_) if super::theirs::changes_schema_metadata(other) => {
                Verdict::Retry("the metadata of fields was changed")
            }
            Stored::Overwrite(_) => Verdict::Conflict("the table was overwritten"),
            Stored::Restore(_) => Verdict::Conflict("an older version was restored"),
            _ => Verdict::Keep,
        }
    }

    pub(crate) fn to_proto(&self) -> transaction::Project {
        transaction::Project {
            schema: self.fields.clone(),
            preserves_nullability: self.preserves_nullability,
        }
    }
}

/// Takes those files out of `fragment` that have none of the fields `left`; one of them stays if there is no other, since
/// other software cannot read a fragment without files.
pub(crate) fn keep_used(fragment: &mut DataFragment, left: &BTreeSet<i32>) {
    let smallest = fragment.files.iter().min_by_key(|file| file.file_size_bytes).cloned();
    fragment.files.retain(|file| file.fields.iter().any(|field| left.contains(field)));
    if fragment.files.is_empty() {
        fragment.files.extend(smallest);
    }
}
