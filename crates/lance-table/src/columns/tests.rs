use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray, StructArray, record_batch};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use futures::TryStreamExt;
use lance_footer::Version;
use lance_io::Store;

use super::*;
use crate::commit::commit;
use crate::delete::Offsets;
use crate::operation::{Delete, Operation};
use crate::{ScanOptions, Table, TableError, WriteMode};

mod attempts;
mod cast;
mod members;
mod values;

/// Ten rows in fragments of four: `n` counts from 0, `s` has `a` = n + 100 and is null where n is 3.
async fn table(version: Version) -> Table {
    let n = Arc::new(Int32Array::from_iter_values(0..10));
    let a: ArrayRef = Arc::new(Int32Array::from_iter_values(100..110));
    let nulls = NullBuffer::from_iter((0..10).map(|n| n != 3 || version == Version::V2_0));
    let s = StructArray::new(vec![Field::new("a", DataType::Int32, true)].into(), vec![a], Some(nulls));
    let columns = [("n", n as ArrayRef, true), ("s", Arc::new(s), true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let options = WriteOptions { max_rows_per_fragment: 4, version: Some(version), ..Default::default() };
    Table::write(Store::memory(), batch.into(), options).await.unwrap()
}

/// The same, less the rows where n is 0, 2 and 7.
async fn holey(version: Version) -> Table {
    let table = table(version).await;
    let rows = Offsets::from([(0, [0, 2].into()), (1, [3].into())]);
    let rows = table.mark_deleted(rows, &mut vec![]).await.unwrap();
    let operation = Operation::Delete(Delete { rows, predicate: "false".into() });
    commit(table.store(), table.version(), operation, &CommitOptions::default(), vec![]).await.unwrap();
    table.latest().await.unwrap()
}

async fn column(table: &Table, path: &str) -> ArrayRef {
    let options = ScanOptions { columns: Some(vec![path.into()]), ..Default::default() };
    let batches: Vec<_> = table.scan(options).unwrap().try_collect().await.unwrap();
    let schema = batches[0].schema();
    arrow_select::concat::concat_batches(&schema, &batches).unwrap().column(0).clone()
}

async fn numbers(table: &Table, path: &str) -> Vec<Option<i32>> {
    let column = column(table, path).await;
    let column = column.as_struct_opt().map_or(&column, |column| column.column(0));
    column.as_primitive::<Int32Type>().iter().collect()
}

fn doubled(name: &'static str) -> NewColumns {
    let schema = Schema::new(vec![Field::new(name, DataType::Int32, false)]);
    NewColumns::function(["n"], schema, move |batch| {
        let n = batch.column(0).as_primitive::<Int32Type>();
        let twice = Int32Array::from_iter_values(n.values().iter().map(|n| n * 2));
        RecordBatch::try_from_iter([(name, Arc::new(twice) as ArrayRef)])
    })
}

fn file_fields(table: &Table) -> Vec<Vec<Vec<i32>>> {
    let fragments = table.manifest().message.fragments.iter();
    fragments.map(|one| one.files.iter().map(|file| file.fields.clone()).collect()).collect()
}

async fn data_files(table: &Table) -> BTreeSet<String> {
    table.store().list("data").await.unwrap().into_iter().map(|entry| entry.name).collect()
}

#[tokio::test]
async fn a_function_makes_columns() {
    for version in Version::ALL {
        let before = holey(version).await;
        let table = before.add_columns(doubled("m"), &ColumnOptions::default()).await.unwrap();
        assert_eq!(numbers(&table, "m").await, [1, 3, 4, 5, 6, 8, 9].map(|n| Some(n * 2)));
        assert_eq!(table.schema().names(), ["n", "s", "m"]);
        let new = table.schema().max_id().unwrap();
        for (fragment, earlier) in table.fragments().iter().zip(before.fragments()) {
            assert_eq!(fragment.files()[..1], earlier.files()[..]);
            assert_eq!(
                (fragment.files()[1].columns.as_slice(), fragment.files().len()),
                (&[(new, 0)][..], 2)
            );
        }
        assert_eq!(table.data_file(1, 1).await.unwrap().rows(), 4);
    }
}

#[tokio::test]
async fn members_are_added_to_structs() {
    let added = holey(Version::V2_0).await.add_columns(doubled("s.m"), &ColumnOptions::default()).await;
    assert!(added.unwrap_err().to_string().contains("in a table of file version 2.0"));
    for version in [Version::V2_1, Version::V2_2] {
        let table = holey(version).await;
        for name in ["s.m", "s.k"] {
            let options = ColumnOptions::default();
            let added = table.add_columns(doubled(name), &options).await.unwrap();
            let s = column(&added, "s").await;
            let s = s.as_struct();
            assert!(s.is_null(1));
            let expected = [1, 3, 4, 5, 6, 8, 9].map(|n| (n != 3).then_some(n * 2));
            let m = s.column(1).as_primitive::<Int32Type>();
            let m = (0..7).map(|row| (s.is_valid(row) && m.is_valid(row)).then(|| m.value(row)));
            assert_eq!(m.collect::<Vec<_>>(), expected, "{version}");
            let a = s.column(0).as_primitive::<Int32Type>();
            assert_eq!((a.value(0), a.value(6)), (101, 109));
        }
    }
}

#[tokio::test]
async fn rows_of_a_stream_are_those_of_the_table() {
    let table = holey(Version::V2_2).await;
    let options = ColumnOptions::default();
    let stream = |rows: usize, cut: usize| {
        let text = StringArray::from_iter_values((0..rows).map(|row| row.to_string()));
        let batch = RecordBatch::try_from_iter([("t", Arc::new(text) as ArrayRef)]).unwrap();
        let batches = (0..rows).step_by(cut).map(|at| batch.slice(at, cut.min(rows - at)));
        NewColumns::aligned(std::iter::once(batch.slice(0, 0)).chain(batches).collect::<Vec<_>>())
    };
    let before = data_files(&table).await;
    for (rows, text) in
        [(6, "6 rows, fewer than"), (8, "more rows than the table, which has 7"), (0, "0 rows")]
    {
        let error = table.add_columns(stream(rows, 3), &options).await.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(data_files(&table).await, before);
        assert_eq!(table.latest().await.unwrap().version(), table.version());
    }
    for cut in [1, 2, 5, 100] {
        let table = holey(Version::V2_2).await;
        let table = table.add_columns(stream(7, cut), &options).await.unwrap();
        let t = column(&table, "t").await;
        let t = t.as_string::<i32>().iter().map(|text| text.unwrap().to_string()).collect::<Vec<_>>();
        assert_eq!(t, (0..7).map(|row| row.to_string()).collect::<Vec<_>>(), "{cut}");
    }
}

#[tokio::test]
async fn nothing_is_written_for_nulls() {
    let table = holey(Version::V2_2).await;
    let before = data_files(&table).await;
    let inner = DataType::Struct(vec![Field::new("x", DataType::Utf8, false)].into());
    let new = Schema::new(vec![Field::new("o", inner, true), Field::new("s.b", DataType::Int8, true)]);
    let added = table.add_columns(NewColumns::null(new), &ColumnOptions::default()).await.unwrap();
    assert_eq!(data_files(&table).await, before);
    assert_eq!(file_fields(&added), file_fields(&table));
    assert_eq!(column(&added, "o").await.null_count(), 7);
    let s = column(&added, "s").await;
    assert_eq!((s.null_count(), s.as_struct().column(1).null_count()), (1, 7));
    // Rows that come later have values.
    let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    let rows = record_batch!(("n", Int32, [10])).unwrap();
    let added = added.write_after(rows.into(), more).await.unwrap();
    assert_eq!(added.rows(), 8);
}

#[tokio::test]
async fn what_cannot_be_added_is_refused() {
    let table = holey(Version::V2_2).await;
    let before = data_files(&table).await;
    let blob = [("lance-encoding:blob".to_string(), "true".to_string())].into();
    let item = Field::new("item", DataType::Struct(vec![Field::new("x", DataType::Int8, true)].into()), true);
    let list = Schema::new(vec![Field::new("l", DataType::List(Arc::new(item)), true)]);
    let table = table.add_columns(NewColumns::null(list), &ColumnOptions::default()).await.unwrap();
    for (field, text) in [
        (Field::new("n", DataType::Int32, true), "there is a column \"n\" already"),
        (Field::new("s.a", DataType::Int32, true), "there is a column \"s.a\" already"),
        (Field::new("s", DataType::Int32, true), "there is a column \"s\" already"),
        (Field::new("q.a", DataType::Int32, true), "no field \"q\"; there are: n, s, l"),
        (Field::new("n.a", DataType::Int32, true), "unsupported: adding a field to n: \"n\" is a int32"),
        (Field::new("l.y", DataType::Int32, true), "unsupported: adding a field to l: \"l\" is a list"),
        (Field::new("m", DataType::Int32, false), "\"m\" is not nullable"),
        (
            Field::new("b", DataType::LargeBinary, true).with_metadata(blob),
            "unsupported: adding blobs (column b)",
        ),
    ] {
        let new = NewColumns::null(Schema::new(vec![field]));
        let error = table.add_columns(new, &ColumnOptions::default()).await.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
    let twice =
        Schema::new(vec![Field::new("m", DataType::Int8, true), Field::new("m", DataType::Int8, true)]);
    for schema in [twice, Schema::empty()] {
        assert!(table.add_columns(NewColumns::null(schema), &ColumnOptions::default()).await.is_err());
    }
    // Functions that do not do what they should.
    let number = Arc::new(Schema::new(vec![Field::new("m", DataType::Int32, false)]));
    let short = NewColumns::function(["n"], number.clone(), |_| record_batch!(("m", Int32, [1])));
    let other = NewColumns::function(["n"], number.clone(), Ok);
    let null = NewColumns::function(["n"], number.clone(), |batch| {
        let nulls: ArrayRef = Arc::new(Int32Array::new_null(batch.num_rows()));
        RecordBatch::try_from_iter([("m", nulls)])
    });
    let text = NewColumns::function(["n"], number.clone(), |batch| {
        let texts = StringArray::from_iter_values((0..batch.num_rows()).map(|_| ""));
        RecordBatch::try_from_iter([("m", Arc::new(texts) as ArrayRef)])
    });
    let fails =
        NewColumns::function(["n"], number.clone(), |_| Err(ArrowError::ComputeError("no luck".into())));
    let panics = NewColumns::function(["n"], number, |_| panic!("the function panics"));
    for (new, text) in [
        (short, "gave 1 rows for 2"),
        (other, "has n, but they are m"),
        (null, "field m has nulls, but is not nullable"),
        (text, "field m has the type Utf8 where the schema has Int32"),
        (fails, "no luck"),
        (panics, "a computation was cut off"),
    ] {
        let error = table.add_columns(new, &ColumnOptions::default()).await.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
    assert_eq!(data_files(&table).await, before);
    assert_eq!(table.latest().await.unwrap().version(), table.version());
}

#[tokio::test]
async fn columns_are_dropped_and_renamed() {
    let (options, commit) = (ColumnOptions::default(), CommitOptions::default());
    for version in Version::ALL {
        let table = holey(version).await;
        let table = table.add_columns(doubled("m"), &options).await.unwrap();
        let table = table.add_columns(doubled("k"), &options).await.unwrap();
        let ids = |table: &Table| table.schema().pre_order().iter().map(|field| field.id).collect::<Vec<_>>();
        assert_eq!(ids(&table), [0, 1, 2, 3, 4]);
        let dropped = table.drop_columns(&["m", "k"], &commit).await.unwrap();
        assert_eq!((ids(&dropped), dropped.fragments()[0].files().len()), (vec![0, 1, 2], 1));
        let again = dropped.add_columns(doubled("k"), &options).await.unwrap();
        assert_eq!(ids(&again), [0, 1, 2, 3]);
        assert_eq!(numbers(&again, "k").await[6], Some(18));
        assert_eq!(numbers(&again, "s.a").await[6], Some(109));

        // What is in the first file is only hidden, so its ids are not used again.
        let dropped = again.drop_columns(&["s", "k"], &commit).await.unwrap();
        let back = dropped.add_columns(doubled("s"), &options).await.unwrap();
        assert_eq!((ids(&back), back.schema().names()), (vec![0, 3], vec!["n", "s"]));
        assert_eq!(numbers(&back, "s").await[6], Some(18));
        let renamed = back.rename_column("n", "frame", &commit).await.unwrap();
        assert_eq!(renamed.schema().names(), ["frame", "s"]);
        assert_eq!(numbers(&renamed, "frame").await[6], Some(9));
        for (columns, text) in [
            (&["frame", "s"][..], "all of them"),
            (&["n"], "no field \"n\"; there are: frame, s"),
            (&[], "no column is named"),
        ] {
            let error = renamed.drop_columns(columns, &commit).await.unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
    let table = holey(Version::V2_2).await;
    let table = table.add_columns(doubled("s.m"), &options).await.unwrap();
    for (path, name, text) in [
        ("n", "s", "there is a column of that name"),
        ("s.a", "m", "there is a column of that name in \"s\""),
        ("s.a", "b.c", "dots stand between"),
        ("n", "", "must have a name"),
        ("x", "y", "no field \"x\""),
    ] {
        let error = table.rename_column(path, name, &commit).await.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
    // The last member takes the struct with it.
    let table = table.rename_column("s.a", "b", &commit).await.unwrap();
    assert_eq!(numbers(&table, "s.b").await[6], Some(109));
    let table = table.drop_columns(&["s.b", "s.m"], &commit).await.unwrap();
    assert_eq!(table.schema().names(), ["n"]);
    // A fragment keeps a file, even if nothing of it is used.
    let table = table
        .add_columns(NewColumns::null(Schema::new(vec![Field::new("z", DataType::Int8, true)])), &options);
    let table = table.await.unwrap().drop_columns(&["n"], &commit).await.unwrap();
    assert!(table.fragments().iter().all(|fragment| fragment.files().len() == 1));
    assert_eq!(column(&table, "z").await.null_count(), 7);
    assert_eq!(numbers(&table.add_columns(doubled_of("z"), &options).await.unwrap(), "m").await.len(), 7);
}

fn doubled_of(name: &'static str) -> NewColumns {
    let schema = Schema::new(vec![Field::new("m", DataType::Int32, true)]);
    NewColumns::function([name], schema, move |batch| {
        RecordBatch::try_from_iter([("m", Arc::new(Int32Array::from(vec![1; batch.num_rows()])) as ArrayRef)])
    })
}

#[tokio::test]
async fn whether_nulls_are_allowed_is_changed() {
    let options = CommitOptions::default();
    let table = holey(Version::V2_2).await;
    let table = table.set_nullable("n", false, &options).await.unwrap();
    assert!(!table.arrow_schema().field(0).is_nullable());
    assert_eq!(numbers(&table, "n").await.len(), 7);
    let error = table.set_nullable("s", false, &options).await.unwrap_err();
    assert!(error.to_string().contains("\"s\" is null in row 1"), "{error}");
    // Only where there is a struct.
    let table = table.set_nullable("s.a", false, &options).await.unwrap();
    assert_eq!(numbers(&table, "s.a").await.len(), 7);
    let table = table.set_nullable("n", true, &options).await.unwrap();
    assert!(table.arrow_schema().field(0).is_nullable());
}

#[tokio::test]
async fn pairs_are_set_and_removed() {
    let options = CommitOptions::default();
    let table = holey(Version::V2_2).await;
    let pairs = |set: &[(&str, &str)], unset: &[&str], replace| Pairs {
        set: set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        unset: unset.iter().map(ToString::to_string).collect(),
        replace,
    };
    let change = ConfigChange {
        config: pairs(&[("a", "1"), ("b", "2")], &[], false),
        table_metadata: pairs(&[("t", "x")], &[], false),
        schema_metadata: pairs(&[("robot", "g1")], &[], false),
        field_metadata: [("s.a".to_string(), pairs(&[("unit", "m")], &[], false))].into(),
    };
    let table = table.update_config(&change, &options).await.unwrap();
    let message = &table.manifest().message;
    assert_eq!((message.config.len(), message.table_metadata["t"].as_str()), (2, "x"));
    assert_eq!(table.arrow_schema().metadata()["robot"], "g1");
    assert_eq!(table.schema().trace("s.a").unwrap()[1].metadata["unit"], "m");
    let change = ConfigChange { config: pairs(&[("c", "3")], &["a", "z"], false), ..Default::default() };
    let table = table.update_config(&change, &options).await.unwrap();
    assert_eq!(table.manifest().message.config.keys().collect::<Vec<_>>(), ["b", "c"]);
    let change = ConfigChange { config: pairs(&[], &[], true), ..Default::default() };
    let table = table.update_config(&change, &options).await.unwrap();
    assert!(table.manifest().message.config.is_empty());
    let field = |path: &str, pairs| ConfigChange {
        field_metadata: [(path.to_string(), pairs)].into(),
        ..Default::default()
    };
    for change in [
        ConfigChange::default(),
        ConfigChange { config: pairs(&[("a", "1")], &["a"], false), ..Default::default() },
        field("q", pairs(&[("a", "1")], &[], false)),
        field("n", pairs(&[("lance-encoding:blob", "true")], &[], false)),
    ] {
        assert!(table.update_config(&change, &options).await.is_err(), "{change:?}");
    }
}

/// Another writer comes between.
#[tokio::test]
async fn columns_are_worked_out_again() {
    let (options, commit) = (ColumnOptions::default(), CommitOptions::default());
    let stale = holey(Version::V2_2).await;
    let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    stale.write_after(record_batch!(("n", Int32, [20, 21])).unwrap().into(), more).await.unwrap();
    let table = stale.add_columns(doubled("m"), &options).await.unwrap();
    assert_eq!(numbers(&table, "m").await, [2, 6, 8, 10, 12, 16, 18, 40, 42].map(Some));
    // The files of the attempt that came too late are gone.
    let used = table.fragments().iter().flat_map(|fragment| fragment.files()).count();
    assert_eq!(data_files(&table).await.len(), used);

    let seven = (0..7).map(|_| record_batch!(("t", Utf8, ["x"])).unwrap()).collect::<Vec<_>>();
    let error = stale.add_columns(NewColumns::aligned(seven), &options).await.unwrap_err();
    assert!(matches!(error, TableError::Conflict { retryable: true, .. }), "{error}");
    assert_eq!(data_files(&table).await.len(), used);

    // Rows with nulls come before nulls are forbidden.
    let older = table.clone();
    let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    let rows = record_batch!(("n", Int32, [None]), ("m", Int32, [1])).unwrap();
    table.write_after(rows.into(), more).await.unwrap();
    let error = older.set_nullable("n", false, &commit).await.unwrap_err();
    assert!(error.to_string().contains("null in row 9"), "{error}");
    let names = older.rename_column("n", "o", &commit).await.unwrap();
    let both = older.rename_column("m", "p", &commit).await.unwrap();
    assert_eq!((names.schema().names(), both.schema().names()), (vec!["o", "s", "m"], vec!["o", "s", "p"]));
}

/// Rows that come from before a cast have the old field, which nobody would find.
#[tokio::test]
async fn rows_that_are_appended_during_a_cast_are_not_lost() {
    let before = table(Version::V2_2).await;
    before.cast_column("n", &DataType::Int64, Misfits::Refuse, &ColumnOptions::default()).await.unwrap();
    let batches = before.scan(ScanOptions::default()).unwrap().try_collect::<Vec<_>>().await.unwrap();
    let append = crate::WriteOptions { mode: WriteMode::Append, ..Default::default() };
    let error = before.write_after(batches.into(), append).await.unwrap_err();
    assert!(matches!(error, TableError::Conflict { theirs: "add columns", retryable: true, .. }), "{error}");
}
