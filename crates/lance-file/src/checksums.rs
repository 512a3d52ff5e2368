//! Reads with checksums: finds the table of a file, and checks what is read of it.

mod checked;

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use lance_footer::{Ask, Checksums, Container, Extent, FOOTER_LEN, FormatError, Slices};
use lance_io::{IoError, ReadAt};

use checked::Checked;

/// A table up to this size is read in one go.
const SMALL: u64 = 64 << 10;

/// There is less padding than this between the table and the schema, which lies after it.
const WIDEST_ALIGNMENT: u64 = 4096;

/// The table of checksums in `last`, the last global buffer of a file; none if it is something else.
pub(crate) async fn read_table(source: &Arc<dyn ReadAt>, last: Extent) -> Result<Option<Checksums>, IoError> {
    let len = Checksums::SIGNATURE_LEN as u64;
    if last.len() < len {
        return Ok(None);
    }
    if last.len() > SMALL {
        let ends = [last.slice(0..len), last.slice(last.len() - len..last.len())];
        let ends = ends.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| place(source, error))?;
        let ends = read(source, &ends).await?;
        let [start, end] = ends.as_slice() else { return Ok(None) };
        if !Checksums::is_signed(start, end) {
            return Ok(None);
        }
    }
    let bytes = read(source, &[last]).await?.into_iter().next().unwrap_or_default();
    if !Checksums::is_signed(&bytes, &bytes) {
        return Ok(None);
    }
    Checksums::parse(&bytes).map(Some).map_err(|error| place(source, error))
}

/// `source` with checks of what is read of it, if the file has checksums. The metadata are checked here.
pub(crate) async fn checked(
    source: &Arc<dyn ReadAt>,
    container: &Container,
) -> Result<Option<Arc<dyn ReadAt>>, IoError> {
    let last = container.global_buffers.iter().skip(1).next_back().copied();
    let table = match last {
        Some(last) => read_table(source, last).await?,
        None => None,
    };
    let Some(table) = table else {
        check_no_table(source, container).await?;
        return Ok(None);
    };
    let metadata = metadata(container).map_err(|error| place(source, error))?;
    check_complete(&table, last, container, &metadata).map_err(|error| place(source, error))?;
    let checked = Checked::new(Arc::clone(source), table);
    checked.read(vec![Ask::slices(metadata)]).await?;
    Ok(Some(Arc::new(checked)))
}

/// Where the metadata lie, whose bytes were used before there was a table to check them with.
fn metadata(container: &Container) -> Result<Vec<Extent>, FormatError> {
    let footer = Extent::between(container.size.saturating_sub(FOOTER_LEN as u64), container.size)?;
    let tables = [container.footer.cmo_table, container.footer.gbo_table, footer];
    let schema = container.global_buffers.iter().take(1);
    let all = schema.chain(&container.column_metadata).chain(&tables).copied();
    Ok(all.filter(|extent| !extent.is_empty()).collect())
}

/// An error if there is a table of checksums in front of the schema, where writers leave it, that is not the last
/// global buffer: what refers to it is corrupt.
async fn check_no_table(source: &Arc<dyn ReadAt>, container: &Container) -> Result<(), IoError> {
    let Some(schema) = container.global_buffers.first() else { return Ok(()) };
    let widest = Checksums::SIGNATURE_LEN as u64 + WIDEST_ALIGNMENT;
    let start = schema.offset().saturating_sub(widest);
    let before = Extent::between(start, schema.offset()).map_err(|error| place(source, error))?;
    let bytes = read(source, &[before]).await?.into_iter().next().unwrap_or_default();
    if Checksums::ends(&bytes) {
        let reason = "there is one in front of the schema, but it is not the last global buffer";
        return Err(place(source, FormatError::corrupt("checksum table", reason)));
    }
    Ok(())
}

/// An error unless all that has bytes has a checksum, and the file is as long as it was. `own` is the table.
fn check_complete(
    table: &Checksums,
    own: Option<Extent>,
    container: &Container,
    metadata: &[Extent],
) -> Result<(), FormatError> {
    let corrupt = |reason| Err(FormatError::corrupt("checksum table", reason));
    if table.file_size != container.size {
        return corrupt(format!("it is of a file of {} bytes, not {}", table.file_size, container.size));
    }
    let covered: HashSet<Extent> = table.entries.iter().map(|entry| entry.extent).collect();
    let pages = container.columns.iter().flat_map(|column| &column.pages);
    let due = pages
        .flat_map(|page| &page.buffers)
        .chain(container.columns.iter().flat_map(|column| &column.buffers))
        .chain(container.global_buffers.iter().filter(|buffer| Some(**buffer) != own))
        .chain(metadata);
    match due.filter(|extent| !extent.is_empty()).find(|extent| !covered.contains(extent)) {
        None => Ok(()),
        Some(extent) => {
            corrupt(format!("it has nothing about the bytes {}..{}", extent.offset(), extent.end()))
        }
    }
}

fn place(source: &Arc<dyn ReadAt>, error: FormatError) -> IoError {
    IoError::Format { path: source.path().into(), source: error }
}

/// The bytes of `extents`, which lie within the file.
pub(crate) async fn read(source: &Arc<dyn ReadAt>, extents: &[Extent]) -> Result<Vec<Bytes>, IoError> {
    let slices = Slices::new(extents.to_vec());
    let answers = match slices.ask() {
        Some(ask) => source.read(vec![ask]).await?,
        None => vec![],
    };
    slices.of(answers).map_err(|error| place(source, error))
}
