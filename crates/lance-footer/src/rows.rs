use std::ops::Range;

use crate::{FormatError, Result};

/// A set of rows as sorted, disjoint, non-empty ranges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    ranges: Vec<Range<u64>>,
    len: u64,
}

impl Rows {
    /// The rows of `range`.
    pub fn range(range: Range<u64>) -> Self {
        let len = range.end.saturating_sub(range.start);
        Self { ranges: if len == 0 { vec![] } else { vec![range] }, len }
    }

    /// The rows of `ranges`, which must be sorted and disjoint. Ranges that touch are joined, empty ones
    /// dropped.
    pub fn from_ranges(ranges: impl IntoIterator<Item = Range<u64>>) -> Result<Self> {
        let mut rows = Self::default();
        for range in ranges {
            if range.start >= range.end {
                continue;
            }
            let len = range.end - range.start;
            match rows.ranges.last_mut() {
                Some(last) if range.start < last.end => {
                    return Err(FormatError::corrupt(
                        "row ranges",
                        format!("{}..{} comes after {}..{}", range.start, range.end, last.start, last.end),
                    ));
                }
                Some(last) if range.start == last.end => last.end = range.end,
                _ => rows.ranges.push(range),
            }
            rows.len += len;
        }
        Ok(rows)
    }

    /// The rows of `indices` in any order, each once.
    pub fn from_indices(indices: &[u64]) -> Self {
        let mut sorted = indices.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut rows = Self { ranges: vec![], len: sorted.len() as u64 };
        for index in sorted {
            match rows.ranges.last_mut() {
                Some(last) if last.end == index => last.end = index.saturating_add(1),
                _ => rows.ranges.push(index..index.saturating_add(1)),
            }
        }
        rows
    }

    /// The ranges, sorted and disjoint.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// How many rows there are.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no row.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One past the last row; 0 if there is none.
    pub fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.end)
    }

    /// The rows within `window`, with their numbers unchanged.
    pub fn within(&self, window: Range<u64>) -> Self {
        let first = self.ranges.partition_point(|range| range.end <= window.start);
        let mut rows = Self::default();
        for range in self.ranges.iter().skip(first).take_while(|range| range.start < window.end) {
            let clipped = range.start.max(window.start)..range.end.min(window.end);
            rows.len += clipped.end - clipped.start;
            rows.ranges.push(clipped);
        }
        rows
    }

    /// The rows at `positions` of this set: `rows.select(0..2)` are its first two rows.
    pub fn select(&self, positions: Range<u64>) -> Self {
        let mut rows = Self::default();
        let mut passed = 0;
        for range in &self.ranges {
            let len = range.end - range.start;
            let from = positions.start.max(passed);
            let to = positions.end.min(passed + len);
            if from < to {
                rows.ranges.push(range.start + (from - passed)..range.start + (to - passed));
                rows.len += to - from;
            }
            passed += len;
            if passed >= positions.end {
                break;
            }
        }
        rows
    }

    /// The same rows, all numbers smaller by `by`. Rows below `by` are left out.
    pub fn shifted_down(&self, by: u64) -> Self {
        let mut rows = self.within(by..u64::MAX);
        for range in &mut rows.ranges {
            *range = range.start - by..range.end - by;
        }
        rows
    }

    /// Every row number, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges.iter().cloned().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_become_sorted_ranges() {
        let rows = Rows::from_indices(&[5, 1, 2, 9, 2, 0]);
        assert_eq!(rows.ranges(), &[0..3, 5..6, 9..10]);
        assert_eq!(rows.len(), 5);
        assert_eq!(rows.end(), 10);
        assert_eq!(rows.iter().collect::<Vec<_>>(), [0, 1, 2, 5, 9]);
    }

    #[test]
    fn windows_and_positions() {
        let rows = Rows::from_ranges([0..3, 3..4, 6..6, 8..12]).unwrap();
        assert_eq!(rows.ranges(), &[0..4, 8..12]);
        assert_eq!(rows.within(2..9).ranges(), &[2..4, 8..9]);
        assert_eq!(rows.select(3..6).ranges(), &[3..4, 8..10]);
        assert_eq!(rows.select(3..6).len(), 3);
        assert_eq!(rows.shifted_down(2).ranges(), &[0..2, 6..10]);
        assert!(rows.within(4..8).is_empty());
    }

    #[test]
    fn unsorted_ranges_are_refused() {
        assert!(Rows::from_ranges([5..6, 0..1]).is_err());
        assert!(Rows::from_ranges([0..3, 2..4]).is_err());
    }
}
