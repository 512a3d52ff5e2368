//! How many bytes values have in memory, where their type says it.

use arrow_schema::DataType;

use crate::{Field, LogicalType, Schema};

/// Bytes of the values of a leaf as an Arrow array of `rows` rows, without their validity. None if that
/// depends on the values, or on the lengths of lists around them.
pub(super) fn bytes(schema: &Schema, id: i32, rows: u64) -> Option<u64> {
    let bits = bits_of(&schema.fields, id)?;
    Some(bits.checked_mul(rows)?.div_ceil(8))
}

fn bits_of(fields: &[Field], id: i32) -> Option<u64> {
    fields.iter().find_map(|field| match &field.logical_type {
        LogicalType::Leaf(data_type) if field.id == id => bits(data_type),
        LogicalType::Struct => bits_of(&field.children, id),
        LogicalType::FixedSizeList(length) => {
            bits_of(&field.children, id)?.checked_mul(u64::try_from(*length).ok()?)
        }
        _ => None,
    })
}

fn bits(data_type: &DataType) -> Option<u64> {
    match data_type {
        DataType::Null => Some(0),
        DataType::Boolean => Some(1),
        DataType::FixedSizeBinary(width) => u64::try_from(*width).ok()?.checked_mul(8),
        DataType::FixedSizeList(item, length) => {
            bits(item.data_type())?.checked_mul(u64::try_from(*length).ok()?)
        }
        other => u64::try_from(other.primitive_width()?).ok()?.checked_mul(8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{Field as ArrowField, Fields, Schema as ArrowSchema};
    use std::sync::Arc;

    #[test]
    fn widths_follow_from_types() {
        let vector = DataType::FixedSizeList(Arc::new(ArrowField::new("item", DataType::Float32, true)), 3);
        let inner = Fields::from(vec![ArrowField::new("v", vector, true)]);
        let point = DataType::Struct(Fields::from(vec![ArrowField::new("x", DataType::Int8, true)]));
        let list = DataType::List(Arc::new(ArrowField::new("item", DataType::Int8, true)));
        let schema = Schema::from_arrow(&ArrowSchema::new(vec![
            ArrowField::new("s", DataType::Struct(inner), true),
            ArrowField::new("b", DataType::Boolean, true),
            ArrowField::new("t", DataType::Utf8, true),
            ArrowField::new("l", list, true),
            ArrowField::new_fixed_size_list("f", ArrowField::new("item", point, true), 4, true),
        ]))
        .unwrap();
        let found: Vec<_> = (0..9).map(|id| bytes(&schema, id, 10)).collect();
        assert_eq!(found, [None, Some(120), Some(2), None, None, None, None, None, Some(40)]);
    }
}
