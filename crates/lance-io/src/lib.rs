//! Bytes to and from local files, memory and object stores.
//!
//! Format code is written as [`Machine`](lance_footer::Machine)s that never read by themselves. This crate
//! has the only driver: [`drive`] steps a machine, has a source read what it asks for and hands the bytes
//! back. [`drive_many`] does the same for the machines of many files at once.
//!
//! ```text
//! machine ──Fetch(asks)──▶ drive ──one call a round──▶ ReadAt ──coalesced reads──▶ file, object, memory
//!    ▲                                                   │
//!    └───────────────────── answers ─────────────────────┘
//! ```
//!
//! A [`Store`] is a root, such as a directory, below which files are opened, listed, created and published.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), lance_io::IoError> {
//! use lance_io::{Alignment, Store};
//!
//! let store = Store::memory();
//! let mut writer = store.create("a.bin", Alignment::Bytes64).await?;
//! let first = writer.buffer(vec!["one".into()]).await?;
//! let second = writer.buffer(vec!["two".into()]).await?;
//! assert_eq!((first.offset(), second.offset()), (0, 64));
//! writer.finish().await?;
//! assert_eq!(store.open_file("a.bin", None).await?.size(), 67);
//! # Ok(()) }
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod coalesce;
mod counting;
mod direct;
mod drive;
mod error;
mod gather;
mod local;
mod memory;
#[cfg(feature = "object-store")]
mod object;
mod open_files;
mod opened;
mod read;
mod store;
mod writer;

pub use coalesce::{Run, coalesce};
pub use counting::{Counting, Counts};
pub use direct::DirectFile;
pub use drive::{drive, drive_blocking, drive_many};
pub use error::IoError;
pub use lance_footer::Alignment;
pub use local::LocalFile;
pub use memory::MemoryFile;
#[cfg(feature = "object-store")]
pub use object::ObjectFile;
pub use read::{ReadAt, ReadBlocking};
#[cfg(feature = "failpoints")]
pub use store::{FailPoints, Moment, Write};
pub use store::{Listed, Store};
pub use writer::AlignedWriter;
