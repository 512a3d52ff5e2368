//! Rows as an aligned table for people; see [`super::cell`] for how values are shortened.

use std::io::Write;

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use unicode_width::UnicodeWidthStr;

use super::Sink;
use super::cell::{cell, is_number};

/// Rows that are aligned with each other; a longer output is a sequence of tables.
const BLOCK: usize = 1000;

pub(super) struct Table<W> {
    out: W,
    schema: SchemaRef,
    block: Vec<Vec<String>>,
    /// Whether a block was printed, after which another needs no header if it is empty.
    printed: bool,
}

impl<W: Write> Table<W> {
    pub(super) fn new(out: W, schema: SchemaRef) -> Self {
        Self { out, schema, block: Vec::new(), printed: false }
    }

    fn print(&mut self) -> Result<()> {
        let fields = self.schema.fields();
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let right: Vec<bool> = fields.iter().map(|field| is_number(field.data_type())).collect();
        let mut widths: Vec<usize> = names.iter().map(|name| name.width()).collect();
        for row in &self.block {
            for (width, value) in widths.iter_mut().zip(row) {
                *width = (*width).max(value.width());
            }
        }
        line(&mut self.out, &names, &widths, &right)?;
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        line(&mut self.out, &rule, &widths, &right)?;
        for row in self.block.drain(..) {
            line(&mut self.out, &row, &widths, &right)?;
        }
        self.printed = true;
        Ok(())
    }
}

impl<W: Write> Sink for Table<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for row in 0..batch.num_rows() {
            self.block.push(batch.columns().iter().map(|column| cell(column.as_ref(), row)).collect());
            if self.block.len() == BLOCK {
                self.print()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if !self.printed || !self.block.is_empty() {
            self.print()?;
        }
        self.out.flush()?;
        Ok(())
    }
}

fn line(out: &mut impl Write, values: &[String], widths: &[usize], right: &[bool]) -> Result<()> {
    let mut text = String::new();
    for ((value, width), right) in values.iter().zip(widths).zip(right) {
        if !text.is_empty() {
            text.push_str("  ");
        }
        let padding = " ".repeat(width.saturating_sub(value.width()));
        if *right {
            text.push_str(&padding);
            text.push_str(value);
        } else {
            text.push_str(value);
            text.push_str(&padding);
        }
    }
    writeln!(out, "{}", text.trim_end())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow_array::{ArrayRef, Int64Array, StringArray};

    #[test]
    fn columns_are_aligned() {
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(Int64Array::from(vec![1, 100])) as ArrayRef),
            ("name", Arc::new(StringArray::from(vec!["é", "b"])) as ArrayRef),
        ])
        .unwrap();
        let mut bytes = Vec::new();
        let mut table = Box::new(Table::new(&mut bytes, batch.schema()));
        table.write(&batch).unwrap();
        table.finish().unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), "  n  name\n───  ────\n  1  é\n100  b\n");
    }
}
