//! Reading of version 2.0.
//!
//! ```text
//! field ── tree, each node with a column of its own, numbered in pre-order
//!            ├ struct   a header that only says how many rows there are: structs are never null
//!            ├ list     where lists end, counted from the first item of the page
//!            └ leaf     pages ── array encoding, nested: nullable(flat), binary(flat, flat), …
//!                         prepare   dictionaries, and where blobs lie; kept by the page
//!                         load      bytes of ranges of rows; strings and lists: first their ends
//!                         decode    validity and values → array
//! ```
//!
//! What was loaded of a node is addressed by position: 0 is the first row that was loaded, whatever its number. The
//! items of the lists at some positions are at positions of their own among the items that were loaded.

mod bitpacked;
mod blob;
mod dictionary;
mod encoded;
mod flat;
mod leaf;
mod list;
mod packed_struct;
mod parse;
mod strings;
#[cfg(test)]
mod tests;
mod tree;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_schema::{DataType, Field};
use lance_footer::{Column, Join, Machine, Result, Rows};

use crate::budget::{Allowance, Room, TableBudget};
use crate::load::{Load, counted, map};
use crate::order::{check_order, check_part, order_part, reorder, unique};
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::reader::{FieldReader, Loaded};
use tree::{HeldNode, Node};

/// A reader of `field`, which is stored in `columns`: its own, and those of what is below it in pre-order.
pub(crate) fn open_field(
    field: &Field,
    columns: &[Arc<Column>],
    tables: &Arc<TableBudget>,
) -> Result<Arc<dyn FieldReader>> {
    let (node, data_type) = (Node::open(field, columns, tables)?, field.data_type().clone());
    Ok(Arc::new(LegacyField(Arc::new(Opened { node, data_type }))))
}

/// Whether a column of strings is stored as older writers did it: as lists of bytes, which are in the next column.
pub(crate) fn is_text_as_list(column: &Column) -> bool {
    let message = column.pages.first().map(|page| leaf::decode_message(&page.encoding));
    message.and_then(Result::ok).is_some_and(|message| matches!(message.array_encoding, Some(Kind::List(_))))
}

/// Reads one field.
struct LegacyField(Arc<Opened>);

struct Opened {
    node: Node,
    data_type: DataType,
}

impl FieldReader for LegacyField {
    fn rows(&self) -> u64 {
        self.0.node.rows()
    }

    fn weight(&self) -> usize {
        self.0.node.weight()
    }

    fn prepare(&self, rows: &Rows) -> Result<Option<Box<dyn Machine<Output = ()>>>> {
        let mut machines = vec![];
        self.0.node.prepare(rows, &mut machines)?;
        if machines.is_empty() {
            return Ok(None);
        }
        let all: Load<Vec<()>> = Box::new(Join::new(machines));
        Ok(Some(map(all, |_| Ok(()))))
    }

    fn cost(&self, rows: Range<u64>) -> Option<u64> {
        self.0.node.cost(rows)
    }

    fn load(
        &self,
        rows: &Rows,
        order: Option<Arc<[u32]>>,
    ) -> Result<Box<dyn Machine<Output = Arc<dyn Loaded>>>> {
        check_order(rows, order.as_deref())?;
        let (field, count) = (Arc::clone(&self.0), rows.len());
        Ok(map(counted(self.0.node.load(rows)?), move |(held, read)| {
            Ok(Arc::new(LoadedField { field, held, count, order, read }) as Arc<dyn Loaded>)
        }))
    }
}

/// Rows of a field whose bytes are in hand.
struct LoadedField {
    field: Arc<Opened>,
    held: HeldNode,
    count: u64,
    order: Option<Arc<[u32]>>,
    /// Bytes that were read for it.
    read: u64,
}

impl Loaded for LoadedField {
    fn rows(&self) -> u64 {
        self.order.as_ref().map_or(self.count, |order| order.len() as u64)
    }

    fn decode(&self, part: Range<u64>, allowance: &mut Allowance) -> Result<ArrayRef> {
        check_part(&part, self.rows())?;
        let rows = part.end - part.start;
        allowance.spend(rows, &self.field.data_type, self.read, |room| self.decode_part(part, room))
    }
}

impl LoadedField {
    fn decode_part(&self, part: Range<u64>, room: &mut Room) -> Result<ArrayRef> {
        let Opened { node, data_type } = &*self.field;
        let Some(order) = &self.order else {
            return node.decode(&self.held, data_type, &Rows::range(part), room);
        };
        let (unique, indices) = unique(order_part(order, &part));
        let positions: Vec<_> = unique.into_iter().map(u64::from).collect();
        let array = node.decode(&self.held, data_type, &Rows::from_indices(&positions), room)?;
        reorder(array, indices.map(UInt32Array::from).as_ref(), room)
    }
}
