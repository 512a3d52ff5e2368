use std::ops::Range;

use crate::{Error, Result};

/// Rows of one layout, one behind the other, and where each ends.
///
/// ```
/// use fory_row::Rows;
/// let mut rows = Rows::default();
/// rows.push(&[1, 0, 0, 0, 0, 0, 0, 0]);
/// rows.push(&[2]);
/// assert_eq!((rows.len(), rows.get(1), rows.as_bytes().len()), (2, Some(&[2][..]), 9));
/// assert_eq!(rows.iter().map(<[u8]>::len).collect::<Vec<_>>(), [8, 1]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    bytes: Vec<u8>,
    /// Behind each row.
    ends: Vec<usize>,
}

/// The rows of [`Rows`], in order.
#[derive(Debug, Clone)]
pub struct RowsIter<'r> {
    bytes: &'r [u8],
    ends: std::slice::Iter<'r, usize>,
    start: usize,
}

impl Rows {
    /// The number of rows.
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of row `index`.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.bytes.get(self.range(index)?)
    }

    /// Where row `index` is in [`Self::as_bytes`].
    pub fn range(&self, index: usize) -> Option<Range<usize>> {
        let start = match index.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        Some(start..*self.ends.get(index)?)
    }

    /// The rows, in order.
    pub fn iter(&self) -> RowsIter<'_> {
        RowsIter { bytes: &self.bytes, ends: self.ends.iter(), start: 0 }
    }

    /// The bytes of all rows, with nothing between them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a row, which is not looked at.
    pub fn push(&mut self, row: &[u8]) {
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
    }

    /// Takes all rows out, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Takes rows out at the end, so that `len` are left.
    pub(super) fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(self.ends.last().copied().unwrap_or_default());
    }

    /// Makes room for rows.
    pub(super) fn reserve(&mut self, rows: usize, bytes: usize) -> Result<()> {
        let reserved = self.bytes.try_reserve(bytes).and_then(|()| self.ends.try_reserve(rows));
        reserved.map_err(|_| Error::value(format!("no memory for {rows} rows of {bytes} bytes")))
    }

    /// Adds rows that end at `ends`, all zero, and gives the bytes of all.
    pub(super) fn grow(&mut self, ends: impl IntoIterator<Item = usize>) -> &mut [u8] {
        self.ends.extend(ends);
        self.bytes.resize(self.ends.last().copied().unwrap_or_default(), 0);
        &mut self.bytes
    }
}

impl<'r> Iterator for RowsIter<'r> {
    type Item = &'r [u8];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let end = *self.ends.next()?;
        let start = std::mem::replace(&mut self.start, end);
        self.bytes.get(start..end)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ends.size_hint()
    }
}

impl ExactSizeIterator for RowsIter<'_> {}

impl<'r> IntoIterator for &'r Rows {
    type Item = &'r [u8];
    type IntoIter = RowsIter<'r>;

    fn into_iter(self) -> RowsIter<'r> {
        self.iter()
    }
}

impl<R: AsRef<[u8]>> FromIterator<R> for Rows {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> Self {
        let mut all = Self::default();
        rows.into_iter().for_each(|row| all.push(row.as_ref()));
        all
    }
}
