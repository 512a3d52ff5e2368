//! Files that are written and read again, and what is read for it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::cast_possible_truncation)]

#[path = "support/columns.rs"]
mod columns;

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, FixedSizeListBuilder, Float32Builder};
use arrow_array::{
    Array, ArrayRef, Int64Array, RecordBatch, StringArray, StringViewArray, StructArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use columns::{Nulls, batch, every};
use futures::TryStreamExt;
use lance_file::describe::describe;
use lance_file::{
    Alignment, FileError, FileReader, FileWriter, Rows, ScanOptions, Schema, Version, WriteOptions, Written,
};
use lance_io::{Counting, MemoryFile, ReadAt, Store};
use proptest::prelude::*;

/// An open file, and what is read of it from then on.
struct Made {
    file: FileReader,
    counts: Counting,
    written: Written,
}

async fn write(batches: &[RecordBatch], options: WriteOptions, alignment: Alignment) -> Made {
    let store = Store::memory();
    let writer = store.create("test.lance", alignment).await.unwrap();
    let schema = Schema::from_arrow(&batches[0].schema()).unwrap();
    let mut writer = FileWriter::new(writer, schema, options).unwrap();
    for batch in batches {
        writer.push(batch).await.unwrap();
    }
    let written = writer.finish().await.unwrap();
    open(store, written).await
}

async fn open(store: Store, written: Written) -> Made {
    let counting = Counting::new(store.open_file("test.lance", None).await.unwrap());
    let counts = counting.clone();
    let file = FileReader::open(Arc::new(counting)).await.unwrap();
    assert_eq!(
        counts.rounds(),
        1 + u64::from(file.container().footer.column_metadata + 65_536 < written.size)
    );
    counts.reset();
    Made { file, counts, written }
}

async fn scan(file: &FileReader, options: ScanOptions) -> RecordBatch {
    let schema = options.projection.as_ref().unwrap_or(file.schema()).to_arrow();
    let batches: Vec<_> = file.scan(options).unwrap().try_collect().await.unwrap();
    concat_batches(&Arc::new(schema), &batches).unwrap()
}

/// Compares column by column, so that a difference is named.
fn assert_same(has: &RecordBatch, wants: &RecordBatch) {
    assert_eq!(has.num_columns(), wants.num_columns());
    for (field, (has, wants)) in wants.schema().fields().iter().zip(has.columns().iter().zip(wants.columns()))
    {
        assert_eq!(has.len(), wants.len(), "{}", field.name());
        assert_eq!(has.data_type(), wants.data_type());
        if let Some(row) =
            (0..has.len()).find(|row| has.slice(*row, 1).to_data() != wants.slice(*row, 1).to_data())
        {
            panic!("{} row {row}: {:?} is not {:?}", field.name(), has.slice(row, 1), wants.slice(row, 1));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_type_comes_back() {
    for version in [Version::V2_1, Version::V2_2] {
        for nulls in Nulls::ALL {
            for rows in [1, 1023, 1025, 5000] {
                let all = every(0..rows, nulls);
                // The name tells a failure apart; a batch that is cut has offsets.
                let parts =
                    [all.slice(0, rows / 3), all.slice(rows / 3, 0), all.slice(rows / 3, rows - rows / 3)];
                let options = WriteOptions { version, page_bytes: 20_000, ..WriteOptions::default() };
                let made = write(&parts, options, Alignment::Bytes64).await;
                assert_eq!((made.file.rows(), made.file.version()), (rows as u64, version));
                assert_same(&scan(&made.file, ScanOptions::default()).await, &all);
                let some: Vec<u64> = [rows - 1, 0, rows / 2, 0, rows / 3].map(|row| row as u64).into();
                let taken = made.file.take(&some, made.file.schema()).await.unwrap();
                assert_same(&taken, &take_record_batch(&all, &UInt64Array::from(some)).unwrap());
            }
        }
    }
}

#[tokio::test]
async fn both_alignments_and_no_rows() {
    for alignment in [Alignment::Bytes64, Alignment::Bytes4096] {
        for rows in [0, 100] {
            let all = every(0..rows, Nulls::Some);
            let made = write(std::slice::from_ref(&all), WriteOptions::default(), alignment).await;
            assert_eq!(made.written.rows, rows as u64);
            let description = describe(&made.file);
            assert_eq!(description.size, made.written.size);
            for column in &made.file.container().columns {
                let buffers = column.pages.iter().flat_map(|page| &page.buffers);
                assert!(buffers.into_iter().all(|buffer| buffer.offset() % alignment.bytes() == 0));
                assert!(rows > 0 || column.pages.is_empty());
            }
            assert_same(&scan(&made.file, ScanOptions::default()).await, &all);
            assert_eq!(made.file.take(&[], made.file.schema()).await.unwrap().num_rows(), 0);
        }
    }
}

#[tokio::test]
async fn the_same_batches_give_the_same_bytes() {
    let parts: Vec<_> = (0..5).map(|n| every(n * 500..(n + 1) * 500, Nulls::Some)).collect();
    let options = WriteOptions { page_bytes: 4000, ..WriteOptions::default() };
    let first = write(&parts, options.clone(), Alignment::Bytes64).await;
    let second = write(&parts, options, Alignment::Bytes64).await;
    assert_eq!(first.file.container().columns, second.file.container().columns);
    assert_eq!(first.written, second.written);
    let leaves: Vec<_> = first.file.schema().leaves().iter().map(|field| field.id).collect();
    assert_eq!(first.written.fields, leaves);
    assert_eq!(first.written.columns, (0..leaves.len() as u32).collect::<Vec<_>>());
}

/// Wide values beside narrow ones.
fn frames(rows: usize) -> RecordBatch {
    let mut images = BinaryBuilder::new();
    let mut states = FixedSizeListBuilder::new(Float32Builder::new(), 32);
    for row in 0..rows {
        let noise =
            (0..20_000 + row % 1000).map(|n| (n * 31 + row * 17 + n * n / 7) as u8).collect::<Vec<_>>();
        images.append_value(noise);
        (0..32).for_each(|n| states.values().append_value((row * 32 + n) as f32 * 0.37));
        states.append(true);
    }
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    batch(vec![("image", Arc::new(images.finish())), ("id", ids), ("state", Arc::new(states.finish()))])
}

#[tokio::test]
async fn other_columns_are_not_read() {
    let all = frames(300);
    let options = WriteOptions { page_bytes: 1 << 20, ..WriteOptions::default() };
    let made = write(&[all], options, Alignment::Bytes64).await;
    let projection = made.file.schema().project(&["state", "id"]).unwrap();
    let options = ScanOptions { projection: Some(projection.clone()), ..ScanOptions::default() };
    assert_eq!(scan(&made.file, options).await.num_rows(), 300);
    made.file.take(&[5, 299], &projection).await.unwrap();
    let images: Vec<_> =
        made.file.container().columns[0].pages.iter().flat_map(|page| page.buffers.clone()).collect();
    assert!(!images.is_empty());
    for read in made.counts.extents() {
        let apart =
            |image: &lance_footer::Extent| read.end() <= image.offset() || image.end() <= read.offset();
        assert!(images.iter().all(apart), "{read:?}");
    }
}

#[tokio::test]
async fn a_second_take_reads_no_metadata() {
    let all = frames(300);
    let options = WriteOptions { page_bytes: 1 << 20, ..WriteOptions::default() };
    let made = write(std::slice::from_ref(&all), options, Alignment::Bytes64).await;
    let rows = [7_u64, 250, 3, 7, 120];
    made.file.take(&rows, made.file.schema()).await.unwrap();
    let first = (made.counts.rounds(), made.counts.bytes());
    made.counts.reset();
    let taken = made.file.take(&rows, made.file.schema()).await.unwrap();
    let second = (made.counts.rounds(), made.counts.bytes());
    assert!(second.0 <= first.0 && second.1 < first.1, "{first:?} then {second:?}");
    let end = made.file.container().footer.column_metadata;
    assert!(made.counts.extents().iter().all(|extent| extent.end() <= end));
    assert_same(&taken, &take_record_batch(&all, &UInt64Array::from(rows.to_vec())).unwrap());
    assert!(made.file.weight() > 0);
    // Other rows of the same pages neither.
    made.counts.reset();
    made.file.take(&[8, 121], made.file.schema()).await.unwrap();
    assert!(made.counts.rounds() <= second.0);
}

#[tokio::test]
async fn parts_of_structs() {
    let all = every(0..2000, Nulls::Some);
    let made = write(std::slice::from_ref(&all), WriteOptions::default(), Alignment::Bytes64).await;
    let projection = made.file.schema().project(&["struct.b", "i64"]).unwrap();
    let taken = made.file.take(&[1999, 5, 4], &projection).await.unwrap();
    let whole = made.file.schema().project(&["struct", "i64"]).unwrap();
    let whole = made.file.take(&[1999, 5, 4], &whole).await.unwrap();
    let (part, whole_struct) = (taken.column(0), whole.column(0));
    let member =
        |array: &ArrayRef, n: usize| array.as_any().downcast_ref::<StructArray>().unwrap().column(n).clone();
    assert_eq!(part.nulls(), whole_struct.nulls());
    for row in (0..3).filter(|row| part.is_valid(*row)) {
        assert_eq!(&member(part, 0).slice(row, 1), &member(whole_struct, 1).slice(row, 1));
    }
    assert_eq!(taken.column(1), whole.column(1));
}

#[tokio::test]
async fn no_columns_but_rows() {
    let made = write(&[every(0..10, Nulls::None)], WriteOptions::default(), Alignment::Bytes64).await;
    let nothing = made.file.schema().project::<&str>(&[]).unwrap();
    assert_eq!(made.file.take(&[1, 1, 2], &nothing).await.unwrap().num_rows(), 3);
    let options = ScanOptions { projection: Some(nothing), ..ScanOptions::default() };
    let batches: Vec<_> = made.file.scan(options).unwrap().try_collect().await.unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
    assert_eq!(made.counts.rounds(), 0);
}

#[tokio::test]
async fn batches_that_do_not_fit_change_nothing() {
    let store = Store::memory();
    let one = |array: ArrayRef| batch(vec![("a", array)]);
    let good = one(Arc::new(StringArray::from(vec!["x", "y"])));
    let schema = Schema::from_arrow(&good.schema()).unwrap();
    let writer = store.create("test.lance", Alignment::Bytes64).await.unwrap();
    let mut writer = FileWriter::new(writer, schema, WriteOptions::default()).unwrap();
    writer.push(&good).await.unwrap();
    let cases = [
        (one(Arc::new(Int64Array::from(vec![1]))), "field a has the type Int64 where the schema has Utf8"),
        (batch(vec![("b", good.column(0).clone())]), "the field \"b\" where the schema has \"a\""),
        (batch(vec![("a", good.column(0).clone()), ("b", good.column(0).clone())]), "2 fields, the schema 1"),
    ];
    for (bad, text) in cases {
        let error = writer.push(&bad).await.unwrap_err();
        assert!(matches!(&error, FileError::Mismatch { reason } if reason.contains(text)), "{error}");
    }
    writer.push(&one(Arc::new(StringViewArray::from(vec!["a view", "of strings"])))).await.unwrap();
    writer.metadata_mut().insert("late".into(), "yes".into());
    assert_eq!(writer.global_buffer("mine".into()).await.unwrap(), 1);
    let made = open(store, writer.finish().await.unwrap()).await;
    assert_eq!(made.file.rows(), 4);
    assert_eq!(made.file.global_buffer(1).await.unwrap(), "mine");
    assert_eq!(made.file.schema().metadata["late"], "yes");
    let taken = made.file.take(&[3, 1], made.file.schema()).await.unwrap();
    assert_same(&taken, &one(Arc::new(StringArray::from(vec!["of strings", "y"]))));
}

#[tokio::test]
async fn types_that_a_version_lacks_are_refused_first() {
    let store = Store::memory();
    let writer = store.create("test.lance", Alignment::Bytes64).await.unwrap();
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    let arrow = ArrowSchema::new(vec![Field::new("f", DataType::FixedSizeList(item, 2), true)]);
    let schema = Schema::from_arrow(&arrow).unwrap();
    let error = FileWriter::new(writer, schema, WriteOptions::default()).unwrap_err().to_string();
    assert!(error.contains("test.lance") && error.contains("field f"), "{error}");
    assert!(store.open_file("test.lance", None).await.is_err());
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap()
}

/// A file of several pages a column, as bytes, with what is in it.
async fn sample() -> (RecordBatch, Vec<u8>) {
    let all = every(0..700, Nulls::Some);
    let options = WriteOptions { page_bytes: 6000, ..WriteOptions::default() };
    let made = write(std::slice::from_ref(&all), options, Alignment::Bytes64).await;
    let whole = lance_footer::Extent::new(0, made.written.size).unwrap();
    let answers = made.file.source().read(vec![lance_footer::Ask::slices(vec![whole])]).await.unwrap();
    let bytes = lance_footer::Answer::only_slices(answers, 1).unwrap().remove(0);
    (all, bytes.to_vec())
}

fn memory(bytes: Vec<u8>) -> Arc<dyn ReadAt> {
    Arc::new(MemoryFile::new("test.lance", bytes.into()))
}

#[test]
fn any_rows_equal_the_same_rows_of_the_scan() {
    let runtime = runtime();
    let (all, bytes) = runtime.block_on(sample());
    let file = runtime.block_on(FileReader::open(memory(bytes))).unwrap();
    let cases =
        (prop::collection::vec(0..700_u64, 0..50), 1..900_u32, prop::collection::vec(0..700_u64, 0..6));
    proptest!(ProptestConfig::with_cases(60), |((rows, batch_rows, cuts) in cases)| {
        let taken = runtime.block_on(file.take(&rows, file.schema())).unwrap();
        assert_same(&taken, &take_record_batch(&all, &UInt64Array::from(rows.clone())).unwrap());

        let mut cuts = cuts;
        cuts.sort_unstable();
        let ranges = cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]);
        let rows = Rows::from_ranges(ranges).unwrap();
        let indices: UInt64Array = rows.iter().collect::<Vec<_>>().into();
        let options = ScanOptions { rows: Some(rows), batch_rows, ..ScanOptions::default() };
        let scanned = runtime.block_on(scan(&file, options));
        assert_same(&scanned, &take_record_batch(&all, &indices).unwrap());
    });
}

/// Reads everything; errors are fine, but a panic on the pool is an error that says so.
async fn read(bytes: Vec<u8>) -> Result<(), FileError> {
    let file = FileReader::open(memory(bytes)).await?;
    let last = file.rows().saturating_sub(1);
    for field in file.schema().names() {
        // A damaged schema may have a name twice.
        let Ok(projection) = file.schema().project(&[field]) else { continue };
        // A damaged row count may be anything.
        let rows = Some(Rows::range(0..file.rows().min(2000)));
        let options = ScanOptions { projection: Some(projection.clone()), rows, ..ScanOptions::default() };
        let scanned = match file.scan(options) {
            Ok(stream) => stream.try_collect::<Vec<_>>().await.map(|_| ()),
            Err(error) => Err(error),
        };
        let taken = file.take(&[last, 0, last / 2], &projection).await.map(|_| ());
        [scanned, taken].into_iter().for_each(check);
    }
    describe(&file);
    Ok(())
}

fn check(result: Result<(), FileError>) {
    if let Err(error) = result {
        assert!(!matches!(error, FileError::Cancelled { .. }), "{error}");
    }
}

#[test]
fn damaged_files_give_errors_or_data() {
    let runtime = runtime();
    let (_, bytes) = runtime.block_on(sample());
    for len in (0..bytes.len()).step_by(bytes.len() / 40) {
        assert!(runtime.block_on(read(bytes[..len].to_vec())).is_err());
    }
    let cases = (0..bytes.len(), 0..8_u32, any::<bool>());
    proptest!(ProptestConfig::with_cases(150), |((at, bit, late) in cases)| {
        // Half of the flips hit the metadata, which are a small part of the file.
        let at = if late { bytes.len() - 1 - at % 8000.min(bytes.len()) } else { at };
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << bit;
        check(runtime.block_on(read(damaged)));
    });
}
