//! Some thousands of hostile files; `cargo xtask fuzz files` makes millions.

use std::process::Command;

use demilance_tests::file_fuzz::{is_worker, run, work};
use demilance_tests::fuzzing::Options;
use demilance_tests::seed;

const CASES: u64 = 5_000;

#[test]
fn hostile_files() {
    let options = Options { cases: CASES, seed: seed(), first: 0 };
    let this = std::env::current_exe().unwrap();
    let worker = || {
        let mut command = Command::new(&this);
        command.args(["--exact", "worker", "--include-ignored", "--nocapture"]);
        command
    };
    let all = run(&options, 2, worker, |_| {});
    println!("{all:?}");
    assert_eq!((all.failures, all.done), (0, CASES));
    // Neither all nor none, or the changes are of no use.
    for count in [all.opened, all.read] {
        assert!((CASES / 10..CASES * 9 / 10).contains(&count), "{count} of {CASES}");
    }
}

#[test]
#[ignore = "a process that hostile_files starts"]
fn worker() {
    if is_worker() {
        work();
    }
}
