//! What was worked out of fragments stays good for the next attempt, unless another writer touched just these.
//!
//! Without that, whoever adds a column to a table that gets new rows all the time would never be done.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use lance_file::{Field, Schema};
use lance_footer::{Rows, Version};

use super::fragments::Target;
use crate::commit::abandon;
use crate::deletion::LiveRows;
use crate::place::Places;
use crate::proto::{DataFile, DeletionFile};
use crate::slot::Slot;
use crate::{Result, Table, TableError};

/// What something was worked out from: the values of some fields in the rows of a fragment.
#[derive(Debug)]
pub(super) struct Origin {
    physical_rows: u64,
    deletion_file: Option<DeletionFile>,
    /// The fields by their ids, with the base path and the name of the file that each is in.
    read: Vec<(i32, Option<u32>, String)>,
    live: Arc<LiveRows>,
}

impl Origin {
    /// The fields of `schema` in the rows of `slot`.
    pub(super) async fn of(slot: &Slot, schema: &Schema, places: &Places) -> Result<Self> {
        let live = slot.live(places).await?;
        Ok(Self {
            physical_rows: slot.fragment().physical_rows(),
            deletion_file: slot.fragment().message.deletion_file,
            read: read(slot, schema),
            live,
        })
    }

    /// Whether what was worked out from this is right for the fields of `schema` in the rows of `slot`, too: the rows have
    /// the same values, and those that are not deleted now were not deleted then.
    pub(super) async fn serves(&self, slot: &Slot, schema: &Schema, places: &Places) -> Result<bool> {
        let fragment = slot.fragment();
        if self.physical_rows != fragment.physical_rows() || self.read != read(slot, schema) {
            return Ok(false);
        }
        // What is deleted is looked up only if that changed.
        Ok(self.deletion_file == fragment.message.deletion_file
            || contains(self.live.rows(), slot.live(places).await?.rows()))
    }
}

fn read(slot: &Slot, schema: &Schema) -> Vec<(i32, Option<u32>, String)> {
    let files = |field: &Field| {
        let (id, files) = (field.id, slot.fragment().files().iter());
        let files = files.filter(move |file| file.has(id));
        files.map(move |file| (id, file.base, file.path.clone())).collect::<Vec<_>>()
    };
    schema.pre_order().into_iter().flat_map(files).collect()
}

/// Whether all of `some` are in `all`.
fn contains(all: &Rows, some: &Rows) -> bool {
    let mut all = all.ranges().iter().peekable();
    some.ranges().iter().all(|some| {
        while all.next_if(|all| all.end <= some.start).is_some() {}
        all.peek().is_some_and(|all| all.start <= some.start && some.end <= all.end)
    })
}

/// Files of new columns that are part of no version yet.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// What the files have.
    of: Option<(Schema, Version)>,
    /// By the id of the fragment.
    files: BTreeMap<u64, Made>,
    /// Paths of files that are of no use any more.
    stale: Vec<String>,
}

/// The file of a fragment.
#[derive(Debug)]
struct Made {
    origin: Origin,
    file: DataFile,
}

impl Kept {
    /// Gets ready for an attempt at `target`. The fields have other ids if somebody else added some meanwhile; what if
    /// they are others altogether is of no use.
    pub(super) fn prepare(&mut self, target: &Target<'_>) {
        let (schema, version) = (target.schema(), target.version());
        let before = self.of.replace((schema.clone(), version));
        let Some((before, _)) = before.filter(|before| before.1 == version) else {
            self.retain(|_| false);
            return;
        };
        if numbered(&before.fields) != numbered(&schema.fields) {
            self.retain(|_| false);
            return;
        }
        let ids = before.pre_order().into_iter().zip(schema.pre_order());
        let ids = ids.map(|(before, now)| (before.id, now.id)).collect::<BTreeMap<_, _>>();
        for field in self.files.values_mut().flat_map(|made| &mut made.file.fields) {
            *field = ids.get(field).copied().unwrap_or(*field);
        }
    }

    /// The file of `slot`, worked out from the fields of `schema`.
    pub(super) async fn find(
        &self,
        slot: &Slot,
        schema: &Schema,
        places: &Places,
    ) -> Result<Option<&DataFile>> {
        let Some(made) = self.files.get(&slot.fragment().message.id) else { return Ok(None) };
        let serves = made.origin.serves(slot, schema, places).await?;
        Ok(serves.then_some(&made.file))
    }

    /// Takes the file that was written for the fragment `id`.
    pub(super) fn insert(&mut self, id: u64, origin: Origin, file: DataFile) {
        let before = self.files.insert(id, Made { origin, file });
        self.stale.extend(before.as_ref().map(Made::path));
    }

    /// Forgets the files of all fragments but `left`.
    pub(super) fn only(&mut self, left: &BTreeSet<u64>) {
        self.retain(|id| left.contains(&id));
    }

    fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        let gone = self.files.extract_if(.., |id, _| !keep(*id));
        self.stale.extend(gone.map(|(_, made)| made.path()));
    }

    /// Removes files that are of no use any more.
    pub(super) async fn remove_stale(&mut self, table: &Table) {
        abandon(table.store(), mem::take(&mut self.stale), &TableError::invalid("others were first")).await;
    }

    /// Gives what came of the last attempt. Nothing is left of what is not part of a version.
    pub(super) async fn end<T>(mut self, table: &Table, last: Result<T>) -> Result<T> {
        self.remove_stale(table).await;
        if let Err(error) = &last {
            let files = self.files.values().map(Made::path).collect();
            abandon(table.store(), files, error).await;
        }
        last
    }
}

impl Made {
    fn path(&self) -> String {
        format!("data/{}", self.file.path)
    }
}

/// `fields`, numbered anew.
fn numbered(fields: &[Field]) -> Vec<Field> {
    fn number(field: &mut Field, next: &mut i32) {
        field.id = *next;
        *next = next.saturating_add(1);
        field.children.iter_mut().for_each(|child| number(child, next));
    }
    let (mut fields, mut next) = (fields.to_vec(), 0);
    fields.iter_mut().for_each(|field| number(field, &mut next));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_among_others() {
        let rows = |ranges: &[(u64, u64)]| Rows::from_ranges(ranges.iter().map(|(a, b)| *a..*b)).unwrap();
        let all = rows(&[(0, 3), (5, 9), (20, 30)]);
        for (some, within) in [
            (rows(&[]), true),
            (all.clone(), true),
            (rows(&[(0, 1), (2, 3), (6, 7), (8, 9)]), true),
            (rows(&[(20, 21), (29, 30)]), true),
            (rows(&[(2, 4)]), false),
            (rows(&[(0, 3), (4, 9)]), false),
            (rows(&[(9, 20)]), false),
            (rows(&[(25, 31)]), false),
            (rows(&[(30, 31)]), false),
        ] {
            assert_eq!(contains(&all, &some), within, "{some:?}");
        }
        assert!(contains(&rows(&[]), &rows(&[])) && !contains(&rows(&[]), &all));
    }
}
