//! One schema for several files.
//!
//! Files that say their types must agree; files whose types were inferred follow those that say them,
//! and among themselves whole numbers give way to fractions. A field is nullable if it is so anywhere.

use std::sync::Arc;

use anyhow::{Result, bail};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};

/// Whether a file whose types were inferred names all of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// It does, as a CSV header does.
    All,
    /// A column may be absent, as from JSON objects.
    Some,
}

/// The schema so far.
#[derive(Debug, Default)]
pub(super) struct Unified {
    /// The file that the schema came from, for messages.
    from: String,
    schema: Option<Schema>,
    /// Whether any file said its types.
    declared: bool,
}

impl Unified {
    /// A file that says its types.
    pub(super) fn declare(&mut self, name: &str, schema: &Schema) -> Result<()> {
        let Some(known) = &self.schema else {
            self.start(name, schema, true);
            return Ok(());
        };
        let merged = if self.declared {
            self.merge(known, name, schema, Columns::All, agree)?
        } else {
            // What was inferred follows.
            let inferred = self.merge(known, name, schema, Columns::All, |_, given| Some(given.clone()))?;
            Schema::new_with_metadata(inferred.fields, schema.metadata.clone())
        };
        if !self.declared {
            self.from = name.to_string();
        }
        self.schema = Some(merged);
        self.declared = true;
        Ok(())
    }

    /// A file whose types were inferred.
    pub(super) fn infer(&mut self, name: &str, schema: &Schema, columns: Columns) -> Result<()> {
        let Some(known) = &self.schema else {
            self.start(name, schema, false);
            return Ok(());
        };
        let merged = if self.declared {
            self.merge(known, name, schema, columns, |known, _| Some(known.clone()))?
        } else {
            self.merge(known, name, schema, columns, widen)?
        };
        self.schema = Some(merged);
        Ok(())
    }

    /// The schema of the table.
    pub(super) fn finish(self) -> Schema {
        self.schema.unwrap_or_else(Schema::empty)
    }

    fn start(&mut self, name: &str, schema: &Schema, declared: bool) {
        self.from = name.to_string();
        self.schema = Some(schema.clone());
        self.declared = declared;
    }

    fn merge(
        &self,
        known: &Schema,
        name: &str,
        given: &Schema,
        columns: Columns,
        types: impl Fn(&DataType, &DataType) -> Option<DataType>,
    ) -> Result<Schema> {
        let from = &self.from;
        let mut fields: Vec<FieldRef> = Vec::with_capacity(known.fields().len());
        for field in known.fields() {
            let Some(other) = given.fields().iter().find(|other| other.name() == field.name()) else {
                if columns == Columns::All {
                    bail!("{name}: field {:?} is missing, {from} has it", field.name());
                }
                fields.push(Arc::new(field.as_ref().clone().with_nullable(true)));
                continue;
            };
            let Some(data_type) = types(field.data_type(), other.data_type()) else {
                let (expected, found) = (field.data_type(), other.data_type());
                bail!("{name}: field {:?} is {found}, but {expected} in {from}", field.name());
            };
            let nullable = field.is_nullable() || other.is_nullable();
            fields.push(Arc::new(field.as_ref().clone().with_data_type(data_type).with_nullable(nullable)));
        }
        for other in given.fields() {
            if known.fields().iter().any(|field| field.name() == other.name()) {
                continue;
            }
            if columns == Columns::All || self.declared {
                bail!("{name}: field {:?} is not in {from}", other.name());
            }
            fields.push(Arc::new(other.as_ref().clone().with_nullable(true)));
        }
        Ok(Schema::new_with_metadata(fields, known.metadata().clone()))
    }
}

/// The type that two types that were said agree in: they differ at most in what may be null, in the names of
/// list items, and in whether values are in a dictionary, which goes by the first.
fn agree(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{Dictionary, FixedSizeList, LargeList, List, Map, Struct};
    let values = |of: &DataType| match of {
        Dictionary(_, values) => values.as_ref().clone(),
        other => other.clone(),
    };
    match (a, b) {
        _ if a == b => Some(a.clone()),
        (Dictionary(..), _) | (_, Dictionary(..)) => (values(a) == values(b)).then(|| a.clone()),
        (List(a), List(b)) => Some(List(agree_item(a, b)?)),
        (LargeList(a), LargeList(b)) => Some(LargeList(agree_item(a, b)?)),
        (FixedSizeList(a, n), FixedSizeList(b, m)) if n == m => Some(FixedSizeList(agree_item(a, b)?, *n)),
        (Map(a, n), Map(b, m)) if n == m => Some(Map(agree_item(a, b)?, *n)),
        (Struct(a), Struct(b)) if a.len() == b.len() => {
            let members = a.iter().zip(b).map(|(a, b)| (a.name() == b.name()).then(|| agree_item(a, b))?);
            Some(Struct(members.collect::<Option<Fields>>()?))
        }
        _ => None,
    }
}

fn agree_item(a: &FieldRef, b: &FieldRef) -> Option<FieldRef> {
    let field: Field = a.as_ref().clone().with_data_type(agree(a.data_type(), b.data_type())?);
    Some(Arc::new(field.with_nullable(a.is_nullable() || b.is_nullable())))
}

/// The type that two inferred types fit in.
fn widen(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{Float64, Int64, List, Struct};
    match (a, b) {
        _ if a == b => Some(a.clone()),
        (Int64, Float64) | (Float64, Int64) => Some(Float64),
        (List(a), List(b)) => {
            let item = a.as_ref().clone().with_data_type(widen(a.data_type(), b.data_type())?);
            Some(List(Arc::new(item.with_nullable(true))))
        }
        (Struct(a), Struct(b)) => {
            let mut members: Vec<FieldRef> = Vec::new();
            for member in a {
                let widened = match b.iter().find(|other| other.name() == member.name()) {
                    Some(other) => widen(member.data_type(), other.data_type())?,
                    None => member.data_type().clone(),
                };
                members.push(Arc::new(Field::new(member.name(), widened, true)));
            }
            members.extend(b.iter().filter(|other| a.find(other.name()).is_none()).cloned());
            Some(Struct(members.into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(fields: &[(&str, DataType)]) -> Schema {
        Schema::new(
            fields.iter().map(|(name, kind)| Field::new(*name, kind.clone(), false)).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn declared_types_must_agree() {
        let mut unified = Unified::default();
        unified.declare("a", &schema(&[("x", DataType::Int64), ("y", DataType::Utf8)])).unwrap();
        unified.declare("b", &schema(&[("y", DataType::Utf8), ("x", DataType::Int64)])).unwrap();
        let error =
            unified.declare("c", &schema(&[("x", DataType::Int32), ("y", DataType::Utf8)])).unwrap_err();
        assert_eq!(error.to_string(), "c: field \"x\" is Int32, but Int64 in a");
        let error = unified.declare("c", &schema(&[("x", DataType::Int64)])).unwrap_err();
        assert_eq!(error.to_string(), "c: field \"y\" is missing, a has it");
        let more = schema(&[("x", DataType::Int64), ("y", DataType::Utf8), ("z", DataType::Utf8)]);
        assert_eq!(unified.declare("c", &more).unwrap_err().to_string(), "c: field \"z\" is not in a");
        assert!(!unified.finish().field(0).is_nullable());
    }

    #[test]
    fn inferred_types_follow_and_widen() {
        let mut unified = Unified::default();
        unified.infer("a", &schema(&[("x", DataType::Int64)]), Columns::All).unwrap();
        unified.infer("b", &schema(&[("x", DataType::Float64)]), Columns::All).unwrap();
        unified.infer("c", &schema(&[("x", DataType::Int64), ("y", DataType::Utf8)]), Columns::Some).unwrap();
        assert!(unified.infer("d", &schema(&[("x", DataType::Utf8)]), Columns::Some).is_err());
        assert!(unified.infer("d", &schema(&[("x", DataType::Int64)]), Columns::All).is_err());
        let both = schema(&[("x", DataType::Float32), ("y", DataType::LargeUtf8)]);
        unified.declare("e", &both).unwrap();
        unified.infer("f", &schema(&[("x", DataType::Int64)]), Columns::Some).unwrap();
        let result = unified.finish();
        assert_eq!(result.field(0).data_type(), &DataType::Float32);
        assert_eq!(result.field(1).data_type(), &DataType::LargeUtf8);
        assert!(result.field(1).is_nullable());
    }

    #[test]
    fn list_items_agree_whatever_they_are_called() {
        let list = |name: &str, null| DataType::List(Arc::new(Field::new(name, DataType::Int8, null)));
        assert_eq!(agree(&list("item", false), &list("element", true)), Some(list("item", true)));
    }
}
