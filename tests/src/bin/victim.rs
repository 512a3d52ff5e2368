//! Does an operation of `demilance_tests::crash` and ends itself, without any goodbye, at one of its writes.
//!
//! `victim DIRECTORY OPERATION N`: the process aborts at the N-th moment, counted from 0, before or after a write. If there
//! are fewer, it succeeds.

use std::sync::atomic::{AtomicUsize, Ordering};

use demilance_tests::{crash, ours};
use lance_io::{FailPoints, Moment, Store};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("victim DIRECTORY OPERATION N");
    let (directory, operation, at) = (next(), next(), next().parse::<usize>().expect("a number"));
    let moments = AtomicUsize::new(0);
    let failpoints = FailPoints::new(move |_: &Moment<'_>| {
        if moments.fetch_add(1, Ordering::SeqCst) == at {
            std::process::abort();
        }
        Ok(())
    });
    let store = Store::local(directory).durable(false).with_failpoints(failpoints);
    ours::run(crash::run(&operation, store)).expect("the operation");
}
