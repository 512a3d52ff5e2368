//! Schemas and values of Fory rows, any of them, as strategies of proptest. They shrink to few fields and short lists.

use fory_row::{DataType, Date, Decimal, Duration, Field, Float16, Format, Layout, Schema, Timestamp, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A number of cases, drawn from the seed of [`crate::seed`].
pub fn config(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(crate::seed());
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Schemas of both formats, which have all types, and some values of each.
pub fn rows(format: Format, depth: u32, count: usize) -> impl Strategy<Value = (Layout, Vec<Value>)> {
    schema(format, depth).prop_flat_map(move |schema| {
        let values = vec(row(&schema), 1..=count);
        let layout = Layout::new(schema, format).unwrap();
        (Just(layout), values)
    })
}

/// Either format.
pub fn format() -> impl Strategy<Value = Format> {
    prop_oneof![Just(Format::Standard), Just(Format::Compact)]
}

/// A schema whose fields are nested to at most `depth`. Most have few fields, some more than a word of null bits.
pub fn schema(format: Format, depth: u32) -> impl Strategy<Value = Schema> {
    let nested = fields(data_type(format, depth), 1..8);
    let wide = fields(data_type(format, 1), 60..140);
    prop_oneof![15 => nested, 1 => wide].prop_map(|fields| Schema::new(fields).unwrap())
}

/// Fields of a row or struct, with names that differ.
fn fields(
    data_type: impl Strategy<Value = DataType>,
    count: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<Field>> {
    vec((name(), data_type, any::<bool>()), count).prop_map(|fields| {
        let mut all = Vec::<Field>::with_capacity(fields.len());
        for (name, data_type, nullable) in fields {
            let taken = all.iter().any(|field| field.name == name);
            let name = if taken { format!("{name}{}", all.len()) } else { name };
            let taken = all.iter().any(|field| field.name == name);
            let name = if taken { format!("field {}", all.len()) } else { name };
            all.push(Field::new(name, data_type, nullable));
        }
        all
    })
}

/// Names in each of the alphabets that serialised schemas have, short and long.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z]{1,3}", 1 => "[a-zA-Z$_]{1,20}", 1 => "[a-zA-Z0-9$_]{1,20}", 1 => "\\PC{1,20}"]
}

/// A type that nests others to at most `depth`: 1 is a type without parts.
pub fn data_type(format: Format, depth: u32) -> BoxedStrategy<DataType> {
    let leaf = without_parts(format).boxed();
    (1..depth).fold(leaf.clone(), |inner, _| {
        let list =
            (inner.clone(), any::<bool>()).prop_map(|(element, nullable)| DataType::list(element, nullable));
        let map = (inner.clone(), inner.clone()).prop_map(|(key, value)| DataType::map(key, value));
        let members = fields(inner, 1..5).prop_map(DataType::Struct);
        prop_oneof![3 => leaf.clone(), 2 => list, 1 => map, 2 => members].boxed()
    })
}

fn without_parts(format: Format) -> impl Strategy<Value = DataType> {
    use DataType::{
        Binary, Bool, Date32, Duration, Float16, Float32, Float64, Int8, Int16, Int32, Int64, Timestamp, Utf8,
    };
    let plain = [
        Bool, Int8, Int16, Int32, Int64, Float16, Float32, Float64, Date32, Timestamp, Duration, Utf8, Binary,
    ];
    let plain = prop::sample::select(plain.to_vec());
    let decimal = (1..=38_u8)
        .prop_flat_map(|precision| (Just(precision), 0..=precision))
        .prop_map(|(precision, scale)| DataType::Decimal { precision, scale });
    // The widths decide the order of compact rows.
    let fixed =
        prop::sample::select(vec![1_u32, 2, 3, 4, 5, 8, 12, 16, 24, 33]).prop_map(DataType::FixedBinary);
    let fixed_weight = u32::from(format == Format::Compact);
    // A weight of 0 is not allowed, so that the standard format takes bytes of any length instead.
    let fixed = if fixed_weight == 1 { fixed.boxed() } else { Just(Binary).boxed() };
    prop_oneof![12 => plain, 1 => decimal, 1 => fixed]
}

/// A row of `schema`.
pub fn row(schema: &Schema) -> BoxedStrategy<Value> {
    members(schema.fields(), Extent::TOP)
}

/// A row of `schema` whose maps have no values that are null, as Rust maps of values that are no `Option`.
pub fn row_of_full_maps(schema: &Schema) -> BoxedStrategy<Value> {
    members(schema.fields(), Extent { full_maps: true, ..Extent::TOP })
}

/// How much there is of a value.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// The greatest number of elements.
    longest: usize,
    full_maps: bool,
}

impl Extent {
    /// Lists of the top level pass a word of null bits; those in lists are shorter.
    const TOP: Self = Self { longest: 70, full_maps: false };

    fn below(self) -> Self {
        Self { longest: self.longest / 8, ..self }
    }
}

fn members(fields: &[Field], extent: Extent) -> BoxedStrategy<Value> {
    let fields = fields.iter().map(|field| nullable(field, extent)).collect::<Vec<_>>();
    fields.prop_map(Value::Struct).boxed()
}

fn nullable(field: &Field, extent: Extent) -> BoxedStrategy<Value> {
    let value = value(&field.data_type, extent);
    if field.nullable { prop_oneof![3 => value, 1 => Just(Value::Null)].boxed() } else { value }
}

/// A value of a type, which is not null.
fn value(data_type: &DataType, extent: Extent) -> BoxedStrategy<Value> {
    match data_type {
        DataType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        DataType::Int8 => any::<i8>().prop_map(Value::Int8).boxed(),
        DataType::Int16 => any::<i16>().prop_map(Value::Int16).boxed(),
        DataType::Int32 => int32().prop_map(Value::Int32).boxed(),
        DataType::Int64 => int64().prop_map(Value::Int64).boxed(),
        // Bits as they come: infinities, odd zeros and what is no number among them.
        DataType::Float16 => any::<u16>().prop_map(|bits| Value::Float16(Float16(bits))).boxed(),
        DataType::Float32 => any::<u32>().prop_map(|bits| Value::Float32(f32::from_bits(bits))).boxed(),
        DataType::Float64 => any::<u64>().prop_map(|bits| Value::Float64(f64::from_bits(bits))).boxed(),
        DataType::Date32 => int32().prop_map(|days| Value::Date(Date(days))).boxed(),
        DataType::Timestamp => int64().prop_map(|micros| Value::Timestamp(Timestamp(micros))).boxed(),
        DataType::Duration => int64().prop_map(|micros| Value::Duration(Duration(micros))).boxed(),
        DataType::Decimal { precision, scale } => decimal(*precision, *scale).boxed(),
        DataType::Utf8 => prop_oneof![4 => "\\PC{0,12}", 1 => "[a-z]{0,40}"].prop_map(Value::Utf8).boxed(),
        DataType::Binary => vec(any::<u8>(), 0..20).prop_map(Value::Binary).boxed(),
        DataType::FixedBinary(width) => {
            let width = usize::try_from(*width).unwrap();
            vec(any::<u8>(), width).prop_map(Value::Binary).boxed()
        }
        DataType::List(element) => {
            let longest = extent.longest;
            let elements = nullable(element, extent.below());
            prop_oneof![4 => vec(elements.clone(), 0..=longest.min(5)), 1 => vec(elements, 0..=longest)]
                .prop_map(Value::List)
                .boxed()
        }
        DataType::Map(key, value) => {
            let value = if extent.full_maps {
                self::value(&value.data_type, extent.below())
            } else {
                nullable(value, extent.below())
            };
            vec((nullable(key, extent.below()), value), 0..=extent.longest.min(6))
                .prop_map(Value::Map)
                .boxed()
        }
        DataType::Struct(fields) => members(fields, extent),
    }
}

fn int32() -> impl Strategy<Value = i32> {
    prop_oneof![3 => any::<i32>(), 1 => prop::sample::select(vec![i32::MIN, -1, 0, 1, i32::MAX])]
}

fn int64() -> impl Strategy<Value = i64> {
    prop_oneof![3 => any::<i64>(), 1 => prop::sample::select(vec![i64::MIN, -1, 0, 1, i64::MAX])]
}

fn decimal(precision: u8, scale: u8) -> impl Strategy<Value = Value> {
    let most = 10_i128.pow(precision.into()) - 1;
    prop_oneof![3 => -most..=most, 1 => prop::sample::select(vec![-most, -1, 0, 1, most])]
        .prop_map(move |unscaled| Value::Decimal(Decimal::new(unscaled, scale).unwrap()))
}

/// Whether two values are the same bit by bit: what is no number is equal to itself.
pub fn same(a: &Value, b: &Value) -> bool {
    let all = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
    match (a, b) {
        (Value::Float32(a), Value::Float32(b)) => a.to_bits() == b.to_bits(),
        (Value::Float64(a), Value::Float64(b)) => a.to_bits() == b.to_bits(),
        (Value::List(a), Value::List(b)) | (Value::Struct(a), Value::Struct(b)) => all(a, b),
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(&a.0, &b.0) && same(&a.1, &b.1))
        }
        (a, b) => a == b,
    }
}
