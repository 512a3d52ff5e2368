use crate::{FormatError, Result};

/// Reads little-endian numbers and byte runs from a slice, and never past its end.
///
/// Every error names the section that the cursor was made for.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    section: &'static str,
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`, which are part of `section`.
    pub const fn new(section: &'static str, bytes: &'a [u8]) -> Self {
        Self { section, bytes, position: 0 }
    }

    /// Bytes not read yet.
    pub const fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Bytes read so far.
    pub const fn position(&self) -> usize {
        self.position
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let taken = self.position.checked_add(len).and_then(|end| self.bytes.get(self.position..end));
        match taken {
            Some(bytes) => {
                self.position += len;
                Ok(bytes)
            }
            None => Err(FormatError::corrupt(
                self.section,
                format!("wants {len} bytes at byte {} but has {}", self.position, self.remaining()),
            )),
        }
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// The next two bytes as a number.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// The next four bytes as a number.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// The next eight bytes as a number.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Skips to the next multiple of `align` bytes from the start of the slice.
    pub fn align(&mut self, align: usize) -> Result<()> {
        let padding = self.position.next_multiple_of(align) - self.position;
        self.take(padding).map(|_| ())
    }

    /// All that was not read yet.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        self.position = self.bytes.len();
        rest
    }

    /// An error unless everything was read.
    pub fn finish(self) -> Result<()> {
        match self.remaining() {
            0 => Ok(()),
            n => Err(FormatError::corrupt(self.section, format!("{n} bytes follow its end"))),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_order_and_stops_at_the_end() {
        let mut cursor = Cursor::new("test", &[1, 2, 0, 3, 0, 0, 0, 9]);
        assert_eq!(cursor.u8().unwrap(), 1);
        assert_eq!(cursor.u16().unwrap(), 2);
        assert_eq!(cursor.u32().unwrap(), 3);
        assert!(cursor.u64().is_err());
        assert!(cursor.clone().finish().is_err());
        assert_eq!(cursor.rest(), &[9]);
        cursor.finish().unwrap();
    }

    #[test]
    fn an_error_names_the_section() {
        let error = Cursor::new("footer", &[0; 3]).u32().unwrap_err();
        assert_eq!(error.to_string(), "footer is corrupt: wants 4 bytes at byte 0 but has 3");
    }

    #[test]
    fn lengths_that_overflow_are_refused() {
        let mut cursor = Cursor::new("test", &[0; 3]);
        cursor.u8().unwrap();
        assert!(cursor.take(usize::MAX).is_err());
    }
}
