//! Deletes rows: they stay in their files, and a small file for each fragment lists them (docs/format/table.md §7).

use std::collections::BTreeMap;

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use lance_footer::{FormatError, Rows};
use roaring::RoaringBitmap;

use crate::commit::{CommitOptions, abandon, again_for, commit};
use crate::deletion;
use crate::filter::{Filter, passing};
use crate::operation::{self, Delete, DeletedRows, Operation};
use crate::proto::DataFragment;
use crate::table::CONCURRENT;
use crate::{Expr, Fragment, Result, ScanOptions, Table, TableError};

/// Physical offsets of rows, by the id of the fragment that they are in.
pub(crate) type Offsets = BTreeMap<u32, RoaringBitmap>;

/// Physical offsets of rows, by the place of their fragment in the manifest.
pub(crate) type BySlot = BTreeMap<usize, RoaringBitmap>;

/// What a deletion did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Deleted {
    /// The table afterwards.
    pub table: Table,
    /// How many rows were deleted.
    pub rows: u64,
}

impl Table {
    /// Deletes the rows for which `filter` is true, and gives the version without them. Only the columns that the filter
    /// needs are read, and only a deletion file is written for each fragment that loses some of its rows; one that loses
    /// all is not part of the new version. A new version is made even if no row passes.
    ///
    /// Rows that others delete or add meanwhile are no conflict. If they delete or change some of the same rows, it is
    /// worked out again from what they left; unless the filter says where rows lie, by `_rowoffset`, `_rowaddr`, or `_rowid` in
    /// a table without stable ids, which is then a [`TableError::Conflict`].
    ///
    /// An error if the filter names an unknown column or is no condition.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use lance_io::Store;
    /// use lance_table::{CommitOptions, Expr, Table, WriteOptions};
    ///
    /// let batch = record_batch!(("frame", Int32, [1, 2, 3]), ("label", Utf8, ["a", "b", "b"]))?;
    /// let table = Table::write(Store::memory(), batch.into(), WriteOptions::default()).await?;
    /// let deleted = table.delete(&Expr::parse("label = 'b' AND frame > 2")?, &CommitOptions::default()).await?;
    /// assert_eq!((deleted.rows, deleted.table.rows(), deleted.table.version()), (1, 2, 2));
    /// # Ok(()) }
    /// ```
    pub async fn delete(&self, filter: &Expr, options: &CommitOptions) -> Result<Deleted> {
        let work = move |table: Self| async move { table.delete_once(filter, options).await }.boxed();
        again_for(self, Some(filter), options, work).await
    }

    async fn delete_once(&self, filter: &Expr, options: &CommitOptions) -> Result<Deleted> {
        self.shared.found.check_writable()?;
        let (predicate, filter) = (filter.to_string(), Filter::new(&self.shared, filter)?);
        let mut files = vec![];
        let (rows, count) = match filter.constant() {
            Some(true) => (self.everything(), self.rows()),
            Some(false) => (DeletedRows::default(), 0),
            None => {
                let offsets = self.offsets(&self.passing_slots(filter).await?);
                let count = offsets.values().map(RoaringBitmap::len).sum();
                match self.mark_deleted(offsets, &mut files).await {
                    Ok(rows) => (rows, count),
                    Err(error) => {
                        abandon(self.store(), files, &error).await;
                        return Err(error);
                    }
                }
            }
        };
        let delete = Operation::Delete(Delete { rows, predicate });
        let found = commit(self.store(), self.version(), delete, options, files).await?;
        let table = Self::from_commit(self.store().clone(), found, self.shared.options).await?;
        Ok(Deleted { table, rows: count })
    }

    /// All fragments, without a look at which of their rows are deleted already.
    fn everything(&self) -> DeletedRows {
        let mut all = DeletedRows::default();
        for fragment in self.fragments() {
            let mut rows = RoaringBitmap::new();
            rows.insert_range(..u32::try_from(fragment.physical_rows()).unwrap_or(u32::MAX));
            rows.optimize();
            all.insert(operation::Deleted { fragment: fragment.to_proto(), rows, file: None });
        }
        all
    }

    /// Where the rows are that pass `filter`.
    pub(crate) async fn passing_slots(&self, filter: Filter) -> Result<BySlot> {
        let mut passing = passing(&self.shared, filter, &ScanOptions::default());
        let mut slots = BySlot::new();
        while let Some(passing) = passing.try_next().await? {
            let Some(fragment) = self.fragments().get(passing.slot) else { continue };
            self.add_rows(slots.entry(passing.slot).or_default(), fragment, &passing.rows)?;
        }
        Ok(slots)
    }

    /// The same rows by the ids of their fragments.
    pub(crate) fn offsets<'a>(
        &self,
        slots: impl IntoIterator<Item = (&'a usize, &'a RoaringBitmap)>,
    ) -> Offsets {
        let mut offsets = Offsets::new();
        for (slot, rows) in slots {
            if let Some(fragment) = self.fragments().get(*slot) {
                *offsets.entry(fragment.id()).or_default() |= rows;
            }
        }
        offsets
    }

    /// Adds `rows`, physical offsets of `fragment`, to `offsets`.
    pub(crate) fn add_rows(
        &self,
        offsets: &mut RoaringBitmap,
        fragment: &Fragment,
        rows: &Rows,
    ) -> Result<()> {
        let offset = |row: u64| {
            u32::try_from(row).map_err(|_| {
                let place = self.store().location(&format!("fragment {}", fragment.id()));
                TableError::format(place, FormatError::unsupported(format!("deleting its row {row}")))
            })
        };
        for part in rows.ranges() {
            offsets.insert_range(offset(part.start)?..offset(part.end)?);
        }
        Ok(())
    }

    /// The rows at `offsets`, of which none may be deleted yet, as an operation deletes them. Writes a deletion file for each
    /// fragment that keeps some rows, and adds the paths to `files`.
    pub(crate) async fn mark_deleted(
        &self,
        mut offsets: Offsets,
        files: &mut Vec<String>,
    ) -> Result<DeletedRows> {
        let mut marked = vec![];
        for fragment in self.fragments() {
            if let Some(rows) = offsets.remove(&fragment.id()).filter(|rows| !rows.is_empty()) {
                marked.push(self.mark(fragment.to_proto(), rows));
            }
        }
        if let Some(fragment) = offsets.keys().next() {
            return Err(TableError::invalid(format!("the table has no fragment {fragment}")));
        }
        let mut marked = stream::iter(marked).buffer_unordered(CONCURRENT);
        let (mut deleted, mut failed) = (DeletedRows::default(), None);
        // What was written must be known even if something failed.
        while let Some(one) = marked.next().await {
            match one {
                Ok((one, written)) => {
                    deleted.insert(one);
                    files.extend(written);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(deleted), Err)
    }

    /// Writes what lists `rows` and all rows of `fragment` that were deleted before.
    async fn mark(
        &self,
        fragment: DataFragment,
        rows: RoaringBitmap,
    ) -> Result<(operation::Deleted, Vec<String>)> {
        let mut files = vec![];
        let mut all = deletion::read(&self.shared.places, &fragment).await?;
        all |= &rows;
        let file = deletion::write(self.store(), &fragment, self.version(), &all, &mut files).await?;
        Ok((operation::Deleted { fragment, rows, file }, files))
    }
}

#[cfg(test)]
mod tests;
