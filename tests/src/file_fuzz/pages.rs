//! Pages that are missing, there twice, or of another column or file.

use lance_file::proto::FileDescriptor;
use lance_footer::proto::file2::ColumnMetadata;
use lance_footer::proto::file2::column_metadata::Page;
use prost::Message;
use rand::RngExt;
use rand::rngs::StdRng;

use super::number::extreme;
use crate::edit::RawParts;

/// Changes the pages of a column.
pub(super) fn change(parts: &mut RawParts, other: &RawParts, rng: &mut StdRng) -> &'static str {
    if parts.columns.is_empty() {
        return "no column";
    }
    let at = rng.random_range(0..parts.columns.len());
    if rng.random_range(0..8) == 0 {
        return columns(parts, at, other, rng);
    }
    let Ok(mut column) = ColumnMetadata::decode(&*parts.columns[at]) else { return "no pages" };
    if column.pages.is_empty() {
        return "no page";
    }
    let page = rng.random_range(0..column.pages.len());
    let what = match rng.random_range(0..7) {
        0 => {
            column.pages.remove(page);
            "a page removed"
        }
        1 => {
            let copy = column.pages[page].clone();
            column.pages.insert(page, copy);
            "a page twice"
        }
        2 => {
            let other = rng.random_range(0..column.pages.len());
            column.pages.swap(page, other);
            "two pages exchanged"
        }
        3 => {
            column.pages[page].length = extreme(rng);
            "the length of a page"
        }
        4 => {
            lengths(parts, &mut column, rng);
            "the lengths of all pages"
        }
        _ => match foreign_page(parts, other, rng) {
            Some(foreign) => {
                splice(&mut column.pages[page], foreign, rng);
                "a foreign page"
            }
            None => "no foreign page",
        },
    };
    parts.columns[at] = column.encode_to_vec();
    what
}

/// Columns in another order, or one of another file.
fn columns(parts: &mut RawParts, at: usize, other: &RawParts, rng: &mut StdRng) -> &'static str {
    match rng.random_range(0..3) {
        0 => {
            let other = rng.random_range(0..parts.columns.len());
            parts.columns.swap(at, other);
            "two columns exchanged"
        }
        1 => {
            parts.columns[at] = vec![];
            "a column without pages"
        }
        _ => {
            parts.descriptor = other.descriptor.clone();
            "a foreign schema"
        }
    }
}

/// Another number of rows, in the page that is the last of `column` and in the descriptor.
fn lengths(parts: &mut RawParts, column: &mut ColumnMetadata, rng: &mut StdRng) {
    let Ok(mut descriptor) = FileDescriptor::decode(&*parts.descriptor) else { return };
    let before = column.pages.iter().rev().skip(1).fold(0_u64, |sum, page| sum.wrapping_add(page.length));
    if let Some(page) = column.pages.last_mut() {
        page.length = extreme(rng);
        descriptor.length = before.wrapping_add(page.length);
        parts.descriptor = descriptor.encode_to_vec();
    }
}

/// A page of another file, whose buffers are added to the data.
fn foreign_page(parts: &mut RawParts, other: &RawParts, rng: &mut StdRng) -> Option<Page> {
    let column = other.columns.get(rng.random_range(0..other.columns.len().max(1)))?;
    let column = ColumnMetadata::decode(&**column).ok()?;
    let mut page = column.pages.get(rng.random_range(0..column.pages.len().max(1)))?.clone();
    for (offset, size) in page.buffer_offsets.iter_mut().zip(&page.buffer_sizes) {
        let start = usize::try_from(*offset).ok()?;
        let bytes = other.data.get(start..start.checked_add(usize::try_from(*size).ok()?)?)?;
        *offset = parts.append(bytes);
    }
    Some(page)
}

/// Puts `foreign` in the place of `page`, or a part of it.
fn splice(page: &mut Page, foreign: Page, rng: &mut StdRng) {
    match rng.random_range(0..4) {
        0 => *page = foreign,
        1 => *page = Page { length: page.length, priority: page.priority, ..foreign },
        2 => page.encoding = foreign.encoding,
        _ => {
            page.buffer_offsets = foreign.buffer_offsets;
            page.buffer_sizes = foreign.buffer_sizes;
        }
    }
}
