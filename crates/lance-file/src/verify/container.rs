//! The metadata of a file, as far as they can be understood.
//!
//! Opening a file stops at the first contradiction; here each entry of a table and each page stands by itself.

use std::sync::Arc;

use bytes::Bytes;
use lance_footer::{
    Alignment, Column, ColumnSurvey, Cursor, Extent, FOOTER_LEN, Footer, FormatError, Version,
};
use lance_io::ReadAt;

use crate::checksums::read;

use super::problem::{Place, Report, format_problem};
use super::targets::Columns;

/// What is known of a file.
pub(super) struct Survey {
    pub(super) size: u64,
    pub(super) footer: Footer,
    /// One an entry of the GBO table; none if the entry makes no sense.
    pub(super) globals: Vec<Option<Extent>>,
    /// Where the descriptor lies, and its bytes.
    pub(super) descriptor: Option<(Extent, Bytes)>,
    /// One an entry of the CMO table; none if the metadata of the column could not be read.
    pub(super) columns: Vec<Option<SurveyedColumn>>,
}

/// A column whose metadata were read.
pub(super) struct SurveyedColumn {
    /// Where its metadata lie.
    pub(super) metadata: Extent,
    pub(super) survey: ColumnSurvey,
    /// The same, if nothing is wrong with it.
    whole: Option<Arc<Column>>,
}

impl Survey {
    pub(super) const fn version(&self) -> Version {
        self.footer.version
    }

    pub(super) fn column(&self, index: usize) -> Option<&SurveyedColumn> {
        self.columns.get(index).and_then(Option::as_ref)
    }

    /// A column of which nothing is wrong.
    pub(super) fn whole(&self, index: usize) -> Option<Arc<Column>> {
        self.column(index)?.whole.clone()
    }

    /// Where the footer lies.
    pub(super) fn footer_extent(&self) -> Option<Extent> {
        footer_extent(self.size)
    }
}

/// Reads the metadata. None if there is no footer that makes sense: nothing can be found without it.
pub(super) async fn survey(source: &Arc<dyn ReadAt>, report: &mut Report<'_>) -> Option<Survey> {
    let size = source.size();
    let Some(extent) = footer_extent(size) else {
        report.corrupt(Place::default(), format!("{size} bytes are too few for a Lance file"));
        return None;
    };
    let at = |extent| Place { bytes: Some(extent), ..Place::default() };
    let bytes = read(source, &[extent]).await.map_err(|error| report.io(at(extent), error)).ok()?;
    let bytes = bytes.into_iter().next().unwrap_or_default();
    let footer = Footer::parse(&bytes, size).map_err(|error| report.format(at(extent), &error)).ok()?;

    let globals = table(source, "GBO table", footer.gbo_table, report).await;
    let globals = check_globals(&globals, &footer, size, report);
    let metadata = table(source, "CMO table", footer.cmo_table, report).await;
    let metadata = check_metadata(&metadata, &footer, report);
    let descriptor = match globals.first() {
        Some(Some(extent)) => {
            let read = read(source, &[*extent]).await.map_err(|error| report.io(at(*extent), error)).ok();
            read.and_then(|bytes| Some((*extent, bytes.into_iter().next()?)))
        }
        _ => None,
    };
    let columns = columns(source, &metadata, &footer, report).await;
    let looked = size.saturating_sub(footer.column_metadata);
    report.read(looked.saturating_add(descriptor.as_ref().map_or(0, |(extent, _)| extent.len())));
    Some(Survey { size, footer, globals, descriptor, columns })
}

/// The entries of the table that lies at `extent`, which is within the file.
async fn table(
    source: &Arc<dyn ReadAt>,
    section: &'static str,
    extent: Extent,
    report: &mut Report<'_>,
) -> Vec<(u64, u64)> {
    let bytes = match read(source, &[extent]).await {
        Ok(bytes) => bytes.into_iter().next().unwrap_or_default(),
        Err(error) => {
            report.io(Place { bytes: Some(extent), ..Place::default() }, error);
            return vec![];
        }
    };
    let mut cursor = Cursor::new(section, &bytes);
    let mut entries = Vec::with_capacity(bytes.len() / 16);
    while let (Ok(position), Ok(len)) = (cursor.u64(), cursor.u64()) {
        entries.push((position, len));
    }
    entries
}

fn check_globals(
    entries: &[(u64, u64)],
    footer: &Footer,
    size: u64,
    report: &mut Report<'_>,
) -> Vec<Option<Extent>> {
    let mut extents = Vec::with_capacity(entries.len());
    for (index, (position, len)) in entries.iter().enumerate() {
        let mut wrong = |reason: String| {
            let place = Place { bytes: entry_extent(footer.gbo_table, index), ..Place::default() };
            report.format(place, &FormatError::corrupt("GBO table", reason));
        };
        let extent = Extent::new(*position, *len).ok().filter(|extent| extent.end() <= size);
        extents.push(extent);
        match extent {
            None => wrong(format!("global buffer {index} at {position} of {len} bytes ends beyond {size}")),
            Some(extent) => {
                let aligned = Alignment::Bytes64.padding(extent.offset()) == 0;
                if !aligned && footer.version > Version::V2_0 {
                    wrong(format!("global buffer {index} at {position} is not aligned to 64 bytes"));
                }
                if index == 0 && extent.offset() > footer.column_metadata {
                    let metadata = footer.column_metadata;
                    wrong(format!(
                        "global buffer 0 starts at {position}, after the start of the column metadata at {metadata}"
                    ));
                }
            }
        }
    }
    extents
}

fn check_metadata(entries: &[(u64, u64)], footer: &Footer, report: &mut Report<'_>) -> Vec<Option<Extent>> {
    let (start, end) = (footer.column_metadata, footer.cmo_table.offset());
    let checked = entries.iter().enumerate().map(|(index, (position, len))| {
        let extent = Extent::new(*position, *len).ok();
        let extent = extent.filter(|extent| extent.offset() >= start && extent.end() <= end);
        if extent.is_none() {
            let bytes = entry_extent(footer.cmo_table, index);
            let place = Place { column: Some(index), bytes, ..Place::default() };
            let reason = format!("entry {index} ({position}, {len}) is outside of {start}..{end}");
            report.format(place, &FormatError::corrupt("CMO table", reason));
        }
        extent
    });
    checked.collect()
}

/// Says what is wrong with the metadata of columns. Pages that follow each other and have the same problem are one.
pub(super) fn check_columns(survey: &Survey, columns: &Columns, report: &mut Report<'_>) {
    for (index, column) in survey.columns.iter().enumerate() {
        let Some(column) = column else { continue };
        let mut problems = column.survey.problems.iter().peekable();
        while let Some((page, error)) = problems.next() {
            let place = Place {
                field: columns.path(index),
                column: Some(index),
                page: *page,
                bytes: Some(column.metadata),
                ..Place::default()
            };
            let bare = |page: Option<usize>, error: &FormatError| {
                let page = page.map(|page| format!("page {page}: ")).unwrap_or_default();
                error.to_string().replacen(&page, "", 1)
            };
            let mut reason = bare(*page, error);
            let mut more = 0;
            while problems.next_if(|(page, error)| page.is_some() && bare(*page, error) == reason).is_some() {
                more += 1;
            }
            if more > 0 {
                reason.push_str(&format!(" (and so in {more} more pages after it)"));
            }
            let kind = format_problem(error).0;
            report.problem(place, kind, reason);
        }
    }
}

/// Reads the metadata of all columns. Of two that overlap only the first is read, so that no more is read
/// than there is.
async fn columns(
    source: &Arc<dyn ReadAt>,
    extents: &[Option<Extent>],
    footer: &Footer,
    report: &mut Report<'_>,
) -> Vec<Option<SurveyedColumn>> {
    let mut order: Vec<(usize, Extent)> =
        extents.iter().enumerate().filter_map(|(index, extent)| Some((index, (*extent)?))).collect();
    order.sort_by_key(|(_, extent)| (extent.offset(), extent.end()));
    let mut columns: Vec<Option<SurveyedColumn>> = extents.iter().map(|_| None).collect();
    let mut end = 0;
    let mut whole = vec![];
    for (index, extent) in order {
        if extent.offset() < end && !extent.is_empty() {
            let place = Place { column: Some(index), bytes: Some(extent), ..Place::default() };
            report.corrupt(place, "its metadata overlap with those of another column, and are not read");
            continue;
        }
        end = end.max(extent.end());
        whole.push((index, extent));
    }
    // In one go: they lie side by side. What cannot be read is then looked for one by one.
    let wanted: Vec<_> = whole.iter().map(|(_, extent)| *extent).collect();
    let together = read(source, &wanted).await.ok();
    let mut together = together.into_iter().flatten();
    for (index, metadata) in whole {
        let place = Place { column: Some(index), bytes: Some(metadata), ..Place::default() };
        let bytes = match together.next() {
            Some(bytes) => bytes,
            None => match read(source, &[metadata]).await {
                Ok(bytes) => bytes.into_iter().next().unwrap_or_default(),
                Err(error) => {
                    report.io(place, error);
                    continue;
                }
            },
        };
        let survey = ColumnSurvey::of(bytes, index, footer.version, source.size());
        if let Some(slot) = columns.get_mut(index) {
            let whole = survey.whole().map(Arc::new);
            *slot = Some(SurveyedColumn { metadata, survey, whole });
        }
    }
    columns
}

/// Where entry `index` of a table lies.
fn entry_extent(table: Extent, index: usize) -> Option<Extent> {
    let start = (index as u64).checked_mul(lance_footer::ENTRY_LEN)?;
    table.slice(start..start.checked_add(lance_footer::ENTRY_LEN)?).ok()
}

fn footer_extent(size: u64) -> Option<Extent> {
    Extent::between(size.checked_sub(FOOTER_LEN as u64)?, size).ok()
}
