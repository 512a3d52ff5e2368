//! Files that the reference wrote, opened.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::cast_possible_truncation)]

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use lance_file::describe::{RegionKind, describe};
use lance_file::{FileError, FileReader, OpenOptions, Schema, Version};
use lance_io::{Counting, LocalFile, MemoryFile, ReadAt};

fn fixtures() -> Vec<PathBuf> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/files");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "lance"));
    files.sort();
    assert!(!files.is_empty());
    files
}

fn fixture(name: &str) -> Bytes {
    let path = fixtures().into_iter().find(|path| path.ends_with(name)).unwrap();
    std::fs::read(path).unwrap().into()
}

fn memory(bytes: impl Into<Bytes>) -> Arc<dyn ReadAt> {
    Arc::new(MemoryFile::new("test.lance", bytes.into()))
}

#[tokio::test]
async fn every_fixture_opens_with_one_read_of_its_tail() {
    for path in fixtures() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let file: Arc<dyn ReadAt> = Arc::new(LocalFile::open(path.to_str().unwrap()).await.unwrap());
        let counting = Arc::new(Counting::new(file));
        let file = FileReader::open(counting.clone()).await.unwrap();
        assert_eq!(counting.requests(), 1, "{name}");
        let version = Version::ALL.into_iter().find(|version| name.contains(&version.to_string())).unwrap();
        assert_eq!(file.version(), version);
        assert_eq!(file.rows() == 0, name.contains("empty"), "{name}");
        let again = Schema::from_arrow(&file.schema().to_arrow()).unwrap();
        assert_eq!(&again, file.schema(), "{name}");
    }
}

#[tokio::test]
async fn a_description_covers_the_file() {
    for path in fixtures() {
        let file = FileReader::open(memory(std::fs::read(path).unwrap())).await.unwrap();
        let description = describe(&file);
        let mut end = 0;
        for region in &description.regions {
            assert_eq!(region.extent.offset(), end, "{}: {region:?}", description.path);
            end = region.extent.end() + region.padding;
        }
        assert_eq!(end, description.size);
        assert_eq!(description.regions.last().unwrap().kind, RegionKind::Footer);
        assert!(description.columns.iter().all(|column| !column.path.is_empty()));
    }
}

#[tokio::test]
async fn a_small_tail_takes_more_reads() {
    let counting = Arc::new(Counting::new(memory(fixture("primitives-2.2.lance"))));
    let options = OpenOptions { tail: 64, ..OpenOptions::default() };
    FileReader::open_with(counting.clone(), options).await.unwrap();
    assert!((2..=3).contains(&counting.requests()));
}

#[tokio::test]
async fn a_table_says_which_field_is_in_which_column() {
    let bytes = fixture("flat-2.2.lance");
    let own = FileReader::open(memory(bytes.clone())).await.unwrap();
    let first = own.schema().fields[0].clone();
    let schema = Schema { fields: vec![lance_file::Field { id: 70, ..first }], ..Schema::default() };
    let open = |columns| {
        let options =
            OpenOptions { schema: Some(schema.clone()), columns: Some(columns), ..OpenOptions::default() };
        FileReader::open_with(memory(bytes.clone()), options)
    };
    assert_eq!(open(vec![(70, 0)]).await.unwrap().rows(), own.rows());
    let error = open(vec![(70, 9999)]).await.unwrap_err().to_string();
    assert!(error.contains("test.lance") && error.contains("field 70") && error.contains("9999"), "{error}");
    // A file without any of the fields.
    let none = open(vec![]).await.unwrap();
    assert_eq!(none.rows(), 0);
    assert!(none.plan_take(&[], &schema).is_err());
}

#[tokio::test]
async fn rows_past_the_end_are_named() {
    let file = FileReader::open(memory(fixture("one_row-2.2.lance"))).await.unwrap();
    let error = file.take(&[0, 1], file.schema()).await.unwrap_err();
    assert!(matches!(error, FileError::RowOutOfRange { row: 1, rows: 1, .. }), "{error}");
    assert!(error.to_string().contains("test.lance: row 1"));
}

#[tokio::test]
async fn global_buffers() {
    let file = FileReader::open(memory(fixture("one_row-2.2.lance"))).await.unwrap();
    assert_eq!(file.global_buffer(0).await.unwrap(), file.container().descriptor);
    let error = file.global_buffer(1).await.unwrap_err().to_string();
    assert!(error.contains("global buffer 1"), "{error}");
}

#[tokio::test]
async fn what_is_no_lance_file_is_refused_with_its_path() {
    for bytes in [&b""[..], b"LANC", &[0; 40], &[0xff; 100_000]] {
        let error = FileReader::open(memory(bytes.to_vec())).await.unwrap_err().to_string();
        assert!(error.starts_with("test.lance: "), "{error}");
    }
}
