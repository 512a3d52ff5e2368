//! Arrays with the exact type that a schema has.
//!
//! A schema keeps less than an Arrow type can say: views are stored as strings and binaries, the item of a
//! fixed-size list is always a nullable `item`. Arrays of types that differ only so are made to fit.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait,
    StringArray, StructArray,
};
use arrow_schema::{ArrowError, DataType, Field as ArrowField, FieldRef, Fields};

/// `array` with the type of `field`, or why it cannot be.
pub(super) fn conform(array: &ArrayRef, field: &ArrowField, path: &str) -> Result<ArrayRef, String> {
    if !field.is_nullable() && array.null_count() > 0 {
        return Err(format!("field {path} has nulls, but is not nullable"));
    }
    if array.data_type() == field.data_type() {
        return Ok(Arc::clone(array));
    }
    let differs = || {
        let (has, wants) = (array.data_type(), field.data_type());
        format!("field {path} has the type {has} where the schema has {wants}")
    };
    let refused = |error: ArrowError| format!("field {path}: {error}");
    let below =
        |child: &ArrayRef, field: &ArrowField| conform(child, field, &format!("{path}.{}", field.name()));
    Ok(match (array.data_type(), field.data_type()) {
        (DataType::Utf8View, DataType::Utf8) => {
            let views = array.as_string_view();
            check_offsets(views.iter().flatten().map(str::len), path)?;
            Arc::new(views.iter().collect::<StringArray>())
        }
        (DataType::BinaryView, DataType::Binary) => {
            let views = array.as_binary_view();
            check_offsets(views.iter().flatten().map(<[u8]>::len), path)?;
            Arc::new(views.iter().collect::<BinaryArray>())
        }
        (DataType::Struct(has), DataType::Struct(wants)) if same_names(has, wants) => {
            let has = array.as_struct();
            let columns = wants.iter().zip(has.columns()).map(|(field, child)| below(child, field));
            let columns = columns.collect::<Result<_, _>>()?;
            let nulls = has.nulls().cloned();
            Arc::new(
                StructArray::try_new_with_length(wants.clone(), columns, nulls, has.len())
                    .map_err(refused)?,
            )
        }
        (DataType::List(_), DataType::List(item)) => list::<i32>(array, item, below)?.map_err(refused)?,
        (DataType::LargeList(_), DataType::LargeList(item)) => {
            list::<i64>(array, item, below)?.map_err(refused)?
        }
        (DataType::FixedSizeList(_, has), DataType::FixedSizeList(item, size)) if has == size => {
            let has = array.as_fixed_size_list();
            let values = below(has.values(), item)?;
            let list = FixedSizeListArray::try_new(Arc::clone(item), *size, values, has.nulls().cloned());
            Arc::new(list.map_err(refused)?)
        }
        (DataType::Map(_, false), DataType::Map(entries, false)) => {
            let has = array.as_map();
            let (offsets, nulls) = (has.offsets().clone(), has.nulls().cloned());
            let values: ArrayRef = Arc::new(has.entries().clone());
            let values = below(&values, entries)?.as_struct().clone();
            let map = MapArray::try_new(Arc::clone(entries), offsets, values, nulls, false);
            Arc::new(map.map_err(refused)?)
        }
        (DataType::Dictionary(has, _), DataType::Dictionary(index, value)) if has == index => {
            let dictionary = array.as_any_dictionary();
            let field = ArrowField::new(field.name(), value.as_ref().clone(), true);
            let values = conform(dictionary.values(), &field, path)?;
            dictionary.with_values(values)
        }
        // Zones are the same instant whatever they are called, but what is stored is the schema's.
        _ => return Err(differs()),
    })
}

type Below<'a> = &'a dyn Fn(&ArrayRef, &ArrowField) -> Result<ArrayRef, String>;

fn list<O: OffsetSizeTrait>(
    array: &ArrayRef,
    item: &FieldRef,
    below: impl Fn(&ArrayRef, &ArrowField) -> Result<ArrayRef, String>,
) -> Result<Result<ArrayRef, ArrowError>, String> {
    let below: Below<'_> = &below;
    let has = array.as_list::<O>();
    let values = below(has.values(), item)?;
    let list =
        GenericListArray::<O>::try_new(Arc::clone(item), has.offsets().clone(), values, has.nulls().cloned());
    Ok(list.map(|list| Arc::new(list) as ArrayRef))
}

/// Building a string array of more than 2 GiB panics.
fn check_offsets(lens: impl Iterator<Item = usize>, path: &str) -> Result<(), String> {
    let total = lens.fold(0_usize, usize::saturating_add);
    match i32::try_from(total) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("field {path}: {total} bytes of strings in one batch; the most is 2 GiB")),
    }
}

fn same_names(has: &Fields, wants: &Fields) -> bool {
    has.len() == wants.len() && has.iter().zip(wants).all(|(has, wants)| has.name() == wants.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int8Array, StringViewArray};

    #[test]
    fn views_and_names_are_made_to_fit() {
        let views: ArrayRef =
            Arc::new(StringViewArray::from(vec![Some("a"), None, Some("a long string of bytes")]));
        let item = |name, data_type| Arc::new(ArrowField::new(name, data_type, true));
        let has = StructArray::from(vec![(item("s", DataType::Utf8View), views)]);
        let wants = DataType::Struct(vec![item("s", DataType::Utf8)].into());
        let has: ArrayRef = Arc::new(has);
        let fit = conform(&has, &ArrowField::new("f", wants.clone(), true), "f").unwrap();
        assert_eq!(fit.data_type(), &wants);
        assert_eq!(fit.as_struct().column(0).as_string::<i32>().value(2), "a long string of bytes");

        let values: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3, 4]));
        let has: ArrayRef = Arc::new(FixedSizeListArray::new(item("x", DataType::Int8), 2, values, None));
        let wants = DataType::FixedSizeList(item("item", DataType::Int8), 2);
        assert_eq!(
            conform(&has, &ArrowField::new("f", wants.clone(), true), "f").unwrap().data_type(),
            &wants
        );
    }

    #[test]
    fn what_differs_is_named() {
        let has: ArrayRef = Arc::new(Int8Array::from(vec![Some(1), None]));
        let error = conform(&has, &ArrowField::new("f", DataType::Int8, false), "f").unwrap_err();
        assert!(error.contains("field f has nulls"), "{error}");
        let error = conform(&has, &ArrowField::new("f", DataType::Int16, true), "f").unwrap_err();
        assert_eq!(error, "field f has the type Int8 where the schema has Int16");
    }
}
