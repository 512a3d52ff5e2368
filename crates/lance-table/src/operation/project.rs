use std::collections::BTreeSet;
use std::time::SystemTime;

use lance_file::proto::Field;
use lance_footer::Result;

use super::theirs::supplies_values;
use super::{Stored, Verdict, finish, flags_of, following};
use crate::Manifest;
use crate::proto::{DataFile, transaction};

/// Drops or renames columns, or changes whether they are nullable: only the schema changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Project {
    pub(crate) fields: Vec<Field>,
    /// Whether no field became non-nullable.
    pub(crate) preserves_nullability: bool,
}

impl Project {
    /// Files without any field that is left go out of the fragments, unless there were no other.
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let mut next = following(previous, now)?;
        let message = &mut next.message;
        message.fields.clone_from(&self.fields);
        let left = self.fields.iter().map(|field| field.id).collect::<BTreeSet<_>>();
        for fragment in &mut message.fragments {
            let used = |file: &DataFile| file.fields.iter().any(|field| left.contains(field));
            // A fragment without any file cannot be read by other software: one that costs little stays.
            let smallest = fragment.files.iter().min_by_key(|file| file.file_size_bytes).cloned();
            fragment.files.retain(used);
            if fragment.files.is_empty() {
                fragment.files.extend(smallest);
            }
        }
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
