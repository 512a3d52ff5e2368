//! Changes to a small table, each of which another writer may have made first, and what is expected then.
//!
//! The table has three fragments of ten rows, of which the second has deleted ones:
//!
//! ```text
//! fragment 0: 0..10      fragment 1: 10..20 without 13, 14, 15      fragment 2: 20..30
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use lance_io::Store;
use lance_table::{
    ColumnOptions, CommitOptions, CompactionOptions, ConfigChange, Expr, Misfits, NewColumns, OpenOptions,
    Pairs, Table, TableError, Upsert, WriteMode, WriteOptions,
};

use crate::files::Files;
use crate::{ours, same};

/// The version that both writers know.
pub const READ: u64 = 3;

/// What is done to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Its name, which the driver of the reference knows, too.
    pub name: &'static str,
    /// The name of the operation in errors.
    pub operation: &'static str,
}

/// A [`Change`] and a letter for each of [`CHANGES`] that another writer made first.
pub type Row = (Change, &'static str);

/// All changes, in the order of the letters: k, it holds, and is put together with the other; r, it is worked out again from
/// what the other left; x, it makes no sense any more.
pub const CHANGES: [Row; 24] = [
    //                                            changes to rows   columns  compact  replace  pairs
    row("append", "append", /*                 */ "kkkkk kkkk kkr kkkr kk xx kkkk"),
    row("delete", "delete", /*                 */ "krkrk rkrr rrr kkkk rk xx kkkk"),
    row("delete others", "delete", /*          */ "kkrrk kkkk rrr kkkk rk xx kkkk"),
    row("delete fragment", "delete", /*        */ "krrrk rkrr rrr kkkk rk xx kkkk"),
    row("delete elsewhere", "delete", /*       */ "kkkkr krkk rrr kkkk rk xx kkkk"),
    row("update", "update", /*                 */ "krkrk rkrr rrr kkkr rk xx kkkk"),
    row("update elsewhere", "update", /*       */ "kkkkr krkk rrr kkkr rk xx kkkk"),
    row("upsert", "update", /*                 */ "krkrk rkrk rrr kkkr rk xx kkkk"),
    row("upsert and insert", "update", /*      */ "rrkrk rrrr rrr kkkr rk xx kkkk"),
    row("add column", "add columns", /*        */ "rrrrr rrrr rrr xxxx rr xx kkrr"),
    row("add null column", "add columns", /*   */ "rrrrr rrrr rrr xxxx rr xx kkrr"),
    row("cast column", "add columns", /*       */ "rrrrr rrrr rrr xxxx rr xx kkrr"),
    row("drop column", "change columns", /*    */ "kkkkk kkkk rrr rrrr kk xx kkrr"),
    row("rename column", "change columns", /*  */ "kkkkk kkkk rrr rrrr kk xx kkrr"),
    row("allow nulls", "change columns", /*    */ "kkkkk kkkk rrr rrrr kk xx kkrr"),
    row("refuse nulls", "change columns", /*   */ "rkkkk rrrr rrr rrrr kk xx kkrr"),
    row("compact", "compaction", /*            */ "krrrr rrrr rrr kkkk rr xx kkkk"),
    row("compact one", "compaction", /*        */ "kkkkk kkkk rrr kkkk rr xx kkkk"),
    row("overwrite", "overwrite", /*           */ "kkkkk kkkk kkk kkkk kk rk kkkk"),
    row("restore", "restore", /*               */ "kkkkk kkkk kkk kkkk kk kk kkxx"),
    row("config", "change config", /*          */ "kkkkk kkkk kkk kkkk kk kk xkkk"),
    row("other config", "change config", /*    */ "kkkkk kkkk kkk kkkk kk kk kxkk"),
    row("schema metadata", "change config", /* */ "kkkkk kkkk rrr rrrr kk xx kkxk"),
    row("field metadata", "change config", /*  */ "kkkkk kkkk rrr rrrr kk xx kkkx"),
];

const fn row(name: &'static str, operation: &'static str, letters: &'static str) -> Row {
    (Change { name, operation }, letters)
}

/// The letter for `ours`, at its place in [`CHANGES`], after `theirs`.
pub fn letter(ours: usize, theirs: usize) -> char {
    CHANGES[ours].1.chars().filter(|letter| *letter != ' ').nth(theirs).unwrap()
}

/// How a change went.
#[derive(Debug)]
pub enum Outcome {
    /// It is done.
    Done,
    /// It is not, as far as others came first.
    Left,
    /// It is refused.
    Refused(TableError),
}

impl Outcome {
    /// Fails unless it is done.
    #[track_caller]
    pub fn expect_done(self) {
        assert!(matches!(self, Self::Done), "{self:?}");
    }
}

/// Rows with the ids `range`, without nulls but for names.
pub fn rows(range: impl Iterator<Item = i64> + Clone) -> RecordBatch {
    let column = |value: fn(i64) -> i64| -> ArrayRef {
        Arc::new(range.clone().map(|id| Some(value(id))).collect::<Int64Array>())
    };
    let names: ArrayRef =
        Arc::new(range.clone().map(|id| (id % 4 != 0).then(|| format!("row {id}"))).collect::<StringArray>());
    let columns = [
        ("id", column(|id| id), false),
        ("name", names, true),
        ("score", column(|id| id * 10), true),
        ("extra", column(|id| -id), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The ids and scores alone, which no change of columns takes away.
fn scores(range: impl Iterator<Item = i64> + Clone) -> RecordBatch {
    rows(range).project(&[0, 2]).unwrap()
}

/// The table, as files that can be copied.
#[derive(Debug)]
pub struct Base {
    files: Files,
}

impl Base {
    /// Makes it.
    pub async fn new(stable_row_ids: bool) -> Self {
        let store = Store::memory();
        let options = WriteOptions { max_rows_per_fragment: 10, stable_row_ids, ..Default::default() };
        let table = Table::write(store.clone(), rows(0..30).into(), options).await.unwrap();
        let commit = CommitOptions::default();
        let table = table.delete(&Expr::parse("id IN (13, 14, 15)").unwrap(), &commit).await.unwrap().table;
        let table = table.update_config(&pairs("config", "owner", "lab"), &commit).await.unwrap();
        assert_eq!(table.version(), READ);
        Self { files: Files::of(&store).await }
    }

    /// Puts it into `store`, which is empty.
    pub async fn copy_to(&self, store: &Store) {
        self.files.copy_to(store).await;
    }

    /// What is there after `theirs` and then `ours`, which knows of that; or what the latter says.
    pub async fn one_after_the_other(&self, ours: Change, theirs: Change) -> Result<Seen, String> {
        let store = Store::memory();
        self.copy_to(&store).await;
        run(theirs, &open(store.clone()).await, 10).await.expect_done();
        match run(ours, &Table::open(store.clone(), None).await.unwrap(), 0).await {
            Outcome::Done => Ok(see(&store).await),
            Outcome::Left => panic!("{} is left", ours.name),
            Outcome::Refused(error) => Err(error.to_string()),
        }
    }
}

/// The table as of version [`READ`].
pub async fn open(store: Store) -> Table {
    Table::open_with(store, OpenOptions { version: Some(READ), ..Default::default() }).await.unwrap()
}

/// Does `change` from what `table` knows; when others come in between it is worked out again up to `retries` times.
pub async fn run(change: Change, table: &Table, retries: u32) -> Outcome {
    match attempt(change, table, CommitOptions { retries, ..Default::default() }).await {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Refused(error),
    }
}

async fn attempt(change: Change, table: &Table, commit: CommitOptions) -> lance_table::Result<Outcome> {
    let options = WriteOptions { commit: commit.clone(), ..Default::default() };
    let columns = ColumnOptions { commit: commit.clone(), ..Default::default() };
    let delete = async |filter: &str| table.delete(&Expr::parse(filter)?, &commit).await.map(drop);
    let update = async |filter: &str| {
        let set = [("score", Expr::parse("score + 1000")?)];
        table.update(&set, Some(&Expr::parse(filter)?), &options).await.map(drop)
    };
    let upsert = async |ids: &[i64], insert: bool| {
        let upsert = Upsert { insert, ..Upsert::on(["id"]) };
        table.upsert(scores(ids.iter().copied()).into(), &upsert, &options).await.map(drop)
    };
    let compact = async |target_rows: u64| {
        let options = CompactionOptions { target_rows, commit: commit.clone(), ..Default::default() };
        let done = table.compact(&options).await?;
        Ok(if done.conflicting.is_empty() { Outcome::Done } else { Outcome::Left })
    };
    match change.name {
        "append" => drop(table.write_after(scores(100..105).into(), append(options)).await?),
        "delete" => delete("id IN (1, 2)").await?,
        "delete others" => delete("id IN (4, 5)").await?,
        "delete fragment" => delete("id < 10").await?,
        "delete elsewhere" => delete("id IN (21, 22)").await?,
        "update" => update("id IN (1, 2)").await?,
        "update elsewhere" => update("id IN (21, 22)").await?,
        "upsert" => upsert(&[1], false).await?,
        "upsert and insert" => upsert(&[2, 200], true).await?,
        "add column" => {
            let twice = NewColumns::expressions([("twice", Expr::parse("score * 2")?)]);
            drop(table.add_columns(twice, &columns).await?);
        }
        "add null column" => {
            let empty = arrow_schema::Field::new("empty", DataType::Int32, true);
            let empty = NewColumns::null(arrow_schema::Schema::new(vec![empty]));
            drop(table.add_columns(empty, &columns).await?);
        }
        "cast column" => {
            drop(table.cast_column("extra", &DataType::Int32, Misfits::Refuse, &columns).await?);
        }
        "drop column" => drop(table.drop_columns(&["extra"], &commit).await?),
        "rename column" => drop(table.rename_column("name", "label", &commit).await?),
        "allow nulls" => drop(table.set_nullable("id", true, &commit).await?),
        "refuse nulls" => drop(table.set_nullable("score", false, &commit).await?),
        "compact" => return compact(1 << 20).await,
        "compact one" => return compact(10).await,
        "overwrite" => {
            let options = WriteOptions { mode: WriteMode::Overwrite, ..options };
            drop(table.write_after(rows(500..503).into(), options).await?);
        }
        "restore" => {
            let first = OpenOptions { version: Some(1), ..Default::default() };
            drop(Table::open_with(table.store().clone(), first).await?.restore(&commit).await?);
        }
        "config" => drop(table.update_config(&pairs("config", "owner", "new"), &commit).await?),
        "other config" => drop(table.update_config(&pairs("config", "other", "new"), &commit).await?),
        "schema metadata" => drop(table.update_config(&pairs("schema", "about", "arms"), &commit).await?),
        "field metadata" => drop(table.update_config(&pairs("score", "unit", "m"), &commit).await?),
        name => panic!("no change {name:?}"),
    }
    Ok(Outcome::Done)
}

fn append(options: WriteOptions) -> WriteOptions {
    WriteOptions { mode: WriteMode::Append, ..options }
}

/// A change of one pair: of the config, the schema, or else of the field that is called like `of`.
fn pairs(of: &str, key: &str, value: &str) -> ConfigChange {
    let pairs = Pairs { set: [(key.into(), value.into())].into(), ..Default::default() };
    match of {
        "config" => ConfigChange { config: pairs, ..Default::default() },
        "schema" => ConfigChange { schema_metadata: pairs, ..Default::default() },
        field => ConfigChange { field_metadata: [(field.into(), pairs)].into(), ..Default::default() },
    }
}

/// What a table holds, however it came about.
#[derive(Debug, Clone)]
pub struct Seen {
    /// By id.
    pub rows: RecordBatch,
    /// Of the table.
    pub config: BTreeMap<String, String>,
}

impl Seen {
    /// An error that says what is not as in `expected`.
    pub fn check(&self, expected: &Self) -> Result<(), String> {
        same::check_schema(&self.rows.schema(), &expected.rows.schema())?;
        same::check(&self.rows, &expected.rows)?;
        let (fields, metadata) = (self.rows.schema(), expected.rows.schema());
        match (self.config == expected.config, fields == metadata) {
            (false, _) => Err(format!("config {:?} instead of {:?}", self.config, expected.config)),
            (_, false) => Err(format!("schema {fields:?} instead of {metadata:?}")),
            _ => Ok(()),
        }
    }
}

/// What the latest version holds. Schema and fields have their metadata.
pub async fn see(store: &Store) -> Seen {
    let table = Table::open(store.clone(), None).await.unwrap();
    let rows = ours::scan_table(&table).await.unwrap();
    let rows = RecordBatch::try_new(table.arrow_schema(), rows.columns().to_vec()).unwrap();
    Seen { rows: by_id(&rows), config: table.manifest().message.config.clone() }
}

/// The rows of `batch` by id.
pub fn by_id(batch: &RecordBatch) -> RecordBatch {
    let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>();
    let mut order = (0..batch.num_rows() as u64).collect::<Vec<_>>();
    order.sort_by_key(|row| ids.value(*row as usize));
    same::rows_at(batch, &order)
}
