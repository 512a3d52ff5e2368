//! Batches to rows and back: arbitrary schemas and data, every pair of types, hostile rows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::cast_possible_truncation)]

mod arrays;
mod decode;
mod encode;
mod hostile;
mod schema;
mod types;
mod values;

/// So many cases, or as many as `DEMILANCE_SCHEMAS` says, drawn from the seed in `DEMILANCE_SEED`, or always the same.
fn config(cases: u32) -> proptest::test_runner::Config {
    let cases = std::env::var("DEMILANCE_SCHEMAS").map_or(cases, |number| number.parse().unwrap());
    let seed = match std::env::var("DEMILANCE_SEED").as_deref() {
        Ok("random") => std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64,
        Ok(number) => number.parse().unwrap(),
        Err(_) => 1,
    };
    println!("DEMILANCE_SEED={seed} repeats this run");
    let rng_seed = proptest::test_runner::RngSeed::Fixed(seed);
    proptest::test_runner::Config { cases, rng_seed, failure_persistence: None, ..Default::default() }
}
