//! Roots below which files are opened, listed, created and published.

#[cfg(feature = "failpoints")]
mod failpoints;
mod local;
mod memory;
#[cfg(feature = "object-store")]
mod object;
mod url;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;

#[cfg(feature = "object-store")]
use crate::ObjectFile;
use crate::error::Result;
use crate::open_files::OpenFiles;
use crate::writer::{AlignedWriter, Sink};
use crate::{Alignment, Counting, Counts, IoError, LocalFile, MemoryFile, ReadAt};
#[cfg(feature = "failpoints")]
pub use failpoints::{FailPoints, Moment, Write};
pub(crate) use local::{Durability, Publish, Temporary};
pub(crate) use memory::Files;
#[cfg(feature = "object-store")]
pub(crate) use object::Objects;

/// Tells the fail points of a store or writer where it is, if there are such.
macro_rules! hit {
    ($of:expr, $write:ident, $done:expr, $path:expr) => {
        #[cfg(feature = "failpoints")]
        if let Some(failpoints) = &$of.failpoints {
            failpoints.hit($crate::Write::$write, $done, $path)?;
        }
    };
}
pub(crate) use hit;

/// A root: a directory of the local file system, of a memory, or of an object store.
///
/// Paths are relative to it, with `/` between their parts; the empty path is the root itself, which may be a
/// file. A path that leads out of the root is refused.
#[derive(Debug, Clone)]
pub struct Store {
    root: Root,
    /// What [`Store::child`] added. Checked when it is used.
    prefix: String,
    /// Where requests are counted, if they are.
    counts: Option<Counts>,
    /// Whether a local write waits for the disk.
    durable: bool,
    /// The local files that are open, if there is a bound for them.
    open_files: Option<OpenFiles>,
    #[cfg(feature = "failpoints")]
    failpoints: Option<FailPoints>,
}

#[derive(Debug, Clone)]
enum Root {
    Local(PathBuf),
    Memory(Files),
    #[cfg(feature = "object-store")]
    Object(Objects),
}

/// How many names object stores list in one request.
pub(crate) const PAGE: usize = 1000;

/// What [`Store::list`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The last part of its path.
    pub name: String,
    /// Bytes of the file; 0 for a directory.
    pub size: u64,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// When the file was written last, by the clock of the store; none for a directory, and where it is not known.
    pub modified: Option<SystemTime>,
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
        Self::at(Root::Object(Objects::new(store, base))).child(prefix.trim_start_matches('/'))
    }

    const fn at(root: Root) -> Self {
        Self {
            root,
            prefix: String::new(),
            counts: None,
            durable: true,
            open_files: None,
            #[cfg(feature = "failpoints")]
            failpoints: None,
        }
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

    /// The same root, with a count of what is asked of it from now on.
    pub fn counted(&self) -> (Self, Counts) {
        let counts = Counts::default();
        (Self { counts: Some(counts.clone()), ..self.clone() }, counts)
    }

    /// Says whether local files are on the disk when a write returns, with the directory that has their name; they are by
    /// default. Without it writes are faster, and a power failure can lose what was acknowledged, or leave files empty.
    /// Object stores do as they do.
    #[must_use]
    pub const fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// The same root, of which at most `limit` local files are open for reading at the same time, besides those that are being
    /// read: the one that was not read for the longest time is closed, and opened again when it is read. Clones and children
    /// share the bound; a root that has one keeps it.
    #[must_use]
    pub fn with_open_files(&self, limit: NonZeroUsize) -> Self {
        let open_files = self.open_files.clone().unwrap_or_else(|| OpenFiles::new(limit));
        Self { open_files: Some(open_files), ..self.clone() }
    }

    /// The same root, with the bound on open files that `other` has, and shared with it.
    #[must_use]
    pub fn with_open_files_of(&self, other: &Self) -> Self {
        Self { open_files: other.open_files.clone(), ..self.clone() }
    }

    /// The same root, with something that happens at each step of what is written through it from now on.
    #[cfg(feature = "failpoints")]
    #[must_use]
    pub fn with_failpoints(&self, failpoints: FailPoints) -> Self {
        Self { failpoints: Some(failpoints), ..self.clone() }
    }

    /// Whether the store itself lists names in lexicographic order, so that the first of a long listing can
    /// be had without the rest. What [`Self::list`] returns is sorted anyway.
    pub const fn lists_in_order(&self) -> bool {
        !matches!(self.root, Root::Local(_))
    }

    /// The root of which this one is the part at `relative`: what [`Self::child`] with it leads back from. None if this
    /// root does not end that way.
    pub fn above(&self, relative: &str) -> Option<Self> {
        let without = |path: &str| match path.strip_suffix(relative)? {
            "" => Some(String::new()),
            rest => Some(rest.strip_suffix('/')?.to_string()),
        };
        if let Some(prefix) = without(&self.prefix) {
            return Some(Self { prefix, ..self.clone() });
        }
        match &self.root {
            Root::Local(root) if self.prefix.is_empty() => {
                let root = std::path::absolute(root).ok().filter(|root| root.ends_with(relative))?;
                let parts = Path::new(relative).components().count();
                let above = root.ancestors().nth(parts)?.to_path_buf();
                Some(Self { root: Root::Local(above), ..self.clone() })
            }
            _ => None,
        }
    }

    /// The place that `location` names if it is in the same memory or object store, which is then asked in the same
    /// way: with the same options, and counted if this root is.
    pub fn within(&self, location: &str) -> Option<Self> {
        let base = match &self.root {
            Root::Local(_) => return None,
            Root::Memory(_) => "memory:/",
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.base.as_str(),
        };
        let prefix = match location.strip_prefix(base)? {
            "" => "",
            rest => rest.strip_prefix('/')?.trim_end_matches('/'),
        };
        Some(Self { prefix: prefix.into(), ..self.clone() })
    }

    /// The root by a path or URL that does not depend on the current directory.
    pub fn absolute(&self) -> Result<String, IoError> {
        let location = self.location("");
        match &self.root {
            Root::Local(_) => match std::path::absolute(&location) {
                Ok(path) => Ok(path.display().to_string()),
                Err(error) => Err(IoError::from_io(location, error)),
            },
            _ => Ok(location),
        }
    }

    /// Opens the file at `path` for reading. A known `size` saves a request to an object store; it is not
    /// looked at where asking is free.
    pub async fn open_file(&self, path: &str, size: Option<u64>) -> Result<Arc<dyn ReadAt>, IoError> {
        let full = self.full(path)?;
        if size.is_none() {
            self.count(Counts::record_head);
        }
        let source: Arc<dyn ReadAt> = match &self.root {
            Root::Local(root) => {
                let files = self.open_files.clone();
                Arc::new(LocalFile::open_among(&local::join(root, &full), files).await?)
            }
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
        let read = match &self.root {
            Root::Local(root) => local::read_all(local::join(root, &full)).await,
            Root::Memory(files) => files.get(&full).ok_or_else(|| self.missing(path)),
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.read_all(&full).await,
        };
        // To find that it is not there takes a request, too.
        self.count(|counts| counts.record_file(read.as_ref().map_or(0, |bytes| bytes.len() as u64)));
        read
    }

    /// Begins a file at `path`. It appears there, whole, when the writer is finished, and replaces what was
    /// there. Directories are made as needed.
    pub async fn create(&self, path: &str, alignment: Alignment) -> Result<AlignedWriter, IoError> {
        let full = self.full(path)?;
        hit!(self, Create, false, path);
        self.count(Counts::record_write);
        let sink = match &self.root {
            Root::Local(root) => Sink::local(local::join(root, &full), self.durability()).await?,
            Root::Memory(files) => Sink::memory(files.clone(), full),
            #[cfg(feature = "object-store")]
            Root::Object(objects) => {
                Sink::object(Arc::clone(&objects.store), objects.key(&full)?, self.location(path))
            }
        };
        hit!(self, Create, true, path);
        let writer = AlignedWriter::new(self.location(path), alignment, sink);
        let writer = writer.with_counts(self.counts.clone());
        #[cfg(feature = "failpoints")]
        let writer = writer.with_failpoints(self.failpoints.clone());
        Ok(writer)
    }

    /// Writes a file that must not exist. Of many writers exactly one wins, the others get
    /// [`IoError::AlreadyExists`]; nobody ever sees a part of it.
    pub async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<(), IoError> {
        let full = self.full(path)?;
        hit!(self, PutIfAbsent, false, path);
        self.count_file(&bytes);
        match &self.root {
            Root::Local(root) => {
                local::put(local::join(root, &full), bytes, Publish::IfAbsent, self.durability()).await?;
            }
            Root::Memory(files) => {
                if !files.insert_if_absent(full, bytes) {
                    return Err(IoError::AlreadyExists { path: self.location(path) });
                }
            }
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.put(&full, bytes, object_store::PutMode::Create).await?,
        }
        hit!(self, PutIfAbsent, true, path);
        Ok(())
    }

    /// Whether [`Self::put_if_absent`] can be relied on: some object stores ignore the condition and write over what is there.
    /// Found out once for a store and what was made from it, with a temporary file below `dir`.
    pub async fn honours_conditions(&self, dir: &str) -> Result<bool, IoError> {
        match &self.root {
            Root::Local(_) | Root::Memory(_) => Ok(true),
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.honours_conditions(&self.full(dir)?).await,
        }
    }

    /// Writes a file, or replaces it, in one step.
    pub async fn put(&self, path: &str, bytes: Bytes) -> Result<(), IoError> {
        let full = self.full(path)?;
        hit!(self, Put, false, path);
        self.count_file(&bytes);
        match &self.root {
            Root::Local(root) => {
                local::put(local::join(root, &full), bytes, Publish::Replace, self.durability()).await?;
            }
            Root::Memory(files) => files.insert(full, bytes),
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.put(&full, bytes, object_store::PutMode::Overwrite).await?,
        }
        hit!(self, Put, true, path);
        Ok(())
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
        self.count(|counts| counts.record_listing(listed.len()));
        Ok(listed)
    }

    /// The first files directly below `dir`, as many as one request lists, and whether that is all of them. None if they
    /// do not come in order, or cannot be had without the rest; then [`Self::list`] has them.
    pub async fn first(&self, dir: &str) -> Result<Option<(Vec<Listed>, bool)>, IoError> {
        let full = self.full(dir)?;
        let (listed, all) = match &self.root {
            Root::Local(_) => return Ok(None),
            Root::Memory(files) => {
                let mut listed = files.list(&full);
                listed.retain(|listed| !listed.is_dir);
                let all = listed.len() < PAGE;
                listed.truncate(PAGE);
                (listed, all)
            }
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.first(&full, PAGE).await?,
        };
        self.count(|counts| counts.record_listing(listed.len()));
        let in_order = listed.is_sorted_by(|a, b| a.name < b.name);
        Ok((all || in_order).then_some((listed, all)))
    }

    /// Removes the file at `path`. To remove what is not there is no error.
    pub async fn delete(&self, path: &str) -> Result<(), IoError> {
        let full = self.full(path)?;
        hit!(self, Delete, false, path);
        self.count(Counts::record_delete);
        match &self.root {
            Root::Local(root) => local::delete(local::join(root, &full)).await?,
            Root::Memory(files) => files.remove(&full),
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.delete(&full).await?,
        }
        hit!(self, Delete, true, path);
        Ok(())
    }

    /// Removes the directory `dir` with all that is below it. To remove what is not there is no error.
    pub async fn delete_all(&self, dir: &str) -> Result<(), IoError> {
        let full = self.full(dir)?;
        hit!(self, Delete, false, dir);
        self.count(Counts::record_delete);
        match &self.root {
            Root::Local(root) => local::delete_all(local::join(root, &full)).await?,
            Root::Memory(files) => files.remove_all(&full),
            #[cfg(feature = "object-store")]
            Root::Object(objects) => objects.delete_all(&full).await?,
        }
        hit!(self, Delete, true, dir);
        Ok(())
    }

    fn durability(&self) -> Durability {
        Durability {
            wanted: self.durable,
            #[cfg(feature = "failpoints")]
            failpoints: self.failpoints.clone(),
        }
    }

    /// A file of these bytes is written.
    fn count_file(&self, bytes: &Bytes) {
        self.count(|counts| {
            counts.record_write();
            counts.record_written(bytes.len() as u64);
        });
    }

    fn count(&self, record: impl FnOnce(&Counts)) {
        if let Some(counts) = &self.counts {
            record(counts);
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

    #[tokio::test]
    async fn files_appear_without_waiting_for_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::local(dir.path()).durable(false);
        store.put("a/b", Bytes::from_static(b"1")).await.unwrap();
        assert!(store.put_if_absent("a/b", Bytes::from_static(b"2")).await.is_err());
        let mut writer = store.create("a/c", Alignment::Bytes64).await.unwrap();
        writer.raw(Bytes::from_static(b"3")).await.unwrap();
        writer.finish().await.unwrap();
        let names = store.list("a").await.unwrap().into_iter().map(|listed| listed.name);
        assert_eq!(names.collect::<Vec<_>>(), ["b", "c"]);
        assert!(store.honours_conditions("a").await.unwrap());
    }

    /// Each kind of write, before and after it.
    #[cfg(feature = "failpoints")]
    #[tokio::test]
    async fn fail_points_are_before_and_after_each_write() {
        use std::sync::Mutex;

        async fn write_all(store: &Store) -> Result<()> {
            let byte = Bytes::from_static(b"1");
            store.put_if_absent("a", byte.clone()).await?;
            store.put("b", byte.clone()).await?;
            let mut writer = store.create("c", Alignment::Bytes64).await?;
            writer.raw(byte).await?;
            writer.finish().await?;
            store.delete("a").await
        }

        let seen = Arc::new(Mutex::new(vec![]));
        let push = Arc::clone(&seen);
        let record = FailPoints::new(move |moment: &Moment<'_>| {
            push.lock().unwrap().push((moment.write, moment.done));
            Ok(())
        });
        write_all(&Store::memory().with_failpoints(record)).await.unwrap();
        let seen = seen.lock().unwrap().clone();
        let writes = [Write::PutIfAbsent, Write::Put, Write::Create, Write::Finish, Write::Delete];
        assert_eq!(seen, writes.map(|write| [(write, false), (write, true)]).concat());
        for (at, (write, done)) in seen.into_iter().enumerate() {
            let dir = tempfile::tempdir().unwrap();
            for store in [Store::memory(), Store::local(dir.path())] {
                let fail = FailPoints::new(move |moment: &Moment<'_>| match (moment.write, moment.done) {
                    here if here == (write, done) => Err(IoError::NotFound { path: "here".into() }),
                    _ => Ok(()),
                });
                assert!(write_all(&store.with_failpoints(fail)).await.is_err());
                let names = store.list("").await.unwrap().into_iter().map(|listed| listed.name);
                let names = names.filter(|name| !name.starts_with(".tmp")).collect::<Vec<_>>();
                let expected: &[&str] = match at {
                    0 => &[],
                    1 | 2 => &["a"],
                    3..=6 => &["a", "b"],
                    7 | 8 => &["a", "b", "c"],
                    _ => &["b", "c"],
                };
                assert_eq!(names, expected, "{write:?}, {done}");
            }
        }
    }

    #[test]
    fn roots_above_and_beside() {
        let above = |store: Store, relative| Some(store.above(relative)?.location("x"));
        assert_eq!(above(Store::local("/t/tree/a/b"), "tree/a/b").unwrap(), "/t/x");
        assert_eq!(above(Store::local("/t").child("tree/a"), "tree/a").unwrap(), "/t/x");
        assert_eq!(above(Store::local("/t").child("u/tree/a"), "tree/a").unwrap(), "/t/u/x");
        assert_eq!(above(Store::local("/tree/a"), "tree/b"), None);
        assert_eq!(above(Store::local("/t").child("xtree/a"), "tree/a"), None);
        let memory = Store::memory().child("t");
        assert_eq!(memory.within("memory://t/tree/a").unwrap().location("x"), "memory://t/tree/a/x");
        assert!(memory.within("/t").is_none() && Store::local("/t").within("/t/a").is_none());
        assert_eq!(memory.within(&Store::memory().absolute().unwrap()).unwrap().location("x"), "memory://x");
        assert_eq!(memory.absolute().unwrap(), "memory://t");
        assert!(Path::new(&Store::local("t").absolute().unwrap()).is_absolute());
    }

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
