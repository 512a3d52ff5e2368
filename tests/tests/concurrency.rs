//! Many writers on one table: what was acknowledged is there, once, and no version is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use demilance::{Dataset, ErrorKind, WriteOptions};
use demilance_tests::draw::Draw;
use lance_io::Store;

const WRITERS: i64 = 16;
const COMMITS: i64 = 50;
/// Rows of an append.
const ROWS: i64 = 4;

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
}

/// Few do, since a column has to be worked out again for each fragment when anybody else was first.
const fn adds_column(number: i64, commit: i64) -> bool {
    number % 4 == 0 && commit == 18
}

/// Appends, deletes rows of its own and adds columns, from handles that are more or less old.
async fn writer(store: Store, number: i64) -> Acknowledged {
    let mut draw = Draw::new(u64::try_from(number).unwrap());
    let mut done = Acknowledged::default();
    let mut table = open(&store).await;
    for commit in 0..COMMITS {
        let first = 1_000_000 * (number + 1) + commit * ROWS;
        let old = table.version();
        loop {
            // What does not go together with what others did is tried again; nothing of it may be left.
            let result = match commit % 10 {
                3 | 6 | 9 => {
                    table.delete(&format!("id = {}", first - ROWS)).await.map(|deleted| deleted.table.into())
                }
                8 if adds_column(number, commit) => {
                    table.add_expression(&format!("c{number}_{commit}"), &format!("id + {number}")).await
                }
                _ => table.append(rows(first)).await,
            };
            match result {
                Ok(next) => {
                    table = next;
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Conflict => table = open(&store).await,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(table.version() > old);
        done.versions.push(table.version());
        match commit % 10 {
            // The append before had these.
            3 | 6 | 9 => {
                done.deleted.insert(first - ROWS);
            }
            8 if adds_column(number, commit) => {
                done.columns.insert(format!("c{number}_{commit}"), number);
            }
            _ => done.added.extend(first..first + ROWS),
        }
        if draw.chance(3) {
            table = open(&store).await;
        }
    }
    done
}

async fn everybody_writes(store: Store) {
    Dataset::write_to(store.clone(), rows(0), WriteOptions::default()).await.unwrap();
    let writers = (0..WRITERS).map(|number| tokio::spawn(writer(store.clone(), number)));
    let mut all = Acknowledged { added: (0..ROWS).collect(), ..Default::default() };
    for writer in writers.collect::<Vec<_>>() {
        let Acknowledged { versions, added, deleted, columns } = writer.await.unwrap();
        all.versions.extend(versions);
        all.added.extend(added);
        all.deleted.extend(deleted);
        all.columns.extend(columns);
    }
    // Each commit made a version of its own, and there is no other.
    all.versions.sort_unstable();
    assert_eq!(all.versions, (2..2 + (WRITERS * COMMITS) as u64).collect::<Vec<_>>());
    let table = open(&store).await;
    let listed = table.versions().await.unwrap().into_iter().map(|info| info.version).collect::<Vec<_>>();
    assert_eq!(listed, (1..2 + (WRITERS * COMMITS) as u64).collect::<Vec<_>>());

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
    let dead = table.table().plan_cleanup(&demilance_tests::crash::all_but_the_newest()).await.unwrap();
    let old = dead.files.iter().filter(|file| file.path.starts_with("data/")).collect::<Vec<_>>();
    assert_eq!(old.len(), 0, "{old:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_directory() {
    let place = tempfile::tempdir().unwrap();
    everybody_writes(Store::local(place.path()).durable(false)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_memory() {
    everybody_writes(Store::memory()).await;
}
