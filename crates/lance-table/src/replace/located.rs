use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use lance_footer::Rows;

use super::to_rows;
use crate::delete::BySlot;
use crate::projection::Projection;
use crate::scan::scan_rows;
use crate::table::Shared;
use crate::{Result, ScanOptions, TableError};

/// Some rows of one fragment, and where they are.
#[derive(Debug)]
pub(crate) struct Located {
    /// Which fragment, in the order of the manifest.
    pub(crate) slot: usize,
    /// Physical offsets, one for each row of the batch.
    pub(crate) rows: Rows,
    pub(crate) batch: RecordBatch,
}

/// The rows `these`, or all that are not deleted, in the order of the manifest. Nothing is read before it is polled.
pub(crate) fn located(
    shared: &Arc<Shared>,
    projection: Projection,
    these: Option<BySlot>,
) -> BoxStream<'static, Result<Located>> {
    let options = ScanOptions::default();
    let ahead = options.read_ahead_fragments.max(1);
    let slots = match &these {
        None => (0..shared.slots.len()).collect(),
        Some(these) => these.keys().copied().collect::<Vec<_>>(),
    };
    let common = Arc::new((Arc::clone(shared), projection, these, options));
    let fragments = slots.into_iter().map(move |index| {
        let common = Arc::clone(&common);
        async move {
            let (shared, projection, these, options) = &*common;
            let Some(slot) = shared.slots.get(index) else { return Ok(stream::empty().boxed()) };
            let rows = match these.as_ref().and_then(|these| these.get(&index)) {
                None => slot.live(&shared.places).await?.rows().clone(),
                Some(rows) => to_rows(rows)
                    .map_err(|error| TableError::format(shared.places.root().location(""), error))?,
            };
            let before = shared.before.get(index).copied().unwrap_or(0);
            let batches = scan_rows(shared, projection, options, slot, rows.clone(), before).await?;
            let mut done = 0;
            let located = batches.map_ok(move |batch| {
                let end = done + batch.num_rows() as u64;
                let located = Located { slot: index, rows: rows.select(done..end), batch };
                done = end;
                located
            });
            Ok::<_, TableError>(located.boxed())
        }
    });
    stream::iter(fragments).buffered(ahead).try_flatten().boxed()
}
