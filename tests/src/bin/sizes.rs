//! Sizes of files, beside those of the reference and of Parquet, for the data of `demilance_tests::sizes`.
//!
//! `cargo run --release -p demilance-tests --bin sizes [ROWS] [NAME …]`: a line a table, in MB; `-` where something
//! is not there. The recordings are found through `DEMILANCE_DATA`, the reference as in the tests.

use std::path::{Path, PathBuf};

use demilance_tests::oracle::Oracle;
use demilance_tests::ours::{self, Shape};
use demilance_tests::sizes::{self, Table};
use demilance_tests::{recordings, stream};
use lance_file::Version;
use lance_io::Store;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::json;

fn main() {
    let mut arguments: Vec<_> = std::env::args().skip(1).collect();
    let rows = arguments.first().and_then(|first| first.parse().ok());
    arguments.drain(..usize::from(rows.is_some()));
    let rows = rows.unwrap_or(sizes::ROWS);
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    let oracle = Oracle::find("the sizes of the reference's files");
    println!(
        "{:18} {:>9} {:>9} {:>9} {:>9} {:>6} {:>9} {:>9} {:>9}",
        "MB", "rows", "in memory", "ours", "reference", "ratio", "parquet", "ours+zstd", "p.+zstd"
    );
    let recorded = recordings("the recordings").map(|data| sizes::recorded(&data)).unwrap_or_default();
    let made = sizes::MADE.iter().filter(|name| wanted(name)).map(|name| sizes::made(name, rows));
    let mut sums = [Some(0); 5];
    for table in recorded.into_iter().filter(|table| wanted(table.name)).chain(made) {
        let place = tempfile::tempdir().unwrap();
        let sizes = [
            Some(ours(&table, place.path(), None)),
            oracle.as_ref().map(|oracle| reference(oracle, &table, place.path())),
            Some(parquet(&table, place.path(), Compression::UNCOMPRESSED)),
            Some(ours(&table, place.path(), Some(lance_file::Compression::Zstd { level: None }))),
            Some(parquet(&table, place.path(), Compression::ZSTD(ZstdLevel::default()))),
        ];
        print(table.name, table.rows(), table.bytes() as u64, sizes);
        for (sum, size) in sums.iter_mut().zip(sizes) {
            *sum = sum.zip(size).map(|(sum, size)| sum + size);
        }
    }
    print("all", 0, 0, sums);
}

fn print(
    name: &str,
    rows: usize,
    memory: u64,
    [ours, reference, parquet, zstd, parquet_zstd]: [Option<u64>; 5],
) {
    let mb = |bytes: Option<u64>| bytes.map_or("-".into(), |bytes| format!("{:.3}", bytes as f64 / 1e6));
    let ratio = ours.zip(reference).map_or("-".into(), |(a, b)| format!("{:.3}", a as f64 / b as f64));
    let (ours, reference, parquet) = (mb(ours), mb(reference), mb(parquet));
    let (zstd, parquet_zstd) = (mb(zstd), mb(parquet_zstd));
    let memory = mb(Some(memory));
    println!(
        "{name:18} {rows:>9} {memory:>9} {ours:>9} {reference:>9} {ratio:>6} {parquet:>9} {zstd:>9} {parquet_zstd:>9}"
    );
}

fn ours(table: &Table, place: &Path, compression: Option<lance_file::Compression>) -> u64 {
    let shape = Shape { compression, ..Shape::of(Version::V2_2) };
    // A name is published once.
    let name = format!("{}.lance", compression.is_some());
    let store = Store::local(place);
    let written = ours::write_file(&store, &name, &table.schema, &table.batches, shape);
    ours::run(written).unwrap();
    size(&place.join(name))
}

fn reference(oracle: &Oracle, table: &Table, place: &Path) -> u64 {
    let (arrow, lance): (PathBuf, PathBuf) = (place.join("a.arrow"), place.join("b.lance"));
    stream::write(&arrow, &table.schema, &table.batches);
    oracle.one(json!({"do": "write_file", "arrow": arrow, "to": lance, "version": "2.2"}));
    size(&lance)
}

fn parquet(table: &Table, place: &Path, compression: Compression) -> u64 {
    let path = place.join("a.parquet");
    let properties = WriterProperties::builder().set_compression(compression).build();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, table.schema.clone(), Some(properties)).unwrap();
    table.batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    size(&path)
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}
