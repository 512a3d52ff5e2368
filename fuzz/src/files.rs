//! Lance files and their parts.
//!
//! ```text
//! footer            a whole file, of which the metadata are read
//! column_metadata   version, 1 byte │ size of the file, u32 │ metadata of a column
//! file_schema       a file descriptor
//! page              type, 1 byte │ version, 1 byte │ rows, u32 │ size of the encoding, u16 │ encoding │ buffers
//! codec             codec, 1 byte │ values, u16 │ symbols of FSST, if it has them │ buffers of one chunk, or records
//! version           its rest by 3 is that of the file; with the highest bit, the column is one of blobs
//! buffers           size, u16 │ bytes, for each; the last may be shorter than it says
//! ```

mod codecs;
mod types;

use std::sync::Arc;

use arrow_schema::Field;
use bytes::Bytes;
use lance_encoding::proto::full_zip_layout::Details;
use lance_encoding::proto::page_layout::Layout;
use lance_encoding::proto::{CompressiveEncoding, FullZipLayout, MiniBlockLayout, PageLayout, RepDefLayer};
use lance_encoding::{
    Allowance, DecodeBudget, FieldReader, Result, Rows, TableBudget, Version, leaf_count, open_field,
};
use lance_file::Schema;
use lance_footer::{Column, ColumnKind, Extent, Footer, Open, Page, run_on_slice};
use prost::Message;

pub use types::types;

use codecs::{Codec, Place};

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
    let field = types().swap_remove(usize::from(*data_type) % types().len());
    let encoding = Bytes::copy_from_slice(encoding);
    let kind = if *version >> 7 == 1 { ColumnKind::Blob } else { ColumnKind::Values };
    read(&field, version_of(*version), kind, u32::from_le_bytes(*rows).into(), encoding, &buffers(rest));
}

/// Reads a page of one chunk or some records, whose values are stored with a codec.
pub fn codec(input: &[u8]) {
    let Some((codec, rest)) = input.split_first() else { return };
    let Some((count, rest)) = rest.split_first_chunk() else { return };
    let (count, mut buffers) = (u16::from_le_bytes(*count), buffers(rest));
    let plain = codecs::codec(*codec, &[]);
    let Codec { field, encoding, place } =
        codecs::codec(*codec, buffers.first().copied().unwrap_or_default());
    // The symbols are no buffer of the page.
    if plain.encoding != encoding {
        buffers.remove(0);
    }
    match place {
        Place::Chunk(wanted) => {
            buffers.resize(wanted, &[]);
            chunk(&field, encoding, count, &buffers);
        }
        Place::Records => records(&field, encoding, &buffers),
    }
}

/// Reads a page of one chunk of `count` values.
fn chunk(field: &Field, encoding: CompressiveEncoding, count: u16, buffers: &[&[u8]]) {
    let mut chunk = 0_u16.to_le_bytes().to_vec();
    buffers.iter().for_each(|buffer| chunk.extend((buffer.len() as u32).to_le_bytes()));
    for buffer in buffers {
        chunk.resize(chunk.len().next_multiple_of(8), 0);
        chunk.extend(*buffer);
    }
    chunk.resize(chunk.len().next_multiple_of(8), 0);
    let word = (chunk.len() as u32 / 8 - 1) << 4;
    let layout = Layout::MiniBlockLayout(MiniBlockLayout {
        value_compression: Some(encoding),
        layers: vec![RepDefLayer::RepdefAllValidItem.into()],
        num_buffers: buffers.len() as u64,
        num_items: count.into(),
        has_large_chunk: true,
        ..Default::default()
    });
    read_laid_out(field, count.into(), layout, &[&word.to_le_bytes(), &chunk]);
}

/// Reads a page of these records, of which each begins with a level.
fn records(field: &Field, encoding: CompressiveEncoding, records: &[&[u8]]) {
    let (mut bytes, mut starts) = (vec![], vec![0; 4]);
    for record in records {
        let (level, value) = record.split_first().unwrap_or((&0, &[]));
        bytes.push(level & 1);
        if level & 1 == 0 {
            bytes.extend((value.len() as u32).to_le_bytes());
        }
        bytes.extend(value);
        starts.extend((bytes.len() as u32).to_le_bytes());
    }
    let layout = Layout::FullZipLayout(FullZipLayout {
        bits_def: 1,
        num_items: records.len() as u32,
        num_visible_items: records.len() as u32,
        value_compression: Some(encoding),
        layers: vec![RepDefLayer::RepdefNullableItem.into()],
        details: Some(Details::BitsPerOffset(32)),
        ..Default::default()
    });
    read_laid_out(field, records.len() as u64, layout, &[&bytes, &starts]);
}

fn read_laid_out(field: &Field, rows: u64, layout: Layout, buffers: &[&[u8]]) {
    let layout = PageLayout { layout: Some(layout) }.encode_to_vec();
    read(field, Version::V2_2, ColumnKind::Values, rows, layout.into(), buffers);
}

/// Reads all rows, and then some, of a field whose columns all have this one page.
fn read(field: &Field, version: Version, kind: ColumnKind, rows: u64, encoding: Bytes, buffers: &[&[u8]]) {
    let (mut file, mut extents) = (vec![], vec![]);
    for buffer in buffers {
        let Ok(extent) = Extent::new(file.len() as u64, buffer.len() as u64) else { return };
        extents.push(extent);
        file.extend_from_slice(buffer);
    }
    let page = Page { length: rows, priority: 0, buffers: extents, encoding };
    let columns = vec![Arc::new(Column { kind, pages: vec![page], buffers: vec![] }); leaf_count(field)];
    let tables = Arc::new(TableBudget::new(BUDGET));
    let Ok(reader) = open_field(field, &columns, version, &tables) else {
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
