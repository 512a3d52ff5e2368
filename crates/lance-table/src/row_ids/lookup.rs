//! Where a row with a stable id is.

use lance_footer::{FormatError, Result, Rows};
use prost::Message;

use super::{RowIds, Stored, column_row_ids, corrupt, range_len, unknown_segment, values};
use crate::proto::u64_segment::Segment;
use crate::proto::{DataFragment, RowIdSequence};

/// Between which ids, both included, those of the rows of `fragment` are, as far as its sequence says that at a glance; none
/// if it has none. A sequence of which that cannot be told is the error that it is for [`RowIds::of`].
pub(crate) fn bounds(fragment: &DataFragment) -> Result<Option<(u64, u64)>> {
    let bytes = match &fragment.row_id_sequence {
        None => return Ok(None),
        Some(Stored::InlineRowIds(bytes)) => bytes,
        Some(Stored::ColumnRowIds(_)) => return Err(column_row_ids()),
    };
    let sequence = RowIdSequence::decode(bytes.clone()).map_err(|error| corrupt(error.to_string()))?;
    let mut all: Option<(u64, u64)> = None;
    for segment in sequence.segments {
        let range = |start: u64, end: u64| {
            let last = range_len(start, end)?.checked_sub(1).map(|more| start + more);
            Ok::<_, FormatError>(last.map(|last| (start, last)))
        };
        let bounds = match segment.segment.ok_or_else(unknown_segment)? {
            Segment::Range(ids) => range(ids.start, ids.end)?,
            Segment::RangeWithHoles(ids) => range(ids.start, ids.end)?,
            Segment::RangeWithBitmap(ids) => range(ids.start, ids.end)?,
            Segment::SortedArray(array) | Segment::Array(array) => {
                let ids = values(Some(array))?;
                ids.iter().min().copied().zip(ids.iter().max().copied())
            }
        };
        all = match (all, bounds) {
            (Some((first, last)), Some((start, end))) => Some((first.min(start), last.max(end))),
            (all, bounds) => all.or(bounds),
        };
    }
    Ok(all)
}

/// The ids of the rows of a fragment in their order.
#[derive(Debug)]
pub(crate) struct ByRowId {
    /// Ids from the first to before the second are those of the rows from the third on.
    runs: Vec<(u64, u64, u64)>,
}

impl ByRowId {
    /// Those of a fragment of `rows` rows.
    pub(crate) fn new(ids: &RowIds, rows: u64) -> Self {
        let mut at = 0_u64;
        let runs = ids.ranges(&Rows::range(0..rows)).into_iter().map(|ids| {
            let run = (ids.start, ids.end, at);
            at = at.saturating_add(ids.end.saturating_sub(ids.start));
            run
        });
        let mut runs = runs.collect::<Vec<_>>();
        runs.sort_unstable();
        Self { runs }
    }

    /// The physical offset of the row with this id.
    pub(crate) fn offset(&self, id: u64) -> Option<u64> {
        let after = self.runs.partition_point(|(start, ..)| *start <= id);
        let (start, end, at) = self.runs.get(after.checked_sub(1)?)?;
        (id < *end).then(|| at.saturating_add(id - start))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::proto::encoded_u64_array::{Array, U16Array};
    use crate::proto::u64_segment::{Range, RangeWithBitmap, RangeWithHoles};
    use crate::proto::{EncodedU64Array, RowLineageColumn, U64Segment};

    #[test]
    fn ids_are_found_within_their_bounds() {
        let array = |base: u64, offsets: &[u16]| EncodedU64Array {
            array: Some(Array::U16Array(U16Array {
                base,
                offsets: offsets.iter().flat_map(|value| value.to_le_bytes()).collect(),
            })),
        };
        let range = |start, end| Segment::Range(Range { start, end });
        let holes =
            Segment::RangeWithHoles(RangeWithHoles { start: 10, end: 14, holes: Some(array(10, &[1])) });
        let bitmap = Segment::RangeWithBitmap(RangeWithBitmap {
            start: 5,
            end: 9,
            bitmap: Bytes::from_static(&[0b1010]),
        });
        type Case = (Vec<Segment>, Option<(u64, u64)>, &'static [u64]);
        let cases: [Case; 7] = [
            (vec![], None, &[]),
            (vec![range(4, 4)], None, &[]),
            (vec![range(4, 6)], Some((4, 5)), &[4, 5]),
            (vec![range(7, 9), range(2, 3)], Some((2, 8)), &[7, 8, 2]),
            (vec![holes], Some((10, 13)), &[10, 12, 13]),
            (vec![bitmap, range(0, 1)], Some((0, 8)), &[6, 8, 0]),
            (vec![Segment::Array(array(100, &[3, 0, 9])), range(1, 2)], Some((1, 109)), &[103, 100, 109, 1]),
        ];
        for (segments, expected, ids) in cases {
            let segments = segments.into_iter().map(|segment| U64Segment { segment: Some(segment) });
            let bytes = RowIdSequence { segments: segments.collect() }.encode_to_vec();
            let rows = ids.len() as u64;
            let fragment = DataFragment {
                physical_rows: rows,
                row_id_sequence: Some(Stored::InlineRowIds(bytes.into())),
                ..Default::default()
            };
            assert_eq!(bounds(&fragment).unwrap(), expected);
            let by_id = ByRowId::new(&RowIds::of(&fragment).unwrap(), rows);
            for id in 0..120 {
                let place = ids.iter().position(|other| *other == id).map(|place| place as u64);
                assert_eq!(by_id.offset(id), place, "{id} in {ids:?}");
            }
        }
        assert_eq!(bounds(&DataFragment::default()).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_told_is_the_same_error() {
        let inline = |segments: Vec<Option<Segment>>| {
            let segments = segments.into_iter().map(|segment| U64Segment { segment });
            let sequence = RowIdSequence { segments: segments.collect() };
            Stored::InlineRowIds(sequence.encode_to_vec().into())
        };
        let (start, end) = (5, 4);
        let good = Some(Segment::Range(Range { start: 0, end: 3 }));
        for stored in [
            Stored::InlineRowIds(Bytes::from_static(&[0xff])),
            Stored::ColumnRowIds(RowLineageColumn::default()),
            inline(vec![None]),
            inline(vec![good.clone(), None]),
            inline(vec![Some(Segment::Range(Range { start, end }))]),
            inline(vec![good, Some(Segment::RangeWithHoles(RangeWithHoles { start, end, holes: None }))]),
            inline(vec![Some(Segment::RangeWithBitmap(RangeWithBitmap {
                start,
                end,
                bitmap: Bytes::new(),
            }))]),
        ] {
            let fragment =
                DataFragment { row_id_sequence: Some(stored), physical_rows: 3, ..Default::default() };
            let (error, expected) = (bounds(&fragment).unwrap_err(), RowIds::of(&fragment).unwrap_err());
            assert_eq!(error.to_string(), expected.to_string(), "{fragment:?}");
        }
    }
}
