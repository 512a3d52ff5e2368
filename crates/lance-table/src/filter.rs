//! Which rows of a table pass a filter. Only the columns that the filter needs are read.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use lance_footer::Rows;

use crate::projection::Projection;
use crate::scan::scan_rows;
use crate::table::Shared;
use crate::{Bound, Expr, Manifest, Result, RowColumn, ScanOptions, Table, TableError};

/// After so many rows were looked at, those that passed are handed out.
const LOOKED_AT: u64 = 1 << 20;

/// A filter that is bound to the schema of a table.
#[derive(Debug)]
pub(crate) struct Filter {
    bound: Bound,
    /// What has to be read for it.
    projection: Projection,
}

/// Some rows of one fragment that pass, at least one.
#[derive(Debug)]
pub(crate) struct Passing {
    /// Which fragment, in the order of the manifest.
    pub(crate) slot: usize,
    /// Physical offsets.
    pub(crate) rows: Rows,
}

impl Table {
    /// How many rows pass `filter`. Reads the columns that it needs.
    ///
    /// An error if the filter names an unknown column or is no condition.
    pub async fn count(&self, filter: &Expr) -> Result<u64> {
        let filter = Filter::new(&self.shared, filter)?;
        match filter.constant() {
            Some(true) => return Ok(self.rows()),
            Some(false) => return Ok(0),
            None => {}
        }
        let passing = passing(&self.shared, filter, &ScanOptions::default());
        passing.try_fold(0, |sum, passing| async move { Ok(sum + passing.rows.len()) }).await
    }
}

impl Filter {
    /// `expr`, which may also name a [`RowColumn`](crate::RowColumn).
    pub(crate) fn new(shared: &Shared, expr: &Expr) -> Result<Self> {
        let bound = expr.bind(Projection::with_row_columns(&shared.schema).arrow_schema())?;
        bound.check_condition()?;
        let project = |columns: Vec<String>| Projection::new(&shared.schema, Some(&columns), false);
        // Some fields can be read only with all that is beside them.
        let projection = project(bound.columns()).or_else(|_| project(bound.outer_columns()))?;
        Ok(Self { bound, projection })
    }

    /// A column that it reads which says where in the table of `manifest` a row lies, and nothing else of it.
    pub(crate) fn by_place(&self, manifest: &Manifest) -> Option<RowColumn> {
        let columns = self.bound.columns();
        columns.iter().filter_map(|column| RowColumn::named(column)).find(|column| match column {
            RowColumn::Offset | RowColumn::Address => true,
            RowColumn::Id => !manifest.has_stable_row_ids(),
            RowColumn::CreatedAt | RowColumn::UpdatedAt => false,
        })
    }

    /// The answer for all rows, if it is the same.
    pub(crate) fn constant(&self) -> Option<bool> {
        self.bound.constant()
    }
}

/// The rows that pass `filter`, in scan order. Of `options` those count that say how much is read at once; when
/// as many as `options.limit` after `options.offset` have passed, they are handed out at once.
pub(crate) fn passing(
    shared: &Arc<Shared>,
    filter: Filter,
    options: &ScanOptions,
) -> BoxStream<'static, Result<Passing>> {
    let ahead = options.read_ahead_fragments.max(1);
    let enough = options.limit.map_or(u64::MAX, |limit| options.offset.saturating_add(limit));
    let common = Arc::new((Arc::clone(shared), filter, options.clone()));
    let fragments = (0..shared.slots.len()).map(move |slot| {
        let common = Arc::clone(&common);
        async move {
            let (shared, filter, options) = &*common;
            let Some(fragment) = shared.slots.get(slot) else { return Ok(stream::empty().boxed()) };
            let rows = fragment.live(&shared.places).await?.rows().clone();
            let before = shared.before.get(slot).copied().unwrap_or(0);
            let batches =
                scan_rows(shared, &filter.projection, options, fragment, rows.clone(), before).await?;
            let state = Search { common: Arc::clone(&common), slot, batches, rows, looked_at: 0, enough };
            let mut passing = stream::try_unfold(state, Search::next).boxed();
            // The first are found here, so that several fragments are searched at the same time.
            let first = passing.next().await;
            Ok::<_, TableError>(stream::iter(first).chain(passing).boxed())
        }
    });
    stream::iter(fragments).buffered(ahead).try_flatten().boxed()
}

/// The search of one fragment.
struct Search {
    common: Arc<(Arc<Shared>, Filter, ScanOptions)>,
    slot: usize,
    batches: BoxStream<'static, Result<RecordBatch>>,
    /// Physical offsets of the rows that are not deleted, and how many of them were looked at.
    rows: Rows,
    looked_at: u64,
    enough: u64,
}

impl Search {
    async fn next(mut self) -> Result<Option<(Passing, Self)>> {
        let (mut found, mut count) = (vec![], 0);
        let pause = self.looked_at.saturating_add(LOOKED_AT);
        while let Some(batch) = self.batches.try_next().await? {
            let (_, filter, _) = &*self.common;
            let passes = filter.bound.matches(&batch)?;
            let end = self.looked_at + passes.len() as u64;
            count += passes.true_count() as u64;
            add(&mut found, &self.rows.select(self.looked_at..end), &passes);
            self.looked_at = end;
            if count >= self.enough || self.looked_at >= pause && count > 0 {
                break;
            }
        }
        if count == 0 {
            return Ok(None);
        }
        let location = || self.common.0.places.root().location("");
        let rows = Rows::from_ranges(found).map_err(|error| TableError::format(location(), error))?;
        Ok(Some((Passing { slot: self.slot, rows }, self)))
    }
}

/// Adds those of `rows` to `found` that `passes` is true for.
fn add(found: &mut Vec<Range<u64>>, rows: &Rows, passes: &BooleanArray) {
    for (row, passes) in rows.iter().zip(passes.values()) {
        match found.last_mut() {
            _ if !passes => {}
            Some(last) if last.end == row => last.end += 1,
            _ => found.push(row..row + 1),
        }
    }
}

#[cfg(test)]
mod tests;
