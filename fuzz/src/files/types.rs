//! The types of the pages that are fuzzed.

use std::sync::Arc;

use arrow_schema::{DataType, Field};

/// Types of which all leaves can be the same page.
pub fn types() -> Vec<Field> {
    let dictionary = |values: DataType| DataType::Dictionary(DataType::Int32.into(), values.into());
    let plain_types = [
        DataType::Null,
        DataType::Boolean,
        DataType::UInt8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::Float32,
        DataType::Float64,
        DataType::Decimal128(20, 3),
        DataType::FixedSizeBinary(5),
        DataType::Utf8,
        DataType::LargeBinary,
        DataType::new_fixed_size_list(DataType::Float32, 4, true),
        DataType::new_fixed_size_list(DataType::Boolean, 9, true),
        DataType::new_list(DataType::Int32, true),
        DataType::new_list(DataType::new_large_list(DataType::Utf8, true), true),
        dictionary(DataType::Utf8),
        dictionary(DataType::Int16),
        map(DataType::Int32),
        map(DataType::Utf8),
        DataType::new_fixed_size_list(structs(&[DataType::Int32]), 3, true),
        DataType::new_fixed_size_list(structs(&[DataType::Utf8, DataType::Utf8]), 2, true),
        structs(&[DataType::Int32, DataType::Int32]),
        DataType::new_list(structs(&[DataType::Int64]), true),
    ];
    let vectors = DataType::new_fixed_size_list(DataType::Float32, 4, true);
    let packed_types = [
        structs(&[DataType::UInt8, DataType::Int32, DataType::Float64]),
        structs(&[DataType::Int16, vectors.clone()]),
        structs(&[DataType::Int32, DataType::Utf8]),
        structs(&[vectors, DataType::LargeBinary, DataType::FixedSizeBinary(3)]),
    ];
    let mut fields: Vec<_> = plain_types.into_iter().map(plain).collect();
    fields.extend(packed_types.into_iter().map(packed_field));
    fields.push(descriptions());
    fields
}

/// A field that is stored as its type says.
pub fn plain(data_type: DataType) -> Field {
    Field::new("x", data_type, true)
}

/// A packed struct.
pub fn packed_field(data_type: DataType) -> Field {
    marked(data_type, "lance-encoding:packed")
}

/// Where the blobs of a column are.
fn descriptions() -> Field {
    let member = |name| Field::new(name, DataType::UInt64, true);
    marked(DataType::Struct(vec![member("position"), member("size")].into()), "lance-encoding:blob")
}

fn marked(data_type: DataType, key: &str) -> Field {
    plain(data_type).with_metadata([(key.to_string(), "true".to_string())].into())
}

fn structs(members: &[DataType]) -> DataType {
    let member =
        |(number, data_type): (usize, &DataType)| Field::new(format!("m{number}"), data_type.clone(), true);
    DataType::Struct(members.iter().enumerate().map(member).collect())
}

/// A map whose keys and values have the same type.
fn map(data_type: DataType) -> DataType {
    let (key, value) = (Field::new("key", data_type.clone(), false), Field::new("value", data_type, true));
    let entries = DataType::Struct(vec![key, value].into());
    DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
}
