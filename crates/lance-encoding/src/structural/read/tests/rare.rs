//! Pages that the format allows and today's writers do not make, or hardly ever.

use arrow_array::types::{Int16Type, Int64Type};
use arrow_array::{DictionaryArray, Int16Array, Int64Array, LargeListArray, ListArray};

use super::*;

fn full_zip(bits: u32, layers: Vec<i32>, value: CompressiveEncoding) -> FullZipLayout {
    FullZipLayout {
        details: Some(Details::BitsPerValue(bits)),
        value_compression: Some(value),
        layers,
        ..FullZipLayout::default()
    }
}

fn list(len: u64, has_validity: bool, items: CompressiveEncoding) -> CompressiveEncoding {
    let list = proto::FixedSizeList { items_per_value: len, has_validity, values: Some(Box::new(items)) };
    CompressiveEncoding { compression: Some(Compression::FixedSizeList(Box::new(list))) }
}

fn constant(value: Option<&'static [u8]>) -> CompressiveEncoding {
    let constant = proto::Constant { value: value.map(Bytes::from_static) };
    CompressiveEncoding { compression: Some(Compression::Constant(constant)) }
}

#[test]
fn control_words_of_every_size() {
    // [[1,2], null, [], [null,5], [6]], with more bits for levels than these need.
    let entries: [(u32, u32, Option<i32>); 7] = [
        (1, 0, Some(1)),
        (0, 0, Some(2)),
        (1, 2, None),
        (1, 3, None),
        (1, 1, Some(0)),
        (0, 0, Some(5)),
        (1, 0, Some(6)),
    ];
    for (bits_rep, bits_def, size) in
        [(1, 2, 1), (1, 7, 1), (2, 7, 2), (8, 8, 2), (1, 16, 4), (9, 8, 4), (16, 16, 4)]
    {
        let (mut bytes, mut index) = (vec![], vec![]);
        for (rep, def, value) in entries {
            if rep == 1 {
                index.push(bytes.len() as u64);
            }
            bytes.extend(&(rep << bits_def | def).to_le_bytes()[..size]);
            bytes.extend(value.into_iter().flat_map(i32::to_le_bytes));
        }
        index.push(bytes.len() as u64);
        let layout = FullZipLayout { bits_rep, bits_def, ..full_zip(32, vec![3, 6], flat(32)) };
        let pages = Pages::default().page(5, Layout::FullZipLayout(layout), &[&bytes, &numbers(&index)]);
        check(&pages.open(list_of(DataType::Int32)).unwrap(), &lists_of_numbers());
    }
    let layout = FullZipLayout { bits_rep: 17, bits_def: 8, ..full_zip(32, vec![3, 6], flat(32)) };
    let pages = Pages::default().page(0, Layout::FullZipLayout(layout), &[&[], &[0]]);
    assert!(pages.open(list_of(DataType::Int32)).is_err());
}

#[test]
fn vectors_of_nulls_take_no_bytes() {
    let data_type = DataType::FixedSizeList(Field::new("item", DataType::Int16, true).into(), 3);
    let vectors = |nulls: Option<Vec<bool>>| {
        let items: ArrayRef = Arc::new(Int16Array::new_null(15));
        let DataType::FixedSizeList(item, _) = &data_type else { unreachable!() };
        FixedSizeListArray::new(Arc::clone(item), 3, items, nulls.map(Into::into))
    };
    let layout =
        |bits_def| FullZipLayout { bits_def, ..full_zip(0, vec![3], list(3, false, constant(None))) };
    let pages = Pages::default().page(5, Layout::FullZipLayout(layout(0)), &[&[]]);
    check(&pages.open(data_type.clone()).unwrap(), &vectors(None));
    let pages = Pages::default().page(5, Layout::FullZipLayout(layout(1)), &[&[0, 1, 0, 0, 1]]);
    let nulls = vec![true, false, true, true, false];
    check(&pages.open(data_type.clone()).unwrap(), &vectors(Some(nulls)));
    // However many rows it claims to have, those that are asked for are read.
    let pages = Pages::default().page(1 << 60, Layout::FullZipLayout(layout(0)), &[&[]]);
    let file = pages.open(data_type).unwrap();
    assert_eq!(read(&file, &Rows::range((1 << 60) - 7..1 << 60), None).unwrap().len(), 7);
    assert!(read(&file, &Rows::range(0..1 << 60), None).is_err());
}

#[test]
fn records_without_bytes() {
    let open = |value, bits_def: u32, buffer: &[u8]| {
        let layout = FullZipLayout { bits_def, ..full_zip(0, vec![3], value) };
        Pages::default().page(3, Layout::FullZipLayout(layout), &[buffer]).open(DataType::Int16)
    };
    check(&open(constant(None), 0, &[]).unwrap(), &Int16Array::new_null(3));
    check(&open(constant(Some(&[7, 0])), 0, &[]).unwrap(), &Int16Array::from(vec![7; 3]));
    let expected = Int16Array::from(vec![Some(7), None, Some(7)]);
    check(&open(constant(Some(&[7, 0])), 1, &[0, 1, 0]).unwrap(), &expected);
    assert!(open(constant(Some(&[7])), 0, &[]).is_err());
}

#[test]
fn packed_structs_in_records() {
    let packed = proto::PackedStruct { bits_per_value: vec![8, 16], values: Some(Box::new(flat(24))) };
    let packed = CompressiveEncoding { compression: Some(Compression::PackedStruct(Box::new(packed))) };
    let layout = FullZipLayout { bits_def: 1, ..full_zip(24, vec![3], packed) };
    let members = vec![Field::new("a", DataType::Int8, false), Field::new("b", DataType::Int16, false)];
    let metadata = [("lance-encoding:packed".to_string(), "true".to_string())];
    let field =
        Field::new("x", DataType::Struct(members.clone().into()), true).with_metadata(metadata.into());
    let bytes = [0, 1, 2, 0, 1, 0, 0, 0, 0, 3, 4, 0];
    let file = Pages::default().page(3, Layout::FullZipLayout(layout), &[&bytes]).open_field(&field).unwrap();
    let a: ArrayRef = Arc::new(arrow_array::Int8Array::from(vec![1, 0, 3]));
    let b: ArrayRef = Arc::new(Int16Array::from(vec![2, 0, 4]));
    check(&file, &StructArray::new(members.into(), vec![a, b], Some(vec![true, false, true].into())));
}

#[test]
fn ranges_of_constants_in_lists() {
    // Rows of 0, 1, 2, 0, 1, 2, … items; every seventh list is null, every fifth item.
    let (mut repetition, mut definition, mut lists) = (vec![], vec![], vec![]);
    let mut items = 0;
    for row in 0..1000_u16 {
        if row % 7 == 6 || row % 3 == 0 {
            repetition.push(1_u16);
            definition.push(if row % 7 == 6 { 2_u16 } else { 3 });
            lists.push((row % 7 != 6).then(Vec::new));
            continue;
        }
        let list = (0..row % 3).map(|item| {
            items += 1;
            repetition.push(u16::from(item == 0));
            definition.push(u16::from(items % 5 == 0));
            (items % 5 != 0).then_some(-3_i64)
        });
        lists.push(Some(list.collect()));
    }
    let bytes = |levels: &[u16]| levels.iter().flat_map(|level| level.to_le_bytes()).collect::<Vec<_>>();
    let layout = ConstantLayout {
        layers: vec![3, 6],
        inline_value: Some(Bytes::copy_from_slice(&(-3_i64).to_le_bytes())),
        ..ConstantLayout::default()
    };
    let (repetition, definition) = (bytes(&repetition), bytes(&definition));
    let pages = Pages::default().page(1000, Layout::ConstantLayout(layout), &[&repetition, &definition]);
    let file = pages.open(list_of(DataType::Int64)).unwrap();
    let expected = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    check(&file, &expected);
    let rows = Rows::from_ranges([3..4, 255..258, 511..770, 999..1000]).unwrap();
    let indices: UInt32Array = rows.iter().map(|row| u32::try_from(row).unwrap()).collect();
    let wanted = arrow_select::take::take(&expected, &indices, None).unwrap();
    assert_eq!(read(&file, &rows, None).unwrap().as_ref(), wanted.as_ref());
}

/// `[[[…[1]…], null, []]` with as many lists within each other.
#[test]
fn many_lists_within_each_other() {
    for depth in [2_u16, 9, 40, 98] {
        let mut data_type = DataType::Int16;
        let mut array: ArrayRef = Arc::new(Int16Array::from(vec![1, 2]));
        for _ in 0..depth {
            let item = Arc::new(Field::new("item", data_type.clone(), true));
            data_type = DataType::LargeList(Arc::clone(&item));
            let offsets = arrow_buffer::OffsetBuffer::<i64>::from_lengths(vec![1; array.len()]);
            array = Arc::new(LargeListArray::new(item, offsets, array, None));
        }
        // Two rows of a value, and one that is null at the outermost level.
        let nulls = arrow_array::new_null_array(&data_type, 1);
        let expected = arrow_select::concat::concat(&[&array, &nulls]).unwrap();
        let layers: Vec<i32> = std::iter::once(1).chain(std::iter::repeat_n(4, usize::from(depth))).collect();
        let mut bytes = vec![];
        let mut index = vec![0];
        for (definition, value) in [(0_u32, Some(1_i16)), (0, Some(2)), (u32::from(depth), None)] {
            bytes.extend((u32::from(depth) << 12 | definition).to_le_bytes());
            bytes.extend(value.into_iter().flat_map(i16::to_le_bytes));
            index.push(bytes.len() as u64);
        }
        let layout = FullZipLayout { bits_rep: 7, bits_def: 12, ..full_zip(16, layers, flat(16)) };
        let pages = Pages::default().page(3, Layout::FullZipLayout(layout), &[&bytes, &numbers(&index)]);
        check(&pages.open(data_type).unwrap(), &expected);
    }
}

#[test]
fn dictionaries_in_any_block() {
    let items = [-5_i64, 1 << 40, 7, 7, 7];
    let plain: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
    let mut runs = numbers(&[24]);
    runs.extend(plain[..24].iter().chain(&[1, 1, 3]));
    let mut lz4 = 40_u32.to_le_bytes().to_vec();
    lz4.extend(lz4_flex::block::compress(&plain));
    let encoded = |compression| CompressiveEncoding { compression: Some(compression) };
    let rle = proto::Rle { values: Some(Box::new(flat(64))), run_lengths: Some(Box::new(flat(8))) };
    let wide = proto::InlineBitpacking { uncompressed_bits_per_value: 64, values: None };
    let mut packed = numbers(&[64]);
    let mut words = items.map(|item| item as u64).to_vec();
    words.resize(1024, 0);
    // Of 64 bits nothing is packed, but the order is another.
    let order = [0, 4, 2, 6, 1, 5, 3, 7];
    packed.extend(
        (0..64)
            .flat_map(|row| (0..16).map(move |lane| (row, lane)))
            .flat_map(|(row, lane)| words[order[row / 8] * 16 + row % 8 * 128 + lane].to_le_bytes()),
    );
    let out_of_line =
        proto::OutOfLineBitpacking { uncompressed_bits_per_value: 64, values: Some(Box::new(flat(63))) };
    let general = proto::General {
        compression: Some(proto::BufferCompression { scheme: 1, level: None }),
        values: Some(Box::new(flat(64))),
    };
    let blocks: [(CompressiveEncoding, Vec<u8>); 5] = [
        (flat(64), plain.clone()),
        (encoded(Compression::Rle(Box::new(rle))), runs),
        (encoded(Compression::InlineBitpacking(wide)), packed),
        (encoded(Compression::OutOfLineBitpacking(Box::new(out_of_line))), plain.clone()),
        (encoded(Compression::General(Box::new(general))), lz4),
    ];
    for (encoding, block) in blocks {
        for bits in [8_u64, 16, 32, 64] {
            let keys = [4_u8, 0, 2, 1];
            let width = bits as usize / 8;
            let mut chunk = vec![0, 0, keys.len() as u8 * width as u8, 0];
            chunk.resize(8, 0);
            for key in keys {
                chunk.push(key);
                chunk.resize(chunk.len() + width - 1, 0);
            }
            chunk.resize(chunk.len().next_multiple_of(8), 0);
            let layout = MiniBlockLayout {
                value_compression: Some(flat(bits)),
                dictionary: Some(encoding.clone()),
                num_dictionary_items: 5,
                layers: vec![1],
                num_buffers: 1,
                num_items: 4,
                ..MiniBlockLayout::default()
            };
            let word = ((chunk.len() / 8 - 1) << 4) as u16;
            let page = || {
                let layout = Layout::MiniBlockLayout(layout.clone());
                Pages::default().page(4, layout, &[&word.to_le_bytes(), &chunk, &block])
            };
            check(&page().open(DataType::Int64).unwrap(), &Int64Array::from(vec![7, -5, 7, 1 << 40]));
            let keyed = DataType::Dictionary(DataType::Int16.into(), DataType::Int64.into());
            let read = read(&page().open(keyed).unwrap(), &Rows::range(0..4), None).unwrap();
            let read: &DictionaryArray<Int16Type> = read.as_dictionary();
            let values = read.downcast_dict::<Int64Array>().unwrap();
            assert_eq!(values.into_iter().collect::<Vec<_>>(), [7, -5, 7, 1 << 40].map(Some));
        }
    }
}
