//! The records of full-zip pages.

use lance_footer::{FormatError, Result};

use super::leaf::LeafBuilder;
use super::unravel::{Entries, Unraveler};
use crate::bounds;
use crate::codec::constant::Constant;
use crate::codec::fixed_size_list::FixedSizeList;
use crate::codec::packed_struct::PackedStruct;
use crate::codec::{Codec, Picks};
use crate::layers::Numbering;
use crate::values::{Values, misfit};

/// The control word in front of each record: `repetition << bits_def | definition`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Control {
    bits_rep: u32,
    bits_def: u32,
    bytes: usize,
}

/// How a value of fixed width is stored.
#[derive(Debug)]
pub(super) enum FixedValue {
    /// As in memory.
    Plain,
    /// A truth value, in a byte.
    Bool,
    /// A list with validity of its items.
    Items(FixedSizeList),
    /// The same again and again, or none: it takes no bytes.
    Same(Constant),
    /// The members of a struct.
    Packed(PackedStruct),
}

/// How strings, or structs that are packed like these, are stored in records.
#[derive(Debug)]
pub(super) struct Strings {
    /// Bytes of the length in front of a string.
    pub(super) length_bytes: usize,
    /// How each is compressed.
    pub(super) codec: Codec,
}

/// Levels of records, as far as they are stored.
#[derive(Debug, Default)]
struct Levels {
    repetition: Vec<u16>,
    definition: Vec<u16>,
    count: usize,
}

impl Control {
    /// With as many bits for the two levels.
    pub(super) fn new(bits_rep: u32, bits_def: u32) -> Result<Self> {
        let bytes = match (bits_rep, bits_def) {
            (0..=16, 0..=16) => match bits_rep + bits_def {
                0 => 0,
                1..=8 => 1,
                9..=16 => 2,
                _ => 4,
            },
            _ => return Err(corrupt(format!("levels of {bits_rep} and {bits_def} bits"))),
        };
        Ok(Self { bits_rep, bits_def, bytes })
    }

    /// Bytes of a control word.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there are repetition levels in it.
    pub(super) const fn has_repetition(&self) -> bool {
        self.bits_rep > 0
    }

    /// Takes the control word off `rest` and gives the definition level.
    fn take(&self, rest: &mut &[u8], levels: &mut Levels) -> Result<u16> {
        levels.count += 1;
        if self.bytes == 0 {
            return Ok(0);
        }
        let word = take_number(rest, self.bytes)?;
        // The levels have at most 16 bits each.
        let level = |bits: u64| u16::try_from(bits).map_err(|_| corrupt("a level of more than 16 bits"));
        let definition = level(word & ((1 << self.bits_def) - 1))?;
        if self.bits_rep > 0 {
            levels.repetition.push(level(word >> self.bits_def & ((1 << self.bits_rep) - 1))?);
        }
        if self.bits_def > 0 {
            levels.definition.push(definition);
        }
        Ok(definition)
    }

    fn entries<'a>(&self, levels: &'a Levels) -> Entries<'a> {
        Entries {
            repetition: if self.bits_rep > 0 { Ok(&levels.repetition) } else { Err(levels.count) },
            definition: (self.bits_def > 0).then_some(&levels.definition),
        }
    }
}

impl FixedValue {
    /// Appends `count` values that `bytes` hold.
    pub(super) fn append(&self, bytes: &[u8], count: usize, out: &mut Values) -> Result<()> {
        let picks = || Picks::all(count);
        match (self, out) {
            (Self::Plain, Values::Fixed(values))
                if values.width().checked_mul(count) == Some(bytes.len()) =>
            {
                values.append(bytes, count);
                Ok(())
            }
            (Self::Plain, values) => values.append_plain(bytes, count),
            (Self::Bool, Values::Bits(bits)) => {
                bytes.iter().for_each(|byte| bits.append(*byte != 0));
                Ok(())
            }
            (Self::Bool, _) => Err(misfit("truth values")),
            (Self::Items(list), values) if bytes.is_empty() => list.decode_mini_block(&[], &picks(), values),
            (Self::Items(list), values) => list.decode_value(bytes, values),
            (Self::Same(constant), values) => constant.decode(count, values),
            (Self::Packed(packed), values) => packed.decode(bytes, &picks(), values),
        }
    }

    /// Adds the levels of entries with such values.
    pub(super) fn append_levels(
        &self,
        numbering: &Numbering,
        entries: Entries<'_>,
        out: &mut Unraveler,
    ) -> Result<()> {
        match self {
            Self::Same(Constant { value: None }) => out.append_null(numbering, entries)?,
            _ => out.append(numbering, entries)?,
        };
        Ok(())
    }
}

/// Reads records of values of `width` bytes.
pub(super) fn read_fixed(
    mut rest: &[u8],
    control: &Control,
    numbering: &Numbering,
    width: usize,
    value: &FixedValue,
    out: &mut LeafBuilder,
) -> Result<()> {
    let mut levels = Levels::default();
    while !rest.is_empty() {
        let definition = control.take(&mut rest, &mut levels)?;
        if definition > numbering.max_visible() {
            continue;
        }
        let bytes = take(&mut rest, width)?;
        value.append(bytes, 1, &mut out.values)?;
    }
    value.append_levels(numbering, control.entries(&levels), &mut out.levels)
}

/// Reads the records of `rows` rows of strings.
pub(super) fn read_strings(
    mut rest: &[u8],
    control: &Control,
    numbering: &Numbering,
    strings: &Strings,
    rows: usize,
    out: &mut LeafBuilder,
) -> Result<()> {
    let mut levels = Levels::default();
    out.values.reserve_strings(rows, rest.len());
    while !rest.is_empty() {
        let definition = control.take(&mut rest, &mut levels)?;
        if definition == 0 {
            let len = bounds::size(take_number(&mut rest, strings.length_bytes)?, "record")?;
            let bytes = take(&mut rest, len)?;
            match &strings.codec {
                Codec::VariablePackedStruct(packed) => packed.decode_value(bytes, &mut out.values)?,
                codec => out.values.append_string(|data, most| codec.decode_string(bytes, data, most))?,
            }
        } else if definition <= numbering.max_visible() {
            out.values.append_fillers(1)?;
        }
    }
    out.levels.append(numbering, control.entries(&levels)).map(|_| ())
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
    let (taken, after) = rest
        .split_at_checked(len)
        .ok_or_else(|| corrupt(format!("it wants {len} bytes but the rows end after {}", rest.len())))?;
    *rest = after;
    Ok(taken)
}

fn take_number(rest: &mut &[u8], width: usize) -> Result<u64> {
    let mut number = [0; 8];
    for (to, from) in number.iter_mut().zip(take(rest, width)?) {
        *to = *from;
    }
    Ok(u64::from_le_bytes(number))
}

fn corrupt(reason: impl Into<String>) -> FormatError {
    FormatError::corrupt("record", reason)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_schema::DataType;

    use super::*;
    use crate::budget::Room;
    use crate::codec::variable::Variable;
    use crate::layers::Layer;
    use crate::storage::Storage;
    use crate::structural::read::leaf::LeafType;

    fn builder(data_type: DataType) -> (LeafType, LeafBuilder, Numbering) {
        let storage = Storage::of(&data_type).unwrap();
        let leaf = LeafType { name: String::new(), data_type, storage, lists: vec![false, true], slots: 1 };
        let builder = LeafBuilder::new(&leaf, &Room::new(u64::MAX));
        let layers = vec![Layer::Item { nullable: true }, Layer::List { nullable: true, emptyable: true }];
        (leaf, builder, Numbering::new(layers).unwrap())
    }

    #[test]
    fn lists_of_numbers() {
        // [[1,2], null, [], [null,5], [6]]
        let bytes = [4, 1, 0, 0, 0, 0, 2, 0, 0, 0, 6, 7, 5, 0, 0, 0, 0, 0, 5, 0, 0, 0, 4, 6, 0, 0, 0];
        let (leaf, mut out, numbering) = builder(DataType::Int32);
        let control = Control::new(1, 2).unwrap();
        read_fixed(&bytes, &control, &numbering, 4, &FixedValue::Plain, &mut out).unwrap();
        let decoded = out.finish(&leaf, 5).unwrap();
        let values: Vec<_> = decoded.array.as_primitive::<Int32Type>().iter().collect();
        assert_eq!(values, [Some(1), Some(2), None, Some(5), Some(6)]);
        assert_eq!(decoded.layers[1].offsets.as_deref().unwrap(), [0, 2, 2, 2, 4, 5]);
        let (_, mut out, numbering) = builder(DataType::Int32);
        assert!(read_fixed(&bytes[..26], &control, &numbering, 4, &FixedValue::Plain, &mut out).is_err());
    }

    #[test]
    fn lists_of_strings() {
        // [["a","bb"], null, [], [null,""], ["ccc"]]
        let mut bytes = vec![4, 1, 0, 0, 0, b'a', 0, 2, 0, 0, 0, b'b', b'b', 6, 7, 5, 0, 0, 0, 0, 0];
        bytes.extend([4, 3, 0, 0, 0, b'c', b'c', b'c']);
        let (leaf, mut out, numbering) = builder(DataType::Utf8);
        let control = Control::new(1, 2).unwrap();
        let strings = Strings { length_bytes: 4, codec: Codec::Variable(Variable { wide: false }) };
        read_strings(&bytes, &control, &numbering, &strings, 5, &mut out).unwrap();
        let decoded = out.finish(&leaf, 5).unwrap();
        let values: Vec<_> = decoded.array.as_string::<i32>().iter().collect();
        assert_eq!(values, [Some("a"), Some("bb"), None, Some(""), Some("ccc")]);
        assert!(decoded.layers[1].nulls.as_ref().unwrap().is_null(1));
        assert_eq!(decoded.array.null_count(), 1);
    }

    #[test]
    fn sizes_of_control_words() {
        let bytes = |rep, def| Control::new(rep, def).map(|control| control.bytes());
        assert_eq!(bytes(0, 0).unwrap(), 0);
        assert_eq!(bytes(4, 4).unwrap(), 1);
        assert_eq!(bytes(4, 5).unwrap(), 2);
        assert_eq!(bytes(9, 8).unwrap(), 4);
        assert!(bytes(17, 0).is_err());
    }
}
