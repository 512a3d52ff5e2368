//! Writes a data file with new columns for each fragment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_schema::SchemaRef;
use futures::TryStreamExt;
use lance_file::{FileWriter, Schema};
use lance_footer::{FormatError, Rows, Version};

use super::kept::{Kept, Origin};
use super::source::Maker;
use super::spread::Spread;
use super::{ColumnOptions, made};
use crate::proto::{DataFile, DataFragment};
use crate::slot::{Slot, cheapest_leaf};
use crate::write::{arrange, begin, file_options, finish};
use crate::{Result, ScanOptions, Table, TableError, WriteOptions};

/// About how many bytes a batch has that new values are made from, and how many are read ahead. Less than scans have, since
/// what is made is held as well, and the pages in which it is written.
const BATCH_BYTES: u64 = 8 << 20;
const READ_AHEAD_BYTES: u64 = 16 << 20;

/// What the new files have.
pub(super) struct Target<'a> {
    table: &'a Table,
    /// New fields, with what is above them.
    schema: Schema,
    arrow: SchemaRef,
    version: Version,
    /// Where the values of each field are in what is made, by its id.
    sources: BTreeMap<i32, Vec<String>>,
    /// Ids of structs of the table of which it matters where they are null.
    parents: Vec<i32>,
    /// What the maker reads, as scans give it.
    reads: Schema,
    options: &'a ColumnOptions,
    write: WriteOptions,
}

impl<'a> Target<'a> {
    pub(super) fn new(
        table: &'a Table,
        schema: Schema,
        sources: BTreeMap<i32, Vec<String>>,
        parents: Vec<i32>,
        reads: &[String],
        options: &'a ColumnOptions,
    ) -> Result<Self> {
        let format = |error| TableError::format(table.store().location(""), error);
        let version = table.manifest().file_version().map_err(format)?;
        let write = options.to_write(table.manifest());
        FileWriter::check(&schema, &file_options(version, &write)).map_err(format)?;
        let reads = table.schema().project(reads)?.with_blob_descriptions();
        let arrow = Arc::new(schema.to_arrow());
        Ok(Self { table, schema, arrow, version, sources, parents, reads, options, write })
    }

    pub(super) const fn table(&self) -> &'a Table {
        self.table
    }

    pub(super) const fn options(&self) -> &'a ColumnOptions {
        self.options
    }

    /// New fields, with what is above them.
    pub(super) const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The version of the new files.
    pub(super) const fn version(&self) -> Version {
        self.version
    }

    /// The fragments of the table with the new files: those in `kept`, where they still fit, and ones that are written now,
    /// which `kept` gets.
    pub(super) async fn write(
        &self,
        maker: &mut Maker,
        kept: &mut Kept,
    ) -> Result<(Vec<DataFragment>, BTreeSet<u64>)> {
        if let Some(done) = &self.options.rows_done {
            done.store(0, Ordering::Relaxed);
        }
        kept.prepare(self);
        let shared = &self.table.shared;
        let (mut fragments, mut written) = (Vec::with_capacity(shared.slots.len()), BTreeSet::new());
        for (slot, before) in shared.slots.iter().zip(&shared.before) {
            let mut fragment = slot.fragment().to_proto();
            if fragment.physical_rows > 0 {
                let (read, places) = (self.read(slot, maker.reads())?, &shared.places);
                let file = match kept.find(slot, &read, places).await? {
                    Some(file) => {
                        self.count(slot.fragment().rows());
                        file.clone()
                    }
                    None => {
                        let file = self.write_fragment(slot, *before, maker).await?;
                        kept.insert(fragment.id, Origin::of(slot, &read, places).await?, file.clone());
                        file
                    }
                };
                written.insert(fragment.id);
                fragment.files.push(file);
            }
            fragments.push(fragment);
        }
        maker.finish().await?;
        kept.only(&written);
        kept.remove_stale(self.table).await;
        Ok((fragments, written))
    }

    /// Whether `kept` has a file for each fragment, made by what reads nothing of the table.
    pub(super) async fn is_written(&self, kept: &mut Kept) -> Result<bool> {
        kept.prepare(self);
        for slot in &self.table.shared.slots {
            let read = self.read(slot, &[])?;
            let found = kept.find(slot, &read, &self.table.shared.places).await?;
            if slot.fragment().physical_rows() > 0 && found.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The fields that are read of a fragment.
    fn read(&self, slot: &Slot, reads: &[String]) -> Result<Schema> {
        Ok(self.table.schema().project(&self.columns(slot, reads))?)
    }

    fn count(&self, rows: u64) {
        if let Some(done) = &self.options.rows_done {
            done.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// `before` is how many live rows come before the fragment.
    async fn write_fragment(&self, slot: &Slot, before: u64, maker: &mut Maker) -> Result<DataFile> {
        let fragment = slot.fragment();
        let live = slot.live(&self.table.shared.places).await?;
        let (name, mut writer) = begin(self.table.store(), &self.schema, self.version, &self.write).await?;
        let mut spread = self.spread(live.rows(), fragment.physical_rows());
        let scan = ScanOptions {
            columns: Some(self.columns(slot, maker.reads())),
            offset: before,
            limit: Some(fragment.rows()),
            batch_bytes: BATCH_BYTES,
            read_ahead_bytes: READ_AHEAD_BYTES,
            ..Default::default()
        };
        let mut batches = self.table.scan(scan)?;
        let mut at = before;
        while let Some(mut batch) = batches.try_next().await? {
            while batch.num_rows() > 0 {
                let read = arrange(&batch, &self.reads)?;
                let made = maker.make(at, read).await?;
                let rows = made.num_rows();
                at = at.saturating_add(rows as u64);
                let arrays = made::arrays(&self.schema, &self.sources, &made, &batch.slice(0, rows))?;
                spread.hold(arrays, rows);
                drain(&mut spread, &mut writer).await?;
                batch = batch.slice(rows, batch.num_rows() - rows);
                self.count(rows as u64);
            }
        }
        drain(&mut spread, &mut writer).await?;
        if writer.rows() != fragment.physical_rows() {
            let (id, has, wants) = (fragment.id(), writer.rows(), fragment.physical_rows());
            let reason = format!("{has} rows were found where the manifest says {wants}");
            let error = FormatError::corrupt(format!("fragment {id}"), reason);
            return Err(TableError::format(self.table.store().location(""), error));
        }
        Ok(finish(self.table.store(), name, writer).await?.1)
    }

    fn spread(&self, live: &Rows, physical_rows: u64) -> Spread {
        let null_structs = self.version > Version::V2_0;
        Spread::new(SchemaRef::clone(&self.arrow), live, physical_rows, null_structs)
    }

    /// What has to be read of a fragment: what the maker wants, and for each struct of which it matters where it is null
    /// the smallest field in it that the fragment has.
    fn columns(&self, slot: &Slot, reads: &[String]) -> Vec<String> {
        let schema = self.table.schema();
        let has = |id| slot.fragment().files().iter().any(|file| file.has(id));
        let leaves = self.parents.iter().filter_map(|parent| {
            let cheapest = cheapest_leaf(schema.field(*parent)?, &has);
            schema.path(cheapest.map_or(*parent, |leaf| leaf.id))
        });
        let mut columns = reads.to_vec();
        for path in leaves {
            if !columns.contains(&path) {
                columns.push(path);
            }
        }
        columns
    }
}

async fn drain(spread: &mut Spread, writer: &mut FileWriter) -> Result<()> {
    while let Some(batch) = spread.next()? {
        writer.push(&batch).await?;
    }
    Ok(())
}
