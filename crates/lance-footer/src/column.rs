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

/// The metadata of a column of which parts may be wrong: what is right of it, and what is wrong with the rest.
///
/// Files are read through [`Column`], which has no such parts; this is for who wants to know all that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnSurvey {
    /// What it holds; none if that cannot be told.
    pub kind: Option<ColumnKind>,
    /// Its pages in row order.
    pub pages: Vec<PageSurvey>,
    /// Column-level buffers.
    pub buffers: Vec<Extent>,
    /// What is wrong, with the number of the page if it is about one.
    pub problems: Vec<(Option<usize>, FormatError)>,
}

/// A page of a [`ColumnSurvey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSurvey {
    /// Its length as stored.
    pub length: u64,
    /// Row number of its first row as stored.
    pub priority: u64,
    /// All of it; none if something is wrong with it.
    pub page: Option<Page>,
}

impl ColumnSurvey {
    /// Looks at the metadata message of column `index` in a file of `version` and `file_size` bytes.
    pub fn of(bytes: Bytes, index: usize, version: Version, file_size: u64) -> Self {
        let fail = |reason: String| FormatError::corrupt(format!("metadata of column {index}"), reason);
        let mut survey = Self::default();
        let message = match ColumnMetadata::decode(bytes) {
            Ok(message) => message,
            Err(error) => {
                survey.problems.push((None, fail(format!("not a message: {error}"))));
                return survey;
            }
        };
        match direct(message.encoding, COLUMN_ENCODING).and_then(column_kind) {
            Ok(kind) => survey.kind = Some(kind),
            Err(reason) => survey.problems.push((None, fail(reason))),
        }
        match extents(&message.buffer_offsets, &message.buffer_sizes, file_size) {
            Ok(buffers) => survey.buffers = buffers,
            Err(reason) => survey.problems.push((None, fail(reason))),
        }
        let mut total = Some(0_u64);
        for (number, page) in message.pages.into_iter().enumerate() {
            let (length, priority) = (page.length, page.priority);
            total = total.and_then(|total| total.checked_add(length));
            let page = Page::from_message(page, version, file_size).map_err(|reason| {
                survey.problems.push((Some(number), fail(format!("page {number}: {reason}"))));
            });
            survey.pages.push(PageSurvey { length, priority, page: page.ok() });
        }
        if total.is_none() {
            survey.problems.push((None, fail("the lengths of its pages overflow 64 bits".into())));
        }
        survey
    }

    /// The column; none if something is wrong with it.
    pub fn whole(&self) -> Option<Column> {
        let pages = self.pages.iter().map(|page| page.page.clone()).collect::<Option<Vec<_>>>()?;
        let kind = self.kind.filter(|_| self.problems.is_empty())?;
        Some(Column { kind, pages, buffers: self.buffers.clone() })
    }
}

impl Column {
    /// Parses the metadata message of column `index` in a file of `version` and `file_size` bytes.
    pub fn parse(bytes: Bytes, index: usize, version: Version, file_size: u64) -> Result<Self> {
        let survey = ColumnSurvey::of(bytes, index, version, file_size);
        let kind = survey.kind;
        if let Some((_, error)) = survey.problems.into_iter().next() {
            return Err(error);
        }
        let kind = kind.ok_or_else(|| FormatError::corrupt("column metadata", "it has no kind"))?;
        let pages = survey.pages.into_iter().filter_map(|page| page.page).collect();
        Ok(Self { kind, pages, buffers: survey.buffers })
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
