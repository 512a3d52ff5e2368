//! Publishing a version (docs/format/table.md §10).
//!
//! ```text
//! latest manifest ─▶ do we go together with what was committed since? ─▶ next manifest ─▶ put if absent
//!        ▲                                                                                     │
//!        └───────────────────────────── somebody was first: wait ◀─────────────────────────────┘
//! ```

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use lance_io::{IoError, Store};
use prost::Message;
use rand::RngExt;
use uuid::Uuid;

use crate::manifest::latest::{self, Found};
use crate::manifest::{Naming, flags, names};
use crate::ops::{Operation, Rebase};
use crate::proto::Transaction;
use crate::{Manifest, Result, TableError};

/// How often a commit is tried.
const ATTEMPTS: u32 = 20;

/// How long a commit is tried, once there was somebody else.
const PATIENCE: Duration = Duration::from_secs(30);

/// The directory of transaction files.
const TRANSACTIONS: &str = "_transactions";

/// Commits `operation`, which was made from version `read`; 0 to make a new table.
pub(crate) async fn commit(store: &Store, read: u64, operation: Operation) -> Result<Found> {
    let started = Instant::now();
    let uuid = Uuid::new_v4().to_string();
    let (mut operation, mut checked) = (operation, read);
    let mut slot = Duration::ZERO;
    for attempt in 0..ATTEMPTS {
        let began = Instant::now();
        let previous = predecessor(store, read).await?;
        if let Some(previous) = &previous {
            operation = rebase(store, operation, checked, previous).await?;
            checked = previous.manifest.version();
        }
        if let Some(found) = publish(store, previous.as_ref(), &operation, &uuid).await? {
            write_hint(store, found.manifest.version()).await;
            return Ok(found);
        }
        if attempt == 0 {
            slot = began.elapsed().mul_f64(1.1);
        }
        if started.elapsed() > PATIENCE {
            break;
        }
        wait(slot, attempt).await;
    }
    Err(TableError::Conflict {
        location: store.location(""),
        version: checked.saturating_add(1),
        reason: format!("too much write contention: gave up after {:.1?}", started.elapsed()),
        retryable: true,
    })
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
        _ => Err(TableError::NotFound { location: store.location(""), what: format!("version {read}") }),
    }
}

/// `operation` after all that was committed after version `checked` and up to `latest`.
async fn rebase(store: &Store, mut operation: Operation, checked: u64, latest: &Found) -> Result<Operation> {
    let last = latest.manifest.version();
    for version in checked.saturating_add(1)..=last {
        let read;
        let manifest = if version == last {
            &latest.manifest
        } else {
            read = latest::read(store, version, latest.naming).await?.manifest;
            &read
        };
        let theirs = transaction_of(store, manifest).await?.and_then(|theirs| theirs.operation);
        let conflict = |reason: &str, retryable| {
            let (location, reason) = (store.location(""), reason.to_string());
            Err(TableError::Conflict { location, version, reason, retryable })
        };
        operation = match operation.rebase(theirs.as_ref()) {
            Rebase::Keep(operation) => operation,
            Rebase::Retry(reason) => return conflict(reason, true),
            Rebase::Conflict(reason) => return conflict(reason, false),
        };
    }
    Ok(operation)
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
) -> Result<Option<Found>> {
    let naming = previous.map_or(Naming::default(), |previous| previous.naming);
    let before = previous.map(|previous| &previous.manifest);
    let read_version = before.map_or(0, Manifest::version);
    let location = || store.location(&naming.path(read_version.saturating_add(1)));
    let mut next =
        operation.apply(before, SystemTime::now()).map_err(|error| TableError::format(location(), error))?;
    let transaction = Transaction {
        read_version,
        uuid: uuid.to_string(),
        operation: Some(operation.to_proto()),
        ..Default::default()
    };

    let file = format!("{TRANSACTIONS}/{read_version}-{uuid}.txn");
    let inline_only = next.message.writer_feature_flags & flags::INLINE_TRANSACTIONS != 0;
    if !inline_only {
        store.put(&file, transaction.encode_to_vec().into()).await?;
        next.message.transaction_file = format!("{read_version}-{uuid}.txn");
    }
    next.transaction = Some(transaction);
    let bytes = next.to_file().map_err(|error| TableError::format(location(), error))?;

    let version = next.version();
    let found = Found { manifest: next, naming, location: location() };
    let error = match store.put_if_absent(&naming.path(version), bytes).await {
        Ok(()) => return Ok(Some(found)),
        Err(error) => error,
    };
    // The answer to a write that took effect can get lost; when it is sent again, it finds itself there. So
    // whatever the store said, what counts is whose version stands there now.
    let unknown = |source| {
        let (location, source) = (store.location(""), Box::new(source));
        TableError::UnknownOutcome { location, version, source }
    };
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
    if theirs.as_ref().is_some_and(|theirs| theirs.uuid == uuid) {
        return Ok(Some(found));
    }
    let _ = store.delete(&file).await;
    match error {
        IoError::AlreadyExists { .. } => Ok(None),
        error => Err(error.into()),
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
async fn wait(slot: Duration, attempt: u32) {
    let slots = (4_u32 << attempt.min(5)).min(128);
    let pause = slot.saturating_mul(rand::rng().random_range(0..slots)).min(PATIENCE / 6);
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
