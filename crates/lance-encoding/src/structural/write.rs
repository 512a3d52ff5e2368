//! Writing: arrays are kept, cut into pages by their size, and encoded by [`PageJob`]s. They are kept as they
//! come, but for those that would keep other memory alive.

mod batch;
mod constant;
mod full_zip;
mod items;
mod layout;
mod levels;
mod mini_block;
mod number;
mod packed_struct;
mod page;
mod path;
mod shred;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use lance_footer::Result;
use prost::Message;

use self::batch::LeafBatch;
use self::path::{LeafPath, leaf_paths};
use self::shred::Shredded;
use crate::detach::{detach, pieces};
use crate::field::at_member;
use crate::proto::PageLayout;
use crate::rules::Rules;
use crate::vocabulary::Vocabulary;
use crate::writer::check_type;
use crate::{EncodedPage, FieldWriter, PageJob, WriterOptions};

/// Writes one top-level field in a version with structural encodings.
pub(crate) struct StructuralWriter {
    data_type: DataType,
    leaves: Vec<LeafColumn>,
}

impl StructuralWriter {
    /// A writer of `field`. An error that names the member that cannot be stored.
    pub(crate) fn new(field: &Field, options: &WriterOptions) -> Result<Self> {
        let rules = Rules::of(options.version)?;
        let column = |(leaf, path): (usize, LeafPath)| LeafColumn {
            leaf,
            vocabulary: Vocabulary::of(&path.data_type),
            path: Arc::new(path),
            rules,
            page_bytes: options.page_bytes.max(1),
            pending: vec![],
            bytes: 0,
            first_row: 0,
        };
        let leaves =
            leaf_paths(field, &rules, options.compression)?.into_iter().enumerate().map(column).collect();
        Ok(Self { data_type: field.data_type().clone(), leaves })
    }
}

impl FieldWriter for StructuralWriter {
    fn push(&mut self, array: ArrayRef) -> Result<Vec<PageJob>> {
        check_type(&array, &self.data_type)?;
        let array = detach(&array);
        let mut jobs = vec![];
        // The rows of packed structs are copied at once, and strings in one piece may have only so many bytes.
        let packed = self.leaves.iter().find(|leaf| leaf.path.packed.is_some());
        let packed: Vec<_> = packed.map(|leaf| pieces(&array, leaf.page_bytes).collect()).unwrap_or_default();
        for leaf in &mut self.leaves {
            let parts = if leaf.path.packed.is_some() { &packed } else { std::slice::from_ref(&array) };
            for part in parts {
                leaf.push(LeafBatch::new(part, &leaf.path)?, &mut jobs)?;
            }
        }
        Ok(jobs)
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<PageJob>> {
        let mut jobs = vec![];
        for leaf in &mut self.leaves {
            leaf.flush(&mut jobs);
        }
        Ok(jobs)
    }
}

/// A leaf, with the rows that are not in a page yet.
struct LeafColumn {
    leaf: usize,
    path: Arc<LeafPath>,
    vocabulary: Option<Vocabulary>,
    rules: Rules,
    page_bytes: u64,
    pending: Vec<LeafBatch>,
    bytes: u64,
    /// Row number of the first pending row.
    first_row: u64,
}

impl LeafColumn {
    /// Adds `batch`. Pages have about `page_bytes`: big batches are cut, but what is left after a cut goes
    /// with it if it is less than half a page.
    fn push(&mut self, batch: LeafBatch, jobs: &mut Vec<PageJob>) -> Result<()> {
        if let (Some(vocabulary), Some(dictionary)) = (&mut self.vocabulary, &batch.dictionary) {
            let added = vocabulary.add(dictionary, batch.keys());
            added.map_err(|error| at_member(error, self.path.name()))?;
        }
        if self.pending.last().is_some_and(|last| !same_dictionary(last, &batch)) {
            self.flush(jobs);
        }
        let (mut start, rows) = (0, batch.rows);
        while start < rows {
            let left = batch.bytes(start..rows);
            if self.bytes + left <= self.page_bytes {
                self.keep(&batch, start..rows, left);
                return Ok(());
            }
            let end = if self.bytes + left <= self.page_bytes.saturating_mul(3) / 2 {
                rows
            } else {
                self.cut(&batch, start)
            };
            if end > start {
                self.keep(&batch, start..end, batch.bytes(start..end));
            }
            self.flush(jobs);
            start = end;
        }
        Ok(())
    }

    /// Up to where the rows from `start` on fit the page; at least one does if it is the page's first.
    fn cut(&self, batch: &LeafBatch, start: usize) -> usize {
        let (mut low, mut high) = (start, batch.rows);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.bytes + batch.bytes(start..middle) <= self.page_bytes {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        if low == start && self.pending.is_empty() { start + 1 } else { low }
    }

    fn keep(&mut self, batch: &LeafBatch, rows: std::ops::Range<usize>, bytes: u64) {
        self.pending.push(if rows.len() == batch.rows { batch.clone() } else { batch.slice(rows) });
        self.bytes += bytes;
    }

    fn flush(&mut self, jobs: &mut Vec<PageJob>) {
        let batches = std::mem::take(&mut self.pending);
        self.bytes = 0;
        let rows: usize = batches.iter().map(|batch| batch.rows).sum();
        if rows == 0 {
            return;
        }
        let (leaf, path, rules, priority) = (self.leaf, self.path.clone(), self.rules, self.first_row);
        self.first_row += rows as u64;
        jobs.push(PageJob::new(move || encode(leaf, &path, &batches, priority, &rules)));
    }
}

fn same_dictionary(one: &LeafBatch, other: &LeafBatch) -> bool {
    match (&one.dictionary, &other.dictionary) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
        (one, other) => one.is_none() == other.is_none(),
    }
}

fn encode(
    leaf: usize,
    path: &LeafPath,
    batches: &[LeafBatch],
    mut priority: u64,
    rules: &Rules,
) -> Result<Vec<EncodedPage>> {
    let shredded = Shredded::new(batches, path)?;
    let dictionary = batches.first().and_then(|batch| batch.dictionary.as_ref());
    let mut pages = vec![];
    // Below a fixed-size list of structs a page counts its items.
    let slots = path.slots() as u64;
    for page in layout::lay_out(shredded, path, dictionary, rules)? {
        let rows = page.rows as u64;
        pages.push(EncodedPage {
            leaf,
            length: rows.saturating_mul(slots),
            priority,
            buffers: page.buffers,
            encoding: PageLayout { layout: Some(page.layout) }.encode_to_vec(),
        });
        priority += rows;
    }
    Ok(pages)
}
