//! The physical map of a file: what lies where, and how the pages are encoded. For people and tools; no
//! page is read for it.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use lance_file::describe::{RegionKind, describe};
//! use lance_file::{Alignment, FileReader, FileWriter, Schema, WriteOptions};
//! use lance_io::Store;
//!
//! let store = Store::memory();
//! let writer = store.create("empty.lance", Alignment::Bytes4096).await?;
//! FileWriter::new(writer, Schema::default(), WriteOptions::default())?.finish().await?;
//!
//! let file = FileReader::open(store.open_file("empty.lance", None).await?).await?;
//! let description = describe(&file);
//! assert_eq!(description.rows, 0);
//! assert_eq!(description.regions[0].kind, RegionKind::GlobalBuffer { index: 0 });
//! assert_eq!(description.regions.last().unwrap().kind, RegionKind::Footer);
//! # Ok(()) }
//! ```

mod regions;
mod width;

use std::collections::HashMap;
use std::fmt;

pub use lance_encoding::describe::EncodingTree;
use lance_encoding::describe::describe_page;
use lance_footer::{Extent, Version};

use crate::{FileReader, Schema};

/// What a file is made of.
#[derive(Debug, Clone)]
pub struct FileDescription {
    /// The file.
    pub path: String,
    /// Its bytes.
    pub size: u64,
    /// Its version.
    pub version: Version,
    /// Its rows.
    pub rows: u64,
    /// The schema that it was opened with.
    pub schema: Schema,
    /// Everything in the file in the order of offsets.
    pub regions: Vec<Region>,
    /// The columns in the order of their index.
    pub columns: Vec<ColumnDescription>,
}

/// Bytes of one purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// What they are.
    pub kind: RegionKind,
    /// Where they lie.
    pub extent: Extent,
    /// Bytes between their end and the next region, or the end of the file.
    pub padding: u64,
}

/// What a region is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionKind {
    /// A buffer of a page.
    PageBuffer {
        /// The column's index.
        column: usize,
        /// The page's number within the column.
        page: usize,
        /// The buffer's number within the page.
        buffer: usize,
    },
    /// A buffer of a whole column.
    ColumnBuffer {
        /// The column's index.
        column: usize,
        /// The buffer's number.
        buffer: usize,
    },
    /// A global buffer; 0 is the file descriptor with the schema.
    GlobalBuffer {
        /// Its index.
        index: usize,
    },
    /// The metadata of a column.
    ColumnMetadata {
        /// The column's index.
        column: usize,
    },
    /// Bytes at the start of the file that nothing else names: as a rule the values of blobs.
    Unnamed,
    /// The table of column metadata offsets.
    CmoTable,
    /// The table of global buffer offsets.
    GboTable,
    /// The footer.
    Footer,
}

impl fmt::Display for RegionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PageBuffer { column, page, buffer } => {
                write!(f, "buffer {buffer} of page {page} of column {column}")
            }
            Self::ColumnBuffer { column, buffer } => write!(f, "buffer {buffer} of column {column}"),
            Self::GlobalBuffer { index: 0 } => f.write_str("global buffer 0 (the schema)"),
            Self::GlobalBuffer { index } => write!(f, "global buffer {index}"),
            Self::ColumnMetadata { column } => write!(f, "the metadata of column {column}"),
            Self::CmoTable => f.write_str("the CMO table"),
            Self::GboTable => f.write_str("the GBO table"),
            Self::Footer => f.write_str("the footer"),
            Self::Unnamed => f.write_str("bytes that nothing names"),
        }
    }
}

/// A column and its pages.
#[derive(Debug, Clone)]
pub struct ColumnDescription {
    /// Its index.
    pub index: usize,
    /// The id of the field that it stores; none if the schema has no such field.
    pub field: Option<i32>,
    /// The dotted path of the field; empty if there is none.
    pub path: String,
    /// The type of the field as it is stored in schemas.
    pub logical_type: String,
    /// Bytes of all buffers of its pages.
    pub encoded_bytes: u64,
    /// Bytes of the same values as Arrow arrays, where that follows from the type and the number of rows.
    pub arrow_bytes: Option<u64>,
    /// Its pages in row order.
    pub pages: Vec<PageDescription>,
}

/// A page.
#[derive(Debug, Clone)]
pub struct PageDescription {
    /// Number of its first row.
    pub first_row: u64,
    /// Its length: rows; values of the column in files of version 2.0.
    pub rows: u64,
    /// Its buffers.
    pub buffers: Vec<Extent>,
    /// Its layout and the codecs in it.
    pub encoding: EncodingTree,
}

/// Describes an open file.
pub fn describe(file: &FileReader) -> FileDescription {
    let container = file.container();
    let owners: HashMap<u32, i32> = file.columns().iter().map(|(field, column)| (*column, *field)).collect();
    let columns = container.columns.iter().enumerate().map(|(index, column)| {
        let id = u32::try_from(index).ok().and_then(|index| owners.get(&index).copied());
        let field = id.and_then(|id| file.schema().field(id));
        let slots = id.and_then(|id| file.schema().fields.iter().find_map(|field| field.slots_of(id)));
        let mut first_row = 0;
        let pages = column.pages.iter().map(|page| {
            let rows = page.length / slots.unwrap_or(1).max(1);
            let description = PageDescription {
                first_row,
                rows,
                buffers: page.buffers.clone(),
                encoding: describe_page(&page.encoding, file.version()),
            };
            first_row = rows.saturating_add(first_row);
            description
        });
        let buffers = column.pages.iter().flat_map(|page| &page.buffers);
        ColumnDescription {
            index,
            field: id,
            path: id.and_then(|id| file.schema().path(id)).unwrap_or_default(),
            logical_type: field.map(|field| field.logical_type_string()).unwrap_or_default(),
            encoded_bytes: buffers.fold(0, |sum, buffer| sum.saturating_add(buffer.len())),
            arrow_bytes: id.and_then(|id| width::bytes(file.schema(), id, file.rows())),
            pages: pages.collect(),
        }
    });
    FileDescription {
        path: file.source().path().into(),
        size: container.size,
        version: file.version(),
        rows: file.rows(),
        schema: file.schema().clone(),
        regions: regions::regions(container),
        columns: columns.collect(),
    }
}
