//! Machines that are put together from smaller ones.

use bytes::Bytes;
use lance_footer::{Answer, Ask, Extent, FormatError, Machine, Ready, Result, Slices, Step};

/// A machine of any kind.
pub(crate) type Load<T> = Box<dyn Machine<Output = T>>;

/// A machine that is done.
pub(crate) fn ready<T: Send + 'static>(value: T) -> Load<T> {
    Box::new(Ready::new(value))
}

/// The bytes of each of `extents`.
pub(crate) fn slices(extents: Vec<Extent>) -> Load<Vec<Bytes>> {
    Box::new(LoadSlices { slices: Slices::new(extents), asked: false })
}

/// `first`, and then the machine that `next` makes of what it gives.
pub(crate) fn and_then<A: Send + 'static, B: Send + 'static>(
    first: Load<A>,
    next: impl FnOnce(A) -> Result<Load<B>> + Send + 'static,
) -> Load<B> {
    Box::new(AndThen::First(first, Box::new(next)))
}

/// What `make` makes of what `first` gives.
pub(crate) fn map<A: Send + 'static, B: Send + 'static>(
    first: Load<A>,
    make: impl FnOnce(A) -> Result<B> + Send + 'static,
) -> Load<B> {
    and_then(first, |output| Ok(ready(make(output)?)))
}

/// What `machine` gives, and how many bytes it asked for.
pub(crate) fn counted<T: Send + 'static>(machine: Load<T>) -> Load<(T, u64)> {
    Box::new(Counted { machine, read: 0 })
}

struct Counted<T> {
    machine: Load<T>,
    read: u64,
}

impl<T: Send> Machine for Counted<T> {
    type Output = (T, u64);

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Self::Output>> {
        Ok(match self.machine.step(answers)? {
            Step::Fetch(asks) => {
                self.read = asks.iter().map(Ask::bytes).fold(self.read, u64::saturating_add);
                Step::Fetch(asks)
            }
            Step::Ready(output) => Step::Ready((output, self.read)),
        })
    }
}

struct LoadSlices {
    slices: Slices,
    asked: bool,
}

impl Machine for LoadSlices {
    type Output = Vec<Bytes>;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Vec<Bytes>>> {
        if !self.asked
            && let Some(ask) = self.slices.ask()
        {
            self.asked = true;
            return Ok(Step::Fetch(vec![ask]));
        }
        Ok(Step::Ready(self.slices.of(answers)?))
    }
}

type Next<A, B> = Box<dyn FnOnce(A) -> Result<Load<B>> + Send>;

enum AndThen<A, B> {
    First(Load<A>, Next<A, B>),
    Second(Load<B>),
    Done,
}

impl<A: Send, B: Send> Machine for AndThen<A, B> {
    type Output = B;

    fn step(&mut self, mut answers: Vec<Answer>) -> Result<Step<B>> {
        if let Self::First(machine, _) = self {
            let output = match machine.step(std::mem::take(&mut answers))? {
                Step::Fetch(asks) => return Ok(Step::Fetch(asks)),
                Step::Ready(output) => output,
            };
            if let Self::First(_, next) = std::mem::replace(self, Self::Done) {
                *self = Self::Second(next(output)?);
            }
        }
        match self {
            Self::Second(machine) => machine.step(answers),
            _ => Err(FormatError::corrupt("step protocol", "a step after the machine was done")),
        }
    }
}
