//! Which symbols to use: those that make a sample of the strings smallest.
//!
//! The way of Boncz, Neumann and Leis, "FSST: Fast Random Access String Compression" (VLDB 2020): begin without
//! symbols; encode the sample, count which symbols occur and which follow which; the symbols and pairs that stand
//! for the most bytes are the symbols of the next round.

use std::collections::HashMap;

use super::encoder::{Encoder, LITERALS, Symbol};

/// Steps that can be counted: codes and literals.
const STEPS: usize = 2 * LITERALS;

/// Which share of the sample each round looks at: the first rounds find out what is frequent anyway.
const ROUNDS: [f64; 5] = [0.1, 0.3, 0.6, 1.0, 1.0];

/// How often a pair occurs in the whole sample, at least, for it to be a candidate.
const LEAST: f64 = 4.0;

/// A symbol saves the bytes that it stands for less the one of its code; but a byte without one takes two.
const LITERAL_WEIGHT: u64 = 8;

/// An encoder for strings like those of `sample`.
pub(super) fn train(sample: &[&[u8]]) -> Encoder {
    let mut encoder = Encoder::new(std::iter::empty());
    let mut counts = Counts::new();
    for share in ROUNDS {
        counts.clear();
        let strings = sample.len() as f64 * share;
        // Every so many strings, so that all parts of the sample are looked at.
        let mut due = 0.0;
        for string in sample {
            due += strings / sample.len() as f64;
            if due >= 1.0 {
                due -= 1.0;
                counts.add(&encoder, string);
            }
        }
        encoder = counts.next(&encoder, LEAST * share);
    }
    encoder
}

/// How often steps occur, and how often one follows another.
struct Counts {
    single: Vec<u32>,
    /// Of the second by the first.
    pairs: Vec<u32>,
}

impl Counts {
    fn new() -> Self {
        Self { single: vec![0; STEPS], pairs: vec![0; STEPS * STEPS] }
    }

    fn clear(&mut self) {
        self.single.fill(0);
        self.pairs.fill(0);
    }

    /// Counts the steps of `encoder` through `string`.
    fn add(&mut self, encoder: &Encoder, string: &[u8]) {
        let mut last = None;
        let Self { single, pairs } = self;
        let mut bump = |last: Option<usize>, step: usize| {
            if let Some(count) = single.get_mut(step) {
                *count += 1;
            }
            if let Some(count) = last.and_then(|last| pairs.get_mut(last * STEPS + step)) {
                *count += 1;
            }
        };
        encoder.steps(string, |step, byte| {
            bump(last, step);
            // So that a symbol can also grow by a byte, or shrink to it.
            let literal = LITERALS + usize::from(byte);
            if step < LITERALS && encoder.symbols().get(step).is_some_and(|symbol| symbol.len() > 1) {
                bump(last, literal);
            }
            last = Some(step);
        });
    }

    /// The encoder with the symbols that gain most.
    fn next(&self, encoder: &Encoder, least: f64) -> Encoder {
        let symbol = |step: usize| match step.checked_sub(LITERALS) {
            None => encoder.symbols().get(step).copied(),
            Some(byte) => u8::try_from(byte).ok().map(Symbol::byte),
        };
        let seen: Vec<(usize, Symbol, u32)> = (0..STEPS)
            .zip(&self.single)
            .filter(|(_, count)| **count > 0)
            .filter_map(|(step, count)| Some((step, symbol(step)?, *count)))
            .collect();
        let mut gains: HashMap<Symbol, u64> = HashMap::new();
        let mut gain = |symbol: Symbol, count: u32| {
            let weight = if symbol.len() == 1 { LITERAL_WEIGHT } else { symbol.len() as u64 };
            *gains.entry(symbol).or_default() += weight * u64::from(count);
        };
        for (step, symbol, count) in &seen {
            gain(*symbol, *count);
            let row = self.pairs.get(step * STEPS..(step + 1) * STEPS).unwrap_or_default();
            for (next, follower, _) in &seen {
                let count = row.get(*next).copied().unwrap_or_default();
                if f64::from(count) >= least {
                    gain(symbol.followed_by(*follower), count);
                }
            }
        }
        let mut ranked: Vec<(u64, Symbol)> = gains.into_iter().map(|(symbol, gain)| (gain, symbol)).collect();
        // Ties too have an order, or the same input would not give the same file.
        ranked.sort_unstable_by(|one, other| other.cmp(one));
        Encoder::new(ranked.into_iter().map(|(_, symbol)| symbol))
    }
}
