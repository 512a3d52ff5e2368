//! A schema that is being changed: fields are found by path, and changed by id.

use std::collections::{BTreeMap, BTreeSet};

use lance_file::proto::Field as Stored;
use lance_file::{Field, LogicalType, Schema};
use lance_footer::FormatError;

use crate::{Result, Table, TableError};

/// The schema of a table on its way to that of the next version.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) schema: Schema,
    stored: Vec<Stored>,
    next_id: Option<i32>,
    location: String,
}

impl Draft {
    pub(super) fn of(table: &Table) -> Self {
        let message = &table.manifest().message;
        // Files go on having columns that were dropped.
        let files = message.fragments.iter().flat_map(|fragment| &fragment.files);
        let ids = message.fields.iter().map(|field| field.id).chain(message.max_allocated_field_id);
        let used = ids.chain(files.flat_map(|file| file.fields.iter().copied())).max();
        Self {
            schema: table.schema().clone(),
            stored: message.fields.clone(),
            next_id: used.unwrap_or(-1).max(-1).checked_add(1),
            location: table.store().location(""),
        }
    }

    /// The field at `path` after those that it is in. An error if what it is in is stored as a whole: it can then be
    /// `action`ed only as a whole.
    pub(super) fn trace(&self, path: &str, action: &str) -> Result<Vec<&Field>> {
        let trace = self.schema.trace(path)?;
        let above = trace.split_last().map_or(&[][..], |(_, above)| above);
        let kind = |field: &&&Field| {
            let kind = match &field.logical_type {
                _ if field.is_blob() => "blob",
                LogicalType::Map => "map",
                _ if field.is_packed() => "packed struct",
                _ => return None,
            };
            Some((kind, field.name.clone()))
        };
        match above.iter().find_map(|field| kind(&field)) {
            None => Ok(trace),
            Some((kind, name)) => {
                Err(self.unsupported(format!("{action} {path}, which is inside of the {kind} {name}")))
            }
        }
    }

    /// The field with this id.
    pub(super) fn field_mut(&mut self, id: i32) -> Result<&mut Field> {
        find_mut(&mut self.schema.fields, id)
            .ok_or_else(|| TableError::invalid(format!("the table has no field {id}")))
    }

    /// The fields next to each other below the field `parent`, or the top-level ones.
    pub(super) fn siblings_mut(&mut self, parent: Option<i32>) -> Result<&mut Vec<Field>> {
        match parent {
            None => Ok(&mut self.schema.fields),
            Some(id) => Ok(&mut self.field_mut(id)?.children),
        }
    }

    /// The lowest id that new fields get.
    pub(super) fn next_id(&self) -> i32 {
        self.next_id.unwrap_or(i32::MAX)
    }

    /// Gives `field`, and what is below it, new ids.
    pub(super) fn number(&mut self, field: &mut Field) -> Result<()> {
        let used_up = || self.unsupported("a table with field ids beyond 2^31".into());
        let id = self.next_id.ok_or_else(used_up)?;
        field.id = id;
        self.next_id = id.checked_add(1);
        field.children.iter_mut().try_for_each(|child| self.number(child))
    }

    /// Takes the fields with these ids out. What then has no members left goes, too.
    pub(super) fn remove(&mut self, ids: &BTreeSet<i32>) {
        self.schema.fields = without(std::mem::take(&mut self.schema.fields), ids);
    }

    /// The fields as manifests have them. Of those that were there, only name and nullability can have changed.
    pub(super) fn to_stored(&self) -> Vec<Stored> {
        let before = self.stored.iter().filter(|field| field.id >= 0).map(|field| (field.id, field));
        let before = before.collect::<BTreeMap<_, _>>();
        let now = self.schema.to_proto().into_iter().map(|field| match before.get(&field.id) {
            Some(stored) => Stored { name: field.name, nullable: field.nullable, ..(*stored).clone() },
            None => field,
        });
        now.collect()
    }

    pub(super) fn unsupported(&self, what: String) -> TableError {
        TableError::format(&self.location, FormatError::unsupported(what))
    }
}

fn find_mut(fields: &mut [Field], id: i32) -> Option<&mut Field> {
    fields.iter_mut().find_map(|field| match field.id == id {
        true => Some(field),
        false => find_mut(&mut field.children, id),
    })
}

fn without(fields: Vec<Field>, ids: &BTreeSet<i32>) -> Vec<Field> {
    let kept = fields.into_iter().filter_map(|mut field| {
        let had_members = !field.children.is_empty();
        field.children = without(field.children, ids);
        let gone = ids.contains(&field.id) || (had_members && field.children.is_empty());
        (!gone).then_some(field)
    });
    kept.collect()
}
