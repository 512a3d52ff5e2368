//! One row of a batch at a time, straight from the arrays.

use arrow_array::RecordBatch;

use super::column::{Column, Payloads, Values, columns};
use super::number::{self, Change};
use crate::geometry::MAX_IMAGE;
use crate::layout::{ElementLayout, RowLayout, ValueLayout};
use crate::scalar::DECIMAL_LEN;
use crate::write::{Place, set_bit, too_large};
use crate::{ArrayWriter, Error, ErrorKind, Format, Layout, Result};

/// A batch seen as rows: each is written when it is asked for, without a value in between.
///
/// All rows of a batch at once are faster with [`Layout::encode_batch`].
///
/// ```
/// use fory_row::{BatchRows, Format, Layout, Schema};
/// use arrow_array::record_batch;
/// let batch = record_batch!(("id", Int64, [7, 8]), ("name", Utf8, [Some("arm"), None]))?;
/// let layout = Layout::new(Schema::from_arrow(&batch.schema())?, Format::Standard)?;
/// let rows = BatchRows::new(&batch, &layout)?;
/// let mut bytes = vec![];
/// rows.write_row(0, &mut bytes)?;
/// assert_eq!(bytes.len(), rows.row_len(0)?);
/// assert_eq!(layout.row(&bytes)?.get::<&str>("name")?, Some("arm"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BatchRows<'a> {
    layout: &'a Layout,
    columns: Vec<Column>,
    len: usize,
}

impl<'a> BatchRows<'a> {
    /// Looks for the columns of the fields of `layout` by name, and checks their types.
    pub fn new(batch: &RecordBatch, layout: &'a Layout) -> Result<Self> {
        let columns = columns(layout.root(), |name| Some(batch.column_by_name(name)?.as_ref()))?;
        Ok(Self { layout, columns, len: batch.num_rows() })
    }

    /// The number of rows.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of row `index`.
    pub fn row_len(&self, index: usize) -> Result<usize> {
        self.check(index)?;
        match row_len(&self.columns, self.layout.root(), index) {
            len if len <= MAX_IMAGE => Ok(len),
            _ => Err(too_large().in_row(index)),
        }
    }

    /// Appends row `index` to `buffer`. A failure leaves the buffer as it was.
    pub fn write_row(&self, index: usize, buffer: &mut Vec<u8>) -> Result<()> {
        self.check(index)?;
        let written = append_row(buffer, &self.columns, self.layout.root(), index);
        written.map_err(|error| error.in_row(index))
    }

    fn check(&self, index: usize) -> Result<()> {
        if index < self.len {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Type, format!("there is no row {index}: the batch has {}", self.len)))
    }
}

/// Appends a row or struct. A failure leaves the buffer as it was.
fn append_row(buffer: &mut Vec<u8>, columns: &[Column], layout: &RowLayout, index: usize) -> Result<()> {
    let start = buffer.len();
    buffer.resize(start + layout.geometry.fixed_end, 0);
    let written = write_fields(buffer, start, columns, layout, index);
    let written = written.and_then(|()| match buffer.len() - start {
        len if len <= MAX_IMAGE => Ok(()),
        _ => Err(too_large()),
    });
    if written.is_err() {
        buffer.truncate(start);
    }
    written
}

/// Writes the fields of the row at `start`, whose fixed region is there and all zero, in their order.
fn write_fields(
    buffer: &mut Vec<u8>,
    start: usize,
    columns: &[Column],
    layout: &RowLayout,
    index: usize,
) -> Result<()> {
    for (column, field) in columns.iter().zip(&layout.fields) {
        let written = if !column.is_null(index) {
            let place = Place { buffer: &mut *buffer, start, slot: start + field.slot, value: &field.value };
            write(place, column, column.place(index))
        } else if field.nullable {
            set_bit(buffer, start + layout.geometry.bitmap, field.bit);
            Ok(())
        } else {
            Err(Error::value("null, and not nullable"))
        };
        if let Err(error) = written {
            return Err(error.in_field(&field.name));
        }
    }
    Ok(())
}

fn write_items(list: &mut ArrayWriter<'_>, items: &Column, span: std::ops::Range<usize>) -> Result<()> {
    let plain = items.nulls.is_none() && items.keys.is_none();
    if let Values::Number { width, bytes } = &items.values
        && cfg!(target_endian = "little")
        && plain
    {
        return list.push_bytes(bytes.get(span.start * width..span.end * width).unwrap_or_default());
    }
    for index in span {
        if items.is_null(index) {
            list.push_null()?;
        } else {
            list.write(|place| write(place, items, items.place(index)))?;
        }
    }
    Ok(())
}

/// Writes value `index` of `column`, which is not null.
fn write(place: Place<'_>, column: &Column, index: usize) -> Result<()> {
    match (&column.values, place.value) {
        (Values::Bool(values), _) => place.fixed(&[values.value(index).into()]),
        (Values::Number { width: 1, bytes }, _) => place.fixed(&number::little_endian::<1>(bytes, index)?),
        (Values::Number { width: 2, bytes }, _) => place.fixed(&number::little_endian::<2>(bytes, index)?),
        (Values::Number { width: 4, bytes }, _) => place.fixed(&number::little_endian::<4>(bytes, index)?),
        (Values::Number { bytes, .. }, _) => place.fixed(&number::little_endian::<8>(bytes, index)?),
        (Values::Changed { change, bytes }, _) => changed(place, *change, bytes, index),
        (Values::FixedBinary { width, bytes }, _) => {
            place.fixed(bytes.get(index * width..(index + 1) * width).unwrap_or_default())
        }
        (Values::Decimal { width, bytes }, ValueLayout::Decimal { precision, scale }) => {
            let decimal = number::decimal(bytes, *width, index, *scale)?;
            place.payload(&decimal.to_stored(*precision, *scale)?)
        }
        (Values::Payload(payload), _) => place.payload(payload.bytes(index)),
        (Values::Struct(columns), ValueLayout::Struct(layout)) => {
            if layout.geometry.inline.is_some() {
                write_fields(place.buffer, place.slot, columns, layout, index)
            } else {
                place.image(|buffer| append_row(buffer, columns, layout, index))
            }
        }
        (Values::List { spans, items }, _) => {
            let span = spans.get(index);
            place.list(span.len(), |list| write_items(list, items, span))
        }
        (Values::Map { spans, keys, values }, _) => {
            let span = spans.get(index);
            place.map(
                span.len(),
                |list| write_items(list, keys, span.clone()),
                |list| write_items(list, values, span.clone()),
            )
        }
        // Columns are made for their layout.
        (_, layout) => Err(Error::value(format!("a column that is not one of {}", layout.name()))),
    }
}

fn changed(place: Place<'_>, change: Change, bytes: &[u8], index: usize) -> Result<()> {
    let mut number = [0; 8];
    let width = change.row_bytes(bytes, index, &mut number)?;
    place.fixed(number.get(..width).unwrap_or_default())
}

// The length formulas. They saturate: what is too large is refused at last.

fn row_len(columns: &[Column], layout: &RowLayout, index: usize) -> usize {
    columns.iter().zip(&layout.fields).fold(layout.geometry.fixed_end, |len, (column, field)| {
        len.saturating_add(variable_len(column, &field.value, index))
    })
}

fn array_len(items: &Column, element: &ElementLayout, span: std::ops::Range<usize>) -> usize {
    let Some(geometry) = element.shape.array(span.len()) else { return usize::MAX };
    if element.shape.width.is_some() {
        return geometry.fixed_end();
    }
    span.fold(geometry.fixed_end(), |len, index| {
        len.saturating_add(variable_len(items, &element.value, index))
    })
}

/// The bytes of value `index` of `column` outside of its slot.
fn variable_len(column: &Column, layout: &ValueLayout, index: usize) -> usize {
    if column.is_null(index) {
        return 0;
    }
    let index = column.place(index);
    match (&column.values, layout) {
        (Values::Payload(payload), _) => Format::padded(payload.len(index)),
        (Values::Decimal { .. }, _) => DECIMAL_LEN,
        (Values::Struct(columns), ValueLayout::Struct(layout)) if layout.geometry.inline.is_none() => {
            row_len(columns, layout, index)
        }
        (Values::List { spans, items }, ValueLayout::List(element)) => {
            array_len(items, element, spans.get(index))
        }
        (Values::Map { spans, keys, values }, ValueLayout::Map(map)) => {
            let span = spans.get(index);
            array_len(keys, &map.keys, span.clone())
                .saturating_add(array_len(values, &map.values, span))
                .saturating_add(8)
        }
        _ => 0,
    }
}
