//! Gives rows that pass a filter new values.

use futures::{FutureExt, TryStreamExt};

use crate::commit::again_for;
use crate::delete::BySlot;
use crate::filter::Filter;
use crate::projection::Projection;
use crate::replace::{Replacement, located};
use crate::{Expr, Result, Table, WriteOptions};
use assignments::Assignments;

mod assignments;

pub(crate) use assignments::{fitting, refuse_nulls};

/// What an update did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Updated {
    /// The table afterwards.
    pub table: Table,
    /// How many rows have new values.
    pub rows: u64,
}

impl Table {
    /// Sets columns of the rows for which `filter` is true, or of all rows, and gives the version in which they have the new
    /// values. `set` has dotted paths of columns, each with an expression over the row as it was.
    ///
    /// The rows are written to new fragments with all their columns, and marked as deleted where they were. They come to lie
    /// behind all others; stable row ids stay. A new version is made even if no row passes. Of `options` the mode is not
    /// looked at. Memory is bounded by bytes, but for a bit or so a row that passes.
    ///
    /// Rows that others delete or add meanwhile are no conflict. If they delete or change some of the same rows, it is
    /// worked out again from what they left, unless the filter says where rows lie: see [`Table::delete`].
    ///
    /// An error if a value does not fit the type of its column, or is null where that is not allowed; if a column is inside of
    /// a list or map, or the table has blobs. Nothing is then left behind. A struct that is null stays null, whatever
    /// is set inside of it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use lance_io::Store;
    /// use lance_table::{Expr, Table, WriteOptions};
    ///
    /// let batch = record_batch!(("frame", Int32, [1, 2, 3]), ("label", Utf8, ["a", "b", "b"]))?;
    /// let table = Table::write(Store::memory(), batch.into(), WriteOptions::default()).await?;
    /// let set = [("label", Expr::parse("upper(label)")?), ("frame", Expr::parse("frame * 10")?)];
    /// let filter = Expr::parse("frame = 2")?;
    /// let updated = table.update(&set, Some(&filter), &WriteOptions::default()).await?;
    /// let rows = updated.table.take(&[0, 1, 2], None, false).await?;
    /// assert_eq!(updated.rows, 1);
    /// assert_eq!(rows, record_batch!(("frame", Int32, [1, 3, 20]), ("label", Utf8, ["a", "b", "B"]))?);
    /// # Ok(()) }
    /// ```
    pub async fn update<N: AsRef<str>>(
        &self,
        set: &[(N, Expr)],
        filter: Option<&Expr>,
        options: &WriteOptions,
    ) -> Result<Updated> {
        let set = &set.iter().map(|(name, expr)| (name.as_ref(), expr)).collect::<Vec<_>>();
        let work = move |table: Self| async move { table.update_once(set, filter, options).await }.boxed();
        again_for(self, filter, &options.commit, work).await
    }

    /// Sees that [`Self::update`] could set the columns of `set`: that there are such columns, and that the expressions can be
    /// worked out. Reads no rows, so that a value may still turn out not to fit.
    pub fn check_update<N: AsRef<str>>(&self, set: &[(N, Expr)]) -> Result<()> {
        self.replacement(&WriteOptions::default(), "updating")?;
        let set = set.iter().map(|(name, expr)| (name.as_ref(), expr)).collect::<Vec<_>>();
        let projection = Projection::new(&self.shared.schema, None, false)?;
        Assignments::plan(self, projection.arrow_schema(), &set).map(drop)
    }

    async fn update_once(
        &self,
        set: &[(&str, &Expr)],
        filter: Option<&Expr>,
        options: &WriteOptions,
    ) -> Result<Updated> {
        let (target, options) = self.replacement(options, "updating")?;
        let projection = Projection::new(&self.shared.schema, None, false)?;
        let assignments = Assignments::plan(self, projection.arrow_schema(), set)?;
        let these = match filter {
            None => None,
            Some(filter) => {
                let filter = Filter::new(&self.shared, filter)?;
                match filter.constant() {
                    Some(true) => None,
                    Some(false) => Some(BySlot::new()),
                    None => Some(self.passing_slots(filter).await?),
                }
            }
        };
        let mut new = Replacement::new(self, &target, &options);
        if let Err(error) = self.rewrite(&mut new, projection, these, &assignments).await {
            new.abandon(&error).await;
            return Err(error);
        }
        let (rows, _, _) = new.counts();
        let table = new.commit(&options.commit).await?;
        Ok(Updated { table, rows })
    }

    async fn rewrite(
        &self,
        new: &mut Replacement<'_>,
        projection: Projection,
        these: Option<BySlot>,
        assignments: &Assignments,
    ) -> Result<()> {
        let mut rows = located(&self.shared, projection, these);
        while let Some(old) = rows.try_next().await? {
            new.replace(old.slot, &old.rows, &assignments.apply(&old.batch)?).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
