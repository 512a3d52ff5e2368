//! Steps done by us.

use arrow_schema::Schema;
use lance_footer::Version;
use lance_io::Store;
use lance_table::{
    CleanupOptions, ColumnOptions, CommitOptions, CompactionOptions, ConfigChange, Expr, Misfits, Naming,
    NewColumns, OpenOptions, Pairs, Table, TableError, Upsert, WhenMatched, WhenMissing, WriteMode,
    WriteOptions,
};

use super::step::{Matched, Missing, Origin, Rows};
use super::value::{self, Value};
use super::{History, Step};

type Done = Result<(), TableError>;

/// Opens the latest version, or another.
pub async fn open(history: &History, version: Option<u64>) -> Result<Table, TableError> {
    let store = Store::local(&history.path).durable(false);
    Table::open_at(store, &history.reference(version), OpenOptions::default()).await
}

/// Makes a table.
pub async fn create(
    path: &std::path::Path,
    rows: &Rows,
    version: Version,
    stable_row_ids: bool,
    old_names: bool,
) -> Done {
    let naming = if old_names { Naming::V1 } else { Naming::V2 };
    let commit = CommitOptions { naming, ..Default::default() };
    let written = written(rows, WriteMode::Create);
    let options = WriteOptions { version: Some(version), stable_row_ids, commit, ..written };
    Table::write(Store::local(path).durable(false), batches(rows), options).await.map(drop)
}

/// Does `step` on the latest version of `history`.
pub async fn take(step: &Step, history: &History) -> Done {
    let table = open(history, None).await?;
    let (commit, columns) = (CommitOptions::default(), ColumnOptions::default());
    match step {
        Step::Append(rows) => {
            table.write_after(batches(rows), written(rows, WriteMode::Append)).await?;
        }
        Step::Overwrite(rows) => {
            table.write_after(batches(rows), written(rows, WriteMode::Overwrite)).await?;
        }
        Step::Delete(filter) => {
            table.delete(&parse(&filter.to_string())?, &commit).await?;
        }
        Step::Update { set, filter } => {
            let set = set.iter().map(|(place, formula)| Ok((&place.path, parse(&formula.text())?)));
            let set = set.collect::<Result<Vec<_>, TableError>>()?;
            let filter = parse(&filter.to_string())?;
            let options = WriteOptions { max_rows_per_fragment: 25, ..Default::default() };
            table.update(&set, Some(&filter), &options).await?;
        }
        Step::Upsert { source, on, matched, insert, missing } => {
            let matched = match matched {
                Matched::Update => WhenMatched::Update,
                Matched::UpdateIf(filter) => WhenMatched::UpdateIf(parse(&filter.text("source."))?),
                Matched::Keep => WhenMatched::Keep,
            };
            let missing = match missing {
                Missing::Keep => WhenMissing::Keep,
                Missing::Delete => WhenMissing::Delete,
                Missing::DeleteIf(filter) => WhenMissing::DeleteIf(parse(&filter.to_string())?),
            };
            let upsert = Upsert { matched, missing, insert: *insert, ..Upsert::on([on]) };
            table.upsert(batches(source), &upsert, &written(source, WriteMode::Append)).await?;
        }
        Step::Add { column, within, origin } => {
            let above = within.as_ref().map_or(String::new(), |place| format!("{}.", place.path));
            let column = value::Column { name: format!("{above}{}", column.name), ..column.clone() };
            table.add_columns(new_columns(&column, origin)?, &columns).await?;
        }
        Step::Drop(place) => {
            table.drop_columns(&[&place.path], &commit).await?;
        }
        Step::Rename(place, name) => {
            table.rename_column(&place.path, name, &commit).await?;
        }
        Step::Cast(place, kind) => {
            table.cast_column(&place.path, &kind.arrow(), Misfits::Refuse, &columns).await?;
        }
        Step::Nullable(place, nullable) => {
            table.set_nullable(&place.path, *nullable, &commit).await?;
        }
        Step::Compact { target, threshold } => {
            let options =
                CompactionOptions { target_rows: *target, threshold: *threshold, ..Default::default() };
            table.compact(&options).await?;
        }
        Step::Config(key, value) => {
            let config = match value {
                Some(value) => Pairs { set: [(key.clone(), value.clone())].into(), ..Default::default() },
                None => Pairs { unset: [key.clone()].into(), ..Default::default() },
            };
            table.update_config(&ConfigChange { config, ..Default::default() }, &commit).await?;
        }
        names => return take_names(names, history, &table, &commit).await,
    }
    Ok(())
}

async fn take_names(step: &Step, history: &History, table: &Table, commit: &CommitOptions) -> Done {
    match step {
        Step::Restore(version) => {
            open(history, Some(*version)).await?.restore(commit).await?;
        }
        Step::CleanUp(keep) => {
            let options = CleanupOptions {
                older_than: None,
                keep: Some(*keep),
                delete_unverified: true,
                error_if_tagged_old_versions: false,
            };
            table.clean_up(&options).await?;
        }
        Step::Tag { name, version, update } => {
            let table = open(history, Some(*version)).await?;
            match update {
                true => table.update_tag(name).await?,
                false => table.create_tag(name).await?,
            };
        }
        Step::DeleteTag(name) => {
            table.delete_tag(name).await?;
        }
        Step::Branch { name, version } => {
            open(history, Some(*version)).await?.create_branch(name, commit).await?;
        }
        Step::DeleteBranch(name) => {
            table.delete_branch(name, false).await?;
        }
        Step::Clone { name, version } => {
            let to = Store::local(history.path.with_file_name(name));
            open(history, Some(*version)).await?.shallow_clone(to, commit).await?;
        }
        Step::Migrate => {
            Table::migrate_names(table.store()).await?;
        }
        other => panic!("{other:?} is no change of names"),
    }
    Ok(())
}

fn parse(text: &str) -> Result<Expr, TableError> {
    Expr::parse(text)
}

fn batches(rows: &Rows) -> lance_table::Batches {
    value::batch(&rows.columns, &rows.rows).into()
}

fn written(rows: &Rows, mode: WriteMode) -> WriteOptions {
    WriteOptions { mode, max_rows_per_fragment: rows.cut as u64, ..Default::default() }
}

fn new_columns(column: &value::Column, origin: &Origin) -> Result<NewColumns, TableError> {
    let columns = std::slice::from_ref(column);
    Ok(match origin {
        Origin::Null => NewColumns::null(Schema::new(vec![column.field()])),
        Origin::Formula(formula) => NewColumns::expressions([(&column.name, parse(&formula.text())?)]),
        Origin::Aligned(values, cut) => {
            let rows = values.iter().map(|value| vec![value.clone()]).collect::<Vec<_>>();
            let whole = value::batch(columns, &rows);
            let batches = (0..rows.len()).step_by(*cut);
            let batches = batches.map(|at| whole.slice(at, (*cut).min(rows.len() - at))).collect::<Vec<_>>();
            NewColumns::aligned(lance_table::Batches::from_iter(whole.schema(), batches.into_iter().map(Ok)))
        }
        Origin::Joined(key, pairs) => {
            NewColumns::joined(value::batch(&joined_columns(key, column), &joined_rows(pairs)), &key.path)
        }
    })
}

/// The columns of what is joined.
pub fn joined_columns(key: &super::predicate::Place, column: &value::Column) -> [value::Column; 2] {
    [value::Column::new(&key.path, key.kind.clone()), column.clone()]
}

/// The rows of what is joined.
pub fn joined_rows(pairs: &[(Value, Value)]) -> Vec<Vec<Value>> {
    pairs.iter().map(|(key, value)| vec![key.clone(), value.clone()]).collect()
}
