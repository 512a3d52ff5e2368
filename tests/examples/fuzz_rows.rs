//! Runs hostile rows on all cores: `cargo xtask fuzz rows`.

use std::any::Any;
use std::io::{IsTerminal, Write};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use demilance_tests::fuzzing::{Options, panic_text};
use demilance_tests::row_fuzz::{Case, GROUP, Group};

const USAGE: &str = "fuzz_rows [--cases N] [--seed S] [--first NUMBER]";
/// Failures that a thread finds before it stops.
const ENOUGH: usize = 5;

#[derive(Default)]
struct Totals {
    done: AtomicU64,
    accepted: AtomicU64,
    over_budget: AtomicU64,
    peak: AtomicU64,
    failures: Mutex<Vec<String>>,
}

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    // Panics are what is looked for; they are told with their case at the end.
    std::panic::set_hook(Box::new(|_| {}));
    let totals = Totals::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next_group = AtomicU64::new(options.first / GROUP);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let workers = (0..threads).map(|_| scope.spawn(|| work(&options, &next_group, &totals)));
        let workers = workers.collect::<Vec<_>>();
        let mut told = Instant::now();
        let terminal = std::io::stderr().is_terminal();
        while !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(50));
            if told.elapsed() > Duration::from_secs(if terminal { 1 } else { 20 }) {
                told = Instant::now();
                let line = progress(&options, &totals, started);
                if terminal {
                    eprint!("\r{line} ")
                } else {
                    eprintln!("{line}")
                }
                let _ = std::io::stderr().flush();
            }
        }
        if terminal {
            eprintln!();
        }
    });
    report(&options, &totals, started)
}

fn progress(options: &Options, totals: &Totals, started: Instant) -> String {
    let done = totals.done.load(Ordering::Relaxed);
    let failures = totals.failures.lock().map_or(0, |failures| failures.len());
    options.progress(done, failures, started)
}

fn report(options: &Options, totals: &Totals, started: Instant) -> ExitCode {
    let number = |total: &AtomicU64| total.load(Ordering::Relaxed);
    println!(
        "{} cases of seed {} in {:.0} s: {} accepted, {} over the budget, at most {} bytes of memory in one step",
        number(&totals.done),
        options.seed,
        started.elapsed().as_secs_f64(),
        number(&totals.accepted),
        number(&totals.over_budget),
        number(&totals.peak),
    );
    let failures = totals.failures.lock().map(|failures| failures.clone()).unwrap_or_default();
    for failure in &failures {
        println!("\n{failure}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Takes one group after the other.
fn work(options: &Options, next_group: &AtomicU64, totals: &Totals) {
    let mut found = 0;
    loop {
        let start = next_group.fetch_add(1, Ordering::Relaxed) * GROUP;
        let numbers = start.max(options.first)..(start + GROUP).min(options.end());
        if numbers.is_empty() {
            return;
        }
        let group = Group::of(options.seed, start);
        for number in numbers {
            let case = group.case(number);
            if let Err(panic) = std::panic::catch_unwind(AssertUnwindSafe(|| run(&case, totals))) {
                found += 1;
                let text = failure(options, number, &case, panic.as_ref());
                if let Ok(mut failures) = totals.failures.lock() {
                    failures.push(text);
                }
            }
            totals.done.fetch_add(1, Ordering::Relaxed);
            if found == ENOUGH {
                return;
            }
        }
    }
}

fn run(case: &Case, totals: &Totals) {
    let outcome = case.run(|work| allocation_counter::measure(work).bytes_max);
    totals.accepted.fetch_add(outcome.accepted.into(), Ordering::Relaxed);
    totals.over_budget.fetch_add(outcome.over_budget.into(), Ordering::Relaxed);
    totals.peak.fetch_max(outcome.peak, Ordering::Relaxed);
}

fn failure(options: &Options, number: u64, case: &Case, panic: &(dyn Any + Send)) -> String {
    let shown: String = panic_text(panic).chars().take(4000).collect();
    format!("{}: {shown}\n{case:?}", options.repeat(number))
}
