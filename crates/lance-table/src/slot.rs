//! A fragment of an open table: its files are opened when they are needed, and what is known of them stays. Of local ones
//! those that were not read for the longest time are closed, and opened again when they are read.

use std::sync::{Arc, OnceLock};

use futures::future::try_join_all;
use lance_file::{FileReader, OpenOptions, Schema};
use lance_footer::FormatError;
use lance_io::IoError;
use tokio::sync::OnceCell;

use crate::deletion::{self, LiveRows};
use crate::known::{Known, RowColumn};
use crate::place::Places;
use crate::row_ids::RowIds;
use crate::row_versions::RowVersions;
use crate::{Fragment, Result, TableError};

pub(crate) use levels::cheapest_leaf;

mod levels;

/// A fragment, and what was read of it so far.
#[derive(Debug)]
pub(crate) struct Slot {
    fragment: Fragment,
    options: crate::OpenOptions,
    readers: Vec<OnceCell<FileReader>>,
    live: OnceCell<Arc<LiveRows>>,
    ids: OnceLock<Arc<RowIds>>,
}

/// A data file of a fragment, and the part of a projection that is stored in it.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) reader: FileReader,
    pub(crate) schema: Schema,
}

impl Slot {
    /// `options` are those of the table.
    pub(crate) fn new(fragment: Fragment, options: crate::OpenOptions) -> Self {
        let readers = fragment.files().iter().map(|_| OnceCell::new()).collect();
        Self { fragment, options, readers, live: OnceCell::new(), ids: OnceLock::new() }
    }

    pub(crate) const fn fragment(&self) -> &Fragment {
        &self.fragment
    }

    /// The rows that are not deleted.
    pub(crate) async fn live(&self, places: &Places) -> Result<Arc<LiveRows>> {
        self.live.get_or_try_init(|| self.read_deletions(places)).await.cloned()
    }

    async fn read_deletions(&self, places: &Places) -> Result<Arc<LiveRows>> {
        let rows = self.fragment.physical_rows();
        let deleted = deletion::read(places, &self.fragment.message).await?;
        if deleted.is_empty() {
            return Ok(Arc::new(LiveRows::all(rows)));
        }
        let live = LiveRows::without(rows, &deleted).map_err(|error| {
            TableError::format(places.root().location(&format!("fragment {}", self.fragment.id())), error)
        })?;
        Ok(Arc::new(live))
    }

    /// The ids of the rows.
    pub(crate) fn row_ids(&self, places: &Places) -> Result<Arc<RowIds>> {
        if let Some(ids) = self.ids.get() {
            return Ok(Arc::clone(ids));
        }
        let ids = RowIds::of(&self.fragment.message).map_err(|error| {
            TableError::format(places.root().location(&format!("fragment {}", self.fragment.id())), error)
        })?;
        Ok(Arc::clone(self.ids.get_or_init(|| Arc::new(ids))))
    }

    /// What `column` needs; `before` live rows are in the fragments before this one.
    pub(crate) async fn known(&self, places: &Places, column: RowColumn, before: u64) -> Result<Known> {
        let message = &self.fragment.message;
        let versions = |versions: lance_footer::Result<RowVersions>| match versions {
            Ok(versions) => Ok(Known::Versions(Arc::new(versions))),
            Err(error) => {
                let place = places.root().location(&format!("fragment {}", self.fragment.id()));
                Err(TableError::format(place, error))
            }
        };
        match column {
            RowColumn::Id => Ok(Known::Ids(self.row_ids(places)?)),
            RowColumn::Address => Ok(Known::Ids(Arc::new(RowIds::Address { fragment: self.fragment.id() }))),
            RowColumn::Offset => Ok(Known::Live(self.live(places).await?, before)),
            RowColumn::CreatedAt => versions(RowVersions::created(message)),
            RowColumn::UpdatedAt => versions(RowVersions::updated(message)),
        }
    }

    /// The files that store something of `projection`, which is made from `schema`, that of the table, or of what is needed
    /// to tell where its structs and lists are null.
    pub(crate) async fn parts(
        &self,
        places: &Places,
        schema: &Schema,
        projection: &Schema,
    ) -> Result<Vec<Part>> {
        let files = self.fragment.files();
        let has = |id| files.iter().any(|file| file.has(id));
        let nested = projection.fields.iter().any(|field| !field.children.is_empty());
        let levels = nested.then(|| levels::with_levels(projection, schema, &has));
        let wanted = levels.as_ref().unwrap_or(projection);
        let parts = files.iter().enumerate().filter_map(|(index, file)| {
            let stored = wanted.project_ids(|id| file.has(id));
            (!stored.fields.is_empty()).then_some((index, stored))
        });
        try_join_all(parts.map(|(index, stored)| async move {
            Ok(Part { reader: self.reader(places, schema, index).await?, schema: stored })
        }))
        .await
    }

    /// The open data file at `index`.
    pub(crate) async fn reader(&self, places: &Places, schema: &Schema, index: usize) -> Result<FileReader> {
        let (Some(cell), Some(file)) = (self.readers.get(index), self.fragment.files().get(index)) else {
            return Err(TableError::invalid(format!("data file {index} of fragment {}", self.fragment.id())));
        };
        let open = || async {
            let (store, path) = places.data_file(file.base, &file.path)?;
            let source = store.open_file(&path, file.size).await.map_err(missing)?;
            let corrupt = |reason: String| {
                TableError::format(store.location(&path), FormatError::corrupt("data file", reason))
            };
            if let Some(size) = file.size
                && source.size() != size
            {
                return Err(corrupt(format!("{} bytes, but the manifest says {size}", source.size())));
            }
            let stored = schema.project_ids(|id| file.has(id)).as_stored();
            let empty = stored.fields.is_empty();
            let options = OpenOptions {
                schema: Some(stored),
                columns: Some(file.columns.clone()),
                verify_checksums: self.options.verify_checksums,
                budget: self.options.budget,
                ..Default::default()
            };
            let reader = FileReader::open_with(source, options).await?;
            let rows = self.fragment.physical_rows();
            // A manifest that does not know the rows of a fragment has them as zero.
            if !empty && rows != 0 && reader.rows() != rows {
                return Err(corrupt(format!("{} rows, but the manifest says {rows}", reader.rows())));
            }
            if reader.version() != file.version {
                let (own, said) = (reader.version(), file.version);
                return Err(corrupt(format!("it has version {own}, but the manifest says {said}")));
            }
            Ok(reader)
        };
        cell.get_or_try_init(open).await.cloned()
    }
}

/// A file that a manifest lists must be there.
pub(crate) fn missing(error: IoError) -> TableError {
    match error {
        IoError::NotFound { path } => {
            TableError::format(path, FormatError::corrupt("table", "a file that it lists is not there"))
        }
        error => error.into(),
    }
}
