//! The rows of a column's pages.

use std::ops::Range;

use lance_footer::{FormatError, Result, Rows};

/// Rows of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touched {
    /// The page's number.
    pub(crate) page: usize,
    /// Its first row.
    pub(crate) start: u64,
    /// The rows, counted from there.
    pub(crate) rows: Rows,
}

/// Where each page of a column starts.
#[derive(Debug)]
pub(crate) struct Starts(Vec<u64>);

impl Starts {
    /// Of pages with these `lengths`.
    pub(crate) fn new(lengths: impl Iterator<Item = u64>) -> Result<Self> {
        let mut end = 0_u64;
        let mut starts = vec![end];
        for length in lengths {
            end = end
                .checked_add(length)
                .ok_or_else(|| FormatError::corrupt("column", "the lengths of its pages overflow 64 bits"))?;
            starts.push(end);
        }
        Ok(Self(starts))
    }

    /// Rows of all pages.
    pub(crate) fn rows(&self) -> u64 {
        self.0.last().copied().unwrap_or_default()
    }

    /// One past the last row of page `page`.
    pub(crate) fn end(&self, page: usize) -> u64 {
        page.checked_add(1).and_then(|next| self.0.get(next)).copied().unwrap_or_default()
    }

    /// The pages that `rows` touch.
    pub(crate) fn touched(&self, rows: &Rows) -> Vec<Touched> {
        let mut touched: Vec<(usize, u64, Vec<Range<u64>>)> = vec![];
        for range in rows.ranges() {
            let mut index = self.0.partition_point(|start| *start <= range.start).saturating_sub(1);
            while let (Some(start), Some(end)) = (self.0.get(index), self.0.get(index + 1)) {
                if *start >= range.end {
                    break;
                }
                let part = range.start.max(*start)..range.end.min(*end);
                if part.start < part.end {
                    let part = part.start - start..part.end - start;
                    match touched.last_mut() {
                        Some((last, _, parts)) if *last == index => parts.push(part),
                        _ => touched.push((index, *start, vec![part])),
                    }
                }
                index += 1;
            }
        }
        let rows = |parts| Rows::from_ranges(parts).unwrap_or_default();
        let touched = touched.into_iter();
        touched.map(|(page, start, parts)| Touched { page, start, rows: rows(parts) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_rows_are_passed_over() {
        let starts = Starts::new([3, 0, 0, 4, 0].into_iter()).unwrap();
        assert_eq!(starts.rows(), 7);
        let rows = Rows::from_ranges([0..1, 2..5, 6..7]).unwrap();
        let expected = [(0, 0, vec![0..1, 2..3]), (3, 3, vec![0..2, 3..4])]
            .map(|(page, start, parts)| Touched { page, start, rows: Rows::from_ranges(parts).unwrap() });
        assert_eq!(starts.touched(&rows), expected);
        assert!(Starts::new([u64::MAX, 1].into_iter()).is_err());
    }
}
