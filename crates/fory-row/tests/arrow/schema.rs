//! Schemas of Arrow and of rows.

use std::sync::Arc;

use arrow_schema::{
    DataType as A, Field as ArrowField, IntervalUnit, Schema as ArrowSchema, TimeUnit, UnionFields, UnionMode,
};
use fory_row::{DataType as F, ErrorKind, Field, Schema};
use proptest::prelude::*;

use crate::{config, types};

pub(crate) fn item(data_type: A, nullable: bool) -> Arc<ArrowField> {
    Arc::new(ArrowField::new("item", data_type, nullable))
}

pub(crate) fn map(key: A, value: A, value_nullable: bool, sorted: bool) -> A {
    let entries =
        vec![ArrowField::new("key", key, false), ArrowField::new("value", value, value_nullable)].into();
    A::Map(Arc::new(ArrowField::new("entries", A::Struct(entries), false)), sorted)
}

/// Pairs that are each other's.
pub(crate) fn exact() -> Vec<(A, F)> {
    let decimal = |precision, scale| F::Decimal { precision, scale };
    let members = vec![ArrowField::new("a", A::Int8, true), ArrowField::new("b", A::Utf8, false)];
    let fields = vec![Field::new("a", F::Int8, true), Field::new("b", F::Utf8, false)];
    vec![
        (A::Boolean, F::Bool),
        (A::Int8, F::Int8),
        (A::Int16, F::Int16),
        (A::Int32, F::Int32),
        (A::Int64, F::Int64),
        (A::Float16, F::Float16),
        (A::Float32, F::Float32),
        (A::Float64, F::Float64),
        (A::Date32, F::Date32),
        (A::Timestamp(TimeUnit::Microsecond, None), F::Timestamp),
        (A::Duration(TimeUnit::Microsecond), F::Duration),
        (A::Decimal128(38, 18), decimal(38, 18)),
        (A::Decimal128(1, 0), decimal(1, 0)),
        (A::Decimal128(4, 4), decimal(4, 4)),
        (A::Utf8, F::Utf8),
        (A::Binary, F::Binary),
        (A::FixedSizeBinary(16), F::FixedBinary(16)),
        (A::List(item(A::Int8, false)), F::list(F::Int8, false)),
        (A::List(item(A::Int8, true)), F::list(F::Int8, true)),
        (map(A::Utf8, A::Int32, true, false), F::map(F::Utf8, F::Int32)),
        (A::Struct(members.into()), F::Struct(fields)),
    ]
}

/// Types of Arrow that rows have as something else.
pub(crate) fn other() -> Vec<(A, F)> {
    let decimal = |precision, scale| F::Decimal { precision, scale };
    let dictionary = |values| A::Dictionary(Box::new(A::UInt16), Box::new(values));
    vec![
        (A::UInt8, F::Int16),
        (A::UInt16, F::Int32),
        (A::UInt32, F::Int64),
        (A::Date64, F::Date32),
        (A::Timestamp(TimeUnit::Second, None), F::Timestamp),
        (A::Timestamp(TimeUnit::Millisecond, Some("+01:00".into())), F::Timestamp),
        (A::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), F::Timestamp),
        (A::Timestamp(TimeUnit::Nanosecond, None), F::Timestamp),
        (A::Duration(TimeUnit::Second), F::Duration),
        (A::Duration(TimeUnit::Millisecond), F::Duration),
        (A::Duration(TimeUnit::Nanosecond), F::Duration),
        (A::Decimal32(9, 2), decimal(9, 2)),
        (A::Decimal64(18, 0), decimal(18, 0)),
        (A::Decimal256(38, 38), decimal(38, 38)),
        (A::LargeUtf8, F::Utf8),
        (A::Utf8View, F::Utf8),
        (A::LargeBinary, F::Binary),
        (A::BinaryView, F::Binary),
        (A::LargeList(item(A::Utf8View, false)), F::list(F::Utf8, false)),
        (A::FixedSizeList(item(A::Float32, true), 26), F::list(F::Float32, true)),
        (A::FixedSizeList(item(A::Float32, true), 0), F::list(F::Float32, true)),
        (map(A::Int8, A::Int8, false, true), F::map(F::Int8, F::Int8)),
        (dictionary(A::Utf8), F::Utf8),
        (dictionary(dictionary(A::UInt8)), F::Int16),
    ]
}

fn refused() -> Vec<A> {
    let union = UnionFields::try_new([0], [ArrowField::new("a", A::Int8, true)]).unwrap();
    vec![
        A::Null,
        A::UInt64,
        A::Time32(TimeUnit::Second),
        A::Time64(TimeUnit::Microsecond),
        A::Interval(IntervalUnit::DayTime),
        A::Decimal256(39, 0),
        A::Decimal128(10, -1),
        A::Decimal128(2, 3),
        A::FixedSizeBinary(0),
        A::FixedSizeBinary(i32::MAX),
        A::Struct(arrow_schema::Fields::empty()),
        A::Union(union, UnionMode::Dense),
        A::RunEndEncoded(item(A::Int32, false), item(A::Int8, true)),
        A::ListView(item(A::Int8, true)),
        A::LargeListView(item(A::Int8, true)),
        A::FixedSizeList(item(A::Int8, true), -1),
        A::Dictionary(Box::new(A::Int8), Box::new(A::UInt64)),
        A::Map(item(A::Int8, false), false),
    ]
}

fn one(data_type: A, nullable: bool) -> ArrowSchema {
    ArrowSchema::new(vec![ArrowField::new("f", data_type, nullable)])
}

#[test]
fn types_that_both_have() {
    for (arrow, row) in exact() {
        for nullable in [false, true] {
            let schema = Schema::new(vec![Field::new("f", row.clone(), nullable)]).unwrap();
            assert_eq!(Schema::from_arrow(&one(arrow.clone(), nullable)).unwrap(), schema, "{arrow}");
            assert_eq!(schema.to_arrow(), one(arrow.clone(), nullable));
        }
    }
}

#[test]
fn types_that_become_others() {
    for (arrow, row) in other() {
        let schema = Schema::from_arrow(&one(arrow.clone(), true)).unwrap();
        assert_eq!(schema.fields(), [Field::new("f", row, true)], "{arrow}");
        assert_eq!(Schema::from_arrow(&schema.to_arrow()).unwrap(), schema, "{arrow}");
    }
}

#[test]
fn types_that_are_refused_with_their_field() {
    for arrow in refused() {
        let nested = A::Struct(vec![ArrowField::new("inner", arrow.clone(), true)].into());
        for (schema, path) in [(one(arrow.clone(), true), "f"), (one(nested, false), "f.inner")] {
            let error = Schema::from_arrow(&schema).unwrap_err();
            assert_eq!(
                (error.kind(), error.path()),
                (ErrorKind::Unsupported, path.into()),
                "{arrow}: {error}"
            );
        }
    }
    let deep = (0..100_000).fold(A::Int8, |inner, _| A::List(item(inner, true)));
    let schema = one(deep, true);
    assert_eq!(Schema::from_arrow(&schema).unwrap_err().kind(), ErrorKind::Limit);
    // A type that deep cannot be dropped the plain way.
    std::mem::forget(schema);
    let twice =
        ArrowSchema::new(vec![ArrowField::new("f", A::Int8, true), ArrowField::new("f", A::Int8, true)]);
    assert_eq!(Schema::from_arrow(&twice).unwrap_err().kind(), ErrorKind::Schema);
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn the_schema_of_rows_stays_through_arrow(schema in types::schema(true)) {
        let rows = Schema::from_arrow(&schema).unwrap();
        prop_assert_eq!(Schema::from_arrow(&rows.to_arrow()).unwrap(), rows);
    }
}
