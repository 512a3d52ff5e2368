//! Filters mean the same here and in the reference: generated ones over a table of every scalar type.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, TimeUnit};
use demilance_tests::draw::Draw;
use demilance_tests::legacy::fit;
use demilance_tests::oracle::Oracle;
use demilance_tests::{ours, seed};
use futures::TryStreamExt;
use lance_io::Store;
use lance_table::{Expr, ScanOptions, Table, Version, WriteOptions};
use serde_json::json;

const ROWS: usize = 400;
const FILTERS: usize = 400;

/// What is refused here on purpose, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("overflow", "the reference wraps around, and answers wrongly"),
    (
        "cannot be compared",
        "the reference finds something that both sides can be cast to, such as days of dates",
    ),
];

/// A column that has -0, which the reference takes for 0 only beside literals.
const ZEROS: &str = "zeros";

/// A column: its name, its type, what its values are cast from, and literals that the reference takes for it.
struct Column {
    name: &'static str,
    data_type: DataType,
    values: &'static [&'static str],
    literals: &'static [&'static str],
}

fn columns() -> Vec<Column> {
    use DataType as T;
    let column = |name, data_type, values, literals| Column { name, data_type, values, literals };
    let small: &[&str] = &["0", "1", "2", "3", "7", "100"];
    let signed: &[&str] = &["0", "1", "2", "-1", "-7", "100"];
    let floats: &[&str] = &["0", "1", "2.5", "-1.5", "0.1", "NaN", "inf", "-inf", "100"];
    let numbers: &[&str] = &["0", "1", "-0.0", "2.5", "-1.5", "7", "-1", "1e2"];
    let dates: &[&str] = &["1969-12-31", "1970-01-01", "2020-02-29", "2026-01-01"];
    let days: &[&str] = &["DATE '1969-12-31'", "DATE '2020-02-29'", "DATE '2026-01-01'"];
    let times: &[&str] = &["1969-12-31 23:59:59", "2020-02-29 12:30:00", "2026-01-01 00:00:00"];
    let stamps: &[&str] = &[
        "TIMESTAMP '1969-12-31 23:59:59'",
        "TIMESTAMP '2020-02-29 12:30:00'",
        "TIMESTAMP '2021-01-01 00:00:00'",
    ];
    let texts: &[&str] = &["", "a", "A", "ab", "abc", "b%", "äö", "2020-02-29", "a_c", "\\"];
    let quoted: &[&str] = &["''", "'a'", "'A'", "\"ab\"", "'b%'", "'äö'", "'zz'", "'it''s'"];
    let bytes: &[&str] = &["X''", "X'61'", "X'6162'", "X'ff'"];
    let stamp = |unit, zone: Option<&str>| T::Timestamp(unit, zone.map(Arc::from));
    vec![
        column("i8", T::Int8, &["-128", "127", "0", "1", "2", "-7"], &["-128", "127", "0", "1"]),
        column("i16", T::Int16, signed, signed),
        column("i32", T::Int32, &["-2147483648", "2147483647", "0", "1", "2", "-7"], signed),
        column(
            "i64",
            T::Int64,
            &["9223372036854775807", "0", "1", "9007199254740993"],
            &["9007199254740992", "9007199254740993", "0", "1"],
        ),
        column("u8", T::UInt8, small, small),
        column("u16", T::UInt16, &["0", "1", "65535", "7"], &["0", "1", "65535"]),
        column("u32", T::UInt32, &["0", "1", "4294967295", "7"], &["0", "4294967295", "7"]),
        column(
            "u64",
            T::UInt64,
            &["0", "1", "18446744073709551615", "7"],
            &["0", "1", "18446744073709551615"],
        ),
        column("f16", T::Float16, floats, numbers),
        column("f32", T::Float32, floats, numbers),
        column("f64", T::Float64, floats, numbers),
        column(ZEROS, T::Float32, &["0", "-0", "1", "-1"], numbers),
        column("b", T::Boolean, &["true", "false"], &["true", "false"]),
        column("s", T::Utf8, texts, quoted),
        column("ls", T::LargeUtf8, texts, quoted),
        column("dict", T::Dictionary(Box::new(T::Int16), Box::new(T::Utf8)), texts, quoted),
        column("bin", T::Binary, texts, bytes),
        column("lbin", T::LargeBinary, texts, bytes),
        column("d32", T::Date32, dates, days),
        column("d64", T::Date64, dates, days),
        column("ts_s", stamp(TimeUnit::Second, None), times, stamps),
        column("ts_ms", stamp(TimeUnit::Millisecond, None), times, stamps),
        column("ts", stamp(TimeUnit::Microsecond, None), times, stamps),
        column("ts_ns", stamp(TimeUnit::Nanosecond, None), times, stamps),
        column("tz", stamp(TimeUnit::Microsecond, Some("UTC")), times, stamps),
        column("t32", T::Time32(TimeUnit::Second), &["00:00:00", "12:30:00"], &[]),
        column("t64", T::Time64(TimeUnit::Nanosecond), &["00:00:00", "12:30:00"], &[]),
        column(
            "dec",
            T::Decimal128(12, 2),
            &["0", "1", "-1.25", "2.5", "9999999999.99", "7"],
            &["0", "1", "7", "-7"],
        ),
        column("dec256", T::Decimal256(45, 3), &["0", "1", "-1.25", "2.5", "7"], &["0", "1", "7"]),
        column("Capital", T::Int32, small, small),
        column("with space", T::Int32, small, small),
    ]
}

impl Column {
    fn array(&self, draw: &mut Draw, rows: usize) -> ArrayRef {
        let texts = (0..rows).map(|_| (!draw.chance(20)).then(|| self.values[draw.below(self.values.len())]));
        let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
        let array = match &self.data_type {
            // By way of numbers, which need no table of time zones.
            DataType::Timestamp(unit, Some(_)) => {
                let naive = cast(&texts, &DataType::Timestamp(*unit, None)).unwrap();
                cast(&cast(&naive, &DataType::Int64).unwrap(), &self.data_type).unwrap()
            }
            other => cast(&texts, other).unwrap(),
        };
        assert_eq!(array.null_count(), texts.null_count(), "{}", self.name);
        array
    }

    /// Its name as it is written.
    fn text(&self) -> String {
        if self.name.contains(' ') { format!("`{}`", self.name) } else { self.name.into() }
    }
}

fn nested(draw: &mut Draw, rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let nulls = |draw: &mut Draw| Some(NullBuffer::from_iter((0..rows).map(|_| !draw.chance(25))));
    let column = |draw: &mut Draw, name: &str| {
        columns().into_iter().find(|column| column.name == name).unwrap().array(draw, rows)
    };
    let z = column(draw, "s");
    let inner = StructArray::new(vec![Field::new("z", DataType::Utf8, true)].into(), vec![z], nulls(draw));
    let x = column(draw, "i16");
    let fields =
        vec![Field::new("x", DataType::Int16, true), Field::new("y", inner.data_type().clone(), true)];
    let outer = StructArray::new(fields.into(), vec![x, Arc::new(inner)], nulls(draw));
    let lists = (0..rows).map(|_| {
        let len = draw.below(4);
        (!draw.chance(25))
            .then(|| (0..len).map(|item| (item != 1).then_some(item as i32)).collect::<Vec<_>>())
    });
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    vec![("st", Arc::new(outer)), ("l", Arc::new(lists))]
}

/// Draws filters.
struct Filters {
    draw: Draw,
    columns: Vec<Column>,
}

impl Filters {
    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.draw.below(texts.len())]
    }

    fn column(&mut self) -> usize {
        self.draw.below(self.columns.len())
    }

    fn among(&mut self, wanted: impl Fn(&DataType) -> bool) -> usize {
        let found: Vec<_> =
            (0..self.columns.len()).filter(|index| wanted(&self.columns[*index].data_type)).collect();
        found[self.draw.below(found.len())]
    }

    fn number(&mut self) -> usize {
        let found: Vec<_> = (0..self.columns.len())
            .filter(|index| self.columns[*index].data_type.is_numeric() && self.columns[*index].name != ZEROS)
            .collect();
        found[self.draw.below(found.len())]
    }

    fn literal(&mut self, column: usize) -> Option<&'static str> {
        let literals = self.columns[column].literals;
        (!literals.is_empty()).then(|| literals[self.draw.below(literals.len())])
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth > 0 {
            let (one, other) = (self.condition(depth - 1), self.condition(depth - 1));
            return match self.draw.below(6) {
                0 => format!("NOT ({one})"),
                1 => format!("({one}) IS {}", self.pick(&["TRUE", "NOT TRUE", "FALSE", "NOT FALSE"])),
                2 | 3 => format!("({one}) AND ({other})"),
                _ => format!("({one}) OR ({other})"),
            };
        }
        self.leaf()
    }

    fn leaf(&mut self) -> String {
        let column = self.column();
        let name = self.columns[column].text();
        let op = self.pick(&["=", "<>", "!=", "<", "<=", ">", ">="]);
        match self.draw.below(16) {
            0..=4 => match self.literal(column) {
                Some(literal) if self.draw.chance(80) => format!("{name} {op} {literal}"),
                Some(literal) => format!("{literal} {op} {name}"),
                None => format!("{name} IS NOT NULL"),
            },
            5 => {
                let list = (0..3).filter_map(|_| self.literal(column)).collect::<Vec<_>>().join(", ");
                let not = self.pick(&["", "NOT "]);
                let null = self.pick(&["", "", ", NULL"]);
                if list.is_empty() {
                    format!("{name} IS NULL")
                } else {
                    format!("{name} {not}IN ({list}{null})")
                }
            }
            6 => match (self.literal(column), self.literal(column)) {
                (Some(low), Some(high)) => {
                    format!("{name} {}BETWEEN {low} AND {high}", self.pick(&["", "NOT "]))
                }
                _ => format!("{name} IS NULL"),
            },
            7 => format!("{name} IS {}NULL", self.pick(&["", "NOT "])),
            8 => {
                let other = self.column();
                let (one, other) = (&self.columns[column], &self.columns[other]);
                // Beside integers, the reference takes halves for 65535 and infinity alike.
                let halves = [one, other].map(|side| side.data_type == DataType::Float16);
                if [one.name, other.name].contains(&ZEROS) || halves[0] != halves[1] {
                    return format!("{} IS NULL", one.text());
                }
                format!("{name} {op} {}", other.text())
            }
            9 => {
                let text = self.among(|kind| matches!(kind, DataType::Utf8 | DataType::LargeUtf8));
                let name = self.columns[text].text();
                let pattern =
                    self.pick(&["'a%'", "'%b%'", "'_'", "'a_c'", "'a\\_c'", "'%\\%'", "''", "'Ä_'", "NULL"]);
                format!("{name} {}{} {pattern}", self.pick(&["", "NOT "]), self.pick(&["LIKE", "ILIKE"]))
            }
            10 | 11 => {
                let one = self.number();
                let other = self.number();
                let (one, other) = (self.columns[one].text(), self.columns[other].text());
                // By division of the largest integers the reference makes decimals.
                let whole = [&one, &other].iter().any(|name| *name == "u64");
                let sign = self.pick(if whole { &["+", "-", "*", "%"] } else { &["+", "-", "*", "/", "%"] });
                // With decimals, it computes in as few bits as the float has.
                let rounded = [&one, &other].iter().any(|name| name.starts_with("dec"))
                    && [&one, &other].iter().any(|name| ["f16", "f32"].contains(&name.as_str()));
                let other = if rounded || self.draw.chance(50) {
                    self.pick(&["1", "2", "3", "-2", "0.5"]).into()
                } else {
                    other
                };
                format!("{one} {sign} {other} {op} {}", self.pick(&["0", "1", "2", "-1", "2.5"]))
            }
            12 => {
                let text = self.among(|kind| matches!(kind, DataType::Utf8 | DataType::LargeUtf8));
                let name = self.columns[text].text();
                match self.draw.below(6) {
                    0 => format!("length({name}) {op} {}", self.pick(&["0", "1", "2"])),
                    1 => format!("lower({name}) {op} 'ab'"),
                    2 => format!("upper({name}) {op} 'ÄÖ'"),
                    3 => format!(
                        "{}({name}, {})",
                        self.pick(&["starts_with", "ends_with", "contains"]),
                        self.pick(&["'a'", "'b'", "''", "ls"])
                    ),
                    4 => format!("{name} || 'x' {op} 'ax'"),
                    _ => format!("coalesce({name}, 'none') {op} 'b'"),
                }
            }
            13 => {
                let cast = self.pick(&["BIGINT", "DOUBLE", "STRING", "DATE", "INT UNSIGNED", "FLOAT"]);
                // For the reference an empty text is the decimal 0.
                let number = self.columns[column].data_type.is_numeric();
                let cast = if number && self.draw.chance(30) { "DECIMAL(20, 2)" } else { cast };
                format!("{}CAST({name} AS {cast}) IS NULL", self.pick(&["", "TRY_"]))
            }
            14 => match self.draw.below(5) {
                0 => format!("st.x {op} {}", self.pick(&["0", "1", "-7"])),
                1 => format!("st.y.z {op} {}", self.pick(&["'a'", "''", "s"])),
                2 => format!(
                    "{} IS {}NULL",
                    self.pick(&["st", "st.x", "st.y", "st.y.z", "l"]),
                    self.pick(&["", "NOT "])
                ),
                3 => format!("array_length(l) {op} {}", self.pick(&["0", "1", "2"])),
                _ => format!("st['y'].z LIKE {}", self.pick(&["'a%'", "'%b'"])),
            },
            _ => {
                let number = self.number();
                let name = self.columns[number].text();
                match self.draw.below(4) {
                    0 => format!("abs({name}) {op} 7"),
                    1 => format!("-{name} {op} 1"),
                    2 => format!("coalesce({name}, 1) {op} 1"),
                    _ => {
                        let time =
                            self.among(|kind| matches!(kind, DataType::Date32 | DataType::Timestamp(..)));
                        let name = self.columns[time].text();
                        // Of other years the reference has no nanoseconds, and passes no rows.
                        let year = self.pick(&["1969", "2020", "2021"]);
                        let part = self.pick(&["month", "day", "quarter", "doy", "dow"]);
                        match self.draw.below(2) {
                            0 => format!("date_part('year', {name}) {op} {year}"),
                            _ => format!("date_part('{part}', {name}) {op} {}", self.pick(&["0", "1", "2"])),
                        }
                    }
                }
            }
        }
    }
}

async fn make(path: &Path, version: Version, draw: &mut Draw) {
    let mut arrays =
        columns().iter().map(|column| (column.name, column.array(draw, ROWS))).collect::<Vec<_>>();
    arrays.extend(nested(draw, ROWS));
    let columns = arrays.into_iter().map(|(name, array)| (name, array, true));
    let batch = fit(RecordBatch::try_from_iter_with_nullable(columns).unwrap(), version);
    let options = WriteOptions { version: Some(version), max_rows_per_fragment: 150, ..Default::default() };
    Table::write(Store::local(path), vec![batch].into(), options).await.unwrap();
}

async fn passing(table: &Table, text: &str) -> Result<Vec<u64>, String> {
    let filter = Expr::parse(text).map_err(|error| error.to_string())?;
    let options = |filter| ScanOptions {
        columns: Some(vec![]),
        filter: Some(filter),
        with_row_id: true,
        ..Default::default()
    };
    let read = async |filter: &Expr| {
        let stream = table.scan(options(filter.clone()))?;
        let batches: Vec<_> = stream.try_collect().await?;
        let ids = batches.iter().map(|batch| batch["_rowid"].as_primitive::<UInt64Type>());
        Ok::<Vec<u64>, lance_table::TableError>(ids.flat_map(|ids| ids.values().to_vec()).collect())
    };
    read(&filter).await.map_err(|error| error.to_string())
}

#[test]
fn filters_mean_the_same() {
    let Some(oracle) = Oracle::find("filters in the reference") else { return };
    for (number, version) in Version::ALL.into_iter().enumerate() {
        compare(&oracle, version, seed().wrapping_add(number as u64));
    }
}

fn compare(oracle: &Oracle, version: Version, seed: u64) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("t.lance");
    let mut draw = Draw::new(seed);
    ours::run(make(&path, version, &mut draw));
    let mut filters = Filters { draw, columns: columns() };
    let filters = (0..FILTERS).map(|number| filters.condition(number % 3)).collect::<Vec<_>>();
    oracle.one(json!({"do": "delete", "path": path, "predicate": "i16 = 100"}));
    // What we print goes into transactions, where the reference finds it.
    let printed = filters.iter().map(|filter| Expr::parse(filter).unwrap().to_string()).collect::<Vec<_>>();
    let theirs = |filters| oracle.one(json!({"do": "filter_table", "path": path, "filters": filters}));
    let (theirs, of_printed) = (theirs(&filters), theirs(&printed));
    let (mut wrong, mut counts) = (vec![], BTreeMap::new());
    for ((filter, printed), theirs) in filters
        .iter()
        .zip(&printed)
        .zip(theirs.as_array().unwrap().iter().zip(of_printed.as_array().unwrap()))
    {
        if theirs.0["ok"] != theirs.1["ok"] {
            wrong.push(format!("{filter} printed as {printed}: {}, not {}", theirs.1, theirs.0));
        }
    }
    ours::run(async {
        let table = Table::open(Store::local(&path), None).await.unwrap();
        for (filter, theirs) in filters.iter().zip(theirs.as_array().unwrap()) {
            let ours = passing(&table, filter).await;
            let kind = match (&ours, theirs["ok"].as_array()) {
                (Ok(ours), Some(theirs)) => {
                    let theirs = theirs.iter().map(|id| id.as_u64().unwrap()).collect::<Vec<_>>();
                    if *ours != theirs {
                        wrong.push(format!("{filter}: {} rows here, {} there", ours.len(), theirs.len()));
                    }
                    "both"
                }
                (Err(error), Some(_)) if DIFFERENT.iter().any(|(what, _)| error.contains(what)) => "there",
                (Err(error), Some(_)) => {
                    wrong.push(format!("{filter}: refused: {error}"));
                    "there"
                }
                (Ok(_), None) => "here",
                (Err(_), None) => "none",
            };
            *counts.entry(kind).or_insert(0) += 1;
        }
    });
    println!("{counts:?}");
    assert!(counts["both"] > FILTERS * 3 / 4, "few filters mean something to both: {counts:?}");
    ours::none_wrong(wrong);
}
