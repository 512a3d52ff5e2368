//! The data that the benches use, and the files that they are written to.
//!
//! Everything is made from fixed seeds: two runs measure the same bytes.

#![forbid(unsafe_code)]
#![allow(missing_docs, clippy::unwrap_used, clippy::cast_possible_truncation, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema};
use lance_file::{Batches, FileReader, FileWriter, WriteOptions};
use lance_footer::Alignment;
use lance_io::Store;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection};
use parquet::file::metadata::PageIndexPolicy;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Rows of the table of frames.
pub const FRAMES: usize = 6_000;
/// Rows of the tables of scalars.
pub const SCALARS: usize = 2_000_000;
/// Rows of a training batch.
pub const BATCH: usize = 256;

/// Frames of a robot: an image of about 60 KB that does not compress, and a state of 32 floats (128 bytes).
pub fn frames(rows: usize) -> RecordBatch {
    let mut random = SmallRng::seed_from_u64(1);
    let images = (0..rows).map(|_| {
        let len = random.random_range(55_000..65_000);
        let mut image = vec![0_u8; len];
        random.fill(&mut image[..]);
        image
    });
    let images = BinaryArray::from_iter_values(images);
    batch([
        ("index", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef),
        ("image", Arc::new(images)),
        ("state", vectors(rows, 32)),
    ])
}

/// `rows` vectors of `dimension` random floats.
pub fn vectors(rows: usize, dimension: i32) -> ArrayRef {
    let mut random = SmallRng::seed_from_u64(2);
    let values =
        Float32Array::from_iter_values((0..rows * dimension as usize).map(|_| random.random::<f32>()));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    Arc::new(FixedSizeListArray::new(item, dimension, Arc::new(values), None))
}

/// The columns of scalars, each by its name.
pub fn scalars(rows: usize) -> RecordBatch {
    let mut random = SmallRng::seed_from_u64(3);
    let mut time = 1_700_000_000_000_000_i64;
    let times = (0..rows).map(|_| {
        time += random.random_range(33_000..34_000);
        time
    });
    let times = TimestampMicrosecondArray::from_iter_values(times.collect::<Vec<_>>());
    let narrow = Int64Array::from_iter_values((0..rows).map(|_| random.random_range(0..1 << 17)));
    let mut level = 0.0_f32;
    let floats = Float32Array::from_iter_values((0..rows).map(|_| {
        level += random.random_range(-0.01..0.01);
        level
    }));
    let short = StringArray::from_iter_values((0..rows).map(|row| format!("ep{:04}", row / 360)));
    let long = StringArray::from_iter_values((0..rows).map(|row| {
        format!("s3://robots/unit-{:02}/episode-{row:08}/camera-{}", row % 40, random.random::<u32>())
    }));
    batch([
        ("id", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef),
        ("time", Arc::new(times)),
        ("bits17", Arc::new(narrow)),
        ("f32", Arc::new(floats)),
        ("short", Arc::new(short)),
        ("long", Arc::new(long)),
    ])
}

/// `count` random row numbers below `rows`, in no order.
pub fn random_rows(count: usize, rows: usize, seed: u64) -> Vec<u64> {
    let mut random = SmallRng::seed_from_u64(seed);
    (0..count).map(|_| random.random_range(0..rows as u64)).collect()
}

/// The floats behind a column of vectors.
pub fn floats(column: &ArrayRef) -> &[f32] {
    let list = column.as_any().downcast_ref::<FixedSizeListArray>().unwrap();
    let values = list.values().as_any().downcast_ref::<arrow_array::PrimitiveArray<Float32Type>>().unwrap();
    values.values()
}

fn batch<'a>(columns: impl IntoIterator<Item = (&'a str, ArrayRef)>) -> RecordBatch {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), false), array))
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// A directory for the files of a bench, removed when it is dropped.
pub struct Scratch {
    dir: tempfile::TempDir,
    store: Store,
}

impl Scratch {
    /// A fresh one.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::local(dir.path());
        Self { dir, store }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The same as a store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Writes `batch` to the Lance file `name` and opens it through `open`.
    pub async fn lance(&self, name: &str, batch: &RecordBatch) -> FileReader {
        write_lance(&self.store, name, batch).await;
        FileReader::open(self.store.open_file(name, None).await.unwrap()).await.unwrap()
    }

    /// Writes `batch` to the Parquet file `name` with default settings, uncompressed as our file is.
    pub fn parquet(&self, name: &str, batch: &RecordBatch) -> PathBuf {
        let path = self.path().join(name);
        write_parquet(&path, batch);
        path
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes `batch` to the Lance file `name` in pieces of 8192 rows, as a stream would bring them.
pub async fn write_lance(store: &Store, name: &str, batch: &RecordBatch) {
    write_lance_with(store, name, batch, WriteOptions::default()).await;
}

/// The same with options.
pub async fn write_lance_with(store: &Store, name: &str, batch: &RecordBatch, options: WriteOptions) {
    let schema = lance_file::Schema::from_arrow(&batch.schema()).unwrap();
    let sink = store.create(name, Alignment::Bytes64).await.unwrap();
    let mut writer = FileWriter::new(sink, schema, options).unwrap();
    for piece in pieces(batch) {
        writer.push(&piece).await.unwrap();
    }
    writer.finish().await.unwrap();
}

/// Writes `batch` to a Parquet file in pieces of 8192 rows.
pub fn write_parquet(path: &Path, batch: &RecordBatch) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    for piece in pieces(batch) {
        writer.write(&piece).unwrap();
    }
    writer.close().unwrap();
}

fn pieces(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> + '_ {
    (0..batch.num_rows()).step_by(8192).map(|at| batch.slice(at, 8192.min(batch.num_rows() - at)))
}

/// A runtime as an application has it.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}

/// The batches of `batch` as a source for writers.
pub fn batches(batch: &RecordBatch) -> Batches {
    Batches::from(pieces(batch).collect::<Vec<_>>())
}

/// Reads column `name` of a Parquet file and counts its rows.
pub fn parquet_scan(path: &Path, name: &str) -> usize {
    let builder = parquet_column(path, name);
    builder
        .with_batch_size(8192)
        .build()
        .unwrap()
        .map(|batch| std::hint::black_box(batch.unwrap()).num_rows())
        .sum()
}

/// Reads the rows `rows` of column `name` of a Parquet file, in file order, with the page index.
pub fn parquet_take(path: &Path, name: &str, rows: &[u64]) -> usize {
    let mut sorted: Vec<usize> = rows.iter().map(|row| *row as usize).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let builder = parquet_column(path, name);
    let total = builder.metadata().file_metadata().num_rows() as usize;
    let ranges = sorted.into_iter().map(|row| row..row + 1);
    let selection = RowSelection::from_consecutive_ranges(ranges, total);
    builder.with_row_selection(selection).build().unwrap().map(|batch| batch.unwrap().num_rows()).sum()
}

fn parquet_column(path: &Path, name: &str) -> ParquetRecordBatchReaderBuilder<std::fs::File> {
    let file = std::fs::File::open(path).unwrap();
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap();
    let mask = ProjectionMask::columns(builder.parquet_schema(), [name]);
    builder.with_projection(mask)
}

/// The median of `times`, which are at least one.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
