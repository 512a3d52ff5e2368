//! The codecs that are fuzzed by themselves, and where each stands.

use arrow_schema::{DataType, Field};
use bytes::Bytes;
use lance_encoding::proto::compressive_encoding::Compression;
use lance_encoding::proto::variable_packed_struct::{FieldEncoding, field_encoding::Layout as Width};
use lance_encoding::proto::{self, CompressionScheme, CompressiveEncoding};

use super::types::{packed_field, plain};

/// How many there are.
const CODECS: u8 = 34;

/// A codec, and what it is the codec of.
pub struct Codec {
    pub field: Field,
    pub encoding: CompressiveEncoding,
    pub place: Place,
}

/// Where values are.
pub enum Place {
    /// In a chunk, in so many buffers.
    Chunk(usize),
    /// In records, one a buffer.
    Records,
}

/// Codec `number`, with a symbol table made of `table` if it has one.
pub fn codec(number: u8, table: &[u8]) -> Codec {
    use Place::{Chunk, Records};
    let lz4 = |values| general(CompressionScheme::CompressionAlgorithmLz4, values);
    let zstd = |values| general(CompressionScheme::CompressionAlgorithmZstd, values);
    let (data_type, encoding, place) = match number % CODECS {
        0 => (DataType::Int32, flat(32), Chunk(1)),
        1 => (DataType::Boolean, flat(1), Chunk(1)),
        2 => (DataType::Utf8, strings(32), Chunk(1)),
        3 => (DataType::LargeBinary, strings(64), Chunk(1)),
        4 => (DataType::UInt8, bit_packed(8), Chunk(1)),
        5 => (DataType::Int16, bit_packed(16), Chunk(1)),
        6 => (DataType::UInt32, bit_packed(32), Chunk(1)),
        7 => (DataType::Int64, bit_packed(64), Chunk(1)),
        8 => (DataType::Int8, runs(8), Chunk(2)),
        9 => (DataType::UInt16, runs(16), Chunk(2)),
        10 => (DataType::Float32, runs(32), Chunk(2)),
        11 => (DataType::Float64, runs(64), Chunk(2)),
        12 => (DataType::Utf8, fsst(table, 32), Chunk(1)),
        13 => (DataType::LargeBinary, fsst(table, 64), Chunk(1)),
        14 => (DataType::Float32, split(32), Chunk(1)),
        15 => (DataType::Float64, split(64), Chunk(1)),
        16 => (vectors(), list(4, true, flat(32)), Chunk(2)),
        17 => (nested_vectors(), list(2, true, list(4, true, flat(32))), Chunk(3)),
        18 => (DataType::Binary, lz4(strings(32)), Chunk(1)),
        19 => (DataType::Binary, zstd(strings(32)), Chunk(1)),
        20 => (DataType::Float32, zstd(split(32)), Chunk(1)),
        21 => (DataType::Binary, lz4(fsst(table, 32)), Chunk(1)),
        22 => (DataType::LargeUtf8, zstd(fsst(table, 64)), Chunk(1)),
        23 => (DataType::Int8, lz4(runs(8)), Chunk(2)),
        24 => (DataType::Int64, zstd(runs(64)), Chunk(2)),
        25 => (DataType::UInt16, zstd(bit_packed(16)), Chunk(1)),
        26 => (numbers(), packed(&[8, 32, 128]), Chunk(1)),
        27 => (numbers(), zstd(packed(&[8, 32, 128])), Chunk(1)),
        28 => (DataType::Utf8, strings(32), Records),
        29 => (DataType::Binary, fsst(table, 32), Records),
        30 => (DataType::Binary, zstd(fsst(table, 32)), Records),
        31 => (DataType::Binary, lz4(strings(32)), Records),
        32 => (members(), variable_packed(list(4, true, flat(32)), 17, fsst(table, 32)), Records),
        _ => (members(), variable_packed(list(4, true, constant()), 1, zstd(strings(32))), Records),
    };
    let field = match data_type {
        DataType::Struct(_) => packed_field(data_type),
        _ => plain(data_type),
    };
    Codec { field, encoding, place }
}

fn vectors() -> DataType {
    DataType::new_fixed_size_list(DataType::Float32, 4, true)
}

fn nested_vectors() -> DataType {
    DataType::new_fixed_size_list(vectors(), 2, true)
}

/// A packed struct of numbers.
fn numbers() -> DataType {
    structs(vec![
        DataType::UInt8,
        DataType::Int32,
        DataType::new_fixed_size_list(DataType::Float32, 4, false),
    ])
}

/// A packed struct of a number, a vector and a string.
fn members() -> DataType {
    structs(vec![DataType::Int32, vectors(), DataType::Binary])
}

fn structs(members: Vec<DataType>) -> DataType {
    let member = |(number, data_type)| Field::new(format!("m{number}"), data_type, true);
    DataType::Struct(members.into_iter().enumerate().map(member).collect())
}

fn flat(bits: u64) -> CompressiveEncoding {
    encoded(Compression::Flat(proto::Flat { bits_per_value: bits, data: None }))
}

fn strings(bits: u64) -> CompressiveEncoding {
    encoded(Compression::Variable(Box::new(proto::Variable { offsets: boxed(flat(bits)), values: None })))
}

fn constant() -> CompressiveEncoding {
    encoded(Compression::Constant(proto::Constant { value: None }))
}

fn bit_packed(bits: u64) -> CompressiveEncoding {
    let packed = proto::InlineBitpacking { uncompressed_bits_per_value: bits, values: None };
    encoded(Compression::InlineBitpacking(packed))
}

fn runs(bits: u64) -> CompressiveEncoding {
    let runs = proto::Rle { values: boxed(flat(bits)), run_lengths: boxed(flat(8)) };
    encoded(Compression::Rle(Box::new(runs)))
}

fn split(bits: u64) -> CompressiveEncoding {
    encoded(Compression::ByteStreamSplit(Box::new(proto::ByteStreamSplit { values: boxed(flat(bits)) })))
}

fn list(len: u64, has_validity: bool, values: CompressiveEncoding) -> CompressiveEncoding {
    let list = proto::FixedSizeList { items_per_value: len, has_validity, values: boxed(values) };
    encoded(Compression::FixedSizeList(Box::new(list)))
}

fn general(scheme: CompressionScheme, values: CompressiveEncoding) -> CompressiveEncoding {
    let compression = Some(proto::BufferCompression { scheme: scheme.into(), level: None });
    encoded(Compression::General(Box::new(proto::General { compression, values: boxed(values) })))
}

fn packed(bits: &[u64]) -> CompressiveEncoding {
    let values = boxed(flat(bits.iter().sum()));
    encoded(Compression::PackedStruct(Box::new(proto::PackedStruct {
        bits_per_value: bits.to_vec(),
        values,
    })))
}

/// Of a number, a vector of as many `bytes`, and a string.
fn variable_packed(
    vector: CompressiveEncoding,
    bytes: u64,
    string: CompressiveEncoding,
) -> CompressiveEncoding {
    let field = |value, layout| FieldEncoding { value: Some(value), layout: Some(layout) };
    let fields = vec![
        field(flat(32), Width::BitsPerValue(32)),
        field(vector, Width::BitsPerValue(bytes * 8)),
        field(string, Width::BitsPerLength(32)),
    ];
    encoded(Compression::VariablePackedStruct(proto::VariablePackedStruct { fields }))
}

fn fsst(table: &[u8], bits: u64) -> CompressiveEncoding {
    let fsst = proto::Fsst { symbol_table: symbol_table(table), values: boxed(strings(bits)) };
    encoded(Compression::Fsst(Box::new(fsst)))
}

/// A table as it is, if it has the size of one; else one with these symbols of 1 to 8 bytes.
fn symbol_table(bytes: &[u8]) -> Bytes {
    const LEN: usize = 2312;
    if bytes.len() == LEN {
        return Bytes::copy_from_slice(bytes);
    }
    let symbols = bytes.chunks_exact(8).take(255);
    let header = 0x4653_5354_u64 << 32 | 1 << 24 | symbols.len() as u64;
    let mut table = header.to_le_bytes().to_vec();
    symbols.clone().for_each(|symbol| table.extend(symbol));
    table.extend(symbols.map(|symbol| symbol[0] % 8 + 1));
    table.resize(LEN, 0);
    table.into()
}

fn boxed(encoding: CompressiveEncoding) -> Option<Box<CompressiveEncoding>> {
    Some(Box::new(encoding))
}

fn encoded(compression: Compression) -> CompressiveEncoding {
    CompressiveEncoding { compression: Some(compression) }
}
