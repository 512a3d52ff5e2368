use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::Bytes;
use lance_file::proto::Field;
use lance_footer::{FormatError, Result, Version};

use super::theirs::set_keys;
use super::{Stored, Verdict, add_fragments, finish, flags_of, following};
use crate::Manifest;
use crate::manifest::flags;
use crate::proto::{DataFragment, DataStorageFormat, transaction};

/// Replaces rows and schema, or makes a new table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Overwrite {
    /// New fragments, without ids.
    pub(crate) fragments: Vec<DataFragment>,
    /// The new schema, with field ids of its own.
    pub(crate) fields: Vec<Field>,
    /// Key-value pairs of the new schema.
    pub(crate) schema_metadata: BTreeMap<String, Bytes>,
    /// Of the new data files.
    pub(crate) version: Version,
    /// Whether the rows of a new table get ids that they keep.
    pub(crate) stable_row_ids: bool,
    /// Pairs that are added to the config, which else is kept.
    pub(crate) config: BTreeMap<String, String>,
}

impl Overwrite {
    /// What stays of `previous` is its history: version, fragment and row ids go on, config and base paths
    /// are kept. Indices go with the rows.
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let mut next = following(previous, now)?;
        let message = &mut next.message;
        if message.writer_feature_flags & flags::KEPT_FIELD_IDS != 0 {
            return Err(FormatError::unsupported(
                "overwriting a table with field ids that are never reused (flag bit 15)",
            ));
        }
        // The ids of what is left out stay used.
        let last = message.fragments.iter().map(|fragment| fragment.id).max();
        message.max_fragment_id = message.max_fragment_id.max(last.and_then(|id| u32::try_from(id).ok()));
        message.fragments.clear();
        message.fields.clone_from(&self.fields);
        message.schema_metadata.clone_from(&self.schema_metadata);
        message.data_format =
            Some(DataStorageFormat { file_format: "lance".into(), version: self.version.to_string() });
        message.config.extend(self.config.clone());
        next.indices.clear();
        let mut words = flags_of(previous);
        if previous.is_none() && self.stable_row_ids {
            words = (flags::STABLE_ROW_IDS, flags::STABLE_ROW_IDS);
            (next.message.reader_feature_flags, next.message.writer_feature_flags) = words;
        }
        add_fragments(&mut next, self.fragments.clone())?;
        finish(next, words)
    }

    /// What was there is replaced anyway, but for what another overwrite put there.
    pub(crate) fn check(&self, other: &Stored) -> Verdict {
        let sets = |key: &String| self.config.contains_key(key);
        match other {
            Stored::Overwrite(theirs) if theirs.config_upsert_values.keys().any(sets) => {
                Verdict::Conflict("the table was overwritten, with another config")
            }
            Stored::UpdateConfig(theirs) if set_keys(theirs).any(sets) => {
                Verdict::Conflict("the same key of the config was changed")
            }
            Stored::Overwrite(_) => Verdict::Retry("the table was overwritten"),
            _ => Verdict::Keep,
        }
    }

    pub(crate) fn to_proto(&self) -> transaction::Overwrite {
        transaction::Overwrite {
            fragments: self.fragments.clone(),
            schema: self.fields.clone(),
            schema_metadata: self.schema_metadata.clone(),
            config_upsert_values: self.config.clone(),
            ..Default::default()
        }
    }
}
