//! Deletion files: which rows of a fragment are gone.
//!
//! Two kinds hold the same set of physical offsets. `.arrow` is an Arrow IPC file with one batch of one
//! column `row_id: uint32 not null`, in any order. `.bin` is a roaring bitmap in its portable form. See
//! docs/format/table.md §7.

use arrow_ipc::{CompressionType, MetadataVersion, Type, root_as_footer, root_as_message};
use lance_footer::{Cursor, FormatError, Result, Rows};
use lance_io::Store;
use roaring::RoaringBitmap;

use crate::TableError;
use crate::commit::put_new;
use crate::place::Places;
use crate::proto::deletion_file::DeletionFileType;
use crate::proto::{DataFragment, DeletionFile};
use crate::slot::missing;

const SECTION: &str = "deletion file";

/// The path of the deletion file of `fragment`, below the root of its table.
pub(crate) fn path(fragment: u64, file: &DeletionFile) -> Result<String> {
    let extension = match kind(file)? {
        DeletionFileType::ArrowArray => "arrow",
        DeletionFileType::Bitmap => "bin",
    };
    Ok(format!("_deletions/{fragment}-{}-{}.{extension}", file.read_version, file.id))
}

/// The deleted offsets of `fragment`; none if it has no deletion file.
pub(crate) async fn read(places: &Places, fragment: &DataFragment) -> crate::Result<RoaringBitmap> {
    let Some(file) = &fragment.deletion_file else { return Ok(RoaringBitmap::new()) };
    let path =
        path(fragment.id, file).map_err(|error| TableError::format(places.root().location(""), error))?;
    let (store, path) = places.deletion_file(file.base_id, path)?;
    let bytes = store.read_all(&path).await.map_err(missing)?;
    parse(&bytes, file, fragment).map_err(|error| TableError::format(store.location(&path), error))
}

/// Writes a file that lists `deleted`, all deleted offsets of `fragment`, and adds its path to `files`. None if no row is
/// left, which needs no file. `read_version` is the version that the deletion is made from.
pub(crate) async fn write(
    store: &Store,
    fragment: &DataFragment,
    read_version: u64,
    deleted: &RoaringBitmap,
    files: &mut Vec<String>,
) -> crate::Result<Option<DeletionFile>> {
    if deleted.len() >= fragment.physical_rows {
        return Ok(None);
    }
    let file = DeletionFile {
        // Of the two kinds the one that is smaller, for any number of rows.
        file_type: DeletionFileType::Bitmap.into(),
        read_version,
        id: rand::random(),
        num_deleted_rows: deleted.len(),
        base_id: None,
    };
    let place = |error| TableError::format(store.location(""), error);
    let path = path(fragment.id, &file).map_err(place)?;
    let mut bytes = vec![];
    deleted.serialize_into(&mut bytes).map_err(|error| place(corrupt(error.to_string())))?;
    put_new(store, &path, bytes.into()).await?;
    files.push(path);
    Ok(Some(file))
}

fn kind(file: &DeletionFile) -> Result<DeletionFileType> {
    DeletionFileType::try_from(file.file_type)
        .map_err(|_| FormatError::unsupported(format!("deletion file type {}", file.file_type)))
}

/// The deleted offsets of `fragment` that `bytes`, its deletion file, holds.
pub(crate) fn parse(bytes: &[u8], file: &DeletionFile, fragment: &DataFragment) -> Result<RoaringBitmap> {
    let deleted = match kind(file)? {
        DeletionFileType::ArrowArray => parse_arrow(bytes)?,
        DeletionFileType::Bitmap => parse_bitmap(bytes)?,
    };
    if let Some(last) = deleted.max()
        && u64::from(last) >= fragment.physical_rows
    {
        return Err(corrupt(format!(
            "row {last} of a fragment of {} rows is deleted",
            fragment.physical_rows
        )));
    }
    // Zero stands for unknown.
    if file.num_deleted_rows != 0 && file.num_deleted_rows != deleted.len() {
        return Err(corrupt(format!(
            "{} rows are deleted, but the manifest says {}",
            deleted.len(),
            file.num_deleted_rows
        )));
    }
    Ok(deleted)
}

fn parse_bitmap(mut bytes: &[u8]) -> Result<RoaringBitmap> {
    let bitmap = RoaringBitmap::deserialize_from(&mut bytes)
        .map_err(|error| corrupt(format!("not a roaring bitmap: {error}")))?;
    if !bytes.is_empty() {
        return Err(corrupt(format!("{} bytes after the bitmap", bytes.len())));
    }
    Ok(bitmap)
}

/// Reads the one shape of Arrow file that is allowed here. The general reader allocates what lengths in the
/// file say, and panics on some of them.
///
/// ```text
/// "ARROW1" 00 00 | schema | record batch: metadata, body | footer | i32 footer length | "ARROW1"
/// ```
fn parse_arrow(bytes: &[u8]) -> Result<RoaringBitmap> {
    const ARROW_MAGIC: &[u8] = b"ARROW1";
    let (rest, magic) = split_tail(bytes, ARROW_MAGIC.len())?;
    if magic != ARROW_MAGIC || !bytes.starts_with(ARROW_MAGIC) {
        return Err(corrupt("not an Arrow file"));
    }
    let (rest, len) = split_tail(rest, 4)?;
    let (_, footer) = split_tail(rest, to_usize(Cursor::new(SECTION, len).u32()?)?)?;
    let footer = root_as_footer(footer).map_err(|error| corrupt(format!("its footer: {error}")))?;
    if footer.dictionaries().is_some_and(|blocks| !blocks.is_empty()) {
        return Err(corrupt("it has dictionaries"));
    }
    check_schema(footer.schema())?;
    let block = match footer.recordBatches() {
        Some(blocks) if blocks.len() == 1 => *blocks.get(0),
        blocks => {
            let count = blocks.map_or(0, |blocks| blocks.len());
            return Err(corrupt(format!("{count} record batches instead of one")));
        }
    };

    let metadata = slice(bytes, block.offset(), i64::from(block.metaDataLength()))?;
    let body_start = block.offset().checked_add(i64::from(block.metaDataLength()));
    let body = slice(bytes, body_start.unwrap_or(-1), block.bodyLength())?;
    parse_batch(message(metadata)?, body)
}

fn check_schema(schema: Option<arrow_ipc::Schema<'_>>) -> Result<()> {
    let schema = schema.ok_or_else(|| corrupt("it has no schema"))?;
    if schema.endianness() != arrow_ipc::Endianness::Little {
        return Err(FormatError::unsupported("a big-endian deletion file"));
    }
    let fields = schema.fields().unwrap_or_default();
    let expected = fields.len() == 1
        && fields.iter().all(|field| {
            let unsigned = |int: arrow_ipc::Int<'_>| int.bitWidth() == 32 && !int.is_signed();
            field.name() == Some("row_id")
                && !field.nullable()
                && field.type_type() == Type::Int
                && field.dictionary().is_none()
                && field.type_as_int().is_some_and(unsigned)
        });
    if expected { Ok(()) } else { Err(corrupt("its schema is not one column `row_id: uint32 not null`")) }
}

/// The flatbuffer of an encapsulated message: `ff ff ff ff`, a length, the bytes.
fn message(metadata: &[u8]) -> Result<&[u8]> {
    let mut cursor = Cursor::new(SECTION, metadata);
    // Files older than Arrow 0.15 have no continuation mark.
    let len = match cursor.u32()? {
        u32::MAX => cursor.u32()?,
        len => len,
    };
    cursor.take(to_usize(len)?)
}

fn parse_batch(message: &[u8], body: &[u8]) -> Result<RoaringBitmap> {
    let message = root_as_message(message).map_err(|error| corrupt(format!("its record batch: {error}")))?;
    if message.version() < MetadataVersion::V4 {
        return Err(FormatError::unsupported("a deletion file in a format older than Arrow 1.0"));
    }
    let batch = message.header_as_record_batch().ok_or_else(|| corrupt("its message is no record batch"))?;
    let nodes = batch.nodes().unwrap_or_default();
    let buffers = batch.buffers().unwrap_or_default();
    if nodes.len() != 1 || buffers.len() != 2 {
        return Err(corrupt(format!("{} nodes and {} buffers", nodes.len(), buffers.len())));
    }
    let (node, buffer) = (nodes.get(0), buffers.get(1));
    if node.null_count() != 0 || node.length() != batch.length() {
        return Err(corrupt(format!("{} rows, {} of them null", node.length(), node.null_count())));
    }
    let stored = slice(body, buffer.offset(), buffer.length())?;
    let len = usize::try_from(node.length()).ok().and_then(|rows| rows.checked_mul(4));
    let len = len.ok_or_else(|| corrupt(format!("{} rows", node.length())))?;

    let inflated;
    let values = match batch.compression().map(|compression| compression.codec()) {
        None => stored,
        Some(CompressionType::ZSTD) if len == 0 => &[],
        Some(CompressionType::ZSTD) => match stored.split_at_checked(8) {
            // A buffer that did not get smaller is stored as it is.
            Some((prefix, raw)) if prefix == (-1_i64).to_le_bytes() => raw,
            Some((_, compressed)) => {
                inflated = inflate(compressed, len)?;
                &inflated
            }
            None => return Err(corrupt("a compressed buffer without a length")),
        },
        Some(codec) => {
            return Err(FormatError::unsupported(format!("a deletion file with {codec:?} compression")));
        }
    };
    let values = values
        .get(..len)
        .ok_or_else(|| corrupt(format!("{} bytes of values instead of {len}", values.len())))?;
    let values = values.chunks_exact(4).filter_map(|value| value.try_into().ok().map(u32::from_le_bytes));
    Ok(values.collect())
}

/// Decompresses to `len` bytes, without trusting that number.
fn inflate(compressed: &[u8], len: usize) -> Result<Vec<u8>> {
    use std::io::Read;
    let fail = |error: std::io::Error| corrupt(format!("its values do not decompress: {error}"));
    let mut values = vec![];
    let decoder = zstd::stream::read::Decoder::with_buffer(compressed).map_err(fail)?;
    let limit = u64::try_from(len).unwrap_or(u64::MAX);
    decoder.take(limit).read_to_end(&mut values).map_err(fail)?;
    Ok(values)
}

fn split_tail(bytes: &[u8], len: usize) -> Result<(&[u8], &[u8])> {
    let at = bytes.len().checked_sub(len);
    let parts = at.and_then(|at| bytes.split_at_checked(at));
    parts.ok_or_else(|| corrupt(format!("{} bytes, {len} were expected", bytes.len())))
}

fn slice(bytes: &[u8], offset: i64, len: i64) -> Result<&[u8]> {
    let start = usize::try_from(offset).ok();
    let end = start.zip(usize::try_from(len).ok()).and_then(|(start, len)| start.checked_add(len));
    let slice = start.zip(end).and_then(|(start, end)| bytes.get(start..end));
    slice.ok_or_else(|| corrupt(format!("{len} bytes at {offset} of {}", bytes.len())))
}

fn to_usize(len: u32) -> Result<usize> {
    usize::try_from(len).map_err(|_| corrupt(format!("a length of {len}")))
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt(SECTION, reason)
}

/// The rows of a fragment that are not deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveRows {
    rows: Rows,
    /// For each range of `rows`, how many live rows come before it.
    before: Vec<u64>,
}

impl LiveRows {
    /// All of a fragment of `physical_rows` rows.
    pub(crate) fn all(physical_rows: u64) -> Self {
        Self::new(Rows::range(0..physical_rows))
    }

    /// All of a fragment of `physical_rows` rows but `deleted`.
    pub(crate) fn without(physical_rows: u64, deleted: &RoaringBitmap) -> Result<Self> {
        let mut ranges = vec![];
        let mut start = 0;
        for row in deleted {
            let row = u64::from(row);
            ranges.push(start..row.min(physical_rows));
            start = row + 1;
        }
        ranges.push(start..physical_rows);
        Ok(Self::new(Rows::from_ranges(ranges)?))
    }

    fn new(rows: Rows) -> Self {
        let lengths = rows.ranges().iter().map(|range| range.end - range.start);
        let before = lengths.scan(0, |sum, len| {
            let before = *sum;
            *sum += len;
            Some(before)
        });
        Self { before: before.collect(), rows }
    }

    /// Physical offsets of the live rows.
    pub(crate) const fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The physical offset of the live row at `position`; none beyond the last.
    pub(crate) fn offset(&self, position: u64) -> Option<u64> {
        let index = self.before.partition_point(|before| *before <= position).checked_sub(1)?;
        let range = self.rows.ranges().get(index)?;
        let offset = range.start + (position - self.before.get(index)?);
        (offset < range.end).then_some(offset)
    }

    /// The position of the row at the physical `offset`; none if it is deleted.
    pub(crate) fn position(&self, offset: u64) -> Option<u64> {
        let index = self.rows.ranges().partition_point(|range| range.start <= offset).checked_sub(1)?;
        let range = self.rows.ranges().get(index).filter(|range| offset < range.end)?;
        Some(self.before.get(index)? + (offset - range.start))
    }
}

#[cfg(test)]
mod tests;
