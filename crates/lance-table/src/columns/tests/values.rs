use arrow_array::types::Int64Type;

use super::*;
use crate::Expr;

fn expressions(all: &[(&str, &str)]) -> NewColumns {
    NewColumns::expressions(all.iter().map(|(name, text)| (*name, Expr::parse(text).unwrap())))
}

#[tokio::test]
async fn expressions_make_columns() {
    let options = ColumnOptions::default();
    for version in Version::ALL {
        let table = holey(version).await;
        let new =
            expressions(&[("m", "CAST(n * 2 AS INT)"), ("even", "n % 2 = 0"), ("k", "CAST(s.a - n AS INT)")]);
        let table = table.add_columns(new, &options).await.unwrap();
        assert_eq!(numbers(&table, "m").await, [1, 3, 4, 5, 6, 8, 9].map(|n| Some(n * 2)));
        let null = (version > Version::V2_0).then_some(1);
        let k = numbers(&table, "k").await.into_iter().enumerate();
        k.for_each(|(row, k)| assert_eq!(k, (Some(row) != null).then_some(100)));
        assert_eq!(column(&table, "even").await.as_boolean().true_count(), 3);
    }
    let table = holey(Version::V2_2).await;
    let member = table.add_columns(expressions(&[("s.half", "n / 2")]), &options).await.unwrap();
    assert_eq!(member.schema().trace("s.half").unwrap().len(), 2);
    assert!(column(&member, "s.half").await.is_null(1));
    for (name, text, error) in [
        ("m", "NULL", "have no type"),
        ("m", "q + 1", "no column q"),
        ("n", "1", "there is a column \"n\" already"),
        ("m", "1 / (n - 8)", "zero"),
    ] {
        let outcome = table.add_columns(expressions(&[(name, text)]), &options).await;
        let outcome = outcome.unwrap_err().to_string();
        assert!(outcome.contains(error), "{outcome}");
    }
}

#[tokio::test]
async fn rows_find_their_partners() {
    let options = ColumnOptions::default();
    let first = record_batch!(("n", Int64, [Some(9), None, Some(1)]), ("m", Int32, [90, -1, 10])).unwrap();
    let second = record_batch!(("n", Int64, [Some(77), None, Some(4)]), ("m", Int32, [770, -2, 40])).unwrap();
    for version in Version::ALL {
        let table = holey(version).await;
        let new = NewColumns::joined(vec![first.clone(), second.clone()], "n");
        let table = table.add_columns(new, &options).await.unwrap();
        let expected = [Some(10), None, Some(40), None, None, None, Some(90)];
        assert_eq!(numbers(&table, "m").await, expected);
        assert!(table.arrow_schema().field(2).is_nullable());
    }
    // By a text, by a member of a struct, and without any row.
    let table = holey(Version::V2_2).await;
    let table = table
        .add_columns(expressions(&[("t", "concat('row ', CAST(n AS STRING))")]), &options)
        .await
        .unwrap();
    let by_text = record_batch!(("u", Int32, [5, 6]), ("t", Utf8, ["row 5", "row 66"])).unwrap();
    let table = table.add_columns(NewColumns::joined(by_text, "t"), &options).await.unwrap();
    assert_eq!(numbers(&table, "u").await, [None, None, None, Some(5), None, None, None]);
    let by_member = record_batch!(("s.a", Int32, [101, 103]), ("v", Int32, [1, 3])).unwrap();
    let table = table.add_columns(NewColumns::joined(by_member, "s.a"), &options).await.unwrap();
    assert_eq!(numbers(&table, "v").await, [Some(1), None, None, None, None, None, None]);
    // No row has a key of another range.
    let far = record_batch!(("n", Int64, [1_i64 << 40, 1 << 41, 9]), ("r", Int32, [1, 2, 3])).unwrap();
    let table = table.add_columns(NewColumns::joined(far, "n"), &options).await.unwrap();
    assert_eq!(numbers(&table, "r").await, [None, None, None, None, None, None, Some(3)]);
    let none = record_batch!(("n", Int32, [1]), ("w", Int32, [1])).unwrap().slice(0, 0);
    let table = table.add_columns(NewColumns::joined(none, "n"), &options).await.unwrap();
    assert_eq!(numbers(&table, "w").await, [None; 7]);

    let before = data_files(&table).await;
    let twice = record_batch!(("n", Int32, [1, 2, 1]), ("x", Int32, [1, 2, 3])).unwrap();
    let other = record_batch!(("x", Int32, [1])).unwrap();
    let there = record_batch!(("n", Int32, [1]), ("u", Int32, [1])).unwrap();
    let text = record_batch!(("n", Utf8, ["1"]), ("x", Int32, [1])).unwrap();
    let float = record_batch!(("n", Float64, [1.5]), ("x", Int32, [1])).unwrap();
    for (batch, key, error) in [
        (twice.clone(), "n", "the same \"n\", 1"),
        (other.clone(), "n", "the key \"n\" is not among the columns to be added, which are: x"),
        (other, "q", "no field \"q\""),
        (there, "n", "there is a column \"u\" already"),
        (text, "n", "\"n\" is of type Utf8 in the columns to be added, but of type Int32 in the table"),
        (float, "n", "of type Float64"),
        (twice, "s", "cannot be a key"),
    ] {
        let outcome =
            table.add_columns(NewColumns::joined(batch, key), &options).await.unwrap_err().to_string();
        assert!(outcome.contains(error), "{outcome}");
    }
    assert_eq!(data_files(&table).await, before);

    // Another writer comes between.
    let stale = table.clone();
    let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    stale.write_after(record_batch!(("n", Int32, [4])).unwrap().into(), more).await.unwrap();
    let again = record_batch!(("n", Int32, [4]), ("y", Int64, [44])).unwrap();
    let table = stale.add_columns(NewColumns::joined(again, "n"), &options).await.unwrap();
    let y = column(&table, "y").await;
    assert_eq!(y.as_primitive::<Int64Type>().iter().flatten().collect::<Vec<_>>(), [44, 44]);
}

/// The files of a column of videos, which nothing of this reads: they are not even there.
#[tokio::test]
async fn other_columns_cost_nothing() {
    let (options, commit) = (ColumnOptions::default(), CommitOptions::default());
    let small = table(Version::V2_2).await;
    let videos = (0..10).map(|n| Some(vec![n as u8; 100_000])).collect::<arrow_array::LargeBinaryArray>();
    let videos = RecordBatch::try_from_iter([("video", Arc::new(videos) as ArrayRef)]).unwrap();
    let table = small.add_columns(NewColumns::aligned(videos), &options).await.unwrap();
    for fragment in table.fragments() {
        table.store().delete(&format!("data/{}", fragment.files()[1].path)).await.unwrap();
    }
    let (store, counts) = table.store().counted();
    let table = Table::open(store, None).await.unwrap();
    let (requests, writes) = (counts.requests(), counts.writes());
    let added = table.add_columns(expressions(&[("m", "n * 2")]), &options).await.unwrap();
    // Of each fragment the tail of a file and one page, and its file; then the commit.
    assert!(counts.requests() - requests <= 3 * 3 + 4, "{}", counts.requests() - requests);
    assert_eq!(counts.writes() - writes, 3 + 2);
    assert!(counts.bytes() < 100_000, "{} bytes", counts.bytes());
    let cast = added.cast_column("n", &DataType::Int64, Misfits::Refuse, &options).await.unwrap();
    let named = cast.rename_column("video", "film", &commit).await.unwrap();
    let last = named.drop_columns(&["film"], &commit).await.unwrap();
    assert_eq!(last.schema().names(), ["n", "s", "m"]);
}
