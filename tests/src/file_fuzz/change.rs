//! Changes of bytes anywhere, and of the tables and the footer at the end.

use std::ops::Range;

use rand::RngExt;
use rand::rngs::StdRng;

use super::number::{extreme, instead_of};
use crate::edit::Tail;

/// Changes some of `bytes`; `other` is where foreign ones come from.
pub(super) fn bytes(bytes: &mut Vec<u8>, other: &[u8], rng: &mut StdRng) {
    if bytes.is_empty() {
        bytes.push(rng.random());
    }
    // Every other time near the end, where the metadata are.
    let at = match rng.random_bool(0.5) {
        true => bytes.len() - 1 - rng.random_range(0..bytes.len().min(600)),
        false => rng.random_range(0..bytes.len()),
    };
    match rng.random_range(0..12) {
        0..3 => bytes[at] ^= 1 << rng.random_range(0..8),
        3 => bytes[at] = rng.random(),
        4 => {
            let value = [0, 0xff, rng.random()][rng.random_range(0..3)];
            let run = run(at, bytes.len(), rng);
            bytes[run].fill(value);
        }
        5 => number(bytes, at, rng),
        6 => bytes.truncate(at),
        7 => {
            let run = run(at, bytes.len(), rng);
            bytes.drain(run);
        }
        8 => {
            let run = run(at, bytes.len(), rng);
            let copy = bytes[run].to_vec();
            bytes.splice(at..at, copy);
        }
        9 => swap(bytes, rng),
        _ => foreign(bytes, at, other, rng),
    }
}

/// Another number where one may start at `at`.
pub(super) fn number(bytes: &mut [u8], at: usize, rng: &mut StdRng) {
    let width = [1, 2, 4, 8][rng.random_range(0..4)];
    // Numbers are aligned, as a rule.
    let at = if rng.random_bool(0.8) { at - at % width } else { at };
    let end = (at + width).min(bytes.len());
    let Some(place) = bytes.get_mut(at..end) else { return };
    let mut old = [0; 8];
    old[..place.len()].copy_from_slice(place);
    let new = instead_of(u64::from_le_bytes(old), rng).to_le_bytes();
    place.copy_from_slice(&new[..place.len()]);
}

/// Exchanges two runs of bytes.
pub(super) fn swap(bytes: &mut [u8], rng: &mut StdRng) {
    let width = [1, 2, 4, 8, 64][rng.random_range(0..5)];
    let places = bytes.len() / width;
    if places < 2 {
        return;
    }
    let (a, b) = (rng.random_range(0..places) * width, rng.random_range(0..places) * width);
    for byte in 0..width {
        bytes.swap(a + byte, b + byte);
    }
}

/// Puts a run of `other` over what is at `at`.
pub(super) fn foreign(bytes: &mut [u8], at: usize, other: &[u8], rng: &mut StdRng) {
    if other.is_empty() {
        return;
    }
    let from = rng.random_range(0..other.len());
    let len = run(from, other.len(), rng).len().min(bytes.len() - at);
    bytes[at..at + len].copy_from_slice(&other[from..from + len]);
}

/// Up to some dozen bytes from `at` on.
pub(super) fn run(at: usize, len: usize, rng: &mut StdRng) -> Range<usize> {
    at..len.min(at + rng.random_range(1..80))
}

/// Changes a number of the tables or of the footer.
pub(super) fn tail(tail: &mut Tail, rng: &mut StdRng) {
    let entries = if rng.random_bool(0.5) { &mut tail.cmo } else { &mut tail.gbo };
    match rng.random_range(0..9) {
        0 => change(&mut tail.metadata, rng),
        1 => change(&mut tail.cmo_start, rng),
        2 => change(&mut tail.gbo_start, rng),
        3 => tail.globals = instead_of(tail.globals.into(), rng) as u32,
        4 => tail.columns = instead_of(tail.columns.into(), rng) as u32,
        5 => entries.push((extreme(rng), extreme(rng))),
        6 => drop(entries.pop()),
        _ if entries.is_empty() => {}
        kind => {
            let at = rng.random_range(0..entries.len());
            let entry = &mut entries[at];
            change(if kind == 7 { &mut entry.0 } else { &mut entry.1 }, rng);
        }
    }
}

fn change(number: &mut u64, rng: &mut StdRng) {
    *number = instead_of(*number, rng);
}
