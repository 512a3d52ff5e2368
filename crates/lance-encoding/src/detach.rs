//! Arrays without the memory that they keep alive for nothing.
//!
//! The columns of a batch from Arrow IPC are slices of one message. The few bytes of an id would keep the
//! images beside it in memory until the page of ids is full, which is after a million rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, StructArray, make_array};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType;

/// Memory of this many bytes is not worth a copy.
const SMALL: usize = 1024;

/// `array`, copied where its values are less than half of the memory that they lie in. Members of structs are
/// looked at each by itself. Dictionaries stay, since pages know them by their place.
pub(crate) fn detach(array: &ArrayRef) -> ArrayRef {
    if let Some(structs) = array.as_struct_opt() {
        return detach_members(structs).map_or_else(|| Arc::clone(array), |structs| Arc::new(structs));
    }
    let data = array.to_data();
    if matches!(array.data_type(), DataType::Dictionary(..)) || !is_wasteful(used(array), largest(&data)) {
        return Arc::clone(array);
    }
    let mut copy = MutableArrayData::new(vec![&data], false, data.len());
    match copy.try_extend(0, 0, data.len()) {
        Ok(()) => make_array(copy.freeze()),
        Err(_) => Arc::clone(array),
    }
}

/// None if nothing of it was copied.
fn detach_members(structs: &StructArray) -> Option<StructArray> {
    let columns = structs.columns().iter().map(detach).collect::<Vec<_>>();
    let nulls =
        structs.nulls().map(|nulls| match is_wasteful(nulls.len().div_ceil(8), nulls.buffer().capacity()) {
            true => NullBuffer::new(nulls.iter().collect::<BooleanBuffer>()),
            false => nulls.clone(),
        });
    let same = columns.iter().zip(structs.columns()).all(|(new, old)| Arc::ptr_eq(new, old));
    let same_nulls = match (&nulls, structs.nulls()) {
        (Some(new), Some(old)) => new.buffer().ptr_eq(old.buffer()),
        _ => true,
    };
    if same && same_nulls {
        return None;
    }
    StructArray::try_new_with_length(structs.fields().clone(), columns, nulls, structs.len()).ok()
}

/// The memory of the values of `array`, of keys without the dictionary that they share.
pub(crate) fn used(array: &ArrayRef) -> usize {
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        return dictionary.keys().to_data().get_slice_memory_size().unwrap_or(usize::MAX);
    }
    if let Some(list) = array.as_list_opt::<i32>() {
        return used_by_items(list.offsets(), |first, len| list.values().slice(first, len));
    }
    if let Some(list) = array.as_list_opt::<i64>() {
        return used_by_items(list.offsets(), |first, len| list.values().slice(first, len));
    }
    if let Some(map) = array.as_map_opt() {
        return used_by_items(map.offsets(), |first, len| Arc::new(map.entries().slice(first, len)));
    }
    if let Some(structs) = array.as_struct_opt() {
        return structs.columns().iter().map(used).sum();
    }
    array.to_data().get_slice_memory_size().unwrap_or(usize::MAX)
}

/// `array` in pieces of as many rows, of about `bytes` bytes each, or of a row.
pub(crate) fn pieces(array: &ArrayRef, bytes: u64) -> impl Iterator<Item = ArrayRef> {
    let pieces = usize::try_from(used(array) as u64 / bytes.max(1)).unwrap_or(usize::MAX);
    let rows = array.len().div_ceil(pieces.max(1)).max(1);
    (0..array.len()).step_by(rows).map(move |start| array.slice(start, rows.min(array.len() - start)))
}

/// Arrow counts all items, also those of lists that were sliced off.
fn used_by_items<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    slice: impl Fn(usize, usize) -> ArrayRef,
) -> usize {
    let (first, last) =
        (offsets.first().map_or(0, |o| o.as_usize()), offsets.last().map_or(0, |o| o.as_usize()));
    let items = slice(first, last.saturating_sub(first));
    used(&items).saturating_add(size_of_val(offsets.inner().as_ref()))
}

const fn is_wasteful(used: usize, kept: usize) -> bool {
    kept > SMALL && kept / 2 > used
}

/// The largest memory that any buffer of `data` lies in, but for dictionaries.
fn largest(data: &ArrayData) -> usize {
    let own = data.buffers().iter().map(|buffer| buffer.capacity());
    let nulls = data.nulls().map(|nulls| nulls.buffer().capacity());
    let children = match data.data_type() {
        DataType::Dictionary(..) => &[],
        _ => data.child_data(),
    };
    own.chain(nulls).chain(children.iter().map(largest)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{BinaryArray, Int32Array, ListArray, StringArray};
    use arrow_buffer::{Buffer, MutableBuffer, ScalarBuffer};
    use arrow_schema::Field;

    #[test]
    fn pieces_are_all_rows() {
        let array: ArrayRef = Arc::new(Int32Array::from_iter_values(0..1000));
        for (bytes, lengths) in [
            (u64::MAX, vec![1000]),
            (4000, vec![1000]),
            (3999, vec![1000]),
            (2000, vec![500, 500]),
            (1300, vec![334, 334, 332]),
            (0, vec![1; 1000]),
        ] {
            let pieces: Vec<_> = pieces(&array, bytes).collect();
            assert_eq!(pieces.iter().map(|piece| piece.len()).collect::<Vec<_>>(), lengths, "{bytes}");
            let pieces: Vec<_> = pieces.iter().map(AsRef::as_ref).collect();
            assert_eq!(&arrow_select::concat::concat(&pieces).unwrap(), &array);
        }
        assert_eq!(pieces(&array.slice(0, 0), 10).count(), 0);
    }

    /// Numbers and binary values that lie in one piece of memory.
    fn message() -> (ArrayRef, ArrayRef) {
        let mut bytes = MutableBuffer::new(0);
        bytes.extend_from_slice(&[1_i32, 2, 3, 4]);
        bytes.extend_from_slice(&vec![7_u8; 100_000]);
        let message = Buffer::from(bytes);
        let numbers = Int32Array::new(ScalarBuffer::new(message.clone(), 0, 4), None);
        let offsets = arrow_buffer::OffsetBuffer::from_lengths([25_000; 4]);
        let wide = BinaryArray::new(offsets, message.slice(16), None);
        (Arc::new(numbers), Arc::new(wide))
    }

    #[test]
    fn narrow_columns_leave_the_message_and_wide_ones_stay() {
        let (numbers, wide) = message();
        let detached = detach(&numbers);
        assert_eq!(&detached, &numbers);
        assert!(largest(&detached.to_data()) <= SMALL);
        assert!(Arc::ptr_eq(&detach(&wide), &wide));

        let field =
            |name: &str, array: &ArrayRef| Arc::new(Field::new(name, array.data_type().clone(), true));
        let nulls = NullBuffer::from(vec![true, false, true, true]);
        let fields = vec![field("n", &numbers), field("w", &wide)];
        let structs: ArrayRef =
            Arc::new(StructArray::new(fields.into(), vec![numbers, Arc::clone(&wide)], Some(nulls)));
        let detached = detach(&structs);
        assert_eq!(&detached, &structs);
        let columns = detached.as_struct().columns();
        assert!(largest(&columns[0].to_data()) <= SMALL);
        assert!(Arc::ptr_eq(&columns[1], &wide));
        assert!(Arc::ptr_eq(&detach(&detached), &detached));
    }

    #[test]
    fn slices_are_copied_as_they_are() {
        let texts: ArrayRef =
            Arc::new(StringArray::from_iter((0..5000).map(|n| (n % 3 != 0).then(|| format!("text {n}")))));
        let lists = (0..5000).map(|n| (n % 4 != 0).then(|| vec![Some(n), None]));
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        for array in [texts, lists] {
            let slice = array.slice(1001, 77);
            let detached = detach(&slice);
            assert_eq!(&detached, &slice);
            assert!(largest(&detached.to_data()) < largest(&slice.to_data()) / 4);
        }
    }
}
