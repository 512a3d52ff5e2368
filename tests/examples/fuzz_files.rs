//! Runs hostile files on all cores, each in a process of its own: `cargo xtask fuzz files`.

use std::io::IsTerminal;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use demilance_tests::file_fuzz::{Progress, run, work};
use demilance_tests::fuzzing::Options;

const USAGE: &str = "fuzz_files [--cases N] [--seed S] [--first NUMBER]";

fn main() -> ExitCode {
    // This is one of the processes that the one below starts; it ends here.
    if demilance_tests::file_fuzz::is_worker() {
        work();
        return ExitCode::SUCCESS;
    }
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let started = Instant::now();
    let told = Mutex::new(started);
    let terminal = std::io::stderr().is_terminal();
    let tell = |progress: &Progress| {
        let mut told = told.lock().unwrap();
        if told.elapsed() > Duration::from_secs(if terminal { 1 } else { 20 }) {
            *told = Instant::now();
            eprintln!("{}", options.progress(progress.done, progress.failures as usize, started));
        }
    };
    let this = std::env::current_exe().unwrap();
    let all = run(&options, threads.min(options.cases).max(1), || Command::new(&this), tell);
    println!(
        "{} cases of seed {} in {:.0} s: {} files opened, {} read, {} failures; the slowest took {} ms, a process at \
         most {} MiB",
        all.done,
        options.seed,
        started.elapsed().as_secs_f64(),
        all.opened,
        all.read,
        all.failures,
        all.slowest / 1000,
        all.peak >> 20,
    );
    if all.failures == 0 && all.done == options.cases { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
