//! The table of columns that every direction is tested with.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};
use lance_file::Version;

use crate::draw::{Draw, Nulls, Texture};

/// One column: its name says what it is for.
#[derive(Debug, Clone)]
pub struct Column {
    /// The name of the field.
    pub name: String,
    /// Its type.
    pub kind: DataType,
    /// What its values are like.
    pub texture: Texture,
    /// What the field says beside its type.
    pub metadata: HashMap<String, String>,
}

/// Every type that files of 2.1 and 2.2 store, each with the textures that matter for its encoding.
pub fn columns() -> Vec<Column> {
    let mut columns = vec![];
    let mut add = |name: &str, kind: DataType, texture: Texture| {
        let name = format!("{name}_{texture:?}").to_lowercase();
        columns.push(Column { name, kind, texture, metadata: HashMap::new() });
    };
    for (name, kind) in primitives() {
        add(&name, kind, Texture::Random);
    }
    use Texture::{Constant, Few, Long, Narrow, Random, Runs};
    for texture in [Narrow, Runs, Constant, Few] {
        for (name, kind) in [
            ("bool", DataType::Boolean),
            ("u8", DataType::UInt8),
            ("i16", DataType::Int16),
            ("i32", DataType::Int32),
            ("u64", DataType::UInt64),
            ("f32", DataType::Float32),
            ("f64", DataType::Float64),
            ("decimal128", DataType::Decimal128(38, 4)),
            ("utf8", DataType::Utf8),
            ("large_binary", DataType::LargeBinary),
            ("fixed_binary", DataType::FixedSizeBinary(20)),
        ] {
            add(name, kind, texture);
        }
    }
    for (name, kind) in
        [("utf8", DataType::Utf8), ("binary", DataType::Binary), ("large_utf8", DataType::LargeUtf8)]
    {
        add(name, kind, Long);
    }
    for (name, kind) in dictionaries().into_iter().chain(vectors()) {
        add(&name, kind, Random);
    }
    add("vector_wide", vector(DataType::Float32, 70), Constant);
    for (name, kind) in nested() {
        add(name, kind, Random);
    }
    add("list_narrow", list(DataType::Int32), Narrow);
    add("list_runs", list(DataType::Int64), Runs);
    add("list_long", list(DataType::Utf8), Long);
    add("list_constant", list(DataType::Int32), Constant);
    add("list_few", list(DataType::Utf8), Few);
    columns
}

/// [`columns`], and what only later versions store.
pub fn columns_of(version: Version) -> Vec<Column> {
    let mut columns = columns();
    let later = if version >= Version::V2_2 { later() } else { vec![] };
    columns.extend(later.into_iter().map(|(name, kind, texture)| {
        let name = format!("{name}_{texture:?}").to_lowercase();
        Column { name, kind, texture, metadata: HashMap::new() }
    }));
    // The reference fails on a page of 2.0 without a single packed struct, which lists can have.
    let fits = |kind: &DataType| match version {
        Version::V2_0 => !is_variable(kind) && !is_list(kind),
        Version::V2_1 => !is_variable(kind),
        Version::V2_2 => true,
    };
    let packed = packed_structs().into_iter().filter(|(_, kind)| fits(kind));
    columns.extend(packed.map(|(name, kind)| {
        let texture = if name.contains("constant") { Texture::Constant } else { Texture::Random };
        let metadata = match kind {
            DataType::Struct(_) if !name.starts_with("member") => is_packed(),
            _ => HashMap::new(),
        };
        Column { name: format!("packed_{name}"), kind, texture, metadata }
    }));
    columns
}

/// Structs whose members are stored together, also as members and items of others.
fn packed_structs() -> Vec<(&'static str, DataType)> {
    let pair = || packed([("x", DataType::Int32), ("y", DataType::Float64)]);
    let text = || packed([("id", DataType::UInt16), ("text", DataType::Utf8)]);
    let inside = |kind| Arc::new(Field::new("item", kind, true).with_metadata(is_packed()));
    let member = |name: &str, kind| Field::new(name, kind, true).with_metadata(is_packed());
    let plain = Field::new("plain", DataType::Int8, true);
    vec![
        ("pair", pair()),
        ("constant", pair()),
        ("one", packed([("x", DataType::Int8)])),
        (
            "many",
            packed([
                ("decimal", DataType::Decimal128(20, 2)),
                ("day", DataType::Date32),
                ("bytes", DataType::FixedSizeBinary(3)),
                ("half", DataType::Float16),
                ("time", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))),
            ]),
        ),
        ("list", DataType::List(inside(pair()))),
        ("large_list_text", DataType::LargeList(inside(text()))),
        ("member", DataType::Struct(vec![member("packed", pair()), plain.clone()].into())),
        ("member_text", DataType::Struct(vec![plain, member("packed", text())].into())),
        ("text", text()),
        (
            "texts",
            packed([("a", DataType::LargeUtf8), ("b", DataType::Binary), ("c", DataType::LargeBinary)]),
        ),
        (
            "vector",
            packed([("v", vector(DataType::Float32, 3)), ("w", vector(vector(DataType::Int8, 2), 4))]),
        ),
        ("wide", packed([("image", DataType::FixedSizeBinary(300)), ("name", DataType::Utf8)])),
    ]
}

/// A packed struct: its members have no nulls.
fn packed<const N: usize>(members: [(&str, DataType); N]) -> DataType {
    DataType::Struct(members.into_iter().map(|(name, kind)| Field::new(name, kind, false)).collect())
}

fn is_packed() -> HashMap<String, String> {
    HashMap::from([("lance-encoding:packed".to_string(), "true".to_string())])
}

/// Whether a packed struct in `kind` has a member that is no number.
fn is_variable(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => true,
        DataType::FixedSizeList(..) => true,
        DataType::Struct(members) => members.iter().any(|member| is_variable(member.data_type())),
        DataType::List(item) | DataType::LargeList(item) => is_variable(item.data_type()),
        _ => false,
    }
}

const fn is_list(kind: &DataType) -> bool {
    matches!(kind, DataType::List(_) | DataType::LargeList(_))
}

/// The schema of `columns`; all are nullable.
pub fn schema(columns: &[Column]) -> SchemaRef {
    let field = |column: &Column| {
        Field::new(&column.name, column.kind.clone(), true).with_metadata(column.metadata.clone())
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Fields>()))
}

/// Types without children.
pub fn primitives() -> Vec<(String, DataType)> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let mut kinds = vec![DataType::Null, DataType::Boolean];
    kinds.extend([DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64]);
    kinds.extend([DataType::UInt8, DataType::UInt16, DataType::UInt32, DataType::UInt64]);
    kinds.extend([DataType::Float16, DataType::Float32, DataType::Float64]);
    kinds.extend([DataType::Decimal128(10, 2), DataType::Decimal128(38, 0), DataType::Decimal256(60, 7)]);
    kinds.extend([DataType::Date32, DataType::Date64]);
    kinds.extend([DataType::Time32(Second), DataType::Time32(Millisecond)]);
    kinds.extend([DataType::Time64(Microsecond), DataType::Time64(Nanosecond)]);
    for unit in [Second, Millisecond, Microsecond, Nanosecond] {
        kinds.extend([DataType::Timestamp(unit, None), DataType::Duration(unit)]);
    }
    kinds.push(DataType::Timestamp(Microsecond, Some("UTC".into())));
    kinds.push(DataType::Timestamp(Nanosecond, Some("America/New_York".into())));
    kinds.extend([DataType::Utf8, DataType::LargeUtf8, DataType::Binary, DataType::LargeBinary]);
    kinds.extend([1, 3, 16, 300].map(DataType::FixedSizeBinary));
    kinds.into_iter().map(|kind| (kind.to_string().replace([' ', '.'], ""), kind)).collect()
}

/// Dictionary types.
pub fn dictionaries() -> Vec<(String, DataType)> {
    [
        (DataType::Int8, DataType::Utf8),
        (DataType::Int16, DataType::LargeUtf8),
        (DataType::Int32, DataType::Binary),
        (DataType::UInt8, DataType::Int32),
        (DataType::UInt16, DataType::UInt16),
        (DataType::Int64, DataType::Utf8),
    ]
    .into_iter()
    .map(|(key, value)| (format!("dictionary_{key}_{value}"), DataType::Dictionary(key.into(), value.into())))
    .collect()
}

/// Fixed-size lists of primitives.
pub fn vectors() -> Vec<(String, DataType)> {
    [
        ("vector_f32", vector(DataType::Float32, 3)),
        ("vector_wide", vector(DataType::Float32, 70)),
        ("vector_i16", vector(DataType::Int16, 4)),
        ("vector_f16", vector(DataType::Float16, 1)),
        ("vector_bool", vector(DataType::Boolean, 9)),
        ("vector_date", vector(DataType::Date32, 2)),
        ("vector_nested", vector(vector(DataType::UInt8, 2), 3)),
        ("vector_wide_nested", vector(vector(DataType::Float64, 20), 2)),
    ]
    .map(|(name, kind)| (name.to_string(), kind))
    .into()
}

/// Lists and structs.
pub fn nested() -> Vec<(&'static str, DataType)> {
    let pair = record([("x", DataType::Int32), ("name", DataType::Utf8)]);
    vec![
        ("list", list(DataType::Int32)),
        ("list_bool", list(DataType::Boolean)),
        ("list_text", list(DataType::Utf8)),
        ("large_list", large_list(DataType::LargeBinary)),
        ("list_null", list(DataType::Null)),
        ("list_vector", list(vector(DataType::Float32, 4))),
        ("list_wide_vector", list(vector(DataType::Float32, 70))),
        ("list_dictionary", list(DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into()))),
        ("list_list", list(large_list(DataType::Int16))),
        ("list_list_list", list(list(list(DataType::Utf8)))),
        ("pair", pair.clone()),
        (
            "pair_pair",
            record([("inner", pair.clone()), ("flag", DataType::Boolean), ("none", DataType::Null)]),
        ),
        ("list_pair", list(pair.clone())),
        ("pair_list", record([("list", list(DataType::Int64)), ("vector", vector(DataType::Float32, 2))])),
        (
            "deep",
            list(record([
                ("pairs", list(pair.clone())),
                ("codes", list(list(DataType::Float64))),
                ("inner", record([("list", large_list(pair)), ("date", DataType::Date32)])),
            ])),
        ),
        ("date_list", list(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())))),
        ("decimal_list", list(DataType::Decimal128(30, 3))),
    ]
}

/// Types that files have from version 2.2 on.
fn later() -> Vec<(&'static str, DataType, Texture)> {
    use Texture::{Constant, Few, Long, Narrow, Random, Runs};
    let pair = record([("x", DataType::Int32), ("name", DataType::Utf8)]);
    vec![
        ("map", map(DataType::Utf8, DataType::Int32), Random),
        ("map", map(DataType::Int16, DataType::Utf8), Few),
        ("map", map(DataType::Int64, DataType::Boolean), Constant),
        ("map", map(DataType::Utf8, DataType::LargeBinary), Long),
        ("map_pair", map(DataType::Date32, pair.clone()), Narrow),
        ("map_list", map(DataType::Utf8, list(DataType::Float32)), Random),
        ("map_map", map(DataType::UInt8, map(DataType::Utf8, vector(DataType::Int8, 2))), Runs),
        ("map_record_key", map(pair.clone(), DataType::Null), Random),
        ("list_map", list(map(DataType::Utf8, DataType::Int64)), Random),
        ("vector_pair", vector(pair.clone(), 3), Random),
        ("vector_pair", vector(record([("wide", DataType::FixedSizeBinary(300))]), 2), Few),
        ("vector_texts", vector(record([("text", DataType::Utf8), ("none", DataType::Null)]), 2), Long),
        (
            "vector_constant",
            vector(record([("x", DataType::Int64), ("flag", DataType::Boolean)]), 4),
            Constant,
        ),
        (
            "vector_vector",
            vector(record([("pairs", vector(pair.clone(), 2)), ("bits", vector(DataType::Boolean, 5))]), 3),
            Narrow,
        ),
        ("pair_vectors", record([("a", vector(pair.clone(), 2)), ("b", vector(pair.clone(), 2))]), Random),
        (
            "vector_words",
            vector(record([("word", DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into()))]), 1),
            Random,
        ),
        ("pair_map", record([("map", map(DataType::Utf8, pair)), ("flag", DataType::Boolean)]), Random),
    ]
}

/// The places of the fields of `schema` that may be in one file: those of which a row has as many slots. The reference
/// cannot read others together, so we write none. That of most fields is the first.
pub fn files_of(schema: &Schema) -> Vec<Vec<usize>> {
    let mut files: Vec<(usize, Vec<usize>)> = vec![];
    for (index, field) in schema.fields().iter().enumerate() {
        let slots = slots(field.data_type());
        match files.iter_mut().find(|(of, _)| *of == slots) {
            Some((_, fields)) => fields.push(index),
            None => files.push((slots, vec![index])),
        }
    }
    files.into_iter().map(|(_, fields)| fields).collect()
}

fn slots(kind: &DataType) -> usize {
    match kind {
        DataType::FixedSizeList(item, size) if matches!(item.data_type(), DataType::Struct(_)) => {
            usize::try_from(*size).unwrap() * slots(item.data_type())
        }
        DataType::Struct(members) => members.first().map_or(1, |member| slots(member.data_type())),
        _ => 1,
    }
}

/// Types that neither the reference nor we store.
pub fn unstorable() -> Vec<DataType> {
    vec![
        DataType::Interval(IntervalUnit::YearMonth),
        DataType::Interval(IntervalUnit::DayTime),
        DataType::Interval(IntervalUnit::MonthDayNano),
        vector(DataType::Utf8, 2),
        vector(list(DataType::Int32), 2),
    ]
}

/// `list<kind>`.
pub fn list(kind: DataType) -> DataType {
    DataType::List(item(kind))
}

/// `large_list<kind>`.
pub fn large_list(kind: DataType) -> DataType {
    DataType::LargeList(item(kind))
}

/// `map<key, value>`.
pub fn map(key: DataType, value: DataType) -> DataType {
    let entries = vec![Field::new("key", key, false), Field::new("value", value, true)];
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries.into()), false)), false)
}

/// A fixed-size list.
pub fn vector(kind: DataType, size: i32) -> DataType {
    DataType::FixedSizeList(item(kind), size)
}

/// A struct.
pub fn record<const N: usize>(members: [(&str, DataType); N]) -> DataType {
    DataType::Struct(members.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect())
}

fn item(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", kind, true))
}

/// A batch of `columns` with `rows` rows.
pub fn batch(draw: &mut Draw, columns: &[Column], rows: usize, nulls: Nulls) -> RecordBatch {
    let arrays = columns.iter().map(|column| draw.array(&column.kind, rows, nulls, column.texture)).collect();
    RecordBatch::try_new(schema(columns), arrays).unwrap()
}

/// A test for each version and each pattern of nulls: `each_version_and_nulls!(check: version_2_1 = V2_1)` has a module
/// `version_2_1` of tests that call `check(Version::V2_1, …)`.
#[macro_export]
macro_rules! each_version_and_nulls {
    ($check:ident: $($name:ident = $version:ident),+) => {$(
        mod $name {
            use $crate::draw::Nulls;
            use lance_file::Version;

            #[test]
            fn without_nulls() {
                super::$check(Version::$version, Nulls::None);
            }

            #[test]
            fn with_some_nulls() {
                super::$check(Version::$version, Nulls::Some);
            }

            #[test]
            fn with_nulls_only() {
                super::$check(Version::$version, Nulls::All);
            }

            #[test]
            fn with_nulls_at_the_ends() {
                super::$check(Version::$version, Nulls::Ends);
            }
        }
    )+};
}
