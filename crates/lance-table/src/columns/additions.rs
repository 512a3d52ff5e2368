//! Which fields new columns become: their places in the schema, and their ids.

use std::collections::BTreeMap;

use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use lance_file::{Field, LogicalType, Schema};
use lance_footer::Version;

use super::draft::Draft;
use crate::{Result, Table, TableError};

/// New fields of a table.
#[derive(Debug)]
pub(super) struct Additions {
    /// The schema with them.
    pub(super) draft: Draft,
    /// For each new field by its id, the names by which its values are found in batches of the new columns.
    pub(super) sources: BTreeMap<i32, Vec<String>>,
    /// Ids of structs that were there and get new members.
    pub(super) parents: Vec<i32>,
    /// Whether all new fields may be null.
    pub(super) nullable: bool,
    /// New fields have this id or a higher one.
    first_id: i32,
}

impl Additions {
    /// The columns of `incoming` as new fields of `table`. A struct that the table has gets the members that it does not
    /// have, and a name with dots is that of a member, too.
    pub(super) fn plan(table: &Table, incoming: &ArrowSchema) -> Result<Self> {
        if incoming.fields().is_empty() {
            return Err(TableError::invalid("there is no column to be added"));
        }
        let draft = Draft::of(table);
        let first_id = draft.next_id();
        let version = table.manifest().file_version();
        let version = version.map_err(|error| TableError::format(table.store().location(""), error))?;
        let mut additions =
            Self { draft, sources: BTreeMap::new(), parents: vec![], nullable: true, first_id };
        for field in incoming.fields() {
            let (above, name) = match field.name().rsplit_once('.') {
                Some((above, name)) => (Some(above), name),
                None => (None, field.name().as_str()),
            };
            let parent = above.map(|above| additions.parent(above)).transpose()?;
            let own = field.as_ref().clone().with_name(name);
            additions.add(parent, &own, field.name().clone(), vec![field.name().clone()])?;
        }
        // The reference cannot read a struct of that version whose members are in different files.
        if version == Version::V2_0 && !additions.parents.is_empty() {
            let what = "adding a field to a struct in a table of file version 2.0".into();
            return Err(additions.draft.unsupported(what));
        }
        Ok(additions)
    }

    /// The new fields, with what is above them.
    pub(super) fn schema(&self) -> Schema {
        self.draft.schema.project_ids(|id| id >= self.first_id)
    }

    /// An error that names a new field which may not be null.
    pub(super) fn refuse_required(&self) -> Result<()> {
        let required = |id: &&i32| self.draft.schema.field(**id).is_some_and(|field| !field.nullable);
        let required = self.sources.keys().find(required).and_then(|id| self.draft.schema.path(*id));
        match required {
            None => Ok(()),
            Some(path) => Err(TableError::invalid(format!(
                "column {path:?} is not nullable, so it cannot be added without values"
            ))),
        }
    }

    /// The id of the struct at `path`.
    fn parent(&self, path: &str) -> Result<i32> {
        let trace = self.draft.trace(path, "adding a field to")?;
        let other = trace.iter().find(|field| field.logical_type != LogicalType::Struct || !is_open(field));
        match (other, trace.last()) {
            (Some(other), _) => {
                let kind = other.logical_type_string();
                Err(self.draft.unsupported(format!("adding a field to {path}: {:?} is a {kind}", other.name)))
            }
            (None, Some(field)) => Ok(field.id),
            (None, None) => Err(TableError::invalid(format!("no struct {path:?}"))),
        }
    }

    fn add(
        &mut self,
        parent: Option<i32>,
        field: &ArrowField,
        path: String,
        source: Vec<String>,
    ) -> Result<()> {
        let first_id = self.first_id;
        let siblings = self.draft.siblings_mut(parent)?;
        let own = siblings.iter().find(|own| own.name == *field.name());
        match (own, field.data_type()) {
            (Some(own), DataType::Struct(members))
                if own.logical_type == LogicalType::Struct && is_open(own) && own.id < first_id =>
            {
                let id = own.id;
                for member in members {
                    let path = format!("{path}.{}", member.name());
                    let source = [source.as_slice(), &[member.name().clone()]].concat();
                    self.add(Some(id), member, path, source)?;
                }
                Ok(())
            }
            (Some(own), _) if own.id >= first_id => {
                Err(TableError::invalid(format!("column {path:?} is to be added twice")))
            }
            (Some(_), _) => Err(TableError::invalid(format!(
                "there is a column {path:?} already: update its values, or give the new one another name, or drop \
                 the old one first"
            ))),
            (None, _) => self.put(parent, field, &path, source),
        }
    }

    fn put(
        &mut self,
        parent: Option<i32>,
        field: &ArrowField,
        path: &str,
        source: Vec<String>,
    ) -> Result<()> {
        let schema = Schema::from_arrow(&ArrowSchema::new(vec![field.clone()]));
        let schema = schema.map_err(|error| self.draft.unsupported(error.to_string()))?;
        if schema.pre_order().into_iter().any(Field::is_blob) {
            return Err(self.draft.unsupported(format!("adding blobs (column {path})")));
        }
        for mut field in schema.fields {
            self.draft.number(&mut field)?;
            self.nullable &= field.nullable;
            self.sources.insert(field.id, source.clone());
            self.draft.siblings_mut(parent)?.push(field);
        }
        self.parents.extend(parent.filter(|parent| !self.parents.contains(parent)));
        Ok(())
    }
}

/// Whether the members of a struct are stored by themselves.
fn is_open(field: &Field) -> bool {
    !field.is_packed() && !field.is_blob()
}
