//! Where things are in a container. Pure arithmetic, usable in constants, so that derived rows know their
//! offsets when they are compiled.
//!
//! ```text
//! standard row    bitmap, whole words │ 8 bytes a field │ variable data
//! compact row     slots, widest first │ bitmap, whole bytes, if any │ pad, if any is variable │ variable data
//! standard array  count u64 │ bitmap, whole words │ elements │ pad │ variable data
//! compact array   count i32 │ bitmap, whole bytes, if nullable │ pad, if width % 8 == 0 │ elements │ pad │ …
//! ```

use crate::Format;

/// A reference: u32 size, u32 offset.
pub(crate) const REFERENCE: usize = 8;
/// Rows, arrays and maps are not larger, because Java has signed offsets.
pub(crate) const MAX_IMAGE: usize = i32::MAX as usize;

/// The bytes of a value in its slot in each format; `None` where values have a length of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Widths {
    /// In standard rows and arrays.
    pub standard: Option<usize>,
    /// In compact rows and arrays.
    pub compact: Option<usize>,
}

impl Widths {
    /// Values of variable length in both formats.
    pub const VARIABLE: Self = Self { standard: None, compact: None };

    /// Values of `width` bytes in both formats.
    pub const fn fixed(width: usize) -> Self {
        Self { standard: Some(width), compact: Some(width) }
    }
}

/// What the place of a field depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldShape {
    pub(crate) width: Option<usize>,
    pub(crate) nullable: bool,
}

impl FieldShape {
    pub(crate) const fn slot(self) -> usize {
        match self.width {
            Some(width) => width,
            None => REFERENCE,
        }
    }
}

/// What the places of elements depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementShape {
    pub(crate) format: Format,
    pub(crate) width: Option<usize>,
    pub(crate) nullable: bool,
}

/// Where the parts of a row are, but for its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowGeometry {
    /// First byte of the bitmap of nulls.
    pub bitmap: usize,
    /// Bytes of the bitmap; 0 if no field can be null.
    pub bitmap_len: usize,
    /// First byte of the variable data: where a row ends that has none.
    pub fixed_end: usize,
    /// The bytes of a row in the slot of its parent, where it goes there.
    pub inline: Option<usize>,
}

/// A row of `N` fields: where its parts and its fields are.
#[derive(Debug, Clone, Copy)]
pub struct StructGeometry<const N: usize> {
    /// Where the parts are.
    pub row: RowGeometry,
    /// The slot of each field, by declared position.
    pub slots: [usize; N],
    /// The bit of each field in the bitmap, by declared position.
    pub bits: [usize; N],
    /// The declared positions of the fields, in the order of the bytes.
    pub order: [usize; N],
}

impl<const N: usize> StructGeometry<N> {
    /// The places of fields with these widths, and nullable or not.
    #[expect(clippy::indexing_slicing, clippy::panic, reason = "evaluated while compiling")]
    pub const fn new(format: Format, widths: [Widths; N], nullable: [bool; N]) -> Self {
        let mut fields = [FieldShape { width: None, nullable: false }; N];
        let mut i = 0;
        while i < N {
            fields[i] = format.field(widths[i], nullable[i]);
            i += 1;
        }
        let mut order = [0; N];
        i = 0;
        while i < N {
            // Insertion keeps the declared order of equals.
            let mut at = i;
            if let Format::Compact = format {
                while at > 0 && before(fields[i].slot(), fields[order[at - 1]].slot()) {
                    order[at] = order[at - 1];
                    at -= 1;
                }
            }
            order[at] = i;
            i += 1;
        }
        let mut slots = [0; N];
        let mut bits = [0; N];
        let Some(row) = place(format, &fields, &order, &mut slots, &mut bits) else {
            panic!("a row that is larger than the format allows");
        };
        Self { row, slots, bits, order }
    }
}

/// Whether a slot of `a` bytes comes before one of `b` in compact rows.
const fn before(a: usize, b: usize) -> bool {
    let (group_a, group_b) = (group(a), group(b));
    group_a < group_b || (group_a == group_b && a > b)
}

const fn group(slot: usize) -> u8 {
    if slot == 2 || slot == 4 || slot.is_multiple_of(8) { 0 } else { 1 }
}

/// The key by which the fields of compact rows are sorted, stably; [`before`] is the same order.
pub(crate) fn sort_key(slot: usize) -> (u8, std::cmp::Reverse<usize>) {
    (group(slot), std::cmp::Reverse(slot))
}

/// Puts the fields down in `order`. `None` if the row gets larger than [`MAX_IMAGE`].
#[expect(clippy::indexing_slicing, reason = "also evaluated while compiling; all slices have one length")]
pub(crate) const fn place(
    format: Format,
    fields: &[FieldShape],
    order: &[usize],
    slots: &mut [usize],
    bits: &mut [usize],
) -> Option<RowGeometry> {
    let n = fields.len();
    let mut variable = false;
    let mut nullable = false;
    let mut at: usize = match format {
        Format::Standard => n.div_ceil(64) * 8,
        Format::Compact => 0,
    };
    let mut i = 0;
    while i < n {
        let field = order[i];
        let slot = match format {
            Format::Standard => 8,
            Format::Compact => fields[field].slot(),
        };
        slots[field] = at;
        bits[field] = i;
        variable |= fields[field].width.is_none();
        nullable |= fields[field].nullable;
        at = match at.checked_add(slot) {
            Some(end) if end <= MAX_IMAGE - 8 - n => end,
            _ => return None,
        };
        i += 1;
    }
    Some(match format {
        Format::Standard => {
            RowGeometry { bitmap: 0, bitmap_len: n.div_ceil(64) * 8, fixed_end: at, inline: None }
        }
        Format::Compact => {
            let bitmap_len = if nullable { n.div_ceil(8) } else { 0 };
            let end = at + bitmap_len;
            RowGeometry {
                bitmap: at,
                bitmap_len,
                fixed_end: if variable { Format::padded(end) } else { end },
                inline: if variable { None } else { Some(end) },
            }
        }
    })
}

/// Where the parts of an array of some number of elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArrayGeometry {
    /// First byte of the bitmap of nulls.
    pub bitmap: usize,
    /// Bytes of the bitmap; 0 if no element can be null.
    pub bitmap_len: usize,
    /// First byte of the elements.
    pub elements: usize,
    /// Behind the last element.
    pub elements_end: usize,
}

impl ArrayGeometry {
    /// First byte of the variable data as writers lay it out.
    #[inline]
    pub(crate) const fn fixed_end(self) -> usize {
        self.elements + Format::padded(self.elements_end - self.elements)
    }
}

impl ElementShape {
    /// The bytes from one element to the next.
    #[inline]
    pub(crate) const fn stride(self) -> usize {
        match self.width {
            Some(width) => width,
            None => REFERENCE,
        }
    }

    /// The bytes of the count in front.
    #[inline]
    pub(crate) const fn count_len(self) -> usize {
        match self.format {
            Format::Standard => 8,
            Format::Compact => 4,
        }
    }

    /// The places in an array of `count` elements; `None` if it gets larger than [`MAX_IMAGE`].
    #[inline]
    pub(crate) const fn array(self, count: usize) -> Option<ArrayGeometry> {
        if count > MAX_IMAGE {
            return None;
        }
        let bitmap = self.count_len();
        let bitmap_len = match self.format {
            Format::Standard => count.div_ceil(64) * 8,
            Format::Compact if self.nullable => count.div_ceil(8),
            Format::Compact => 0,
        };
        let header = bitmap + bitmap_len;
        // References are not aligned in compact arrays: only widths that are multiples of 8 are.
        let elements = match (self.format, self.width) {
            (Format::Compact, Some(width)) if width.is_multiple_of(8) => Format::padded(header),
            _ => header,
        };
        let Some(len) = count.checked_mul(self.stride()) else { return None };
        match elements.checked_add(len) {
            Some(elements_end) if elements_end <= MAX_IMAGE => {
                Some(ArrayGeometry { bitmap, bitmap_len, elements, elements_end })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sorts_are_one_order() {
        for a in 1..70 {
            for b in 1..70 {
                assert_eq!(before(a, b), sort_key(a) < sort_key(b), "{a} {b}");
            }
        }
    }

    #[test]
    fn a_compact_row_is_sorted_by_size() {
        let widths = [1, 12, 2, 5, 4, 16, 3, 8].map(Widths::fixed);
        let geometry = StructGeometry::new(Format::Compact, widths, [false; 8]);
        assert_eq!(geometry.order, [5, 7, 4, 2, 1, 3, 6, 0]);
        assert_eq!(geometry.slots, [50, 30, 28, 42, 24, 0, 47, 16]);
        assert_eq!(geometry.row.inline, Some(51));
    }

    #[test]
    fn arrays_do_not_outgrow_the_format() {
        let shape = Format::Compact.element(Widths::fixed(8), true);
        assert_eq!(shape.array(i32::MAX as usize), None);
        assert_eq!(shape.array(usize::MAX), None);
        let empty = shape.array(0).map(|array| (array.elements, array.fixed_end()));
        assert_eq!(empty, Some((8, 8)));
    }
}
