//! Objects of an object store.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use lance_footer::{Answer, Ask, Extent};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::coalesce::{MAX_RUN, OBJECT_GAP, Run, coalesce};
use crate::error::Result;
use crate::gather::{addressable, answers, extents};
use crate::read::check_inside;
use crate::{IoError, ReadAt};

/// Requests at a time for one round.
const PARALLEL: usize = 32;

/// An object of known size.
///
/// Extents that lie at most 64 KiB apart are one request, and requests are at most 16 MiB.
#[derive(Debug, Clone)]
pub struct ObjectFile {
    store: Arc<dyn ObjectStore>,
    key: Path,
    name: String,
    size: u64,
}

impl ObjectFile {
    /// The object at `key`. Without a `size` one request asks for it.
    pub async fn open(store: Arc<dyn ObjectStore>, key: Path, size: Option<u64>) -> Result<Self, IoError> {
        let name = format!("{store}/{key}");
        Self::open_named(store, key, name, size).await
    }

    /// The same, with the name it has in errors.
    pub(crate) async fn open_named(
        store: Arc<dyn ObjectStore>,
        key: Path,
        name: String,
        size: Option<u64>,
    ) -> Result<Self> {
        let size = match size {
            Some(size) => size,
            None => store.head(&key).await.map_err(|error| IoError::from_store(&name, error))?.size,
        };
        Ok(Self { store, key, name, size })
    }

    async fn answer(&self, asks: Vec<Ask>) -> Result<Vec<Answer>> {
        check_inside(&asks, self.size, &self.name)?;
        let runs = coalesce(&extents(&asks), OBJECT_GAP, MAX_RUN);
        let parts: Vec<Extent> = runs.iter().flat_map(parts).collect();
        let parts: Vec<Bytes> =
            stream::iter(parts).map(|part| self.get(part)).buffered(PARALLEL).try_collect().await?;
        let mut parts = parts.into_iter();
        let owners: Vec<Bytes> = runs.iter().map(|run| whole(run, &mut parts)).collect();
        answers(&asks, &runs, &owners, &self.name)
    }

    async fn get(&self, part: Extent) -> Result<Bytes> {
        let bytes = self.store.get_range(&self.key, part.offset()..part.end()).await;
        let bytes = bytes.map_err(|error| IoError::from_store(&self.name, error))?;
        if bytes.len() != addressable(part.len(), &self.name)? {
            // The object is shorter than it was said to be.
            return Err(IoError::outside(&self.name, part, part.offset() + bytes.len() as u64));
        }
        Ok(bytes)
    }
}

impl ReadAt for ObjectFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn path(&self) -> &str {
        &self.name
    }

    fn gap(&self) -> u64 {
        OBJECT_GAP
    }

    fn read(&self, asks: Vec<Ask>) -> BoxFuture<'_, Result<Vec<Answer>, IoError>> {
        self.answer(asks).boxed()
    }
}

/// The requests that a run is fetched with: one, unless a single extent is very long.
fn parts(run: &Run) -> impl Iterator<Item = Extent> + use<> {
    let extent = run.extent;
    let count = extent.len().div_ceil(MAX_RUN);
    let part = move |index: u64| {
        let start = index.saturating_mul(MAX_RUN);
        extent.slice(start..start.saturating_add(MAX_RUN).min(extent.len())).ok()
    };
    (0..count).filter_map(part)
}

/// The bytes of `run` from the parts that are next.
fn whole(run: &Run, fetched: &mut impl Iterator<Item = Bytes>) -> Bytes {
    let mut own = fetched.by_ref().take(parts(run).count());
    let first = own.next().unwrap_or_default();
    let mut rest = own.peekable();
    if rest.peek().is_none() {
        return first;
    }
    let mut bytes = BytesMut::from(first);
    rest.for_each(|part| bytes.extend_from_slice(&part));
    bytes.freeze()
}
