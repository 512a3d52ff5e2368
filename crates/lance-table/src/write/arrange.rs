//! Brings batches into the shape of a table: its order of columns, less those that are missing.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions,
    StructArray,
};
use arrow_schema::{ArrowError, DataType, Field as ArrowField, FieldRef, Schema as ArrowSchema};
use lance_file::{Field, LogicalType, Schema};

/// The fields of `table` that `incoming` has, with the ids of the table; or why the rows do not fit.
pub(crate) fn match_append(table: &[Field], incoming: &[Field]) -> Result<Vec<Field>, String> {
    match_members(table, incoming, "")
}

fn match_members(table: &[Field], incoming: &[Field], above: &str) -> Result<Vec<Field>, String> {
    let named = |name: &str| format!("{above}{name}");
    if let Some(field) = incoming.iter().find(|field| !table.iter().any(|own| own.name == field.name)) {
        let names = table.iter().map(|own| own.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(format!("column {:?} is not in the table, which has: {names}", named(&field.name)));
    }
    let mut matched = vec![];
    for own in table {
        let path = named(&own.name);
        match incoming.iter().find(|field| field.name == own.name) {
            Some(field) => matched.push(match_field(own, field, &path)?),
            None if own.nullable => {}
            None => return Err(format!("column {path:?} is missing, and is not nullable")),
        }
    }
    if matched.is_empty() && !table.is_empty() {
        return Err("none of the columns of the table is there".into());
    }
    Ok(matched)
}

fn match_field(own: &Field, incoming: &Field, path: &str) -> Result<Field, String> {
    if own.logical_type != incoming.logical_type {
        let (has, wants) = (incoming.logical_type_string(), own.logical_type_string());
        return Err(format!("column {path:?} has the type {has}, but in the table it is {wants}"));
    }
    let children = match own.logical_type {
        LogicalType::Struct => match_members(&own.children, &incoming.children, &format!("{path}."))?,
        _ if own.children.len() != incoming.children.len() => {
            return Err(format!("column {path:?} has other fields than in the table"));
        }
        _ => {
            let children = own.children.iter().zip(&incoming.children);
            let children =
                children.map(|(own, incoming)| match_field(own, incoming, &format!("{path}.{}", own.name)));
            children.collect::<Result<_, _>>()?
        }
    };
    let whole = own.is_packed() || own.is_blob() || own.logical_type == LogicalType::Map;
    let matched = Field { children, ..own.clone() };
    if whole && matched != *own {
        return Err(format!("column {path:?} must be there with all its fields"));
    }
    Ok(matched)
}

/// `batch` with the columns of `schema`, in its order.
pub(crate) fn arrange(batch: &RecordBatch, schema: &Schema) -> Result<RecordBatch, ArrowError> {
    let own = batch.schema();
    let mut fields = Vec::with_capacity(schema.fields.len());
    let mut columns = Vec::with_capacity(schema.fields.len());
    for field in &schema.fields {
        let index = own.index_of(&field.name)?;
        let column = arrange_array(batch.column(index), field)?;
        fields.push(retyped(own.field(index), &column));
        columns.push(column);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)
}

fn arrange_array(array: &ArrayRef, field: &Field) -> Result<ArrayRef, ArrowError> {
    let item = field.children.first();
    match (array.data_type(), item) {
        (DataType::Struct(members), _) => {
            let own = array.as_struct();
            let names = members.iter().map(|member| member.name());
            let mut changed = !names.eq(field.children.iter().map(|child| &child.name));
            let (mut fields, mut columns) = (vec![], vec![]);
            for child in &field.children {
                let Some((index, member)) = members.find(&child.name) else {
                    return Err(ArrowError::SchemaError(format!("field {:?} is missing", child.name)));
                };
                let column = arrange_array(own.column(index), child)?;
                changed |= column.data_type() != member.data_type();
                fields.push(retyped(member, &column));
                columns.push(column);
            }
            if !changed {
                return Ok(Arc::clone(array));
            }
            let nulls = own.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(fields.into(), columns, nulls, own.len())?))
        }
        (DataType::List(member), Some(item)) => arrange_list::<i32>(array, member, item),
        (DataType::LargeList(member), Some(item)) => arrange_list::<i64>(array, member, item),
        (DataType::FixedSizeList(member, size), Some(item)) => {
            let own = array.as_fixed_size_list();
            let values = arrange_array(own.values(), item)?;
            if values.data_type() == member.data_type() {
                return Ok(Arc::clone(array));
            }
            let member = retyped(member, &values);
            Ok(Arc::new(FixedSizeListArray::try_new(member, *size, values, own.nulls().cloned())?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn arrange_list<O: OffsetSizeTrait>(
    array: &ArrayRef,
    member: &FieldRef,
    item: &Field,
) -> Result<ArrayRef, ArrowError> {
    let own = array.as_list::<O>();
    let values = arrange_array(own.values(), item)?;
    if values.data_type() == member.data_type() {
        return Ok(Arc::clone(array));
    }
    let (offsets, nulls) = (own.offsets().clone(), own.nulls().cloned());
    Ok(Arc::new(GenericListArray::<O>::try_new(retyped(member, &values), offsets, values, nulls)?))
}

fn retyped(field: &ArrowField, array: &ArrayRef) -> FieldRef {
    Arc::new(field.clone().with_data_type(array.data_type().clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, ListArray, StringArray, record_batch};
    use arrow_buffer::OffsetBuffer;

    fn schema(fields: Vec<ArrowField>) -> Schema {
        Schema::from_arrow(&ArrowSchema::new(fields)).unwrap()
    }

    fn number(name: &str) -> ArrowField {
        ArrowField::new(name, DataType::Int32, true)
    }

    fn group(name: &str, members: Vec<ArrowField>) -> ArrowField {
        ArrowField::new(name, DataType::Struct(members.into()), true)
    }

    #[test]
    fn columns_go_by_name() {
        let table = schema(vec![number("a"), group("s", vec![number("x"), number("y")]), number("b")]);
        let incoming = schema(vec![number("b"), group("s", vec![number("y"), number("x")])]);
        let matched = match_append(&table.fields, &incoming.fields).unwrap();
        let ids = |fields: &[Field]| fields.iter().map(|field| field.id).collect::<Vec<_>>();
        assert_eq!((ids(&matched), ids(&matched[0].children)), (vec![1, 4], vec![2, 3]));
        let partial = schema(vec![group("s", vec![number("y")])]);
        let matched = match_append(&table.fields, &partial.fields).unwrap();
        assert_eq!(ids(&matched[0].children), [3]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let fixed = ArrowField::new("c", DataType::Int32, false);
        let table = schema(vec![number("a"), group("s", vec![number("x")]), fixed.clone()]);
        let refused = |fields| match_append(&table.fields, &schema(fields).fields).unwrap_err();
        let error = refused(vec![fixed.clone(), number("d")]);
        assert!(error.contains("\"d\" is not in the table, which has: a, s, c"), "{error}");
        assert!(refused(vec![number("a")]).contains("\"c\" is missing, and is not nullable"));
        let error = refused(vec![fixed.clone(), ArrowField::new("a", DataType::Utf8, true)]);
        assert!(error.contains("\"a\" has the type string, but in the table it is int32"), "{error}");
        assert!(refused(vec![fixed, group("s", vec![number("z")])]).contains("\"s.z\" is not in the table"));
        let nullable = schema(vec![number("a")]);
        assert!(match_append(&nullable.fields, &[]).is_err());
    }

    #[test]
    fn batches_are_put_in_order() {
        let batch = record_batch!(("b", Int32, [1, 2]), ("a", Utf8, ["x", "y"])).unwrap();
        let table = schema(vec![ArrowField::new("a", DataType::Utf8, true), number("b")]);
        let arranged = arrange(&batch, &table).unwrap();
        assert_eq!(arranged, record_batch!(("a", Utf8, ["x", "y"]), ("b", Int32, [1, 2])).unwrap());

        // Members inside of a list.
        let text = ArrowField::new("t", DataType::Utf8, true);
        let x: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let t: ArrayRef = Arc::new(StringArray::from(vec!["p", "q"]));
        let has = vec![(Arc::new(text.clone()), t.clone()), (Arc::new(number("x")), x.clone())];
        let values: ArrayRef = Arc::new(StructArray::from(has));
        let item = Arc::new(ArrowField::new("item", values.data_type().clone(), true));
        let list: ArrayRef = Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([2]), values, None));
        let wanted = ArrowField::new("item", DataType::Struct(vec![number("x"), text].into()), true);
        let table = schema(vec![ArrowField::new("l", DataType::List(Arc::new(wanted)), true)]);
        let arranged = arrange_array(&list, &table.fields[0]).unwrap();
        let members = arranged.as_list::<i32>().values().as_struct();
        assert_eq!((members.column(0), members.column(1)), (&x, &t));
    }
}
