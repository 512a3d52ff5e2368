//! The row list of `--rows`: `3,10-20,5`.

use std::str::FromStr;

/// Rows in the order given, duplicates kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowList {
    /// First and last row of each range.
    ranges: Vec<(u64, u64)>,
    len: u64,
}

impl RowList {
    /// How many rows, duplicates counted.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The largest row.
    pub(crate) fn max(&self) -> Option<u64> {
        self.ranges.iter().map(|(_, last)| *last).max()
    }

    /// The rows one by one.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// Without the first `offset`, and then at most `limit`.
    pub(crate) fn window(&self, offset: u64, limit: Option<u64>) -> Self {
        let mut skip = offset;
        let mut left = limit.unwrap_or(u64::MAX);
        let mut window = Self { ranges: Vec::new(), len: 0 };
        for &(first, last) in &self.ranges {
            // The length of one range fits, since the sum of all does.
            let length = last - first + 1;
            let skipped = skip.min(length);
            skip -= skipped;
            let taken = left.min(length - skipped);
            left -= taken;
            if taken > 0 {
                window.ranges.push((first + skipped, first + skipped + taken - 1));
                window.len += taken;
            }
        }
        window
    }
}

impl FromStr for RowList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut ranges = Vec::new();
        let mut len = 0u64;
        for part in text.split(',') {
            let part = part.trim();
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first, part)?, number(last, part)?);
            if first > last {
                return Err(format!("range {part:?} ends before it starts"));
            }
            len = (last - first)
                .checked_add(1)
                .and_then(|length| len.checked_add(length))
                .ok_or_else(|| format!("{part:?} asks for too many rows"))?;
            ranges.push((first, last));
        }
        Ok(Self { ranges, len })
    }
}

fn number(text: &str, part: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| {
        format!("{part:?} is neither a row nor a range of rows, as in 3,10-20,5 (rows count from 0)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<u64> {
        text.parse::<RowList>().unwrap().iter().collect()
    }

    #[test]
    fn order_and_duplicates_are_kept() {
        assert_eq!(rows("3,10-12,5,3"), [3, 10, 11, 12, 5, 3]);
        assert_eq!(rows(" 7 , 1 - 1 "), [7, 1]);
        let list: RowList = "3,10-12,5".parse().unwrap();
        assert_eq!((list.len(), list.max()), (5, Some(12)));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for text in ["", "a", "1,,2", "-3", "3-", "5-4", "1-2-3", "1.5", "0-18446744073709551615", "-1"] {
            assert!(text.parse::<RowList>().is_err(), "{text}");
        }
        assert!("1,5-4".parse::<RowList>().unwrap_err().contains("5-4"));
        assert!("18446744073709551615".parse::<RowList>().is_ok());
    }

    #[test]
    fn windows_cut_both_ends() {
        let list: RowList = "3,10-12,5".parse().unwrap();
        let window = |offset, limit| list.window(offset, limit).iter().collect::<Vec<_>>();
        assert_eq!(window(0, None), [3, 10, 11, 12, 5]);
        assert_eq!(window(2, Some(2)), [11, 12]);
        assert_eq!(window(4, Some(9)), [5]);
        assert_eq!(window(5, None), [0u64; 0]);
        assert_eq!(window(0, Some(0)), [0u64; 0]);
    }
}
