//! Checked steps from numbers off disk to sizes and slices.

use std::ops::Range;

use lance_footer::{FormatError, Result};

/// `number` as a size in memory.
pub(crate) fn size(number: u64, section: &'static str) -> Result<usize> {
    usize::try_from(number)
        .map_err(|_| FormatError::corrupt(section, format!("{number} does not fit into memory")))
}

/// `a * b` as a size in memory.
pub(crate) fn product(a: usize, b: usize, section: &'static str) -> Result<usize> {
    a.checked_mul(b).ok_or_else(|| FormatError::corrupt(section, format!("{a} times {b} overflows")))
}

/// Bytes of `count` values of `bits` bits without padding between them.
pub(crate) fn bytes_for(count: usize, bits: usize, section: &'static str) -> Result<usize> {
    Ok(product(count, bits, section)?.div_ceil(8))
}

/// The part `range` of `bytes`.
pub(crate) fn slice<'a>(bytes: &'a [u8], range: Range<usize>, section: &'static str) -> Result<&'a [u8]> {
    bytes.get(range.clone()).ok_or_else(|| {
        FormatError::corrupt(section, format!("bytes {range:?} of a buffer of {} bytes", bytes.len()))
    })
}

/// An error unless a buffer that should have `wanted` bytes has them.
pub(crate) fn exactly(bytes: &[u8], wanted: usize, section: &'static str) -> Result<()> {
    if bytes.len() == wanted {
        return Ok(());
    }
    Err(FormatError::corrupt(section, format!("{} bytes where {wanted} are due", bytes.len())))
}
