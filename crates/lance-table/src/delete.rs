//! Marks rows as deleted.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use roaring::RoaringBitmap;

use crate::deletion;
use crate::operation::{Deleted, DeletedRows};
use crate::table::CONCURRENT;
use crate::{Result, Table, TableError};

/// Physical offsets of rows, by the id of the fragment that they are in.
pub(crate) type Offsets = BTreeMap<u32, RoaringBitmap>;

impl Table {
    /// The rows at `offsets`, of which none may be deleted yet, as an operation deletes them. Writes a deletion file for each
    /// fragment that keeps some rows, and adds the paths to `files`.
    pub(crate) async fn mark_deleted(
        &self,
        mut offsets: Offsets,
        files: &mut Vec<String>,
    ) -> Result<DeletedRows> {
        let slots = self.shared.slots.iter().filter_map(|slot| {
            let rows = offsets.remove(&slot.fragment().id())?;
            (!rows.is_empty()).then_some((slot, rows))
        });
        let slots = slots.collect::<Vec<_>>();
        if let Some(fragment) = offsets.keys().next() {
            return Err(TableError::invalid(format!("the table has no fragment {fragment}")));
        }
        let marked = slots.into_iter().map(|(slot, rows)| async move {
            let fragment = slot.fragment().message.clone();
            let mut files = vec![];
            let mut all = deletion::read(&self.shared.places, &fragment).await?;
            all |= &rows;
            let file = deletion::write(self.store(), &fragment, self.version(), &all, &mut files).await?;
            Ok::<_, TableError>((Deleted { fragment, rows, file }, files))
        });
        let mut marked = stream::iter(marked).buffer_unordered(CONCURRENT);
        let (mut deleted, mut failed) = (DeletedRows::default(), None);
        // What was written must be known even if something failed.
        while let Some(one) = marked.next().await {
            match one {
                Ok((one, written)) => {
                    deleted.insert(one);
                    files.extend(written);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(deleted), Err)
    }
}
