//! Values of one bit.

use std::ops::Range;

use arrow_buffer::{BooleanBufferBuilder, Buffer};
use lance_footer::Result;

use super::check_room;

/// One bit a value.
#[derive(Debug)]
pub(crate) struct BitValues {
    bits: BooleanBufferBuilder,
    /// Bytes that there may be.
    limit: usize,
}

impl BitValues {
    /// None yet, which may take `limit` bytes.
    pub(crate) fn within(limit: usize) -> Self {
        Self { bits: BooleanBufferBuilder::new(0), limit }
    }

    /// Bytes by which they may still grow.
    pub(crate) fn room(&self) -> usize {
        self.limit.saturating_sub(self.weight())
    }

    /// Lets them grow by no more than `room` bytes.
    pub(super) fn limit_to(&mut self, room: usize) {
        self.limit = self.weight().saturating_add(room);
    }

    /// An error if they take more than they may.
    pub(crate) fn check(&self) -> Result<()> {
        check_room(0, self.weight(), self.limit)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.bits.len()
    }

    /// Bytes that they take.
    pub(crate) fn weight(&self) -> usize {
        self.bits.len() / 8
    }

    /// Value `index`; false if there is none.
    pub(crate) fn value(&self, index: usize) -> bool {
        index < self.bits.len() && self.bits.get_bit(index)
    }

    /// Appends one value.
    pub(crate) fn append(&mut self, value: bool) {
        self.bits.append(value);
    }

    /// Appends `count` times `value`.
    pub(crate) fn append_repeated(&mut self, value: bool, count: usize) -> Result<()> {
        check_room(self.weight(), count / 8, self.limit)?;
        self.bits.append_n(count, value);
        Ok(())
    }

    /// Appends the bits `range` of `bytes`, which are long enough.
    pub(crate) fn append_range(&mut self, range: Range<usize>, bytes: &[u8]) {
        self.bits.append_packed_range(range, bytes);
    }

    /// The bytes.
    pub(crate) fn finish(self) -> Buffer {
        self.bits.build().into_inner()
    }
}
