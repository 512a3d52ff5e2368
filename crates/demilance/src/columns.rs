use std::future::{Future, IntoFuture};
use std::pin::Pin;

use arrow_schema::{DataType, Field, Schema};
use lance_table::{ColumnOptions, CommitOptions, ConfigChange, Expr, Misfits, NewColumns, Table};

use crate::{Dataset, Result};

/// Columns.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use demilance::arrow::{ArrayRef, DataType, Field, Int64Array, RecordBatch, Schema, cast::AsArray, record_batch, types};
/// use demilance::{Dataset, NewColumns, WriteOptions};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("robot.lance");
/// # let path = path.to_str().ok_or("path")?;
/// let batch = record_batch!(("frame", Int64, [0, 1, 2]), ("speed", Float32, [0.0, 0.5, 0.25]))?;
/// let table = Dataset::write(path, batch, WriteOptions::default()).await?;
///
/// let table = table.add_expression("fast", "speed > 0.3").await?;     // one small file a fragment
/// let table = table.add_null_column("label", DataType::Utf8).await?;  // no file at all
///
/// let schema = Schema::new(vec![Field::new("square", DataType::Int64, false)]);
/// let square = NewColumns::function(["frame"], schema, |batch| {
///     let frames = batch.column(0).as_primitive::<types::Int64Type>();
///     let squares = Int64Array::from_iter_values(frames.values().iter().map(|frame| frame * frame));
///     RecordBatch::try_from_iter([("square", Arc::new(squares) as ArrayRef)])
/// });
/// let table = table.add_columns(square).await?;
///
/// let table = table.rename_column("frame", "index").await?;
/// let table = table.cast_column("index", DataType::Int32).await?;
/// let table = table.drop_columns(["fast", "label"]).await?;
/// let table = table.update_config().config("owner", "lab").field("speed", "unit", "m/s").await?;
///
/// let expected = record_batch!(("index", Int32, [2]), ("speed", Float32, [0.25]))?;
/// assert_eq!(table.take_columns(&[2], &["index", "speed"]).await?.columns(), expected.columns());
/// assert_eq!(table.schema().field(1).metadata()["unit"], "m/s");
/// # Ok(()) }
/// ```
impl Dataset {
    /// Adds columns; see [`NewColumns`] for where their values can come from. Only they are written, one file for each
    /// fragment: see [`Table::add_columns`].
    pub async fn add_columns(&self, columns: NewColumns) -> Result<Self> {
        self.add_columns_with(columns, ColumnOptions::default()).await
    }

    /// The same with options.
    pub async fn add_columns_with(&self, columns: NewColumns, options: ColumnOptions) -> Result<Self> {
        Ok(self.table().add_columns(columns, &options).await?.into())
    }

    /// Adds the column `name` with the values of the expression `text`, written as [`Expr`] says.
    pub async fn add_expression(&self, name: &str, text: &str) -> Result<Self> {
        self.add_columns(NewColumns::expressions([(name, Expr::parse(text)?)])).await
    }

    /// Adds a column that is null in all rows, for which nothing is written.
    pub async fn add_null_column(&self, name: &str, data_type: DataType) -> Result<Self> {
        self.add_columns(NewColumns::null(Schema::new(vec![Field::new(name, data_type, true)]))).await
    }

    /// Drops the columns at these dotted paths. Their values stay in the versions that have them. An error if none would be
    /// left.
    pub async fn drop_columns<C: AsRef<str>>(&self, columns: impl IntoIterator<Item = C>) -> Result<Self> {
        let columns = columns.into_iter().map(|column| column.as_ref().to_string()).collect::<Vec<_>>();
        Ok(self.table().drop_columns(&columns, &CommitOptions::default()).await?.into())
    }

    /// Gives the column at the dotted path `column` another name; a field of a struct stays in it.
    pub async fn rename_column(&self, column: &str, name: &str) -> Result<Self> {
        Ok(self.table().rename_column(column, name, &CommitOptions::default()).await?.into())
    }

    /// Says whether the column at the dotted path `column` may be null. An error if it may not be but is.
    pub async fn set_nullable(&self, column: &str, nullable: bool) -> Result<Self> {
        Ok(self.table().set_nullable(column, nullable, &CommitOptions::default()).await?.into())
    }

    /// Gives the column at the dotted path `column` another type. Only it is written. A value that does not fit is an
    /// error that names it and its row: see [`Table::cast_column`].
    pub async fn cast_column(&self, column: &str, to: DataType) -> Result<Self> {
        self.cast_column_with(column, to, Misfits::Refuse, ColumnOptions::default()).await
    }

    /// The same with options, and where values that do not fit may become null.
    pub async fn cast_column_with(
        &self,
        column: &str,
        to: DataType,
        misfits: Misfits,
        options: ColumnOptions,
    ) -> Result<Self> {
        Ok(self.table().cast_column(column, &to, misfits, &options).await?.into())
    }

    /// Changes key-value pairs: what is asked for is done when the builder is awaited.
    pub fn update_config(&self) -> UpdateConfig {
        UpdateConfig { table: self.table().clone(), change: ConfigChange::default() }
    }
}

/// Says what becomes of key-value pairs. Made by [`Dataset::update_config`].
#[derive(Debug, Clone)]
pub struct UpdateConfig {
    table: Table,
    change: ConfigChange,
}

impl UpdateConfig {
    /// Sets a key of the table's config. Keys that begin with `lance.` mean something to software that reads the format.
    #[must_use]
    pub fn config(mut self, key: &str, value: &str) -> Self {
        self.change.config.set.insert(key.into(), value.into());
        self
    }

    /// Removes a key of the table's config.
    #[must_use]
    pub fn remove_config(mut self, key: &str) -> Self {
        self.change.config.unset.insert(key.into());
        self
    }

    /// Sets a key of the table's metadata, which are free form.
    #[must_use]
    pub fn metadata(mut self, key: &str, value: &str) -> Self {
        self.change.table_metadata.set.insert(key.into(), value.into());
        self
    }

    /// Removes a key of the table's metadata.
    #[must_use]
    pub fn remove_metadata(mut self, key: &str) -> Self {
        self.change.table_metadata.unset.insert(key.into());
        self
    }

    /// Sets a key of the schema's metadata.
    #[must_use]
    pub fn schema(mut self, key: &str, value: &str) -> Self {
        self.change.schema_metadata.set.insert(key.into(), value.into());
        self
    }

    /// Removes a key of the schema's metadata.
    #[must_use]
    pub fn remove_schema(mut self, key: &str) -> Self {
        self.change.schema_metadata.unset.insert(key.into());
        self
    }

    /// Sets a key of the metadata of the column at the dotted path `column`.
    #[must_use]
    pub fn field(mut self, column: &str, key: &str, value: &str) -> Self {
        let pairs = self.change.field_metadata.entry(column.into()).or_default();
        pairs.set.insert(key.into(), value.into());
        self
    }

    /// Removes a key of the metadata of the column at the dotted path `column`.
    #[must_use]
    pub fn remove_field(mut self, column: &str, key: &str) -> Self {
        let pairs = self.change.field_metadata.entry(column.into()).or_default();
        pairs.unset.insert(key.into());
        self
    }

    /// All that is to be changed, for what there is no function for.
    pub const fn change(&mut self) -> &mut ConfigChange {
        &mut self.change
    }
}

impl IntoFuture for UpdateConfig {
    type Output = Result<Dataset>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            Ok(self.table.update_config(&self.change, &CommitOptions::default()).await?.into())
        })
    }
}
