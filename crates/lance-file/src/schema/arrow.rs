//! Schemas to and from Arrow.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Fields, Schema as ArrowSchema};

use super::{EXTENSION_METADATA, EXTENSION_NAME, Field, LogicalType, Schema};
use crate::FormatError;

/// Metadata of an Arrow field that gives the field its id; not stored.
const FIELD_ID: &str = "lance:field_id";

impl Schema {
    /// The Lance schema of an Arrow schema, with ids in pre-order from 0.
    ///
    /// A field with the metadata `lance:field_id` keeps that id; the others are then numbered above it. Types
    /// become what they are when they come back: views are strings and binaries, the item of a fixed-size
    /// list is a nullable `item`. An error names the field whose type cannot be stored.
    pub fn from_arrow(schema: &ArrowSchema) -> Result<Self, FormatError> {
        let mut fields = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            fields.push(from_arrow(field, field.name())?);
        }
        check_names(&fields)?;
        let mut schema = Self { fields, metadata: schema.metadata().clone().into_iter().collect() };
        schema.number()?;
        Ok(schema)
    }

    /// The Arrow schema.
    pub fn to_arrow(&self) -> ArrowSchema {
        let fields: Fields = self.fields.iter().map(Field::to_arrow).collect();
        ArrowSchema::new_with_metadata(fields, self.metadata.clone().into_iter().collect())
    }

    /// Gives ids to the fields that have none yet.
    fn number(&mut self) -> Result<(), FormatError> {
        let forced: Vec<_> = self.pre_order().iter().map(|field| field.id).filter(|id| *id >= 0).collect();
        let mut seen = HashSet::new();
        if let Some(twice) = forced.iter().find(|id| !seen.insert(**id)) {
            return Err(FormatError::unsupported(format!("a schema with two fields of id {twice}")));
        }
        let mut next = match forced.iter().max() {
            Some(max) => max.checked_add(1),
            None => Some(0),
        };
        self.fields.iter_mut().try_for_each(|field| number(field, &mut next))
    }
}

impl Field {
    /// The Arrow field.
    pub fn to_arrow(&self) -> ArrowField {
        let field = ArrowField::new(&self.name, self.data_type(), self.nullable);
        if self.metadata.is_empty() && self.logical_type != LogicalType::Json {
            return field;
        }
        let mut metadata = self.metadata.clone();
        if self.logical_type == LogicalType::Json {
            metadata.entry(EXTENSION_NAME.into()).or_insert_with(|| "lance.json".into());
        }
        field.with_metadata(metadata.into_iter().collect())
    }

    /// The Arrow type.
    pub fn data_type(&self) -> DataType {
        // Whoever makes a field sees to it that lists have an item.
        let item = || {
            let item = self.children.first().map(Self::to_arrow);
            Arc::new(item.unwrap_or_else(|| ArrowField::new("item", DataType::Null, true)))
        };
        match &self.logical_type {
            LogicalType::Leaf(data_type) => data_type.clone(),
            LogicalType::Json | LogicalType::Blob => DataType::LargeBinary,
            LogicalType::Struct => DataType::Struct(self.children.iter().map(Self::to_arrow).collect()),
            LogicalType::List => DataType::List(item()),
            LogicalType::LargeList => DataType::LargeList(item()),
            LogicalType::FixedSizeList(size) => DataType::FixedSizeList(item(), *size),
            LogicalType::Map => DataType::Map(item(), false),
        }
    }
}

fn from_arrow(field: &ArrowField, path: &str) -> Result<Field, FormatError> {
    let logical_type = LogicalType::from_arrow(field)
        .map_err(|reason| FormatError::unsupported(format!("field {path}: {reason}")))?;
    let mut metadata: std::collections::BTreeMap<_, _> = field.metadata().clone().into_iter().collect();
    let id = match metadata.remove(FIELD_ID) {
        None => -1,
        Some(text) => match text.parse::<i32>() {
            Ok(id) if id >= 0 => id,
            _ => {
                return Err(FormatError::unsupported(format!("field {path}: {FIELD_ID} {text:?}")));
            }
        },
    };
    if logical_type == LogicalType::Json {
        metadata.insert(EXTENSION_NAME.into(), "lance.json".into());
        metadata.entry(EXTENSION_METADATA.into()).or_default();
    }
    let below = match (&logical_type, field.data_type()) {
        (LogicalType::Leaf(_) | LogicalType::Json | LogicalType::Blob, _) => Fields::empty(),
        (_, DataType::Struct(members)) => members.clone(),
        (
            _,
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _),
        ) => Fields::from(vec![item.clone()]),
        _ => Fields::empty(),
    };
    let mut children = Vec::with_capacity(below.len());
    for child in &below {
        children.push(from_arrow(child, &format!("{path}.{}", child.name()))?);
    }
    let (name, nullable) = (field.name().clone(), field.is_nullable());
    Ok(Field { id, name, nullable, metadata, logical_type, children })
}

fn number(field: &mut Field, next: &mut Option<i32>) -> Result<(), FormatError> {
    if field.id < 0 {
        field.id = next.ok_or_else(|| FormatError::unsupported("a schema with ids beyond 2^31"))?;
        *next = field.id.checked_add(1);
    }
    field.children.iter_mut().try_for_each(|child| number(child, next))
}

/// Top-level names must be unique and without dots, since paths are made of them.
fn check_names(fields: &[Field]) -> Result<(), FormatError> {
    let mut seen = HashSet::new();
    for field in fields {
        if field.name.contains('.') {
            return Err(FormatError::unsupported(format!(
                "the field name {:?}: top-level names must not have a dot",
                field.name
            )));
        }
        if !seen.insert(field.name.as_str()) {
            return Err(FormatError::unsupported(format!("two top-level fields named {:?}", field.name)));
        }
    }
    Ok(())
}
