//! Checks every byte of a file that has checksums.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lance_footer::{Checksum, Checksums, Crc32c, Extent, FormatError};
use lance_io::ReadAt;

use super::container::Survey;
use super::problem::{Place, ProblemKind, Report, io_problem};
use super::regions;
use super::targets::Columns;
use crate::checksums::{read, read_table};
use crate::describe::RegionKind;

/// The file is read in pieces of so many bytes.
const PIECE: u64 = 4 << 20;

/// A table that nothing refers to is looked for in so many bytes in front of the schema.
const SEARCHED: u64 = 64 << 20;

/// Whether the file has checksums. If so, all of its bytes are read, and what is wrong is told.
pub(super) async fn check(
    source: &Arc<dyn ReadAt>,
    survey: &Survey,
    columns: &Columns,
    report: &mut Report<'_>,
) -> bool {
    let Some((own, table)) = find(source, survey, report).await else { return false };
    let regions = regions::regions(survey);
    check_complete(&table, own, &regions, columns, report);
    let kinds = regions.into_iter().collect();
    Sweep { source, columns, kinds, own, table: &table }.run(survey.size, report).await;
    true
}

/// The table and where it lies.
async fn find(
    source: &Arc<dyn ReadAt>,
    survey: &Survey,
    report: &mut Report<'_>,
) -> Option<(Extent, Checksums)> {
    let last = survey.globals.iter().skip(1).next_back().copied().flatten();
    let mut known = None;
    if let Some(last) = last {
        match read_table(source, last).await {
            Ok(Some(table)) => return Some((last, table)),
            Ok(None) => {}
            Err(error) => {
                let (kind, reason) = io_problem(error);
                report.problem(Place { bytes: Some(last), ..Place::default() }, kind, reason);
                known = Some(last.offset());
            }
        }
    }
    let stray = stray(source, survey).await?;
    if known != Some(stray.offset()) {
        let reason = "a table of checksums that is not the last global buffer";
        report.corrupt(Place { bytes: Some(stray), ..Place::default() }, reason);
    }
    let bytes = read(source, &[stray]).await.ok()?.into_iter().next()?;
    Some((stray, Checksums::parse(&bytes).ok()?))
}

/// A table that lies where one should: between the last page and the schema.
async fn stray(source: &Arc<dyn ReadAt>, survey: &Survey) -> Option<Extent> {
    let schema = survey.globals.first().copied().flatten().map_or(u64::MAX, |schema| schema.offset());
    let end = survey.footer.column_metadata.min(schema);
    let regions = regions::regions(survey);
    let buffers = regions.iter().filter(|(_, kind)| regions::is_buffer(*kind));
    let start = buffers.map(|(extent, _)| extent.end()).filter(|last| *last <= end).max().unwrap_or(0);
    let start = start.max(end.saturating_sub(SEARCHED)).checked_next_multiple_of(64)?;
    let area = Extent::between(start, end).ok()?;
    let bytes = read(source, &[area]).await.ok()?.into_iter().next()?;
    let at = Checksums::find(&bytes)?;
    let len = Checksums::announced_len(bytes.get(at..)?).ok()?;
    let found = area.slice(at as u64..(at as u64).checked_add(len as u64)?).ok()?;
    // Somebody may keep a whole file in a global buffer.
    let kept = |kind: RegionKind| matches!(kind, RegionKind::GlobalBuffer { index } if index > 0);
    let within = regions.iter().any(|(extent, kind)| {
        kept(*kind) && extent.contains(&found) && found.offset() - extent.offset() > 64
    });
    (!within).then_some(found)
}

/// All that has bytes must have a checksum, and nothing else.
fn check_complete(
    table: &Checksums,
    own: Extent,
    regions: &[(Extent, RegionKind)],
    columns: &Columns,
    report: &mut Report<'_>,
) {
    let entries: HashSet<Extent> = table.entries.iter().map(|entry| entry.extent).collect();
    let missing = regions.iter().filter(|(extent, _)| *extent != own && !entries.contains(extent));
    let missing: Vec<_> = missing.collect();
    if let Some((extent, kind)) = missing.first() {
        let more = more(missing.len());
        let place = Place { bytes: Some(*extent), ..regions::place(*kind, columns) };
        report.problem(place, ProblemKind::Checksum, format!("{kind}{more} without a checksum"));
    }
    let named: HashSet<Extent> = regions.iter().map(|(extent, _)| *extent).collect();
    let unnamed = table.entries.iter().filter(|entry| !named.contains(&entry.extent)).collect::<Vec<_>>();
    if let Some(first) = unnamed.first() {
        let more = more(unnamed.len());
        let place = Place { bytes: Some(first.extent), ..Place::default() };
        report.problem(place, ProblemKind::Checksum, format!("a checksum{more} of what there is not"));
    }
}

fn more(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    }
}

/// Reads a file from its start to its end.
struct Sweep<'a> {
    source: &'a Arc<dyn ReadAt>,
    columns: &'a Columns,
    kinds: HashMap<Extent, RegionKind>,
    /// Where the table lies.
    own: Extent,
    table: &'a Checksums,
}

/// How far a sweep came with the entry that it is in.
#[derive(Default)]
struct Progress {
    crc: Crc32c,
    /// Some of it could not be read.
    unreadable: bool,
}

impl Sweep<'_> {
    async fn run(&self, size: u64, report: &mut Report<'_>) {
        if self.table.file_size != size {
            let place = Place { bytes: Some(self.own), ..Place::default() };
            let reason = format!("it is of a file of {} bytes, not {size}", self.table.file_size);
            report.format(place, &FormatError::corrupt("checksum table", reason));
        }
        let mut entries = self.table.entries.as_slice();
        let mut progress = Progress::default();
        let mut gap = Gap::default();
        let mut start = 0;
        while let Ok(piece) = Extent::between(start, start.saturating_add(PIECE).min(size))
            && !piece.is_empty()
        {
            start = piece.end();
            let bytes = match read(self.source, &[piece]).await {
                Ok(bytes) => bytes.into_iter().next().unwrap_or_default(),
                Err(error) => {
                    report.io(Place { bytes: Some(piece), ..Place::default() }, error);
                    while let Some((entry, rest)) = entries.split_first()
                        && entry.extent.end() <= piece.end()
                    {
                        entries = rest;
                    }
                    let cut = entries.first().is_some_and(|entry| entry.extent.offset() < piece.end());
                    progress = Progress { unreadable: cut, ..Progress::default() };
                    continue;
                }
            };
            self.piece(piece, &bytes, &mut entries, &mut progress, &mut gap, report);
        }
        gap.tell(report);
    }

    fn piece(
        &self,
        piece: Extent,
        bytes: &[u8],
        entries: &mut &[Checksum],
        progress: &mut Progress,
        gap: &mut Gap,
        report: &mut Report<'_>,
    ) {
        let part = |from: u64, to: u64| {
            let at = |position: u64| usize::try_from(position - piece.offset()).unwrap_or(usize::MAX);
            bytes.get(at(from)..at(to)).unwrap_or_default()
        };
        let mut at = piece.offset();
        while at < piece.end() {
            let next = entries.first().map_or(u64::MAX, |entry| entry.extent.offset());
            if at < next {
                let end = next.min(piece.end());
                if self.table.zeros_between {
                    gap.look(at, part(at, end), self.own);
                }
                at = end;
                continue;
            }
            gap.tell(report);
            let Some((entry, rest)) = entries.split_first() else { break };
            let end = entry.extent.end().min(piece.end());
            progress.crc.add(part(at, end));
            at = end;
            if end == entry.extent.end() {
                let done = std::mem::take(progress);
                *entries = rest;
                if !done.unreadable
                    && let Err(error) = entry.check(done.crc.value())
                {
                    self.tell(entry, &error, report);
                }
            }
        }
    }

    fn tell(&self, entry: &Checksum, error: &FormatError, report: &mut Report<'_>) {
        let kind = self.kinds.get(&entry.extent);
        let place = kind.map(|kind| regions::place(*kind, self.columns)).unwrap_or_default();
        let what = kind.map_or_else(|| "something unknown".to_string(), ToString::to_string);
        let reason = match error {
            FormatError::Corrupt { reason, .. } => format!("{what} is corrupt: {reason}"),
            error => error.to_string(),
        };
        report.problem(Place { bytes: Some(entry.extent), ..place }, ProblemKind::Checksum, reason);
    }
}

/// Bytes without a checksum that should be zero.
#[derive(Default)]
struct Gap {
    /// The first that is not, and how many there are.
    wrong: Option<(u64, u8)>,
    count: u64,
}

impl Gap {
    /// Looks at `bytes`, which lie at `start`, but for those of the table.
    fn look(&mut self, start: u64, bytes: &[u8], own: Extent) {
        for (position, byte) in (start..).zip(bytes).filter(|(_, byte)| **byte != 0) {
            if position < own.offset() || position >= own.end() {
                self.wrong.get_or_insert((position, *byte));
                self.count += 1;
            }
        }
    }

    /// Says what was wrong since the last entry.
    fn tell(&mut self, report: &mut Report<'_>) {
        let Self { wrong: Some((position, byte)), count } = std::mem::take(self) else { return };
        let bytes = Extent::new(position, 1).ok();
        let more = match count {
            1 => String::new(),
            count => format!(", and {} more are not", count - 1),
        };
        let reason = format!("padding is {byte:#04x}, where it was zero{more}");
        report.problem(Place { bytes, ..Place::default() }, ProblemKind::Checksum, reason);
    }
}
