//! How much memory it takes to add columns to a table and to compact it:
//! `cargo run --release -p demilance-tests --example table_memory -- DIR [MIB]`.
//!
//! Makes a table of frames and states in DIR, 4 GiB if nothing else is said, and after it one of narrow columns. Adds columns
//! to each that are worked out from all of its values, and compacts it, all fragments into one. Each step is a process of
//! its own, which prints the peak of its memory. DIR is removed.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeBinaryArray, FixedSizeListArray, Float64Array, Int64Array,
    LargeBinaryArray, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use lance_io::Store;
use lance_table::{ColumnOptions, CompactionOptions, NewColumns, Table, WriteMode, WriteOptions};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const FRAGMENTS: u64 = 16;
const BATCH: u64 = 512;

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let words = arguments.iter().map(String::as_str).collect::<Vec<_>>();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    match words[..] {
        ["build", kind, directory, mib] => runtime.block_on(build(kind, directory, mib.parse().unwrap())),
        ["add", kind, directory] => runtime.block_on(add(kind, directory)),
        ["compact", kind, directory] => runtime.block_on(compact(kind, directory)),
        [directory] | [directory, _] => {
            let mib = words.get(1).copied().unwrap_or("4096");
            for kind in ["frames", "narrow"] {
                let table = format!("{directory}/{kind}.lance");
                again(&["build", kind, &table, mib]);
                again(&["add", kind, &table]);
                again(&["compact", kind, &table]);
                std::fs::remove_dir_all(table).unwrap();
            }
        }
        _ => {
            eprintln!("usage: table_memory DIR [MIB]");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn again(words: &[&str]) {
    let status = Command::new(std::env::current_exe().unwrap()).args(words).status().unwrap();
    assert!(status.success(), "{words:?}");
}

async fn build(kind: &str, directory: &str, mib: u64) {
    assert!(!Path::new(directory).exists(), "{directory} is there already");
    let mut random = SmallRng::seed_from_u64(7);
    let row_bytes = if kind == "frames" { 32_700 } else { 64 * 8 };
    let rows = ((mib << 20) / row_bytes / FRAGMENTS).max(1);
    let mut written = 0;
    for _ in 0..FRAGMENTS {
        let starts = (0..rows).step_by(usize::try_from(BATCH).unwrap());
        let batches = starts.map(|start| {
            let range = written + start..written + rows.min(start + BATCH);
            if kind == "frames" { frames(&mut random, range) } else { narrow(&mut random, range) }
        });
        let options = WriteOptions { mode: WriteMode::Append, ..Default::default() };
        let batches = batches.collect::<Vec<_>>();
        Table::write(Store::local(directory), batches.into(), options).await.unwrap();
        written += rows;
    }
}

/// Frames that do not compress, and the state of the robot in each.
fn frames(random: &mut SmallRng, rows: std::ops::Range<u64>) -> RecordBatch {
    let mut noise = vec![0_u8; 16 << 20];
    random.fill(&mut noise[..]);
    let frames = rows.clone().map(|_| {
        let (start, len) =
            (random.random_range(0..noise.len() - 37_000), random.random_range(28_000..37_000));
        &noise[start..start + len]
    });
    let frames = LargeBinaryArray::from_iter_values(frames);
    let states =
        rows.clone().map(|_| Some((0..29).map(|_| Some(random.random::<f32>())).collect::<Vec<_>>()));
    let states = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(states, 29);
    let hashes = rows.clone().map(|_| random.random::<[u8; 32]>());
    let hashes = FixedSizeBinaryArray::try_from_iter(hashes).unwrap();
    let texts = rows.clone().map(|row| format!("episode {} step {}", row / 500, row % 500));
    let columns = [
        ("id", Arc::new(Int64Array::from_iter_values(rows.map(|row| row as i64))) as ArrayRef),
        ("text", Arc::new(StringArray::from_iter_values(texts))),
        ("state", Arc::new(states)),
        ("hash", Arc::new(hashes)),
        ("frame", Arc::new(frames)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// 64 columns of numbers that do not compress.
fn narrow(random: &mut SmallRng, rows: std::ops::Range<u64>) -> RecordBatch {
    let columns = (0..64).map(|column| {
        let values = rows.clone().map(|_| random.random::<f64>());
        (format!("c{column}"), Arc::new(Float64Array::from_iter_values(values)) as ArrayRef)
    });
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A column of numbers and one of texts or bytes, from all columns of the table.
async fn add(kind: &str, directory: &str) {
    let table = Table::open(Store::local(directory), None).await.unwrap();
    let started = Instant::now();
    let reads = table.schema().names().into_iter().map(String::from).collect::<Vec<_>>();
    let fields = [("bytes", DataType::UInt64), ("thumbnail", DataType::Binary)];
    let schema = Arc::new(Schema::new(fields.map(|(name, of)| Field::new(name, of, false)).to_vec()));
    let made = SchemaRef::clone(&schema);
    let new = NewColumns::function(reads, schema, move |batch| {
        let each = (batch.get_array_memory_size() / batch.num_rows().max(1)) as u64;
        let bytes = UInt64Array::from_value(each, batch.num_rows());
        let frames = batch.column_by_name("frame").map(|frames| frames.as_binary::<i64>().clone());
        let thumbnails = (0..batch.num_rows()).map(|row| match &frames {
            Some(frames) => frames.value(row).iter().step_by(16).copied().collect::<Vec<_>>(),
            None => vec![row as u8; 16],
        });
        let thumbnails = BinaryArray::from_iter_values(thumbnails);
        RecordBatch::try_new(SchemaRef::clone(&made), vec![Arc::new(bytes), Arc::new(thumbnails)])
    });
    let done = table.add_columns(new, &ColumnOptions::default()).await.unwrap();
    tell(kind, "got two columns", &table, &done, started);
}

async fn compact(kind: &str, directory: &str) {
    let table = Table::open(Store::local(directory), None).await.unwrap();
    let started = Instant::now();
    let options = CompactionOptions { target_rows: 1 << 30, ..Default::default() };
    let done = table.compact(&options).await.unwrap().table;
    assert_eq!(done.fragments().len(), 1);
    tell(kind, "became one fragment", &table, &done, started);
}

fn tell(kind: &str, what: &str, before: &Table, after: &Table, started: Instant) {
    assert_eq!(after.rows(), before.rows());
    let files = before.fragments().iter().flat_map(|fragment| fragment.files());
    let bytes = files.filter_map(|file| file.size).sum::<u64>();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    println!(
        "{kind}: {} rows, {} MiB in {} fragments {what}; peak of memory {peak}, {:.1} s",
        before.rows(),
        bytes >> 20,
        before.fragments().len(),
        started.elapsed().as_secs_f64()
    );
}
