//! Packed structs with members of any length, each value by itself.
//!
//! ```text
//! per value    member 0 | member 1 | …
//! member       fixed width: its bytes      variable width: length (u32 or u64) | bytes
//! ```
//!
//! Each member has a codec of its own. A value without bytes stands for a struct that is null.

use lance_footer::{FormatError, Result};

use super::{Codec, corrupt};
use crate::bounds;
use crate::proto::{CompressiveEncoding, variable_packed_struct as proto};
use crate::storage::Storage;
use crate::values::{Values, misfit};

/// Members of any length, side by side.
#[derive(Debug, Clone)]
pub(crate) struct VariablePackedStruct {
    members: Vec<Member>,
}

#[derive(Debug, Clone)]
struct Member {
    codec: Codec,
    width: Width,
}

/// How long a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    /// This many bytes.
    Fixed(usize),
    /// As a number of so many bytes in front of it says.
    Told(usize),
}

impl VariablePackedStruct {
    pub(super) fn parse(
        fields: &[proto::FieldEncoding],
        nested: impl Fn(Option<&CompressiveEncoding>) -> Result<Codec>,
    ) -> Result<Self> {
        let member = |field: &proto::FieldEncoding| {
            let codec = nested(field.value.as_ref())?;
            let width = match field.layout {
                Some(proto::field_encoding::Layout::BitsPerValue(bits)) if bits % 8 == 0 => {
                    Width::Fixed(bounds::size(bits / 8, "codec")?)
                }
                Some(proto::field_encoding::Layout::BitsPerLength(32)) => Width::Told(4),
                Some(proto::field_encoding::Layout::BitsPerLength(64)) => Width::Told(8),
                layout => return Err(corrupt(format!("a member of a packed struct of {layout:?}"))),
            };
            Ok(Member { codec, width })
        };
        Ok(Self { members: fields.iter().map(member).collect::<Result<_>>()? })
    }

    pub(super) fn fits(&self, storage: &Storage) -> bool {
        let Storage::Packed { members } = storage else { return false };
        members.len() == self.members.len()
            && members.iter().zip(&self.members).all(|(storage, member)| member.fits(storage))
    }

    /// Appends the value whose bytes these are.
    pub(crate) fn decode_value(&self, bytes: &[u8], out: &mut Values) -> Result<()> {
        if bytes.is_empty() {
            return out.append_fillers(1);
        }
        let Values::Packed(values) = out else { return Err(misfit("packed structs")) };
        let (mut rest, mut members) = (bytes, self.members.iter());
        values.each(|values| {
            let Some(member) = members.next() else { return Err(misfit("packed structs")) };
            let len = match member.width {
                Width::Fixed(len) => len,
                Width::Told(width) => {
                    let mut number = [0; 8];
                    number.iter_mut().zip(take(&mut rest, width)?).for_each(|(to, from)| *to = *from);
                    bounds::size(u64::from_le_bytes(number), "packed struct")?
                }
            };
            let bytes = take(&mut rest, len)?;
            match &member.codec {
                Codec::Flat(_) => values.append_plain(bytes, 1),
                Codec::FixedSizeList(list) => list.decode_value(bytes, values),
                codec => values.append_string(|data, most| codec.decode_string(bytes, data, most)),
            }
        })?;
        bounds::exactly(rest, 0, "packed struct")
    }
}

impl Member {
    /// Whether it can hold values of shape `storage`, and has the width that they have.
    fn fits(&self, storage: &Storage) -> bool {
        let width = match (&self.codec, storage) {
            // Bits have no place of their own.
            (Codec::Flat(flat), Storage::Fixed { bits }) if flat.bits == *bits && bits % 8 == 0 => {
                Some(Width::Fixed(bits / 8))
            }
            (Codec::FixedSizeList(list), _) => list.value_bytes().ok().map(Width::Fixed),
            (_, Storage::Variable { wide }) => Some(Width::Told(if *wide { 8 } else { 4 })),
            _ => None,
        };
        width == Some(self.width) && self.codec.fits(storage)
    }
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(len).ok_or_else(|| {
        FormatError::corrupt("packed struct", format!("it wants {len} bytes of {}", rest.len()))
    })?;
    *rest = after;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::flat::Flat;
    use crate::codec::variable::Variable;

    fn pair() -> (VariablePackedStruct, Storage) {
        let number = Member { codec: Codec::Flat(Flat { bits: 32 }), width: Width::Fixed(4) };
        let text = Member { codec: Codec::Variable(Variable { wide: false }), width: Width::Told(4) };
        let members = vec![Storage::Fixed { bits: 32 }, Storage::Variable { wide: false }];
        (VariablePackedStruct { members: vec![number, text] }, Storage::Packed { members })
    }

    #[test]
    fn values_are_taken_apart() {
        // {a:1, b:"xy"}, null, {a:2, b:""}
        let (codec, storage) = pair();
        assert!(codec.fits(&storage));
        let mut out = Values::new(&storage);
        for value in [&[1, 0, 0, 0, 2, 0, 0, 0, b'x', b'y'][..], &[], &[2, 0, 0, 0, 0, 0, 0, 0]] {
            codec.decode_value(value, &mut out).unwrap();
        }
        let Values::Packed(packed) = &out else { unreachable!() };
        let members = packed.members();
        assert_eq!((members[0].len(), members[1].len()), (3, 3));
        for wrong in [&[1, 0, 0, 0][..], &[1, 0, 0, 0, 1, 0, 0, 0], &[1, 0, 0, 0, 0, 0, 0, 0, 0], &[0; 3]] {
            assert!(codec.decode_value(wrong, &mut Values::new(&storage)).is_err(), "{wrong:?}");
        }
        assert!(!codec.fits(&Storage::Packed { members: vec![Storage::Fixed { bits: 32 }] }));
        let wide = vec![Storage::Fixed { bits: 32 }, Storage::Variable { wide: true }];
        assert!(!codec.fits(&Storage::Packed { members: wide }));
    }
}
