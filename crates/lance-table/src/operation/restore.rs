use std::time::SystemTime;

use lance_footer::{FormatError, Result};

use super::theirs::changes_schema_metadata;
use super::{Stored, Verdict, finish, flags_of, following};
use crate::Manifest;
use crate::manifest::flags;
use crate::proto::transaction;

/// Makes an older version the newest again. Nothing is removed: the versions between stay.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Restore {
    /// The manifest of the older version.
    pub(crate) manifest: Box<Manifest>,
}

impl Restore {
    /// All is as it was, but for numbers that must not be given away twice.
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let latest = following(previous, now)?;
        if latest.has_stable_row_ids() != self.manifest.has_stable_row_ids() {
            return Err(FormatError::unsupported(
                "restoring a version with stable row ids over one without, or the other way round",
            ));
        }
        let mut next = following(Some(&self.manifest), now)?;
        let message = &mut next.message;
        message.version = latest.message.version;
        let used = |manifest: &Manifest| {
            let last = manifest.message.fragments.iter().map(|fragment| fragment.id).max();
            manifest.message.max_fragment_id.max(last.and_then(|id| u32::try_from(id).ok()))
        };
        message.max_fragment_id = used(&self.manifest).max(used(&latest));
        message.next_row_id = message.next_row_id.max(latest.message.next_row_id);
        message.max_allocated_field_id =
            message.max_allocated_field_id.max(latest.message.max_allocated_field_id);
        let kept = |word: u64, new: u64| word | (new & (flags::MIXED_VERSIONS | flags::KEPT_FIELD_IDS));
        let (old, new) = (flags_of(Some(&self.manifest)), flags_of(previous));
        finish(next, (kept(old.0, new.0), kept(old.1, new.1)))
    }

    pub(crate) fn check(&self, other: &Stored) -> Verdict {
        match other {
            Stored::UpdateConfig(_) if changes_schema_metadata(other) => {
                Verdict::Conflict("the metadata of the schema was changed")
            }
            _ => Verdict::Keep,
        }
    }

    pub(crate) fn to_proto(&self) -> transaction::Restore {
        transaction::Restore { version: self.manifest.version() }
    }
}
