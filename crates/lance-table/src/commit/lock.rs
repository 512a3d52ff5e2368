use std::fs::File;
use std::path::{Path, PathBuf};

use lance_io::IoError;

/// A locked file. The lock ends with the value, and with the process.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "what is locked is held")] File);

impl Lock {
    /// Waits until no other process, and nobody else in this one, has the lock on the file at `path`. It is made if it is
    /// missing.
    pub(super) async fn acquire(path: &Path) -> Result<Self, IoError> {
        let (name, path) = (path.display().to_string(), path.to_path_buf());
        let refused = |source| IoError::Io { path: name.clone(), source };
        let locked = match tokio::runtime::Handle::try_current() {
            Ok(runtime) => runtime
                .spawn_blocking(move || lock(path))
                .await
                .unwrap_or_else(|error| Err(std::io::Error::other(error))),
            Err(_) => lock(path),
        };
        Ok(Self(locked.map_err(refused)?))
    }
}

fn lock(path: PathBuf) -> std::io::Result<File> {
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    file.lock()?;
    Ok(file)
}
