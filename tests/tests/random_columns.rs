//! Random sequences of changes of columns: what a table has is what a model in memory says, and the reference reads the
//! same of every version.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, same, stream};
use lance_file::Version;
use lance_io::Store;
use lance_table::{ColumnOptions, CommitOptions, Expr, Misfits, NewColumns, Table, WriteMode, WriteOptions};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

const STEPS: usize = 24;
const TYPES: [DataType; 5] =
    [DataType::Int16, DataType::Int32, DataType::Int64, DataType::Float64, DataType::Utf8];

/// The columns in their order, as numbers whatever their types are.
#[derive(Debug, Clone, Default)]
struct Model {
    columns: Vec<(String, Vec<Option<i64>>)>,
}

impl Model {
    fn rows(&self) -> usize {
        self.columns[0].1.len()
    }

    fn column(&self, name: &str) -> &Vec<Option<i64>> {
        &self.columns.iter().find(|(own, _)| own == name).unwrap().1
    }

    /// What differs from what `read` has.
    fn check(&self, read: &RecordBatch) {
        let names = read.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        assert_eq!(names, self.columns.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
        for ((name, expected), array) in self.columns.iter().zip(read.columns()) {
            let numbers = arrow_cast::cast(array, &DataType::Int64).unwrap();
            let numbers = numbers.as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
            assert_eq!(&numbers, expected, "{name}");
        }
    }
}

fn batch(columns: &[(String, Vec<Option<i64>>)]) -> RecordBatch {
    let arrays = columns.iter().map(|(name, numbers)| {
        (name.as_str(), Arc::new(Int64Array::from(numbers.clone())) as ArrayRef, true)
    });
    RecordBatch::try_from_iter_with_nullable(arrays).unwrap()
}

/// Does something to both, and says what.
async fn step(draw: &mut StdRng, table: &Table, model: &mut Model, number: usize) -> (Table, String) {
    let (add, commit) = (ColumnOptions::default(), CommitOptions::default());
    let fresh = format!("c{number}");
    let name = model.columns[draw.random_range(0..model.columns.len())].0.clone();
    let rows = model.rows();
    let texts =
        |table: &Table, name: &str| table.schema().trace(name).unwrap()[0].data_type() == DataType::Utf8;
    match draw.random_range(0..9) {
        0 => {
            model.columns.push((fresh.clone(), vec![None; rows]));
            let to = TYPES[draw.random_range(0..TYPES.len())].clone();
            let new = NewColumns::null(Schema::new(vec![Field::new(&fresh, to, true)]));
            (table.add_columns(new, &add).await.unwrap(), format!("add {fresh} of nulls"))
        }
        1 => {
            let plus = draw.random_range(1..5);
            let values =
                model.column(&name).iter().map(|number| number.map(|number| number + plus)).collect();
            model.columns.push((fresh.clone(), values));
            let text = format!("CAST({name} AS BIGINT) + {plus}");
            let new = NewColumns::expressions([(fresh.as_str(), Expr::parse(&text).unwrap())]);
            (table.add_columns(new, &add).await.unwrap(), format!("add {fresh} = {text}"))
        }
        2 => {
            let values = (0..rows).map(|_| draw.random_bool(0.8).then(|| draw.random_range(-50..50)));
            let column = (fresh.clone(), values.collect::<Vec<_>>());
            let whole = batch(std::slice::from_ref(&column));
            model.columns.push(column);
            let cut = draw.random_range(1..60);
            let batches = (0..rows).step_by(cut).map(|at| whole.slice(at, cut.min(rows - at)));
            let new = NewColumns::aligned(batches.collect::<Vec<_>>());
            (table.add_columns(new, &add).await.unwrap(), format!("add {fresh} from batches"))
        }
        3 if !texts(table, &name)
            && table.schema().trace(&name).unwrap()[0].data_type() != DataType::Float64 =>
        {
            // Every third key has a partner.
            let keys = (-60..200).filter(|key| key % 3 == 0).collect::<Vec<i64>>();
            let new = batch(&[
                (name.clone(), keys.iter().copied().map(Some).collect()),
                (fresh.clone(), keys.iter().map(|key| Some(key * 2)).collect()),
            ]);
            let partner = |key: &Option<i64>| key.filter(|key| keys.contains(key)).map(|key| key * 2);
            let values = model.column(&name).iter().map(partner).collect();
            model.columns.push((fresh.clone(), values));
            (
                table.add_columns(NewColumns::joined(new, &name), &add).await.unwrap(),
                format!("join {fresh} by {name}"),
            )
        }
        4 | 5 if model.columns.len() > 2 => {
            model.columns.retain(|(own, _)| *own != name);
            (table.drop_columns(&[&name], &commit).await.unwrap(), format!("drop {name}"))
        }
        6 => {
            model.columns.iter_mut().find(|(own, _)| *own == name).unwrap().0 = fresh.clone();
            (table.rename_column(&name, &fresh, &commit).await.unwrap(), format!("rename {name} to {fresh}"))
        }
        7 if rows > 40 => {
            let text = format!("CAST({name} AS BIGINT) % 7 = 3");
            let gone = model.column(&name).iter().map(|number| number.is_some_and(|number| number % 7 == 3));
            let gone = gone.collect::<Vec<_>>();
            for (_, values) in &mut model.columns {
                let mut gone = gone.iter();
                values.retain(|_| !gone.next().unwrap());
            }
            let deleted = table.delete(&Expr::parse(&text).unwrap(), &commit).await.unwrap();
            (deleted.table, format!("delete where {text}"))
        }
        8 if table.schema().trace("c0").is_ok_and(|trace| trace[0].data_type() == DataType::Int64) => {
            // Rows that have one column only.
            let column = ("c0".to_string(), (100..120).map(Some).collect::<Vec<_>>());
            for (name, values) in &mut model.columns {
                values.extend((100..120).map(|number| (name == "c0").then_some(number)));
            }
            let append = WriteOptions { mode: WriteMode::Append, ..Default::default() };
            let more = batch(&[column]);
            (table.write_after(more.into(), append).await.unwrap(), "append".into())
        }
        _ => {
            let own = table.schema().trace(&name).unwrap()[0].data_type();
            let others = TYPES.iter().filter(|to| **to != own).collect::<Vec<_>>();
            let to = others[draw.random_range(0..others.len())];
            // A text of a float has a point, which no integer has.
            let to = if own == DataType::Utf8 { &DataType::Float64 } else { to };
            let to = if own == DataType::Float64 && *to == DataType::Utf8 { &DataType::Int64 } else { to };
            let cast = table.cast_column(&name, to, Misfits::Refuse, &add).await.unwrap();
            (cast, format!("cast {name} from {own} to {to}"))
        }
    }
}

#[test]
fn tables_have_what_a_model_says() {
    let oracle = Oracle::find("random changes of columns by the reference");
    let seed = demilance_tests::seed();
    for (sequence, version) in Version::ALL.into_iter().cycle().take(6).enumerate() {
        let mut draw = StdRng::seed_from_u64(seed.wrapping_add(sequence as u64));
        let place = tempfile::tempdir().unwrap();
        let path: PathBuf = place.path().join("table");
        let mut model = Model::default();
        for name in ["c0", "k"] {
            let values = (0..150).map(|row| (row % 11 != 5).then_some(row % 97));
            model.columns.push((name.into(), values.collect()));
        }
        let mut done = vec![];
        let last = ours::run(async {
            let options =
                WriteOptions { version: Some(version), max_rows_per_fragment: 60, ..Default::default() };
            let rows = batch(&model.columns);
            let mut table = Table::write(Store::local(&path), rows.into(), options).await.unwrap();
            for number in 1..=STEPS {
                let (next, what) = step(&mut draw, &table, &mut model, number).await;
                println!("{sequence}, {version}: {what}");
                done.push(what);
                model.check(&ours::scan_table(&next).await.unwrap());
                // As it is stored.
                table = Table::open(Store::local(&path), None).await.unwrap();
                assert_eq!(table.version(), next.version());
            }
            table.version()
        });
        let Some(oracle) = &oracle else { continue };
        let file = |version: u64| place.path().join(format!("{version}.arrow"));
        let jobs = (1..=last).map(
            |version| json!({"do": "read_table", "path": path, "version": version, "to": file(version)}),
        );
        for (result, version) in oracle.run(&jobs.collect::<Vec<_>>()).into_iter().zip(1..) {
            result.unwrap_or_else(|error| panic!("{done:?}, version {version}: {error}"));
            let (schema, batches) = stream::read(&file(version));
            let expected = same::whole(&schema, &batches).unwrap();
            let outcome = ours::run(async {
                let table = Table::open(Store::local(&path), Some(version)).await.unwrap();
                let rows = (0..table.rows()).step_by(5).collect::<Vec<_>>();
                ours::compare_table(&table, &expected, &rows).await
            });
            outcome.unwrap_or_else(|error| panic!("{done:?}, version {version}: {error}"));
        }
    }
}
