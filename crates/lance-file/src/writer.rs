//! Writes one file.

mod conform;

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field as ArrowField, FieldRef};
use bytes::Bytes;
use lance_encoding::{Compression, EncodedPage, FieldWriter, PageJob, WriterOptions, field_writer};
use lance_footer::{ChecksumKind, ContainerWriter, Crc32c, Extent, FormatError, PageRecord, Version};
use lance_io::AlignedWriter;
use prost::Message;
use tokio::task::JoinHandle;

use crate::pool::cut_off;
use crate::reader::descriptor_message;
use crate::{FileError, Result, Schema};
use conform::conform;

/// How a file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// The file version.
    pub version: Version,
    /// A page is closed when the arrays that it holds have more bytes than this.
    pub page_bytes: u64,
    /// What the values of fields are compressed with whose metadata does not say; none for what is smallest of
    /// what is quick.
    pub compression: Option<Compression>,
    /// Whether the file gets a table of CRC32C checksums of all that is in it, in a global buffer that readers which do
    /// not know it leave alone: see `docs/format/checksums.md`.
    pub checksums: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        let WriterOptions { version, page_bytes, compression } = WriterOptions::default();
        Self { version, page_bytes, compression, checksums: false }
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Its version.
    pub version: Version,
    /// The ids of the fields that own a column.
    pub fields: Vec<i32>,
    /// The column of each of them.
    pub columns: Vec<u32>,
}

/// Writes a file from batches, page by page.
///
/// Pages are encoded on Tokio's blocking pool, a few at a time, and written in the order in which they were
/// filled, so that the same batches give the same bytes. The file appears at its place when
/// [`Self::finish`] succeeds; a writer that is dropped before leaves nothing.
pub struct FileWriter {
    output: AlignedWriter,
    container: ContainerWriter,
    schema: Schema,
    version: Version,
    fields: Vec<OpenField>,
    /// One a field.
    writers: Vec<Box<dyn FieldWriter>>,
    /// Pages that are encoded, oldest first.
    jobs: VecDeque<Job>,
    rows: u64,
    failed: bool,
}

struct OpenField {
    arrow: FieldRef,
    /// The column of its first leaf.
    first_column: u32,
}

struct Job {
    field: usize,
    task: JoinHandle<Result<Vec<Encoded>, FormatError>>,
}

/// A page, and the checksums of its buffers if the file gets them.
type Encoded = (EncodedPage, Vec<Crc32c>);

impl Drop for Job {
    fn drop(&mut self) {
        // One that has not started need not.
        self.task.abort();
    }
}

/// The writers of all fields, and how many columns they fill.
struct Columns {
    fields: Vec<OpenField>,
    writers: Vec<Box<dyn FieldWriter>>,
    count: u32,
}

impl Columns {
    fn open(schema: &Schema, options: &WriteOptions) -> Result<Self, FormatError> {
        let WriteOptions { version, page_bytes, compression, .. } = *options;
        schema.check_storable(version)?;
        if let Some(blob) = schema.pre_order().into_iter().find(|field| field.is_blob()) {
            let path = schema.path(blob.id).unwrap_or_default();
            return Err(FormatError::unsupported(format!("writing blobs (field {path})")));
        }
        let options = WriterOptions { version, page_bytes, compression };
        let mut fields = Vec::with_capacity(schema.fields.len());
        let mut writers = Vec::with_capacity(schema.fields.len());
        let mut count = 0_u32;
        for field in &schema.fields {
            let arrow = Arc::new(field.to_arrow());
            let writer = field_writer(&arrow, &options);
            writers.push(writer.map_err(|error| error.within(format_args!("field {}", field.name)))?);
            fields.push(OpenField { arrow, first_column: count });
            let leaves = u32::try_from(field.column_owners(version).len()).ok();
            count = leaves
                .and_then(|leaves| count.checked_add(leaves))
                .ok_or_else(|| FormatError::unsupported("a schema with more than 2^32 columns"))?;
        }
        Ok(Self { fields, writers, count })
    }
}

/// So many pages are encoded at a time. Each holds its arrays and its buffers, so this bounds the memory.
const JOBS: usize = 4;

impl FileWriter {
    /// A writer of batches of `schema` into `writer`, with the alignment that it has.
    ///
    /// An error if the version cannot hold a type of the schema.
    pub fn new(writer: AlignedWriter, schema: Schema, options: WriteOptions) -> Result<Self> {
        let version = options.version;
        let opened =
            Columns::open(&schema, &options).map_err(|error| FileError::format(writer.path(), error))?;
        let Columns { fields, writers, count } = opened;
        let container = ContainerWriter::new(version, writer.alignment(), count);
        let container = if options.checksums { container.with_checksums() } else { container };
        Ok(Self {
            output: writer,
            container,
            schema,
            version,
            fields,
            writers,
            jobs: VecDeque::new(),
            rows: 0,
            failed: false,
        })
    }

    /// An error if [`FileWriter::new`] would refuse `schema`, so that nothing is created in vain.
    pub fn check(schema: &Schema, options: &WriteOptions) -> Result<(), FormatError> {
        Columns::open(schema, options).map(|_| ())
    }

    /// Adds a batch, and writes the pages that are ready.
    ///
    /// The batch must have the fields of the schema by name and order, with the same types; string and
    /// binary views are taken for strings and binaries. A batch that does not fit changes nothing; after any
    /// other error the file cannot be finished.
    pub async fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_usable()?;
        let arrays = self.arrays(batch)?;
        self.failed = true;
        for (field, array) in arrays.into_iter().enumerate() {
            let jobs = self.writers.get_mut(field).map(|writer| writer.push(array));
            let jobs = jobs.unwrap_or(Ok(vec![])).map_err(|error| self.place(field, error))?;
            self.start(field, jobs).await?;
        }
        self.rows += batch.num_rows() as u64;
        self.failed = false;
        Ok(())
    }

    /// Adds a global buffer and gives its index, which is 1 or more.
    pub async fn global_buffer(&mut self, bytes: Bytes) -> Result<u32> {
        self.check_usable()?;
        self.failed = true;
        let crc = if self.container.has_checksums() { Crc32c::of(&bytes) } else { Crc32c::default() };
        let extent = self.output.buffer(vec![bytes]).await?;
        self.container.checksum(extent, ChecksumKind::GlobalBuffer, crc);
        let index = self.container.global_buffer(extent).map_err(|error| self.format(error))?;
        self.failed = false;
        Ok(index)
    }

    /// Rows of the batches that were pushed.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes that were written so far; pages that are not full, or being encoded, are not counted.
    pub const fn bytes(&self) -> u64 {
        self.output.position()
    }

    /// The schema.
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The metadata of the schema, which may be changed until the end.
    pub const fn metadata_mut(&mut self) -> &mut std::collections::BTreeMap<String, String> {
        &mut self.schema.metadata
    }

    /// Writes what is left and publishes the file.
    pub async fn finish(mut self) -> Result<Written> {
        self.check_usable()?;
        for (field, writer) in std::mem::take(&mut self.writers).into_iter().enumerate() {
            let jobs = writer.finish().map_err(|error| self.place(field, error))?;
            self.start(field, jobs).await?;
        }
        while let Some(job) = self.jobs.pop_front() {
            self.write(job).await?;
        }
        let path = self.output.path().to_string();
        let descriptor = descriptor_message(&self.schema, self.rows).encode_to_vec();
        let end = self.container.finish(self.output.position(), &descriptor);
        let end = end.map_err(|error| FileError::format(&path, error))?;
        self.output.raw(end.into()).await?;
        let size = self.output.finish().await?;
        let fields: Vec<_> = self.schema.column_owners(self.version).iter().map(|field| field.id).collect();
        let columns = (0..).take(fields.len()).collect();
        Ok(Written { rows: self.rows, size, version: self.version, fields, columns })
    }

    /// The columns of `batch`, with the types that the fields have.
    fn arrays(&self, batch: &RecordBatch) -> Result<Vec<arrow_array::ArrayRef>> {
        let mismatch = |reason| FileError::Mismatch { reason };
        let schema = batch.schema_ref();
        if schema.fields().len() != self.fields.len() {
            let (has, wants) = (schema.fields().len(), self.fields.len());
            return Err(mismatch(format!("it has {has} fields, the schema {wants}")));
        }
        let pairs = self.fields.iter().zip(schema.fields()).zip(batch.columns());
        let arrays = pairs.map(|((open, field), array)| {
            if open.arrow.name() != field.name() {
                let (has, wants) = (field.name(), open.arrow.name());
                return Err(mismatch(format!("it has the field {has:?} where the schema has {wants:?}")));
            }
            conform(array, &open.arrow, field.name()).map_err(mismatch)
        });
        arrays.collect()
    }

    /// Starts jobs of a field. Waits for the oldest ones, and writes their pages, where there are too many.
    async fn start(&mut self, field: usize, jobs: Vec<PageJob>) -> Result<()> {
        for job in jobs {
            while self.jobs.len() >= JOBS {
                let Some(oldest) = self.jobs.pop_front() else { break };
                self.write(oldest).await?;
            }
            let checksums = self.container.has_checksums();
            let task = tokio::task::spawn_blocking(move || encode(job, checksums));
            self.jobs.push_back(Job { field, task });
        }
        Ok(())
    }

    /// Writes the pages of a job.
    async fn write(&mut self, mut job: Job) -> Result<()> {
        let pages = match (&mut job.task).await {
            Ok(pages) => pages.map_err(|error| self.place(job.field, error))?,
            Err(error) => return Err(cut_off(self.output.path(), &error)),
        };
        for (page, checksums) in pages {
            let mut buffers: Vec<Extent> = Vec::with_capacity(page.buffers.len());
            let mut checksums = checksums.into_iter();
            for parts in page.buffers {
                let extent = self.output.buffer(parts).await?;
                buffers.push(extent);
                if let Some(crc) = checksums.next() {
                    self.container.checksum(extent, ChecksumKind::PageBuffer, crc);
                }
            }
            let first = self.fields.get(job.field).map(|open| open.first_column);
            let column = first.zip(u32::try_from(page.leaf).ok());
            let column = column.and_then(|(first, leaf)| first.checked_add(leaf)).unwrap_or(u32::MAX);
            let EncodedPage { length, priority, encoding, .. } = EncodedPage { buffers: vec![], ..page };
            let record = PageRecord { length, priority, buffers, encoding };
            self.container.page(column, record).map_err(|error| self.place(job.field, error))?;
        }
        Ok(())
    }

    fn check_usable(&self) -> Result<()> {
        if !self.failed {
            return Ok(());
        }
        let source = std::io::Error::other("an earlier write to this file failed");
        let path = self.output.path().to_string();
        Err(FileError::Io(lance_io::IoError::Io { path, source }))
    }

    fn place(&self, field: usize, error: FormatError) -> FileError {
        let name = self.fields.get(field).map_or("", |open| open.arrow.name().as_str());
        self.format(error.within(format_args!("field {name}")))
    }

    fn format(&self, error: FormatError) -> FileError {
        FileError::format(self.output.path(), error)
    }
}

/// Encodes pages; pure CPU.
fn encode(job: PageJob, checksums: bool) -> Result<Vec<Encoded>, FormatError> {
    let of = |parts: &Vec<Bytes>| {
        let mut crc = Crc32c::default();
        parts.iter().for_each(|part| crc.add(part));
        crc
    };
    let encoded = job.run()?.into_iter().map(|page| {
        let sums = if checksums { page.buffers.iter().map(of).collect() } else { vec![] };
        (page, sums)
    });
    Ok(encoded.collect())
}

impl std::fmt::Debug for FileWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields: Vec<&ArrowField> = self.fields.iter().map(|open| open.arrow.as_ref()).collect();
        f.debug_struct("FileWriter")
            .field("path", &self.output.path())
            .field("rows", &self.rows)
            .field("fields", &fields)
            .finish_non_exhaustive()
    }
}
