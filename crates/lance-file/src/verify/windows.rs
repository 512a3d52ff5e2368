//! Reads rows of a field in windows, several at a time, and goes on where one fails.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::DataType;
use arrow_select::take::take;
use futures::StreamExt;
use futures::stream;
use lance_encoding::{Allowance, DecodeBudget, FieldReader, Loaded, row_bits};
use lance_footer::{FormatError, Rows, Version};
use lance_io::{ReadAt, drive};
use tokio::sync::Mutex;

use super::problem::{ProblemKind, Report, file_problem, format_problem, io_problem};
use crate::pool::compute;
use crate::{Field, FileError};

/// Lookup tables are loaded for so many rows at a time.
const PREPARE_ROWS: u64 = 1 << 20;

/// So many rows are decoded at a time, or fewer if they have more than [`WINDOW_BYTES`].
const WINDOW_ROWS: u64 = 1 << 15;

/// About so many bytes are decoded at a time.
const WINDOW_BYTES: u64 = 8 << 20;

/// So many windows are read and decoded at the same time.
const AHEAD: usize = 4;

/// Of pages whose rows cannot all be stored so many are decoded at each end.
const END_ROWS: u64 = 4096;

/// Rows that could not be read.
pub(super) struct Failure {
    pub(super) rows: Range<u64>,
    pub(super) kind: ProblemKind,
    pub(super) reason: String,
}

/// Why: the kind of problem, and its text.
type Failed = (ProblemKind, String);

/// An open field that is read.
pub(super) struct Reading<'a> {
    source: &'a Arc<dyn ReadAt>,
    reader: &'a Arc<dyn FieldReader>,
    nullable: bool,
    /// The rows that count, and the number of the first one that is read among them; none if all count.
    live: Option<(&'a Rows, u64)>,
    /// Whether pages say where each row is, which scans do not look at.
    placed: bool,
    /// Bits that a row takes in memory at least.
    width: u64,
    budget: DecodeBudget,
    /// Held while a window is decoded with all of the budget.
    large: Mutex<()>,
}

impl Failure {
    pub(super) fn new(rows: Range<u64>, (kind, reason): Failed) -> Self {
        Self { rows, kind, reason }
    }
}

impl<'a> Reading<'a> {
    /// Reads `field`, which `reader` has opened. `placed`: whether pages of it say where each row is.
    pub(super) fn new(
        source: &'a Arc<dyn ReadAt>,
        reader: &'a Arc<dyn FieldReader>,
        field: &Field,
        placed: bool,
        budget: DecodeBudget,
    ) -> Self {
        let arrow = field.to_arrow();
        let placed = placed && varies(arrow.data_type());
        let width = row_bits(arrow.data_type());
        let nullable = field.nullable;
        Self { source, reader, nullable, live: None, placed, width, budget, large: Mutex::new(()) }
    }

    /// Nulls only matter in the rows `live`, among which the first that is read has the number `first`.
    pub(super) fn with_live(self, live: Option<&'a Rows>, first: u64) -> Self {
        Self { live: live.map(|live| (live, first)), ..self }
    }

    /// Reads `spans` of rows and says what fails. They stand for `bytes` bytes of progress.
    pub(super) async fn read(
        &self,
        spans: &[Range<u64>],
        bytes: u64,
        report: &mut Report<'_>,
    ) -> Vec<Failure> {
        let total = spans.iter().fold(0, |sum: u64, rows| sum.saturating_add(rows.end - rows.start));
        let mut failures: Vec<Failure> = vec![];
        for rows in spans {
            let mut start = rows.start;
            while start < rows.end {
                let part = start..rows.end.min(start.saturating_add(PREPARE_ROWS));
                start = part.end;
                if let Err(failed) = self.prepare(part.clone()).await {
                    add(&mut failures, Failure::new(part, failed));
                    continue;
                }
                let reads = self.windows(part).into_iter().map(|rows| async {
                    let result = self.decode(rows.clone()).await;
                    (rows, result)
                });
                let mut reads = stream::iter(reads).buffered(AHEAD);
                while let Some((rows, result)) = reads.next().await {
                    let share =
                        u128::from(bytes) * u128::from(rows.end - rows.start) / u128::from(total.max(1));
                    report.read(u64::try_from(share).unwrap_or(0));
                    if let Err(failed) = result {
                        add(&mut failures, Failure::new(rows, failed));
                    }
                }
            }
        }
        failures
    }

    async fn prepare(&self, rows: Range<u64>) -> Result<(), Failed> {
        match self.reader.prepare(&Rows::range(rows)).map_err(|error| format_problem(&error))? {
            Some(machine) => drive(machine, self.source).await.map_err(io_problem),
            None => Ok(()),
        }
    }

    async fn decode(&self, rows: Range<u64>) -> Result<(), Failed> {
        let count = rows.end - rows.start;
        let window = Arc::new(Window {
            whole: self.load(&Rows::range(rows.clone())).await?,
            even: self.every_other(rows.start..rows.end).await?,
            odd: self.every_other(rows.start + 1..rows.end).await?,
            required: self.required(rows),
        });
        // Several windows are decoded at the same time, so all of the budget is for one that turns out to need it.
        let small = DecodeBudget { constant: self.budget.constant.min(WINDOW_BYTES), ..self.budget };
        match self.check(&window, count, small).await {
            Err(error) if error.is_over_budget() => {
                let _turn = self.large.lock().await;
                self.check(&window, count, self.budget).await.map_err(file_problem)
            }
            checked => checked.map_err(file_problem),
        }
    }

    /// The positions among `rows` at which there must be no null.
    fn required(&self, rows: Range<u64>) -> Rows {
        match self.live {
            _ if self.nullable => Rows::default(),
            None => Rows::range(0..rows.end - rows.start),
            Some((live, first)) => {
                let start = first.saturating_add(rows.start);
                live.within(start..first.saturating_add(rows.end)).shifted_down(start)
            }
        }
    }

    async fn check(&self, window: &Arc<Window>, count: u64, budget: DecodeBudget) -> Result<(), FileError> {
        let (path, window) = (self.source.path().to_string(), Arc::clone(window));
        compute(self.source.path(), move || {
            let nulls = window.check(0..count, budget).map_err(|error| FileError::format(&path, error))?;
            if nulls > 0 {
                let reason = format!("{nulls} nulls in a field that is not nullable");
                return Err(FileError::format(&path, FormatError::corrupt("values", reason)));
            }
            Ok(())
        })
        .await
    }

    async fn load(&self, rows: &Rows) -> Result<Arc<dyn Loaded>, Failed> {
        let machine = self.reader.load(rows, None).map_err(|error| format_problem(&error))?;
        drive(machine, self.source).await.map_err(io_problem)
    }

    /// Every other row of `rows`, each by itself; nothing where that cannot tell anything.
    async fn every_other(&self, rows: Range<u64>) -> Result<Option<Arc<dyn Loaded>>, Failed> {
        if !self.placed || rows.is_empty() {
            return Ok(None);
        }
        self.load(&Rows::from_indices(&rows.step_by(2).collect::<Vec<_>>())).await.map(Some)
    }

    /// Cuts `rows`, which are prepared, into windows.
    fn windows(&self, rows: Range<u64>) -> Vec<Range<u64>> {
        let mut windows = vec![];
        let mut start = rows.start;
        while start < rows.end {
            let mut count = WINDOW_ROWS.min(rows.end - start);
            loop {
                let stored = self.reader.cost(start..start + count).unwrap_or(0);
                let bytes = stored.max(self.width.saturating_mul(count) / 8);
                if bytes <= WINDOW_BYTES || count <= 1 {
                    break;
                }
                let fits = u128::from(count) * u128::from(WINDOW_BYTES) / u128::from(bytes);
                count = u64::try_from(fits).unwrap_or(count).clamp(1, count - 1);
            }
            windows.push(start..start + count);
            start += count;
        }
        windows
    }
}

/// Rows that follow each other, read in one go; and the same one by one, if that may give others.
struct Window {
    whole: Arc<dyn Loaded>,
    even: Option<Arc<dyn Loaded>>,
    odd: Option<Arc<dyn Loaded>>,
    /// Positions at which there must be no null.
    required: Rows,
}

impl Window {
    /// Decodes the rows at positions `part`, fewer at once where they take too much memory, and counts the nulls that
    /// must not be.
    fn check(&self, part: Range<u64>, budget: DecodeBudget) -> Result<usize, FormatError> {
        match self.check_at_once(&part, budget) {
            Err(FormatError::OverBudget { .. }) if part.end - part.start > 1 => {
                let half = part.start + (part.end - part.start) / 2;
                Ok(self.check(part.start..half, budget)?.saturating_add(self.check(half..part.end, budget)?))
            }
            result => result,
        }
    }

    fn check_at_once(&self, part: &Range<u64>, budget: DecodeBudget) -> Result<usize, FormatError> {
        let array = decode(&*self.whole, part.clone(), budget)?;
        let even = (&self.even, part.start.div_ceil(2)..part.end.div_ceil(2), part.start % 2);
        let odd = (&self.odd, part.start / 2..part.end / 2, 1 - part.start % 2);
        for (loaded, rows, first) in [even, odd] {
            let Some(loaded) = loaded else { continue };
            let positions = UInt64Array::from_iter_values((first..part.end - part.start).step_by(2));
            let wanted = take(&array, &positions, None);
            let wanted = wanted.map_err(|error| FormatError::unsupported(error.to_string()))?;
            if decode(&**loaded, rows, budget)? != wanted {
                let reason = "read one by one they are others than in a scan";
                return Err(FormatError::corrupt("the positions of rows", reason));
            }
        }
        if array.null_count() == 0 {
            return Ok(0);
        }
        let required = self.required.within(part.clone()).shifted_down(part.start);
        let null = |row: &u64| usize::try_from(*row).is_ok_and(|row| row < array.len() && array.is_null(row));
        Ok(required.iter().filter(null).count())
    }
}

fn decode(loaded: &dyn Loaded, part: Range<u64>, budget: DecodeBudget) -> Result<ArrayRef, FormatError> {
    loaded.decode(part, &mut Allowance::new(budget))
}

/// Whether values of `data_type` vary in size.
fn varies(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(members) => members.iter().any(|member| varies(member.data_type())),
        DataType::FixedSizeList(item, _) => varies(item.data_type()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => true,
        DataType::List(_) | DataType::LargeList(_) | DataType::Map(..) => true,
        _ => false,
    }
}

/// What to read of `rows`, which are stored in `bytes` bytes: all, or both ends if there are more than any codec
/// can tell apart in so few bytes. A constant page has as many as it likes.
pub(super) fn spans(rows: Range<u64>, bytes: u64, version: Version) -> Vec<Range<u64>> {
    // Small chunks have at most 2^15 values in 8 bytes; zstd makes 2^15 bytes of zeros, 2^18 bits, of one.
    let rows_a_byte = if version > Version::V2_0 { 14 } else { 18 };
    let count = rows.end - rows.start;
    if count > 2 * END_ROWS && bytes < count >> rows_a_byte {
        return vec![rows.start..rows.start + END_ROWS, rows.end - END_ROWS..rows.end];
    }
    vec![rows]
}

/// Adds a failure; windows that follow each other and fail in the same way are one.
fn add(failures: &mut Vec<Failure>, failure: Failure) {
    match failures.last_mut() {
        Some(last) if last.rows.end == failure.rows.start && last.reason == failure.reason => {
            last.rows.end = failure.rows.end;
        }
        _ => failures.push(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_bytes_are_sampled() {
        assert_eq!(spans(0..1 << 20, 64, Version::V2_2).len(), 1);
        assert_eq!(spans(0..1 << 20, 63, Version::V2_2).len(), 2);
        assert_eq!(spans(0..1 << 14, 0, Version::V2_2).len(), 2);
        assert_eq!(spans(0..1 << 14, 1, Version::V2_2).len(), 1);
        assert_eq!(spans(0..1 << 60, 64, Version::V2_2), [0..4096, (1 << 60) - 4096..1 << 60]);
        assert_eq!(spans(0..0, 0, Version::V2_2).len(), 1);
    }
}
