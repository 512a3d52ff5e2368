//! Changes of protobuf messages at any depth, such that they parse again.
//!
//! What a message is made of is told by its bytes alone, so that messages within byte strings are found too.

use rand::RngExt;
use rand::rngs::StdRng;

use super::change::run;
use super::number::instead_of;
use crate::edit::RawParts;

/// How deep messages are looked for.
const DEPTH: usize = 24;

/// A field of a message.
#[derive(Debug, Clone, PartialEq)]
struct Field {
    number: u64,
    value: Value,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Varint(u64),
    Fixed(Vec<u8>),
    Bytes(Vec<u8>),
    Numbers(Vec<u64>),
    Message(Vec<Field>),
}

/// Changes one of the messages of `parts`, or a number everywhere in them.
pub(super) fn change(parts: &mut RawParts, other: &RawParts, rng: &mut StdRng) -> &'static str {
    if rng.random_range(0..8) == 0 {
        return everywhere(parts, rng);
    }
    let foreign = parse(pick(other, rng), 0).unwrap_or_default();
    let message = pick_mut(parts, rng);
    let Some(mut fields) = parse(message, 0) else { return "a message that is none" };
    let what = change_one(&mut fields, &foreign, rng);
    *message = encode(&fields);
    what
}

fn pick<'a>(parts: &'a RawParts, rng: &mut StdRng) -> &'a [u8] {
    match parts.columns.is_empty() || rng.random_range(0..4) == 0 {
        true => &parts.descriptor,
        false => &parts.columns[rng.random_range(0..parts.columns.len())],
    }
}

fn pick_mut<'a>(parts: &'a mut RawParts, rng: &mut StdRng) -> &'a mut Vec<u8> {
    match parts.columns.is_empty() || rng.random_range(0..4) == 0 {
        true => &mut parts.descriptor,
        false => {
            let column = rng.random_range(0..parts.columns.len());
            &mut parts.columns[column]
        }
    }
}

/// Another number wherever one stands, so that the messages still agree: as if there were more rows.
fn everywhere(parts: &mut RawParts, rng: &mut StdRng) -> &'static str {
    let mut messages = vec![];
    for message in std::iter::once(&parts.descriptor).chain(&parts.columns) {
        messages.push(parse(message, 0).unwrap_or_default());
    }
    let mut numbers = vec![];
    messages.iter().flatten().for_each(|field| field.numbers(&mut numbers));
    if numbers.is_empty() {
        return "no number";
    }
    let old = numbers[rng.random_range(0..numbers.len())];
    let new = instead_of(old, rng);
    messages.iter_mut().flatten().for_each(|field| field.replace(old, new));
    let mut encoded = messages.iter().map(|fields| encode(fields));
    parts.descriptor = encoded.next().unwrap_or_default();
    parts.columns = encoded.collect();
    "a number everywhere"
}

/// Changes one field somewhere in `fields`.
fn change_one(fields: &mut Vec<Field>, foreign: &[Field], rng: &mut StdRng) -> &'static str {
    if fields.is_empty() {
        return match foreign.is_empty() {
            true => "nothing",
            false => {
                fields.push(foreign[rng.random_range(0..foreign.len())].clone());
                "a foreign field"
            }
        };
    }
    let at = place(fields, rng);
    let number = fields[at].number;
    if let Value::Message(inner) = &mut fields[at].value
        && rng.random_bool(0.9)
    {
        // What is found at the same place of another file fits best.
        let same = foreign.iter().find_map(|field| match &field.value {
            Value::Message(message) if field.number == number => Some(message.as_slice()),
            _ => None,
        });
        return change_one(inner, same.unwrap_or(foreign), rng);
    }
    match rng.random_range(0..14) {
        0 => {
            fields.remove(at);
            "a field removed"
        }
        1 => {
            let field = fields[at].clone();
            fields.insert(at, field);
            "a field twice"
        }
        2 => {
            let other = rng.random_range(0..fields.len());
            let value = fields[other].value.clone();
            fields[at].value = value;
            "a field like another"
        }
        3 => {
            fields[at].number = rng.random_range(1..16);
            "a field of another number"
        }
        4 if !foreign.is_empty() => {
            fields[at] = foreign[rng.random_range(0..foreign.len())].clone();
            "a foreign field"
        }
        5 if rng.random_range(0..4) == 0 => {
            nest(&mut fields[at], rng);
            "a message within itself"
        }
        _ => fields[at].value.change(rng),
    }
}

/// The place of a field: the more there is in it, the more often.
fn place(fields: &[Field], rng: &mut StdRng) -> usize {
    let mut left = rng.random_range(0..fields.iter().map(Field::weight).sum());
    let passed = fields.iter().take_while(|field| {
        let beyond = left >= field.weight();
        left = left.saturating_sub(field.weight());
        beyond
    });
    passed.count().min(fields.len() - 1)
}

/// Puts a message within itself, some times: field by field, or as the last of all that are in it.
fn nest(field: &mut Field, rng: &mut StdRng) {
    for _ in 0..[1, 2, 30, 60, 120, 1000][rng.random_range(0..6)] {
        let inner = std::mem::replace(field, Field { number: field.number, value: Value::Bytes(vec![]) });
        // Encoded at once: a tree as deep as this would end the stack of whoever walks it.
        let mut bytes = vec![];
        inner.encode(&mut bytes);
        field.value = Value::Bytes(bytes);
    }
}

impl Value {
    fn change(&mut self, rng: &mut StdRng) -> &'static str {
        match self {
            Self::Varint(number) => {
                *number = instead_of(*number, rng);
                "a number"
            }
            Self::Numbers(numbers) => {
                let at = rng.random_range(0..numbers.len());
                match rng.random_range(0..8) {
                    0 => drop(numbers.remove(at)),
                    1 => numbers.insert(at, numbers[at]),
                    2 => numbers[at] = numbers[rng.random_range(0..numbers.len())],
                    _ => numbers[at] = instead_of(numbers[at], rng),
                }
                "one of some numbers"
            }
            Self::Fixed(bytes) | Self::Bytes(bytes) => {
                if bytes.is_empty() {
                    bytes.push(rng.random());
                    return "a byte";
                }
                let at = rng.random_range(0..bytes.len());
                match rng.random_range(0..5) {
                    0 => bytes.truncate(at),
                    1 => {
                        let copy = bytes[run(at, bytes.len(), rng)].to_vec();
                        bytes.splice(at..at, copy);
                    }
                    2 => bytes[at] = b'0' + rng.random_range(0..10),
                    _ => bytes[at] ^= 1 << rng.random_range(0..8),
                }
                "bytes of a message"
            }
            Self::Message(fields) => {
                fields.clear();
                "a message that is empty"
            }
        }
    }
}

impl Field {
    /// Values in it.
    fn weight(&self) -> usize {
        match &self.value {
            Value::Message(fields) => fields.iter().map(Self::weight).sum::<usize>().max(1),
            Value::Numbers(numbers) => numbers.len(),
            _ => 1,
        }
    }

    fn numbers(&self, numbers: &mut Vec<u64>) {
        match &self.value {
            Value::Varint(number) => numbers.push(*number),
            Value::Numbers(more) => numbers.extend(more),
            Value::Message(fields) => fields.iter().for_each(|field| field.numbers(numbers)),
            Value::Fixed(_) | Value::Bytes(_) => {}
        }
    }

    fn replace(&mut self, old: u64, new: u64) {
        match &mut self.value {
            Value::Varint(number) if *number == old => *number = new,
            Value::Numbers(numbers) => {
                numbers.iter_mut().filter(|number| **number == old).for_each(|number| *number = new);
            }
            Value::Message(fields) => fields.iter_mut().for_each(|field| field.replace(old, new)),
            _ => {}
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let kind = match &self.value {
            Value::Varint(_) => 0,
            Value::Fixed(bytes) if bytes.len() == 8 => 1,
            Value::Fixed(bytes) if bytes.len() == 4 => 5,
            _ => 2,
        };
        put_varint(self.number << 3 | kind, out);
        let bytes = match &self.value {
            Value::Varint(number) => return put_varint(*number, out),
            Value::Fixed(bytes) if kind != 2 => return out.extend(bytes),
            Value::Fixed(bytes) | Value::Bytes(bytes) => bytes.clone(),
            Value::Numbers(numbers) => {
                let mut bytes = vec![];
                numbers.iter().for_each(|number| put_varint(*number, &mut bytes));
                bytes
            }
            Value::Message(fields) => encode(fields),
        };
        put_varint(bytes.len() as u64, out);
        out.extend(bytes);
    }
}

fn encode(fields: &[Field]) -> Vec<u8> {
    let mut out = vec![];
    fields.iter().for_each(|field| field.encode(&mut out));
    out
}

/// The fields of a message; none if it is not one.
fn parse(mut bytes: &[u8], depth: usize) -> Option<Vec<Field>> {
    let mut fields = vec![];
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let number = tag >> 3;
        if number == 0 || number > 5000 {
            return None;
        }
        let value = match tag & 7 {
            0 => Value::Varint(varint(&mut bytes)?),
            1 => Value::Fixed(split(&mut bytes, 8)?.to_vec()),
            5 => Value::Fixed(split(&mut bytes, 4)?.to_vec()),
            2 => {
                let len = usize::try_from(varint(&mut bytes)?).ok()?;
                payload(split(&mut bytes, len)?, depth)
            }
            _ => return None,
        };
        fields.push(Field { number, value });
    }
    Some(fields)
}

/// What bytes are taken for: whatever they are, they come back as they were.
fn payload(bytes: &[u8], depth: usize) -> Value {
    let plain = Value::Bytes(bytes.to_vec());
    if bytes.is_empty() || depth >= DEPTH {
        return plain;
    }
    if let Some(fields) = parse(bytes, depth + 1)
        && encode(&fields) == bytes
    {
        return Value::Message(fields);
    }
    if std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(|letter| !letter.is_control())) {
        return plain;
    }
    let (mut rest, mut numbers, mut again) = (bytes, vec![], vec![]);
    while !rest.is_empty() {
        let Some(number) = varint(&mut rest) else { return plain };
        put_varint(number, &mut again);
        numbers.push(number);
    }
    if again == bytes { Value::Numbers(numbers) } else { plain }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..70).step_by(7) {
        let byte = split(bytes, 1)?[0];
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn split<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_changed_comes_back() {
        for base in super::super::bases().iter().take(300) {
            for message in std::iter::once(&base.parts.descriptor).chain(&base.parts.columns) {
                assert_eq!(encode(&parse(message, 0).unwrap()), *message, "{}", base.name);
            }
        }
    }
}
