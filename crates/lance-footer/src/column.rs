//! Column metadata messages: what pages a column has and where their buffers lie.

use bytes::Bytes;
use prost::Message;

use crate::proto::column::{ColumnEncoding, column_encoding};
use crate::proto::file2::{self, ColumnMetadata, encoding::Location};
use crate::{Alignment, Extent, FormatError, Result, Version};

/// The type URLs of the encoding messages, without their authority.
pub(crate) const COLUMN_ENCODING: &str = "lance.encodings.ColumnEncoding";

/// The type of a page's encoding message in files of `version`.
pub(crate) const fn page_encoding(version: Version) -> &'static str {
    match version {
        Version::V2_0 => "lance.encodings.ArrayEncoding",
        Version::V2_1 | Version::V2_2 => "lance.encodings21.PageLayout",
    }
}

/// What a physical column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Plain values.
    Values,
    /// Legacy blobs (2.0).
    Blob,
}

/// A physical column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What it holds.
    pub kind: ColumnKind,
    /// Its pages in row order.
    pub pages: Vec<Page>,
    /// Column-level buffers.
    pub buffers: Vec<Extent>,
}

/// A run of rows of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its length as stored: top-level rows (2.1 and later), or values of the column (2.0).
    pub length: u64,
    /// Row number of its first row (2.1 and later).
    pub priority: u64,
    /// Its buffers; all lie within the file.
    pub buffers: Vec<Extent>,
    /// The serialized encoding message, of the type that the file's version has.
    pub encoding: Bytes,
}

impl Column {
    /// Parses the metadata message of column `index` in a file of `version` and `file_size` bytes.
    pub fn parse(bytes: Bytes, index: usize, version: Version, file_size: u64) -> Result<Self> {
        let section = || format!("metadata of column {index}");
        let message = ColumnMetadata::decode(bytes)
            .map_err(|error| FormatError::corrupt(section(), format!("not a message: {error}")))?;
        let fail = |reason: String| FormatError::corrupt(section(), reason);

        let encoding = direct(message.encoding, COLUMN_ENCODING).map_err(fail)?;
        let kind = column_kind(encoding).map_err(fail)?;
        let buffers = extents(&message.buffer_offsets, &message.buffer_sizes, file_size).map_err(fail)?;
        let mut pages = Vec::with_capacity(message.pages.len());
        for (number, page) in message.pages.into_iter().enumerate() {
            let page = Page::from_message(page, version, file_size)
                .map_err(|reason| fail(format!("page {number}: {reason}")))?;
            pages.push(page);
        }
        let total = pages.iter().try_fold(0_u64, |sum, page| sum.checked_add(page.length));
        if total.is_none() {
            return Err(fail("the lengths of its pages overflow 64 bits".into()));
        }
        Ok(Self { kind, pages, buffers })
    }

    /// Sum of the page lengths.
    pub fn length(&self) -> u64 {
        self.pages.iter().map(|page| page.length).sum()
    }
}

impl Page {
    fn from_message(
        page: file2::column_metadata::Page,
        version: Version,
        file_size: u64,
    ) -> Result<Self, String> {
        let buffers = extents(&page.buffer_offsets, &page.buffer_sizes, file_size)?;
        if version > Version::V2_0 {
            let aligned = Alignment::Bytes64.bytes();
            if let Some(buffer) = buffers.iter().find(|buffer| buffer.offset() % aligned != 0) {
                return Err(format!("a buffer at {} is not aligned to 64 bytes", buffer.offset()));
            }
        }
        let encoding = direct(page.encoding, page_encoding(version))?;
        Ok(Self { length: page.length, priority: page.priority, buffers, encoding })
    }
}

/// The value of an encoding that is stored in place and has the type `expected`.
fn direct(encoding: Option<file2::Encoding>, expected: &str) -> Result<Bytes, String> {
    let any = match encoding.and_then(|encoding| encoding.location) {
        Some(Location::Direct(direct)) => direct.encoding,
        Some(Location::Indirect(_)) => return Err("its encoding is stored elsewhere (deferred)".into()),
        Some(Location::None(_)) | None => return Err("it has no encoding".into()),
    };
    let any = file2::Any::decode(any).map_err(|error| format!("its encoding is not an Any: {error}"))?;
    match any.type_url.rsplit_once('/') {
        Some((_, name)) if name == expected => Ok(any.value),
        _ => Err(format!("its encoding has the type {:?} instead of {expected}", any.type_url)),
    }
}

fn column_kind(encoding: Bytes) -> Result<ColumnKind, String> {
    let message = ColumnEncoding::decode(encoding)
        .map_err(|error| format!("its column encoding is not a message: {error}"))?;
    match message.column_encoding {
        Some(column_encoding::ColumnEncoding::Values(_)) => Ok(ColumnKind::Values),
        Some(column_encoding::ColumnEncoding::Blob(_)) => Ok(ColumnKind::Blob),
        Some(column_encoding::ColumnEncoding::ZoneIndex(_)) => Err("it has a zone index".into()),
        None => Err("its column encoding is empty".into()),
    }
}

fn extents(offsets: &[u64], sizes: &[u64], file_size: u64) -> Result<Vec<Extent>, String> {
    if offsets.len() != sizes.len() {
        return Err(format!("{} buffer offsets but {} sizes", offsets.len(), sizes.len()));
    }
    let pairs = offsets.iter().zip(sizes);
    pairs
        .map(|(&offset, &size)| match Extent::new(offset, size) {
            Ok(extent) if extent.end() <= file_size => Ok(extent),
            _ => {
                Err(format!("a buffer of {size} bytes at {offset} ends beyond the file of {file_size} bytes"))
            }
        })
        .collect()
}
