//! The process in which cases run: it may be aborted, and its memory is limited.

use std::fs::File;
use std::io::{Seek, Write};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use tokio::runtime::Runtime;

use super::{Base, Case, Outcome, Progress, WORKER, bases};
use crate::fuzzing::{Options, panic_text};

/// More time than any of the small files may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// More memory than any of them may take, and what threads set aside for theirs.
#[cfg(target_os = "linux")]
const MEMORY: u64 = (1 << 30) + (256 << 20);
/// Failures after which it stops.
const ENOUGH: u64 = 50;

/// Whether this process was started to run cases.
pub fn is_worker() -> bool {
    std::env::var_os(WORKER).is_some()
}

/// Runs the cases that the parent named. Failures are printed.
pub fn work() {
    let task = std::env::var(WORKER).unwrap();
    let (options, path) = task.split_once('\n').unwrap();
    let options = Options::parse(options.split(' ').map(str::to_string)).unwrap();
    let mut file = File::options().write(true).open(path).unwrap();
    let mut worker = Worker::new();
    limit_memory();
    for number in options.first..options.end() {
        worker.progress.case = number;
        tell(&mut file, &worker.progress);
        worker.run(&options, number);
        if worker.progress.failures >= ENOUGH {
            break;
        }
    }
    worker.progress.case = u64::MAX;
    worker.progress.peak = status("VmHWM");
    tell(&mut file, &worker.progress);
}

fn tell(file: &mut File, progress: &Progress) {
    file.rewind().unwrap();
    file.write_all(&progress.to_bytes()).unwrap();
}

struct Worker {
    bases: Vec<Base>,
    runtime: Runtime,
    /// Panics are what is looked for; those of other threads come back as errors, so all are noted.
    panics: Arc<Mutex<Vec<String>>>,
    progress: Progress,
}

impl Worker {
    fn new() -> Self {
        let bases = bases();
        let panics = Arc::new(Mutex::new(vec![]));
        let noted = Arc::clone(&panics);
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            let text = format!("{}, {place}", panic_text(info.payload()));
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        }));
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        // The thread is there before memory is limited.
        runtime.block_on(runtime.spawn_blocking(|| {})).unwrap();
        Self { bases, runtime, panics, progress: Progress::default() }
    }

    fn timed(&self, case: &Case) -> (std::thread::Result<Outcome>, Duration) {
        let started = Instant::now();
        let outcome = self.runtime.block_on(AssertUnwindSafe(case.run()).catch_unwind());
        (outcome, started.elapsed())
    }

    fn run(&mut self, options: &Options, number: u64) {
        let case = Case::of(&self.bases, options.seed, number);
        let (outcome, mut took) = self.timed(&case);
        if took > PATIENCE {
            // The machine may have been busy with something else.
            took = took.min(self.timed(&case).1);
        }
        let mut wrong = std::mem::take(&mut *self.panics.lock().unwrap_or_else(PoisonError::into_inner));
        match outcome {
            Ok(outcome) => {
                self.progress.opened += u64::from(outcome.opened);
                self.progress.read += u64::from(outcome.read);
                wrong.extend(outcome.wrong);
            }
            Err(_) => wrong.push("it panicked".into()),
        }
        if took > PATIENCE {
            wrong.push(format!("it took {took:?}"));
        }
        self.progress.done += 1;
        self.progress.slowest = self.progress.slowest.max(took.as_micros() as u64);
        if !wrong.is_empty() {
            self.progress.failures += 1;
            println!("{}: {}\n    {}", options.repeat(number), wrong.join("; "), case.name);
        }
    }
}

/// From now on, an allocation that is too large ends the process.
fn limit_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let memory = status("VmSize") + MEMORY;
        setrlimit(Resource::As, Rlimit { current: Some(memory), maximum: Some(memory) }).unwrap();
    }
}

/// A number of bytes in the status of this process; 0 where there is none.
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}
