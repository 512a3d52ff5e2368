use std::io::Write;

use super::{FRAME, Known};
use crate::{Compact, Format, ForyRow, Image, Layout, Result, RowWriter, Standard, Value};

/// Writes rows one after the other, each with its size and its schema hash in front, through one buffer that is
/// used again for every row.
///
/// ```
/// use fory_row::{DataType, Field, Format, Layout, RowStreamReader, RowStreamWriter, Schema, Value};
/// let schema = Schema::new(vec![
///     Field::new("at", DataType::Timestamp, false),
///     Field::new("joints", DataType::list(DataType::Float32, false), true),
/// ])?;
/// let layout = Layout::new(schema, Format::Compact)?;
///
/// let mut writer = RowStreamWriter::new(layout.clone(), Vec::new());
/// writer.write_row(|row| {
///     row.set("at", fory_row::Timestamp(1_700_000_000_000_000))?;
///     row.list_of("joints", &[0.5f32, -1.5])
/// })?;
/// writer.write(&Value::Struct(vec![Value::Timestamp(fory_row::Timestamp(0)), Value::Null]))?;
/// let bytes = writer.finish()?;
///
/// let mut reader = RowStreamReader::new(layout, &bytes[..]);
/// let mut times = vec![];
/// while let Some(row) = reader.next_row()? {
///     times.push(row.get::<fory_row::Timestamp>("at")?.ok_or("null")?.0);
/// }
/// assert_eq!(times, [1_700_000_000_000_000, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RowStreamWriter<W> {
    layout: Layout,
    known: Known,
    to: W,
    frame: Vec<u8>,
}

impl<W: Write> RowStreamWriter<W> {
    /// A stream of rows of `layout`. Every row is one call of `to`.
    pub const fn new(layout: Layout, to: W) -> Self {
        Self { layout, known: Known(None), to, frame: vec![] }
    }

    /// What rows hold, and how.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Writes a row, a [`Value::Struct`].
    pub fn write(&mut self, row: &Value) -> Result<()> {
        self.send(|layout, frame| layout.encode(row, frame))
    }

    /// Writes a row whose fields `write` sets.
    pub fn write_row(&mut self, write: impl FnOnce(&mut RowWriter<'_>) -> Result<()>) -> Result<()> {
        self.send(|layout, frame| layout.write_row(frame, write))
    }

    /// Writes a struct that derives [`ForyRow`] and has the schema of the stream, down to names and what is nullable.
    ///
    /// ```
    /// use fory_row::{Compact, ForyRow, RowStreamReader, RowStreamWriter};
    ///
    /// #[derive(Debug, PartialEq, ForyRow)]
    /// struct Step {
    ///     at: i64,
    ///     note: Option<String>,
    /// }
    ///
    /// let mut writer = RowStreamWriter::new(Step::layout::<Compact>()?, Vec::new());
    /// for at in 0..3 {
    ///     writer.write_struct(&Step { at, note: None })?;
    /// }
    /// let bytes = writer.finish()?;
    ///
    /// let mut reader = RowStreamReader::new(Step::layout::<Compact>()?, &bytes[..]);
    /// assert_eq!(reader.next_struct()?, Some(Step { at: 0, note: None }));
    /// // Or without decoding all of it:
    /// let row = reader.next_row()?.ok_or("no more")?;
    /// assert_eq!(Step::view_row::<Compact>(row.bytes())?.at()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_struct<T: ForyRow>(&mut self, row: &T) -> Result<()> {
        self.known.check::<T>(&self.layout)?;
        self.send(|layout, frame| match layout.format() {
            Format::Standard => row.write_row::<Standard>(frame),
            Format::Compact => row.write_row::<Compact>(frame),
        })
    }

    /// Writes a row that is there as bytes, after a check of every value in it.
    pub fn write_bytes(&mut self, row: &[u8]) -> Result<()> {
        self.layout.check(Image::Row, row)?;
        self.send(|_, frame| {
            frame.extend_from_slice(row);
            Ok(())
        })
    }

    /// Hands all rows over to where `to` leads.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.to.flush()?)
    }

    /// Flushes, and gives `to` back. The end of a stream has no mark.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        Ok(self.to)
    }

    fn send(&mut self, write: impl FnOnce(&Layout, &mut Vec<u8>) -> Result<()>) -> Result<()> {
        let layout = &self.layout;
        self.frame.clear();
        FRAME.write(layout.hash(), &mut self.frame, |frame| write(layout, frame))?;
        Ok(self.to.write_all(&self.frame)?)
    }
}
