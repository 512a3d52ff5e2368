//! Publishing a version (docs/format/table.md §10).
//!
//! ```text
//! latest manifest ─▶ do we go together with what was committed since? ─▶ next manifest ─▶ put if absent
//!        ▲                                                                                     │
//!        └───────────────────────────── somebody was first: wait ◀─────────────────────────────┘
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use lance_io::{IoError, Store};
use prost::Message;
use rand::RngExt;
use uuid::Uuid;

use crate::deletion;
use crate::manifest::latest::{self, Found};
use crate::manifest::{Naming, flags, names};
use crate::operation::{self, Operation, Verdict};
use crate::place::Places;
use crate::proto::Transaction;
use crate::table::{CONCURRENT, check};
use crate::{Manifest, Result, TableError};
use lock::Lock;

mod again;
mod lock;

pub(crate) use again::{again, again_for, again_while, columns_changed};

/// The directory of transaction files.
const TRANSACTIONS: &str = "_transactions";

/// How a commit goes about other writers, and what it says of itself.
///
/// A commit is tried again when another writer was first, on top of what that one did. If the two do not go together,
/// but the operation can be worked out anew, that is done; otherwise it is a [`TableError::Conflict`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitOptions {
    /// How often the same operation is tried.
    pub attempts: u32,
    /// How often it is worked out anew from the latest version.
    pub retries: u32,
    /// How long all that may take, from when another writer was first.
    pub patience: Duration,
    /// A file that is locked while a version is published. Needed for stores that ignore the condition of a write that must
    /// not replace anything, which are refused without; of no use unless all who write to the table lock the same file.
    pub lock: Option<PathBuf>,
    /// How manifests of a new table are named. One that is there goes on as it began.
    pub naming: Naming,
    /// Key-value pairs that the transaction keeps. Other software shows the one with the key
    /// [`CommitOptions::MESSAGE`] as what the commit is about.
    pub properties: BTreeMap<String, String>,
}

impl CommitOptions {
    /// The key of [`Self::properties`] that has a message.
    pub const MESSAGE: &str = "__lance_commit_message";

    /// The default options, with a message.
    #[must_use]
    pub fn with_message(message: impl Into<String>) -> Self {
        let properties = BTreeMap::from([(Self::MESSAGE.to_string(), message.into())]);
        Self { properties, ..Self::default() }
    }
}

impl Default for CommitOptions {
    fn default() -> Self {
        Self {
            attempts: 20,
            retries: 10,
            patience: Duration::from_secs(30),
            lock: None,
            naming: Naming::default(),
            properties: BTreeMap::new(),
        }
    }
}

/// Commits `operation`, which was made from version `read`; 0 to make a new table. `files` are the ones that were
/// written for it: they are removed if it fails.
pub(crate) async fn commit(
    store: &Store,
    read: u64,
    operation: Operation,
    options: &CommitOptions,
    mut files: Vec<String>,
) -> Result<Found> {
    let committed = attempts(store, read, operation, options, &mut files).await;
    if let Err(error) = &committed {
        abandon(store, files, error).await;
    }
    committed
}

/// Writes a file that is part of no version yet. If that fails, it may stand there nevertheless, as only the answer got lost
/// or whether it lasts is not known: it is removed.
pub(crate) async fn put_new(store: &Store, path: &str, bytes: Bytes) -> std::result::Result<(), IoError> {
    let put = store.put(path, bytes).await;
    if put.is_err() {
        let _ = store.delete(path).await;
    }
    put
}

/// Removes the `files` of an operation that ended in `error`, as far as that is possible.
pub(crate) async fn abandon(store: &Store, files: Vec<String>, error: &TableError) {
    // They may be part of a version.
    if matches!(error, TableError::UnknownOutcome { .. } | TableError::Committed { .. }) {
        return;
    }
    let removed = files.into_iter().map(|file| async move {
        let _ = store.delete(&file).await;
    });
    stream::iter(removed).buffer_unordered(CONCURRENT).collect::<()>().await;
}

async fn attempts(
    store: &Store,
    read: u64,
    mut operation: Operation,
    options: &CommitOptions,
    files: &mut Vec<String>,
) -> Result<Found> {
    check_store(store, options).await?;
    let uuid = Uuid::new_v4().to_string();
    let (mut checked, mut lost) = (read, None);
    let mut slot = Duration::ZERO;
    for attempt in 0..options.attempts {
        let began = Instant::now();
        let previous = predecessor(store, read).await?;
        if let Some(previous) = &previous {
            rebase(store, &mut operation, checked, previous, files).await?;
            checked = previous.manifest.version();
        }
        if let Some(found) = publish(store, previous.as_ref(), &operation, &uuid, options).await? {
            write_hint(store, found.manifest.version()).await;
            return Ok(found);
        }
        if attempt == 0 {
            slot = began.elapsed().mul_f64(1.1);
        }
        let lost = lost.get_or_insert(began);
        if lost.elapsed() > options.patience {
            break;
        }
        wait(slot, attempt, options.patience).await;
    }
    let took = lost.map_or(Duration::ZERO, |lost| lost.elapsed());
    Err(TableError::Contention { location: store.location(""), took })
}

/// The latest version, which a commit that read version `read` is to follow.
async fn predecessor(store: &Store, read: u64) -> Result<Option<Found>> {
    match (read, latest::latest(store).await?) {
        (0, None) => Ok(None),
        (0, Some(_)) => Err(TableError::AlreadyExists { location: store.location("") }),
        (_, Some(found)) if found.manifest.version() >= read => {
            found.check_writable()?;
            Ok(Some(found))
        }
        _ => Err(TableError::not_found(store, format!("version {read}"))),
    }
}

/// Sees that `operation` holds after all that was committed after version `checked` and up to `latest`.
async fn rebase(
    store: &Store,
    operation: &mut Operation,
    checked: u64,
    latest: &Found,
    files: &mut Vec<String>,
) -> Result<()> {
    let last = latest.manifest.version();
    let ours = operation::name(Some(&operation.to_proto()));
    let mut transactions = transactions(store, checked, latest);
    let (mut version, mut theirs) = (checked, "delete");
    while let Some(transaction) = transactions.try_next().await? {
        version = version.saturating_add(1);
        let other = transaction.and_then(|transaction| transaction.operation);
        let conflict = |reason: &str, retryable| {
            let theirs = operation::name(other.as_ref());
            let (location, reason) = (store.location(""), reason.to_string());
            Err(TableError::Conflict { location, version, ours, theirs, reason, retryable })
        };
        match operation.check(other.as_ref()) {
            Verdict::Keep => {}
            Verdict::Retry(reason) => return conflict(reason, true),
            Verdict::Conflict(reason) => return conflict(reason, false),
        }
        if let Some(other) = &other
            && let Err(reason) = operation.follow(other)
        {
            return conflict(reason, true);
        }
        theirs = operation::name(other.as_ref());
    }
    if last > checked
        && let Err(reason) = catch_up(store, operation, latest, files).await?
    {
        let location = store.location("");
        return Err(TableError::Conflict { location, version, ours, theirs, reason, retryable: true });
    }
    Ok(())
}

/// What made each version after version `after` and up to `latest`, oldest first.
pub(crate) fn transactions<'a>(
    store: &'a Store,
    after: u64,
    latest: &'a Found,
) -> impl Stream<Item = Result<Option<Transaction>>> + Unpin + 'a {
    let last = latest.manifest.version();
    let transactions = (after.saturating_add(1)..=last).map(move |version| async move {
        if version == last {
            return transaction_of(store, &latest.manifest).await;
        }
        match latest::read(store, version, latest.naming).await {
            Ok(read) => transaction_of(store, &read.manifest).await,
            // Clean-up has removed it meanwhile.
            Err(TableError::Io(IoError::NotFound { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    });
    stream::iter(transactions).buffered(CONCURRENT).boxed()
}

/// Puts the rows that `operation` deletes together with those that others deleted meanwhile; the inner error says why that
/// cannot be done.
async fn catch_up(
    store: &Store,
    operation: &mut Operation,
    latest: &Found,
    files: &mut Vec<String>,
) -> Result<Result<(), String>> {
    let Some(rows) = operation.deleted_rows() else { return Ok(Ok(())) };
    let places = Places::new(store.clone(), latest.manifest.message.base_paths.clone());
    let current = latest.manifest.message.fragments.iter().map(|fragment| (fragment.id, fragment));
    let current = current.collect::<BTreeMap<_, _>>();
    for deleted in rows.iter_mut() {
        let id = deleted.fragment.id;
        let Some(now) = current.get(&id) else { return Ok(Err(format!("fragment {id} is gone"))) };
        // Files of columns that were dropped are gone; those that are left must be as they were.
        if now.files.iter().any(|file| !deleted.fragment.files.contains(file)) {
            return Ok(Err(format!("values of fragment {id} were rewritten")));
        }
        // Some software leaves the count of rows out of manifests.
        let mut now = (*now).clone();
        if now.physical_rows == 0 {
            now.physical_rows = deleted.fragment.physical_rows;
        }
        if now.deletion_file != deleted.fragment.deletion_file {
            let mut all = deletion::read(&places, &now).await?;
            if !all.is_disjoint(&deleted.rows) {
                return Ok(Err(format!("some of the same rows of fragment {id} were deleted")));
            }
            all |= &deleted.rows;
            deleted.file = deletion::write(store, &now, latest.manifest.version(), &all, files).await?;
        }
        deleted.fragment = now;
    }
    Ok(Ok(()))
}

/// What made the version of `manifest`; none if that is not known or cannot be understood.
pub(crate) async fn transaction_of(store: &Store, manifest: &Manifest) -> Result<Option<Transaction>> {
    let name = &manifest.message.transaction_file;
    if let Some(transaction) = &manifest.transaction {
        return Ok(Some(transaction.clone()));
    }
    if name.is_empty() {
        return Ok(None);
    }
    match store.read_all(&format!("{TRANSACTIONS}/{name}")).await {
        Ok(bytes) => Ok(Transaction::decode(bytes).ok()),
        Err(IoError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Tries to make the version after `previous`. None if somebody else made it first.
async fn publish(
    store: &Store,
    previous: Option<&Found>,
    operation: &Operation,
    uuid: &str,
    options: &CommitOptions,
) -> Result<Option<Found>> {
    let naming = previous.map_or(options.naming, |previous| previous.naming);
    let before = previous.map(|previous| &previous.manifest);
    let read_version = operation.read_version(before);
    // Nobody could read a version that contradicts itself, as it may where the one before does.
    let next = operation.apply(before, SystemTime::now()).and_then(|next| check(&next).map(|()| next));
    let mut next = next.map_err(|error| TableError::format(store.location(""), error))?;
    let transaction = Transaction {
        read_version,
        uuid: uuid.to_string(),
        operation: Some(operation.to_proto()),
        transaction_properties: options.properties.clone(),
        ..Default::default()
    };

    let file = format!("{TRANSACTIONS}/{read_version}-{uuid}.txn");
    let encoded = transaction.encode_to_vec().into();
    let inline_only = next.message.writer_feature_flags & flags::INLINE_TRANSACTIONS != 0;
    if !inline_only {
        next.message.transaction_file = format!("{read_version}-{uuid}.txn");
    }
    next.transaction = Some(transaction);
    let (version, location) = (next.version(), store.location(&naming.path(next.version())));
    let bytes = next.to_file().map_err(|error| TableError::format(&location, error))?;
    if !inline_only {
        put_new(store, &file, encoded).await?;
    }
    let found = Found { manifest: next, naming, location };
    let error = match put_version(store, &naming.path(version), bytes, options).await {
        Ok(()) => return Ok(Some(found)),
        Err(error) => error,
    };
    // The answer to a write that took effect can get lost; when it is sent again, it finds itself there. So
    // whatever the store said, what counts is whose version stands there now.
    let unknown = |source| {
        let (location, source) = (store.location(""), Box::new(source));
        TableError::UnknownOutcome { location, version, source }
    };
    // It stands there, and may be gone after a power failure.
    if matches!(error, IoError::NotDurable { .. }) {
        return Err(unknown(error));
    }
    let theirs = match latest::read(store, version, naming).await {
        Ok(theirs) => match transaction_of(store, &theirs.manifest).await {
            Ok(theirs) => theirs,
            Err(_) => return Err(unknown(error)),
        },
        Err(TableError::Io(IoError::NotFound { .. })) => match error {
            // A local file system says what happened; a request to an object store may still be on its way.
            error @ (IoError::Io { .. } | IoError::Unsupported { .. } | IoError::InvalidUrl { .. }) => {
                let _ = store.delete(&file).await;
                return Err(error.into());
            }
            error => return Err(unknown(error)),
        },
        Err(_) => return Err(unknown(error)),
    };
    match theirs {
        Some(theirs) if theirs.uuid == uuid => Ok(Some(found)),
        // Somebody else was first, whatever the store said of it.
        Some(_) => {
            let _ = store.delete(&file).await;
            Ok(None)
        }
        // It may be ours.
        None => Err(unknown(error)),
    }
}

/// Refuses a store on which two writers could both believe that a version is theirs, unless they lock a file.
async fn check_store(store: &Store, options: &CommitOptions) -> Result<()> {
    if options.lock.is_some() || store.honours_conditions(names::VERSIONS).await? {
        return Ok(());
    }
    let what = "writing only where nothing is: this store ignores that condition, so that two writers could both believe \
                that a version is theirs; name a file that all writers lock (CommitOptions::lock)";
    Err(IoError::Unsupported { path: store.location(names::VERSIONS), what: what.into() }.into())
}

/// Writes the manifest at `path`, if nobody did before.
async fn put_version(
    store: &Store,
    path: &str,
    bytes: Bytes,
    options: &CommitOptions,
) -> std::result::Result<(), IoError> {
    let Some(lock) = &options.lock else { return store.put_if_absent(path, bytes).await };
    let _held = Lock::acquire(lock).await?;
    match store.read_all(path).await {
        Ok(_) => Err(IoError::AlreadyExists { path: store.location(path) }),
        Err(IoError::NotFound { .. }) => store.put(path, bytes).await,
        Err(error) => Err(error),
    }
}

/// Leaves a hint for readers that cannot list in order. It may fail; nobody trusts it.
async fn write_hint(store: &Store, version: u64) {
    if !store.lists_in_order() {
        let text = Bytes::from(format!("{{\"version\":{version}}}"));
        let _ = store.put(names::HINT, text).await;
    }
}

/// Waits a random number of slots, more of them with each attempt, so that writers get out of step.
async fn wait(slot: Duration, attempt: u32, patience: Duration) {
    let slots = (4_u32 << attempt.min(5)).min(128);
    let pause = slot.saturating_mul(rand::rng().random_range(0..slots)).min(patience / 6);
    if pause.is_zero() {
        return;
    }
    // A timer would need one in the runtime; a thread of the blocking pool is there in every runtime.
    let sleep = move || std::thread::sleep(pause);
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(sleep).await),
        Err(_) => sleep(),
    }
}

#[cfg(all(test, feature = "object-store"))]
mod tests;
