use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::{StreamExt, TryStreamExt, stream};

use crate::table::{CONCURRENT, Shared};
use crate::{Result, Table, TableError};

/// Where rows with stable ids are: runs of ids, sorted and disjoint.
#[derive(Debug)]
pub(crate) struct IdIndex {
    runs: Vec<Run>,
}

/// The rows from `row` on, counted in scan order without those that were deleted, have the ids from `start` to before
/// `end`.
#[derive(Debug)]
struct Run {
    start: u64,
    end: u64,
    row: u64,
}

impl Table {
    /// The rows with these `_rowid`s, in the order asked, as often as asked. Rows that are not there, because they were
    /// deleted or never were, are left out; ask for `_rowid` to know which.
    ///
    /// In a table without stable row ids these are addresses, which change when rows are updated or compacted; one that
    /// no row of this version can have had is an error.
    pub async fn take_ids(
        &self,
        ids: &[u64],
        columns: Option<&[String]>,
        with_row_id: bool,
    ) -> Result<RecordBatch> {
        let rows = match self.manifest().has_stable_row_ids() {
            true => {
                let index = self.shared.id_index().await?;
                ids.iter().filter_map(|id| index.row(*id)).collect::<Vec<_>>()
            }
            false => self.shared.rows_at(ids).await?,
        };
        self.take(&rows, columns, with_row_id).await
    }
}

impl IdIndex {
    fn row(&self, id: u64) -> Option<u64> {
        let after = self.runs.partition_point(|run| run.start <= id);
        let run = self.runs.get(after.checked_sub(1)?)?;
        (id < run.end).then(|| run.row + (id - run.start))
    }
}

impl Shared {
    /// Made when it is first needed. It reads all deletion files.
    async fn id_index(&self) -> Result<Arc<IdIndex>> {
        self.ids.get_or_try_init(|| self.make_id_index()).await.cloned()
    }

    async fn make_id_index(&self) -> Result<Arc<IdIndex>> {
        let slots = self.slots.iter().zip(&self.before).map(|(slot, before)| async move {
            let live = slot.live(&self.places).await?;
            let mut row = *before;
            let ranges = slot.row_ids(&self.places)?.ranges(live.rows());
            let runs = ranges.into_iter().map(|ids| {
                let run = Run { start: ids.start, end: ids.end, row };
                row = row.saturating_add(ids.end - ids.start);
                run
            });
            Ok::<_, TableError>(runs.collect::<Vec<_>>())
        });
        let runs = stream::iter(slots).buffered(CONCURRENT).try_concat().await?;
        let mut index = IdIndex { runs };
        index.runs.sort_unstable_by_key(|run| run.start);
        Ok(Arc::new(index))
    }

    /// The rows at these addresses, without those that were deleted.
    async fn rows_at(&self, addresses: &[u64]) -> Result<Vec<u64>> {
        // Fragments are sorted as a rule, but need not be.
        let slots = self.slots.iter().zip(&self.before);
        let slots =
            slots.map(|place| (u64::from(place.0.fragment().id()), place)).collect::<BTreeMap<_, _>>();
        let slots = &slots;
        let rows = addresses.iter().map(|address| async move {
            let (fragment, offset) = (address >> 32, address & u64::from(u32::MAX));
            let found = slots.get(&fragment).copied();
            let Some((slot, before)) = found.filter(|(slot, _)| offset < slot.fragment().physical_rows())
            else {
                let table = self.places.root().location("");
                return Err(TableError::invalid(format!("{table}: there is no row at address {address}")));
            };
            let position = slot.live(&self.places).await?.position(offset);
            Ok(position.map(|position| before.saturating_add(position)))
        });
        let rows = stream::iter(rows).buffered(CONCURRENT).try_collect::<Vec<_>>().await?;
        Ok(rows.into_iter().flatten().collect())
    }
}
