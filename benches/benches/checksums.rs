//! What checksums cost: files with them beside the same without, written, scanned and read at random.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use arrow_array::RecordBatch;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use demilance_benches::{
    BATCH, FRAMES, SCALARS, Scratch, frames, random_rows, runtime, scalars, write_lance_with,
};
use futures::TryStreamExt;
use lance_file::{FileReader, OpenOptions, ScanOptions, WriteOptions};

const WAYS: [(&str, bool); 2] = [("without", false), ("with", true)];

fn write(criterion: &mut Criterion) {
    let runtime = runtime();
    let scratch = Scratch::new();
    for (table, data) in [("frames", frames(FRAMES)), ("scalars", scalars(SCALARS))] {
        let mut group = criterion.benchmark_group(format!("checksums/write/{table}"));
        group.sample_size(10);
        group.throughput(Throughput::Bytes(data.get_array_memory_size() as u64));
        let mut count = 0;
        for (way, checksums) in WAYS {
            group.bench_function(way, |bencher| {
                bencher.iter(|| {
                    // A name is published once, so each file has its own.
                    count += 1;
                    let name = format!("{count}.lance");
                    let options = WriteOptions { checksums, ..Default::default() };
                    runtime.block_on(write_lance_with(scratch.store(), &name, &data, options));
                    std::fs::remove_file(scratch.path().join(&name)).unwrap();
                });
            });
        }
    }
}

/// The same file with checksums, read without looking at them and with. It is opened each time, because what was found
/// to be right is not checked again.
fn read(criterion: &mut Criterion) {
    let runtime = runtime();
    let scratch = Scratch::new();
    for (table, data) in [("frames", frames(FRAMES)), ("scalars", scalars(SCALARS))] {
        let options = WriteOptions { checksums: true, ..Default::default() };
        runtime.block_on(write_lance_with(scratch.store(), table, &data, options));
        let rows = random_rows(BATCH, data.num_rows(), 9);
        let mut group = criterion.benchmark_group(format!("checksums/read/{table}"));
        group.sample_size(10);
        for (way, verify) in WAYS {
            let open = || runtime.block_on(open(&scratch, table, verify));
            group.bench_function(BenchmarkId::new("open", way), |bencher| bencher.iter(&open));
            group.bench_function(BenchmarkId::new("scan", way), |bencher| {
                bencher.iter(|| black_box(runtime.block_on(scan(&open()))));
            });
            group.bench_function(BenchmarkId::new("take 256, first", way), |bencher| {
                bencher.iter(|| {
                    let reader = open();
                    black_box(runtime.block_on(reader.take(&rows, reader.schema())).unwrap())
                });
            });
            let reader = open();
            group.bench_function(BenchmarkId::new("take 256, again", way), |bencher| {
                bencher.iter(|| black_box(runtime.block_on(reader.take(&rows, reader.schema())).unwrap()));
            });
        }
    }
}

async fn open(scratch: &Scratch, name: &str, verify_checksums: bool) -> FileReader {
    let source = scratch.store().open_file(name, None).await.unwrap();
    let options = OpenOptions { verify_checksums, ..Default::default() };
    FileReader::open_with(source, options).await.unwrap()
}

async fn scan(reader: &FileReader) -> usize {
    let stream = reader.scan(ScanOptions::default()).unwrap();
    let count = |rows, batch: RecordBatch| async move { Ok(rows + black_box(batch).num_rows()) };
    stream.try_fold(0, count).await.unwrap()
}

criterion_group!(benches, write, read);
criterion_main!(benches);
