use std::time::SystemTime;

use lance_footer::Result;

use super::{Stored, Verdict, corrupt, finish, flags_of, following};
use crate::Manifest;
use crate::proto::transaction;

/// Sets fragment ids aside, so that fragments can be named before they are committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reserve {
    pub(crate) fragments: u32,
}

impl Reserve {
    /// The ids that are set aside end at the new high-water mark.
    pub(crate) fn apply(self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let mut next = finish(following(previous, now)?, flags_of(previous))?;
        let mark = next.message.max_fragment_id.unwrap_or(0).checked_add(self.fragments);
        // The highest 32-bit number is not used.
        let mark =
            mark.filter(|mark| *mark < u32::MAX).ok_or_else(|| corrupt("the fragment ids are used up"))?;
        next.message.max_fragment_id = Some(mark);
        Ok(next)
    }

    pub(crate) const fn check(self, other: &Stored) -> Verdict {
        match other {
            Stored::Overwrite(_) => Verdict::Conflict("the table was overwritten"),
            Stored::Restore(_) => Verdict::Conflict("an older version was restored"),
            _ => Verdict::Keep,
        }
    }

    pub(crate) const fn to_proto(self) -> transaction::ReserveFragments {
        transaction::ReserveFragments { num_fragments: self.fragments }
    }
}
