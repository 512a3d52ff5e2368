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
use crate::pool::compute_checks;

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
    let sweep = Sweep { table, own, next: 0, crc: Crc32c::default(), unreadable: false, gap: Gap::default() };
    Checking { source, columns, kinds }.run(sweep, survey.size, report).await;
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
struct Checking<'a> {
    source: &'a Arc<dyn ReadAt>,
    columns: &'a Columns,
    kinds: HashMap<Extent, RegionKind>,
}

impl Checking<'_> {
    async fn run(&self, mut sweep: Sweep, size: u64, report: &mut Report<'_>) {
        if sweep.table.file_size != size {
            let place = Place { bytes: Some(sweep.own), ..Place::default() };
            let reason = format!("it is of a file of {} bytes, not {size}", sweep.table.file_size);
            report.format(place, &FormatError::corrupt("checksum table", reason));
        }
        let mut start = 0;
        while let Ok(piece) = Extent::between(start, start.saturating_add(PIECE).min(size))
            && !piece.is_empty()
        {
            start = piece.end();
            let bytes = match read(self.source, &[piece]).await {
                Ok(bytes) => bytes.into_iter().next().unwrap_or_default(),
                Err(error) => {
                    report.io(Place { bytes: Some(piece), ..Place::default() }, error);
                    sweep.skip(piece);
                    continue;
                }
            };
            let look = move || {
                let wrong = sweep.look_at(piece, &bytes);
                Ok((sweep, wrong))
            };
            let wrong = match compute_checks(self.source.path(), piece.len(), look).await {
                Ok((swept, wrong)) => {
                    sweep = swept;
                    wrong
                }
                // The runtime ends.
                Err(error) => return report.io(Place::default(), error),
            };
            wrong.into_iter().for_each(|wrong| self.tell(wrong, report));
        }
        if let Some(gap) = sweep.gap.end() {
            self.tell(gap, report);
        }
    }

    fn tell(&self, wrong: Wrong, report: &mut Report<'_>) {
        match wrong {
            Wrong::Entry(entry, error) => self.tell_entry(&entry, &error, report),
            Wrong::Padding { position, byte, count } => {
                let bytes = Extent::new(position, 1).ok();
                let more = match count {
                    1 => String::new(),
                    count => format!(", and {} more are not", count - 1),
                };
                let reason = format!("padding is {byte:#04x}, where it was zero{more}");
                report.problem(Place { bytes, ..Place::default() }, ProblemKind::Checksum, reason);
            }
        }
    }

    fn tell_entry(&self, entry: &Checksum, error: &FormatError, report: &mut Report<'_>) {
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

/// Something that is not as it was written.
enum Wrong {
    Entry(Checksum, FormatError),
    /// The first byte of a gap that is not zero, and how many there are.
    Padding {
        position: u64,
        byte: u8,
        count: u64,
    },
}

/// How far the bytes of a file were compared with its table.
struct Sweep {
    table: Checksums,
    /// Where the table lies.
    own: Extent,
    /// The entry that it is in or before.
    next: usize,
    /// Of that entry so far.
    crc: Crc32c,
    /// Some of that entry could not be read.
    unreadable: bool,
    gap: Gap,
}

impl Sweep {
    /// Goes on over `piece`, which has these bytes.
    fn look_at(&mut self, piece: Extent, bytes: &[u8]) -> Vec<Wrong> {
        let part = |from: u64, to: u64| {
            let at = |position: u64| usize::try_from(position - piece.offset()).unwrap_or(usize::MAX);
            bytes.get(at(from)..at(to)).unwrap_or_default()
        };
        let mut wrong = vec![];
        let mut at = piece.offset();
        while at < piece.end() {
            let entry = self.table.entries.get(self.next).copied();
            let start = entry.map_or(u64::MAX, |entry| entry.extent.offset());
            if at < start {
                let end = start.min(piece.end());
                if self.table.zeros_between {
                    self.gap.look(at, part(at, end), self.own);
                }
                at = end;
                continue;
            }
            wrong.extend(self.gap.end());
            let Some(entry) = entry else { break };
            let end = entry.extent.end().min(piece.end());
            self.crc.add(part(at, end));
            at = end;
            if end == entry.extent.end() {
                self.next += 1;
                let crc = std::mem::take(&mut self.crc);
                if !std::mem::take(&mut self.unreadable)
                    && let Err(error) = entry.check(crc.value())
                {
                    wrong.push(Wrong::Entry(entry, error));
                }
            }
        }
        wrong
    }

    /// Goes on over `piece`, which could not be read.
    fn skip(&mut self, piece: Extent) {
        let rest = self.table.entries.get(self.next..).unwrap_or_default();
        self.next += rest.iter().take_while(|entry| entry.extent.end() <= piece.end()).count();
        let entry = self.table.entries.get(self.next);
        self.unreadable = entry.is_some_and(|entry| entry.extent.offset() < piece.end());
        self.crc = Crc32c::default();
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

    /// What was wrong since the last entry.
    fn end(&mut self) -> Option<Wrong> {
        let Self { wrong, count } = std::mem::take(self);
        wrong.map(|(position, byte)| Wrong::Padding { position, byte, count })
    }
}
