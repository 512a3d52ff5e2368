//! Looks for nulls in a column.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::DataType;
use futures::TryStreamExt;

use super::kept::Origin;
use crate::{Result, ScanOptions, Table, TableError};

/// What was looked at and had no nulls, by the id of the fragment.
pub(super) type Checked = BTreeMap<u64, Origin>;

/// An error if the field at `path`, which has `depth` fields from the top-level one to it, is null in a row where what is
/// around it is not. Rows that are `checked` are not looked at again.
pub(super) async fn refuse(table: &Table, path: &str, depth: usize, checked: &mut Checked) -> Result<()> {
    let (shared, read) = (&table.shared, table.schema().project(&[path])?);
    let (mut windows, mut new): (Vec<Range<u64>>, _) = (vec![], vec![]);
    for (slot, before) in shared.slots.iter().zip(&shared.before) {
        let id = slot.fragment().message.id;
        if let Some(checked) = checked.get(&id)
            && checked.serves(slot, &read, &shared.places).await?
        {
            continue;
        }
        new.push((id, Origin::of(slot, &read, &shared.places).await?));
        let end = before.saturating_add(slot.fragment().rows());
        match windows.last_mut() {
            Some(last) if last.end == *before => last.end = end,
            _ => windows.push(*before..end),
        }
    }
    for window in windows {
        refuse_in(table, path, depth, window).await?;
    }
    checked.extend(new);
    Ok(())
}

/// The same, for the rows of `window`.
async fn refuse_in(table: &Table, path: &str, depth: usize, window: Range<u64>) -> Result<()> {
    let (offset, limit) = (window.start, Some(window.end.saturating_sub(window.start)));
    let options = ScanOptions { columns: Some(vec![path.into()]), offset, limit, ..Default::default() };
    let mut batches = table.scan(options)?;
    let mut before = window.start;
    while let Some(batch) = batches.try_next().await? {
        let found = batch.columns().first().and_then(|column| first(column, None, depth.saturating_sub(1)));
        if let Some(row) = found {
            let row = before.saturating_add(row as u64);
            return Err(TableError::invalid(format!(
                "column {path:?} is null in row {row}, so it cannot be made one that is never null"
            )));
        }
        before = before.saturating_add(batch.num_rows() as u64);
    }
    Ok(())
}

/// The first position at which something `depth` levels below `array` is null, but nothing around it.
fn first(array: &ArrayRef, around: Option<&NullBuffer>, depth: usize) -> Option<usize> {
    if depth == 0 {
        let nulls = array.logical_nulls()?;
        return (0..array.len())
            .find(|at| nulls.is_null(*at) && around.is_none_or(|nulls| nulls.is_valid(*at)));
    }
    let nulls = NullBuffer::union(around, array.nulls());
    match array.data_type() {
        DataType::Struct(_) => first(array.as_struct().columns().first()?, nulls.as_ref(), depth - 1),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let ends = list.offsets().iter().map(|end| usize::try_from(*end).unwrap_or(0));
            below(list.values(), &ends.collect::<Vec<_>>(), nulls.as_ref(), depth)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let ends = list.offsets().iter().map(|end| usize::try_from(*end).unwrap_or(0));
            below(list.values(), &ends.collect::<Vec<_>>(), nulls.as_ref(), depth)
        }
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or(0);
            let ends = (0..=array.len()).map(|row| row * size).collect::<Vec<_>>();
            below(array.as_fixed_size_list().values(), &ends, nulls.as_ref(), depth)
        }
        _ => None,
    }
}

/// The same in items: those of list `n` are `ends[n]..ends[n + 1]`.
fn below(items: &ArrayRef, ends: &[usize], lists: Option<&NullBuffer>, depth: usize) -> Option<usize> {
    let mut used = BooleanBufferBuilder::new(items.len());
    used.append_n(ends.first().copied().unwrap_or(0).min(items.len()), false);
    for (list, (start, end)) in ends.iter().zip(ends.iter().skip(1)).enumerate() {
        used.append_n(end.saturating_sub(*start), lists.is_none_or(|lists| lists.is_valid(list)));
    }
    used.append_n(items.len().saturating_sub(used.len()), false);
    let item = first(items, Some(&NullBuffer::new(used.finish())), depth - 1)?;
    ends.partition_point(|end| *end <= item).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{FixedSizeListArray, Int32Array, ListArray, StructArray};
    use arrow_schema::Field;

    use super::*;

    fn number(nullable: bool) -> Arc<Field> {
        Arc::new(Field::new("n", DataType::Int32, nullable))
    }

    #[test]
    fn nulls_below_nulls_do_not_count() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, None]));
        assert_eq!(first(&numbers, None, 0), Some(1));
        let nulls = |bits: Vec<bool>| Some(NullBuffer::from(bits));
        let structs = |bits| StructArray::new(vec![number(true)].into(), vec![numbers.clone()], nulls(bits));
        let below: ArrayRef = Arc::new(structs(vec![true, false, true]));
        assert_eq!((first(&below, None, 0), first(&below, None, 1)), (Some(1), Some(2)));
        let below: ArrayRef = Arc::new(structs(vec![true, false, false]));
        assert_eq!(first(&below, None, 1), None);

        let lists = vec![Some(vec![Some(1)]), Some(vec![]), None, Some(vec![Some(2), None])];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        assert_eq!((first(&lists, None, 0), first(&lists, None, 1)), (Some(2), Some(3)));
        assert_eq!(first(&lists.slice(0, 3), None, 1), None);
        assert_eq!(first(&lists.slice(2, 2), None, 1), Some(1));

        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, None, Some(3), None]));
        let vectors = FixedSizeListArray::new(number(true), 2, values, nulls(vec![true, false, true]));
        let vectors: ArrayRef = Arc::new(vectors);
        assert_eq!(first(&vectors, None, 1), Some(2));
        assert_eq!(first(&vectors.slice(1, 1), None, 1), None);
        assert_eq!(first(&vectors.slice(1, 2), None, 1), Some(1));
    }
}
