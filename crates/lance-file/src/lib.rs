//! One Lance file: open, schema, scan, take, write.
//!
//! A [`Schema`] is the Lance side of an Arrow schema: it adds field ids, and spells types the way they are
//! stored. Its fields map to physical columns as `docs/format/file.md` §12 has it.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod batches;
mod checksums;
pub mod describe;
mod error;
mod pool;
pub mod proto;
mod reader;
mod schema;
pub mod verify;
mod writer;

pub use batches::Batches;
pub use error::{FileError, Result};
pub use reader::{BatchStream, FileReader, OpenOptions, ScanOptions, TakePlan, Taken};
pub use schema::{Field, LogicalType, Schema};
pub use writer::{FileWriter, WriteOptions, Written};

#[doc(no_inline)]
pub use lance_encoding::Compression;
pub use lance_encoding::DecodeBudget;

#[doc(no_inline)]
pub use lance_footer::{Alignment, FormatError, Rows, Version};
