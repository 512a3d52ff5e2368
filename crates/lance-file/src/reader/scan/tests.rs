//! The plan of a scan, on fields that are made up.

use std::ops::Range;
use std::sync::Mutex;
use std::thread::ThreadId;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{StringArray, UInt64Array};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use bytes::Bytes;
use futures::TryStreamExt;
use lance_encoding::FieldReader;
use lance_footer::{Ask, Extent, FormatError, Machine, Ready};
use lance_io::{Counting, MemoryFile};

use super::*;

/// A field whose value is the row number, and which says that a row costs so many bytes.
struct Numbers {
    rows: u64,
    cost: u64,
    decoded: Arc<Decoded>,
    broken_from: u64,
    most: usize,
    text: Option<usize>,
}

/// What was decoded: rows, and on which thread.
#[derive(Default)]
struct Decoded(Mutex<Vec<(usize, ThreadId)>>);

impl Decoded {
    fn times(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// One byte is read for each load.
struct Load(Option<Arc<dyn Loaded>>, bool);

impl Machine for Load {
    type Output = Arc<dyn Loaded>;

    fn step(
        &mut self,
        _: Vec<lance_footer::Answer>,
    ) -> Result<lance_footer::Step<Self::Output>, FormatError> {
        if std::mem::replace(&mut self.1, true) {
            return Ok(lance_footer::Step::Ready(self.0.take().unwrap()));
        }
        Ok(lance_footer::Step::Fetch(vec![Ask::slices(vec![Extent::new(0, 1)?])]))
    }
}

struct LoadedNumbers {
    rows: Vec<u64>,
    decoded: Arc<Decoded>,
    broken_from: u64,
    most: usize,
    text: Option<usize>,
}

impl FieldReader for Numbers {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn weight(&self) -> usize {
        0
    }

    fn prepare(&self, rows: &Rows) -> Result<Option<Box<dyn Machine<Output = ()>>>, FormatError> {
        assert!(!rows.is_empty());
        Ok(Some(Box::new(Ready::new(()))))
    }

    fn cost(&self, rows: Range<u64>) -> Option<u64> {
        Some((rows.end - rows.start) * self.cost)
    }

    fn load(
        &self,
        rows: &Rows,
        _: Option<Arc<[u32]>>,
    ) -> Result<Box<dyn Machine<Output = Arc<dyn Loaded>>>, FormatError> {
        let loaded = LoadedNumbers {
            rows: rows.iter().collect(),
            decoded: Arc::clone(&self.decoded),
            broken_from: self.broken_from,
            most: self.most,
            text: self.text,
        };
        Ok(Box::new(Load(Some(Arc::new(loaded)), false)))
    }
}

impl Loaded for LoadedNumbers {
    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn decode(&self, part: Range<u64>, _: &mut Allowance) -> Result<ArrayRef, FormatError> {
        let part = &self.rows[part.start as usize..part.end as usize];
        self.decoded.0.lock().unwrap().push((part.len(), std::thread::current().id()));
        if part.len() > self.most {
            return Err(FormatError::OverBudget { what: "values".into(), needed: 2, allowed: 1 });
        }
        if part.iter().any(|row| *row >= self.broken_from) {
            return Err(FormatError::corrupt("page 3", "it is made up"));
        }
        Ok(match self.text {
            None => Arc::new(UInt64Array::from(part.to_vec())),
            Some(len) => Arc::new(StringArray::from_iter_values(part.iter().map(|_| "x".repeat(len)))),
        })
    }
}

struct Setup {
    decoded: Arc<Decoded>,
    counting: Arc<Counting>,
    stream: BatchStream,
}

struct Plan {
    rows: Rows,
    cost: u64,
    batch_rows: u64,
    batch_bytes: u64,
    read_ahead: u64,
    broken_from: u64,
    /// So many rows are decoded at once, and no more.
    most: usize,
    /// The value is a text of this length instead.
    text: Option<usize>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            rows: Rows::range(0..100_000),
            cost: 8,
            batch_rows: 8192,
            batch_bytes: 32 << 20,
            read_ahead: 64 << 20,
            broken_from: u64::MAX,
            most: usize::MAX,
            text: None,
        }
    }
}

fn setup(plan: Plan) -> Setup {
    let decoded = Arc::new(Decoded::default());
    let file = Arc::new(MemoryFile::new("made.lance", Bytes::from_static(b"x")));
    let counting = Arc::new(Counting::new(file));
    let data_type = if plan.text.is_some() { DataType::Utf8 } else { DataType::UInt64 };
    let schema = ArrowSchema::new(vec![ArrowField::new("n", data_type, true)]);
    let reader = Arc::new(Numbers {
        rows: u64::MAX,
        cost: plan.cost,
        decoded: Arc::clone(&decoded),
        broken_from: plan.broken_from,
        most: plan.most,
        text: plan.text,
    });
    let target = Target {
        budget: DecodeBudget::default(),
        source: counting.clone(),
        schema: Arc::new(schema),
        fields: vec![OpenField { name: "n".into(), reader }],
        batch_rows: plan.batch_rows,
        batch_bytes: plan.batch_bytes,
    };
    let stream = Scan::new(target, plan.rows, plan.read_ahead).stream();
    Setup { decoded, counting, stream }
}

async fn collect(stream: BatchStream) -> (Vec<usize>, Vec<u64>) {
    let batches: Vec<_> = stream.try_collect().await.unwrap();
    let sizes = batches.iter().map(RecordBatch::num_rows).collect();
    let values =
        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<UInt64Type>().values().to_vec());
    (sizes, values.collect())
}

#[tokio::test]
async fn batches_come_in_order_and_full() {
    for batch_rows in [1000, 8192, 30_000] {
        let setup = setup(Plan { batch_rows, ..Plan::default() });
        let (sizes, values) = collect(setup.stream).await;
        let (last, full) = sizes.split_last().unwrap();
        assert!(full.iter().all(|size| *size as u64 == batch_rows), "{sizes:?}");
        assert!(*last as u64 <= batch_rows);
        assert_eq!(values, (0..100_000).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_unit_is_decoded_once_for_many_batches() {
    let wide = setup(Plan { batch_rows: 10, cost: 1 << 10, ..Plan::default() });
    let (sizes, _) = collect(wide.stream).await;
    assert_eq!(sizes.len(), 10_000);
    assert_eq!(wide.decoded.times(), 100_000_usize.div_ceil(8200));
    assert_eq!(wide.counting.requests(), 13);
}

#[tokio::test]
async fn units_of_narrow_rows_are_longer() {
    // 15 times 8192 rows of 8 bytes and a bit are almost a mebibyte.
    let narrow = setup(Plan { rows: Rows::range(0..1_000_000), ..Plan::default() });
    let (sizes, values) = collect(narrow.stream).await;
    assert_eq!(values, (0..1_000_000).collect::<Vec<_>>());
    assert_eq!(sizes.len(), 1_000_000_usize.div_ceil(8192));
    assert_eq!(narrow.counting.requests(), 1_000_000_u64.div_ceil(15 * 8192));
}

#[tokio::test]
async fn bytes_bound_batches() {
    // By what is read ...
    let wide = Plan { rows: Rows::range(0..100), cost: 1 << 20, batch_bytes: 10 << 20, ..Plan::default() };
    let (sizes, values) = collect(setup(wide).stream).await;
    assert_eq!(sizes, [10; 10]);
    assert_eq!(values, (0..100).collect::<Vec<_>>());
    // ... by what it takes in memory, although the file has next to nothing ...
    let narrow = Plan { cost: 0, batch_bytes: 813, rows: Rows::range(0..1000), ..Plan::default() };
    assert_eq!(collect(setup(narrow).stream).await.0, [100; 10]);
    // ... and a row that is more than that comes alone.
    let huge = Plan { cost: 1 << 40, rows: Rows::range(7..10), ..Plan::default() };
    assert_eq!(collect(setup(huge).stream).await, (vec![1; 3], vec![7, 8, 9]));
}

#[tokio::test]
async fn chosen_rows_only() {
    let rows: Vec<u64> = (0..50_000).map(|n| n * 1000 + n % 7).collect();
    let plan = Plan { rows: Rows::from_indices(&rows), batch_rows: 777, ..Plan::default() };
    let (sizes, values) = collect(setup(plan).stream).await;
    assert_eq!(values, rows);
    assert!(sizes.iter().rev().skip(1).all(|size| *size == 777), "{sizes:?}");
}

#[tokio::test]
async fn no_more_is_read_ahead_than_asked() {
    let plan = Plan { cost: 1 << 10, read_ahead: 1, ..Plan::default() };
    let mut setup = setup(plan);
    assert_eq!(setup.counting.requests(), 0);
    setup.stream.try_next().await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(setup.counting.requests() <= 2);
    drop(setup.stream);
}

#[tokio::test]
async fn an_error_names_the_field_and_ends_the_stream() {
    let mut setup = setup(Plan { broken_from: 50_000, cost: 1 << 10, ..Plan::default() });
    let mut rows = 0;
    let error = loop {
        match setup.stream.try_next().await {
            Ok(batch) => rows += batch.unwrap().num_rows(),
            Err(error) => break error,
        }
    };
    assert_eq!(rows, 6 * 8192);
    assert_eq!(error.to_string(), "made.lance: field n: page 3 is corrupt: it is made up");
    assert!(setup.stream.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn no_rows_no_batches() {
    let setup = setup(Plan { rows: Rows::default(), ..Plan::default() });
    assert_eq!(collect(setup.stream).await.0.len(), 0);
    assert_eq!(setup.counting.requests(), 0);
}

/// Small units are decoded where they were read; what turns out to be more goes elsewhere, whatever was thought of it.
#[tokio::test]
async fn units_that_take_more_than_was_thought_are_decoded_elsewhere() {
    let small = setup(Plan { rows: Rows::range(0..100), ..Plan::default() });
    collect(small.stream).await;
    let here = std::thread::current().id();
    assert_eq!(*small.decoded.0.lock().unwrap(), [(100, here)]);
    for most in [1, 7, 64] {
        let wrong = setup(Plan { rows: Rows::range(0..100), most, ..Plan::default() });
        assert_eq!(collect(wrong.stream).await.1, (0..100).collect::<Vec<_>>());
        let decoded = wrong.decoded.0.lock().unwrap();
        // The first time, with little to lose.
        assert_eq!(decoded[0], (100, here));
        assert!(decoded[1..].iter().all(|(_, thread)| *thread != here), "{decoded:?}");
    }
    // A single row, with all of the budget.
    let hopeless = setup(Plan { rows: Rows::range(0..10), most: 0, ..Plan::default() });
    assert!(hopeless.stream.try_collect::<Vec<_>>().await.unwrap_err().is_over_budget());
    assert!(hopeless.decoded.0.lock().unwrap()[1..].iter().all(|(_, thread)| *thread != here));
}

/// Rows that take many times more bytes than they cost to read: units get as long as fits, and stay so, however many were on
/// their way before that was known.
#[tokio::test]
async fn units_get_as_short_as_they_need_to_and_no_shorter() {
    const ROWS: u64 = 1_000_000;
    const BATCH_BYTES: u64 = 1 << 20;
    for (text, cost) in [(40, 8), (400, 8), (40, 1)] {
        let rows = Rows::range(0..ROWS);
        let plan = Plan { rows, cost, batch_bytes: BATCH_BYTES, text: Some(text), ..Plan::default() };
        let wide = setup(plan);
        let batches = wide.stream.try_collect::<Vec<_>>().await.unwrap();
        assert_eq!(batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>(), ROWS);
        let units = wide.decoded.times() as u64;
        let fewest = ROWS * (text as u64 + 4) / BATCH_BYTES;
        assert!(units <= fewest * 3 + 40, "{units} units for {fewest} times {BATCH_BYTES} bytes");
    }
}
