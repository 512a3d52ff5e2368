//! How much memory a compaction takes: `cargo run -p demilance-tests --example compact_memory -- DIR [MIB]`.
//!
//! Makes a table of pictures, vectors and texts in DIR, 1 GiB if nothing else is said, in a process of its own, and one of
//! narrow columns. Compacts each, all fragments into one, prints the peak of its own memory, and removes DIR.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeListArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use lance_io::Store;
use lance_table::{CompactionOptions, Table, WriteMode, WriteOptions};
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
        ["compact", kind, directory] => runtime.block_on(compact(kind, directory)),
        [directory] | [directory, _] => {
            let mib = words.get(1).copied().unwrap_or("1024");
            for kind in ["wide", "narrow"] {
                let table = format!("{directory}/{kind}.lance");
                again(&["build", kind, &table, mib]);
                again(&["compact", kind, &table]);
                std::fs::remove_dir_all(table).unwrap();
            }
        }
        _ => {
            eprintln!("usage: compact_memory DIR [MIB]");
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
    let row_bytes = if kind == "wide" { 32 << 10 } else { 64 * 8 };
    let rows = ((mib << 20) / row_bytes / FRAGMENTS).max(1);
    let mut written = 0;
    for _ in 0..FRAGMENTS {
        let starts = (0..rows).step_by(usize::try_from(BATCH).unwrap());
        let batches = starts.map(|start| {
            let range = written + start..written + rows.min(start + BATCH);
            if kind == "wide" { wide(&mut random, range) } else { narrow(&mut random, range) }
        });
        let options = WriteOptions { mode: WriteMode::Append, ..Default::default() };
        let batches = batches.collect::<Vec<_>>();
        Table::write(Store::local(directory), batches.into(), options).await.unwrap();
        written += rows;
    }
}

/// A picture that does not compress, a vector and a text.
fn wide(random: &mut SmallRng, rows: std::ops::Range<u64>) -> RecordBatch {
    let pictures = rows.clone().map(|_| {
        let mut picture = vec![0_u8; random.random_range(20_000..36_000)];
        random.fill(&mut picture[..]);
        picture
    });
    let pictures: ArrayRef = Arc::new(BinaryArray::from_iter_values(pictures));
    let vectors =
        rows.clone().map(|_| Some((0..768).map(|_| Some(random.random::<f32>())).collect::<Vec<_>>()));
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 768);
    let texts = rows.clone().map(|row| format!("episode {} step {}", row / 500, row % 500));
    let columns = [
        ("id", Arc::new(Int64Array::from_iter_values(rows.map(|row| row as i64))) as ArrayRef),
        ("text", Arc::new(StringArray::from_iter_values(texts))),
        ("vector", Arc::new(vectors)),
        ("picture", pictures),
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

async fn compact(kind: &str, directory: &str) {
    let table = Table::open(Store::local(directory), None).await.unwrap();
    let started = Instant::now();
    let done =
        table.compact(&CompactionOptions { target_rows: 1 << 30, ..Default::default() }).await.unwrap();
    let bytes = done.groups.iter().flat_map(|group| group.old()).map(|old| old.bytes).sum::<u64>();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    println!(
        "{kind}: {} rows, {} MiB in {} fragments became {}; peak of memory {peak}, {:.1} s",
        done.table.rows(),
        bytes >> 20,
        table.fragments().len(),
        done.table.fragments().len(),
        started.elapsed().as_secs_f64()
    );
    assert_eq!(done.table.rows(), table.rows());
}
