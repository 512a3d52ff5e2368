//! Rows as an Arrow IPC file and as Parquet.

use std::io::Write;

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::Sink;

/// Bytes that a row group of Parquet gathers before it is written.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// The values in place of a dictionary. An IPC file has one dictionary a column, each batch of a table its own.
pub(super) fn without_dictionary(from: DataType) -> DataType {
    match from {
        DataType::Dictionary(_, values) => *values,
        other => other,
    }
}

pub(super) struct Arrow<W: Write> {
    writer: FileWriter<W>,
}

impl<W: Write> Arrow<W> {
    pub(super) fn new(out: W, schema: &Schema) -> Result<Self> {
        Ok(Self { writer: FileWriter::try_new(out, schema)? })
    }
}

impl<W: Write> Sink for Arrow<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Ok(self.writer.write(batch)?)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.writer.finish()?;
        Ok(self.writer.into_inner()?.flush()?)
    }
}

pub(super) struct Parquet<W: Write + Send> {
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(out: W, schema: SchemaRef) -> Result<Self> {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        Ok(Self { writer: ArrowWriter::try_new(out, schema, Some(properties))? })
    }
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch)?;
        if self.writer.in_progress_size() > ROW_GROUP_BYTES {
            self.writer.flush()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(self.writer.into_inner()?.flush()?)
    }
}
