//! ```text
//! -40  A u64   start of the column metadata
//! -32  B u64   start of the CMO table
//! -24  C u64   start of the GBO table
//! -16  GN u32  number of global buffers
//! -12  CN u32  number of columns
//!  -8  major u16, minor u16
//!  -4  "LANC"
//! ```

use crate::{Cursor, ENTRY_LEN, Extent, FormatError, Result, Version};

/// Bytes of a footer.
pub const FOOTER_LEN: usize = 40;

/// The last four bytes of every Lance file.
pub const MAGIC: [u8; 4] = *b"LANC";

/// The last 40 bytes of a file, checked against its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footer {
    /// Start of the column metadata region (`A`).
    pub column_metadata: u64,
    /// The CMO table (`B`).
    pub cmo_table: Extent,
    /// The GBO table (`C`).
    pub gbo_table: Extent,
    /// How many columns there are.
    pub columns: u32,
    /// How many global buffers there are.
    pub global_buffers: u32,
    /// What the version pair stands for.
    pub version: Version,
}

/// The fields as they lie in the file, unchecked.
#[derive(Debug, Clone, Copy)]
struct Raw {
    a: u64,
    b: u64,
    c: u64,
    global_buffers: u32,
    columns: u32,
    major: u16,
    minor: u16,
}

impl Footer {
    /// Parses the last [`FOOTER_LEN`] bytes of a file of `file_size` bytes.
    pub fn parse(bytes: &[u8], file_size: u64) -> Result<Self> {
        let raw = Raw::parse(bytes)?;
        raw.check(file_size).map_err(|error| {
            if raw.looks_reversed(file_size) {
                corrupt(format!(
                    "it looks reversed: read as real files have it, offsets A={} B={} C={} version {}.{} ({error}); \
                     read backwards it would be consistent",
                    raw.a, raw.b, raw.c, raw.major, raw.minor
                ))
            } else {
                error
            }
        })
    }

    /// The 40 bytes.
    pub fn to_bytes(&self) -> [u8; FOOTER_LEN] {
        let (major, minor) = self.version.to_footer();
        let mut bytes = [0; FOOTER_LEN];
        let fields: [&[u8]; 8] = [
            &self.column_metadata.to_le_bytes(),
            &self.cmo_table.offset().to_le_bytes(),
            &self.gbo_table.offset().to_le_bytes(),
            &self.global_buffers.to_le_bytes(),
            &self.columns.to_le_bytes(),
            &major.to_le_bytes(),
            &minor.to_le_bytes(),
            &MAGIC,
        ];
        for (to, from) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
            *to = *from;
        }
        bytes
    }
}

impl Raw {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new("footer", bytes);
        let raw = Self {
            a: cursor.u64()?,
            b: cursor.u64()?,
            c: cursor.u64()?,
            global_buffers: cursor.u32()?,
            columns: cursor.u32()?,
            major: cursor.u16()?,
            minor: cursor.u16()?,
        };
        let magic = cursor.take(MAGIC.len())?;
        if magic != MAGIC {
            return Err(corrupt(format!("it ends with {magic:02x?} instead of \"LANC\"; not a Lance file")));
        }
        cursor.finish()?;
        Ok(raw)
    }

    fn check(&self, file_size: u64) -> Result<Footer> {
        let version = Version::from_footer(self.major, self.minor)?;
        let Self { a, b, c, .. } = *self;
        let footer_start = file_size
            .checked_sub(FOOTER_LEN as u64)
            .ok_or_else(|| corrupt(format!("the file has {file_size} bytes, a footer {FOOTER_LEN}")))?;
        let gbo_len = u64::from(self.global_buffers) * ENTRY_LEN;
        let cmo_len = u64::from(self.columns) * ENTRY_LEN;
        let after_gbo = c.checked_add(gbo_len).filter(|end| *end <= footer_start);
        if after_gbo.is_none() {
            return Err(corrupt(format!(
                "the GBO table of {} entries at {c} does not end before the footer at {footer_start}",
                self.global_buffers
            )));
        }
        if b.checked_add(cmo_len) != Some(c) {
            return Err(corrupt(format!(
                "the CMO table of {} entries at {b} does not end where the GBO table starts, {c}",
                self.columns
            )));
        }
        if a > b {
            return Err(corrupt(format!("the column metadata at {a} start after the CMO table at {b}")));
        }
        if self.global_buffers == 0 {
            return Err(corrupt("it counts no global buffers, so there is no schema"));
        }
        Ok(Footer {
            column_metadata: a,
            cmo_table: Extent::new(b, cmo_len)?,
            gbo_table: Extent::new(c, gbo_len)?,
            columns: self.columns,
            global_buffers: self.global_buffers,
            version,
        })
    }

    /// Whether the bytes make sense with the three offsets in the opposite order, the version pair in either.
    fn looks_reversed(&self, file_size: u64) -> bool {
        let swapped = Self { a: self.c, b: self.b, c: self.a, ..*self };
        let both = Self { major: self.minor, minor: self.major, ..swapped };
        let version_only = Self { major: self.minor, minor: self.major, ..*self };
        [swapped, both, version_only].iter().any(|raw| raw.check(file_size).is_ok())
    }
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("footer", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer() -> Footer {
        Footer {
            column_metadata: 100,
            cmo_table: Extent::new(200, 32).unwrap(),
            gbo_table: Extent::new(232, 16).unwrap(),
            columns: 2,
            global_buffers: 1,
            version: Version::V2_2,
        }
    }

    #[test]
    fn bytes_come_back() {
        for version in Version::ALL {
            let footer = Footer { version, ..footer() };
            assert_eq!(Footer::parse(&footer.to_bytes(), 288).unwrap(), footer);
            // A gap between the GBO table and the footer is legal.
            assert_eq!(Footer::parse(&footer.to_bytes(), 300).unwrap(), footer);
        }
    }

    #[test]
    fn contradictions_are_named() {
        let good = footer().to_bytes();
        let cases: [(usize, &[u8], &str); 7] = [
            (36, b"LANX", "not a Lance file"),
            (0, &201_u64.to_le_bytes(), "start after the CMO table"),
            (8, &199_u64.to_le_bytes(), "does not end where the GBO table starts"),
            (16, &u64::MAX.to_le_bytes(), "does not end before the footer"),
            (24, &u32::MAX.to_le_bytes(), "does not end before the footer"),
            (28, &3_u32.to_le_bytes(), "does not end where the GBO table starts"),
            (34, &9_u16.to_le_bytes(), "unknown Lance file version 2.9"),
        ];
        for (at, bytes, text) in cases {
            let mut bad = good;
            bad[at..at + bytes.len()].copy_from_slice(bytes);
            let error = Footer::parse(&bad, 288).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
        assert!(Footer::parse(&good, 287).is_err());
        assert!(Footer::parse(&good[1..], 288).is_err());
        let none = Footer { gbo_table: Extent::new(232, 0).unwrap(), global_buffers: 0, ..footer() };
        assert!(Footer::parse(&none.to_bytes(), 288).unwrap_err().to_string().contains("no schema"));
    }

    #[test]
    fn legacy_files_are_refused_by_name() {
        let mut bytes = [0; FOOTER_LEN];
        bytes[34] = 2;
        bytes[36..].copy_from_slice(&MAGIC);
        let error = Footer::parse(&bytes, 1000).unwrap_err();
        assert!(matches!(&error, FormatError::Unsupported { what } if what.contains("legacy v1")), "{error}");
    }

    #[test]
    fn reversed_footers_are_refused_and_named() {
        // Offsets reversed and minor before major, version 2.0: reads as 0.2, which is a legacy pair.
        let mut bytes = Footer { version: Version::V2_2, ..footer() }.to_bytes();
        bytes[0..8].copy_from_slice(&232_u64.to_le_bytes());
        bytes[16..24].copy_from_slice(&100_u64.to_le_bytes());
        for pair in [[0, 0, 2, 0], [2, 0, 2, 0], [1, 0, 2, 0]] {
            bytes[32..36].copy_from_slice(&pair);
            let error = Footer::parse(&bytes, 288).unwrap_err().to_string();
            assert!(error.contains("looks reversed"), "{error}");
        }
    }
}
