use std::fmt;
use std::ops::Range;

use crate::{FormatError, Result};

/// A range of bytes of a file: offset and length, whose end is known to fit 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    offset: u64,
    len: u64,
}

impl Extent {
    /// An empty extent at the start of the file.
    pub const EMPTY: Self = Self { offset: 0, len: 0 };

    /// The extent `[offset, offset + len)`. An error if its end does not fit 64 bits.
    pub fn new(offset: u64, len: u64) -> Result<Self> {
        match offset.checked_add(len) {
            Some(_) => Ok(Self { offset, len }),
            None => Err(FormatError::corrupt(
                "extent",
                format!("offset {offset} plus length {len} overflows 64 bits"),
            )),
        }
    }

    /// The extent from `start` up to `end`. An error if it ends before it starts.
    pub fn between(start: u64, end: u64) -> Result<Self> {
        match end.checked_sub(start) {
            Some(len) => Ok(Self { offset: start, len }),
            None => Err(FormatError::corrupt("extent", format!("start {start} is after end {end}"))),
        }
    }

    /// First byte.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no byte in it.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One past the last byte.
    pub const fn end(&self) -> u64 {
        // The constructors checked it.
        self.offset + self.len
    }

    /// Whether `other` lies within this extent.
    pub const fn contains(&self, other: &Self) -> bool {
        self.offset <= other.offset && other.end() <= self.end()
    }

    /// The part `range` of this extent, counted from its start. An error if it reaches outside.
    pub fn slice(&self, range: Range<u64>) -> Result<Self> {
        if range.start > range.end || range.end > self.len {
            return Err(FormatError::corrupt(
                "extent",
                format!("bytes {}..{} of a buffer of {} bytes", range.start, range.end, self.len),
            ));
        }
        Ok(Self { offset: self.offset + range.start, len: range.end - range.start })
    }
}

impl fmt::Debug for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.offset, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_must_fit() {
        assert!(Extent::new(u64::MAX, 1).is_err());
        assert_eq!(Extent::new(u64::MAX, 0).unwrap().end(), u64::MAX);
        assert!(Extent::between(2, 1).is_err());
    }

    #[test]
    fn slices_stay_inside() {
        let extent = Extent::new(10, 5).unwrap();
        assert_eq!(extent.slice(1..3).unwrap(), Extent::new(11, 2).unwrap());
        assert_eq!(extent.slice(5..5).unwrap().len(), 0);
        assert!(extent.slice(0..6).is_err());
        #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
        let reversed = 3..2;
        assert!(extent.slice(reversed).is_err());
    }
}
