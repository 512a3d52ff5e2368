//! Values and their types, and how they become Arrow arrays and come from them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, ListArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

/// A value. Floats are their bits, so that all of them can be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// None.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of any width, or microseconds.
    Int(i64),
    /// A float of any width, as the bits of the wide one.
    Float(u64),
    /// A text.
    Text(String),
    /// A list of any kind.
    List(Vec<Value>),
    /// The members of a struct, in their order.
    Struct(Vec<Value>),
}

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    Text,
    /// Texts by a dictionary.
    Word,
    /// Microseconds.
    Time,
    List(Box<Column>),
    /// So many floats.
    Vector(i32),
    Struct(Vec<Column>),
}

/// A column, a member of a struct, or the items of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    pub nullable: bool,
}

impl Kind {
    /// Whether it is an integer.
    pub const fn is_int(&self) -> bool {
        matches!(self, Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// Whether it is a float.
    pub const fn is_float(&self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// As Arrow has it.
    pub fn arrow(&self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Text => DataType::Utf8,
            Self::Word => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Self::Time => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::List(item) => DataType::List(Arc::new(item.field())),
            Self::Vector(size) => DataType::FixedSizeList(Arc::new(vector_item()), *size),
            Self::Struct(members) => DataType::Struct(members.iter().map(Column::field).collect()),
        }
    }
}

impl Column {
    /// One that may be null.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind, nullable: true }
    }

    /// As Arrow has it.
    pub fn field(&self) -> Field {
        Field::new(&self.name, self.kind.arrow(), self.nullable)
    }
}

fn vector_item() -> Field {
    Field::new("item", DataType::Float32, true)
}

/// The schema of `columns`.
pub fn schema(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(Column::field).collect::<Fields>()))
}

/// `rows` as a batch.
pub fn batch(columns: &[Column], rows: &[Vec<Value>]) -> RecordBatch {
    let arrays = columns.iter().enumerate().map(|(at, column)| {
        let values = rows.iter().map(|row| &row[at]).collect::<Vec<_>>();
        array(&column.kind, &values)
    });
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema(columns), arrays.collect(), &options).unwrap()
}

fn ints(values: &[&Value]) -> impl Iterator<Item = Option<i64>> {
    values.iter().map(|value| match value {
        Value::Int(number) => Some(*number),
        _ => None,
    })
}

fn floats(values: &[&Value]) -> impl Iterator<Item = Option<f64>> {
    values.iter().map(|value| match value {
        Value::Float(bits) => Some(f64::from_bits(*bits)),
        _ => None,
    })
}

fn array(kind: &Kind, values: &[&Value]) -> ArrayRef {
    let valid = NullBuffer::from_iter(values.iter().map(|value| **value != Value::Null));
    let null = Value::Null;
    match kind {
        Kind::Bool => Arc::new(BooleanArray::from_iter(values.iter().map(|value| match value {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }))),
        Kind::Int16 => {
            let narrow = ints(values).map(|number| number.map(|number| i16::try_from(number).unwrap()));
            Arc::new(narrow.collect::<PrimitiveArray<Int16Type>>())
        }
        Kind::Int32 => {
            let narrow = ints(values).map(|number| number.map(|number| i32::try_from(number).unwrap()));
            Arc::new(narrow.collect::<PrimitiveArray<Int32Type>>())
        }
        Kind::Int64 => Arc::new(ints(values).collect::<PrimitiveArray<Int64Type>>()),
        Kind::Time => Arc::new(ints(values).collect::<PrimitiveArray<TimestampMicrosecondType>>()),
        Kind::Float32 => {
            let narrow = floats(values).map(|number| number.map(|number| number as f32));
            Arc::new(narrow.collect::<PrimitiveArray<Float32Type>>())
        }
        Kind::Float64 => Arc::new(floats(values).collect::<PrimitiveArray<Float64Type>>()),
        Kind::Text => Arc::new(StringArray::from_iter(values.iter().map(|value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        }))),
        Kind::Word => arrow_cast::cast(&array(&Kind::Text, values), &kind.arrow()).unwrap(),
        Kind::List(item) => {
            let items = values.iter().map(|value| match value {
                Value::List(items) => items.as_slice(),
                _ => &[],
            });
            let offsets = OffsetBuffer::from_lengths(items.clone().map(<[Value]>::len));
            let inner = array(&item.kind, &items.flatten().collect::<Vec<_>>());
            Arc::new(ListArray::try_new(Arc::new(item.field()), offsets, inner, Some(valid)).unwrap())
        }
        Kind::Vector(size) => {
            let zero = vec![Value::Float(0); *size as usize];
            let items = values.iter().flat_map(|value| match value {
                Value::List(items) => items,
                _ => &zero,
            });
            let inner = array(&Kind::Float32, &items.collect::<Vec<_>>());
            let field = Arc::new(vector_item());
            let len = values.len();
            let made = FixedSizeListArray::try_new_with_length(field, *size, inner, Some(valid), len);
            Arc::new(made.unwrap())
        }
        Kind::Struct(members) => {
            let inner = members.iter().enumerate().map(|(at, member)| {
                // What is below null does not count, and something must stand there.
                let filler = filler(&member.kind);
                let hidden = if member.nullable { &null } else { &filler };
                let own = values.iter().map(|value| match value {
                    Value::Struct(values) => &values[at],
                    _ => hidden,
                });
                array(&member.kind, &own.collect::<Vec<_>>())
            });
            let fields = members.iter().map(Column::field).collect::<Fields>();
            let made = StructArray::try_new_with_length(fields, inner.collect(), Some(valid), values.len());
            Arc::new(made.unwrap())
        }
    }
}

fn filler(kind: &Kind) -> Value {
    match kind {
        Kind::Bool => Value::Bool(false),
        Kind::Int16 | Kind::Int32 | Kind::Int64 | Kind::Time => Value::Int(0),
        Kind::Float32 | Kind::Float64 => Value::Float(0),
        Kind::Text | Kind::Word => Value::Text(String::new()),
        Kind::List(_) => Value::List(vec![]),
        Kind::Vector(size) => Value::List(vec![Value::Float(0); *size as usize]),
        Kind::Struct(members) => Value::Struct(members.iter().map(|member| filler(&member.kind)).collect()),
    }
}

/// What `array` holds.
pub fn values(array: &ArrayRef) -> Vec<Value> {
    let all = match array.data_type() {
        DataType::Boolean => array.as_boolean().values().iter().map(Value::Bool).collect::<Vec<_>>(),
        DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::UInt64 | DataType::Timestamp(..) => {
            let wide = arrow_cast::cast(array, &DataType::Int64).unwrap();
            wide.as_primitive::<Int64Type>().values().iter().map(|number| Value::Int(*number)).collect()
        }
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>().values().iter();
            floats.map(|number| Value::Float(f64::from(*number).to_bits())).collect()
        }
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>().values().iter();
            floats.map(|number| Value::Float(number.to_bits())).collect()
        }
        DataType::Utf8 => {
            let texts = array.as_string::<i32>().iter();
            texts.map(|text| Value::Text(text.unwrap_or_default().to_string())).collect()
        }
        DataType::Dictionary(_, inner) => return values(&arrow_cast::cast(array, inner).unwrap()),
        DataType::List(_) => {
            let lists = array.as_list::<i32>().iter();
            lists.map(|list| Value::List(list.map(|list| values(&list)).unwrap_or_default())).collect()
        }
        DataType::FixedSizeList(..) => {
            let lists = array.as_fixed_size_list().iter();
            lists.map(|list| Value::List(list.map(|list| values(&list)).unwrap_or_default())).collect()
        }
        DataType::Struct(_) => {
            let members = array.as_struct().columns().iter().map(values).collect::<Vec<_>>();
            let row = |row: usize| members.iter().map(|member| member[row].clone()).collect();
            (0..array.len()).map(|at| Value::Struct(row(at))).collect()
        }
        other => panic!("no column has the type {other}"),
    };
    let nulls = array.logical_nulls();
    let null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    all.into_iter().enumerate().map(|(row, value)| if null(row) { Value::Null } else { value }).collect()
}

/// The rows of `batches`.
pub fn rows(batches: &[RecordBatch]) -> Vec<Vec<Value>> {
    let of = |batch: &RecordBatch| {
        let columns = batch.columns().iter().map(values).collect::<Vec<_>>();
        let row = move |row: usize| columns.iter().map(|column| column[row].clone()).collect();
        (0..batch.num_rows()).map(row).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::model::draw::{columns, rows as drawn};
    use lance_footer::Version;

    #[test]
    fn rows_come_back_from_arrow() {
        let mut draw = Draw::new(3);
        for version in Version::ALL {
            for _ in 0..20 {
                let columns = columns(&mut draw, version);
                let expected = drawn(&mut draw, &columns, 30);
                let batch = batch(&columns, &expected);
                batch.columns().iter().for_each(|column| column.to_data().validate_full().unwrap());
                assert_eq!(rows(&[batch.slice(0, 7), batch.slice(7, 23)]), expected);
            }
        }
    }
}
