//! Arrow IPC, with a footer (a file) or without (a stream).

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Result;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;

use super::progress::Watched;
use super::{Batches, Look, Progress};

pub(super) fn look_at_file(path: &Path) -> Result<Look> {
    let reader = FileReader::try_new_buffered(File::open(path)?, None)?;
    Ok(Look { schema: reader.schema().as_ref().clone(), row_bytes: None, rows: None })
}

pub(super) fn look_at_stream(path: &Path) -> Result<Look> {
    let reader = StreamReader::try_new_buffered(File::open(path)?, None)?;
    Ok(Look { schema: reader.schema().as_ref().clone(), row_bytes: None, rows: None })
}

pub(super) fn read_file(path: &Path, progress: Progress) -> Result<Batches, ArrowError> {
    let file = BufReader::new(Watched::new(File::open(path)?, progress));
    Ok(Box::new(FileReader::try_new(file, None)?))
}

pub(super) fn read_stream(path: &Path, progress: Progress) -> Result<Batches, ArrowError> {
    let file = BufReader::new(Watched::new(File::open(path)?, progress));
    Ok(Box::new(StreamReader::try_new(file, None)?))
}
