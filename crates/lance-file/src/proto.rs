//! The generated messages of package `lance.file`: schema and file descriptor.
//!
//! The text is in `proto/`, `cargo xtask codegen` turns it into this code.

#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

include!("generated/lance.file.rs");
