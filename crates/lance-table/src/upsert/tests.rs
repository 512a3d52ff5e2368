use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{Array, Int32Array, RecordBatch, StringArray, record_batch};
use arrow_schema::{DataType, Field, Schema};
use lance_io::Store;

use super::*;
use crate::{CommitOptions, WriteMode};

fn expr(text: &str) -> Expr {
    Expr::parse(text).unwrap()
}

/// A row: key, which may be null, value, text.
type Row = (Option<i32>, i32, Option<String>);

fn batch(rows: &[Row]) -> RecordBatch {
    let fields = vec![
        Field::new("k", DataType::Int32, true),
        Field::new("v", DataType::Int32, false),
        Field::new("t", DataType::Utf8, true),
    ];
    let keys = rows.iter().map(|row| row.0).collect::<Int32Array>();
    let values = rows.iter().map(|row| Some(row.1)).collect::<Int32Array>();
    let texts = rows.iter().map(|row| row.2.as_deref()).collect::<StringArray>();
    let columns: Vec<arrow_array::ArrayRef> = vec![Arc::new(keys), Arc::new(values), Arc::new(texts)];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn rows(keys: std::ops::Range<i32>, value: i32) -> Vec<Row> {
    keys.map(|key| ((key % 7 != 3).then_some(key), value + key, Some(format!("{value} {key}")))).collect()
}

async fn contents(table: &Table) -> Vec<Row> {
    let order = (0..table.rows()).collect::<Vec<_>>();
    let batch = table.take(&order, None, false).await.unwrap();
    let (keys, values) =
        (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_primitive::<Int32Type>());
    let texts = batch.column(2).as_string::<i32>();
    let row = |at: usize| {
        let text = texts.is_valid(at).then(|| texts.value(at).to_string());
        (keys.is_valid(at).then(|| keys.value(at)), values.value(at), text)
    };
    (0..batch.num_rows()).map(row).collect()
}

async fn numbers(table: &Table, path: &str) -> Vec<u64> {
    let order = (0..table.rows()).collect::<Vec<_>>();
    let batch = table.take(&order, Some(&[path.to_string()]), false).await.unwrap();
    batch.column(0).as_primitive::<UInt64Type>().values().to_vec()
}

async fn table(rows: &[Row], stable_row_ids: bool) -> Table {
    let options = WriteOptions { max_rows_per_fragment: 10, stable_row_ids, ..Default::default() };
    Table::write(Store::memory(), batch(rows).into(), options).await.unwrap()
}

/// What should be there afterwards: rows that stay, that are updated, and that are inserted, with the places of the
/// former two among those before.
fn expected(before: &[Row], source: &[Row], upsert: &Upsert) -> (Vec<Row>, Vec<usize>, [u64; 3]) {
    let partner = |row: &Row| source.iter().find(|other| row.0.is_some() && other.0 == row.0);
    let (mut stay, mut updated, mut gone) = (vec![], vec![], 0);
    for (at, row) in before.iter().enumerate() {
        let updates = |partner: &Row| match &upsert.matched {
            WhenMatched::Keep => false,
            WhenMatched::Update => true,
            WhenMatched::UpdateIf(_) => partner.1 > row.1 + 500,
        };
        match (partner(row), &upsert.missing) {
            (Some(partner), _) if updates(partner) => updated.push((at, partner.clone())),
            (None, WhenMissing::Delete) => gone += 1,
            (None, WhenMissing::DeleteIf(_)) if row.1 % 2 == 0 => gone += 1,
            _ => stay.push((at, row.clone())),
        }
    }
    let new = |row: &&Row| upsert.insert && !before.iter().any(|old| row.0.is_some() && old.0 == row.0);
    let inserted = source.iter().filter(new).cloned().collect::<Vec<_>>();
    let counts = [updated.len() as u64, inserted.len() as u64, gone];
    let places = stay.iter().chain(&updated).map(|(at, _)| *at).collect();
    let rows = stay.into_iter().chain(updated).map(|(_, row)| row).chain(inserted).collect();
    (rows, places, counts)
}

#[tokio::test]
async fn every_combination_does_what_it_says() {
    let (before, mut source) = (rows(0..35, 0), rows(20..50, 1000));
    source.push((Some(5), 17, None));
    source.push((Some(-1), 0, None));
    let matched = || {
        let condition = expr("source.v > target.v + 500");
        [WhenMatched::Update, WhenMatched::UpdateIf(condition), WhenMatched::Keep]
    };
    let missing = || {
        [
            WhenMissing::Keep,
            WhenMissing::Delete,
            WhenMissing::DeleteIf(expr("v % 2 = 0 AND (k IS NULL OR k > -5)")),
        ]
    };
    let combinations = matched().into_iter().flat_map(|matched| {
        missing().into_iter().flat_map(move |missing| {
            let matched = matched.clone();
            [true, false].map(move |insert| Upsert {
                on: vec!["k".into()],
                matched: matched.clone(),
                insert,
                missing: missing.clone(),
            })
        })
    });
    for (number, upsert) in combinations.enumerate() {
        let table = table(&before, true).await;
        let batches = vec![batch(&source[..9]), batch(&[]), batch(&source[9..])];
        let outcome = table.upsert(batches.into(), &upsert, &WriteOptions::default()).await;
        if matches!((&upsert.matched, &upsert.missing), (WhenMatched::Keep, WhenMissing::Keep))
            && !upsert.insert
        {
            assert!(outcome.unwrap_err().to_string().contains("nothing"));
            continue;
        }
        let done = outcome.unwrap();
        let (rows, places, counts) = expected(&before, &source, &upsert);
        assert_eq!([done.updated, done.inserted, done.deleted], counts, "{number} {upsert:?}");
        assert_eq!(contents(&done.table).await, rows, "{number} {upsert:?}");
        let ids = places.iter().map(|at| *at as u64).chain(35..35 + done.inserted).collect::<Vec<_>>();
        assert_eq!(numbers(&done.table, "_rowid").await, ids, "{upsert:?}");
        let made = [vec![1; places.len()], vec![2; done.inserted as usize]].concat();
        assert_eq!(numbers(&done.table, "_row_created_at_version").await, made);
    }
}

#[tokio::test]
async fn missing_columns_stay_or_are_null() {
    let before = table(&rows(0..10, 0), false).await;
    // `v` must not be null, so nothing can be inserted without it.
    let source = record_batch!(("t", Utf8, [Some("new"), None]), ("k", Int32, [4, 40])).unwrap();
    let on = Upsert::on(["k"]);
    let error =
        before.upsert(source.clone().into(), &on, &WriteOptions::default()).await.unwrap_err().to_string();
    assert!(error.contains("\"v\" is missing in the source"), "{error}");
    assert_eq!(before.store().list("data").await.unwrap().len(), 1);
    let only = Upsert { insert: false, ..on.clone() };
    let done = before.upsert(source.into(), &only, &WriteOptions::default()).await.unwrap();
    assert_eq!((done.updated, done.inserted), (1, 0));
    assert_eq!(contents(&done.table).await.last(), Some(&(Some(4), 4, Some("new".into()))));
    let source = record_batch!(("k", Int32, [5, 50]), ("v", Int32, [1, 2])).unwrap();
    let done = done.table.upsert(source.into(), &on, &WriteOptions::default()).await.unwrap();
    let last = contents(&done.table).await;
    assert_eq!(last[last.len() - 2..], [(Some(5), 1, Some("0 5".into())), (Some(50), 2, None)]);
}

#[tokio::test]
async fn keys_of_several_columns_and_several_rows() {
    let before = record_batch!(
        ("a", Utf8, [Some("x"), Some("x"), Some("y"), None, Some("x")]),
        ("b", Int64, [1, 2, 1, 1, 1]),
        ("n", Int32, [1, 2, 3, 4, 5])
    );
    let table = Table::write(Store::memory(), before.unwrap().into(), WriteOptions::default()).await.unwrap();
    let source = record_batch!(
        ("b", Int64, [1, 1, 1]),
        ("a", Utf8, [Some("x"), None, Some("z")]),
        ("n", Int32, [10, 20, 30])
    );
    let done = table
        .upsert(source.unwrap().into(), &Upsert::on(["a", "b"]), &WriteOptions::default())
        .await
        .unwrap();
    assert_eq!((done.updated, done.inserted, done.deleted), (2, 2, 0));
    let rows = done.table.take(&[0, 1, 2, 3, 4, 5, 6], Some(&["n".into()]), false).await.unwrap();
    assert_eq!(rows, record_batch!(("n", Int32, [2, 3, 4, 10, 10, 20, 30])).unwrap());
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let table = table(&rows(0..3, 0), false).await;
    let good = || batch(&rows(1..3, 0));
    let twice = batch(&[(Some(1), 1, None), (None, 1, None), (None, 1, None), (Some(1), 2, None)]);
    let null = record_batch!(("k", Int32, [1]), ("v", Int32, [None])).unwrap();
    let wrong = record_batch!(("k", Int32, [1]), ("v", Utf8, ["a"])).unwrap();
    let other = record_batch!(("k", Int32, [1]), ("w", Int32, [1])).unwrap();
    let without = record_batch!(("v", Int32, [1])).unwrap();
    let only_if = Upsert { matched: WhenMatched::UpdateIf(expr("v > 1")), ..Upsert::on(["k"]) };
    for (source, upsert, part) in [
        (twice, Upsert::on(["k"]), "same key: k = 1"),
        (null, Upsert::on(["k"]), "\"v\" must not be null"),
        (wrong, Upsert::on(["k"]), "\"v\" has the type string"),
        (other, Upsert::on(["k"]), "\"w\" is not in the table, which has: k, v, t"),
        (without, Upsert::on(["k"]), "\"k\" is not among the columns of the source"),
        (good(), Upsert::on(["x"]), "\"x\""),
        (good(), Upsert::on(Vec::<String>::new()), "no column is named that is the key"),
        (good(), only_if, "no column v"),
    ] {
        let error =
            table.upsert(source.into(), &upsert, &WriteOptions::default()).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(table.latest().await.unwrap().version(), 1);
    assert_eq!(table.store().list("data").await.unwrap().len(), 1);
    assert_eq!(table.store().list("_deletions").await.unwrap().len(), 0);
}

/// Many handles on the first version upsert rows with the same new keys, while others delete and append.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_key_is_inserted_twice() {
    let table = Arc::new(table(&rows(0..20, 0), true).await);
    let tasks = (0..6).map(|part| {
        let table = Arc::clone(&table);
        tokio::spawn(async move {
            let append = WriteOptions { mode: WriteMode::Append, ..Default::default() };
            match part {
                0 => drop(table.delete(&expr("k = 1"), &CommitOptions::default()).await.unwrap()),
                1 => drop(table.write_after(batch(&[(Some(900), 0, None)]).into(), append).await.unwrap()),
                _ => {
                    let source = rows(15..25, 100 * part).into_iter().filter(|row| row.0.is_some());
                    let source = batch(&source.collect::<Vec<_>>());
                    table.upsert(source.into(), &Upsert::on(["k"]), &WriteOptions::default()).await.unwrap();
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let latest = table.latest().await.unwrap();
    let mut keys = contents(&latest).await.into_iter().map(|row| row.0).collect::<Vec<_>>();
    keys.sort_unstable();
    let all = (0..25).filter(|key| *key != 1 && !(*key >= 20 && key % 7 == 3));
    let mut expected = all.map(|key| (key % 7 != 3).then_some(key)).chain([Some(900)]).collect::<Vec<_>>();
    expected.sort_unstable();
    assert_eq!((keys, latest.version()), (expected, 7));
    let mut ids = numbers(&latest, "_rowid").await;
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len() as u64, latest.rows());
}
