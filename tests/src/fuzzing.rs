//! What the programs behind `cargo xtask fuzz` share.

use std::any::Any;
use std::time::Instant;

/// Which cases are run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How many.
    pub cases: u64,
    /// What they are drawn from.
    pub seed: u64,
    /// The number of the first.
    pub first: u64,
}

impl Options {
    /// From the arguments of the program: `[--cases N] [--seed S] [--first NUMBER]`. None if there are others.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut options = Self { cases: 100_000, seed: 1, first: 0 };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let number = words.next()?.replace('_', "").parse().ok()?;
            match word.as_str() {
                "--cases" => options.cases = number,
                "--seed" => options.seed = number,
                "--first" => options.first = number,
                _ => return None,
            }
        }
        Some(options)
    }

    /// One past the number of the last case.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.cases)
    }

    /// The arguments that repeat case `number` alone.
    pub fn repeat(&self, number: u64) -> String {
        format!("--seed {} --first {number} --cases 1", self.seed)
    }

    /// A line that says how far it is.
    pub fn progress(&self, done: u64, failures: usize, started: Instant) -> String {
        let pace = done as f64 / started.elapsed().as_secs_f64();
        format!("{done} of {} cases, {pace:.0} a second, {failures} failures", self.cases)
    }
}

/// What a panic said.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text")
}
