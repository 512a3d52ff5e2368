//! Random sequences of all operations, by us and by the reference in turn: after each, both read what a model in memory says.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use demilance_tests::model::sequence::Sequence;
use demilance_tests::oracle::Oracle;
use demilance_tests::ours;

/// How many there are, if `DEMILANCE_SEQUENCES` does not say.
const SEQUENCES: u64 = 20;

/// What a variable of the environment says; without it `default`.
fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

#[test]
fn random_sequences_leave_what_the_model_says() {
    let oracle = Oracle::find("the steps of the reference; all are done and read by us");
    let first = number("DEMILANCE_SEQUENCES_SEED", 1);
    let count = number("DEMILANCE_SEQUENCES", SEQUENCES);
    let (next, failed) = (AtomicU64::new(first), Mutex::new(vec![]));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut session = oracle.as_ref().map(Oracle::session);
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        break;
                    }
                    let place = tempfile::tempdir().unwrap();
                    let mut sequence = Sequence::new(seed, place.path(), session.as_mut());
                    let outcome = catch_unwind(AssertUnwindSafe(|| ours::run(sequence.run())));
                    let outcome = outcome.unwrap_or_else(|_| Err("a panic, as printed above".into()));
                    let Err(error) = outcome else { continue };
                    let done = sequence.done.join("\n  ");
                    eprintln!(
                        "DEMILANCE_SEQUENCES_SEED={seed} DEMILANCE_SEQUENCES=1 repeats this:\n  {done}\n{error}\n"
                    );
                    failed.lock().unwrap().push(seed);
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {count} sequences failed: {failed:?}", failed.len());
}
