use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;

use crate::Listed;

/// The files of a memory, by their full path. Clones are the same memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    files: Arc<Mutex<BTreeMap<String, File>>>,
}

#[derive(Debug)]
struct File {
    bytes: Bytes,
    modified: SystemTime,
}

impl File {
    fn now(bytes: Bytes) -> Self {
        Self { bytes, modified: SystemTime::now() }
    }
}

impl Files {
    pub(crate) fn insert(&self, key: String, bytes: Bytes) {
        self.lock().insert(key, File::now(bytes));
    }

    /// Whether there was no file at `key`; only then it is there now.
    pub(super) fn insert_if_absent(&self, key: String, bytes: Bytes) -> bool {
        let mut files = self.lock();
        let absent = !files.contains_key(&key);
        if absent {
            files.insert(key, File::now(bytes));
        }
        absent
    }

    pub(super) fn get(&self, key: &str) -> Option<Bytes> {
        self.lock().get(key).map(|file| file.bytes.clone())
    }

    pub(super) fn remove(&self, key: &str) {
        self.lock().remove(key);
    }

    /// Removes all that is below `dir`.
    pub(super) fn remove_all(&self, dir: &str) {
        let below = |key: &str| key.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
        self.lock().retain(|key, _| !dir.is_empty() && !below(key));
    }

    pub(super) fn list(&self, dir: &str) -> Vec<Listed> {
        let files = self.lock();
        let mut listed: Vec<Listed> = vec![];
        for (path, file) in files.iter() {
            let below = match dir {
                "" => Some(path.as_str()),
                dir => path.strip_prefix(dir).and_then(|rest| rest.strip_prefix('/')),
            };
            let Some(below) = below else { continue };
            let entry = match below.split_once('/') {
                None => Listed {
                    name: below.into(),
                    size: file.bytes.len() as u64,
                    is_dir: false,
                    modified: Some(file.modified),
                },
                Some((name, _)) => Listed { name: name.into(), size: 0, is_dir: true, modified: None },
            };
            // What a directory holds is together in the order of the map, but not always next to a file
            // whose name begins alike.
            if !entry.is_dir || listed.iter().all(|other| *other != entry) {
                listed.push(entry);
            }
        }
        listed
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, File>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
