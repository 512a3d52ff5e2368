//! The offsets column of a list.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, GenericListArray, OffsetSizeTrait};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::{DataType, Field};
use lance_footer::{FormatError, Result};

use super::values::{Buffers, encoding, flat, no_nulls};
use super::{check_nulls, page, ready};
use crate::field::at_member;
use crate::proto::array as proto;
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::{PageJob, WriterOptions};

/// Writes where lists end.
pub(super) struct ListWriter {
    column: usize,
    name: String,
    nullable: bool,
    page_bytes: u64,
    /// Where each pending list ends, counted from the first item of all, and whether it is there.
    pending: Vec<(u64, bool)>,
    items: u64,
    /// Whether there was a page since the lists above had one.
    paged: bool,
}

impl ListWriter {
    /// Writes `field`, whose dotted name below the top-level field is `name`.
    pub(super) fn new(field: &Field, column: usize, name: String, options: &WriterOptions) -> Self {
        Self {
            column,
            name,
            nullable: field.is_nullable(),
            page_bytes: options.page_bytes.max(1),
            pending: vec![],
            items: 0,
            paged: false,
        }
    }

    /// Adds lists, and gives their items: those under null lists are left out.
    pub(super) fn push(&mut self, array: &ArrayRef) -> Result<ArrayRef> {
        check_nulls(array, self.nullable, &self.name)?;
        let items = match array.data_type() {
            DataType::List(_) => array.as_list_opt::<i32>().map(|lists| self.push_lists(lists)),
            _ => array.as_list_opt::<i64>().map(|lists| self.push_lists(lists)),
        };
        let unknown = || FormatError::unsupported(format!("lists of type {}", array.data_type()));
        items.unwrap_or_else(|| Err(unknown())).map_err(|error| at_member(error, &self.name))
    }

    fn push_lists<O: OffsetSizeTrait>(&mut self, lists: &GenericListArray<O>) -> Result<ArrayRef> {
        let offsets = lists.offsets();
        let (mut hidden, mut visible) = (false, BooleanBufferBuilder::new(0));
        let ends = offsets.iter().zip(offsets.iter().skip(1)).enumerate();
        for (row, (start, end)) in ends {
            let (len, valid) = (end.as_usize() - start.as_usize(), lists.is_valid(row));
            hidden |= !valid && len > 0;
            visible.append_n(len, valid);
            self.items += if valid { len as u64 } else { 0 };
            self.pending.push((self.items, valid));
        }
        let at = |offset: Option<&O>| offset.map_or(0, |offset| offset.as_usize());
        let (first, last) = (at(offsets.first()), at(offsets.last()));
        let items = lists.values().slice(first, last - first);
        if !hidden {
            return Ok(items);
        }
        let visible = BooleanArray::new(visible.finish(), None);
        arrow_select::filter::filter(&items, &visible)
            .map_err(|error| FormatError::unsupported(error.to_string()))
    }

    /// Whether what is pending makes a page.
    pub(super) fn is_full(&self) -> bool {
        self.pending.len() as u64 * 8 > self.page_bytes
    }

    /// Makes a page of what is pending, if there is any; whether there was.
    pub(super) fn flush(&mut self, jobs: &mut Vec<PageJob>) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        self.start(jobs);
        true
    }

    /// Makes a page of what is pending, or an empty one if there was none since the last time; whether it did.
    pub(super) fn close(&mut self, jobs: &mut Vec<PageJob>) -> bool {
        let due = !self.pending.is_empty() || !self.paged;
        if due {
            self.start(jobs);
        }
        self.paged = false;
        due
    }

    fn start(&mut self, jobs: &mut Vec<PageJob>) {
        self.paged = true;
        let (pending, items) = (std::mem::take(&mut self.pending), std::mem::take(&mut self.items));
        let null_offset_adjustment = items + 1;
        let end = |(end, valid): (u64, bool)| if valid { end } else { end + null_offset_adjustment };
        let length = pending.len() as u64;
        let ends: Vec<u8> = pending.into_iter().flat_map(|pending| end(pending).to_le_bytes()).collect();
        let mut buffers = Buffers::default();
        let offsets = Some(Box::new(no_nulls(flat(64, vec![ends.into()], &mut buffers))));
        let list = proto::List { offsets, null_offset_adjustment, num_items: items };
        let encoding = encoding(Kind::List(Box::new(list)));
        jobs.push(ready(page(self.column, length, buffers.into_parts(), &encoding)));
    }
}
