//! Shows how many rows are done while something else works on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::source::Progress;

/// How often the bar is brought up to date.
const TICK: Duration = Duration::from_millis(100);

/// A bar that follows a count of rows until it is dropped.
pub(super) struct Watch {
    done: Arc<AtomicBool>,
    progress: Progress,
}

impl Watch {
    /// Follows `rows`, of which there will be `total`.
    pub(super) fn start(rows: Arc<AtomicU64>, total: u64) -> Self {
        let (done, progress) = (Arc::new(AtomicBool::new(false)), Progress::steps("rows"));
        let (stop, bar) = (Arc::clone(&done), progress.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                bar.set(rows.load(Ordering::Relaxed), total);
                std::thread::sleep(TICK);
            }
        });
        Self { done, progress }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.progress.clear();
    }
}
