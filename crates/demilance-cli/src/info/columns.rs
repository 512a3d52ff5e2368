//! A line for every physical column, summed over the files of a table.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use demilance::file::describe::FileDescription;
use serde_json::{Value, json};

use crate::quantity;

/// Stands for columns of which the table has no field any more.
const DROPPED: &str = "(dropped)";

/// The columns by what they store, in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct Columns {
    columns: Vec<Column>,
    by_path: BTreeMap<String, usize>,
}

#[derive(Debug, Default)]
pub(super) struct Column {
    path: String,
    logical_type: String,
    rows: u64,
    pages: u64,
    bytes: u64,
    /// None as soon as it is not known for one file.
    arrow_bytes: Option<u64>,
    /// Whether `arrow_bytes` comes from some of the rows.
    estimated: bool,
    encodings: BTreeSet<String>,
}

impl Columns {
    /// Adds the columns of one file.
    pub(super) fn add(&mut self, file: &FileDescription) {
        for column in file.columns.iter().filter(|column| column.field.is_some()) {
            let next = self.columns.len();
            // A file keeps the columns that its table dropped.
            let path = if column.path.is_empty() { DROPPED } else { &column.path };
            let place = *self.by_path.entry(path.to_string()).or_insert(next);
            if place == next {
                self.columns.push(Column {
                    path: path.to_string(),
                    logical_type: column.logical_type.clone(),
                    arrow_bytes: Some(0),
                    ..Column::default()
                });
            }
            let Some(sum) = self.columns.get_mut(place) else { continue };
            sum.rows += file.rows;
            sum.pages += column.pages.len() as u64;
            sum.bytes += column.encoded_bytes;
            sum.arrow_bytes = sum.arrow_bytes.zip(column.arrow_bytes).map(|(a, b)| a + b);
            sum.encodings.extend(column.pages.iter().map(|page| page.encoding.to_string()));
        }
    }

    /// The column at `path`, if what its values take in memory does not follow from its type.
    pub(super) fn unknown(&mut self, path: &str) -> Option<&mut Column> {
        let place = *self.by_path.get(path)?;
        self.columns.get_mut(place).filter(|column| column.arrow_bytes.is_none())
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
                "estimated": column.estimated,
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
    /// How many bytes of the file a row takes on average; none without rows.
    pub(super) fn bytes_of_a_row(&self) -> Option<u64> {
        self.bytes.checked_div(self.rows)
    }

    /// Takes `bytes` of Arrow memory for `rows` rows as what all rows are like.
    pub(super) fn estimate(&mut self, bytes: u64, rows: u64) {
        let all = u128::from(bytes) * u128::from(self.rows);
        self.arrow_bytes = all.checked_div(u128::from(rows)).and_then(|bytes| u64::try_from(bytes).ok());
        self.estimated = self.arrow_bytes.is_some();
    }

    /// Bytes of Arrow memory for a byte of the file.
    fn ratio(&self) -> Option<f64> {
        let arrow = self.arrow_bytes?;
        // What is stored in the description of a page alone has no bytes, and no ratio.
        (self.bytes > 0).then(|| (arrow as f64 / self.bytes as f64 * 100.0).round() / 100.0)
    }

    fn line(&self) -> [String; 6] {
        let about = if self.estimated { "~" } else { "" };
        [
            self.path.clone(),
            self.logical_type.clone(),
            quantity::count(self.pages),
            quantity::bytes(self.bytes),
            self.ratio().map_or_else(|| "–".to_string(), |ratio| format!("{about}{ratio:.2}")),
            self.encodings.iter().cloned().collect::<Vec<_>>().join("; "),
        ]
    }
}

/// Seconds since 1970.
pub(super) fn time(time: SystemTime) -> Option<u64> {
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use demilance::file::Schema;
    use demilance::file::describe::ColumnDescription;
    use demilance::footer::Version;

    fn file(columns: &[(&str, u64, Option<u64>)]) -> FileDescription {
        let columns =
            columns.iter().enumerate().map(|(index, (path, bytes, arrow_bytes))| ColumnDescription {
                index,
                field: Some(7),
                path: (*path).into(),
                logical_type: String::new(),
                encoded_bytes: *bytes,
                arrow_bytes: *arrow_bytes,
                pages: vec![],
            });
        FileDescription {
            path: String::new(),
            size: 0,
            version: Version::default(),
            rows: 100,
            schema: Schema::default(),
            regions: vec![],
            columns: columns.collect(),
        }
    }

    #[test]
    fn files_are_summed_and_estimates_are_marked() {
        let mut columns = Columns::default();
        columns.add(&file(&[("a", 100, Some(400)), ("t", 50, None), ("", 9, None)]));
        columns.add(&file(&[("a", 100, Some(400)), ("t", 150, None)]));
        assert!(columns.unknown("a").is_none());
        let text = columns.unknown("t").unwrap();
        assert_eq!(text.bytes_of_a_row(), Some(1));
        text.estimate(30, 10);
        let found = columns.json();
        let ratios = found.iter().map(|column| (column["ratio"].as_f64(), &column["estimated"]));
        let (no, yes) = (Value::Bool(false), Value::Bool(true));
        assert_eq!(ratios.collect::<Vec<_>>(), [(Some(4.0), &no), (Some(3.0), &yes), (None, &no)]);
        assert!(columns.text().contains("~3.00"));
        assert!(columns.text().contains("(dropped)"));
    }
}
