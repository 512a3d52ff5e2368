//! Arbitrary Arrow types that rows have a type for.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;

fn unit() -> impl Strategy<Value = TimeUnit> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    prop_oneof![Just(Second), Just(Millisecond), Just(Microsecond), Just(Nanosecond)]
}

fn decimal() -> impl Strategy<Value = DataType> {
    (1_u8..=38).prop_flat_map(|precision| (Just(precision), 0..=precision, 0..4)).prop_map(
        |(precision, scale, width)| {
            let scale = i8::try_from(scale).unwrap();
            match width {
                0 if precision <= 9 => DataType::Decimal32(precision, scale),
                1 if precision <= 18 => DataType::Decimal64(precision, scale),
                2 => DataType::Decimal256(precision, scale),
                _ => DataType::Decimal128(precision, scale),
            }
        },
    )
}

fn leaf() -> impl Strategy<Value = DataType> {
    use DataType::*;
    prop_oneof![
        4 => prop_oneof![
            Just(Boolean), Just(Int8), Just(Int16), Just(Int32), Just(Int64), Just(Float16), Just(Float32),
            Just(Float64), Just(Date32), Just(UInt8), Just(UInt16), Just(UInt32), Just(Date64)
        ],
        2 => unit().prop_map(|unit| Timestamp(unit, None)),
        1 => unit().prop_map(|unit| Timestamp(unit, Some("Europe/Berlin".into()))),
        1 => unit().prop_map(Duration),
        2 => decimal(),
        4 => prop_oneof![
            Just(Utf8), Just(LargeUtf8), Just(Utf8View), Just(Binary), Just(LargeBinary), Just(BinaryView),
        ],
        1 => (1..20).prop_map(FixedSizeBinary),
    ]
}

fn key() -> impl Strategy<Value = DataType> {
    use DataType::*;
    prop_oneof![
        Just(Int8),
        Just(Int16),
        Just(Int32),
        Just(Int64),
        Just(UInt8),
        Just(UInt16),
        Just(UInt32),
        Just(UInt64)
    ]
}

fn item(data_type: DataType, nullable: bool) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, nullable))
}

fn members(types: Vec<(DataType, bool)>) -> Vec<Field> {
    let fields = types.into_iter().enumerate();
    fields
        .map(|(index, (data_type, nullable))| Field::new(format!("f{index}"), data_type, nullable))
        .collect()
}

/// Types up to four deep; `dictionaries` or not.
fn data_type(dictionaries: bool) -> impl Strategy<Value = DataType> {
    leaf().prop_recursive(3, 12, 4, move |inner| {
        let of = (inner.clone(), any::<bool>());
        let dictionary = (key(), inner.clone()).prop_map(move |(key, values)| match dictionaries {
            true => DataType::Dictionary(Box::new(key), Box::new(values)),
            false => values,
        });
        prop_oneof![
            2 => of.clone().prop_map(|(inner, nullable)| DataType::List(item(inner, nullable))),
            1 => of.clone().prop_map(|(inner, nullable)| DataType::LargeList(item(inner, nullable))),
            1 => (of.clone(), 0..4)
                .prop_map(|((inner, nullable), size)| DataType::FixedSizeList(item(inner, nullable), size)),
            2 => prop::collection::vec(of, 1..4).prop_map(|types| DataType::Struct(members(types).into())),
            1 => (inner.clone(), inner).prop_map(|(key, value)| {
                let entries = vec![Field::new("key", key, false), Field::new("value", value, true)];
                DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries.into()), false)), false)
            }),
            1 => dictionary,
        ]
    })
}

/// Schemas of some columns; now and then of more than 64, whose bitmap has a second word.
pub(crate) fn schema(dictionaries: bool) -> impl Strategy<Value = Arc<Schema>> {
    let few = prop::collection::vec((data_type(dictionaries), any::<bool>()), 1..6);
    let many = prop::collection::vec((leaf(), any::<bool>()), 62..70);
    prop_oneof![20 => few, 1 => many].prop_map(|types| Arc::new(Schema::new(members(types))))
}
