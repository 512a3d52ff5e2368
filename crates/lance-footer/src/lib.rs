//! The container of Lance v2 files, without I/O.
//!
//! A Lance file ends with a 40-byte footer that locates two offset tables; these locate the column
//! metadata messages and the global buffers; the column metadata locates the pages. This crate parses
//! and writes all of that from bytes in hand. It never reads by itself: whatever needs bytes is a
//! [`Machine`] that says which [`Extent`]s it wants and is called again with them.
//!
//! ```text
//! 0 ┌───────────────────────────────┐
//!   │ page buffers, global buffers  │  located by column metadata and the GBO table
//!   ├───────────────────────────────┤
//!   │ global buffer 0: schema       │  gbo[0]
//! A ├───────────────────────────────┤
//!   │ column metadata messages      │  cmo[i]
//! B ├───────────────────────────────┤
//!   │ CMO table, 16 bytes an entry  │
//! C ├───────────────────────────────┤
//!   │ GBO table, 16 bytes an entry  │
//!   ├───────────────────────────────┤
//!   │ footer, 40 bytes              │  A B C, counts, version, "LANC"
//!   └───────────────────────────────┘
//! ```
//!
//! The layout is described in `docs/format/file.md`.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod align;
mod checksums;
mod column;
mod cursor;
mod error;
mod extent;
mod footer;
mod open;
pub mod proto;
mod rows;
mod slices;
mod step;
mod table;
mod version;
mod writer;

pub use align::Alignment;
pub use checksums::{Checksum, ChecksumKind, Checksums, Crc32c};
pub use column::{Column, ColumnKind, ColumnSurvey, Page, PageSurvey};
pub use cursor::Cursor;
pub use error::{FormatError, Result};
pub use extent::Extent;
pub use footer::{FOOTER_LEN, Footer, MAGIC};
pub use open::{Container, Open};
pub use rows::Rows;
pub use slices::Slices;
pub use step::{Answer, Ask, Gather, Join, Machine, Ready, Step, run_on_slice};
pub use table::{ENTRY_LEN, OffsetTable};
pub use version::Version;
pub use writer::{ContainerWriter, PageRecord};
