//! Pages that are wrong.

use super::*;

#[test]
fn pages_that_claim_more_than_they_have() {
    let huge = 1 << 60;
    // Pages without buffers may be as long as they like, and are read bit by bit.
    let file = Columns::default().values().page(huge, all_nulls(), &[]).open(DataType::Utf8).unwrap();
    let rows = Rows::range(huge - 10..huge);
    assert_eq!(read(&file, &rows, None).unwrap().null_count(), 10);
    assert!(read(&file, &Rows::range(0..huge), None).is_err());
    let list = Columns::default()
        .values()
        .page(1, lists(flat(64, 0), huge + 1, huge), &[&words(&[huge])])
        .values()
        .page(huge, all_nulls(), &[])
        .open(DataType::LargeList(item(DataType::Int8)))
        .unwrap();
    assert!(read(&list, &Rows::range(0..1), None).is_err());

    let refused = [
        (huge, no_nulls(flat(32, 0)), DataType::Int32),
        (huge, binary(flat(64, 0), flat(8, 0), 1), DataType::Utf8),
        (1 << 62, no_nulls(fixed_size_list(1 << 31, flat(8, 0))), vectors(i32::MAX)),
        (5, some_nulls(flat(1, 7), flat(8, 0)), DataType::UInt8),
        (5, some_nulls(flat(8, 0), flat(8, 0)), DataType::UInt8),
        (5, flat(7, 0), DataType::UInt8),
        (5, flat(8, 0), DataType::Boolean),
        (5, lists(flat(64, 0), 1, 1), DataType::UInt8),
        (5, flat(64, 0), DataType::List(item(DataType::UInt8))),
        (5, binary(all_nulls(), flat(8, 0), 1), DataType::Utf8),
        (5, binary(flat(32, 0), flat(8, 0), 1), DataType::Utf8),
        (5, encoding(Kind::Constant(proto::Constant::default())), DataType::UInt8),
        (5, encoding(Kind::PackedStruct(proto::PackedStruct::default())), DataType::UInt8),
        (5, ArrayEncoding::default(), DataType::UInt8),
        (5, flat(8, 0), DataType::Struct(Fields::from(vec![Field::new("a", DataType::UInt8, true)]))),
        (5, flat(8, 0), DataType::Decimal32(5, 1)),
    ];
    for (length, encoding, data_type) in refused {
        let file = Columns::default().values().page(length, encoding.clone(), &[&[0; 30]]);
        assert!(file.open(data_type.clone()).is_err(), "{data_type} of {encoding:?}");
    }
}

fn vectors(len: i32) -> DataType {
    DataType::FixedSizeList(item(DataType::UInt8), len)
}

#[test]
fn encodings_in_encodings() {
    let nest = |depth| (0..depth).fold(flat(8, 0), |inner, _| no_nulls(inner));
    let open = |encoding| Columns::default().values().page(1, encoding, &[&[0]]).open(DataType::UInt8);
    assert!(open(nest(30)).is_ok());
    assert!(open(nest(33)).is_err());
    // What the message itself allows.
    assert!(open(nest(200)).is_err());
}

#[test]
fn flipped_bytes_never_panic() {
    let page = || some_nulls(flat(1, 0), binary(flat(64, 1), flat(8, 2), 7));
    let buffers: [&[u8]; 3] = [&[0b1101], &words(&[1, 8, 1, 6]), b"xhello"];
    let strings = || Columns::default().values().page(4, page(), &buffers);
    let listed = || two_pages_of_lists().page(6, no_nulls(flat(16, 0)), &[&[0; 12]]);
    let rows = Rows::range(0..4);
    let sparse = Rows::from_indices(&[1, 3]);
    for (make, data_type) in
        [(&strings as &dyn Fn() -> Columns, DataType::Utf8), (&listed, DataType::List(item(DataType::Int16)))]
    {
        for at in 0..make().bytes.len() {
            for byte in [0, 1, 2, 4, 8, 0x7f, 0x80, 0xff] {
                let mut broken = make();
                broken.bytes[at] = byte;
                let file = broken.open(data_type.clone()).unwrap();
                let _ = read(&file, &rows, None);
                let _ = read(&file, &sparse, Some(vec![1, 0, 1]));
            }
        }
        let encoding = make().columns[0].pages[0].encoding.clone();
        for at in 0..encoding.len() {
            for byte in 0..=255 {
                let mut broken = make();
                let mut message = encoding.to_vec();
                message[at] = byte;
                broken.columns[0].pages[0].encoding = message.into();
                if let Ok(file) = broken.open(data_type.clone()) {
                    let _ = read(&file, &rows, None);
                }
            }
        }
    }
}
