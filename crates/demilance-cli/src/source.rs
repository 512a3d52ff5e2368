//! What is imported: files of several kinds that together make one table.
//!
//! Every file is looked at before anything is written, so that schemas that do not agree are found
//! first. Then the files are read one after the other on a thread of their own, a few batches ahead of
//! the writer, and never whole.

mod csv;
mod expand;
mod ipc;
mod json;
mod kind;
pub(crate) mod nest;
mod parquet;
mod plain;
mod progress;
mod sample;
mod stream;
mod unify;

pub(crate) use expand::expand;
pub(crate) use progress::Progress;
pub(crate) use stream::Stream;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use kind::Kind;
use unify::Unified;

/// Batches of one file, in order.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// How many bytes a batch should have at most, as far as can be said beforehand.
const BATCH_BYTES: u64 = 8 << 20;
/// How many rows a batch has at most.
const BATCH_ROWS: usize = 8192;

/// A file whose schema is known.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    kind: Kind,
    /// As the file has it.
    flat: SchemaRef,
    /// With structs in place of names with dots.
    schema: SchemaRef,
    /// Rows of a batch, from the mean size of a row.
    batch_rows: usize,
    /// Rows of the file, if it says so.
    rows: Option<u64>,
}

/// Files that make one table.
#[derive(Debug)]
pub(crate) struct Sources {
    files: Vec<Source>,
    schema: SchemaRef,
    bytes: u64,
}

impl Sources {
    /// Looks at every file. `expected` is the schema of the table that is appended to, with its name.
    pub(crate) fn open(paths: &[PathBuf], expected: Option<(&str, &Schema)>) -> Result<Self> {
        let mut unified = Unified::default();
        if let Some((name, schema)) = expected {
            unified.declare(name, &plain::schema(schema))?;
        }
        let mut files = Vec::with_capacity(paths.len());
        let mut bytes = 0;
        for path in paths {
            let (source, size) = Source::open(path)?;
            let name = path.display().to_string();
            match source.kind {
                Kind::Csv => unified.infer(&name, &source.schema, unify::Columns::All)?,
                Kind::Json => unified.infer(&name, &source.schema, unify::Columns::Some)?,
                Kind::Parquet | Kind::IpcFile | Kind::IpcStream => unified.declare(&name, &source.schema)?,
            }
            files.push(source);
            bytes += size;
        }
        Ok(Self { files, schema: Arc::new(unified.finish()), bytes })
    }

    /// The schema of the batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Rows of all files, if all of them say so.
    pub(crate) fn rows(&self) -> Option<u64> {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// Starts to read on a thread of its own.
    pub(crate) fn stream(self, progress: Progress) -> Stream {
        Stream::start(Arc::clone(&self.schema), self.batches(progress))
    }

    /// Reads one file after the other. Errors name the file.
    pub(crate) fn batches(self, progress: Progress) -> impl Iterator<Item = Result<RecordBatch>> + Send {
        let mut rows = 0;
        let shown = progress.clone();
        let batches = self.files.into_iter().flat_map(move |file| file.batches(&self.schema, &progress));
        batches.inspect(move |batch| {
            rows += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
            shown.rows(rows);
        })
    }
}

impl Source {
    fn open(path: &Path) -> Result<(Self, u64)> {
        let size = std::fs::metadata(path).map_err(|error| named(path, error))?.len();
        let kind = Kind::of(path)?;
        let seen = match kind {
            Kind::Parquet => parquet::look(path),
            Kind::IpcFile => ipc::look_at_file(path),
            Kind::IpcStream => ipc::look_at_stream(path),
            Kind::Csv => csv::look(path),
            Kind::Json => json::look(path),
        };
        let seen = seen.map_err(|error| named(path, error))?;
        let flat = Arc::new(plain::schema(&seen.schema));
        let schema = Arc::new(nest::schema(&flat).map_err(|error| named(path, error))?);
        let batch_rows = batch_rows(seen.row_bytes);
        Ok((Self { path: path.to_path_buf(), kind, flat, schema, batch_rows, rows: seen.rows }, size))
    }

    /// Reads the file; errors name it.
    fn batches(
        self,
        schema: &SchemaRef,
        progress: &Progress,
    ) -> Box<dyn Iterator<Item = Result<RecordBatch>> + Send> {
        match self.read(schema, progress) {
            Ok(batches) => {
                Box::new(batches.map(move |batch| batch.map_err(|error| named(&self.path, error))))
            }
            Err(error) => Box::new(std::iter::once(Err(named(&self.path, error)))),
        }
    }

    /// Reads the file as batches of `schema`.
    fn read(&self, schema: &SchemaRef, progress: &Progress) -> Result<Batches, ArrowError> {
        let (path, rows) = (&self.path, self.batch_rows);
        let batches = match self.kind {
            Kind::Parquet => parquet::read(path, rows, progress.clone())?,
            Kind::IpcFile => ipc::read_file(path, progress.clone())?,
            Kind::IpcStream => ipc::read_stream(path, progress.clone())?,
            Kind::Csv => csv::read(path, &nest::flatten(schema, &self.flat), rows, progress.clone())?,
            Kind::Json => json::read(path, &nest::flatten(schema, &self.flat), rows, progress.clone())?,
        };
        let is_nested = self.flat.fields().iter().any(|field| field.name().contains('.'));
        let schema = Arc::clone(schema);
        Ok(Box::new(batches.map(move |batch| {
            let batch = batch?;
            if !is_nested {
                return plain::conform(&batch, &schema);
            }
            let nested = Arc::new(nest::schema(&batch.schema()).map_err(external)?);
            plain::conform(&nest::batch(&batch, &nested)?, &schema)
        })))
    }
}

fn external(error: anyhow::Error) -> ArrowError {
    ArrowError::ExternalError(error.into())
}

/// What a first look at a file found.
struct Look {
    schema: Schema,
    /// Mean bytes of a row, if that can be said.
    row_bytes: Option<u64>,
    rows: Option<u64>,
}

fn batch_rows(row_bytes: Option<u64>) -> usize {
    let rows = BATCH_BYTES / row_bytes.unwrap_or(1).max(1);
    usize::try_from(rows).unwrap_or(BATCH_ROWS).clamp(1, BATCH_ROWS)
}

/// An error of `path`.
fn named(path: &Path, error: impl Into<anyhow::Error>) -> anyhow::Error {
    error.into().context(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_follow_the_size_of_a_row() {
        assert_eq!(batch_rows(None), BATCH_ROWS);
        assert_eq!(batch_rows(Some(0)), BATCH_ROWS);
        assert_eq!(batch_rows(Some(65_536)), 128);
        assert_eq!(batch_rows(Some(u64::MAX)), 1);
    }
}
