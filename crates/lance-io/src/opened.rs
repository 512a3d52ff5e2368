//! An open local file, and how one is opened.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::IoError;
use crate::error::Result;
use crate::open_files::OpenFiles;
use crate::read::hop;

/// A local file that was opened, for reads through the page cache or past it.
#[derive(Debug)]
pub(crate) struct Opened {
    handle: Handle,
    pub(crate) path: String,
    pub(crate) size: u64,
}

#[derive(Debug)]
enum Handle {
    /// Open for as long as this is there.
    Own(Arc<File>),
    /// One of the files that are closed when there are too many, and then opened again.
    Among { files: OpenFiles, number: u64, at: PathBuf },
}

impl Opened {
    /// Opens `path` by `open`, which also gets its name for errors, on the blocking pool. Where there is a bound of open
    /// `files`, it counts as one of these.
    pub(crate) async fn open(
        path: &Path,
        files: Option<OpenFiles>,
        open: impl FnOnce(&Path, &str) -> Result<File> + Send + 'static,
    ) -> Result<Self> {
        let path = path.to_path_buf();
        let name = path.display().to_string();
        hop(&name.clone(), move || {
            let file = Arc::new(open(&path, &name)?);
            let size = size(&file, &name)?;
            let handle = match files {
                None => Handle::Own(file),
                Some(files) => {
                    let number = files.number();
                    files.keep(number, file);
                    Handle::Among { files, number, at: path }
                }
            };
            Ok(Self { handle, path: name, size })
        })
        .await
    }

    /// The file, which stays open for as long as it is used. Blocks.
    pub(crate) fn file(&self) -> Result<Arc<File>> {
        let (files, number, at) = match &self.handle {
            Handle::Own(file) => return Ok(Arc::clone(file)),
            Handle::Among { files, number, at } => (files, *number, at),
        };
        if let Some(file) = files.find(number) {
            return Ok(file);
        }
        let refused = |error| IoError::from_io(&self.path, error);
        let file = Arc::new(File::open(at).map_err(refused)?);
        let size = size(&file, &self.path)?;
        if size != self.size {
            let reason = format!("it had {} bytes when it was opened, and has {size} now", self.size);
            return Err(refused(std::io::Error::other(reason)));
        }
        files.keep(number, Arc::clone(&file));
        Ok(file)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Handle::Among { files, number, .. } = &self.handle {
            files.close(*number);
        }
    }
}

/// The size of `file`, which is named `name` and must not be a directory.
fn size(file: &File, name: &str) -> Result<u64> {
    let metadata = file.metadata().map_err(|error| IoError::from_io(name, error))?;
    match metadata.is_dir() {
        false => Ok(metadata.len()),
        true => {
            let source = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            Err(IoError::Io { path: name.into(), source })
        }
    }
}
