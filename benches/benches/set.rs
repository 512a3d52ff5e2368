//! Whole files of the set whose sizes are measured, scanned by us and from Parquet with snappy and with zstd, in turns.
//!
//! `cargo bench -p demilance-benches --bench set` prints a line a table: Arrow bytes a second in the best of many turns, since others
//! on the machine only take time away; everything warm in the page cache. `DEMILANCE_DATA` names the recordings. `-- ints labels` measures the tables whose names have one of
//! these words.

#![allow(missing_docs, clippy::unwrap_used)]

use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use demilance_benches::{Scratch, runtime};
use demilance_tests::ours::{self, Shape};
use demilance_tests::recordings;
use demilance_tests::sizes::{self, Table};
use futures::TryStreamExt;
use lance_file::{Compression, FileReader, ScanOptions, Version};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression as ParquetCompression, ZstdLevel};
use parquet::file::properties::WriterProperties;

const ROWS: usize = 500_000;
const TURNS: usize = 21;

fn main() {
    // `cargo test --benches` and `--list` must not measure anything.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let runtime = runtime();
    println!("{:18} {:>9} {:>9} {:>9} {:>9}  GB/s", "", "ours", "ours+zstd", "p.+snappy", "p.+zstd");
    let recorded = recordings("the recordings").map(|data| sizes::recorded(&data)).unwrap_or_default();
    let recorded = recorded.into_iter().filter(|table| wanted(table.name));
    let made = sizes::MADE.iter().filter(|name| wanted(name)).map(|name| sizes::made(name, ROWS));
    for table in recorded.chain(made) {
        let scratch = Scratch::new();
        let zstd = Some(Compression::Zstd { level: None });
        let lance = [("plain.lance", None), ("zstd.lance", zstd)].map(|(name, compression)| {
            runtime.block_on(async {
                let shape = Shape { compression, ..Shape::of(Version::V2_2) };
                let store = scratch.store();
                ours::write_file(store, name, &table.schema, &table.batches, shape).await.unwrap();
                FileReader::open(store.open_file(name, None).await.unwrap()).await.unwrap()
            })
        });
        let codecs = [
            ("snappy.parquet", ParquetCompression::SNAPPY),
            ("zstd.parquet", ParquetCompression::ZSTD(ZstdLevel::default())),
        ];
        let parquet = codecs.map(|(name, compression)| {
            let path = scratch.path().join(name);
            write_parquet(&path, &table, compression);
            path
        });
        let mut times: [Vec<Duration>; 4] = Default::default();
        for _ in 0..TURNS {
            for (at, reader) in lance.iter().enumerate() {
                let start = Instant::now();
                assert_eq!(runtime.block_on(scan(reader)), table.rows());
                times[at].push(start.elapsed());
            }
            for (at, path) in parquet.iter().enumerate() {
                let start = Instant::now();
                assert_eq!(parquet_scan(path), table.rows());
                times[2 + at].push(start.elapsed());
            }
        }
        let bytes = table.bytes() as f64;
        let [ours, zstd, snappy, parquet_zstd] = times.map(|times| {
            let best = times.into_iter().min().unwrap_or_default();
            bytes / best.as_secs_f64() / 1e9
        });
        println!("{:18} {ours:>9.2} {zstd:>9.2} {snappy:>9.2} {parquet_zstd:>9.2}", table.name);
    }
}

async fn scan(reader: &FileReader) -> usize {
    let stream = reader.scan(ScanOptions::default()).unwrap();
    let count = |rows, batch: RecordBatch| async move { Ok(rows + black_box(batch).num_rows()) };
    stream.try_fold(0, count).await.unwrap()
}

fn write_parquet(path: &Path, table: &Table, compression: ParquetCompression) {
    let properties = WriterProperties::builder().set_compression(compression).build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, table.schema.clone(), Some(properties)).unwrap();
    table.batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

fn parquet_scan(path: &Path) -> usize {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let reader = builder.with_batch_size(8192).build().unwrap();
    reader.map(|batch| black_box(batch.unwrap()).num_rows()).sum()
}
