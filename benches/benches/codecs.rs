//! Each codec: encoding and decoding of a column that is written with it, in Arrow bytes a second; beside it what the
//! crates `fastlanes` and `fsst-rs` do with the same values.
//!
//! Encoding is all that a writer does from an array to the buffers of pages, decoding all from them to an array.

#![allow(missing_docs, clippy::unwrap_used, clippy::cast_possible_truncation)]

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float32Array, Int32Array, StringArray};
use arrow_schema::Field;
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use demilance_tests::sizes;
use fastlanes::BitPacking;
use lance_encoding::describe::describe_page;
use lance_encoding::{
    Allowance, EncodedPage, Rows, Version, WriterOptions, field_writer, leaf_count, open_field,
};
use lance_footer::{Alignment, Container, ContainerWriter, Extent, Open, PageRecord, run_on_slice};

const ROWS: usize = 500_000;

/// The name of a bench, what its first page must be, the metadata of its field, and its values.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)], ArrayRef);

fn cases() -> Vec<Case> {
    let column = |name| {
        let table = sizes::made(name, ROWS);
        arrow_select::concat::concat_batches(&table.schema, &table.batches).unwrap().column(0).clone()
    };
    let noise = || column("sensor noise");
    let packed =
        || -> ArrayRef { Arc::new(Int32Array::from_iter_values(seventeen_bits().map(|n| n as i32))) };
    let runs = Arc::new(Int32Array::from_iter_values((0..ROWS as i32).map(|row| row / 90)));
    let smooth = || -> ArrayRef {
        Arc::new(Float32Array::from_iter_values((0..ROWS).map(|row| (row as f32 / 5000.0).sin())))
    };
    vec![
        ("flat", "mini-block(flat)", &[("compression", "none")], noise()),
        ("inline bit packing", "mini-block(inline-bitpacking)", &[], packed()),
        ("runs", "mini-block(rle", &[("rle-threshold", "1")], runs),
        (
            "split, lz4",
            "mini-block(general[lz4](byte-stream-split",
            &[("compression", "lz4"), ("bss", "on")],
            smooth(),
        ),
        (
            "split, zstd",
            "mini-block(general[zstd](byte-stream-split",
            &[("compression", "zstd"), ("bss", "on")],
            smooth(),
        ),
        ("strings", "mini-block(variable", &[("compression", "none")], column("urls")),
        ("symbols", "mini-block(fsst", &[("compression", "fsst")], column("urls")),
        ("strings, lz4", "mini-block(general[lz4](variable", &[("compression", "lz4")], column("urls")),
        ("strings, zstd", "mini-block(general[zstd](variable", &[("compression", "zstd")], column("urls")),
        ("dictionary", "mini-block(inline-bitpacking, dictionary", &[], column("labels")),
        ("bits", "mini-block(flat)", &[("compression", "none")], column("flags with runs")),
        ("vectors", "full-zip(fixed-size-list(flat))", &[], column("vectors")),
        ("nested lists", "mini-block", &[], column("nested lists")),
    ]
}

fn seventeen_bits() -> impl Iterator<Item = u32> {
    (0..ROWS as u32).map(|row| row.wrapping_mul(0x9e37_79b9) >> 15)
}

fn encode(field: &Field, array: &ArrayRef) -> Vec<EncodedPage> {
    let mut writer = field_writer(field, &WriterOptions::default()).unwrap();
    let mut jobs = writer.push(array.clone()).unwrap();
    jobs.extend(writer.finish().unwrap());
    jobs.into_iter().flat_map(|job| job.run().unwrap()).collect()
}

/// The file of `pages`.
fn file(field: &Field, pages: Vec<EncodedPage>) -> (Bytes, Container) {
    let leaves = u32::try_from(leaf_count(field)).unwrap();
    let mut container = ContainerWriter::new(Version::V2_2, Alignment::Bytes64, leaves);
    let mut file = vec![];
    for page in pages {
        let buffers = page.buffers.iter().map(|parts| {
            file.resize(file.len().next_multiple_of(64), 0);
            let start = file.len() as u64;
            parts.iter().for_each(|part| file.extend_from_slice(part));
            Extent::between(start, file.len() as u64).unwrap()
        });
        let buffers = buffers.collect();
        let record =
            PageRecord { length: page.length, priority: page.priority, buffers, encoding: page.encoding };
        container.page(page.leaf as u32, record).unwrap();
    }
    let end = container.finish(file.len() as u64, &[]).unwrap();
    file.extend_from_slice(&end);
    let file = Bytes::from(file);
    let container = run_on_slice(Open::new(file.len() as u64, Open::TAIL), &file).unwrap();
    (file, container)
}

fn decode(field: &Field, file: &Bytes, container: &Container) -> usize {
    let reader = open_field(field, &container.columns, Version::V2_2, &Arc::default()).unwrap();
    let rows = Rows::range(0..reader.rows());
    if let Some(machine) = reader.prepare(&rows).unwrap() {
        run_on_slice(machine, file).unwrap();
    }
    let loaded = run_on_slice(reader.load(&rows, None).unwrap(), file).unwrap();
    // As a scan does it.
    let all = loaded.rows();
    let batches = (0..all).step_by(8192).map(|start| start..(start + 8192).min(all));
    let decoded = batches.map(|rows| loaded.decode(rows, &mut Allowance::default()).unwrap());
    decoded.map(|array| black_box(array).len()).sum()
}

fn codecs(criterion: &mut Criterion) {
    for (name, wanted, keys, array) in cases() {
        let keys = keys.iter().map(|(key, value)| (format!("lance-encoding:{key}"), (*value).to_string()));
        let field = Field::new("x", array.data_type().clone(), true).with_metadata(keys.collect());
        let pages = encode(&field, &array);
        let described = pages.first().unwrap().encoding.clone().into();
        let found = describe_page(&described, Version::V2_2).to_string();
        if !found.starts_with(wanted) {
            println!("{name}: {found} instead of {wanted}");
        }
        let (file, container) = file(&field, pages);
        let mut group = criterion.benchmark_group(format!("codec/{name}"));
        group.sample_size(10).warm_up_time(std::time::Duration::from_millis(300));
        group.measurement_time(std::time::Duration::from_secs(1));
        group.throughput(Throughput::Bytes(array.to_data().get_slice_memory_size().unwrap() as u64));
        group.bench_function("encode", |bencher| bencher.iter(|| black_box(encode(&field, &array))));
        group.bench_function("decode", |bencher| bencher.iter(|| decode(&field, &file, &container)));
    }
}

/// The same numbers and strings through the crates that do nothing else.
fn rivals(criterion: &mut Criterion) {
    let numbers: Vec<u32> = seventeen_bits().take(ROWS / 1024 * 1024).collect();
    let mut packed = vec![[0_u32; 17 * 32]; numbers.len() / 1024];
    for (values, packed) in numbers.chunks_exact(1024).zip(&mut packed) {
        BitPacking::pack::<17, 544>(<&[u32; 1024]>::try_from(values).unwrap(), packed);
    }
    let mut group = criterion.benchmark_group("codec/rival");
    group.sample_size(10).measurement_time(std::time::Duration::from_secs(1));
    group.throughput(Throughput::Bytes(4 * numbers.len() as u64));
    group.bench_function(BenchmarkId::new("fastlanes", "decode"), |bencher| {
        bencher.iter(|| {
            // Into fresh memory, as a batch is.
            let mut out = vec![0_u32; numbers.len()];
            for (packed, values) in packed.iter().zip(out.as_chunks_mut::<1024>().0) {
                BitPacking::unpack::<17, 544>(packed, values);
            }
            black_box(out)
        });
    });
    let table = sizes::made("urls", ROWS);
    let urls = arrow_select::concat::concat_batches(&table.schema, &table.batches).unwrap();
    let urls = urls.column(0).as_any().downcast_ref::<StringArray>().unwrap();
    let strings: Vec<&[u8]> = urls.iter().map(|url| url.unwrap_or_default().as_bytes()).collect();
    let compressor = fsst::Compressor::train(&strings);
    let codes = compressor.compress_bulk(&strings);
    group.throughput(Throughput::Bytes(urls.to_data().get_slice_memory_size().unwrap() as u64));
    group.bench_function(BenchmarkId::new("fsst-rs", "encode"), |bencher| {
        bencher.iter(|| black_box(fsst::Compressor::train(&strings).compress_bulk(&strings)));
    });
    group.bench_function(BenchmarkId::new("fsst-rs", "decode"), |bencher| {
        bencher.iter(|| {
            let decompressor = compressor.decompressor();
            codes.iter().map(|codes| black_box(decompressor.decompress(codes)).len()).sum::<usize>()
        });
    });
}

criterion_group!(benches, codecs, rivals);
criterion_main!(benches);
