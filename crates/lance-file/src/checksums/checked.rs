//! A source that gives no byte of a buffer before all of the buffer was found to be right.
//!
//! ```text
//! asked     ·····[read]·············[== a whole buffer ==]···[read]···
//! entries   [-- unknown --]          [ unknown           ]  [ right ]
//! round 1   [== read it all =]
//! round 2        [read]              [read, and check    ]   [read]
//! ```
//!
//! What was found to be right is not looked at again: files do not change.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use lance_footer::{Answer, Ask, Checksum, Checksums, Crc32c, Extent, FormatError, Machine, Step};
use lance_io::{IoError, ReadAt, ReadBlocking, drive};

/// A buffer is checked in pieces of so many bytes.
const PIECE: u64 = 4 << 20;

/// Pieces that are read together have no more bytes than this.
const ROUND: u64 = 16 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct Checked {
    source: Arc<dyn ReadAt>,
    entries: Arc<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    checksum: Checksum,
    /// It was read, and is right.
    right: AtomicBool,
}

impl Checked {
    pub(super) fn new(source: Arc<dyn ReadAt>, table: Checksums) -> Self {
        let entry = |checksum| Entry { checksum, right: AtomicBool::new(false) };
        Self { source, entries: Arc::new(table.entries.into_iter().map(entry).collect()) }
    }
}

impl ReadAt for Checked {
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
        drive(Reading::new(Arc::clone(&self.entries), asks), &self.source).boxed()
    }

    fn blocking(&self) -> Option<Arc<dyn ReadBlocking>> {
        let source = self.source.blocking()?;
        let (path, entries) = (self.path().to_string(), Arc::clone(&self.entries));
        Some(Arc::new(CheckedBlocking { path, source, entries }))
    }
}

struct CheckedBlocking {
    path: String,
    source: Arc<dyn ReadBlocking>,
    entries: Arc<Vec<Entry>>,
}

impl ReadBlocking for CheckedBlocking {
    fn read_blocking(&self, asks: &[Ask]) -> Result<Vec<Answer>, IoError> {
        let mut reading = Reading::new(Arc::clone(&self.entries), asks.to_vec());
        let mut answers = vec![];
        loop {
            let step = reading.step(answers);
            match step.map_err(|source| IoError::Format { path: self.path.clone(), source })? {
                Step::Ready(answers) => return Ok(answers),
                Step::Fetch(asks) => answers = self.source.read_blocking(&asks)?,
            }
        }
    }
}

/// Reads what was asked for, and first what has to be read to know that it is right.
struct Reading {
    entries: Arc<Vec<Entry>>,
    asks: Vec<Ask>,
    /// What is left to read first.
    due: VecDeque<Piece>,
    /// What was fetched.
    fetched: Fetched,
    /// Of the entry whose pieces are being read.
    crc: Crc32c,
}

enum Fetched {
    Nothing,
    Pieces(Vec<Piece>),
    Asks,
}

/// A part of an entry.
#[derive(Debug, Clone, Copy)]
struct Piece {
    entry: usize,
    extent: Extent,
}

impl Reading {
    fn new(entries: Arc<Vec<Entry>>, asks: Vec<Ask>) -> Self {
        let due = due(&entries, &asks).into();
        Self { entries, asks, due, fetched: Fetched::Nothing, crc: Crc32c::default() }
    }

    /// The pieces of the next round; none if it is time for what was asked for.
    fn next_pieces(&mut self) -> Vec<Piece> {
        let mut pieces = vec![];
        let mut bytes = 0_u64;
        while let Some(piece) = self.due.front()
            && (pieces.is_empty() || bytes.saturating_add(piece.extent.len()) <= ROUND)
        {
            bytes = bytes.saturating_add(piece.extent.len());
            pieces.extend(self.due.pop_front());
        }
        pieces
    }

    fn check_pieces(&mut self, pieces: &[Piece], slices: &[Bytes]) -> Result<(), FormatError> {
        for (piece, bytes) in pieces.iter().zip(slices) {
            let Some(entry) = self.entries.get(piece.entry) else { continue };
            self.crc.add(bytes);
            if piece.extent.end() == entry.checksum.extent.end() {
                entry.check(std::mem::take(&mut self.crc))?;
            }
        }
        Ok(())
    }
}

impl Machine for Reading {
    type Output = Vec<Answer>;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Vec<Answer>>, FormatError> {
        match std::mem::replace(&mut self.fetched, Fetched::Nothing) {
            Fetched::Nothing => {}
            Fetched::Pieces(pieces) => {
                self.check_pieces(&pieces, &Answer::only_slices(answers, pieces.len())?)?;
            }
            Fetched::Asks => {
                check_answers(&self.entries, &self.asks, &answers)?;
                return Ok(Step::Ready(answers));
            }
        }
        let pieces = self.next_pieces();
        if pieces.is_empty() {
            self.fetched = Fetched::Asks;
            return Ok(Step::Fetch(self.asks.clone()));
        }
        let extents = pieces.iter().map(|piece| piece.extent).collect();
        self.fetched = Fetched::Pieces(pieces);
        Ok(Step::Fetch(vec![Ask::slices(extents)]))
    }
}

/// What of the file has to be read before `asks`: the entries of which they have parts, unless they also have all of
/// them.
fn due(entries: &[Entry], asks: &[Ask]) -> Vec<Piece> {
    let extents = || asks.iter().flat_map(|ask| &ask.extents);
    let mut parts: Vec<usize> = vec![];
    let mut whole: Vec<usize> = vec![];
    for extent in extents() {
        for (index, entry) in touched(entries, *extent).filter(|(_, entry)| !entry.is_right()) {
            if extent.contains(&entry.checksum.extent) { whole.push(index) } else { parts.push(index) }
        }
    }
    whole.sort_unstable();
    parts.sort_unstable();
    parts.dedup();
    parts.retain(|index| whole.binary_search(index).is_err());
    let pieces = parts.into_iter().flat_map(|entry| {
        let extent = entries.get(entry).map(|entry| entry.checksum.extent);
        let pieces = extent.into_iter().flat_map(move |extent| {
            (0..extent.len().div_ceil(PIECE)).filter_map(move |piece| {
                let start = piece * PIECE;
                extent.slice(start..extent.len().min(start.saturating_add(PIECE))).ok()
            })
        });
        pieces.map(move |extent| Piece { entry, extent })
    });
    pieces.collect()
}

/// The entries of which `extent` has something.
fn touched(entries: &[Entry], extent: Extent) -> impl Iterator<Item = (usize, &Entry)> {
    let first = entries.partition_point(|entry| entry.checksum.extent.end() <= extent.offset());
    let rest = entries.iter().enumerate().skip(first);
    rest.take_while(move |(_, entry)| entry.checksum.extent.offset() < extent.end())
}

/// Checks the entries that were read as a whole.
fn check_answers(entries: &[Entry], asks: &[Ask], answers: &[Answer]) -> Result<(), FormatError> {
    for (ask, answer) in asks.iter().zip(answers) {
        match answer {
            Answer::Slices(slices) => {
                for (extent, bytes) in ask.extents.iter().zip(slices) {
                    check_whole(entries, *extent, bytes)?;
                }
            }
            Answer::Packed(slab) => {
                let mut rest: &[u8] = slab;
                for extent in &ask.extents {
                    let len = usize::try_from(extent.len()).unwrap_or(usize::MAX);
                    let Some((bytes, after)) = rest.split_at_checked(len) else { break };
                    check_whole(entries, *extent, bytes)?;
                    rest = after;
                }
            }
        }
    }
    Ok(())
}

/// Checks the entries that lie in `extent` against `bytes`, which were read there.
fn check_whole(entries: &[Entry], extent: Extent, bytes: &[u8]) -> Result<(), FormatError> {
    let inside = touched(entries, extent).filter(|(_, entry)| extent.contains(&entry.checksum.extent));
    for (_, entry) in inside.filter(|(_, entry)| !entry.is_right()) {
        let at = |position: u64| usize::try_from(position - extent.offset()).unwrap_or(usize::MAX);
        let own = entry.checksum.extent;
        entry.check(Crc32c::of(bytes.get(at(own.offset())..at(own.end())).unwrap_or_default()))?;
    }
    Ok(())
}

impl Entry {
    fn is_right(&self) -> bool {
        self.right.load(Ordering::Relaxed)
    }

    /// `crc` is that of its bytes as they were read.
    fn check(&self, crc: Crc32c) -> Result<(), FormatError> {
        self.checksum.check(crc.value())?;
        self.right.store(true, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lance_footer::{ChecksumKind, Gather};
    use lance_io::{Counting, MemoryFile};
    use proptest::prelude::*;

    const SIZE: usize = 400;

    fn extent(start: usize, end: usize) -> Extent {
        Extent::between(start as u64, end as u64).unwrap()
    }

    fn bytes() -> Vec<u8> {
        (0..SIZE).map(|n| (n * 7) as u8).collect()
    }

    /// Checksums of what lies between `cuts`, but for every third part.
    fn table(cuts: &[usize]) -> Checksums {
        let bytes = bytes();
        let parts = cuts.windows(2).enumerate().filter(|(index, cut)| index % 3 != 2 && cut[0] < cut[1]);
        let entries = parts.map(|(_, cut)| Checksum {
            extent: extent(cut[0], cut[1]),
            crc: Crc32c::of(&bytes[cut[0]..cut[1]]).value(),
            kind: ChecksumKind::PageBuffer,
        });
        Checksums { file_size: SIZE as u64, zeros_between: false, entries: entries.collect() }
    }

    fn flat(answers: Vec<Answer>) -> Vec<u8> {
        let parts = answers.into_iter().flat_map(|answer| match answer {
            Answer::Slices(slices) => slices.concat(),
            Answer::Packed(slab) => slab.to_vec(),
        });
        parts.collect()
    }

    struct Blocking(Arc<dyn ReadAt>);

    impl ReadBlocking for Blocking {
        fn read_blocking(&self, asks: &[Ask]) -> Result<Vec<Answer>, IoError> {
            self.0.read(asks.to_vec()).now_or_never().unwrap()
        }
    }

    /// Both ways to read.
    fn read(checked: &Checked, asks: &[Ask]) -> [Result<Vec<u8>, IoError>; 2] {
        let blocking = CheckedBlocking {
            path: "x".into(),
            source: Arc::new(Blocking(Arc::clone(&checked.source))),
            entries: Arc::clone(&checked.entries),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        [runtime.block_on(checked.read(asks.to_vec())), blocking.read_blocking(asks)]
            .map(|answers| answers.map(flat))
    }

    proptest! {
        /// Whatever is asked for, and whatever was read before: what is given is right, or was never checked.
        #[test]
        fn no_wrong_byte_of_an_entry_is_given(
            mut cuts in prop::collection::vec(0..=SIZE, 2..12),
            rounds in prop::collection::vec(
                prop::collection::vec((any::<bool>(), prop::collection::vec((0..SIZE, 1..120_usize), 1..4)), 1..3),
                1..4,
            ),
            wrong in prop::option::of(0..SIZE),
        ) {
            cuts.sort_unstable();
            let table = table(&cuts);
            let mut stored = bytes();
            if let Some(wrong) = wrong {
                stored[wrong] ^= 4;
            }
            let source = Arc::new(MemoryFile::new("x", stored.clone().into()));
            let checked = Checked::new(source, table.clone());
            for round in rounds {
                let asks: Vec<_> = round.into_iter().map(|(packed, extents)| {
                    let extents = extents.into_iter().map(|(start, len)| extent(start, (start + len).min(SIZE)));
                    Ask { extents: extents.collect(), gather: if packed { Gather::Packed } else { Gather::Slices } }
                }).collect();
                let asked = || asks.iter().flat_map(|ask| &ask.extents);
                let range = |extent: &Extent| extent.offset() as usize..extent.end() as usize;
                let corrupt = wrong.is_some_and(|wrong| table.entries.iter().any(|entry| {
                    let entry = range(&entry.extent);
                    entry.contains(&wrong) && asked().any(|extent| {
                        let extent = range(extent);
                        extent.start < entry.end && entry.start < extent.end
                    })
                }));
                let expected: Vec<u8> = asked().flat_map(|extent| stored[range(extent)].to_vec()).collect();
                for given in read(&checked, &asks) {
                    match given {
                        Ok(given) => prop_assert!(!corrupt && given == expected),
                        Err(error) => prop_assert!(corrupt, "{error}"),
                    }
                }
            }
        }
    }

    #[test]
    fn large_entries_are_read_in_pieces_and_once() {
        let bytes = vec![5; 3 * ROUND as usize + 7];
        let whole = Extent::new(0, bytes.len() as u64).unwrap();
        let checksum =
            Checksum { extent: whole, crc: Crc32c::of(&bytes).value(), kind: ChecksumKind::PageBuffer };
        let table = Checksums { file_size: whole.len(), zeros_between: false, entries: vec![checksum] };
        let counting = Counting::new(Arc::new(MemoryFile::new("x", bytes.into())));
        let checked = Checked::new(Arc::new(counting.clone()), table);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ask = Ask::slices(vec![extent(100, 110)]);
        let read = || flat(runtime.block_on(checked.read(vec![ask.clone()])).unwrap());
        assert_eq!(read(), [5; 10]);
        assert_eq!((counting.rounds(), counting.bytes()), (5, whole.len() + 10));
        assert!(counting.extents().iter().all(|extent| extent.len() <= PIECE));
        counting.reset();
        assert_eq!(read(), [5; 10]);
        assert_eq!((counting.rounds(), counting.bytes()), (1, 10));
    }
}
