//! Members of structs that are in different files, where some must not be null: both read them.

use demilance_tests::model::value::{Column, Kind, Value, batch, schema};
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, same, stream};
use lance_file::Version;
use lance_io::Store;
use lance_table::{ColumnOptions, Expr, Misfits, NewColumns, Table, WriteMode, WriteOptions};
use serde_json::json;

fn required(name: &str, kind: Kind) -> Column {
    Column { nullable: false, ..Column::new(name, kind) }
}

/// A number, and a struct that may be null, of a struct that is as `inner` says, of which a member may not.
fn columns(inner: impl Fn(&str, Kind) -> Column) -> Vec<Column> {
    let members = vec![required("must", Kind::Float32), Column::new("may", Kind::Int16)];
    let outer = vec![inner("inner", Kind::Struct(members)), required("beside", Kind::Int16)];
    vec![Column::new("id", Kind::Int64), Column::new("outer", Kind::Struct(outer))]
}

fn rows(count: i64) -> Vec<Vec<Value>> {
    let outer = |row: i64| match row % 3 {
        0 => Value::Null,
        _ => {
            let may = if row % 2 == 0 { Value::Null } else { Value::Int(row) };
            let inner = Value::Struct(vec![Value::Float((row as f64).to_bits()), may]);
            Value::Struct(vec![inner, Value::Int(-row)])
        }
    };
    (0..count).map(|row| vec![Value::Int(row), outer(row)]).collect()
}

#[test]
fn structs_with_members_in_other_files_and_with_none() {
    let Some(oracle) = Oracle::find("members of structs by the reference") else { return };
    let mut session = oracle.session();
    let wholes = [columns(required), columns(|name, kind| Column::new(name, kind))];
    for (version, whole) in [Version::V2_1, Version::V2_2]
        .into_iter()
        .flat_map(|version| wholes.iter().map(move |whole| (version, whole)))
    {
        for theirs in [false, true] {
            let place = tempfile::tempdir().unwrap();
            let (path, arrow) = (place.path().join("table"), place.path().join("rows.arrow"));
            let first = batch(whole, &rows(20));
            let store = Store::local(&path);
            if theirs {
                stream::write(&arrow, &schema(whole), &[first]);
                let job =
                    json!({"do": "write_table", "arrow": arrow, "to": path, "version": version.to_string()});
                session.ask(&job).unwrap();
            } else {
                let options = WriteOptions { version: Some(version), ..Default::default() };
                ours::run(Table::write(store.clone(), first.into(), options)).unwrap();
            }
            let last = ours::run(async {
                let options = ColumnOptions::default();
                let table = Table::open(store.clone(), None).await.unwrap();
                let append = WriteOptions { mode: WriteMode::Append, ..Default::default() };
                let bare = batch(&whole[..1], &[vec![Value::Int(7)], vec![Value::Null]]);
                let table = table.write_after(bare.into(), append).await.unwrap();
                let wide = Kind::Int64.arrow();
                let table =
                    table.cast_column("outer.inner.may", &wide, Misfits::Refuse, &options).await.unwrap();
                let add = |name, text| NewColumns::expressions([(name, Expr::parse(text).unwrap())]);
                let table = table.add_columns(add("outer.more", "id + 1"), &options).await.unwrap();
                table.add_columns(add("outer.inner.more", "id + 2"), &options).await.unwrap().version()
            });
            for version in 1..=last {
                let read = place.path().join("read.arrow");
                let job = json!({"do": "read_table", "path": path, "version": version, "to": read});
                session.ask(&job).unwrap();
                let (schema, batches) = stream::read(&read);
                let expected = same::whole(&schema, &batches).unwrap();
                let outcome = ours::run(async {
                    let table = Table::open(store.clone(), Some(version)).await.unwrap();
                    ours::compare_table(&table, &expected, &[1, 0, 3]).await
                });
                outcome.unwrap_or_else(|error| panic!("version {version}, first theirs {theirs}: {error}"));
            }
        }
    }
}
