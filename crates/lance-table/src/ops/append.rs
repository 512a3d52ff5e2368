use std::time::SystemTime;

use lance_footer::Result;

use super::{Operation, Rebase, Stored, add_fragments, finish, flags_of, following, may_lose_nullability};
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
    pub(crate) fn rebase(self, other: Option<&Stored>) -> Rebase {
        let Some(other) = other else { return Rebase::Conflict("an unknown operation was committed") };
        match other {
            Stored::Merge(_) | Stored::Project(_) if may_lose_nullability(other) => {
                Rebase::Retry("the schema was changed, and nulls may not be allowed any more")
            }
            Stored::Append(_)
            | Stored::Delete(_)
            | Stored::Update(_)
            | Stored::Merge(_)
            | Stored::Project(_)
            | Stored::Rewrite(_)
            | Stored::CreateIndex(_)
            | Stored::ReserveFragments(_)
            | Stored::UpdateConfig(_)
            | Stored::DataReplacement(_)
            | Stored::UpdateBases(_)
            | Stored::Clone(_) => Rebase::Keep(Operation::Append(self)),
            Stored::Overwrite(_) => Rebase::Conflict("the table was overwritten"),
            Stored::Restore(_) => Rebase::Conflict("an older version was restored"),
            Stored::UpdateMemWalState(_) | Stored::DataOverlay(_) => {
                Rebase::Conflict("an operation was committed that is not supported")
            }
        }
    }

    pub(crate) fn to_proto(&self) -> transaction::Append {
        transaction::Append { fragments: self.fragments.clone() }
    }
}
