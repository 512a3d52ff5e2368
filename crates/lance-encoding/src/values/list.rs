//! Offsets of lists.

use arrow_array::OffsetSizeTrait;
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use lance_footer::{FormatError, Result};

/// Offsets that were made by counting, and so start with 0 and do not fall.
pub(crate) fn list_offsets<O: OffsetSizeTrait + TryFrom<u64>>(starts: Vec<u64>) -> Result<OffsetBuffer<O>> {
    let offsets: Option<Vec<O>> = starts.into_iter().map(|start| O::try_from(start).ok()).collect();
    match offsets {
        Some(offsets) if !offsets.is_empty() && offsets.is_sorted() => {
            Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
        }
        Some(_) => Err(FormatError::corrupt("list offsets", "they are not sorted")),
        None => Err(too_many_items()),
    }
}

/// The error of lists that 32-bit offsets cannot hold.
pub(crate) fn too_many_items() -> FormatError {
    FormatError::unsupported("more than 2^31 items in one array of lists; read fewer rows at once")
}
