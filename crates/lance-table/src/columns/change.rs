//! Columns that go, get another name, or may be null from now on or not any more: no data file is written.

use std::collections::BTreeSet;

use futures::FutureExt;
use lance_file::LogicalType;
use tokio::sync::Mutex;

use super::draft::Draft;
use super::nulls;
use crate::commit::{CommitOptions, again, commit};
use crate::operation::{Operation, Project};
use crate::{Result, Table, TableError};

impl Table {
    /// Drops the columns at the dotted paths `paths`. Their values stay in the data files for the versions that have them;
    /// files of which nothing is used any more are not part of the new version. A struct or list goes with the last of
    /// its members. Indices over a dropped column are dropped.
    ///
    /// An error if a column is unknown, or none would be left.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use lance_io::Store;
    /// use lance_table::{CommitOptions, Table, WriteOptions};
    ///
    /// let batch = record_batch!(("id", Int32, [1, 2]), ("speed", Float32, [0.5, 0.25]))?;
    /// let table = Table::write(Store::memory(), batch.into(), WriteOptions::default()).await?;
    /// let table = table.drop_columns(&["speed"], &CommitOptions::default()).await?;
    /// let table = table.rename_column("id", "frame", &CommitOptions::default()).await?;
    /// let table = table.set_nullable("frame", false, &CommitOptions::default()).await?;
    /// assert_eq!((table.version(), table.schema().names()), (4, vec!["frame"]));
    /// # Ok(()) }
    /// ```
    pub async fn drop_columns<P: AsRef<str>>(&self, paths: &[P], options: &CommitOptions) -> Result<Self> {
        let paths = &paths.iter().map(|path| path.as_ref().to_string()).collect::<Vec<_>>();
        again(self, options, move |table| {
            let work = async move {
                let draft = dropped(Draft::of(&table), paths)?;
                project(&table, &draft, true, options).await
            };
            work.boxed()
        })
        .await
    }

    /// Gives the column at the dotted path `path` the name `name`; a field inside of a struct stays in it.
    ///
    /// An error if there is such a name beside it already.
    pub async fn rename_column(&self, path: &str, name: &str, options: &CommitOptions) -> Result<Self> {
        again(self, options, move |table| {
            let work = async move {
                let draft = renamed(Draft::of(&table), path, name)?;
                project(&table, &draft, true, options).await
            };
            work.boxed()
        })
        .await
    }

    /// Says whether the column at the dotted path `path` may be null.
    ///
    /// That it may not be any more is an error if it is: its values are read to find out. Rows that others add in the
    /// meantime are looked at, too.
    pub async fn set_nullable(&self, path: &str, nullable: bool, options: &CommitOptions) -> Result<Self> {
        let checked = Mutex::new(nulls::Checked::new());
        let work = |table: Self| {
            let checked = &checked;
            let work = async move {
                let mut draft = Draft::of(&table);
                let trace = draft.trace(path, "changing whether nulls are allowed in")?;
                let Some(field) = trace.last() else { return Ok(table) };
                if !nullable && field.is_blob() {
                    let what = format!("changing the blob column {path} so that nulls are not allowed");
                    return Err(draft.unsupported(what));
                }
                if !nullable {
                    nulls::refuse(&table, path, trace.len(), &mut *checked.lock().await).await?;
                }
                let id = field.id;
                draft.field_mut(id)?.nullable = nullable;
                project(&table, &draft, nullable, options).await
            };
            work.boxed()
        };
        again(self, options, work).await
    }
}

async fn project(
    table: &Table,
    draft: &Draft,
    preserves_nullability: bool,
    options: &CommitOptions,
) -> Result<Table> {
    table.shared.found.check_writable()?;
    let operation = Operation::Project(Project { fields: draft.to_stored(), preserves_nullability });
    let found = commit(table.store(), table.version(), operation, options, vec![]).await?;
    Table::from_commit(table.store().clone(), found, table.shared.options).await
}

fn dropped(mut draft: Draft, paths: &[String]) -> Result<Draft> {
    if paths.is_empty() {
        return Err(TableError::invalid("no column is named that is to be dropped"));
    }
    let mut ids = BTreeSet::new();
    for path in paths {
        ids.extend(draft.trace(path, "dropping")?.last().map(|field| field.id));
    }
    draft.remove(&ids);
    if draft.schema.fields.is_empty() {
        return Err(TableError::invalid("a table must keep a column, but all of them are to be dropped"));
    }
    Ok(draft)
}

fn renamed(mut draft: Draft, path: &str, name: &str) -> Result<Draft> {
    let trace = draft.trace(path, "renaming")?;
    let (field, above) = match trace.as_slice() {
        [.., above, field] => (field, Some(above)),
        [field] => (field, None),
        [] => return Ok(draft),
    };
    if above.is_some_and(|above| above.logical_type != LogicalType::Struct) {
        return Err(TableError::invalid(format!(
            "column {path:?}: the item of a list has no name of its own"
        )));
    }
    check_name(name)?;
    let siblings = above.map_or(&draft.schema.fields, |above| &above.children);
    if siblings.iter().any(|sibling| sibling.name == name) {
        let there = above.map_or_else(String::new, |above| format!(" in {:?}", above.name));
        return Err(TableError::invalid(format!(
            "column {path:?} cannot be called {name:?}: there is a column of that name{there}"
        )));
    }
    let id = field.id;
    draft.field_mut(id)?.name = name.into();
    Ok(draft)
}

/// Paths are made of names, so they must not be empty or have dots.
fn check_name(name: &str) -> Result<()> {
    match name {
        "" => Err(TableError::invalid("a column must have a name")),
        _ if name.contains('.') => Err(TableError::invalid(format!(
            "a column cannot be called {name:?}: dots stand between the names of a struct and its members"
        ))),
        _ => Ok(()),
    }
}
