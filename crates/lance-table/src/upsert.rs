//! Rows that are updated if their key is there, and inserted if it is not (docs/format/table.md §13, merge-insert).

use std::collections::BTreeSet;

use arrow_schema::Schema as ArrowSchema;
use arrow_select::filter::filter_record_batch;
use futures::{FutureExt, TryStreamExt};
use lance_file::Batches;
use lance_footer::Rows;

use crate::commit::again;
use crate::delete::BySlot;
use crate::projection::Projection;
use crate::replace::{Located, Replacement, located};
use crate::{Bound, Expr, Result, Table, TableError, WriteOptions};
use source::{Seen, Source};

mod source;

/// What becomes of the rows of a table, and of those of a source, by whether they have the same key.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use arrow_array::record_batch;
/// use lance_io::Store;
/// use lance_table::{Table, Upsert, WriteOptions};
///
/// let batch = record_batch!(("frame", Int32, [1, 2]), ("label", Utf8, ["a", "b"]))?;
/// let table = Table::write(Store::memory(), batch.into(), WriteOptions::default()).await?;
/// let source = record_batch!(("frame", Int32, [2, 3]), ("label", Utf8, ["B", "C"]))?;
/// let done = table.upsert(source.into(), &Upsert::on(["frame"]), &WriteOptions::default()).await?;
/// assert_eq!((done.updated, done.inserted, done.deleted), (1, 1, 0));
/// let rows = done.table.take(&[0, 1, 2], None, false).await?;
/// assert_eq!(rows, record_batch!(("frame", Int32, [1, 2, 3]), ("label", Utf8, ["a", "B", "C"]))?);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Upsert {
    /// Dotted paths of the columns that are the key: numbers without fractions, texts, bytes, truth values, dates or times. A
    /// key of which a part is null is equal to none.
    pub on: Vec<String>,
    /// What becomes of rows of the table whose key is in the source.
    pub matched: WhenMatched,
    /// Whether rows of the source whose key is not in the table are added to it.
    pub insert: bool,
    /// What becomes of rows of the table whose key is not in the source.
    pub missing: WhenMissing,
}

/// What becomes of rows of the table whose key is in the source.
#[derive(Debug, Clone, Default)]
pub enum WhenMatched {
    /// They get the values of the source. Columns that it does not have stay as they are.
    #[default]
    Update,
    /// The same if this is true. It names columns as `source.label` and `target.label`; target is the table.
    UpdateIf(Expr),
    /// Nothing.
    Keep,
}

/// What becomes of rows of the table whose key is not in the source.
#[derive(Debug, Clone, Default)]
pub enum WhenMissing {
    /// Nothing.
    #[default]
    Keep,
    /// They are deleted.
    Delete,
    /// They are deleted if this is true of them.
    DeleteIf(Expr),
}

/// What an upsert did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Upserted {
    /// The table afterwards.
    pub table: Table,
    /// Rows of the source that were added.
    pub inserted: u64,
    /// Rows that got new values.
    pub updated: u64,
    /// Rows that were deleted because the source does not have them.
    pub deleted: u64,
}

impl Upsert {
    /// Updates the rows that are there and inserts the others, by the key `on`.
    pub fn on<C: Into<String>>(on: impl IntoIterator<Item = C>) -> Self {
        Self {
            on: on.into_iter().map(Into::into).collect(),
            matched: WhenMatched::Update,
            insert: true,
            missing: WhenMissing::Keep,
        }
    }
}

impl Table {
    /// Updates, inserts and deletes rows by comparing their keys with those of `batches`, as `upsert` says, in one new
    /// version. `batches` may have some of the columns only; inserted rows are null in the others.
    ///
    /// New and updated rows are written to new fragments, and stable row ids of updated rows stay, as in [`Table::update`];
    /// of `options` the mode is not looked at. Of the table first the key is read, and then all columns of the rows
    /// that are updated. All of `batches` is held in memory, and for each of its rows about 64 bytes and the key.
    ///
    /// Rows that others delete meanwhile are no conflict; if they are some of the same, or others add rows while this one
    /// inserts some, it is worked out again, so that no key is inserted by two who both use this.
    ///
    /// An error if two rows of `batches` have the same key, if a value is null where that is not allowed, or if the table
    /// has blobs. Nothing is then left behind.
    pub async fn upsert(
        &self,
        batches: Batches,
        upsert: &Upsert,
        options: &WriteOptions,
    ) -> Result<Upserted> {
        if matches!((&upsert.matched, &upsert.missing), (WhenMatched::Keep, WhenMissing::Keep))
            && !upsert.insert
        {
            return Err(TableError::invalid("an upsert that is to update, insert and delete nothing"));
        }
        self.replacement(options, "upserting into")?;
        let source = &Source::collect(self, batches, &upsert.on).await?;
        let work = move |table: Self| async move { table.upsert_once(source, upsert, options).await }.boxed();
        again(self, &options.commit, work).await
    }

    async fn upsert_once(
        &self,
        source: &Source,
        upsert: &Upsert,
        options: &WriteOptions,
    ) -> Result<Upserted> {
        let (target, options) = self.replacement(options, "upserting into")?;
        source.check(self).await?;
        let plan = Plan::new(self, source, upsert)?;
        let mut new = Replacement::new(self, &target, &options);
        if let Err(error) = plan.run(&mut new).await {
            new.abandon(&error).await;
            return Err(error);
        }
        let (updated, inserted, deleted) = new.counts();
        let table = new.commit(&options.commit).await?;
        Ok(Upserted { table, inserted, updated, deleted })
    }
}

/// What is done to one version.
struct Plan<'a> {
    table: &'a Table,
    source: &'a Source,
    all: Projection,
    /// Whether rows with a key of the source are updated, and if it does not hold for all, for which.
    update: bool,
    update_if: Option<Bound>,
    insert: bool,
    /// The same for rows that are deleted.
    delete: bool,
    delete_if: Option<Bound>,
    /// What is read to find out.
    key: Projection,
}

impl<'a> Plan<'a> {
    fn new(table: &'a Table, source: &'a Source, upsert: &Upsert) -> Result<Self> {
        let all = Projection::new(table.schema(), None, false)?;
        let condition = |expr: &Expr, schema: &ArrowSchema| {
            let bound = expr.bind(schema)?;
            bound.check_condition()?;
            Ok::<_, TableError>(bound)
        };
        let (update, update_if) = match &upsert.matched {
            WhenMatched::Keep => (false, None),
            WhenMatched::Update => (true, None),
            WhenMatched::UpdateIf(expr) => {
                (true, Some(condition(expr, &source.both_schema(all.arrow_schema()))?))
            }
        };
        let (delete, delete_if) = match &upsert.missing {
            WhenMissing::Keep => (false, None),
            WhenMissing::Delete => (true, None),
            WhenMissing::DeleteIf(expr) => (true, Some(condition(expr, all.arrow_schema())?)),
        };
        let paths = [upsert.on.clone(), delete_if.as_ref().map(Bound::columns).unwrap_or_default()].concat();
        let outer = delete_if.as_ref().map(Bound::outer_columns).unwrap_or_default();
        let outer = source.key_columns().map(String::from).chain(outer).collect();
        let project = |paths: Vec<String>| {
            // A path must not be asked for twice.
            let paths = paths.into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>();
            Projection::new(table.schema(), Some(&paths), false)
        };
        // Some fields can be read only with all that is beside them.
        let key = project(paths).or_else(|_| project(outer))?;
        Ok(Self { table, source, all, update, update_if, insert: upsert.insert, delete, delete_if, key })
    }

    async fn run(self, new: &mut Replacement<'_>) -> Result<()> {
        let mut seen = self.source.none_seen();
        let matched = self.compare(new, &mut seen).await?;
        if self.update && !matched.is_empty() {
            let mut rows = located(&self.table.shared, self.all.clone(), Some(matched));
            while let Some(old) = rows.try_next().await? {
                self.update(new, old).await?;
            }
        }
        if self.insert {
            for batch in self.source.unseen(&seen) {
                let batch = self.source.complete(&batch?, self.table.schema(), self.all.arrow_schema())?;
                if batch.num_rows() > 0 {
                    new.insert(&batch).await?;
                }
            }
        }
        Ok(())
    }

    /// Finds the rows whose keys the source has, and says so in `seen`; deletes others where that is wanted.
    async fn compare(&self, new: &mut Replacement<'_>, seen: &mut Seen) -> Result<BySlot> {
        let mut matched = BySlot::new();
        let mut rows = located(&self.table.shared, self.key.clone(), None);
        while let Some(old) = rows.try_next().await? {
            let partners = self.source.partners(&old.batch)?;
            let condition = self.delete_if.as_ref().map(|bound| bound.matches(&old.batch)).transpose()?;
            let (mut found, mut gone) = (vec![], vec![]);
            for (at, (row, partner)) in old.rows.iter().zip(&partners).enumerate() {
                match partner {
                    Some(partner) => {
                        seen.see(*partner);
                        found.push(row);
                    }
                    None if condition.as_ref().is_none_or(|passes| passes.value(at)) => gone.push(row),
                    None => {}
                }
            }
            if self.delete {
                new.delete(old.slot, &Rows::from_indices(&gone))?;
            }
            if let Some(fragment) = self.table.fragments().get(old.slot).filter(|_| !found.is_empty()) {
                let offsets = matched.entry(old.slot).or_default();
                self.table.add_rows(offsets, fragment, &Rows::from_indices(&found))?;
            }
        }
        Ok(matched)
    }

    /// Gives the rows `old`, whose keys the source has, the values that it has.
    async fn update(&self, new: &mut Replacement<'_>, old: Located) -> Result<()> {
        let Located { slot, mut rows, batch } = old;
        let partners = self.source.partners(&batch)?.into_iter().flatten().collect::<Vec<_>>();
        if partners.len() != batch.num_rows() {
            return Err(TableError::invalid("keys are others than a moment before"));
        }
        let values = self.source.values(&partners)?;
        let mut updated = self.source.put(&batch, &values)?;
        if let Some(condition) = &self.update_if {
            let passes = condition.matches(&self.source.both(&batch, values)?)?;
            updated = filter_record_batch(&updated, &passes)?;
            let kept = rows.iter().zip(passes.values()).filter(|(_, passes)| *passes).map(|(row, _)| row);
            rows = Rows::from_indices(&kept.collect::<Vec<_>>());
        }
        match updated.num_rows() {
            0 => Ok(()),
            _ => new.replace(slot, &rows, &updated).await,
        }
    }
}

#[cfg(test)]
mod tests;
