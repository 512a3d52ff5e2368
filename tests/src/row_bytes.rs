//! Standard rows taken apart by the letter of docs/format/row.md, without the crate that is tested: where the bytes
//! are that mean nothing, and that no reader may look at.

use std::ops::Range;

use fory_row::{DataType, Field, Schema};

/// Why some bytes mean nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// The slot of a field or element that is null. Some producers leave old memory there.
    Null,
    /// Behind a value, up to a multiple of 8 bytes.
    Padding,
}

/// The bytes of a sound standard row of `schema` that mean nothing.
pub fn unread(schema: &Schema, bytes: &[u8]) -> Vec<(Unread, Range<usize>)> {
    let mut found = vec![];
    row(schema.fields(), bytes, 0, &mut found);
    found
}

/// Overwrites with zeros what stands in the slots of nulls.
pub fn clear_nulls(schema: &Schema, bytes: &mut [u8]) {
    for (unread, range) in unread(schema, bytes) {
        if unread == Unread::Null {
            bytes[range].fill(0);
        }
    }
}

fn row(fields: &[Field], bytes: &[u8], start: usize, found: &mut Vec<(Unread, Range<usize>)>) {
    let bitmap = fields.len().div_ceil(64) * 8;
    for (index, field) in fields.iter().enumerate() {
        let slot = start + bitmap + 8 * index;
        if is_set(bytes, start, index) {
            found.push((Unread::Null, slot..slot + 8));
        } else if let Some(width) = width(&field.data_type) {
            found.push((Unread::Padding, slot + width..slot + 8));
        } else {
            reference(&field.data_type, bytes, start, slot, found);
        }
    }
}

fn array(element: &DataType, bytes: &[u8], start: usize, found: &mut Vec<(Unread, Range<usize>)>) {
    let count = word(bytes, start);
    let stride = width(element).unwrap_or(8);
    let elements = start + 8 + count.div_ceil(64) * 8;
    let end = elements + count * stride;
    for index in 0..count {
        let slot = elements + index * stride;
        if is_set(bytes, start + 8, index) {
            found.push((Unread::Null, slot..slot + stride));
        } else if width(element).is_none() {
            reference(element, bytes, start, slot, found);
        }
    }
    found.push((Unread::Padding, end..end.next_multiple_of(8)));
}

/// What the reference in `slot` of the container at `start` points at.
fn reference(
    data_type: &DataType,
    bytes: &[u8],
    start: usize,
    slot: usize,
    found: &mut Vec<(Unread, Range<usize>)>,
) {
    let reference = word(bytes, slot);
    let (size, at) = (reference & 0xffff_ffff, start + (reference >> 32));
    match data_type {
        DataType::List(element) => array(&element.data_type, bytes, at, found),
        DataType::Map(key, value) => {
            array(&key.data_type, bytes, at + 8, found);
            array(&value.data_type, bytes, at + 8 + word(bytes, at), found);
        }
        DataType::Struct(fields) => row(fields, bytes, at, found),
        _ => found.push((Unread::Padding, at + size..(at + size).next_multiple_of(8))),
    }
}

fn width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::Bool | DataType::Int8 => Some(1),
        DataType::Int16 | DataType::Float16 => Some(2),
        DataType::Int32 | DataType::Float32 | DataType::Date32 => Some(4),
        DataType::Int64 | DataType::Float64 | DataType::Timestamp | DataType::Duration => Some(8),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
}

fn is_set(bytes: &[u8], bitmap: usize, bit: usize) -> bool {
    bytes[bitmap + bit / 8] & (1 << (bit % 8)) != 0
}
