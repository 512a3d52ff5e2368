//! Computations off the threads that drive I/O.

use crate::{FileError, Result};

/// Below so many bytes a computation is shorter than the way to another thread.
pub(crate) const INLINE_BYTES: u64 = 64 * 1024;

/// Runs `compute` on the blocking pool. `path` names the file in errors.
pub(crate) async fn compute<T: Send + 'static>(
    path: &str,
    compute: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(compute).await {
        Ok(result) => result,
        Err(error) => Err(cut_off(path, &error)),
    }
}

pub(crate) fn cut_off(path: &str, error: &tokio::task::JoinError) -> FileError {
    FileError::Cancelled { path: path.into(), reason: error.to_string() }
}
