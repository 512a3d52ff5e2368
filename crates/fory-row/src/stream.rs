//! Rows one after the other: each with its size and its schema hash in front, as Java's encoders write them into one
//! buffer.

mod reader;
mod writer;

pub use reader::{RowStreamReader, StreamOptions};
pub use writer::RowStreamWriter;

use crate::{DataType, Error, ErrorKind, ForyRow, Frame, Layout, Result};

const FRAME: Frame = Frame::RowWithSizeAndHash;

/// The type of struct whose schema was found to be that of a stream, so that not every row has to be compared.
#[derive(Debug, Clone, Copy, Default)]
struct Known(Option<fn() -> DataType>);

impl Known {
    fn check<T: ForyRow>(&mut self, layout: &Layout) -> Result<()> {
        let data_type: fn() -> DataType = T::data_type;
        // Types whose functions share an address have one schema.
        if self.0.is_some_and(|known| std::ptr::fn_addr_eq(known, data_type)) {
            return Ok(());
        }
        let (own, stream) = (T::schema()?, layout.schema());
        if own.fields().len() != stream.fields().len() {
            let (own, stream) = (own.fields().len(), stream.fields().len());
            let reason = format!("a struct of {own} fields in a stream whose rows have {stream}");
            return Err(Error::new(ErrorKind::Type, reason));
        }
        let other = own.fields().iter().zip(stream.fields()).find(|(own, stream)| own != stream);
        if let Some((own, _)) = other {
            let reason = "the struct and the stream have different fields at this place";
            return Err(Error::new(ErrorKind::Type, reason).in_field(&own.name));
        }
        self.0 = Some(data_type);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::*;
    use crate::{Field, Format, Schema, Value};

    fn layout() -> Result<Layout> {
        let schema = Schema::new(vec![
            Field::new("id", DataType::Int32, false),
            Field::new("name", DataType::Utf8, true),
        ])?;
        Layout::new(schema, Format::Standard)
    }

    fn rows() -> Vec<Value> {
        let name = |name: &str| Value::Utf8(name.into());
        vec![
            Value::Struct(vec![Value::Int32(1), name("one")]),
            Value::Struct(vec![Value::Int32(2), Value::Null]),
            Value::Struct(vec![Value::Int32(3), name(&"three ".repeat(1000))]),
        ]
    }

    fn written() -> Result<Vec<u8>> {
        let mut writer = RowStreamWriter::new(layout()?, vec![]);
        rows().iter().try_for_each(|row| writer.write(row))?;
        writer.finish()
    }

    fn read(bytes: impl Read) -> (Vec<Value>, Option<Error>) {
        let mut rows = vec![];
        let Ok(layout) = layout() else { return (rows, None) };
        let mut reader = RowStreamReader::new(layout, bytes);
        loop {
            match reader.next_value() {
                Ok(Some(row)) => rows.push(row),
                Ok(None) => return (rows, None),
                Err(error) => return (rows, Some(error)),
            }
        }
    }

    /// Gives a byte at a time, and an interruption before each.
    struct Trickle<'a>(&'a [u8], bool);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let len = buffer.len().min(1);
            self.0.read(buffer.get_mut(..len).unwrap_or_default())
        }
    }

    #[test]
    fn rows_there_and_back() -> Result<()> {
        let bytes = written()?;
        for (found, error) in [read(&*bytes), read(Trickle(&bytes, false))] {
            assert_eq!((found, error.map(|error| error.to_string())), (rows(), None));
        }
        Ok(())
    }

    #[test]
    fn an_end_between_rows_is_not_one_within_a_row() -> Result<()> {
        let bytes = written()?;
        let mut ends = vec![0];
        for row in rows() {
            let before = ends.last().copied().unwrap_or_default();
            ends.push(before + 12 + layout()?.encoded_len(&row)?);
        }
        for len in 0..=bytes.len() {
            let (found, error) = read(bytes.get(..len).unwrap_or_default());
            let whole = ends.iter().filter(|end| **end <= len).count() - 1;
            assert_eq!(found.len(), whole, "{len}");
            assert_eq!(error.is_none(), ends.contains(&len), "{len} {error:?}");
            assert!(error.is_none_or(|error| error.kind() == ErrorKind::Malformed));
        }
        Ok(())
    }

    #[test]
    fn sizes_are_checked_before_memory_is_taken() -> Result<()> {
        let large = [&i32::MAX.to_le_bytes()[..], &[0; 100]].concat();
        for (bytes, kind) in [
            (&large[..], ErrorKind::Limit),
            (&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], ErrorKind::Malformed),
            (&[0xff; 12], ErrorKind::Malformed),
        ] {
            let (rows, error) = read(bytes);
            assert_eq!((rows.len(), error.map(|error| error.kind())), (0, Some(kind)));
        }
        let options = StreamOptions { max_frame: usize::MAX };
        let mut reader = RowStreamReader::with_options(layout()?, &*large, options);
        let error = reader.next_row().err().map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some("malformed row: the stream ends after 100 of 2147483647 bytes of row 0")
        );
        // What follows is no frame.
        assert!(reader.next_row().is_err());
        Ok(())
    }

    #[test]
    fn a_row_of_another_schema_does_not_stop_the_stream() -> Result<()> {
        let other = Layout::new(Schema::new(vec![Field::new("x", DataType::Bool, true)])?, Format::Standard)?;
        let mut bytes = vec![];
        other.write_framed_row(FRAME, &mut bytes, |row| row.set("x", true))?;
        bytes.extend(written()?);
        let mut reader = RowStreamReader::new(layout()?, &*bytes);
        let kind = reader.next_row().err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::HashMismatch));
        let row = reader.next_row()?.map(|row| row.get::<i32>("id"));
        assert_eq!(row.transpose()?, Some(Some(1)));
        Ok(())
    }

    #[test]
    fn only_rows_of_the_schema_are_written() -> Result<()> {
        let mut row = vec![];
        layout()?.write_row(&mut row, |row| {
            row.set("id", 7)?;
            row.set("name", "seven")
        })?;
        let mut writer = RowStreamWriter::new(layout()?, vec![]);
        writer.write_bytes(&row)?;
        if let Some(byte) = row.get_mut(24) {
            *byte = 0xff;
        }
        for wrong in [writer.write_bytes(&row), writer.write(&Value::Null), writer.write_row(|_| Ok(()))] {
            assert!(wrong.is_err());
        }
        let (rows, error) = read(&*writer.finish()?);
        assert!(error.is_none() && rows.len() == 1, "{error:?} {rows:?}");
        Ok(())
    }
}
