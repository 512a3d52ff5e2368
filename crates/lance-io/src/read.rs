use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use lance_footer::{Answer, Ask};

use crate::IoError;
use crate::coalesce::LOCAL_GAP;
use crate::error::Result;

/// A file of known size that is read at positions.
///
/// Files do not change: a Lance file is written once.
pub trait ReadAt: Send + Sync + Debug {
    /// Bytes of the file.
    fn size(&self) -> u64;

    /// Its name, for errors.
    fn path(&self) -> &str;

    /// Gap up to which it reads two extents together.
    fn gap(&self) -> u64 {
        LOCAL_GAP
    }

    /// Reads a whole round: one answer an ask, in order. An extent outside of the file is an error, and then
    /// nothing is read.
    fn read(&self, asks: Vec<Ask>) -> BoxFuture<'_, Result<Vec<Answer>, IoError>>;

    /// The same as a function that blocks, if that is how this source reads. It lets
    /// [`drive_many`](crate::drive_many) read from many such files with one hop to the blocking pool.
    fn blocking(&self) -> Option<Arc<dyn ReadBlocking>> {
        None
    }
}

/// Reads that block the thread.
pub trait ReadBlocking: Send + Sync {
    /// Reads a whole round, as [`ReadAt::read`] does.
    fn read_blocking(&self, asks: &[Ask]) -> Result<Vec<Answer>, IoError>;
}

/// An error if an extent of `asks` ends beyond the `size` bytes of `path`.
pub(crate) fn check_inside(asks: &[Ask], size: u64, path: &str) -> Result<()> {
    let mut extents = asks.iter().flat_map(|ask| &ask.extents);
    match extents.find(|extent| extent.end() > size) {
        Some(extent) => Err(IoError::outside(path, *extent, size)),
        None => Ok(()),
    }
}

/// Runs `work`, which blocks, on the blocking pool; without a tokio runtime, right here.
pub(crate) async fn hop<T, F>(path: &str, work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T> + Send + 'static,
{
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => match runtime.spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => Err(IoError::Io { path: path.into(), source: std::io::Error::other(error) }),
        },
        Err(_) => work(),
    }
}
