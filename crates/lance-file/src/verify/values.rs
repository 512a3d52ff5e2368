//! Decodes every page of every column.
//!
//! From version 2.1 on a page can be understood without the others, so each is read as if it were the only one
//! of its column: one that is broken does not hide the rest. Fields with several columns are read as a whole,
//! because the columns must agree about lists and nulls; where that fails their pages are read one by one too. In
//! version 2.0 pages of lists depend on each other, so there the parts are leaves, with all that is above them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lance_encoding::DecodeBudget;
use lance_encoding::FieldReader;
use lance_encoding::proto::PageLayout;
use lance_encoding::proto::page_layout::Layout;
use lance_footer::{Column, Container, Extent, FormatError, Page, Rows, Version};
use lance_io::ReadAt;
use prost::Message;

use super::container::{Survey, SurveyedColumn};
use super::problem::{Place, ProblemKind, Report, format_problem};
use super::rows::column_rows;
use super::targets::{Columns, Owner, Target};
use super::windows::{Failure, Reading, spans};
use crate::reader::fields::FieldCache;
use crate::{Field, LogicalType, Schema};

/// Reads everything.
pub(super) async fn check(
    source: &Arc<dyn ReadAt>,
    survey: &Survey,
    columns: &Columns,
    budget: DecodeBudget,
    live: Option<&Rows>,
    report: &mut Report<'_>,
) {
    for (schema, mapping) in &columns.read {
        for target in Columns::targets(schema, mapping, survey) {
            let due = target.field.column_owners(survey.version()).len();
            // Too few columns are told with the schema; what is there of such a field is not read.
            if target.owners.len() == due {
                Values { source, survey, mapping, budget, live, target: &target }.check(report).await;
            }
        }
    }
}

/// The values of one top-level field.
struct Values<'a> {
    source: &'a Arc<dyn ReadAt>,
    survey: &'a Survey,
    mapping: &'a HashMap<i32, u32>,
    budget: DecodeBudget,
    live: Option<&'a Rows>,
    target: &'a Target<'a>,
}

impl Values<'_> {
    async fn check(&self, report: &mut Report<'_>) {
        match self.target.owners.as_slice() {
            // Without pages there is still something to open, and that may be refused.
            [owner] if self.survey.version() > Version::V2_0 && self.has_pages(owner) => {
                self.pages(owner, self.target.field, true, report).await;
            }
            _ => self.whole(report).await,
        }
    }

    fn has_pages(&self, owner: &Owner<'_>) -> bool {
        self.survey.column(owner.column).is_some_and(|column| !column.survey.pages.is_empty())
    }

    /// Reads the rows of all columns together, then each column by itself if that fails.
    async fn whole(&self, report: &mut Report<'_>) {
        let owners = &self.target.owners;
        let legacy = self.survey.version() == Version::V2_0;
        let columns =
            owners.iter().map(|owner| self.survey.whole(owner.column).map(|column| stored(&column.pages)));
        let bytes = columns.collect::<Option<Vec<_>>>();
        let bytes = bytes.map(|bytes| bytes.into_iter().fold(0, u64::saturating_add));
        let (failures, sampled) = match bytes {
            // What is wrong with the metadata is told already.
            None => (vec![], true),
            Some(bytes) => {
                let spans = self.spans(bytes);
                let sampled = spans.iter().map(|rows| rows.end - rows.start).sum::<u64>() < self.rows();
                (self.rows_of(self.target.field, &spans, bytes, report).await, sampled)
            }
        };
        let mut broken: Vec<Range<u64>> = vec![];
        if (sampled || !failures.is_empty()) && owners.len() > 1 {
            // Maps are lists of structs here, so that they can be taken apart.
            let schema = Schema { fields: vec![as_lists(self.target.field)], ..Schema::default() };
            for owner in owners.iter().filter(|owner| owner.field.children.is_empty()) {
                let leaf = schema.project_ids(|id| id == owner.field.id);
                let [field] = leaf.fields.as_slice() else { continue };
                broken.extend(match legacy {
                    true => self.leaf(owner, field, report).await,
                    false => self.pages(owner, field, false, report).await,
                });
            }
        }
        for failure in failures {
            // What a broken page explains is not told again.
            if broken.iter().any(|rows| rows.start < failure.rows.end && failure.rows.start < rows.end) {
                continue;
            }
            let place = match owners.as_slice() {
                [owner] => self.place(owner, &failure.rows),
                _ => Place {
                    field: Some(self.target.field.name.clone()),
                    rows: some(&failure.rows),
                    ..Place::default()
                },
            };
            report.problem(place, failure.kind, failure.reason);
        }
    }

    /// Reads a leaf of version 2.0 with what is above it. Returns the rows that are broken.
    async fn leaf(&self, owner: &Owner<'_>, field: &Field, report: &mut Report<'_>) -> Vec<Range<u64>> {
        let bytes = self.survey.whole(owner.column).map_or(0, |column| stored(&column.pages));
        let failures = self.rows_of(field, &self.spans(bytes), 0, report).await;
        failures
            .into_iter()
            .map(|Failure { rows, kind, reason }| {
                let place = Place {
                    field: Some(owner.path.clone()),
                    column: Some(owner.column),
                    rows: Some(rows.clone()),
                    ..Place::default()
                };
                report.problem(place, kind, reason);
                rows
            })
            .collect()
    }

    /// Reads `spans` of `field`, which is this one or a part of it, from all of its columns.
    async fn rows_of(
        &self,
        field: &Field,
        spans: &[Range<u64>],
        bytes: u64,
        report: &mut Report<'_>,
    ) -> Vec<Failure> {
        let nothing =
            || Arc::new(Column { kind: lance_footer::ColumnKind::Values, pages: vec![], buffers: vec![] });
        let columns = self.survey.columns.iter().enumerate();
        let columns = columns.map(|(index, _)| self.survey.whole(index).unwrap_or_else(nothing)).collect();
        match self.open(field, self.mapping.clone(), columns, self.rows()) {
            Ok(reader) => {
                let owners = self.target.owners.iter();
                let mut columns = owners.filter_map(|owner| self.survey.whole(owner.column));
                let placed = columns.any(|column| column.pages.iter().any(|page| self.is_placed(page)));
                Reading::new(self.source, &reader, field, placed, self.budget)
                    .with_live(self.live, 0)
                    .read(spans, bytes, report)
                    .await
            }
            Err(error) => vec![Failure::new(0..self.rows(), format_problem(&error))],
        }
    }

    /// Opens `field` as readers do, from `columns` as they are mapped.
    fn open(
        &self,
        field: &Field,
        mapping: HashMap<i32, u32>,
        columns: Vec<Arc<Column>>,
        rows: u64,
    ) -> Result<Arc<dyn FieldReader>, FormatError> {
        let container = Container {
            size: self.survey.size,
            footer: self.survey.footer,
            global_buffers: vec![],
            column_metadata: vec![],
            descriptor: Bytes::new(),
            columns,
        };
        FieldCache::new(mapping, self.budget).open_one(field, &container, rows)
    }

    /// Reads the pages of a column, each by itself; `field` has no other column. Returns the rows that are broken.
    async fn pages(
        &self,
        owner: &Owner<'_>,
        field: &Field,
        counted: bool,
        report: &mut Report<'_>,
    ) -> Vec<Range<u64>> {
        let mut broken = vec![];
        let Some(column) = self.survey.column(owner.column) else { return broken };
        let Some(kind) = column.survey.kind else { return broken };
        let mut start = 0_u64;
        let mut said: Option<String> = None;
        for (number, page) in column.survey.pages.iter().enumerate() {
            let first = start;
            let rows = page.length / owner.slots;
            start = start.saturating_add(rows);
            let Some(page) = &page.page else {
                broken.push(first..start);
                continue;
            };
            let bytes = stored(std::slice::from_ref(page));
            let only = Column { kind, pages: vec![page.clone()], buffers: column.survey.buffers.clone() };
            let mapping = HashMap::from([(owner.field.id, 0)]);
            let failures = match self.open(field, mapping, vec![Arc::new(only)], rows) {
                Ok(reader) => {
                    let spans = spans(0..rows, bytes, self.survey.version());
                    let bytes = if counted { bytes } else { 0 };
                    let placed = self.is_placed(page);
                    Reading::new(self.source, &reader, field, placed, self.budget)
                        .with_live(self.live, first)
                        .read(&spans, bytes, report)
                        .await
                }
                Err(error) => vec![Failure::new(0..rows, format_problem(&error))],
            };
            for failure in failures {
                let rows = first.saturating_add(failure.rows.start)..first.saturating_add(failure.rows.end);
                broken.push(rows.clone());
                let reason = without_page(&failure.reason);
                // What is not supported is so in every page.
                if failure.kind == ProblemKind::Unsupported && said.as_ref() == Some(&reason) {
                    continue;
                }
                let place = Place {
                    field: Some(owner.path.clone()),
                    column: Some(owner.column),
                    page: Some(number),
                    rows: Some(rows),
                    bytes: span(&page.buffers).or(Some(column.metadata)),
                };
                report.problem(place, failure.kind, reason.clone());
                said = Some(reason);
            }
        }
        broken
    }

    /// Whether `page` says where each row is: those of wide values and of lists may.
    fn is_placed(&self, page: &Page) -> bool {
        if self.survey.version() == Version::V2_0 {
            return false;
        }
        match PageLayout::decode(page.encoding.clone()).ok().and_then(|layout| layout.layout) {
            Some(Layout::FullZipLayout(_)) => true,
            Some(Layout::MiniBlockLayout(layout)) => layout.repetition_index_depth > 0,
            _ => false,
        }
    }

    /// The rows to read of a field that is stored in `bytes` bytes. In version 2.0 they are cut where pages begin.
    fn spans(&self, bytes: u64) -> Vec<Range<u64>> {
        let version = self.survey.version();
        let pages = match self.first_column() {
            Some((column, slots)) if version == Version::V2_0 => pages_of(column, slots),
            _ => vec![(0, 0..self.rows())],
        };
        pages.into_iter().flat_map(|(_, rows)| spans(rows, bytes, version)).collect()
    }

    /// Where `rows` of a field with one column are.
    fn place(&self, owner: &Owner<'_>, rows: &Range<u64>) -> Place {
        let column = self.survey.column(owner.column);
        let pages = column.map(|column| pages_of(column, owner.slots)).unwrap_or_default();
        let page = pages.into_iter().find(|(_, page)| page.contains(&rows.start) && rows.end <= page.end);
        let page = page.map(|(number, _)| number);
        let stored = page.and_then(|number| column?.survey.pages.get(number)?.page.as_ref());
        Place {
            field: Some(owner.path.clone()),
            column: Some(owner.column),
            page,
            rows: some(rows),
            bytes: stored.and_then(|page| span(&page.buffers)),
        }
    }

    /// Rows of the field, as its first column has them.
    fn rows(&self) -> u64 {
        self.first_column().map_or(0, |(column, slots)| column_rows(column, slots))
    }

    /// The first column, and what its pages count of a row.
    fn first_column(&self) -> Option<(&SurveyedColumn, u64)> {
        let owner = self.target.owners.first()?;
        Some((self.survey.column(owner.column)?, owner.slots))
    }
}

/// The text of an error without the page: it was opened as the only one, and the place has its number.
fn without_page(reason: &str) -> String {
    const ONLY: &str = "page 0: ";
    match reason.split_once(ONLY) {
        // "unsupported: " comes before all places, "x is corrupt" after them.
        Some((before, rest)) if before.starts_with("unsupported: ") => format!("unsupported: {rest}"),
        Some((_, rest)) => rest.into(),
        None => reason.into(),
    }
}

/// The pages that have rows, by number.
fn pages_of(column: &SurveyedColumn, slots: u64) -> Vec<(usize, Range<u64>)> {
    let mut start = 0_u64;
    let pages = column.survey.pages.iter().enumerate().map(|(number, page)| {
        let first = start;
        start = start.saturating_add(page.length / slots);
        (number, first..start)
    });
    pages.filter(|(_, rows)| !rows.is_empty()).collect()
}

/// Bytes of the buffers of `pages`.
fn stored(pages: &[Page]) -> u64 {
    let buffers = pages.iter().flat_map(|page| &page.buffers);
    buffers.fold(0, |sum, buffer| sum.saturating_add(buffer.len()))
}

/// `rows` if there are any.
fn some(rows: &Range<u64>) -> Option<Range<u64>> {
    (!rows.is_empty()).then(|| rows.clone())
}

/// From the first to the last byte of `buffers`.
fn span(buffers: &[Extent]) -> Option<Extent> {
    let start = buffers.iter().map(Extent::offset).min()?;
    let end = buffers.iter().map(Extent::end).max()?;
    Extent::between(start, end).ok()
}

/// The same field with maps as the lists of structs that they are stored as.
fn as_lists(field: &Field) -> Field {
    let logical_type = match &field.logical_type {
        LogicalType::Map => LogicalType::List,
        other => other.clone(),
    };
    let children = field.children.iter().map(as_lists).collect();
    Field { logical_type, children, ..field.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_the_only_page_are_left_out() {
        assert_eq!(without_page("x: page 0: chunk is corrupt: y"), "chunk is corrupt: y");
        assert_eq!(without_page("unsupported: x: page 0: blobs"), "unsupported: blobs");
        assert_eq!(without_page("levels is corrupt: y"), "levels is corrupt: y");
    }
}
