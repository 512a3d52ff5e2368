//! Rows as JSON lines and as CSV.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_json::WriterBuilder;
use arrow_json::writer::LineDelimited;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::{Sink, maps};

/// One JSON object a row; nulls are written, binary values are hexadecimal. Maps are objects if their keys are texts,
/// else lists of entries.
pub(super) struct Json<W: Write> {
    writer: arrow_json::Writer<W, LineDelimited>,
}

impl<W: Write> Json<W> {
    pub(super) fn new(out: W) -> Self {
        Self { writer: builder().build(out) }
    }
}

impl<W: Write> Sink for Json<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Ok(self.writer.write(batch)?)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.writer.finish()?;
        Ok(self.writer.into_inner().flush()?)
    }
}

/// A header and one line a row; a nested value is JSON text in its cell, a null an empty cell.
pub(super) struct Csv<W: Write> {
    writer: arrow_csv::Writer<W>,
    /// The schema of the lines, where nested columns are texts.
    flat: SchemaRef,
}

impl<W: Write> Csv<W> {
    pub(super) fn new(out: W, schema: &Schema) -> Result<Self> {
        let fields = schema.fields().iter().map(|field| {
            if needs_json(field.data_type()) {
                Arc::new(Field::new(field.name(), DataType::Utf8, true))
            } else {
                Arc::clone(field)
            }
        });
        let flat = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let mut writer = arrow_csv::WriterBuilder::new().with_header(true).build(out);
        // So that the header is there even without rows.
        writer.write(&RecordBatch::new_empty(Arc::clone(&flat)))?;
        Ok(Self { writer, flat })
    }
}

impl<W: Write> Sink for Csv<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().map(|column| {
            if needs_json(column.data_type()) { json_texts(column) } else { Ok(Arc::clone(column)) }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        Ok(self.writer.write(&RecordBatch::try_new(Arc::clone(&self.flat), columns)?)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(self.writer.into_inner().flush()?)
    }
}

fn builder() -> WriterBuilder {
    WriterBuilder::new().with_explicit_nulls(true).with_encoder_factory(maps::entries())
}

fn needs_json(data_type: &DataType) -> bool {
    data_type.is_nested()
}

/// Every value of a nested column as JSON text.
fn json_texts(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    const BEFORE: &str = "{\"v\":";
    let field = Field::new("v", column.data_type().clone(), true);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::clone(column)])?;
    let mut writer = builder().build::<_, LineDelimited>(Vec::new());
    writer.write(&batch)?;
    writer.finish()?;
    let lines = String::from_utf8(writer.into_inner())
        .map_err(|error| ArrowError::JsonError(format!("text is not UTF-8: {error}")))?;
    let texts = lines.lines().enumerate().map(|(row, line)| {
        if column.is_null(row) {
            return None;
        }
        line.strip_prefix(BEFORE)?.strip_suffix('}')
    });
    Ok(Arc::new(texts.collect::<StringArray>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
    use arrow_array::types::Int32Type;
    use arrow_array::{Int64Array, ListArray};

    fn batch() -> RecordBatch {
        let lists = vec![Some(vec![Some(1), None]), None];
        RecordBatch::try_from_iter_with_nullable([
            ("n", Arc::new(Int64Array::from(vec![Some(7), None])) as ArrayRef, true),
            ("l", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)) as ArrayRef, true),
        ])
        .unwrap()
    }

    fn written(sink: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut bytes = Vec::new();
        sink(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn json_has_one_object_a_line() {
        let text = written(|out| {
            let mut json = Box::new(Json::new(out));
            json.write(&batch()).unwrap();
            json.finish().unwrap();
        });
        assert_eq!(text, "{\"n\":7,\"l\":[1,null]}\n{\"n\":null,\"l\":null}\n");
    }

    #[test]
    fn maps_of_other_keys_than_texts_are_lists_of_entries() {
        let mut numbers = MapBuilder::new(None, Int32Builder::new(), StringBuilder::new());
        let mut texts = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        numbers.keys().append_slice(&[1, 2]);
        numbers.values().append_option(Some("a"));
        numbers.values().append_null();
        texts.keys().append_value("k");
        texts.values().append_null();
        for valid in [true, false, true] {
            numbers.append(valid).unwrap();
            texts.append(valid).unwrap();
        }
        let columns: [ArrayRef; 2] = [Arc::new(numbers.finish()), Arc::new(texts.finish())];
        let batch = RecordBatch::try_from_iter_with_nullable(
            ["n", "t"].into_iter().zip(columns).map(|(name, column)| (name, column, true)),
        );
        let text = written(|out| {
            let mut json = Box::new(Json::new(out));
            json.write(&batch.unwrap()).unwrap();
            json.finish().unwrap();
        });
        let lines = [
            r#"{"n":[{"keys":1,"values":"a"},{"keys":2,"values":null}],"t":{"k":null}}"#,
            r#"{"n":null,"t":null}"#,
            r#"{"n":[],"t":{}}"#,
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn csv_holds_nested_values_as_json() {
        let text = written(|out| {
            let mut csv = Box::new(Csv::new(out, &batch().schema()).unwrap());
            csv.write(&batch()).unwrap();
            csv.finish().unwrap();
        });
        assert_eq!(text, "n,l\n7,\"[1,null]\"\n,\n");
    }

    #[test]
    fn csv_without_rows_has_its_header() {
        let text = written(|out| Box::new(Csv::new(out, &batch().schema()).unwrap()).finish().unwrap());
        assert_eq!(text, "n,l\n");
    }
}
