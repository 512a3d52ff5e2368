//! The order in which a take wants its rows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{ArrowError, DataType};
use lance_footer::{FormatError, Result, Rows};

use crate::budget::{Room, row_bits};
use crate::values::{invalid, too_long, too_many_items};

/// An array has at most this many rows, so that no stored number alone decides how much memory is taken.
const MAX_ARRAY_ROWS: u64 = 1 << 31;

/// An error unless all positions in `order` are within `rows`.
pub(crate) fn check_order(rows: &Rows, order: Option<&[u32]>) -> Result<()> {
    match order.unwrap_or_default().iter().find(|at| u64::from(**at) >= rows.len()) {
        None => Ok(()),
        Some(position) => {
            Err(FormatError::corrupt("row order", format!("position {position} of {} rows", rows.len())))
        }
    }
}

/// An error unless `part` is within `rows` and small enough for an array.
pub(crate) fn check_part(part: &Range<u64>, rows: u64) -> Result<()> {
    if part.start > part.end || part.end > rows {
        return Err(FormatError::corrupt("rows", format!("rows {part:?} of {rows} loaded ones")));
    }
    check_len(Some(part.end - part.start))
}

/// An error unless `len`, which is none if it is too large to be told, is small enough for an array.
pub(crate) fn check_len(len: Option<u64>) -> Result<()> {
    match len {
        Some(len) if len <= MAX_ARRAY_ROWS => Ok(()),
        Some(len) => Err(FormatError::unsupported(format!("an array of {len} rows"))),
        None => Err(FormatError::unsupported("an array of more than 2^64 rows")),
    }
}

/// The part of an order; `part` was checked.
pub(crate) fn order_part<'a>(order: &'a [u32], part: &Range<u64>) -> &'a [u32] {
    let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX);
    order.get(at(part.start)..at(part.end)).unwrap_or_default()
}

/// The distinct positions of `wanted` in order; and for each of `wanted` its index among these, unless that is
/// its own.
pub(crate) fn unique(wanted: &[u32]) -> (Vec<u32>, Option<Vec<u32>>) {
    if wanted.is_sorted_by(|a, b| a < b) {
        return (wanted.to_vec(), None);
    }
    let mut unique = wanted.to_vec();
    unique.sort_unstable();
    unique.dedup();
    let index =
        |position: &u32| u32::try_from(unique.partition_point(|other| other < position)).unwrap_or(u32::MAX);
    let indices = wanted.iter().map(index).collect();
    (unique, Some(indices))
}

/// The rows at `positions`, which are sorted and distinct, of `rows`.
pub(crate) fn rows_at(rows: &Rows, positions: &[u32]) -> Rows {
    let mut found = Vec::with_capacity(positions.len());
    let mut passed = 0;
    let mut ranges = rows.ranges().iter().peekable();
    for position in positions {
        let position = u64::from(*position);
        while let Some(range) = ranges.next_if(|range| passed + (range.end - range.start) <= position) {
            passed += range.end - range.start;
        }
        if let Some(range) = ranges.peek() {
            found.push(range.start + (position - passed));
        }
    }
    Rows::from_indices(&found)
}

/// The rows of `array` at `indices`, if there are any. As long as they are made, there are both.
pub(crate) fn reorder(array: ArrayRef, indices: Option<&UInt32Array>, room: &mut Room) -> Result<ArrayRef> {
    match indices {
        Some(indices) => {
            check_gather(array.data_type(), indices.len(), room)?;
            // Otherwise no row is there twice.
            if indices.len() > array.len() {
                let mut times = vec![0; array.len()];
                for index in indices.values() {
                    if let Some(times) = usize::try_from(*index).ok().and_then(|index| times.get_mut(index)) {
                        *times += 1;
                    }
                }
                room.take(gathered(&array, &times)?, "rows that are taken again")?;
            }
            arrow_select::take::take(&array, indices, None).map_err(|error| match error {
                ArrowError::OffsetOverflowError(_) => too_long(),
                error => invalid(error),
            })
        }
        None => Ok(array),
    }
}

/// An error if gathering `count` values takes too much memory: it makes an index for each item of a fixed-size list.
fn check_gather(data_type: &DataType, count: usize, room: &Room) -> Result<()> {
    match data_type {
        DataType::FixedSizeList(item, len) => {
            let items = count.saturating_mul(usize::try_from(*len).unwrap_or_default());
            room.check(items.saturating_mul(size_of::<u32>()), "indices of items")?;
            check_gather(item.data_type(), items, room)
        }
        DataType::Struct(members) => {
            members.iter().try_for_each(|member| check_gather(member.data_type(), count, room))
        }
        _ => Ok(()),
    }
}

/// Bytes of strings and of what is in lists once the slots of `array` are there as many `times` each; what has a fixed
/// width is left out, unless it is in lists.
///
/// An error if lists of 32-bit offsets cannot hold them; to gather them would panic.
fn gathered(array: &ArrayRef, times: &[u64]) -> Result<usize> {
    if let Some(structs) = array.as_struct_opt() {
        return sum(structs.columns().iter().map(|member| gathered(member, times)));
    }
    if let Some(list) = array.as_fixed_size_list_opt() {
        // Others have nothing of variable length in them.
        if let Some(structs) = list.values().as_struct_opt() {
            let len = usize::try_from(list.value_length()).unwrap_or_default();
            let times: Vec<u64> = times.iter().flat_map(|times| std::iter::repeat_n(*times, len)).collect();
            return sum(structs.columns().iter().map(|member| gathered(member, &times)));
        }
        return Ok(0);
    }
    let entries;
    let (offsets, items): (Vec<usize>, _) = match array.data_type() {
        DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => {
            return Ok(total(&string_offsets(array), times));
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            (positions(list.offsets()), list.values())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            (positions(list.offsets()), list.values())
        }
        DataType::Map(..) => {
            let map = array.as_map();
            entries = Arc::new(map.entries().clone()) as ArrayRef;
            (positions(map.offsets()), &entries)
        }
        _ => return Ok(0),
    };
    let count = total(&offsets, times);
    if count > i32::MAX as usize && !matches!(array.data_type(), DataType::LargeList(_)) {
        return Err(too_many_items());
    }
    let mut times_of_items = vec![0; items.len()];
    for ((start, end), times) in offsets.iter().zip(offsets.iter().skip(1)).zip(times) {
        times_of_items.get_mut(*start..*end).unwrap_or_default().fill(*times);
    }
    let fixed = usize::try_from(row_bits(items.data_type()) / 8).unwrap_or(usize::MAX);
    Ok(gathered(items, &times_of_items)?.saturating_add(count.saturating_mul(fixed)))
}

fn sum(mut sizes: impl Iterator<Item = Result<usize>>) -> Result<usize> {
    sizes.try_fold(0_usize, |sum, size| Ok(sum.saturating_add(size?)))
}

/// What lies between `offsets`, each part as many `times`.
fn total(offsets: &[usize], times: &[u64]) -> usize {
    let parts = offsets.iter().zip(offsets.iter().skip(1)).zip(times);
    let total = parts.fold(0_u64, |sum, ((start, end), times)| {
        sum.saturating_add(times.saturating_mul(end.saturating_sub(*start) as u64))
    });
    usize::try_from(total).unwrap_or(usize::MAX)
}

fn string_offsets(array: &ArrayRef) -> Vec<usize> {
    match array.data_type() {
        DataType::Utf8 => positions(array.as_string::<i32>().offsets()),
        DataType::LargeUtf8 => positions(array.as_string::<i64>().offsets()),
        DataType::Binary => positions(array.as_binary::<i32>().offsets()),
        _ => positions(array.as_binary::<i64>().offsets()),
    }
}

fn positions<O: ArrowNativeType>(offsets: &[O]) -> Vec<usize> {
    offsets.iter().map(|offset| offset.as_usize()).collect()
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn orders() {
        assert_eq!(unique(&[1, 4, 7]), (vec![1, 4, 7], None));
        assert_eq!(unique(&[7, 1, 7, 4]), (vec![1, 4, 7], Some(vec![2, 0, 2, 1])));
        let rows = Rows::from_ranges([2..5, 10..12]).unwrap();
        assert_eq!(rows_at(&rows, &[0, 2, 3]).iter().collect::<Vec<_>>(), [2, 4, 10]);
    }

    fn any() -> Room {
        Room::new(u64::MAX)
    }

    #[test]
    fn rows_again_and_again_take_room() {
        let strings =
            Arc::new(arrow_array::StringArray::from(vec!["x".repeat(1000), String::new()])) as ArrayRef;
        let indices = UInt32Array::from(vec![0, 1, 0, 0, 1]);
        let lists = {
            let field = Field::new("item", DataType::Utf8, true).into();
            let offsets = arrow_buffer::OffsetBuffer::from_lengths([1, 1]);
            Arc::new(arrow_array::ListArray::new(field, offsets, Arc::clone(&strings), None)) as ArrayRef
        };
        for (array, needed) in [(strings, 3000), (lists, 3000 + 5 * 8)] {
            assert!(reorder(Arc::clone(&array), Some(&indices), &mut Room::new(needed)).is_ok());
            let error = reorder(array, Some(&indices), &mut Room::new(needed - 1)).unwrap_err();
            assert!(matches!(error, FormatError::OverBudget { .. }), "{error}");
        }
    }

    #[test]
    fn rows_again_and_again_may_be_too_much() {
        let nulls = |count| Arc::new(arrow_array::NullArray::new(count)) as ArrayRef;
        let list = |lengths: &[usize], items: ArrayRef| {
            let field = Field::new("item", items.data_type().clone(), true).into();
            let offsets = arrow_buffer::OffsetBuffer::from_lengths(lengths.iter().copied());
            Arc::new(arrow_array::ListArray::new(field, offsets, items, None)) as ArrayRef
        };
        // Nulls take no memory, but their number has to fit the offsets.
        let inner = list(&[1 << 20, 5], nulls((1 << 20) + 5));
        let outer = list(&[1, 1], Arc::clone(&inner));
        for array in [inner, outer] {
            assert_eq!(
                reorder(Arc::clone(&array), Some(&UInt32Array::from(vec![1; 4000])), &mut any())
                    .unwrap()
                    .len(),
                4000
            );
            let error = reorder(array, Some(&UInt32Array::from(vec![0; 4000])), &mut any()).unwrap_err();
            assert!(error.to_string().contains("more than 2^31 items"), "{error}");
        }
    }
}
