//! Key-value pairs of the table's config, of the table, of the schema and of fields.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;

use super::draft::Draft;
use crate::commit::{CommitOptions, again, commit};
use crate::operation::{Config, Operation};
use crate::proto::UpdateMap;
use crate::proto::update_map::Entry;
use crate::{Result, Table, TableError};

/// Keys of field metadata that say how values are laid out, which they are already.
const LAYOUT: [&str; 5] = [
    "lance-encoding:blob",
    "lance-encoding:packed",
    "packed",
    "ARROW:extension:name",
    "ARROW:extension:metadata",
];

/// What becomes of some key-value pairs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pairs {
    /// Pairs that are added, or get another value.
    pub set: BTreeMap<String, String>,
    /// Keys that are removed, if they are there.
    pub unset: BTreeSet<String>,
    /// Whether all other pairs are removed.
    pub replace: bool,
}

/// What [`Table::update_config`] changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigChange {
    /// The config of the table. Keys that begin with `lance.` mean something to software that reads the format.
    pub config: Pairs,
    /// Of the table, free form.
    pub table_metadata: Pairs,
    /// Of the schema, which Arrow schemas have, too.
    pub schema_metadata: Pairs,
    /// Of fields, by their dotted paths.
    pub field_metadata: BTreeMap<String, Pairs>,
}

impl Table {
    /// Changes key-value pairs. No data file is written.
    ///
    /// An error if a key is both set and unset, a field is unknown, or the metadata of a field would say that its values
    /// are laid out in another way than they are.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow_array::record_batch;
    /// use lance_io::Store;
    /// use lance_table::{CommitOptions, ConfigChange, Pairs, Table, WriteOptions};
    ///
    /// let batch = record_batch!(("id", Int32, [1, 2]))?;
    /// let table = Table::write(Store::memory(), batch.into(), WriteOptions::default()).await?;
    /// let unit = Pairs { set: [("unit".into(), "frame".into())].into(), ..Default::default() };
    /// let change = ConfigChange { field_metadata: [("id".into(), unit)].into(), ..Default::default() };
    /// let table = table.update_config(&change, &CommitOptions::default()).await?;
    /// assert_eq!(table.arrow_schema().field(0).metadata()["unit"], "frame");
    /// # Ok(()) }
    /// ```
    pub async fn update_config(&self, change: &ConfigChange, options: &CommitOptions) -> Result<Self> {
        again(self, options, move |table| {
            let work = async move {
                table.shared.found.check_writable()?;
                let operation = Operation::Config(config(&table, change)?);
                let found = commit(table.store(), table.version(), operation, options, vec![]).await?;
                Self::from_commit(table.store().clone(), found, table.shared.options).await
            };
            work.boxed()
        })
        .await
    }
}

fn config(table: &Table, change: &ConfigChange) -> Result<Config> {
    let draft = Draft::of(table);
    let mut fields = BTreeMap::new();
    for (path, pairs) in &change.field_metadata {
        let trace = draft.schema.trace(path)?;
        let Some(field) = trace.last() else { continue };
        if field.id < 0 {
            return Err(draft.unsupported(format!("metadata of {path}, which is inside of a blob")));
        }
        let after = pairs.apply(&field.metadata);
        if let Some(key) = LAYOUT.iter().find(|key| field.metadata.get(**key) != after.get(**key)) {
            return Err(TableError::invalid(format!(
                "{key} of column {path:?} says how its values are laid out, so it cannot be changed"
            )));
        }
        fields.insert(field.id, pairs.to_proto()?);
    }
    let config = Config {
        config: change.config.to_proto()?,
        table: change.table_metadata.to_proto()?,
        schema: change.schema_metadata.to_proto()?,
        fields,
    };
    if config == Config::default() {
        return Err(TableError::invalid("no key-value pair is to be changed"));
    }
    Ok(config)
}

impl Pairs {
    /// What becomes of `pairs`.
    fn apply(&self, pairs: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut after = if self.replace { BTreeMap::new() } else { pairs.clone() };
        after.retain(|key, _| !self.unset.contains(key));
        after.extend(self.set.clone());
        after
    }

    fn to_proto(&self) -> Result<UpdateMap> {
        if let Some(key) = self.set.keys().find(|key| self.unset.contains(*key)) {
            return Err(TableError::invalid(format!("the key {key:?} is to be both set and removed")));
        }
        let entry = |key: &String, value| Entry { key: key.clone(), value };
        let set = self.set.iter().map(|(key, value)| entry(key, Some(value.clone())));
        let unset = self.unset.iter().map(|key| entry(key, None));
        Ok(UpdateMap { update_entries: set.chain(unset).collect(), replace: self.replace })
    }
}
