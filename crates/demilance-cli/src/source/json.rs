//! One JSON object a line. Types are inferred from the first rows; what is absent is null.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use arrow_json::ReaderBuilder;
use arrow_json::reader::infer_json_schema;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema};

use super::progress::Watched;
use super::sample::{Counted, ROWS};
use super::{Batches, Look, Progress};
use crate::{retype, zones};

pub(super) fn look(path: &Path) -> Result<Look> {
    let (file, bytes) = Counted::new(File::open(path)?);
    let (schema, rows) = infer_json_schema(BufReader::new(file), Some(ROWS))?;
    if schema.fields().is_empty() {
        bail!("no JSON object with a field in the first {ROWS} lines");
    }
    Ok(Look {
        schema: Schema::new(texts_if_unknown(schema.fields())),
        row_bytes: bytes.get().checked_div(rows as u64),
        rows: None,
    })
}

pub(super) fn read(
    path: &Path,
    target: &Schema,
    batch_rows: usize,
    progress: Progress,
) -> Result<Batches, ArrowError> {
    let file = BufReader::new(Watched::new(File::open(path)?, progress));
    // Strict: a field that the sample did not show is an error, not lost.
    let reader = ReaderBuilder::new(Arc::new(retype::schema(target, zones::in_utc)))
        .with_strict_mode(true)
        .with_batch_size(batch_rows)
        .build(file)?;
    Ok(Box::new(reader.map(|batch| batch.map_err(say_where_types_come_from))))
}

fn say_where_types_come_from(error: ArrowError) -> ArrowError {
    match error {
        ArrowError::JsonError(text) => {
            ArrowError::JsonError(format!("{text} (types are inferred from the first {ROWS} rows)"))
        }
        other => other,
    }
}

/// A field that is null in all of the sample has no type; text is the likeliest.
fn texts_if_unknown(fields: &Fields) -> Fields {
    fields.iter().map(text_if_unknown).collect()
}

fn text_if_unknown(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Null => DataType::Utf8,
        DataType::Struct(fields) => DataType::Struct(texts_if_unknown(fields)),
        DataType::List(item) => DataType::List(text_if_unknown(item)),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
}
