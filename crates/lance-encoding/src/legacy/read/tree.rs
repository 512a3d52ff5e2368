//! The structs and lists of a field above its leaves, each in a column of its own.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, StructArray, make_array};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef};
use lance_footer::{Column, ColumnKind, FormatError, Join, Result, Rows};

use super::is_text_as_list;
use super::leaf::{HeldLeaf, Leaf};
use super::list::{HeldLists, Lists};
use crate::bounds;
use crate::budget::{Room, TableBudget};
use crate::field::{MAX_NESTING, at_member, is_packed, member_name};
use crate::load::{Load, and_then, map};
use crate::order::check_part;
use crate::values::{invalid, list_offsets, misfit};

/// A field and what lies below it.
#[derive(Debug)]
pub(super) enum Node {
    Leaf(Leaf),
    Struct {
        rows: u64,
        members: Vec<Arc<Self>>,
    },
    List {
        lists: Lists,
        item: Arc<Self>,
    },
    /// How older writers stored strings: as lists of bytes.
    Text {
        lists: Lists,
        bytes: Arc<Self>,
    },
}

/// Rows of a node whose bytes are in hand.
#[derive(Debug)]
pub(super) enum HeldNode {
    Leaf(HeldLeaf),
    Struct(Vec<Self>),
    List(HeldLists, Box<Self>),
}

impl Node {
    /// The tree of `field`, whose columns are `columns`, parents before what is below them.
    pub(super) fn open(field: &Field, columns: &[Arc<Column>], tables: &Arc<TableBudget>) -> Result<Self> {
        let mut left = columns.iter();
        let node = Build { columns: &mut left, tables }.node(field, "", 0)?;
        match left.len() {
            0 => Ok(node),
            _ => Err(FormatError::corrupt(
                "schema",
                format!(
                    "{} columns for the {} that the field takes",
                    columns.len(),
                    columns.len() - left.len()
                ),
            )),
        }
    }

    /// Values of its own column.
    pub(super) fn rows(&self) -> u64 {
        match self {
            Self::Leaf(leaf) => leaf.rows(),
            Self::Struct { rows, .. } => *rows,
            Self::List { lists, .. } | Self::Text { lists, .. } => lists.rows(),
        }
    }

    /// Bytes of the lookup tables that are held.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.weight(),
            Self::Struct { members, .. } => members.iter().map(|member| member.weight()).sum(),
            Self::List { item, .. } | Self::Text { bytes: item, .. } => item.weight(),
        }
    }

    /// Machines that load the lookup tables which `rows` need, but not those of items: which these are is not known
    /// yet.
    pub(super) fn prepare(&self, rows: &Rows, machines: &mut Vec<Load<()>>) -> Result<()> {
        match self {
            Self::Leaf(leaf) => leaf.prepare(rows, machines),
            Self::Struct { members, .. } => {
                members.iter().try_for_each(|member| member.prepare(rows, machines))
            }
            Self::List { .. } | Self::Text { .. } => Ok(()),
        }
    }

    /// About how many bytes `rows` take; none if that cannot be told before they are prepared.
    pub(super) fn cost(&self, rows: Range<u64>) -> Option<u64> {
        match self {
            Self::Leaf(leaf) => leaf.cost(rows),
            Self::Struct { members, .. } => {
                let mut costs = members.iter().map(|member| member.cost(rows.clone()));
                costs.try_fold(0_u64, |sum, cost| Some(sum.saturating_add(cost?)))
            }
            Self::List { lists, item } | Self::Text { lists, bytes: item } => {
                let (own, items) = lists.cost(&Rows::range(rows));
                // Lookup tables below a list may be missing; what they would tell is left out.
                Some(own.saturating_add(item.cost(items).unwrap_or_default()))
            }
        }
    }

    /// Loads `rows`.
    pub(super) fn load(&self, rows: &Rows) -> Result<Load<HeldNode>> {
        if rows.end() > self.rows() {
            let (row, rows) = (rows.end() - 1, self.rows());
            return Err(FormatError::corrupt("rows", format!("row {row} of {rows} is asked for")));
        }
        match self {
            Self::Leaf(leaf) => Ok(map(leaf.load(rows)?, |held| Ok(HeldNode::Leaf(held)))),
            Self::Struct { members, .. } => {
                let members = members.iter().map(|member| member.load(rows)).collect::<Result<Vec<_>>>()?;
                let all: Load<Vec<HeldNode>> = Box::new(Join::new(members));
                Ok(map(all, |members| Ok(HeldNode::Struct(members))))
            }
            Self::List { lists, item } | Self::Text { lists, bytes: item } => {
                let item = Arc::clone(item);
                Ok(and_then(lists.load(rows)?, move |lists| {
                    let items = item.load(&lists.items)?;
                    Ok(map(items, |items| Ok(HeldNode::List(lists, Box::new(items)))))
                }))
            }
        }
    }

    /// The loaded rows at `positions` as an array of `data_type`, which the node was opened with.
    pub(super) fn decode(
        &self,
        held: &HeldNode,
        data_type: &DataType,
        positions: &Rows,
        room: &mut Room,
    ) -> Result<ArrayRef> {
        // However many a page claims to have.
        check_part(&(0..positions.len()), u64::MAX)?;
        if let HeldNode::List(..) = held {
            let starts = bounds::size(positions.len(), "lists")?.saturating_mul(size_of::<u64>());
            room.take(starts, "where lists start")?;
        }
        match (self, held, data_type) {
            (Self::Leaf(leaf), HeldNode::Leaf(held), _) => leaf.decode(held, positions, room),
            (Self::Struct { members, .. }, HeldNode::Struct(held), DataType::Struct(fields)) => {
                let members = members.iter().zip(held).zip(fields);
                let members = members.map(|((member, held), field)| {
                    let array = member.decode(held, field.data_type(), positions, room);
                    array.map_err(|error| at_member(error, field.name()))
                });
                let members = members.collect::<Result<Vec<_>>>()?;
                let rows = usize::try_from(positions.len()).unwrap_or(usize::MAX);
                let array = StructArray::try_new_with_length(fields.clone(), members, None, rows);
                Ok(Arc::new(array.map_err(invalid)?))
            }
            (Self::List { item, .. }, HeldNode::List(lists, items), DataType::List(field)) => {
                list::<i32>(lists, positions, field, |rows| item.decode(items, field.data_type(), rows, room))
            }
            (Self::List { item, .. }, HeldNode::List(lists, items), DataType::LargeList(field)) => {
                list::<i64>(lists, positions, field, |rows| item.decode(items, field.data_type(), rows, room))
            }
            (Self::Text { bytes, .. }, HeldNode::List(lists, held), _) => {
                let bytes = bytes.decode(held, &DataType::UInt8, &lists.items_of(positions)?, room)?;
                text(lists, positions, data_type, &bytes)
            }
            _ => Err(misfit("columns")),
        }
    }
}

struct Build<'a, 'b> {
    columns: &'b mut std::slice::Iter<'a, Arc<Column>>,
    tables: &'b Arc<TableBudget>,
}

impl<'a> Build<'a, '_> {
    /// `name`: the dotted name of `field` below the top-level field.
    fn node(&mut self, field: &Field, name: &str, depth: usize) -> Result<Node> {
        if depth >= MAX_NESTING {
            let what = format!("reading more than {MAX_NESTING} types within each other");
            return Err(at_member(FormatError::unsupported(what), name));
        }
        let column = self.column().map_err(|error| at_member(error, name))?;
        let placed = |error| at_member(error, name);
        let tables = self.tables;
        let open = |column: &Column| Lists::open(column, tables).map_err(placed);
        match field.data_type() {
            DataType::Struct(members) if column.kind == ColumnKind::Values && !is_packed(field) => {
                let rows = column.length();
                let mut nodes = Vec::with_capacity(members.len());
                for member in members {
                    let node = self.node(member, &member_name(name, member), depth + 1)?;
                    if node.rows() != rows {
                        let reason = format!("{} values in a struct of {rows}", node.rows());
                        let error = FormatError::corrupt("column", reason);
                        return Err(at_member(error, &member_name(name, member)));
                    }
                    nodes.push(Arc::new(node));
                }
                Ok(Node::Struct { rows, members: nodes })
            }
            DataType::List(item) | DataType::LargeList(item) => {
                let lists = open(column)?;
                let item = self.node(item, &member_name(name, item), depth + 1)?;
                check_items(&lists, &item).map_err(placed)?;
                Ok(Node::List { lists, item: Arc::new(item) })
            }
            data_type if is_text(data_type) && is_text_as_list(column) => {
                let lists = open(column)?;
                let bytes = self.column().map_err(placed)?;
                let bytes =
                    Leaf::open(&Field::new("item", DataType::UInt8, true), bytes, tables).map_err(placed)?;
                let bytes = Node::Leaf(bytes);
                check_items(&lists, &bytes).map_err(placed)?;
                Ok(Node::Text { lists, bytes: Arc::new(bytes) })
            }
            DataType::Map(..) => Err(placed(FormatError::unsupported("maps in file version 2.0"))),
            DataType::FixedSizeList(item, _) if matches!(item.data_type(), DataType::Struct(_)) => {
                Err(placed(FormatError::unsupported("fixed-size lists of structs in file version 2.0")))
            }
            _ => Ok(Node::Leaf(Leaf::open(field, column, tables).map_err(placed)?)),
        }
    }

    fn column(&mut self) -> Result<&'a Column> {
        let column = self.columns.next();
        column.map(AsRef::as_ref).ok_or_else(|| FormatError::corrupt("schema", "it has no column"))
    }
}

fn check_items(lists: &Lists, item: &Node) -> Result<()> {
    if lists.items() <= item.rows() {
        return Ok(());
    }
    let reason = format!("lists of {} items, of which there are {}", lists.items(), item.rows());
    Err(FormatError::corrupt("column", reason))
}

const fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary)
}

fn list<O: OffsetSizeTrait + TryFrom<u64>>(
    lists: &HeldLists,
    positions: &Rows,
    field: &FieldRef,
    items: impl FnOnce(&Rows) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    let offsets = list_offsets::<O>(lists.starts_of(positions)?)?;
    let items = items(&lists.items_of(positions)?).map_err(|error| at_member(error, field.name()))?;
    let list = GenericListArray::<O>::try_new(Arc::clone(field), offsets, items, lists.nulls_of(positions));
    Ok(Arc::new(list.map_err(invalid)?))
}

fn text(lists: &HeldLists, positions: &Rows, data_type: &DataType, bytes: &ArrayRef) -> Result<ArrayRef> {
    if bytes.null_count() > 0 {
        return Err(misfit("bytes that are null"));
    }
    let starts = lists.starts_of(positions)?;
    let len = starts.len().saturating_sub(1);
    let offsets = match data_type {
        DataType::LargeUtf8 | DataType::LargeBinary => list_offsets::<i64>(starts)?.into_inner().into_inner(),
        _ => list_offsets::<i32>(starts)?.into_inner().into_inner(),
    };
    let data = bytes.to_data();
    let array = ArrayData::builder(data_type.clone())
        .len(len)
        .nulls(lists.nulls_of(positions))
        .add_buffer(offsets)
        .add_buffer(data.buffers().first().cloned().unwrap_or_default().slice(data.offset()));
    Ok(make_array(array.build().map_err(invalid)?))
}
