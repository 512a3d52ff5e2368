//! Columns that come, go and change in tables, with both writing to the same table and both reading every version.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Int32Array, Int64Array, LargeBinaryArray, ListArray, RecordBatch,
    StringArray, StructArray, record_batch,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, same, stream};
use lance_file::Version;
use lance_io::Store;
use lance_table::{
    ColumnOptions, CommitOptions, ConfigChange, Expr, Misfits, NewColumns, Pairs, Table, WriteMode,
    WriteOptions,
};
use serde_json::{Value, json};

/// A table at `path`, of which both read all versions.
struct Both<'a> {
    oracle: &'a Oracle,
    path: PathBuf,
    place: tempfile::TempDir,
}

impl<'a> Both<'a> {
    fn new(oracle: &'a Oracle) -> Self {
        let place = tempfile::tempdir().unwrap();
        Self { oracle, path: place.path().join("table"), place }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    async fn open(&self) -> Table {
        Table::open(Store::local(&self.path), None).await.unwrap()
    }

    /// Jobs that have to succeed.
    fn must(&self, jobs: &[Value]) -> Vec<Value> {
        let results = self.oracle.run(jobs).into_iter().zip(jobs);
        results.map(|(result, job)| result.unwrap_or_else(|error| panic!("{job}: {error}"))).collect()
    }

    fn job(&self, what: &str, mut arguments: Value) -> Value {
        arguments["do"] = what.into();
        arguments["path"] = json!(self.path);
        arguments
    }

    /// Both read the same of each version, by scan and by take, and find the latest one in order.
    fn check(&self, versions: std::ops::RangeInclusive<u64>) {
        let described = &self.must(&[self.job("describe_table", json!({}))])[0];
        assert_eq!(described["version"], *versions.end());
        self.check_rows(versions);
    }

    /// Both read the same of each version, by scan and by take.
    fn check_rows(&self, versions: std::ops::RangeInclusive<u64>) {
        let file = |version: u64| self.at(&format!("{version}.arrow"));
        let read = |version| self.job("read_table", json!({"version": version, "to": file(version)}));
        self.must(&versions.clone().map(read).collect::<Vec<_>>());
        for version in versions {
            let outcome = ours::run(async {
                let table = Table::open(Store::local(&self.path), Some(version)).await.unwrap();
                let (schema, batches) = stream::read(&file(version));
                same::check_schema(&table.arrow_schema(), &schema)?;
                let expected = same::whole(&schema, &batches)?;
                let rows = (0..table.rows()).rev().step_by(7).collect::<Vec<_>>();
                ours::compare_table(&table, &expected, &rows).await
            });
            outcome.unwrap_or_else(|error| panic!("version {version}: {error}"));
        }
    }
}

/// 350 rows with numbers, texts, structs, lists and vectors; structs are null only where `version` can hold that.
fn rows(version: Version) -> RecordBatch {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..350));
    let text = StringArray::from_iter((0..350).map(|n| (n % 5 != 0).then(|| format!("text {n}"))));
    let a: ArrayRef = Arc::new(Int32Array::from_iter((0..350).map(|n| (n % 3 != 0).then_some(n * 10))));
    let b: ArrayRef = Arc::new(StringArray::from_iter_values((0..350).map(|n| format!("b{}", n % 4))));
    let nulls = NullBuffer::from_iter((0..350).map(|n| version == Version::V2_0 || n % 11 != 4));
    let members = vec![field("a", DataType::Int32), field("b", DataType::Utf8)];
    let s = StructArray::new(members.into(), vec![a, b], Some(nulls));
    let lists = (0..350).map(|n| (n % 6 != 1).then(|| (0..n % 4).map(Some)));
    let l = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let vectors = (0..350).map(|n| (n % 9 != 2).then(|| (0..4).map(move |k| Some((n + k) as f32))));
    let v = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 4);
    let columns: [(&str, ArrayRef); 5] =
        [("id", id), ("text", Arc::new(text)), ("s", Arc::new(s)), ("l", Arc::new(l)), ("v", Arc::new(v))];
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn doubled(name: &'static str) -> NewColumns {
    let schema = Schema::new(vec![Field::new(name, DataType::Int64, false)]);
    NewColumns::function(["id"], schema, move |batch| {
        let twice = batch.column(0).as_primitive::<Int64Type>().values().iter().map(|n| n * 2);
        RecordBatch::try_from_iter([(name, Arc::new(Int64Array::from_iter_values(twice)) as ArrayRef)])
    })
}

fn computed(name: &str, text: &str) -> NewColumns {
    NewColumns::expressions([(name, Expr::parse(text).unwrap())])
}

fn null(name: &str, data_type: DataType) -> NewColumns {
    NewColumns::null(Schema::new(vec![Field::new(name, data_type, true)]))
}

fn named(rows: u64) -> NewColumns {
    let names = StringArray::from_iter_values((0..rows).map(|row| format!("name {row}")));
    let batch = RecordBatch::try_from_iter([("name", Arc::new(names) as ArrayRef)]).unwrap();
    let batches = (0..batch.num_rows()).step_by(33).map(|at| batch.slice(at, 33.min(batch.num_rows() - at)));
    NewColumns::aligned(batches.collect::<Vec<_>>())
}

/// Everything that we do to columns; the reference reads each version, goes on, and we read that and go on again.
#[test]
fn sequences() {
    let Some(oracle) = Oracle::find("columns of tables") else { return };
    for version in Version::ALL {
        let both = Both::new(&oracle);
        let (add, commit) = (ColumnOptions::default(), CommitOptions::default());
        ours::run(async {
            let options =
                WriteOptions { max_rows_per_fragment: 100, version: Some(version), ..Default::default() };
            Table::write(Store::local(&both.path), rows(version).into(), options).await.unwrap();
        });
        both.must(&[
            both.job("delete", json!({"predicate": "id % 7 = 3 OR id BETWEEN 95 AND 180 OR id > 345"}))
        ]);
        let last = ours::run(async {
            let t = both.open().await;
            let t = t.add_columns(doubled("twice"), &add).await.unwrap();
            let t = t.add_columns(null("z", DataType::Float32), &add).await.unwrap();
            let t = t.add_columns(named(t.rows()), &add).await.unwrap();
            let t = t.add_columns(computed("whole", "concat(text, '!')"), &add).await.unwrap();
            let scores =
                record_batch!(("id", Int32, [7, 200, 5000]), ("score", Float64, [0.5, 0.25, 1.0])).unwrap();
            let t = t.add_columns(NewColumns::joined(scores, "id"), &add).await.unwrap();
            let point = Schema::new(vec![Field::new(
                "point",
                DataType::Struct(vec![Field::new("x", DataType::Int64, true)].into()),
                true,
            )]);
            let point = NewColumns::function(["id"], point, |batch| {
                let x: ArrayRef = Arc::clone(batch.column(0));
                let point =
                    StructArray::new(vec![Field::new("x", DataType::Int64, true)].into(), vec![x], None);
                RecordBatch::try_from_iter_with_nullable([("point", Arc::new(point) as ArrayRef, true)])
            });
            let mut t = t.add_columns(point, &add).await.unwrap();
            if version > Version::V2_0 {
                t = t.add_columns(doubled("s.c"), &add).await.unwrap();
                t = t.add_columns(null("s.d", DataType::Utf8), &add).await.unwrap();
            }
            let t = t.drop_columns(&["twice", "s.b"], &commit).await.unwrap();
            let t = t.rename_column("v", "vector", &commit).await.unwrap();
            let t = t.rename_column("s.a", "alpha", &commit).await.unwrap();
            let t = t.set_nullable("id", false, &commit).await.unwrap();
            let item = |data_type| Arc::new(Field::new("item", data_type, true));
            let mut t = t;
            for (path, to) in [
                ("id", DataType::Int32),
                ("s.alpha", DataType::Utf8),
                ("l.item", DataType::Int64),
                ("l", DataType::List(item(DataType::Float64))),
                ("vector", DataType::FixedSizeList(item(DataType::Float64), 4)),
                ("point.x", DataType::Int16),
            ] {
                let cast = t.cast_column(path, &to, Misfits::Refuse, &add).await;
                t = cast.unwrap_or_else(|error| panic!("{version} {path}: {error}"));
            }
            let t = t.add_columns(computed("twice", "id + id"), &add).await.unwrap();
            t.version()
        });
        both.check(1..=last);

        // The reference goes on.
        let jobs = [
            both.job("add_columns", json!({"expressions": {"thrice": "id * 3"}})),
            both.job("add_null_columns", json!({"types": {"empty": "int8"}})),
            both.job("alter_columns", json!({"alterations": [{"path": "name", "name": "label"}]})),
            both.job("alter_columns", json!({"alterations": [{"path": "id", "data_type": "int64"}]})),
            both.job("drop_columns", json!({"columns": ["whole", "z"]})),
            both.job("delete", json!({"predicate": "id < 20"})),
            both.job("describe_columns", json!({})),
        ];
        let described = both.must(&jobs).pop().unwrap();
        both.check(last + 1..=last + 6);

        // New ids are not those of columns that files still have.
        let used =
            described["files"].as_array().unwrap().iter().flat_map(|fragment| fragment.as_array().unwrap());
        let used = used.flat_map(|file| file.as_array().unwrap()).filter_map(Value::as_i64).max().unwrap();
        let last = ours::run(async {
            let t = both.open().await;
            let t = t.add_columns(doubled("four"), &add).await.unwrap();
            assert_eq!(i64::from(t.schema().field(used as i32 + 1).unwrap().id), used + 1);
            let t = t.drop_columns(&["four", "empty"], &commit).await.unwrap();
            let t = t.cast_column("thrice", &DataType::Utf8, Misfits::Refuse, &add).await.unwrap();
            let more = record_batch!(("id", Int64, [1000, 1001])).unwrap();
            let append = WriteOptions { mode: WriteMode::Append, ..Default::default() };
            // What may not be null has no values for new rows, so it goes first.
            let t = t.drop_columns(&["label", "thrice"], &commit).await.unwrap();
            // The reference cannot compact rows of 2.0 in which structs are missing.
            match version {
                Version::V2_0 => t.version(),
                _ => t.write_after(more.into(), append).await.unwrap().version(),
            }
        });
        both.must(&[both.job("compact", json!({}))]);
        let newest = ours::run(async { both.open().await.version() });
        both.check(last - 3..=newest);
    }
}

/// A fragment of whose files nothing is used any more.
#[test]
fn fragments_without_columns() {
    let Some(oracle) = Oracle::find("fragments without columns") else { return };
    for version in Version::ALL {
        let (both, theirs) = (Both::new(&oracle), Both::new(&oracle));
        let (add, commit) = (ColumnOptions::default(), CommitOptions::default());
        ours::run(async {
            for one in [&both, &theirs] {
                let options =
                    WriteOptions { max_rows_per_fragment: 100, version: Some(version), ..Default::default() };
                let t = Table::write(Store::local(&one.path), rows(version).into(), options).await.unwrap();
                t.drop_columns(&["text", "s", "l", "v"], &commit).await.unwrap();
            }
        });
        both.must(&[both.job("delete", json!({"predicate": "id % 3 = 0"}))]);
        theirs.must(&[
            theirs.job("delete", json!({"predicate": "id % 3 = 0"})),
            theirs.job("add_null_columns", json!({"types": {"z": "int32"}})),
            theirs.job("drop_columns", json!({"columns": ["id"]})),
        ]);
        ours::run(async {
            let t = both.open().await.add_columns(null("z", DataType::Int32), &add).await.unwrap();
            t.drop_columns(&["id"], &commit).await.unwrap();
        });
        both.check_rows(1..=5);
        // A later write makes them like any other.
        both.must(&[both.job("delete", json!({"predicate": "_rowid = 1"}))]);
        both.must(&[both.job("add_columns", json!({"expressions": {"y": "z IS NULL"}}))]);
        both.check_rows(6..=7);
        both.must(&[both.job("compact", json!({}))]);
        let newest = ours::run(async { both.open().await.version() });
        both.check(8..=newest);
        // The reference cannot read what it made so; we do, and what we add makes it readable to it.
        ours::run(async {
            let t = theirs.open().await;
            let read = ours::scan_table(&t).await.unwrap();
            assert_eq!((read.num_rows(), read.column(0).null_count()), (233, 233));
            let t = t.add_columns(named(t.rows()), &add).await.unwrap();
            assert_eq!(t.version(), 6);
        });
        theirs.check(6..=6);
    }
}

/// New files have the version of the table, whatever the others have.
#[test]
fn mixed_versions() {
    let Some(oracle) = Oracle::find("columns in tables of several file versions") else { return };
    for (first, second) in [(Version::V2_0, Version::V2_2), (Version::V2_2, Version::V2_0)] {
        let both = Both::new(&oracle);
        let batch = rows(Version::V2_0);
        stream::write(&both.at("rows.arrow"), &batch.schema(), &[batch]);
        let write = |version: Version, mode| {
            let (arrow, to) = (both.at("rows.arrow"), &both.path);
            json!({"do": "write_table", "arrow": arrow, "to": to, "version": version.to_string(), "mode": mode})
        };
        both.must(&[write(first, "create"), write(second, "append")]);
        ours::run(async {
            let (t, add) = (both.open().await, ColumnOptions::default());
            let t = t.add_columns(doubled("twice"), &add).await.unwrap();
            assert!(t.fragments().iter().all(|fragment| fragment.files()[1].version == first));
            let list = DataType::LargeList(Arc::new(Field::new("item", DataType::Int64, true)));
            let t = t.cast_column("l", &list, Misfits::Refuse, &add).await.unwrap();
            t.drop_columns(&["text"], &CommitOptions::default()).await.unwrap();
        });
        both.check(1..=5);
    }
}

/// Rows keep their ids, and know the version that last changed them.
#[test]
fn stable_row_ids() {
    let Some(oracle) = Oracle::find("columns of tables with stable row ids") else { return };
    let both = Both::new(&oracle);
    let batch = rows(Version::V2_2);
    stream::write(&both.at("rows.arrow"), &batch.schema(), &[batch]);
    both.must(&[
        json!({"do": "write_table", "arrow": both.at("rows.arrow"), "to": both.path, "enable_stable_row_ids": true, "max_rows_per_file": 100}),
        both.job("delete", json!({"predicate": "id % 7 = 3"})),
    ]);
    let updated = |expected: u64| {
        both.must(&[both.job("read_lineage", json!({"to": both.at("lineage.arrow")}))]);
        let (schema, batches) = stream::read(&both.at("lineage.arrow"));
        let lineage = same::whole(&schema, &batches).unwrap();
        let column = |name: &str| lineage.column_by_name(name).unwrap().as_primitive::<UInt64Type>().clone();
        let ids = column("_rowid");
        assert_eq!((ids.len(), ids.value(3)), (300, 4));
        assert!(column("_row_created_at_version").values().iter().all(|version| *version == 1));
        let versions = column("_row_last_updated_at_version");
        assert!(versions.values().iter().all(|version| *version == expected), "{versions:?}");
    };
    let (add, commit) = (ColumnOptions::default(), CommitOptions::default());
    updated(1);
    ours::run(async { both.open().await.add_columns(null("z", DataType::Int8), &add).await.unwrap() });
    updated(1);
    ours::run(async { both.open().await.add_columns(doubled("twice"), &add).await.unwrap() });
    updated(4);
    ours::run(async { both.open().await.drop_columns(&["text"], &commit).await.unwrap() });
    updated(4);
    ours::run(async {
        both.open().await.cast_column("l.item", &DataType::Int64, Misfits::Refuse, &add).await.unwrap()
    });
    updated(6);
    both.check(1..=6);
}

#[test]
fn indices_and_pairs() {
    let Some(oracle) = Oracle::find("indices of columns that change") else { return };
    let both = Both::new(&oracle);
    let (add, commit) = (ColumnOptions::default(), CommitOptions::default());
    ours::run(async {
        let options = WriteOptions { max_rows_per_fragment: 100, ..Default::default() };
        Table::write(Store::local(&both.path), rows(Version::V2_2).into(), options).await.unwrap();
    });
    both.must(&["id", "text", "s.a"].map(|column| both.job("create_index", json!({"column": column}))));
    let indices = || {
        both.must(&[both.job("describe_columns", json!({}))]).remove(0)["indices"].as_array().unwrap().len()
    };
    ours::run(async {
        let t = both.open().await.add_columns(doubled("twice"), &add).await.unwrap();
        t.rename_column("text", "words", &commit).await.unwrap();
    });
    assert_eq!(indices(), 3);
    ours::run(async {
        both.open().await.cast_column("id", &DataType::Int32, Misfits::Refuse, &add).await.unwrap()
    });
    assert_eq!(indices(), 2);
    ours::run(async { both.open().await.drop_columns(&["s"], &commit).await.unwrap() });
    assert_eq!(indices(), 1);

    let pairs =
        |key: &str, value: &str| Pairs { set: [(key.into(), value.into())].into(), ..Default::default() };
    let change = ConfigChange {
        config: pairs("lance.auto_cleanup.interval", "20"),
        table_metadata: pairs("owner", "lab"),
        schema_metadata: pairs("robot", "g1"),
        field_metadata: [("words".to_string(), pairs("unit", "words"))].into(),
    };
    ours::run(async { both.open().await.update_config(&change, &commit).await.unwrap() });
    let described = both.must(&[both.job("describe_columns", json!({}))]).remove(0);
    assert_eq!(described["config"], json!({"lance.auto_cleanup.interval": "20"}));
    assert_eq!(described["metadata"], json!({"owner": "lab"}));
    assert_eq!(described["schema_metadata"], json!({"robot": "g1"}));
    let version = ours::run(async {
        let unset = |key: &str| Pairs { unset: [key.into()].into(), ..Default::default() };
        let change = ConfigChange {
            config: unset("lance.auto_cleanup.interval"),
            table_metadata: Pairs { replace: true, ..pairs("a", "b") },
            ..Default::default()
        };
        both.open().await.update_config(&change, &commit).await.unwrap().version()
    });
    let described = both.must(&[both.job("describe_columns", json!({}))]).remove(0);
    assert_eq!((&described["config"], &described["metadata"]), (&json!({}), &json!({"a": "b"})));
    both.check(1..=version);
}

/// Blobs stay where they are, whatever becomes of the columns beside them.
#[test]
fn blobs_are_left_alone() {
    let Some(oracle) = Oracle::find("columns of tables with blobs") else { return };
    for version in Version::ALL {
        let both = Both::new(&oracle);
        let blob = [("lance-encoding:blob".to_string(), "true".to_string())].into();
        let blob = Field::new("video", DataType::LargeBinary, true).with_metadata(blob);
        let videos = LargeBinaryArray::from_iter((0..300).map(|n| (n % 7 != 2).then(|| vec![n as u8; 5000])));
        let ids = Int64Array::from_iter_values(0..300);
        let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, true), blob]));
        let batch = RecordBatch::try_new(schema, vec![Arc::new(ids), Arc::new(videos)]).unwrap();
        stream::write(&both.at("rows.arrow"), &batch.schema(), &[batch]);
        both.must(&[
            json!({"do": "write_table", "arrow": both.at("rows.arrow"), "to": both.path, "version": version.to_string(), "max_rows_per_file": 100}),
            both.job("delete", json!({"predicate": "id % 5 = 3"})),
        ]);
        let (add, commit) = (ColumnOptions::default(), CommitOptions::default());
        let last = ours::run(async {
            let before = both.open().await;
            let t = before.add_columns(doubled("twice"), &add).await.unwrap();
            let t = t.add_columns(computed("k", "id - 1"), &add).await.unwrap();
            let t = t.cast_column("id", &DataType::Int32, Misfits::Refuse, &add).await.unwrap();
            let t = t.rename_column("video", "film", &commit).await.unwrap();
            let t = t.drop_columns(&["twice"], &commit).await.unwrap();
            for (fragment, earlier) in t.fragments().iter().zip(before.fragments()) {
                assert_eq!(fragment.files()[0].path, earlier.files()[0].path);
            }
            let cast = t.cast_column("film", &DataType::Binary, Misfits::Refuse, &add).await;
            let tells = t.add_columns(computed("there", "film IS NOT NULL"), &add).await;
            let required = t.set_nullable("film", false, &commit).await;
            for outcome in [cast, tells, required] {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains("unsupported: ") && error.contains("film"), "{error}");
            }
            t.version()
        });
        let read = |version| {
            let to = both.at(&format!("{version}.arrow"));
            both.job(
                "read_blobs",
                json!({"column": if version < 6 { "video" } else { "film" }, "version": version, "to": to}),
            )
        };
        both.must(&(2..=last).map(read).collect::<Vec<_>>());
        let blobs = |version| stream::read(&both.at(&format!("{version}.arrow"))).1;
        let expected = blobs(2);
        assert_eq!(expected.iter().map(RecordBatch::num_rows).sum::<usize>(), 240);
        (3..=last).for_each(|version| assert_eq!(blobs(version), expected));
        // The reference can drop it, and we can.
        ours::run(async { both.open().await.drop_columns(&["film"], &commit).await.unwrap() });
        both.check(last + 1..=last + 1);
    }
}
