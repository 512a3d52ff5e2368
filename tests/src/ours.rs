//! Our own side, with errors as text.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use bytes::Bytes;
use futures::TryStreamExt;
use lance_file::describe::{EncodingTree, describe};
use lance_file::{
    Alignment, Compression, FileReader, FileWriter, ScanOptions, Schema, Version, WriteOptions,
};
use lance_footer::{Container, Extent};
use lance_io::{MemoryFile, Store};
use lance_table::Table;

use crate::same;

/// Runs `future` to its end.
pub fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// How a file is written.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The file version.
    pub version: Version,
    /// Where buffers begin.
    pub alignment: Alignment,
    /// When pages are closed.
    pub page_bytes: u64,
    /// What fields are compressed with that do not say.
    pub compression: Option<Compression>,
    /// Whether there are checksums.
    pub checksums: bool,
}

impl Shape {
    /// As by default, but of `version`.
    pub fn of(version: Version) -> Self {
        Self {
            version,
            alignment: Alignment::Bytes64,
            page_bytes: 8 << 20,
            compression: None,
            checksums: false,
        }
    }
}

/// Writes `batches` as one file.
pub async fn write_file(
    store: &Store,
    path: &str,
    schema: &ArrowSchema,
    batches: &[RecordBatch],
    shape: Shape,
) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let schema = Schema::from_arrow(schema).map_err(|error| text(&error))?;
    let sink = store.create(path, shape.alignment).await.map_err(|error| text(&error))?;
    let Shape { version, page_bytes, compression, checksums, .. } = shape;
    let options = WriteOptions { version, page_bytes, compression, checksums };
    let mut writer = FileWriter::new(sink, schema, options).map_err(|error| text(&error))?;
    for batch in batches {
        writer.push(batch).await.map_err(|error| text(&error))?;
    }
    let written = writer.finish().await.map_err(|error| text(&error))?;
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if written.rows != rows as u64 {
        return Err(format!("{} rows written of {rows}", written.rows));
    }
    Ok(())
}

/// The file in memory that `batches` make.
pub async fn written(schema: &ArrowSchema, batches: &[RecordBatch], shape: Shape) -> Result<Bytes, String> {
    let store = Store::memory();
    write_file(&store, "a.lance", schema, batches, shape).await?;
    store.read_all("a.lance").await.map_err(|error| error.to_string())
}

/// Opens a file on the local disk.
pub async fn open_path(path: &Path) -> Result<FileReader, String> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    open_bytes(bytes.into()).await
}

/// Opens a file in memory.
pub async fn open_bytes(bytes: Bytes) -> Result<FileReader, String> {
    FileReader::open(Arc::new(MemoryFile::new("a.lance", bytes))).await.map_err(|error| error.to_string())
}

/// All rows of the columns in `projection` as [`same::whole`] gives them.
pub async fn scan(file: &FileReader, projection: &Schema, batch_rows: u32) -> Result<RecordBatch, String> {
    let options = ScanOptions { projection: Some(projection.clone()), batch_rows, ..Default::default() };
    let stream = file.scan(options).map_err(|error| error.to_string())?;
    let batches: Vec<_> = stream.try_collect().await.map_err(|error| error.to_string())?;
    if let Some(large) = batches.iter().find(|batch| batch.num_rows() > batch_rows as usize) {
        return Err(format!("a batch of {} rows instead of at most {batch_rows}", large.num_rows()));
    }
    same::whole(&arrow(projection), &batches)
}

/// `rows` of the columns in `projection`.
pub async fn take(file: &FileReader, rows: &[u64], projection: &Schema) -> Result<RecordBatch, String> {
    let batch = file.take(rows, projection).await.map_err(|error| error.to_string())?;
    same::whole(&arrow(projection), &[batch])
}

/// Reads `file` in every way and compares: a scan of all columns at once, and where that fails of each by
/// itself so that all that is wrong is told; then `rows` in the order given. Gives what is wrong.
pub async fn compare(
    file: &FileReader,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    rows: &[u64],
) -> Vec<String> {
    let expected = same::whole(schema, batches).unwrap();
    let mut wrong = vec![];
    wrong.extend(same::check_schema(&arrow(file.schema()), schema).err());
    if file.rows() != expected.num_rows() as u64 {
        wrong.push(format!("{} rows instead of {}", file.rows(), expected.num_rows()));
    }
    if !wrong.is_empty() {
        return wrong;
    }
    let taken = same::rows_at(&expected, rows);
    let whole = match scan(file, file.schema(), 777).await {
        Ok(actual) => same::check(&actual, &expected),
        Err(error) => Err(error),
    };
    let some = match take(file, rows, file.schema()).await {
        Ok(actual) => same::check(&actual, &taken),
        Err(error) => Err(error),
    };
    if whole.is_ok() && some.is_ok() {
        return wrong;
    }
    for (index, field) in schema.fields().iter().enumerate() {
        let name = field.name();
        let projection = match file.schema().project(&[name]) {
            Ok(projection) => projection,
            Err(error) => {
                wrong.push(format!("projecting {name}: {error}"));
                continue;
            }
        };
        let scanned = scan(file, &projection, 777).await;
        let scanned = scanned.and_then(|actual| same::check_array(actual.column(0), expected.column(index)));
        wrong.extend(scanned.err().map(|error| format!("scan of {name}: {error}")));
        let some = take(file, rows, &projection).await;
        let some = some.and_then(|actual| same::check_array(actual.column(0), taken.column(index)));
        wrong.extend(some.err().map(|error| format!("take of {name}: {error}")));
    }
    if wrong.is_empty() {
        wrong.extend(whole.err().map(|error| format!("scan of all columns at once: {error}")));
        wrong.extend(some.err().map(|error| format!("take of all columns at once: {error}")));
    }
    wrong
}

fn arrow(schema: &Schema) -> SchemaRef {
    Arc::new(schema.to_arrow())
}

/// Whether a page of `file` has an encoding of which `words` is the short form, or the start of it.
pub fn has(file: &FileReader, words: &str) -> bool {
    fn within(tree: &EncodingTree, words: &str) -> bool {
        tree.to_string().starts_with(words) || tree.parts.iter().any(|(_, part)| within(part, words))
    }
    describe(file).columns.iter().flat_map(|column| &column.pages).any(|page| within(&page.encoding, words))
}

/// Fails with all of `wrong`, a line each, if there is any.
#[track_caller]
pub fn none_wrong(wrong: Vec<String>) {
    let shown: Vec<_> = wrong.iter().take(60).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), shown.join("\n"));
}

/// How batches of `table` look.
fn batch_schema(table: &Table) -> SchemaRef {
    arrow(&table.schema().with_blob_descriptions())
}

/// All live rows of `table` as [`same::whole`] gives them.
pub async fn scan_table(table: &Table) -> Result<RecordBatch, String> {
    let stream = table.scan(lance_table::ScanOptions::default()).map_err(|error| error.to_string())?;
    let batches: Vec<_> = stream.try_collect().await.map_err(|error| error.to_string())?;
    same::whole(&batch_schema(table), &batches)
}

/// Live rows of `table`, by position.
pub async fn take_table(table: &Table, rows: &[u64]) -> Result<RecordBatch, String> {
    let batch = table.take(rows, None, false).await.map_err(|error| error.to_string())?;
    same::whole(&batch_schema(table), &[batch])
}

/// Scans `table` and takes `rows` of it, and compares both with `expected`, which is from [`same::whole`].
pub async fn compare_table(table: &Table, expected: &RecordBatch, rows: &[u64]) -> Result<(), String> {
    if table.rows() != expected.num_rows() as u64 {
        return Err(format!("{} rows instead of {}", table.rows(), expected.num_rows()));
    }
    same::check(&scan_table(table).await?, expected).map_err(|error| format!("scan: {error}"))?;
    let taken = take_table(table, rows).await?;
    same::check(&taken, &same::rows_at(expected, rows)).map_err(|error| format!("take: {error}"))
}

/// Where things lie in a file of ours: buffers begin at multiples of the alignment, and with 4096 bytes the
/// metadata of each column does too; nothing overlaps; what lies between is zero.
pub fn check_layout(bytes: &[u8], container: &Container, alignment: Alignment) -> Result<(), String> {
    let pages = container.columns.iter().flat_map(|column| &column.pages);
    let mut regions: Vec<(&str, Extent)> =
        pages.flat_map(|page| &page.buffers).map(|extent| ("page buffer", *extent)).collect();
    regions.extend(container.global_buffers.iter().map(|extent| ("global buffer", *extent)));
    let wide = alignment == Alignment::Bytes4096;
    let step = if wide { 4096 } else { 64 };
    let metadata = container.column_metadata.iter().map(|extent| ("column metadata", *extent));
    regions.extend(metadata);
    regions.retain(|(_, extent)| !extent.is_empty());
    regions.sort_by_key(|(_, extent)| extent.offset());
    let mut end = 0_u64;
    for (what, extent) in regions {
        let at = extent.offset();
        let aligned = at % step == 0 || (what == "column metadata" && !wide);
        if !aligned {
            return Err(format!("{what} at {at}, which is no multiple of {step}"));
        }
        if at < end {
            return Err(format!("{what} at {at} begins before {end}"));
        }
        if bytes[end as usize..at as usize].iter().any(|byte| *byte != 0) {
            return Err(format!("the padding before {what} at {at} is not zero"));
        }
        end = extent.end();
    }
    Ok(())
}
