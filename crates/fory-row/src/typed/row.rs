//! What derived code does with each field, so that the code itself stays small.

use crate::geometry::{RowGeometry, Widths};
use crate::raw::{self, Slot};
use crate::schema::{STRUCT_ID, hash_step};
use crate::typed::{FromRow, Image, RowType};
use crate::value::Budget;
use crate::{MAX_DEPTH, Result, RowFormat};

/// Takes the type of a struct into a hash.
pub const fn hash_type(hash: i64) -> i64 {
    hash_step(hash, STRUCT_ID)
}

/// The widths of a struct: a row of its own, or in compact rows in place if it is of fixed width.
pub const fn struct_widths(compact: RowGeometry) -> Widths {
    Widths { standard: None, compact: compact.inline }
}

/// The levels of nesting of what has parts of `depths`.
#[expect(clippy::indexing_slicing, reason = "evaluated while compiling")]
pub const fn struct_depth(depths: &[usize]) -> usize {
    let mut deepest = 0;
    let mut i = 0;
    while i < depths.len() {
        if depths[i] > deepest {
            deepest = depths[i];
        }
        i += 1;
    }
    deepest + 1
}

/// Refuses, while compiling, a row whose schema would be refused. Asking for the depth of a struct that holds itself is
/// an error already.
pub const fn check_depth(depth: usize) {
    assert!(depth <= MAX_DEPTH + 1, "a row of more than 64 levels of nesting");
}

/// The value of a field, lazily.
#[inline]
pub fn field<'a, T: RowType, F: RowFormat>(
    bytes: &'a [u8],
    row: RowGeometry,
    slot: usize,
    bit: usize,
    name: &'static str,
) -> Result<T::View<'a, F>> {
    let view = if raw::is_null(bytes, &row, bit) {
        T::null_view::<F>()
    } else {
        T::view::<F>(Slot::new(bytes, slot, row.fixed_end))
    };
    match view {
        Ok(view) => Ok(view),
        Err(error) => Err(error.in_field(name)),
    }
}

/// The value of a field, owned.
#[inline]
pub fn from_field<'a, T: FromRow<'a>, F: RowFormat>(
    bytes: &'a [u8],
    row: RowGeometry,
    slot: usize,
    bit: usize,
    name: &'static str,
    budget: &mut Budget,
) -> Result<T> {
    let value = if raw::is_null(bytes, &row, bit) {
        T::from_null()
    } else {
        T::from_slot::<F>(Slot::new(bytes, slot, row.fixed_end), budget)
    };
    match value {
        Ok(value) => Ok(value),
        Err(error) => Err(error.in_field(name)),
    }
}

/// Writes a field.
#[inline]
pub fn write_field<T: RowType, F: RowFormat>(
    image: &mut Image<'_>,
    row: RowGeometry,
    slot: usize,
    bit: usize,
    name: &'static str,
    value: &T,
) -> Result<()> {
    let written =
        if value.is_null() { image.set_bit(row.bitmap, bit) } else { value.write::<F>(image, slot) };
    match written {
        Ok(()) => Ok(()),
        Err(error) => Err(error.in_field(name)),
    }
}
