//! The generated messages of the container: column metadata and column encodings.
//!
//! The texts are in `proto/`, `cargo xtask codegen` turns them into this code.

#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

/// Package `lance.file.v2`: [`ColumnMetadata`](file2::ColumnMetadata) and what it holds.
pub mod file2 {
    include!("generated/lance.file.v2.rs");
}

/// Package `lance.encodings`: the column-level encoding.
pub mod column {
    include!("generated/lance.encodings.rs");
}
