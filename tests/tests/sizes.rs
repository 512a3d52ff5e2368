//! Our files are no larger than those of the reference, and readable by it, for the data of `sizes` at fewer rows.

use std::path::Path;

use demilance_tests::oracle::Oracle;
use demilance_tests::ours::{self, Shape};
use demilance_tests::sizes::{self, Table};
use demilance_tests::{recordings, same, stream};
use lance_file::{Compression, Version};
use lance_io::Store;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as ParquetCompression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::json;

const ROWS: usize = 100_000;

/// Bytes that a file may have more whatever it holds: what is said of pages that we write and they do not.
const SLACK: u64 = 512;

#[test]
fn no_larger_than_the_reference() {
    let Some(oracle) = Oracle::find("the sizes of the reference's files") else { return };
    let made = sizes::MADE.iter().map(|name| sizes::made(name, ROWS));
    let recorded = recordings("the sizes of recordings").map(|data| sizes::recorded(&data));
    let mut wrong = vec![];
    for table in made.chain(recorded.into_iter().flatten()) {
        let place = tempfile::tempdir().unwrap();
        let ours = write(&table, place.path(), "ours.lance", None);
        let arrow = place.path().join("a.arrow");
        let theirs = place.path().join("theirs.lance");
        stream::write(&arrow, &table.schema, &table.batches);
        oracle.one(json!({"do": "write_file", "arrow": arrow, "to": theirs, "version": "2.2"}));
        let theirs = std::fs::metadata(&theirs).unwrap().len();
        if ours * 100 > theirs * 102 + SLACK * 100 {
            wrong.push(format!("{}: {ours} bytes instead of {theirs}", table.name));
        }
        wrong.extend(read_back(&oracle, &table, &place.path().join("ours.lance"), place.path()));
    }
    ours::none_wrong(wrong);
}

#[test]
fn strings_with_zstd_like_parquet() {
    let oracle = Oracle::find("reading compressed strings with the reference");
    let mut wrong = vec![];
    for name in ["urls", "sentences", "labels"] {
        let table = sizes::made(name, ROWS);
        let place = tempfile::tempdir().unwrap();
        let ours = write(&table, place.path(), "ours.lance", Some(Compression::Zstd { level: None }));
        let parquet = parquet(&table, place.path());
        if ours * 100 > parquet * 110 + SLACK * 100 {
            wrong.push(format!("{name}: {ours} bytes, {parquet} in Parquet"));
        }
        if let Some(oracle) = &oracle {
            wrong.extend(read_back(oracle, &table, &place.path().join("ours.lance"), place.path()));
        }
    }
    ours::none_wrong(wrong);
}

/// The bytes of the file that `table` makes.
fn write(table: &Table, place: &Path, name: &str, compression: Option<Compression>) -> u64 {
    let shape = Shape { compression, ..Shape::of(Version::V2_2) };
    ours::run(ours::write_file(&Store::local(place), name, &table.schema, &table.batches, shape)).unwrap();
    std::fs::metadata(place.join(name)).unwrap().len()
}

/// What is wrong with `lance` when the reference reads it.
fn read_back(oracle: &Oracle, table: &Table, lance: &Path, place: &Path) -> Option<String> {
    let back = place.join("back.arrow");
    oracle.one(json!({"do": "read_file", "path": lance, "to": back, "batch_size": 100_000}));
    let (schema, batches) = stream::read(&back);
    let (actual, expected) = (same::whole(&schema, &batches), same::whole(&table.schema, &table.batches));
    let difference = same::check(&actual.unwrap(), &expected.unwrap()).err()?;
    Some(format!("{}: read by the reference: {difference}", table.name))
}

fn parquet(table: &Table, place: &Path) -> u64 {
    let path = place.join("a.parquet");
    let compression = ParquetCompression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(compression).build();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, table.schema.clone(), Some(properties)).unwrap();
    table.batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    std::fs::metadata(&path).unwrap().len()
}
