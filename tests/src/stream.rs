//! Arrow data in files, as IPC streams. A stream, unlike a file, may change its dictionaries between batches.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;

/// Writes `batches` of `schema` to `path`.
pub fn write(path: &Path, schema: &SchemaRef, batches: &[RecordBatch]) {
    let file = BufWriter::new(File::create(path).unwrap());
    let mut writer = StreamWriter::try_new(file, schema).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
}

/// Reads the batches at `path`, which must be sound.
pub fn read(path: &Path) -> (SchemaRef, Vec<RecordBatch>) {
    try_read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads the batches at `path`. An error if they are not sound, such as keys that are in no dictionary.
pub fn try_read(path: &Path) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = StreamReader::try_new(BufReader::new(file), None).map_err(|error| error.to_string())?;
    let schema = reader.schema();
    let batches: Result<_, _> = reader.collect();
    Ok((schema, batches.map_err(|error| error.to_string())?))
}
