//! The generated messages of package `lance.encodings21`: page layouts and compressive encodings.
//!
//! The text is in `proto/`, `cargo xtask codegen` turns it into this code.

#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

include!("generated/lance.encodings21.rs");
