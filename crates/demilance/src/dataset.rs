use std::num::NonZeroUsize;
use std::time::SystemTime;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lance_io::Store;
use lance_table::{
    At, Batches, Cleanup, CleanupOptions, CompactionOptions, DecodeBudget, Expr, Fragment, Manifest,
    OpenOptions, Reference, Table, WriteMode, WriteOptions,
};

use crate::{Result, Scan};

/// One version of a table, open for reading. Clones are cheap, and share open files and their metadata.
#[derive(Debug, Clone)]
pub struct Dataset {
    table: Table,
}

/// Says what is opened. Made by [`Dataset::builder`].
#[derive(Debug, Clone)]
pub struct DatasetBuilder {
    uri: String,
    reference: Reference,
    options: OpenOptions,
    store: Option<Store>,
}

impl Dataset {
    /// Opens the latest version of the table at `uri`, a path or a URL.
    pub async fn open(uri: &str) -> Result<Self> {
        Self::builder(uri).load().await
    }

    /// Opens the table at `uri` in another way than [`Self::open`] does.
    pub fn builder(uri: &str) -> DatasetBuilder {
        DatasetBuilder {
            uri: uri.into(),
            reference: Reference::default(),
            options: OpenOptions::default(),
            store: None,
        }
    }

    /// Makes, extends or replaces the table at `uri`, as the mode of `options` says.
    ///
    /// Nothing appears before all batches were written; then one new version does.
    pub async fn write(uri: &str, batches: impl Into<Batches>, options: WriteOptions) -> Result<Self> {
        Self::write_to(Store::open(uri)?, batches, options).await
    }

    /// The same for the table in `store`.
    pub async fn write_to(store: Store, batches: impl Into<Batches>, options: WriteOptions) -> Result<Self> {
        Ok(Table::write(store, batches.into(), options).await?.into())
    }

    /// Adds rows to the table, and gives the version that has them. Columns go by name; nullable ones may be
    /// missing. Rows that others added since this version was opened are kept.
    pub async fn append(&self, batches: impl Into<Batches>) -> Result<Self> {
        self.append_with(batches, WriteOptions::default()).await
    }

    /// The same with options, whose mode is not looked at.
    pub async fn append_with(&self, batches: impl Into<Batches>, options: WriteOptions) -> Result<Self> {
        let options = WriteOptions { mode: WriteMode::Append, ..options };
        Ok(self.table.write_after(batches.into(), options).await?.into())
    }

    /// The version number.
    pub fn version(&self) -> u64 {
        self.table.version()
    }

    /// The schema. Columns of blobs have the type of their values here, a large binary or the struct of `lance.blob.v2`. In
    /// what [`Self::scan`], [`Self::take`] and [`Self::take_rows`] give, they are structs that say where each value is,
    /// `position` and `size` and, of `lance.blob.v2`, more: [`Table::batch_schema`].
    pub fn schema(&self) -> SchemaRef {
        self.table.arrow_schema()
    }

    /// Rows, less those that were deleted.
    pub fn count_rows(&self) -> u64 {
        self.table.rows()
    }

    /// How many rows there are for which `filter` is true, text as [`Expr`] describes it. Reads the columns that it needs.
    pub async fn count_rows_where(&self, filter: &str) -> Result<u64> {
        Ok(self.table.count(&Expr::parse(filter)?).await?)
    }

    /// The fragments, in scan order.
    pub fn fragments(&self) -> &[Fragment] {
        self.table.fragments()
    }

    /// What is stored about this version.
    pub fn manifest(&self) -> &Manifest {
        self.table.manifest()
    }

    /// A scan of all rows and columns, to be narrowed down.
    pub fn scan(&self) -> Scan {
        Scan::new(self.table.clone())
    }

    /// The rows at `rows`, in the order asked, as often as asked. Rows are counted in scan order, without
    /// those that were deleted.
    pub async fn take(&self, rows: &[u64]) -> Result<RecordBatch> {
        Ok(self.table.take(rows, None, false).await?)
    }

    /// The same for the fields at the dotted paths `columns`.
    pub async fn take_columns<C: AsRef<str>>(&self, rows: &[u64], columns: &[C]) -> Result<RecordBatch> {
        let columns = columns.iter().map(|column| column.as_ref().to_string()).collect::<Vec<_>>();
        Ok(self.table.take(rows, Some(&columns), false).await?)
    }

    /// Rewrites fragments that are small or have many deleted rows, and gives the version in which the new ones have
    /// taken their place: see [`Table::compact`]. To see before what would be done, or to do it on several machines,
    /// there is [`Table::plan_compaction`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use demilance::arrow::record_batch;
    /// use demilance::{CompactionOptions, Dataset, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("robot.lance");
    /// # let path = path.to_str().ok_or("path")?;
    /// let rows = || record_batch!(("id", Int32, [1, 2, 3]));
    /// let table = Dataset::write(path, vec![rows()?], WriteOptions::default()).await?;
    /// let table = table.append(vec![rows()?]).await?;
    /// let table = table.compact(&CompactionOptions::default()).await?;
    /// assert_eq!((table.fragments().len(), table.count_rows()), (1, 6));
    /// # Ok(()) }
    /// ```
    pub async fn compact(&self, options: &CompactionOptions) -> Result<Self> {
        Ok(self.table.compact(options).await?.complete()?.table.into())
    }

    /// The rows with these `_rowid`s, in the order asked, as often as asked. Rows that are not there are left out; ask for
    /// the column `_rowid` to know which. In a table with stable row ids
    /// ([`WriteOptions::stable_row_ids`]) a row keeps its id when it is updated or compacted.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use demilance::arrow::record_batch;
    /// use demilance::{Dataset, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("robot.lance");
    /// # let path = path.to_str().ok_or("path")?;
    /// let options = WriteOptions { stable_row_ids: true, ..Default::default() };
    /// let table = Dataset::write(path, vec![record_batch!(("frame", Int32, [10, 20, 30]))?], options).await?;
    /// let taken = table.take_ids(&[2, 7, 0], &["_rowid", "frame"]).await?;
    /// assert_eq!(taken, record_batch!(("_rowid", UInt64, [2, 0]), ("frame", Int32, [30, 10]))?);
    /// # Ok(()) }
    /// ```
    pub async fn take_ids<C: AsRef<str>>(&self, ids: &[u64], columns: &[C]) -> Result<RecordBatch> {
        let columns = columns.iter().map(|column| column.as_ref().to_string()).collect::<Vec<_>>();
        Ok(self.table.take_ids(ids, Some(&columns), false).await?)
    }

    /// Removes old versions, the files that only they need, and files that no version needs: see [`Table::clean_up`].
    /// Versions with tags and what branches need stay. [`Table::plan_cleanup`] says before what would go, and why.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use demilance::arrow::record_batch;
    /// use demilance::{CleanupOptions, Dataset, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("robot.lance");
    /// # let path = path.to_str().ok_or("path")?;
    /// let rows = || record_batch!(("id", Int32, [1, 2, 3]));
    /// let table = Dataset::write(path, vec![rows()?], WriteOptions::default()).await?;
    /// let table = table.append(vec![rows()?]).await?;
    /// let done = table.clean_up(&CleanupOptions { keep: Some(1), ..Default::default() }).await?;
    /// // The first version had nothing of its own but its manifest and its transaction.
    /// assert_eq!((done.plan.versions.len(), done.removed.files), (1, 2));
    /// # Ok(()) }
    /// ```
    pub async fn clean_up(&self, options: &CleanupOptions) -> Result<Cleanup> {
        Ok(self.table.clean_up(options).await?)
    }

    /// The table below.
    pub const fn table(&self) -> &Table {
        &self.table
    }
}

impl From<Table> for Dataset {
    fn from(table: Table) -> Self {
        Self { table }
    }
}

impl DatasetBuilder {
    /// Opens this version instead of the latest.
    pub fn version(mut self, version: u64) -> Self {
        self.reference.at = At::Version(version);
        self
    }

    /// Opens the version that the tag `name` names, which may be one of a branch.
    pub fn tag(mut self, name: impl Into<String>) -> Self {
        self.reference.at = At::Tag(name.into());
        self
    }

    /// Opens the newest version that was committed at `time` or before.
    pub fn as_of(mut self, time: SystemTime) -> Self {
        self.reference.at = At::Time(time);
        self
    }

    /// Opens the branch `name`: its latest version if nothing else is said. What is appended to it is not seen outside of
    /// the branch.
    pub fn branch(mut self, name: impl Into<String>) -> Self {
        self.reference.branch = Some(name.into());
        self
    }

    /// Says whether what is read of data files that have checksums (see [`WriteOptions::checksums`]) is checked. What is
    /// not as it was written is then an error, and never a wrong value. A buffer is checked when something of it is
    /// read for the first time, which reads all of it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use demilance::arrow::record_batch;
    /// use demilance::{Dataset, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("robot.lance");
    /// # let path = path.to_str().ok_or("path")?;
    /// let options = WriteOptions { checksums: Some(true), ..Default::default() };
    /// Dataset::write(path, vec![record_batch!(("id", Int32, [1, 2, 3]))?], options).await?;
    /// let table = Dataset::builder(path).verify_checksums(true).load().await?;
    /// assert_eq!(table.take(&[2]).await?.num_rows(), 1);
    /// # Ok(()) }
    /// ```
    pub const fn verify_checksums(mut self, verify: bool) -> Self {
        self.options.verify_checksums = verify;
        self
    }

    /// Says how much memory decoding may take: more for a table that is trusted and very well compressed, less where
    /// memory is short. What takes more is an error, [`ErrorKind::OverBudget`](crate::ErrorKind).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use demilance::arrow::record_batch;
    /// use demilance::{Dataset, DecodeBudget, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("robot.lance");
    /// # let path = path.to_str().ok_or("path")?;
    /// Dataset::write(path, vec![record_batch!(("id", Int32, [1, 2, 3]))?], WriteOptions::default()).await?;
    /// let table = Dataset::builder(path).decode_budget(DecodeBudget::UNLIMITED).load().await?;
    /// assert_eq!(table.take(&[2]).await?.num_rows(), 1);
    /// # Ok(()) }
    /// ```
    pub const fn decode_budget(mut self, budget: DecodeBudget) -> Self {
        self.options.budget = budget;
        self
    }

    /// Says how many local files stay open for reading; 256 if nothing is said. A file that is not among those that were read
    /// last is opened again when it is read, which takes a few microseconds.
    /// It is ignored for a [`store`](Self::store) that has a bound already.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::num::NonZeroUsize;
    ///
    /// use demilance::arrow::record_batch;
    /// use demilance::{Dataset, WriteOptions};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("robot.lance");
    /// # let path = path.to_str().ok_or("path")?;
    /// let options = WriteOptions { max_rows_per_fragment: 1, ..Default::default() };
    /// Dataset::write(path, vec![record_batch!(("id", Int32, [1, 2, 3]))?], options).await?;
    /// let table = Dataset::builder(path).open_files(NonZeroUsize::MIN).load().await?;
    /// assert_eq!(table.take(&[2, 0, 1]).await?, record_batch!(("id", Int32, [3, 1, 2]))?);
    /// # Ok(()) }
    /// ```
    pub const fn open_files(mut self, files: NonZeroUsize) -> Self {
        self.options.open_files = files;
        self
    }

    /// Opens the table in `store` instead of the one that the URI names.
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// Opens it.
    pub async fn load(self) -> Result<Dataset> {
        let store = match self.store {
            Some(store) => store,
            None => Store::open(&self.uri)?,
        };
        Ok(Table::open_at(store, &self.reference, self.options).await?.into())
    }
}
