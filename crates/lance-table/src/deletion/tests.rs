use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, UInt32Array};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;

use super::*;

fn fragment(rows: u64) -> DataFragment {
    DataFragment { id: 3, physical_rows: rows, ..Default::default() }
}

fn file(kind: DeletionFileType, count: u64) -> DeletionFile {
    DeletionFile { file_type: kind.into(), read_version: 7, id: 9, num_deleted_rows: count, base_id: None }
}

fn arrow_file(array: ArrayRef, nullable: bool, compression: Option<CompressionType>) -> Vec<u8> {
    let field = Field::new("row_id", array.data_type().clone(), nullable);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema.clone(), vec![array]).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(vec![], &schema, options).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn offsets(values: &[u32], compression: Option<CompressionType>) -> Vec<u8> {
    arrow_file(Arc::new(UInt32Array::from(values.to_vec())), false, compression)
}

#[test]
fn names() {
    let name = path(3, &file(DeletionFileType::ArrowArray, 1)).unwrap();
    assert_eq!(name, "_deletions/3-7-9.arrow");
    assert_eq!(path(3, &file(DeletionFileType::Bitmap, 1)).unwrap(), "_deletions/3-7-9.bin");
    let mut unknown = file(DeletionFileType::Bitmap, 1);
    unknown.file_type = 2;
    assert!(matches!(path(3, &unknown), Err(FormatError::Unsupported { .. })));
}

#[test]
fn arrow_files_plain_and_compressed_in_any_order() {
    let scattered = (0..3000_u32).map(|i| i.wrapping_mul(2_654_435_761) % 100_000).collect::<Vec<_>>();
    for values in [vec![], vec![5, 1, 3, 1], (0..4000).rev().collect(), scattered] {
        let expected = values.iter().copied().collect::<RoaringBitmap>();
        for compression in [None, Some(CompressionType::ZSTD)] {
            let bytes = offsets(&values, compression);
            let file = file(DeletionFileType::ArrowArray, expected.len());
            assert_eq!(parse(&bytes, &file, &fragment(100_000)).unwrap(), expected);
        }
    }
}

#[test]
fn arrow_files_of_other_shapes_are_refused() {
    let numbers: ArrayRef = Arc::new(UInt32Array::from(vec![1]));
    let signed: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    for bytes in
        [arrow_file(numbers, true, None), arrow_file(signed, false, None), b"ARROW1".to_vec(), vec![]]
    {
        let file = file(DeletionFileType::ArrowArray, 1);
        assert!(parse(&bytes, &file, &fragment(10)).is_err());
    }
    let schema = Arc::new(Schema::new(vec![Field::new("row_id", DataType::UInt32, false)]));
    let empty = FileWriter::try_new(vec![], &schema).unwrap().into_inner().unwrap();
    assert!(parse(&empty, &file(DeletionFileType::ArrowArray, 0), &fragment(10)).is_err());
}

#[test]
fn bitmaps_with_and_without_runs() {
    let mut bitmap = (100..9000).chain(70_000..70_010).collect::<RoaringBitmap>();
    for optimize in [false, true] {
        if optimize {
            bitmap.optimize();
        }
        let mut bytes = vec![];
        bitmap.serialize_into(&mut bytes).unwrap();
        let file = file(DeletionFileType::Bitmap, bitmap.len());
        assert_eq!(parse(&bytes, &file, &fragment(80_000)).unwrap(), bitmap);
        for len in 0..bytes.len() {
            assert!(parse(&bytes[..len], &file, &fragment(80_000)).is_err(), "{len} bytes");
        }
        bytes.push(0);
        assert!(parse(&bytes, &file, &fragment(80_000)).is_err());
    }
}

#[test]
fn the_manifest_must_agree() {
    let bytes = offsets(&[1, 9], None);
    assert!(parse(&bytes, &file(DeletionFileType::ArrowArray, 3), &fragment(10)).is_err());
    assert!(parse(&bytes, &file(DeletionFileType::ArrowArray, 2), &fragment(9)).is_err());
    assert!(parse(&bytes, &file(DeletionFileType::ArrowArray, 0), &fragment(10)).is_ok());
}

#[test]
fn damaged_arrow_files_never_panic() {
    for compression in [None, Some(CompressionType::ZSTD)] {
        let bytes = offsets(&(0..200).collect::<Vec<_>>(), compression);
        let file = file(DeletionFileType::ArrowArray, 200);
        for len in 0..bytes.len() {
            assert!(parse(&bytes[..len], &file, &fragment(300)).is_err(), "{len} bytes");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let _ = parse(&damaged, &file, &fragment(300));
            }
        }
    }
}

proptest! {
    #[test]
    fn live_positions(rows in 0_u64..400, deleted in prop::collection::btree_set(0_u32..400, 0..200)) {
        let deleted = deleted.into_iter().filter(|row| u64::from(*row) < rows).collect::<RoaringBitmap>();
        let live = LiveRows::without(rows, &deleted).unwrap();
        let expected = (0..rows).filter(|row| !deleted.contains(*row as u32)).collect::<Vec<_>>();
        prop_assert_eq!(live.rows().iter().collect::<Vec<_>>(), expected.clone());
        for (position, offset) in expected.iter().enumerate() {
            prop_assert_eq!(live.offset(position as u64), Some(*offset));
        }
        prop_assert_eq!(live.offset(expected.len() as u64), None);
        if deleted.is_empty() {
            prop_assert_eq!(live, LiveRows::all(rows));
        }
    }
}
