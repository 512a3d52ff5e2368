//! What a file reader uses of this crate.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::Field;
use lance_footer::{Column, Machine, Result, Rows, Version};

use crate::budget::{Allowance, TableBudget};

/// Reads one top-level field of an open file.
pub trait FieldReader: Send + Sync {
    /// Rows of the field.
    fn rows(&self) -> u64;

    /// Bytes of the lookup tables that are held: chunk tables, repetition indices, dictionaries.
    fn weight(&self) -> usize;

    /// A machine that loads the lookup tables which reading `rows` needs and which are not there yet; none
    /// if all are. They are kept as long as the reader, so a repeated take costs no metadata read.
    fn prepare(&self, rows: &Rows) -> Result<Option<Box<dyn Machine<Output = ()>>>>;

    /// About how many bytes `rows` take, once prepared; none before. These are the bytes that are fetched, and
    /// those of values that a page holds once for many rows.
    fn cost(&self, rows: Range<u64>) -> Option<u64>;

    /// A machine that loads `rows`, which must be prepared.
    ///
    /// With `order`, the result has the rows at these positions of `rows`, in this order; positions may
    /// repeat. Wide values are then fetched straight to their final place.
    fn load(
        &self,
        rows: &Rows,
        order: Option<Arc<[u32]>>,
    ) -> Result<Box<dyn Machine<Output = Arc<dyn Loaded>>>>;
}

/// Rows of a field whose bytes are in hand.
pub trait Loaded: Send + Sync {
    /// How many rows were loaded: those of `rows`, or of `order` if there was one.
    fn rows(&self) -> u64;

    /// Decodes the loaded rows at positions `part`. The array has the type that the field was opened with.
    ///
    /// The memory that it takes comes out of `allowance`; an error, [`OverBudget`](lance_footer::FormatError), if that
    /// is not enough. Fewer rows at once take less.
    fn decode(&self, part: Range<u64>, allowance: &mut Allowance) -> Result<ArrayRef>;
}

/// A reader of `field`, which is stored in `columns` of a file of `version`: those of its leaves in depth-first order,
/// and in version 2.0 also its own and those of all that is between, parents first.
///
/// The lookup tables that it will hold come out of `tables`, which all readers of a file share.
///
/// The field's type says what is made of a blob column: a large binary has the values, a struct of `position` and `size`
/// where they lie in the file.
pub fn open_field(
    field: &Field,
    columns: &[Arc<Column>],
    version: Version,
    tables: &Arc<TableBudget>,
) -> Result<Arc<dyn FieldReader>> {
    match version {
        Version::V2_0 => crate::legacy::read::open_field(field, columns, tables),
        // These two differ by what pages say of themselves.
        Version::V2_1 | Version::V2_2 => crate::structural::read::open_field(field, columns, tables),
    }
}

/// Whether the strings in `column`, of a file of version 2.0, are stored as lists of bytes: these are in the column after
/// it, which then belongs to the same field. Older writers did so.
pub fn is_text_as_list(column: &Column, version: Version) -> bool {
    version == Version::V2_0 && crate::legacy::read::is_text_as_list(column)
}
