//! What the cross-crate tests share: arrays of every type, comparison, the reference implementation, recordings.

#![forbid(unsafe_code)]

pub mod draw;
pub mod fixture;
pub mod nested;
pub mod oracle;
pub mod ours;
pub mod same;
pub mod stream;
pub mod types;

use std::path::PathBuf;

/// The directory of this package.
pub fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The directory of the recordings, which `DEMILANCE_DATA` names; without it, says that `what` is skipped.
pub fn recordings(what: &str) -> Option<PathBuf> {
    let found = std::env::var_os("DEMILANCE_DATA").map(PathBuf::from).filter(|path| path.join("g1").is_dir());
    if found.is_none() {
        eprintln!("skipping {what}: DEMILANCE_DATA names no directory that holds g1/");
    }
    found
}

/// The seed in `DEMILANCE_SEED`, or a fresh one. Printed, so that a failure can be repeated.
pub fn seed() -> u64 {
    let given = std::env::var("DEMILANCE_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(rand::random::<u64>);
    println!("DEMILANCE_SEED={seed} repeats this run");
    seed
}
