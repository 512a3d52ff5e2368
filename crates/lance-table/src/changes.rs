//! What two versions have in common, and what not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use futures::{StreamExt, stream};
use lance_file::{Field, Schema};
use serde::{Deserialize, Serialize};

use crate::deletion;
use crate::manifest::Manifest;
use crate::proto::DataFragment;
use crate::table::CONCURRENT;
use crate::{Result, Table};

/// The difference of two versions: what an operation wrote, what it took out, and what it left untouched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Changes {
    /// The version before; none if there was no table.
    pub from: Option<u64>,
    /// The version after.
    pub to: u64,
    /// Rows before and after, less deleted ones.
    pub rows: (u64, u64),
    /// Rows that only the version after has: of new fragments, and ones that are deleted no more.
    pub rows_added: u64,
    /// Rows that only the version before has: of fragments that are gone, and ones that are deleted since.
    pub rows_gone: u64,
    /// Rows that both have, in the same place.
    pub rows_kept: u64,
    /// Files that only the version after has, by kind and fragment.
    pub added: Vec<TableFile>,
    /// Files that only the version before has. They are still there until a clean-up.
    pub gone: Vec<TableFile>,
    /// Files that both have.
    pub kept: Total,
    /// Ids of fragments that only the version after has.
    pub fragments_added: Vec<u64>,
    /// Ids of fragments that only the version before has.
    pub fragments_gone: Vec<u64>,
    /// How many fragments both have.
    pub fragments_kept: usize,
    /// Columns that only the version after has: path and type. One that was cast is added and dropped.
    pub columns_added: Vec<String>,
    /// Columns that only the version before has.
    pub columns_dropped: Vec<String>,
    /// Columns that have another name or allow nulls where they did not, or the other way round: before, and after.
    pub columns_changed: Vec<(String, String)>,
    /// Keys of the table's config and metadata that have other values than before.
    pub settings: Vec<String>,
}

/// A file that a version has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableFile {
    /// What is in it.
    pub kind: FileKind,
    /// Its path below the root of the table, or in full if it lies elsewhere.
    pub path: String,
    /// Bytes, if known.
    pub bytes: Option<u64>,
    /// Rows that it holds, or that it says are deleted.
    pub rows: u64,
    /// The fragment that it belongs to; none for indices.
    pub fragment: Option<u64>,
}

/// Kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FileKind {
    /// Columns of rows.
    Data,
    /// Which rows are deleted.
    Deletion,
    /// Part of an index.
    Index,
}

/// Files, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Total {
    /// How many.
    pub files: u64,
    /// Their bytes, as far as they are known.
    pub bytes: u64,
}

impl Table {
    /// What became of `before`, another version of the same table or a branch of it; of nothing if there is none.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use lance_io::Store;
    /// use lance_table::{Table, WriteMode, WriteOptions};
    ///
    /// let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
    /// let first = Table::write(Store::memory(), vec![batch.clone()].into(), WriteOptions::default()).await?;
    /// let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    /// let second = first.write_after(vec![batch].into(), more).await?;
    /// let changes = second.changes_since(Some(&first)).await?;
    /// assert_eq!((changes.rows, changes.kept.files, changes.added.len()), ((3, 6), 1, 1));
    /// # Ok(()) }
    /// ```
    pub async fn changes_since(&self, before: Option<&Self>) -> Result<Changes> {
        let own = self.store().absolute()?;
        let root = match before {
            None => own.clone(),
            Some(before) => before.store().absolute()?,
        };
        let before_files = before.map(|before| files(before.manifest(), &root)).unwrap_or_default();
        let after_files = files(self.manifest(), &own);
        let only = |one: &BTreeMap<String, TableFile>, other: &BTreeMap<String, TableFile>| {
            let only = one.iter().filter(|(path, _)| !other.contains_key(*path));
            only.map(|(_, file)| file.clone()).collect::<Vec<_>>()
        };
        let (mut added, mut gone) = (only(&after_files, &before_files), only(&before_files, &after_files));
        self.measure(&mut added, &own).await;
        self.measure(&mut gone, &own).await;
        for files in [&mut added, &mut gone] {
            files.sort_by(|a, b| (a.kind, a.fragment, &a.path).cmp(&(b.kind, b.fragment, &b.path)));
        }
        let mut kept = Total::default();
        for file in after_files.iter().filter(|(path, _)| before_files.contains_key(*path)) {
            kept.add(file.1);
        }
        let mut changes = Changes {
            from: before.map(Self::version),
            to: self.version(),
            rows: (before.map_or(0, Self::rows), self.rows()),
            added,
            gone,
            kept,
            ..Changes::default()
        };
        changes.compare_columns(before, self);
        changes.compare_fragments(before, self);
        changes.compare_settings(before, self);
        Ok(changes)
    }

    /// Makes paths below the root, `own`, short, and asks for sizes that the manifest does not say. Files that lie elsewhere
    /// are not looked for, and those that were removed have none.
    async fn measure(&self, files: &mut [TableFile], own: &str) {
        let own = format!("{}/", own.trim_end_matches('/'));
        let measured = files.iter_mut().filter_map(|file| {
            file.path = file.path.strip_prefix(&own)?.to_string();
            file.bytes.is_none().then_some(async {
                if let Ok(source) = self.store().open_file(&file.path, None).await {
                    file.bytes = Some(source.size());
                }
            })
        });
        stream::iter(measured).buffer_unordered(CONCURRENT).collect::<()>().await;
    }
}

impl Total {
    /// With `file` too.
    pub fn add(&mut self, file: &TableFile) {
        self.count(file.bytes.unwrap_or(0));
    }

    /// With a file of so many bytes too.
    pub(crate) const fn count(&mut self, bytes: u64) {
        self.files = self.files.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Changes {
    /// After columns were compared.
    fn compare_fragments(&mut self, before: Option<&Table>, after: &Table) {
        let old = before.map(fragments).unwrap_or_default();
        let new = fragments(after);
        let cast = !self.columns_dropped.is_empty();
        let same = |one: &DataFragment, other: &BTreeMap<u64, &DataFragment>| {
            other.get(&one.id).is_some_and(|other| is_same(one, other, cast))
        };
        for (id, fragment) in &old {
            if !same(fragment, &new) {
                self.fragments_gone.push(*id);
                self.rows_gone = self.rows_gone.saturating_add(live(fragment));
            }
        }
        for (id, fragment) in &new {
            let Some(before) = old.get(id).filter(|_| same(fragment, &old)) else {
                self.fragments_added.push(*id);
                self.rows_added = self.rows_added.saturating_add(live(fragment));
                continue;
            };
            let (before, after) = (live(before), live(fragment));
            self.fragments_kept += 1;
            self.rows_kept = self.rows_kept.saturating_add(before.min(after));
            self.rows_gone = self.rows_gone.saturating_add(before.saturating_sub(after));
            self.rows_added = self.rows_added.saturating_add(after.saturating_sub(before));
        }
    }

    fn compare_columns(&mut self, before: Option<&Table>, after: &Table) {
        let old = before.map(|before| columns(before.schema())).unwrap_or_default();
        let new = columns(after.schema());
        // After an overwrite ids are given anew.
        let same = |old: &Column, new: &Column| old.data_type == new.data_type;
        for (id, column) in &new {
            match old.get(id).filter(|old| same(old, column)) {
                None => self.columns_added.push(column.to_string()),
                Some(before) if before == column => {}
                Some(before) => self.columns_changed.push((before.to_string(), column.to_string())),
            }
        }
        let dropped = old.iter().filter(|(id, column)| new.get(id).is_none_or(|new| !same(column, new)));
        self.columns_dropped = dropped.map(|(_, column)| column.to_string()).collect();
    }

    fn compare_settings(&mut self, before: Option<&Table>, after: &Table) {
        let pairs = |table: &Table| {
            let message = &table.manifest().message;
            let pairs = message.config.iter().chain(&message.table_metadata);
            pairs.map(|(key, value)| (key.clone(), value.clone())).collect::<BTreeMap<_, _>>()
        };
        let (old, new) = (before.map(pairs).unwrap_or_default(), pairs(after));
        let keys = old.keys().chain(new.keys()).collect::<BTreeSet<_>>();
        self.settings = keys.into_iter().filter(|key| old.get(*key) != new.get(*key)).cloned().collect();
    }
}

/// The fragments of a version, by id.
fn fragments(table: &Table) -> BTreeMap<u64, &DataFragment> {
    table.manifest().message.fragments.iter().map(|fragment| (fragment.id, fragment)).collect()
}

/// Whether these fragments with the same id have the same rows: writers may begin to count anew after an overwrite. One of
/// which all columns were `cast` has no file left that it had.
fn is_same(one: &DataFragment, other: &DataFragment, cast: bool) -> bool {
    // Where the names lie differs between a table and its branches.
    let shared = one.files.iter().any(|file| other.files.iter().any(|other| file.path == other.path));
    one.physical_rows == other.physical_rows && (shared || cast)
}

/// Its rows that are not deleted.
fn live(fragment: &DataFragment) -> u64 {
    let deleted = fragment.deletion_file.as_ref().map_or(0, |file| file.num_deleted_rows);
    fragment.physical_rows.saturating_sub(deleted)
}

/// The files of a version whose root is `root`, by where they lie.
fn files(manifest: &Manifest, root: &str) -> BTreeMap<String, TableFile> {
    let bases = &manifest.message.base_paths;
    let place = |base: Option<u32>, directory: &str, name: &str| {
        let (root, directory) = match base.map(|id| bases.iter().find(|base| base.id == id)) {
            None => (root, Some(directory)),
            Some(Some(base)) => (base.path.as_str(), base.is_dataset_root.then_some(directory)),
            // Reading says what is wrong.
            Some(None) => ("?", Some(directory)),
        };
        let root = root.trim_end_matches('/');
        match directory {
            Some(directory) => format!("{root}/{directory}/{name}"),
            None => format!("{root}/{name}"),
        }
    };
    let mut files = BTreeMap::new();
    for fragment in &manifest.message.fragments {
        for file in &fragment.files {
            let bytes = Some(file.file_size_bytes).filter(|bytes| *bytes != 0);
            let path = place(file.base_id, "data", &file.path);
            let rows = fragment.physical_rows;
            let (kind, fragment) = (FileKind::Data, Some(fragment.id));
            files.insert(path.clone(), TableFile { kind, path, bytes, rows, fragment });
        }
        if let Some((name, base, rows)) = deletion_of(fragment) {
            let path = place(base, "_deletions", &name);
            let (kind, fragment) = (FileKind::Deletion, Some(fragment.id));
            files.insert(path.clone(), TableFile { kind, path, bytes: None, rows, fragment });
        }
    }
    for index in &manifest.indices {
        let uuid = index.uuid.as_ref().and_then(|uuid| uuid::Uuid::from_slice(&uuid.uuid).ok());
        let directory = uuid.map(|uuid| uuid.to_string()).unwrap_or_default();
        for file in &index.files {
            let path = place(index.base_id, "_indices", &format!("{directory}/{}", file.path));
            let (kind, bytes) = (FileKind::Index, Some(file.size_bytes));
            files.insert(path.clone(), TableFile { kind, path, bytes, rows: 0, fragment: None });
        }
    }
    files
}

/// Name, base and deleted rows of the deletion file of `fragment`.
fn deletion_of(fragment: &DataFragment) -> Option<(String, Option<u32>, u64)> {
    let file = fragment.deletion_file.as_ref()?;
    let path = deletion::path(fragment.id, file).ok()?;
    let (_, name) = path.rsplit_once('/')?;
    Some((name.to_string(), file.base_id, file.num_deleted_rows))
}

#[derive(Debug, PartialEq)]
struct Column {
    path: String,
    data_type: String,
    nullable: bool,
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let null = if self.nullable { "" } else { " not null" };
        write!(f, "{} {}{null}", self.path, self.data_type)
    }
}

/// All fields, by id.
fn columns(schema: &Schema) -> BTreeMap<i32, Column> {
    fn add(fields: &[Field], above: &str, columns: &mut BTreeMap<i32, Column>) {
        for field in fields {
            let path = format!("{above}{}", field.name);
            add(&field.children, &format!("{path}."), columns);
            let (data_type, nullable) = (field.logical_type_string(), field.nullable);
            columns.insert(field.id, Column { path, data_type: data_type.to_string(), nullable });
        }
    }
    let mut columns = BTreeMap::new();
    add(&schema.fields, "", &mut columns);
    columns
}

#[cfg(test)]
mod tests;
