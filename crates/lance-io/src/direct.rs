//! Local files read past the page cache (Linux, `O_DIRECT`).

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, try_join_all};
use lance_footer::{Answer, Ask};

use crate::coalesce::{LOCAL_GAP, MAX_RUN, Run, coalesce};
use crate::error::Result;
use crate::gather::{addressable, answers, extents};
use crate::opened::Opened;
use crate::read::{check_inside, hop};
use crate::{IoError, ReadAt};

/// What offsets, lengths and memory of direct reads are multiples of. Smaller blocks exist, but every
/// device and file system takes these.
const BLOCK: u64 = 4096;
/// Reads at a time. Without the page cache nobody reads ahead, so that one at a time leaves a disk idle.
const LANES: usize = 8;

/// A file of the local file system that is read with direct I/O: the bytes go from the device to the
/// reader and leave the page cache alone.
///
/// It pays for files whose regions start at multiples of 4096, as [`Alignment::Bytes4096`] writes them, when
/// they are read once or are larger than the memory. Extents that are not aligned are widened to whole
/// blocks.
///
/// [`Alignment::Bytes4096`]: crate::Alignment::Bytes4096
#[derive(Debug, Clone)]
pub struct DirectFile {
    inner: Arc<Opened>,
}

impl DirectFile {
    /// Opens the file at `path`. [`IoError::Unsupported`] if the file system refuses direct I/O, and on
    /// systems other than Linux.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let inner = Arc::new(Opened::open(path.as_ref(), None, open_direct).await?);
        if inner.size > 0 {
            // Some file systems open such files and refuse to read them.
            let probed = Arc::clone(&inner);
            hop(&inner.path, move || probed.read_blocks(0, 1)).await?;
        }
        Ok(Self { inner })
    }

    async fn answer(&self, asks: Vec<Ask>) -> Result<Vec<Answer>> {
        let Opened { path, size, .. } = self.inner.as_ref();
        check_inside(&asks, *size, path)?;
        let runs = coalesce(&extents(&asks), LOCAL_GAP, MAX_RUN);
        let lanes = runs.chunks(runs.len().div_ceil(LANES).max(1)).map(|lane| {
            let inner = Arc::clone(&self.inner);
            let lane = lane.to_vec();
            hop(path, move || lane.iter().map(|run| inner.read_run(run)).collect::<Result<Vec<_>>>())
        });
        let owners: Vec<Bytes> = try_join_all(lanes).await?.into_iter().flatten().collect();
        answers(&asks, &runs, &owners, path)
    }
}

impl ReadAt for DirectFile {
    fn size(&self) -> u64 {
        self.inner.size
    }

    fn path(&self) -> &str {
        &self.inner.path
    }

    fn read(&self, asks: Vec<Ask>) -> BoxFuture<'_, Result<Vec<Answer>, IoError>> {
        self.answer(asks).boxed()
    }
}

impl Opened {
    fn read_run(&self, run: &Run) -> Result<Bytes> {
        let first = run.extent.offset() / BLOCK;
        let blocks = run.extent.end().div_ceil(BLOCK) - first;
        let bytes = self.read_blocks(first, blocks)?;
        let start = addressable(run.extent.offset() - first * BLOCK, &self.path)?;
        let end = start + addressable(run.extent.len(), &self.path)?;
        if end > bytes.len() {
            let source = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
            return Err(IoError::from_io(&self.path, source));
        }
        Ok(bytes.slice(start..end))
    }

    /// Reads `count` blocks from block `first` on; the last one may end at the end of the file.
    fn read_blocks(&self, first: u64, count: u64) -> Result<Bytes> {
        let block = addressable(BLOCK, &self.path)?;
        let len = addressable(count.saturating_mul(BLOCK), &self.path)?;
        let mut memory = vec![0_u8; len + block - 1];
        let start = memory.as_ptr().align_offset(block).min(block - 1);
        let (file, mut read) = (self.file()?, 0);
        while let Some(rest) = memory.get_mut(start + read..start + len).filter(|rest| !rest.is_empty()) {
            match read_at(&file, rest, first * BLOCK + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(refused(&self.path, error)),
            }
            if read % block != 0 {
                // Only the end of the file is not at the end of a block.
                break;
            }
        }
        Ok(Bytes::from(memory).slice(start..start + read))
    }
}

/// An invalid argument is how a file system says that it does not do direct I/O.
fn refused(path: &str, error: std::io::Error) -> IoError {
    match error.kind() {
        std::io::ErrorKind::InvalidInput | std::io::ErrorKind::Unsupported => IoError::Unsupported {
            path: path.into(),
            what: format!("direct I/O (O_DIRECT), which its file system refuses: {error}"),
        },
        _ => IoError::from_io(path, error),
    }
}

#[cfg(target_os = "linux")]
fn open_direct(path: &Path, name: &str) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(direct).open(path);
    file.map_err(|error| refused(name, error))
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_: &Path, name: &str) -> Result<File> {
    Err(IoError::Unsupported { path: name.into(), what: "direct I/O (O_DIRECT) on this system".into() })
}

#[cfg(unix)]
fn read_at(file: &File, memory: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, memory, offset)
}

#[cfg(windows)]
fn read_at(file: &File, memory: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, memory, offset)
}
