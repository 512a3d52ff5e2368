//! A file taken apart, changed, and put together again, so that what is wrong is one thing and parses otherwise.

use bytes::Bytes;
use lance_encoding::proto::PageLayout;
use lance_file::proto::FileDescriptor;
use lance_footer::proto::file2::encoding::Location;
use lance_footer::proto::file2::{Any, ColumnMetadata, DirectEncoding, Encoding, column_metadata::Page};
use prost::Message;

/// The parts of a file whose messages are as they lie in it.
#[derive(Debug, Clone)]
pub struct RawParts {
    /// Everything before the descriptor.
    pub data: Vec<u8>,
    /// Global buffer 0.
    pub descriptor: Vec<u8>,
    /// One a column.
    pub columns: Vec<Vec<u8>>,
    /// The other global buffers: offsets and sizes.
    pub globals: Vec<(u64, u64)>,
    /// Major and minor version.
    pub version: (u16, u16),
}

/// Buffers begin at multiples of this.
const ALIGNMENT: usize = 64;

/// The parts of a file.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Everything before the descriptor.
    pub data: Vec<u8>,
    /// Global buffer 0.
    pub descriptor: FileDescriptor,
    /// One a column.
    pub columns: Vec<ColumnMetadata>,
    /// The other global buffers: offsets and sizes.
    pub globals: Vec<(u64, u64)>,
    /// Major and minor version.
    pub version: (u16, u16),
}

/// What lies behind the column metadata.
#[derive(Debug, Clone)]
pub struct Tail {
    /// Start of the column metadata.
    pub metadata: u64,
    /// Start of the CMO table.
    pub cmo_start: u64,
    /// Start of the GBO table.
    pub gbo_start: u64,
    /// What the footer says of how many global buffers there are.
    pub globals: u32,
    /// The same of columns.
    pub columns: u32,
    /// Entries of the CMO table.
    pub cmo: Vec<(u64, u64)>,
    /// Entries of the GBO table.
    pub gbo: Vec<(u64, u64)>,
}

impl RawParts {
    /// Takes a file apart. Nothing of its tables and footer may be wrong.
    pub fn of(file: &[u8]) -> Self {
        let end = file.len() - 40;
        let at = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        let half = |at: usize| u16::from_le_bytes(file[at..at + 2].try_into().unwrap());
        let entries = |from: u64, to: u64| -> Vec<(u64, u64)> {
            (from as usize..to as usize).step_by(16).map(|entry| (at(entry), at(entry + 8))).collect()
        };
        let (cmo_start, gbo_start) = (at(end + 8), at(end + 16));
        let (cmo, gbo) = (entries(cmo_start, gbo_start), entries(gbo_start, end as u64));
        let part = |(start, len): (u64, u64)| file[start as usize..(start + len) as usize].to_vec();
        Self {
            data: file[..gbo[0].0 as usize].to_vec(),
            descriptor: part(gbo[0]),
            columns: cmo.iter().map(|entry| part(*entry)).collect(),
            globals: gbo[1..].to_vec(),
            version: (half(end + 32), half(end + 34)),
        }
    }

    /// Adds a buffer to the data; where it lies.
    pub fn append(&mut self, buffer: &[u8]) -> u64 {
        append(&mut self.data, buffer)
    }

    /// Puts the file together, with tables and footer that `edit` changed.
    pub fn file_with(&self, edit: impl FnOnce(&mut Tail)) -> Bytes {
        let mut file = self.data.clone();
        file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
        let mut append = |bytes: &[u8]| {
            let start = file.len() as u64;
            file.extend(bytes);
            (start, bytes.len() as u64)
        };
        let descriptor = append(&self.descriptor);
        let cmo: Vec<_> = self.columns.iter().map(|column| append(column)).collect();
        let cmo_start = file.len() as u64;
        let gbo: Vec<_> = std::iter::once(descriptor).chain(self.globals.iter().copied()).collect();
        let mut tail = Tail {
            metadata: descriptor.0 + descriptor.1,
            cmo_start,
            gbo_start: cmo_start + 16 * cmo.len() as u64,
            globals: gbo.len() as u32,
            columns: cmo.len() as u32,
            cmo,
            gbo,
        };
        edit(&mut tail);
        for (offset, size) in tail.cmo.iter().chain(&tail.gbo) {
            file.extend(offset.to_le_bytes());
            file.extend(size.to_le_bytes());
        }
        for offset in [tail.metadata, tail.cmo_start, tail.gbo_start] {
            file.extend(offset.to_le_bytes());
        }
        file.extend(tail.globals.to_le_bytes());
        file.extend(tail.columns.to_le_bytes());
        file.extend(self.version.0.to_le_bytes());
        file.extend(self.version.1.to_le_bytes());
        file.extend(b"LANC");
        file.into()
    }
}

impl Parts {
    /// Takes a file apart. Nothing of it may be wrong.
    pub fn of(file: &[u8]) -> Self {
        let RawParts { data, descriptor, columns, globals, version } = RawParts::of(file);
        Self {
            data,
            descriptor: FileDescriptor::decode(&*descriptor).unwrap(),
            columns: columns.iter().map(|column| ColumnMetadata::decode(&**column).unwrap()).collect(),
            globals,
            version,
        }
    }

    /// The rows of this file and then those of `other`, whose pages are taken as they are.
    pub fn followed_by(mut self, other: &Self) -> Self {
        let rows = self.descriptor.length;
        self.data.resize(self.data.len().next_multiple_of(ALIGNMENT), 0);
        let shift = self.data.len() as u64;
        self.data.extend(&other.data);
        self.data.resize(self.data.len().next_multiple_of(ALIGNMENT), 0);
        for (column, more) in self.columns.iter_mut().zip(&other.columns) {
            for mut page in more.pages.iter().cloned() {
                page.priority += rows;
                page.buffer_offsets.iter_mut().for_each(|offset| *offset += shift);
                column.pages.push(page);
            }
        }
        self.descriptor.length += other.descriptor.length;
        self
    }

    /// Adds a buffer to the data; where it lies.
    pub fn append(&mut self, buffer: &[u8]) -> u64 {
        append(&mut self.data, buffer)
    }

    /// Puts the file together.
    pub fn file(&self) -> Bytes {
        self.file_with(|_| {})
    }

    /// The same, with tables and footer that `edit` changed.
    pub fn file_with(&self, edit: impl FnOnce(&mut Tail)) -> Bytes {
        self.raw().file_with(edit)
    }

    /// The same with messages as bytes.
    pub fn raw(&self) -> RawParts {
        RawParts {
            data: self.data.clone(),
            descriptor: self.descriptor.encode_to_vec(),
            columns: self.columns.iter().map(Message::encode_to_vec).collect(),
            globals: self.globals.clone(),
            version: self.version,
        }
    }

    /// A page.
    pub fn page(&mut self, column: usize, page: usize) -> &mut Page {
        &mut self.columns[column].pages[page]
    }

    /// Changes the layout of a page.
    pub fn edit_layout(&mut self, column: usize, page: usize, edit: impl FnOnce(&mut PageLayout)) {
        self.edit_encoding(column, page, |any| {
            let mut layout = PageLayout::decode(any.value.clone()).unwrap();
            edit(&mut layout);
            any.value = layout.encode_to_vec().into();
        });
    }

    /// Changes the encoding of a page, whatever it is.
    pub fn edit_encoding(&mut self, column: usize, page: usize, edit: impl FnOnce(&mut Any)) {
        let page = self.page(column, page);
        let Some(Encoding { location: Some(Location::Direct(direct)) }) = &page.encoding else {
            panic!("the page has no encoding")
        };
        let mut any = Any::decode(direct.encoding.clone()).unwrap();
        edit(&mut any);
        let direct = DirectEncoding { encoding: any.encode_to_vec().into() };
        page.encoding = Some(Encoding { location: Some(Location::Direct(direct)) });
    }

    /// The bytes of a buffer of a page.
    pub fn buffer(&mut self, column: usize, page: usize, buffer: usize) -> &mut [u8] {
        let page = &self.columns[column].pages[page];
        let (start, len) = (page.buffer_offsets[buffer] as usize, page.buffer_sizes[buffer] as usize);
        &mut self.data[start..start + len]
    }
}

fn append(data: &mut Vec<u8>, buffer: &[u8]) -> u64 {
    data.resize(data.len().next_multiple_of(ALIGNMENT), 0);
    let offset = data.len() as u64;
    data.extend(buffer);
    offset
}
