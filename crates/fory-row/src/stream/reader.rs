use std::io::{self, Read};

use super::{FRAME, Known};
use crate::frame::split_hash;
use crate::{Compact, Error, ErrorKind, Format, ForyRow, FromRowBytes, Layout, Result, Row, Standard, Value};

/// How much a [`RowStreamReader`] takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamOptions {
    /// The greatest size of a row with its hash. Rows that say that they are larger are refused before memory is
    /// taken for them.
    pub max_frame: usize,
}

impl Default for StreamOptions {
    /// 64 MiB.
    fn default() -> Self {
        Self { max_frame: 64 << 20 }
    }
}

/// Reads rows one after the other, as [`RowStreamWriter`](crate::RowStreamWriter) writes them. A row is lent until
/// the next one is asked for; all rows use one buffer, which is no larger than what has come.
///
/// The source is asked for few bytes at a time: give it a [`BufReader`](std::io::BufReader) where that is slow.
#[derive(Debug)]
pub struct RowStreamReader<R> {
    layout: Layout,
    known: Known,
    from: R,
    options: StreamOptions,
    frame: Vec<u8>,
    /// Rows read so far.
    rows: u64,
    /// A row was not read to its end, so that nobody knows where the next one starts.
    lost: bool,
}

impl<R: Read> RowStreamReader<R> {
    /// Reads rows of `layout`.
    pub fn new(layout: Layout, from: R) -> Self {
        Self::with_options(layout, from, StreamOptions::default())
    }

    /// The same with another limit.
    pub const fn with_options(layout: Layout, from: R, options: StreamOptions) -> Self {
        Self { layout, known: Known(None), from, options, frame: vec![], rows: 0, lost: false }
    }

    /// What rows hold, and how.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The next row, and `None` at the end of the stream. An end within a row is an error.
    ///
    /// After an error of kind [`HashMismatch`](ErrorKind::HashMismatch), or about what is in a row, the row behind it
    /// can be read; after others there is only another error.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        if !self.read_frame()? {
            return Ok(None);
        }
        let body = split_hash(self.layout.hash(), &self.frame)?;
        self.layout.row(body).map(Some)
    }

    /// The next row as a value of its own.
    pub fn next_value(&mut self) -> Result<Option<Value>> {
        if !self.read_frame()? {
            return Ok(None);
        }
        let body = split_hash(self.layout.hash(), &self.frame)?;
        self.layout.decode(body).map(Some)
    }

    /// The next row as a struct that derives [`ForyRow`] and has the schema of the stream, down to names and what is
    /// nullable. It may borrow from the reader.
    pub fn next_struct<'r, T: ForyRow + FromRowBytes<'r>>(&'r mut self) -> Result<Option<T>> {
        self.known.check::<T>(&self.layout)?;
        if !self.read_frame()? {
            return Ok(None);
        }
        let body = split_hash(self.layout.hash(), &self.frame)?;
        match self.layout.format() {
            Format::Standard => T::from_row::<Standard>(body),
            Format::Compact => T::from_row::<Compact>(body),
        }
        .map(Some)
    }

    /// Gives the source back, which stands behind the last row that was read.
    pub fn into_inner(self) -> R {
        self.from
    }

    /// Reads what follows the next size; false at the end of the stream.
    fn read_frame(&mut self) -> Result<bool> {
        if self.lost {
            return Err(Error::malformed("the row before was not read to its end"));
        }
        self.lost = true;
        let mut size = [0; 4];
        let found = read_up_to(&mut self.from, &mut size)?;
        if found == 0 {
            self.lost = false;
            return Ok(false);
        }
        let row = self.rows;
        if found < size.len() {
            let reason = format!("the stream ends after {found} of 4 bytes of the size of row {row}");
            return Err(Error::malformed(reason));
        }
        let size = FRAME.check_size(size)?;
        if size > self.options.max_frame {
            let limit = self.options.max_frame;
            return Err(Error::new(
                ErrorKind::Limit,
                format!("row {row} is of {size} bytes, and {limit} are allowed"),
            ));
        }
        self.frame.clear();
        // Grows with what comes, not with what was said.
        self.from.by_ref().take(size as u64).read_to_end(&mut self.frame)?;
        let found = self.frame.len();
        if found < size {
            return Err(Error::malformed(format!(
                "the stream ends after {found} of {size} bytes of row {row}"
            )));
        }
        self.rows += 1;
        self.lost = false;
        Ok(true)
    }
}

/// Fills `bytes`, or less at the end of the stream.
fn read_up_to(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
