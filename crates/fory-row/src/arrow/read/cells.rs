//! The places in rows that the values of one column come from.

use crate::arrow::image::Fault;
use crate::error::Step;
use crate::geometry::RowGeometry;
use crate::layout::FieldLayout;
use crate::raw::{RawArray, Slot, bit};
use crate::{Error, Result};

/// The places of the next values of a column, in order.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cells<'c, 'a> {
    /// One field of rows or structs, whose lengths were checked. Where a struct is null or absent its fields are absent.
    Fields { rows: &'c [Option<&'a [u8]>], geometry: &'c RowGeometry, field: &'c FieldLayout },
    /// The elements of arrays.
    Elements(&'c [Items<'a>]),
}

/// The elements of one array.
#[derive(Debug, Clone, Copy)]
pub(super) struct Items<'a> {
    /// `None` where they are absent, as those of a list of fixed size are that is null.
    pub(super) array: Option<RawArray<'a>>,
    pub(super) len: usize,
    /// Which of the cells around the array is in.
    pub(super) cell: usize,
}

/// What is in a place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    Value(Slot<'a>),
    Null,
    /// Nothing: a struct or list around it is null.
    Absent,
}

impl<'a> Cells<'_, 'a> {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fields { rows, .. } => rows.len(),
            Self::Elements(arrays) => arrays.iter().map(|items| items.len).sum(),
        }
    }

    /// Looks at each.
    #[inline]
    pub(super) fn visit(&self, mut see: impl FnMut(Cell<'a>) -> Result<()>) -> Result<(), Fault> {
        match self {
            Self::Fields { rows, geometry, field } => {
                let may_be_null = geometry.bitmap_len > 0;
                for (ordinal, row) in rows.iter().enumerate() {
                    let cell = match row {
                        None => Cell::Absent,
                        Some(row) if may_be_null && bit(row, geometry.bitmap, field.bit) => Cell::Null,
                        Some(row) => Cell::Value(Slot::new(row, field.slot, geometry.fixed_end)),
                    };
                    see(cell).map_err(|error| Fault { image: ordinal, at: 0, error })?;
                }
            }
            Self::Elements(arrays) => {
                for (ordinal, items) in arrays.iter().enumerate() {
                    for at in 0..items.len {
                        let cell = match &items.array {
                            None => Cell::Absent,
                            Some(array) if array.is_null(at) => Cell::Null,
                            Some(array) => Cell::Value(array.slot(at)),
                        };
                        see(cell).map_err(|error| Fault { image: ordinal, at, error })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether any is null or absent.
    pub(super) fn any_none(&self) -> bool {
        match self {
            Self::Fields { rows, geometry, field } if geometry.bitmap_len > 0 => {
                rows.iter().any(|row| row.is_none_or(|row| bit(row, geometry.bitmap, field.bit)))
            }
            Self::Fields { rows, .. } => rows.iter().any(Option::is_none),
            Self::Elements(arrays) => {
                arrays.iter().any(|items| items.array.as_ref().is_none_or(RawArray::has_nulls))
            }
        }
    }

    /// An error about the cell with this ordinal.
    #[cold]
    pub(super) fn fault(&self, cell: usize, error: Error) -> Fault {
        let Self::Elements(arrays) = self else { return Fault { image: cell, at: 0, error } };
        let mut at = cell;
        for (image, items) in arrays.iter().enumerate() {
            if at < items.len {
                return Fault { image, at, error };
            }
            at -= items.len;
        }
        Fault { image: arrays.len(), at, error }
    }

    /// A fault in an element of `arrays`, which are in these cells.
    #[cold]
    pub(super) fn fault_in(&self, arrays: &[Items<'_>], step: fn(usize) -> Step, fault: Fault) -> Fault {
        let cell = arrays.get(fault.image).map_or(0, |items| items.cell);
        self.fault(cell, fault.error.within(step(fault.at)))
    }
}
