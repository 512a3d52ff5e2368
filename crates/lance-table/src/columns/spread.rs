//! Puts the values of rows where these lie among deleted ones.
//!
//! All files of a fragment have the same rows, those with deletion marks among them. New values of these do not matter:
//! they are null or, where that may not be, a blank.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, RecordBatch, RecordBatchOptions, StructArray, make_array,
    new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use lance_footer::Rows;

/// A batch that has blanks has at most so many rows: a few rows can lie far apart.
const PIECE: usize = 1024;

/// The rows of one fragment on their way to a data file.
#[derive(Debug)]
pub(super) struct Spread {
    schema: SchemaRef,
    /// Whether structs that may be null can be stored as such.
    null_structs: bool,
    live: std::vec::IntoIter<Range<u64>>,
    /// What is left of the range of live rows that comes next.
    next: Option<Range<u64>>,
    /// The physical row that comes next, and how many there are.
    offset: u64,
    end: u64,
    held: Vec<ArrayRef>,
    held_rows: usize,
    /// Rows of what is held that were used.
    used: usize,
}

impl Spread {
    /// The rows of a fragment of `physical_rows`, of which `live` are not deleted; they have columns as in `schema`.
    /// `null_structs` says whether the file can hold structs that are null.
    pub(super) fn new(schema: SchemaRef, live: &Rows, physical_rows: u64, null_structs: bool) -> Self {
        let mut live = live.ranges().to_vec().into_iter();
        let (next, held) = (live.next(), vec![]);
        Self { schema, null_structs, live, next, offset: 0, end: physical_rows, held, held_rows: 0, used: 0 }
    }

    /// Takes the next `rows` live rows; those before were all given out.
    pub(super) fn hold(&mut self, arrays: Vec<ArrayRef>, rows: usize) {
        (self.held, self.held_rows, self.used) = (arrays, rows, 0);
    }

    /// The next rows of the data file; none if the next one is live and not held yet, or there are no more.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let run = self.live_run();
        if run > 0 && (self.used + run == self.held_rows || run >= PIECE) {
            let columns = self.held.iter().map(|array| array.slice(self.used, run)).collect();
            self.advance(run);
            return self.batch(columns, run).map(Some);
        }
        let mut picks = vec![];
        while picks.len() < PIECE {
            let room = PIECE - picks.len();
            let (live, deleted) = (self.live_run().min(room), self.deleted_run().min(room));
            if live > 0 {
                picks.extend((self.used..self.used + live).map(|row| (1, row)));
                self.advance(live);
            } else if deleted > 0 {
                picks.extend(std::iter::repeat_n((0, 0), deleted));
                self.offset += deleted as u64;
            } else {
                break;
            }
        }
        if picks.is_empty() {
            return Ok(None);
        }
        let columns =
            self.schema.fields().iter().enumerate().map(|(index, field)| match self.held.get(index) {
                Some(held) => {
                    let field = field.as_ref().clone().with_data_type(held.data_type().clone());
                    let blank = blank(&field, self.null_structs)?;
                    interleave(&[blank.as_ref(), held.as_ref()], &picks)
                }
                None => interleave(&[blank(field, self.null_structs)?.as_ref()], &picks),
            });
        let columns = columns.collect::<Result<_, _>>()?;
        self.batch(columns, picks.len()).map(Some)
    }

    /// How many live rows come next that are held.
    fn live_run(&self) -> usize {
        match &self.next {
            Some(next) if next.start == self.offset => {
                let left = usize::try_from(next.end - next.start).unwrap_or(usize::MAX);
                left.min(self.held_rows - self.used)
            }
            _ => 0,
        }
    }

    /// How many deleted rows come next.
    fn deleted_run(&self) -> usize {
        let end = self.next.as_ref().map_or(self.end, |next| next.start);
        usize::try_from(end.saturating_sub(self.offset)).unwrap_or(usize::MAX)
    }

    /// The next `rows` rows are live and were given out.
    fn advance(&mut self, rows: usize) {
        self.used += rows;
        self.offset += rows as u64;
        if let Some(next) = &mut self.next {
            next.start = self.offset;
            if next.is_empty() {
                self.next = self.live.next();
            }
        }
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, ArrowError> {
        let fields = self.schema.fields().iter().zip(&columns);
        let fields = fields.map(|(field, array)| {
            // Whether nulls are allowed is seen by the writer, which names the field.
            field.as_ref().clone().with_data_type(array.data_type().clone()).with_nullable(true)
        });
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, columns, &options)
    }
}

/// An array of one value that `field` may have where nothing is known: null, or zero, or empty.
fn blank(field: &ArrowField, null_structs: bool) -> Result<ArrayRef, ArrowError> {
    let data_type = field.data_type();
    if field.is_nullable() && (null_structs || !matches!(data_type, DataType::Struct(_))) {
        return Ok(new_null_array(data_type, 1));
    }
    match data_type {
        DataType::Struct(members) => {
            let columns =
                members.iter().map(|member| blank(member, null_structs)).collect::<Result<_, _>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(members.clone(), columns, None, 1)?))
        }
        DataType::FixedSizeList(item, size) => {
            let len = usize::try_from(*size).unwrap_or(0);
            let items =
                take(&blank(item, null_structs)?, &arrow_array::UInt32Array::from(vec![0; len]), None)?;
            Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *size, items, None)?))
        }
        DataType::Dictionary(_, value) => {
            let key = new_null_array(data_type, 1).to_data().into_builder().nulls(None);
            let value = blank(&ArrowField::new("value", value.as_ref().clone(), false), null_structs)?;
            Ok(make_array(key.child_data(vec![value.to_data()]).build()?))
        }
        DataType::Null => Ok(new_null_array(data_type, 1)),
        _ => Ok(make_array(new_null_array(data_type, 1).to_data().into_builder().nulls(None).build()?)),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringArray};

    use super::*;

    #[test]
    fn rows_land_at_their_offsets() {
        let schema = Arc::new(ArrowSchema::new(vec![
            ArrowField::new("n", DataType::Int32, true),
            ArrowField::new("t", DataType::Utf8, false),
        ]));
        for (live, physical) in [
            (Rows::range(0..10), 10_u64),
            (Rows::from_ranges([1..3, 5..6, 9..16]).unwrap(), 20),
            (Rows::from_ranges([0..1, 5000..5002, 7000..7007]).unwrap(), 9000),
            (Rows::default(), 3),
            (Rows::range(2499..2509), 2509),
        ] {
            for cut in [1, 3, 4000] {
                let mut spread = Spread::new(schema.clone(), &live, physical, true);
                let (mut offset, mut done) = (0_u64, 0_u64);
                let mut check = |spread: &mut Spread| {
                    while let Some(batch) = spread.next().unwrap() {
                        let (n, t) = (batch.column(0), batch.column(1));
                        let n = n.as_any().downcast_ref::<Int32Array>().unwrap();
                        let t = t.as_any().downcast_ref::<StringArray>().unwrap();
                        for row in 0..batch.num_rows() {
                            let alive = live.iter().any(|live| live == offset);
                            assert_eq!(n.is_valid(row), alive, "{offset}");
                            assert_eq!(t.value(row), if alive { offset.to_string() } else { String::new() });
                            offset += 1;
                        }
                    }
                };
                while done < live.len() {
                    let part = live.select(done..(done + cut).min(live.len()));
                    let n: ArrayRef =
                        Arc::new(Int32Array::from(part.iter().map(|row| row as i32).collect::<Vec<_>>()));
                    let t = part.iter().map(|row| row.to_string()).collect::<Vec<_>>();
                    let t: ArrayRef = Arc::new(StringArray::from(t));
                    spread.hold(vec![n, t], part.len() as usize);
                    check(&mut spread);
                    done += part.len();
                }
                check(&mut spread);
                assert_eq!(offset, physical);
            }
        }
    }

    #[test]
    fn every_type_has_a_blank() {
        let item = |data_type| Arc::new(ArrowField::new("item", data_type, false));
        let entries = DataType::Struct(vec![item(DataType::Utf8), item(DataType::Int8)].into());
        for data_type in [
            DataType::Boolean,
            DataType::Decimal128(10, 2),
            DataType::LargeUtf8,
            DataType::FixedSizeBinary(3),
            DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
            DataType::List(item(DataType::Int8)),
            DataType::FixedSizeList(item(DataType::Float32), 4),
            DataType::FixedSizeList(item(entries.clone()), 2),
            DataType::Struct(vec![item(DataType::Utf8)].into()),
            DataType::Map(item(entries), false),
        ] {
            for nullable in [false, true] {
                let array = blank(&ArrowField::new("f", data_type.clone(), nullable), true).unwrap();
                assert_eq!((array.len(), array.data_type()), (1, &data_type));
                assert_eq!(array.logical_null_count() == 0, !nullable, "{data_type}");
            }
        }
    }
}
