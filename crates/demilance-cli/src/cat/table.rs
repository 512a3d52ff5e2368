//! Rows as an aligned table for people; see [`super::cell`] for how values are shortened.

use std::io::Write;

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use unicode_width::UnicodeWidthStr;

use super::Sink;
use super::cell::{cell, is_number};
use crate::quantity;

/// Rows that are aligned with each other; a longer output is a sequence of tables.
const BLOCK: usize = 1000;

pub(super) struct Table<W> {
    out: W,
    schema: SchemaRef,
    block: Vec<Vec<String>>,
    /// Where lines are cut; nowhere if there is none.
    width: Option<usize>,
    /// How many columns were printed.
    shown: usize,
    /// Whether a block was printed, after which another needs no header if it is empty.
    printed: bool,
}

impl<W: Write> Table<W> {
    /// Leaves out the last columns if all of them are wider than `width`, and names them at the end.
    pub(super) fn new(out: W, schema: SchemaRef, width: Option<usize>) -> Self {
        let shown = schema.fields().len();
        Self { out, schema, block: Vec::new(), width, shown, printed: false }
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
        // What one block has no room for is left out of the next ones too.
        self.shown = self.shown.min(fitting(&widths, self.width));
        widths.truncate(self.shown);
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
        let left: Vec<&str> =
            self.schema.fields().iter().skip(self.shown).map(|field| field.name().as_str()).collect();
        if !left.is_empty() {
            let columns = quantity::of(left.len() as u64, "more column");
            writeln!(self.out, "… {columns}: {} (--columns shows them)", left.join(", "))?;
        }
        self.out.flush()?;
        Ok(())
    }
}

/// How many columns of these widths fit into lines of `width`, but at least one.
fn fitting(widths: &[usize], width: Option<usize>) -> usize {
    let Some(width) = width else { return widths.len() };
    let ends = widths.iter().scan(0, |end, width| {
        *end += width + 2;
        Some(*end - 2)
    });
    ends.take_while(|end| *end <= width).count().max(1).min(widths.len())
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
        let mut table = Box::new(Table::new(&mut bytes, batch.schema(), None));
        table.write(&batch).unwrap();
        table.finish().unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), "  n  name\n───  ────\n  1  é\n100  b\n");
    }

    #[test]
    fn columns_that_do_not_fit_are_named() {
        let column = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let columns = [("a", column("12345")), ("b", column("123")), ("c", column("1"))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let (three, two) = ("12345  123  1\n", "12345  123\n… 1 more column: c (--columns shows them)\n");
        let one = "12345\n… 2 more columns: b, c (--columns shows them)\n";
        for (width, end) in [(13, three), (12, two), (10, two), (9, one), (1, one)] {
            let mut bytes = Vec::new();
            let mut table = Box::new(Table::new(&mut bytes, batch.schema(), Some(width)));
            table.write(&batch).unwrap();
            table.finish().unwrap();
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.ends_with(&format!("\n{end}")), "{width}: {text}");
        }
    }
}
