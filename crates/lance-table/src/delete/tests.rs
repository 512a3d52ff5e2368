use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{RecordBatch, record_batch};
use lance_io::Store;

use super::*;
use crate::{WriteMode, WriteOptions};

fn expr(text: &str) -> Expr {
    Expr::parse(text).unwrap()
}

fn rows(range: std::ops::Range<i32>) -> RecordBatch {
    record_batch!(("i", Int32, range.clone().collect::<Vec<_>>())).unwrap()
}

async fn table(range: std::ops::Range<i32>, most: u64) -> Table {
    let options = WriteOptions { max_rows_per_fragment: most, ..Default::default() };
    Table::write(Store::memory(), rows(range).into(), options).await.unwrap()
}

async fn ints(table: &Table) -> Vec<i32> {
    let batches = table.scan(ScanOptions::default()).unwrap().try_collect::<Vec<_>>().await.unwrap();
    let columns = batches.iter().map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec());
    columns.flatten().collect()
}

async fn files(table: &Table, directory: &str) -> usize {
    table.store().list(directory).await.unwrap().len()
}

#[tokio::test]
async fn rows_that_pass_are_gone() {
    let mut table = table(0..30, 10).await;
    let mut left = (0..30).collect::<Vec<_>>();
    type Case = (&'static str, fn(i32) -> bool, usize);
    let cases: &[Case] = &[
        ("i % 4 = 1", |i| i % 4 == 1, 3),
        // Of the first fragment nothing is left.
        ("i < 12", |i| i < 12, 4),
        ("i > 100", |_| false, 4),
        ("NULL", |_| false, 4),
        ("i IS NOT NULL AND i = 29", |i| i == 29, 4),
        ("true", |_| true, 4),
        ("true", |_| true, 4),
    ];
    for (number, (filter, passes, deletion_files)) in cases.iter().enumerate() {
        let before = left.len();
        left.retain(|i| !passes(*i));
        let deleted = table.delete(&expr(filter), &CommitOptions::default()).await.unwrap();
        table = deleted.table;
        assert_eq!(deleted.rows as usize, before - left.len(), "{filter}");
        assert_eq!(table.version() as usize, number + 2, "{filter}");
        assert_eq!((table.rows() as usize, ints(&table).await), (left.len(), left.clone()), "{filter}");
        assert_eq!(files(&table, "data").await, 3);
        assert_eq!(files(&table, "_deletions").await, *deletion_files, "{filter}");
    }
    assert_eq!(table.fragments().len(), 0);
}

#[tokio::test]
async fn what_is_no_filter_deletes_nothing() {
    let table = table(0..3, 10).await;
    for (filter, part) in
        [("j = 1", "no column j"), ("i + 1", "a condition is wanted"), ("i / 0 = 1", "zero")]
    {
        let error = table.delete(&expr(filter), &CommitOptions::default()).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(table.latest().await.unwrap().version(), 1);
    assert_eq!(files(&table, "_deletions").await, 0);
}

/// Many handles on the first version delete parts that overlap, while rows are added.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn deletions_at_the_same_time_lose_nothing() {
    let table = Arc::new(table(0..120, 25).await);
    let tasks = (0..8).map(|part| {
        let table = Arc::clone(&table);
        tokio::spawn(async move {
            if part % 4 == 3 {
                let append = WriteOptions { mode: WriteMode::Append, ..Default::default() };
                let start = 1000 * part;
                table.write_after(rows(start..start + 5).into(), append).await.unwrap();
                return 0;
            }
            let filter = expr(&format!("i < 1000 AND (i % 8 = {part} OR i BETWEEN 50 AND 54)"));
            table.delete(&filter, &CommitOptions::default()).await.unwrap().rows
        })
    });
    let mut deleted = 0;
    for task in tasks.collect::<Vec<_>>() {
        deleted += task.await.unwrap();
    }
    let latest = table.latest().await.unwrap();
    let gone = |i: &i32| [0, 1, 2, 4, 5, 6].contains(&(i % 8)) || (50..=54).contains(i);
    let mut expected = (0..120).filter(|i| !gone(i)).collect::<Vec<_>>();
    // No row was counted by two.
    assert_eq!(deleted as usize, 120 - expected.len());
    expected.extend((3000..3005).chain(7000..7005));
    let mut left = ints(&latest).await;
    left.sort_unstable();
    assert_eq!((left, latest.version()), (expected, 9));
}

/// Everything goes, although somebody deleted a part of it meanwhile.
#[tokio::test]
async fn everything_is_deleted_after_others() {
    let table = table(0..20, 10).await;
    table.delete(&expr("i = 3"), &CommitOptions::default()).await.unwrap();
    let append = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    let deleted = table.delete(&expr("true"), &CommitOptions::default()).await.unwrap();
    assert_eq!((deleted.rows, deleted.table.rows(), deleted.table.version()), (19, 0, 3));
    let table = deleted.table.write_after(rows(0..2).into(), append).await.unwrap();
    assert_eq!(table.fragments().iter().map(Fragment::id).collect::<Vec<_>>(), [2]);
}

/// A place means another row once others have deleted or moved some.
#[tokio::test]
async fn rows_named_by_place_are_not_looked_up_again() {
    for (stable, filter, refused) in [
        (false, "_rowoffset IN (3, 4)", true),
        (true, "i < 100 AND _rowoffset IN (3, 4)", true),
        (true, "_rowaddr BETWEEN 3 AND 4", true),
        (false, "_rowid IN (3, 4)", true),
        (true, "_rowid IN (3, 4)", false),
        (true, "i IN (3, 4) AND _row_created_at_version = 1", false),
        (false, "i IN (3, 4)", false),
    ] {
        let options =
            WriteOptions { max_rows_per_fragment: 10, stable_row_ids: stable, ..Default::default() };
        let before = Table::write(Store::memory(), rows(0..20).into(), options.clone()).await.unwrap();
        let mut gone = vec![3];
        before.delete(&expr("i = 3"), &CommitOptions::default()).await.unwrap();
        let deletion_files = files(&before, "_deletions").await;
        let deleted = before.delete(&expr(filter), &CommitOptions::default()).await;
        let updated = before.update(&[("i", expr("-i"))], Some(&expr(filter)), &options).await;
        let (deleted, updated) = (deleted.map(|done| done.rows), updated.map(|done| done.rows));
        if refused {
            for error in [deleted.unwrap_err(), updated.unwrap_err()] {
                let text = error.to_string();
                assert!(text.contains("other rows may have the _row"), "{filter}: {text}");
                assert!(matches!(error, TableError::Conflict { retryable: false, .. }), "{text}");
            }
            assert_eq!(files(&before, "_deletions").await, deletion_files, "{filter}");
        } else {
            gone.push(4);
            assert_eq!((deleted.unwrap(), updated.unwrap()), (1, 0), "{filter}");
        }
        let left = (0..20).filter(|i| !gone.contains(i)).collect::<Vec<_>>();
        assert_eq!(ints(&before.latest().await.unwrap()).await, left, "{filter}");
        // What others do to other rows does not matter.
        if refused {
            let older = before.latest().await.unwrap();
            older.delete(&expr("i = 19"), &CommitOptions::default()).await.unwrap();
            let row = older.delete(&expr("_rowoffset = 0"), &CommitOptions::default()).await.unwrap();
            assert_eq!((row.rows, ints(&row.table).await.first()), (1, Some(&1)), "{filter}");
        }
    }
}
