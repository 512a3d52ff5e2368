//! What a version holds, as we and as the reference read it.

use std::collections::BTreeMap;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use futures::TryStreamExt;
use lance_table::{Expr, RowColumn, ScanOptions, Table, TableError};
use serde_json::{Value as Json, json};

use super::predicate::Predicate;
use super::value::{self, Value};
use super::{History, Row, ours};
use crate::oracle::Session;
use crate::{same, stream};

/// What is read besides all rows.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Positions of rows.
    pub rows: Vec<u64>,
    pub filter: Predicate,
    /// Whether rows have stable ids.
    pub stable: bool,
}

/// What was read.
#[derive(Debug)]
pub struct Seen {
    pub version: u64,
    pub schema: SchemaRef,
    pub rows: Vec<Row>,
    pub taken: Vec<Vec<Value>>,
    pub filtered: Vec<Vec<Value>>,
    /// How many rows there are, and how many pass the filter.
    pub counts: [u64; 2],
    pub config: BTreeMap<String, String>,
    pub versions: Vec<u64>,
}

const LINEAGE: [RowColumn; 3] = [RowColumn::Id, RowColumn::CreatedAt, RowColumn::UpdatedAt];

impl Seen {
    /// What we read of the latest version of `history`, or of another.
    pub async fn ours(history: &History, version: Option<u64>, asked: &Asked) -> Result<Self, TableError> {
        let table = ours::open(history, version).await?;
        let schema = table.arrow_schema();
        let mut columns = schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<String>>();
        if asked.stable {
            columns.extend(LINEAGE.map(|column| column.name().to_string()));
        }
        let filter = Expr::parse(&asked.filter.to_string())?;
        let whole = ScanOptions { columns: Some(columns), ..Default::default() };
        let some = ScanOptions { filter: Some(filter.clone()), ..Default::default() };
        let versions = table.versions().await?;
        Ok(Self {
            version: table.version(),
            rows: rows(&scan(&table, whole).await?, schema.fields().len()),
            taken: value::rows(&[table.take(&asked.rows, None, false).await?]),
            filtered: value::rows(&scan(&table, some).await?),
            counts: [table.rows(), table.count(&filter).await?],
            config: table.manifest().message.config.clone().into_iter().collect(),
            versions: versions.into_iter().map(|version| version.version).collect(),
            schema,
        })
    }

    /// What the reference reads. `place` is for what it hands over.
    pub fn theirs(
        session: &mut Session,
        history: &History,
        version: Option<u64>,
        asked: &Asked,
        place: &Path,
    ) -> Result<Self, String> {
        let to = |what: &str| place.join(format!("look-{what}.arrow"));
        let told = session.ask(&json!({
            "do": "look", "path": history.path, "branch": history.branch, "version": version,
            "rows": asked.rows, "where": asked.filter.to_string(), "lineage": asked.stable,
            "whole": to("whole"), "taken": to("taken"), "filtered": to("filtered"),
        }))?;
        let (schema, whole) = stream::try_read(&to("whole"))?;
        let columns = schema.fields().len() - if asked.stable { LINEAGE.len() } else { 0 };
        let batches = |what: &str| stream::try_read(&to(what)).map(|(_, batches)| value::rows(&batches));
        let number = |json: &Json| json.as_u64().unwrap();
        let config = told["config"].as_object().unwrap().iter();
        Ok(Self {
            version: number(&told["version"]),
            rows: rows(&whole, columns),
            taken: batches("taken")?,
            filtered: batches("filtered")?,
            counts: [number(&told["counts"][0]), number(&told["counts"][1])],
            config: config.map(|(key, value)| (key.clone(), value.as_str().unwrap().into())).collect(),
            versions: told["versions"].as_array().unwrap().iter().map(number).collect(),
            schema: std::sync::Arc::new(Schema::new(schema.fields()[..columns].to_vec())),
        })
    }

    /// What differs from `other`, which is ours, in whatever order rows came to lie.
    pub fn check(&self, other: &Self) -> Result<(), String> {
        same::check_schema(&self.schema, &other.schema)?;
        equal("version", &self.version, &other.version)?;
        equal("versions", &self.versions, &other.versions)?;
        equal("config", &self.config, &other.config)?;
        equal("counts", &self.counts, &other.counts)?;
        equal_rows("rows", &self.rows, &other.rows)?;
        equal_rows("rows taken", &self.taken, &other.taken)?;
        equal_rows("rows that pass", &self.filtered, &other.filtered)
    }
}

async fn scan(table: &Table, options: ScanOptions) -> Result<Vec<RecordBatch>, TableError> {
    table.scan(options)?.try_collect().await
}

/// The rows of `batches`, of which the columns from `columns` on are the lineage.
fn rows(batches: &[RecordBatch], columns: usize) -> Vec<Row> {
    let row = |mut values: Vec<Value>| {
        let lineage = values.split_off(columns);
        let number = |at: usize| match lineage.get(at) {
            Some(Value::Int(number)) => Some(*number as u64),
            _ => None,
        };
        let [created, updated] = [1, 2].map(|at| number(at).unwrap_or_default());
        Row { id: number(0), values, created, updated }
    };
    value::rows(batches).into_iter().map(row).collect()
}

/// What is wrong if `actual` is not as expected.
pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, actual: &T, expected: &T) -> Result<(), String> {
    match actual == expected {
        true => Ok(()),
        false => Err(format!("{what}: {actual:?} instead of {expected:?}")),
    }
}

/// The first row that is not as expected.
pub fn equal_rows<T: PartialEq + std::fmt::Debug>(
    what: &str,
    actual: &[T],
    expected: &[T],
) -> Result<(), String> {
    if let Some(at) = actual.iter().zip(expected).position(|(actual, expected)| actual != expected) {
        return Err(format!(
            "{what}: {at} of {} is {:?} instead of {:?}",
            expected.len(),
            actual[at],
            expected[at]
        ));
    }
    equal(&format!("how many {what}"), &actual.len(), &expected.len())
}
