//! Row addresses and stable row ids (docs/format/table.md §8).
//!
//! A row address says where a row lies: fragment id in the upper 32 bits, physical offset in the lower. A
//! table may give rows ids that they keep when they move; then each fragment has the sequence of its rows'
//! ids, in physical order.

use std::ops::Range;

use arrow_array::UInt64Array;
use bytes::Bytes;
use lance_footer::{Cursor, FormatError, Result, Rows};
use prost::Message;

use crate::proto::data_fragment::{
    CreatedAtVersionSequence, LastUpdatedAtVersionSequence, RowIdSequence as Stored,
};
use crate::proto::encoded_u64_array::Array;
use crate::proto::u64_segment::{self, Segment};
use crate::proto::{
    DataFragment, EncodedU64Array, RowDatasetVersionRun, RowDatasetVersionSequence, RowIdSequence, U64Segment,
};

mod carried;
mod lookup;

pub(crate) use carried::Carried;
pub(crate) use lookup::{ByRowId, bounds};

const SECTION: &str = "row id sequence";

/// The ids of the rows of one fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowIds {
    /// The row's address.
    Address {
        /// Fragment id.
        fragment: u32,
    },
    /// From a sequence, as runs of consecutive ids.
    Stable(Vec<Run>),
}

/// Rows from `at` on have the ids `start`, `start + 1`, … up to where the next run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    at: u64,
    start: u64,
}

impl RowIds {
    /// The ids of the rows of `fragment`.
    pub(crate) fn of(fragment: &DataFragment) -> Result<Self> {
        match &fragment.row_id_sequence {
            None => {
                let fragment = u32::try_from(fragment.id)
                    .map_err(|_| corrupt(format!("fragment id {} does not fit 32 bits", fragment.id)))?;
                Ok(Self::Address { fragment })
            }
            Some(Stored::InlineRowIds(bytes)) => Ok(Self::Stable(parse(bytes, fragment.physical_rows)?)),
            Some(Stored::ColumnRowIds(_)) => Err(column_row_ids()),
        }
    }

    /// The ids of the rows at the physical `offsets`.
    pub(crate) fn at(&self, offsets: impl Iterator<Item = u64>) -> UInt64Array {
        UInt64Array::from_iter_values(offsets.map(|offset| self.id(offset)))
    }

    /// The ids of `rows`, which are physical offsets of the fragment, as ranges in their order.
    pub(crate) fn ranges(&self, rows: &Rows) -> Vec<Range<u64>> {
        let mut ranges = vec![];
        for part in rows.ranges() {
            let Self::Stable(runs) = self else {
                ranges.push(self.id(part.start)..self.id(part.start).saturating_add(part.end - part.start));
                continue;
            };
            let first = runs.partition_point(|run| run.at <= part.start).saturating_sub(1);
            for (index, run) in runs.iter().enumerate().skip(first).take_while(|(_, run)| run.at < part.end) {
                let end = runs.get(index + 1).map_or(u64::MAX, |next| next.at);
                let (from, to) = (part.start.max(run.at), part.end.min(end));
                if from < to {
                    let start = run.start.saturating_add(from - run.at);
                    ranges.push(start..start.saturating_add(to - from));
                }
            }
        }
        ranges
    }

    /// The id of the row at the physical `offset`, which must be one of the fragment.
    pub(crate) fn id(&self, offset: u64) -> u64 {
        match self {
            Self::Address { fragment } => (u64::from(*fragment) << 32) | offset,
            Self::Stable(runs) => {
                let after = runs.partition_point(|run| run.at <= offset);
                let run = after.checked_sub(1).and_then(|index| runs.get(index));
                run.map_or(u64::MAX, |run| run.start + (offset - run.at))
            }
        }
    }
}

/// The runs of a stored sequence of `rows` ids.
fn parse(bytes: &Bytes, rows: u64) -> Result<Vec<Run>> {
    let sequence = RowIdSequence::decode(bytes.clone()).map_err(|error| corrupt(error.to_string()))?;
    let mut runs = Runs::default();
    for segment in sequence.segments {
        runs.push_segment(segment)?;
    }
    if runs.rows != rows {
        return Err(corrupt(format!("{} ids for {rows} rows", runs.rows)));
    }
    Ok(runs.runs)
}

/// The runs of a stored sequence of versions of `rows` rows, as how many rows each has and which version.
pub(crate) fn runs_of_versions(bytes: &Bytes, rows: u64) -> Result<Vec<(u64, u64)>> {
    let fail = |reason: String| FormatError::corrupt("row version sequence", reason);
    let sequence =
        RowDatasetVersionSequence::decode(bytes.clone()).map_err(|error| fail(error.to_string()))?;
    let (mut runs, mut found) = (Vec::with_capacity(sequence.runs.len()), 0_u64);
    for run in sequence.runs {
        // Only how many values there are counts, not which.
        let mut span = Runs::default();
        span.push_segment(run.span.unwrap_or_default())?;
        found = found.checked_add(span.rows).ok_or_else(|| fail("more than 2^64 rows".into()))?;
        runs.push((span.rows, run.version));
    }
    match found == rows {
        true => Ok(runs),
        false => Err(fail(format!("{found} versions for {rows} rows"))),
    }
}

#[derive(Default)]
struct Runs {
    runs: Vec<Run>,
    /// Ids so far.
    rows: u64,
    /// The id after the last.
    next: u64,
}

impl Runs {
    fn push_segment(&mut self, segment: U64Segment) -> Result<()> {
        match segment.segment.ok_or_else(unknown_segment)? {
            Segment::Range(range) => self.push(range.start, range.end)?,
            Segment::RangeWithHoles(range) => {
                let mut start = range.start;
                for hole in values(range.holes)? {
                    if hole < start || hole >= range.end {
                        return Err(corrupt(format!("a hole at {hole} in {start}..{}", range.end)));
                    }
                    self.push(start, hole)?;
                    start = hole + 1;
                }
                self.push(start, range.end)?;
            }
            Segment::RangeWithBitmap(range) => self.push_bitmap(&range)?,
            Segment::SortedArray(array) | Segment::Array(array) => {
                for value in values(Some(array))? {
                    self.push(value, value.checked_add(1).ok_or_else(|| corrupt("an id of 2^64 - 1"))?)?;
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, start: u64, end: u64) -> Result<()> {
        let len = range_len(start, end)?;
        if len == 0 {
            return Ok(());
        }
        if self.rows == 0 || self.next != start {
            self.runs.push(Run { at: self.rows, start });
        }
        self.next = end;
        self.rows = self.rows.checked_add(len).ok_or_else(|| corrupt("more than 2^64 ids"))?;
        Ok(())
    }

    /// The least significant bit of the first byte is the first value of the range.
    fn push_bitmap(&mut self, range: &u64_segment::RangeWithBitmap) -> Result<()> {
        let len = range_len(range.start, range.end)?;
        if len.div_ceil(8) != range.bitmap.len() as u64 {
            return Err(corrupt(format!("a bitmap of {} bytes for {len} values", range.bitmap.len())));
        }
        for (index, byte) in (0_u64..).zip(range.bitmap.iter()) {
            for bit in (0..8).filter(|bit| byte & (1 << bit) != 0) {
                let position = index * 8 + bit;
                if position >= len {
                    return Err(corrupt("a bitmap with bits beyond its range"));
                }
                self.push(range.start + position, range.start + position + 1)?;
            }
        }
        Ok(())
    }
}

fn range_len(start: u64, end: u64) -> Result<u64> {
    end.checked_sub(start).ok_or_else(|| corrupt(format!("the range {start}..{end}")))
}

fn column_row_ids() -> FormatError {
    FormatError::unsupported("row ids that are stored as a hidden column")
}

fn unknown_segment() -> FormatError {
    corrupt("a segment of an unknown kind")
}

fn values(array: Option<EncodedU64Array>) -> Result<Vec<u64>> {
    let (base, width, bytes) = match array.and_then(|array| array.array) {
        None => return Ok(vec![]),
        Some(Array::U16Array(array)) => (array.base, 2, array.offsets),
        Some(Array::U32Array(array)) => (array.base, 4, array.offsets),
        Some(Array::U64Array(array)) => (0, 8, array.values),
    };
    let mut cursor = Cursor::new(SECTION, &bytes);
    let mut values = Vec::with_capacity(bytes.len() / width);
    while cursor.remaining() > 0 {
        let offset = match width {
            2 => u64::from(cursor.u16()?),
            4 => u64::from(cursor.u32()?),
            _ => cursor.u64()?,
        };
        values.push(base.checked_add(offset).ok_or_else(|| corrupt("an id of 2^64 or more"))?);
    }
    Ok(values)
}

/// Gives new `fragments` that have no row ids yet ids from `next` on, and says that `version` wrote the rows of all, and
/// made those of the ones without ids. Returns the id after the last.
pub(crate) fn assign(fragments: &mut [DataFragment], mut next: u64, version: u64) -> Result<u64> {
    for fragment in fragments {
        set_updated(fragment, version);
        if fragment.row_id_sequence.is_some() {
            continue;
        }
        let end = next.checked_add(fragment.physical_rows).ok_or_else(|| corrupt("row ids are used up"))?;
        let sequence = RowIdSequence { segments: vec![range(next, end)] };
        fragment.row_id_sequence = Some(Stored::InlineRowIds(sequence.encode_to_vec().into()));
        let versions = all_of(fragment.physical_rows, version);
        fragment.created_at_version_sequence =
            Some(CreatedAtVersionSequence::InlineCreatedAtVersions(versions));
        next = end;
    }
    Ok(next)
}

/// Says that `version` wrote the rows of `fragment`.
pub(crate) fn set_updated(fragment: &mut DataFragment, version: u64) {
    let versions = all_of(fragment.physical_rows, version);
    fragment.last_updated_at_version_sequence =
        Some(LastUpdatedAtVersionSequence::InlineLastUpdatedAtVersions(versions));
}

/// A sequence that has `version` for each of `rows` rows.
fn all_of(rows: u64, version: u64) -> Bytes {
    let run = RowDatasetVersionRun { span: Some(range(0, rows)), version };
    RowDatasetVersionSequence { runs: vec![run] }.encode_to_vec().into()
}

fn range(start: u64, end: u64) -> U64Segment {
    U64Segment { segment: Some(Segment::Range(u64_segment::Range { start, end })) }
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt(SECTION, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::encoded_u64_array::{U16Array, U32Array, U64Array};
    use crate::proto::u64_segment::{RangeWithBitmap, RangeWithHoles};

    fn fragment(segments: Vec<Segment>, rows: u64) -> DataFragment {
        let segments = segments.into_iter().map(|segment| U64Segment { segment: Some(segment) }).collect();
        let bytes = RowIdSequence { segments }.encode_to_vec();
        let row_id_sequence = Some(Stored::InlineRowIds(bytes.into()));
        DataFragment { id: 2, physical_rows: rows, row_id_sequence, ..Default::default() }
    }

    fn ids(fragment: &DataFragment) -> Vec<u64> {
        let ids = RowIds::of(fragment).unwrap();
        (0..fragment.physical_rows).map(|offset| ids.id(offset)).collect()
    }

    fn u16_array(base: u64, offsets: &[u16]) -> EncodedU64Array {
        let offsets = offsets.iter().flat_map(|value| value.to_le_bytes()).collect();
        EncodedU64Array { array: Some(Array::U16Array(U16Array { base, offsets })) }
    }

    #[test]
    fn addresses() {
        let fragment = DataFragment { id: 2, physical_rows: 3, ..Default::default() };
        assert_eq!(ids(&fragment), [0x2_0000_0000, 0x2_0000_0001, 0x2_0000_0002]);
    }

    #[test]
    fn every_kind_of_segment() {
        let holes = RangeWithHoles { start: 100, end: 106, holes: Some(u16_array(100, &[0, 3])) };
        let bits = RangeWithBitmap { start: 0, end: 5, bitmap: Bytes::from_static(&[0x19]) };
        let more = RangeWithBitmap { start: 1, end: 12, bitmap: Bytes::from_static(&[0x01, 0x04]) };
        let offsets = Bytes::from_static(&[9, 0, 0, 0, 1, 0, 0, 0]);
        let array = EncodedU64Array { array: Some(Array::U32Array(U32Array { base: 1 << 40, offsets })) };
        let values = Bytes::from_static(&[5, 0, 0, 0, 0, 0, 0, 0]);
        let wide = EncodedU64Array { array: Some(Array::U64Array(U64Array { values })) };
        let segments = vec![
            Segment::Range(u64_segment::Range { start: 7, end: 9 }),
            Segment::Range(u64_segment::Range::default()),
            Segment::RangeWithHoles(holes),
            Segment::RangeWithBitmap(bits),
            Segment::RangeWithBitmap(more),
            Segment::SortedArray(u16_array(50, &[1, 2, 9])),
            Segment::Array(array),
            Segment::Array(wide),
        ];
        let expected =
            [7, 8, 101, 102, 104, 105, 0, 3, 4, 1, 11, 51, 52, 59, (1 << 40) + 9, (1 << 40) + 1, 5];
        assert_eq!(ids(&fragment(segments, 17)), expected);
    }

    #[test]
    fn contradictions_are_errors() {
        let refused = |segment: Segment, rows| RowIds::of(&fragment(vec![segment], rows)).is_err();
        assert!(refused(Segment::Range(u64_segment::Range { start: 0, end: 4 }), 5));
        assert!(refused(Segment::Range(u64_segment::Range { start: 4, end: 0 }), 0));
        let holes = |start, end, holes| RangeWithHoles { start, end, holes: Some(u16_array(0, holes)) };
        assert!(refused(Segment::RangeWithHoles(holes(0, 5, &[3, 1])), 3));
        assert!(refused(Segment::RangeWithHoles(holes(0, 5, &[5])), 4));
        let bits = |end, bitmap: &'static [u8]| RangeWithBitmap { start: 0, end, bitmap: bitmap.into() };
        assert!(refused(Segment::RangeWithBitmap(bits(5, &[0xff])), 8));
        assert!(refused(Segment::RangeWithBitmap(bits(9, &[0xff])), 8));
        assert!(refused(Segment::RangeWithBitmap(bits(u64::MAX, &[0xff])), 8));
        let odd = EncodedU64Array {
            array: Some(Array::U16Array(U16Array { base: 0, offsets: Bytes::from_static(&[1]) })),
        };
        assert!(refused(Segment::Array(odd), 1));
        assert!(refused(Segment::Array(u16_array(u64::MAX, &[0])), 1));
    }

    #[test]
    fn ranges_of_some_rows() {
        let segments = vec![
            Segment::Range(u64_segment::Range { start: 7, end: 9 }),
            Segment::SortedArray(u16_array(50, &[1, 2, 9])),
        ];
        let stable = RowIds::of(&fragment(segments, 5)).unwrap();
        let rows = Rows::from_ranges([0..1, 2..5]).unwrap();
        assert_eq!(stable.ranges(&rows), [7..8, 51..53, 59..60]);
        let blank = DataFragment { id: 2, physical_rows: 5, ..Default::default() };
        let (first, second) = (0x2_0000_0000, 0x2_0000_0002);
        assert_eq!(RowIds::of(&blank).unwrap().ranges(&rows), [first..first + 1, second..second + 3]);
    }

    #[test]
    fn assigned_ids_are_read_back() {
        let blank = |rows| DataFragment { physical_rows: rows, ..Default::default() };
        let mut fragments = [blank(3), blank(2)];
        assert_eq!(assign(&mut fragments, 10, 4).unwrap(), 15);
        assert_eq!(ids(&fragments[0]), [10, 11, 12]);
        assert_eq!(ids(&fragments[1]), [13, 14]);
        // Ids that are there stay.
        let before = fragments.clone();
        assert_eq!(assign(&mut fragments, u64::MAX, 4).unwrap(), u64::MAX);
        assert_eq!(ids(&fragments[1]), ids(&before[1]));
        fragments[1].row_id_sequence = None;
        assert!(assign(&mut fragments, u64::MAX, 4).is_err());
        let Some(CreatedAtVersionSequence::InlineCreatedAtVersions(bytes)) =
            &fragments[1].created_at_version_sequence
        else {
            panic!("no versions")
        };
        let versions = RowDatasetVersionSequence::decode(bytes.clone()).unwrap();
        assert_eq!(versions.runs, [RowDatasetVersionRun { span: Some(range(0, 2)), version: 4 }]);
    }
}
