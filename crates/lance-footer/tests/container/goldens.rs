//! Containers byte by byte.

use lance_footer::{Alignment, ColumnKind, ContainerWriter, Extent, FormatError, PageRecord, Version};

use crate::open;

/// The example of two columns with everything at multiples of 4096, as a container of opaque blobs.
///
/// ```text
/// 0x0000  page buffer of column 0       0x4000  metadata of column 0
/// 0x1000  page buffer of column 1       0x5000  metadata of column 1
/// 0x2000  second buffer of column 1     0x6000  CMO table   0x6020  GBO table
/// 0x3000  global buffer 0, 0x7d0 bytes  0x6030  footer      0x6058  end
/// ```
fn wide_example() -> Vec<u8> {
    let extent = |offset, len| Extent::new(offset, len).unwrap();
    let mut writer = ContainerWriter::new(Version::V2_0, Alignment::Bytes4096, 2);
    let page = |length, buffers, encoding: &[u8]| PageRecord {
        length,
        priority: 0,
        buffers,
        encoding: encoding.to_vec(),
    };
    writer.page(0, page(1000, vec![extent(0, 0xfa0)], b"first")).unwrap();
    writer.page(1, page(1000, vec![extent(0x1000, 0x7d), extent(0x2000, 0xabc)], b"second")).unwrap();

    let mut file = vec![0; 0x2abc];
    file[..0xfa0].fill(1);
    file[0x1000..0x107d].fill(2);
    file[0x2000..].fill(3);
    let tail = writer.finish(file.len() as u64, &[4; 0x7d0]).unwrap();
    file.extend(tail);
    file
}

#[test]
fn the_wide_example_lies_as_drawn() {
    let file = wide_example();
    assert_eq!(file.len(), 0x6058);
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let half = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());

    // Data and the descriptor, with zeros up to the next multiple of 4096.
    for (start, end, next, value) in [
        (0x0000, 0x0fa0, 0x1000, 1),
        (0x1000, 0x107d, 0x2000, 2),
        (0x2000, 0x2abc, 0x3000, 3),
        (0x3000, 0x37d0, 0x4000, 4),
    ] {
        assert!(file[start..end].iter().all(|&byte| byte == value), "{start:#x}");
        assert!(file[end..next].iter().all(|&byte| byte == 0), "{end:#x}");
    }
    // Column metadata.
    let column = |page_and_tail: &[&[u8]]| {
        let head: &[&[u8]] = &[
            // The column's encoding: direct, an Any of 37 bytes.
            &[0x0a, 0x29, 0x12, 0x27, 0x0a, 0x25],
            &[0x0a, 0x1f],
            b"/lance.encodings.ColumnEncoding",
            &[0x12, 0x02, 0x0a, 0x00],
        ];
        [head.concat(), page_and_tail.concat()].concat()
    };
    let first = column(&[
        &[0x12, 0x37],
        // Offset 0, size 0xfa0, length 1000.
        &[0x0a, 0x01, 0x00, 0x12, 0x02, 0xa0, 0x1f, 0x18, 0xe8, 0x07],
        &[0x22, 0x2b, 0x12, 0x29, 0x0a, 0x27, 0x0a, 0x1e],
        b"/lance.encodings.ArrayEncoding",
        &[0x12, 0x05],
        b"first",
    ]);
    let second = column(&[
        &[0x12, 0x3c],
        // Offsets 0x1000 and 0x2000, sizes 0x7d and 0xabc, length 1000.
        &[0x0a, 0x04, 0x80, 0x20, 0x80, 0x40, 0x12, 0x03, 0x7d, 0xbc, 0x15, 0x18, 0xe8, 0x07],
        &[0x22, 0x2c, 0x12, 0x2a, 0x0a, 0x28, 0x0a, 0x1e],
        b"/lance.encodings.ArrayEncoding",
        &[0x12, 0x06],
        b"second",
    ]);
    for (start, message) in [(0x4000, &first), (0x5000, &second)] {
        assert_eq!(&file[start..start + message.len()], &message[..]);
        assert!(file[start + message.len()..start + 0x1000].iter().all(|&byte| byte == 0));
    }
    // The tables, packed.
    let cmo = [word(0x6000), word(0x6008), word(0x6010), word(0x6018)];
    assert_eq!(cmo, [0x4000, first.len() as u64, 0x5000, second.len() as u64]);
    assert_eq!([word(0x6020), word(0x6028)], [0x3000, 0x7d0]);
    // The footer: A, B, C, counts, 2.0 as 0.3.
    assert_eq!([word(0x6030), word(0x6038), word(0x6040)], [0x4000, 0x6000, 0x6020]);
    assert_eq!([half(0x6048), half(0x604c)], [1, 2]);
    assert_eq!(&file[0x6050..], [0, 0, 3, 0, b'L', b'A', b'N', b'C']);

    let container = open(&file).unwrap();
    assert_eq!(container.version(), Version::V2_0);
    assert_eq!(container.descriptor, vec![4; 0x7d0]);
    let buffers = &container.columns[1].pages[0].buffers;
    assert_eq!((buffers[0].offset(), buffers[1].offset(), buffers[1].len()), (0x1000, 0x2000, 0xabc));
    assert_eq!(container.columns[0].pages[0].encoding, "first");
}

#[test]
fn a_footer_in_reversed_order_is_refused_by_name() {
    // C, B, A and minor before major, version 2.0.
    let mut file = wide_example();
    let footer = file.len() - 40;
    let a: [u8; 8] = file[footer..footer + 8].try_into().unwrap();
    file.copy_within(footer + 16..footer + 24, footer);
    file[footer + 16..footer + 24].copy_from_slice(&a);
    for (pair, case) in [([0, 0, 2, 0], "all"), ([0, 0, 3, 0], "offsets"), ([2, 0, 0, 0], "offsets, 2.0")] {
        file[footer + 32..footer + 36].copy_from_slice(&pair);
        let error = open(&file).unwrap_err();
        assert!(error.to_string().contains("footer is corrupt: it looks reversed"), "{case}: {error}");
        assert!(matches!(error, FormatError::Corrupt { .. }), "{case}");
    }
}

/// The worked example of `docs/format/file.md`: one column `x` of int32, rows 1, 2, 3.
pub(crate) fn worked_example() -> Vec<u8> {
    let offset = |value: u64| value.to_le_bytes();
    let file = [
        &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0][..],
        &[b'H'; 52],
        // 0x40: the descriptor.
        &[0x0a, 0x19, 0x0a, 0x17, 0x12, 0x01, b'x'],
        &[0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        &[0x2a, 0x05],
        b"int32",
        &[0x38, 0x01, 0x10, 0x03],
        // 0x5d: the column.
        &[0x0a, 0x29, 0x12, 0x27, 0x0a, 0x25, 0x0a, 0x1f],
        b"/lance.encodings.ColumnEncoding",
        &[0x12, 0x02, 0x0a, 0x00],
        &[0x12, 0x3c, 0x0a, 0x01, 0x00, 0x12, 0x01, 0x0c, 0x18, 0x03],
        &[0x22, 0x32, 0x12, 0x30, 0x0a, 0x2e, 0x0a, 0x1e],
        b"/lance.encodings.ArrayEncoding",
        &[0x12, 0x0c],
        &[0x12, 0x0a, 0x0a, 0x08, 0x0a, 0x06, 0x0a, 0x04, 0x08, 0x20, 0x12, 0x00],
        // 0xc6: CMO, GBO, footer.
        &offset(0x5d),
        &offset(105),
        &offset(0x40),
        &offset(29),
        &offset(0x5d),
        &offset(0xc6),
        &offset(0xd6),
        &[1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0],
        b"LANC",
    ];
    file.concat()
}

#[test]
fn the_worked_example_opens() {
    let file = worked_example();
    assert_eq!(file.len(), 270);
    let container = open(&file).unwrap();
    assert_eq!(container.version(), Version::V2_0);
    assert_eq!(container.size, 270);
    assert_eq!(container.descriptor, &file[0x40..0x5d]);
    assert_eq!(container.global_buffers, [Extent::new(0x40, 29).unwrap()]);
    assert_eq!(container.column_metadata, [Extent::new(0x5d, 105).unwrap()]);
    let [column] = &container.columns[..] else { panic!("one column") };
    assert_eq!((column.kind, column.length(), column.buffers.len()), (ColumnKind::Values, 3, 0));
    let [page] = &column.pages[..] else { panic!("one page") };
    assert_eq!((page.length, page.priority), (3, 0));
    assert_eq!(page.buffers, [Extent::new(0, 12).unwrap()]);
    assert_eq!(page.encoding, &file[0xba..0xc6]);
}

#[test]
fn the_worked_example_is_written_to_the_byte() {
    let expected = worked_example();
    let mut writer = ContainerWriter::new(Version::V2_0, Alignment::Bytes64, 1);
    let buffers = vec![Extent::new(0, 12).unwrap()];
    let encoding = expected[0xba..0xc6].to_vec();
    writer.page(0, PageRecord { length: 3, priority: 0, buffers, encoding }).unwrap();
    let tail = writer.finish(64, &expected[0x40..0x5d]).unwrap();
    assert_eq!(tail, &expected[64..]);
}

#[test]
fn a_file_without_columns_has_58_bytes() {
    for version in Version::ALL {
        let file = ContainerWriter::new(version, Alignment::Bytes64, 0).finish(0, &[0x0a, 0]).unwrap();
        assert_eq!(file.len(), 58);
        let container = open(&file).unwrap();
        assert_eq!((container.columns.len(), container.footer.column_metadata), (0, 2));
    }
}

#[test]
fn global_buffers_are_numbered_from_one_behind_the_descriptor() {
    let mut writer = ContainerWriter::new(Version::V2_2, Alignment::Bytes64, 1);
    assert_eq!(writer.global_buffer(Extent::new(0, 12).unwrap()).unwrap(), 1);
    assert_eq!(writer.global_buffer(Extent::new(64, 5).unwrap()).unwrap(), 2);
    let mut file = vec![9; 69];
    let tail = writer.finish(69, b"schema").unwrap();
    // Padding is zero.
    assert_eq!(tail[..59], [0; 59]);
    file.extend(tail);
    let container = open(&file).unwrap();
    let pairs: Vec<_> = container.global_buffers.iter().map(|e| (e.offset(), e.len())).collect();
    assert_eq!(pairs, [(128, 6), (0, 12), (64, 5)]);
    assert_eq!(container.columns[0].pages, []);
}

#[test]
fn the_writer_refuses_what_would_not_open() {
    let page = |offset| PageRecord {
        length: 1,
        priority: 0,
        buffers: vec![Extent::new(offset, 1).unwrap()],
        encoding: vec![],
    };
    let mut writer = ContainerWriter::new(Version::V2_2, Alignment::Bytes64, 1);
    assert_eq!(writer.alignment(), Alignment::Bytes64);
    let error = writer.page(0, page(8)).unwrap_err().to_string();
    assert!(error.contains("offset 8 is not a multiple of 64"), "{error}");
    let error = writer.page(1, page(64)).unwrap_err().to_string();
    assert!(error.contains("column 1 of a file with 1 columns"), "{error}");
    assert!(writer.global_buffer(Extent::new(65, 0).unwrap()).is_err());
    let mut wide = ContainerWriter::new(Version::V2_2, Alignment::Bytes4096, 1);
    assert!(wide.page(0, page(64)).is_err());
    wide.page(0, page(8192)).unwrap();
}
