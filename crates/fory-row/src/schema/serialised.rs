//! Schemas as bytes, as Java and C++ exchange them. Rows never hold one.
//!
//! ```text
//! schema  01 │ varint: fields │ fields
//! field   header │ varint: len - 15, if len > 15 │ name, len bytes │ type
//! header  bits 0-1 packing of the name │ bits 2-5 len - 1, at most 15 │ bit 6 nullable │ bit 7 zero
//! type    id │ decimal: precision, scale │ list: field │ map: key, value │ struct: varint: fields, fields
//! ```

mod name;

use self::name::Packing;
use super::{DataType, Field, MAX_FIELDS, Schema, SchemaLimits};
use crate::{Error, ErrorKind, Result};

const VERSION: u8 = 1;
const NULLABLE: u8 = 0x40;
const RESERVED: u8 = 0x80;
/// Names whose length does not fit the header have this there.
const LONG: usize = 15;
/// The greatest length of a packed name.
const MAX_NAME: usize = i16::MAX as usize;
/// A field is no shorter: a header, a byte of its name, its type.
const MIN_FIELD: usize = 3;

impl Schema {
    /// The schema as bytes, without a hash and without a frame.
    ///
    /// The names of the keys and values of maps are not kept. `fixed_binary` is refused: its width would not be kept
    /// either. So are names that are empty.
    ///
    /// ```
    /// use fory_row::{DataType, Field, Schema};
    /// let schema = Schema::new(vec![
    ///     Field::new("id", DataType::Int32, false),
    ///     Field::new("name", DataType::Utf8, true),
    /// ])?;
    /// let bytes = schema.serialize()?;
    /// assert_eq!(bytes, [0x01, 0x02, 0x05, 0xa0, 0x60, 0x04, 0x49, 0x34, 0x0c, 0x20, 0x15]);
    /// assert_eq!(Schema::deserialize(&bytes)?, schema);
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn serialize(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![VERSION];
        write_fields(&mut bytes, self.fields())?;
        Ok(bytes)
    }

    /// Reads what [`Schema::serialize`] makes, of at most [`MAX_DEPTH`](crate::MAX_DEPTH) and [`MAX_FIELDS`].
    pub fn deserialize(bytes: &[u8]) -> Result<Self> {
        Self::deserialize_with(bytes, SchemaLimits::default())
    }

    /// The same with other limits.
    pub fn deserialize_with(bytes: &[u8], limits: SchemaLimits) -> Result<Self> {
        let mut reader = Reader { bytes, left: limits.fields };
        match reader.byte()? {
            VERSION => {}
            version => return Err(Error::unsupported(format!("a serialised schema of version {version}"))),
        }
        let fields = reader.fields(limits.depth)?;
        if !reader.bytes.is_empty() {
            return Err(wrong(format!("{} bytes behind the last field", reader.bytes.len())));
        }
        Self::with_limits(fields, limits)
    }
}

fn write_fields(bytes: &mut Vec<u8>, fields: &[Field]) -> Result<()> {
    write_varint(bytes, fields.len());
    fields.iter().try_for_each(|field| write_field(bytes, &field.name, field))
}

fn write_field(bytes: &mut Vec<u8>, name: &str, field: &Field) -> Result<()> {
    if name.is_empty() {
        return Err(wrong("a field without a name cannot be serialised"));
    }
    let packing = Packing::of(name);
    let packed = packing.pack(name);
    let len = packed.len();
    if len > MAX_NAME {
        return Err(Error::new(ErrorKind::Limit, format!("a name of {len} bytes in a serialised schema")));
    }
    let short = u8::try_from(LONG.min(len - 1)).unwrap_or_default();
    bytes.push(packing.id() | short << 2 | if field.nullable { NULLABLE } else { 0 });
    if len > LONG {
        write_varint(bytes, len - LONG);
    }
    bytes.extend_from_slice(&packed);
    write_type(bytes, &field.data_type).map_err(|error| error.in_field(name))
}

fn write_type(bytes: &mut Vec<u8>, data_type: &DataType) -> Result<()> {
    bytes.push(data_type.id());
    match data_type {
        DataType::Decimal { precision, scale } => bytes.extend([*precision, *scale]),
        DataType::FixedBinary(_) => {
            return Err(Error::unsupported(
                "fixed_binary in a serialised schema, which has no place for its width",
            ));
        }
        DataType::List(element) => write_field(bytes, &element.name, element)?,
        DataType::Map(key, value) => {
            write_field(bytes, "key", key)?;
            write_field(bytes, "value", value)?;
        }
        DataType::Struct(fields) => write_fields(bytes, fields)?,
        _ => {}
    }
    Ok(())
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
fn write_varint(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// What is left to read.
struct Reader<'a> {
    bytes: &'a [u8],
    /// Fields that may still come.
    left: usize,
}

impl<'a> Reader<'a> {
    fn fields(&mut self, depth: usize) -> Result<Vec<Field>> {
        let count = self.varint()?;
        // Before a vector of that length is made.
        if count > self.bytes.len() / MIN_FIELD {
            return Err(wrong(format!("{count} fields in {} bytes", self.bytes.len())));
        }
        if count > self.left {
            return Err(Error::new(ErrorKind::Limit, format!("{count} fields: more than a schema may have")));
        }
        let mut fields = Vec::with_capacity(count);
        for _ in 0..count {
            fields.push(self.field(depth)?);
        }
        Ok(fields)
    }

    fn field(&mut self, depth: usize) -> Result<Field> {
        let Some(below) = depth.checked_sub(1) else {
            return Err(Error::new(ErrorKind::Limit, "deeper than the greatest depth of a schema"));
        };
        let Some(left) = self.left.checked_sub(1) else {
            return Err(Error::new(ErrorKind::Limit, "more fields than a schema may have"));
        };
        self.left = left;
        let header = self.byte()?;
        if header & RESERVED != 0 {
            return Err(wrong(format!("a field with the header {header:#04x}, whose top bit means nothing")));
        }
        let packing = Packing::from_id(header & 3)?;
        let len = match usize::from(header >> 2 & 15) {
            LONG => LONG.saturating_add(self.varint()?),
            short => short + 1,
        };
        if len > MAX_NAME {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("a name of {len} bytes in a serialised schema"),
            ));
        }
        let name = packing.unpack(self.take(len)?)?;
        let data_type = self.data_type(below).map_err(|error| error.in_field(&name))?;
        Ok(Field { name, data_type, nullable: header & NULLABLE != 0 })
    }

    fn data_type(&mut self, below: usize) -> Result<DataType> {
        Ok(match self.byte()? {
            1 => DataType::Bool,
            2 => DataType::Int8,
            3 => DataType::Int16,
            4 => DataType::Int32,
            6 => DataType::Int64,
            17 => DataType::Float16,
            19 => DataType::Float32,
            20 => DataType::Float64,
            21 => DataType::Utf8,
            22 => DataType::List(Box::new(self.field(below)?)),
            24 => {
                let (key, value) = (self.field(below)?, self.field(below)?);
                DataType::map(key.data_type, value.data_type)
            }
            27 => DataType::Struct(self.fields(below)?),
            37 => DataType::Duration,
            38 => DataType::Timestamp,
            39 => DataType::Date32,
            40 => DataType::Decimal { precision: self.byte()?, scale: self.byte()? },
            41 => DataType::Binary,
            id => return Err(wrong(format!("there is no type of the number {id}"))),
        })
    }

    fn varint(&mut self) -> Result<usize> {
        let mut number = 0_usize;
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        // No limit lets larger ones through.
        Err(wrong("a number of more than four bytes"))
    }

    fn byte(&mut self) -> Result<u8> {
        match self.take(1)? {
            [byte] => Ok(*byte),
            _ => Err(wrong("it ends in the middle of a field")),
        }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.bytes.split_at_checked(len) else {
            return Err(wrong("it ends in the middle of a field"));
        };
        self.bytes = rest;
        Ok(taken)
    }
}

const _: () = assert!(MAX_FIELDS < 1 << 28 && MAX_NAME < 1 << 28);

fn wrong(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Schema, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> Option<(ErrorKind, String)> {
        let error = Schema::deserialize(bytes).err()?;
        Some((error.kind(), error.to_string()))
    }

    #[test]
    fn hostile_bytes_are_refused() {
        // [id: int32 not null]
        let good: &[u8] = &[1, 1, 0x05, 0xa0, 0x60, 4];
        assert_eq!(refused(good), None);
        for end in 0..good.len() {
            let kind = good.get(..end).and_then(refused).map(|(kind, _)| kind);
            assert_eq!(kind, Some(ErrorKind::Schema), "cut at {end}");
        }
        let large: &[u8] = &[1, 0xff, 0xff, 0xff, 0x7f, 0x05, 0xa0, 0x60, 4];
        for (bytes, kind, reason) in [
            (&[2, 1][..], ErrorKind::Unsupported, "a serialised schema of version 2"),
            (&[1, 0], ErrorKind::Schema, "a row or struct without fields"),
            (large, ErrorKind::Schema, "268435455 fields in 4 bytes"),
            (&[1, 0xff, 0xff, 0xff, 0xff, 0x0f], ErrorKind::Schema, "a number of more than four bytes"),
            (&[1, 1, 0x85, 0xa0, 0x60, 4], ErrorKind::Schema, "the header 0x85"),
            (&[1, 1, 0x07, 0xa0, 0x60, 4], ErrorKind::Schema, "packing 3"),
            (&[1, 1, 0x05, 0xa0, 0x60, 5], ErrorKind::Schema, "no type of the number 5"),
            (&[1, 1, 0x05, 0xa0, 0x60, 4, 0], ErrorKind::Schema, "1 bytes behind the last field"),
            (&[1, 1, 0x3c, 0xff, 0xff, 0x7f, 4], ErrorKind::Limit, "a name of 2097166 bytes"),
            (&[1, 1, 0x00, 0xff, 4], ErrorKind::Schema, "not UTF-8"),
            (&[1, 2, 0x00, b'a', 4, 0x00, b'a', 4], ErrorKind::Schema, "another field has the same name"),
            (&[1, 1, 0x00, b'a', 40, 39, 0], ErrorKind::Schema, "decimal(39, 0)"),
        ] {
            let found = refused(bytes);
            let right = found.as_ref().is_some_and(|(found, text)| *found == kind && text.contains(reason));
            assert!(right, "{bytes:02x?}: {found:?} instead of {reason}");
        }
    }

    #[test]
    fn depth_is_bounded_before_it_is_recursed_into() {
        for (lists, fits) in [(63, true), (64, false), (1_000_000, false)] {
            let mut bytes = vec![1, 1];
            bytes.extend([0x00, b'a', 22].repeat(lists));
            bytes.extend([0x00, b'a', 4]);
            assert_eq!(Schema::deserialize(&bytes).is_ok(), fits, "{lists}");
        }
    }

    #[test]
    fn what_would_be_lost_is_refused() -> Result<()> {
        for (name, data_type, kind) in [
            ("a", DataType::FixedBinary(4), ErrorKind::Unsupported),
            ("", DataType::Bool, ErrorKind::Schema),
            (&*"é".repeat(20_000), DataType::Bool, ErrorKind::Limit),
        ] {
            let schema = Schema::new(vec![Field::new(name, data_type, true)])?;
            assert_eq!(schema.serialize().err().map(|error| error.kind()), Some(kind));
        }
        Ok(())
    }
}
