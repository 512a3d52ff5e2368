//! An open local file, and how one is opened.

use std::fs::File;
use std::path::Path;

use crate::IoError;
use crate::error::Result;
use crate::read::hop;

/// A local file that was opened, for reads through the page cache or past it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) path: String,
    pub(crate) size: u64,
}

impl Opened {
    /// Opens `path` by `open`, which also gets its name for errors, on the blocking pool.
    pub(crate) async fn open(
        path: &Path,
        open: impl FnOnce(&Path, &str) -> Result<File> + Send + 'static,
    ) -> Result<Self> {
        let path = path.to_path_buf();
        let name = path.display().to_string();
        hop(&name.clone(), move || {
            let file = open(&path, &name)?;
            let metadata = file.metadata().map_err(|error| IoError::from_io(&name, error))?;
            if metadata.is_dir() {
                let source = std::io::Error::from(std::io::ErrorKind::IsADirectory);
                return Err(IoError::Io { path: name, source });
            }
            Ok(Self { file, path: name, size: metadata.len() })
        })
        .await
    }
}
