//! Other writers commit while values are worked out.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lance_io::{FailPoints, Moment, Write};

use super::super::nulls;
use super::*;
use crate::{CommitOptions, Expr};

/// What another writer does.
#[derive(Debug, Clone, Copy)]
enum Other {
    /// Rows with the next two numbers, as a fragment of their own.
    Append,
    /// A row of the second fragment.
    Delete,
    /// All that is left of the third one.
    DeleteFragment,
    /// A row of the second fragment gets a new place, and the values that it had.
    Update,
    AddColumn,
    Config,
}

impl Other {
    /// Done on a thread of its own, since whoever is stopped by it is in the middle of something.
    fn run(self, store: &Store) {
        let store = store.clone();
        let run = async move {
            let (table, options) = (Table::open(store, None).await.unwrap(), CommitOptions::default());
            let delete = |filter: &str| {
                let (table, filter) = (table.clone(), Expr::parse(filter).unwrap());
                async move { table.delete(&filter, &CommitOptions::default()).await.unwrap() }
            };
            match self {
                Self::Append => {
                    let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
                    let first = 100 * i32::try_from(table.version()).unwrap();
                    let rows = record_batch!(("n", Int32, [first, first + 1])).unwrap();
                    table.write_after(rows.into(), more).await.unwrap();
                }
                Self::Delete => drop(delete("n = 5").await),
                Self::DeleteFragment => drop(delete("n IN (8, 9)").await),
                Self::Update => {
                    let set = [("n", Expr::parse("n + 0").unwrap())];
                    let filter = Expr::parse("n = 6").unwrap();
                    table.update(&set, Some(&filter), &WriteOptions::default()).await.unwrap();
                }
                Self::AddColumn => {
                    let name = format!("null{}", table.version());
                    let null = NewColumns::null(Schema::new(vec![Field::new(name, DataType::Int8, true)]));
                    table.add_columns(null, &ColumnOptions::default()).await.unwrap();
                }
                Self::Config => {
                    let config = Pairs { set: [("a".into(), "b".into())].into(), ..Default::default() };
                    let change = ConfigChange { config, ..Default::default() };
                    table.update_config(&change, &options).await.unwrap();
                }
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        std::thread::spawn(move || runtime.block_on(run)).join().unwrap();
    }
}

/// The table of [`holey`], and how many data files were begun in it. Whenever one is, before it is written, the next of
/// `others` gets through.
async fn disturbed(others: &[Other]) -> (Table, Arc<AtomicUsize>) {
    let table = holey(Version::V2_2).await;
    let store = table.store().clone();
    let (others, begun) = (Mutex::new(VecDeque::from(others.to_vec())), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&begun);
    let failpoints = FailPoints::new(move |moment: &Moment<'_>| {
        if moment.write == Write::Create && !moment.done && moment.path.starts_with("data/") {
            count.fetch_add(1, Ordering::Relaxed);
            let other = others.lock().unwrap().pop_front();
            if let Some(other) = other {
                other.run(&store);
            }
        }
        Ok(())
    });
    let store = table.store().with_failpoints(failpoints);
    (Table::open(store, None).await.unwrap(), begun)
}

/// That there is no data file which is in no version.
async fn no_file_is_left(table: &Table) {
    let mut used = BTreeSet::new();
    for version in 1..=table.version() {
        let version = Table::open(table.store().clone(), Some(version)).await.unwrap();
        let files = version.fragments().iter().flat_map(|fragment| fragment.files());
        used.extend(files.map(|file| file.path.clone()));
    }
    assert_eq!(data_files(table).await, used);
}

const SEVEN: [i32; 7] = [1, 3, 4, 5, 6, 8, 9];

/// What others do meanwhile, how many files are written, and the `n` of the rows afterwards.
fn cases() -> Vec<(Vec<Other>, usize, Vec<i32>)> {
    use Other::{AddColumn, Append, Config, Delete, DeleteFragment, Update};
    let seven = SEVEN.as_slice();
    // One is appended for each fragment that is written: the table never rests.
    let appended = (3..11).flat_map(|version| [100 * (version - 1), 100 * (version - 1) + 1]);
    let all = [SEVEN.to_vec(), appended.collect()].concat();
    vec![
        (vec![Append; 8], 3 + 8, all),
        (vec![Append], 3 + 1, [seven, &[200, 201]].concat()),
        (vec![Config, AddColumn, AddColumn], 3, SEVEN.to_vec()),
        (vec![Delete], 3, vec![1, 3, 4, 6, 8, 9]),
        (vec![Append, AddColumn, DeleteFragment], 3 + 1, vec![1, 3, 4, 5, 6, 200, 201]),
        (vec![Update, Delete, Append], 3 + 2, vec![1, 3, 4, 8, 9, 6, 400, 401]),
    ]
}

#[tokio::test]
async fn each_fragment_is_worked_out_once() {
    let options = ColumnOptions { rows_done: Some(Arc::default()), ..Default::default() };
    for (others, files, n) in cases() {
        for how in ["function", "member", "expression", "key"] {
            let (table, begun) = disturbed(&others).await;
            let calls = Arc::new(AtomicUsize::new(0));
            let name = if how == "member" { "s.m" } else { "m" };
            let new = match how {
                "expression" => NewColumns::expressions([("m", Expr::parse("CAST(n * 2 AS INT)").unwrap())]),
                "key" => {
                    let doubled = n.iter().map(|n| n * 2).collect::<Vec<_>>();
                    let columns: [ArrayRef; 2] =
                        [Arc::new(Int32Array::from(n.clone())), Arc::new(Int32Array::from(doubled))];
                    let batch = RecordBatch::try_from_iter(["n", "m"].into_iter().zip(columns)).unwrap();
                    NewColumns::joined(batch, "n")
                }
                _ => {
                    let calls = Arc::clone(&calls);
                    let schema = Schema::new(vec![Field::new(name, DataType::Int32, true)]);
                    NewColumns::function(["n"], schema, move |batch| {
                        calls.fetch_add(1, Ordering::Relaxed);
                        let twice =
                            batch.column(0).as_primitive::<Int32Type>().unary::<_, Int32Type>(|n| n * 2);
                        RecordBatch::try_from_iter([(name, Arc::new(twice) as ArrayRef)])
                    })
                }
            };
            let done = table.add_columns(new, &options).await.unwrap();
            let what = format!("{how}, {others:?}");
            assert_eq!(begun.load(Ordering::Relaxed), files, "{what}");
            if how != "expression" && how != "key" {
                assert_eq!(calls.load(Ordering::Relaxed), files, "{what}");
            }
            assert_eq!(numbers(&done, "n").await, n.iter().map(|n| Some(*n)).collect::<Vec<_>>(), "{what}");
            if how != "member" {
                let twice = n.iter().map(|n| Some(n * 2)).collect::<Vec<_>>();
                assert_eq!(numbers(&done, "m").await, twice, "{what}");
            } else {
                let m = column(&done, "s").await.as_struct().column(1).clone();
                let m = m.as_primitive::<Int32Type>();
                assert!(n.iter().zip(m).all(|(n, m)| m.is_none_or(|m| m == n * 2)), "{what}");
                assert_eq!(m.value(0), 2, "{what}");
            }
            let rows = options.rows_done.as_ref().unwrap().load(Ordering::Relaxed);
            assert_eq!(rows, n.len() as u64, "{what}");
            no_file_is_left(&done).await;
        }
    }
}

#[tokio::test]
async fn each_fragment_is_cast_once() {
    let options = ColumnOptions::default();
    for (others, files, n) in cases() {
        let (table, begun) = disturbed(&others).await;
        let done = table.cast_column("n", &DataType::Utf8, Misfits::Refuse, &options).await.unwrap();
        assert_eq!(begun.load(Ordering::Relaxed), files, "{others:?}");
        let texts = column(&done, "n").await;
        let texts = texts.as_string::<i32>().iter().flatten().collect::<Vec<_>>();
        assert_eq!(texts, n.iter().map(ToString::to_string).collect::<Vec<_>>(), "{others:?}");
        no_file_is_left(&done).await;
    }
    // Rows are counted from the first of the table, whichever are looked at.
    let (table, _) = disturbed(&[Other::Append]).await;
    let error = table.cast_column("n", &DataType::Int8, Misfits::Refuse, &options).await.unwrap_err();
    assert_eq!(error.to_string(), "column \"n\", row 7: 200 does not fit Int8");
    no_file_is_left(&table.latest().await.unwrap()).await;
}

/// What can be read only once is good for as long as no rows come or move.
#[tokio::test]
async fn a_stream_is_read_once() {
    use Other::{AddColumn, Append, Config, Delete, DeleteFragment, Update};
    for (others, left) in [
        (vec![], Some(&[0, 1, 2, 3, 4, 5, 6][..])),
        (vec![AddColumn, Config, Delete], Some(&[0, 1, 2, 4, 5, 6])),
        (vec![DeleteFragment, AddColumn], Some(&[0, 1, 2, 3, 4])),
        (vec![Delete, Append], None),
        (vec![Update], None),
    ] {
        let (table, begun) = disturbed(&others).await;
        let rows =
            RecordBatch::try_from_iter([("m", Arc::new(Int32Array::from_iter_values(0..7)) as ArrayRef)]);
        let added = table.add_columns(NewColumns::aligned(rows.unwrap()), &ColumnOptions::default()).await;
        assert_eq!(begun.load(Ordering::Relaxed), 3, "{others:?}");
        match (added, left) {
            (Ok(done), Some(left)) => {
                let left = left.iter().map(|m| Some(*m)).collect::<Vec<_>>();
                assert_eq!(numbers(&done, "m").await, left, "{others:?}");
            }
            (Err(TableError::Conflict { ours, .. }), None) => assert_eq!(ours, "add columns"),
            (other, _) => panic!("{others:?}: {other:?}"),
        }
        no_file_is_left(&table.latest().await.unwrap()).await;
    }
}

/// Nothing is left of several attempts when there are no more.
#[tokio::test]
async fn what_is_given_up_leaves_nothing() {
    let commit = CommitOptions { retries: 2, ..Default::default() };
    let options = ColumnOptions { commit, ..Default::default() };
    let (table, begun) = disturbed(&[Other::Append; 20]).await;
    let error = table.add_columns(doubled("m"), &options).await.unwrap_err();
    assert!(matches!(error, TableError::Conflict { theirs: "append", .. }), "{error}");
    assert_eq!(begun.load(Ordering::Relaxed), 3 * 3);
    no_file_is_left(&table.latest().await.unwrap()).await;
}

#[tokio::test]
async fn nulls_are_looked_for_once() {
    let table = holey(Version::V2_2).await;
    let mut checked = nulls::Checked::new();
    nulls::refuse(&table, "n", 1, &mut checked).await.unwrap();
    // What was read cannot be read again.
    for file in data_files(&table).await {
        table.store().delete(&format!("data/{file}")).await.unwrap();
    }
    Other::Append.run(table.store());
    let table = table.latest().await.unwrap();
    nulls::refuse(&table, "n", 1, &mut checked).await.unwrap();
    assert!(nulls::refuse(&table, "n", 1, &mut nulls::Checked::new()).await.is_err());
    let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    let rows = record_batch!(("n", Int32, [Some(1), None])).unwrap();
    let table = table.write_after(rows.into(), more).await.unwrap();
    let error = nulls::refuse(&table, "n", 1, &mut checked).await.unwrap_err();
    assert!(error.to_string().contains("null in row 10"), "{error}");
}
