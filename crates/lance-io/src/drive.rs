use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{try_join, try_join_all};
use lance_footer::{Answer, Ask, FormatError, Machine, Step};

use crate::error::Result;
use crate::read::{ReadBlocking, check_inside, hop};
use crate::{IoError, ReadAt};

/// Runs `machine` over `source` until it is done. Errors name the source's path.
pub async fn drive<M: Machine + 'static>(
    mut machine: M,
    source: &Arc<dyn ReadAt>,
) -> Result<M::Output, IoError> {
    let mut answers = vec![];
    loop {
        match step(&mut machine, answers, source.as_ref())? {
            Step::Ready(output) => return Ok(output),
            Step::Fetch(asks) => answers = source.read(asks).await?,
        }
    }
}

/// The same on this thread, which blocks: `reads` are those of `source`.
pub fn drive_blocking<M: Machine>(
    mut machine: M,
    source: &dyn ReadAt,
    reads: &dyn ReadBlocking,
) -> Result<M::Output, IoError> {
    let mut answers = vec![];
    loop {
        match step(&mut machine, answers, source)? {
            Step::Ready(output) => return Ok(output),
            Step::Fetch(asks) => answers = reads.read_blocking(&asks)?,
        }
    }
}

/// Runs each machine over its source, in rounds: what all machines ask for in a round is read together.
/// The outputs come in the same order.
///
/// The sources that block are read with one hop to the blocking pool a round, however many files there are;
/// the others are read concurrently. Machines of the same source (the same [`Arc`]) share its reads.
pub async fn drive_many<M: Machine + 'static>(
    work: Vec<(M, Arc<dyn ReadAt>)>,
) -> Result<Vec<M::Output>, IoError> {
    let (mut tasks, sources) = tasks(work);
    loop {
        let mut rounds: Vec<Vec<Ask>> = vec![vec![]; sources.len()];
        for task in &mut tasks {
            let source = sources.get(task.source).zip(rounds.get_mut(task.source));
            if let Some((source, round)) = source {
                task.step(source.read.as_ref(), round)?;
            }
        }
        if rounds.iter().all(Vec::is_empty) {
            return tasks.into_iter().map(|task| task.output(&sources)).collect();
        }
        let mut answers = fetch(&sources, rounds).await?;
        for task in &mut tasks {
            if let Some(answers) = answers.get_mut(task.source) {
                task.answers = answers.by_ref().take(task.asks).collect();
            }
        }
    }
}

/// A source of a round, with the way to read it that blocks if it has one.
struct Source {
    read: Arc<dyn ReadAt>,
    blocking: Option<Arc<dyn ReadBlocking>>,
}

struct Task<M: Machine> {
    state: State<M>,
    /// Its source, as an index.
    source: usize,
    /// How many answers it waits for.
    asks: usize,
    answers: Vec<Answer>,
}

enum State<M: Machine> {
    Running(M),
    Done(M::Output),
}

impl<M: Machine> Task<M> {
    /// Steps the machine unless it is done, and adds what it asks for to `round`.
    fn step(&mut self, source: &dyn ReadAt, round: &mut Vec<Ask>) -> Result<()> {
        let State::Running(machine) = &mut self.state else { return Ok(()) };
        match step(machine, std::mem::take(&mut self.answers), source)? {
            Step::Ready(output) => {
                self.asks = 0;
                self.state = State::Done(output);
            }
            Step::Fetch(asks) => {
                self.asks = asks.len();
                round.extend(asks);
            }
        }
        Ok(())
    }

    fn output(self, sources: &[Source]) -> Result<M::Output> {
        match self.state {
            State::Done(output) => Ok(output),
            // The step function refuses machines that fetch nothing.
            State::Running(_) => {
                let path = sources.get(self.source).map_or("", |source| source.read.path());
                let error = FormatError::corrupt("step protocol", "a machine stopped before it was done");
                Err(IoError::format(path, error))
            }
        }
    }
}

fn tasks<M: Machine>(work: Vec<(M, Arc<dyn ReadAt>)>) -> (Vec<Task<M>>, Vec<Source>) {
    let mut known = HashMap::new();
    let mut sources = vec![];
    let mut tasks = Vec::with_capacity(work.len());
    for (machine, read) in work {
        let address = Arc::as_ptr(&read).cast::<()>() as usize;
        let source = *known.entry(address).or_insert_with(|| {
            let blocking = read.blocking();
            sources.push(Source { read, blocking });
            sources.len() - 1
        });
        tasks.push(Task { state: State::Running(machine), source, asks: 0, answers: vec![] });
    }
    (tasks, sources)
}

/// One step, whose fetch was checked: it is not empty and lies within the file.
fn step<M: Machine>(machine: &mut M, answers: Vec<Answer>, source: &dyn ReadAt) -> Result<Step<M::Output>> {
    let step = machine.step(answers).map_err(|error| IoError::format(source.path(), error))?;
    if let Step::Fetch(asks) = &step {
        if asks.is_empty() {
            let error = FormatError::corrupt("step protocol", "an empty fetch");
            return Err(IoError::format(source.path(), error));
        }
        check_inside(asks, source.size(), source.path())?;
    }
    Ok(step)
}

/// The answers of one round, a source each.
async fn fetch(sources: &[Source], rounds: Vec<Vec<Ask>>) -> Result<Vec<std::vec::IntoIter<Answer>>> {
    let mut blocking = vec![];
    let mut others = vec![];
    for (index, (source, asks)) in sources.iter().zip(rounds).enumerate() {
        match &source.blocking {
            _ if asks.is_empty() => {}
            Some(file) => blocking.push((index, Arc::clone(file), asks)),
            None => others.push(async move { Ok((index, source.read.read(asks).await?)) }),
        }
    }
    let pool = async {
        // One hop serves many files; should it be cut off, the first stands for them.
        let Some(first) = blocking.first().and_then(|(index, ..)| sources.get(*index)) else {
            return Ok(vec![]);
        };
        let read = move || {
            let read = |(index, file, asks): (usize, Arc<dyn ReadBlocking>, Vec<Ask>)| {
                Ok((index, file.read_blocking(&asks)?))
            };
            blocking.into_iter().map(read).collect::<Result<Vec<_>>>()
        };
        hop(first.read.path(), read).await
    };
    let (pool, others) = try_join(pool, try_join_all(others)).await?;
    let mut answers: Vec<_> = sources.iter().map(|_| vec![].into_iter()).collect();
    for (index, read) in pool.into_iter().chain(others) {
        if let Some(slot) = answers.get_mut(index) {
            *slot = read.into_iter();
        }
    }
    Ok(answers)
}
