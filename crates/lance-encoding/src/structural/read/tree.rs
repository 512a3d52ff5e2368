//! The structs and lists of a field above its leaves.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, MapArray, OffsetSizeTrait, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef};
use lance_footer::{FormatError, Result};

use super::leaf::{DecodedLeaf, LeafType};
use super::unravel::Unravelled;
use crate::field::{MAX_NESTING, at_member, is_packed, member_name};
use crate::storage::Storage;
use crate::values::{invalid, list_offsets};

/// A field and what lies below it.
pub(super) struct Tree {
    data_type: DataType,
    node: Node,
}

enum Node {
    /// The leaf of this number.
    Leaf(usize),
    Struct {
        members: Vec<Self>,
        /// A leaf below it whose levels tell its validity; none if only structs without members are below it.
        told_by: Option<usize>,
    },
    List {
        item: Box<Self>,
        told_by: usize,
    },
}

impl Tree {
    /// The tree of `field`, and its leaves in depth-first order.
    pub(super) fn new(field: &Field) -> Result<(Self, Vec<LeafType>)> {
        let mut leaves = vec![];
        let node = build(field, String::new(), &mut vec![], &mut leaves)?;
        Ok((Self { data_type: field.data_type().clone(), node }, leaves))
    }

    /// The array of `rows` rows whose leaves are `leaves`.
    pub(super) fn assemble(&self, leaves: Vec<DecodedLeaf>, rows: u64) -> Result<ArrayRef> {
        let mut assembly = Assembly { leaves };
        let array = assembly.array(&self.node, &self.data_type, 0)?;
        if array.len() as u64 != rows {
            return Err(FormatError::corrupt("levels", format!("{} rows instead of {rows}", array.len())));
        }
        Ok(array)
    }
}

/// `name`: the dotted name of `field` below the top-level field. `path`: which of the layers down to here are lists,
/// outermost first.
fn build(field: &Field, name: String, path: &mut Vec<bool>, leaves: &mut Vec<LeafType>) -> Result<Node> {
    let refuse = |what: &str| Err(at_member(FormatError::unsupported(format!("reading {what}")), &name));
    if path.len() >= MAX_NESTING {
        return refuse(&format!("more than {MAX_NESTING} types within each other"));
    }
    if is_packed(field) {
        return refuse("packed structs");
    }
    if field.extension_type_name() == Some("lance.blob.v2") {
        return refuse("blobs (lance.blob.v2)");
    }
    let first = leaves.len();
    match field.data_type() {
        DataType::Struct(members) if !members.is_empty() => {
            path.push(false);
            let members = members
                .iter()
                .map(|member| build(member, member_name(&name, member), path, leaves))
                .collect::<Result<Vec<_>>>()?;
            path.pop();
            let mut below = leaves.iter().enumerate().skip(first);
            let told_by = below.find(|(_, leaf)| !leaf.is_empty_struct()).map(|(index, _)| index);
            Ok(Node::Struct { members, told_by })
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            path.push(true);
            let item = Box::new(build(item, member_name(&name, item), path, leaves)?);
            path.pop();
            let mut below = leaves.iter().enumerate().skip(first);
            match below.find(|(_, leaf)| !leaf.is_empty_struct()) {
                Some((told_by, _)) => Ok(Node::List { item, told_by }),
                None => refuse("lists of structs without members"),
            }
        }
        DataType::FixedSizeList(item, _) if matches!(item.data_type(), DataType::Struct(_)) => {
            refuse("fixed-size lists of structs")
        }
        data_type => {
            let storage = Storage::of(data_type).map_err(|error| at_member(error, &name))?;
            let lists = std::iter::once(false).chain(path.iter().rev().copied()).collect();
            leaves.push(LeafType { name, data_type: data_type.clone(), storage, lists });
            Ok(Node::Leaf(first))
        }
    }
}

/// Leaves that become one array.
struct Assembly {
    leaves: Vec<DecodedLeaf>,
}

impl Assembly {
    /// The array of `node`, which lies `depth` types below the field.
    fn array(&mut self, node: &Node, data_type: &DataType, depth: usize) -> Result<ArrayRef> {
        match (node, data_type) {
            (Node::Leaf(index), _) => match self.leaves.get(*index) {
                Some(leaf) => Ok(Arc::clone(&leaf.array)),
                None => Err(mismatch()),
            },
            (Node::Struct { members, told_by }, DataType::Struct(fields)) => {
                let mut arrays = Vec::with_capacity(members.len());
                for (member, field) in members.iter().zip(fields) {
                    arrays.push(self.array(member, field.data_type(), depth + 1)?);
                }
                let (len, nulls) = match told_by {
                    Some(leaf) => {
                        let layer = self.layer(*leaf, depth)?;
                        (layer.len, layer.nulls.take())
                    }
                    None => (arrays.first().map_or(0, |array| array.len()), None),
                };
                let array = StructArray::try_new_with_length(fields.clone(), arrays, nulls, len);
                Ok(Arc::new(array.map_err(invalid)?))
            }
            (Node::List { item, told_by }, DataType::List(field)) => {
                self.list::<i32>(item, *told_by, field, depth)
            }
            (Node::List { item, told_by }, DataType::LargeList(field)) => {
                self.list::<i64>(item, *told_by, field, depth)
            }
            (Node::List { item, told_by }, DataType::Map(field, ordered)) => {
                let (offsets, entries, nulls) = self.list_parts::<i32>(item, *told_by, field, depth)?;
                let entries = entries.as_struct_opt().ok_or_else(mismatch)?.clone();
                let map = MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *ordered);
                Ok(Arc::new(map.map_err(invalid)?))
            }
            _ => Err(mismatch()),
        }
    }

    fn list<O: OffsetSizeTrait + TryFrom<u64>>(
        &mut self,
        item: &Node,
        told_by: usize,
        field: &FieldRef,
        depth: usize,
    ) -> Result<ArrayRef> {
        let (offsets, items, nulls) = self.list_parts::<O>(item, told_by, field, depth)?;
        let list = GenericListArray::<O>::try_new(Arc::clone(field), offsets, items, nulls);
        Ok(Arc::new(list.map_err(invalid)?))
    }

    /// Where the lists start and end, their items, and which lists are null.
    fn list_parts<O: OffsetSizeTrait + TryFrom<u64>>(
        &mut self,
        item: &Node,
        told_by: usize,
        field: &FieldRef,
        depth: usize,
    ) -> Result<(OffsetBuffer<O>, ArrayRef, Option<NullBuffer>)> {
        let items = self.array(item, field.data_type(), depth + 1)?;
        let layer = self.layer(told_by, depth)?;
        let offsets = list_offsets::<O>(layer.offsets.take().unwrap_or_default())?;
        Ok((offsets, items, layer.nulls.take()))
    }

    /// The layer of a leaf's path that lies `depth` types below the field.
    fn layer(&mut self, leaf: usize, depth: usize) -> Result<&mut Unravelled> {
        let layers = self.leaves.get_mut(leaf).map(|leaf| leaf.layers.as_mut_slice()).unwrap_or_default();
        let index = layers.len().checked_sub(depth + 1);
        index.and_then(|index| layers.get_mut(index)).ok_or_else(mismatch)
    }
}

fn mismatch() -> FormatError {
    FormatError::corrupt("levels", "they do not have the layers of the field")
}
