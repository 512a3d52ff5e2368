//! The generated messages of package `lance.table`: manifests, transactions, row ids.
//!
//! The text is in `proto/`, `cargo xtask codegen` turns it into this code.

#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

include!("generated/lance.table.rs");
