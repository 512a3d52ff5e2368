//! The bounds that the project holds itself to, each measured against its rival in the same run.
//!
//! `cargo bench -p demilance-benches --bench bounds` prints one line a bound: what was measured, the limit, and
//! whether it is met. Figures are medians over interleaved repetitions; everything is warm in the page cache.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{Array, RecordBatch};
use demilance::{Dataset, WriteOptions};
use demilance_benches::{
    BATCH, FRAMES, Scratch, batches, floats, frames, median, random_rows, runtime, vectors,
};
use futures::TryStreamExt;
use lance_file::{FileReader, ScanOptions};
use lance_footer::Extent;
use lance_io::Counting;
use tokio::runtime::Runtime;

fn main() {
    // `cargo test --benches` and `--list` must not measure anything.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = runtime();
    let scratch = Scratch::new();
    take_images(&runtime, &scratch);
    take_from_fragments(&runtime, &scratch);
    take_states(&runtime, &scratch);
    scan_vectors(&runtime, &scratch);
}

/// Random images against raw positioned reads of the same bytes into one fresh slab.
fn take_images(runtime: &Runtime, scratch: &Scratch) {
    runtime.block_on(scratch.lance("frames.lance", &frames(FRAMES)));
    let (reader, counting) = counted(runtime, scratch, "frames.lance");
    let projection = reader.schema().project(&["image"]).unwrap();
    let file = File::open(scratch.path().join("frames.lance")).unwrap();

    // Lookup tables of every page, as a loader that runs for a while has them.
    let all: Vec<u64> = (0..FRAMES as u64).step_by(20).collect();
    runtime.block_on(reader.take(&all, &projection)).unwrap();

    let (mut ours, mut raw, mut bytes, mut useful) = (vec![], vec![], 0, 0);
    for seed in 0..40 {
        let rows = random_rows(BATCH, FRAMES, 100 + seed);
        counting.reset();
        let start = Instant::now();
        let batch = runtime.block_on(reader.take(&rows, &projection)).unwrap();
        ours.push(start.elapsed());
        bytes += counting.bytes();
        useful += batch.column(0).to_data().buffers()[1].len() as u64;
        drop(batch);

        let extents = counting.extents();
        let start = Instant::now();
        black_box(read_raw(&file, &extents));
        raw.push(start.elapsed());
    }
    let (ours, raw) = (median(ours), median(raw));
    println!("take {BATCH} random images, warm: {ours:?}, raw positioned reads {raw:?}");
    bound("  take / raw reads", ours.as_secs_f64() / raw.as_secs_f64(), 1.5);
    bound("  bytes read / bytes of the images", bytes as f64 / useful as f64, 1.5);
}

/// The same from a table of 60 fragments, as appending day by day makes it. No bound: for orientation.
fn take_from_fragments(runtime: &Runtime, scratch: &Scratch) {
    let uri = scratch.path().join("frames-table.lance").display().to_string();
    let options = WriteOptions { max_rows_per_fragment: FRAMES as u64 / 60, ..WriteOptions::default() };
    let data = batches(&frames(FRAMES));
    let table = runtime.block_on(Dataset::write(&uri, data, options)).unwrap();
    let all: Vec<u64> = (0..FRAMES as u64).step_by(20).collect();
    runtime.block_on(table.take_columns(&all, &["image"])).unwrap();
    let mut times = vec![];
    for seed in 0..40 {
        let rows = random_rows(BATCH, FRAMES, 100 + seed);
        let start = Instant::now();
        black_box(runtime.block_on(table.take_columns(&rows, &["image"])).unwrap());
        times.push(start.elapsed());
    }
    println!(
        "take {BATCH} random images from {} fragments, warm: {:?}",
        table.fragments().len(),
        median(times)
    );
}

/// Random states of 128 bytes: how much is read for one.
fn take_states(runtime: &Runtime, scratch: &Scratch) {
    let (reader, counting) = counted(runtime, scratch, "frames.lance");
    let projection = reader.schema().project(&["state"]).unwrap();
    counting.reset();
    runtime.block_on(reader.take(&[0], &projection)).unwrap();
    let lookup = counting.bytes();
    let mut most = 0;
    for row in random_rows(64, FRAMES, 7) {
        counting.reset();
        runtime.block_on(reader.take(&[row], &projection)).unwrap();
        most = most.max(counting.bytes());
    }
    println!("take 1 random state: first take reads {lookup} bytes, with lookup tables at most {most}");
    bound("  bytes per state / 32 KiB", most as f64 / (32.0 * 1024.0), 1.0);

    let mut times = vec![];
    for seed in 0..40 {
        let rows = random_rows(BATCH, FRAMES, 200 + seed);
        let start = Instant::now();
        black_box(runtime.block_on(reader.take(&rows, &projection)).unwrap());
        times.push(start.elapsed());
    }
    println!("take {BATCH} random states of {FRAMES}, warm: {:?}", median(times));
}

/// A flat vector column against memcpy of the same bytes into memory that is there already.
fn scan_vectors(runtime: &Runtime, scratch: &Scratch) {
    let column = vectors(500_000, 128);
    let batch = RecordBatch::try_from_iter([("vector", column.clone())]).unwrap();
    let reader = runtime.block_on(scratch.lance("vectors.lance", &batch));
    let source = floats(&column);
    let size = std::mem::size_of_val(source);
    let mut target = vec![1.0_f32; source.len()];

    let (mut ours, mut memcpy) = (vec![], vec![]);
    for _ in 0..15 {
        let start = Instant::now();
        let rows = runtime.block_on(async {
            let stream = reader.scan(ScanOptions::default()).unwrap();
            stream.try_fold(0, |rows, batch| async move { Ok(rows + black_box(batch).num_rows()) }).await
        });
        ours.push(start.elapsed());
        assert_eq!(rows.unwrap(), batch.num_rows());
        let start = Instant::now();
        black_box(&mut target[..]).copy_from_slice(black_box(source));
        black_box(&target);
        memcpy.push(start.elapsed());
    }
    let (ours, memcpy) = (median(ours), median(memcpy));
    let rate = |time: Duration| size as f64 / time.as_secs_f64() / 1e9;
    println!(
        "scan {} MB of f32 vectors: {:.2} GB/s, memcpy {:.2} GB/s",
        size / 1_000_000,
        rate(ours),
        rate(memcpy)
    );
    bound("  memcpy rate / scan rate", ours.as_secs_f64() / memcpy.as_secs_f64(), 2.0);
}

fn counted(runtime: &Runtime, scratch: &Scratch, name: &str) -> (FileReader, Arc<Counting>) {
    runtime.block_on(async {
        let file = scratch.store().open_file(name, None).await.unwrap();
        let counting = Arc::new(Counting::new(file));
        (FileReader::open(counting.clone()).await.unwrap(), counting)
    })
}

fn read_raw(file: &File, extents: &[Extent]) -> Vec<u8> {
    let mut slab = vec![0; extents.iter().map(|extent| extent.len() as usize).sum()];
    let mut rest = &mut slab[..];
    for extent in extents {
        let (part, after) = rest.split_at_mut(extent.len() as usize);
        file.read_exact_at(part, extent.offset()).unwrap();
        rest = after;
    }
    slab
}

fn bound(what: &str, value: f64, limit: f64) {
    let met = if value <= limit { "met" } else { "NOT MET" };
    println!("{what}: {value:.2} (limit {limit}): {met}");
}
