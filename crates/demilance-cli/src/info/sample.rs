//! What values of no fixed width take in memory, estimated from some rows.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch};
use arrow_schema::DataType;
use demilance::file::{Field, LogicalType, Schema};

use super::columns::Columns;

/// About how many bytes of a field are read.
const BYTES: u64 = 4 << 20;

/// How many rows of a field are read at most. Each may be in a chunk of its own.
const ROWS: u64 = 512;

/// Estimates what is unknown in `columns`, those of a table or file with `schema` and `rows` rows. `take` reads
/// rows of one field. Fields that it cannot read stay unknown: they can be looked at all the same.
pub(super) async fn estimate<E>(
    columns: &mut Columns,
    schema: &Schema,
    rows: u64,
    take: impl AsyncFn(&[u64], &str) -> Result<RecordBatch, E>,
) {
    for field in &schema.fields {
        let ids = Schema { fields: vec![field.clone()], ..Schema::default() };
        let ids = ids.leaves().into_iter().map(|leaf| leaf.id).collect::<Vec<_>>();
        let paths = ids.iter().filter_map(|id| schema.path(*id)).collect::<Vec<_>>();
        let width = paths.iter().filter_map(|path| columns.unknown(path)?.bytes_of_a_row()).max();
        let Some(width) = width else { continue };
        let sample = spread(rows, BYTES.checked_div(width).unwrap_or(ROWS).clamp(1, ROWS));
        let Ok(batch) = take(&sample, &field.name).await else { continue };
        let Some(column) = batch.columns().first() else { continue };
        let mut sizes = vec![];
        measure(field, column, &mut sizes);
        for (id, bytes) in sizes {
            let path = schema.path(id).unwrap_or_default();
            if let Some(column) = columns.unknown(&path) {
                column.estimate(bytes, batch.num_rows() as u64);
            }
        }
    }
}

/// `count` of `rows` rows at even distances, or all if there are not as many.
fn spread(rows: u64, count: u64) -> Vec<u64> {
    let count = count.min(rows);
    let at = |index| u128::from(rows) * u128::from(index) / u128::from(count.max(1));
    (0..count).filter_map(|index| u64::try_from(at(index)).ok()).collect()
}

/// What each leaf of `field` takes in `array`, as (field id, bytes).
fn measure(field: &Field, array: &ArrayRef, sizes: &mut Vec<(i32, u64)>) {
    match &field.logical_type {
        LogicalType::Struct => {
            let Some(members) = array.as_struct_opt() else { return };
            for (child, member) in field.children.iter().zip(members.columns()) {
                measure(child, member, sizes);
            }
        }
        LogicalType::List => measure_items(field, array.as_list_opt::<i32>(), sizes),
        LogicalType::LargeList => measure_items(field, array.as_list_opt::<i64>(), sizes),
        // The values of a dictionary stand for all rows, not for the sampled ones.
        LogicalType::Leaf(data_type) if !matches!(data_type, DataType::Dictionary(..)) => {
            let bytes = array.to_data().get_slice_memory_size();
            sizes.extend(bytes.ok().map(|bytes| (field.id, bytes as u64)));
        }
        _ => {}
    }
}

fn measure_items<O: OffsetSizeTrait>(
    field: &Field,
    list: Option<&GenericListArray<O>>,
    sizes: &mut Vec<(i32, u64)>,
) {
    let (Some(list), Some(item)) = (list, field.children.first()) else { return };
    let [first, .., last] = list.offsets().as_ref() else { return };
    let (first, last) = (first.as_usize(), last.as_usize());
    measure(item, &list.values().slice(first, last - first), sizes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;
    use arrow_array::builder::{Int32Builder, ListBuilder};
    use std::sync::Arc;

    #[test]
    fn samples_are_spread() {
        assert_eq!(spread(10, 4), [0, 2, 5, 7]);
        assert_eq!(spread(3, 512), [0, 1, 2]);
        assert_eq!(spread(0, 5), [0_u64; 0]);
        assert_eq!(spread(u64::MAX, 2), [0, u64::MAX / 2]);
    }

    #[test]
    fn leaves_are_measured_where_they_are_used() {
        let mut lists = ListBuilder::new(Int32Builder::new());
        for len in [100, 3, 2] {
            lists.append_value((0..len).map(Some));
        }
        let lists = lists.finish().slice(1, 2);
        let texts = StringArray::from(vec!["xxxxxxxx", "abc"]).slice(1, 1);
        for (array, bytes) in [(Arc::new(lists) as ArrayRef, 5 * 4), (Arc::new(texts), 3 + 2 * 4)] {
            let named = arrow_schema::Field::new("a", array.data_type().clone(), true);
            let schema = Schema::from_arrow(&arrow_schema::Schema::new(vec![named])).unwrap();
            let mut sizes = vec![];
            measure(&schema.fields[0], &array, &mut sizes);
            let leaf = schema.leaves()[0].id;
            assert_eq!(sizes, [(leaf, bytes)]);
        }
    }
}
