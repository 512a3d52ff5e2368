//! A container in parts that a test breaks before it is put together. Written without the crate's writer, so
//! that the two check each other.

use lance_footer::Version;
use lance_footer::proto::file2::{self, ColumnMetadata, column_metadata::Page, encoding::Location};
use prost::Message;

/// Two columns of one page each, over two page buffers of 64 bytes, and a user global buffer.
pub(crate) struct Draft {
    pub(crate) version: Version,
    pub(crate) columns: Vec<ColumnMetadata>,
}

/// The same with every number in place.
#[derive(Clone)]
pub(crate) struct Layout {
    /// Everything up to the CMO table.
    pub(crate) body: Vec<u8>,
    pub(crate) cmo: Vec<(u64, u64)>,
    /// What lies between the two tables. Legal only when empty.
    pub(crate) between: Vec<u8>,
    pub(crate) gbo: Vec<(u64, u64)>,
    /// What lies between the GBO table and the footer.
    pub(crate) gap: Vec<u8>,
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
    pub(crate) global_buffers: u32,
    pub(crate) columns: u32,
    pub(crate) major: u16,
    pub(crate) minor: u16,
    pub(crate) magic: [u8; 4],
}

pub(crate) const DESCRIPTOR: &[u8] = b"descriptor";

impl Draft {
    pub(crate) fn new(version: Version) -> Self {
        let column = |index: u64| ColumnMetadata {
            encoding: Some(direct("/lance.encodings.ColumnEncoding", &[0x0a, 0])),
            pages: vec![Page {
                buffer_offsets: vec![64 * index],
                buffer_sizes: vec![60],
                length: 15,
                encoding: Some(direct(page_url(version), b"opaque")),
                priority: 0,
            }],
            buffer_offsets: vec![],
            buffer_sizes: vec![],
        };
        Self { version, columns: vec![column(0), column(1)] }
    }

    pub(crate) fn layout(&self) -> Layout {
        let messages: Vec<_> = self.columns.iter().map(Message::encode_to_vec).collect();
        Layout::new(self.version, &messages)
    }
}

impl Layout {
    pub(crate) fn new(version: Version, columns: &[Vec<u8>]) -> Self {
        // Page buffers, a user global buffer, the descriptor.
        let mut body = vec![7; 192];
        let mut gbo = vec![(192, DESCRIPTOR.len() as u64), (128, 12)];
        gbo[0].0 = body.len() as u64;
        body.extend_from_slice(DESCRIPTOR);
        let a = body.len() as u64;
        let mut cmo = vec![];
        for column in columns {
            cmo.push((body.len() as u64, column.len() as u64));
            body.extend_from_slice(column);
        }
        let b = body.len() as u64;
        let (major, minor) = version.to_footer();
        Self {
            a,
            b,
            c: b + 16 * cmo.len() as u64,
            global_buffers: gbo.len() as u32,
            columns: cmo.len() as u32,
            body,
            cmo,
            between: vec![],
            gbo,
            gap: vec![],
            major,
            minor,
            magic: *b"LANC",
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.body.clone();
        let table = |bytes: &mut Vec<u8>, entries: &[(u64, u64)]| {
            for (position, size) in entries {
                bytes.extend_from_slice(&position.to_le_bytes());
                bytes.extend_from_slice(&size.to_le_bytes());
            }
        };
        table(&mut bytes, &self.cmo);
        bytes.extend_from_slice(&self.between);
        table(&mut bytes, &self.gbo);
        bytes.extend_from_slice(&self.gap);
        for offset in [self.a, self.b, self.c] {
            bytes.extend_from_slice(&offset.to_le_bytes());
        }
        bytes.extend_from_slice(&self.global_buffers.to_le_bytes());
        bytes.extend_from_slice(&self.columns.to_le_bytes());
        bytes.extend_from_slice(&self.major.to_le_bytes());
        bytes.extend_from_slice(&self.minor.to_le_bytes());
        bytes.extend_from_slice(&self.magic);
        bytes
    }

    /// Bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.to_bytes().len() as u64
    }
}

pub(crate) fn page_url(version: Version) -> &'static str {
    match version {
        Version::V2_0 => "/lance.encodings.ArrayEncoding",
        _ => "/lance.encodings21.PageLayout",
    }
}

pub(crate) fn direct(url: &str, value: &[u8]) -> file2::Encoding {
    let any = file2::Any { type_url: url.into(), value: value.to_vec().into() };
    let direct = file2::DirectEncoding { encoding: any.encode_to_vec().into() };
    file2::Encoding { location: Some(Location::Direct(direct)) }
}
