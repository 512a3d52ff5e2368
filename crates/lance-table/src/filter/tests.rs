use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{ArrayRef, BinaryArray, Int32Array, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use lance_io::Store;

use super::*;
use crate::{WriteMode, WriteOptions};

/// 60 rows in three fragments: `i` counts, `st.half` is half of it and null for every fifth, `wide` has 10 kB a row.
async fn table(store: &Store) -> Table {
    let i = Int32Array::from_iter_values(0..60);
    let half = Int32Array::from_iter((0..60).map(|i| (i % 5 != 0).then_some(i / 2)));
    let name = StringArray::from_iter_values((0..60).map(|i| format!("row {i}")));
    let st = StructArray::from(vec![
        (Field::new("half", DataType::Int32, true).into(), Arc::new(half) as ArrayRef),
        (Field::new("name", DataType::Utf8, true).into(), Arc::new(name) as ArrayRef),
    ]);
    let wide = BinaryArray::from_iter_values((0..60_u64).map(|i| {
        let mut state = i + 1;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(10_000)
        .collect::<Vec<_>>()
    }));
    let columns: [(&str, ArrayRef); 3] = [("i", Arc::new(i)), ("st", Arc::new(st)), ("wide", Arc::new(wide))];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    let options = WriteOptions { max_rows_per_fragment: 20, ..Default::default() };
    Table::write(store.clone(), vec![batch].into(), options).await.unwrap()
}

fn options(filter: &str) -> ScanOptions {
    ScanOptions { filter: Some(Expr::parse(filter).unwrap()), ..Default::default() }
}

async fn scan(table: &Table, options: ScanOptions) -> Vec<RecordBatch> {
    table.scan(options).unwrap().try_collect().await.unwrap()
}

fn ints(batches: &[RecordBatch], column: &str) -> Vec<i32> {
    let columns = batches.iter().map(|batch| batch[column].as_primitive::<Int32Type>());
    columns.flat_map(|column| column.values().to_vec()).collect()
}

#[tokio::test]
async fn windows_count_rows_that_pass() {
    let table = table(&Store::memory()).await;
    let passing = (0..60).filter(|i| i % 5 != 0 && i / 2 % 3 == 1).collect::<Vec<i32>>();
    for (offset, limit) in [(0, None), (0, Some(0)), (0, Some(1)), (3, Some(4)), (5, Some(100)), (100, None)]
    {
        for batch_rows in [1, 3, 8192] {
            let columns = Some(vec!["i".to_string()]);
            let options = ScanOptions { columns, offset, limit, batch_rows, ..options("st.half % 3 = 1") };
            let batches = scan(&table, options).await;
            assert!(batches.iter().all(|batch| (1..=batch_rows as usize).contains(&batch.num_rows())));
            let len = limit.map_or(usize::MAX, |limit| limit as usize);
            let expected = passing.iter().copied().skip(offset as usize).take(len).collect::<Vec<_>>();
            assert_eq!(ints(&batches, "i"), expected, "{offset} {limit:?}");
            assert!(batches.iter().all(|batch| batch.num_columns() == 1));
        }
    }
    assert_eq!(table.count(&Expr::parse("st.half % 3 = 1").unwrap()).await.unwrap(), passing.len() as u64);
}

#[tokio::test]
async fn columns_are_those_that_were_asked_for() {
    let table = table(&Store::memory()).await;
    let columns = Some(vec!["st.name".to_string()]);
    let batches =
        scan(&table, ScanOptions { columns, with_row_id: true, ..options("st.half = 11 AND i < 23") }).await;
    let [batch] = batches.as_slice() else { panic!("{batches:?}") };
    let st = batch["st"].as_struct();
    assert_eq!((st.num_columns(), batch.num_columns()), (1, 2));
    assert_eq!(st.column(0).as_string::<i32>().value(0), "row 22");
    assert_eq!(batch["_rowid"].as_primitive::<UInt64Type>().value(0), (1 << 32) | 2);
    let no_columns = ScanOptions { columns: Some(vec![]), ..options("i >= 50") };
    assert_eq!(scan(&table, no_columns).await.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
    let all = scan(&table, options("i = 7")).await;
    assert_eq!((all[0].schema(), all[0].num_rows()), (table.arrow_schema(), 1));
    let by_place = scan(&table, options("_rowaddr = 3 OR _rowoffset = 10")).await;
    assert_eq!(by_place.iter().map(RecordBatch::num_rows).sum::<usize>(), 2);
    let old = scan(&table, options("_row_created_at_version > 1")).await;
    assert!(old.is_empty());
    let by_id = scan(&table, options("_rowid IN (3, 4294967297)")).await;
    assert_eq!(ints(&by_id, "i"), [3, 21]);
}

#[tokio::test]
async fn what_is_constant_reads_nothing_for_it() {
    let table = table(&Store::memory()).await;
    for (filter, rows) in [("true", 60), ("1 < 2", 60), ("false", 0), ("NULL", 0), ("NOT true", 0)] {
        assert_eq!(ints(&scan(&table, options(filter)).await, "i").len(), rows, "{filter}");
        assert_eq!(table.count(&Expr::parse(filter).unwrap()).await.unwrap(), rows as u64);
    }
    assert!(scan(&table, options("i > 100")).await.is_empty());
}

#[tokio::test]
async fn only_rows_that_pass_are_read() {
    let store = Store::memory();
    table(&store).await;
    let (counted, counts) = store.counted();
    let table = Table::open(counted, None).await.unwrap();
    let filter = Expr::parse("i > 30").unwrap();
    // Opens the files.
    assert_eq!(table.count(&filter).await.unwrap(), 29);
    counts.reset();
    assert_eq!(table.count(&filter).await.unwrap(), 29);
    assert!(counts.bytes() < 1_000, "{}", counts.bytes());
    let batches = scan(&table, options("i IN (5, 47)")).await;
    assert_eq!(ints(&batches, "i"), [5, 47]);
    assert!((20_000..60_000).contains(&counts.bytes()), "{}", counts.bytes());
}

#[tokio::test]
async fn problems_are_told_before_anything_is_read() {
    let table = table(&Store::memory()).await;
    for (filter, expected) in [
        ("j = 1", "no column j"),
        ("i + 1", "a condition is wanted"),
        ("i = 'a'", "the text 'a' cannot be compared"),
    ] {
        let Err(error) = table.scan(options(filter)) else { panic!("{filter}") };
        assert!(error.to_string().contains(expected), "{error}");
        assert!(table.count(&Expr::parse(filter).unwrap()).await.is_err());
    }
    // What fails for a row ends the stream there.
    let failing = table.scan(options("1 / (i - 30) = 1")).unwrap().try_collect::<Vec<_>>().await;
    assert!(failing.unwrap_err().to_string().contains("division by zero"));
}

#[tokio::test]
async fn columns_that_a_fragment_lacks_are_null() {
    let store = Store::memory();
    table(&store).await;
    let more = arrow_array::record_batch!(("i", Int32, [60])).unwrap();
    let append = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    let table = Table::write(store, vec![more].into(), append).await.unwrap();
    let batches =
        scan(&table, ScanOptions { columns: Some(vec!["i".into()]), ..options("st IS NULL") }).await;
    assert_eq!(ints(&batches, "i"), [60]);
}
