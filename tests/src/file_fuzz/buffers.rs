//! Changes of what is in the buffers of pages, and of where they lie.

use lance_footer::proto::file2::ColumnMetadata;
use prost::Message;
use rand::RngExt;
use rand::rngs::StdRng;

use super::change::{foreign, number, run, swap};
use super::number::instead_of;
use crate::edit::RawParts;

/// Changes a buffer of a page.
pub(super) fn change(parts: &mut RawParts, other: &RawParts, rng: &mut StdRng) -> &'static str {
    if parts.columns.is_empty() {
        return "no column";
    }
    let column = rng.random_range(0..parts.columns.len());
    let Ok(mut metadata) = ColumnMetadata::decode(&*parts.columns[column]) else { return "no buffer" };
    if metadata.pages.is_empty() {
        return "no page";
    }
    let page = rng.random_range(0..metadata.pages.len());
    let page = &mut metadata.pages[page];
    let buffers = page.buffer_offsets.len().min(page.buffer_sizes.len());
    if buffers == 0 {
        return "no buffer";
    }
    let at = rng.random_range(0..buffers);
    if rng.random_range(0..4) > 0 {
        let (start, size) = (page.buffer_offsets[at] as usize, page.buffer_sizes[at] as usize);
        let end = start.saturating_add(size).min(parts.data.len());
        let Some(bytes) = parts.data.get_mut(start..end).filter(|bytes| !bytes.is_empty()) else {
            return "an empty buffer";
        };
        return contents(bytes, other, rng);
    }
    match rng.random_range(0..4) {
        0 => page.buffer_sizes[at] = instead_of(page.buffer_sizes[at], rng),
        1 => page.buffer_offsets[at] = instead_of(page.buffer_offsets[at], rng),
        // As another buffer, or exchanged with it.
        2 => {
            let other = rng.random_range(0..buffers);
            page.buffer_offsets[at] = page.buffer_offsets[other];
            page.buffer_sizes[at] = page.buffer_sizes[other];
        }
        _ => {
            let other = rng.random_range(0..buffers);
            page.buffer_offsets.swap(at, other);
            page.buffer_sizes.swap(at, other);
        }
    }
    parts.columns[column] = metadata.encode_to_vec();
    "the place of a buffer"
}

fn contents(bytes: &mut [u8], other: &RawParts, rng: &mut StdRng) -> &'static str {
    // What decides stands in front, as a rule.
    let at = match rng.random_bool(0.4) {
        true => rng.random_range(0..bytes.len().min(24)),
        false => rng.random_range(0..bytes.len()),
    };
    match rng.random_range(0..10) {
        0..2 => bytes[at] ^= 1 << rng.random_range(0..8),
        2 => {
            let value = [0, 0xff, rng.random()][rng.random_range(0..3)];
            let run = run(at, bytes.len(), rng);
            bytes[run].fill(value);
        }
        3 => bytes.fill([0, 0xff, rng.random()][rng.random_range(0..3)]),
        4 => swap(bytes, rng),
        5 => foreign(bytes, at, &other.data, rng),
        _ => number(bytes, at, rng),
    }
    "a buffer"
}
