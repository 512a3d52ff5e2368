use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray, StructArray, record_batch};
use arrow_schema::{ArrowError, DataType, Field};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use lance_file::{FileWriter, WriteOptions as FileOptions};
use lance_footer::Alignment;
use lance_io::IoError;
use proptest::prelude::*;
use roaring::RoaringBitmap;

use futures::TryStreamExt;

use super::*;
use crate::proto::deletion_file::DeletionFileType;
use crate::proto::{self, BasePath, DataFile, DeletionFile};
use crate::{ScanOptions, WriteMode};

mod many;
mod rows;

const APPEND: WriteMode = WriteMode::Append;

fn numbers(range: std::ops::Range<i32>) -> RecordBatch {
    let names = range.clone().map(|i| (i % 7 != 0).then(|| format!("row {i}")));
    let names: ArrayRef = Arc::new(names.collect::<StringArray>());
    let schema = arrow_schema::Schema::new(vec![
        Field::new("i", DataType::Int32, false),
        Field::new("name", DataType::Utf8, true),
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from_iter_values(range)), names])
        .unwrap()
}

fn options(mode: WriteMode, max_rows_per_fragment: u64) -> WriteOptions {
    WriteOptions { mode, max_rows_per_fragment, ..Default::default() }
}

async fn write(store: &Store, batch: RecordBatch, options: WriteOptions) -> Table {
    Table::write(store.clone(), vec![batch].into(), options).await.unwrap()
}

async fn read(table: &Table, options: ScanOptions) -> RecordBatch {
    let projection =
        crate::projection::Projection::new(table.schema(), options.columns.as_deref(), options.with_row_id);
    let stream = table.scan(options).unwrap();
    let batches = stream.try_collect::<Vec<_>>().await.unwrap();
    concat_batches(projection.unwrap().arrow_schema(), &batches).unwrap()
}

async fn all(table: &Table) -> RecordBatch {
    read(table, ScanOptions::default()).await
}

fn ints(batch: &RecordBatch, column: &str) -> Vec<i32> {
    batch.column_by_name(column).unwrap().as_primitive::<Int32Type>().values().to_vec()
}

fn row_ids(batch: &RecordBatch) -> Vec<u64> {
    batch.column_by_name("_rowid").unwrap().as_primitive::<UInt64Type>().values().to_vec()
}

/// A next version as other software could have made it.
async fn edit(table: &Table, change: impl FnOnce(&mut proto::Manifest)) -> Result<Table> {
    let mut manifest = table.manifest().clone();
    manifest.message.version += 1;
    change(&mut manifest.message);
    let path = crate::Naming::V2.path(manifest.version());
    table.store().put(&path, manifest.to_file().unwrap()).await.unwrap();
    Table::open(table.store().clone(), None).await
}

async fn delete(table: &Table, fragment: usize, rows: &[u32], count: u64) -> Result<Table> {
    let bitmap = rows.iter().copied().collect::<RoaringBitmap>();
    let mut bytes = vec![];
    bitmap.serialize_into(&mut bytes).unwrap();
    let id = table.fragments()[fragment].id();
    let path = format!("_deletions/{id}-{}-5.bin", table.version());
    table.store().put(&path, bytes.into()).await.unwrap();
    let file = DeletionFile {
        file_type: DeletionFileType::Bitmap.into(),
        read_version: table.version(),
        id: 5,
        num_deleted_rows: count,
        base_id: None,
    };
    edit(table, |message| message.fragments[fragment].deletion_file = Some(file)).await
}

#[tokio::test]
async fn create_append_overwrite() {
    let dir = tempfile::tempdir().unwrap();
    for store in [Store::memory(), Store::local(dir.path().join("t"))] {
        let table = write(&store, numbers(0..25), options(WriteMode::Create, 10)).await;
        assert_eq!((table.version(), table.rows(), table.fragments().len()), (1, 25, 3));
        assert_eq!(all(&table).await, numbers(0..25));
        let table = write(&store, numbers(25..30), options(APPEND, 10)).await;
        assert_eq!((table.version(), table.rows()), (2, 30));
        assert_eq!(all(&table).await, numbers(0..30));
        let ids = table.fragments().iter().map(Fragment::id).collect::<Vec<_>>();
        assert_eq!(ids, [0, 1, 2, 3]);

        let other = record_batch!(("x", Float64, [0.5])).unwrap();
        let table = write(&store, other.clone(), options(WriteMode::Overwrite, 10)).await;
        assert_eq!((table.version(), table.fragments()[0].id()), (3, 4));
        assert_eq!(all(&table).await, other);
        // The old versions are still there.
        let first = Table::open(store.clone(), Some(1)).await.unwrap();
        assert_eq!(all(&first).await, numbers(0..25));
        let versions = table.versions().await.unwrap();
        let lines = versions.iter().map(|info| (info.version, info.fragments, info.rows)).collect::<Vec<_>>();
        assert_eq!(lines, [(1, 3, 25), (2, 4, 30), (3, 1, 1)]);

        let again = Table::write(store.clone(), vec![other].into(), WriteOptions::default()).await;
        assert!(matches!(again, Err(TableError::AlreadyExists { .. })));
        let missing = Table::open(store.clone(), Some(9)).await;
        assert!(matches!(missing, Err(TableError::NotFound { .. })));
    }
    let missing = Table::open(Store::memory(), None).await;
    assert!(matches!(missing, Err(TableError::NotFound { .. })));
}

#[tokio::test]
async fn nothing_to_write_makes_a_version_without_fragments() {
    let store = Store::memory();
    let batches = Batches::from_iter(numbers(0..0).schema(), []);
    let table = Table::write(store.clone(), batches, WriteOptions::default()).await.unwrap();
    assert_eq!((table.version(), table.rows(), table.fragments().len()), (1, 0, 0));
    assert_eq!(all(&table).await, numbers(0..0));
    assert_eq!(table.take(&[], None, true).await.unwrap().num_columns(), 3);
    assert!(store.list("data").await.unwrap().is_empty());
    let table = write(&store, numbers(0..2), options(APPEND, 10)).await;
    assert_eq!(all(&table).await, numbers(0..2));
}

#[tokio::test]
async fn appended_columns_go_by_name() {
    let store = Store::memory();
    write(&store, numbers(0..3), WriteOptions::default()).await;
    let swapped = numbers(3..5).project(&[1, 0]).unwrap();
    let table = write(&store, swapped, options(APPEND, 10)).await;
    assert_eq!(all(&table).await, numbers(0..5));
    let table = write(&store, numbers(5..6).project(&[0]).unwrap(), options(APPEND, 10)).await;
    let batch = all(&table).await;
    assert_eq!(ints(&batch, "i"), [0, 1, 2, 3, 4, 5]);
    assert!(batch.column(1).is_null(5));

    let refused = async |batch: RecordBatch| {
        let error = Table::write(store.clone(), vec![batch].into(), options(APPEND, 10)).await.unwrap_err();
        assert!(matches!(error, TableError::InvalidInput { .. }), "{error}");
        error.to_string()
    };
    let text = refused(numbers(0..1).project(&[1]).unwrap()).await;
    assert!(text.contains("\"i\" is missing"), "{text}");
    let text = refused(record_batch!(("i", Int32, [1]), ("more", Int32, [1])).unwrap()).await;
    assert!(text.contains("\"more\" is not in the table"), "{text}");
    let text = refused(record_batch!(("i", Int64, [1])).unwrap()).await;
    assert!(text.contains("int64"), "{text}");
    assert_eq!(Table::open(store, None).await.unwrap().version(), 3);
}

#[tokio::test]
async fn what_fails_leaves_nothing() {
    let store = Store::memory();
    let batches = [Ok(numbers(0..25)), Err(ArrowError::ComputeError("no more".into()))];
    let batches = Batches::from_iter(numbers(0..0).schema(), batches);
    let error = Table::write(store.clone(), batches, options(WriteMode::Create, 10)).await.unwrap_err();
    assert!(error.to_string().contains("no more"), "{error}");
    for dir in ["data", "_versions", "_transactions"] {
        assert!(store.list(dir).await.unwrap().is_empty(), "{dir}");
    }
}

#[tokio::test]
async fn types_that_are_not_written_are_named_before_anything_is_created() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.lance");
    let entries = DataType::Struct(
        vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Int32, true)].into(),
    );
    let map = DataType::Map(Field::new("entries", entries, false).into(), true);
    let view = DataType::new_list(DataType::Duration(arrow_schema::TimeUnit::Second), true);
    for (data_type, named) in [(map, "tags"), (DataType::new_fixed_size_list(view, 2, true), "tags")] {
        let schema = Arc::new(arrow_schema::Schema::new(vec![Field::new("tags", data_type, true)]));
        let batches = Batches::from_iter(schema, []);
        let store = Store::local(&path);
        let error = Table::write(store, batches, WriteOptions::default()).await.unwrap_err().to_string();
        assert!(
            error.contains("table.lance") && error.contains(named) && !error.contains("data/"),
            "{error}"
        );
        assert!(!path.exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_append_after_each_other() {
    let store = Store::memory();
    let table = write(&store, numbers(0..3), WriteOptions::default()).await;
    let tasks = (1..9).map(|task| {
        let table = table.clone();
        let batch = numbers(task * 100..task * 100 + 3);
        tokio::spawn(async move { table.write_after(vec![batch].into(), options(APPEND, 2)).await })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap().unwrap();
    }
    let table = Table::open(store, None).await.unwrap();
    assert_eq!((table.version(), table.rows(), table.fragments().len()), (9, 27, 17));
    let mut rows = ints(&all(&table).await, "i");
    rows.sort_unstable();
    let expected = (0..9).flat_map(|task| task * 100..task * 100 + 3).collect::<Vec<_>>();
    assert_eq!(rows, expected);
}

#[tokio::test]
async fn windows_of_a_scan() {
    let store = Store::memory();
    let table = write(&store, numbers(0..60), options(WriteMode::Create, 20)).await;
    let table = delete(&table, 1, &[0, 3, 4, 19], 4).await.unwrap();
    let live = (0..60).filter(|i| ![20, 23, 24, 39].contains(i)).collect::<Vec<_>>();
    assert_eq!(table.rows(), 56);
    for (offset, limit) in [(0, None), (0, Some(0)), (5, Some(3)), (18, Some(6)), (21, Some(30)), (55, None)]
    {
        for batch_rows in [1, 7, 8192] {
            let options = ScanOptions { offset, limit, batch_rows, with_row_id: true, ..Default::default() };
            let batch = read(&table, options).await;
            let len = limit.map_or(usize::MAX, |limit| limit as usize);
            let expected = live.iter().copied().skip(offset as usize).take(len).collect::<Vec<i32>>();
            assert_eq!(ints(&batch, "i"), expected, "{offset} {limit:?}");
            let ids = expected.iter().map(|i| ((*i as u64 / 20) << 32) | (*i as u64 % 20));
            assert_eq!(row_ids(&batch), ids.collect::<Vec<_>>());
        }
    }
    let none = read(&table, ScanOptions { columns: Some(vec![]), ..Default::default() });
    assert_eq!((none.await.num_rows()), 56);
    let unknown = ScanOptions { columns: Some(vec!["no".into()]), ..Default::default() };
    let Err(error) = table.scan(unknown) else { panic!("an unknown column") };
    assert!(error.to_string().contains("there are: i, name"), "{error}");
}

#[tokio::test]
async fn takes_keep_the_order_asked() {
    let store = Store::memory();
    let table = write(&store, numbers(0..60), options(WriteMode::Create, 20)).await;
    let table = delete(&table, 0, &[0, 1, 2], 3).await.unwrap();
    let batch = table.take(&[56, 0, 0, 17, 16, 20], None, true).await.unwrap();
    assert_eq!(ints(&batch, "i"), [59, 3, 3, 20, 19, 23]);
    assert_eq!(row_ids(&batch), [0x2_0000_0013, 3, 3, 0x1_0000_0000, 19, 0x1_0000_0003]);
    let one = table.take(&[4, 2], Some(&["name".to_string()]), false).await.unwrap();
    assert_eq!(one.column(0).as_string::<i32>().value(1), "row 5");
    assert!(one.column(0).is_null(0));
    let only_ids = table.take(&[20], Some(&[]), true).await.unwrap();
    assert_eq!((row_ids(&only_ids), only_ids.num_columns()), (vec![0x1_0000_0003], 1));
    let error = table.take(&[1, 57], None, false).await.unwrap_err().to_string();
    assert!(error.contains("row 57 was asked for") && error.contains("57 rows"), "{error}");
}

#[tokio::test]
async fn repeated_takes_read_no_metadata() {
    let (store, counts) = Store::memory().counted();
    let table = write(&store, numbers(0..4000), options(WriteMode::Create, 1000)).await;
    let table = delete(&table, 2, &[0], 1).await.unwrap();
    table.take(&[5, 2500, 3998], None, false).await.unwrap();
    counts.reset();
    table.take(&[5, 2500, 3998], None, false).await.unwrap();
    let (second, requests) = (counts.bytes(), counts.requests());
    counts.reset();
    table.take(&[5, 2500, 3998], None, false).await.unwrap();
    assert_eq!((counts.bytes(), counts.requests()), (second, requests));
    assert_eq!(counts.rounds(), 3, "one round a file");
}

#[tokio::test]
async fn deletion_files_must_fit() {
    let store = Store::memory();
    let table = write(&store, numbers(0..20), WriteOptions::default()).await;
    // The count is not always written.
    let deleted = delete(&table, 0, &[1, 2], 0).await.unwrap();
    assert_eq!((deleted.rows(), deleted.fragments()[0].deleted_rows()), (18, 2));
    let wrong = delete(&table, 0, &[1, 2], 3).await.unwrap();
    let error = wrong.take(&[0], None, false).await.unwrap_err();
    assert!(error.to_string().contains("2 rows are deleted, but the manifest says 3"), "{error}");
    let gone = edit(&wrong, |message| {
        let fragment = &mut message.fragments[0];
        fragment.deletion_file.as_mut().unwrap().id = 77;
    });
    let error = gone.await.unwrap().take(&[0], None, false).await.unwrap_err();
    assert!(matches!(error, TableError::Format { .. }) && error.to_string().contains("-77.bin"), "{error}");
}

/// A file of one column with the field id `id`.
async fn column_file(table: &Table, name: &str, id: i32, values: ArrayRef) -> DataFile {
    let field = Field::new(name, values.data_type().clone(), true);
    let arrow = arrow_schema::Schema::new(vec![field]);
    let mut schema = Schema::from_arrow(&arrow).unwrap();
    schema.fields[0].id = id;
    for (child, id) in schema.fields[0].children.iter_mut().zip(id + 1..) {
        child.id = id;
    }
    let path = format!("{name}.lance");
    let writer = table.store().create(&format!("data/{path}"), Alignment::Bytes64).await.unwrap();
    let mut writer = FileWriter::new(writer, schema, FileOptions::default()).unwrap();
    let batch = RecordBatch::try_new(Arc::new(arrow), vec![values]).unwrap();
    writer.push(&batch).await.unwrap();
    let written = writer.finish().await.unwrap();
    DataFile {
        path,
        fields: written.fields,
        column_indices: written.columns.iter().map(|column| *column as i32).collect(),
        file_major_version: 2,
        file_minor_version: 2,
        file_size_bytes: written.size,
        base_id: None,
    }
}

fn field(id: i32, parent_id: i32, name: &str, logical_type: &str) -> lance_file::proto::Field {
    lance_file::proto::Field {
        id,
        parent_id,
        name: name.into(),
        logical_type: logical_type.into(),
        nullable: true,
        ..Default::default()
    }
}

#[tokio::test]
async fn columns_from_several_files_and_from_none() {
    let store = Store::memory();
    let table = write(&store, numbers(0..20), options(WriteMode::Create, 10)).await;
    let members = vec![Arc::new(Field::new("x", DataType::Int32, true))].into();
    let x: ArrayRef = Arc::new(Int32Array::from_iter_values(100..110));
    let s: ArrayRef = Arc::new(StructArray::new(members, vec![x], None));
    let file = column_file(&table, "s", 2, s).await;
    // The first fragment has `s.x`, the second nothing; `s.y` and `n` are nowhere.
    let table = edit(&table, |message| {
        message.fragments[0].files.push(file);
        message.fields.push(field(2, -1, "s", "struct"));
        message.fields.push(field(3, 2, "x", "int32"));
        message.fields.push(field(4, 2, "y", "string"));
        message.fields.push(field(5, -1, "n", "int32"));
    })
    .await
    .unwrap();
    let batch = all(&table).await;
    assert_eq!(ints(&batch, "i"), (0..20).collect::<Vec<_>>());
    let s = batch.column_by_name("s").unwrap().as_struct();
    assert_eq!(&s.column(0).as_primitive::<Int32Type>().values()[..10], (100..110).collect::<Vec<_>>());
    assert_eq!((s.slice(0, 10).null_count(), s.slice(10, 10).null_count()), (0, 10));
    assert_eq!(s.column(1).null_count(), 20);
    assert_eq!(batch.column_by_name("n").unwrap().null_count(), 20);

    let columns = ["n".to_string(), "s.x".to_string(), "i".to_string()];
    let taken = table.take(&[15, 5], Some(&columns), false).await.unwrap();
    assert_eq!(ints(&taken, "i"), [15, 5]);
    let s = taken.column(1).as_struct();
    assert!(s.is_null(0) && s.column(0).as_primitive::<Int32Type>().value(1) == 105);
    // Only a column that no file has.
    let columns = Some(vec!["n".to_string()]);
    let nulls = read(&table, ScanOptions { columns, batch_rows: 3, ..Default::default() }).await;
    assert_eq!((nulls.num_rows(), nulls.column(0).null_count()), (20, 20));

    // Dropped and replaced columns.
    let table = edit(&table, |message| {
        message.fields.retain(|field| field.id != 1);
        message.fragments[0].files[0].fields = vec![-2, 1];
    })
    .await
    .unwrap();
    let Err(error) = table.scan(ScanOptions::default()).unwrap().try_collect::<Vec<_>>().await else {
        panic!("a column that must not be null is missing")
    };
    assert!(error.to_string().contains("\"i\""), "{error}");
    let table = edit(&table, |message| message.fields[0].nullable = true).await.unwrap();
    let batch = all(&table).await;
    assert_eq!((batch.num_columns(), batch.column(0).null_count()), (3, 10));
}

#[tokio::test]
async fn files_below_base_paths() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::local(dir.path());
    let table = write(&store, numbers(0..4), WriteOptions::default()).await;
    let name = table.fragments()[0].files()[0].path.clone();
    std::fs::rename(dir.path().join("data").join(&name), other.path().join("moved.lance")).unwrap();
    let base = BasePath { id: 0, path: other.path().to_str().unwrap().into(), ..Default::default() };
    let table = edit(&table, |message| {
        let file = &mut message.fragments[0].files[0];
        (file.path, file.base_id) = ("moved.lance".into(), Some(0));
        message.base_paths.push(base);
        (message.reader_feature_flags, message.writer_feature_flags) = (16, 16);
    })
    .await
    .unwrap();
    assert_eq!(all(&table).await, numbers(0..4));
    let table = write(&store, numbers(4..6), options(APPEND, 10)).await;
    assert_eq!(table.manifest().message.reader_feature_flags, 16);
    assert_eq!(all(&table).await, numbers(0..6));
    assert_eq!(table.data_file(0, 0).await.unwrap().rows(), 4);
    assert!(table.data_file(0, 1).await.is_err());
    assert!(table.data_file(2, 0).await.is_err());
    let table = edit(&table, |message| message.fragments[0].files[0].base_id = Some(3)).await.unwrap();
    assert!(table.take(&[0], None, false).await.unwrap_err().to_string().contains("base path 3"));
}

/// What it takes to open a table and to append to it does not grow with its versions.
#[cfg(feature = "object-store")]
#[tokio::test]
async fn requests_of_open_and_append() {
    let objects = Arc::new(object_store::memory::InMemory::new());
    for store in [Store::memory(), Store::object(objects, "some/table")] {
        let mut table = write(&store, numbers(0..1), WriteOptions::default()).await;
        let (counted, counts) = store.counted();
        let requests = || {
            let all = (counts.requests(), counts.listings(), counts.writes(), counts.deletes());
            counts.reset();
            all
        };
        let mut appended = vec![];
        for number in 0..2 {
            write(&counted, numbers(number..number + 1), options(APPEND, 10)).await;
            appended.push(requests());
        }
        // The same rows all over again: what is looked at is the number of versions.
        let file = table.manifest().clone();
        for version in 4..=1003 {
            let mut next = file.clone();
            next.message.version = version;
            next.message.transaction_file.clear();
            store.put(&crate::Naming::V2.path(version), next.to_file().unwrap()).await.unwrap();
        }
        table = Table::open(counted.clone(), None).await.unwrap();
        assert_eq!(table.version(), 1003);
        assert_eq!(requests(), (1, 1, 0, 0), "a listing and a manifest");
        table = table.latest().await.unwrap();
        assert_eq!((table.version(), requests()), (1003, (1, 1, 0, 0)));
        write(&counted, numbers(0..1), options(APPEND, 10)).await;
        appended.push(requests());
        // Twice the latest version; the data file, the transaction and the manifest.
        assert_eq!(appended, [(2, 2, 3, 0); 3]);
        assert_eq!(Table::open(store, None).await.unwrap().version(), 1004);
    }
}

#[tokio::test]
async fn stable_row_ids() {
    let store = Store::memory();
    let batches = Batches::from_iter(numbers(0..0).schema(), []);
    let table = Table::write(store.clone(), batches, WriteOptions::default()).await.unwrap();
    edit(&table, |message| {
        (message.reader_feature_flags, message.writer_feature_flags) = (2, 2);
        message.next_row_id = 40;
    })
    .await
    .unwrap();
    let table = write(&store, numbers(0..5), options(APPEND, 3)).await;
    assert_eq!(table.manifest().message.next_row_id, 45);
    let table = delete(&table, 0, &[1], 1).await.unwrap();
    let batch = read(&table, ScanOptions { with_row_id: true, ..Default::default() }).await;
    assert_eq!((ints(&batch, "i"), row_ids(&batch)), (vec![0, 2, 3, 4], vec![40, 42, 43, 44]));
    let taken = table.take(&[3, 1], None, true).await.unwrap();
    assert_eq!(row_ids(&taken), [44, 42]);
    // 41 was deleted, 45 and 7 never were.
    let taken = table.take_ids(&[44, 41, 40, 45, 7, 44], None, true).await.unwrap();
    assert_eq!((ints(&taken, "i"), row_ids(&taken)), (vec![4, 0, 4], vec![44, 40, 44]));
}

#[tokio::test]
async fn what_is_not_supported_is_refused() {
    let store = Store::memory();
    let table = write(&store, numbers(0..5), WriteOptions::default()).await;
    let error = edit(&table, |message| message.reader_feature_flags = 1 << 6).await.unwrap_err();
    assert!(error.to_string().contains("reading a table with data overlay files (flag bit 6)"), "{error}");
    let edit_file =
        async |change: fn(&mut proto::Manifest)| edit(&table, change).await.unwrap_err().to_string();
    let text = edit_file(|message| message.fragments[0].files[0].file_minor_version = 1).await;
    assert!(text.contains("version 2.1 in a table of version 2.2"), "{text}");
    let text = edit_file(|message| message.fragments[0].files[0].file_minor_version = 3).await;
    assert!(text.contains("unstable"), "{text}");
    let text = edit_file(|message| message.fields[0].parent_id = 0).await;
    assert!(text.contains("parent"), "{text}");
    let wrong = edit(&table, |message| message.fragments[0].files[0].file_size_bytes += 1).await.unwrap();
    assert!(wrong.take(&[0], None, false).await.is_err());
    let unknown = edit(&table, |message| message.fragments[0].files[0].file_size_bytes = 0).await.unwrap();
    assert_eq!(all(&unknown).await, numbers(0..5));
    let uncounted = edit(&table, |message| message.fragments[0].physical_rows = 0).await.unwrap();
    assert_eq!(uncounted.rows(), 5);
    let gone =
        edit(&table, |message| message.fragments[0].files[0].path = "../x.lance".into()).await.unwrap();
    let error = gone.take(&[0], None, false).await.unwrap_err();
    assert!(matches!(error, TableError::Io(IoError::InvalidUrl { .. })), "{error}");
    // A name that does not agree with what it holds.
    let bytes = table.manifest().to_file().unwrap();
    table.store().put(&crate::Naming::V2.path(7), bytes).await.unwrap();
    assert!(Table::open(store.clone(), Some(7)).await.is_err());
    table.store().put(&crate::Naming::V2.path(8), Bytes::from_static(b"LANC")).await.unwrap();
    let error = Table::open(store, None).await.unwrap_err().to_string();
    assert!(error.contains("manifest is corrupt"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_take_is_what_the_scan_has(
        sizes in prop::collection::vec(1_i32..30, 1..6),
        deleted in prop::collection::vec(prop::collection::btree_set(0_u32..30, 0..20), 6),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let store = Store::memory();
            let mut table = write(&store, numbers(0..0), WriteOptions::default()).await;
            let mut start = 0;
            for size in &sizes {
                table = write(&store, numbers(start..start + size), options(APPEND, 100)).await;
                start += size;
            }
            for (fragment, (size, rows)) in sizes.iter().zip(&deleted).enumerate() {
                let rows = rows.iter().copied().filter(|row| row < &(*size as u32)).collect::<Vec<_>>();
                if !rows.is_empty() {
                    table = delete(&table, fragment, &rows, rows.len() as u64).await.unwrap();
                }
            }
            let scanned = ints(&all(&table).await, "i");
            assert_eq!(scanned.len() as u64, table.rows());
            if scanned.is_empty() {
                return;
            }
            let rows = picks.iter().map(|pick| pick.index(scanned.len()) as u64).collect::<Vec<_>>();
            let taken = ints(&table.take(&rows, None, false).await.unwrap(), "i");
            assert_eq!(taken, rows.iter().map(|row| scanned[*row as usize]).collect::<Vec<_>>());
        });
    }
}
