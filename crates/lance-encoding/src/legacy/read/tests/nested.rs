//! Lists, structs, blobs.

use super::*;

#[test]
fn lists_start_anew_in_each_page() {
    let shorts = |numbers: &[u16]| -> Vec<u8> { numbers.iter().flat_map(|n| n.to_le_bytes()).collect() };
    let kind = DataType::List(item(DataType::Int16));
    // The items of both pages in one page, or across pages.
    let one = two_pages_of_lists().page(6, no_nulls(flat(16, 0)), &[&shorts(&[1, 2, 3, 1, 2, 3])]);
    check(&one.open(kind.clone()).unwrap(), &expected_lists());
    let many = two_pages_of_lists()
        .page(1, no_nulls(flat(16, 0)), &[&shorts(&[1])])
        .page(0, all_nulls(), &[])
        .page(3, no_nulls(flat(16, 0)), &[&shorts(&[2, 3, 1])])
        .page(2, no_nulls(flat(16, 0)), &[&shorts(&[2, 3])]);
    check(&many.open(kind.clone()).unwrap(), &expected_lists());
    let too_few = two_pages_of_lists().page(5, no_nulls(flat(16, 0)), &[&shorts(&[1, 2, 3, 1, 2])]);
    assert!(too_few.open(kind).is_err());
}

fn expected_lists() -> ListArray {
    let items = Arc::new(Int16Array::from(vec![1, 2, 3, 1, 2, 3]));
    let offsets = OffsetBuffer::new(vec![0, 2, 2, 2, 3, 5, 5, 5, 6].into());
    let nulls = NullBuffer::from(vec![true, false, true, true, true, false, true, true]);
    ListArray::new(item(DataType::Int16), offsets, items, Some(nulls))
}

#[test]
fn text_as_lists_of_bytes() {
    let file = two_pages_of_lists().page(6, no_nulls(flat(8, 0)), &[b"abcdef"]);
    let texts = [Some("ab"), None, Some(""), Some("c"), Some("de"), None, Some(""), Some("f")];
    check(&file.open(DataType::Utf8).unwrap(), &StringArray::from(texts.to_vec()));
    let file = two_pages_of_lists().page(6, no_nulls(flat(8, 0)), &[b"abc\xffef"]);
    let file = file.open(DataType::Utf8).unwrap();
    assert!(read(&file, &Rows::range(0..8), None).is_err());
}

#[test]
fn structs_and_their_members() {
    let header = || encoding(Kind::Struct(proto::SimpleStruct {}));
    let fields: Fields = vec![
        Field::new("a", DataType::UInt8, true),
        Field::new("none", DataType::Struct(Fields::empty()), true),
    ]
    .into();
    let open = |members: u64| {
        Columns::default()
            .values()
            .page(3, header(), &[])
            .values()
            .page(members, no_nulls(flat(8, 0)), &[&[7, 8, 9]])
            .values()
            .page(3, header(), &[])
            .open(DataType::Struct(fields.clone()))
    };
    let none: ArrayRef = Arc::new(StructArray::new_empty_fields(3, None));
    let numbers: ArrayRef = Arc::new(UInt8Array::from(vec![7, 8, 9]));
    check(&open(3).unwrap(), &StructArray::new(fields.clone(), vec![numbers, none], None));
    let error = open(2).err().unwrap();
    assert_eq!(error.to_string(), "a: column is corrupt: 2 values in a struct of 3");
}

#[test]
fn rows_of_packed_structs() {
    let fields: Fields = vec![
        Field::new("a", DataType::UInt8, false),
        Field::new("v", DataType::FixedSizeList(item(DataType::UInt16), 2), false),
    ]
    .into();
    let packed = |buffer| encoding(Kind::PackedStruct(proto::PackedStruct { inner: vec![], buffer }));
    let metadata = [("packed".to_string(), "true".to_string())];
    let field = |fields: &Fields| {
        Field::new("x", DataType::Struct(fields.clone()), true).with_metadata(metadata.clone().into())
    };
    let rows = [1, 2, 0, 3, 0, 4, 5, 0, 6, 1];
    let file = Columns::default().values().page(2, packed(buffer(0)), &[&rows]);
    let numbers: ArrayRef = Arc::new(UInt8Array::from(vec![1, 4]));
    let items = Arc::new(UInt16Array::from(vec![2, 3, 5, 262]));
    let vectors: ArrayRef = Arc::new(FixedSizeListArray::new(item(DataType::UInt16), 2, items, None));
    check(
        &file.open_field(&field(&fields)).unwrap(),
        &StructArray::new(fields.clone(), vec![numbers, vectors], None),
    );

    let file = Columns::default().values().page(2, packed(buffer(0)), &[&rows[1..]]);
    assert!(file.open_field(&field(&fields)).is_err());
    let file = Columns::default().values().page(2, packed(None), &[&rows]);
    assert!(file.open_field(&field(&fields)).is_err());
    let text: Fields = vec![Field::new("t", DataType::Utf8, false)].into();
    for fields in [Fields::empty(), text] {
        let file = Columns::default().values().page(2, packed(buffer(0)), &[&rows]);
        assert!(file.open_field(&field(&fields)).is_err());
    }
}

#[test]
fn blobs_and_where_they_are() {
    let packed = || encoding(Kind::PackedStruct(proto::PackedStruct { inner: vec![], buffer: buffer(0) }));
    let blobs = |rows: &[u64]| {
        let mut file = Columns::default().column(ColumnKind::Blob);
        file.bytes.extend(b"helloworld");
        file.page(rows.len() as u64 / 2, packed(), &[&words(rows)])
    };
    let rows = [0, 5, 1, 0, 0, 0, 5, 5, 3, 4];
    let expected: [Option<&[u8]>; 5] = [Some(b"hello"), None, Some(b""), Some(b"world"), Some(b"lowo")];
    check(&blobs(&rows).open(DataType::LargeBinary).unwrap(), &LargeBinaryArray::from(expected.to_vec()));
    let members = ["position", "size"].map(|name| Field::new(name, DataType::UInt64, false));
    let file = blobs(&rows).open(DataType::Struct(members.to_vec().into())).unwrap();
    let array = read(&file, &Rows::range(0..5), None).unwrap();
    let array = array.as_struct();
    assert_eq!(array.column(0).as_primitive::<UInt64Type>().values(), &[0, 1, 0, 5, 3]);
    assert_eq!(array.column(1).as_primitive::<UInt64Type>().values(), &[5, 0, 0, 5, 4]);

    // What they take is known once they are prepared; then only the values are read.
    let file = blobs(&rows).open(DataType::LargeBinary).unwrap();
    assert_eq!(file.0.cost(0..5), None);
    run_on_slice(file.0.prepare(&Rows::range(0..5)).unwrap().unwrap(), &file.1).unwrap();
    assert_eq!((file.0.cost(0..5), file.0.weight()), (Some(14), 80));
    assert!(file.0.prepare(&Rows::range(2..3)).unwrap().is_none());
    assert_eq!(asked(file.0.load(&Rows::range(3..4), None).unwrap(), &file.1), 5);

    assert!(blobs(&rows).open(DataType::Utf8).is_err());
    for row in [[u64::MAX, 1], [0, u64::MAX], [0, 1 << 40]] {
        let file = blobs(&row).open(DataType::LargeBinary).unwrap();
        assert!(read(&file, &Rows::range(0..1), None).is_err(), "{row:?}");
    }
}
