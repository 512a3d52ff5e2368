//! A watch over what is done with broken files: no panic, no huge allocation, no endless loop.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;

/// More address space than any of the files needs by far.
const MEMORY: u64 = 6 << 30;
/// More time than any of the work takes by far.
const PATIENCE: Duration = Duration::from_secs(20);

/// Does work with broken files, and notes every panic, in whatever thread, by where it happens.
#[derive(Debug)]
pub struct Watch {
    runtime: tokio::runtime::Runtime,
    panics: Arc<Mutex<BTreeMap<String, usize>>>,
    found: Mutex<Vec<String>>,
    reads: Mutex<usize>,
    _turn: MutexGuard<'static, ()>,
}

/// The hook is one for the process, so the tests of this file take turns where they share one.
static TURN: Mutex<()> = Mutex::new(());

impl Watch {
    /// Waits until no other test of the process watches.
    pub fn start() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // A huge allocation then aborts the test instead of passing by luck.
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Resource, Rlimit, setrlimit};
            setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) }).unwrap();
        }
        let panics = Arc::new(Mutex::new(BTreeMap::new()));
        let noted = Arc::clone(&panics);
        std::panic::set_hook(Box::new(move |info| {
            let message = info.to_string().replace('\n', " ");
            *noted.lock().unwrap_or_else(PoisonError::into_inner).entry(message).or_insert(0) += 1;
        }));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { runtime, panics, found: Mutex::default(), reads: Mutex::default(), _turn: turn }
    }

    /// Does `work`, which `what` describes. It may give an error as it likes, but must end.
    pub fn run(&self, work: impl Future<Output = ()>, what: impl Fn() -> String) {
        let before = self.panics.lock().unwrap().values().sum::<usize>();
        let started = Instant::now();
        let work = async { AssertUnwindSafe(tokio::time::timeout(PATIENCE, work)).catch_unwind().await };
        let outcome = self.runtime.block_on(work);
        *self.reads.lock().unwrap() += 1;
        let after = self.panics.lock().unwrap().values().sum::<usize>();
        if after > before {
            self.found.lock().unwrap().push(format!("{}: a panic", what()));
        }
        if matches!(outcome, Ok(Err(_))) || started.elapsed() > PATIENCE {
            self.found.lock().unwrap().push(format!("{}: {:?}", what(), started.elapsed()));
        }
    }

    /// Notes that something else is wrong.
    pub fn note(&self, wrong: String) {
        self.found.lock().unwrap().push(wrong);
    }

    /// Fails if anything was found.
    pub fn finish(self) {
        let _ = std::panic::take_hook();
        let found = self.found.into_inner().unwrap();
        println!("{} broken files met", self.reads.into_inner().unwrap());
        let panics = self.panics.lock().unwrap();
        let places: Vec<_> = panics.iter().map(|(place, times)| format!("{times} × {place}")).collect();
        let shown: Vec<_> = found.iter().take(30).map(String::as_str).collect();
        assert!(found.is_empty(), "{} found:\n{}\n{}", found.len(), places.join("\n"), shown.join("\n"));
    }
}
