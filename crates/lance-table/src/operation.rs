//! What a commit does to a table: pure functions of manifests, one file an operation.
//!
//! An operation says how the next manifest follows from the one before it, and whether it still holds when
//! another writer's operation came first (docs/format/table.md §11 and §12).

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use lance_footer::{FormatError, Result};

use crate::manifest::flags;
use crate::proto::transaction::Operation as Stored;
use crate::proto::{self, DataFragment};
use crate::{Manifest, row_ids};

mod append;
mod clone;
mod config;
mod delete;
mod deleted_rows;
mod merge;
mod overwrite;
mod project;
mod reserve;
mod restore;
mod rewrite;
mod theirs;
mod update;

pub(crate) use append::Append;
pub(crate) use clone::ShallowClone;
pub(crate) use config::Config;
pub(crate) use delete::Delete;
pub(crate) use deleted_rows::{Deleted, DeletedRows};
pub(crate) use merge::Merge;
pub(crate) use overwrite::Overwrite;
pub(crate) use project::{Project, keep_used};
pub(crate) use reserve::Reserve;
pub(crate) use restore::Restore;
pub(crate) use rewrite::{Group, Rewrite};
pub(crate) use theirs::name;
pub(crate) use update::Update;

/// Stands for a field whose values in a file are of no use any more.
const REPLACED: i32 = -2;

/// The name under which this software signs manifests.
const LIBRARY: &str = "demilance";

/// What a commit does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operation {
    Append(Append),
    Clone(ShallowClone),
    Config(Config),
    Delete(Delete),
    Merge(Merge),
    Overwrite(Overwrite),
    Project(Project),
    Reserve(Reserve),
    Restore(Restore),
    Rewrite(Rewrite),
    Update(Update),
}

impl Operation {
    /// The manifest that follows `previous`; the first of a table if there is none.
    pub(crate) fn apply(&self, previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
        match self {
            Self::Append(append) => append.apply(previous, now),
            Self::Clone(clone) => clone.apply(previous, now),
            Self::Config(config) => config.apply(previous, now),
            Self::Delete(delete) => delete.apply(previous, now),
            Self::Merge(merge) => merge.apply(previous, now),
            Self::Overwrite(overwrite) => overwrite.apply(previous, now),
            Self::Project(project) => project.apply(previous, now),
            Self::Reserve(reserve) => reserve.apply(previous, now),
            Self::Restore(restore) => restore.apply(previous, now),
            Self::Rewrite(rewrite) => rewrite.apply(previous, now),
            Self::Update(update) => update.apply(previous, now),
        }
    }

    /// Whether it holds after `other`, which was committed after the version that this one read. None stands for an
    /// operation that this software does not know.
    pub(crate) fn check(&self, other: Option<&Stored>) -> Verdict {
        let other = match other {
            None => return Verdict::Conflict("what it did is not known"),
            Some(Stored::UpdateMemWalState(_) | Stored::DataOverlay(_)) => {
                return Verdict::Conflict("what it did is not supported");
            }
            Some(other) => other,
        };
        match self {
            Self::Append(append) => append.check(other),
            // It is always the first.
            Self::Clone(_) => Verdict::Keep,
            Self::Config(config) => config.check(other),
            Self::Delete(delete) => delete.check(other),
            Self::Merge(merge) => merge.check(other),
            Self::Overwrite(overwrite) => overwrite.check(other),
            Self::Project(project) => project.check(other),
            Self::Reserve(reserve) => reserve.check(other),
            Self::Restore(restore) => restore.check(other),
            Self::Rewrite(rewrite) => rewrite.check(other),
            Self::Update(update) => update.check(other),
        }
    }

    /// The version that a transaction says it was made from, when it follows `previous`. A clone follows none.
    pub(crate) fn read_version(&self, previous: Option<&Manifest>) -> u64 {
        match self {
            Self::Clone(clone) => clone.source.version(),
            _ => previous.map_or(0, Manifest::version),
        }
    }

    /// Goes after `other`, with which it holds: columns that were dropped are dropped from what is new here, too, since
    /// their ids may be given to others later. The error says why it must be done again instead.
    pub(crate) fn follow(&mut self, other: &Stored) -> std::result::Result<(), &'static str> {
        let fragments = match self {
            Self::Append(append) => &mut append.fragments,
            Self::Update(update) => &mut update.fragments,
            _ => return Ok(()),
        };
        let (schema, cast) = match other {
            Stored::Project(project) => (&project.schema, false),
            // A column with another type has another field; what is new here has values of the old one.
            Stored::Merge(merge) => (&merge.schema, true),
            _ => return Ok(()),
        };
        let left = schema.iter().map(|field| field.id).collect::<BTreeSet<_>>();
        let is_gone = |field: &i32| *field >= 0 && !left.contains(field);
        for file in fragments.iter_mut().flat_map(|fragment| &mut fragment.files) {
            if cast && file.fields.iter().any(is_gone) {
                return Err("columns were given other types");
            }
            if !file.fields.iter().any(|field| left.contains(field)) {
                return Err("all columns of the new rows were dropped");
            }
            file.fields.iter_mut().filter(|field| is_gone(field)).for_each(|field| *field = REPLACED);
        }
        Ok(())
    }

    /// The rows that it deletes.
    pub(crate) const fn deleted_rows(&mut self) -> Option<&mut DeletedRows> {
        match self {
            Self::Delete(delete) => Some(&mut delete.rows),
            Self::Update(update) => Some(&mut update.rows),
            _ => None,
        }
    }

    /// As a transaction has it.
    pub(crate) fn to_proto(&self) -> Stored {
        match self {
            Self::Append(append) => Stored::Append(append.to_proto()),
            Self::Clone(clone) => Stored::Clone(clone.to_proto()),
            Self::Config(config) => Stored::UpdateConfig(config.to_proto()),
            Self::Delete(delete) => Stored::Delete(delete.to_proto()),
            Self::Merge(merge) => Stored::Merge(merge.to_proto()),
            Self::Overwrite(overwrite) => Stored::Overwrite(overwrite.to_proto()),
            Self::Project(project) => Stored::Project(project.to_proto()),
            Self::Reserve(reserve) => Stored::ReserveFragments(reserve.to_proto()),
            Self::Restore(restore) => Stored::Restore(restore.to_proto()),
            Self::Rewrite(rewrite) => Stored::Rewrite(rewrite.to_proto()),
            Self::Update(update) => Stored::Update(update.to_proto()),
        }
    }
}

/// What becomes of an operation when another came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It holds.
    Keep,
    /// It must be done again from the new version.
    Retry(&'static str),
    /// It makes no sense any more.
    Conflict(&'static str),
}

/// The beginning of the manifest after `previous`: all of it that is not about fragments or schema.
fn following(previous: Option<&Manifest>, now: SystemTime) -> Result<Manifest> {
    let mut next = match previous {
        None => Manifest::default(),
        // What made it can be as large as the rest.
        Some(Manifest { message, indices, .. }) => {
            Manifest { message: message.clone(), indices: indices.clone(), transaction: None }
        }
    };
    let message = &mut next.message;
    message.version =
        message.version.checked_add(1).ok_or_else(|| corrupt("the version numbers are used up"))?;
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    message.timestamp = Some(proto::Timestamp {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(since.subsec_nanos()).unwrap_or(0),
    });
    message.writer_version = Some(proto::WriterVersion {
        library: LIBRARY.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..Default::default()
    });
    message.transaction_file.clear();
    if message.data_format.is_none() {
        message.data_format =
            message.fragments.iter().find_map(|fragment| fragment.files.first()).map(format_of);
    }
    Ok(next)
}

/// What manifests without a format are taken to have: what their data files are.
fn format_of(file: &proto::DataFile) -> proto::DataStorageFormat {
    let version = format!("{}.{}", file.file_major_version, file.file_minor_version);
    proto::DataStorageFormat { file_format: "lance".into(), version }
}

/// Adds `fragments`, which have no ids yet, to `next`.
fn add_fragments(next: &mut Manifest, mut fragments: Vec<DataFragment>) -> Result<()> {
    let message = &mut next.message;
    let used = message.max_fragment_id.map(u64::from);
    let mut id = used.max(message.fragments.iter().map(|fragment| fragment.id).max());
    for fragment in &mut fragments {
        let next_id = id.map_or(0, |id| id.saturating_add(1));
        // The highest 32-bit number is set aside.
        if next_id >= u64::from(u32::MAX) {
            return Err(corrupt("the fragment ids are used up"));
        }
        fragment.id = next_id;
        id = Some(next_id);
    }
    let stable = (message.reader_feature_flags | message.writer_feature_flags) & flags::STABLE_ROW_IDS != 0;
    if stable {
        message.next_row_id = row_ids::assign(&mut fragments, message.next_row_id, message.version)?;
    }
    message.fragments.extend(fragments);
    Ok(())
}

/// Ends a manifest that follows one with the flag words `previous`: order, high-water mark, flags.
fn finish(mut next: Manifest, previous: (u64, u64)) -> Result<Manifest> {
    let message = &mut next.message;
    message.fragments.sort_by_key(|fragment| fragment.id);
    if !message.fragments.is_sorted_by(|one, next| one.id < next.id) {
        return Err(corrupt("two fragments have the same id"));
    }
    // What later files have replaced is of no use to anybody.
    for fragment in &mut message.fragments {
        fragment
            .files
            .retain(|file| file.fields.is_empty() || file.fields.iter().any(|field| *field != REPLACED));
    }
    if let Some(last) = message.fragments.last() {
        let last = u32::try_from(last.id).map_err(|_| corrupt(format!("fragment id {}", last.id)))?;
        message.max_fragment_id = message.max_fragment_id.max(Some(last));
    }
    let fields = message.fields.iter().map(|field| field.id).collect::<BTreeSet<_>>();
    next.indices.retain(|index| index.fields.iter().all(|field| fields.contains(field)));
    (message.reader_feature_flags, message.writer_feature_flags) =
        flags::compute(message, &next.indices, previous);
    Ok(next)
}

/// The two flag words of `previous`.
fn flags_of(previous: Option<&Manifest>) -> (u64, u64) {
    let words =
        |manifest: &Manifest| (manifest.message.reader_feature_flags, manifest.message.writer_feature_flags);
    previous.map_or((0, 0), words)
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("manifest", reason)
}

#[cfg(test)]
mod tests;
