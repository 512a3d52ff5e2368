//! All rows, or many, as a stream of batches.
//!
//! ```text
//! rows ──▶ prepare (lookup tables of about a million rows)
//!            └──▶ unit ▶ unit ▶ unit     each a task: load, decode; several at a time, bounded in bytes
//!                   └──▶ batch ▶ batch   slices of the unit, bounded in rows and bytes
//! ```
//!
//! A unit is decoded once, however small the batches are. It never mixes with the next, so nothing is
//! copied to put batches together.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use lance_encoding::{Allowance, DecodeBudget, Loaded, row_bits};
use lance_footer::{Join, Machine, Rows};
use lance_io::{ReadAt, ReadBlocking, drive, drive_blocking};
use tokio::task::{JoinHandle, spawn_blocking};

use super::FileReader;
use super::fields::OpenField;
use super::take::batch;
use crate::pool::{compute, cut_off, decode_here};
use crate::{FileError, Result, Schema};

/// The batches of a scan.
pub type BatchStream = BoxStream<'static, Result<RecordBatch>>;

/// How a file is scanned.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// The fields to read; none for all. Blobs have their values, unless it is made by
    /// [`Schema::with_blob_descriptions`].
    pub projection: Option<Schema>,
    /// The rows to read, in order; none for all.
    pub rows: Option<Rows>,
    /// A batch has at most so many rows, and exactly as many where the bytes allow it.
    pub batch_rows: u32,
    /// A batch has at most about so many bytes, but always a row.
    pub batch_bytes: u64,
    /// About how many bytes are read and decoded ahead of the batch that is handed out.
    pub read_ahead_bytes: u64,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            projection: None,
            rows: None,
            batch_rows: 8192,
            batch_bytes: 8 << 20,
            read_ahead_bytes: 64 << 20,
        }
    }
}

/// A unit has at least so many rows, if its bytes allow it.
const UNIT_ROWS: u64 = 8192;

/// A unit of narrow rows has more, up to so many bytes: each is a read and a task, which cost as much as decoding
/// some hundred kilobytes.
const UNIT_BYTES: u64 = 1 << 20;

/// But no more than so many times [`UNIT_ROWS`].
const UNIT_GROWTH: u64 = 16;

/// Lookup tables are loaded for so many rows at a time.
const PREPARE_ROWS: u64 = 1 << 20;

/// How many times more bytes than was estimated a unit is believed to have.
const MAX_GROWTH: u64 = 1024;

/// However small they are, no more units than this are ahead.
const UNITS_AHEAD: usize = 16;

impl FileReader {
    /// A stream of the rows in order. It reads nothing before it is polled, and needs a Tokio runtime then.
    ///
    /// An error if a row is past the end, or if a field of the projection is not in the file.
    pub fn scan(&self, options: ScanOptions) -> Result<BatchStream> {
        let rows = options.rows.unwrap_or_else(|| Rows::range(0..self.rows()));
        if rows.end() > self.rows() {
            let (row, rows) = (rows.end() - 1, self.rows());
            return Err(FileError::RowOutOfRange { path: self.path().into(), row, rows });
        }
        let projection = options.projection.as_ref().unwrap_or(self.schema());
        let fields = self.shared.fields.open(projection, self.container(), self.rows());
        let fields = fields.map_err(|error| FileError::format(self.path(), error))?;
        let target = Target {
            source: Arc::clone(self.source()),
            schema: Arc::new(projection.to_arrow()),
            fields,
            batch_rows: u64::from(options.batch_rows).max(1),
            batch_bytes: options.batch_bytes.max(1),
            budget: self.budget(),
        };
        Ok(Scan::new(target, rows, options.read_ahead_bytes).stream())
    }
}

/// What every unit of a scan has in common.
struct Target {
    source: Arc<dyn ReadAt>,
    schema: SchemaRef,
    fields: Vec<OpenField>,
    batch_rows: u64,
    batch_bytes: u64,
    budget: DecodeBudget,
}

struct Scan {
    target: Arc<Target>,
    read_ahead: u64,
    /// Bits that a row takes in memory at least.
    width: u64,
    /// How many times more bytes units had than was estimated.
    growth: u64,
    rows: Rows,
    /// How many of the rows have a unit, and have their lookup tables.
    planned: u64,
    prepared: u64,
    ahead: VecDeque<Ahead>,
    ahead_bytes: u64,
    out: VecDeque<RecordBatch>,
}

/// A unit on its way.
struct Ahead {
    rows: Rows,
    bytes: u64,
    /// What [`Scan::growth`] was when `bytes` were estimated.
    growth: u64,
    attempt: Attempt,
    task: Task<Unit>,
}

/// How a unit is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// For the first time.
    First,
    /// As a part of one that took more memory than was thought.
    Again,
    /// The same, and it is a single row: it may take all of the budget.
    Alone,
}

/// A decoded unit.
struct Unit {
    batch: RecordBatch,
    bytes: u64,
}

impl Scan {
    fn new(target: Target, rows: Rows, read_ahead: u64) -> Self {
        let widths = target.schema.fields().iter().map(|field| row_bits(field.data_type()));
        Self {
            width: widths.fold(0, u64::saturating_add),
            target: Arc::new(target),
            read_ahead,
            growth: 1,
            rows,
            planned: 0,
            prepared: 0,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            out: VecDeque::new(),
        }
    }

    fn stream(self) -> BatchStream {
        let step = |mut scan: Self| async move {
            match scan.next().await {
                Ok(Some(batch)) => Some((Ok(batch), scan)),
                Ok(None) => None,
                Err(error) => {
                    scan.stop();
                    Some((Err(error), scan))
                }
            }
        };
        stream::unfold(self, step).boxed()
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            self.fill().await?;
            if let Some(batch) = self.out.pop_front() {
                return Ok(Some(batch));
            }
            let Some(mut ahead) = self.ahead.pop_front() else { return Ok(None) };
            let unit = ahead.task.join(self.target.source.path()).await;
            self.ahead_bytes = self.ahead_bytes.saturating_sub(ahead.bytes);
            match unit {
                Err(error) if error.is_over_budget() && ahead.attempt != Attempt::Alone => self.again(&ahead),
                unit => self.arrived(unit?, &ahead),
            }
        }
    }

    /// Starts units until enough is ahead.
    async fn fill(&mut self) -> Result<()> {
        while self.planned < self.rows.len()
            && self.ahead.len() < UNITS_AHEAD
            && (self.ahead.is_empty() || self.ahead_bytes < self.read_ahead)
        {
            if self.planned >= self.prepared {
                self.prepare().await?;
            }
            let (count, bytes) = self.plan();
            let rows = self.rows.select(self.planned..self.planned + count);
            self.planned += count;
            let unit = self.start(rows, bytes, Attempt::First);
            self.ahead.push_back(unit);
        }
        Ok(())
    }

    /// Starts a unit of about so many bytes.
    fn start(&mut self, rows: Rows, bytes: u64, attempt: Attempt) -> Ahead {
        self.ahead_bytes = self.ahead_bytes.saturating_add(bytes);
        let (target, own) = (Arc::clone(&self.target), rows.clone());
        let task = Task(match target.source.blocking() {
            Some(reads) => spawn_blocking(move || target.unit_here(&own, &*reads, attempt)),
            None => tokio::spawn(async move { target.unit(own, bytes, attempt).await }),
        });
        Ahead { rows, bytes, growth: self.growth, attempt, task }
    }

    /// Starts the rows of a unit again that took more memory than was thought: as two units, or, if it is a single row
    /// already, with all of the budget. Its turn has come, so there is only one of that kind.
    fn again(&mut self, unit: &Ahead) {
        self.growth = self.growth.max(unit.growth.saturating_mul(2)).min(MAX_GROWTH);
        if unit.rows.len() <= 1 {
            let unit = self.start(unit.rows.clone(), unit.bytes, Attempt::Alone);
            return self.ahead.push_front(unit);
        }
        let half = unit.rows.len() / 2;
        for part in [half..unit.rows.len(), 0..half] {
            let part = self.start(unit.rows.select(part), unit.bytes.div_ceil(2), Attempt::Again);
            self.ahead.push_front(part);
        }
    }

    /// Loads the lookup tables of the next rows.
    async fn prepare(&mut self) -> Result<()> {
        // Whole units, so that no batch is cut short where the next rows begin.
        let unit = self.target.unit_rows();
        let end = self.planned.saturating_add(PREPARE_ROWS.next_multiple_of(unit)).min(self.rows.len());
        let rows = self.rows.select(self.planned..end);
        let target = &self.target;
        let mut machines = vec![];
        for field in &target.fields {
            let machine = field.prepare(&rows);
            machines.extend(machine.map_err(|error| FileError::format(target.source.path(), error))?);
        }
        if !machines.is_empty() {
            drive(Join::new(machines), &target.source).await?;
        }
        self.prepared = end;
        Ok(())
    }

    /// How many rows the next unit has, and about how many bytes.
    ///
    /// It is a number of whole batches with [`UNIT_ROWS`] or more, or fewer if that is too many bytes.
    fn plan(&self) -> (u64, u64) {
        let batch = self.target.batch_rows;
        let most = self.prepared - self.planned;
        let unit = self.target.unit_rows();
        let mut count = unit.min(most);
        if count < most {
            let fit = UNIT_BYTES.min(self.target.batch_bytes) / self.estimate(count).max(1);
            count = unit.saturating_mul(fit.clamp(1, UNIT_GROWTH)).min(most);
        }
        loop {
            let bytes = self.estimate(count);
            if bytes <= self.target.batch_bytes || count <= 1 {
                return (count, bytes);
            }
            let fits = u128::from(count) * u128::from(self.target.batch_bytes) / u128::from(bytes);
            let fits = u64::try_from(fits).unwrap_or(count).clamp(1, count - 1);
            count = if fits > batch { fits - fits % batch } else { fits };
        }
    }

    /// About how many bytes the next `count` rows take, in the file or in memory, whatever is more.
    fn estimate(&self, count: u64) -> u64 {
        let rows = self.rows.select(self.planned..self.planned + count);
        let (Some(first), Some(last)) = (rows.ranges().first(), rows.ranges().last()) else { return 0 };
        let span = last.end - first.start;
        let costs = self.target.fields.iter().map(|field| {
            let cost = field.reader.cost(first.start..last.end).unwrap_or(0);
            // Of sparse rows, a part of the bytes is read, but more than their share.
            let part = u128::from(cost) * u128::from(count) * 4 / u128::from(span.max(1));
            cost.min(u64::try_from(part).unwrap_or(cost))
        });
        let stored = costs.fold(0_u64, u64::saturating_add);
        let least = self.width.saturating_mul(count) / 8;
        stored.saturating_mul(self.growth).max(least)
    }

    /// How many times more bytes a unit like `ahead`, which had `bytes`, has than its cost says. Several units are on their
    /// way with the same growth, so what counts is that with which this one was planned, not what is known by now.
    fn learn(&mut self, ahead: &Ahead, bytes: u64) {
        let Some(ratio) = bytes.checked_div(ahead.bytes) else { return };
        if ratio > 1 {
            self.growth = self.growth.max(ahead.growth.saturating_mul(ratio).min(MAX_GROWTH));
        } else if ahead.growth == self.growth && bytes.saturating_mul(4) < ahead.bytes {
            self.growth = (self.growth / 2).max(1);
        }
    }

    /// Cuts a unit into batches.
    fn arrived(&mut self, unit: Unit, ahead: &Ahead) {
        let Unit { batch, bytes } = unit;
        self.learn(ahead, bytes);
        let rows = batch.num_rows();
        let fits = u128::from(self.target.batch_bytes) * rows as u128 / u128::from(bytes.max(1));
        let most = usize::try_from(self.target.batch_rows).unwrap_or(usize::MAX);
        let most = usize::try_from(fits).unwrap_or(usize::MAX).clamp(1, most);
        if rows <= most {
            self.out.push_back(batch);
            return;
        }
        let starts = (0..rows).step_by(most);
        self.out.extend(starts.map(|start| batch.slice(start, most.min(rows - start))));
    }

    /// After an error nothing more comes.
    fn stop(&mut self) {
        self.ahead.clear();
        self.out.clear();
        self.planned = self.rows.len();
    }
}

impl Target {
    /// How many rows a unit has if its bytes allow it.
    fn unit_rows(&self) -> u64 {
        UNIT_ROWS.next_multiple_of(self.batch_rows)
    }

    /// What a unit may take: many of them are ahead, so all of the budget only if it is the one that is waited for.
    fn budget(&self, attempt: Attempt) -> DecodeBudget {
        match attempt {
            Attempt::Alone => self.budget,
            Attempt::First | Attempt::Again => {
                DecodeBudget { constant: self.budget.constant.min(self.batch_bytes), ..self.budget }
            }
        }
    }

    /// Reads and decodes one unit.
    async fn unit(self: Arc<Self>, rows: Rows, estimated: u64, attempt: Attempt) -> Result<Unit> {
        let count = usize::try_from(rows.len()).unwrap_or(usize::MAX);
        let path = self.source.path();
        let loaded = drive(self.load(&rows)?, &self.source).await?;
        let budget = self.budget(attempt);
        // What took more than was thought is no small matter, however few rows it has by now.
        if attempt == Attempt::First
            && let Some(unit) = decode_here(estimated, budget, |budget| self.decode(&loaded, count, budget))
        {
            return unit;
        }
        let target = Arc::clone(&self);
        compute(path, move || target.decode(&loaded, count, budget)).await
    }

    /// The same where reads block: all of it in one go, on a thread that may block, with no way to another in between.
    fn unit_here(&self, rows: &Rows, reads: &dyn ReadBlocking, attempt: Attempt) -> Result<Unit> {
        let count = usize::try_from(rows.len()).unwrap_or(usize::MAX);
        let loaded = drive_blocking(self.load(rows)?, self.source.as_ref(), reads)?;
        self.decode(&loaded, count, self.budget(attempt))
    }

    /// What loads `rows` of all fields.
    fn load(&self, rows: &Rows) -> Result<impl Machine<Output = Vec<Arc<dyn Loaded>>> + use<>> {
        let load = |field: &OpenField| {
            field.load(rows).map_err(|error| FileError::format(self.source.path(), error))
        };
        Ok(Join::new(self.fields.iter().map(load).collect::<Result<Vec<_>>>()?))
    }

    fn decode(&self, loaded: &[Arc<dyn Loaded>], count: usize, budget: DecodeBudget) -> Result<Unit> {
        let path = self.source.path();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(loaded.len());
        let mut bytes = 0_u64;
        let mut allowance = Allowance::new(budget);
        for (field, loaded) in self.fields.iter().zip(loaded) {
            let array = loaded.decode(0..count as u64, &mut allowance);
            let array = array.map_err(|error| FileError::format(path, field.place(error)))?;
            // Only what the slice takes; buffers may be shared with other units.
            let size = array.to_data().get_slice_memory_size().unwrap_or(0);
            bytes = bytes.saturating_add(size as u64);
            arrays.push(array);
        }
        Ok(Unit { batch: batch(path, &self.schema, arrays, count)?, bytes })
    }
}

/// A task that ends with its handle: a stream that is dropped reads no further than what a blocking read has begun.
struct Task<T>(JoinHandle<Result<T>>);

impl<T> Task<T> {
    async fn join(&mut self, path: &str) -> Result<T> {
        match (&mut self.0).await {
            Ok(result) => result,
            Err(error) => Err(cut_off(path, &error)),
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests;
