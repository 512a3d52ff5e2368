//! Whole fields from bytes that were put together by hand, after the examples of the format notes.

mod blobs;
mod rare;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int32Type};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, Int32Array, StringArray, StructArray, UInt32Array};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use lance_footer::{Column, ColumnKind, Extent, Page, Result, Rows, Version, run_on_slice};
use prost::Message;

use crate::budget::Allowance;
use crate::proto::compressive_encoding::Compression;
use crate::proto::full_zip_layout::Details;
use crate::proto::page_layout::Layout;
use crate::proto::{self, CompressiveEncoding, ConstantLayout, FullZipLayout, MiniBlockLayout, PageLayout};
use crate::reader::{FieldReader, open_field};

/// A file of nothing but page buffers, and the pages.
#[derive(Default)]
struct Pages {
    bytes: Vec<u8>,
    pages: Vec<Page>,
}

impl Pages {
    fn page(mut self, length: u64, layout: Layout, buffers: &[&[u8]]) -> Self {
        let mut extents = vec![];
        for buffer in buffers {
            self.bytes.resize(self.bytes.len().next_multiple_of(64), 0x48);
            extents.push(Extent::new(self.bytes.len() as u64, buffer.len() as u64).unwrap());
            self.bytes.extend(*buffer);
        }
        let encoding = PageLayout { layout: Some(layout) }.encode_to_vec().into();
        self.pages.push(Page { length, priority: 0, buffers: extents, encoding });
        self
    }

    fn open(self, data_type: DataType) -> Result<(Arc<dyn FieldReader>, Bytes)> {
        self.open_field(&Field::new("x", data_type, true))
    }

    fn open_field(self, field: &Field) -> Result<(Arc<dyn FieldReader>, Bytes)> {
        let column = Column { kind: ColumnKind::Values, pages: self.pages, buffers: vec![] };
        Ok((open_field(field, &[Arc::new(column)], Version::V2_2, &Arc::default())?, self.bytes.into()))
    }
}

fn read(file: &(Arc<dyn FieldReader>, Bytes), rows: &Rows, order: Option<Vec<u32>>) -> Result<ArrayRef> {
    let (reader, bytes) = file;
    if let Some(machine) = reader.prepare(rows)? {
        run_on_slice(machine, bytes)?;
    }
    let loaded = run_on_slice(reader.load(rows, order.map(Into::into))?, bytes)?;
    loaded.decode(0..loaded.rows(), &mut Allowance::default())
}

/// Scans, and takes every row in reverse order, and twice.
fn check(file: &(Arc<dyn FieldReader>, Bytes), expected: &dyn Array) {
    let rows = Rows::range(0..file.0.rows());
    assert_eq!(read(file, &rows, None).unwrap().as_ref(), expected);
    let count = u32::try_from(rows.len()).unwrap();
    let orders = [(0..count).rev().collect::<Vec<_>>(), (0..count).chain(0..count).collect()];
    for order in orders {
        let indices = UInt32Array::from(order.clone());
        let wanted = arrow_select::take::take(expected, &indices, None).unwrap();
        assert_eq!(read(file, &rows, Some(order)).unwrap().as_ref(), wanted.as_ref());
    }
    for row in 0..rows.len() {
        let one = read(file, &Rows::range(row..row + 1), None).unwrap();
        assert_eq!(one.as_ref(), expected.slice(usize::try_from(row).unwrap(), 1).as_ref());
    }
    assert!(read(file, &Rows::range(0..rows.len() + 1), None).is_err());
    assert!(file.0.cost(0..rows.len()).is_some());
}

fn flat(bits: u64) -> CompressiveEncoding {
    let flat = proto::Flat { bits_per_value: bits, data: None };
    CompressiveEncoding { compression: Some(Compression::Flat(flat)) }
}

fn variable(bits: u64) -> CompressiveEncoding {
    let variable = proto::Variable { offsets: Some(Box::new(flat(bits))), values: None };
    CompressiveEncoding { compression: Some(Compression::Variable(Box::new(variable))) }
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Field::new("item", item, true).into())
}

fn lists_of_numbers() -> ArrayRef {
    let lists =
        [Some(vec![Some(1), Some(2)]), None, Some(vec![]), Some(vec![None, Some(5)]), Some(vec![Some(6)])];
    Arc::new(arrow_array::ListArray::from_iter_primitive::<Int32Type, _, _>(lists))
}

fn list_layout(items: u64) -> MiniBlockLayout {
    MiniBlockLayout {
        rep_compression: Some(flat(16)),
        def_compression: Some(flat(16)),
        value_compression: Some(flat(32)),
        layers: vec![3, 6],
        num_buffers: 1,
        repetition_index_depth: 1,
        num_items: items,
        ..Default::default()
    }
}

fn list_chunk() -> Vec<u8> {
    let mut chunk = vec![7, 0, 14, 0, 14, 0, 20, 0];
    chunk.extend([1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0xfe, 0xfe]);
    chunk.extend([0, 0, 0, 0, 2, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0xfe, 0xfe]);
    chunk.extend([1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 0xfe, 0xfe, 0xfe, 0xfe]);
    chunk
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn a_chunk_of_lists() {
    let layout = Layout::MiniBlockLayout(list_layout(5));
    let pages = Pages::default().page(5, layout, &[&[0x70, 0], &list_chunk(), &numbers(&[5, 0])]);
    check(&pages.open(list_of(DataType::Int32)).unwrap(), &lists_of_numbers());
}

#[test]
fn a_row_over_three_chunks() {
    // [1,2,3,4,5], null, [], [6,null] in chunks of 2, 2 and 3 values.
    let chunk = |levels: &[(u16, u16)], values: &[u32]| {
        let len = u8::try_from(levels.len()).unwrap();
        let mut chunk = vec![len, 0, len * 2, 0, len * 2, 0, u8::try_from(values.len() * 4).unwrap(), 0];
        for level in [levels.iter().map(|l| l.0).collect::<Vec<_>>(), levels.iter().map(|l| l.1).collect()] {
            chunk.extend(level.iter().flat_map(|level| level.to_le_bytes()));
            chunk.resize(chunk.len().next_multiple_of(8), 0);
        }
        chunk.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        chunk.resize(chunk.len().next_multiple_of(8), 0);
        chunk
    };
    let chunks = [
        chunk(&[(1, 0), (0, 0)], &[1, 2]),
        chunk(&[(0, 0), (0, 0)], &[3, 4]),
        chunk(&[(0, 0), (1, 2), (1, 3), (1, 0), (0, 1)], &[5, 6, 0]),
    ];
    let mut words = vec![];
    for (index, chunk) in chunks.iter().enumerate() {
        let word = (chunk.len() / 8 - 1) << 4 | usize::from(index < 2);
        words.extend(u16::try_from(word).unwrap().to_le_bytes());
    }
    let index = numbers(&[0, 2, 0, 2, 4, 0]);
    let layout = Layout::MiniBlockLayout(list_layout(7));
    let pages = Pages::default().page(4, layout, &[&words, &chunks.concat(), &index]);
    let lists = [Some((1..6).map(Some).collect::<Vec<_>>()), None, Some(vec![]), Some(vec![Some(6), None])];
    let expected = arrow_array::ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    check(&pages.open(list_of(DataType::Int32)).unwrap(), &expected);
}

/// `fsl<struct<a: member>, 2>`.
fn pairs_of(member: DataType) -> DataType {
    let member = Field::new("a", member, true);
    DataType::new_fixed_size_list(DataType::Struct(vec![member].into()), 2, true)
}

fn pairs(values: ArrayRef, structs: Vec<bool>, lists: Vec<bool>) -> FixedSizeListArray {
    let field = Arc::new(Field::new("a", values.data_type().clone(), true));
    let structs = StructArray::new(vec![field].into(), vec![values], Some(structs.into()));
    let item = Arc::new(Field::new("item", structs.data_type().clone(), true));
    FixedSizeListArray::new(item, 2, Arc::new(structs), Some(lists.into()))
}

#[test]
fn fixed_size_lists_of_structs() {
    // [[{a:1}, null], null, [{a:null}, {a:4}]]
    let layout = MiniBlockLayout {
        def_compression: Some(flat(16)),
        value_compression: Some(flat(32)),
        layers: vec![3, 3, 3],
        num_buffers: 1,
        num_items: 6,
        ..Default::default()
    };
    let mut chunk = vec![6, 0, 12, 0, 24, 0, 0, 0];
    chunk.extend([0, 0, 2, 0, 3, 0, 3, 0, 1, 0, 0, 0, 0xfe, 0xfe, 0xfe, 0xfe]);
    chunk.extend([1_u32, 0, 0, 0, 0, 4].iter().flat_map(|value| value.to_le_bytes()));
    let odd = MiniBlockLayout { num_items: 5, ..layout.clone() };
    let layout = || Layout::MiniBlockLayout(layout.clone());
    let pages = Pages::default().page(6, layout(), &[&[0x50, 0], &chunk]);
    let pages = pages.page(6, layout(), &[&[0x50, 0], &chunk]);
    let file = pages.open(pairs_of(DataType::Int32)).unwrap();
    assert_eq!(file.0.rows(), 6);
    let values = [Some(1), None, None, None, None, Some(4)];
    let values: ArrayRef = Arc::new(Int32Array::from_iter(values.into_iter().chain(values)));
    let structs = [true, false, false, false, true, true].repeat(2);
    check(&file, &pairs(values, structs, [true, false, true].repeat(2)));
    // A row has two slots.
    let odd = Pages::default().page(5, Layout::MiniBlockLayout(odd), &[&[0x50, 0], &chunk]);
    let error = odd.open(pairs_of(DataType::Int32)).err().unwrap();
    assert!(error.to_string().contains("page 0 has 5 slots of rows of 2"), "{error}");
}

#[test]
fn lists_in_fixed_size_lists_of_structs() {
    // [[{a:[1,2]}, {a:[]}], [null, {a:[3]}], null]: each item of the outer lists begins a row of the page.
    let layout = MiniBlockLayout {
        rep_compression: Some(flat(16)),
        def_compression: Some(flat(16)),
        value_compression: Some(flat(32)),
        layers: vec![1, 6, 3, 3],
        num_buffers: 1,
        repetition_index_depth: 1,
        num_items: 3,
        ..Default::default()
    };
    let mut chunk = vec![7, 0, 14, 0, 14, 0, 12, 0];
    chunk.extend([1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0xfe, 0xfe]);
    chunk.extend([0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 4, 0, 4, 0, 0xfe, 0xfe]);
    chunk.extend([1_u32, 2, 3, 0].iter().flat_map(|value| value.to_le_bytes()));
    let index = numbers(&[6, 0]);
    let pages = Pages::default().page(6, Layout::MiniBlockLayout(layout), &[&[0x60, 0], &chunk, &index]);
    let some = |numbers: &[i32]| Some(numbers.iter().copied().map(Some).collect::<Vec<_>>());
    let lists = [some(&[1, 2]), some(&[]), None, some(&[3]), None, None];
    let lists: ArrayRef = Arc::new(arrow_array::ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
    let expected = pairs(lists, vec![true, true, false, true, false, false], vec![true, true, false]);
    check(&pages.open(pairs_of(list_of(DataType::Int32))).unwrap(), &expected);
}

#[test]
fn zipped_lists_of_strings() {
    let mut data = vec![4, 1, 0, 0, 0, b'a', 0, 2, 0, 0, 0, b'b', b'b', 6, 7, 5, 0, 0, 0, 0, 0];
    data.extend([4, 3, 0, 0, 0, b'c', b'c', b'c']);
    let layout = FullZipLayout {
        bits_rep: 1,
        bits_def: 2,
        details: Some(Details::BitsPerOffset(32)),
        num_items: 7,
        num_visible_items: 5,
        value_compression: Some(variable(32)),
        layers: vec![3, 6],
    };
    let index = [0, 0x0d, 0x0e, 0x0f, 0x15, 0x1d];
    let pages = Pages::default().page(5, Layout::FullZipLayout(layout), &[&data, &index]);
    let mut builder = arrow_array::builder::ListBuilder::new(arrow_array::builder::StringBuilder::new());
    builder.append_value([Some("a"), Some("bb")]);
    builder.append_null();
    builder.append_value::<_, &str>([]);
    builder.append_value([None, Some("")]);
    builder.append_value([Some("ccc")]);
    check(&pages.open(list_of(DataType::Utf8)).unwrap(), &builder.finish());
}

fn zipped_strings(bits_def: u32) -> Layout {
    Layout::FullZipLayout(FullZipLayout {
        bits_def,
        details: Some(Details::BitsPerOffset(32)),
        value_compression: Some(variable(32)),
        layers: vec![if bits_def > 0 { 3 } else { 1 }],
        ..Default::default()
    })
}

#[test]
fn takes_of_zipped_strings_over_pages() {
    let pages = Pages::default()
        .page(2, zipped_strings(0), &[&[2, 0, 0, 0, b'h', b'i', 0, 0, 0, 0], &[0, 6, 10]])
        .page(2, zipped_strings(1), &[&[0, 1, 0, 0, 0, b'x', 1], &[0, 6, 7]]);
    let expected = StringArray::from(vec![Some("hi"), Some(""), Some("x"), None]);
    check(&pages.open(DataType::Utf8).unwrap(), &expected);
}

#[test]
fn records_of_rows_must_come_in_order() {
    // Rows 0, 2 and 4 would be the same bytes.
    let data = [2, 0, 0, 0, b'h', b'i'];
    let mut long = vec![0_u8; 70_000 * 4];
    for row in (1..70_000).step_by(2) {
        long[row * 4] = 6;
    }
    let rows = long.len() as u64 / 4 - 1;
    for (index, rows) in [(&[0, 6, 0, 6, 0, 6][..], 5), (&long, rows)] {
        let file = Pages::default().page(rows, zipped_strings(0), &[&data, index]);
        let file = file.open(DataType::Utf8).unwrap();
        let error = read(&file, &Rows::from_indices(&[0, 2, 4]), Some(vec![2, 1, 0])).unwrap_err();
        assert!(error.to_string().contains("row 2 starts at byte 0"), "{error}");
    }
}

#[test]
fn strings_must_be_text() {
    let pages = Pages::default().page(1, zipped_strings(0), &[&[1, 0, 0, 0, 0xff], &[0, 5]]);
    let file = pages.open(DataType::Utf8).unwrap();
    assert!(read(&file, &Rows::range(0..1), None).is_err());
    assert!(read(&file, &Rows::range(0..1), Some(vec![0])).is_err());
}

fn vectors() -> (DataType, Layout) {
    let list =
        proto::FixedSizeList { items_per_value: 2, values: Some(Box::new(flat(32))), has_validity: false };
    let list = CompressiveEncoding { compression: Some(Compression::FixedSizeList(Box::new(list))) };
    let layout = FullZipLayout {
        details: Some(Details::BitsPerValue(64)),
        value_compression: Some(list),
        layers: vec![1],
        ..Default::default()
    };
    let data_type = DataType::FixedSizeList(Field::new("item", DataType::Float32, true).into(), 2);
    (data_type, Layout::FullZipLayout(layout))
}

#[test]
fn vectors_are_not_copied() {
    let floats: Vec<u8> = (0..8).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let (data_type, layout) = vectors();
    let file = Pages::default().page(4, layout, &[&floats]).open(data_type).unwrap();
    let all = Rows::range(0..4);
    let array = read(&file, &all, None).unwrap();
    let items = array.as_fixed_size_list().values().as_primitive::<Float32Type>();
    assert_eq!(items.values(), &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    if file.1.as_ptr().align_offset(4) == 0 {
        assert_eq!(items.values().inner().as_ptr(), file.1.as_ptr());
    }
    let expected = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        (0..4).map(|i| Some([Some((2 * i) as f32), Some((2 * i + 1) as f32)])),
        2,
    );
    check(&file, &expected);
}

#[test]
fn a_constant_with_levels() {
    let value = [2, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, b'h', b'i'];
    let layout = Layout::ConstantLayout(ConstantLayout { layers: vec![3], ..Default::default() });
    let pages = Pages::default().page(3, layout, &[&value, &[], &[0, 0, 0, 0, 1, 0]]);
    let expected = StringArray::from(vec![Some("hi"), Some("hi"), None]);
    check(&pages.open(DataType::Utf8).unwrap(), &expected);
}

#[test]
fn a_page_may_claim_more_rows_than_fit() {
    let layout = Layout::ConstantLayout(ConstantLayout {
        layers: vec![1],
        inline_value: Some(Bytes::from_static(&[7, 0, 0, 0])),
        ..Default::default()
    });
    let file = Pages::default().page(1 << 60, layout, &[]).open(DataType::Int32).unwrap();
    let rows = Rows::range((1 << 59)..(1 << 59) + 3);
    assert_eq!(read(&file, &rows, None).unwrap().as_ref(), &Int32Array::from(vec![7; 3]) as &dyn Array);
    assert!(read(&file, &Rows::range(0..1 << 60), None).is_err());
}

/// A page of `rows` nulls, whose levels are not stored.
fn nulls(rows: u64, layers: Vec<i32>, buffers: &[&[u8]]) -> Pages {
    Pages::default().page(
        rows,
        Layout::ConstantLayout(ConstantLayout { layers, ..Default::default() }),
        buffers,
    )
}

#[test]
fn few_bytes_do_not_ask_for_any_amount_of_memory() {
    let huge = i32::MAX;
    let vectors = DataType::new_fixed_size_list(DataType::Float32, huge, true);
    let bits = DataType::new_fixed_size_list(DataType::Boolean, huge, true);
    for data_type in [DataType::FixedSizeBinary(huge), vectors, bits] {
        let file = nulls(8192, vec![3], &[]).open(data_type).unwrap();
        let error = read(&file, &Rows::range(0..8192), None).unwrap_err();
        assert!(error.to_string().contains("fewer rows at once"), "{error}");
    }
    // One string of 1 MiB in a million rows.
    let mut value = [2_u32, 16, 1 << 20].iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    value.extend(numbers(&[0, 1 << 20]));
    value.resize(value.len() + (1 << 20), b'x');
    let file = nulls(1 << 20, vec![1], &[&value]).open(DataType::LargeUtf8).unwrap();
    let error = read(&file, &Rows::range(0..1 << 20), None).unwrap_err();
    assert!(error.to_string().contains("fewer rows at once"), "{error}");
    assert_eq!(read(&file, &Rows::range(5..7), None).unwrap().len(), 2);
    // So that a scan takes fewer rows at once.
    assert_eq!(file.0.cost(0..1000), Some(1000 << 20));
}

#[test]
fn a_page_of_nulls_has_none_above_its_leaf() {
    // Neither level is stored; and definition levels that are all 0.
    for definition in [&[] as &[u8], &[0; 6]] {
        let member = Field::new("n", DataType::Int32, true);
        let structs = DataType::Struct(vec![member].into());
        let file = nulls(3, vec![3, 3], &[&[], definition]).open(structs).unwrap();
        let array = read(&file, &Rows::range(0..3), None).unwrap();
        assert_eq!(array.null_count(), 0);
        assert_eq!(array.as_struct().column(0).null_count(), 3);
    }
    let repetition = [1, 0, 0, 0, 1, 0];
    let file = nulls(2, vec![3, 2], &[&repetition, &[]]).open(list_of(DataType::Int32)).unwrap();
    let array = read(&file, &Rows::range(0..2), None).unwrap();
    assert_eq!(array.null_count(), 0);
    assert_eq!(array.as_list::<i32>().values().null_count(), 3);
}

#[test]
fn errors_name_the_page_and_what_is_due() {
    let good = || nulls(2, vec![3], &[]);
    let layout = || Layout::ConstantLayout(ConstantLayout { layers: vec![3], ..Default::default() });
    let error = good().page(2, layout(), &[b"" as &[u8]; 4]).open(DataType::Int8).err().unwrap();
    assert_eq!(
        error.to_string(),
        "page 1: constant page is corrupt: 4 buffers where 0 to 3 are due without a value in its layout"
    );
    let file = good().page(2, layout(), &[b"", &[1, 0]]).open(DataType::Int8).unwrap();
    let error = read(&file, &Rows::range(0..4), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "page 1: constant page is corrupt: 1 definition levels for 2 rows without lists"
    );
}

#[test]
fn what_is_not_built_is_refused() {
    let below = DataType::new_list(DataType::Decimal32(5, 1), true);
    let error = Pages::default().open(below).err().unwrap();
    assert_eq!(error.to_string(), "unsupported: item: a column of type Decimal32(5, 1)");
    let error = Pages::default().open(DataType::new_list(pairs_of(DataType::Int32), true)).err().unwrap();
    assert_eq!(error.to_string(), "unsupported: item: reading fixed-size lists of structs in lists");
}

#[test]
fn flipped_bytes_and_truncation_never_panic() {
    let layout = || Layout::MiniBlockLayout(list_layout(5));
    let buffers: [&[u8]; 3] = [&[0x70, 0], &list_chunk(), &numbers(&[5, 0])];
    let whole = Pages::default().page(5, layout(), &buffers);
    for at in 0..whole.bytes.len() {
        for byte in [0, 1, 2, 4, 8, 0x7f, 0x80, 0xff] {
            let mut pages = Pages::default().page(5, layout(), &buffers);
            pages.bytes[at] = byte;
            let file = pages.open(list_of(DataType::Int32)).unwrap();
            let _ = read(&file, &Rows::range(0..5), None);
            let _ = read(&file, &Rows::from_indices(&[1, 3]), Some(vec![1, 0, 1]));
        }
    }
    let encoding = &whole.pages[0].encoding;
    for at in 0..encoding.len() {
        for byte in 0..=255 {
            let mut pages = Pages::default().page(5, layout(), &buffers);
            let mut message = encoding.to_vec();
            message[at] = byte;
            pages.pages[0].encoding = message.into();
            if let Ok(file) = pages.open(list_of(DataType::Int32)) {
                let _ = read(&file, &Rows::range(0..5), None);
            }
        }
    }
}
