use lance_footer::{Container, Extent, FOOTER_LEN};

use super::{Region, RegionKind};

/// Everything in the file, by offset.
pub(super) fn regions(container: &Container) -> Vec<Region> {
    let mut found: Vec<(Extent, RegionKind)> = vec![];
    for (column, content) in container.columns.iter().enumerate() {
        for (page, content) in content.pages.iter().enumerate() {
            let buffers = content.buffers.iter().enumerate();
            found.extend(
                buffers.map(|(buffer, extent)| (*extent, RegionKind::PageBuffer { column, page, buffer })),
            );
        }
        let buffers = content.buffers.iter().enumerate();
        found.extend(buffers.map(|(buffer, extent)| (*extent, RegionKind::ColumnBuffer { column, buffer })));
    }
    let globals = container.global_buffers.iter().enumerate();
    found.extend(globals.map(|(index, extent)| (*extent, RegionKind::GlobalBuffer { index })));
    let metadata = container.column_metadata.iter().enumerate();
    found.extend(metadata.map(|(column, extent)| (*extent, RegionKind::ColumnMetadata { column })));
    let footer = &container.footer;
    found.push((footer.cmo_table, RegionKind::CmoTable));
    found.push((footer.gbo_table, RegionKind::GboTable));
    // A file that could be opened has a footer at its end.
    let start = container.size.saturating_sub(FOOTER_LEN as u64);
    found.extend(Extent::between(start, container.size).map(|extent| (extent, RegionKind::Footer)));

    let first = found.iter().map(|(extent, _)| extent.offset()).min().unwrap_or_default();
    if let Ok(unnamed) = Extent::new(0, first)
        && !unnamed.is_empty()
    {
        found.push((unnamed, RegionKind::Unnamed));
    }

    // Stable, so that buffers without bytes stay in the order of their page.
    found.sort_by_key(|(extent, _)| (extent.offset(), extent.end()));
    let ends = found.iter().skip(1).map(|(next, _)| next.offset()).chain([container.size]);
    let ends: Vec<_> = ends.collect();
    let padded = found.into_iter().zip(ends).map(|((extent, kind), next)| {
        let padding = next.saturating_sub(extent.end());
        Region { kind, extent, padding }
    });
    padded.collect()
}
