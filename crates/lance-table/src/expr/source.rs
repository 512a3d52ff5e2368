//! Where the values of a column come from in a batch.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Fields, Schema};
use arrow_select::nullif::nullif;

use super::print::Name;
use super::types::{cast, loaded};
use crate::{Result, TableError};

/// A column, or a field of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// Names from the outermost to the innermost field.
    pub(super) names: Vec<String>,
    /// Its type in the table.
    pub(super) stored: DataType,
    /// What has to be read for it, as a dotted path.
    pub(super) path: String,
}

impl Source {
    /// The field `names` of `schema`, which is there.
    pub(super) fn new(names: Vec<String>, stored: DataType, schema: &Schema) -> Self {
        let path = path(&names, schema.fields());
        Self { names, stored, path }
    }

    /// Its values in `batch` as they are stored. What is in a struct that is null is null.
    pub(super) fn find(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let fail = |why: String| {
            let name = self.names.iter().map(|name| Name(name).to_string()).collect::<Vec<_>>().join(".");
            TableError::invalid(format!("the batch does not go with the expression: column {name} {why}"))
        };
        let missing = || fail("is not in it".into());
        let (first, rest) = self.names.split_first().ok_or_else(missing)?;
        let mut found = Arc::clone(batch.column_by_name(first).ok_or_else(missing)?);
        for name in rest {
            let parent = found.as_struct_opt().ok_or_else(missing)?;
            let child = parent.column_by_name(name).ok_or_else(missing)?;
            found = match parent.nulls().filter(|nulls| nulls.null_count() > 0) {
                None => Arc::clone(child),
                Some(nulls) => nullif(child, &(!nulls.inner()).into())?,
            };
        }
        if *found.data_type() != self.stored {
            return Err(fail(format!("is of type {}, and was of {}", found.data_type(), self.stored)));
        }
        Ok(found)
    }

    /// Its values as they are worked with.
    pub(super) fn load(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        Ok(cast(&self.find(batch)?, &loaded(&self.stored))?)
    }
}

/// The dotted path of `names`, cut where a name with dots in it makes it ambiguous.
fn path(names: &[String], fields: &Fields) -> String {
    let mut path = names.first().cloned().unwrap_or_default();
    let mut fields = fields;
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            if fields.iter().any(|field| field.name().contains('.')) {
                break;
            }
            path = format!("{path}.{name}");
        } else if names.len() > 1 && fields.iter().any(|field| field.name().contains('.')) {
            break;
        }
        match fields.find(name).map(|(_, field)| field.data_type()) {
            Some(DataType::Struct(children)) => fields = children,
            _ => break,
        }
    }
    path
}
