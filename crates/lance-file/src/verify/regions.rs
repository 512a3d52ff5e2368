//! What lies where in a file, and what lies on top of each other.

use lance_footer::Extent;

use super::container::Survey;
use super::problem::{Place, Report};
use super::targets::Columns;
use crate::describe::RegionKind;

/// Two page buffers may be the very same bytes; anything else that overlaps is a contradiction.
pub(super) fn check(survey: &Survey, columns: &Columns, report: &mut Report<'_>) {
    let mut regions = regions(survey);
    regions.sort_by_key(|(extent, _)| (extent.offset(), extent.end()));
    // The region that reaches furthest so far, and those that it overlaps with.
    let mut furthest: Option<(Extent, RegionKind)> = None;
    let mut overlapped: Vec<(Extent, RegionKind)> = vec![];
    for (extent, kind) in regions {
        if let Some((other, other_kind)) = furthest {
            let shared = other == extent && is_buffer(kind) && is_buffer(other_kind);
            if extent.offset() < other.end() && !shared {
                overlapped.push((extent, kind));
            }
        }
        if furthest.is_none_or(|(other, _)| extent.end() > other.end()) {
            tell(furthest, &mut overlapped, columns, report);
            furthest = Some((extent, kind));
        }
    }
    tell(furthest, &mut overlapped, columns, report);
}

/// One line, however many regions `region` overlaps with.
fn tell(
    region: Option<(Extent, RegionKind)>,
    overlapped: &mut Vec<(Extent, RegionKind)>,
    columns: &Columns,
    report: &mut Report<'_>,
) {
    let overlapped = std::mem::take(overlapped);
    let (Some((extent, kind)), Some((first, first_kind))) = (region, overlapped.first()) else { return };
    let more = match overlapped.len() {
        1 => String::new(),
        count => format!(", and with {} more", count - 1),
    };
    let place = Place { bytes: Some(extent), ..place(kind, columns) };
    let (start, end) = (first.offset(), first.end());
    report.corrupt(place, format!("{kind} overlaps with {first_kind}, bytes {start}..{end}{more}"));
}

/// Everything that has bytes.
pub(super) fn regions(survey: &Survey) -> Vec<(Extent, RegionKind)> {
    let mut found: Vec<(Extent, RegionKind)> = vec![];
    for (column, content) in survey.columns.iter().enumerate() {
        let Some(content) = content else { continue };
        for (page, content) in content.survey.pages.iter().enumerate() {
            let buffers = content.page.iter().flat_map(|page| &page.buffers).enumerate();
            found.extend(
                buffers.map(|(buffer, extent)| (*extent, RegionKind::PageBuffer { column, page, buffer })),
            );
        }
        let buffers = content.survey.buffers.iter().enumerate();
        found.extend(buffers.map(|(buffer, extent)| (*extent, RegionKind::ColumnBuffer { column, buffer })));
        found.push((content.metadata, RegionKind::ColumnMetadata { column }));
    }
    let globals = survey.globals.iter().enumerate();
    found
        .extend(globals.filter_map(|(index, extent)| Some(((*extent)?, RegionKind::GlobalBuffer { index }))));
    found.push((survey.footer.cmo_table, RegionKind::CmoTable));
    found.push((survey.footer.gbo_table, RegionKind::GboTable));
    found.extend(survey.footer_extent().map(|extent| (extent, RegionKind::Footer)));
    found.retain(|(extent, _)| !extent.is_empty());
    found
}

pub(super) const fn is_buffer(kind: RegionKind) -> bool {
    matches!(kind, RegionKind::PageBuffer { .. } | RegionKind::ColumnBuffer { .. })
}

pub(super) fn place(kind: RegionKind, columns: &Columns) -> Place {
    let (column, page) = match kind {
        RegionKind::PageBuffer { column, page, .. } => (Some(column), Some(page)),
        RegionKind::ColumnBuffer { column, .. } | RegionKind::ColumnMetadata { column } => {
            (Some(column), None)
        }
        _ => (None, None),
    };
    let field = column.and_then(|column| columns.path(column));
    Place { field, column, page, ..Place::default() }
}
