//! Blob columns: pages of descriptions, `position (u64) | size (u64)` a row.

use std::ops::Range;
use std::sync::Arc;

use lance_footer::Result;

use super::flat::{Flat, Run};
use crate::blob::{DESCRIPTION, Descriptions, HeldBlobs};
use crate::budget::TableBudget;
use crate::load::{Load, and_then, map, ready};

/// Bits of a description.
pub(super) const BITS: u64 = DESCRIPTION as u64 * 8;

/// A page of blobs.
#[derive(Debug)]
pub(super) struct Blobs {
    buffer: Flat,
    descriptions: Descriptions,
    /// What the lookup tables of the file may take.
    tables: Arc<TableBudget>,
}

impl Blobs {
    /// The descriptions of `rows` rows, of which there must be as many.
    pub(super) fn new(buffer: Flat, rows: u64, tables: &Arc<TableBudget>) -> Result<Self> {
        buffer.check(rows)?;
        Ok(Self { buffer, descriptions: Descriptions::new(rows), tables: Arc::clone(tables) })
    }

    /// Bytes of the descriptions that are held.
    pub(super) fn weight(&self) -> usize {
        self.descriptions.weight()
    }

    /// A machine that loads the descriptions of `ranges` that are not held.
    pub(super) fn prepare(&self, ranges: &[Range<u64>]) -> Result<Option<Load<()>>> {
        let missing = self.descriptions.missing(ranges);
        if missing.is_empty() {
            return Ok(None);
        }
        let (descriptions, tables) = (self.descriptions.clone(), Arc::clone(&self.tables));
        Ok(Some(map(self.buffer.load(&missing)?, move |pieces| {
            for (piece, rows) in missing.iter().enumerate() {
                let (bytes, _) = pieces.stored(&Run { piece, range: 0..rows.end - rows.start })?;
                descriptions.keep(rows, &bytes, bytes.len() as u64, &tables)?;
            }
            Ok(())
        })))
    }

    /// Bytes of the blobs of `range`; none if their descriptions are not held.
    pub(super) fn cost(&self, range: &Range<u64>) -> Option<u64> {
        self.descriptions.cost(range)
    }

    /// Loads the blobs of `ranges`.
    pub(super) fn load(&self, ranges: &[Range<u64>]) -> Result<Load<HeldBlobs>> {
        let described = self.prepare(ranges)?.unwrap_or_else(|| ready(()));
        let (descriptions, ranges) = (self.descriptions.clone(), ranges.to_vec());
        Ok(and_then(described, move |()| descriptions.load(&ranges)))
    }
}
