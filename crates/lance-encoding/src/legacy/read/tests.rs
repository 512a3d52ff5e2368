//! Whole fields from bytes that were put together by hand, after the examples of the format notes.

mod broken;
mod nested;
mod numbers;
mod strings;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Int8Array, Int16Array, Int32Array,
    LargeBinaryArray, ListArray, StringArray, StructArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use bytes::Bytes;
use lance_footer::{
    Answer, Column, ColumnKind, Extent, Gather, Machine, Page, Result, Rows, Step, Version, run_on_slice,
};
use prost::Message;

use crate::budget::Allowance;
use crate::proto::array::array_encoding::ArrayEncoding as Kind;
use crate::proto::array::buffer::BufferType;
use crate::proto::array::nullable::Nullability;
use crate::proto::array::{self as proto, ArrayEncoding};
use crate::reader::{FieldReader, open_field};

/// A file of nothing but buffers, and its columns.
#[derive(Default)]
struct Columns {
    bytes: Vec<u8>,
    columns: Vec<Column>,
}

impl Columns {
    fn column(mut self, kind: ColumnKind) -> Self {
        self.columns.push(Column { kind, pages: vec![], buffers: vec![] });
        self
    }

    fn values(self) -> Self {
        self.column(ColumnKind::Values)
    }

    fn page(mut self, length: u64, encoding: ArrayEncoding, buffers: &[&[u8]]) -> Self {
        let buffers = buffers.iter().map(|buffer| self.buffer(buffer)).collect();
        let encoding = encoding.encode_to_vec().into();
        self.columns.last_mut().unwrap().pages.push(Page { length, priority: 0, buffers, encoding });
        self
    }

    fn column_buffer(mut self, buffer: &[u8]) -> Self {
        let extent = self.buffer(buffer);
        self.columns.last_mut().unwrap().buffers.push(extent);
        self
    }

    /// Buffers begin anywhere.
    fn buffer(&mut self, buffer: &[u8]) -> Extent {
        self.bytes.push(0x48);
        let extent = Extent::new(self.bytes.len() as u64, buffer.len() as u64).unwrap();
        self.bytes.extend(buffer);
        extent
    }

    fn open(self, data_type: DataType) -> Result<File> {
        self.open_field(&Field::new("x", data_type, true))
    }

    fn open_field(self, field: &Field) -> Result<File> {
        let columns: Vec<_> = self.columns.into_iter().map(Arc::new).collect();
        Ok((open_field(field, &columns, Version::V2_0, &Arc::default())?, self.bytes.into()))
    }
}

type File = (Arc<dyn FieldReader>, Bytes);

fn read((reader, bytes): &File, rows: &Rows, order: Option<Vec<u32>>) -> Result<ArrayRef> {
    if let Some(machine) = reader.prepare(rows)? {
        run_on_slice(machine, bytes)?;
    }
    let loaded = run_on_slice(reader.load(rows, order.map(Into::into))?, bytes)?;
    loaded.decode(0..loaded.rows(), &mut Allowance::default())
}

/// Scans, takes every row in reverse order and twice, every row by itself, and every other row in parts.
fn check(file: &File, expected: &dyn Array) {
    let rows = Rows::range(0..file.0.rows());
    assert_eq!(read(file, &rows, None).unwrap().as_ref(), expected);
    assert!(file.0.cost(0..rows.len()).is_some());
    let count = u32::try_from(rows.len()).unwrap();
    for order in [(0..count).rev().collect::<Vec<_>>(), (0..count).chain(0..count).collect()] {
        let indices = UInt32Array::from(order.clone());
        let wanted = arrow_select::take::take(expected, &indices, None).unwrap();
        assert_eq!(read(file, &rows, Some(order)).unwrap().as_ref(), wanted.as_ref());
    }
    for row in 0..rows.len() {
        let one = read(file, &Rows::range(row..row + 1), None).unwrap();
        assert_eq!(one.as_ref(), expected.slice(row as usize, 1).as_ref());
    }
    let odd: Vec<u64> = (0..rows.len()).filter(|row| row % 2 == 1).collect();
    let loaded = run_on_slice(file.0.load(&Rows::from_indices(&odd), None).unwrap(), &file.1).unwrap();
    let wanted = arrow_select::take::take(expected, &UInt64Array::from(odd.clone()), None).unwrap();
    for start in 0..odd.len() {
        let part = loaded.decode(start as u64..odd.len() as u64, &mut Allowance::default()).unwrap();
        assert_eq!(part.as_ref(), wanted.slice(start, odd.len() - start).as_ref());
    }
    assert!(read(file, &Rows::range(0..rows.len() + 1), None).is_err());
}

fn encoding(kind: Kind) -> ArrayEncoding {
    ArrayEncoding { array_encoding: Some(kind) }
}

fn boxed(encoding: ArrayEncoding) -> Option<Box<ArrayEncoding>> {
    Some(Box::new(encoding))
}

fn buffer(buffer_index: u32) -> Option<proto::Buffer> {
    Some(proto::Buffer { buffer_index, buffer_type: BufferType::Page as i32 })
}

fn flat(bits_per_value: u64, index: u32) -> ArrayEncoding {
    encoding(Kind::Flat(proto::Flat { bits_per_value, buffer: buffer(index), compression: None }))
}

fn compressed(bits_per_value: u64, index: u32, scheme: &str) -> ArrayEncoding {
    let compression = Some(proto::Compression { scheme: scheme.into(), level: None });
    encoding(Kind::Flat(proto::Flat { bits_per_value, buffer: buffer(index), compression }))
}

fn nullable(nullability: Nullability) -> ArrayEncoding {
    encoding(Kind::Nullable(Box::new(proto::Nullable { nullability: Some(nullability) })))
}

fn no_nulls(values: ArrayEncoding) -> ArrayEncoding {
    nullable(Nullability::NoNulls(Box::new(proto::NoNull { values: boxed(values) })))
}

fn some_nulls(validity: ArrayEncoding, values: ArrayEncoding) -> ArrayEncoding {
    let nulls = proto::SomeNull { validity: boxed(validity), values: boxed(values) };
    nullable(Nullability::SomeNulls(Box::new(nulls)))
}

fn all_nulls() -> ArrayEncoding {
    nullable(Nullability::AllNulls(proto::AllNull {}))
}

fn binary(indices: ArrayEncoding, bytes: ArrayEncoding, null_adjustment: u64) -> ArrayEncoding {
    let (indices, bytes) = (boxed(indices), boxed(bytes));
    encoding(Kind::Binary(Box::new(proto::Binary { indices, bytes, null_adjustment })))
}

fn lists(offsets: ArrayEncoding, null_offset_adjustment: u64, num_items: u64) -> ArrayEncoding {
    let list = proto::List { offsets: boxed(offsets), null_offset_adjustment, num_items };
    encoding(Kind::List(Box::new(list)))
}

fn dictionary(indices: ArrayEncoding, items: ArrayEncoding, num_dictionary_items: u32) -> ArrayEncoding {
    let (indices, items) = (boxed(indices), boxed(items));
    encoding(Kind::Dictionary(Box::new(proto::Dictionary { indices, items, num_dictionary_items })))
}

fn fixed_size_list(dimension: u32, items: ArrayEncoding) -> ArrayEncoding {
    let list = proto::FixedSizeList { dimension, items: boxed(items), has_validity: false };
    encoding(Kind::FixedSizeList(Box::new(list)))
}

fn words(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

/// `[[1, 2], null, [], [3]]`, and a page of the same again.
fn two_pages_of_lists() -> Columns {
    let ends = words(&[2, 6, 2, 3]);
    let page = || lists(no_nulls(flat(64, 0)), 4, 3);
    Columns::default()
        .values()
        .page(4, page(), &[&ends])
        .page(0, lists(no_nulls(flat(64, 0)), 1, 100), &[&[]])
        .page(4, lists(flat(64, 0), 1000, 3), &[&words(&[2, 1002, 2, 3])])
        .values()
}

/// Bytes that a machine asks for.
fn asked<T: Send>(mut machine: Box<dyn Machine<Output = T>>, file: &Bytes) -> u64 {
    let (mut asked, mut answers) = (0, vec![]);
    while let Step::Fetch(asks) = machine.step(std::mem::take(&mut answers)).unwrap() {
        for ask in asks {
            asked += ask.bytes();
            let slice = |extent: &Extent| file.slice(extent.offset() as usize..extent.end() as usize);
            let slices: Vec<_> = ask.extents.iter().map(slice).collect();
            answers.push(match ask.gather {
                Gather::Slices => Answer::Slices(slices),
                Gather::Packed => Answer::Packed(slices.iter().flatten().copied().collect()),
            });
        }
    }
    asked
}

#[test]
fn a_take_reads_what_it_needs() {
    let ends: Vec<u64> = (1..=1000).map(|row| row * 3).collect();
    let ints: Vec<u8> = (0..3000_u32).flat_map(u32::to_le_bytes).collect();
    let file = Columns::default()
        .values()
        .page(1000, lists(no_nulls(flat(64, 0)), 3001, 3000), &[&words(&ends)])
        .values()
        .page(3000, no_nulls(flat(32, 0)), &[&ints])
        .open(DataType::List(item(DataType::UInt32)))
        .unwrap();
    assert!(file.0.prepare(&Rows::range(0..1000)).unwrap().is_none());
    // Two ends and three items a row; the first row has no end before it.
    let bytes = |rows: &[u64]| asked(file.0.load(&Rows::from_indices(rows), None).unwrap(), &file.1);
    assert_eq!(bytes(&[500]), 16 + 12);
    assert_eq!(bytes(&[0]), 8 + 12);
    assert_eq!(bytes(&[3, 700, 999]), 3 * (16 + 12));

    let text = "x".repeat(3000);
    let file = Columns::default()
        .values()
        .page(1000, binary(no_nulls(flat(64, 0)), flat(8, 1), 3001), &[&words(&ends), text.as_bytes()])
        .open(DataType::Utf8)
        .unwrap();
    let bytes = |rows: &[u64]| asked(file.0.load(&Rows::from_indices(rows), None).unwrap(), &file.1);
    assert_eq!(bytes(&[3, 700, 999]), 3 * (16 + 3));
    assert_eq!(bytes(&[3, 4, 5]), 4 * 8 + 9);
}
