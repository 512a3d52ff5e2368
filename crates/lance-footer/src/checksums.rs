//! A table of CRC32C checksums, stored in a global buffer of its own.
//!
//! ```text
//!  0   16  "demilance crc32c"
//! 16  u16  version, 1
//! 18  u16  flags; bit 0: all bytes of the file that are neither in an entry nor in this table are zero
//! 20  u32  number of entries n
//! 24  u64  bytes of the file
//! 32  24n  entries by offset, which do not overlap: u64 offset | u64 size | u32 CRC32C | u32 kind
//!     u32  CRC32C of all bytes up to here
//!      16  "crc32c demilance"
//! ```
//!
//! It is the last global buffer, and lies right before global buffer 0. See `docs/format/checksums.md`.

use crate::{Cursor, Extent, FormatError, Result};

const SECTION: &str = "checksum table";
const START: [u8; 16] = *b"demilance crc32c";
const END: [u8; 16] = *b"crc32c demilance";
const VERSION: u16 = 1;
const ZEROS_BETWEEN: u16 = 1;
const HEADER_LEN: usize = 32;
const ENTRY_LEN: usize = 24;
/// The checksum of the table and the bytes that end it.
const TRAILER_LEN: usize = 4 + END.len();

/// Checksums of parts of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksums {
    /// Bytes of the file.
    pub file_size: u64,
    /// Whether all bytes that are neither in an entry nor in the table are zero.
    pub zeros_between: bool,
    /// The parts by offset; they do not overlap.
    pub entries: Vec<Checksum>,
}

/// The checksum of some bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// The bytes.
    pub extent: Extent,
    /// Their CRC32C.
    pub crc: u32,
    /// What they are.
    pub kind: ChecksumKind,
}

/// What has a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChecksumKind {
    /// A buffer of a page.
    PageBuffer,
    /// A buffer of a whole column.
    ColumnBuffer,
    /// A global buffer; the one at index 0 is the schema.
    GlobalBuffer,
    /// The metadata message of a column.
    ColumnMetadata,
    /// The CMO table.
    CmoTable,
    /// The GBO table.
    GboTable,
    /// The footer.
    Footer,
    /// Something that this version does not know.
    Other(u32),
}

impl ChecksumKind {
    const fn from_number(number: u32) -> Self {
        match number {
            1 => Self::PageBuffer,
            2 => Self::ColumnBuffer,
            3 => Self::GlobalBuffer,
            4 => Self::ColumnMetadata,
            5 => Self::CmoTable,
            6 => Self::GboTable,
            7 => Self::Footer,
            other => Self::Other(other),
        }
    }

    const fn number(self) -> u32 {
        match self {
            Self::PageBuffer => 1,
            Self::ColumnBuffer => 2,
            Self::GlobalBuffer => 3,
            Self::ColumnMetadata => 4,
            Self::CmoTable => 5,
            Self::GboTable => 6,
            Self::Footer => 7,
            Self::Other(number) => number,
        }
    }
}

impl Checksum {
    /// An error unless `crc`, of the bytes as they were read, is the checksum.
    pub fn check(&self, crc: u32) -> Result<()> {
        if crc == self.crc {
            return Ok(());
        }
        let reason = format!("the CRC32C is {crc:08x}, {:08x} was written", self.crc);
        Err(FormatError::corrupt(format!("bytes {}..{}", self.extent.offset(), self.extent.end()), reason))
    }
}

impl Checksums {
    /// Bytes of a table of `entries` entries.
    pub const fn len_of(entries: usize) -> usize {
        HEADER_LEN + entries * ENTRY_LEN + TRAILER_LEN
    }

    /// How many bytes of a global buffer, at its start and at its end, tell whether it is a table.
    pub const SIGNATURE_LEN: usize = 16;

    /// Whether a global buffer that starts with `start` and ends with `end` is a table, or was one before it was
    /// damaged.
    pub fn is_signed(start: &[u8], end: &[u8]) -> bool {
        start.starts_with(&START) || end.ends_with(&END)
    }

    /// Whether a table ends in `bytes`, with nothing but padding after it.
    pub fn ends(bytes: &[u8]) -> bool {
        let len = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.get(..len).is_some_and(|bytes| bytes.ends_with(&END))
    }

    /// Where in `bytes` a table may start, in steps of 64 bytes: for whoever looks for one that nothing refers to.
    pub fn find(bytes: &[u8]) -> Option<usize> {
        bytes.chunks(64).position(|chunk| chunk.starts_with(&START)).map(|chunk| chunk * 64)
    }

    /// The length of the table that starts with `bytes`, as its header has it; it may reach beyond them.
    pub fn announced_len(bytes: &[u8]) -> Result<usize> {
        let mut cursor = Cursor::new(SECTION, bytes);
        cursor.take(20)?;
        let entries = usize::try_from(cursor.u32()?).ok();
        let len = entries.and_then(|entries| entries.checked_mul(ENTRY_LEN));
        let len = len.and_then(|len| len.checked_add(HEADER_LEN + TRAILER_LEN));
        len.ok_or_else(|| corrupt("more entries than fit into memory"))
    }

    /// Parses a table, which is all of `bytes`. An error if anything about it is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(SECTION, bytes);
        if cursor.take(START.len())? != START {
            return Err(corrupt("it does not start as one does"));
        }
        let version = cursor.u16()?;
        let body = bytes.len().checked_sub(TRAILER_LEN).and_then(|len| bytes.split_at_checked(len));
        let (body, trailer) = body.ok_or_else(|| corrupt(format!("it has only {} bytes", bytes.len())))?;
        let mut end = Cursor::new(SECTION, trailer);
        let crc = end.u32()?;
        // What comes later may be longer, but says its version in the same place.
        if version != VERSION && version != 0 && crc == crc32c::crc32c(body) {
            return Err(FormatError::unsupported(format!("version {version} of checksum tables")));
        }
        if end.rest() != END {
            return Err(corrupt("it does not end as one does"));
        }
        let own = crc32c::crc32c(body);
        if own != crc {
            return Err(corrupt(format!("its own CRC32C is {own:08x}, {crc:08x} was written")));
        }
        if version != VERSION {
            return Err(corrupt(format!("version {version}")));
        }
        let flags = cursor.u16()?;
        let count = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
        let file_size = cursor.u64()?;
        if count.checked_mul(ENTRY_LEN) != body.len().checked_sub(HEADER_LEN) {
            return Err(corrupt(format!("{count} entries in {} bytes", bytes.len())));
        }
        let mut entries = Vec::with_capacity(count);
        let mut end = 0;
        for index in 0..count {
            let extent = Extent::new(cursor.u64()?, cursor.u64()?)?;
            if extent.offset() < end || extent.end() > file_size || extent.is_empty() {
                let reason = format!("entry {index}, {extent:?}, in a file of {file_size} bytes after {end}");
                return Err(corrupt(reason));
            }
            end = extent.end();
            let (crc, kind) = (cursor.u32()?, ChecksumKind::from_number(cursor.u32()?));
            entries.push(Checksum { extent, crc, kind });
        }
        Ok(Self { file_size, zeros_between: flags & ZEROS_BETWEEN != 0, entries })
    }

    /// The bytes of the table.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut entries = self.entries.clone();
        entries.sort_by_key(|entry| entry.extent.offset());
        let count = u32::try_from(entries.len()).map_err(|_| corrupt("more than 2^32 entries"))?;
        let flags = if self.zeros_between { ZEROS_BETWEEN } else { 0 };
        let mut bytes = Vec::with_capacity(Self::len_of(entries.len()));
        bytes.extend(START);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend(self.file_size.to_le_bytes());
        for Checksum { extent, crc, kind } in entries {
            bytes.extend(extent.offset().to_le_bytes());
            bytes.extend(extent.len().to_le_bytes());
            bytes.extend(crc.to_le_bytes());
            bytes.extend(kind.number().to_le_bytes());
        }
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes.extend(END);
        Ok(bytes)
    }
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt(SECTION, reason)
}

/// CRC32C of bytes that come in pieces.
///
/// ```
/// use lance_footer::Crc32c;
///
/// let mut crc = Crc32c::default();
/// crc.add(b"1234");
/// crc.add(b"56789");
/// assert_eq!(crc.value(), 0xe306_9283);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Crc32c(u32);

impl Crc32c {
    /// Of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(crc32c::crc32c(bytes))
    }

    /// Adds `bytes`.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = crc32c::crc32c_append(self.0, bytes);
    }

    /// The checksum so far.
    pub const fn value(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Checksums {
        let entry = |offset, len, kind| Checksum {
            extent: Extent::new(offset, len).unwrap(),
            crc: 0x1234_5678 + offset as u32,
            kind,
        };
        Checksums {
            file_size: 1000,
            zeros_between: true,
            entries: vec![
                entry(0, 10, ChecksumKind::PageBuffer),
                entry(64, 200, ChecksumKind::GlobalBuffer),
                entry(960, 40, ChecksumKind::Other(77)),
            ],
        }
    }

    #[test]
    fn bytes_come_back() {
        let table = table();
        let bytes = table.to_bytes().unwrap();
        assert_eq!(bytes.len(), Checksums::len_of(3));
        assert_eq!(Checksums::announced_len(&bytes).unwrap(), bytes.len());
        assert_eq!(Checksums::parse(&bytes).unwrap(), table);
        assert_eq!(Checksums::find(&[vec![0; 128], bytes.clone()].concat()), Some(128));
        assert_eq!(Checksums::find(&[0; 200]), None);
        for (padding, there) in [(vec![], true), (vec![0; 50], true), (vec![0, 1, 0], false)] {
            assert_eq!(Checksums::ends(&[bytes.clone(), padding].concat()), there);
        }
        assert!(!Checksums::ends(&[]) && !Checksums::ends(&[0; 9]));
        let mut reversed = table.clone();
        reversed.entries.reverse();
        assert_eq!(reversed.to_bytes().unwrap(), bytes);
        for kind in (0..9).map(ChecksumKind::from_number) {
            assert_eq!(ChecksumKind::from_number(kind.number()), kind);
        }
    }

    #[test]
    fn every_wrong_bit_is_found_and_the_table_is_known_as_one() {
        let bytes = table().to_bytes().unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            let error = Checksums::parse(&broken).unwrap_err();
            assert!(matches!(error, FormatError::Corrupt { .. }), "bit {bit}: {error}");
            assert!(Checksums::is_signed(&broken[..16], &broken[broken.len() - 16..]), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(Checksums::parse(&bytes[..len]).is_err(), "{len}");
        }
    }

    /// The same with a checksum that is right.
    fn signed(edit: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = table().to_bytes().unwrap();
        bytes.truncate(bytes.len() - TRAILER_LEN);
        edit(&mut bytes);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes.extend(END);
        bytes
    }

    #[test]
    fn tables_that_make_no_sense_are_refused() {
        let refused = |edit: fn(&mut Vec<u8>)| Checksums::parse(&signed(edit)).unwrap_err().to_string();
        assert!(Checksums::parse(&signed(|_| {})).is_ok());
        assert!(refused(|bytes| bytes[16] = 2).contains("unsupported: version 2"));
        assert!(refused(|bytes| bytes[20] = 4).contains("4 entries"));
        assert!(refused(|bytes| bytes[24] = 0).contains("entry 2"));
        assert!(refused(|bytes| bytes[32 + 24] = 9).contains("entry 1"));
        assert!(refused(|bytes| bytes[32 + 15] = 0xff).contains("entry 0"));
        assert!(refused(|bytes| bytes[32 + 24 + 7] = 0xff).contains("entry 1"));
        assert!(refused(|bytes| bytes[32 + 8] = 0).contains("entry 0"));
    }

    #[test]
    fn checksums_of_pieces() {
        let (first, second) = (b"some bytes", b" and some more");
        let whole = Crc32c::of(&[first.as_slice(), second].concat());
        let mut crc = Crc32c::default();
        crc.add(first);
        crc.add(second);
        assert_eq!(crc, whole);
    }
}
