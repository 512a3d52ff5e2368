//! Writing a file, in Arrow bytes a second, beside Parquet.

#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use demilance_benches::{FRAMES, SCALARS, Scratch, frames, runtime, scalars, write_lance, write_parquet};

fn write(criterion: &mut Criterion) {
    let runtime = runtime();
    let scratch = Scratch::new();
    for (table, data) in [("frames", frames(FRAMES)), ("scalars", scalars(SCALARS))] {
        let mut group = criterion.benchmark_group(format!("write/{table}"));
        group.sample_size(10);
        group.throughput(Throughput::Bytes(data.get_array_memory_size() as u64));
        let mut count = 0;
        group.bench_function("demilance", |bencher| {
            bencher.iter(|| {
                // A name is published once, so each file has its own.
                count += 1;
                let name = format!("{count}.lance");
                runtime.block_on(write_lance(scratch.store(), &name, &data));
                std::fs::remove_file(scratch.path().join(&name)).unwrap();
            });
        });
        let path = scratch.path().join("rival.parquet");
        group.bench_function("parquet", |bencher| bencher.iter(|| write_parquet(&path, &data)));
    }
}

criterion_group!(benches, write);
criterion_main!(benches);
