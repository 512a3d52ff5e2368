//! Many writers on one table: what was acknowledged is there, once, and no version is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use demilance::table::CleanupOptions;
use demilance::{Dataset, ErrorKind, WriteOptions};
use demilance_tests::draw::Draw;
use demilance_tests::oracle::Oracle;
use demilance_tests::s3::S3;
use demilance_tests::{ours, same, stream};
use lance_io::Store;
use serde_json::{Value, json};

const WRITERS: i64 = 16;
/// Rows of an append.
const ROWS: i64 = 4;

/// How many commits each writer makes: what `DEMILANCE_COMMITS` says, or else `default`.
fn commits(default: i64) -> i64 {
    match std::env::var("DEMILANCE_COMMITS") {
        Ok(number) => number.parse().unwrap_or_else(|_| panic!("DEMILANCE_COMMITS={number} is no number")),
        Err(_) => default,
    }
}

fn rows(first: i64) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + ROWS));
    RecordBatch::try_from_iter([("id", ids)]).unwrap()
}

async fn open(store: &Store) -> Dataset {
    Dataset::builder("").store(store.clone()).load().await.unwrap()
}

/// What a writer was told is done.
#[derive(Debug, Default)]
struct Acknowledged {
    versions: Vec<u64>,
    added: BTreeSet<i64>,
    deleted: BTreeSet<i64>,
    /// By name; the value is what it adds to the id.
    columns: BTreeMap<String, i64>,
    /// How often it was told that something was not done because of others.
    refused: u64,
}

/// Appends, deletes rows of its own and adds columns in turn, from handles that are more or less old.
async fn writer(store: Store, number: i64, commits: i64) -> Acknowledged {
    let mut draw = Draw::new(u64::try_from(number).unwrap());
    let mut done = Acknowledged::default();
    let mut table = open(&store).await;
    for commit in 0..commits {
        // Writers are out of step, so that each meets each.
        let (turn, kind) = ((commit + number) / 3, (commit + number) % 3);
        let first = 1_000_000 * (number + 1) + turn * ROWS;
        // One of the rows of this turn, and what the turn before left: fragments get fewer rows, and go.
        let gone = [first, first - ROWS + 1, first - ROWS + 2, first - ROWS + 3];
        let gone = gone.into_iter().filter(|id| done.added.contains(id)).collect::<BTreeSet<_>>();
        let among = gone.iter().map(ToString::to_string).chain(["-1".into()]).collect::<Vec<_>>().join(", ");
        let old = table.version();
        loop {
            // What does not go together with what others did is tried again; nothing of it may be left.
            let result = match kind {
                0 => table.append(rows(first)).await,
                1 => table.delete(&format!("id IN ({among})")).await.map(|deleted| deleted.table.into()),
                _ => table.add_expression(&format!("c{number}_{commit}"), &format!("id + {number}")).await,
            };
            match result {
                Ok(next) => {
                    table = next;
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    done.refused += 1;
                    table = open(&store).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(table.version() > old);
        done.versions.push(table.version());
        match kind {
            0 => done.added.extend(first..first + ROWS),
            1 => done.deleted.extend(gone),
            _ => drop(done.columns.insert(format!("c{number}_{commit}"), number)),
        }
        if draw.chance(3) {
            table = open(&store).await;
        }
    }
    done
}

async fn everybody_writes(store: Store, commits: i64) -> Dataset {
    let began = std::time::Instant::now();
    Dataset::write_to(store.clone(), rows(0), WriteOptions::default()).await.unwrap();
    let writers = (0..WRITERS).map(|number| tokio::spawn(writer(store.clone(), number, commits)));
    let mut all = Acknowledged { added: (0..ROWS).collect(), ..Default::default() };
    for writer in writers.collect::<Vec<_>>() {
        let Acknowledged { versions, added, deleted, columns, refused } = writer.await.unwrap();
        all.versions.extend(versions);
        all.added.extend(added);
        all.deleted.extend(deleted);
        all.columns.extend(columns);
        all.refused += refused;
    }
    println!("{WRITERS} writers, {commits} commits each: {:.1?}, {} refused", began.elapsed(), all.refused);
    // Each commit made a version of its own, and there is no other.
    let last = 1 + u64::try_from(WRITERS * commits).unwrap();
    all.versions.sort_unstable();
    assert_eq!(all.versions, (2..=last).collect::<Vec<_>>());
    let table = open(&store).await;
    let listed = table.versions().await.unwrap().into_iter().map(|info| info.version).collect::<Vec<_>>();
    assert_eq!(listed, (1..=last).collect::<Vec<_>>());

    let schema = table.schema();
    let names = schema.fields().iter().map(|field| field.name().clone()).collect::<BTreeSet<_>>();
    assert_eq!(names.len() - 1, all.columns.len());
    let mut ids = vec![];
    for batch in table.scan().collect().await.unwrap() {
        let column = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone();
        let id = column("id");
        ids.extend_from_slice(id.values());
        for (name, plus) in &all.columns {
            // Rows that came after the column are null in it; before, it has their values.
            let values = column(name);
            assert!(
                id.iter()
                    .zip(values.iter())
                    .all(|(id, value)| value.is_none_or(|value| Some(value - plus) == id))
            );
        }
    }
    let count = ids.len();
    let ids = ids.into_iter().collect::<BTreeSet<_>>();
    assert_eq!(ids.len(), count, "rows are there twice");
    assert_eq!(ids, &all.added - &all.deleted);
    // Attempts that failed have left no file.
    let leftovers = CleanupOptions { delete_unverified: true, ..Default::default() };
    let dead = table.table().plan_cleanup(&leftovers).await.unwrap();
    assert_eq!((dead.files, dead.versions.len()), (vec![], 0));
    println!("checked after {:.1?}", began.elapsed());
    table
}

/// Compares with what the reference reads at `path`.
async fn same_for_the_reference(table: &Dataset, path: &str, storage_options: Value) {
    let Some(oracle) = Oracle::find("what many writers wrote, read by the reference") else { return };
    let place = tempfile::tempdir().unwrap();
    let to = place.path().join("rows.arrow");
    oracle.one(json!({"do": "read_table", "path": path, "to": to, "storage_options": storage_options}));
    let (schema, batches) = stream::read(&to);
    let expected = same::whole(&schema, &batches).unwrap();
    ours::compare_table(table.table(), &expected, &[0]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_directory() {
    let place = tempfile::tempdir().unwrap();
    let table = everybody_writes(Store::local(place.path()).durable(false), commits(20)).await;
    same_for_the_reference(&table, place.path().to_str().unwrap(), Value::Null).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_memory() {
    everybody_writes(Store::memory(), commits(20)).await;
}

/// A commit takes about a hundred requests, of which the server does some 300 in a second.
#[tokio::test(flavor = "multi_thread")]
async fn in_an_object_store() {
    let Some(s3) = S3::start("concurrent writers in an object store") else { return };
    let table = everybody_writes(s3.store("table"), commits(3)).await;
    same_for_the_reference(&table, &S3::url("table"), s3.storage_options()).await;
}
