//! Whatever the source, the same extents give the same bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]

use std::sync::Arc;

use bytes::Bytes;
use lance_footer::{Answer, Ask, Extent, FormatError, Machine, Step};
use lance_io::{Counting, DirectFile, IoError, LocalFile, MemoryFile, ReadAt, drive, drive_many};
use proptest::prelude::*;

/// Asks for what it is told to, a round after the other, and gives all answers as plain bytes.
struct Script {
    rounds: Vec<Vec<Ask>>,
    read: Vec<Vec<u8>>,
}

impl Script {
    fn new(rounds: Vec<Vec<Ask>>) -> Self {
        Self { rounds: rounds.into_iter().rev().collect(), read: vec![] }
    }
}

impl Machine for Script {
    type Output = Vec<Vec<u8>>;

    fn step(&mut self, answers: Vec<Answer>) -> Result<Step<Self::Output>, FormatError> {
        for answer in answers {
            match answer {
                Answer::Slices(slices) => self.read.extend(slices.iter().map(|slice| slice.to_vec())),
                Answer::Packed(slab) => self.read.push(slab.to_vec()),
            }
        }
        Ok(match self.rounds.pop() {
            Some(asks) => Step::Fetch(asks),
            None => Step::Ready(std::mem::take(&mut self.read)),
        })
    }
}

fn content(len: usize) -> Bytes {
    let mut state = 1_u32;
    let byte = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len).map(byte).collect()
}

/// A file of `bytes` in every kind of source, with what keeps it alive.
struct Sources {
    all: Vec<Arc<dyn ReadAt>>,
    _directory: tempfile::TempDir,
}

impl Sources {
    async fn new(bytes: &Bytes) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        let local: Arc<dyn ReadAt> = Arc::new(LocalFile::open(&path).await.unwrap());
        let memory: Arc<dyn ReadAt> = Arc::new(MemoryFile::new("memory", bytes.clone()));
        let mut all = vec![Arc::clone(&local), Arc::clone(&memory)];
        all.push(Arc::new(Counting::new(local)));
        all.push(Arc::new(Counting::new(memory)));
        match DirectFile::open(&path).await {
            Ok(direct) => all.push(Arc::new(direct)),
            Err(error) => eprintln!("skipped direct I/O: {error}"),
        }
        #[cfg(feature = "object-store")]
        {
            use object_store::{ObjectStoreExt, local::LocalFileSystem, memory::InMemory, path::Path};
            let store = InMemory::new();
            store.put(&Path::from("file"), bytes.clone().into()).await.unwrap();
            all.push(Arc::new(
                lance_io::ObjectFile::open(Arc::new(store), "file".into(), None).await.unwrap(),
            ));
            let store = Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
            let size = Some(bytes.len() as u64);
            all.push(Arc::new(lance_io::ObjectFile::open(store, "file".into(), size).await.unwrap()));
        }
        Self { all, _directory: directory }
    }
}

/// What a script should give over `bytes`.
fn expected(rounds: &[Vec<Ask>], bytes: &Bytes) -> Vec<Vec<u8>> {
    let part = |extent: &Extent| bytes[extent.offset() as usize..extent.end() as usize].to_vec();
    let mut read = vec![];
    for ask in rounds.iter().flatten() {
        match ask.gather {
            lance_footer::Gather::Slices => read.extend(ask.extents.iter().map(part)),
            lance_footer::Gather::Packed => read.push(ask.extents.iter().flat_map(part).collect()),
        }
    }
    read
}

fn rounds(size: u64) -> impl Strategy<Value = Vec<Vec<Ask>>> {
    let len = prop_oneof![4 => 0_u64..200, 2 => 0_u64..9_000, 1 => 0_u64..size / 2];
    let extent =
        (0..size, len).prop_map(move |(offset, len)| Extent::new(offset, len.min(size - offset)).unwrap());
    // Neighbours in the file and in the ask, as rows of a range are.
    let neighbours = (0..size / 2, 1_u64..20, 1_u64..300).prop_map(move |(start, count, len)| {
        let extent = |n: u64| Extent::new((start + n * len).min(size - len), len).unwrap();
        (0..count).map(extent).collect::<Vec<_>>()
    });
    let extents = prop_oneof![
        3 => prop::collection::vec(extent, 0..20),
        1 => neighbours,
    ];
    let ask = (extents, any::<bool>())
        .prop_map(|(extents, packed)| if packed { Ask::packed(extents) } else { Ask::slices(extents) });
    prop::collection::vec(prop::collection::vec(ask, 1..4), 1..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn all_sources_answer_alike(script in rounds(100_000)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let bytes = content(100_000);
            let sources = Sources::new(&bytes).await;
            let expected = expected(&script, &bytes);
            let mut work = vec![];
            for source in &sources.all {
                let read = drive(Script::new(script.clone()), source).await.unwrap();
                assert!(read == expected, "{source:?}");
                // Twice the same source, once with fewer rounds.
                work.push((Script::new(script.clone()), Arc::clone(source)));
                work.push((Script::new(script[1..].to_vec()), Arc::clone(source)));
            }
            for (index, read) in drive_many(work).await.unwrap().into_iter().enumerate() {
                assert!(expected.ends_with(&read));
                assert!(index % 2 == 1 || read.len() == expected.len());
            }
        });
    }
}

#[tokio::test]
async fn extents_outside_are_refused_before_anything_is_read() {
    let sources = Sources::new(&content(1000)).await;
    for source in &sources.all {
        for extent in [
            Extent::new(1000, 1).unwrap(),
            Extent::new(0, 1001).unwrap(),
            Extent::new(u64::MAX, 0).unwrap(),
            Extent::new(0, u64::MAX).unwrap(),
        ] {
            for ask in [Ask::slices(vec![extent]), Ask::packed(vec![extent])] {
                let error = drive(Script::new(vec![vec![ask.clone()]]), source).await.unwrap_err();
                assert!(matches!(error, IoError::Format { .. }), "{error}");
                let text = error.to_string();
                assert!(text.contains(source.path()) && text.contains("it has 1000 bytes"), "{text}");
                let work = vec![(Script::new(vec![vec![ask.clone()]]), Arc::clone(source))];
                assert!(drive_many(work).await.is_err());
                assert!(source.read(vec![ask.clone()]).await.is_err());
                if let Some(blocking) = source.blocking() {
                    assert!(blocking.read_blocking(&[ask]).is_err());
                }
            }
        }
        let end = Ask::slices(vec![Extent::new(1000, 0).unwrap()]);
        assert_eq!(drive(Script::new(vec![vec![end]]), source).await.unwrap(), [[0; 0]]);
    }
}

#[tokio::test]
async fn an_empty_fetch_is_refused() {
    let source: Arc<dyn ReadAt> = Arc::new(MemoryFile::new("m", Bytes::new()));
    assert!(drive(Script::new(vec![vec![]]), &source).await.is_err());
    assert!(drive_many(vec![(Script::new(vec![vec![]]), source)]).await.is_err());
    assert!(drive_many::<Script>(vec![]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_file_that_shrank_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, content(1000)).unwrap();
    let file = LocalFile::open(&path).await.unwrap();
    std::fs::write(&path, content(10)).unwrap();
    let extent = Extent::new(5, 10).unwrap();
    for ask in [Ask::slices(vec![extent]), Ask::packed(vec![extent])] {
        assert!(matches!(file.read(vec![ask]).await, Err(IoError::Io { .. })));
    }
}

#[tokio::test]
async fn aligned_bytes_are_aligned_in_memory() {
    let sources = Sources::new(&content(100_000)).await;
    let file = &sources.all[0];
    let extents = vec![Extent::new(64, 800).unwrap(), Extent::new(51_200, 40_000).unwrap()];
    let answers = file.read(vec![Ask::slices(extents.clone()), Ask::packed(extents)]).await.unwrap();
    for answer in &answers {
        match answer {
            Answer::Slices(slices) => {
                assert!(slices.iter().all(|slice| slice.as_ptr().align_offset(64) == 0));
            }
            Answer::Packed(slab) => assert_eq!(slab.as_ptr().align_offset(64), 0),
        }
    }
}

#[tokio::test]
async fn requests_and_bytes_are_counted() {
    let sources = Sources::new(&content(100_000)).await;
    for source in &sources.all[..2] {
        let counting = Counting::new(Arc::clone(source));
        let extents =
            vec![Extent::new(0, 10).unwrap(), Extent::new(50_000, 10).unwrap(), Extent::new(100, 5).unwrap()];
        let script = || Script::new(vec![vec![Ask::slices(extents.clone())]]);
        let source: Arc<dyn ReadAt> = Arc::new(counting.clone());
        drive(script(), &source).await.unwrap();
        assert_eq!((counting.rounds(), counting.requests(), counting.bytes()), (1, 2, 25));
        assert_eq!(counting.extents(), extents);
        // Two machines of one source are one round.
        drive_many(vec![(script(), Arc::clone(&source)), (script(), source)]).await.unwrap();
        assert_eq!((counting.rounds(), counting.requests(), counting.bytes()), (2, 4, 75));
        counting.reset();
        assert_eq!((counting.rounds(), counting.requests(), counting.bytes()), (0, 0, 0));
        assert!(counting.extents().is_empty());
    }
}

#[tokio::test]
async fn missing_files_and_directories_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(LocalFile::open(directory.path().join("x")).await, Err(IoError::NotFound { .. })));
    assert!(matches!(LocalFile::open(directory.path()).await, Err(IoError::Io { .. })));
}

#[test]
fn local_files_are_read_without_a_runtime_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, content(1000)).unwrap();
    let script = Script::new(vec![vec![Ask::slices(vec![Extent::new(1, 2).unwrap()])]]);
    let read = futures::executor::block_on(async {
        let source: Arc<dyn ReadAt> = Arc::new(LocalFile::open(&path).await?);
        drive(script, &source).await
    });
    assert_eq!(read.unwrap(), [content(1000)[1..3].to_vec()]);
}

#[tokio::test]
async fn direct_io_reads_past_the_cache_or_says_why_not() {
    // Temporary directories are often in memory, where direct I/O is refused or pointless.
    for directory in [std::env::temp_dir(), env!("CARGO_TARGET_TMPDIR").into()] {
        let directory = tempfile::tempdir_in(directory).unwrap();
        let path = directory.path().join("file");
        let bytes = content(20_000_000);
        std::fs::write(&path, &bytes).unwrap();
        match DirectFile::open(&path).await {
            Ok(file) => {
                let file: Arc<dyn ReadAt> = Arc::new(file);
                // Aligned, unaligned, the end of the file, longer than one read, in one round.
                let pairs = [(8192, 4096), (5, 10), (19_999_000, 1000), (4095, 2), (1, 19_999_998), (7, 0)];
                let extents: Vec<_> =
                    pairs.iter().map(|&(offset, len)| Extent::new(offset, len).unwrap()).collect();
                let script = vec![vec![Ask::slices(extents.clone())], vec![Ask::packed(extents)]];
                assert!(
                    drive(Script::new(script.clone()), &file).await.unwrap() == expected(&script, &bytes)
                );
            }
            Err(error) => {
                assert!(matches!(error, IoError::Unsupported { .. }), "{error}");
                eprintln!("skipped: {error}");
            }
        }
        let missing = DirectFile::open(directory.path().join("x")).await.unwrap_err();
        assert!(matches!(missing, IoError::NotFound { .. } | IoError::Unsupported { .. }));
    }
}

#[cfg(feature = "object-store")]
#[tokio::test]
async fn long_extents_of_objects_are_fetched_in_parts() {
    use object_store::{ObjectStoreExt, memory::InMemory};
    let bytes = content(40_000_000);
    let store = Arc::new(InMemory::new());
    store.put(&"file".into(), bytes.clone().into()).await.unwrap();
    let file: Arc<dyn ReadAt> =
        Arc::new(lance_io::ObjectFile::open(Arc::clone(&store) as _, "file".into(), None).await.unwrap());
    let extents = vec![Extent::new(3, 39_000_000).unwrap(), Extent::new(39_500_000, 7).unwrap()];
    let script = vec![vec![Ask::slices(extents.clone()), Ask::packed(extents)]];
    assert!(drive(Script::new(script.clone()), &file).await.unwrap() == expected(&script, &bytes));

    // A wrong size from a manifest is an error, not a short answer.
    let file = lance_io::ObjectFile::open(store, "file".into(), Some(50_000_000)).await.unwrap();
    let end = Ask::slices(vec![Extent::new(39_999_999, 10).unwrap()]);
    assert!(file.read(vec![end]).await.is_err());
}
