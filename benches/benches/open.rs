//! Opening a file of few and of many columns, beside Parquet.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use criterion::{Criterion, criterion_group, criterion_main};
use demilance_benches::{Scratch, runtime};
use lance_file::FileReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

fn open(criterion: &mut Criterion) {
    let runtime = runtime();
    let scratch = Scratch::new();
    for columns in [4, 400] {
        let array: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let data = (0..columns).map(|column| (format!("column{column}"), array.clone()));
        let data = RecordBatch::try_from_iter(data).unwrap();
        let name = format!("{columns}.lance");
        runtime.block_on(scratch.lance(&name, &data));
        let parquet = scratch.parquet(&format!("{columns}.parquet"), &data);
        let mut group = criterion.benchmark_group(format!("open/{columns}"));
        group.bench_function("demilance", |bencher| {
            bencher.iter(|| {
                runtime.block_on(async {
                    let file = scratch.store().open_file(&name, None).await.unwrap();
                    black_box(FileReader::open(file).await.unwrap())
                })
            });
        });
        group.bench_function("parquet", |bencher| {
            bencher.iter(|| {
                let file = std::fs::File::open(&parquet).unwrap();
                black_box(ParquetRecordBatchReaderBuilder::try_new(file).unwrap())
            });
        });
    }
}

criterion_group!(benches, open);
criterion_main!(benches);
