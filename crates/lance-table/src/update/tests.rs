use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, Schema};
use lance_footer::FormatError;
use lance_io::Store;

use super::*;
use crate::{CommitOptions, ScanOptions, TableError, WriteMode};

fn expr(text: &str) -> Expr {
    Expr::parse(text).unwrap()
}

/// `i` counts and is never null; of the struct `s`, which is null in every fifth row, `x` is not null.
fn rows(range: std::ops::Range<i32>) -> RecordBatch {
    let ints: ArrayRef = Arc::new(Int32Array::from_iter_values(range.clone()));
    let texts: ArrayRef =
        Arc::new(range.clone().map(|i| (i % 3 != 0).then(|| format!("t{i}"))).collect::<StringArray>());
    let members =
        Fields::from(vec![Field::new("x", DataType::Int32, false), Field::new("y", DataType::Utf8, true)]);
    let nulls = NullBuffer::from(range.map(|i| i % 5 != 0).collect::<Vec<_>>());
    let group: ArrayRef =
        Arc::new(StructArray::new(members, vec![Arc::clone(&ints), Arc::clone(&texts)], Some(nulls)));
    let field = |name: &str, array: &ArrayRef, null| Field::new(name, array.data_type().clone(), null);
    let fields = vec![field("i", &ints, false), field("t", &texts, true), field("s", &group, true)];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![ints, texts, group]).unwrap()
}

async fn table(count: i32, stable_row_ids: bool) -> Table {
    let options = WriteOptions { max_rows_per_fragment: 10, stable_row_ids, ..Default::default() };
    Table::write(Store::memory(), rows(0..count).into(), options).await.unwrap()
}

async fn update(table: &Table, set: &[(&str, &str)], filter: &str) -> Result<Updated> {
    let set = set.iter().map(|(name, value)| (*name, expr(value))).collect::<Vec<_>>();
    table.update(&set, Some(&expr(filter)), &WriteOptions::default()).await
}

async fn column(table: &Table, path: &str) -> RecordBatch {
    let order = (0..table.rows()).collect::<Vec<_>>();
    table.take(&order, Some(&[path.to_string()]), false).await.unwrap()
}

async fn ints(table: &Table) -> Vec<i32> {
    column(table, "i").await.column(0).as_primitive::<Int32Type>().values().to_vec()
}

async fn numbers(table: &Table, path: &str) -> Vec<u64> {
    column(table, path).await.column(0).as_primitive::<UInt64Type>().values().to_vec()
}

#[tokio::test]
async fn rows_that_pass_get_new_values() {
    for stable in [false, true] {
        let first = table(30, stable).await;
        let deleted = first.delete(&expr("i IN (3, 12)"), &CommitOptions::default()).await.unwrap().table;
        let set = [("i", "i + 100"), ("s.y", "concat('was ', CAST(i AS STRING))"), ("t", "NULL")];
        let updated = update(&deleted, &set, "i % 4 = 0 OR i >= 20").await.unwrap();
        let gone = (0..30).filter(|i| (i % 4 == 0 || *i >= 20) && *i != 12).collect::<Vec<_>>();
        let table = updated.table;
        assert_eq!((updated.rows as usize, table.version(), table.rows()), (gone.len(), 3, 28));
        let kept = (0..20).filter(|i| i % 4 != 0 && *i != 3).collect::<Vec<_>>();
        let moved = gone.iter().map(|i| i + 100).collect::<Vec<_>>();
        assert_eq!(ints(&table).await, [kept.clone(), moved].concat());
        // The last of the old fragments has no rows left.
        assert_eq!(table.fragments().iter().map(|fragment| fragment.id()).collect::<Vec<_>>(), [0, 1, 3]);
        let group = column(&table, "s").await;
        let texts = column(&table, "t").await;
        for (at, i) in kept.iter().chain(&gone).enumerate() {
            let group = group.column(0).as_struct();
            assert_eq!(group.is_null(at), i % 5 == 0, "{i}");
            let (text, inner) = (texts.column(0).as_string::<i32>(), group.column(1).as_string::<i32>());
            let old = (i % 3 != 0).then(|| format!("t{i}"));
            let moved = gone.contains(i);
            assert_eq!(
                (!text.is_null(at)).then(|| text.value(at).to_string()),
                old.clone().filter(|_| !moved)
            );
            if group.is_valid(at) {
                let inner = (!inner.is_null(at)).then(|| inner.value(at).to_string());
                assert_eq!(inner, if moved { Some(format!("was {i}")) } else { old });
                assert_eq!(group.column(0).as_primitive::<Int32Type>().value(at), *i);
            }
        }
        if stable {
            let ids = kept.iter().chain(&gone).map(|i| *i as u64).collect::<Vec<_>>();
            assert_eq!(numbers(&table, "_rowid").await, ids);
            assert_eq!(numbers(&table, "_row_created_at_version").await, vec![1; 28]);
            let versions = [vec![1; kept.len()], vec![3; gone.len()]].concat();
            assert_eq!(numbers(&table, "_row_last_updated_at_version").await, versions);
            assert_eq!(table.manifest().message.next_row_id, 30);
        }
    }
}

#[tokio::test]
async fn every_row_or_none() {
    let first = table(25, true).await;
    let none = update(&first, &[("i", "0")], "i > 100").await.unwrap();
    assert_eq!((none.rows, none.table.version(), none.table.fragments().len()), (0, 2, 3));
    let never = update(&none.table, &[("i", "0")], "false").await.unwrap();
    assert_eq!((never.rows, never.table.version()), (0, 3));
    let options = WriteOptions { max_rows_per_fragment: 7, ..Default::default() };
    let all = never.table.update(&[("i", expr("-i"))], None, &options).await.unwrap();
    assert_eq!((all.rows, all.table.fragments().len()), (25, 4));
    assert_eq!(ints(&all.table).await, (0..25).map(|i| -i).collect::<Vec<_>>());
    assert_eq!(numbers(&all.table, "_rowid").await, (0..25).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_cannot_be_set_is_refused() {
    let table = table(10, false).await;
    for (set, part) in [
        (vec![("j", "1")], "\"j\""),
        (vec![("i", "1"), ("i", "2")], "set twice"),
        (vec![("s", "s"), ("s.y", "t")], "one is in the other"),
        (vec![("i", "NULL")], "\"i\" must not be null"),
        (vec![("s.x", "NULL")], "\"s.x\" must not be null"),
        (vec![("i", "CASE WHEN i < 9 THEN i END")], "\"i\" must not be null"),
        (vec![("i", "i + 0.5")], "0.5 does not fit Int32"),
        (vec![("i", "3000000000")], "3000000000 does not fit Int32"),
        (vec![("i", "nothing")], "no column nothing"),
        (vec![], "no column is named"),
    ] {
        let error = update(&table, &set, "i >= 0").await.unwrap_err().to_string();
        assert!(error.contains(part), "{set:?}: {error}");
    }
    assert!(update(&table, &[("i", "1")], "i").await.is_err());
    let store = table.store();
    assert_eq!(table.latest().await.unwrap().version(), 1);
    assert_eq!(
        (store.list("data").await.unwrap().len(), store.list("_deletions").await.unwrap().len()),
        (1, 0)
    );
}

#[tokio::test]
async fn blobs_and_lists_are_refused_by_name() {
    let metadata = [("lance-encoding:blob".to_string(), "true".to_string())].into();
    let blob = Field::new("video", DataType::LargeBinary, true).with_metadata(metadata);
    let item = Arc::new(Field::new("item", DataType::Int32, true));
    let list = Field::new("list", DataType::List(item), true);
    for (field, path, part) in
        [(blob, "n", "\"video\""), (list, "list.item", "list.item, which is inside of list")]
    {
        let fields = vec![Field::new("n", DataType::Int32, true), field];
        let empty = RecordBatch::new_empty(Arc::new(Schema::new(fields)));
        let Ok(table) = Table::write(Store::memory(), empty.into(), WriteOptions::default()).await else {
            // Blobs may not be written yet.
            continue;
        };
        match update(&table, &[(path, "1")], "true").await.unwrap_err() {
            TableError::Format { source: FormatError::Unsupported { what }, .. } => {
                assert!(what.contains(part), "{what}");
            }
            error => panic!("{error}"),
        }
    }
}

/// Handles on the first version count the same rows up, while rows are added and deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn updates_at_the_same_time_lose_nothing() {
    for stable in [false, true] {
        let table = Arc::new(table(40, stable).await);
        let tasks = (0..6).map(|part| {
            let table = Arc::clone(&table);
            tokio::spawn(async move {
                match part {
                    0 => {
                        let append = WriteOptions { mode: WriteMode::Append, ..Default::default() };
                        table.write_after(rows(1000..1003).into(), append).await.unwrap();
                    }
                    1 => {
                        let filter = expr("s.x IN (7, 30)");
                        table.delete(&filter, &CommitOptions::default()).await.unwrap();
                    }
                    _ => {
                        let set = [("i", "i + 100")];
                        update(&table, &set, "i < 1000 AND i % 2 = 1").await.unwrap();
                    }
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        let latest = table.latest().await.unwrap();
        let mut left = ints(&latest).await;
        left.sort_unstable();
        // Every fifth struct is null, so 30 is not deleted.
        let counted = |i: i32| if i % 2 == 1 { i + 400 } else { i };
        let mut expected = (0..40).filter(|i| *i != 7).map(counted).chain(1000..1003).collect::<Vec<_>>();
        expected.sort_unstable();
        assert_eq!((left, latest.version()), (expected, 7));
        if stable {
            let mut ids = numbers(&latest, "_rowid").await;
            ids.sort_unstable();
            assert_eq!(ids, (0..43).filter(|id| *id != 7).collect::<Vec<_>>());
        }
        let batches = latest.scan(ScanOptions::default()).unwrap().try_collect::<Vec<_>>().await.unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 42);
    }
}
