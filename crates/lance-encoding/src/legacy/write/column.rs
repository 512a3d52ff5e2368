//! A column of values: arrays wait until they are a page.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::{DataType, Field};
use lance_footer::{FormatError, Result};

use super::packed_struct::PackedWriter;
use super::values::{Buffers, values};
use super::{check_nulls, dictionary, page};
use crate::detach::used;
use crate::field::{at_member, is_packed};
use crate::settings::{Compression, Settings};
use crate::storage::Storage;
use crate::vocabulary::Vocabulary;
use crate::{EncodedPage, PageJob, WriterOptions};

/// Writes the column of a leaf.
pub(super) struct ColumnWriter {
    column: usize,
    leaf: Arc<Leaf>,
    vocabulary: Option<Vocabulary>,
    nullable: bool,
    page_bytes: u64,
    pending: Vec<ArrayRef>,
    bytes: u64,
    /// Whether there was a page since the lists above had one.
    paged: bool,
}

/// What all pages of a column have in common.
struct Leaf {
    name: String,
    data_type: DataType,
    compression: Option<Compression>,
    packed: Option<PackedWriter>,
}

impl ColumnWriter {
    /// Writes `field`, whose dotted name below the top-level field is `name`.
    pub(super) fn new(field: &Field, column: usize, name: String, options: &WriterOptions) -> Result<Self> {
        let packed = match field.data_type() {
            DataType::Struct(members) if is_packed(field) => {
                Some(PackedWriter::new(members).map_err(|error| at_member(error, &name))?)
            }
            data_type => {
                check(data_type).map_err(|error| at_member(error, &name))?;
                None
            }
        };
        let compression = Settings::compression(field, options.compression);
        let compression = compression.map_err(|error| at_member(error, &name))?;
        let leaf = Leaf { name, data_type: field.data_type().clone(), compression, packed };
        Ok(Self {
            column,
            vocabulary: Vocabulary::of(&leaf.data_type),
            leaf: Arc::new(leaf),
            nullable: field.is_nullable(),
            page_bytes: options.page_bytes.max(1),
            pending: vec![],
            bytes: 0,
            paged: false,
        })
    }

    /// Adds rows.
    pub(super) fn push(&mut self, array: &ArrayRef, jobs: &mut Vec<PageJob>) -> Result<()> {
        if array.is_empty() {
            return Ok(());
        }
        check_nulls(array, self.nullable, &self.leaf.name)?;
        if let Some(packed) = &self.leaf.packed {
            packed.check(array).map_err(|error| at_member(error, &self.leaf.name))?;
        }
        if let Some(vocabulary) = &mut self.vocabulary {
            let added = dictionary::note(array, vocabulary);
            added.map_err(|error| at_member(error, &self.leaf.name))?;
        }
        let array = self.counted(array);
        self.pending.push(array);
        if self.bytes > self.page_bytes {
            self.flush(jobs);
        }
        Ok(())
    }

    /// Counts the bytes that a page has more with `array`: also those of its dictionary, if that is not the page's first.
    /// Where the dictionary is like the last one, gives the array with that one, so that the page gets one of them.
    fn counted(&mut self, array: &ArrayRef) -> ArrayRef {
        self.bytes += used(array) as u64;
        let items = |array: &ArrayRef| array.as_any_dictionary_opt().map(|array| Arc::clone(array.values()));
        let (Some(own), Some(last)) = (items(array), self.pending.last().and_then(items)) else {
            return Arc::clone(array);
        };
        if Arc::ptr_eq(&own, &last) {
            return Arc::clone(array);
        }
        if *own == *last {
            return array.as_any_dictionary().with_values(last);
        }
        self.bytes += used(&own) as u64;
        Arc::clone(array)
    }

    /// Makes a page of what is pending, if there is any.
    pub(super) fn flush(&mut self, jobs: &mut Vec<PageJob>) {
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            self.start(pending, jobs);
        }
    }

    /// The same, and an empty page if there was none since the last time.
    pub(super) fn close(&mut self, jobs: &mut Vec<PageJob>) {
        self.flush(jobs);
        if !self.paged {
            self.start(vec![new_empty_array(&self.leaf.data_type)], jobs);
        }
        self.paged = false;
    }

    fn start(&mut self, arrays: Vec<ArrayRef>, jobs: &mut Vec<PageJob>) {
        self.bytes = 0;
        self.paged = true;
        let (column, leaf) = (self.column, Arc::clone(&self.leaf));
        jobs.push(PageJob::new(move || {
            leaf.encode(column, &arrays).map_err(|error| at_member(error, &leaf.name))
        }));
    }
}

impl Leaf {
    fn encode(&self, column: usize, arrays: &[ArrayRef]) -> Result<Vec<EncodedPage>> {
        let pages = match self.data_type {
            DataType::Dictionary(..) => dictionary::join(arrays)?,
            _ => vec![arrays.to_vec()],
        };
        let pages = pages.into_iter().map(|arrays| {
            let mut buffers = Buffers::default();
            let encoding = match &self.packed {
                Some(packed) => packed.encode(&arrays, &mut buffers)?,
                None => values(&arrays, &self.data_type, self.compression, &mut buffers)?,
            };
            let rows = arrays.iter().map(|array| array.len() as u64).sum();
            Ok(page(column, rows, buffers.into_parts(), &encoding))
        });
        pages.collect()
    }
}

/// An error if values of `data_type` cannot be stored.
fn check(data_type: &DataType) -> Result<()> {
    match data_type {
        // The reference fails when it reads them.
        DataType::FixedSizeBinary(0) => Err(FormatError::unsupported("writing binary values of 0 bytes")),
        DataType::FixedSizeList(item, _) => {
            check(item.data_type())?;
            Storage::of(data_type).map(|_| ())
        }
        data_type => Storage::of(data_type).map(|_| ()),
    }
}
