//! CSV with a header line. Types are inferred from the first rows; an empty cell is null.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::Format;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::progress::Watched;
use super::sample::{Counted, ROWS};
use super::{Batches, Look, Progress};
use crate::{retype, zones};

pub(super) fn look(path: &Path) -> Result<Look> {
    let (file, bytes) = Counted::new(File::open(path)?);
    let (schema, rows) = Format::default().with_header(true).infer_schema(file, Some(ROWS))?;
    if schema.fields().is_empty() {
        bail!("no header line");
    }
    // A column without any value has no type of its own; text holds whatever comes later.
    let fields: Vec<_> = schema.fields().iter().map(text_if_unknown).collect();
    Ok(Look { schema: Schema::new(fields), row_bytes: bytes.get().checked_div(rows as u64), rows: None })
}

/// Reads the columns, which are those of `header`, in its types.
pub(super) fn read(
    path: &Path,
    header: &Schema,
    batch_rows: usize,
    progress: Progress,
) -> Result<Batches, ArrowError> {
    let fields = header.fields().iter().map(|field| {
        // Whether nulls are allowed is checked against the target, where the message can name the field.
        Arc::new(field.as_ref().clone().with_nullable(true))
    });
    let schema = Arc::new(retype::schema(&Schema::new(fields.collect::<Vec<_>>()), zones::in_utc));
    let names: Vec<String> = header.fields().iter().map(|field| field.name().clone()).collect();
    let file = BufReader::new(Watched::new(File::open(path)?, progress));
    let reader =
        ReaderBuilder::new(schema).with_header(true).with_batch_size(batch_rows).build_buffered(file)?;
    Ok(Box::new(reader.map(move |batch| batch.map_err(|error| name_column(error, &names)))))
}

fn text_if_unknown(field: &Arc<Field>) -> Arc<Field> {
    if field.data_type() == &DataType::Null {
        Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8))
    } else {
        Arc::clone(field)
    }
}

/// The reader knows columns by number only.
fn name_column(error: ArrowError, names: &[String]) -> ArrowError {
    let text = match &error {
        ArrowError::ParseError(text) | ArrowError::CsvError(text) => text,
        _ => return error,
    };
    let number = text.split("column ").nth(1).and_then(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().ok()
    });
    match number.and_then(|number| names.get(number)) {
        Some(name) => ArrowError::ParseError(format!(
            "field {name:?}: {text} (types are inferred from the first {ROWS} rows)"
        )),
        None => error,
    }
}
