use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::error::Result;
use crate::read::hop;
use crate::{IoError, Listed};

use super::hit;

/// How a file that was written under a temporary name gets its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publish {
    /// Whatever has that name is replaced.
    Replace,
    /// An error if something has that name.
    IfAbsent,
}

/// Whether a write waits for the disk, and whom tests have told of it.
#[derive(Debug, Clone)]
pub(crate) struct Durability {
    pub(crate) wanted: bool,
    #[cfg(feature = "failpoints")]
    pub(crate) failpoints: Option<crate::FailPoints>,
}

impl Durability {
    /// Makes the bytes of `file` durable, which is to be `target`.
    fn sync_file(&self, file: &File, target: &Path) -> Result<()> {
        if !self.wanted {
            return Ok(());
        }
        let name = target.display().to_string();
        hit!(self, SyncFile, false, &name);
        file.sync_all().map_err(|error| IoError::from_io(&name, error))?;
        hit!(self, SyncFile, true, &name);
        Ok(())
    }

    /// Makes the name of `target` durable.
    fn sync_name(&self, target: &Path) -> Result<()> {
        if !self.wanted {
            return Ok(());
        }
        let path = target.display().to_string();
        hit!(self, SyncName, false, &path);
        // Asking again would tell nothing: what could not be written is forgotten after it was told once.
        sync_directory(target).map_err(|source| IoError::NotDurable { path: path.clone(), source })?;
        hit!(self, SyncName, true, &path);
        Ok(())
    }
}

/// A file beside its target, under a name that no reader takes for a file of the table. It is removed when
/// it is dropped before it was published.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    target: PathBuf,
    published: bool,
}

impl Temporary {
    /// A new file beside `target`, whose directory is made if it is missing. Blocks.
    pub(crate) fn create(target: PathBuf, durable: bool) -> Result<(Self, File)> {
        let name = target.display().to_string();
        let refused = |error| IoError::from_io(&name, error);
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        make_directory(&directory, durable).map_err(refused)?;
        let path = directory.join(OsString::from(format!(".tmp-{}", uuid::Uuid::new_v4().simple())));
        let file = File::options().write(true).create_new(true).open(&path).map_err(refused)?;
        Ok((Self { path, target, published: false }, file))
    }

    /// Gives the file its name, and makes bytes and name durable if that is wanted. Blocks.
    pub(crate) fn publish(mut self, file: &File, how: Publish, durability: &Durability) -> Result<()> {
        let name = self.target.display().to_string();
        let refused = |error| IoError::from_io(&name, error);
        durability.sync_file(file, &self.target)?;
        match how {
            Publish::Replace => fs::rename(&self.path, &self.target).map_err(refused)?,
            Publish::IfAbsent => rename_if_absent(&self.path, &self.target).map_err(refused)?,
        }
        self.published = true;
        durability.sync_name(&self.target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.published {
            // There is nobody to tell; the name keeps readers away.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Renames in one step that fails if `to` exists.
fn rename_if_absent(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            // The kernel or this file system does not know the flag; a link does the same.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    fs::hard_link(from, to)?;
    // Both names are the same file now; a leftover of the first harms nobody.
    let _ = fs::remove_file(from);
    Ok(())
}

/// Makes `directory` and those above it that are missing, and their names durable if that is wanted.
fn make_directory(directory: &Path, durable: bool) -> io::Result<()> {
    let missing = directory.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists());
    let missing = missing.map(Path::to_path_buf).collect::<Vec<_>>();
    fs::create_dir_all(directory)?;
    match durable {
        true => missing.iter().rev().try_for_each(|made| sync_directory(made)),
        false => Ok(()),
    }
}

/// Makes the name of `file` durable.
fn sync_directory(file: &Path) -> io::Result<()> {
    if cfg!(windows) {
        // Directories cannot be opened there.
        return Ok(());
    }
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match File::open(directory)?.sync_all() {
        // Some network file systems do not sync directories.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}

/// `path` below `root`; the empty path is `root` itself.
pub(super) fn join(root: &Path, path: &str) -> PathBuf {
    if path.is_empty() { root.to_path_buf() } else { root.join(path) }
}

pub(super) async fn read_all(path: PathBuf) -> Result<Bytes> {
    let name = path.display().to_string();
    hop(&name.clone(), move || match fs::read(&path) {
        Ok(bytes) => Ok(bytes.into()),
        Err(error) => Err(IoError::from_io(name, error)),
    })
    .await
}

pub(super) async fn put(target: PathBuf, bytes: Bytes, how: Publish, durability: Durability) -> Result<()> {
    let name = target.display().to_string();
    hop(&name.clone(), move || {
        let (temporary, mut file) = Temporary::create(target, durability.wanted)?;
        file.write_all(&bytes).map_err(|error| IoError::from_io(name, error))?;
        temporary.publish(&file, how, &durability)
    })
    .await
}

pub(super) async fn list(dir: PathBuf) -> Result<Vec<Listed>> {
    let name = dir.display().to_string();
    hop(&name.clone(), move || match entries(&dir) {
        Ok(listed) => Ok(listed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        Err(error) => Err(IoError::from_io(name, error)),
    })
    .await
}

fn entries(dir: &Path) -> io::Result<Vec<Listed>> {
    let mut listed = vec![];
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        // A link stands for what it points at. A file that went away meanwhile is not listed.
        let Ok(metadata) = fs::metadata(entry.path()) else { continue };
        let is_dir = metadata.is_dir();
        let name = entry.file_name().to_string_lossy().into_owned();
        listed.push(match is_dir {
            true => Listed { name, size: 0, is_dir, modified: None },
            false => Listed { name, size: metadata.len(), is_dir, modified: metadata.modified().ok() },
        });
    }
    Ok(listed)
}

pub(super) async fn delete(path: PathBuf) -> Result<()> {
    let name = path.display().to_string();
    hop(&name.clone(), move || match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(IoError::from_io(name, error)),
        _ => Ok(()),
    })
    .await
}

pub(super) async fn delete_all(dir: PathBuf) -> Result<()> {
    let name = dir.display().to_string();
    hop(&name.clone(), move || match fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(IoError::from_io(name, error)),
        _ => Ok(()),
    })
    .await
}
