//! Row counts: of pages, of columns, of the descriptor.

use lance_footer::Version;

use super::container::{Survey, SurveyedColumn};
use super::problem::{Place, Report};
use super::targets::Columns;

/// Checks that all columns have the rows that the descriptor says, and pages the row numbers that follow from
/// their lengths. Returns the number of rows.
pub(super) fn check(survey: &Survey, columns: &Columns, length: Option<u64>, report: &mut Report<'_>) -> u64 {
    let mut rows = length;
    let mut first = None;
    for index in counting_rows(survey, columns) {
        let Some(column) = survey.column(index) else { continue };
        let own = column_rows(column, columns.slots(index));
        let place = || Place { field: columns.path(index), column: Some(index), ..Place::default() };
        match (rows, first) {
            (None, _) => (rows, first) = (Some(own), Some(index)),
            (Some(rows), _) if rows == own => {}
            (Some(rows), None) => {
                report.corrupt(
                    place(),
                    format!("its pages have {own} rows, but the file descriptor says {rows}"),
                );
            }
            (Some(rows), Some(first)) => {
                report.corrupt(
                    place(),
                    format!("its pages have {own} rows, but those of column {first} {rows}"),
                );
            }
        }
    }
    if survey.version() > Version::V2_0 {
        for (index, column) in survey.columns.iter().enumerate() {
            check_priorities(index, column.as_ref(), columns, report);
        }
    }
    rows.unwrap_or(0)
}

/// The columns whose pages count rows: from version 2.1 on all; in 2.0 those below the top level count items.
fn counting_rows(survey: &Survey, columns: &Columns) -> Vec<usize> {
    if survey.version() > Version::V2_0 {
        return (0..survey.columns.len()).collect();
    }
    let schemas = columns.read.iter();
    let tops = schemas.flat_map(|(schema, columns)| Columns::targets(schema, columns, survey));
    tops.filter_map(|target| {
        let owner = target.owners.first()?;
        (owner.field.id == target.field.id).then_some(owner.column)
    })
    .collect()
}

/// The rows of all pages, which count as many `slots` a row; too many rows are told elsewhere.
pub(super) fn column_rows(column: &SurveyedColumn, slots: u64) -> u64 {
    column.survey.pages.iter().fold(0, |sum: u64, page| sum.saturating_add(page.length / slots))
}

fn check_priorities(
    index: usize,
    column: Option<&SurveyedColumn>,
    columns: &Columns,
    report: &mut Report<'_>,
) {
    let Some(column) = column else { return };
    let slots = columns.slots(index);
    let mut start = 0_u64;
    for (number, page) in column.survey.pages.iter().enumerate() {
        if page.priority != start {
            let place = Place {
                field: columns.path(index),
                column: Some(index),
                page: Some(number),
                bytes: Some(column.metadata),
                ..Place::default()
            };
            let stored = page.priority;
            report.corrupt(
                place,
                format!("it says that it starts at row {stored}, but {start} rows come before"),
            );
        }
        start = start.saturating_add(page.length / slots);
    }
}
