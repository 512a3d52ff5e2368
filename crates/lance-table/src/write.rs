//! Writes batches as new fragments, then commits them.

use std::collections::BTreeMap;

use lance_file::{Batches, Compression, FileWriter, Schema, Written};
use lance_footer::{Alignment, Version};
use lance_io::Store;
use uuid::Uuid;

use crate::commit::{CommitOptions, abandon, commit};
use crate::manifest::latest::Found;
use crate::operation::{Append, Operation, Overwrite};
use crate::proto::{DataFile, DataFragment};
use crate::{Manifest, Result, TableError};
pub(crate) use arrange::{arrange, match_append};
use arrow_array::RecordBatch;
use futures::TryStreamExt;

mod arrange;

/// The key of a table's config that says whether its new data files get checksums: `true` or `false`.
pub const CHECKSUMS: &str = "demilance.checksums";

/// What to do about a table that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteMode {
    /// An error if there is one.
    #[default]
    Create,
    /// The rows are added. Columns go by name; nullable ones may be missing. Without a table it is made.
    Append,
    /// Rows and schema are replaced; older versions can still be opened. Without a table it is made.
    Overwrite,
}

/// How a table is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// What to do about a table that is there already.
    pub mode: WriteMode,
    /// The version of data files; none for that of the table, or for a new one the default.
    pub version: Option<Version>,
    /// To how many bytes buffers are aligned.
    pub alignment: Alignment,
    /// A fragment has at most so many rows.
    pub max_rows_per_fragment: u64,
    /// A fragment is closed when its file has this many bytes.
    pub max_bytes_per_fragment: u64,
    /// A page is closed when it has more bytes than this.
    pub page_bytes: u64,
    /// What the values of fields are compressed with whose metadata does not say; none for what is smallest of
    /// what is quick.
    pub compression: Option<Compression>,
    /// Whether the new data files get checksums: see [`lance_file::WriteOptions::checksums`]. None for the way of the table,
    /// which is none for a new one. The way of a table is what was said when it was made or overwritten; its config has it
    /// under the key [`CHECKSUMS`].
    pub checksums: Option<bool>,
    /// Whether the rows of a new table keep their ids when they are updated or compacted. A table that is there keeps what
    /// it has.
    pub stable_row_ids: bool,
    /// How the new version is committed.
    pub commit: CommitOptions,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            mode: WriteMode::default(),
            version: None,
            alignment: Alignment::default(),
            max_rows_per_fragment: 1 << 20,
            max_bytes_per_fragment: 90 << 30,
            page_bytes: lance_file::WriteOptions::default().page_bytes,
            compression: None,
            checksums: None,
            stable_row_ids: false,
            commit: CommitOptions::default(),
        }
    }
}

impl WriteOptions {
    /// An error if they make no sense.
    pub(crate) fn check(&self) -> Result<()> {
        match self.max_rows_per_fragment {
            rows if rows == 0 || rows > u64::from(u32::MAX) => {
                Err(TableError::invalid(format!("a fragment must have 1 to 2^32 - 1 rows, not {rows}")))
            }
            _ => Ok(()),
        }
    }
}

/// Writes `batches` and commits them after `read`, the version of the table that the caller knows.
pub(crate) async fn write(
    store: &Store,
    read: Option<Found>,
    batches: Batches,
    mut options: WriteOptions,
) -> Result<Found> {
    if let Some(read) = &read {
        if options.mode == WriteMode::Create {
            return Err(TableError::AlreadyExists { location: store.location("") });
        }
        read.check_writable()?;
    }
    options.check()?;
    let config = match (options.mode, options.checksums) {
        (WriteMode::Create | WriteMode::Overwrite, Some(checksums)) => {
            [(CHECKSUMS.to_string(), checksums.to_string())].into()
        }
        _ => BTreeMap::new(),
    };
    options.checksums = Some(has_checksums(options.checksums, read.as_ref().map(|read| &read.manifest)));
    let target = Target::new(store, read.as_ref(), &batches, &options)?;
    let read_version = read.as_ref().map_or(0, |read| read.manifest.version());

    let mut fragments = Fragments::new(store, &target, &options, vec![]);
    let written = fragments.write_all(batches).await;
    let (names, done) = (fragments.paths(), fragments.done);
    match written {
        Ok(()) => {
            let operation = target.into_operation(done, options.stable_row_ids, config);
            match commit(store, read_version, operation, &options.commit, names).await {
                // There was none when this began, and there was to be one in any case.
                Err(TableError::AlreadyExists { location }) if options.mode != WriteMode::Create => {
                    let (ours, theirs, reason) = ("create", "create", "the table was made meanwhile".into());
                    Err(TableError::Conflict { location, version: 1, ours, theirs, reason, retryable: true })
                }
                committed => committed,
            }
        }
        Err(error) => {
            abandon(store, names, &error).await;
            Err(error)
        }
    }
}

/// What the new files have.
pub(crate) struct Target {
    /// Of the files.
    pub(crate) schema: Schema,
    pub(crate) version: Version,
    /// Whether rows are added to a table, whose schema stays.
    pub(crate) append: bool,
}

impl Target {
    fn new(store: &Store, read: Option<&Found>, batches: &Batches, options: &WriteOptions) -> Result<Self> {
        let refused = |error| TableError::format(store.location(""), error);
        let incoming = Schema::from_arrow(&batches.schema).map_err(refused)?;
        let (Some(read), WriteMode::Append) = (read, options.mode) else {
            let version = options.version.unwrap_or_default();
            FileWriter::check(&incoming, &file_options(version, options)).map_err(refused)?;
            return Ok(Self { schema: incoming, version, append: false });
        };
        let message = &read.manifest.message;
        let format = |error| TableError::format(&read.location, error);
        let table = Schema::from_proto(&message.fields, &message.schema_metadata).map_err(format)?;
        let version = match options.version {
            Some(version) => version,
            None => read.manifest.file_version().map_err(format)?,
        };
        let fields = match_append(&table.fields, &incoming.fields).map_err(TableError::invalid)?;
        let schema = Schema { fields, metadata: table.metadata };
        FileWriter::check(&schema, &file_options(version, options)).map_err(refused)?;
        Ok(Self { schema, version, append: true })
    }

    fn into_operation(
        self,
        fragments: Vec<DataFragment>,
        stable_row_ids: bool,
        config: BTreeMap<String, String>,
    ) -> Operation {
        if self.append {
            return Operation::Append(Append { fragments });
        }
        Operation::Overwrite(Overwrite {
            fragments,
            fields: self.schema.to_proto(),
            schema_metadata: self.schema.metadata_to_proto(),
            version: self.version,
            stable_row_ids,
            config,
        })
    }
}

/// Cuts batches into fragments of one file each.
pub(crate) struct Fragments<'a> {
    store: &'a Store,
    target: &'a Target,
    options: &'a WriteOptions,
    /// How many rows the first ones get; later ones get as many as the options say.
    rows: Vec<u64>,
    open: Option<(String, FileWriter)>,
    pub(crate) done: Vec<DataFragment>,
}

impl<'a> Fragments<'a> {
    pub(crate) const fn new(
        store: &'a Store,
        target: &'a Target,
        options: &'a WriteOptions,
        rows: Vec<u64>,
    ) -> Self {
        Self { store, target, options, rows, open: None, done: vec![] }
    }

    async fn write_all(&mut self, mut batches: Batches) -> Result<()> {
        while let Some(batch) = batches.stream.try_next().await? {
            self.push_all(&batch).await?;
        }
        self.close().await
    }

    /// Writes `batch`.
    pub(crate) async fn push_all(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut batch = arrange(batch, &self.target.schema)?;
        while batch.num_rows() > 0 {
            batch = self.push(batch).await?;
        }
        Ok(())
    }

    /// The paths of what was written.
    pub(crate) fn paths(&self) -> Vec<String> {
        let files = self.done.iter().flat_map(|fragment| &fragment.files);
        files.map(|file| format!("data/{}", file.path)).collect()
    }

    /// Writes as many rows of `batch` as the fragment has room for, and gives back the rest.
    async fn push(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let (name, mut writer) = match self.open.take() {
            Some(open) => open,
            None => begin(self.store, &self.target.schema, self.target.version, self.options).await?,
        };
        let most = self.rows.get(self.done.len()).copied().unwrap_or(self.options.max_rows_per_fragment);
        let room = most.saturating_sub(writer.rows());
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(batch.num_rows());
        // A writer that failed is dropped here, and leaves nothing.
        writer.push(&batch.slice(0, room)).await?;
        let full = writer.rows() >= most || writer.bytes() >= self.options.max_bytes_per_fragment;
        self.open = Some((name, writer));
        if full {
            self.close().await?;
        }
        Ok(batch.slice(room, batch.num_rows() - room))
    }

    /// Ends the last fragment.
    pub(crate) async fn close(&mut self) -> Result<()> {
        let Some((path, writer)) = self.open.take() else { return Ok(()) };
        let (physical_rows, file) = finish(self.store, path, writer).await?;
        self.done.push(DataFragment { files: vec![file], physical_rows, ..Default::default() });
        Ok(())
    }
}

/// A new data file and its name. It leaves nothing unless it is finished.
pub(crate) async fn begin(
    store: &Store,
    schema: &Schema,
    version: Version,
    options: &WriteOptions,
) -> Result<(String, FileWriter)> {
    let name = file_name(Uuid::new_v4().into_bytes());
    let writer = store.create(&format!("data/{name}"), options.alignment).await?;
    let writer = FileWriter::new(writer, schema.clone(), file_options(version, options))?;
    Ok((name, writer))
}

/// Ends a data file that was [begun](begin); gives its rows and what manifests say of it.
pub(crate) async fn finish(store: &Store, name: String, writer: FileWriter) -> Result<(u64, DataFile)> {
    match writer.finish().await {
        Ok(written) => Ok((written.rows, describe(name, written))),
        // It may stand there nevertheless: only its answer got lost, or whether it lasts is not known.
        Err(error) => {
            let error = error.into();
            abandon(store, vec![format!("data/{name}")], &error).await;
            Err(error)
        }
    }
}

/// What a manifest says of the data file at `path`.
fn describe(path: String, written: Written) -> DataFile {
    let (file_major_version, file_minor_version) = written.version.to_manifest();
    let column_indices = written.columns.iter().map(|column| i32::try_from(*column).unwrap_or(-1));
    DataFile {
        path,
        column_indices: column_indices.collect(),
        fields: written.fields,
        file_major_version,
        file_minor_version,
        file_size_bytes: written.size,
        base_id: None,
    }
}

/// Whether files get checksums: what was asked for, or else what `table` says.
pub(crate) fn has_checksums(asked: Option<bool>, table: Option<&Manifest>) -> bool {
    let config = table.and_then(|table| table.message.config.get(CHECKSUMS));
    asked.unwrap_or_else(|| config.is_some_and(|value| value == "true"))
}

pub(crate) fn file_options(version: Version, options: &WriteOptions) -> lance_file::WriteOptions {
    let WriteOptions { page_bytes, compression, checksums, .. } = *options;
    lance_file::WriteOptions { version, page_bytes, compression, checksums: checksums.unwrap_or(false) }
}

/// The name of a data file: three random bytes in binary digits, which spread over the partitions of object
/// stores, and the rest in hexadecimal ones.
fn file_name(random: [u8; 16]) -> String {
    let (first, rest) = random.split_at(3);
    let first = first.iter().map(|byte| format!("{byte:08b}")).collect::<String>();
    let rest = rest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("{first}{rest}.lance")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_data_files() {
        let mut random = [0xab; 16];
        random[0] = 0b1000_0001;
        let name = file_name(random);
        assert_eq!(name, format!("100000011010101110101011{}.lance", "ab".repeat(13)));
        assert_eq!(name.len(), 56);
    }
}
