//! The process that starts the workers, and goes on behind the cases that ended one.

use std::io::Write;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use super::{Progress, WORKER};
use crate::fuzzing::Options;

/// A worker is ended when a case takes as long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Cases that end a worker before no other is started.
const ENOUGH: u64 = 20;

/// Runs the cases on as many `threads`; `worker` is a program that calls [`work`](super::work). `tell` gets how far it
/// is now and then. What came of it; failures were printed.
pub fn run(
    options: &Options,
    threads: u64,
    worker: impl Fn() -> Command + Sync,
    tell: impl Fn(&Progress) + Sync,
) -> Progress {
    let parts: Vec<Mutex<Progress>> = (0..threads).map(|_| Mutex::default()).collect();
    let sum = || parts.iter().map(|part| *part.lock().unwrap()).fold(Progress::default(), Progress::and);
    std::thread::scope(|scope| {
        for (index, part) in (0..).zip(&parts) {
            let share = options.cases.div_ceil(threads);
            let first = options.first.saturating_add(share * index);
            let end = options.end().min(first.saturating_add(share));
            let own = Options { first, cases: end.saturating_sub(first), seed: options.seed };
            let worker = &worker;
            let (sum, tell) = (&sum, &tell);
            scope.spawn(move || {
                let told = |progress: Progress| {
                    *part.lock().unwrap() = progress;
                    tell(&sum());
                };
                one(own, worker, told);
            });
        }
    });
    sum()
}

/// Runs cases with one worker after the other.
fn one(mut options: Options, worker: impl Fn() -> Command, tell: impl Fn(Progress)) {
    let mut before = Progress::default();
    while options.cases > 0 && before.failures < ENOUGH {
        let file = NamedTempFile::new().unwrap();
        let task = format!(
            "--cases {} --seed {} --first {}\n{}",
            options.cases,
            options.seed,
            options.first,
            file.path().display()
        );
        let mut child = worker().env(WORKER, task).spawn().unwrap();
        let (last, wrong) = watch(&mut child, &file, |progress| tell(before.and(progress)));
        before = before.and(last);
        tell(before);
        let Some(wrong) = wrong else { return };
        println!("{}: {wrong}", options.repeat(last.case));
        std::io::stdout().flush().unwrap();
        before.failures += 1;
        before.done += 1;
        tell(before);
        // Nothing was done yet where there is no number.
        let next = if last == Progress::default() { options.end() } else { last.case + 1 };
        options.cases = options.end().saturating_sub(next);
        options.first = next;
    }
}

/// Waits for the end of a worker: how far it got, and what is wrong unless it was done.
fn watch(child: &mut Child, file: &NamedTempFile, tell: impl Fn(Progress)) -> (Progress, Option<String>) {
    let read = || Progress::from_bytes(&std::fs::read(file.path()).unwrap());
    let (mut last, mut changed) = (Progress::default(), Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let status = child.try_wait().unwrap();
        let now = read();
        if now != last {
            (last, changed) = (now, Instant::now());
            tell(now);
        }
        match status {
            Some(status) if status.success() && now.case == u64::MAX => return (now, None),
            Some(status) => return (now, Some(format!("the process ended: {status}"))),
            // It makes the sound files before the first case.
            None if changed.elapsed() > PATIENCE * if now == Progress::default() { 10 } else { 1 } => {
                child.kill().unwrap();
                child.wait().unwrap();
                return (now, Some(format!("it took more than {PATIENCE:?}")));
            }
            None => {}
        }
    }
}
