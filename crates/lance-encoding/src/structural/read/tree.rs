//! The structs and lists of a field above its leaves.
//!
//! Below a fixed-size list of structs, levels and values count its slots: a row has as many as the list is long. What
//! lies outside of it is told by the first slot of each row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait, StructArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef};
use lance_footer::{FormatError, Result};

use super::leaf::{DecodedLeaf, LeafType};
use super::unravel::Unravelled;
use crate::bounds;
use crate::field::{MAX_NESTING, at_member, describes_blobs, is_packed, member_name};
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
        /// None if only structs without members are below it.
        told_by: Option<Teller>,
    },
    List {
        item: Box<Self>,
        told_by: Teller,
    },
    FixedSizeList {
        item: Box<Self>,
        told_by: Teller,
    },
}

/// A leaf whose levels tell the validity of a node above it.
#[derive(Debug, Clone, Copy)]
struct Teller {
    leaf: usize,
    /// Slots of the leaf's layer that a slot of the node has: more than one if fixed-size lists lie between.
    stride: usize,
}

/// The way from the field down to a node.
struct Path {
    /// Which layers are lists, outermost first.
    lists: Vec<bool>,
    /// The product of the lengths of all fixed-size lists.
    slots: u64,
}

impl Tree {
    /// The tree of `field`, and its leaves in depth-first order.
    pub(super) fn new(field: &Field) -> Result<(Self, Vec<LeafType>)> {
        let mut leaves = vec![];
        let node = build(field, String::new(), &mut Path { lists: vec![], slots: 1 }, &mut leaves)?;
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

/// `name`: the dotted name of `field` below the top-level field. `path`: the way down to here.
fn build(field: &Field, name: String, path: &mut Path, leaves: &mut Vec<LeafType>) -> Result<Node> {
    let refuse = |what: &str| Err(at_member(FormatError::unsupported(format!("reading {what}")), &name));
    if path.lists.len() >= MAX_NESTING {
        return refuse(&format!("more than {MAX_NESTING} types within each other"));
    }
    if field.extension_type_name() == Some("lance.blob.v2") {
        return refuse("blobs (lance.blob.v2)");
    }
    let first = leaves.len();
    match field.data_type() {
        DataType::Struct(members) if !members.is_empty() && !is_packed(field) && !describes_blobs(field) => {
            path.lists.push(false);
            let members = members
                .iter()
                .map(|member| build(member, member_name(&name, member), path, leaves))
                .collect::<Result<Vec<_>>>()?;
            path.lists.pop();
            Ok(Node::Struct { members, told_by: teller(leaves, first, path.slots)? })
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            path.lists.push(true);
            let item = Box::new(build(item, member_name(&name, item), path, leaves)?);
            path.lists.pop();
            match teller(leaves, first, path.slots)? {
                Some(told_by) => Ok(Node::List { item, told_by }),
                None => refuse("lists of structs without members"),
            }
        }
        DataType::FixedSizeList(item, len) if matches!(item.data_type(), DataType::Struct(_)) => {
            // What is in a list has no fixed number of slots a row, and the reference does not write it.
            if path.lists.contains(&true) {
                return refuse("fixed-size lists of structs in lists");
            }
            let slots = path.slots;
            let inner =
                u64::try_from(*len).ok().filter(|len| *len > 0).and_then(|len| slots.checked_mul(len));
            let Some(inner) = inner else { return refuse(&format!("fixed-size lists of length {len}")) };
            path.slots = inner;
            path.lists.push(false);
            let item = Box::new(build(item, member_name(&name, item), path, leaves)?);
            path.lists.pop();
            path.slots = slots;
            match teller(leaves, first, slots)? {
                Some(told_by) => Ok(Node::FixedSizeList { item, told_by }),
                None => refuse("fixed-size lists of structs without members"),
            }
        }
        data_type => {
            let storage = match data_type {
                DataType::Struct(members) if !members.is_empty() => Storage::packed(members),
                other => Storage::of(other),
            };
            let storage = storage.map_err(|error| at_member(error, &name))?;
            let lists = std::iter::once(false).chain(path.lists.iter().rev().copied()).collect();
            let data_type = data_type.clone();
            leaves.push(LeafType { name, data_type, storage, lists, slots: path.slots });
            Ok(Node::Leaf(first))
        }
    }
}

/// The first of the leaves from `first` on that can tell of a node with as many slots a row.
fn teller(leaves: &[LeafType], first: usize, slots: u64) -> Result<Option<Teller>> {
    let mut below = leaves.iter().enumerate().skip(first);
    let Some((leaf, told_by)) = below.find(|(_, leaf)| !leaf.is_empty_struct()) else { return Ok(None) };
    let stride = bounds::size(told_by.slots.checked_div(slots).unwrap_or(1), "schema")?;
    Ok(Some(Teller { leaf, stride }))
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
                    Some(told_by) => self.validity(*told_by, depth)?,
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
            (Node::FixedSizeList { item, told_by }, DataType::FixedSizeList(field, size)) => {
                let items = self.array(item, field.data_type(), depth + 1)?;
                let (len, nulls) = self.validity(*told_by, depth)?;
                let field = Arc::clone(field);
                let list = FixedSizeListArray::try_new_with_length(field, *size, items, nulls, len);
                Ok(Arc::new(list.map_err(invalid)?))
            }
            _ => Err(mismatch()),
        }
    }

    fn list<O: OffsetSizeTrait + TryFrom<u64>>(
        &mut self,
        item: &Node,
        told_by: Teller,
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
        told_by: Teller,
        field: &FieldRef,
        depth: usize,
    ) -> Result<(OffsetBuffer<O>, ArrayRef, Option<NullBuffer>)> {
        let items = self.array(item, field.data_type(), depth + 1)?;
        let layer = self.layer(told_by.leaf, depth)?;
        let offsets = list_offsets::<O>(layer.offsets.take().unwrap_or_default())?;
        Ok((offsets, items, layer.nulls.take()))
    }

    /// How many slots the node that lies `depth` types below the field has, and which of them are null.
    fn validity(&mut self, told_by: Teller, depth: usize) -> Result<(usize, Option<NullBuffer>)> {
        let layer = self.layer(told_by.leaf, depth)?;
        let nulls = layer.nulls.take();
        if told_by.stride == 1 {
            return Ok((layer.len, nulls));
        }
        let len = layer.len / told_by.stride.max(1);
        let first_of = |slot: usize| slot * told_by.stride;
        let sampled =
            nulls.map(|nulls| BooleanBuffer::collect_bool(len, |slot| nulls.is_valid(first_of(slot))));
        Ok((len, sampled.map(NullBuffer::new).filter(|nulls| nulls.null_count() > 0)))
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
