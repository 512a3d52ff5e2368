//! Lance tables from Rust: written, versioned, scanned, and read at random.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("poses.lance");
//! # let path = path.to_str().ok_or("a path that is no text")?;
//! use arrow_array::record_batch;
//! use demilance::{Dataset, table::WriteOptions};
//!
//! let poses = record_batch!(("id", Int64, [1, 2, 3]), ("x", Float32, [0.5, 1.5, 2.5]))?;
//! let dataset = Dataset::write(path, poses.clone(), WriteOptions::default()).await?;
//! let dataset = dataset.append(poses).await?;
//! assert_eq!((dataset.version(), dataset.count_rows()), (2, 6));
//!
//! let sample = dataset.take(&[5, 0, 2]).await?;
//! assert_eq!(sample, record_batch!(("id", Int64, [3, 1, 3]), ("x", Float32, [2.5, 0.5, 2.5]))?);
//! let ids = dataset.scan().columns(["id"])?.offset(2).limit(2).collect().await?;
//! assert_eq!(ids.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
//! # Ok(()) }
//! ```
//!
//! A [`Dataset`] is one version of a table, open for reading. The layers below it are public too, each with
//! its own errors: [`table`], [`file`](mod@file), [`io`], [`encoding`] and [`footer`].
//!
//! All that reads or writes needs a Tokio runtime.

#![forbid(unsafe_code)]

mod dataset;
mod error;
mod scan;

pub use dataset::{Dataset, DatasetBuilder};
pub use error::{Error, ErrorKind, Result};
pub use scan::Scan;

/// The types of Arrow that this crate takes and gives.
pub mod arrow {
    pub use arrow_array::{self as array, RecordBatch, record_batch};
    pub use arrow_schema::{self as schema, ArrowError, DataType, Field, Schema, SchemaRef};
}

/// Tables: fragments, manifests, versions.
pub mod table {
    pub use lance_table::*;
}

/// One data file.
pub mod file {
    pub use lance_file::*;
}

/// Where bytes come from and go to.
pub mod io {
    pub use lance_io::*;
}

/// Arrow arrays to and from the buffers of files.
pub mod encoding {
    pub use lance_encoding::*;
}

/// The container of files.
pub mod footer {
    pub use lance_footer::*;
}
