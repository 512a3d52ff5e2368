//! Whole columns, in Arrow bytes a second, beside Parquet.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use arrow_array::RecordBatch;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use demilance_benches::{FRAMES, SCALARS, Scratch, frames, parquet_scan, runtime, scalars};
use futures::TryStreamExt;
use lance_file::{FileReader, ScanOptions};

fn scan(criterion: &mut Criterion) {
    let runtime = runtime();
    let scratch = Scratch::new();
    for (table, data) in [("frames", frames(FRAMES)), ("scalars", scalars(SCALARS))] {
        let reader = runtime.block_on(scratch.lance(table, &data));
        let parquet = scratch.parquet(&format!("{table}.parquet"), &data);
        let mut group = criterion.benchmark_group(format!("scan/{table}"));
        group.sample_size(10);
        for (field, array) in data.schema().fields().iter().zip(data.columns()) {
            group.throughput(Throughput::Bytes(array.get_array_memory_size() as u64));
            group.bench_function(BenchmarkId::new("demilance", field.name()), |bencher| {
                bencher.iter(|| black_box(runtime.block_on(scan_column(&reader, field.name()))));
            });
            group.bench_function(BenchmarkId::new("parquet", field.name()), |bencher| {
                bencher.iter(|| black_box(parquet_scan(&parquet, field.name())));
            });
        }
    }
}

async fn scan_column(reader: &FileReader, column: &str) -> usize {
    let projection = Some(reader.schema().project(&[column]).unwrap());
    let stream = reader.scan(ScanOptions { projection, ..ScanOptions::default() }).unwrap();
    let count = |rows, batch: RecordBatch| async move { Ok(rows + black_box(batch).num_rows()) };
    stream.try_fold(0, count).await.unwrap()
}

criterion_group!(benches, scan);
criterion_main!(benches);
