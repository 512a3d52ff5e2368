//! Rows that new ones take the place of: the old ones are marked as deleted, the new ones go to new fragments.

use arrow_array::RecordBatch;
use lance_file::FileWriter;
use lance_footer::{FormatError, Rows};
use roaring::RoaringBitmap;

use crate::commit::{CommitOptions, abandon, commit};
use crate::delete::BySlot;
use crate::manifest::flags;
use crate::operation::{Operation, Update};
use crate::row_ids::Carried;
use crate::write::{Fragments, Target, WriteOptions, file_options, has_checksums};
use crate::{Result, Table, TableError};

mod located;

pub(crate) use located::{Located, located};

/// New rows that are being written, and what they are for.
pub(crate) struct Replacement<'a> {
    table: &'a Table,
    new: Fragments<'a>,
    stable_row_ids: bool,
    /// How many of the new fragments have rows that took the place of others; none while these are still written.
    replacing: Option<usize>,
    /// Rows that others took the place of, in the order in which these were written: that of the manifest.
    replaced: BySlot,
    /// Rows that are only deleted.
    deleted: BySlot,
    inserted: u64,
}

impl Table {
    /// How new rows of this table are written, where `options` do not say. An error if that is not possible.
    pub(crate) fn replacement(&self, options: &WriteOptions, action: &str) -> Result<(Target, WriteOptions)> {
        self.shared.found.check_writable()?;
        options.check()?;
        let format = |error| TableError::format(self.store().location(""), error);
        if let Some(blob) = self.schema().pre_order().into_iter().find(|field| field.is_blob()) {
            let path = self.schema().path(blob.id).unwrap_or_default();
            let what = format!("{action} a table with blobs (column {path:?})");
            return Err(format(FormatError::unsupported(what)));
        }
        let version = match options.version {
            Some(version) => version,
            None => self.manifest().file_version().map_err(format)?,
        };
        let checksums = Some(has_checksums(options.checksums, Some(self.manifest())));
        let options = WriteOptions { checksums, ..options.clone() };
        FileWriter::check(self.schema(), &file_options(version, &options)).map_err(format)?;
        Ok((Target { schema: self.schema().clone(), version, append: true }, options))
    }
}

impl<'a> Replacement<'a> {
    pub(crate) fn new(table: &'a Table, target: &'a Target, options: &'a WriteOptions) -> Self {
        let message = &table.manifest().message;
        let words = message.reader_feature_flags | message.writer_feature_flags;
        Self {
            table,
            new: Fragments::new(table.store(), target, options, vec![]),
            stable_row_ids: words & flags::STABLE_ROW_IDS != 0,
            replacing: None,
            replaced: BySlot::new(),
            deleted: BySlot::new(),
            inserted: 0,
        }
    }

    /// Writes `batch`, the new values of `rows`. Rows come in the order of the manifest, and before all that are inserted.
    pub(crate) async fn replace(&mut self, slot: usize, rows: &Rows, batch: &RecordBatch) -> Result<()> {
        self.mark(slot, rows, |of| &mut of.replaced)?;
        self.new.push_all(batch).await
    }

    /// Writes `batch`, rows that take the place of none.
    pub(crate) async fn insert(&mut self, batch: &RecordBatch) -> Result<()> {
        // Ids are known of all rows of a fragment, or of none.
        if self.stable_row_ids && self.replacing.is_none() {
            self.new.close().await?;
            self.replacing = Some(self.new.done.len());
        }
        self.inserted = self.inserted.saturating_add(batch.num_rows() as u64);
        self.new.push_all(batch).await
    }

    /// Deletes `rows`.
    pub(crate) fn delete(&mut self, slot: usize, rows: &Rows) -> Result<()> {
        self.mark(slot, rows, |of| &mut of.deleted)
    }

    fn mark(&mut self, slot: usize, rows: &Rows, of: impl Fn(&mut Self) -> &mut BySlot) -> Result<()> {
        let table = self.table;
        let Some(fragment) = table.fragments().get(slot) else { return Ok(()) };
        match rows.is_empty() {
            true => Ok(()),
            false => table.add_rows(of(self).entry(slot).or_default(), fragment, rows),
        }
    }

    /// How many rows were replaced, inserted and deleted.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let count = |rows: &BySlot| rows.values().map(RoaringBitmap::len).sum();
        (count(&self.replaced), self.inserted, count(&self.deleted))
    }

    /// Makes the version that has the new rows instead of the old ones.
    pub(crate) async fn commit(mut self, options: &CommitOptions) -> Result<Table> {
        let mut files = vec![];
        let update = self.finish(&mut files).await;
        files.extend(self.new.paths());
        let table = self.table;
        let update = match update {
            Ok(update) => Operation::Update(update),
            Err(error) => {
                abandon(table.store(), files, &error).await;
                return Err(error);
            }
        };
        let found = commit(table.store(), table.version(), update, options, files).await?;
        Table::from_commit(table.store().clone(), found, table.shared.options).await
    }

    /// Removes what was written, because of `error`.
    pub(crate) async fn abandon(self, error: &TableError) {
        abandon(self.table.store(), self.new.paths(), error).await;
    }

    async fn finish(&mut self, files: &mut Vec<String>) -> Result<Update> {
        self.new.close().await?;
        if self.stable_row_ids {
            self.carry_ids()?;
        }
        let offsets = self.table.offsets(self.replaced.iter().chain(&self.deleted));
        let rows = self.table.mark_deleted(offsets, files).await?;
        Ok(Update { rows, fragments: self.new.done.clone(), inserts: self.inserted > 0 })
    }

    /// Rows that took the place of others have their ids.
    fn carry_ids(&mut self) -> Result<()> {
        let format = |error| TableError::format(self.table.store().location(""), error);
        let mut carried = Carried::default();
        for (slot, rows) in &self.replaced {
            if let Some(fragment) = self.table.fragments().get(*slot) {
                carried.add(&fragment.message, &to_rows(rows).map_err(format)?).map_err(format)?;
            }
        }
        let replacing = self.replacing.unwrap_or(self.new.done.len());
        carried.give(self.new.done.iter_mut().take(replacing));
        Ok(())
    }
}

/// The same rows.
pub(crate) fn to_rows(offsets: &RoaringBitmap) -> lance_footer::Result<Rows> {
    let (mut offsets, mut ranges) = (offsets.iter(), vec![]);
    while let Some(range) = offsets.next_range() {
        ranges.push(u64::from(*range.start())..u64::from(*range.end()).saturating_add(1));
    }
    Rows::from_ranges(ranges)
}
