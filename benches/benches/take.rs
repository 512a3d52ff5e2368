//! Random rows: one, and a training batch of 256; from frames and from two million scalars.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use demilance_benches::{
    BATCH, FRAMES, SCALARS, Scratch, frames, parquet_take, random_rows, runtime, scalars,
};

fn take_frames(criterion: &mut Criterion) {
    let runtime = runtime();
    let scratch = Scratch::new();
    let reader = runtime.block_on(scratch.lance("frames.lance", &frames(FRAMES)));
    let mut group = criterion.benchmark_group("take/frames");
    for count in [1, BATCH] {
        group.throughput(Throughput::Elements(count as u64));
        for column in ["image", "state"] {
            let projection = reader.schema().project(&[column]).unwrap();
            let mut seed = 0;
            group.bench_function(BenchmarkId::new(column, count), |bencher| {
                bencher.iter(|| {
                    seed += 1;
                    let rows = random_rows(count, FRAMES, seed);
                    black_box(runtime.block_on(reader.take(&rows, &projection)).unwrap())
                });
            });
        }
    }
}

/// The rival reads the row groups' pages that hold the rows, by Parquet's page index.
fn take_scalars(criterion: &mut Criterion) {
    let runtime = runtime();
    let scratch = Scratch::new();
    let data = scalars(SCALARS);
    let reader = runtime.block_on(scratch.lance("scalars.lance", &data));
    let parquet = scratch.parquet("scalars.parquet", &data);
    for count in [1, BATCH] {
        let mut group = criterion.benchmark_group(format!("take/scalars/{count}"));
        group.throughput(Throughput::Elements(count as u64));
        for field in data.schema().fields() {
            let projection = reader.schema().project(&[field.name()]).unwrap();
            let rows = random_rows(count, SCALARS, 9);
            group.bench_function(BenchmarkId::new("demilance", field.name()), |bencher| {
                bencher.iter(|| black_box(runtime.block_on(reader.take(&rows, &projection)).unwrap()));
            });
        }
        group.sample_size(10);
        let rows = random_rows(count, SCALARS, 9);
        group.bench_function(BenchmarkId::new("parquet", "id"), |bencher| {
            bencher.iter(|| black_box(parquet_take(&parquet, "id", &rows)));
        });
    }
}

criterion_group!(benches, take_frames, take_scalars);
criterion_main!(benches);
