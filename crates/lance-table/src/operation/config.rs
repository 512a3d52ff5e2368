use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use bytes::Bytes;
use lance_footer::Result;

use super::theirs::{changes, changes_schema_metadata};
use super::{Stored, Verdict, corrupt, finish, flags_of, following};
use crate::Manifest;
use crate::proto::{UpdateMap, transaction};

/// Changes key-value pairs: of the table's config, of the table, of the schema, of fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Config {
    pub(crate) config: UpdateMap,
    pub(crate) table: UpdateMap,
    pub(crate) schema: UpdateMap,
    /// By field id.
    pub(crate) fields: BTreeMap<i32, UpdateMap>,
}

impl Config {
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        let mut next = following(previous, now)?;
        let message = &mut next.message;
        let bytes = |value: &str| Bytes::copy_from_slice(value.as_bytes());
        set(&mut message.config, &self.config, str::to_string);
        set(&mut message.table_metadata, &self.table, str::to_string);
        set(&mut message.schema_metadata, &self.schema, bytes);
        for (id, pairs) in &self.fields {
            let field = message.fields.iter_mut().find(|field| field.id == *id);
            let field = field.ok_or_else(|| corrupt(format!("there is no field {id} to change")))?;
            set(&mut field.metadata, pairs, bytes);
        }
        finish(next, flags_of(previous))
    }

    pub(crate) fn check(&self, other: &Stored) -> Verdict {
        let metadata = changes(&self.schema) || self.fields.values().any(changes);
        match other {
            Stored::UpdateConfig(theirs) => self.check_config(theirs),
            Stored::Merge(_) | Stored::Project(_) if metadata => Verdict::Retry("the schema was changed"),
            Stored::Overwrite(theirs) => {
                let upserted =
                    Keys { set: theirs.config_upsert_values.keys().cloned().collect(), ..Keys::default() };
                match metadata || upserted.clash(&Keys::of(&self.config)) {
                    true => Verdict::Conflict("the table was overwritten"),
                    false => Verdict::Keep,
                }
            }
            Stored::Restore(_) if metadata => Verdict::Conflict("an older version was restored"),
            _ => Verdict::Keep,
        }
    }

    fn check_config(&self, theirs: &transaction::UpdateConfig) -> Verdict {
        let other = Stored::UpdateConfig(theirs.clone());
        let mut config = theirs.config_updates.as_ref().map(Keys::of).unwrap_or_default();
        config.set.extend(theirs.upsert_values.keys().cloned());
        config.removed.extend(theirs.delete_keys.iter().cloned());
        let table = theirs.table_metadata_updates.as_ref().map(Keys::of).unwrap_or_default();
        let schema = theirs.schema_metadata_updates.as_ref().is_some_and(changes)
            || !theirs.schema_metadata.is_empty();
        let field = self.fields.keys().any(|id| theirs.field_metadata_updates.contains_key(id));
        // Which fields the old form is about is not looked into.
        let some_field = !theirs.field_metadata.is_empty() && changes_schema_metadata(&other);
        if Keys::of(&self.config).clash(&config) {
            return Verdict::Conflict("the same key of the config was changed");
        }
        if Keys::of(&self.table).meets(&table) {
            return Verdict::Conflict("the same key of the table's metadata was changed");
        }
        if schema && changes(&self.schema) {
            return Verdict::Conflict("the metadata of the schema was changed");
        }
        if field || (some_field && !self.fields.is_empty()) {
            return Verdict::Conflict("the metadata of the same field was changed");
        }
        Verdict::Keep
    }

    pub(crate) fn to_proto(&self) -> transaction::UpdateConfig {
        let present = |map: &UpdateMap| changes(map).then(|| map.clone());
        transaction::UpdateConfig {
            config_updates: present(&self.config),
            table_metadata_updates: present(&self.table),
            schema_metadata_updates: present(&self.schema),
            field_metadata_updates: self.fields.clone(),
            ..Default::default()
        }
    }
}

/// Keys that a change is about.
#[derive(Debug, Default)]
struct Keys {
    set: BTreeSet<String>,
    removed: BTreeSet<String>,
    /// Whether all others are removed.
    replace: bool,
}

impl Keys {
    fn of(map: &UpdateMap) -> Self {
        let (mut set, mut removed) = (BTreeSet::new(), BTreeSet::new());
        for entry in &map.update_entries {
            match entry.value {
                Some(_) => set.insert(entry.key.clone()),
                None => removed.insert(entry.key.clone()),
            };
        }
        Self { set, removed, replace: map.replace }
    }

    fn is_empty(&self) -> bool {
        !self.replace && self.set.is_empty() && self.removed.is_empty()
    }

    /// Whether both are about the same key.
    fn meets(&self, other: &Self) -> bool {
        let both = |a: &BTreeSet<String>, b: &BTreeSet<String>| !a.is_disjoint(b);
        (self.replace && !other.is_empty())
            || (other.replace && !self.is_empty())
            || both(&self.set, &other.set)
            || both(&self.set, &other.removed)
            || both(&self.removed, &other.set)
            || both(&self.removed, &other.removed)
    }

    /// Whether both are about the same key, and at least one gives it a value: that two remove it is no conflict.
    fn clash(&self, other: &Self) -> bool {
        let common = self.removed.intersection(&other.removed).cloned().collect::<BTreeSet<_>>();
        let without = |keys: &Self| Self {
            set: keys.set.clone(),
            removed: &keys.removed - &common,
            replace: keys.replace,
        };
        without(self).meets(&without(other))
    }
}

/// Changes `pairs` as `change` says.
fn set<V>(pairs: &mut BTreeMap<String, V>, change: &UpdateMap, value: impl Fn(&str) -> V) {
    if change.replace {
        pairs.clear();
    }
    for entry in &change.update_entries {
        match &entry.value {
            Some(text) => pairs.insert(entry.key.clone(), value(text)),
            None => pairs.remove(&entry.key),
        };
    }
}
