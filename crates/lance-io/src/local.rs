//! Local files, read at positions on the blocking pool.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use bytes::BytesMut;
use futures::FutureExt;
use futures::future::BoxFuture;
use lance_footer::{Answer, Ask, Extent, Gather};

use crate::coalesce::{LOCAL_GAP, MAX_RUN, coalesce};
use crate::error::Result;
use crate::gather::{filled, hand_out, slab};
use crate::open_files::OpenFiles;
use crate::opened::Opened;
use crate::read::{check_inside, hop};
use crate::{IoError, ReadAt, ReadBlocking};

/// Packed extents up to this length are read together with their neighbours through a scratch buffer. A
/// longer one is worth a system call of its own, which puts it right where it belongs.
const TINY: u64 = 4 * 1024;
/// Longest run of tiny extents: what fits well into the cache.
const TINY_RUN: u64 = 256 * 1024;

/// A file of the local file system.
///
/// Bytes that are aligned in the file, to 64 or any smaller power of two, are aligned in memory too.
#[derive(Debug, Clone)]
pub struct LocalFile {
    inner: Arc<Opened>,
}

impl LocalFile {
    /// Opens the file at `path`.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, IoError> {
        Self::open_among(path.as_ref(), None).await
    }

    /// The same as one of some open `files`, if there is a bound for these.
    pub(crate) async fn open_among(path: &Path, files: Option<OpenFiles>) -> Result<Self> {
        let open = |path: &Path, name: &str| File::open(path).map_err(|error| IoError::from_io(name, error));
        Ok(Self { inner: Arc::new(Opened::open(path, files, open).await?) })
    }
}

impl ReadAt for LocalFile {
    fn size(&self) -> u64 {
        self.inner.size
    }

    fn path(&self) -> &str {
        &self.inner.path
    }

    fn read(&self, asks: Vec<Ask>) -> BoxFuture<'_, Result<Vec<Answer>, IoError>> {
        let inner = Arc::clone(&self.inner);
        hop(&self.inner.path, move || inner.read_blocking(&asks)).boxed()
    }

    fn blocking(&self) -> Option<Arc<dyn ReadBlocking>> {
        Some(Arc::<Opened>::clone(&self.inner))
    }
}

impl ReadBlocking for Opened {
    fn read_blocking(&self, asks: &[Ask]) -> Result<Vec<Answer>, IoError> {
        check_inside(asks, self.size, &self.path)?;
        let file = Reading { file: &*self.file()?, path: &self.path, size: self.size };
        let mut slices = file.slices(asks)?.into_iter();
        let mut answers = Vec::with_capacity(asks.len());
        for ask in asks {
            answers.push(match ask.gather {
                Gather::Slices => Answer::Slices(slices.by_ref().take(ask.extents.len()).collect()),
                Gather::Packed => Answer::Packed(file.packed(ask)?),
            });
        }
        Ok(answers)
    }
}

/// A file while it is read.
struct Reading<'a> {
    file: &'a File,
    path: &'a str,
    size: u64,
}

impl Reading<'_> {
    /// The extents of all asks for slices, which are coalesced together.
    fn slices(&self, asks: &[Ask]) -> Result<Vec<bytes::Bytes>> {
        let asks = asks.iter().filter(|ask| ask.gather == Gather::Slices);
        let extents: Vec<Extent> = asks.flat_map(|ask| &ask.extents).copied().collect();
        let mut slices = vec![bytes::Bytes::new(); extents.len()];
        for run in coalesce(&extents, LOCAL_GAP, MAX_RUN) {
            let (offset, len) = (run.extent.offset(), run.extent.len());
            let owner = filled(offset, len, self.path, |memory| self.read_into(memory, offset))?;
            hand_out(&extents, &run, &owner, &[], &mut slices, self.path)?;
        }
        Ok(slices)
    }

    /// Each extent read into its place in one slab.
    fn packed(&self, ask: &Ask) -> Result<BytesMut> {
        let mut slab = slab(ask.bytes(), self.path)?;
        let mut places: Vec<(Extent, &mut [u8])> = vec![];
        let mut rest: &mut [u8] = &mut slab;
        for extent in joined(&ask.extents) {
            let len = usize::try_from(extent.len()).unwrap_or(usize::MAX);
            let Some((place, after)) = rest.split_at_mut_checked(len) else { break };
            rest = after;
            places.push((extent, place));
        }
        let (mut tiny, large): (Vec<_>, Vec<_>) =
            places.into_iter().partition(|(extent, _)| extent.len() <= TINY);
        for (extent, place) in large {
            self.read_into(place, extent.offset())?;
        }
        self.read_tiny(&mut tiny)?;
        Ok(slab)
    }

    fn read_tiny(&self, places: &mut [(Extent, &mut [u8])]) -> Result<()> {
        let extents: Vec<Extent> = places.iter().map(|(extent, _)| *extent).collect();
        let mut scratch = vec![];
        for run in coalesce(&extents, LOCAL_GAP, TINY_RUN) {
            if let [only] = run.members[..] {
                if let Some((extent, place)) = places.get_mut(only) {
                    self.read_into(place, extent.offset())?;
                }
                continue;
            }
            scratch.resize(usize::try_from(run.extent.len()).unwrap_or_default(), 0);
            self.read_into(&mut scratch, run.extent.offset())?;
            for &member in &run.members {
                let Some((extent, place)) = places.get_mut(member) else { continue };
                let start = usize::try_from(extent.offset() - run.extent.offset()).unwrap_or(usize::MAX);
                let bytes = scratch.get(start..).and_then(|bytes| bytes.get(..place.len()));
                place.copy_from_slice(bytes.ok_or_else(|| IoError::outside(self.path, *extent, self.size))?);
            }
        }
        Ok(())
    }

    fn read_into(&self, memory: &mut [u8], offset: u64) -> Result<()> {
        read_exact_at(self.file, memory, offset).map_err(|error| IoError::from_io(self.path, error))
    }
}

/// `extents` with those joined that follow each other in the file too.
fn joined(extents: &[Extent]) -> Vec<Extent> {
    let mut joined: Vec<Extent> = Vec::with_capacity(extents.len());
    for extent in extents {
        match joined.last_mut() {
            Some(last) if last.end() == extent.offset() => {
                // Both ends are known to fit.
                *last = Extent::between(last.offset(), extent.end()).unwrap_or(*last);
            }
            _ => joined.push(*extent),
        }
    }
    joined
}

#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, memory: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, memory, offset)
}

#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut memory: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !memory.is_empty() {
        match file.seek_read(memory, offset)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => {
                memory = memory.get_mut(read..).unwrap_or_default();
                offset += read as u64;
            }
        }
    }
    Ok(())
}
