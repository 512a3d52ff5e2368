//! Checked access to the bytes of containers, the same for rows whose schema is known to the compiler and rows
//! whose schema is not.
//!
//! A container is a slice that ends where its parent says. It is checked when it is opened, a reference when it is
//! followed; so no read leaves the slice, and none depends on the rest of the row.

use crate::geometry::{ArrayGeometry, ElementShape, RowGeometry};
use crate::{Error, Format, Result};

/// The place of one value in a container.
#[derive(Debug, Clone, Copy)]
pub struct Slot<'a> {
    /// The container, from its first byte, which offsets count from.
    owner: &'a [u8],
    at: usize,
    /// Behind the slots of the container: no reference points in front of it.
    floor: usize,
}

impl<'a> Slot<'a> {
    /// The slot at `at` of the container `owner`, whose variable data are not in front of `floor`.
    #[inline]
    pub const fn new(owner: &'a [u8], at: usize, floor: usize) -> Self {
        Self { owner, at, floor }
    }

    /// A fixed-width value.
    #[inline]
    pub fn fixed<const N: usize>(self) -> Result<[u8; N]> {
        match self.owner.get(self.at..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => Ok(*bytes),
            None => Err(self.outside(N)),
        }
    }

    /// A value of `width` bytes.
    #[inline]
    pub fn inline(self, width: usize) -> Result<&'a [u8]> {
        match self.owner.get(self.at..self.at.saturating_add(width)) {
            Some(bytes) => Ok(bytes),
            None => Err(self.outside(width)),
        }
    }

    /// The bytes that a reference points at.
    #[inline]
    pub fn payload(self) -> Result<&'a [u8]> {
        let (offset, size) = self.reference()?;
        if offset < self.floor {
            return Err(self.in_front(offset));
        }
        match self.owner.get(offset..offset.saturating_add(size)) {
            Some(bytes) => Ok(bytes),
            None => Err(self.beyond(offset, size)),
        }
    }

    /// The bytes of a struct: in place where it has `inline` bytes there, or what a reference points at.
    #[inline]
    pub fn row(self, inline: Option<usize>) -> Result<&'a [u8]> {
        match inline {
            Some(width) => self.inline(width),
            None => self.payload(),
        }
    }

    /// The offset and the size of a reference, as they stand there.
    #[inline]
    pub(crate) fn reference(self) -> Result<(usize, usize)> {
        let [s0, s1, s2, s3, o0, o1, o2, o3] = self.fixed::<8>()?;
        Ok((u32::from_le_bytes([o0, o1, o2, o3]) as usize, u32::from_le_bytes([s0, s1, s2, s3]) as usize))
    }

    #[cold]
    fn outside(self, width: usize) -> Error {
        let (at, len) = (self.at, self.owner.len());
        Error::malformed(format!("{width} bytes at {at} are not within the {len} bytes of the container"))
    }

    #[cold]
    fn in_front(self, offset: usize) -> Error {
        let floor = self.floor;
        Error::malformed(format!("a reference to offset {offset}, in front of the variable data at {floor}"))
    }

    #[cold]
    fn beyond(self, offset: usize, size: usize) -> Error {
        let len = self.owner.len();
        Error::malformed(format!("a reference to {size} bytes at offset {offset} of a container of {len}"))
    }
}

/// Checks that a row is as long as its fixed region.
#[inline]
pub fn check_row(bytes: &[u8], fixed_end: usize) -> Result<()> {
    if bytes.len() < fixed_end { Err(short_row(bytes.len(), fixed_end)) } else { Ok(()) }
}

#[cold]
fn short_row(len: usize, fixed_end: usize) -> Error {
    Error::malformed(format!("{len} bytes are shorter than the fixed region of {fixed_end}"))
}

/// Whether the field that has bit `field` is null in the row `bytes`.
#[inline]
pub(crate) fn is_null(bytes: &[u8], row: &RowGeometry, field: usize) -> bool {
    row.bitmap_len > 0 && bit(bytes, row.bitmap, field)
}

/// Whether bit `bit` of the bitmap at `bitmap` is set.
#[inline]
pub(crate) fn bit(owner: &[u8], bitmap: usize, bit: usize) -> bool {
    owner.get(bitmap + bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
}

/// An array whose count was checked against its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawArray<'a> {
    bytes: &'a [u8],
    count: usize,
    geometry: ArrayGeometry,
    stride: usize,
}

impl<'a> RawArray<'a> {
    /// Checks the array image `bytes`.
    #[inline]
    pub(crate) fn open(bytes: &'a [u8], shape: ElementShape) -> Result<Self> {
        let count = match shape.format {
            Format::Standard => bytes.first_chunk().map(|count| u64::from_le_bytes(*count)),
            Format::Compact => bytes.first_chunk().map(|count| u64::from(u32::from_le_bytes(*count))),
        };
        let Some(stated) = count else {
            return Err(short_array(bytes.len(), shape.count_len()));
        };
        // A count above 2^31 - 1 is the same as one that the bytes cannot hold.
        let Some((count, geometry)) =
            usize::try_from(stated).ok().and_then(|count| Some((count, shape.array(count)?)))
        else {
            return Err(large_array(stated, shape.stride(), bytes.len()));
        };
        if geometry.elements_end > bytes.len() {
            return Err(large_array(stated, shape.stride(), bytes.len()));
        }
        Ok(Self { bytes, count, geometry, stride: shape.stride() })
    }

    /// The number of elements.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// Whether element `index` is null.
    #[inline]
    pub(crate) fn is_null(&self, index: usize) -> bool {
        self.geometry.bitmap_len > 0 && bit(self.bytes, self.geometry.bitmap, index)
    }

    /// Whether any element is null.
    #[inline]
    pub(crate) fn has_nulls(&self) -> bool {
        let bitmap =
            self.bytes.get(self.geometry.bitmap..).and_then(|from| from.get(..self.count.div_ceil(8)));
        let Some((last, whole)) =
            bitmap.filter(|_| self.geometry.bitmap_len > 0).and_then(<[u8]>::split_last)
        else {
            return false;
        };
        // Bits behind the last element mean nothing; there are at most 7 in the last byte.
        let unused = (whole.len() * 8 + 8 - self.count) % 8;
        whole.iter().any(|byte| *byte != 0) || last << unused != 0
    }

    /// The place of element `index`, which is one of the array's.
    #[inline]
    pub(crate) fn slot(&self, index: usize) -> Slot<'a> {
        let at = self.geometry.elements + index * self.stride;
        Slot::new(self.bytes, at, self.geometry.elements_end)
    }

    /// The bytes of all elements.
    #[inline]
    pub(crate) fn elements(&self) -> &'a [u8] {
        self.bytes.get(self.geometry.elements..self.geometry.elements_end).unwrap_or_default()
    }

    /// The whole image, with what may follow the elements.
    #[inline]
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) const fn geometry(&self) -> ArrayGeometry {
        self.geometry
    }
}

#[cold]
fn short_array(len: usize, count_len: usize) -> Error {
    Error::malformed(format!("an array of {len} bytes has no room for its count of {count_len}"))
}

#[cold]
fn large_array(count: u64, stride: usize, len: usize) -> Error {
    Error::malformed(format!("an array of {len} bytes cannot hold {count} elements of {stride} bytes"))
}

/// A map whose two arrays were checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawMap<'a> {
    /// The keys, of which none is null.
    pub(crate) keys: RawArray<'a>,
    /// As many values.
    pub(crate) values: RawArray<'a>,
}

impl<'a> RawMap<'a> {
    /// Checks the map image `bytes`.
    #[inline]
    pub(crate) fn open(bytes: &'a [u8], keys: ElementShape, values: ElementShape) -> Result<Self> {
        let Some((size, rest)) = bytes.split_first_chunk() else {
            return Err(Error::malformed(format!(
                "a map of {} bytes has no room for the size of its keys",
                bytes.len()
            )));
        };
        let size = u64::from_le_bytes(*size);
        let Some((key_bytes, value_bytes)) =
            usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size))
        else {
            return Err(Error::malformed(format!("keys of {size} bytes in a map of {}", bytes.len())));
        };
        let keys = RawArray::open(key_bytes, keys)?;
        let values = RawArray::open(value_bytes, values)?;
        if keys.len() != values.len() {
            return Err(Error::malformed(format!(
                "a map of {} keys and {} values",
                keys.len(),
                values.len()
            )));
        }
        if keys.has_nulls() {
            return Err(Error::malformed("a null among the keys of a map"));
        }
        Ok(Self { keys, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Widths;

    #[test]
    fn bits_behind_the_last_element_are_no_nulls() -> Result<()> {
        let shape = Format::Compact.element(Widths::fixed(1), true);
        for count in 1..=17_usize {
            let mut image = vec![0; 4 + count.div_ceil(8) + count];
            if let Some(first) = image.first_mut() {
                *first = u8::try_from(count).unwrap_or_default();
            }
            for bit in 0..count.div_ceil(8) * 8 {
                let mut image = image.clone();
                if let Some(byte) = image.get_mut(4 + bit / 8) {
                    *byte |= 1 << (bit % 8);
                }
                assert_eq!(RawArray::open(&image, shape)?.has_nulls(), bit < count, "{count} {bit}");
            }
        }
        Ok(())
    }
}
