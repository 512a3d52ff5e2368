//! Numbers that are likely to be wrong somewhere.

use rand::RngExt;
use rand::rngs::StdRng;

/// A number to put where `old` is: close to it, or at an end of some type.
pub(super) fn instead_of(old: u64, rng: &mut StdRng) -> u64 {
    let near = [
        old.wrapping_add(1),
        old.wrapping_sub(1),
        old.wrapping_mul(2),
        old / 2,
        old ^ 1 << rng.random_range(0..64),
        old ^ 1 << rng.random_range(0..8),
        old.wrapping_add(8),
        old.wrapping_sub(8),
        rng.random_range(0..16),
        rng.random_range(0..5000),
    ];
    match rng.random_bool(0.5) {
        true => near[rng.random_range(0..near.len())],
        false => extreme(rng),
    }
}

/// A power of two at which something ends, or one more or less.
pub(super) fn extreme(rng: &mut StdRng) -> u64 {
    let bits = [0, 1, 3, 7, 8, 12, 15, 16, 20, 31, 32, 40, 60, 62, 63][rng.random_range(0..15)];
    let power = 1_u64 << bits;
    match rng.random_range(0..6) {
        0 => power - 1,
        1 => power + 1,
        2 => 0,
        3 => u64::MAX - rng.random_range(0..3),
        _ => power,
    }
}
