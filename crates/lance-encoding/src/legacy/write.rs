//! Writing of version 2.0.
//!
//! Every field has a column of its own, numbered in pre-order. A column keeps the arrays that it gets and makes a
//! page of them when they are large enough; a struct has one page in all, which only says how many rows there are.
//! Pages of items end where a page of their lists ends, because lists count from the first item of their page.

mod column;
mod dictionary;
mod list;
mod packed_struct;
mod strings;
#[cfg(test)]
mod tests;
mod values;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use lance_footer::{FormatError, Result};
use prost::Message;

use crate::detach::{detach, pieces};
use crate::field::{MAX_NESTING, at_member, is_packed, member_name};
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::proto::array::{ArrayEncoding, SimpleStruct};
use crate::writer::check_type;
use crate::{EncodedPage, FieldWriter, PageJob, WriterOptions};
use column::ColumnWriter;
use list::ListWriter;

/// Writes one top-level field in version 2.0.
pub(crate) struct LegacyWriter {
    data_type: DataType,
    page_bytes: u64,
    root: Node,
}

impl LegacyWriter {
    /// A writer of `field`. An error that names the member that cannot be stored.
    pub(crate) fn new(field: &Field, options: &WriterOptions) -> Result<Self> {
        let root = Build { options, columns: 0 }.node(field, String::new(), 0)?;
        Ok(Self { data_type: field.data_type().clone(), page_bytes: options.page_bytes, root })
    }
}

impl FieldWriter for LegacyWriter {
    fn push(&mut self, array: ArrayRef) -> Result<Vec<PageJob>> {
        check_type(&array, &self.data_type)?;
        let array = detach(&array);
        let mut jobs = vec![];
        // A page takes arrays as they are, so large ones are cut first.
        for piece in pieces(&array, self.page_bytes) {
            self.root.push(&piece, &mut jobs)?;
        }
        Ok(jobs)
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<PageJob>> {
        let mut jobs = vec![];
        self.root.finish(&mut jobs);
        Ok(jobs)
    }
}

/// A field and what lies below it.
enum Node {
    Values(ColumnWriter),
    Struct(StructWriter),
    List(ListWriter, Box<Self>),
}

/// A struct: a column that says how many rows there are, and the members.
struct StructWriter {
    column: usize,
    name: String,
    rows: u64,
    members: Vec<Node>,
}

struct Build<'a> {
    options: &'a WriterOptions,
    /// Columns so far.
    columns: usize,
}

impl Build<'_> {
    /// `name`: the dotted name of `field` below the top-level field.
    fn node(&mut self, field: &Field, name: String, depth: usize) -> Result<Node> {
        let refuse = |what: String| Err(at_member(FormatError::unsupported(what), &name));
        if depth >= MAX_NESTING {
            return refuse(format!("writing more than {MAX_NESTING} types within each other"));
        }
        if matches!(field.data_type(), DataType::Struct(_))
            && field.metadata().contains_key("lance-encoding:packed")
            && !is_packed(field)
        {
            return refuse(
                "the metadata lance-encoding:packed, which means a packed struct whatever it says".into(),
            );
        }
        let column = self.columns;
        self.columns += 1;
        match field.data_type() {
            DataType::Struct(members) if !is_packed(field) => {
                let mut nodes = Vec::with_capacity(members.len());
                for member in members {
                    nodes.push(self.node(member, member_name(&name, member), depth + 1)?);
                }
                Ok(Node::Struct(StructWriter { column, name, rows: 0, members: nodes }))
            }
            DataType::List(item) | DataType::LargeList(item) => {
                let below = self.node(item, member_name(&name, item), depth + 1)?;
                Ok(Node::List(ListWriter::new(field, column, name, self.options), Box::new(below)))
            }
            _ => Ok(Node::Values(ColumnWriter::new(field, column, name, self.options)?)),
        }
    }
}

impl Node {
    /// Adds rows.
    fn push(&mut self, array: &ArrayRef, jobs: &mut Vec<PageJob>) -> Result<()> {
        match self {
            Self::Values(column) => column.push(array, jobs),
            Self::Struct(structs) => structs.push(array, jobs),
            Self::List(lists, item) => {
                let items = lists.push(array)?;
                item.push(&items, jobs)?;
                if lists.is_full() {
                    lists.flush(jobs);
                    item.close(jobs);
                }
                Ok(())
            }
        }
    }

    /// Ends the pages of items, because a page of their lists ends. There is always one, as the reference has it: if
    /// there are no items, an empty one.
    fn close(&mut self, jobs: &mut Vec<PageJob>) {
        match self {
            Self::Values(column) => column.close(jobs),
            Self::Struct(structs) => structs.members.iter_mut().for_each(|member| member.close(jobs)),
            Self::List(lists, item) => {
                if lists.close(jobs) {
                    item.close(jobs);
                }
            }
        }
    }

    /// Makes pages of what is left.
    fn finish(&mut self, jobs: &mut Vec<PageJob>) {
        match self {
            Self::Values(column) => column.flush(jobs),
            Self::Struct(structs) => structs.finish(jobs),
            Self::List(lists, item) => {
                if lists.flush(jobs) {
                    item.close(jobs);
                }
                item.finish(jobs);
            }
        }
    }
}

impl StructWriter {
    fn push(&mut self, array: &ArrayRef, jobs: &mut Vec<PageJob>) -> Result<()> {
        if array.null_count() > 0 {
            let what = "a struct that is null, which file version 2.0 cannot hold; write 2.1 or later";
            return Err(at_member(FormatError::unsupported(what), &self.name));
        }
        self.rows += array.len() as u64;
        let columns = array.as_struct_opt().map(|structs| structs.columns()).unwrap_or_default();
        self.members.iter_mut().zip(columns).try_for_each(|(member, column)| member.push(column, jobs))
    }

    fn finish(&mut self, jobs: &mut Vec<PageJob>) {
        let encoding = ArrayEncoding { array_encoding: Some(Kind::Struct(SimpleStruct {})) };
        jobs.push(ready(page(self.column, self.rows, vec![], &encoding)));
        self.members.iter_mut().for_each(|member| member.finish(jobs));
    }
}

/// A page that takes no work.
fn ready(page: EncodedPage) -> PageJob {
    PageJob::new(|| Ok(vec![page]))
}

/// A page of column `leaf`. In this version pages have no priority.
fn page(leaf: usize, length: u64, buffers: Vec<Vec<bytes::Bytes>>, encoding: &ArrayEncoding) -> EncodedPage {
    EncodedPage { leaf, length, priority: 0, buffers, encoding: encoding.encode_to_vec() }
}

/// An error if a value of `array` is null and must not be.
fn check_nulls(array: &ArrayRef, nullable: bool, name: &str) -> Result<()> {
    if nullable || array.logical_null_count() == 0 || *array.data_type() == DataType::Null {
        return Ok(());
    }
    Err(at_member(FormatError::unsupported("a null in a field that is not nullable"), name))
}
