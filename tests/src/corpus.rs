//! Columns and what the metadata of fields asks of their pages: between them, files with every encoding.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use lance_file::Version;

use crate::draw::{Draw, Nulls, Texture};
use crate::legacy::fit;
use crate::types::{Column, columns_of, list, record, vector};

/// Rows of each batch and which of them are null. With a page a batch, each is encoded as suits it.
const BATCHES: &[(usize, Nulls)] =
    &[(1024, Nulls::None), (1, Nulls::None), (1024, Nulls::Some), (1, Nulls::All), (300, Nulls::All)];
/// How many of the batches have no nulls.
const WITHOUT_NULLS: usize = 2;

/// What fields ask for, without `lance-encoding:`. Nothing comes first.
const SETTINGS: &[&[(&str, &str)]] = &[
    &[],
    &[("compression", "none")],
    &[("compression", "none"), ("dict-divisor", "100000")],
    &[("compression", "lz4")],
    &[("compression", "zstd")],
    &[("compression", "lz4"), ("bss", "on"), ("dict-divisor", "100000")],
    &[("compression", "zstd"), ("bss", "off"), ("dict-divisor", "100000")],
    &[("compression", "fsst"), ("dict-divisor", "100000")],
    &[("dict-values-compression", "none")],
    &[("dict-values-compression", "zstd")],
    &[("structural-encoding", "miniblock"), ("dict-divisor", "100000")],
    &[("structural-encoding", "fullzip"), ("dict-divisor", "100000")],
    &[("structural-encoding", "fullzip"), ("dict-divisor", "100000"), ("compression", "none")],
    &[("structural-encoding", "fullzip"), ("dict-divisor", "100000"), ("compression", "zstd")],
];

/// A file of one column.
#[derive(Debug, Clone)]
pub struct Case {
    /// The column, and what it asks for.
    pub what: String,
    /// The schema.
    pub schema: SchemaRef,
    /// Its rows.
    pub batches: Vec<RecordBatch>,
}

impl Case {
    /// The batches without nulls.
    pub fn without_nulls(&self) -> &[RecordBatch] {
        self.batches.get(..WITHOUT_NULLS).unwrap_or_default()
    }
}

/// The files of `version`.
pub fn cases(version: Version) -> Vec<Case> {
    let mut draw = Draw::new(41);
    let mut cases = vec![];
    for column in columns_of(version) {
        cases.extend(of_column(&mut draw, &column, &SETTINGS[..1], version));
    }
    let blob = [("lance-encoding:blob".to_string(), "true".to_string())];
    for texture in [Texture::Random, Texture::Long] {
        let column = Column {
            name: "blob".into(),
            kind: DataType::LargeBinary,
            texture,
            metadata: blob.clone().into(),
        };
        cases.extend(of_column(&mut draw, &column, &SETTINGS[..1], version));
    }
    for column in chosen() {
        cases.extend(of_column(&mut draw, &column, &SETTINGS[1..], version));
    }
    cases
}

/// Those of which each setting is tried.
fn chosen() -> Vec<Column> {
    use Texture::{Constant, Few, Long, Narrow, Random, Runs};
    let kinds = [
        ("bool", DataType::Boolean, Random),
        ("u8", DataType::UInt8, Narrow),
        ("i16", DataType::Int16, Runs),
        ("u32", DataType::UInt32, Narrow),
        ("i32", DataType::Int32, Runs),
        ("i64", DataType::Int64, Few),
        ("i64_runs", DataType::Int64, Runs),
        ("u64", DataType::UInt64, Narrow),
        ("f32", DataType::Float32, Narrow),
        ("f64", DataType::Float64, Random),
        ("f64_constant", DataType::Float64, Constant),
        ("decimal", DataType::Decimal128(38, 2), Few),
        ("fixed", DataType::FixedSizeBinary(20), Narrow),
        ("utf8", DataType::Utf8, Random),
        ("utf8_few", DataType::Utf8, Few),
        ("utf8_long", DataType::Utf8, Long),
        ("large_utf8", DataType::LargeUtf8, Long),
        ("binary", DataType::Binary, Random),
        ("large_binary", DataType::LargeBinary, Long),
        ("vector", vector(DataType::Float32, 3), Narrow),
        ("vector_vector", vector(vector(DataType::Int16, 2), 4), Random),
        ("list", list(DataType::Int64), Runs),
        ("list_long", list(DataType::Utf8), Long),
        ("list_pair", list(record([("x", DataType::Int32), ("name", DataType::Utf8)])), Few),
        ("word", DataType::Dictionary(DataType::Int16.into(), DataType::Utf8.into()), Random),
        ("flag", DataType::Dictionary(DataType::Int8.into(), DataType::Boolean.into()), Random),
        ("code", DataType::Dictionary(DataType::UInt8.into(), DataType::Int64.into()), Narrow),
    ];
    let column = |(name, kind, texture): (&str, DataType, Texture)| Column {
        name: name.into(),
        kind,
        texture,
        metadata: [].into(),
    };
    kinds.map(column).into()
}

fn of_column(draw: &mut Draw, column: &Column, settings: &[&[(&str, &str)]], version: Version) -> Vec<Case> {
    let arrays: Vec<_> =
        BATCHES.iter().map(|(rows, nulls)| draw.array(&column.kind, *rows, *nulls, column.texture)).collect();
    let cases = settings.iter().map(|keys| {
        let field =
            Field::new(&column.name, column.kind.clone(), true).with_metadata(column.metadata.clone());
        let schema = Arc::new(Schema::new(vec![with_keys(&field, keys)]));
        let batches = arrays.iter().map(|array| {
            let array = arrow_cast::cast(array, schema.field(0).data_type()).unwrap();
            fit(RecordBatch::try_new(Arc::clone(&schema), vec![array]).unwrap(), version)
        });
        Case { what: format!("{version} {} {keys:?}", column.name), batches: batches.collect(), schema }
    });
    cases.collect()
}

/// `field` with `keys`, without `lance-encoding:`, in the metadata of it and of all below.
pub fn with_keys(field: &Field, keys: &[(&str, &str)]) -> Field {
    let inner = |field: &Field| Arc::new(with_keys(field, keys));
    let kind = match field.data_type() {
        DataType::Struct(members) => DataType::Struct(members.iter().map(|member| inner(member)).collect()),
        DataType::List(item) => DataType::List(inner(item)),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        other => other.clone(),
    };
    let mut metadata = field.metadata().clone();
    metadata.extend(keys.iter().map(|(key, value)| (format!("lance-encoding:{key}"), (*value).to_string())));
    Field::new(field.name(), kind, field.is_nullable()).with_metadata(metadata)
}
