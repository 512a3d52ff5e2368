//! Changes of bytes: anywhere, and where counts, sizes and offsets are.

use std::ops::Range;

use fory_row::{Region, RegionKind};
use rand::RngExt;
use rand::rngs::StdRng;

/// Sound bytes, and the places in them that decide most.
#[derive(Debug)]
pub(super) struct Image {
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl Image {
    pub(super) fn new(bytes: Vec<u8>, regions: &[Region]) -> Self {
        use RegionKind::{Bitmap, Count, Hash, KeysSize, Reference, Size};
        let decide =
            |region: &&Region| matches!(region.kind, Bitmap | Count | Hash | KeysSize | Reference | Size);
        let places = regions.iter().filter(decide).map(|region| region.range.clone()).collect();
        Self { bytes, places }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes with a few changes, some of them parts of `other`.
    pub(super) fn changed(&self, other: &Self, rng: &mut StdRng) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        // Now and then none: what is sound has to stay so.
        for _ in 0..rng.random_range(0..5) {
            if bytes.is_empty() {
                bytes.push(rng.random());
            }
            let at = self.place(bytes.len(), rng);
            change(&mut bytes, at, self, other, rng);
        }
        bytes
    }

    /// Where to change something: every other time in a place that decides.
    fn place(&self, len: usize, rng: &mut StdRng) -> usize {
        if !self.places.is_empty() && rng.random_bool(0.5) {
            let place = &self.places[rng.random_range(0..self.places.len())];
            // A number starts with its place, or in the middle, where the offset of a reference is.
            let half = if rng.random_bool(0.5) { 0 } else { 4.min(place.len() - 1) };
            return (place.start + half).min(len - 1);
        }
        rng.random_range(0..len)
    }
}

fn change(bytes: &mut Vec<u8>, at: usize, from: &Image, other: &Image, rng: &mut StdRng) {
    let number = number(bytes.len(), rng).to_le_bytes();
    match rng.random_range(0..13) {
        0 | 1 => bytes[at] ^= 1 << rng.random_range(0..8),
        2 => bytes[at] = rng.random(),
        3 => put(bytes, at, &number[..4]),
        4 => put(bytes, at, &number),
        // A little more or less than there was.
        5 | 6 => {
            let mut word = [0; 4];
            let end = bytes.len().min(at + 4);
            word[..end - at].copy_from_slice(&bytes[at..end]);
            let by = [1, 2, 4, 7, 8, 16, 64][rng.random_range(0..7)];
            let word = u32::from_le_bytes(word);
            let word = if rng.random_bool(0.5) { word.wrapping_add(by) } else { word.wrapping_sub(by) };
            put(bytes, at, &word.to_le_bytes());
        }
        7 => bytes.truncate(rng.random_range(0..=bytes.len())),
        8 => bytes.extend((0..rng.random_range(1..40)).map(|_| rng.random::<u8>())),
        // A slot refers to where another one does.
        9 if !from.places.is_empty() => {
            let place = from.places[rng.random_range(0..from.places.len())].clone();
            let copy = bytes.get(place).unwrap_or_default().to_vec();
            put(bytes, at, &copy);
        }
        10 if !from.places.is_empty() => share(bytes, from, rng.random_range(0..from.places.len())),
        11 => {
            let part = piece(other.bytes.len(), rng);
            let end = (at + part.len()).min(bytes.len());
            bytes.splice(at..end, other.bytes[part].iter().copied());
        }
        _ => {
            let gone = piece(bytes.len(), rng);
            bytes.drain(gone);
        }
    }
}

/// All slots beside one refer to the largest of what they referred to.
fn share(bytes: &mut [u8], from: &Image, place: usize) {
    let places = &from.places;
    let adjoins = |first: &Range<usize>, second: &Range<usize>| {
        first.end == second.start && first.len() == second.len() && second.end <= bytes.len()
    };
    let before = places[..=place].windows(2).rev().take_while(|pair| adjoins(&pair[0], &pair[1])).count();
    let behind = places[place..].windows(2).take_while(|pair| adjoins(&pair[0], &pair[1])).count();
    let run = &places[place - before..=place + behind];
    let word =
        |place: &Range<usize>| bytes.get(place.clone())?.first_chunk().map(|size| u32::from_le_bytes(*size));
    let Some(largest) = run.iter().filter(|place| word(place).is_some()).max_by_key(|place| word(place))
    else {
        return;
    };
    let copy = bytes[largest.clone()].to_vec();
    for place in run {
        put(bytes, place.start.min(bytes.len()), &copy);
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    let end = bytes.len().min(at + value.len());
    bytes[at..end].copy_from_slice(&value[..end - at]);
}

/// Up to 64 bytes of `len`.
fn piece(len: usize, rng: &mut StdRng) -> Range<usize> {
    let start = rng.random_range(0..=len);
    start..len.min(start + rng.random_range(0..64))
}

/// A number that is about as large as the bytes, or at an end of its type.
fn number(len: usize, rng: &mut StdRng) -> u64 {
    let len = len as u64;
    let near = [0, 1, 2, 8, 255, len / 8, len.wrapping_sub(8), len.wrapping_sub(1), len, len + 1, len + 8];
    let ends = [
        i32::MAX as u64,
        i32::MAX as u64 + 1,
        u64::from(u32::MAX),
        u64::from(u32::MAX) - 7,
        u64::from(u32::MAX) + 1,
        i64::MAX as u64,
        i64::MAX as u64 + 1,
        u64::MAX,
        u64::MAX - 7,
        len << 32,
        (len << 32) | len,
    ];
    if rng.random_bool(0.5) {
        near[rng.random_range(0..near.len())]
    } else {
        ends[rng.random_range(0..ends.len())]
    }
}
