//! What rows keep when they move to other fragments: their ids, and which versions made and changed them.

use std::ops::Range;

use bytes::Bytes;
use lance_footer::{Result, Rows};
use prost::Message;

use super::{RowIds, Stored, range};
use crate::proto::data_fragment::{CreatedAtVersionSequence, LastUpdatedAtVersionSequence};
use crate::proto::encoded_u64_array::{Array, U16Array, U32Array, U64Array};
use crate::proto::u64_segment::{RangeWithBitmap, RangeWithHoles, Segment};
use crate::proto::{
    DataFragment, EncodedU64Array, RowDatasetVersionRun, RowDatasetVersionSequence, RowIdSequence, U64Segment,
};
use crate::row_versions::RowVersions;

/// A run of rows that the same version wrote: how many, and which.
type VersionRun = (u64, u64);

/// What all rows that move keep, in their order.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// Runs of ids, none empty.
    ids: Vec<Range<u64>>,
    created: Vec<VersionRun>,
    updated: Vec<VersionRun>,
}

impl Carried {
    /// Adds the rows `live` of `fragment`.
    pub(crate) fn add(&mut self, fragment: &DataFragment, live: &Rows) -> Result<()> {
        for next in RowIds::of(fragment)?.ranges(live) {
            match self.ids.last_mut() {
                Some(last) if last.end == next.start => last.end = next.end,
                _ => self.ids.push(next),
            }
        }
        select(RowVersions::created(fragment)?.runs(), live, &mut self.created);
        select(RowVersions::updated(fragment)?.runs(), live, &mut self.updated);
        Ok(())
    }

    /// Gives them to `fragments`, which have the rows in this order.
    pub(crate) fn give<'a>(mut self, fragments: impl IntoIterator<Item = &'a mut DataFragment>) {
        for fragment in fragments {
            let rows = fragment.physical_rows;
            let ids = split(&mut self.ids, rows);
            let ids = RowIdSequence { segments: segments(&ids) }.encode_to_vec();
            fragment.row_id_sequence = Some(Stored::InlineRowIds(ids.into()));
            let created = versions(&split_runs(&mut self.created, rows));
            fragment.created_at_version_sequence =
                Some(CreatedAtVersionSequence::InlineCreatedAtVersions(created));
            let updated = versions(&split_runs(&mut self.updated, rows));
            fragment.last_updated_at_version_sequence =
                Some(LastUpdatedAtVersionSequence::InlineLastUpdatedAtVersions(updated));
        }
    }
}

/// What `runs`, over all rows of a fragment, say of the rows `live`. Of each run they have where it ends.
fn select(runs: &[(u64, u64)], live: &Rows, to: &mut Vec<VersionRun>) {
    let mut runs = runs.iter();
    let (mut end, mut version) = (0_u64, 0);
    for part in live.ranges() {
        let mut start = part.start;
        while start < part.end {
            while end <= start {
                let Some((next_end, next)) = runs.next() else { return };
                (end, version) = (*next_end, *next);
            }
            let until = end.min(part.end);
            match to.last_mut() {
                Some((rows, last)) if *last == version => *rows += until - start,
                _ => to.push((until - start, version)),
            }
            start = until;
        }
    }
}

/// Takes the first `rows` values off `ranges`.
fn split(ranges: &mut Vec<Range<u64>>, mut rows: u64) -> Vec<Range<u64>> {
    let whole = ranges.iter().take_while(|range| {
        let len = range.end - range.start;
        let fits = len <= rows;
        if fits {
            rows -= len;
        }
        fits
    });
    let mut first = ranges.drain(..whole.count()).collect::<Vec<_>>();
    if rows > 0
        && let Some(next) = ranges.first_mut()
    {
        first.push(next.start..next.start + rows);
        next.start += rows;
    }
    first
}

/// Takes the first `rows` rows off `runs`.
fn split_runs(runs: &mut Vec<VersionRun>, mut rows: u64) -> Vec<VersionRun> {
    let whole = runs.iter().take_while(|(len, _)| {
        let fits = *len <= rows;
        if fits {
            rows -= len;
        }
        fits
    });
    let mut first = runs.drain(..whole.count()).collect::<Vec<_>>();
    if rows > 0
        && let Some(next) = runs.first_mut()
    {
        first.push((rows, next.1));
        next.0 -= rows;
    }
    first
}

fn versions(runs: &[VersionRun]) -> Bytes {
    let mut start = 0;
    let runs = runs.iter().map(|(rows, version)| {
        let span = range(start, start + rows);
        start += rows;
        RowDatasetVersionRun { span: Some(span), version: *version }
    });
    RowDatasetVersionSequence { runs: runs.collect() }.encode_to_vec().into()
}

/// The segments that hold the values of `ranges`, in their order: one for each stretch of ascending values.
fn segments(ranges: &[Range<u64>]) -> Vec<U64Segment> {
    let ascending = ranges.chunk_by(|one, next| one.end <= next.start);
    ascending.flat_map(segments_of).collect()
}

/// The smallest way to hold the values of `ranges`, which ascend.
fn segments_of(ranges: &[Range<u64>]) -> Vec<U64Segment> {
    let plain = || ranges.iter().map(|part| range(part.start, part.end)).collect();
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return vec![] };
    let (start, end) = (first.start, last.end);
    let count = ranges.iter().map(|part| part.end - part.start).sum::<u64>();
    let span = end - start;
    let width = match span {
        0..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    };
    // About how many bytes each way takes; a range has two numbers.
    let holes = (span - count).saturating_mul(width).saturating_add(24);
    let bitmap = span.div_ceil(8).saturating_add(24);
    let array = count.saturating_mul(width).saturating_add(24);
    let smallest = [(ranges.len() as u64).saturating_mul(12), holes, bitmap, array].into_iter().min();
    let segment = match smallest {
        Some(bytes) if ranges.len() > 1 && bytes == holes => {
            let gaps = ranges.iter().zip(ranges.iter().skip(1)).flat_map(|(one, next)| one.end..next.start);
            Segment::RangeWithHoles(RangeWithHoles { start, end, holes: Some(array_of(start, width, gaps)) })
        }
        Some(bytes) if ranges.len() > 1 && bytes == bitmap => {
            Segment::RangeWithBitmap(RangeWithBitmap { start, end, bitmap: bitmap_of(start, ranges) })
        }
        Some(bytes) if ranges.len() > 1 && bytes == array => {
            Segment::SortedArray(array_of(start, width, ranges.iter().flat_map(Clone::clone)))
        }
        _ => return plain(),
    };
    vec![U64Segment { segment: Some(segment) }]
}

fn array_of(base: u64, width: u64, values: impl Iterator<Item = u64>) -> EncodedU64Array {
    let offsets = values.map(|value| value - base);
    let array = match width {
        2 => {
            let offsets = offsets.flat_map(|offset| u16::try_from(offset).unwrap_or(u16::MAX).to_le_bytes());
            Array::U16Array(U16Array { base, offsets: offsets.collect() })
        }
        4 => {
            let offsets = offsets.flat_map(|offset| u32::try_from(offset).unwrap_or(u32::MAX).to_le_bytes());
            Array::U32Array(U32Array { base, offsets: offsets.collect() })
        }
        _ => {
            let values = offsets.flat_map(|offset| (base + offset).to_le_bytes());
            Array::U64Array(U64Array { values: values.collect() })
        }
    };
    EncodedU64Array { array: Some(array) }
}

/// The least significant bit of the first byte stands for `start`.
fn bitmap_of(start: u64, ranges: &[Range<u64>]) -> Bytes {
    let mut bytes: Vec<u8> = vec![];
    for position in ranges.iter().flat_map(Clone::clone).map(|value| value - start) {
        let index = usize::try_from(position / 8).unwrap_or(usize::MAX);
        // Values ascend, so this adds at most the bytes of a gap.
        if bytes.len() <= index {
            bytes.resize(index + 1, 0);
        }
        if let Some(byte) = bytes.get_mut(index) {
            *byte |= 1 << (position % 8);
        }
    }
    bytes.into()
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "ranges of values are meant")]
mod tests {
    use super::*;
    use crate::row_ids::{assign, runs_of_versions, set_updated};
    use crate::row_versions::check as check_versions;
    use proptest::prelude::*;

    fn of(rows: u64, ranges: &[Range<u64>]) -> DataFragment {
        let bytes = RowIdSequence { segments: segments(ranges) }.encode_to_vec();
        DataFragment {
            physical_rows: rows,
            row_id_sequence: Some(Stored::InlineRowIds(bytes.into())),
            ..Default::default()
        }
    }

    fn ids(fragment: &DataFragment) -> Vec<u64> {
        let ids = RowIds::of(fragment).unwrap();
        (0..fragment.physical_rows).map(|offset| ids.id(offset)).collect()
    }

    fn kind(ranges: &[Range<u64>]) -> Vec<&'static str> {
        let kinds = segments(ranges).into_iter().map(|segment| match segment.segment.unwrap() {
            Segment::Range(_) => "range",
            Segment::RangeWithHoles(_) => "holes",
            Segment::RangeWithBitmap(_) => "bitmap",
            Segment::SortedArray(_) => "sorted",
            Segment::Array(_) => "array",
        });
        kinds.collect()
    }

    #[test]
    fn the_smallest_segment_is_taken() {
        let every =
            |step: u64, count: u64| (0..count).map(|i| 100 + i * step..101 + i * step).collect::<Vec<_>>();
        assert_eq!(kind(&[7..20]), ["range"]);
        assert_eq!(kind(&[7..20, 30..40]), ["range"; 2]);
        assert_eq!(kind(&[7..20, 3..5]), ["range"; 2]);
        assert_eq!(kind(&every(2, 1000)), ["bitmap"]);
        assert_eq!(kind(&every(1000, 50)), ["sorted"]);
        let with_holes = (0..10).map(|i| i * 5000..i * 5000 + 4999).collect::<Vec<_>>();
        assert_eq!(kind(&with_holes), ["holes"]);
        for ranges in [every(2, 1000), every(1000, 50), every(1 << 20, 50), every(1 << 40, 50), with_holes] {
            let count = ranges.iter().map(|part| part.end - part.start).sum();
            let expected = ranges.iter().flat_map(Clone::clone).collect::<Vec<_>>();
            assert_eq!(ids(&of(count, &ranges)), expected);
        }
    }

    #[test]
    fn rows_keep_what_they_have() {
        let blank = |rows| DataFragment { physical_rows: rows, ..Default::default() };
        let mut old = [blank(4), blank(3)];
        assign(&mut old, 10, 2).unwrap();
        set_updated(&mut old[1], 5);
        let mut carried = Carried::default();
        carried.add(&old[0], &Rows::from_ranges([0..1, 2..4]).unwrap()).unwrap();
        carried.add(&old[1], &Rows::range(0..3)).unwrap();
        let mut new = [blank(2), blank(4)];
        carried.give(&mut new);
        assert_eq!((ids(&new[0]), ids(&new[1])), (vec![10, 12], vec![13, 14, 15, 16]));
        for fragment in &new {
            check_versions(fragment, 5).unwrap();
        }
        let Some(LastUpdatedAtVersionSequence::InlineLastUpdatedAtVersions(updated)) =
            &new[1].last_updated_at_version_sequence
        else {
            panic!("no versions")
        };
        assert_eq!(runs_of_versions(updated, 4).unwrap(), [(1, 2), (3, 5)]);
        // Rows that do not say are of version 1.
        let mut carried = Carried::default();
        carried.add(&of(3, &[5..8]), &Rows::range(1..3)).unwrap();
        assert_eq!((carried.ids, carried.created), (vec![6..8], vec![(2, 1)]));
    }

    proptest! {
        #[test]
        fn any_rows_keep_their_ids(
            fragments in prop::collection::vec((1_u64..200, any::<u64>(), any::<u64>()), 1..5),
            sizes in prop::collection::vec(1_u64..100, 0..20),
        ) {
            let (mut carried, mut expected, mut next) = (Carried::default(), vec![], 0);
            for (rows, mask, gap) in fragments {
                let start = next + gap % (1 << 34);
                next = start + rows;
                let live = (0..rows).filter(|row| mask & (1 << (row % 64)) != 0).collect::<Vec<_>>();
                expected.extend(live.iter().map(|row| start + row));
                let old = of(rows, std::slice::from_ref(&(start..next)));
                carried.add(&old, &Rows::from_indices(&live)).unwrap();
            }
            let mut left = expected.len() as u64;
            let mut new = vec![];
            for size in sizes.into_iter().chain([u64::MAX]) {
                let physical_rows = size.min(left);
                left -= physical_rows;
                new.push(DataFragment { physical_rows, ..Default::default() });
            }
            carried.give(&mut new);
            prop_assert_eq!(new.iter().flat_map(ids).collect::<Vec<_>>(), expected);
            for fragment in &new {
                check_versions(fragment, 1).unwrap();
            }
        }
    }
}
