use std::ops::Range;

use lance_footer::{FormatError, Result};

use crate::bounds;
use crate::kernel::bitpack::Word;
use crate::values::{FixedValues, check_room};

/// Which values of a chunk are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picks {
    count: usize,
    /// None for all: most chunks are wanted as a whole, and need no memory for it.
    ranges: Option<Vec<Range<usize>>>,
    len: usize,
}

impl Picks {
    /// The values of `ranges` out of `count`. An error unless these are sorted, disjoint and within `count`.
    pub(crate) fn new(count: usize, ranges: Vec<Range<usize>>) -> Result<Self> {
        let (mut end, mut len) = (0, 0);
        for range in &ranges {
            if range.start < end || range.end < range.start || range.end > count {
                return Err(FormatError::corrupt("chunk", format!("values {range:?} of {count} are wanted")));
            }
            end = range.end;
            len += range.len();
        }
        Ok(Self { count, ranges: Some(ranges), len })
    }

    /// All of `count` values.
    pub(crate) const fn all(count: usize) -> Self {
        Self { count, ranges: None, len: count }
    }

    /// How many values there are.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// How many values are wanted.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether all values are wanted.
    pub(crate) const fn is_all(&self) -> bool {
        self.len == self.count
    }

    /// The wanted values.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let all = self.ranges.is_none().then_some(0..self.count);
        all.into_iter().chain(self.ranges.iter().flatten().cloned())
    }

    /// The same where each value consists of `factor` items.
    pub(crate) fn times(&self, factor: usize) -> Result<Self> {
        let count = bounds::product(self.count, factor, "chunk")?;
        let times = |range: &Range<usize>| range.start * factor..range.end * factor;
        let ranges = self.ranges.as_ref().map(|ranges| ranges.iter().map(times).collect());
        Ok(Self { count, ranges, len: self.len * factor })
    }

    /// Appends to `out` what is wanted of the `count` numbers that `decode` writes; straight to their place if
    /// all are.
    pub(crate) fn decode<T: Word>(
        &self,
        out: &mut FixedValues,
        decode: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<()> {
        if self.is_all() {
            return decode(out.extend_words(self.count)?);
        }
        check_room(0, bounds::product(self.count, T::BITS / 8, "chunk")?, out.scratch())?;
        let mut all = vec![T::default(); self.count];
        decode(&mut all)?;
        for range in self.ranges() {
            let wanted = all.get(range).unwrap_or_default();
            out.extend_words(wanted.len())?.copy_from_slice(wanted);
        }
        Ok(())
    }
}
