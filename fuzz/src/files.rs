//! Lance files and their parts.
//!
//! ```text
//! footer            a whole file, of which the metadata are read
//! column_metadata   version, 1 byte │ size of the file, u32 │ metadata of a column
//! file_schema       a file descriptor
//! page              type, 1 byte │ version, 1 byte │ rows, u32 │ size of the encoding, u16 │ encoding │ buffers
//! codec             codec, 1 byte │ values, u16 │ buffers of one chunk
//! buffers           size, u16 │ bytes, for each; the last may be shorter than it says
//! ```

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use bytes::Bytes;
use lance_encoding::proto::compressive_encoding::Compression;
use lance_encoding::proto::page_layout::Layout;
use lance_encoding::proto::{self, CompressionScheme, CompressiveEncoding, MiniBlockLayout, PageLayout};
use lance_encoding::{Allowance, DecodeBudget, FieldReader, Result, Rows, TableBudget, Version, open_field};
use lance_file::Schema;
use lance_footer::{Column, ColumnKind, Extent, Footer, Open, Page, run_on_slice};
use prost::Message;

/// What decoding may take; less than a fuzzer allows.
const BUDGET: DecodeBudget = DecodeBudget { per_byte: 64, constant: 64 << 20 };
/// Rows of a page that are read.
const ROWS: u64 = 10_000;

/// Opens a file.
pub fn footer(input: &[u8]) {
    let _ = Footer::parse(input, input.len() as u64);
    let file = Bytes::copy_from_slice(input);
    let opened = run_on_slice(Open::new(file.len() as u64, Open::TAIL), &file);
    // Another tail makes other rounds of reads, but no other file.
    let again = run_on_slice(Open::new(file.len() as u64, 64), &file);
    assert_eq!(opened.map(|file| file.footer).ok(), again.map(|file| file.footer).ok());
}

/// Parses the metadata of a column.
pub fn column_metadata(input: &[u8]) {
    let Some((version, rest)) = input.split_first() else { return };
    let Some((size, rest)) = rest.split_first_chunk() else { return };
    let column = Column::parse(
        Bytes::copy_from_slice(rest),
        0,
        version_of(*version),
        u32::from_le_bytes(*size).into(),
    );
    if let Ok(column) = column {
        let _ = column.length();
    }
}

/// Parses a file descriptor, and writes the schema again.
pub fn file_schema(input: &[u8]) {
    let Ok(descriptor) = lance_file::proto::FileDescriptor::decode(input) else { return };
    let schema = descriptor.schema.unwrap_or_default();
    let Ok(schema) = Schema::from_proto(&schema.fields, &schema.metadata) else { return };
    let _ = Schema::from_proto(&schema.to_proto(), &schema.metadata_to_proto());
    let _ = schema.to_arrow();
}

/// Reads a page.
pub fn page(input: &[u8]) {
    let Some(([data_type, version], rest)) = input.split_first_chunk() else { return };
    let Some((rows, rest)) = rest.split_first_chunk() else { return };
    let Some((size, rest)) = rest.split_first_chunk() else { return };
    let size = usize::from(u16::from_le_bytes(*size)).min(rest.len());
    let (encoding, rest) = rest.split_at(size);
    let data_type = types()[usize::from(*data_type) % types().len()].clone();
    let encoding = Bytes::copy_from_slice(encoding);
    read(data_type, version_of(*version), u32::from_le_bytes(*rows).into(), encoding, &buffers(rest));
}

/// Reads a page of one chunk, whose values are stored with a codec.
pub fn codec(input: &[u8]) {
    let Some((codec, rest)) = input.split_first() else { return };
    let Some((count, rest)) = rest.split_first_chunk() else { return };
    let (count, mut buffers) = (u16::from_le_bytes(*count), buffers(rest));
    let table = if buffers.is_empty() { &[] } else { buffers[0] };
    let (data_type, encoding, wanted) = codec_of(*codec, table);
    // The symbol table is no buffer of the chunk.
    if let Some(Compression::Fsst(_)) = encoding.compression {
        buffers = buffers.split_off(1.min(buffers.len()));
    }
    buffers.resize(wanted, &[]);
    let mut chunk = 0_u16.to_le_bytes().to_vec();
    buffers.iter().for_each(|buffer| chunk.extend((buffer.len() as u16).to_le_bytes()));
    for buffer in &buffers {
        chunk.resize(chunk.len().next_multiple_of(8), 0);
        chunk.extend(*buffer);
    }
    chunk.resize(chunk.len().next_multiple_of(8), 0);
    let Ok(word) = u16::try_from((chunk.len() / 8 - 1) << 4) else { return };
    let layout = Layout::MiniBlockLayout(MiniBlockLayout {
        value_compression: Some(encoding),
        layers: vec![proto::RepDefLayer::RepdefAllValidItem.into()],
        num_buffers: wanted as u64,
        num_items: count.into(),
        ..Default::default()
    });
    let layout = PageLayout { layout: Some(layout) }.encode_to_vec();
    read(data_type, Version::V2_2, count.into(), layout.into(), &[&word.to_le_bytes(), &chunk]);
}

/// Reads all rows, and then some, of a column of one page.
fn read(data_type: DataType, version: Version, rows: u64, encoding: Bytes, buffers: &[&[u8]]) {
    let (mut file, mut extents) = (vec![], vec![]);
    for buffer in buffers {
        let Ok(extent) = Extent::new(file.len() as u64, buffer.len() as u64) else { return };
        extents.push(extent);
        file.extend_from_slice(buffer);
    }
    let page = Page { length: rows, priority: 0, buffers: extents, encoding };
    let column = Arc::new(Column { kind: ColumnKind::Values, pages: vec![page], buffers: vec![] });
    let tables = Arc::new(TableBudget::new(BUDGET));
    let Ok(reader) = open_field(&Field::new("x", data_type, true), &[column], version, &tables) else {
        return;
    };
    let file = Bytes::from(file);
    let _ = decode(&*reader, &file, &Rows::range(0..rows.min(ROWS)), None);
    if let Some(last) = rows.checked_sub(1) {
        let _ = decode(&*reader, &file, &Rows::from_indices(&[0, rows / 2, last]), Some(Arc::new([0, 0])));
    }
}

fn decode(reader: &dyn FieldReader, file: &Bytes, rows: &Rows, order: Option<Arc<[u32]>>) -> Result<()> {
    if let Some(machine) = reader.prepare(rows)? {
        run_on_slice(machine, file)?;
    }
    let _ = reader.cost(rows.ranges().first().cloned().unwrap_or_default());
    let loaded = run_on_slice(reader.load(rows, order)?, file)?;
    loaded.decode(0..loaded.rows(), &mut Allowance::new(BUDGET)).map(drop)
}

/// Types of pages: those that stand in one column.
pub fn types() -> Vec<DataType> {
    let dictionary = DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
    vec![
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
        dictionary,
    ]
}

/// A type, the codec that its values have, and how many buffers that has.
fn codec_of(number: u8, table: &[u8]) -> (DataType, CompressiveEncoding, usize) {
    let flat = |bits| encoded(Compression::Flat(proto::Flat { bits_per_value: bits, data: None }));
    let boxed = |encoding| Some(Box::new(encoding));
    let strings = |bits| {
        encoded(Compression::Variable(Box::new(proto::Variable { offsets: boxed(flat(bits)), values: None })))
    };
    let general = |scheme: CompressionScheme, values| {
        let compression = Some(proto::BufferCompression { scheme: scheme.into(), level: None });
        encoded(Compression::General(Box::new(proto::General { compression, values: boxed(values) })))
    };
    let packed = |bits| {
        let packed = proto::InlineBitpacking { uncompressed_bits_per_value: bits, values: None };
        encoded(Compression::InlineBitpacking(packed))
    };
    match number % 13 {
        0 => (DataType::Int32, flat(32), 1),
        1 => (DataType::Boolean, flat(1), 1),
        2 => (DataType::Utf8, strings(32), 1),
        3 => (DataType::LargeBinary, strings(64), 1),
        4 => (DataType::UInt8, packed(8), 1),
        5 => (DataType::Int64, packed(64), 1),
        6 => {
            let rle = proto::Rle { values: boxed(flat(32)), run_lengths: boxed(flat(8)) };
            (DataType::Float32, encoded(Compression::Rle(Box::new(rle))), 2)
        }
        7 => {
            let table = Bytes::copy_from_slice(table);
            let fsst = proto::Fsst { symbol_table: table, values: boxed(strings(32)) };
            (DataType::Utf8, encoded(Compression::Fsst(Box::new(fsst))), 1)
        }
        8 => {
            let split = proto::ByteStreamSplit { values: boxed(flat(64)) };
            (DataType::Float64, encoded(Compression::ByteStreamSplit(Box::new(split))), 1)
        }
        9 => {
            let list =
                proto::FixedSizeList { items_per_value: 4, has_validity: true, values: boxed(flat(32)) };
            let vector = DataType::new_fixed_size_list(DataType::Float32, 4, true);
            (vector, encoded(Compression::FixedSizeList(Box::new(list))), 2)
        }
        10 => (DataType::Binary, general(CompressionScheme::CompressionAlgorithmLz4, strings(32)), 1),
        11 => (DataType::Binary, general(CompressionScheme::CompressionAlgorithmZstd, strings(32)), 1),
        _ => {
            let split = proto::ByteStreamSplit { values: boxed(flat(32)) };
            let split = encoded(Compression::ByteStreamSplit(Box::new(split)));
            (DataType::Float32, general(CompressionScheme::CompressionAlgorithmZstd, split), 1)
        }
    }
}

fn encoded(compression: Compression) -> CompressiveEncoding {
    CompressiveEncoding { compression: Some(compression) }
}

fn buffers(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut buffers = vec![];
    while let Some((size, after)) = rest.split_first_chunk() {
        let (buffer, after) = after.split_at(usize::from(u16::from_le_bytes(*size)).min(after.len()));
        buffers.push(buffer);
        rest = after;
    }
    buffers
}

const fn version_of(number: u8) -> Version {
    match number % 3 {
        0 => Version::V2_0,
        1 => Version::V2_1,
        _ => Version::V2_2,
    }
}
