//! Names with dots become members of structs.
//!
//! Lance has no dots in the names of top-level fields, but recordings of robots have columns such as
//! `observation.state`. As member `state` of a struct `observation` it keeps its path:
//!
//! ```text
//! observation.state   action   observation.image        observation {state, image}   action
//! ```

use std::sync::Arc;

use anyhow::{Result, bail};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};

/// `flat` with structs in place of names with dots. A struct stands where its first member stood.
pub(crate) fn schema(flat: &Schema) -> Result<Schema> {
    let mut fields = Vec::new();
    for field in flat.fields() {
        insert(&mut fields, field.name(), field, field.name())?;
    }
    Ok(Schema::new_with_metadata(fields, flat.metadata().clone()))
}

/// `flat` with its columns put into the structs of `nested`, which [`schema`] made.
pub(crate) fn batch(flat: &RecordBatch, nested: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = nested.fields().iter().map(|field| array(flat, field, field.name()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(flat.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(nested), columns, &options)
}

/// The fields of `flat` with the types that they have in `nested`, and what `nested` has beside them.
pub(super) fn flatten(nested: &Schema, flat: &Schema) -> Schema {
    let mut fields: Vec<FieldRef> = flat.fields().iter().map(|field| typed(field, nested.fields())).collect();
    for field in nested.fields() {
        let covers = |name: &str| name.split('.').next() == Some(field.name());
        if !flat.fields().iter().any(|flat| covers(flat.name())) {
            fields.push(Arc::clone(field));
        }
    }
    Schema::new(fields)
}

fn insert(fields: &mut Vec<FieldRef>, rest: &str, leaf: &FieldRef, full: &str) -> Result<()> {
    let (name, rest) = match rest.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (rest, None),
    };
    if name.is_empty() && full.contains('.') {
        bail!("field {full:?}: a name with dots stands for members of structs, and this one lacks a part");
    }
    let known = fields.iter().position(|field| field.name() == name);
    let Some(rest) = rest else {
        if known.is_some() {
            bail!("field {full:?}: there are two of this name");
        }
        fields.push(Arc::new(leaf.as_ref().clone().with_name(name)));
        return Ok(());
    };
    let place = known.unwrap_or(fields.len());
    let mut members = match fields.get(place).map(|field| field.data_type()) {
        None => Vec::new(),
        Some(DataType::Struct(members)) => members.to_vec(),
        Some(_) => bail!("field {full:?}: {name:?} is a field of its own and no struct"),
    };
    insert(&mut members, rest, leaf, full)?;
    let nullable = fields.get(place).is_some_and(|field| field.is_nullable());
    let field = Arc::new(Field::new(name, DataType::Struct(members.into()), nullable));
    match fields.get_mut(place) {
        Some(known) => *known = field,
        None => fields.push(field),
    }
    Ok(())
}

fn array(flat: &RecordBatch, field: &Field, path: &str) -> Result<ArrayRef, ArrowError> {
    if let Some(column) = flat.column_by_name(path) {
        return Ok(Arc::clone(column));
    }
    let DataType::Struct(members) = field.data_type() else {
        return Err(ArrowError::SchemaError(format!("field {path:?} is missing")));
    };
    let arrays = members.iter().map(|member| array(flat, member, &format!("{path}.{}", member.name())));
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(StructArray::try_new(Fields::clone(members), arrays, None)?))
}

fn typed(field: &FieldRef, nested: &Fields) -> FieldRef {
    let mut fields = nested;
    let mut parts = field.name().split('.').peekable();
    while let Some(part) = parts.next() {
        let Some((_, found)) = fields.find(part) else { break };
        if parts.peek().is_none() {
            return Arc::new(found.as_ref().clone().with_name(field.name()));
        }
        let DataType::Struct(members) = found.data_type() else { break };
        fields = members;
    }
    Arc::clone(field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::{Int32Array, Int64Array};

    fn flat() -> RecordBatch {
        RecordBatch::try_from_iter([
            ("o.s", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
            ("a", Arc::new(Int64Array::from(vec![2])) as ArrayRef),
            ("o.i.x", Arc::new(Int64Array::from(vec![3])) as ArrayRef),
        ])
        .unwrap()
    }

    #[test]
    fn dots_become_structs() {
        let flat = flat();
        let nested = Arc::new(schema(&flat.schema()).unwrap());
        let names: Vec<_> = nested.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["o", "a"]);
        let batch = batch(&flat, &nested).unwrap();
        let o = batch.column(0).as_struct();
        assert_eq!(o.column_by_name("s").unwrap().as_ref(), &Int64Array::from(vec![1]));
        let i = o.column_by_name("i").unwrap().as_struct();
        assert_eq!(i.column(0).as_ref(), &Int64Array::from(vec![3]));
    }

    #[test]
    fn names_that_clash_are_refused() {
        let of = |names: &[&str]| {
            let fields = names.iter().map(|name| Field::new(*name, DataType::Int8, true));
            schema(&Schema::new(fields.collect::<Vec<_>>())).map_err(|error| error.to_string())
        };
        assert!(of(&["a", "a.b"]).unwrap_err().contains("\"a.b\""));
        assert!(of(&["a.b", "a"]).unwrap_err().contains("two"));
        assert!(of(&["a."]).unwrap_err().contains("lacks a part"));
        assert!(of(&[".a"]).is_err());
        assert!(of(&["a.b", "c", "a.d"]).is_ok());
    }

    #[test]
    fn flat_names_find_their_types() {
        let flat = flat().schema();
        let wide = Int32Array::from(vec![1]);
        let other = RecordBatch::try_from_iter([
            ("o.s", Arc::new(wide.clone()) as ArrayRef),
            ("more", Arc::new(wide) as ArrayRef),
        ]);
        let nested = schema(&other.unwrap().schema()).unwrap();
        let flattened = flatten(&nested, &flat);
        let kinds: Vec<_> = flattened.fields().iter().map(|field| field.data_type().to_string()).collect();
        assert_eq!(kinds, ["Int32", "Int64", "Int64", "Int32"]);
    }
}
