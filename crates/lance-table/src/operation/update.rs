use std::time::SystemTime;

use lance_footer::Result;

use super::theirs::may_lose_nullability;
use super::{DeletedRows, Stored, Verdict, add_fragments, finish, flags_of, following};
use crate::Manifest;
use crate::proto::{DataFragment, transaction};

/// Replaces rows: the old ones are deleted, the new ones stand in new fragments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Update {
    pub(crate) rows: DeletedRows,
    /// New fragments, without fragment ids. Those that have row ids keep them, which is how an updated row stays the
    /// same row in a table with stable row ids.
    pub(crate) fragments: Vec<DataFragment>,
    /// Whether some of the new rows were added because no row had their key. Other software does not get to know.
    pub(crate) inserts: bool,
}

impl Update {
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let mut next = following(previous, now)?;
        self.rows.apply(&mut next)?;
        add_fragments(&mut next, self.fragments.clone())?;
        finish(next, flags_of(previous))
    }

    /// Rows that others deleted meanwhile are put together with ours when the commit catches up.
    pub(crate) fn check(&self, other: &Stored) -> Verdict {
        match other {
            Stored::Merge(_) => Verdict::Retry("columns were added to the rows"),
            Stored::Project(_) if may_lose_nullability(other) => {
                Verdict::Retry("the schema was changed, and nulls may not be allowed any more")
            }
            Stored::Rewrite(_) | Stored::DataReplacement(_) if self.rows.touch(other) => {
                Verdict::Retry("the rows were rewritten")
            }
            // Whose keys are not known here.
            Stored::Append(_) if self.inserts => Verdict::Retry("rows were added, maybe with the same keys"),
            Stored::Update(other) if self.inserts && !other.new_fragments.is_empty() => {
                Verdict::Retry("rows were changed, maybe to the same keys")
            }
            Stored::Overwrite(_) => Verdict::Conflict("the table was overwritten"),
            Stored::Restore(_) => Verdict::Conflict("an older version was restored"),
            _ => Verdict::Keep,
        }
    }

    pub(crate) fn to_proto(&self) -> transaction::Update {
        let (updated_fragments, removed_fragment_ids) = self.rows.to_proto();
        transaction::Update {
            removed_fragment_ids,
            updated_fragments,
            new_fragments: self.fragments.clone(),
            ..Default::default()
        }
    }
}
