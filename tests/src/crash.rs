//! Operations on a small table, each to be stopped at any of its writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use demilance::table::{CleanupOptions, CompactionOptions};
use demilance::{Dataset, NewColumns, Upsert, WhenMissing, WriteMode, WriteOptions};
use lance_io::{IoError, Store};

use crate::same;

/// The names of the operations that [`run`] knows.
pub const OPERATIONS: [&str; 23] = [
    "append",
    "overwrite",
    "delete some",
    "delete all",
    "update",
    "upsert",
    "upsert and delete",
    "add column",
    "add null column",
    "join column",
    "align column",
    "work out column",
    "drop column",
    "rename column",
    "cast column",
    "allow nulls",
    "config",
    "metadata",
    "compact",
    "restore",
    "tag",
    "branch",
    "clean up",
];

/// The name of one more, which writes more than the others.
pub const LARGE: &str = "overwrite with much";

/// The tag of the first version of [`make`].
pub const TAG: &str = "train-v1";

/// The branch that the operation `branch` makes.
pub const BRANCH: &str = "trial";

fn rows(range: std::ops::Range<i64>) -> RecordBatch {
    let names: ArrayRef =
        Arc::new(range.clone().map(|row| Some(format!("row {row}"))).collect::<StringArray>());
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("name", names, true)]).unwrap()
}

/// What is to be added to rows with these ids.
fn marks(range: std::ops::Range<i64>) -> RecordBatch {
    let marks: ArrayRef = Arc::new(Int64Array::from_iter_values(range.clone().map(|id| id * 3)));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    RecordBatch::try_from_iter([("id", ids), ("mark", marks)]).unwrap()
}

/// Makes the table in `store`: three versions with five fragments, some rows deleted, the first version tagged.
pub async fn make(store: Store) {
    let options = WriteOptions { max_rows_per_fragment: 10, ..Default::default() };
    let table = Dataset::write_to(store, rows(0..30), options.clone()).await.unwrap();
    table.create_tag(TAG).await.unwrap();
    let table = table.append_with(rows(30..50), options).await.unwrap();
    table.delete("id IN (3, 4, 5, 44)").await.unwrap();
}

/// Does the operation `name` on the table in `store`.
pub async fn run(name: &str, store: Store) -> demilance::Result<()> {
    let table = Dataset::builder("").store(store.clone()).load().await?;
    let old = Dataset::builder("").store(store.clone()).version(2).load();
    match name {
        "append" => drop(table.append(rows(50..60)).await?),
        // Into an object store in more than one part.
        LARGE => {
            let noise = (0..1_200_000_i64).map(|id| id.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(29));
            let noise: ArrayRef = Arc::new(Int64Array::from_iter_values(noise));
            let options = WriteOptions { mode: WriteMode::Overwrite, ..Default::default() };
            drop(Dataset::write_to(store, RecordBatch::try_from_iter([("id", noise)])?, options).await?);
        }
        "overwrite" => {
            let options = WriteOptions { mode: WriteMode::Overwrite, ..Default::default() };
            drop(Dataset::write_to(store, rows(7..9), options).await?);
        }
        "delete some" => drop(table.delete("id % 10 = 7 OR id BETWEEN 20 AND 29").await?),
        "delete all" => drop(table.delete("true").await?),
        "update" => drop(table.update(&[("name", "upper(name)")], "id % 10 < 2").await?),
        "upsert" => drop(table.upsert(rows(45..55), &Upsert::on(["id"])).await?),
        "upsert and delete" => {
            let upsert = Upsert { missing: WhenMissing::Delete, ..Upsert::on(["id"]) };
            drop(table.upsert(rows(15..55), &upsert).await?);
        }
        "add column" => drop(table.add_expression("twice", "id * 2").await?),
        "add null column" => drop(table.add_null_column("empty", DataType::Int8).await?),
        "join column" => drop(table.add_columns(NewColumns::joined(marks(0..40), "id")).await?),
        "align column" => {
            let count = i64::try_from(table.count_rows()).unwrap_or(i64::MAX);
            let marks = marks(0..count.min(100)).project(&[1])?;
            drop(table.add_columns(NewColumns::aligned(marks)).await?);
        }
        "work out column" => {
            let schema = marks(0..1).project(&[1])?.schema();
            let copy =
                move |batch: RecordBatch| RecordBatch::try_new(schema.clone(), batch.columns().to_vec());
            let schema = marks(0..1).project(&[1])?.schema();
            drop(table.add_columns(NewColumns::function(["id"], schema, copy)).await?);
        }
        "drop column" => drop(table.drop_columns(["name"]).await?),
        "rename column" => drop(table.rename_column("name", "label").await?),
        "cast column" => drop(table.cast_column("id", DataType::Int32).await?),
        "allow nulls" => drop(table.set_nullable("id", true).await?),
        "metadata" => drop(table.update_config().schema("about", "arms").field("id", "unit", "1").await?),
        "config" => drop(table.update_config().config("owner", "lab").await?),
        "compact" => drop(table.compact(&CompactionOptions::default()).await?),
        "restore" => drop(old.await?.restore().await?),
        "tag" => drop(table.create_tag("later").await?),
        "branch" => drop(table.create_branch(BRANCH).await?),
        "clean up" => {
            let cleaned = table.clean_up(&all_but_the_newest()).await?;
            // What the next clean-up is to try again is not done.
            if let Some((path, why)) = cleaned.failed.into_iter().next() {
                return Err(IoError::Io { path, source: std::io::Error::other(why) }.into());
            }
        }
        _ => panic!("no operation {name:?}"),
    }
    Ok(())
}

/// What a reader sees: the rows of the newest version, its key-value pairs, and the names of tags and branches.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// In scan order.
    pub rows: RecordBatch,
    /// Of the table.
    pub config: BTreeMap<String, String>,
    /// Tags and branches.
    pub references: Vec<String>,
    /// How many.
    pub fragments: usize,
    /// Their numbers.
    pub versions: Vec<u64>,
}

impl Seen {
    /// Whether that is what `operation` leaves on its way to `end`. Some take several commits, or remove several files: what
    /// is between is neither lost nor wrong.
    pub fn is_on_the_way(&self, operation: &str, end: &Self) -> bool {
        match operation {
            "compact" | "clean up" => self.rows == end.rows && self.references == end.references,
            _ => self == end,
        }
    }
}

/// Whether `operation` may remove the file at `path`.
pub fn removes(operation: &str, path: &str) -> bool {
    match operation {
        "clean up" => !path.starts_with("_refs/"),
        _ => false,
    }
}

/// What a reader of the table in `store` sees.
pub async fn see(store: Store) -> Seen {
    let table = Dataset::builder("").store(store).load().await.unwrap();
    let batches = table.scan().collect().await.unwrap();
    let mut references: Vec<_> = table.tags().await.unwrap().into_iter().map(|tag| tag.name).collect();
    references.extend(table.branches().await.unwrap().into_iter().map(|branch| branch.name));
    Seen {
        rows: same::whole(&table.schema(), &batches).unwrap(),
        config: table.manifest().message.config.clone(),
        references,
        fragments: table.fragments().len(),
        versions: table.versions().await.unwrap().into_iter().map(|info| info.version).collect(),
    }
}

/// Removes all but the newest version, tagged ones and what a branch needs, whatever its age.
pub fn all_but_the_newest() -> CleanupOptions {
    CleanupOptions {
        keep: Some(1),
        delete_unverified: true,
        error_if_tagged_old_versions: false,
        ..Default::default()
    }
}
