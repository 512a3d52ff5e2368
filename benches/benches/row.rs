//! Fory rows beside the crate `fory`: a row of 20 fields, two of them text and one a list of 32 int32.
//!
//! `cargo bench -p demilance-benches --bench row` prints a line a comparison: the time of each side, how many times
//! faster we are, and the bound that the project holds itself to. Figures are medians over interleaved repetitions.
//! Both sides write into a buffer that is used again.

#![allow(missing_docs, clippy::unwrap_used, clippy::cast_precision_loss)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use demilance_benches::median;
use fory_row::{BatchRows, Compact, Format, ForyRow as _, Layout, RowFormat, Rows, Schema, Standard};

/// The same struct for both macros.
macro_rules! sample {
    ($derive:path) => {
        #[derive(Debug, Clone, $derive)]
        pub struct Sample {
            pub frame: i64,
            pub episode: i64,
            pub task: i32,
            pub camera: i32,
            pub exposure: i16,
            pub gain: i16,
            pub quality: i8,
            pub done: bool,
            pub success: bool,
            pub x: f64,
            pub y: f64,
            pub z: f64,
            pub roll: f32,
            pub pitch: f32,
            pub yaw: f32,
            pub time: i64,
            pub reward: Option<f64>,
            pub robot: String,
            pub instruction: String,
            pub joints: Vec<i32>,
        }

        pub fn sample() -> Sample {
            Sample {
                frame: 1 << 33,
                episode: 17,
                task: 3,
                camera: 1,
                exposure: 250,
                gain: -3,
                quality: 100,
                done: false,
                success: true,
                x: 0.25,
                y: -1.5,
                z: 0.75,
                roll: 0.1,
                pitch: 0.2,
                yaw: 0.3,
                time: 1_700_000_000_123_456,
                reward: Some(0.5),
                robot: "g1-left-arm".into(),
                instruction: "put the red cube into the white bowl".into(),
                joints: (0..32).map(|joint| joint * 1000 - 16_000).collect(),
            }
        }
    };
}

#[allow(dead_code, reason = "not every getter is raced")]
mod ours {
    sample!(fory_row::ForyRow);
}

mod theirs {
    sample!(fory::ForyRow);
}

fn main() {
    // `cargo test --benches` and `--list` must not measure anything.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let standard = fory::to_row(&theirs::sample()).unwrap();
    let compact = ours::sample().to_row::<Compact>().unwrap();
    assert_eq!(ours::sample().to_row::<Standard>().unwrap(), standard, "the same bytes");
    println!("bytes a row: standard {}, compact {}", standard.len(), compact.len());
    encode();
    getter(&standard, &compact);
    open_and_getter(&standard, &compact);
    list(&standard, &compact);
    decode(&standard, &compact);
    batches();
}

fn encode() {
    let (ours, theirs) = (ours::sample(), theirs::sample());
    let (mut first, mut second, mut third) = (vec![], vec![], vec![]);
    race(
        "encode",
        3.0,
        || fory::to_row_into(black_box(&theirs), &mut first).unwrap(),
        || write::<Standard>(&ours, &mut second),
        || write::<Compact>(&ours, &mut third),
    );
}

fn write<F: RowFormat>(sample: &ours::Sample, buffer: &mut Vec<u8>) {
    buffer.clear();
    black_box(sample).write_row::<F>(buffer).unwrap();
    black_box(&buffer);
}

fn getter(standard: &[u8], compact: &[u8]) {
    let theirs = fory::from_row::<theirs::Sample>(standard).unwrap();
    let view = ours::Sample::view_row::<Standard>(standard).unwrap();
    let small = ours::Sample::view_row::<Compact>(compact).unwrap();
    race(
        "one i64 of an open row",
        4.0,
        || black_box(&theirs).time().unwrap(),
        || black_box(&view).time().unwrap(),
        || black_box(&small).time().unwrap(),
    );
    let layout = Layout::new(ours::Sample::schema().unwrap(), Format::Standard).unwrap();
    let row = layout.row(standard).unwrap();
    let time = repeat(|| black_box(&row).get::<i64>(15).unwrap());
    println!("the same where the schema is only known at run time: {:.2} ns", nanoseconds(time));
}

fn open_and_getter(standard: &[u8], compact: &[u8]) {
    race(
        "open and one i64",
        4.0,
        || fory::from_row::<theirs::Sample>(black_box(standard)).unwrap().time().unwrap(),
        || ours::Sample::view_row::<Standard>(black_box(standard)).unwrap().time().unwrap(),
        || ours::Sample::view_row::<Compact>(black_box(compact)).unwrap().time().unwrap(),
    );
}

fn list(standard: &[u8], compact: &[u8]) {
    let theirs = fory::from_row::<theirs::Sample>(standard).unwrap();
    let view = ours::Sample::view_row::<Standard>(standard).unwrap();
    let small = ours::Sample::view_row::<Compact>(compact).unwrap();
    race(
        "sum of a list of 32 int32",
        2.0,
        || black_box(&theirs).joints().unwrap().iter().map(|joint| i64::from(joint.unwrap())).sum::<i64>(),
        || black_box(&view).joints().unwrap().iter().map(|joint| i64::from(joint.unwrap())).sum::<i64>(),
        || black_box(&small).joints().unwrap().iter().map(|joint| i64::from(joint.unwrap())).sum::<i64>(),
    );
}

fn decode(standard: &[u8], compact: &[u8]) {
    race(
        "decode to the struct",
        1.5,
        || their_struct(&fory::from_row::<theirs::Sample>(black_box(standard)).unwrap()),
        || ours::Sample::from_row::<Standard>(black_box(standard)).unwrap(),
        || ours::Sample::from_row::<Compact>(black_box(compact)).unwrap(),
    );
}

/// The crate has views only: the struct is made by hand, of all getters.
fn their_struct(view: &theirs::SampleRowView<'_>) -> theirs::Sample {
    theirs::Sample {
        frame: view.frame().unwrap(),
        episode: view.episode().unwrap(),
        task: view.task().unwrap(),
        camera: view.camera().unwrap(),
        exposure: view.exposure().unwrap(),
        gain: view.gain().unwrap(),
        quality: view.quality().unwrap(),
        done: view.done().unwrap(),
        success: view.success().unwrap(),
        x: view.x().unwrap(),
        y: view.y().unwrap(),
        z: view.z().unwrap(),
        roll: view.roll().unwrap(),
        pitch: view.pitch().unwrap(),
        yaw: view.yaw().unwrap(),
        time: view.time().unwrap(),
        reward: view.reward().unwrap(),
        robot: view.robot().unwrap().into(),
        instruction: view.instruction().unwrap().into(),
        joints: view.joints().unwrap().iter().collect::<Result<_, _>>().unwrap(),
    }
}

/// Record batches to rows and back, against a copy of the same rows. Rates are of the bytes of the rows.
fn batches() {
    let samples = (0..ROWS).map(|_| ours::sample().to_row::<Standard>().unwrap()).collect::<Vec<_>>();
    let standard = Layout::new(ours::Sample::schema().unwrap(), Format::Standard).unwrap();
    let batch = standard.decode_batch(samples.iter().map(Vec::as_slice)).unwrap();
    for format in [Format::Standard, Format::Compact] {
        let layout = Layout::new(ours::Sample::schema().unwrap(), format).unwrap();
        let mut rows = Rows::default();
        layout.encode_batch_to(&batch, &mut rows).unwrap();
        let bytes = rows.as_bytes().to_vec();
        let mut copy = vec![0; bytes.len()];
        let view = BatchRows::new(&batch, &layout).unwrap();
        let mut buffer = Vec::with_capacity(bytes.len());

        let (mut copied, mut encoded, mut single, mut decoded) = (vec![], vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            copied.push(timed(|| copy.copy_from_slice(black_box(&bytes))));
            encoded.push(timed(|| {
                rows.clear();
                layout.encode_batch_to(black_box(&batch), &mut rows).unwrap();
            }));
            single.push(timed(|| {
                buffer.clear();
                for row in 0..view.len() {
                    view.write_row(row, &mut buffer).unwrap();
                }
            }));
            decoded.push(timed(|| layout.decode_batch(rows.iter()).unwrap()));
        }
        assert_eq!(buffer, bytes, "one by one and by columns");
        let rates = [copied, encoded, single, decoded]
            .map(|times| bytes.len() as f64 / median(times).as_nanos() as f64);
        let [copied, encoded, single, decoded] = rates;
        println!(
            "{ROWS} rows, {format:?}: batch to rows {encoded:.2} GB/s, one by one {single:.2} GB/s, rows to batch \
             {decoded:.2} GB/s; memcpy {copied:.2} GB/s"
        );
    }
    numbers();
}

/// The same for rows of numbers only, which is what states of robots are.
fn numbers() {
    let columns = (0..16).map(|column| {
        let values = (0..ROWS).map(|row| (row * 16 + column) as f64);
        (format!("q{column}"), Arc::new(Float64Array::from_iter_values(values)) as ArrayRef)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let layout = Layout::new(Schema::from_arrow(&batch.schema()).unwrap(), Format::Compact).unwrap();
    let mut rows = layout.encode_batch(&batch).unwrap();
    let bytes = rows.as_bytes().to_vec();
    let mut copy = vec![0; bytes.len()];
    let (mut copied, mut encoded) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        copied.push(timed(|| copy.copy_from_slice(black_box(&bytes))));
        encoded.push(timed(|| {
            rows.clear();
            layout.encode_batch_to(black_box(&batch), &mut rows).unwrap();
        }));
    }
    let [copied, encoded] =
        [copied, encoded].map(|times| bytes.len() as f64 / median(times).as_nanos() as f64);
    println!("{ROWS} rows of 16 float64, Compact: batch to rows {encoded:.2} GB/s; memcpy {copied:.2} GB/s");
}

/// Rows of a batch.
const ROWS: usize = 8_192;
/// Turns of a comparison.
const ROUNDS: usize = 41;

fn timed<T>(call: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(call());
    start.elapsed()
}

/// Times the rival, our standard and our compact format in turns, and prints how many times faster standard is.
fn race<A, B, C>(
    what: &str,
    bound: f64,
    mut rival: impl FnMut() -> A,
    mut standard: impl FnMut() -> B,
    mut compact: impl FnMut() -> C,
) {
    let (mut rivals, mut standards, mut compacts) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        rivals.push(repeat(&mut rival));
        standards.push(repeat(&mut standard));
        compacts.push(repeat(&mut compact));
    }
    let [rival, standard, compact] = [rivals, standards, compacts].map(|times| nanoseconds(median(times)));
    let times = rival / standard;
    let verdict = if times >= bound { "met" } else { "NOT MET" };
    println!(
        "{what}: fory {rival:.2} ns, standard {standard:.2} ns = {times:.1} × faster \
         (at least {bound}: {verdict}); compact {compact:.2} ns"
    );
}

/// Calls in a row that are timed together: a call can be shorter than the clock is fine.
const CALLS: u32 = 20_000;

fn repeat<T>(mut call: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(call());
    }
    start.elapsed()
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / f64::from(CALLS)
}
