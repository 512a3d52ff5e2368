//! What is known of rows by where they are, and tables of many fragments.

use super::*;

#[tokio::test]
async fn rows_by_address() {
    let store = Store::memory();
    let table = write(&store, numbers(0..5), options(WriteMode::Create, 3)).await;
    let table = delete(&table, 0, &[1], 1).await.unwrap();
    let second = 1 << 32;
    let taken = table.take_ids(&[second + 1, 1, 2], None, true).await.unwrap();
    assert_eq!((ints(&taken, "i"), row_ids(&taken)), (vec![4, 2], vec![second + 1, 2]));
    for nowhere in [3, second + 2, 2 << 32, u64::MAX] {
        let error = table.take_ids(&[0, nowhere], None, false).await.unwrap_err();
        assert!(matches!(error, TableError::InvalidInput { .. }), "{error}");
    }
}

#[tokio::test]
async fn columns_that_no_file_has() {
    let store = Store::memory();
    let stable = WriteOptions { stable_row_ids: true, ..options(WriteMode::Create, 3) };
    write(&store, numbers(0..5), stable).await;
    let table = write(&store, numbers(5..7), options(APPEND, 3)).await;
    let table = delete(&table, 0, &[1], 1).await.unwrap();
    let names = ["_rowaddr", "i", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version"];
    let columns = names.map(str::to_string).to_vec();
    let batch = read(&table, ScanOptions { columns: Some(columns.clone()), ..Default::default() }).await;
    let fields = batch.schema();
    assert_eq!(fields.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), names);
    let column =
        |name: &str| batch.column_by_name(name).unwrap().as_primitive::<UInt64Type>().values().to_vec();
    assert_eq!(ints(&batch, "i"), [0, 2, 3, 4, 5, 6]);
    let (second, third) = (1_u64 << 32, 2_u64 << 32);
    assert_eq!(column("_rowaddr"), [0, 2, second, second + 1, third, third + 1]);
    assert_eq!(column("_rowoffset"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(column("_row_created_at_version"), [1, 1, 1, 1, 2, 2]);
    assert_eq!(column("_row_last_updated_at_version"), [1, 1, 1, 1, 2, 2]);
    // The same by position, in windows, and without any field.
    let taken = table.take(&[4, 0, 5, 1, 2, 3], Some(&columns), false).await.unwrap();
    let order = arrow_array::UInt32Array::from(vec![4, 0, 5, 1, 2, 3]);
    assert_eq!(taken, arrow_select::take::take_record_batch(&batch, &order).unwrap());
    let only = vec!["_rowoffset".to_string()];
    let window =
        ScanOptions { columns: Some(only), offset: 1, limit: Some(3), batch_rows: 2, ..Default::default() };
    let batch = read(&table, window).await;
    assert_eq!(batch.column(0).as_primitive::<UInt64Type>().values(), &[1, 2, 3]);
    let twice = ScanOptions { columns: Some(vec!["_rowid".into(), "_rowid".into()]), ..Default::default() };
    assert!(table.scan(twice).is_err());
}

/// How many files below `place` this process has open.
#[cfg(target_os = "linux")]
pub(super) fn open_below(place: &std::path::Path) -> usize {
    let place = place.canonicalize().unwrap();
    let files = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
    files.filter(|file| std::fs::read_link(file.path()).is_ok_and(|path| path.starts_with(&place))).count()
}

/// A scan of many fragments holds no more files than are read ahead.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn scans_leave_no_files_open_in_tables_of_many_fragments() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::local(dir.path()).durable(false);
    let table = write(&store, numbers(0..600), options(WriteMode::Create, 2)).await;
    assert_eq!(table.fragments().len(), 300);
    let open = || open_below(dir.path());
    let mut batches = table.scan(ScanOptions { read_ahead_fragments: 4, ..Default::default() }).unwrap();
    let mut rows = 0;
    while let Some(batch) = batches.try_next().await.unwrap() {
        rows += batch.num_rows();
        assert!(open() <= 6, "{} files are open after {rows} rows", open());
    }
    assert_eq!(rows, 600);
    let filter = crate::Expr::parse("i % 2 = 0").unwrap();
    assert_eq!(table.count(&filter).await.unwrap(), 300);
    assert!(open() <= 1);
}
