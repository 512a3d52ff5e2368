use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use lance_footer::{Answer, Ask, Extent};

use crate::coalesce::MAX_RUN;
use crate::error::Result;
use crate::{IoError, ReadAt, ReadBlocking, coalesce, gather};

/// A source that counts what another one is asked. Clones count together.
///
/// It counts what is asked, not what the system does with it: bytes of gaps that are read along are not in
/// [`Self::bytes`].
#[derive(Debug, Clone)]
pub struct Counting {
    source: Arc<dyn ReadAt>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    rounds: AtomicU64,
    requests: AtomicU64,
    bytes: AtomicU64,
    extents: Mutex<Vec<Extent>>,
}

impl Counting {
    /// Counts what `source` is asked from now on.
    pub fn new(source: Arc<dyn ReadAt>) -> Self {
        Self { source, counts: Arc::default() }
    }

    /// How many rounds of reads there were. Each is a round trip.
    pub fn rounds(&self) -> u64 {
        self.counts.rounds.load(Ordering::Relaxed)
    }

    /// How many reads that is once extents that are closer than the source's gap are read together.
    pub fn requests(&self) -> u64 {
        self.counts.requests.load(Ordering::Relaxed)
    }

    /// How many bytes were asked for.
    pub fn bytes(&self) -> u64 {
        self.counts.bytes.load(Ordering::Relaxed)
    }

    /// Every extent that was asked for, in that order.
    pub fn extents(&self) -> Vec<Extent> {
        self.counts.extents.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts from zero again.
    pub fn reset(&self) {
        let Counts { rounds, requests, bytes, extents } = self.counts.as_ref();
        for count in [rounds, requests, bytes] {
            count.store(0, Ordering::Relaxed);
        }
        extents.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Counts {
    fn record(&self, asks: &[Ask], gap: u64) {
        let extents = gather::extents(asks);
        let runs = coalesce(&extents, gap, MAX_RUN).len() as u64;
        let bytes = asks.iter().fold(0_u64, |sum, ask| sum.saturating_add(ask.bytes()));
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(runs, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.extents.lock().unwrap_or_else(PoisonError::into_inner).extend(extents);
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
        Some(Arc::new(CountingBlocking { blocking, gap: self.gap(), counts: Arc::clone(&self.counts) }))
    }
}

struct CountingBlocking {
    blocking: Arc<dyn ReadBlocking>,
    gap: u64,
    counts: Arc<Counts>,
}

impl ReadBlocking for CountingBlocking {
    fn read_blocking(&self, asks: &[Ask]) -> Result<Vec<Answer>, IoError> {
        self.counts.record(asks, self.gap);
        self.blocking.read_blocking(asks)
    }
}
