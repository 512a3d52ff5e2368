//! The generated messages of package `lance.encodings21`: page layouts and compressive encodings.
//!
//! The text is in `proto/`, `cargo xtask codegen` turns it into this code.

#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

include!("generated/lance.encodings21.rs");

/// Package `lance.encodings`: the array encodings of file version 2.0.
pub mod array {
    include!("generated/lance.encodings.rs");
}
