//! Rows in any order: one plan, one drive, one decode.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use lance_encoding::{Allowance, DecodeBudget, Loaded, row_bits};
use lance_footer::{Answer, FormatError, Join, Machine, Rows, Step};
use lance_io::drive;

use super::FileReader;
use super::fields::OpenField;
use crate::pool::{INLINE_BYTES, compute, decode_here};
use crate::{FileError, Result, Schema};

impl FileReader {
    /// The rows `rows` of the fields of `projection`, in the order asked, as often as asked.
    ///
    /// `projection` is made from [`FileReader::schema`]. The reads of all fields are made together; lookup
    /// tables that were read once are kept. An error if a row is past the end, or if the rows take more than the
    /// [budget](super::OpenOptions::budget).
    pub async fn take(&self, rows: &[u64], projection: &Schema) -> Result<RecordBatch> {
        let plan = self.plan_take(rows, projection)?;
        let taken = drive(plan, self.source()).await?;
        if let Some(batch) = taken.decode_one_here()? {
            return Ok(batch);
        }
        compute(self.path(), move || taken.decode()).await
    }

    /// The machine of a take, so that the takes of many files can be driven together.
    pub fn plan_take(&self, rows: &[u64], projection: &Schema) -> Result<TakePlan> {
        let path: Arc<str> = self.path().into();
        if let Some(&row) = rows.iter().find(|row| **row >= self.rows()) {
            return Err(FileError::RowOutOfRange { path: self.path().into(), row, rows: self.rows() });
        }
        let format = |error| FileError::format(self.path(), error);
        let schema = Arc::new(projection.to_arrow());
        let (sorted, order) = sort(rows).map_err(format)?;
        let fields = self.shared.fields.open(projection, self.container(), self.rows()).map_err(format)?;
        // No rows, nothing to load.
        let fields = if rows.is_empty() { vec![] } else { fields };
        let machines = fields.into_iter().map(|field| FieldTake {
            field,
            rows: sorted.clone(),
            order: order.clone(),
            state: State::Start,
        });
        let (count, budget) = (rows.len(), self.budget());
        Ok(TakePlan { path, schema, count, bytes: 0, budget, join: Join::new(machines) })
    }
}

/// Positions in sorted rows.
type Order = Option<Arc<[u32]>>;

/// The rows sorted, each once, and where each asked row is in them unless that is the same.
fn sort(rows: &[u64]) -> Result<(Rows, Order), FormatError> {
    if rows.is_sorted_by(|a, b| a < b) {
        return Ok((Rows::from_indices(rows), None));
    }
    if u32::try_from(rows.len()).is_err() {
        return Err(FormatError::unsupported(format!("a take of {} rows", rows.len())));
    }
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    // Every row is in there, and there are less than 2^32.
    let position = |row| u32::try_from(sorted.binary_search(row).unwrap_or_default()).unwrap_or_default();
    let order = rows.iter().map(position).collect();
    Ok((Rows::from_indices(&sorted), Some(order)))
}

/// A take that is ready to be driven.
pub struct TakePlan {
    path: Arc<str>,
    schema: SchemaRef,
    count: usize,
    bytes: u64,
    budget: DecodeBudget,
    join: Join<FieldTake>,
}

impl Machine for TakePlan {
    type Output = Taken;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Taken>, FormatError> {
        match self.join.step(answers)? {
            Step::Fetch(asks) => {
                let asked = asks.iter().fold(0_u64, |sum, ask| sum.saturating_add(ask.bytes()));
                self.bytes = self.bytes.saturating_add(asked);
                Ok(Step::Fetch(asks))
            }
            Step::Ready(fields) => Ok(Step::Ready(Taken {
                path: Arc::clone(&self.path),
                schema: Arc::clone(&self.schema),
                count: self.count,
                bytes: self.bytes,
                budget: self.budget,
                fields,
            })),
        }
    }
}

/// Rows whose bytes are in hand.
pub struct Taken {
    path: Arc<str>,
    schema: SchemaRef,
    count: usize,
    bytes: u64,
    budget: DecodeBudget,
    fields: Vec<(OpenField, Arc<dyn Loaded>)>,
}

impl Taken {
    /// How many bytes were read.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Decodes; pure CPU, which a thread that drives I/O should not be kept from its work by.
    pub fn decode(&self) -> Result<RecordBatch> {
        self.decode_within(self.budget)
    }

    /// Decodes all of `taken` if that is faster than it is to reach another thread; none if it takes longer, which few bytes
    /// may do too.
    pub fn decode_here(taken: &[Self]) -> Result<Option<Vec<RecordBatch>>> {
        if taken.iter().fold(0_u64, |sum, taken| sum.saturating_add(taken.bytes)) > INLINE_BYTES {
            return Ok(None);
        }
        taken.iter().map(Self::decode_one_here).collect()
    }

    fn decode_one_here(&self) -> Result<Option<RecordBatch>> {
        let width = self.schema.fields().iter().map(|field| row_bits(field.data_type()));
        let width = width.fold(0_u64, u64::saturating_add);
        // A constant has few bytes, but its rows take theirs.
        let bytes = self.bytes.max((self.count as u64).saturating_mul(width) / 8);
        decode_here(bytes, self.budget, |budget| self.decode_within(budget)).transpose()
    }

    fn decode_within(&self, budget: DecodeBudget) -> Result<RecordBatch> {
        if self.count == 0 {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.fields.len());
        let mut allowance = Allowance::new(budget);
        for (field, loaded) in &self.fields {
            let array = loaded.decode(0..self.count as u64, &mut allowance);
            arrays.push(array.map_err(|error| FileError::format(&self.path, field.place(error)))?);
        }
        batch(&self.path, &self.schema, arrays, self.count)
    }
}

/// A batch of `rows` rows, also without columns.
pub(super) fn batch(
    path: &str,
    schema: &SchemaRef,
    arrays: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
        .map_err(|error| FileError::arrow(path, error))
}

/// One field of a take: first its lookup tables, then its rows.
struct FieldTake {
    field: OpenField,
    rows: Rows,
    order: Order,
    state: State,
}

enum State {
    Start,
    Prepare(Box<dyn Machine<Output = ()>>),
    Load(Box<dyn Machine<Output = Arc<dyn Loaded>>>),
}

impl FieldTake {
    fn run(&mut self, mut answers: Vec<Answer>) -> Result<Step<Arc<dyn Loaded>>, FormatError> {
        loop {
            match &mut self.state {
                State::Start => {
                    self.state = match self.field.reader.prepare(&self.rows)? {
                        Some(machine) => State::Prepare(machine),
                        None => State::Load(self.load()?),
                    };
                }
                State::Prepare(machine) => match machine.step(std::mem::take(&mut answers))? {
                    Step::Fetch(asks) => return Ok(Step::Fetch(asks)),
                    Step::Ready(()) => self.state = State::Load(self.load()?),
                },
                State::Load(machine) => return machine.step(answers),
            }
        }
    }

    fn load(&self) -> Result<Box<dyn Machine<Output = Arc<dyn Loaded>>>, FormatError> {
        self.field.reader.load(&self.rows, self.order.clone())
    }
}

impl Machine for FieldTake {
    type Output = (OpenField, Arc<dyn Loaded>);

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Self::Output>, FormatError> {
        match self.run(answers).map_err(|error| self.field.place(error))? {
            Step::Fetch(asks) => Ok(Step::Fetch(asks)),
            Step::Ready(loaded) => Ok(Step::Ready((self.field.clone(), loaded))),
        }
    }
}
