//! What the cross-crate tests share: arrays of every type, comparison, the reference implementation, recordings.

#![forbid(unsafe_code)]

pub mod any_row;
pub mod bombs;
pub mod conflicts;
pub mod corpus;
pub mod costs;
pub mod coverage;
pub mod crash;
pub mod draw;
pub mod edit;
pub mod faulty;
pub mod file_fuzz;
pub mod files;
pub mod fixture;
pub mod fuzzing;
pub mod legacy;
pub mod manifest;
pub mod model;
pub mod nested;
pub mod oracle;
pub mod ours;
pub mod row_bytes;
pub mod row_fuzz;
pub mod rows;
pub mod s3;
pub mod same;
pub mod sizes;
pub mod stream;
pub mod theirs;
pub mod trial;
pub mod types;
pub mod verified;
pub mod watch;

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

/// The seed in `DEMILANCE_SEED`: a number, or `random` for a fresh one; without it always the same, so that a run of
/// CI tells of the change and not of the draw. Printed, so that a failure can be repeated.
pub fn seed() -> u64 {
    let seed = match std::env::var("DEMILANCE_SEED").as_deref() {
        Ok("random") => rand::random(),
        Ok(number) => number.parse().unwrap_or_else(|_| panic!("DEMILANCE_SEED={number} is no number")),
        Err(_) => 1,
    };
    println!("DEMILANCE_SEED={seed} repeats this run");
    seed
}
