//! Fixed-size lists of values of fixed width, one level of lists a codec.
//!
//! With `c` items in a list (counted over all levels down to this one) and validity of items where a level has
//! it:
//!
//! ```text
//! mini-block   one bitmap buffer of n * c bits a level with validity, outermost first | one buffer of items
//! per value    ceil(c / 8) bitmap bytes a level with validity, outermost first | the items
//! ```
//!
//! Validity of the outermost lists is in the definition levels. Items under a null are there, as fillers; bits
//! of a value's bitmap past its items are garbage.

use lance_footer::{FormatError, Result};

use super::{Codec, Picks, corrupt};
use crate::bounds;
use crate::proto;
use crate::storage::Storage;
use crate::values::{Values, misfit};

/// Lists of the same length.
#[derive(Debug, Clone)]
pub(crate) struct FixedSizeList {
    /// Items of a list.
    pub(crate) len: usize,
    /// Whether there is a bitmap that says which items are there.
    pub(crate) has_validity: bool,
    /// How the items are stored.
    pub(crate) items: Box<Codec>,
}

impl FixedSizeList {
    pub(super) fn parse(list: &proto::FixedSizeList, items: Codec) -> Result<Self> {
        match items {
            Codec::Flat(_) | Codec::FixedSizeList(_) | Codec::Constant(_) => Ok(Self {
                len: bounds::size(list.items_per_value, "codec")?,
                has_validity: list.has_validity,
                items: Box::new(items),
            }),
            other => Err(corrupt(format!("a fixed-size list of {}", other.name()))),
        }
    }

    pub(super) fn fits(&self, storage: &Storage) -> bool {
        matches!(storage, Storage::List { len, items } if *len == self.len && self.items.fits(items))
    }

    /// Whether any level has validity, or items that are not stored.
    pub(crate) fn validity_inside(&self) -> bool {
        self.has_validity
            || match &*self.items {
                Codec::FixedSizeList(inner) => inner.validity_inside(),
                Codec::Constant(_) => true,
                _ => false,
            }
    }

    /// Bytes of one value of a full-zip page. An error if they are not whole.
    pub(crate) fn value_bytes(&self) -> Result<usize> {
        let bytes = self.parts(1)?.into_iter().try_fold(0, usize::checked_add);
        bytes.ok_or_else(|| corrupt("a fixed-size list that is too large"))
    }

    pub(super) fn decode_mini_block(&self, buffers: &[&[u8]], picks: &Picks, out: &mut Values) -> Result<()> {
        let Values::List(lists) = out else { return Err(misfit("lists")) };
        let items = picks.times(self.len)?;
        let rest = match buffers.split_first() {
            Some((bitmap, rest)) if self.has_validity => {
                let due = items.count().div_ceil(8);
                bounds::exactly(bitmap, due, "validity of items")?;
                items.ranges().for_each(|range| lists.validity.push_bits(range, bitmap));
                rest
            }
            _ if self.has_validity => return Err(corrupt("a fixed-size list without its bitmap")),
            _ => {
                lists.validity.push_valid(items.len());
                buffers
            }
        };
        lists.count += picks.len();
        self.items.decode_mini_block(rest, &items, &mut lists.items)
    }

    /// Appends one value of a full-zip page.
    pub(crate) fn decode_value(&self, bytes: &[u8], out: &mut Values) -> Result<()> {
        let mut buffers = vec![];
        let mut rest = bytes;
        for len in self.parts(1)? {
            let (buffer, after) = rest.split_at_checked(len).ok_or_else(|| {
                FormatError::corrupt("fixed-size list", format!("{} bytes are too few", bytes.len()))
            })?;
            buffers.push(buffer);
            rest = after;
        }
        bounds::exactly(rest, 0, "fixed-size list")?;
        self.decode_mini_block(&buffers, &Picks::all(1), out)
    }

    /// Bytes of each buffer of one value, where there are `outer` lists in it.
    fn parts(&self, outer: usize) -> Result<Vec<usize>> {
        let items = bounds::product(outer, self.len, "fixed-size list")?;
        let mut parts = if self.has_validity { vec![items.div_ceil(8)] } else { vec![] };
        match &*self.items {
            Codec::FixedSizeList(inner) => parts.extend(inner.parts(items)?),
            Codec::Flat(flat) => {
                let bits = bounds::product(items, flat.bits, "fixed-size list")?;
                if bits % 8 != 0 {
                    return Err(corrupt(format!("fixed-size lists of {bits} bits in a full-zip page")));
                }
                parts.push(bits / 8);
            }
            _ => {}
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int16Type;
    use arrow_schema::{DataType, Field};

    use super::*;
    use crate::codec::constant::Constant;
    use crate::codec::flat::Flat;

    fn pairs() -> (DataType, FixedSizeList) {
        let data_type = DataType::FixedSizeList(Field::new("item", DataType::Int16, true).into(), 2);
        let items = Box::new(Codec::Flat(Flat { bits: 16 }));
        (data_type, FixedSizeList { len: 2, has_validity: true, items })
    }

    fn check(values: Values, data_type: &DataType) {
        let array = values.finish(data_type, None).unwrap();
        let items = array.as_fixed_size_list().values();
        let items = items.as_primitive::<Int16Type>();
        assert_eq!(items.iter().take(4).collect::<Vec<_>>(), [Some(1), Some(2), None, Some(4)]);
    }

    #[test]
    fn a_chunk_has_a_bitmap_and_items() {
        let (data_type, codec) = pairs();
        let mut out = Values::new(&Storage::of(&data_type).unwrap());
        let items = [1, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0, 0];
        codec.decode_mini_block(&[&[0x0b], &items], &Picks::all(3), &mut out).unwrap();
        assert_eq!(out.len(), 3);
        check(out, &data_type);
    }

    #[test]
    fn a_value_has_them_too() {
        let (data_type, codec) = pairs();
        assert_eq!(codec.value_bytes().unwrap(), 5);
        let mut out = Values::new(&Storage::of(&data_type).unwrap());
        codec.decode_value(&[0x0b, 1, 0, 2, 0], &mut out).unwrap();
        codec.decode_value(&[0x02, 0, 0, 4, 0], &mut out).unwrap();
        assert!(codec.decode_value(&[0x02, 0, 0, 4], &mut out).is_err());
        check(out, &data_type);
    }

    #[test]
    fn items_that_are_all_null_are_not_stored() {
        let (data_type, _) = pairs();
        let items = Box::new(Codec::Constant(Constant { value: None }));
        let codec = FixedSizeList { len: 2, has_validity: true, items };
        assert_eq!(codec.value_bytes().unwrap(), 1);
        let mut out = Values::new(&Storage::of(&data_type).unwrap());
        codec.decode_value(&[0], &mut out).unwrap();
        let array = out.finish(&data_type, None).unwrap();
        assert_eq!(array.as_fixed_size_list().values().null_count(), 2);
    }
}
