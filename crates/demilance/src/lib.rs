//! Lance tables from Rust: written, versioned, scanned, and read at random.
//!
//! ```
//! use std::sync::Arc;
//! use demilance::{Dataset, WriteOptions};
//! use demilance::arrow::{Int64Array, RecordBatch};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("robot.lance");
//! # let path = path.to_str().ok_or("path")?;
//! let batch = RecordBatch::try_from_iter([("frame", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
//! let table = Dataset::write(path, vec![batch.clone()], WriteOptions::default()).await?;
//! let table = table.append(vec![batch]).await?;
//! assert_eq!((table.version(), table.count_rows()), (2, 2000));
//!
//! let rows = table.take(&[7, 1999, 7]).await?;        // random rows, in the order asked
//! assert_eq!(rows.num_rows(), 3);
//! let first = Dataset::builder(path).version(1).load().await?;
//! assert_eq!(first.count_rows(), 1000);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Dataset`] is one version of a table, open for reading. The layers below it are public too, each with
//! its own errors: [`table`], [`file`](mod@file), [`io`], [`encoding`] and [`footer`].
//!
//! All that reads or writes needs a Tokio runtime.

#![forbid(unsafe_code)]

mod change;
mod columns;
mod dataset;
mod error;
mod refs;
mod rows;
mod scan;

pub use columns::UpdateConfig;
pub use dataset::{Dataset, DatasetBuilder};
pub use error::{Error, ErrorKind, Result};
#[doc(no_inline)]
pub use lance_table::{
    Branch, Cleanup, CleanupOptions, ColumnOptions, CompactionOptions, Compression, DecodeBudget, Expr,
    IndexCoverage, Misfits, NewColumns, RowColumn, Tag, VersionInfo, WriteMode, WriteOptions,
};
#[doc(no_inline)]
pub use lance_table::{Deleted, Updated, Upsert, Upserted, WhenMatched, WhenMissing};
pub use rows::{RowOptions, TakenRows};
pub use scan::Scan;

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// The types of Arrow that this crate takes and gives.
pub mod arrow {
    pub use arrow_array::*;
    pub use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
}

/// Tables: fragments, manifests, versions.
pub mod table {
    pub use lance_table::*;
}

/// One data file.
pub mod file {
    pub use lance_file::*;
}

/// Rows of the Apache Fory row format. Structs derive them with `#[fory(crate = demilance::row)]`.
///
/// ```
/// use demilance::row::{ForyRow, Standard};
///
/// #[derive(ForyRow)]
/// #[fory(crate = demilance::row)]
/// struct Frame {
///     index: i64,
///     joints: Vec<f32>,
/// }
///
/// let bytes = Frame { index: 7, joints: vec![0.5, -1.5] }.to_row::<Standard>()?;
/// assert_eq!(bytes.len(), 48);
/// # Ok::<(), demilance::row::Error>(())
/// ```
pub mod row {
    pub use fory_row::*;
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
