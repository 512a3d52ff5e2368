use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use arrow_schema::SchemaRef;
use futures::{StreamExt, TryStreamExt, stream};
use lance_file::{Batches, DecodeBudget, FileReader, Schema};
use lance_footer::{FormatError, Version};
use lance_io::Store;

use crate::manifest::flags;
use crate::manifest::latest::{self, Found};
use crate::place::Places;
use crate::proto::DataFragment;
use crate::slot::Slot;
use crate::take::IdIndex;
use crate::write::{self, WriteOptions};
use crate::{Fragment, Manifest, Result, TableError, commit};

/// How many manifests, or files of different fragments, are read at the same time.
pub(crate) const CONCURRENT: usize = 32;

/// One version of a table, open for reading. Clones share what was read of it: data files stay open, with
/// their metadata and lookup tables.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use arrow_array::record_batch;
/// use futures::TryStreamExt;
/// use lance_io::Store;
/// use lance_table::{ScanOptions, Table, WriteMode, WriteOptions};
///
/// let store = Store::memory();
/// let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
/// Table::write(store.clone(), vec![batch.clone()].into(), WriteOptions::default()).await?;
/// let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
/// let table = Table::write(store, vec![batch].into(), more).await?;
/// assert_eq!((table.version(), table.rows()), (2, 6));
///
/// let taken = table.take(&[5, 0], None, false).await?;
/// assert_eq!(taken, record_batch!(("id", Int32, [3, 1]))?);
/// let options = ScanOptions { offset: 2, limit: Some(2), ..Default::default() };
/// let batches: Vec<_> = table.scan(options)?.try_collect().await?;
/// assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Table {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) places: Places,
    pub(crate) found: Found,
    pub(crate) schema: Schema,
    pub(crate) arrow_schema: SchemaRef,
    fragments: Vec<Fragment>,
    pub(crate) slots: Vec<Slot>,
    /// For each slot, how many live rows come before it.
    pub(crate) before: Vec<u64>,
    pub(crate) rows: u64,
    /// Where rows with stable ids are, once that was needed.
    pub(crate) ids: OnceLock<Arc<IdIndex>>,
    /// The ids of fragments, sorted, with the places of their slots, once that was needed.
    pub(crate) by_id: OnceLock<Vec<(u32, usize)>>,
    pub(crate) options: OpenOptions,
}

/// How a table is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// The version; none for the latest.
    pub version: Option<u64>,
    /// Whether what is read of data files that have checksums is checked: see
    /// [`lance_file::OpenOptions::verify_checksums`]. Manifests and deletion files have none.
    pub verify_checksums: bool,
    /// How much memory decoding may take, whatever the files say: see [`lance_file::OpenOptions::budget`]. Each data file
    /// has lookup tables of its own.
    pub budget: DecodeBudget,
    /// How many local files stay open for reading, besides those that are being read. One that was closed is opened again
    /// when it is read; what is known of it stays in memory. Versions that are made from this one share the bound.
    /// A store that has one already ([`Store::with_open_files`]) keeps that, and this is ignored.
    pub open_files: NonZeroUsize,
}

/// A quarter of what systems allow a process as a rule.
const OPEN_FILES: NonZeroUsize = match NonZeroUsize::new(256) {
    Some(files) => files,
    None => NonZeroUsize::MIN,
};

impl Default for OpenOptions {
    fn default() -> Self {
        let budget = DecodeBudget::default();
        Self { version: None, verify_checksums: false, budget, open_files: OPEN_FILES }
    }
}

impl Table {
    /// Opens the latest version of the table in `store`, or the one asked for.
    pub async fn open(store: Store, version: Option<u64>) -> Result<Self> {
        Self::open_with(store, OpenOptions { version, ..Default::default() }).await
    }

    /// Opens the table in `store` as `options` say.
    pub async fn open_with(store: Store, options: OpenOptions) -> Result<Self> {
        let found = match options.version {
            Some(version) => latest::at(&store, version).await?,
            None => latest::latest(&store).await?.ok_or_else(|| TableError::not_found(&store, "table"))?,
        };
        Self::from_found(store, found, options).await
    }

    /// Makes, extends or replaces the table in `store`.
    ///
    /// Nothing is published before all batches were written; then one new version appears. On an error,
    /// what was written is removed as far as that is possible.
    pub async fn write(store: Store, batches: Batches, options: WriteOptions) -> Result<Self> {
        let latest = latest::latest(&store).await?;
        let found = write::write(&store, latest, batches, options).await?;
        Self::from_commit(store, found, OpenOptions::default()).await
    }

    /// Extends or replaces the table as of this version. What others committed since then is kept, or is a
    /// [`TableError::Conflict`] if it does not go together with this.
    pub async fn write_after(&self, batches: Batches, options: WriteOptions) -> Result<Self> {
        let store = self.store().clone();
        let found = write::write(&store, Some(self.shared.found.clone()), batches, options).await?;
        Self::from_commit(store, found, self.shared.options).await
    }

    /// The latest version of the same table, opened in the same way.
    pub async fn latest(&self) -> Result<Self> {
        let options = OpenOptions { version: None, ..self.shared.options };
        Self::open_with(self.store().clone(), options).await
    }

    /// The version that a commit made, which has taken effect whatever happens now.
    pub(crate) async fn from_commit(store: Store, found: Found, options: OpenOptions) -> Result<Self> {
        let (location, version) = (store.location(""), found.manifest.version());
        Self::from_found(store, found, options).await.map_err(|source| TableError::Committed {
            location,
            version,
            source: Box::new(source),
        })
    }

    pub(crate) async fn from_found(store: Store, found: Found, options: OpenOptions) -> Result<Self> {
        found.check_readable()?;
        let message = &found.manifest.message;
        let format = |error| TableError::format(&found.location, error);
        let schema = Schema::from_proto(&message.fields, &message.schema_metadata).map_err(format)?;
        let places = Places::new(store.with_open_files(options.open_files), message.base_paths.clone());
        let fragments = message.fragments.iter().map(|fragment| Fragment::new(fragment.clone()));
        let mut fragments = fragments.collect::<Result<Vec<_>, _>>().map_err(format)?;
        complete_all(&mut fragments, &places, &schema, options).await?;
        check_versions(&found.manifest, &fragments).map_err(format)?;

        let mut before = Vec::with_capacity(fragments.len());
        let mut rows = 0_u64;
        for fragment in &fragments {
            before.push(rows);
            rows = rows
                .checked_add(fragment.rows())
                .ok_or_else(|| format(FormatError::corrupt("manifest", "more than 2^64 rows")))?;
        }
        let arrow_schema = Arc::new(schema.to_arrow());
        let slots = fragments.iter().cloned();
        let slots = slots.map(|fragment| Slot::new(fragment, options)).collect();
        let shared = Shared {
            places,
            found,
            schema,
            arrow_schema,
            fragments,
            slots,
            before,
            rows,
            ids: OnceLock::new(),
            by_id: OnceLock::new(),
            options,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The version number.
    pub fn version(&self) -> u64 {
        self.manifest().version()
    }

    /// The schema, with field ids. Blobs are in it as in [`Self::arrow_schema`].
    pub fn schema(&self) -> &Schema {
        &self.shared.schema
    }

    /// The schema as Arrow has it. Columns of blobs have the type of their values here, as they are written; batches say
    /// where these are instead, see [`Self::batch_schema`].
    pub fn arrow_schema(&self) -> SchemaRef {
        Arc::clone(&self.shared.arrow_schema)
    }

    /// The schema of the batches that scans and takes of all columns give: that of the table, but blobs are structs that
    /// say where their values are ([`Schema::with_blob_descriptions`]).
    pub fn batch_schema(&self) -> SchemaRef {
        Arc::new(self.schema().with_blob_descriptions().to_arrow())
    }

    /// Rows, less those that were deleted.
    pub fn rows(&self) -> u64 {
        self.shared.rows
    }

    /// The fragments in scan order.
    pub fn fragments(&self) -> &[Fragment] {
        &self.shared.fragments
    }

    /// The data file at `file` among those of the fragment at `fragment`, both counted from 0. It is open once
    /// for all who read the table, with the fields of this version that it stores.
    pub async fn data_file(&self, fragment: usize, file: usize) -> Result<FileReader> {
        let slot = self.shared.slots.get(fragment);
        let slot =
            slot.ok_or_else(|| TableError::invalid(format!("the table has no fragment {fragment}")))?;
        slot.reader(&self.shared.places, &self.shared.schema, file).await
    }

    /// What is stored about this version.
    pub fn manifest(&self) -> &Manifest {
        &self.shared.found.manifest
    }

    /// What made this version; none if that is not known or cannot be understood.
    pub async fn transaction(&self) -> Result<Option<crate::proto::Transaction>> {
        commit::transaction_of(self.store(), self.manifest()).await
    }

    /// Where the table is.
    pub fn store(&self) -> &Store {
        self.shared.places.root()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("location", &self.store().location(""))
            .field("version", &self.version())
            .field("rows", &self.rows())
            .finish_non_exhaustive()
    }
}

/// Some software leaves counts out; they are then in the files.
async fn complete_all(
    fragments: &mut [Fragment],
    places: &Places,
    schema: &Schema,
    options: OpenOptions,
) -> Result<()> {
    let without = fragments.iter().enumerate().filter(|(_, one)| no_rows(one) || no_deletions(one));
    let without = without.map(|(index, fragment)| (index, fragment.clone())).collect::<Vec<_>>();
    let completed = without.into_iter().map(|(index, fragment)| async move {
        Ok::<_, TableError>((index, complete(fragment, places, schema, options).await?))
    });
    let mut completed = stream::iter(completed).buffer_unordered(CONCURRENT);
    while let Some((index, fragment)) = completed.try_next().await? {
        if let Some(place) = fragments.get_mut(index) {
            *place = fragment;
        }
    }
    Ok(())
}

/// Whether it does not say how many rows it has.
fn no_rows(fragment: &Fragment) -> bool {
    fragment.message.physical_rows == 0 && !fragment.message.files.is_empty()
}

/// Whether it does not say how many of them are deleted.
fn no_deletions(fragment: &Fragment) -> bool {
    fragment.message.deletion_file.as_ref().is_some_and(|file| file.num_deleted_rows == 0)
}

async fn complete(
    mut fragment: Fragment,
    places: &Places,
    schema: &Schema,
    options: OpenOptions,
) -> Result<Fragment> {
    let changed = |message| {
        Fragment::new(message).map_err(|error| TableError::format(places.root().location(""), error))
    };
    if no_rows(&fragment) {
        let physical_rows = Slot::new(fragment.clone(), options).reader(places, schema, 0).await?.rows();
        fragment = changed(DataFragment { physical_rows, ..fragment.to_proto() })?;
    }
    if no_deletions(&fragment) {
        let live = Slot::new(fragment.clone(), options).live(places).await?.rows().len();
        let mut message = fragment.to_proto();
        if let Some(file) = &mut message.deletion_file {
            file.num_deleted_rows = message.physical_rows.saturating_sub(live);
        }
        fragment = changed(message)?;
    }
    Ok(fragment)
}

/// An error if a table with `manifest` could not be opened, as far as that can be told without looking at other files.
pub(crate) fn check(manifest: &Manifest) -> Result<(), FormatError> {
    let message = &manifest.message;
    flags::check_consistent(message)?;
    Schema::from_proto(&message.fields, &message.schema_metadata)?;
    let fragments = message.fragments.iter().cloned().map(Fragment::new).collect::<Result<Vec<_>, _>>()?;
    check_versions(manifest, &fragments)
}

/// Files of other versions than the table's need a flag.
fn check_versions(manifest: &Manifest, fragments: &[Fragment]) -> Result<(), FormatError> {
    let Some(format) = &manifest.message.data_format else { return Ok(()) };
    if manifest.message.reader_feature_flags & flags::MIXED_VERSIONS != 0 {
        return Ok(());
    }
    let version = format.version.parse::<Version>()?;
    let mut files = fragments.iter().flat_map(Fragment::files);
    match files.find(|file| file.version != version) {
        None => Ok(()),
        Some(file) => Err(FormatError::corrupt(
            "manifest",
            format!("data file {} has version {} in a table of version {version}", file.path, file.version),
        )),
    }
}

#[cfg(test)]
mod tests;
