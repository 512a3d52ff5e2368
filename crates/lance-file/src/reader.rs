//! Reads one file.

pub(crate) mod fields;
mod scan;
mod take;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use lance_encoding::{DecodeBudget, is_text_as_list};
use lance_footer::{Answer, Ask, Container, FormatError, Open, Version};
use lance_io::{ReadAt, drive};
use prost::Message;

use crate::checksums::checked;
use crate::{FileError, Result, Schema, proto};
use fields::FieldCache;

pub use scan::{BatchStream, ScanOptions};
pub use take::{TakePlan, Taken};

/// How a file is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// How many bytes of the end are read first. If all metadata are in there, opening is one request.
    pub tail: u64,
    /// The schema; without it, the one that the file has.
    pub schema: Option<Schema>,
    /// Which column each field is stored in, as (field id, column index). Without it, the fields that own a
    /// column have them in order.
    pub columns: Option<Vec<(i32, u32)>>,
    /// Whether what is read is checked, if the file has checksums: see [`FileReader::is_verified`]. Other files are
    /// read as ever.
    ///
    /// The metadata are checked when the file is opened, which takes one or two reads more. Nothing of another buffer
    /// is used before all of it was read and found to be right, which happens once for as long as the file is open:
    /// the first random row that lies in a buffer of 8 MiB reads all of it. What is wrong is an error; buffers that
    /// nobody reads are not looked at.
    pub verify_checksums: bool,
    /// How much memory decoding may take, whatever the file says: a bound for hostile files.
    pub budget: DecodeBudget,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let (tail, budget) = (Open::TAIL, DecodeBudget::default());
        Self { tail, schema: None, columns: None, verify_checksums: false, budget }
    }
}

/// An open file. Clones share what was read of it: the metadata, and the lookup tables of its pages.
///
/// Reading must be done within a Tokio runtime: decoding goes to its blocking pool.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use arrow_array::record_batch;
/// use futures::TryStreamExt;
/// use lance_file::{Alignment, FileReader, FileWriter, ScanOptions, Schema, WriteOptions};
/// use lance_io::Store;
///
/// let batch = record_batch!(("id", Int32, [1, 2, 3]), ("x", Float64, [0.5, 1.5, 2.5]))?;
/// let store = Store::memory();
/// let writer = store.create("a.lance", Alignment::Bytes64).await?;
/// let schema = Schema::from_arrow(&batch.schema())?;
/// let mut writer = FileWriter::new(writer, schema, WriteOptions::default())?;
/// writer.push(&batch).await?;
/// assert_eq!(writer.finish().await?.rows, 3);
///
/// let file = FileReader::open(store.open_file("a.lance", None).await?).await?;
/// let all: Vec<_> = file.scan(ScanOptions::default())?.try_collect().await?;
/// assert_eq!(all, [batch]);
/// let some = file.take(&[2, 0, 2], &file.schema().project(&["id"])?).await?;
/// assert_eq!(some, record_batch!(("id", Int32, [3, 1, 3]))?);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct FileReader {
    shared: Arc<Shared>,
}

struct Shared {
    source: Arc<dyn ReadAt>,
    container: Container,
    schema: Schema,
    rows: u64,
    fields: FieldCache,
    /// Whether reads are checked.
    verified: bool,
}

impl FileReader {
    /// Opens a file with its own schema.
    pub async fn open(source: Arc<dyn ReadAt>) -> Result<Self> {
        Self::open_with(source, OpenOptions::default()).await
    }

    /// Opens a file.
    ///
    /// An error if the bytes contradict the format, the schema or each other, or if the columns do not have
    /// the same number of rows.
    pub async fn open_with(source: Arc<dyn ReadAt>, options: OpenOptions) -> Result<Self> {
        let container = drive(Open::new(source.size(), options.tail), &source).await?;
        let checked = match options.verify_checksums {
            true => checked(&source, &container).await?,
            false => None,
        };
        let verified = checked.is_some();
        Self::build(checked.unwrap_or_else(|| Arc::clone(&source)), container, options, verified)
            .map_err(|error| FileError::format(source.path(), error))
    }

    fn build(
        source: Arc<dyn ReadAt>,
        container: Container,
        options: OpenOptions,
        verified: bool,
    ) -> Result<Self, FormatError> {
        let (own_schema, length) = match &options.schema {
            Some(schema) => (schema.clone(), None),
            None => descriptor(&container.descriptor)?,
        };
        let columns = match options.columns {
            Some(columns) => check_columns(columns, &container)?,
            None => columns_in_order(&own_schema, &container)?,
        };
        let rows = count_rows(&own_schema, &columns, &container)?.or(length).unwrap_or(0);
        let fields = FieldCache::new(columns, options.budget);
        let schema = own_schema;
        Ok(Self { shared: Arc::new(Shared { source, container, schema, rows, fields, verified }) })
    }

    /// The schema that the file was opened with.
    pub fn schema(&self) -> &Schema {
        &self.shared.schema
    }

    /// Rows of the file.
    pub fn rows(&self) -> u64 {
        self.shared.rows
    }

    /// The version of the file.
    pub fn version(&self) -> Version {
        self.shared.container.version()
    }

    /// Whether what is read is checked: it was asked for with [`OpenOptions::verify_checksums`], and the file has
    /// checksums.
    pub fn is_verified(&self) -> bool {
        self.shared.verified
    }

    /// All metadata of the file.
    pub fn container(&self) -> &Container {
        &self.shared.container
    }

    /// What the file is read from.
    pub fn source(&self) -> &Arc<dyn ReadAt> {
        &self.shared.source
    }

    /// Which column each field is stored in, by field id.
    pub fn columns(&self) -> &HashMap<i32, u32> {
        self.shared.fields.columns()
    }

    /// How much memory decoding may take.
    pub fn budget(&self) -> DecodeBudget {
        self.shared.fields.budget()
    }

    /// Bytes of the lookup tables that are held.
    pub fn weight(&self) -> usize {
        self.shared.fields.weight()
    }

    /// The bytes of a global buffer; 0 is the file descriptor.
    pub async fn global_buffer(&self, index: u32) -> Result<Bytes> {
        let (source, container) = (self.source(), self.container());
        if index == 0 {
            return Ok(container.descriptor.clone());
        }
        let extent = usize::try_from(index).ok().and_then(|index| container.global_buffers.get(index));
        let Some(extent) = extent else {
            let there = container.global_buffers.len();
            let reason = format!("global buffer {index} was asked for, but there are {there}");
            return Err(FileError::format(self.path(), FormatError::corrupt("GBO table", reason)));
        };
        if extent.is_empty() {
            return Ok(Bytes::new());
        }
        let answers = source.read(vec![Ask::slices(vec![*extent])]).await?;
        let slices =
            Answer::only_slices(answers, 1).map_err(|error| FileError::format(self.path(), error))?;
        Ok(slices.into_iter().next().unwrap_or_default())
    }

    fn path(&self) -> &str {
        self.shared.source.path()
    }
}

impl fmt::Debug for FileReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileReader")
            .field("path", &self.path())
            .field("version", &self.version())
            .field("rows", &self.rows())
            .finish_non_exhaustive()
    }
}

/// The schema and the row count that global buffer 0 has.
pub(crate) fn descriptor(bytes: &Bytes) -> Result<(Schema, Option<u64>), FormatError> {
    let message = proto::FileDescriptor::decode(bytes.clone())
        .map_err(|error| FormatError::corrupt("file descriptor", format!("not a message: {error}")))?;
    let schema = message.schema.unwrap_or_default();
    Ok((Schema::from_proto(&schema.fields, &schema.metadata)?, Some(message.length)))
}

fn check_columns(columns: Vec<(i32, u32)>, container: &Container) -> Result<HashMap<i32, u32>, FormatError> {
    let there = container.footer.columns;
    match columns.iter().find(|(_, column)| *column >= there) {
        None => Ok(columns.into_iter().collect()),
        Some((id, column)) => Err(FormatError::corrupt(
            "data file entry",
            format!("field {id} is said to be in column {column}, but the file has {there} columns"),
        )),
    }
}

/// Without another source, the fields that own a column have them in the order of the schema.
fn columns_in_order(schema: &Schema, container: &Container) -> Result<HashMap<i32, u32>, FormatError> {
    let owners = schema.column_owners(container.version());
    let there = container.footer.columns;
    let mut columns = HashMap::new();
    let mut next = 0_u32;
    for owner in &owners {
        columns.entry(owner.id).or_insert(next);
        let column = usize::try_from(next).ok().and_then(|column| container.columns.get(column));
        let two =
            owner.is_text() && column.is_some_and(|column| is_text_as_list(column, container.version()));
        next = next.saturating_add(if two { 2 } else { 1 });
    }
    if next != there {
        return Err(FormatError::corrupt(
            "schema",
            format!("it needs {next} columns, but the file has {there}"),
        ));
    }
    Ok(columns)
}

/// The number of rows that all fields in the file have; none if there is no field.
fn count_rows(
    schema: &Schema,
    columns: &HashMap<i32, u32>,
    container: &Container,
) -> Result<Option<u64>, FormatError> {
    let version = container.version();
    let mut first: Option<(i32, u64)> = None;
    for field in &schema.fields {
        // Columns of version 2.0 below the top level count items, not rows.
        let owners = field.column_owners(version).into_iter();
        let owners = owners.take(if version > Version::V2_0 { usize::MAX } else { 1 });
        for owner in owners {
            let column = columns.get(&owner.id).and_then(|column| usize::try_from(*column).ok());
            let Some(column) = column.and_then(|column| container.columns.get(column)) else { continue };
            let rows = match field.slots_of(owner.id) {
                // Of length 0: the field is refused when it is read.
                Some(0) | None => continue,
                Some(slots) => column.length() / slots,
            };
            match first {
                None => first = Some((owner.id, rows)),
                Some((_, other)) if other == rows => {}
                Some((id, other)) => {
                    let path = |id| schema.path(id).unwrap_or_default();
                    return Err(FormatError::corrupt(
                        "column metadata",
                        format!(
                            "field {} has {other} rows, but field {} has {rows}",
                            path(id),
                            path(owner.id)
                        ),
                    ));
                }
            }
        }
    }
    Ok(first.map(|(_, rows)| rows))
}

/// Metadata of the descriptor that is no part of the schema message.
pub(crate) fn descriptor_message(schema: &Schema, length: u64) -> proto::FileDescriptor {
    let (fields, metadata): (_, BTreeMap<_, _>) = (schema.to_proto(), schema.metadata_to_proto());
    proto::FileDescriptor { schema: Some(proto::Schema { fields, metadata }), length }
}
