//! All rows of a table, those that pass a filter, or a window of them, as a stream of batches.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use futures::future::try_join_all;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use lance_file::{BatchStream, Schema};
use lance_footer::{FormatError, Rows};

use crate::filter::{Filter, Passing, passing};
use crate::known::Known;
use crate::projection::Projection;
use crate::slot::Slot;
use crate::table::Shared;
use crate::{Expr, Fragment, Result, Table, TableError};

/// The files of tables with at most so many fragments stay open after a scan.
const KEPT_OPEN: usize = 256;

/// How a table is scanned.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// Dotted paths of the fields to read, in the order in which they are wanted; none for all.
    pub columns: Option<Vec<String>>,
    /// Which rows are wanted; none for all. It may name columns that are not asked for, and `_rowid`.
    pub filter: Option<Expr>,
    /// How many rows to skip, of those that pass the filter.
    pub offset: u64,
    /// How many rows to read at most; none for all.
    pub limit: Option<u64>,
    /// Whether the last column is `_rowid`: the stable id of each row, or its address if the table has no
    /// stable ids.
    pub with_row_id: bool,
    /// A batch has at most so many rows.
    pub batch_rows: u32,
    /// A batch has at most about so many bytes, but always a row.
    pub batch_bytes: u64,
    /// About how many bytes of a data file are read ahead.
    pub read_ahead_bytes: u64,
    /// How many fragments are begun at the same time.
    pub read_ahead_fragments: usize,
}

impl Default for ScanOptions {
    fn default() -> Self {
        let file = lance_file::ScanOptions::default();
        Self {
            columns: None,
            filter: None,
            offset: 0,
            limit: None,
            with_row_id: false,
            batch_rows: file.batch_rows,
            batch_bytes: file.batch_bytes,
            read_ahead_bytes: file.read_ahead_bytes,
            read_ahead_fragments: 4,
        }
    }
}

impl Table {
    /// A stream of the rows that are not deleted, in the order of the manifest. It reads nothing before it is
    /// polled, and no row that is skipped. Of blobs it has where they are, as [`Schema::with_blob_descriptions`] says.
    ///
    /// With a filter, the columns that it needs are read first, and all that was asked for only of the rows that pass.
    ///
    /// An error if a column is unknown, or the filter is no condition.
    pub fn scan(&self, options: ScanOptions) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let projection =
            Projection::new(&self.shared.schema, options.columns.as_deref(), options.with_row_id)?;
        let pieces = self.pieces(&options)?;
        let ahead = options.read_ahead_fragments.max(1);
        let common = Arc::new((Arc::clone(&self.shared), projection, options));
        let streams = pieces.map(move |piece| {
            let common = Arc::clone(&common);
            async move {
                let (shared, projection, options) = &*common;
                let piece = piece?;
                let before = shared.before.get(piece.slot()).copied().unwrap_or(0);
                let Some(slot) = shared.slots.get(piece.slot()) else { return Ok(stream::empty().boxed()) };
                let rows = match piece {
                    Piece::These { rows, .. } => rows,
                    Piece::Live { positions, .. } => {
                        slot.live(&shared.places).await?.rows().select(positions)
                    }
                };
                scan_rows(shared, projection, options, slot, rows, before).await
            }
        });
        Ok(streams.buffered(ahead).try_flatten().boxed())
    }

    /// All rows of some `fragments` of the table, whose files are open no longer than they are read.
    pub(crate) fn scan_fragments(
        &self,
        fragments: Vec<Fragment>,
        options: ScanOptions,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let projection =
            Projection::new(&self.shared.schema, options.columns.as_deref(), options.with_row_id)?;
        let ahead = options.read_ahead_fragments.max(1);
        let common = Arc::new((Arc::clone(&self.shared), projection, options));
        let fragments = fragments.into_iter().map(move |fragment| {
            let common = Arc::clone(&common);
            async move {
                let (shared, projection, options) = &*common;
                let slot = Slot::new(fragment, shared.options);
                let rows = slot.live(&shared.places).await?.rows().clone();
                scan_rows(shared, projection, options, &slot, rows, 0).await
            }
        });
        Ok(stream::iter(fragments).buffered(ahead).try_flatten().boxed())
    }

    /// What is to be read.
    fn pieces(&self, options: &ScanOptions) -> Result<BoxStream<'static, Result<Piece>>> {
        let filter = match &options.filter {
            None => None,
            Some(filter) => {
                let filter = Filter::new(&self.shared, filter)?;
                match filter.constant() {
                    Some(true) => None,
                    Some(false) => return Ok(stream::empty().boxed()),
                    None => Some(filter),
                }
            }
        };
        let Some(filter) = filter else {
            let windows = self.shared.windows(options.offset, options.limit);
            return Ok(stream::iter(windows.into_iter().map(Ok)).boxed());
        };
        let left = options.limit.unwrap_or(u64::MAX);
        let state = (passing(&self.shared, filter, options), options.offset, left);
        let pieces = stream::try_unfold(state, |(mut passing, mut skip, mut left)| async move {
            while left > 0 {
                let Some(Passing { slot, rows }) = passing.try_next().await? else { break };
                let from = skip.min(rows.len());
                let to = from + left.min(rows.len() - from);
                skip -= from;
                left -= to - from;
                if from < to {
                    let piece = Piece::These { slot, rows: rows.select(from..to) };
                    return Ok(Some((piece, (passing, skip, left))));
                }
            }
            Ok(None)
        });
        Ok(pieces.boxed())
    }
}

/// Some rows of one fragment.
#[derive(Debug)]
enum Piece {
    /// Those at these positions among the rows that are not deleted.
    Live { slot: usize, positions: Range<u64> },
    /// Those at these physical offsets.
    These { slot: usize, rows: Rows },
}

impl Piece {
    const fn slot(&self) -> usize {
        match self {
            Self::Live { slot, .. } | Self::These { slot, .. } => *slot,
        }
    }
}

impl Shared {
    /// The live rows `offset..offset + limit`.
    fn windows(&self, offset: u64, limit: Option<u64>) -> Vec<Piece> {
        let end = limit.map_or(u64::MAX, |limit| offset.saturating_add(limit));
        let slots = self.slots.iter().zip(&self.before).enumerate();
        let windows = slots.filter_map(|(index, (slot, before))| {
            let rows = slot.fragment().rows();
            let (from, to) = (offset.saturating_sub(*before), end.saturating_sub(*before).min(rows));
            (from < to).then_some(Piece::Live { slot: index, positions: from..to })
        });
        windows.collect()
    }
}

/// The rows of `slot` at the physical offsets `rows`, with the first batch on its way, so that the beginnings of several
/// fragments can be at the same time.
pub(crate) async fn scan_rows(
    shared: &Shared,
    projection: &Projection,
    options: &ScanOptions,
    slot: &Slot,
    rows: Rows,
    before: u64,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let known = projection.known(slot, &shared.places, before).await?;
    // Of tables with many fragments no file stays open for later: a process may have so many open files only.
    let once;
    let slot = match shared.slots.len() > KEPT_OPEN {
        true => {
            once = Slot::new(slot.fragment().clone(), shared.options);
            &once
        }
        false => slot,
    };
    let parts = slot.parts(&shared.places, &shared.schema, &projection.schema).await?;
    let mut streams = Vec::with_capacity(parts.len());
    for part in parts {
        let batches = part.reader.scan(lance_file::ScanOptions {
            projection: Some(part.schema.clone()),
            rows: Some(rows.clone()),
            batch_rows: options.batch_rows,
            batch_bytes: options.batch_bytes,
            read_ahead_bytes: options.read_ahead_bytes,
        })?;
        streams.push(PartStream { schema: part.schema, batches, held: vec![], held_rows: 0 });
    }
    let scan = SlotScan {
        streams,
        left: rows.len(),
        rows,
        done: 0,
        batch_rows: u64::from(options.batch_rows.max(1)),
        projection: projection.clone(),
        known,
        location: shared.places.root().location(&format!("fragment {}", slot.fragment().id())),
    };
    let mut batches = stream::try_unfold(scan, SlotScan::next).boxed();
    let first = batches.next().await;
    Ok(stream::iter(first).chain(batches).boxed())
}

/// The scan of one fragment: the batches of its files, aligned.
struct SlotScan {
    streams: Vec<PartStream>,
    /// Physical offsets of the rows.
    rows: Rows,
    /// How many rows were handed out, and how many are left.
    done: u64,
    left: u64,
    batch_rows: u64,
    projection: Projection,
    known: Vec<Known>,
    location: String,
}

/// The batches of one file, and what is left of the last.
struct PartStream {
    schema: Schema,
    batches: BatchStream,
    held: Vec<ArrayRef>,
    held_rows: u64,
}

impl SlotScan {
    async fn next(mut self) -> Result<Option<(RecordBatch, Self)>> {
        if self.left == 0 {
            return Ok(None);
        }
        try_join_all(self.streams.iter_mut().map(|stream| stream.fill(&self.location))).await?;
        let held = self.streams.iter().map(|stream| stream.held_rows);
        let count = held.min().unwrap_or(self.batch_rows).min(self.left);
        let len = usize::try_from(count).unwrap_or(usize::MAX);
        let parts = self.streams.iter_mut().map(|stream| stream.split(len)).collect::<Vec<_>>();
        let schemas = self.streams.iter().map(|stream| &stream.schema);
        let parts = schemas.zip(&parts).map(|(schema, arrays)| (schema, arrays.as_slice()));
        let parts = parts.collect::<Vec<_>>();

        let window = self.done..self.done + count;
        let offsets = match self.known.is_empty() {
            true => vec![],
            false => self.rows.select(window).iter().collect::<Vec<_>>(),
        };
        let columns = self.projection.columns(&parts, len, &offsets, &self.known, &self.location)?;
        let batch = self.projection.batch(columns, len)?;
        self.done += count;
        self.left -= count;
        Ok(Some((batch, self)))
    }
}

impl PartStream {
    /// Holds at least a row.
    async fn fill(&mut self, location: &str) -> Result<()> {
        while self.held_rows == 0 {
            let Some(batch) = self.batches.try_next().await? else {
                let error = FormatError::corrupt("data file", "its rows end before those of the fragment");
                return Err(TableError::format(location, error));
            };
            self.held_rows = batch.num_rows() as u64;
            self.held = batch.columns().to_vec();
        }
        Ok(())
    }

    /// The first `len` rows of what is held.
    fn split(&mut self, len: usize) -> Vec<ArrayRef> {
        let held = usize::try_from(self.held_rows).unwrap_or(usize::MAX);
        if len >= held {
            self.held_rows = 0;
            return std::mem::take(&mut self.held);
        }
        let first = self.held.iter().map(|array| array.slice(0, len)).collect();
        for array in &mut self.held {
            *array = array.slice(len, held - len);
        }
        self.held_rows -= len as u64;
        first
    }
}
