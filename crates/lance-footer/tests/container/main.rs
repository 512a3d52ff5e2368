//! Whole containers: goldens, every rule of `docs/format/file.md` §6, opening in pieces, hostile bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]

mod draft;
mod goldens;
mod hostile;
mod opening;
mod rules;

use bytes::Bytes;
use lance_footer::{Container, Open, Result, run_on_slice};

/// Opens the container in `file` with one read of all of it.
fn open(file: &[u8]) -> Result<Container> {
    let file = Bytes::copy_from_slice(file);
    run_on_slice(Open::new(file.len() as u64, Open::TAIL), &file)
}
