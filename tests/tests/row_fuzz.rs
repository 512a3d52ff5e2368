//! Some thousands of hostile rows; `cargo xtask fuzz rows` makes millions.

use demilance_tests::row_fuzz::{GROUP, Group};
use demilance_tests::seed;

const CASES: u64 = 5_000;

#[test]
fn hostile_rows() {
    let seed = seed();
    let mut accepted = 0;
    for first in (0..CASES).step_by(GROUP as usize) {
        let group = Group::of(seed, first);
        for number in first..first + GROUP {
            println!("case {number}");
            let outcome = group.case(number).run(|work| allocation_counter::measure(work).bytes_max);
            accepted += u64::from(outcome.accepted);
        }
    }
    // Neither all nor none, or the changes are of no use.
    assert!((CASES / 10..CASES * 9 / 10).contains(&accepted), "{accepted} of {CASES} accepted");
}
