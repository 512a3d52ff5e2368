//! Stores: publishing, listing, the writer's promise to leave nothing behind.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use lance_footer::{Ask, Extent};
use lance_io::{Alignment, IoError, Store};

type Kept = Option<tempfile::TempDir>;

/// A store of every kind, with what keeps it alive.
fn stores() -> Vec<(Store, Kept)> {
    let directory = tempfile::tempdir().unwrap();
    let stores: Vec<(Store, Kept)> = vec![
        (Store::local(directory.path()), Some(directory)),
        (Store::memory(), None),
        (Store::memory().child("below/that"), None),
    ];
    #[cfg(feature = "object-store")]
    let stores = stores.into_iter().chain(object_stores()).collect();
    stores
}

#[cfg(feature = "object-store")]
fn object_stores() -> Vec<(Store, Kept)> {
    let directory = tempfile::tempdir().unwrap();
    let local = object_store::local::LocalFileSystem::new_with_prefix(directory.path()).unwrap();
    vec![
        (Store::object(Arc::new(object_store::memory::InMemory::new()), ""), None),
        (Store::object(Arc::new(object_store::memory::InMemory::new()), "/below/that/"), None),
        (Store::object(Arc::new(local), "tables"), Some(directory)),
    ]
}

async fn names(store: &Store, dir: &str) -> Vec<String> {
    store.list(dir).await.unwrap().into_iter().map(|listed| listed.name).collect()
}

#[tokio::test]
async fn the_first_of_a_listing() {
    for (store, _kept) in stores() {
        let (counted, counts) = store.counted();
        if counted.first("nowhere").await.unwrap().is_none() {
            assert!(!counted.lists_in_order());
            continue;
        }
        for number in 0..1003 {
            store.put(&format!("many/{number:04}"), "x".into()).await.unwrap();
        }
        for path in ["few/2", "few/1", "few/1a/3"] {
            store.put(path, "x".into()).await.unwrap();
        }
        // Files of a file system come in any order.
        let in_order = !counted.location("").contains("LocalFileSystem");
        match counted.first("many").await.unwrap() {
            Some((first, all)) => {
                assert_eq!((first.len(), first[0].name.as_str(), all), (1000, "0000", false))
            }
            None => assert!(!in_order),
        }
        let (first, all) = counted.first("few").await.unwrap().unwrap();
        let mut names = first.iter().map(|listed| listed.name.as_str()).collect::<Vec<_>>();
        names.sort_unstable();
        assert_eq!((names, all), (vec!["1", "2"], true));
        assert_eq!(counts.listings(), 3);
        counts.reset();
        assert_eq!(counted.list("many").await.unwrap().len(), 1003);
        assert_eq!((counts.listings(), counts.writes(), counts.requests()), (2, 0, 0));
    }
}

#[tokio::test]
async fn directories_are_removed_whole() {
    for (store, _kept) in stores() {
        for path in ["a/b", "a/c/d", "a/c/e/f", "ab", "x/a/b"] {
            store.put(path, "x".into()).await.unwrap();
        }
        let (counted, counts) = store.counted();
        counted.delete_all("a").await.unwrap();
        counted.delete_all("nowhere").await.unwrap();
        for path in ["a/b", "a/c/d", "a/c/e/f"] {
            assert!(matches!(store.read_all(path).await, Err(IoError::NotFound { .. })), "{path}");
        }
        assert_eq!(names(&store, "x/a").await, ["b"]);
        assert_eq!(store.read_all("ab").await.unwrap(), "x");
        assert!(counted.delete_all("../x").await.is_err());
        assert_eq!((counts.deletes(), counts.writes()), (2, 0));
    }
}

#[tokio::test]
async fn files_are_listed_with_their_times() {
    for (store, _kept) in stores() {
        // Clocks of file systems are coarse.
        let (from, coarse) = (SystemTime::now(), Duration::from_secs(2));
        store.put("a.txt", "one".into()).await.unwrap();
        store.put("b/c.txt", "two".into()).await.unwrap();
        let listed = store.list("").await.unwrap();
        let (file, dir) = (listed[0].modified.unwrap(), &listed[1]);
        assert!(file + coarse >= from && file <= SystemTime::now() + coarse, "{file:?}");
        assert_eq!((dir.is_dir, dir.modified), (true, None));
    }
}

#[tokio::test]
async fn files_come_back() {
    for (store, _kept) in stores() {
        assert!(store.list("").await.unwrap().is_empty());
        store.put("a/b.txt", "one".into()).await.unwrap();
        store.put("a/b.txt", "two".into()).await.unwrap();
        store.put("a/c/d.txt", "three".into()).await.unwrap();
        store.put("a.txt", "four".into()).await.unwrap();
        assert_eq!(store.read_all("a/b.txt").await.unwrap(), "two");
        assert_eq!(store.child("a").child("c").read_all("d.txt").await.unwrap(), "three");
        assert_eq!(store.child("a/b.txt").read_all("").await.unwrap(), "two");
        assert_eq!(store.open_file("a/c/d.txt", None).await.unwrap().size(), 5);
        assert_eq!(store.child("a.txt").open_file("", Some(4)).await.unwrap().size(), 4);

        let listed: Vec<_> =
            store.list("").await.unwrap().into_iter().map(|l| (l.name, l.size, l.is_dir)).collect();
        assert_eq!(listed, [("a".to_owned(), 0, true), ("a.txt".to_owned(), 4, false)]);
        assert_eq!(names(&store, "a").await, ["b.txt", "c"]);
        assert!(names(&store, "nowhere").await.is_empty());

        store.delete("a/b.txt").await.unwrap();
        store.delete("a/b.txt").await.unwrap();
        assert_eq!(names(&store, "a/").await, ["c"]);
        for error in [
            store.read_all("a/b.txt").await.unwrap_err(),
            store.open_file("a/b.txt", None).await.unwrap_err(),
        ] {
            assert!(matches!(&error, IoError::NotFound { path } if path.ends_with("a/b.txt")), "{error}");
        }
    }
}

#[tokio::test]
async fn paths_that_lead_out_are_refused() {
    for (store, _kept) in stores() {
        for path in ["../x", "a/../../x", "/etc/passwd"] {
            let refused = |error| matches!(error, IoError::InvalidUrl { .. });
            assert!(refused(store.read_all(path).await.unwrap_err()));
            assert!(refused(store.put(path, Bytes::new()).await.unwrap_err()));
            assert!(refused(store.create(path, Alignment::Bytes64).await.unwrap_err()));
            assert!(refused(store.delete(path).await.unwrap_err()));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_writers_exactly_one_wins() {
    for (store, _kept) in stores() {
        let store = Arc::new(store);
        let racers: Vec<_> = (0..32)
            .map(|racer| {
                let store = Arc::clone(&store);
                let bytes = Bytes::from(vec![racer; 10_000]);
                tokio::spawn(async move { store.put_if_absent("versions/1.manifest", bytes).await })
            })
            .collect();
        let mut winners = vec![];
        for (racer, task) in racers.into_iter().enumerate() {
            match task.await.unwrap() {
                Ok(()) => winners.push(racer as u8),
                Err(error) => assert!(matches!(error, IoError::AlreadyExists { .. }), "{error}"),
            }
        }
        assert_eq!(winners.len(), 1);
        assert_eq!(store.read_all("versions/1.manifest").await.unwrap(), vec![winners[0]; 10_000]);
        assert_eq!(names(&store, "versions").await, ["1.manifest"]);
    }
}

#[tokio::test]
async fn buffers_are_aligned_and_padding_is_zero() {
    for alignment in [Alignment::Bytes64, Alignment::Bytes4096] {
        for (store, _kept) in stores() {
            let mut writer = store.create("data/x.lance", alignment).await.unwrap();
            assert_eq!(writer.alignment(), alignment);
            let mut expected = vec![];
            for (value, len) in [(1, 3), (2, 0), (3, 64), (4, 4097), (5, 6_000_000), (6, 13_000_001), (7, 1)]
            {
                let bytes = Bytes::from(vec![value; len]);
                let parts = vec![bytes.slice(..len / 3), bytes.slice(len / 3..)];
                let extent = writer.buffer(parts).await.unwrap();
                expected.resize(expected.len().next_multiple_of(alignment.bytes() as usize), 0);
                assert_eq!((extent.offset(), extent.len()), (expected.len() as u64, len as u64));
                expected.extend_from_slice(&bytes);
                assert_eq!(writer.position(), expected.len() as u64);
            }
            writer.raw("end".into()).await.unwrap();
            expected.extend_from_slice(b"end");
            // Before it is finished, nothing is there that has its name.
            assert!(store.read_all("data/x.lance").await.is_err());
            assert_eq!(writer.finish().await.unwrap(), expected.len() as u64);
            assert!(store.read_all("data/x.lance").await.unwrap() == expected);
            assert_eq!(names(&store, "data").await, ["x.lance"]);
        }
    }
}

#[tokio::test]
async fn a_dropped_writer_leaves_nothing() {
    for (store, _kept) in stores() {
        for len in [0, 10, 10_000_000] {
            let mut writer = store.create("data/x.lance", Alignment::Bytes64).await.unwrap();
            assert!(names(&store, "data").await.iter().all(|name| name.starts_with(".tmp")));
            writer.raw(vec![1; len].into()).await.unwrap();
            drop(writer);
            assert!(names(&store, "data").await.is_empty());
        }
    }
}

#[tokio::test]
async fn a_failed_publication_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::local(directory.path());
    let mut writer = store.create("x", Alignment::Bytes64).await.unwrap();
    writer.raw("bytes".into()).await.unwrap();
    // A directory that is not empty cannot be replaced by a file.
    store.put("x/y", Bytes::new()).await.unwrap();
    let error = writer.finish().await.unwrap_err();
    assert!(error.to_string().contains("/x: "), "{error}");
    assert_eq!(names(&store, "").await, ["x"]);
}

#[tokio::test]
async fn a_write_below_a_file_is_refused_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::local(directory.path());
    store.put("file", Bytes::new()).await.unwrap();
    let error = store.create("file/x", Alignment::Bytes64).await.unwrap_err();
    assert!(error.to_string().contains("file/x"), "{error}");
    assert!(store.put_if_absent("file/x", Bytes::new()).await.is_err());
    assert_eq!(names(&store, "").await, ["file"]);
}

#[cfg(feature = "object-store")]
mod uploads {
    use std::fmt;
    use std::sync::Mutex;

    use futures::stream::BoxStream;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{
        CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
        PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
    };

    use super::*;

    /// What happened to uploads, and which call is to fail.
    #[derive(Debug, Default)]
    struct Log {
        calls: Mutex<Vec<&'static str>>,
        fail: Option<&'static str>,
    }

    impl Log {
        fn call(&self, call: &'static str) -> Result<()> {
            self.calls.lock().unwrap().push(call);
            match self.fail == Some(call) {
                false => Ok(()),
                true => Err(object_store::Error::Generic { store: "Faulty", source: call.into() }),
            }
        }

        fn count(&self, call: &str) -> usize {
            self.calls.lock().unwrap().iter().filter(|other| **other == call).count()
        }
    }

    /// A memory that logs and fails as it is told.
    #[derive(Debug)]
    struct Faulty {
        inner: InMemory,
        log: Arc<Log>,
    }

    impl fmt::Display for Faulty {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Faulty")
        }
    }

    #[derive(Debug)]
    struct FaultyUpload {
        inner: Box<dyn MultipartUpload>,
        log: Arc<Log>,
    }

    #[async_trait::async_trait]
    impl MultipartUpload for FaultyUpload {
        fn put_part(&mut self, data: PutPayload) -> UploadPart {
            let failed = self.log.call("part");
            let sent = self.inner.put_part(data);
            Box::pin(async {
                failed?;
                sent.await
            })
        }

        async fn complete(&mut self) -> Result<PutResult> {
            self.log.call("complete")?;
            self.inner.complete().await
        }

        async fn abort(&mut self) -> Result<()> {
            self.log.call("abort")?;
            self.inner.abort().await
        }
    }

    #[async_trait::async_trait]
    impl ObjectStore for Faulty {
        async fn put_opts(&self, to: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
            self.log.call("put")?;
            self.inner.put_opts(to, payload, options).await
        }

        async fn put_multipart_opts(
            &self,
            to: &Path,
            options: PutMultipartOptions,
        ) -> Result<Box<dyn MultipartUpload>> {
            self.log.call("start")?;
            let inner = self.inner.put_multipart_opts(to, options).await?;
            Ok(Box::new(FaultyUpload { inner, log: Arc::clone(&self.log) }))
        }

        async fn get_opts(&self, from: &Path, options: GetOptions) -> Result<GetResult> {
            self.inner.get_opts(from, options).await
        }

        fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
            self.inner.delete_stream(paths)
        }

        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
            self.inner.list(prefix)
        }

        async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
            self.inner.list_with_delimiter(prefix).await
        }

        async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
            self.inner.copy_opts(from, to, options).await
        }
    }

    fn faulty(fail: Option<&'static str>) -> (Store, Arc<Log>) {
        let log = Arc::new(Log { fail, ..Log::default() });
        let store = Faulty { inner: InMemory::new(), log: Arc::clone(&log) };
        (Store::object(Arc::new(store), "t"), log)
    }

    async fn write(store: &Store, bytes: usize) -> Result<u64, IoError> {
        let mut writer = store.create("x", Alignment::Bytes64).await?;
        for start in (0..bytes).step_by(3_000_000) {
            writer.raw(vec![1; 3_000_000.min(bytes - start)].into()).await?;
        }
        writer.finish().await
    }

    #[tokio::test]
    async fn small_objects_are_put_and_large_ones_sent_in_parts() {
        for (bytes, parts) in [(0, 0), (8_000_000, 0), (8 << 20, 1), (30_000_000, 4)] {
            let (store, log) = faulty(None);
            assert_eq!(write(&store, bytes).await.unwrap(), bytes as u64);
            assert_eq!(store.open_file("x", None).await.unwrap().size(), bytes as u64);
            assert_eq!(log.count("part"), parts);
            assert_eq!(log.count("put"), usize::from(parts == 0));
            assert_eq!(log.count("complete"), usize::from(parts > 0));
            assert_eq!(log.count("abort"), 0);
        }
    }

    #[tokio::test]
    async fn a_failed_upload_is_aborted() {
        for call in ["start", "part", "complete"] {
            let (store, log) = faulty(Some(call));
            let error = write(&store, 30_000_000).await.unwrap_err();
            assert!(error.to_string().contains(call) && error.to_string().contains("Faulty/t/x"), "{error}");
            assert_eq!(log.count("abort"), usize::from(call != "start"));
            assert!(store.list("").await.unwrap().is_empty());
        }
    }

    #[tokio::test]
    async fn a_dropped_upload_is_aborted() {
        let (store, log) = faulty(None);
        let mut writer = store.create("x", Alignment::Bytes64).await.unwrap();
        writer.raw(vec![1; 20_000_000].into()).await.unwrap();
        drop(writer);
        while log.count("abort") == 0 {
            tokio::task::yield_now().await;
        }
        assert!(store.list("").await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_writer_that_failed_stays_failed() {
        let (store, _log) = faulty(Some("start"));
        let mut writer = store.create("x", Alignment::Bytes64).await.unwrap();
        assert!(writer.raw(vec![1; 9_000_000].into()).await.is_err());
        assert!(writer.raw("more".into()).await.unwrap_err().to_string().contains("earlier write"));
        assert!(writer.finish().await.is_err());
    }

    #[tokio::test]
    async fn a_writer_whose_write_was_cancelled_stays_failed() {
        let (store, log) = faulty(None);
        let mut writer = store.create("x", Alignment::Bytes64).await.unwrap();
        // More parts than are sent at a time, so that the write has to wait.
        let write = writer.raw(vec![1; 60_000_000].into());
        assert!(futures::future::poll_immediate(write).await.is_none());
        assert!(writer.raw("more".into()).await.unwrap_err().to_string().contains("cancelled"));
        assert!(writer.finish().await.is_err());
        while log.count("abort") == 0 {
            tokio::task::yield_now().await;
        }
        assert!(store.list("").await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_counted_store_counts_what_its_files_are_asked() {
    let store = Store::memory();
    store.put("d/a", Bytes::from_static(&[1; 100])).await.unwrap();
    store.put("d/b", Bytes::from_static(&[2; 50])).await.unwrap();
    let (counted, counts) = store.counted();
    counted.child("d").read_all("a").await.unwrap();
    assert_eq!((counts.rounds(), counts.requests(), counts.bytes()), (1, 1, 100));
    let file = counted.open_file("d/b", None).await.unwrap();
    let extent = Extent::new(10, 20).unwrap();
    file.read(vec![Ask::slices(vec![extent])]).await.unwrap();
    assert_eq!((counts.rounds(), counts.bytes()), (2, 120));
    assert_eq!(counts.extents(), [Extent::new(0, 100).unwrap(), extent]);
    assert_eq!((counts.heads(), counts.writes(), counts.bytes_written()), (1, 0, 0));
    counted.open_file("d/b", Some(50)).await.unwrap();
    counted.put("d/c", Bytes::from_static(&[3; 10])).await.unwrap();
    counted.put_if_absent("d/d", Bytes::from_static(&[3; 5])).await.unwrap();
    let mut writer = counted.create("d/e", Alignment::Bytes64).await.unwrap();
    writer.raw(Bytes::from_static(b"x")).await.unwrap();
    writer.buffer(vec![Bytes::from_static(b"yz")]).await.unwrap();
    assert_eq!(writer.finish().await.unwrap(), 66);
    assert_eq!((counts.heads(), counts.writes(), counts.bytes_written()), (1, 3, 81));
    counts.reset();
    store.read_all("d/a").await.unwrap();
    assert_eq!((counts.rounds(), counts.bytes(), counts.heads(), counts.bytes_written()), (0, 0, 0, 0));
}
