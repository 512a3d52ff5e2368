//! Packed structs whose members all have whole bytes: the members of a value one after the other.
//!
//! ```text
//! mini-block, per value   value 0: member 0 | member 1 | …    value 1: …
//! ```

use lance_footer::{FormatError, Result};

use super::{Codec, Picks, corrupt};
use crate::bounds;
use crate::proto;
use crate::storage::Storage;
use crate::values::{Values, misfit};

/// Members of fixed width, side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackedStruct {
    /// Bytes of each member.
    members: Vec<usize>,
    /// Bytes of a value.
    pub(crate) bytes: usize,
}

impl PackedStruct {
    pub(super) fn parse(packed: &proto::PackedStruct, values: &Codec) -> Result<Self> {
        let mut members = Vec::with_capacity(packed.bits_per_value.len());
        let mut bytes = 0_usize;
        for bits in &packed.bits_per_value {
            // What the reference makes of a truth value it does not read itself.
            if *bits == 0 || !bits.is_multiple_of(8) {
                return Err(FormatError::unsupported(format!(
                    "a packed struct with a member of {bits} bits"
                )));
            }
            let width = bounds::size(bits / 8, "codec")?;
            bytes = bytes.checked_add(width).ok_or_else(|| corrupt("a packed struct that is too large"))?;
            members.push(width);
        }
        match values {
            Codec::Flat(flat) if bytes.checked_mul(8) == Some(flat.bits) => Ok(Self { members, bytes }),
            other => Err(corrupt(format!("a packed struct of {bytes} bytes in {}", other.name()))),
        }
    }

    pub(super) fn fits(&self, storage: &Storage) -> bool {
        let Storage::Packed { members } = storage else { return false };
        let fits = |(member, width): (&Storage, &usize)| {
            *member != Storage::Fixed { bits: 1 } && member.bits() == width.checked_mul(8)
        };
        members.len() == self.members.len() && members.iter().zip(&self.members).all(fits)
    }

    /// Appends the picked values of a buffer of as many as `picks` count.
    pub(crate) fn decode(&self, buffer: &[u8], picks: &Picks, out: &mut Values) -> Result<()> {
        bounds::exactly(
            buffer,
            bounds::product(picks.count(), self.bytes, "packed struct")?,
            "packed struct",
        )?;
        let Values::Packed(members) = out else { return Err(misfit("packed structs")) };
        for range in picks.ranges() {
            let count = range.len();
            let bytes = range.start * self.bytes..range.end * self.bytes;
            let records = bounds::slice(buffer, bytes, "packed struct")?;
            let (mut start, mut widths) = (0, self.members.iter());
            members.each(|member| {
                let width = widths.next().copied().unwrap_or_default();
                match member {
                    Values::Fixed(values) => values.append_strided(records, self.bytes, start)?,
                    other => {
                        let mut plain = Vec::with_capacity(count * width);
                        for record in records.chunks_exact(self.bytes) {
                            let value = bounds::slice(record, start..start + width, "packed struct")?;
                            plain.extend_from_slice(value);
                        }
                        other.append_plain(&plain, count)?;
                    }
                }
                start += width;
                Ok(())
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::flat::Flat;

    fn packed(bits: &[u64], sum: usize) -> Result<PackedStruct> {
        let packed = proto::PackedStruct { bits_per_value: bits.to_vec(), values: None };
        PackedStruct::parse(&packed, &Codec::Flat(Flat { bits: sum }))
    }

    #[test]
    fn members_are_taken_apart() {
        let list = Storage::List { len: 2, items: Box::new(Storage::Fixed { bits: 8 }) };
        let storage = Storage::Packed { members: vec![Storage::Fixed { bits: 16 }, list] };
        let codec = packed(&[16, 16], 32).unwrap();
        assert!(codec.fits(&storage));
        let mut out = Values::new(&storage);
        let bytes: Vec<u8> = (0..12).collect();
        codec.decode(&bytes, &Picks::new(3, vec![0..1, 2..3]).unwrap(), &mut out).unwrap();
        let Values::Packed(packed) = out else { unreachable!() };
        let members = packed.members();
        let bytes = |values: &Values| match values {
            Values::Fixed(values) => values.as_slice().to_vec(),
            Values::List(lists) => match &*lists.items {
                Values::Fixed(values) => values.as_slice().to_vec(),
                _ => vec![],
            },
            _ => vec![],
        };
        assert_eq!(bytes(&members[0]), [0, 1, 8, 9]);
        assert_eq!(bytes(&members[1]), [2, 3, 10, 11]);
        assert_eq!((members[0].len(), members[1].len()), (2, 2));
        let mut out = Values::new(&storage);
        assert!(codec.decode(&[0; 11], &Picks::all(3), &mut out).is_err());
    }

    #[test]
    fn widths_must_add_up() {
        assert!(packed(&[32, 8], 40).is_ok());
        assert!(packed(&[32, 8], 48).is_err());
        assert!(packed(&[32, 1], 33).unwrap_err().to_string().contains("a member of 1 bits"));
        assert!(packed(&[u64::MAX - 7, 16], 8).is_err());
        let two = Storage::Packed { members: vec![Storage::Fixed { bits: 32 }, Storage::Fixed { bits: 8 }] };
        assert!(packed(&[32, 8], 40).unwrap().fits(&two));
        assert!(!packed(&[8, 32], 40).unwrap().fits(&two));
        assert!(!packed(&[40], 40).unwrap().fits(&two));
        assert!(
            !packed(&[8], 8).unwrap().fits(&Storage::Packed { members: vec![Storage::Fixed { bits: 1 }] })
        );
    }
}
