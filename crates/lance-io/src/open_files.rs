//! A bound on how many files are open for reading.

use std::collections::HashMap;
use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files that are open, at most so many: the one that was not read for the longest time is closed when one more is opened.
/// Clones are the same files.
#[derive(Debug, Clone)]
pub(crate) struct OpenFiles {
    limit: NonZeroUsize,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    /// How often something was read: stands for the time.
    clock: u64,
    files: HashMap<u64, (Arc<File>, u64)>,
    /// The number of the next file.
    next: u64,
}

impl OpenFiles {
    pub(crate) fn new(limit: NonZeroUsize) -> Self {
        Self { limit, held: Arc::default() }
    }

    /// A number for one more file.
    pub(crate) fn number(&self) -> u64 {
        let mut held = self.lock();
        held.next += 1;
        held.next
    }

    /// The file with this number, if it is open. It stays so for as long as it is used.
    pub(crate) fn find(&self, number: u64) -> Option<Arc<File>> {
        let mut held = self.lock();
        held.clock += 1;
        let now = held.clock;
        let (file, used) = held.files.get_mut(&number)?;
        *used = now;
        Some(Arc::clone(file))
    }

    /// Keeps `file` open, for another one if there are too many.
    pub(crate) fn keep(&self, number: u64, file: Arc<File>) {
        let mut held = self.lock();
        held.clock += 1;
        let now = held.clock;
        let mut closed = held.files.insert(number, (file, now));
        if held.files.len() > self.limit.get() {
            // To open a file takes longer than to look at all that are open.
            let oldest = held.files.iter().min_by_key(|(_, (_, used))| *used).map(|(number, _)| *number);
            closed = oldest.and_then(|oldest| held.files.remove(&oldest));
        }
        drop(held);
        drop(closed);
    }

    /// Closes the file with this number, which nobody reads any more.
    pub(crate) fn close(&self, number: u64) {
        let closed = self.lock().files.remove(&number);
        drop(closed);
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_not_read_for_the_longest_time_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "x").unwrap();
        let file = || Arc::new(File::open(&path).unwrap());
        let files = OpenFiles::new(NonZeroUsize::new(2).unwrap());
        let numbers = [files.number(), files.number(), files.number()];
        let open = || numbers.map(|number| files.lock().files.contains_key(&number));
        files.keep(numbers[0], file());
        files.keep(numbers[1], file());
        assert!(files.find(numbers[0]).is_some() && files.find(numbers[2]).is_none());
        files.keep(numbers[2], file());
        assert_eq!(open(), [true, false, true]);
        // It replaces itself.
        files.keep(numbers[2], file());
        assert_eq!(open(), [true, false, true]);
        files.close(numbers[0]);
        files.close(numbers[1]);
        assert_eq!(open(), [false, false, true]);
    }
}
