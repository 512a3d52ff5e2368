//! Schemas to and from the stored messages: the field tree flattened in pre-order.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use super::{EXTENSION_NAME, Field, LogicalType, Schema};
use crate::{FormatError, proto};
use arrow_schema::DataType;

const PRIMARY_KEY: &str = "lance-schema:unenforced-primary-key";
const PRIMARY_KEY_POSITION: &str = "lance-schema:unenforced-primary-key:position";
const CLUSTERING_KEY_POSITION: &str = "lance-schema:unenforced-clustering-key:position";

/// How deep fields may nest. Walks over a schema recurse, so a hostile one must not be a chain of thousands.
const MAX_DEPTH: usize = 100;

/// Written where a field has no parent, or no id.
const NONE: i32 = -1;

impl Schema {
    /// The schema that `fields`, in pre-order, describe.
    ///
    /// An error names a field whose parent does not come before it, whose type is unknown, or which has
    /// other children than its type needs.
    pub fn from_proto(
        fields: &[proto::Field],
        metadata: &BTreeMap<String, Bytes>,
    ) -> Result<Self, FormatError> {
        let mut tree = Tree::default();
        for field in fields {
            tree.add(field)?;
        }
        Ok(Self { fields: tree.finish()?, metadata: lossy(metadata) })
    }

    /// The fields as they are stored.
    pub fn to_proto(&self) -> Vec<proto::Field> {
        let mut messages = vec![];
        for field in &self.fields {
            field.append_to(&mut messages, NONE);
        }
        messages
    }

    /// The metadata as they are stored.
    pub fn metadata_to_proto(&self) -> BTreeMap<String, Bytes> {
        stored(&self.metadata)
    }
}

/// A tree that grows in pre-order. Nodes know their parent by index, so the children of a node are put
/// together from the end to the start.
#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    /// The first node of each id.
    by_id: HashMap<i32, usize>,
    /// The blob whose inner fields, which have no ids, may follow.
    open_blob: Option<usize>,
}

struct Node {
    field: Field,
    parent: Option<usize>,
    depth: usize,
}

impl Tree {
    fn add(&mut self, message: &proto::Field) -> Result<(), FormatError> {
        let field = field_from_proto(message)?;
        let parent = match (message.id, self.open_blob, message.parent_id) {
            (NONE, Some(blob), NONE) => Some(blob),
            (_, _, NONE) => None,
            (_, _, id) => Some(*self.by_id.get(&id).ok_or_else(|| {
                corrupt(format!(
                    "field {} ({:?}) has the parent {id}, which does not come before it",
                    message.id, message.name
                ))
            })?),
        };
        let above = parent.and_then(|parent| self.nodes.get(parent)).map_or(0, |node| node.depth);
        if above >= MAX_DEPTH {
            return Err(FormatError::unsupported(format!("fields nested more than {MAX_DEPTH} deep")));
        }
        let index = self.nodes.len();
        if field.id != NONE {
            self.by_id.entry(field.id).or_insert(index);
            let blob = field.logical_type == LogicalType::Struct && field.is_blob();
            self.open_blob = blob.then_some(index);
        }
        self.nodes.push(Node { field, parent, depth: above + 1 });
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Field>, FormatError> {
        let mut roots = vec![];
        while let Some(Node { mut field, parent, .. }) = self.nodes.pop() {
            field.children.reverse();
            check_children(&field)?;
            match parent.and_then(|parent| self.nodes.get_mut(parent)) {
                Some(parent) => parent.field.children.push(field),
                None => roots.push(field),
            }
        }
        roots.reverse();
        Ok(roots)
    }
}

fn field_from_proto(message: &proto::Field) -> Result<Field, FormatError> {
    let logical_type = LogicalType::parse(&message.logical_type)
        .map_err(|error| error.within(format!("field {:?}", message.name)))?;
    let mut metadata = lossy(&message.metadata);
    if !message.extension_name.is_empty() {
        metadata.insert(EXTENSION_NAME.into(), message.extension_name.clone());
    }
    if logical_type == LogicalType::Blob {
        metadata.entry("lance-encoding:blob".into()).or_insert_with(|| "true".into());
    }
    // Keys live in the metadata only; what is said in the message alone is put there.
    let position = message.unenforced_primary_key_position;
    if position > 0 {
        metadata.entry(PRIMARY_KEY_POSITION.into()).or_insert_with(|| position.to_string());
    } else if message.unenforced_primary_key {
        metadata.entry(PRIMARY_KEY.into()).or_insert_with(|| "true".into());
    }
    let position = message.unenforced_clustering_key_position;
    if position > 0 {
        metadata.entry(CLUSTERING_KEY_POSITION.into()).or_insert_with(|| position.to_string());
    }
    Ok(Field {
        id: message.id,
        name: message.name.clone(),
        nullable: message.nullable,
        metadata,
        logical_type,
        children: vec![],
    })
}

/// An error unless the children are those that the type needs.
fn check_children(field: &Field) -> Result<(), FormatError> {
    let count = field.children.len();
    let is_struct = |field: &Field| field.logical_type == LogicalType::Struct;
    let fits = match &field.logical_type {
        LogicalType::Leaf(_) | LogicalType::Json | LogicalType::Blob => count == 0,
        LogicalType::Struct => true,
        LogicalType::List | LogicalType::LargeList => count == 1,
        LogicalType::FixedSizeList(_) => count == 1 && field.children.iter().all(is_struct),
        LogicalType::Map => {
            count == 1 && field.children.iter().all(|entry| is_struct(entry) && entry.children.len() == 2)
        }
    };
    if fits {
        return Ok(());
    }
    let logical_type = field.logical_type_string();
    Err(corrupt(format!("field {} ({:?}, {logical_type}) has {count} children", field.id, field.name)))
}

impl Field {
    fn append_to(&self, messages: &mut Vec<proto::Field>, parent: i32) {
        let position = |key: &str| self.metadata.get(key).and_then(|text| text.parse::<u32>().ok());
        let primary_position = position(PRIMARY_KEY_POSITION);
        messages.push(proto::Field {
            // Always so, whatever the field is.
            r#type: proto::field::Type::Parent.into(),
            name: self.name.clone(),
            id: self.id,
            parent_id: if self.id == NONE { NONE } else { parent },
            logical_type: self.logical_type_string(),
            nullable: self.nullable,
            encoding: self.encoding_hint().into(),
            dictionary: None,
            extension_name: self.metadata.get(EXTENSION_NAME).cloned().unwrap_or_default(),
            metadata: stored(&self.metadata),
            unenforced_primary_key: primary_position.is_some() || self.is_set(PRIMARY_KEY),
            unenforced_primary_key_position: primary_position.unwrap_or_default(),
            unenforced_clustering_key: false,
            unenforced_clustering_key_position: position(CLUSTERING_KEY_POSITION).unwrap_or_default(),
        });
        self.children.iter().for_each(|child| child.append_to(messages, self.id));
    }

    /// A leftover of v1 files, which readers ignore.
    fn encoding_hint(&self) -> proto::Encoding {
        match &self.logical_type {
            LogicalType::Struct | LogicalType::Leaf(DataType::Null) => proto::Encoding::None,
            LogicalType::Json
            | LogicalType::Blob
            | LogicalType::Leaf(
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary,
            ) => proto::Encoding::VarBinary,
            LogicalType::Leaf(DataType::Dictionary(..)) => proto::Encoding::Dictionary,
            LogicalType::Leaf(_)
            | LogicalType::List
            | LogicalType::LargeList
            | LogicalType::FixedSizeList(_)
            | LogicalType::Map => proto::Encoding::Plain,
        }
    }
}

fn lossy(metadata: &BTreeMap<String, Bytes>) -> BTreeMap<String, String> {
    let text = |value: &Bytes| String::from_utf8_lossy(value).into_owned();
    metadata.iter().map(|(key, value)| (key.clone(), text(value))).collect()
}

fn stored(metadata: &BTreeMap<String, String>) -> BTreeMap<String, Bytes> {
    metadata.iter().map(|(key, value)| (key.clone(), Bytes::from(value.clone()))).collect()
}

fn corrupt(reason: String) -> FormatError {
    FormatError::corrupt("schema", reason)
}
