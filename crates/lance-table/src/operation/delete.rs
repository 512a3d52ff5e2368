use std::time::SystemTime;

use lance_footer::Result;

use super::{DeletedRows, Stored, Verdict, finish, flags_of, following};
use crate::Manifest;
use crate::proto::transaction;

/// Deletes rows: they stay in their files, and a deletion file lists them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Delete {
    pub(crate) rows: DeletedRows,
    /// What the rows had in common, for people.
    pub(crate) predicate: String,
}

impl Delete {
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let mut next = following(previous, now)?;
        self.rows.apply(&mut next)?;
        finish(next, flags_of(previous))
    }

    /// Rows that others deleted meanwhile are put together with ours when the commit catches up.
    pub(crate) fn check(&self, other: &Stored) -> Verdict {
        match other {
            Stored::Merge(_) => Verdict::Retry("columns were added to the rows"),
            Stored::Rewrite(_) | Stored::DataReplacement(_) if self.rows.touch(other) => {
                Verdict::Retry("the rows were rewritten")
            }
            Stored::Overwrite(_) => Verdict::Conflict("the table was overwritten"),
            Stored::Restore(_) => Verdict::Conflict("an older version was restored"),
            _ => Verdict::Keep,
        }
    }

    pub(crate) fn to_proto(&self) -> transaction::Delete {
        let (updated_fragments, deleted_fragment_ids) = self.rows.to_proto();
        transaction::Delete { updated_fragments, deleted_fragment_ids, predicate: self.predicate.clone() }
    }
}
