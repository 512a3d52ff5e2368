//! Rows that are deleted, updated and upserted: two tables that are changed in the same way, by us and by the reference in
//! turn, are the same after every change, whoever reads them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields};
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, same, stream, verified};
use futures::TryStreamExt;
use lance_footer::Version;
use lance_io::Store;
use lance_table::{
    CommitOptions, Expr, RowColumn, ScanOptions, Table, Upsert, WhenMatched, WhenMissing, WriteMode,
    WriteOptions,
};
use serde_json::{Value, json};

/// Rows with the ids `range`, whose names are of `kind`.
fn rows(range: impl Iterator<Item = i64> + Clone, kind: &str) -> RecordBatch {
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(range.clone()));
    let names = range.clone().map(|row| (row % 5 != 0).then(|| format!("{kind} {row}")));
    let name: ArrayRef = Arc::new(names.collect::<StringArray>());
    let x: ArrayRef = Arc::new(
        range.clone().map(|row| (row % 4 != 0).then_some(row as f64 / 2.0)).collect::<Float64Array>(),
    );
    let lists = range
        .map(|row| (row % 6 != 2).then(|| (0..row % 4).map(move |item| (item != 1).then_some(row + item))));
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
    let members = [("x", DataType::Float64), ("name", DataType::Utf8)];
    let members = members.map(|(name, data_type)| Field::new(name, data_type, true));
    let pose: ArrayRef =
        Arc::new(StructArray::new(Fields::from(members.to_vec()), vec![x, Arc::clone(&name)], None));
    let columns = [("id", id, false), ("name", name, true), ("pose", pose, true), ("list", list, true)];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

enum Change {
    Delete(&'static str),
    Update(&'static [(&'static str, &'static str)], &'static str),
    Upsert(RecordBatch, Upsert),
    /// By the reference on both.
    Compact,
}

impl Change {
    async fn ours(&self, path: &Path) {
        let table = Table::open(Store::local(path), None).await.unwrap();
        let options = WriteOptions { max_rows_per_fragment: 25, ..Default::default() };
        match self {
            Self::Delete(filter) => {
                table.delete(&Expr::parse(filter).unwrap(), &CommitOptions::default()).await.unwrap();
            }
            Self::Update(set, filter) => {
                let set = set.iter().map(|(name, value)| (*name, Expr::parse(value).unwrap()));
                let filter = Expr::parse(filter).unwrap();
                table.update(&set.collect::<Vec<_>>(), Some(&filter), &options).await.unwrap();
            }
            Self::Upsert(source, upsert) => {
                table.upsert(source.clone().into(), upsert, &options).await.unwrap();
            }
            Self::Compact => unreachable!(),
        }
    }

    fn theirs(&self, path: &Path, number: usize) -> Value {
        match self {
            Self::Delete(filter) => json!({"do": "delete", "path": path, "predicate": filter}),
            Self::Update(set, filter) => {
                let set = set.iter().map(|(name, value)| ((*name).to_string(), json!(value)));
                let set = Value::Object(set.collect());
                json!({"do": "update", "path": path, "updates": set, "where": filter})
            }
            Self::Upsert(source, upsert) => {
                let arrow = path.with_extension(format!("{number}.source"));
                stream::write(&arrow, &source.schema(), std::slice::from_ref(source));
                let update = match &upsert.matched {
                    WhenMatched::Keep => json!(false),
                    WhenMatched::Update => json!(true),
                    WhenMatched::UpdateIf(expr) => json!(expr.to_string()),
                };
                let delete = match &upsert.missing {
                    WhenMissing::Keep => json!(false),
                    WhenMissing::Delete => json!(true),
                    WhenMissing::DeleteIf(expr) => json!(expr.to_string()),
                };
                json!({
                    "do": "merge_insert", "path": path, "arrow": arrow, "on": upsert.on,
                    "update": update, "insert": upsert.insert, "delete": delete,
                })
            }
            Self::Compact => json!({"do": "compact", "path": path}),
        }
    }
}

fn changes() -> Vec<Change> {
    // What is missing is null in rows that are inserted; structs cannot be, in files of 2.0.
    let some = rows(60..110, "later").project(&[1, 2, 0]).unwrap();
    let few = rows(55..200, "renamed").project(&[1, 0]).unwrap();
    let on = || Upsert::on(["id"]);
    vec![
        Change::Delete("id % 7 = 1 OR id >= 75"),
        Change::Update(&[("name", "'new'"), ("id", "id + 1000")], "id % 10 = 2 AND list IS NOT NULL"),
        Change::Upsert(rows(30..90, "more"), on()),
        Change::Delete("id BETWEEN 40 AND 45"),
        Change::Upsert(some, on()),
        Change::Upsert(few, Upsert { insert: false, ..on() }),
        Change::Update(&[("list", "NULL")], "id > 5000"),
        Change::Upsert(
            rows((50..130).step_by(2), "last"),
            Upsert {
                matched: WhenMatched::UpdateIf(Expr::parse("source.id % 4 = 0").unwrap()),
                missing: WhenMissing::DeleteIf(Expr::parse("id < 20").unwrap()),
                ..on()
            },
        ),
        Change::Update(&[("name", "upper(name)")], "true"),
        Change::Compact,
        Change::Upsert(
            rows(100..120, "only"),
            Upsert { insert: false, missing: WhenMissing::Delete, ..on() },
        ),
        Change::Upsert(rows(110..125, "two keys"), Upsert::on(["id", "name"])),
        Change::Delete("true"),
        Change::Upsert(rows(0..5, "again"), on()),
    ]
}

/// Two tables that should be the same.
struct Pair {
    what: String,
    paths: [PathBuf; 2],
    stable_row_ids: bool,
}

impl Pair {
    fn columns(&self) -> Vec<&str> {
        let mut columns = vec!["id", "name", "pose", "list"];
        if self.stable_row_ids {
            columns.extend([RowColumn::Id, RowColumn::CreatedAt, RowColumn::UpdatedAt].map(RowColumn::name));
        }
        columns
    }

    /// What the reference is asked, for each table: all rows, and some by each index.
    fn reads(&self, number: usize) -> Vec<(PathBuf, Value)> {
        let filters =
            [Value::Null, json!("id >= 60 AND id < 1040"), json!("name = 'new' OR name = 'more 33'")];
        let reads = self.paths.iter().flat_map(|path| {
            let filters = filters.clone().into_iter().enumerate();
            filters.map(move |(filter, text)| {
                let to = path.with_extension(format!("{number}.{filter}.arrow"));
                let columns = self.columns();
                let job =
                    json!({"do": "read_table", "path": path, "to": to, "columns": columns, "where": text});
                (to, job)
            })
        });
        reads.collect()
    }
}

/// By `id`. New rows get their ids in the order in which a join happens to give them, so of these nothing is said.
fn sorted(batch: &RecordBatch, first_new: u64) -> RecordBatch {
    let id = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>();
    let mut order = (0..batch.num_rows() as u64).collect::<Vec<_>>();
    order.sort_by_key(|row| id.value(*row as usize));
    let batch = same::rows_at(batch, &order);
    let Ok(at) = batch.schema().index_of("_rowid") else { return batch };
    let mut columns = batch.columns().to_vec();
    let known = columns[at].as_primitive::<UInt64Type>().iter().map(|id| id.filter(|id| *id < first_new));
    columns[at] = Arc::new(known.collect::<arrow_array::UInt64Array>());
    let fields = batch.schema();
    let fields = fields.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let schema = arrow_schema::Schema::new(fields.collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn read_back(path: &Path) -> RecordBatch {
    let (schema, batches) = stream::read(path);
    same::whole(&schema, &batches).unwrap()
}

fn run(oracle: &Oracle, number: usize, jobs: &[Value]) {
    for (job, result) in jobs.iter().zip(oracle.run(jobs)) {
        result.unwrap_or_else(|error| panic!("change {number}: {job}: {error}"));
    }
}

/// Makes versions of the table that has fewer: how many a compaction makes depends on how the fragments were cut.
fn even_out(pair: &Pair) {
    ours::run(async {
        let [one, other] = &pair.paths;
        let mut one = Table::open(Store::local(one), None).await.unwrap();
        let mut other = Table::open(Store::local(other), None).await.unwrap();
        let never = Expr::parse("false").unwrap();
        while one.version() != other.version() {
            let behind = if one.version() < other.version() { &mut one } else { &mut other };
            *behind = behind.delete(&never, &CommitOptions::default()).await.unwrap().table;
        }
    });
}

#[test]
fn tables_changed_by_both_are_the_same() {
    let Some(oracle) = Oracle::find("changes by both") else { return };
    let place = tempfile::tempdir().unwrap();
    let mut pairs = vec![];
    let mut indices = vec![];
    for version in [Version::V2_0, Version::V2_1, Version::V2_2] {
        for (stable_row_ids, indexed) in [(false, false), (true, false), (false, true), (true, true)] {
            if indexed && version != Version::V2_1 {
                continue;
            }
            let what = format!("{version}, stable row ids {stable_row_ids}, indexed {indexed}");
            let paths = [0, 1].map(|table| place.path().join(format!("{}-{table}", pairs.len())));
            for path in &paths {
                let write = |batch: RecordBatch, mode| {
                    let version = Some(version);
                    let options = WriteOptions {
                        mode,
                        version,
                        max_rows_per_fragment: 20,
                        stable_row_ids,
                        ..Default::default()
                    };
                    ours::run(Table::write(Store::local(path), batch.into(), options)).unwrap();
                };
                write(rows(0..70, "first"), WriteMode::Create);
                write(rows(70..80, "first"), WriteMode::Append);
                if indexed {
                    indices.push(json!({"do": "create_index", "path": path, "column": "id"}));
                    indices.push(json!({"do": "create_index", "path": path, "column": "name"}));
                }
            }
            pairs.push(Pair { what, paths, stable_row_ids });
        }
    }
    assert!(oracle.run(&indices).iter().all(Result::is_ok));

    for (number, change) in changes().iter().enumerate() {
        let (mut jobs, mut reads) = (vec![], vec![]);
        for pair in &pairs {
            let both = matches!(change, Change::Compact);
            for (table, path) in pair.paths.iter().enumerate() {
                match both || table == number % 2 {
                    true => jobs.push(change.theirs(path, number)),
                    false => ours::run(change.ours(path)),
                }
            }
            reads.push(pair.reads(number));
        }
        run(&oracle, number, &jobs);
        pairs.iter().for_each(even_out);
        run(&oracle, number, &reads.iter().flatten().map(|(_, job)| job.clone()).collect::<Vec<_>>());
        for (pair, reads) in pairs.iter().zip(reads) {
            let what = format!("change {number}, {}", pair.what);
            let seen = reads.iter().map(|(to, _)| sorted(&read_back(to), 80)).collect::<Vec<_>>();
            for (filter, (one, other)) in seen[..3].iter().zip(&seen[3..]).enumerate() {
                same::check(one, other).unwrap_or_else(|error| panic!("{what}, filter {filter}: {error}"));
            }
            for (path, expected) in pair.paths.iter().zip([&seen[0], &seen[3]]) {
                ours::run(async {
                    let table = Table::open(Store::local(path), None).await.unwrap();
                    let columns = pair.columns().into_iter().map(String::from).collect::<Vec<_>>();
                    let options = ScanOptions { columns: Some(columns), ..Default::default() };
                    let stream = table.scan(options.clone()).unwrap();
                    let batches = stream.try_collect::<Vec<_>>().await.unwrap();
                    let schema = batches.first().map_or_else(|| expected.schema(), RecordBatch::schema);
                    let own = sorted(&same::whole(&schema, &batches).unwrap(), 80);
                    same::check(&own, expected).unwrap_or_else(|error| panic!("{what}: {error}"));
                });
            }
        }
    }
    for path in pairs.iter().flat_map(|pair| &pair.paths) {
        let (_, problems, _) = ours::run(verified::table(&Store::local(path), None));
        assert_eq!(problems, Vec::<String>::new(), "{}", path.display());
    }
}
