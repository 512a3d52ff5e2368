//! Validity bits that exist only once there is a null.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// Collects validity. As long as everything is valid no bit is stored.
#[derive(Debug, Default)]
pub(crate) struct Validity {
    len: usize,
    bits: Option<BooleanBufferBuilder>,
}

impl Validity {
    /// Slots so far.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes that the bits take.
    pub(crate) fn weight(&self) -> usize {
        self.bits.as_ref().map_or(0, |bits| bits.len() / 8)
    }

    /// `count` slots that are valid.
    pub(crate) fn push_valid(&mut self, count: usize) {
        self.len += count;
        if let Some(bits) = &mut self.bits {
            bits.append_n(count, true);
        }
    }

    /// `count` slots that are null.
    pub(crate) fn push_null(&mut self, count: usize) {
        if count > 0 {
            self.bits().append_n(count, false);
            self.len += count;
        }
    }

    /// One slot.
    pub(crate) fn push(&mut self, valid: bool) {
        if valid { self.push_valid(1) } else { self.push_null(1) }
    }

    /// One slot a level: valid up to `highest_valid`.
    pub(crate) fn push_levels(&mut self, levels: &[u16], highest_valid: u16) {
        if levels.iter().fold(0, |max, level| max.max(*level)) <= highest_valid {
            return self.push_valid(levels.len());
        }
        self.len += levels.len();
        let len = self.len - levels.len();
        let bits = self.bits.get_or_insert_with(|| all_valid(len));
        for chunk in levels.chunks(64) {
            let word =
                chunk.iter().rev().fold(0_u64, |word, level| word << 1 | u64::from(*level <= highest_valid));
            bits.append_word(word, chunk.len());
        }
    }

    /// The bits `range` of a bitmap that is long enough.
    pub(crate) fn push_bits(&mut self, range: std::ops::Range<usize>, bitmap: &[u8]) {
        self.len += range.len();
        let len = self.len - range.len();
        self.bits.get_or_insert_with(|| all_valid(len)).append_packed_range(range, bitmap);
    }

    /// The bits; none if all are valid.
    pub(crate) fn finish(self) -> Option<NullBuffer> {
        self.bits.map(|bits| NullBuffer::new(bits.build())).filter(|nulls| nulls.null_count() > 0)
    }

    fn bits(&mut self) -> &mut BooleanBufferBuilder {
        self.bits.get_or_insert_with(|| all_valid(self.len))
    }
}

fn all_valid(len: usize) -> BooleanBufferBuilder {
    let mut bits = BooleanBufferBuilder::new(len);
    bits.append_n(len, true);
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_appear_with_the_first_null() {
        let mut validity = Validity::default();
        validity.push_valid(3);
        validity.push_levels(&[0; 70], 0);
        assert!(validity.bits.is_none());
        validity.push_levels(&[0, 1, 2], 1);
        validity.push_bits(1..3, &[0b011]);
        validity.push(true);
        validity.push_null(2);
        assert_eq!(validity.len(), 3 + 70 + 3 + 2 + 1 + 2);
        let nulls = validity.finish().unwrap();
        assert_eq!(nulls.null_count(), 4);
        assert!(nulls.is_null(75) && nulls.is_null(77) && nulls.is_null(79) && nulls.is_null(80));
    }

    #[test]
    fn no_null_no_bits() {
        let mut validity = Validity::default();
        validity.push_bits(0..2, &[3]);
        assert!(validity.finish().is_none());
    }
}
