//! Tables of checksums that are right about a changed file, or wrong about one thing: so that what reads with checks
//! does with a file comes to see it.

use std::collections::BTreeMap;

use bytes::Bytes;
use lance_footer::proto::file2::ColumnMetadata;
use lance_footer::{Checksum, ChecksumKind, Checksums, Crc32c, Extent};
use prost::Message;
use rand::RngExt;
use rand::rngs::StdRng;

use super::number::instead_of;
use crate::edit::{RawParts, Tail};

/// What a table has before its entries, an entry, and what comes after them.
const HEADER: usize = 32;
const ENTRY: usize = 24;
const TRAILER: usize = 20;

/// Whether the last global buffer of `parts` is a table.
pub(super) fn has_table(parts: &RawParts) -> bool {
    let Some(&(start, len)) = parts.globals.last() else { return false };
    let bytes = parts.data.get(start as usize..(start + len) as usize);
    bytes.is_some_and(|bytes| Checksums::parse(bytes).is_ok())
}

/// The file that `parts` make, with a tail that `edit` changed and a table that is made anew.
pub(super) fn signed(
    mut parts: RawParts,
    edit: impl FnOnce(&mut Tail),
    rng: &mut StdRng,
) -> (Bytes, &'static str) {
    let mut entries = of_data(&parts);
    let tail = 4 + parts.columns.iter().filter(|column| !column.is_empty()).count();
    // More entries or fewer than there are things to be checked.
    let more = [0, 0, 0, 0, 0, 0, 1, -1][rng.random_range(0..8)];
    let count = (entries.len() + tail).saturating_add_signed(more);
    let room = Checksums::len_of(count);
    let at = parts.append(&vec![0; room]);
    if let Some((start, len)) = parts.globals.pop() {
        parts.data[start as usize..(start + len) as usize].fill(0);
    }
    parts.globals.push((at, room as u64));
    let mut layout = None;
    let mut file = parts
        .file_with(|tail| {
            edit(tail);
            layout = Some(tail.clone());
        })
        .to_vec();
    entries.extend(layout.iter().flat_map(|tail| of_tail(tail, file.len() as u64)));
    let mut entries = sound(entries, file.len() as u64);
    resize(&mut entries, count, rng);
    let checksum = |(extent, kind): (Extent, ChecksumKind)| Checksum { extent, crc: 0, kind };
    let mut table = Checksums {
        file_size: file.len() as u64,
        zeros_between: rng.random_bool(0.2),
        entries: entries.into_iter().map(checksum).collect(),
    };
    let what = match rng.random_range(0..3) {
        0 => change(&mut table, rng),
        _ => "",
    };
    for entry in &mut table.entries {
        let (start, end) = (entry.extent.offset() as usize, entry.extent.end() as usize);
        // What `change` did to a checksum stays.
        entry.crc ^= Crc32c::of(file.get(start..end).unwrap_or_default()).value();
    }
    let mut bytes = table.to_bytes().unwrap();
    let what = match rng.random_range(0..6) {
        0 => change_bytes(&mut bytes, rng),
        _ => what,
    };
    if bytes.len() == room {
        file[at as usize..][..room].copy_from_slice(&bytes);
    }
    (file.into(), if more == 0 { what } else { "another number of checksums" })
}

type Parts = Vec<(Extent, ChecksumKind)>;

/// Buffers of pages and columns, and global buffers but the last and the first.
fn of_data(parts: &RawParts) -> Parts {
    let columns = parts.columns.iter().filter_map(|column| ColumnMetadata::decode(&**column).ok());
    let mut found = vec![];
    for column in columns {
        let pages = column.pages.iter().map(|page| (&page.buffer_offsets, &page.buffer_sizes));
        let pages = pages.map(|lists| (lists, ChecksumKind::PageBuffer));
        let own = ((&column.buffer_offsets, &column.buffer_sizes), ChecksumKind::ColumnBuffer);
        for ((offsets, sizes), kind) in pages.chain([own]) {
            found.extend(offsets.iter().zip(sizes).map(|(offset, size)| (*offset, *size, kind)));
        }
    }
    let globals = parts.globals.len().saturating_sub(1);
    found.extend(parts.globals[..globals].iter().map(|(at, len)| (*at, *len, ChecksumKind::GlobalBuffer)));
    let extent = |(offset, size, kind)| Some((Extent::new(offset, size).ok()?, kind));
    sound(found.into_iter().filter_map(extent).collect(), parts.data.len() as u64)
}

/// What lies behind the data, as the tables of the tail have it.
fn of_tail(tail: &Tail, size: u64) -> Parts {
    let entry = |(offset, len): &(u64, u64), kind| Some((Extent::new(*offset, *len).ok()?, kind));
    let between = |start, end, kind| Some((Extent::between(start, end).ok()?, kind));
    let footer = size - 40;
    let tables = [
        between(tail.cmo_start, tail.gbo_start, ChecksumKind::CmoTable),
        between(tail.gbo_start, footer, ChecksumKind::GboTable),
        between(footer, size, ChecksumKind::Footer),
    ];
    let schema = tail.gbo.first().and_then(|first| entry(first, ChecksumKind::GlobalBuffer));
    let columns = tail.cmo.iter().map(|column| entry(column, ChecksumKind::ColumnMetadata));
    std::iter::once(schema).chain(columns).chain(tables).flatten().collect()
}

/// Those that a table may have: not empty, within the first `size` bytes, each byte in one at most.
fn sound(parts: Parts, size: u64) -> Parts {
    let by_start: BTreeMap<_, _> = parts.into_iter().map(|part| (part.0.offset(), part)).collect();
    let mut end = 0;
    let mut sound: Parts = by_start.into_values().collect();
    sound.retain(|(extent, _)| {
        let fits = !extent.is_empty() && extent.offset() >= end && extent.end() <= size;
        end = if fits { extent.end() } else { end };
        fits
    });
    sound
}

/// Cuts entries in two, or leaves some out, until there are `count`.
fn resize(entries: &mut Parts, count: usize, rng: &mut StdRng) {
    while entries.len() > count {
        entries.remove(rng.random_range(0..entries.len()));
    }
    while entries.len() < count {
        let Some(at) = (0..entries.len()).find(|at| entries[*at].0.len() > 1) else { return };
        let (extent, kind) = entries[at];
        let cut = rng.random_range(1..extent.len());
        entries[at].0 = extent.slice(0..cut).unwrap();
        entries.insert(at + 1, (extent.slice(cut..extent.len()).unwrap(), kind));
    }
}

/// Changes one thing of a table. What overlaps or lies outside of the file is refused when it is parsed.
fn change(table: &mut Checksums, rng: &mut StdRng) -> &'static str {
    if table.entries.is_empty() || rng.random_range(0..8) == 0 {
        table.file_size = instead_of(table.file_size, rng);
        return "the size of a checksum table's file";
    }
    let at = rng.random_range(0..table.entries.len());
    let other = table.entries[rng.random_range(0..table.entries.len())];
    let entry = &mut table.entries[at];
    let (offset, len) = (entry.extent.offset(), entry.extent.len());
    let shorter = rng.random_range(0..len);
    let (what, extent) = match rng.random_range(0..7) {
        0 => {
            entry.crc = 1 << rng.random_range(0..32);
            return "a checksum";
        }
        1 => {
            entry.kind = [other.kind, ChecksumKind::Other(rng.random())][rng.random_range(0..2)];
            return "the kind of a checksum";
        }
        2 => ("a checksum of less", Extent::new(offset, len - shorter)),
        3 => ("a checksum of what begins later", Extent::new(offset + shorter, len - shorter)),
        4 => ("a checksum of something else", Extent::new(instead_of(offset, rng), len)),
        5 => ("a checksum of more", Extent::new(offset, instead_of(len, rng))),
        _ => ("a checksum twice", Ok(other.extent)),
    };
    entry.extent = extent.unwrap_or(entry.extent);
    what
}

/// Changes a number in the bytes of a table, and makes its own checksum right again.
fn change_bytes(bytes: &mut [u8], rng: &mut StdRng) -> &'static str {
    let entries = (bytes.len() - HEADER - TRAILER) / ENTRY;
    let (at, width) = match rng.random_range(0..5) {
        // Version and flags, count, size.
        0 => (16, 4),
        1 => (20, 4),
        2 => (24, 8),
        _ if entries == 0 => (24, 8),
        _ => {
            let field = [(0, 8), (8, 8), (16, 4), (20, 4)][rng.random_range(0..4)];
            (HEADER + ENTRY * rng.random_range(0..entries) + field.0, field.1)
        }
    };
    let mut number = [0; 8];
    number[..width].copy_from_slice(&bytes[at..at + width]);
    let number = instead_of(u64::from_le_bytes(number), rng).to_le_bytes();
    bytes[at..at + width].copy_from_slice(&number[..width]);
    let end = bytes.len() - TRAILER;
    let crc = Crc32c::of(&bytes[..end]).value();
    bytes[end..end + 4].copy_from_slice(&crc.to_le_bytes());
    "a number of a checksum table"
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::{ours, verified};

    /// Most tables are right about the file, so that reading goes on behind them.
    #[test]
    fn most_files_are_as_good_as_before() {
        let bases = super::super::bases();
        let bases = bases.iter().filter(|base| has_table(&base.parts)).collect::<Vec<_>>();
        assert!(bases.len() > 30, "{}", bases.len());
        let (mut right, mut all) = (0, 0);
        for (seed, base) in bases.into_iter().enumerate() {
            let mut rng = StdRng::seed_from_u64(seed as u64);
            let (file, what) = signed(base.parts.clone(), |_| {}, &mut rng);
            let (verified, lines) = ours::run(verified::bytes(file));
            let sound = verified.checksummed == 1 && lines.is_empty();
            assert!(sound || !what.is_empty(), "{}: {lines:?}", base.name);
            (right, all) = (right + usize::from(sound), all + 1);
        }
        assert!(right * 3 > all && right < all, "{right} of {all}");
    }
}
