//! Blob pages.

use arrow_array::types::UInt64Type;
use arrow_array::{LargeBinaryArray, StructArray};

use super::*;
use crate::proto::BlobLayout;

/// A page of `descriptions`, after the bytes that they name.
fn page(layers: &[i32], descriptions: &[(u64, u64)]) -> Pages {
    let packed = proto::PackedStruct { bits_per_value: vec![64, 64], values: Some(Box::new(flat(128))) };
    let inner = MiniBlockLayout {
        value_compression: Some(CompressiveEncoding {
            compression: Some(Compression::PackedStruct(Box::new(packed))),
        }),
        layers: vec![1],
        num_buffers: 1,
        num_items: descriptions.len() as u64,
        has_large_chunk: true,
        ..MiniBlockLayout::default()
    };
    let mut chunk = vec![0, 0, 0, 0];
    chunk[2..4].copy_from_slice(&(descriptions.len() as u16 * 16).to_le_bytes());
    chunk.extend([0; 4]);
    chunk.extend(descriptions.iter().flat_map(|(at, size)| [*at, *size]).flat_map(u64::to_le_bytes));
    let words = (u32::try_from(chunk.len()).unwrap() / 8 - 1) << 4;
    let inner = PageLayout { layout: Some(Layout::MiniBlockLayout(inner)) };
    let layout = BlobLayout { inner_layout: Some(Box::new(inner)), layers: layers.to_vec() };
    let pages = Pages { bytes: b"helloworld".to_vec(), pages: vec![] };
    pages.page(
        descriptions.len() as u64,
        Layout::BlobLayout(Box::new(layout)),
        &[&words.to_le_bytes(), &chunk],
    )
}

fn described() -> Field {
    let members = ["position", "size"].map(|name| Field::new(name, DataType::UInt64, true));
    let blob = [("lance-encoding:blob".to_string(), "true".to_string())];
    Field::new("x", DataType::Struct(members.to_vec().into()), true).with_metadata(blob.into())
}

const ROWS: [(u64, u64); 5] = [(0, 5), (1 << 16, 0), (0, 0), (5, 5), (3, 4)];

#[test]
fn values_and_where_they_are() {
    let expected: [Option<&[u8]>; 5] = [Some(b"hello"), None, Some(b""), Some(b"world"), Some(b"lowo")];
    check(
        &page(&[3], &ROWS).open(DataType::LargeBinary).unwrap(),
        &LargeBinaryArray::from(expected.to_vec()),
    );
    let file = page(&[3], &ROWS).open_field(&described()).unwrap();
    let array = read(&file, &Rows::range(0..5), None).unwrap();
    let array = array.as_struct();
    assert_eq!(array.nulls().unwrap().iter().collect::<Vec<_>>(), [true, false, true, true, true]);
    let valid = |column: usize| {
        let numbers = array.column(column).as_primitive::<UInt64Type>().values();
        [0, 2, 3, 4].map(|row| numbers[row])
    };
    assert_eq!((valid(0), valid(1)), ([0, 0, 5, 3], [5, 0, 5, 4]));
    check(&file, array);

    // What they take is known once they are prepared; then only the values are read.
    let file = page(&[3], &ROWS).open(DataType::LargeBinary).unwrap();
    assert_eq!(file.0.cost(0..5), None);
    assert!(run_on_slice(file.0.load(&Rows::range(0..1), None).unwrap(), &file.1).is_err());
    run_on_slice(file.0.prepare(&Rows::range(0..1)).unwrap().unwrap(), &file.1).unwrap();
    assert_eq!(file.0.cost(0..5), Some(14));
    assert!(file.0.weight() >= 80);
    assert!(file.0.prepare(&Rows::range(2..3)).unwrap().is_none());
}

#[test]
fn levels_tell_of_structs_too() {
    let blob = Field::new("blob", DataType::LargeBinary, true);
    let pair = Field::new("x", DataType::Struct(vec![blob.clone()].into()), true);
    let file = page(&[3, 3], &[(0, 5), (1 << 16, 0), (2 << 16, 0)]).open_field(&pair).unwrap();
    let values: [Option<&[u8]>; 3] = [Some(b"hello"), None, None];
    let values: ArrayRef = Arc::new(LargeBinaryArray::from(values.to_vec()));
    let nulls = vec![true, true, false].into();
    check(&file, &StructArray::new(vec![blob].into(), vec![values], Some(nulls)));
}

#[test]
fn descriptions_that_are_wrong() {
    // Whatever is wanted, levels must be those of the layers.
    for (layers, row, what) in [
        (3, (2 << 16, 0), "a level that no layer has"),
        (1, (1 << 16, 0), "null where nothing is"),
        (3, (1 << 16 | 1, 0), "a repetition level"),
        (3, (1 << 32, 0), "more than levels"),
        (3, (7, 0), "no level"),
    ] {
        for field in [Field::new("x", DataType::LargeBinary, true), described()] {
            let file = page(&[layers], &[(0, 5), row]).open_field(&field).unwrap();
            assert!(read(&file, &Rows::range(0..2), None).is_err(), "{what}");
        }
    }
    for row in [(u64::MAX, 1), (0, u64::MAX), (0, 1 << 40)] {
        let file = page(&[3], &[row]).open(DataType::LargeBinary).unwrap();
        assert!(read(&file, &Rows::range(0..1), None).is_err(), "{row:?}");
    }
    assert!(page(&[3], &ROWS).open(DataType::Utf8).is_err());
    let list = DataType::new_list(DataType::LargeBinary, true);
    assert!(page(&[3, 4], &ROWS).open(list).err().unwrap().to_string().contains("blobs in lists"));
}

#[test]
fn layouts_that_are_wrong() {
    let open = |inner: Option<Layout>| {
        let inner_layout = inner.map(|layout| Box::new(PageLayout { layout: Some(layout) }));
        let layout = Layout::BlobLayout(Box::new(BlobLayout { inner_layout, layers: vec![3] }));
        Pages::default().page(1 << 60, layout, &[]).open(DataType::LargeBinary)
    };
    assert!(open(None).is_err());
    let blob = BlobLayout { inner_layout: None, layers: vec![3] };
    assert!(open(Some(Layout::BlobLayout(Box::new(blob)))).is_err());
    let constant = ConstantLayout { layers: vec![3], ..ConstantLayout::default() };
    assert!(open(Some(Layout::ConstantLayout(constant))).is_err());
}
