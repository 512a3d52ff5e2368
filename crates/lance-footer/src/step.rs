//! The step protocol: format code says which bytes it needs, and is called again with them.

use bytes::{Bytes, BytesMut};

use crate::{Extent, FormatError, Result};

/// How the bytes of an [`Ask`] are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gather {
    /// One [`Bytes`] an extent.
    Slices,
    /// All extents, one after the other in the order asked, in one fresh slab. This is how wide values reach
    /// their final buffer without a second copy.
    Packed,
}

/// Extents that a machine wants, in any order; they may overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// What to read.
    pub extents: Vec<Extent>,
    /// How to hand it over.
    pub gather: Gather,
}

impl Ask {
    /// Each of `extents` as bytes of its own.
    pub const fn slices(extents: Vec<Extent>) -> Self {
        Self { extents, gather: Gather::Slices }
    }

    /// All of `extents` in one slab.
    pub const fn packed(extents: Vec<Extent>) -> Self {
        Self { extents, gather: Gather::Packed }
    }

    /// Bytes asked for.
    pub fn bytes(&self) -> u64 {
        self.extents.iter().fold(0, |sum, extent| sum.saturating_add(extent.len()))
    }
}

/// The bytes of one [`Ask`].
#[derive(Debug, Clone)]
pub enum Answer {
    /// One an extent, in order, each as long as its extent.
    Slices(Vec<Bytes>),
    /// All extents, one after the other.
    Packed(BytesMut),
}

impl Answer {
    /// The slices of the only answer in `answers`, of which there must be `count`.
    pub fn only_slices(answers: Vec<Self>, count: usize) -> Result<Vec<Bytes>> {
        match <[Self; 1]>::try_from(answers) {
            Ok([Self::Slices(slices)]) if slices.len() == count => Ok(slices),
            _ => Err(wrong_answer()),
        }
    }

    /// The slab of the only answer in `answers`.
    pub fn only_packed(answers: Vec<Self>) -> Result<BytesMut> {
        match <[Self; 1]>::try_from(answers) {
            Ok([Self::Packed(slab)]) => Ok(slab),
            _ => Err(wrong_answer()),
        }
    }
}

fn wrong_answer() -> FormatError {
    FormatError::corrupt("step protocol", "the answers do not fit what was asked")
}

/// What a machine says after a step.
#[derive(Debug)]
pub enum Step<T> {
    /// It needs these bytes; it wants one [`Answer`] an [`Ask`], in order. Never empty.
    Fetch(Vec<Ask>),
    /// It is done.
    Ready(T),
}

/// A computation that needs bytes in a few rounds, one to three as a rule.
///
/// The first step gets no answers; each further one gets the answers to the last [`Step::Fetch`]. A step
/// after [`Step::Ready`], or with answers that do not fit, is an error.
pub trait Machine: Send {
    /// What it makes.
    type Output: Send;

    /// Goes on with the bytes that were asked for.
    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Self::Output>>;
}

impl<M: Machine + ?Sized> Machine for Box<M> {
    type Output = M::Output;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Self::Output>> {
        (**self).step(answers)
    }
}

/// A machine that needs no bytes.
#[derive(Debug)]
pub struct Ready<T>(Option<T>);

impl<T> Ready<T> {
    /// It is done with `value`.
    pub const fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T: Send> Machine for Ready<T> {
    type Output = T;

    fn step(&mut self, _: Vec<Answer>) -> Result<Step<T>> {
        self.0.take().map(Step::Ready).ok_or_else(finished)
    }
}

/// Many machines as one, so that the fetches of a round are made together.
///
/// It is a barrier: the next round starts when all bytes of this one are there.
pub struct Join<M: Machine> {
    slots: Vec<Slot<M>>,
    done: bool,
}

enum Slot<M: Machine> {
    Running { machine: M, asks: usize },
    Done(M::Output),
}

impl<M: Machine> Join<M> {
    /// All of `machines`; the outputs come in the same order.
    pub fn new(machines: impl IntoIterator<Item = M>) -> Self {
        let slots = machines.into_iter().map(|machine| Slot::Running { machine, asks: 0 }).collect();
        Self { slots, done: false }
    }
}

impl<M: Machine> Machine for Join<M> {
    type Output = Vec<M::Output>;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Self::Output>> {
        if self.done {
            return Err(finished());
        }
        let mut answers = answers.into_iter();
        let mut fetch = vec![];
        for slot in &mut self.slots {
            let Slot::Running { machine, asks } = slot else { continue };
            let own: Vec<_> = answers.by_ref().take(*asks).collect();
            if own.len() != *asks {
                return Err(wrong_answer());
            }
            match machine.step(own)? {
                Step::Fetch(more) => {
                    *asks = more.len();
                    fetch.extend(more);
                }
                Step::Ready(output) => *slot = Slot::Done(output),
            }
        }
        if answers.next().is_some() {
            return Err(wrong_answer());
        }
        if !fetch.is_empty() {
            return Ok(Step::Fetch(fetch));
        }
        self.done = true;
        let outputs = self.slots.drain(..).filter_map(|slot| match slot {
            Slot::Done(output) => Some(output),
            // A machine that fetches nothing and is not done either breaks the protocol.
            Slot::Running { .. } => None,
        });
        Ok(Step::Ready(outputs.collect()))
    }
}

fn finished() -> FormatError {
    FormatError::corrupt("step protocol", "a step after the machine was done")
}

/// Runs `machine` over a file that is wholly in memory. For tests, fuzzers and files held as bytes.
pub fn run_on_slice<M: Machine>(mut machine: M, file: &Bytes) -> Result<M::Output> {
    let mut answers = vec![];
    loop {
        match machine.step(std::mem::take(&mut answers))? {
            Step::Ready(output) => return Ok(output),
            Step::Fetch(asks) => {
                for ask in asks {
                    answers.push(answer_from_slice(&ask, file)?);
                }
            }
        }
    }
}

fn answer_from_slice(ask: &Ask, file: &Bytes) -> Result<Answer> {
    let mut slices = Vec::with_capacity(ask.extents.len());
    for extent in &ask.extents {
        let range = usize::try_from(extent.offset()).ok().zip(usize::try_from(extent.end()).ok());
        match range {
            Some((start, end)) if end <= file.len() => slices.push(file.slice(start..end)),
            _ => {
                return Err(FormatError::corrupt(
                    "file",
                    format!("bytes {}..{} of {} were asked for", extent.offset(), extent.end(), file.len()),
                ));
            }
        }
    }
    Ok(match ask.gather {
        Gather::Slices => Answer::Slices(slices),
        Gather::Packed => Answer::Packed(slices.iter().flatten().copied().collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for one byte after the other until it meets a zero; gives what it read.
    struct Walk {
        read: Vec<u8>,
        waiting: bool,
    }

    impl Walk {
        fn new() -> Self {
            Self { read: vec![], waiting: false }
        }
    }

    impl Machine for Walk {
        type Output = Vec<u8>;

        fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Vec<u8>>> {
            if self.waiting {
                let slices = Answer::only_slices(answers, 1)?;
                match slices[0][0] {
                    0 => return Ok(Step::Ready(std::mem::take(&mut self.read))),
                    byte => self.read.push(byte),
                }
            }
            self.waiting = true;
            Ok(Step::Fetch(vec![Ask::slices(vec![Extent::new(self.read.len() as u64, 1)?])]))
        }
    }

    #[test]
    fn join_goes_on_until_the_last_is_done() {
        let file = Bytes::from_static(&[7, 8, 0]);
        let outputs = run_on_slice(Join::new([Walk::new(), Walk::new()]), &file).unwrap();
        assert_eq!(outputs, [[7, 8], [7, 8]]);
    }

    #[test]
    fn join_of_none_is_done_at_once() {
        let outputs = run_on_slice(Join::<Walk>::new([]), &Bytes::new()).unwrap();
        assert!(outputs.is_empty());
    }

    #[test]
    fn steps_after_the_end_and_wrong_answers_are_errors() {
        let mut ready = Ready::new(1);
        assert!(matches!(ready.step(vec![]), Ok(Step::Ready(1))));
        assert!(ready.step(vec![]).is_err());

        let mut join = Join::new([Walk::new()]);
        assert!(matches!(join.step(vec![]), Ok(Step::Fetch(_))));
        assert!(join.step(vec![]).is_err());
        let mut join = Join::new([Ready::new(1)]);
        assert!(join.step(vec![Answer::Slices(vec![])]).is_err());
    }

    #[test]
    fn extents_outside_are_refused() {
        let file = Bytes::from_static(&[7, 8]);
        assert!(run_on_slice(Walk::new(), &file).is_err());
    }

    #[test]
    fn packed_answers_keep_the_order_asked() {
        let ask = Ask::packed(vec![Extent::new(2, 1).unwrap(), Extent::new(0, 2).unwrap()]);
        let Answer::Packed(slab) = answer_from_slice(&ask, &Bytes::from_static(b"abc")).unwrap() else {
            panic!("not packed")
        };
        assert_eq!(&slab[..], b"cab");
        assert_eq!(ask.bytes(), 3);
    }
}
