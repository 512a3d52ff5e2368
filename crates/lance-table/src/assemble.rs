//! Puts together what the files of a fragment have of each field.
//!
//! The columns of a struct may lie in different files, and a column that was added without values lies in
//! none. Whatever is missing is null.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait, StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType};
use lance_file::{Field, LogicalType, Schema};
use lance_footer::FormatError;

/// The columns of `schema`, with `rows` rows each, from `parts`: what each file has of the schema.
pub(crate) fn assemble(
    schema: &Schema,
    parts: &[(&Schema, &[ArrayRef])],
    rows: usize,
) -> Result<Vec<ArrayRef>, FormatError> {
    let columns = schema.fields.iter().map(|field| {
        let stored = parts.iter().filter_map(|(part, arrays)| find(&part.fields, arrays, field.id));
        assemble_field(field, &stored.collect::<Vec<_>>(), rows, None)
    });
    columns.collect()
}

/// What one file has of a field.
type Stored<'a> = (&'a Field, &'a ArrayRef);

fn find<'a>(fields: &'a [Field], arrays: &'a [ArrayRef], id: i32) -> Option<Stored<'a>> {
    fields.iter().zip(arrays).find(|(field, _)| field.id == id)
}

/// `above` says where a struct around it is null.
fn assemble_field(
    field: &Field,
    stored: &[Stored<'_>],
    rows: usize,
    above: Option<&NullBuffer>,
) -> Result<ArrayRef, FormatError> {
    if let [(part, array)] = stored
        && *part == field
    {
        return Ok(Arc::clone(array));
    }
    let Some((_, first)) = stored.first() else {
        // A fragment whose rows came without a struct may have got a member of it later: then it is null in all of them,
        // and no value is missing.
        let nowhere = rows == above.map_or(0, NullBuffer::null_count);
        if field.nullable || nowhere {
            return Ok(new_null_array(&field.data_type(), rows));
        }
        // Of a struct, maybe only members are wanted or left that came without values.
        if let (LogicalType::Struct, DataType::Struct(members)) = (&field.logical_type, field.data_type()) {
            let arrays = field.children.iter().map(|child| assemble_field(child, &[], rows, above));
            let array =
                StructArray::try_new_with_length(members, arrays.collect::<Result<_, _>>()?, None, rows);
            return array
                .map(|array| Arc::new(array) as ArrayRef)
                .map_err(|error| corrupt(field, &error.to_string()));
        }
        return Err(corrupt(field, "it is not nullable, but no file has it"));
    };
    let array = match (&field.logical_type, field.data_type()) {
        (LogicalType::Struct, DataType::Struct(members)) => {
            let mut arrays = Vec::with_capacity(field.children.len());
            let around = NullBuffer::union(above, first.nulls());
            for child in &field.children {
                let below = stored.iter().filter_map(|(part, array)| {
                    find(&part.children, array.as_struct_opt()?.columns(), child.id)
                });
                arrays.push(assemble_field(child, &below.collect::<Vec<_>>(), rows, around.as_ref())?);
            }
            let nulls = first.nulls().cloned();
            StructArray::try_new_with_length(members, arrays, nulls, rows)
                .map(|array| Arc::new(array) as ArrayRef)
        }
        (LogicalType::List, DataType::List(_)) => assemble_list::<i32>(field, stored)?,
        (LogicalType::LargeList, DataType::LargeList(_)) => assemble_list::<i64>(field, stored)?,
        (LogicalType::FixedSizeList(_), DataType::FixedSizeList(item, size)) => {
            let lists = stored.iter().filter_map(|(part, array)| {
                Some((part.children.first()?, array.as_fixed_size_list_opt()?.values()))
            });
            let lists = lists.collect::<Vec<_>>();
            let values = lists.first().map_or(0, |(_, values)| values.len());
            let Some(child) = field.children.first() else { return Err(corrupt(field, "it has no item")) };
            let values = assemble_field(child, &lists, values, None)?;
            FixedSizeListArray::try_new(item, size, values, first.nulls().cloned())
                .map(|array| Arc::new(array) as ArrayRef)
        }
        _ => return Err(corrupt(field, "its parts in different files do not fit each other")),
    };
    array.map_err(|error| corrupt(field, &error.to_string()))
}

/// Lists whose items lie in different files have the same offsets in each.
fn assemble_list<O: OffsetSizeTrait>(
    field: &Field,
    stored: &[Stored<'_>],
) -> Result<Result<ArrayRef, ArrowError>, FormatError> {
    let (Some(child), DataType::List(item) | DataType::LargeList(item)) =
        (field.children.first(), field.data_type())
    else {
        return Err(corrupt(field, "it has no item"));
    };
    let mut items = vec![];
    let mut lengths: Option<Vec<usize>> = None;
    for (part, array) in stored {
        let list = array.as_list_opt::<O>().ok_or_else(|| corrupt(field, "it is no list"))?;
        let own = list.offsets().lengths().collect::<Vec<_>>();
        if lengths.as_ref().is_some_and(|lengths| *lengths != own) {
            return Err(corrupt(field, "its files have different list lengths"));
        }
        let (start, total) = (list.offsets().first().map_or(0, |offset| offset.as_usize()), own.iter().sum());
        lengths = Some(own);
        items.push((part.children.first(), list.values().slice(start, total)));
    }
    let lengths = lengths.unwrap_or_default();
    let total = lengths.iter().sum();
    let items = items.iter().filter_map(|(part, values)| Some(((*part)?, values))).collect::<Vec<_>>();
    let values = assemble_field(child, &items, total, None)?;
    let nulls = stored.first().and_then(|(_, array)| array.nulls().cloned());
    let offsets = OffsetBuffer::<O>::from_lengths(lengths);
    Ok(GenericListArray::try_new(item, offsets, values, nulls).map(|array| Arc::new(array) as ArrayRef))
}

fn corrupt(field: &Field, reason: &str) -> FormatError {
    FormatError::corrupt(format!("field {:?} (id {})", field.name, field.id), reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, ListArray, StringArray};
    use arrow_schema::Field as ArrowField;

    fn schema(fields: Vec<ArrowField>) -> Schema {
        Schema::from_arrow(&arrow_schema::Schema::new(fields)).unwrap()
    }

    fn number(name: &str) -> ArrowField {
        ArrowField::new(name, DataType::Int32, true)
    }

    fn pair(nullable: bool) -> ArrowField {
        let text = ArrowField::new("b", DataType::Utf8, nullable);
        ArrowField::new("s", DataType::Struct(vec![number("a"), text].into()), true)
    }

    fn structs(field: &Field, column: ArrayRef, nulls: Option<NullBuffer>) -> ArrayRef {
        let DataType::Struct(members) = field.data_type() else { panic!("no struct") };
        Arc::new(StructArray::new(members, vec![column], nulls))
    }

    #[test]
    fn members_of_a_struct_from_two_files_and_from_none() {
        // 0 n, 1 s, 2 s.a, 3 s.b
        let all = schema(vec![number("n"), pair(true)]);
        let (left, right) = (all.project_ids(|id| id == 2), all.project_ids(|id| id == 3));
        let nulls = NullBuffer::from(vec![true, false]);
        let a: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let b: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None]));
        let lefts = [structs(&left.fields[0], a.clone(), Some(nulls.clone()))];
        let rights = [structs(&right.fields[0], b.clone(), Some(nulls.clone()))];

        let both = assemble(&all, &[(&left, &lefts), (&right, &rights)], 2).unwrap();
        assert_eq!(both[0].null_count(), 2);
        let joined = both[1].as_struct();
        assert_eq!((joined.column(0), joined.column(1)), (&a, &b));
        assert_eq!(joined.nulls(), Some(&nulls));
        assert_eq!(joined.data_type(), &all.fields[1].data_type());

        let one = assemble(&all, &[(&left, &lefts)], 2).unwrap();
        assert_eq!(one[1].as_struct().column(1).null_count(), 2);
        let none = assemble(&all, &[], 2).unwrap();
        assert_eq!(none[1].null_count(), 2);
    }

    #[test]
    fn what_must_not_be_null_is_an_error() {
        let all = schema(vec![pair(false)]);
        let left = all.project_ids(|id| id == 1);
        let a: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let cases = [
            (None, false),
            (Some(vec![true, true]), false),
            (Some(vec![false, true]), false),
            // Nothing is missing where all structs are null.
            (Some(vec![false, false]), true),
        ];
        for (valid, fine) in cases {
            let nulls = valid.clone().map(NullBuffer::from);
            let lefts = [structs(&left.fields[0], a.clone(), nulls)];
            match assemble(&all, &[(&left, &lefts)], 2) {
                Ok(both) => assert!(fine && both[0].null_count() == 2, "{valid:?}"),
                Err(error) => assert!(!fine && error.to_string().contains("\"b\""), "{valid:?}: {error}"),
            }
        }
    }

    #[test]
    fn a_struct_that_is_never_null_of_members_without_values() {
        for (member, fine) in [(true, true), (false, false)] {
            let DataType::Struct(members) = pair(member).data_type().clone() else { panic!("no struct") };
            let inner = ArrowField::new("inner", DataType::Struct(members), false);
            let outer = ArrowField::new("outer", DataType::Struct(vec![inner].into()), false);
            match assemble(&schema(vec![outer]), &[], 2) {
                Ok(columns) => {
                    let inner = columns[0].as_struct().column(0).as_struct();
                    assert_eq!((columns[0].null_count(), inner.null_count()), (0, 0));
                    assert!(fine && inner.columns().iter().all(|column| column.null_count() == 2));
                }
                Err(error) => assert!(!fine && error.to_string().contains("\"b\""), "{error}"),
            }
        }
    }

    #[test]
    fn items_of_a_list_from_two_files() {
        // 0 l, 1 l.item, 2 l.item.a, 3 l.item.b
        let DataType::Struct(members) = pair(true).data_type().clone() else { panic!("no struct") };
        let item = ArrowField::new("item", DataType::Struct(members), true);
        let all = schema(vec![ArrowField::new("l", DataType::List(Arc::new(item)), true)]);
        let lists = |part: &Schema, values: ArrayRef, lengths: &[usize]| -> ArrayRef {
            let DataType::List(item) = part.fields[0].data_type() else { panic!("no list") };
            let values = structs(&part.fields[0].children[0], values, None);
            let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
            Arc::new(ListArray::new(item, offsets, values, None))
        };
        let (left, right) = (all.project_ids(|id| id == 2), all.project_ids(|id| id == 3));
        let a: ArrayRef = Arc::new(Int32Array::from(vec![9, 1, 2, 3]));
        let b: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
        // A list that does not start at its first value.
        let lefts = [lists(&left, a, &[1, 2, 0, 1]).slice(1, 3)];
        let rights = [lists(&right, b, &[2, 0, 1])];
        let both = assemble(&all, &[(&left, &lefts), (&right, &rights)], 3).unwrap();
        let list = both[0].as_list::<i32>();
        assert_eq!(list.value_length(0), 2);
        let joined = list.values().as_struct();
        assert_eq!(joined.column(0).as_ref(), &Int32Array::from(vec![1, 2, 3]) as &dyn Array);
        assert_eq!(joined.column(1).as_ref(), &StringArray::from(vec!["x", "y", "z"]) as &dyn Array);

        let other = [lists(&right, Arc::new(StringArray::from(vec!["x", "y", "z"])), &[1, 1, 1])];
        assert!(assemble(&all, &[(&left, &lefts), (&right, &other)], 3).is_err());
    }
}
