use std::time::SystemTime;

use lance_footer::Result;

use super::theirs::may_lose_nullability;
use super::{Stored, Verdict, add_fragments, finish, flags_of, following};
use crate::Manifest;
use crate::proto::{DataFragment, transaction};

/// Adds rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Append {
    /// New fragments, without ids.
    pub(crate) fragments: Vec<DataFragment>,
}

impl Append {
    /// All of `previous`, then the new fragments.
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let mut next = following(previous, now)?;
        add_fragments(&mut next, self.fragments.clone())?;
        finish(next, flags_of(previous))
    }

    /// Rows can be added after whatever leaves the table the same table.
    pub(crate) const fn check(&self, other: &Stored) -> Verdict {
        match other {
            Stored::Merge(_) | Stored::Project(_) if may_lose_nullability(other) => {
                Verdict::Retry("the schema was changed, and nulls may not be allowed any more")
            }
            Stored::Overwrite(_) => Verdict::Conflict("the table was overwritten"),
            Stored::Restore(_) => Verdict::Conflict("an older version was restored"),
            _ => Verdict::Keep,
        }
    }

    pub(crate) fn to_proto(&self) -> transaction::Append {
        transaction::Append { fragments: self.fragments.clone() }
    }
}
