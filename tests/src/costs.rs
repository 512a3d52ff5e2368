//! What steps on tables cost: requests and bytes, as an object store is asked.

use std::fmt;
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use demilance::table::CompactionOptions;
use demilance::{Dataset, Upsert, WriteOptions};
use futures::future::BoxFuture;
use lance_io::{Counts, Store};

pub mod many;

/// The names of the steps that [`measure`] knows.
pub const STEPS: [&str; 15] = [
    "open the latest version",
    "open version 1",
    "append 10 rows",
    "delete 10 rows",
    "update 10 rows",
    "upsert 10 rows",
    "add a column from an expression",
    "add a column of nulls",
    "take 256 rows",
    "the same rows again",
    "count all rows",
    "count the rows that pass a filter",
    "tag the version",
    "compact two small fragments",
    "list the versions",
];

/// Rows of a fragment.
pub const ROWS: i64 = 1_000;

/// A table: so many fragments of [`ROWS`] rows, and so many versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Fragments of the latest version.
    pub fragments: i64,
    /// Versions, at least as many as fragments.
    pub versions: u64,
}

/// The tables that the README tells the costs of.
pub const SHAPES: [Shape; 2] =
    [Shape { fragments: 1, versions: 1 }, Shape { fragments: 100, versions: 1_000 }];

/// What was asked of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Reads.
    pub reads: u64,
    /// Pages of listings.
    pub lists: u64,
    /// Questions for the size of a file.
    pub heads: u64,
    /// Files written.
    pub writes: u64,
    /// Files removed.
    pub deletes: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Cost {
    /// What `counts` has by now; it counts from zero again.
    pub fn of(counts: &Counts) -> Self {
        let cost = Self {
            reads: counts.requests(),
            lists: counts.listings(),
            heads: counts.heads(),
            writes: counts.writes(),
            deletes: counts.deletes(),
            read: counts.bytes(),
            written: counts.bytes_written(),
        };
        counts.reset();
        cost
    }

    /// Reads, listings, sizes, writes, removals.
    pub const fn requests(&self) -> [u64; 5] {
        [self.reads, self.lists, self.heads, self.writes, self.deletes]
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["read", "list", "head", "write", "delete"];
        let counts = names.iter().zip(self.requests()).filter(|(_, count)| *count > 0);
        let counts = counts.map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>();
        match counts.is_empty() {
            true => f.write_str("none"),
            false => f.write_str(&counts.join(", ")),
        }
    }
}

/// A line of the README: requests for tables of the two [`SHAPES`], and kB read and written for the larger.
pub fn line(step: &str, small: &Cost, large: &Cost) -> String {
    let kilobytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e3);
    format!("| {step} | {small} | {large} | {} | {} |", kilobytes(large.read), kilobytes(large.written))
}

/// The ids `first..first + count` with a label and 32 floats each.
pub fn rows(first: i64, count: i64) -> RecordBatch {
    let ids = first..first + count;
    let labels = ids.clone().map(|id| format!("episode {}", id / 300)).collect::<Vec<_>>();
    let states = ids.clone().map(|id| Some((0..32).map(move |at| Some((id * 37 % 1009 * at) as f32))));
    let states = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(states, 32);
    RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef),
        ("label", Arc::new(StringArray::from(labels))),
        ("state", Arc::new(states)),
    ])
    .unwrap()
}

/// Opens the latest version.
pub async fn open(store: &Store) -> Dataset {
    Dataset::builder("").store(store.clone()).load().await.unwrap()
}

/// Makes a table of `shape` in memory: all fragments but the first are appended, and versions without new rows follow.
pub async fn make(shape: Shape) -> Store {
    let store = Store::memory();
    let mut table = Dataset::write_to(store.clone(), rows(0, ROWS), WriteOptions::default()).await.unwrap();
    for fragment in 1..shape.fragments {
        table = table.append(rows(fragment * ROWS, ROWS)).await.unwrap();
    }
    while table.version() < shape.versions {
        let version = table.version().to_string();
        table = table.update_config().config("turn", &version).await.unwrap();
    }
    assert_eq!((table.version(), table.fragments().len() as i64), (shape.versions, shape.fragments));
    store
}

/// What `step` costs on a table of `shape` in `store`, which stays as it is. The table was opened before, but nothing of its
/// files was read.
pub async fn measure(step: &str, shape: Shape, store: &Store) -> Cost {
    let store = copy(store).await;
    if step == "compact two small fragments" {
        let table = open(&store).await.append(rows(-20, 10)).await.unwrap();
        table.append(rows(-10, 10)).await.unwrap();
    }
    let (store, counts) = store.counted();
    let table = open(&store).await;
    let all = shape.fragments * ROWS;
    let picked = (0..256).map(|row| (row * 7919 % all) as u64).collect::<Vec<_>>();
    if step == "the same rows again" {
        table.take(&picked).await.unwrap();
    }
    counts.reset();
    match step {
        "open the latest version" => drop(open(&store).await),
        "open version 1" => {
            drop(Dataset::builder("").store(store.clone()).version(1).load().await.unwrap());
        }
        "append 10 rows" => drop(table.append(rows(all, 10)).await.unwrap()),
        "delete 10 rows" => assert_eq!(table.delete("id BETWEEN 500 AND 509").await.unwrap().rows, 10),
        "update 10 rows" => {
            let set = [("label", "upper(label)")];
            assert_eq!(table.update(&set, "id BETWEEN 500 AND 509").await.unwrap().rows, 10);
        }
        "upsert 10 rows" => {
            let done = table.upsert(rows(all - 5, 10), &Upsert::on(["id"])).await.unwrap();
            assert_eq!((done.updated, done.inserted), (5, 5));
        }
        "add a column from an expression" => drop(table.add_expression("half", "id / 2").await.unwrap()),
        "add a column of nulls" => drop(table.add_null_column("note", DataType::Utf8).await.unwrap()),
        "take 256 rows" | "the same rows again" => {
            assert_eq!(table.take(&picked).await.unwrap().num_rows(), 256);
        }
        "count all rows" => assert_eq!(table.count_rows() as i64, all),
        "count the rows that pass a filter" => {
            assert_eq!(table.count_rows_where("id % 2 = 0").await.unwrap() as i64, all / 2);
        }
        "tag the version" => drop(table.create_tag("train-v1").await.unwrap()),
        "compact two small fragments" => {
            let options = CompactionOptions { target_rows: ROWS as u64, ..Default::default() };
            let after = table.compact(&options).await.unwrap();
            assert_eq!(after.fragments().len() as i64, shape.fragments + 1);
        }
        "list the versions" => assert_eq!(table.versions().await.unwrap().len() as u64, shape.versions),
        _ => panic!("no step {step:?}"),
    }
    Cost::of(&counts)
}

/// The same files in another memory.
async fn copy(from: &Store) -> Store {
    fn below<'a>(from: &'a Store, to: &'a Store, at: String) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for listed in from.list(&at).await.unwrap() {
                let path = if at.is_empty() { listed.name } else { format!("{at}/{}", listed.name) };
                match listed.is_dir {
                    true => below(from, to, path).await,
                    false => to.put(&path, from.read_all(&path).await.unwrap()).await.unwrap(),
                }
            }
        })
    }
    let to = Store::memory();
    below(from, &to, String::new()).await;
    to
}
