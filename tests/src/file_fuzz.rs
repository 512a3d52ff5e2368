//! Hostile files: sound files of every version and encoding, changed. Whatever is done with them may give an error or
//! data, and never a panic, never a huge allocation, never an endless loop.
//!
//! A case is made of a seed and its number alone, so that one that fails can be repeated by itself.

mod base;
mod buffers;
mod change;
mod message;
mod number;
mod pages;
mod parent;
mod read;
mod sums;
mod worker;

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::edit::{RawParts, Tail};
pub use base::{Base, bases};
pub use parent::run;
pub use read::Outcome;
pub use worker::{is_worker, work};

/// The environment variable that tells a worker which cases it runs, and to which file it tells how far it is.
const WORKER: &str = "DEMILANCE_FUZZ_WORKER";

/// How far a worker is, or all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The case that runs.
    pub case: u64,
    /// Cases that were run.
    pub done: u64,
    /// Files that could be opened.
    pub opened: u64,
    /// Files of which all could be read that was asked for.
    pub read: u64,
    /// Cases with something wrong.
    pub failures: u64,
    /// Microseconds that the slowest case took.
    pub slowest: u64,
    /// Bytes of memory that the process held at most, once it is done.
    pub peak: u64,
}

impl Progress {
    fn to_bytes(self) -> Vec<u8> {
        let Self { case, done, opened, read, failures, slowest, peak } = self;
        [case, done, opened, read, failures, slowest, peak]
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let at = |index: usize| {
            let number = bytes.get(index * 8..).and_then(<[u8]>::first_chunk);
            number.map_or(0, |number| u64::from_le_bytes(*number))
        };
        let (case, done, opened, read) = (at(0), at(1), at(2), at(3));
        Self { case, done, opened, read, failures: at(4), slowest: at(5), peak: at(6) }
    }

    /// What both are together.
    fn and(self, other: Self) -> Self {
        Self {
            case: other.case,
            done: self.done + other.done,
            opened: self.opened + other.opened,
            read: self.read + other.read,
            failures: self.failures + other.failures,
            slowest: self.slowest.max(other.slowest),
            peak: self.peak.max(other.peak),
        }
    }
}

/// A changed file.
#[derive(Debug)]
pub struct Case {
    /// What was changed, and how.
    pub name: String,
    /// The file.
    pub bytes: Bytes,
    /// What the choices of the reader are drawn from.
    reader: u64,
}

impl Case {
    /// Case `number` of `seed`: one of `bases`, changed.
    pub fn of(bases: &[Base], seed: u64, number: u64) -> Self {
        let mut rng_seed = [2; 32];
        rng_seed[..8].copy_from_slice(&seed.to_le_bytes());
        rng_seed[8..16].copy_from_slice(&number.to_le_bytes());
        let rng = &mut StdRng::from_seed(rng_seed);
        let base = &bases[rng.random_range(0..bases.len())];
        let other = &bases[rng.random_range(0..bases.len())];
        let mut name = base.name.clone();
        let bytes = changed(&base.parts, &other.parts, rng, &mut name);
        Self { name, bytes, reader: rng.random() }
    }

    /// Opens the file and reads what can be read.
    pub async fn run(&self) -> Outcome {
        read::read(self.bytes.clone(), &mut StdRng::seed_from_u64(self.reader)).await
    }
}

/// A file that differs from `parts` in a few places, some of which come from `other`. What was done is added to `name`.
fn changed(parts: &RawParts, other: &RawParts, rng: &mut StdRng, name: &mut String) -> Bytes {
    // Now and then nothing: what is sound has to stay so.
    let changes = [0, 1, 1, 1, 1, 1, 2, 2, 3, 5][rng.random_range(0..10)];
    let (mut parts, mut tails, mut anywhere) = (parts.clone(), 0, 0);
    for _ in 0..changes {
        let what = match rng.random_range(0..20) {
            0..8 => message::change(&mut parts, other, rng),
            8..13 => buffers::change(&mut parts, other, rng),
            13..16 => pages::change(&mut parts, other, rng),
            16 => {
                tails += 1;
                "tail"
            }
            _ => {
                anywhere += 1;
                "bytes"
            }
        };
        name.push_str(", ");
        name.push_str(what);
    }
    let file = if sums::has_table(&parts) && rng.random_bool(0.75) {
        // Without checksums that are right again, what reads with checks would see none of the changes.
        let mut rng_of_tail = StdRng::seed_from_u64(rng.random());
        let edit = |tail: &mut Tail| (0..tails).for_each(|_| change::tail(tail, &mut rng_of_tail));
        let (file, what) = sums::signed(parts, edit, rng);
        if !what.is_empty() {
            name.push_str(", ");
            name.push_str(what);
        }
        file
    } else {
        parts.file_with(|tail| (0..tails).for_each(|_| change::tail(tail, rng)))
    };
    if anywhere == 0 {
        return file;
    }
    let mut file = file.to_vec();
    (0..anywhere).for_each(|_| change::bytes(&mut file, &other.data, rng));
    file.into()
}
