//! Rows of a table by live position, in any order.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_select::interleave::interleave;
use futures::{StreamExt, TryStreamExt, stream};
use lance_file::{FileError, Taken};
use lance_footer::FormatError;
use lance_io::drive_many;

use crate::known::Known;
use crate::projection::Projection;
use crate::slot::Part;
use crate::table::{CONCURRENT, Shared};
use crate::{Result, Table, TableError};

mod ids;

pub(crate) use ids::IdIndex;

impl Table {
    /// The rows at `rows`, in the order asked, as often as asked. Rows are counted in scan order without
    /// those that were deleted. Of blobs the batch has where they are, like [`Table::scan`].
    ///
    /// The files of all fragments are read together, round by round. An error if a row is past the end, or a
    /// column is unknown.
    pub async fn take(
        &self,
        rows: &[u64],
        columns: Option<&[String]>,
        with_row_id: bool,
    ) -> Result<RecordBatch> {
        let shared = &self.shared;
        let projection = Projection::new(&shared.schema, columns, with_row_id)?;
        let groups = shared.group(rows)?;
        let prepared = groups.into_iter().map(|group| group.prepare(shared, &projection));
        let prepared = stream::iter(prepared).buffered(CONCURRENT).try_collect::<Vec<Prepared>>().await?;

        let mut work = vec![];
        for group in &prepared {
            for part in &group.parts {
                let plan = part.reader.plan_take(&group.offsets, &part.schema)?;
                work.push((plan, Arc::clone(part.reader.source())));
            }
        }
        let taken = drive_many(work).await?;
        let (count, location) = (rows.len(), self.store().location(""));
        if let Some(batches) = Taken::decode_here(&taken)? {
            return combine(&projection, &prepared, batches, count, &location);
        }
        let path = location.clone();
        let finish = move || {
            let batches = taken.iter().map(Taken::decode).collect::<Result<Vec<_>, _>>()?;
            combine(&projection, &prepared, batches, count, &location)
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => match runtime.spawn_blocking(finish).await {
                Ok(batch) => batch,
                Err(error) => Err(FileError::Cancelled { path, reason: error.to_string() }.into()),
            },
            Err(_) => finish(),
        }
    }
}

/// The asked rows of one fragment.
struct Group {
    slot: usize,
    /// Positions among the fragment's live rows.
    positions: Vec<u64>,
    /// Where in the result each of them goes.
    places: Vec<usize>,
}

/// A group whose files are open.
struct Prepared {
    /// Physical offsets.
    offsets: Vec<u64>,
    places: Vec<usize>,
    parts: Vec<Part>,
    known: Vec<Known>,
}

impl Shared {
    /// The rows by fragment, in the order asked within each.
    fn group(&self, rows: &[u64]) -> Result<Vec<Group>> {
        let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
        for (place, row) in rows.iter().enumerate() {
            // The last fragment that begins at or before the row; fragments without rows come before it.
            let after = self.before.partition_point(|before| before <= row);
            let slot = after.checked_sub(1).filter(|_| *row < self.rows);
            let (Some(slot), Some(before)) = (slot, slot.and_then(|slot| self.before.get(slot))) else {
                return Err(TableError::invalid(format!(
                    "row {row} was asked for, but {} has {} rows",
                    self.places.root().location(""),
                    self.rows
                )));
            };
            let group =
                groups.entry(slot).or_insert_with(|| Group { slot, positions: vec![], places: vec![] });
            group.positions.push(row - before);
            group.places.push(place);
        }
        Ok(groups.into_values().collect())
    }
}

impl Group {
    async fn prepare(self, shared: &Shared, projection: &Projection) -> Result<Prepared> {
        let Some(slot) = shared.slots.get(self.slot) else {
            return Err(TableError::invalid("no such fragment"));
        };
        let live = slot.live(&shared.places).await?;
        let offsets = self.positions.iter().map(|position| live.offset(*position)).collect::<Option<_>>();
        let offsets = offsets.ok_or_else(|| {
            let reason = format!("fragment {} has fewer rows than it says", slot.fragment().id());
            TableError::format(&shared.found.location, FormatError::corrupt("manifest", reason))
        })?;
        let before = shared.before.get(self.slot).copied().unwrap_or(0);
        let known = projection.known(slot, &shared.places, before).await?;
        let parts = slot.parts(&shared.places, &shared.schema, &projection.schema).await?;
        Ok(Prepared { offsets, places: self.places, parts, known })
    }
}

/// Puts the rows of all fragments, a batch of each file, into the order asked; pure CPU.
fn combine(
    projection: &Projection,
    groups: &[Prepared],
    batches: Vec<RecordBatch>,
    count: usize,
    location: &str,
) -> Result<RecordBatch> {
    let mut batches = batches.into_iter();
    let mut pieces: Vec<Vec<ArrayRef>> = Vec::with_capacity(groups.len());
    for group in groups {
        let batches = batches.by_ref().take(group.parts.len()).collect::<Vec<_>>();
        let parts = group.parts.iter().zip(&batches).map(|(part, batch)| (&part.schema, batch.columns()));
        let parts = parts.collect::<Vec<_>>();
        pieces.push(projection.columns(
            &parts,
            group.offsets.len(),
            &group.offsets,
            &group.known,
            location,
        )?);
    }
    match <[Vec<ArrayRef>; 1]>::try_from(pieces) {
        // All rows are from one fragment, which kept the order.
        Ok([columns]) => projection.batch(columns, count),
        Err(pieces) if pieces.is_empty() => Ok(RecordBatch::new_empty(projection.arrow_schema().clone())),
        Err(pieces) => {
            let mut order = vec![(0, 0); count];
            for (piece, group) in groups.iter().enumerate() {
                for (row, place) in group.places.iter().enumerate() {
                    if let Some(slot) = order.get_mut(*place) {
                        *slot = (piece, row);
                    }
                }
            }
            let width = projection.arrow_schema().fields().len();
            let mut columns = Vec::with_capacity(width);
            for column in 0..width {
                let arrays = pieces.iter().filter_map(|piece| piece.get(column).map(AsRef::as_ref));
                columns.push(interleave(&arrays.collect::<Vec<_>>(), &order)?);
            }
            projection.batch(columns, count)
        }
    }
}
