//! A line for every physical column, summed over the files of a table.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use demilance::file::describe::FileDescription;
use serde_json::{Value, json};

use crate::quantity;

/// The columns by what they store, in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct Columns {
    columns: Vec<Column>,
    by_path: BTreeMap<String, usize>,
}

#[derive(Debug, Default)]
struct Column {
    path: String,
    logical_type: String,
    pages: u64,
    bytes: u64,
    /// None as soon as it is not known for one file.
    arrow_bytes: Option<u64>,
    encodings: BTreeSet<String>,
}

impl Columns {
    /// Adds the columns of one file.
    pub(super) fn add(&mut self, file: &FileDescription) {
        for column in file.columns.iter().filter(|column| column.field.is_some()) {
            let next = self.columns.len();
            let place = *self.by_path.entry(column.path.clone()).or_insert(next);
            if place == next {
                self.columns.push(Column {
                    path: column.path.clone(),
                    logical_type: column.logical_type.clone(),
                    arrow_bytes: Some(0),
                    ..Column::default()
                });
            }
            let Some(sum) = self.columns.get_mut(place) else { continue };
            sum.pages += column.pages.len() as u64;
            sum.bytes += column.encoded_bytes;
            sum.arrow_bytes = sum.arrow_bytes.zip(column.arrow_bytes).map(|(a, b)| a + b);
            sum.encodings.extend(column.pages.iter().map(|page| page.encoding.to_string()));
        }
    }

    pub(super) fn json(&self) -> Vec<Value> {
        let columns = self.columns.iter().map(|column| {
            json!({
                "name": column.path,
                "type": column.logical_type,
                "pages": column.pages,
                "bytes": column.bytes,
                "arrow_bytes": column.arrow_bytes,
                "ratio": column.ratio(),
                "encodings": column.encodings,
            })
        });
        columns.collect()
    }

    pub(super) fn text(&self) -> String {
        let mut lines = vec![["column", "type", "pages", "bytes", "ratio", "encodings"].map(String::from)];
        lines.extend(self.columns.iter().map(Column::line));
        let mut widths = [0; 6];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = cell.chars().count().max(*width);
            }
        }
        let [path, kind, pages, bytes, ratio, _] = widths;
        let lines = lines.iter().map(|[a, b, c, d, e, f]| {
            let line = format!("{a:path$}  {b:kind$}  {c:>pages$}  {d:>bytes$}  {e:>ratio$}  {f}");
            format!("{}\n", line.trim_end())
        });
        lines.collect()
    }
}

impl Column {
    /// Bytes of Arrow memory for a byte of the file.
    fn ratio(&self) -> Option<f64> {
        let arrow = self.arrow_bytes?;
        // What is stored in the description of a page alone has no bytes, and no ratio.
        (self.bytes > 0).then(|| (arrow as f64 / self.bytes as f64 * 100.0).round() / 100.0)
    }

    fn line(&self) -> [String; 6] {
        [
            self.path.clone(),
            self.logical_type.clone(),
            quantity::count(self.pages),
            quantity::bytes(self.bytes),
            self.ratio().map_or_else(|| "–".to_string(), |ratio| format!("{ratio:.2}")),
            self.encodings.iter().cloned().collect::<Vec<_>>().join("; "),
        ]
    }
}

/// Seconds since 1970.
pub(super) fn time(time: SystemTime) -> Option<u64> {
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}
