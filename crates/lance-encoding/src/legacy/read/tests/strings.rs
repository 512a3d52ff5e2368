//! Strings, dictionaries.

use super::*;

#[test]
fn strings() {
    let expected = StringArray::from(vec![Some("x"), None, Some(""), Some("hello")]);
    let ends = words(&[1, 8, 1, 6]);
    let file = Columns::default()
        .values()
        .page(4, binary(no_nulls(flat(64, 0)), flat(8, 1), 7), &[&ends, b"xhello"])
        .open(DataType::Utf8)
        .unwrap();
    check(&file, &expected);
    // All three in wrappers, which older writers made; bytes under a null; a larger adjustment.
    let wrapped = some_nulls(flat(1, 0), no_nulls(binary(flat(64, 1), no_nulls(flat(8, 2)), 100)));
    let file = Columns::default()
        .values()
        .page(4, wrapped, &[&[0b1101], &words(&[1, 3, 3, 8]), b"x..hello"])
        .open(DataType::Utf8)
        .unwrap();
    check(&file, &expected);
    let lz4 = lz4_flex::block::compress_prepend_size(b"xhello");
    let file = Columns::default()
        .values()
        .page(4, binary(flat(64, 0), compressed(8, 1, "lz4"), 7), &[&ends, &lz4])
        .open(DataType::Utf8)
        .unwrap();
    check(&file, &expected);
}

#[test]
fn strings_of_one_width() {
    let fixed = |bytes| proto::FixedSizeBinary { bytes: boxed(bytes), byte_width: 2 };
    let fixed = encoding(Kind::FixedSizeBinary(Box::new(fixed(flat(8, 1)))));
    let file = Columns::default().values().page(3, some_nulls(flat(1, 0), fixed), &[&[0b101], b"ab..cd"]);
    let expected = StringArray::from(vec![Some("ab"), None, Some("cd")]);
    check(&file.open(DataType::Utf8).unwrap(), &expected);
}

#[test]
fn strings_of_symbols() {
    let mut table = (0x4653_5354_u64 << 32 | 1 << 24 | 2).to_le_bytes().to_vec();
    table.extend(*b"robot\0\0\0");
    table.extend(*b"arm\0\0\0\0\0");
    table.extend([5, 3]);
    table.resize(2312, 0);
    let fsst = |table: Vec<u8>, binary| {
        let fsst = proto::Fsst { binary: boxed(binary), symbol_table: table.into() };
        encoding(Kind::Fsst(Box::new(fsst)))
    };
    let coded = fsst(table.clone(), binary(flat(64, 0), flat(8, 1), 8));
    let expected = StringArray::from(vec![Some("robot arm"), None, Some("arm")]);
    let buffers: [&[u8]; 2] = [&words(&[4, 12, 5]), &[0, 255, b' ', 1, 1]];
    check(&Columns::default().values().page(3, coded, &buffers).open(DataType::Utf8).unwrap(), &expected);
    table[3] = 0;
    let plain = fsst(table.clone(), binary(flat(64, 0), flat(8, 1), 13));
    let buffers: [&[u8]; 2] = [&words(&[9, 22, 12]), b"robot armarm"];
    check(&Columns::default().values().page(3, plain, &buffers).open(DataType::Utf8).unwrap(), &expected);
    let of_flat = Columns::default().values().page(3, fsst(table, flat(8, 1)), &buffers);
    assert!(of_flat.open(DataType::Utf8).is_err());
}

#[test]
fn dictionary_columns() {
    let items = || binary(no_nulls(flat(64, 1)), flat(8, 2), 7);
    let page = dictionary(no_nulls(flat(8, 0)), items(), 4);
    let buffers: [&[u8]; 3] = [&[0, 1, 2, 1, 3, 0], &words(&[1, 3, 6, 13]), b"abbccc"];
    let kind = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    let file = Columns::default().values().page(6, page.clone(), &buffers).open(kind.clone()).unwrap();
    let array = read(&file, &Rows::range(0..6), None).unwrap();
    let expected: DictionaryArray<arrow_array::types::Int8Type> =
        [Some("a"), Some("bb"), Some("ccc"), Some("bb"), None, Some("a")].into_iter().collect();
    let values = |array: &dyn Array| -> Vec<Option<String>> {
        let array = array.as_dictionary::<arrow_array::types::Int8Type>();
        array.downcast_dict::<StringArray>().unwrap().into_iter().map(|text| text.map(Into::into)).collect()
    };
    assert_eq!(values(&array), values(&expected));
    assert_eq!(array.null_count(), 1);
    assert!(file.0.weight() > 0);
    // The items are read once.
    assert_eq!(asked(file.0.load(&Rows::range(2..3), None).unwrap(), &file.1), 1);

    // All null: one item, which is null.
    let page = dictionary(no_nulls(flat(8, 0)), all_nulls(), 1);
    let file = Columns::default().values().page(3, page, &[&[0; 3]]).open(kind.clone()).unwrap();
    let array = read(&file, &Rows::range(0..3), None).unwrap();
    assert_eq!((array.len(), array.null_count()), (3, 3));

    for (index, items) in [(4, items()), (255, items()), (1, all_nulls())] {
        let count = if items == all_nulls() { 1 } else { 4 };
        let page = dictionary(flat(8, 0), items, count);
        let file = Columns::default().values().page(1, page, &[&[index], buffers[1], buffers[2]]);
        let file = file.open(kind.clone()).unwrap();
        assert!(read(&file, &Rows::range(0..1), None).is_err(), "{index}");
    }
}

#[test]
fn strings_from_dictionaries() {
    let items = binary(flat(64, 1), flat(8, 2), 4);
    let page = dictionary(no_nulls(flat(8, 0)), items, 2);
    let buffers: [&[u8]; 3] = [&[1, 2, 0, 1], &words(&[1, 3]), b"abb"];
    let file = Columns::default()
        .values()
        .page(4, page.clone(), &buffers)
        .page(2, dictionary(flat(8, 0), all_nulls(), 1), &[&[0, 0]])
        .open(DataType::Utf8)
        .unwrap();
    let expected = StringArray::from(vec![Some("a"), Some("bb"), None, Some("a"), None, None]);
    check(&file, &expected);
    let file = Columns::default().values().page(1, page, &[&[3], buffers[1], buffers[2]]);
    let file = file.open(DataType::Utf8).unwrap();
    assert!(read(&file, &Rows::range(0..1), None).is_err());
}

#[test]
fn a_dictionary_that_pages_share() {
    let column = |index| {
        let buffer = Some(proto::Buffer { buffer_index: index, buffer_type: BufferType::Column as i32 });
        let bits_per_value = if index == 0 { 64 } else { 8 };
        encoding(Kind::Flat(proto::Flat { bits_per_value, buffer, compression: None }))
    };
    let page = || dictionary(flat(8, 0), binary(column(0), column(1), 4), 2);
    let file = Columns::default()
        .values()
        .column_buffer(&words(&[1, 3]))
        .column_buffer(b"abb")
        .page(2, page(), &[&[1, 2]])
        .page(2, page(), &[&[2, 0]])
        .open(DataType::Utf8)
        .unwrap();
    check(&file, &StringArray::from(vec![Some("a"), Some("bb"), Some("bb"), None]));
}
