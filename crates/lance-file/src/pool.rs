//! Computations off the threads that drive I/O.

use lance_encoding::DecodeBudget;
use lance_footer::FormatError;
use lance_io::IoError;
use tokio::task::{JoinError, spawn_blocking};

use crate::{FileError, Result};

/// Below so many bytes a computation is shorter than the way to another thread.
pub(crate) const INLINE_BYTES: u64 = 64 * 1024;

/// Runs `compute` on the blocking pool. `path` names the file in errors.
pub(crate) async fn compute<T: Send + 'static>(
    path: &str,
    compute: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match spawn_blocking(compute).await {
        Ok(result) => result,
        Err(error) => Err(cut_off(path, &error)),
    }
}

/// What `decode` makes of about so many `bytes` in a time that is shorter than the way to another thread; none if it takes
/// longer.
///
/// Few bytes may stand for many, so of `budget` it gets no more than goes with that, and has to start over elsewhere if
/// it comes over it.
pub(crate) fn decode_here<T>(
    bytes: u64,
    budget: DecodeBudget,
    decode: impl FnOnce(DecodeBudget) -> Result<T>,
) -> Option<Result<T>> {
    if bytes > INLINE_BYTES {
        return None;
    }
    let per_byte = budget.per_byte.min(DecodeBudget::default().per_byte);
    let small = DecodeBudget { per_byte, constant: budget.constant.min(INLINE_BYTES) };
    match decode(small) {
        Err(error) if error.is_over_budget() => None,
        result => Some(result),
    }
}

/// Runs `check`, which looks at `bytes` bytes as they were read: an error is one of reading the file.
pub(crate) async fn compute_checks<T: Send + 'static>(
    path: &str,
    bytes: u64,
    check: impl FnOnce() -> Result<T, FormatError> + Send + 'static,
) -> Result<T, IoError> {
    let checked = match bytes <= INLINE_BYTES {
        true => check(),
        false => match spawn_blocking(check).await {
            Ok(checked) => checked,
            Err(error) => {
                return Err(IoError::Io { path: path.into(), source: std::io::Error::other(error) });
            }
        },
    };
    checked.map_err(|source| IoError::Format { path: path.into(), source })
}

pub(crate) fn cut_off(path: &str, error: &JoinError) -> FileError {
    FileError::Cancelled { path: path.into(), reason: error.to_string() }
}
