//! The files of a table, to be copied and changed.

use std::collections::BTreeMap;

use bytes::Bytes;
use lance_io::Store;

/// Files by their paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files(pub BTreeMap<String, Bytes>);

impl Files {
    /// All files in `store`.
    pub async fn of(store: &Store) -> Self {
        let mut files = BTreeMap::new();
        for path in paths(store).await {
            let bytes = store.read_all(&path).await.unwrap();
            files.insert(path, bytes);
        }
        Self(files)
    }

    /// Puts them into `store`.
    pub async fn copy_to(&self, store: &Store) {
        for (path, bytes) in &self.0 {
            store.put(path, bytes.clone()).await.unwrap();
        }
    }

    /// A memory that holds them.
    pub async fn store(&self) -> Store {
        let store = Store::memory();
        self.copy_to(&store).await;
        store
    }

    /// The same with other bytes in the file at `path`.
    #[must_use]
    pub fn with(&self, path: &str, bytes: impl Into<Bytes>) -> Self {
        let mut files = self.clone();
        files.0.insert(path.into(), bytes.into());
        files
    }

    /// The only path that begins with `start` and ends with `end`.
    pub fn only(&self, start: &str, end: &str) -> String {
        let mut found = self.0.keys().filter(|path| path.starts_with(start) && path.ends_with(end));
        let path = found.next().unwrap_or_else(|| panic!("no {start}…{end}")).clone();
        assert_eq!(found.next(), None);
        path
    }
}

/// The paths of all files in `store`.
pub async fn paths(store: &Store) -> Vec<String> {
    let (mut files, mut directories) = (vec![], vec![String::new()]);
    while let Some(directory) = directories.pop() {
        for listed in store.list(&directory).await.unwrap() {
            let path = [directory.as_str(), listed.name.as_str()].join("/");
            let path = path.trim_start_matches('/').to_string();
            if listed.is_dir { directories.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
