//! Numbers, packed or not, and lists of the same length.

use super::*;

#[test]
fn flat_values_and_nulls() {
    let ints: Vec<u8> = [5_i32, -6, 7].iter().flat_map(|int| int.to_le_bytes()).collect();
    let file = Columns::default()
        .values()
        .page(3, no_nulls(flat(32, 0)), &[&ints])
        .page(0, all_nulls(), &[])
        .page(3, some_nulls(flat(1, 0), flat(32, 1)), &[&[0b101], &ints])
        .page(2, all_nulls(), &[])
        .page(2, flat(32, 0), &[&ints])
        .open(DataType::Int32)
        .unwrap();
    let values = [Some(5), Some(-6), Some(7), Some(5), None, Some(7), None, None, Some(5), Some(-6)].to_vec();
    check(&file, &Int32Array::from(values));

    let file = Columns::default().values().page(10, flat(1, 0), &[&[0b1010_0110, 0b10]]);
    let bits = [false, true, true, false, false, true, false, true, false, true];
    check(&file.open(DataType::Boolean).unwrap(), &BooleanArray::from(bits.to_vec()));
}

#[test]
fn compressed_buffers() {
    let ints: Vec<u8> = (0..100_i32).flat_map(i32::to_le_bytes).collect();
    let frame = zstd::bulk::compress(&ints, 0).unwrap();
    let prefixed = [&400_u64.to_le_bytes()[..], &frame].concat();
    let lz4 = lz4_flex::block::compress_prepend_size(&ints);
    let stored = [("zstd", &prefixed), ("zstd", &frame), ("lz4", &lz4), ("none", &ints)];
    for (scheme, bytes) in stored {
        let file = Columns::default().values().page(100, no_nulls(compressed(32, 0, scheme)), &[bytes]);
        check(&file.open(DataType::Int32).unwrap(), &Int32Array::from_iter_values(0..100));
        // One row too many shows only once the bytes came out.
        let file = Columns::default().values().page(101, no_nulls(compressed(32, 0, scheme)), &[bytes]);
        let read = file.open(DataType::Int32).and_then(|file| read(&file, &Rows::range(0..101), None));
        assert!(read.is_err(), "{scheme}");
    }
    let file = Columns::default().values().page(1, compressed(32, 0, "fsst"), &[&ints]);
    let error = file.open(DataType::Int32).err().unwrap();
    assert_eq!(error.to_string(), "unsupported: page 0: the compression scheme \"fsst\"");
}

#[test]
fn parts_of_a_compressed_buffer_share_it() {
    let ints: Vec<u8> = (0..100_i32).flat_map(i32::to_le_bytes).collect();
    let lz4 = lz4_flex::block::compress_prepend_size(&ints);
    let file = Columns::default().values().page(100, flat_lz4(), &[&lz4]).open(DataType::Int32).unwrap();
    let load = |rows| file.0.load(&Rows::range(rows), None).unwrap();
    let first = run_on_slice(load(0..50), &file.1).unwrap();
    assert_eq!(asked(load(50..100), &file.1), 0);
    drop(first);
    assert_eq!(asked(load(50..100), &file.1), lz4.len() as u64);
}

fn flat_lz4() -> ArrayEncoding {
    no_nulls(compressed(32, 0, "lz4"))
}

/// Values of `width` bits, least significant first.
fn packed(values: impl IntoIterator<Item = u64>, width: usize) -> Vec<u8> {
    let mut bytes = vec![];
    for (index, value) in values.into_iter().enumerate() {
        for bit in 0..width {
            let at = index * width + bit;
            bytes.resize(at / 8 + 1, 0);
            bytes[at / 8] |= (value >> bit & 1) as u8 * (1 << (at % 8));
        }
    }
    bytes
}

#[test]
fn packed_bits() {
    let message = |packed, bits, signed| {
        encoding(Kind::Bitpacked(proto::Bitpacked {
            compressed_bits_per_value: packed,
            uncompressed_bits_per_value: bits,
            buffer: buffer(0),
            signed,
        }))
    };
    for width in 1..=64 {
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        let numbers: Vec<u64> = (1..40_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
        let bytes = packed(numbers.clone(), width);
        let file = |bits: u64, signed, data_type| {
            let page = message(width as u64, bits, signed);
            Columns::default().values().page(39, no_nulls(page), &[&bytes]).open(data_type).unwrap()
        };
        check(&file(64, false, DataType::UInt64), &UInt64Array::from(numbers.clone()));
        let unused = 64 - width;
        let signed = |number: &u64| (number << unused).cast_signed() >> unused;
        let expected = arrow_array::Int64Array::from_iter_values(numbers.iter().map(signed));
        check(&file(64, true, DataType::Int64), &expected);
        if width <= 8 {
            let expected = Int8Array::from_iter_values(numbers.iter().map(|number| signed(number) as i8));
            check(&file(8, true, DataType::Int8), &expected);
        }
        if width <= 16 {
            let numbers = numbers.iter().map(|number| *number as u16);
            check(&file(16, false, DataType::UInt16), &UInt16Array::from_iter_values(numbers));
        }
    }
    for (width, bits) in [(0, 8), (9, 8), (65, 64), (4, 12), (4, 128)] {
        let page = message(width, bits, false);
        let file = Columns::default().values().page(3, page, &[&[0; 100]]);
        assert!(file.open(DataType::UInt8).is_err(), "{width} {bits}");
    }
    let short = Columns::default().values().page(9, message(7, 8, false), &[&[0; 7]]);
    assert!(short.open(DataType::UInt8).is_err());
}

#[test]
fn packed_vectors() {
    use crate::kernel::bitpack::tests::pack_by_formula;
    let message = |packed, bits| {
        encoding(Kind::BitpackedForNonNeg(proto::BitpackedForNonNeg {
            compressed_bits_per_value: packed,
            uncompressed_bits_per_value: bits,
            buffer: buffer(0),
        }))
    };
    let numbers: Vec<u64> = (0..2500_u64).map(|i| i * 7919 % 2048).collect();
    let mut bytes = vec![];
    for vector in numbers.chunks(1024) {
        let vector: [u64; 1024] = std::array::from_fn(|at| vector.get(at).copied().unwrap_or_default());
        let words = pack_by_formula::<u32>(&vector, 11);
        bytes.extend(words.iter().flat_map(|word| (*word as u32).to_le_bytes()));
    }
    let open = |bytes: &[u8]| {
        let file = Columns::default().values().page(2500, no_nulls(message(11, 32)), &[bytes]);
        file.open(DataType::UInt32)
    };
    let file = open(&bytes).unwrap();
    let expected = UInt32Array::from_iter_values(numbers.iter().map(|number| *number as u32));
    assert_eq!(read(&file, &Rows::range(0..2500), None).unwrap().as_ref(), &expected as &dyn Array);
    let rows = [0, 5, 1023, 1024, 1500, 2047, 2048, 2499];
    let rows: Vec<u64> = rows.into_iter().chain(600..700).chain(1000..1100).collect();
    let rows = Rows::from_indices(&rows);
    let wanted = UInt64Array::from_iter_values(rows.iter());
    let wanted = arrow_select::take::take(&expected, &wanted, None).unwrap();
    assert_eq!(read(&file, &rows, None).unwrap().as_ref(), wanted.as_ref());
    // A row takes its vector.
    assert_eq!(asked(file.0.load(&Rows::range(1500..1501), None).unwrap(), &file.1), 11 * 128);
    assert!(open(&bytes[..bytes.len() - 1]).is_err());
}

#[test]
fn lists_of_the_same_length() {
    let kind = DataType::FixedSizeList(item(DataType::Int8), 2);
    let page = some_nulls(flat(1, 0), fixed_size_list(2, some_nulls(flat(1, 1), flat(8, 2))));
    let file = Columns::default()
        .values()
        .page(3, page, &[&[0b101], &[0b110111], &[1, 2, 3, 4, 5, 6]])
        .page(1, no_nulls(fixed_size_list(2, all_nulls())), &[])
        .open(kind)
        .unwrap();
    let items = [Some(1), Some(2), Some(3), None, Some(5), Some(6), None, None];
    let items = Arc::new(Int8Array::from(items.to_vec()));
    let nulls = NullBuffer::from(vec![true, false, true, true]);
    let expected = FixedSizeListArray::new(item(DataType::Int8), 2, items, Some(nulls));
    check(&file, &expected);

    // Bits go on from list to list.
    let kind = DataType::FixedSizeList(item(DataType::Boolean), 3);
    let page = no_nulls(fixed_size_list(3, no_nulls(flat(1, 0))));
    let file = Columns::default().values().page(4, page.clone(), &[&[0b1101_0110, 0b1001]]);
    let bits = (0..12).map(|at| 0b1001_1101_0110 >> at & 1 == 1);
    let items = Arc::new(BooleanArray::from(bits.collect::<Vec<_>>()));
    check(
        &file.open(kind.clone()).unwrap(),
        &FixedSizeListArray::new(item(DataType::Boolean), 3, items, None),
    );
    let other = DataType::FixedSizeList(item(DataType::Boolean), 2);
    assert!(Columns::default().values().page(4, page, &[&[0, 0]]).open(other).is_err());
}
