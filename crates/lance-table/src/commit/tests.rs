use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use futures::stream::BoxStream;
use lance_file::proto::Field;
use lance_footer::Version;
use lance_io::{FailPoints, Moment};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};

use super::*;
use crate::Table;
use crate::operation::{Append, Delete, Overwrite};
use crate::proto::transaction::Operation as Stored;
use crate::proto::{self, DataFile, DataFragment};

fn fragment(name: &str) -> DataFragment {
    let file = DataFile {
        path: name.into(),
        fields: vec![0],
        column_indices: vec![0],
        file_major_version: 2,
        file_minor_version: 2,
        ..Default::default()
    };
    DataFragment { files: vec![file], physical_rows: 3, ..Default::default() }
}

fn append(name: &str) -> Operation {
    Operation::Append(Append { fragments: vec![fragment(name)] })
}

fn create() -> Operation {
    let field = Field { name: "a".into(), parent_id: -1, logical_type: "int32".into(), ..Default::default() };
    Operation::Overwrite(Overwrite {
        fragments: vec![],
        fields: vec![field],
        schema_metadata: Default::default(),
        version: Version::V2_2,
        stable_row_ids: false,
        config: Default::default(),
    })
}

async fn commit(store: &Store, read: u64, operation: Operation) -> Result<Found> {
    super::commit(store, read, operation, &CommitOptions::default(), vec![]).await
}

async fn names(store: &Store) -> Vec<String> {
    let found = latest::latest(store).await.unwrap().unwrap();
    let files = found.manifest.message.fragments.iter().flat_map(|fragment| &fragment.files);
    files.map(|file| file.path.clone()).collect()
}

async fn transactions(store: &Store) -> usize {
    store.list(TRANSACTIONS).await.unwrap().len()
}

/// Many writers that all read version 1.
async fn everybody_appends(store: Store) {
    everybody_appends_with(store, CommitOptions::default()).await;
}

async fn everybody_appends_with(store: Store, options: CommitOptions) {
    const WRITERS: usize = 12;
    super::commit(&store, 0, create(), &options, vec![]).await.unwrap();
    let writers = (0..WRITERS).map(|writer| {
        let (store, options) = (store.clone(), options.clone());
        let operation = append(&writer.to_string());
        tokio::spawn(async move { super::commit(&store, 1, operation, &options, vec![]).await })
    });
    let mut versions = vec![];
    for writer in writers.collect::<Vec<_>>() {
        versions.push(writer.await.unwrap().unwrap().manifest.version());
    }
    versions.sort_unstable();
    assert_eq!(versions, (2..2 + WRITERS as u64).collect::<Vec<_>>());
    let all = names(&store).await.into_iter().collect::<BTreeSet<_>>();
    assert_eq!(all, (0..WRITERS).map(|writer| writer.to_string()).collect());
    let (listed, _) = latest::list(&store).await.unwrap().unwrap();
    assert_eq!(listed, (1..2 + WRITERS as u64).collect::<Vec<_>>());
    // Attempts that failed leave nothing.
    assert_eq!(transactions(&store).await, 1 + WRITERS);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_appends_in_memory() {
    everybody_appends(Store::memory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_appends_in_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::local(dir.path());
    everybody_appends(store.clone()).await;
    let hint = store.read_all(names::HINT).await.unwrap();
    assert!(hint.starts_with(b"{\"version\":"));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_appends_in_an_object_store() {
    everybody_appends(Store::object(Arc::new(InMemory::new()), "some/table")).await;
}

#[tokio::test]
async fn a_table_is_made_once() {
    let store = Store::memory();
    let found = commit(&store, 0, create()).await.unwrap();
    assert_eq!(found.manifest.version(), 1);
    assert_eq!(found.manifest.message.transaction_file.split_once('-').unwrap().0, "0");
    assert!(matches!(commit(&store, 0, create()).await, Err(TableError::AlreadyExists { .. })));
    assert!(matches!(commit(&store, 2, append("a")).await, Err(TableError::NotFound { .. })));
}

#[tokio::test]
async fn operations_that_do_not_go_together() {
    let store = Store::memory();
    commit(&store, 0, create()).await.unwrap();
    commit(&store, 1, create()).await.unwrap();
    let conflict = |result: Result<Found>| match result {
        Err(TableError::Conflict { version, retryable, .. }) => (version, retryable),
        other => panic!("{other:?}"),
    };
    assert_eq!(conflict(commit(&store, 1, append("a")).await), (2, false));
    assert_eq!(conflict(commit(&store, 1, create()).await), (2, true));
    commit(&store, 2, append("a")).await.unwrap();
    // An overwrite goes after appends that it did not see.
    assert_eq!(commit(&store, 2, create()).await.unwrap().manifest.version(), 4);
    assert!(names(&store).await.is_empty());
}

/// An operation that deletes the rows at `rows` of fragment 0 as of `found`.
async fn delete(store: &Store, found: &Found, rows: &[u32]) -> Operation {
    let table = Table::from_found(store.clone(), found.clone(), Default::default()).await.unwrap();
    let offsets = [(0, rows.iter().copied().collect())].into();
    let rows = table.mark_deleted(offsets, &mut vec![]).await.unwrap();
    Operation::Delete(Delete { rows, predicate: String::new() })
}

async fn deleted(found: &Found, store: &Store) -> Vec<u32> {
    let places = Places::new(store.clone(), vec![]);
    let fragment = found.manifest.message.fragments.first().unwrap();
    deletion::read(&places, fragment).await.unwrap().into_iter().collect()
}

#[tokio::test]
async fn deletes_are_put_together() {
    let store = Store::memory();
    commit(&store, 0, create()).await.unwrap();
    let mut five = fragment("a");
    five.physical_rows = 5;
    let read = commit(&store, 1, Operation::Append(Append { fragments: vec![five] })).await.unwrap();
    let [first, second, same, rest, all] = [
        delete(&store, &read, &[0, 3]).await,
        delete(&store, &read, &[1]).await,
        delete(&store, &read, &[1, 2]).await,
        delete(&store, &read, &[2, 4]).await,
        delete(&store, &read, &[0, 1, 2, 3, 4]).await,
    ];
    let found = commit(&store, 2, first).await.unwrap();
    assert_eq!(deleted(&found, &store).await, [0, 3]);
    let found = commit(&store, 2, second).await.unwrap();
    assert_eq!(deleted(&found, &store).await, [0, 1, 3]);
    let file = found.manifest.message.fragments[0].deletion_file.unwrap();
    assert_eq!((file.num_deleted_rows, file.read_version), (3, 3));
    // The transaction says what became of it, so that others can go after it.
    let Some(Stored::Delete(stored)) = found.manifest.transaction.clone().unwrap().operation else {
        panic!()
    };
    assert_eq!(stored.updated_fragments[0].deletion_file, Some(file));
    for ours in [same, all] {
        let error = commit(&store, 2, ours).await.unwrap_err();
        let TableError::Conflict { version: 4, ours: "delete", theirs: "delete", retryable: true, .. } =
            error
        else {
            panic!("{error}")
        };
    }
    // Together they leave no row.
    let found = commit(&store, 2, rest).await.unwrap();
    assert!(found.manifest.message.fragments.is_empty());
}

#[tokio::test]
async fn without_a_transaction_nobody_goes_after() {
    let store = Store::memory();
    commit(&store, 0, create()).await.unwrap();
    let mut found = commit(&store, 1, append("a")).await.unwrap();
    // Only the file is left, then nothing.
    found.manifest.transaction = None;
    let path = Naming::V2.path(2);
    store.put(&path, found.manifest.to_file().unwrap()).await.unwrap();
    commit(&store, 1, append("b")).await.unwrap();
    found.manifest.message.transaction_file.clear();
    store.put(&path, found.manifest.to_file().unwrap()).await.unwrap();
    assert!(matches!(commit(&store, 1, append("c")).await, Err(TableError::Conflict { version: 2, .. })));
}

#[tokio::test]
async fn old_names_are_kept() {
    let store = Store::memory();
    let found = commit(&store, 0, create()).await.unwrap();
    let other = Store::memory();
    other.put(&Naming::V1.path(1), found.manifest.to_file().unwrap()).await.unwrap();
    assert_eq!(commit(&other, 1, append("a")).await.unwrap().naming, Naming::V1);
    let listed = other.list(names::VERSIONS).await.unwrap();
    assert_eq!(listed.iter().map(|listed| &listed.name).collect::<Vec<_>>(), ["1.manifest", "2.manifest"]);
}

#[tokio::test]
async fn tables_with_unknown_features_are_not_written() {
    let store = Store::memory();
    let mut found = commit(&store, 0, create()).await.unwrap();
    found.manifest.message.writer_feature_flags |= 1 << 17;
    let path = Naming::V2.path(1);
    store.put(&path, found.manifest.to_file().unwrap()).await.unwrap();
    let error = commit(&store, 1, append("a")).await.unwrap_err();
    assert!(matches!(error, TableError::RefusedFlags { .. }));
    assert!(error.to_string().contains("writing to a table with object metadata (flag bit 17)"), "{error}");
}

/// What happens to the next create-only write.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// It takes effect, but is answered as if somebody else had been first.
    Echo,
    /// It takes effect, but the answer is lost.
    LostAnswer,
    /// It is lost.
    LostWrite,
    /// Somebody else is first, and the answer is lost.
    Beaten,
}

#[derive(Debug)]
struct Faulty {
    inner: InMemory,
    next: AtomicU8,
    /// Whether it writes over what is there even if it is told not to.
    careless: bool,
    /// How many objects are being read, and how many were at most.
    reading: AtomicUsize,
    most: AtomicUsize,
}

impl Faulty {
    fn new(careless: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: InMemory::new(),
            next: AtomicU8::new(0),
            careless,
            reading: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        })
    }

    fn set(&self, fault: Fault) {
        self.next.store(fault as u8, Ordering::SeqCst);
    }

    fn take(&self) -> Fault {
        match self.next.swap(0, Ordering::SeqCst) {
            0 => Fault::None,
            1 => Fault::Echo,
            2 => Fault::LostAnswer,
            3 => Fault::LostWrite,
            _ => Fault::Beaten,
        }
    }
}

impl std::fmt::Display for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> object_store::Result<PutResult> {
        if self.careless {
            options.mode = PutMode::Overwrite;
        }
        let fault = if options.mode == PutMode::Create { self.take() } else { Fault::None };
        let lost = || object_store::Error::Generic { store: "faulty", source: "lost".into() };
        match fault {
            Fault::None => return self.inner.put_opts(location, payload, options).await,
            Fault::LostWrite => return Err(lost()),
            Fault::Beaten => {
                let first = PutPayload::from(others_manifest());
                self.inner.put_opts(location, first, options).await?;
            }
            Fault::Echo | Fault::LostAnswer => {
                self.inner.put_opts(location, payload, options).await?;
            }
        }
        if fault == Fault::Echo {
            let path = location.to_string();
            return Err(object_store::Error::AlreadyExists { path, source: "exists".into() });
        }
        Err(lost())
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        self.most.fetch_max(self.reading.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // An answer takes its time.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let result = self.inner.get_opts(location, options).await;
        self.reading.fetch_sub(1, Ordering::SeqCst);
        result
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// Version 2 as somebody else made it.
fn others_manifest() -> Bytes {
    let Operation::Overwrite(create) = create() else { panic!("no overwrite") };
    let mut manifest = create.apply(None, SystemTime::now()).unwrap();
    manifest.message.version = 2;
    let operation = Some(append("theirs").to_proto());
    manifest.transaction = Some(Transaction { uuid: "theirs".into(), operation, ..Default::default() });
    manifest.to_file().unwrap()
}

#[tokio::test]
async fn lost_answers() {
    for fault in [Fault::Echo, Fault::LostAnswer, Fault::LostWrite, Fault::Beaten] {
        let faulty = Faulty::new(false);
        let store = Store::object(Arc::clone(&faulty) as Arc<dyn ObjectStore>, "table");
        commit(&store, 0, create()).await.unwrap();
        faulty.set(fault);
        let result = commit(&store, 1, append("ours")).await;
        match fault {
            Fault::None | Fault::Echo | Fault::LostAnswer => {
                assert_eq!(result.unwrap().manifest.version(), 2, "{fault:?}");
                assert_eq!(names(&store).await, ["ours"], "{fault:?}");
            }
            Fault::LostWrite => {
                // It may still arrive, so the transaction stays.
                assert!(matches!(result, Err(TableError::UnknownOutcome { version: 2, .. })), "{result:?}");
                assert_eq!(transactions(&store).await, 2);
            }
            Fault::Beaten => {
                // That is a lost race, and ours comes next.
                assert_eq!(result.unwrap().manifest.version(), 3);
                assert_eq!(names(&store).await, ["ours"]);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_ignore_conditions_need_a_lock() {
    let store = Store::object(Faulty::new(true), "table");
    let error = commit(&store, 0, create()).await.unwrap_err();
    assert!(matches!(error, TableError::Io(IoError::Unsupported { .. })), "{error}");
    assert!(error.to_string().contains("name a file that all writers lock"), "{error}");
    // Neither the transaction nor the probe is left.
    for dir in [TRANSACTIONS, names::VERSIONS] {
        assert!(store.list(dir).await.unwrap().is_empty(), "{dir}");
    }
    let dir = tempfile::tempdir().unwrap();
    let lock = Some(dir.path().join("table.lock"));
    everybody_appends_with(store, CommitOptions { lock, ..Default::default() }).await;
}

/// A version whose name may not be on the disk can be read, and may be gone after a power failure.
#[tokio::test]
async fn what_may_not_last_is_not_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::local(dir.path()).durable(false);
    commit(&store, 0, create()).await.unwrap();
    let fail =
        FailPoints::new(|moment: &Moment<'_>| match moment.done && moment.path.ends_with(".manifest") {
            true => {
                let source = std::io::Error::other("the disk is gone");
                Err(IoError::NotDurable { path: moment.path.into(), source })
            }
            false => Ok(()),
        });
    let error = commit(&store.with_failpoints(fail), 1, append("a")).await.unwrap_err();
    assert!(matches!(error, TableError::UnknownOutcome { version: 2, .. }), "{error}");
    // Nothing of it is removed.
    assert_eq!((names(&store).await, transactions(&store).await), (vec!["a".into()], 2));
}

/// Neither one after the other nor all at once.
#[tokio::test]
async fn versions_are_read_side_by_side() {
    const VERSIONS: u64 = 200;
    let faulty = Faulty::new(false);
    let store = Store::object(Arc::clone(&faulty) as Arc<dyn ObjectStore>, "table");
    commit(&store, 0, create()).await.unwrap();
    for version in 1..VERSIONS {
        commit(&store, version, append("a")).await.unwrap();
    }
    let reset = || faulty.most.swap(0, Ordering::SeqCst);
    reset();
    let table = Table::open(store.clone(), None).await.unwrap();
    assert_eq!((table.versions().await.unwrap().len() as u64, reset()), (VERSIONS, CONCURRENT));
    // A commit that comes late looks at what all others did.
    commit(&store, 1, append("late")).await.unwrap();
    assert_eq!(reset(), CONCURRENT);
}

/// A version that nobody says anything about may be ours: nothing of it is removed.
#[tokio::test]
async fn what_nobody_tells_of_is_not_taken_for_lost() {
    let faulty = Faulty::new(false);
    let store = Store::object(Arc::clone(&faulty) as Arc<dyn ObjectStore>, "table");
    let found = commit(&store, 0, create()).await.unwrap();
    let mut silent = found.manifest.clone();
    silent.message.version = 2;
    silent.transaction = None;
    silent.message.transaction_file.clear();
    store.put("data/ours", Bytes::from_static(b"x")).await.unwrap();
    // Between our look at the latest version and our write.
    let operation = append("ours");
    let options = CommitOptions::default();
    let previous = latest::latest(&store).await.unwrap();
    store.put(&Naming::V2.path(2), silent.to_file().unwrap()).await.unwrap();
    let error = publish(&store, previous.as_ref(), &operation, "uuid", &options).await.unwrap_err();
    assert!(matches!(error, TableError::UnknownOutcome { version: 2, .. }), "{error}");
    abandon(&store, vec!["data/ours".into()], &error).await;
    assert_eq!(store.read_all("data/ours").await.unwrap(), "x");
}

/// Another writer replaced the values of a column in place; the deletion file is the same.
#[tokio::test]
async fn rows_whose_values_changed_are_looked_at_again() {
    let store = Store::memory();
    commit(&store, 0, create()).await.unwrap();
    let mut four = fragment("a");
    four.physical_rows = 4;
    let read = commit(&store, 1, Operation::Append(Append { fragments: vec![four] })).await.unwrap();
    let ours = delete(&store, &read, &[1]).await;
    let mut next = read.manifest.clone();
    next.message.version = 3;
    let changed = &mut next.message.fragments[0];
    changed.files[0].path = "b".into();
    let updated =
        proto::transaction::Update { updated_fragments: vec![changed.clone()], ..Default::default() };
    let operation = Some(Stored::Update(updated));
    next.transaction = Some(Transaction { uuid: "theirs".into(), operation, ..Default::default() });
    store.put(&Naming::V2.path(3), next.to_file().unwrap()).await.unwrap();
    let error = commit(&store, 2, ours).await.unwrap_err();
    assert!(matches!(error, TableError::Conflict { version: 3, retryable: true, .. }), "{error}");
}

/// A file may stand there although its writer was told that it failed.
#[tokio::test]
async fn what_may_stand_there_is_removed() {
    use futures::FutureExt;
    use futures::future::BoxFuture;

    use crate::{Expr, NewColumns, WriteMode, WriteOptions};

    async fn appended(table: Table) -> Result<()> {
        let batch = arrow_array::record_batch!(("id", Int32, [4])).unwrap();
        let options = WriteOptions { mode: WriteMode::Append, ..Default::default() };
        Table::write(table.store().clone(), batch.into(), options).await.map(|_| ())
    }
    async fn deleted(table: Table) -> Result<()> {
        let filter = "id = 2".parse::<Expr>().unwrap();
        table.delete(&filter, &CommitOptions::default()).await.map(|_| ())
    }
    async fn widened(table: Table) -> Result<()> {
        let new = NewColumns::expressions([("more", "id + 1".parse::<Expr>().unwrap())]);
        table.add_columns(new, &Default::default()).await.map(|_| ())
    }
    type Run = fn(Table) -> BoxFuture<'static, Result<()>>;
    let cases: [(Run, &str); 6] = [
        (|table| appended(table).boxed(), ".lance"),
        (|table| appended(table).boxed(), ".txn"),
        (|table| deleted(table).boxed(), ".bin"),
        (|table| deleted(table).boxed(), ".txn"),
        (|table| widened(table).boxed(), ".lance"),
        (|table| widened(table).boxed(), ".txn"),
    ];
    for (run, suffix) in cases {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::local(dir.path()).durable(false);
        let batch = arrow_array::record_batch!(("id", Int32, [1, 2, 3])).unwrap();
        Table::write(store.clone(), batch.into(), WriteOptions::default()).await.unwrap();
        let files = || async {
            let mut files = vec![];
            for place in ["data", "_deletions", "_transactions", "_versions"] {
                files.extend(store.list(place).await.unwrap());
            }
            files.into_iter().map(|file| file.name).collect::<BTreeSet<_>>()
        };
        let before = files().await;
        let stood = Arc::new(AtomicUsize::new(0));
        let (seen, at) = (Arc::clone(&stood), dir.path().to_path_buf());
        let fail = FailPoints::new(move |moment: &Moment<'_>| {
            if !moment.done || !moment.path.ends_with(suffix) || !at.join(moment.path).exists() {
                return Ok(());
            }
            seen.fetch_add(1, Ordering::SeqCst);
            let source = std::io::Error::other("the disk is gone");
            Err(IoError::NotDurable { path: moment.path.into(), source })
        });
        let table = Table::open(store.with_failpoints(fail), None).await.unwrap();
        let error = run(table).await.unwrap_err();
        assert!(error.to_string().contains("the disk is gone"), "{suffix}: {error}");
        assert_eq!(stood.load(Ordering::SeqCst), 1, "{suffix}");
        assert_eq!(files().await, before, "{suffix}");
    }
}
