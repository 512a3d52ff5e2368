//! Steps done by the reference: jobs for tests/oracle/driver.py.

use std::path::Path;

use lance_footer::Version;
use serde_json::{Map, Value as Json, json};

use super::step::{Matched, Missing, Origin, Rows};
use super::value::{self, Column, Value};
use super::{History, Step, ours};
use crate::stream;

/// The job that makes a table. `place` is for what is handed over.
pub fn create(
    path: &Path,
    rows: &Rows,
    version: Version,
    stable: bool,
    old_names: bool,
    place: &Path,
) -> Json {
    json!({
        "do": "write_table", "arrow": stored(&rows.columns, &rows.rows, place), "to": path,
        "version": version.to_string(), "max_rows_per_file": rows.cut,
        "enable_stable_row_ids": stable, "enable_v2_manifest_paths": !old_names,
    })
}

/// The job that does `step` on the latest version of `history`.
pub fn job(step: &Step, history: &History, place: &Path) -> Json {
    let mut job = match step {
        Step::Append(rows) => write(rows, "append", place),
        Step::Overwrite(rows) => write(rows, "overwrite", place),
        Step::Delete(filter) => json!({"do": "delete", "predicate": filter.to_string()}),
        Step::Update { set, filter } => {
            let set = set.iter().map(|(place, formula)| (place.path.clone(), json!(formula.text())));
            json!({"do": "update", "updates": set.collect::<Map<_, _>>(), "where": filter.to_string()})
        }
        Step::Upsert { source, on, matched, insert, missing } => {
            let matched = match matched {
                Matched::Update => json!(true),
                Matched::UpdateIf(filter) => json!(filter.text("source.")),
                Matched::Keep => json!(false),
            };
            let missing = match missing {
                Missing::Keep => json!(false),
                Missing::Delete => json!(true),
                Missing::DeleteIf(filter) => json!(filter.to_string()),
            };
            json!({
                "do": "merge_insert", "arrow": stored(&source.columns, &source.rows, place), "on": [on],
                "update": matched, "insert": insert, "delete": missing,
            })
        }
        Step::Add { column, origin, .. } => add(column, origin, place),
        Step::Drop(place) => json!({"do": "drop_columns", "columns": [place.path]}),
        Step::Rename(place, name) => alter(json!({"path": place.path, "name": name})),
        Step::Cast(place, kind) => {
            let alias = match kind {
                value::Kind::Int16 => "int16",
                value::Kind::Int32 => "int32",
                value::Kind::Int64 => "int64",
                value::Kind::Float32 => "float32",
                value::Kind::Float64 => "float64",
                _ => "string",
            };
            alter(json!({"path": place.path, "data_type": alias}))
        }
        Step::Nullable(place, nullable) => alter(json!({"path": place.path, "nullable": nullable})),
        Step::Compact { target, threshold } => json!({
            "do": "compact", "target_rows_per_fragment": target, "materialize_deletions_threshold": threshold,
        }),
        Step::Config(key, value) => json!({"do": "update_config", "values": {key: value}}),
        Step::Restore(version) => json!({"do": "restore", "version": version}),
        Step::CleanUp(keep) => json!({
            "do": "clean_up", "keep": keep, "delete_unverified": true, "error_if_tagged_old_versions": false,
        }),
        Step::Tag { name, version, update } => {
            json!({"do": "tag", "name": name, "version": version, "update": update})
        }
        Step::DeleteTag(name) => json!({"do": "delete_tag", "name": name}),
        Step::Branch { name, version } => json!({"do": "branch", "name": name, "version": version}),
        Step::DeleteBranch(name) => json!({"do": "delete_branch", "name": name}),
        Step::Clone { name, version } => {
            json!({"do": "clone", "to": history.path.with_file_name(name), "version": version})
        }
        Step::Migrate => json!({"do": "migrate", "version": null}),
    };
    job["path"] = json!(history.path);
    let of_all = matches!(step, Step::DeleteTag(_) | Step::DeleteBranch(_) | Step::Migrate);
    if history.branch.is_some() && !of_all {
        job["branch"] = json!(history.branch);
    }
    job
}

fn write(rows: &Rows, mode: &str, place: &Path) -> Json {
    let arrow = stored(&rows.columns, &rows.rows, place);
    json!({"do": "write_to", "arrow": arrow, "mode": mode, "max_rows_per_file": rows.cut})
}

fn alter(alteration: Json) -> Json {
    json!({"do": "alter_columns", "alterations": [alteration]})
}

fn add(column: &Column, origin: &Origin, place: &Path) -> Json {
    let columns = std::slice::from_ref(column);
    match origin {
        Origin::Null => json!({"do": "add_columns_like", "arrow": stored(columns, &[], place)}),
        Origin::Formula(formula) => {
            json!({"do": "add_columns", "expressions": {&column.name: formula.text()}})
        }
        Origin::Aligned(values, cut) => {
            let rows = values.iter().map(|value| vec![value.clone()]).collect::<Vec<_>>();
            json!({"do": "add_aligned", "arrow": stored(columns, &rows, place), "cut": cut})
        }
        Origin::Joined(key, pairs) => {
            let arrow = stored(&ours::joined_columns(key, column), &ours::joined_rows(pairs), place);
            json!({"do": "join_columns", "arrow": arrow, "on": key.path})
        }
    }
}

/// Where rows are stored for the reference.
fn stored(columns: &[Column], rows: &[Vec<Value>], place: &Path) -> std::path::PathBuf {
    let to = place.join("handed-over.arrow");
    stream::write(&to, &value::schema(columns), &[value::batch(columns, rows)]);
    to
}
