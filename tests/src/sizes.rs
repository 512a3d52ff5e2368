//! The data by which file sizes are compared with the reference and with Parquet. All from fixed seeds, but for the
//! recordings, which are what they are.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, UInt8Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Rows of a batch, as a stream would bring them.
const BATCH: usize = 8192;

/// Rows of the tables that are made up, except of vectors, which have a quarter.
pub const ROWS: usize = 2_000_000;

/// A table whose size is measured.
#[derive(Debug, Clone)]
pub struct Table {
    /// What it holds.
    pub name: &'static str,
    /// Its schema.
    pub schema: SchemaRef,
    /// Its rows.
    pub batches: Vec<RecordBatch>,
}

impl Table {
    /// Bytes of its values in memory.
    pub fn bytes(&self) -> usize {
        let whole = arrow_select::concat::concat_batches(&self.schema, &self.batches).unwrap();
        whole.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
    }

    /// Its number of rows.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn of(name: &'static str, column: ArrayRef) -> Self {
        let nullable = column.null_count() > 0 || column.data_type().is_nested();
        let field = Field::new(name, column.data_type().clone(), nullable);
        let schema = Arc::new(Schema::new(vec![field]));
        let whole = RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap();
        let starts = (0..whole.num_rows()).step_by(BATCH);
        let batches = starts.map(|at| whole.slice(at, BATCH.min(whole.num_rows() - at))).collect();
        Self { name, schema, batches }
    }
}

/// The names of the tables that are made up.
pub const MADE: &[&str] = &[
    "ids",
    "timestamps",
    "ints of 5 bits",
    "ints of 17 bits",
    "ints of 40 bits",
    "sensor noise",
    "labels",
    "urls",
    "sentences",
    "flags with runs",
    "nested lists",
    "wide struct",
    "vectors",
];

/// The table `name`, with `rows` rows.
pub fn made(name: &'static str, rows: usize) -> Table {
    let mut random = StdRng::seed_from_u64(name.len() as u64);
    Table::of(name, column(name, rows, &mut random))
}

/// The recordings of a robot below `data`: episodes, and frames with images.
pub fn recorded(data: &Path) -> Vec<Table> {
    let mut episodes: Vec<_> = std::fs::read_dir(data.join("g1/data/chunk-000"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    episodes.sort();
    vec![load("g1 episodes", &episodes), load("g1 frames", &[data.join("g1/frames.parquet")])]
}

fn column(name: &str, rows: usize, random: &mut StdRng) -> ArrayRef {
    match name {
        "ids" => Arc::new(Int64Array::from_iter_values(0..rows as i64)),
        "timestamps" => {
            let mut time = 1_700_000_000_000_000_i64;
            let times = (0..rows).map(|_| {
                time += random.random_range(33_000..34_000);
                time
            });
            Arc::new(TimestampMicrosecondArray::from_iter_values(times.collect::<Vec<_>>()))
        }
        "ints of 5 bits" => bits(5, rows, random),
        "ints of 17 bits" => bits(17, rows, random),
        "ints of 40 bits" => bits(40, rows, random),
        "sensor noise" => noise(rows, random),
        "labels" => {
            let labels: Vec<_> = (0..60).map(|at| format!("label_{at:02}_{}", at * at)).collect();
            let pick = (0..rows).map(|_| labels[random.random_range(0..labels.len())].as_str());
            Arc::new(StringArray::from_iter_values(pick))
        }
        "urls" => Arc::new(StringArray::from_iter_values((0..rows).map(|row| url(row, random)))),
        "sentences" => {
            let words = vocabulary(150, random);
            Arc::new(StringArray::from_iter_values((0..rows).map(|_| sentence(&words, random))))
        }
        "flags with runs" => {
            let mut flags = Vec::with_capacity(rows);
            while flags.len() < rows {
                let (flag, run) = (flags.len() % 2 == 0, random.random_range(1..2000));
                flags.extend(std::iter::repeat_n(flag, run));
            }
            flags.truncate(rows);
            Arc::new(BooleanArray::from(flags))
        }
        "nested lists" => nested(rows, random),
        "wide struct" => wide(rows, random),
        "vectors" => {
            let (rows, dimension) = (rows / 4, 64);
            let values = (0..rows * dimension).map(|_| random.random::<f32>() - 0.5);
            let item = Arc::new(Field::new("item", DataType::Float32, true));
            let values = Arc::new(Float32Array::from_iter_values(values));
            Arc::new(FixedSizeListArray::new(item, dimension as i32, values, None))
        }
        other => panic!("no table {other}"),
    }
}

fn bits(bits: u32, rows: usize, random: &mut StdRng) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((0..rows).map(|_| random.random_range(0..1 << bits))))
}

/// A signal of a sensor around 9.81 that is off by a little in each sample.
fn noise(rows: usize, random: &mut StdRng) -> ArrayRef {
    let noise = (0..rows).map(|row| {
        let off: f32 = (0..4).map(|_| random.random::<f32>() - 0.5).sum();
        9.81 + (row as f32 / 500.0).sin() + off / 20.0
    });
    Arc::new(Float32Array::from_iter_values(noise))
}

fn url(row: usize, random: &mut StdRng) -> String {
    const HOSTS: &[&str] =
        &["robots.example.com", "data.example.org", "cdn.lab.example.net", "archive.example.edu"];
    const KINDS: &[&str] =
        &["camera/front", "camera/wrist-left", "camera/wrist-right", "depth/head", "audio"];
    let (host, kind) =
        (HOSTS[random.random_range(0..HOSTS.len())], KINDS[random.random_range(0..KINDS.len())]);
    let unit = random.random_range(0..400);
    let token = random.random::<u16>();
    format!("https://{host}/unit-{unit:03}/episodes/{:06}/{kind}/{token:04x}.jpg", row / 300)
}

/// Made-up words, the first of which are to be used often.
fn vocabulary(count: usize, random: &mut StdRng) -> Vec<String> {
    const START: &[&str] =
        &["b", "br", "c", "d", "f", "g", "gr", "h", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "w"];
    const END: &[&str] =
        &["ab", "ake", "al", "ed", "en", "er", "ing", "ion", "ist", "o", "ock", "ong", "or", "ust", "y"];
    (0..count)
        .map(|_| {
            let mut word = String::new();
            for _ in 0..random.random_range(1..4) {
                word += START[random.random_range(0..START.len())];
                word += END[random.random_range(0..END.len())];
            }
            word
        })
        .collect()
}

/// Twelve words.
fn sentence(words: &[String], random: &mut StdRng) -> String {
    let mut sentence = String::new();
    for word in 0..12 {
        // Squared, so that some words are much more frequent than others, as in a language.
        let rank = random.random::<f64>();
        let at = (rank * rank * words.len() as f64) as usize;
        let _ = write!(sentence, "{}{}", if word == 0 { "" } else { " " }, words[at]);
    }
    sentence
}

/// Lists of lists of small numbers; some are empty, a few are null.
fn nested(rows: usize, random: &mut StdRng) -> ArrayRef {
    let lengths: Vec<usize> = (0..rows).map(|_| random.random_range(0..4)).collect();
    let inner: Vec<usize> = (0..lengths.iter().sum()).map(|_| random.random_range(0..4)).collect();
    let values = Int32Array::from_iter_values((0..inner.iter().sum()).map(|_| random.random_range(0..1000)));
    let item = |kind: &DataType| Arc::new(Field::new("item", kind.clone(), true));
    let inner =
        ListArray::new(item(&DataType::Int32), OffsetBuffer::from_lengths(inner), Arc::new(values), None);
    let nulls: NullBuffer =
        lengths.iter().map(|_| random.random_range(0..50) != 0).collect::<Vec<_>>().into();
    let lengths =
        lengths.iter().enumerate().map(|(row, length)| if nulls.is_null(row) { 0 } else { *length });
    let offsets = OffsetBuffer::from_lengths(lengths);
    Arc::new(ListArray::new(item(inner.data_type()), offsets, Arc::new(inner), Some(nulls)))
}

/// A struct of twelve members that are null at times; so is the struct, for some time.
fn wide(rows: usize, random: &mut StdRng) -> ArrayRef {
    let nulls = |random: &mut StdRng, one_in: u32| -> Option<NullBuffer> {
        Some((0..rows).map(|_| random.random_range(0..one_in) != 0).collect::<Vec<_>>().into())
    };
    let states = ["idle", "reaching", "grasping", "lifting", "placing"];
    let mut members: Vec<(String, ArrayRef)> = vec![];
    for at in 0..2 {
        let ints = (0..rows).map(|_| random.random_range(-500..500)).collect::<Vec<i32>>();
        members.push((format!("count_{at}"), Arc::new(Int32Array::new(ints.into(), nulls(random, 10)))));
        let floats = (0..rows).map(|row| (row as f64 / 100.0).cos() + random.random::<f64>() / 1000.0);
        let floats = floats.collect::<Vec<_>>();
        members.push((format!("pose_{at}"), Arc::new(Float64Array::new(floats.into(), nulls(random, 100)))));
        let bytes = (0..rows).map(|_| random.random_range(0..7)).collect::<Vec<u8>>();
        members.push((format!("mode_{at}"), Arc::new(UInt8Array::new(bytes.into(), nulls(random, 3)))));
        let steps = (0..rows).map(|row| ((row / 700) % 90) as i16).collect::<Vec<_>>();
        members.push((format!("step_{at}"), Arc::new(Int16Array::new(steps.into(), nulls(random, 50)))));
        let state = (0..rows).map(|row| {
            let state = states[(row / 90) % states.len()];
            (random.random_range(0..20) != 0).then_some(state)
        });
        members.push((format!("state_{at}"), Arc::new(state.collect::<StringArray>())));
        let flags = (0..rows).map(|row| Some((row / 250) % 3 == 0));
        members.push((format!("touch_{at}"), Arc::new(flags.collect::<BooleanArray>())));
    }
    let fields: Fields =
        members.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
    let columns = members.into_iter().map(|(_, array)| array).collect();
    let present: NullBuffer = (0..rows).map(|row| (row / 1000) % 20 != 7).collect::<Vec<_>>().into();
    Arc::new(StructArray::new(fields, columns, Some(present)))
}

/// The rows of Parquet files, one after the other; names without dots, without the metadata of other software.
fn load(name: &'static str, sources: &[std::path::PathBuf]) -> Table {
    let mut schema = None;
    let mut batches = vec![];
    for source in sources {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(source).unwrap()).unwrap();
        let fields = builder.schema().fields().iter();
        let fields = fields.map(|field| field.as_ref().clone().with_name(field.name().replace('.', "_")));
        let plain = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let plain = schema.get_or_insert(plain);
        for batch in builder.with_batch_size(BATCH).build().unwrap() {
            let columns = batch.unwrap().columns().to_vec();
            batches.push(RecordBatch::try_new(Arc::clone(plain), columns).unwrap());
        }
    }
    Table { name, schema: schema.unwrap(), batches }
}
