//! The CMO and GBO tables: `(position u64, size u64)` an entry.

use crate::{Cursor, Extent, FormatError, Result};

/// Bytes of one entry.
pub const ENTRY_LEN: u64 = 16;

/// An offset table: where each column metadata message, or each global buffer, lies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OffsetTable {
    /// One an entry, in index order.
    pub entries: Vec<Extent>,
}

impl OffsetTable {
    /// Parses the bytes of a table. `section` names it in errors.
    pub fn parse(section: &'static str, bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(section, bytes);
        let mut entries = Vec::with_capacity(bytes.len() / 16);
        while cursor.remaining() > 0 {
            let index = entries.len();
            let (position, size) = (cursor.u64()?, cursor.u64()?);
            entries.push(Extent::new(position, size).map_err(|_| {
                FormatError::corrupt(section, format!("entry {index} ({position}, {size}) overflows 64 bits"))
            })?);
        }
        Ok(Self { entries })
    }

    /// An error unless every entry lies within `bounds`.
    pub fn check_within(&self, section: &'static str, bounds: Extent) -> Result<()> {
        for (index, entry) in self.entries.iter().enumerate() {
            if !bounds.contains(entry) {
                return Err(FormatError::corrupt(
                    section,
                    format!(
                        "entry {index} ({}, {}) is outside of {}..{}",
                        entry.offset(),
                        entry.len(),
                        bounds.offset(),
                        bounds.end()
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The bytes of the table.
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers = self.entries.iter().flat_map(|entry| [entry.offset(), entry.len()]);
        numbers.flat_map(u64::to_le_bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let table =
            OffsetTable { entries: vec![Extent::new(640, 191).unwrap(), Extent::new(0, 12).unwrap()] };
        let bytes = table.to_bytes();
        assert_eq!(bytes.len(), 32);
        assert_eq!(OffsetTable::parse("GBO table", &bytes).unwrap(), table);
        assert!(OffsetTable::parse("GBO table", &bytes[1..]).is_err());
    }

    #[test]
    fn entries_outside_are_named() {
        let table = OffsetTable { entries: vec![Extent::new(8, 8).unwrap()] };
        table.check_within("GBO table", Extent::new(0, 16).unwrap()).unwrap();
        let error = table.check_within("GBO table", Extent::new(0, 15).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "GBO table is corrupt: entry 0 (8, 8) is outside of 0..15");
        let error = OffsetTable::parse("CMO table", &[0xff; 16]).unwrap_err();
        assert!(error.to_string().contains("entry 0"), "{error}");
    }
}
