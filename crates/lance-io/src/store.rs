//! Roots below which files are opened, listed, created and published.

mod local;
mod memory;
#[cfg(feature = "object-store")]
mod object;
mod url;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

#[cfg(feature = "object-store")]
use crate::ObjectFile;
use crate::error::Result;
use crate::writer::{AlignedWriter, Sink};
use crate::{Alignment, Counting, Counts, IoError, LocalFile, MemoryFile, ReadAt};
pub(crate) use local::{Publish, Temporary};
pub(crate) use memory::Files;
#[cfg(feature = "object-store")]
pub(crate) use object::Objects;

/// A root: a directory of the local file system, of a memory, or of an object store.
///
/// Paths are relative to it, with `/` between their parts; the empty path is the root itself, which may be a
/// file. A path that leads out of the root is refused.
#[derive(Debug, Clone)]
pub struct Store {
    root: Root,
    /// What [`Store::child`] added. Checked when it is used.
    prefix: String,
    /// Where reads are counted, if they are.
    counts: Option<Counts>,
}

#[derive(Debug, Clone)]
enum Root {
    Local(PathBuf),
    Memory(Files),
    #[cfg(feature = "object-store")]
    Object(Objects),
}

/// What [`Store::list`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The last part of its path.
    pub name: String,
    /// Bytes of the file; 0 for a directory.
    pub size: u64,
    /// Whether it is a directory.
    pub is_dir: bool,
}

impl Store {
    /// The directory or file `root`, which need not exist yet.
    pub fn local(root: impl Into<PathBuf>) -> Self {
        Self::at(Root::Local(root.into()))
    }

    /// A fresh, empty memory. It lives as long as a clone or child of it.
    pub fn memory() -> Self {
        Self::at(Root::Memory(Files::default()))
    }

    /// What lies below `prefix` in an object store.
    #[cfg(feature = "object-store")]
    pub fn object(store: Arc<dyn object_store::ObjectStore>, prefix: &str) -> Self {
        let base = store.to_string();
        Self::at(Root::Object(Objects { store, base })).child(prefix.trim_start_matches('/'))
    }

    const fn at(root: Root) -> Self {
        Self { root, prefix: String::new(), counts: None }
    }

    /// `path` in full, for errors and people.
    pub fn location(&self, path: &str) -> String {
        let path = join(&self.prefix, path);
        match &self.root {
            Root::Local(root) => local::join(root, &path).display().to_string(),
            Root::Memory(_) => format!("memory://{path}"),
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.location(&path),
        }
    }

    /// The root `relative` below this one.
    #[must_use]
    pub fn child(&self, relative: &str) -> Self {
        Self { prefix: join(&self.prefix, relative.trim_end_matches('/')), ..self.clone() }
    }

    /// The same root, with a count of what is read through it from now on.
    pub fn counted(&self) -> (Self, Counts) {
        let counts = Counts::default();
        (Self { counts: Some(counts.clone()), ..self.clone() }, counts)
    }

    /// Whether the store itself lists names in lexicographic order, so that the first of a long listing can
    /// be had without the rest. What [`Self::list`] returns is sorted anyway.
    pub const fn lists_in_order(&self) -> bool {
        !matches!(self.root, Root::Local(_))
    }

    /// Opens the file at `path` for reading. A known `size` saves a request to an object store; it is not
    /// looked at where asking is free.
    pub async fn open_file(&self, path: &str, size: Option<u64>) -> Result<Arc<dyn ReadAt>, IoError> {
        let full = self.full(path)?;
        #[cfg(not(feature = "object-store"))]
        let _ = size;
        let source: Arc<dyn ReadAt> = match &self.root {
            Root::Local(root) => Arc::new(LocalFile::open(local::join(root, &full)).await?),
            Root::Memory(files) => {
                let bytes = files.get(&full).ok_or_else(|| self.missing(path))?;
                Arc::new(MemoryFile::new(self.location(path), bytes))
            }
            #[cfg(feature = "object-store")]
            Root::Object(objects) => {
                let store = Arc::clone(&objects.store);
                let (key, name) = (objects.key(&full)?, self.location(path));
                Arc::new(ObjectFile::open_named(store, key, name, size).await?)
            }
        };
        Ok(match &self.counts {
            Some(counts) => Arc::new(Counting::with(source, counts.clone())),
            None => source,
        })
    }

    /// All bytes of the file at `path`.
    pub async fn read_all(&self, path: &str) -> Result<Bytes, IoError> {
        let full = self.full(path)?;
        let bytes = match &self.root {
            Root::Local(root) => local::read_all(local::join(root, &full)).await?,
            Root::Memory(files) => files.get(&full).ok_or_else(|| self.missing(path))?,
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.read_all(&full).await?,
        };
        if let Some(counts) = &self.counts {
            counts.record_file(bytes.len() as u64);
        }
        Ok(bytes)
    }

    /// Begins a file at `path`. It appears there, whole, when the writer is finished, and replaces what was
    /// there. Directories are made as needed.
    pub async fn create(&self, path: &str, alignment: Alignment) -> Result<AlignedWriter, IoError> {
        let full = self.full(path)?;
        let sink = match &self.root {
            Root::Local(root) => Sink::local(local::join(root, &full)).await?,
            Root::Memory(files) => Sink::memory(files.clone(), full),
            #[cfg(feature = "object-store")]
            Root::Object(objects) => {
                Sink::object(Arc::clone(&objects.store), objects.key(&full)?, self.location(path))
            }
        };
        Ok(AlignedWriter::new(self.location(path), alignment, sink))
    }

    /// Writes a file that must not exist. Of many writers exactly one wins, the others get
    /// [`IoError::AlreadyExists`]; nobody ever sees a part of it.
    pub async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<(), IoError> {
        let full = self.full(path)?;
        match &self.root {
            Root::Local(root) => local::put(local::join(root, &full), bytes, Publish::IfAbsent).await,
            Root::Memory(files) => match files.insert_if_absent(full, bytes) {
                true => Ok(()),
                false => Err(IoError::AlreadyExists { path: self.location(path) }),
            },
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.put(&full, bytes, object_store::PutMode::Create).await,
        }
    }

    /// Writes a file, or replaces it, in one step.
    pub async fn put(&self, path: &str, bytes: Bytes) -> Result<(), IoError> {
        let full = self.full(path)?;
        match &self.root {
            Root::Local(root) => local::put(local::join(root, &full), bytes, Publish::Replace).await,
            Root::Memory(files) => {
                files.insert(full, bytes);
                Ok(())
            }
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.put(&full, bytes, object_store::PutMode::Overwrite).await,
        }
    }

    /// What lies directly below `dir`, by name. A directory that does not exist is empty.
    pub async fn list(&self, dir: &str) -> Result<Vec<Listed>, IoError> {
        let full = self.full(dir)?;
        let mut listed = match &self.root {
            Root::Local(root) => local::list(local::join(root, &full)).await?,
            Root::Memory(files) => files.list(&full),
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.list(&full).await?,
        };
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    /// Removes the file at `path`. To remove what is not there is no error.
    pub async fn delete(&self, path: &str) -> Result<(), IoError> {
        let full = self.full(path)?;
        match &self.root {
            Root::Local(root) => local::delete(local::join(root, &full)).await,
            Root::Memory(files) => {
                files.remove(&full);
                Ok(())
            }
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.delete(&full).await,
        }
    }

    /// `path` below the root proper. An error if it could lead out of it.
    fn full(&self, path: &str) -> Result<String> {
        let full = join(&self.prefix, path.trim_end_matches('/'));
        match stray_part(&full) {
            None => Ok(full),
            Some(reason) => Err(IoError::InvalidUrl { url: full, reason: reason.into() }),
        }
    }

    fn missing(&self, path: &str) -> IoError {
        IoError::NotFound { path: self.location(path) }
    }
}

/// `path` below `prefix`; either may be empty.
fn join(prefix: &str, path: &str) -> String {
    match (prefix, path) {
        ("", path) => path.into(),
        (prefix, "") => prefix.into(),
        (prefix, path) => format!("{prefix}/{path}"),
    }
}

/// What makes `path` lead out of a root, if anything. Such paths may come from a manifest that somebody
/// else wrote.
fn stray_part(path: &str) -> Option<&'static str> {
    // Backslashes and drive letters have a meaning on Windows only.
    let parts = path.split(|c| c == '/' || (cfg!(windows) && (c == '\\' || c == ':')));
    parts.into_iter().find_map(|part| match part {
        ".." | "." => Some("it has a part that is a dot or two"),
        "" if !path.is_empty() => Some("it has an empty part"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_are_refused() {
        let store = Store::local("/data");
        for path in ["..", "a/../b", "/etc/passwd", "a//b", "./a"] {
            assert!(store.full(path).is_err(), "{path}");
            assert!(store.child(path).full("x").is_err(), "{path}");
        }
        assert_eq!(store.child("a/").full("b/c/").unwrap(), "a/b/c");
        assert_eq!(store.full("").unwrap(), "");
    }
}
