use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use lance_footer::{Answer, Ask, Extent};

use crate::coalesce::MAX_RUN;
use crate::error::Result;
use crate::{IoError, ReadAt, ReadBlocking, coalesce, gather};

/// What sources and stores were asked. Clones count together.
///
/// It counts what is asked, not what the system does with it: bytes of gaps that are read along are not in
/// [`Self::bytes`].
#[derive(Debug, Clone, Default)]
pub struct Counts(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    rounds: AtomicU64,
    requests: AtomicU64,
    listings: AtomicU64,
    heads: AtomicU64,
    writes: AtomicU64,
    deletes: AtomicU64,
    bytes: AtomicU64,
    written: AtomicU64,
    extents: Mutex<Vec<Extent>>,
}

/// A source that counts what another one is asked; see [`Counts`]. Clones count together.
#[derive(Debug, Clone)]
pub struct Counting {
    source: Arc<dyn ReadAt>,
    counts: Counts,
}

impl Counts {
    /// How many rounds of reads there were. Each is a round trip.
    pub fn rounds(&self) -> u64 {
        self.0.rounds.load(Ordering::Relaxed)
    }

    /// How many reads that is once extents that are closer than the source's gap are read together.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// How many requests it takes to list what was listed. Object stores list a thousand names in one.
    pub fn listings(&self) -> u64 {
        self.0.listings.load(Ordering::Relaxed)
    }

    /// How many files were opened without their size being known. Object stores take a request to tell it.
    pub fn heads(&self) -> u64 {
        self.0.heads.load(Ordering::Relaxed)
    }

    /// How many files were written. Large ones take several requests.
    pub fn writes(&self) -> u64 {
        self.0.writes.load(Ordering::Relaxed)
    }

    /// How many files, or directories with what is in them, were to be removed.
    pub fn deletes(&self) -> u64 {
        self.0.deletes.load(Ordering::Relaxed)
    }

    /// How many bytes were to be written.
    pub fn bytes_written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// How many bytes were asked for.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Every extent that was asked for, in that order.
    pub fn extents(&self) -> Vec<Extent> {
        self.0.extents.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts from zero again.
    pub fn reset(&self) {
        let Inner { rounds, requests, listings, heads, writes, deletes, bytes, written, extents } =
            self.0.as_ref();
        for count in [rounds, requests, listings, heads, writes, deletes, bytes, written] {
            count.store(0, Ordering::Relaxed);
        }
        extents.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A whole file was read in one go.
    pub(crate) fn record_file(&self, bytes: u64) {
        self.add(1, bytes, Extent::new(0, bytes));
    }

    /// So many names were listed.
    pub(crate) fn record_listing(&self, names: usize) {
        let pages = names.div_ceil(crate::store::PAGE).max(1) as u64;
        self.0.listings.fetch_add(pages, Ordering::Relaxed);
    }

    /// The size of a file was asked for.
    pub(crate) fn record_head(&self) {
        self.0.heads.fetch_add(1, Ordering::Relaxed);
    }

    /// So many bytes of a file were written.
    pub(crate) fn record_written(&self, bytes: u64) {
        self.0.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A file was written, or begun.
    pub(crate) fn record_write(&self) {
        self.0.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Something was removed.
    pub(crate) fn record_delete(&self) {
        self.0.deletes.fetch_add(1, Ordering::Relaxed);
    }

    fn record(&self, asks: &[Ask], gap: u64) {
        let extents = gather::extents(asks);
        let runs = coalesce(&extents, gap, MAX_RUN).len() as u64;
        let bytes = asks.iter().fold(0_u64, |sum, ask| sum.saturating_add(ask.bytes()));
        self.add(runs, bytes, extents);
    }

    fn add(&self, requests: u64, bytes: u64, extents: impl IntoIterator<Item = Extent>) {
        self.0.rounds.fetch_add(1, Ordering::Relaxed);
        self.0.requests.fetch_add(requests, Ordering::Relaxed);
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.0.extents.lock().unwrap_or_else(PoisonError::into_inner).extend(extents);
    }
}

impl Counting {
    /// Counts what `source` is asked from now on.
    pub fn new(source: Arc<dyn ReadAt>) -> Self {
        Self::with(source, Counts::default())
    }

    /// Adds what `source` is asked from now on to `counts`.
    pub(crate) const fn with(source: Arc<dyn ReadAt>, counts: Counts) -> Self {
        Self { source, counts }
    }

    /// See [`Counts::rounds`].
    pub fn rounds(&self) -> u64 {
        self.counts.rounds()
    }

    /// See [`Counts::requests`].
    pub fn requests(&self) -> u64 {
        self.counts.requests()
    }

    /// See [`Counts::bytes`].
    pub fn bytes(&self) -> u64 {
        self.counts.bytes()
    }

    /// See [`Counts::extents`].
    pub fn extents(&self) -> Vec<Extent> {
        self.counts.extents()
    }

    /// See [`Counts::reset`].
    pub fn reset(&self) {
        self.counts.reset();
    }
}

impl ReadAt for Counting {
    fn size(&self) -> u64 {
        self.source.size()
    }

    fn path(&self) -> &str {
        self.source.path()
    }

    fn gap(&self) -> u64 {
        self.source.gap()
    }

    fn read(&self, asks: Vec<Ask>) -> BoxFuture<'_, Result<Vec<Answer>, IoError>> {
        self.counts.record(&asks, self.gap());
        self.source.read(asks)
    }

    fn blocking(&self) -> Option<Arc<dyn ReadBlocking>> {
        let blocking = self.source.blocking()?;
        Some(Arc::new(CountingBlocking { blocking, gap: self.gap(), counts: self.counts.clone() }))
    }
}

struct CountingBlocking {
    blocking: Arc<dyn ReadBlocking>,
    gap: u64,
    counts: Counts,
}

impl ReadBlocking for CountingBlocking {
    fn read_blocking(&self, asks: &[Ask]) -> Result<Vec<Answer>, IoError> {
        self.counts.record(asks, self.gap);
        self.blocking.read_blocking(asks)
    }
}
