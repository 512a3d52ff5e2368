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
use lance_footer::{Answer, Ask, Checksum, Checksums, Crc32c, Extent, FormatError};
use lance_io::{IoError, ReadAt};
use tokio::sync::{Mutex, MutexGuard};

use crate::pool::compute_checks;

/// A buffer is checked in pieces of so many bytes.
const PIECE: u64 = 4 << 20;

/// Pieces that are read together have no more bytes than this.
const ROUND: u64 = 16 << 20;

/// See the module.
///
/// It has no way to read that blocks: who wants a buffer that somebody else checks already waits for that, and must
/// not hold a thread meanwhile that the other one may need.
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
    /// Held by whoever reads it in order to check it.
    turn: Mutex<()>,
}

/// A part of an entry.
#[derive(Debug, Clone, Copy)]
struct Piece {
    entry: usize,
    extent: Extent,
}

impl Checked {
    pub(super) fn new(source: Arc<dyn ReadAt>, table: Checksums) -> Self {
        let entry = |checksum| Entry { checksum, right: AtomicBool::new(false), turn: Mutex::default() };
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
        self.read_checked(asks).boxed()
    }
}

impl Checked {
    /// Reads what was asked for, and first what has to be read to know that it is right.
    async fn read_checked(&self, asks: Vec<Ask>) -> Result<Vec<Answer>, IoError> {
        loop {
            let due = due(&self.entries, &asks);
            let mut turns = self.free_turns(&due);
            if turns.is_empty() {
                // Others read all of them. Nobody who waits here has a turn, so this ends.
                let Some((index, entry)) =
                    due.first().and_then(|index| Some((*index, self.entries.get(*index)?)))
                else {
                    break;
                };
                turns.push((index, entry.turn.lock().await));
            }
            // Another one may have been right on time.
            turns.retain(|(index, _)| self.entries.get(*index).is_some_and(|entry| !entry.is_right()));
            let entries = turns.iter().map(|(index, _)| *index);
            self.check_entries(entries.collect()).await?;
        }
        let answers = self.source.read(asks.clone()).await?;
        if !asks
            .iter()
            .flat_map(|ask| &ask.extents)
            .any(|extent| unknown(&self.entries, *extent).next().is_some())
        {
            return Ok(answers);
        }
        let bytes = asks.iter().fold(0, |sum: u64, ask| sum.saturating_add(ask.bytes()));
        let entries = Arc::clone(&self.entries);
        compute_checks(self.path(), bytes, move || {
            check_answers(&entries, &asks, &answers)?;
            Ok(answers)
        })
        .await
    }

    /// Those of `due` that nobody else reads at the moment.
    fn free_turns(&self, due: &[usize]) -> Vec<(usize, MutexGuard<'_, ()>)> {
        let free =
            due.iter().filter_map(|index| Some((*index, self.entries.get(*index)?.turn.try_lock().ok()?)));
        free.collect()
    }

    /// Reads all of these entries and checks them.
    async fn check_entries(&self, indices: Vec<usize>) -> Result<(), IoError> {
        let mut due = pieces(&self.entries, &indices);
        let mut crc = Crc32c::default();
        while !due.is_empty() {
            let round = next_round(&mut due);
            let extents: Vec<_> = round.iter().map(|piece| piece.extent).collect();
            let ask = Ask::slices(extents);
            let bytes = ask.bytes();
            let answers = self.source.read(vec![ask]).await?;
            let entries = Arc::clone(&self.entries);
            crc = compute_checks(self.path(), bytes, move || {
                check_pieces(&entries, &round, &Answer::only_slices(answers, round.len())?, crc)
            })
            .await?;
        }
        Ok(())
    }
}

/// Takes as many pieces as are read together.
fn next_round(due: &mut VecDeque<Piece>) -> Vec<Piece> {
    let mut round = vec![];
    let mut bytes = 0_u64;
    while let Some(piece) = due.front()
        && (round.is_empty() || bytes.saturating_add(piece.extent.len()) <= ROUND)
    {
        bytes = bytes.saturating_add(piece.extent.len());
        round.extend(due.pop_front());
    }
    round
}

/// Checks the entries that end with one of `pieces`. The checksum so far of the entry that is being read goes in and
/// comes out.
fn check_pieces(
    entries: &[Entry],
    pieces: &[Piece],
    slices: &[Bytes],
    mut crc: Crc32c,
) -> Result<Crc32c, FormatError> {
    for (piece, bytes) in pieces.iter().zip(slices) {
        let Some(entry) = entries.get(piece.entry) else { continue };
        crc.add(bytes);
        if piece.extent.end() == entry.checksum.extent.end() {
            entry.check(std::mem::take(&mut crc))?;
        }
    }
    Ok(crc)
}

/// What of the file has to be read before `asks`: the entries of which they have parts, unless they also have all of
/// them.
fn due(entries: &[Entry], asks: &[Ask]) -> Vec<usize> {
    let mut parts: Vec<usize> = vec![];
    let mut whole: Vec<usize> = vec![];
    for extent in asks.iter().flat_map(|ask| &ask.extents) {
        for (index, entry) in unknown(entries, *extent) {
            if extent.contains(&entry.checksum.extent) { whole.push(index) } else { parts.push(index) }
        }
    }
    whole.sort_unstable();
    parts.sort_unstable();
    parts.dedup();
    parts.retain(|index| whole.binary_search(index).is_err());
    parts
}

/// The entries at `indices` in pieces.
fn pieces(entries: &[Entry], indices: &[usize]) -> VecDeque<Piece> {
    let pieces = indices.iter().flat_map(|index| {
        let extent = entries.get(*index).map(|entry| entry.checksum.extent);
        extent.into_iter().flat_map(move |extent| {
            (0..extent.len().div_ceil(PIECE)).filter_map(move |piece| {
                let start = piece * PIECE;
                let extent = extent.slice(start..extent.len().min(start.saturating_add(PIECE))).ok()?;
                Some(Piece { entry: *index, extent })
            })
        })
    });
    pieces.collect()
}

/// The entries of which `extent` has something, and which were not found to be right yet.
fn unknown(entries: &[Entry], extent: Extent) -> impl Iterator<Item = (usize, &Entry)> {
    touched(entries, extent).filter(|(_, entry)| !entry.is_right())
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
    for (_, entry) in unknown(entries, extent).filter(|(_, entry)| extent.contains(&entry.checksum.extent)) {
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
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use futures::future::join_all;
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

    fn run<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    /// A source that lets others have their turn before it reads, and has no bytes the first few times.
    #[derive(Debug)]
    struct Slow {
        source: Counting,
        failures: AtomicUsize,
    }

    impl Slow {
        fn of(bytes: Vec<u8>, failures: usize) -> Arc<Self> {
            let source = Counting::new(Arc::new(MemoryFile::new("x", bytes.into())));
            Arc::new(Self { source, failures: failures.into() })
        }
    }

    impl ReadAt for Slow {
        fn size(&self) -> u64 {
            self.source.size()
        }

        fn path(&self) -> &str {
            self.source.path()
        }

        fn read(&self, asks: Vec<Ask>) -> BoxFuture<'_, Result<Vec<Answer>, IoError>> {
            async move {
                tokio::task::yield_now().await;
                let fails = |left: usize| left.checked_sub(1);
                if self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fails).is_ok() {
                    return Err(IoError::NotFound { path: "x".into() });
                }
                self.source.read(asks).await
            }
            .boxed()
        }
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
                match run(checked.read(asks.clone())).map(flat) {
                    Ok(given) => prop_assert!(!corrupt && given == expected),
                    Err(error) => prop_assert!(corrupt, "{error}"),
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
        let ask = Ask::slices(vec![extent(100, 110)]);
        let read = || flat(run(checked.read(vec![ask.clone()])).unwrap());
        assert_eq!(read(), [5; 10]);
        assert_eq!((counting.rounds(), counting.bytes()), (5, whole.len() + 10));
        assert!(counting.extents().iter().all(|extent| extent.len() <= PIECE));
        counting.reset();
        assert_eq!(read(), [5; 10]);
        assert_eq!((counting.rounds(), counting.bytes()), (1, 10));
    }

    /// Four entries of 100 bytes each.
    fn quarters() -> Checksums {
        let bytes = bytes();
        let entries = bytes.chunks(100).zip(0_u64..).map(|(part, at)| Checksum {
            extent: Extent::new(at * 100, 100).unwrap(),
            crc: Crc32c::of(part).value(),
            kind: ChecksumKind::PageBuffer,
        });
        Checksums { file_size: SIZE as u64, zeros_between: false, entries: entries.collect() }
    }

    /// Asks for a byte at each of `places`.
    fn bytes_at(places: &[usize]) -> Vec<Ask> {
        vec![Ask::slices(places.iter().map(|at| extent(*at, at + 1)).collect())]
    }

    #[test]
    fn who_wants_the_same_entries_reads_them_once() {
        // In all orders, so that some wait for two others.
        let wanted = [vec![5, 350], vec![150, 250], vec![220, 20], vec![390, 120, 7], vec![5], vec![399]];
        let source = Slow::of(bytes(), 0);
        let checked = Checked::new(source.clone(), quarters());
        let reads = wanted.iter().map(|places| checked.read(bytes_at(places)));
        for (answers, places) in run(join_all(reads)).into_iter().zip(&wanted) {
            let expected: Vec<u8> = places.iter().map(|at| bytes()[*at]).collect();
            assert_eq!(flat(answers.unwrap()), expected);
        }
        let mut whole: Vec<_> = source.source.extents();
        whole.retain(|extent| extent.len() == 100);
        whole.sort_unstable_by_key(Extent::offset);
        assert_eq!(whole, quarters().entries.iter().map(|entry| entry.extent).collect::<Vec<_>>());
    }

    #[test]
    fn who_waits_goes_on_where_another_one_fails() {
        let source = Slow::of(bytes(), 1);
        let checked = Checked::new(source.clone(), quarters());
        let reads = (0..3).map(|at| checked.read(bytes_at(&[at])));
        let failed: Vec<_> = run(join_all(reads)).into_iter().map(|answers| answers.is_err()).collect();
        assert_eq!(failed, [true, false, false]);
        assert_eq!(source.source.bytes(), 100 + 2);
        // One that is dropped leaves its turn to the next.
        let checked = Checked::new(source.clone(), quarters());
        source.source.reset();
        run(async {
            let mut dropped = checked.read(bytes_at(&[1])).boxed();
            assert!(futures::poll!(&mut dropped).is_pending());
            let mut waiting = checked.read(bytes_at(&[2])).boxed();
            assert!(futures::poll!(&mut waiting).is_pending());
            drop(dropped);
            assert_eq!(flat(waiting.await.unwrap()), [bytes()[2]]);
        });
        assert_eq!(source.source.bytes(), 100 + 1);
    }

    #[test]
    fn a_wrong_entry_is_an_error_for_all_who_want_it() {
        let mut stored = bytes();
        stored[130] ^= 1;
        let checked = Checked::new(Slow::of(stored, 0), quarters());
        let reads =
            [vec![5], vec![110], vec![30, 199], vec![250]].map(|places| checked.read(bytes_at(&places)));
        let failed: Vec<_> = run(join_all(reads)).into_iter().map(|answers| answers.is_err()).collect();
        assert_eq!(failed, [false, true, true, false]);
    }
}
