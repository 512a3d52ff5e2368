use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use futures::{StreamExt, TryStreamExt, stream};

use crate::row_ids::{self, ByRowId};
use crate::slot::Slot;
use crate::table::{CONCURRENT, Shared};
use crate::{Result, Table, TableError};

/// In which fragments rows with stable ids may be: known from the manifest alone.
#[derive(Debug)]
pub(crate) struct IdIndex {
    /// In the order of the manifest.
    fragments: Vec<Bounds>,
}

#[derive(Debug)]
struct Bounds {
    /// From the smallest id to the largest; none if there is none.
    ids: Option<(u64, u64)>,
    /// Where each of them is, once that was needed.
    offsets: OnceLock<Arc<ByRowId>>,
}

impl Table {
    /// The rows with these `_rowid`s, in the order asked, as often as asked. Rows that are not there, because they were
    /// deleted or never were, are left out; ask for `_rowid` to know which.
    ///
    /// In a table without stable row ids these are addresses, which change when rows are updated or compacted; one that
    /// no row of this version can have had is an error.
    ///
    /// Only fragments that have some of these rows are read, and deletion files of those that had them before.
    pub async fn take_ids(
        &self,
        ids: &[u64],
        columns: Option<&[String]>,
        with_row_id: bool,
    ) -> Result<RecordBatch> {
        let rows = match self.manifest().has_stable_row_ids() {
            true => self.shared.rows_with(ids).await?,
            false => self.shared.rows_at(ids).await?,
        };
        self.take(&rows, columns, with_row_id).await
    }
}

impl Shared {
    /// The rows with these stable ids, without those that are not there.
    async fn rows_with(&self, ids: &[u64]) -> Result<Vec<u64>> {
        let index = self.id_index()?;
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let fragments = self.slots.iter().zip(&self.before).zip(&index.fragments);
        let hits = fragments.filter_map(|((slot, before), bounds)| {
            let (first, last) = bounds.ids?;
            let from = sorted.partition_point(|id| *id < first);
            let to = sorted.partition_point(|id| *id <= last);
            let ids = sorted.get(from..to).filter(|ids| !ids.is_empty())?;
            Some(self.live_rows(slot, *before, bounds, ids))
        });
        let mut found = stream::iter(hits).buffered(CONCURRENT).try_concat().await?;
        found.sort_by_key(|(id, _)| *id);
        let row = |id: &u64| {
            let place = found.partition_point(|(found, _)| found < id);
            found.get(place).filter(|(found, _)| found == id).map(|(_, row)| *row)
        };
        Ok(ids.iter().filter_map(row).collect())
    }

    /// Those of `ids` that live in the fragment of `slot`, with the rows that they are. A row that was updated has its id in
    /// the fragment that it was in before, too, but is deleted there.
    async fn live_rows(
        &self,
        slot: &Slot,
        before: u64,
        bounds: &Bounds,
        ids: &[u64],
    ) -> Result<Vec<(u64, u64)>> {
        let offsets = match bounds.offsets.get() {
            Some(offsets) => Arc::clone(offsets),
            None => {
                let rows = slot.fragment().physical_rows();
                let offsets = Arc::new(ByRowId::new(&*slot.row_ids(&self.places)?, rows));
                Arc::clone(bounds.offsets.get_or_init(|| offsets))
            }
        };
        let there = ids.iter().filter_map(|id| Some((*id, offsets.offset(*id)?))).collect::<Vec<_>>();
        if there.is_empty() {
            return Ok(vec![]);
        }
        let live = slot.live(&self.places).await?;
        let row = |(id, offset)| Some((id, before.saturating_add(live.position(offset)?)));
        Ok(there.into_iter().filter_map(row).collect())
    }

    /// Made when it is first needed.
    fn id_index(&self) -> Result<Arc<IdIndex>> {
        if let Some(index) = self.ids.get() {
            return Ok(Arc::clone(index));
        }
        let bounds = self.slots.iter().map(|slot| {
            let ids = row_ids::bounds(&slot.fragment().message).map_err(|error| {
                let place = format!("fragment {}", slot.fragment().id());
                TableError::format(self.places.root().location(&place), error)
            })?;
            Ok(Bounds { ids, offsets: OnceLock::new() })
        });
        let index = Arc::new(IdIndex { fragments: bounds.collect::<Result<_>>()? });
        Ok(Arc::clone(self.ids.get_or_init(|| index)))
    }

    /// The rows at these addresses, without those that were deleted.
    async fn rows_at(&self, addresses: &[u64]) -> Result<Vec<u64>> {
        let order = self.by_id.get_or_init(|| {
            let ids = self.slots.iter().map(|slot| slot.fragment().id()).zip(0..);
            let mut ids = ids.collect::<Vec<_>>();
            // Fragments are sorted as a rule, but need not be.
            ids.sort_unstable();
            ids
        });
        let find = |fragment: u64| {
            let place = order.binary_search_by_key(&fragment, |(id, _)| u64::from(*id)).ok()?;
            let (_, index) = order.get(place)?;
            self.slots.get(*index).zip(self.before.get(*index))
        };
        let rows = addresses.iter().map(|address| async move {
            let (fragment, offset) = (address >> 32, address & u64::from(u32::MAX));
            let found = find(fragment).filter(|(slot, _)| offset < slot.fragment().physical_rows());
            let Some((slot, before)) = found else {
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
