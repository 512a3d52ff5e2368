//! What a manifest says, against itself.

use std::collections::BTreeSet;

use lance_file::Schema;
use lance_io::{IoError, Store};
use prost::Message;
use roaring::RoaringBitmap;

use super::{ProblemKind, Report};
use crate::manifest::flags;
use crate::manifest::latest::Found;
use crate::proto::transaction::Operation;
use crate::proto::{IndexMetadata, Transaction};

/// Checks all that can be checked without reading data.
pub(super) async fn check(store: &Store, found: &Found, report: &mut Report<'_>) {
    let message = &found.manifest.message;
    if let Some(features) = flags::unreadable(message) {
        report.problem(&found.location, ProblemKind::Unsupported, format!("unsupported: {features}"));
    }
    check_schema(found, report);
    check_ids(found, report);
    check_transaction(store, found, report).await;
    for index in &found.manifest.indices {
        check_index(store, found, index, report).await;
    }
}

fn check_schema(found: &Found, report: &mut Report<'_>) {
    let message = &found.manifest.message;
    if let Err(error) = Schema::from_proto(&message.fields, &message.schema_metadata) {
        report.format(&found.location, &error);
    }
    let mut ids = BTreeSet::new();
    for field in message.fields.iter().filter(|field| field.id >= 0) {
        if !ids.insert(field.id) {
            let reason = format!("field id {} ({:?}) is there twice", field.id, field.name);
            report.corrupt(&found.location, reason);
        }
    }
}

fn check_ids(found: &Found, report: &mut Report<'_>) {
    let message = &found.manifest.message;
    let mut ids = BTreeSet::new();
    for fragment in &message.fragments {
        if !ids.insert(fragment.id) {
            report.corrupt(&found.location, format!("fragment id {} is there twice", fragment.id));
        }
    }
    if let (Some(last), Some(most)) = (ids.last(), message.max_fragment_id)
        && *last > u64::from(most)
    {
        report.corrupt(&found.location, format!("fragment id {last}, but at most {most} was ever used"));
    }
    let mut bases = BTreeSet::new();
    for base in &message.base_paths {
        if !bases.insert(base.id) {
            report.corrupt(&found.location, format!("base path id {} is there twice", base.id));
        }
    }
}

/// What made this version is needed by writers that come later.
async fn check_transaction(store: &Store, found: &Found, report: &mut Report<'_>) {
    let (manifest, message) = (&found.manifest, &found.manifest.message);
    let inline = message.transaction_section.or(message.old_transaction_section).is_some();
    if inline && manifest.transaction.is_none() {
        report.corrupt(&found.location, "its transaction is not a message");
    }
    // A clone has the version of what it was made from.
    if let Some(transaction) = &manifest.transaction
        && !matches!(transaction.operation, Some(Operation::Clone(_)))
        && transaction.read_version >= message.version
    {
        let (read, version) = (transaction.read_version, message.version);
        report.corrupt(&found.location, format!("version {version} was made from version {read}"));
    }
    let name = &message.transaction_file;
    if name.is_empty() {
        return;
    }
    let path = format!("_transactions/{name}");
    match store.read_all(&path).await {
        Ok(bytes) => match Transaction::decode(bytes) {
            Ok(file) => {
                if let Some(own) = manifest.transaction.as_ref().filter(|own| own.uuid != file.uuid) {
                    let reason = format!("its uuid is {}, in the manifest it is {}", file.uuid, own.uuid);
                    report.corrupt(store.location(&path), reason);
                }
            }
            Err(error) => report.corrupt(store.location(&path), format!("not a message: {error}")),
        },
        // The manifest has it too; nobody misses the file.
        Err(IoError::NotFound { path }) if manifest.transaction.is_some() => {
            report.note(
                path,
                ProblemKind::Missing,
                "a transaction file that the manifest lists is not there",
            );
        }
        Err(error) => report.io(store.location(&path), error),
    }
}

async fn check_index(store: &Store, found: &Found, index: &IndexMetadata, report: &mut Report<'_>) {
    let name = &index.name;
    let fields: BTreeSet<_> = found.manifest.message.fields.iter().map(|field| field.id).collect();
    if let Some(field) = index.fields.iter().find(|field| !fields.contains(field)) {
        report.corrupt(&found.location, format!("index {name:?} is of field {field}, which there is not"));
    }
    if !index.fragment_bitmap.is_empty()
        && let Err(error) = RoaringBitmap::deserialize_from(index.fragment_bitmap.as_ref())
    {
        report.corrupt(&found.location, format!("the fragments of index {name:?}: {error}"));
    }
    let uuid = index.uuid.as_ref().map(|uuid| uuid.uuid.as_ref()).unwrap_or_default();
    let Ok(uuid) = uuid::Uuid::from_slice(uuid) else {
        report.corrupt(&found.location, format!("index {name:?} has a uuid of {} bytes", uuid.len()));
        return;
    };
    // What is kept by the system may have no files; what lies elsewhere is not looked for.
    if name.starts_with("__lance") || index.base_id.is_some() {
        return;
    }
    let directory = format!("_indices/{uuid}");
    let listed = match store.list(&directory).await {
        Ok(listed) => listed,
        Err(error) => return report.io(store.location(&directory), error),
    };
    if listed.is_empty() {
        let reason = format!("the files of index {name:?} are not there");
        return report.problem(store.location(&directory), ProblemKind::Missing, reason);
    }
    // What lies further below is not listed.
    for file in index.files.iter().filter(|file| !file.path.contains('/')) {
        let path = store.location(&format!("{directory}/{}", file.path));
        match listed.iter().find(|listed| listed.name == file.path) {
            None => {
                report.problem(path, ProblemKind::Missing, format!("a file of index {name:?} is not there"))
            }
            Some(listed) if listed.size != file.size_bytes && file.size_bytes != 0 => {
                let reason = format!("{} bytes, but the manifest says {}", listed.size, file.size_bytes);
                report.corrupt(path, reason);
            }
            Some(_) => {}
        }
    }
}
