//! Stores: publishing, listing, the writer's promise to leave nothing behind.

use std::sync::Arc;

use bytes::Bytes;
use lance_io::{Alignment, IoError, Store};

type Kept = Option<tempfile::TempDir>;

/// A store of every kind, with what keeps it alive.
fn stores() -> Vec<(Store, Kept)> {
    let directory = tempfile::tempdir().unwrap();
    vec![
        (Store::local(directory.path()), Some(directory)),
        (Store::memory(), None),
        (Store::memory().child("below/that"), None),
    ]
}

async fn names(store: &Store, dir: &str) -> Vec<String> {
    store.list(dir).await.unwrap().into_iter().map(|listed| listed.name).collect()
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
            for (value, len) in [(1, 3), (2, 0), (3, 64), (4, 4097), (5, 6_000_000), (6, 1)] {
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
