//! How much memory decoding may take, whatever the bytes say.
//!
//! Compression lets few bytes stand for many, and a hostile file for as many as it likes. So what comes out of a file
//! is bounded by what was asked for and what was read:
//!
//! ```text
//! rows × fixed width   +   bytes read × per_byte   +   constant
//! ```

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::DataType;
use bytes::Bytes;
use lance_footer::{FormatError, Result};

/// Bytes of the fixed width of a row that count.
const MAX_ROW_BYTES: u64 = 64 << 10;

/// What decoding may take: memory of a batch is at most its rows times their fixed width, and `per_byte` for each byte
/// that was read of the file, and `constant`.
///
/// The fixed width of a row is that of its numbers, 8 bytes for each string, list or dictionary index, and a bit for
/// each field; no more than 64 KiB of it count, since a schema can say anything. What a row has beyond that has to
/// come out of bytes that are read.
///
/// The lookup tables that a reader holds are bounded in the same way, with a `constant` of their own that all pages of
/// the file share.
///
/// What is more is an error, [`FormatError::OverBudget`], that names the field, the page, and the sizes. A scan reads
/// fewer rows at once before it comes to that, so there it is about a single row or a lookup table, and only a larger
/// budget helps. A take has all of its rows at once: fewer may do.
///
/// ```
/// use lance_encoding::DecodeBudget;
///
/// let budget = DecodeBudget::default();
/// assert_eq!((budget.per_byte, budget.constant), (64, 256 << 20));
/// let more = DecodeBudget { constant: 4 << 30, ..budget };
/// assert!(more.constant < DecodeBudget::UNLIMITED.constant);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeBudget {
    /// Bytes of memory that a byte of the file may become.
    pub per_byte: u32,
    /// Bytes of memory that need no reason.
    pub constant: u64,
}

impl Default for DecodeBudget {
    fn default() -> Self {
        Self { per_byte: 64, constant: 256 << 20 }
    }
}

impl DecodeBudget {
    /// No bound but that of the address space. For files that are trusted.
    pub const UNLIMITED: Self = Self { per_byte: u32::MAX, constant: u64::MAX };
}

/// What is left of a budget while the fields of one batch are decoded.
#[derive(Debug, Clone)]
pub struct Allowance {
    per_byte: u64,
    left: u64,
}

impl Default for Allowance {
    fn default() -> Self {
        Self::new(DecodeBudget::default())
    }
}

impl Default for TableBudget {
    fn default() -> Self {
        Self::new(DecodeBudget::default())
    }
}

impl Allowance {
    /// All of `budget`.
    pub const fn new(budget: DecodeBudget) -> Self {
        Self { per_byte: budget.per_byte as u64, left: budget.constant }
    }

    /// Lets `decode` take memory for `rows` rows of `data_type`, for which `read` bytes were read.
    pub(crate) fn spend<T>(
        &mut self,
        rows: u64,
        data_type: &DataType,
        read: u64,
        decode: impl FnOnce(&mut Room) -> Result<T>,
    ) -> Result<T> {
        let width = u128::from(rows) * u128::from(row_bits(data_type).min(MAX_ROW_BYTES * 8)) / 8;
        let width = u64::try_from(width).unwrap_or(u64::MAX);
        let free = width.saturating_add(read.saturating_mul(self.per_byte));
        let mut room = Room::new(free.saturating_add(self.left));
        let decoded = decode(&mut room);
        self.left = self.left.saturating_sub((room.used as u64).saturating_sub(free));
        decoded
    }
}

/// Memory that may be taken, and how much of it is.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    limit: usize,
    used: usize,
}

impl Room {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit: usize::try_from(limit).unwrap_or(usize::MAX), used: 0 }
    }

    /// Bytes that are left.
    pub(crate) const fn left(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    /// An error unless `bytes` more fit.
    pub(crate) fn check(&self, bytes: usize, what: &'static str) -> Result<()> {
        if bytes <= self.left() {
            return Ok(());
        }
        Err(over_budget(what, self.used.saturating_add(bytes), self.limit))
    }

    /// Takes `bytes`.
    pub(crate) fn take(&mut self, bytes: usize, what: &'static str) -> Result<()> {
        self.check(bytes, what)?;
        self.used = self.used.saturating_add(bytes);
        Ok(())
    }
}

/// What the lookup tables of an open file may take. They are held as long as its readers.
#[derive(Debug)]
pub struct TableBudget {
    per_byte: u64,
    left: AtomicU64,
}

impl TableBudget {
    /// All of `budget`.
    pub const fn new(budget: DecodeBudget) -> Self {
        Self { per_byte: budget.per_byte as u64, left: AtomicU64::new(budget.constant) }
    }

    /// What a table may take for which `read` bytes were read.
    pub(crate) const fn table(&self, read: u64) -> TableRoom<'_> {
        TableRoom { tables: self, read }
    }

    /// What a table may take that is made of `buffers`.
    pub(crate) fn table_of(&self, buffers: &[Bytes]) -> TableRoom<'_> {
        self.table(buffers.iter().map(|buffer| buffer.len() as u64).fold(0, u64::saturating_add))
    }
}

/// What a lookup table may take.
#[derive(Debug)]
pub(crate) struct TableRoom<'a> {
    tables: &'a TableBudget,
    /// Bytes that were read for it.
    read: u64,
}

impl TableRoom<'_> {
    /// Bytes that it may take at most.
    pub(crate) fn left(&self) -> usize {
        let free = self.read.saturating_mul(self.tables.per_byte);
        let left = free.saturating_add(self.tables.left.load(Ordering::Relaxed));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Takes `bytes` for `table` and keeps it at `place`; an error, and nothing is kept, if there is not as much.
    ///
    /// Two that fill a place at once may pay twice; that is close enough.
    pub(crate) fn keep<T>(&self, place: &OnceLock<T>, bytes: usize, table: T) -> Result<()> {
        if place.get().is_none() {
            self.spend(bytes)?;
            // Whoever was first has made the same table.
            let _ = place.set(table);
        }
        Ok(())
    }

    /// Takes `bytes`.
    pub(crate) fn spend(&self, bytes: usize) -> Result<()> {
        let more = (bytes as u64).saturating_sub(self.read.saturating_mul(self.tables.per_byte));
        let taken = self
            .tables
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(more));
        match taken {
            Ok(_) => Ok(()),
            Err(left) => {
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                Err(over_budget("lookup tables", bytes, left))
            }
        }
    }
}

/// The error of `needed` bytes where `allowed` are.
pub(crate) fn over_budget(what: &'static str, needed: usize, allowed: usize) -> FormatError {
    FormatError::OverBudget { what: what.into(), needed: needed as u64, allowed: allowed as u64 }
}

/// Bits that a row of `data_type` takes in memory, whatever its values are: those of its numbers, 64 for each string, list,
/// map or dictionary index, and one for each field.
///
/// ```
/// use arrow_schema::DataType;
/// use lance_encoding::row_bits;
///
/// assert_eq!(row_bits(&DataType::new_fixed_size_list(DataType::Float32, 64, false)), 64 * (32 + 1) + 1);
/// ```
pub fn row_bits(data_type: &DataType) -> u64 {
    let bits = match data_type {
        DataType::Null => 0,
        DataType::Boolean => 1,
        DataType::FixedSizeBinary(size) => u64::try_from(*size).unwrap_or(0).saturating_mul(8),
        DataType::FixedSizeList(item, size) => {
            u64::try_from(*size).unwrap_or(0).saturating_mul(row_bits(item.data_type()))
        }
        DataType::Struct(members) => {
            members.iter().fold(0, |sum: u64, member| sum.saturating_add(row_bits(member.data_type())))
        }
        // Strings, lists, maps and dictionary indices.
        other => other.primitive_width().map_or(64, |bytes| bytes as u64 * 8),
    };
    bits.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn widths_of_rows() {
        let vector = DataType::new_fixed_size_list(DataType::Float32, 3, true);
        for (data_type, bits) in [
            (DataType::Null, 1),
            (DataType::Boolean, 2),
            (DataType::Int16, 17),
            (DataType::Utf8, 65),
            (DataType::new_list(DataType::Int64, true), 65),
            (DataType::FixedSizeBinary(5), 41),
            (vector, 100),
            (DataType::Struct(vec![Field::new("a", DataType::Int8, true); 2].into()), 19),
        ] {
            assert_eq!(row_bits(&data_type), bits, "{data_type}");
        }
    }

    #[test]
    fn fields_share_what_is_constant() {
        let budget = DecodeBudget { per_byte: 2, constant: 100 };
        let mut allowance = Allowance::new(budget);
        // 8 rows of 17 bits, 10 bytes read: 17 + 20 bytes are free.
        let take = |bytes: usize| move |room: &mut Room| room.take(bytes, "values");
        allowance.spend(8, &DataType::Int16, 10, take(37)).unwrap();
        allowance.spend(8, &DataType::Int16, 10, take(97)).unwrap();
        let error = allowance.spend(8, &DataType::Int16, 10, take(78)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "values: 78 bytes of memory are needed, more than the budget of 77; fewer rows at once take less, and a \
             larger decode budget allows more"
        );
        allowance.spend(8, &DataType::Int16, 10, take(77)).unwrap();
    }

    #[test]
    fn tables_share_what_is_constant() {
        let tables = TableBudget::new(DecodeBudget { per_byte: 2, constant: 100 });
        let room = tables.table(5);
        assert_eq!(room.left(), 110);
        room.spend(60).unwrap();
        assert_eq!(room.left(), 60);
        let place = OnceLock::new();
        for _ in 0..3 {
            assert!(room.keep(&place, 61, 'a').is_err());
            assert_eq!((place.get(), room.left()), (None, 60));
        }
        room.keep(&place, 60, 'b').unwrap();
        assert_eq!((place.get(), room.left()), (Some(&'b'), 10));
        // What is kept costs nothing more.
        room.keep(&place, 60, 'c').unwrap();
        room.spend(10).unwrap();
    }
}
