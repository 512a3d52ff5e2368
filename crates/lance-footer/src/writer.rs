//! The end of a file: descriptor, column metadata, offset tables, footer.

use prost::Message;

use crate::column::{COLUMN_ENCODING, page_encoding};
use crate::proto::column::{self, ColumnEncoding, column_encoding};
use crate::proto::file2::{self, ColumnMetadata, encoding::Location};
use crate::{
    Alignment, Checksum, ChecksumKind, Checksums, Crc32c, Extent, Footer, FormatError, OffsetTable, Result,
    Version,
};

/// What a container writer has to know of a page whose buffers were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRecord {
    /// Top-level rows.
    pub length: u64,
    /// Row number of the first row.
    pub priority: u64,
    /// Where its buffers lie.
    pub buffers: Vec<Extent>,
    /// The serialized encoding message.
    pub encoding: Vec<u8>,
}

/// Collects what was written where, and makes the bytes that end the file.
///
/// It does no I/O: the caller writes buffers at positions that fit [`Alignment`], tells them with
/// [`Self::page`] and [`Self::global_buffer`], and at last writes the bytes of [`Self::finish`].
#[derive(Debug)]
pub struct ContainerWriter {
    version: Version,
    alignment: Alignment,
    columns: Vec<Vec<PageRecord>>,
    global_buffers: Vec<Extent>,
    /// Of what the caller wrote, if the file gets checksums.
    checksums: Option<Vec<Checksum>>,
}

impl ContainerWriter {
    /// A file with `columns` physical columns.
    pub fn new(version: Version, alignment: Alignment, columns: u32) -> Self {
        let columns = (0..columns).map(|_| vec![]).collect();
        Self { version, alignment, columns, global_buffers: vec![], checksums: None }
    }

    /// The same, with a table of checksums as the last global buffer. It has what [`Self::checksum`] is told, and
    /// all that [`Self::finish`] writes.
    #[must_use]
    pub fn with_checksums(mut self) -> Self {
        self.checksums.get_or_insert_default();
        self
    }

    /// Whether the file gets checksums.
    pub const fn has_checksums(&self) -> bool {
        self.checksums.is_some()
    }

    /// Adds the checksum of bytes that the caller wrote, each byte once. Bytes for which there is none must be
    /// zero: readers take the table for one of the whole file.
    pub fn checksum(&mut self, extent: Extent, kind: ChecksumKind, crc: Crc32c) {
        if let Some(checksums) = self.checksums.as_mut().filter(|_| !extent.is_empty()) {
            checksums.push(Checksum { extent, crc: crc.value(), kind });
        }
    }

    /// The alignment that buffers need.
    pub const fn alignment(&self) -> Alignment {
        self.alignment
    }

    /// Adds a page to column `column`. Pages of a column come in row order.
    pub fn page(&mut self, column: u32, page: PageRecord) -> Result<()> {
        for buffer in &page.buffers {
            self.check_aligned(*buffer)?;
        }
        let columns = self.columns.len();
        let pages = usize::try_from(column).ok().and_then(|column| self.columns.get_mut(column));
        let pages = pages.ok_or_else(|| {
            FormatError::corrupt("page record", format!("column {column} of a file with {columns} columns"))
        })?;
        pages.push(page);
        Ok(())
    }

    /// Adds a global buffer of the caller's and gives its index, which is 1 or more: index 0 is the
    /// descriptor.
    pub fn global_buffer(&mut self, buffer: Extent) -> Result<u32> {
        self.check_aligned(buffer)?;
        self.global_buffers.push(buffer);
        u32::try_from(self.global_buffers.len())
            .map_err(|_| FormatError::corrupt("GBO table", "more than 2^32 global buffers"))
    }

    /// All bytes from `position`, where the last buffer ended, to the end of the file. They hold
    /// `descriptor`, the serialized schema, as global buffer 0. Padding is zero.
    pub fn finish(self, position: u64, descriptor: &[u8]) -> Result<Vec<u8>> {
        let version = self.version;
        let messages = self.columns.into_iter().map(|pages| column_message(pages, version).encode_to_vec());
        let messages: Vec<_> = messages.collect();
        let mut tail = Tail { start: position, bytes: vec![], written: vec![] };
        tail.pad(self.alignment);
        let table = match &self.checksums {
            None => None,
            Some(before) => {
                // What comes after it is known but for where it lies, which follows from the length of the table.
                let metadata = messages.iter().filter(|message| !message.is_empty()).count();
                let tables = usize::from(!messages.is_empty()) + 1;
                let own = usize::from(!descriptor.is_empty()) + metadata + tables + 1;
                let len = Checksums::len_of(before.len().saturating_add(own));
                let table = tail.append(&vec![0; len])?;
                tail.pad(self.alignment);
                Some(table)
            }
        };
        let mut globals =
            OffsetTable { entries: vec![tail.append_as(ChecksumKind::GlobalBuffer, descriptor)?] };
        globals.entries.extend(self.global_buffers);
        globals.entries.extend(table);

        // With 64 the rest is packed, as the reference has it.
        let wide = self.alignment == Alignment::Bytes4096;
        let mut metadata = OffsetTable::default();
        let mut column_metadata = None;
        for message in messages {
            if wide {
                tail.pad(self.alignment);
            }
            column_metadata.get_or_insert(tail.position());
            metadata.entries.push(tail.append_as(ChecksumKind::ColumnMetadata, &message)?);
        }
        if wide {
            tail.pad(self.alignment);
        }
        let cmo_table = tail.append_as(ChecksumKind::CmoTable, &metadata.to_bytes())?;
        let gbo_table = tail.append_as(ChecksumKind::GboTable, &globals.to_bytes())?;
        let footer = Footer {
            column_metadata: column_metadata.unwrap_or(cmo_table.offset()),
            cmo_table,
            gbo_table,
            columns: count(metadata.entries.len())?,
            global_buffers: count(globals.entries.len())?,
            version,
        };
        tail.append_as(ChecksumKind::Footer, &footer.to_bytes())?;
        if let Some((before, table)) = self.checksums.zip(table) {
            tail.set_checksums(before, table)?;
        }
        Ok(tail.bytes)
    }

    fn check_aligned(&self, buffer: Extent) -> Result<()> {
        match self.alignment.padding(buffer.offset()) {
            0 => Ok(()),
            _ => Err(FormatError::corrupt(
                "written buffer",
                format!("offset {} is not a multiple of {}", buffer.offset(), self.alignment.bytes()),
            )),
        }
    }
}

/// The end of a file, from `start` on.
struct Tail {
    start: u64,
    bytes: Vec<u8>,
    /// Checksums of what is in it.
    written: Vec<Checksum>,
}

impl Tail {
    fn position(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn pad(&mut self, alignment: Alignment) {
        // The padding is less than 4096.
        let padding = usize::try_from(alignment.padding(self.position())).unwrap_or_default();
        self.bytes.resize(self.bytes.len() + padding, 0);
    }

    fn append(&mut self, bytes: &[u8]) -> Result<Extent> {
        let extent = Extent::new(self.position(), bytes.len() as u64)?;
        self.bytes.extend_from_slice(bytes);
        Ok(extent)
    }

    /// The same, with a checksum.
    fn append_as(&mut self, kind: ChecksumKind, bytes: &[u8]) -> Result<Extent> {
        let extent = self.append(bytes)?;
        if !extent.is_empty() {
            self.written.push(Checksum { extent, crc: Crc32c::of(bytes).value(), kind });
        }
        Ok(extent)
    }

    /// Fills the room at `table`, given the checksums of what lies before the tail.
    fn set_checksums(&mut self, before: Vec<Checksum>, table: Extent) -> Result<()> {
        let mut entries = before;
        entries.append(&mut self.written);
        let checksums = Checksums { file_size: self.position(), zeros_between: true, entries };
        let bytes = checksums.to_bytes()?;
        // Whatever a caller told of its buffers, the file must be readable.
        Checksums::parse(&bytes)?;
        let start = table.offset().checked_sub(self.start).and_then(|start| usize::try_from(start).ok());
        let room = start.and_then(|start| self.bytes.get_mut(start..)?.get_mut(..bytes.len()));
        match room {
            Some(room) if table.len() == bytes.len() as u64 => room.copy_from_slice(&bytes),
            _ => return Err(FormatError::corrupt("checksum table", "it does not fit where it has to be")),
        }
        Ok(())
    }
}

fn column_message(pages: Vec<PageRecord>, version: Version) -> ColumnMetadata {
    let values =
        ColumnEncoding { column_encoding: Some(column_encoding::ColumnEncoding::Values(column::Empty {})) };
    let pages = pages.into_iter().map(|page| file2::column_metadata::Page {
        buffer_offsets: page.buffers.iter().map(Extent::offset).collect(),
        buffer_sizes: page.buffers.iter().map(Extent::len).collect(),
        length: page.length,
        encoding: Some(direct(page_encoding(version), page.encoding)),
        priority: page.priority,
    });
    ColumnMetadata {
        encoding: Some(direct(COLUMN_ENCODING, values.encode_to_vec())),
        pages: pages.collect(),
        buffer_offsets: vec![],
        buffer_sizes: vec![],
    }
}

fn direct(name: &str, value: Vec<u8>) -> file2::Encoding {
    let any = file2::Any { type_url: format!("/{name}"), value: value.into() };
    let direct = file2::DirectEncoding { encoding: any.encode_to_vec().into() };
    file2::Encoding { location: Some(Location::Direct(direct)) }
}

fn count(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| FormatError::corrupt("footer", format!("{n} entries do not fit 32 bits")))
}
