//! The rows that were asked for, as a stream, whether from a table or from one file.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use demilance::file::{FileReader, OpenOptions as FileOptions, Schema};
use demilance::footer::Rows;
use demilance::table::{OpenOptions as TableOptions, ScanOptions, Table};
use demilance::{DecodeBudget, Expr};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};

use super::rows::RowList;
use crate::place::Place;
use crate::quantity;
use crate::which::WhichVersion;

/// Rows that are taken in one go: enough that few round trips are made, few enough that images fit.
const TAKE: usize = 512;

/// What to read.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    pub(super) path: &'a str,
    pub(super) columns: Option<&'a [String]>,
    pub(super) rows: Option<&'a RowList>,
    pub(super) filter: Option<&'a Expr>,
    pub(super) offset: u64,
    pub(super) limit: Option<u64>,
    pub(super) which: WhichVersion,
    pub(super) verify_checksums: bool,
    pub(super) budget: DecodeBudget,
    pub(super) with_row_id: bool,
}

/// Rows on their way.
pub(super) struct Reading {
    pub(super) schema: SchemaRef,
    pub(super) batches: BoxStream<'static, Result<RecordBatch>>,
    /// What the limit left out.
    pub(super) left: Left,
}

/// What a limit left out.
#[derive(Debug, Clone)]
pub(super) enum Left {
    /// So many rows.
    Rows(u64),
    /// What else passes a filter, which is found by this scan.
    Passing(Table, ScanOptions),
}

/// Which rows, once it is known how many there are.
enum Which {
    /// The `limit` rows from `offset` on.
    Window { offset: u64, limit: u64 },
    /// These, in this order.
    List(RowList),
}

impl Reading {
    /// Opens what `selection` names. Errors about it come now, not when the first row is read.
    pub(super) async fn start(selection: &Selection<'_>) -> Result<Self> {
        let Selection { which, verify_checksums, budget, .. } = selection;
        match Place::find(selection.path).await? {
            Place::Table(store) => {
                let options = TableOptions {
                    verify_checksums: *verify_checksums,
                    budget: *budget,
                    ..Default::default()
                };
                let table = which.open(store, options).await;
                let table = table.with_context(|| selection.path.to_string())?;
                Self::of_table(table, selection).await.with_context(|| selection.path.to_string())
            }
            Place::File(source) => {
                let path = selection.path;
                if which.is_given() {
                    bail!("{path}: is one file, only tables have versions");
                }
                if selection.with_row_id {
                    bail!("{path}: is one file, only tables have row ids");
                }
                if selection.filter.is_some() {
                    bail!("{path}: is one file, only tables can be filtered");
                }
                let options = FileOptions {
                    verify_checksums: *verify_checksums,
                    budget: *budget,
                    ..Default::default()
                };
                let file = FileReader::open_with(source, options).await?;
                Self::of_file(file, selection).await.with_context(|| selection.path.to_string())
            }
        }
    }

    async fn of_table(table: Table, selection: &Selection<'_>) -> Result<Self> {
        let columns = selection.columns.map(<[String]>::to_vec);
        let with_row_id = selection.with_row_id;
        // No rows have the schema of all rows.
        let schema = table.take(&[], columns.as_deref(), with_row_id).await?.schema();
        if let Some(filter) = selection.filter {
            let (offset, limit) = (selection.offset, selection.limit);
            let filter = Some(filter.clone());
            let options = ScanOptions { columns, filter, offset, limit, with_row_id, ..Default::default() };
            let batches = table.scan(options.clone())?.err_into().boxed();
            let offset = offset.saturating_add(limit.unwrap_or(u64::MAX));
            let rest = ScanOptions { columns: Some(vec![]), offset, limit: Some(1), ..options };
            return Ok(Self { schema, batches, left: Left::Passing(table, rest) });
        }
        let (which, left) = which(selection, table.rows())?;
        let batches = match which {
            Which::Window { offset, limit } => {
                let options =
                    ScanOptions { columns, offset, limit: Some(limit), with_row_id, ..Default::default() };
                table.scan(options)?.err_into().boxed()
            }
            Which::List(rows) => {
                let table = Arc::new(table);
                chunks(rows)
                    .then(move |rows| {
                        let (table, columns) = (Arc::clone(&table), columns.clone());
                        async move { Ok(table.take(&rows, columns.as_deref(), with_row_id).await?) }
                    })
                    .boxed()
            }
        };
        Ok(Self { schema, batches, left: Left::Rows(left) })
    }

    async fn of_file(file: FileReader, selection: &Selection<'_>) -> Result<Self> {
        let (which, left) = which(selection, file.rows())?;
        let projection = match selection.columns {
            Some(columns) => file.schema().project(columns)?,
            None => file.schema().clone(),
        };
        let schema = Arc::new(projection.to_arrow());
        let batches = match which {
            Which::Window { offset, limit } => scan_file(&file, &projection, offset, limit)?,
            Which::List(rows) => {
                let (file, projection) = (Arc::new(file), Arc::new(projection));
                chunks(rows)
                    .then(move |rows| {
                        let (file, projection) = (Arc::clone(&file), Arc::clone(&projection));
                        async move { Ok(file.take(&rows, &projection).await?) }
                    })
                    .boxed()
            }
        };
        Ok(Self { schema, batches, left: Left::Rows(left) })
    }
}

impl Left {
    /// What is left, for people; nothing if nothing is.
    pub(super) async fn text(self) -> Result<Option<String>> {
        match self {
            Self::Rows(0) => Ok(None),
            Self::Rows(rows) => Ok(Some(quantity::of(rows, "more row"))),
            Self::Passing(table, rest) => {
                let more = table.scan(rest)?.try_next().await?;
                Ok(more.map(|_| "more rows".to_string()))
            }
        }
    }
}

fn scan_file(
    file: &FileReader,
    projection: &Schema,
    offset: u64,
    limit: u64,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let options = demilance::file::ScanOptions {
        projection: Some(projection.clone()),
        rows: Some(Rows::range(offset..offset + limit)),
        ..Default::default()
    };
    Ok(file.scan(options)?.err_into().boxed())
}

/// Which of `total` rows are read, and how many more there are.
fn which(selection: &Selection<'_>, total: u64) -> Result<(Which, u64)> {
    if let Some(list) = selection.rows {
        if let Some(row) = list.max().filter(|row| *row >= total) {
            let path = selection.path;
            bail!(
                "{path}: there is no row {row}, rows count from 0 and there are {}",
                quantity::count(total)
            );
        }
        let window = list.window(selection.offset, selection.limit);
        let left = list.len() - window.len() - selection.offset.min(list.len());
        return Ok((Which::List(window), left));
    }
    let offset = selection.offset.min(total);
    let limit = selection.limit.unwrap_or(u64::MAX).min(total - offset);
    Ok((Which::Window { offset, limit }, total - offset - limit))
}

/// The rows of a list, a few at a time.
fn chunks(rows: RowList) -> impl futures::Stream<Item = Vec<u64>> + Send + 'static {
    stream::unfold((rows, 0u64), |(rows, done)| async move {
        let part = rows.window(done, Some(TAKE as u64)).iter().collect::<Vec<_>>();
        let next = done + part.len() as u64;
        (!part.is_empty()).then_some((part, (rows, next)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(rows: Option<&RowList>, offset: u64, limit: Option<u64>) -> Selection<'_> {
        Selection {
            path: "t",
            columns: None,
            rows,
            filter: None,
            offset,
            limit,
            which: WhichVersion::default(),
            verify_checksums: false,
            budget: DecodeBudget::default(),
            with_row_id: false,
        }
    }

    #[test]
    fn windows_stay_inside() {
        let window = |offset, limit| match which(&selection(None, offset, limit), 10).unwrap() {
            (Which::Window { offset, limit }, left) => (offset, limit, left),
            (Which::List(_), _) => panic!("a list"),
        };
        assert_eq!(window(0, None), (0, 10, 0));
        assert_eq!(window(3, Some(4)), (3, 4, 3));
        assert_eq!(window(30, Some(4)), (10, 0, 0));
    }

    #[test]
    fn rows_must_exist() {
        let list: RowList = "3,9,10".parse().unwrap();
        let error = which(&selection(Some(&list), 0, None), 10).err().unwrap().to_string();
        assert!(error.starts_with("t: there is no row 10"), "{error}");
        let (_, left) = which(&selection(Some(&list), 1, Some(1)), 11).unwrap();
        assert_eq!(left, 1);
    }

    #[test]
    fn long_lists_come_in_chunks() {
        let list: RowList = "0-1199,5".parse().unwrap();
        let rows = list.len();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let chunks: Vec<_> = runtime.block_on(chunks(list).collect());
        assert_eq!(chunks.iter().map(Vec::len).collect::<Vec<_>>(), [512, 512, 177]);
        assert_eq!(chunks.concat().len() as u64, rows);
    }
}
