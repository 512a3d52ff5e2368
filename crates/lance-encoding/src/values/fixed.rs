//! Values of whole bytes.

use arrow_buffer::{Buffer, MutableBuffer};
use bytes::Bytes;
use lance_footer::Result;

use super::{check_room, outside, scratch};
use crate::bounds;
use crate::kernel::bitpack::Word;

/// Values of the same number of bytes, one after the other.
#[derive(Debug)]
pub(crate) struct FixedValues {
    width: usize,
    len: usize,
    /// Bytes that there may be.
    limit: usize,
    data: MutableBuffer,
    /// The only bytes so far, as they were read; then `data` is empty.
    shared: Option<Buffer>,
}

impl FixedValues {
    /// None yet, of `width` bytes, of which there may be `limit` in all.
    pub(crate) fn within(width: usize, limit: usize) -> Self {
        Self { width, len: 0, limit, data: MutableBuffer::new(0), shared: None }
    }

    /// Bytes by which they may still grow.
    pub(crate) fn room(&self) -> usize {
        self.limit.saturating_sub(self.as_slice().len())
    }

    /// Bytes that may be taken on the way to them.
    pub(crate) fn scratch(&self) -> usize {
        scratch(self.room())
    }

    /// Lets them grow by no more than `room` bytes.
    pub(super) fn limit_to(&mut self, room: usize) {
        self.limit = self.as_slice().len().saturating_add(room);
    }

    /// An error if they take more than they may.
    pub(crate) fn check(&self) -> Result<()> {
        check_room(0, self.as_slice().len(), self.limit)
    }

    /// Lets `count` more come, on the way to what may take `room` bytes; and to come by these, as much as that.
    pub(crate) fn allow(&mut self, count: usize, room: usize) -> Result<()> {
        let bytes = bounds::product(count, self.width, "values")?;
        check_room(0, bytes, scratch(room))?;
        self.limit = self.as_slice().len().saturating_add(bytes.max(room));
        Ok(())
    }

    /// Bytes of a value.
    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// All bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        self.shared.as_ref().map_or(self.data.as_slice(), Buffer::as_slice)
    }

    /// Appends `count` values; `bytes` has as many bytes as they take.
    pub(crate) fn append(&mut self, bytes: &[u8], count: usize) {
        self.len += count;
        self.owned().extend_from_slice(bytes);
    }

    /// Appends the value that each record of `records`, of `stride` bytes, has at `start`.
    pub(crate) fn append_strided(&mut self, records: &[u8], stride: usize, start: usize) -> Result<()> {
        let width = self.width;
        let before = self.as_slice().len();
        let data = self.owned();
        data.reserve(records.len() / stride.max(1) * width);
        for record in records.chunks_exact(stride.max(1)) {
            data.extend_from_slice(bounds::slice(
                record,
                start..start.saturating_add(width),
                "packed struct",
            )?);
        }
        self.len += (self.as_slice().len() - before) / width.max(1);
        Ok(())
    }

    /// Appends `count` values. If they are the first, and `bytes` are aligned, they are not copied.
    pub(crate) fn append_shared(&mut self, bytes: Bytes, count: usize, alignment: usize) {
        if self.len == 0 && count > 0 {
            self.len = count;
            self.shared = Some(typed_or_copy(bytes, alignment));
        } else {
            self.append(&bytes, count);
        }
    }

    /// Appends `count` zeros.
    pub(crate) fn append_zeros(&mut self, count: usize) -> Result<()> {
        let bytes = bounds::product(count, self.width, "values")?;
        self.check_more(bytes)?;
        self.len += count;
        self.owned().extend_zeros(bytes);
        Ok(())
    }

    /// Appends `count` times `value`, which has the width of a value.
    pub(crate) fn append_repeated(&mut self, value: &[u8], count: usize) -> Result<()> {
        bounds::exactly(value, self.width, "constant value")?;
        self.check_more(bounds::product(count, self.width, "values")?)?;
        self.len += count;
        self.owned().repeat_slice_n_times(value, count);
        Ok(())
    }

    /// Appends `count` zeros, which must be as wide as `T`, and gives them to be filled.
    pub(crate) fn extend_words<T: Word>(&mut self, count: usize) -> Result<&mut [T]> {
        if self.width * 8 != T::BITS {
            return Err(super::misfit("numbers"));
        }
        let start = self.len;
        self.append_zeros(count)?;
        Ok(self.owned().typed_data_mut::<T>().get_mut(start..).unwrap_or_default())
    }

    /// The values as numbers; none if they are not as wide as `T`.
    pub(crate) fn words<T: Word>(&self) -> Vec<T> {
        let mut words = vec![T::default(); if self.width * 8 == T::BITS { self.len } else { 0 }];
        T::read(self.as_slice(), &mut words);
        words
    }

    /// Appends the values of `items` that `indices` name.
    pub(crate) fn append_gathered<I: Word>(&mut self, items: &Self, indices: &[I]) -> Result<()> {
        if items.width != self.width {
            return Err(super::misfit("dictionary"));
        }
        match self.width {
            1 => self.gather::<u8, 1, I>(items, indices),
            2 => self.gather::<u16, 2, I>(items, indices),
            4 => self.gather::<u32, 4, I>(items, indices),
            8 => self.gather::<u64, 8, I>(items, indices),
            _ => self.gather_slices(items, indices),
        }
    }

    /// The same for values of `WIDTH` bytes, as wide as `T`, which is known when this is compiled.
    fn gather<T: Word, const WIDTH: usize, I: Word>(&mut self, items: &Self, indices: &[I]) -> Result<()> {
        let (items, _) = items.as_slice().as_chunks::<WIDTH>();
        self.check_more(bounds::product(indices.len(), WIDTH, "values")?)?;
        // The loop has no way out, by which it is faster.
        let mut inside = true;
        self.len += indices.len();
        self.owned().extend(indices.iter().map(|index| {
            let mut value = [T::default()];
            match index.to_usize().and_then(|index| items.get(index)) {
                Some(item) => T::read(item, &mut value),
                None => inside = false,
            }
            value[0]
        }));
        if inside { Ok(()) } else { Err(outside(items.len())) }
    }

    fn gather_slices<I: Word>(&mut self, items: &Self, indices: &[I]) -> Result<()> {
        let (width, source) = (self.width, items.as_slice());
        let bytes = bounds::product(indices.len(), width, "values")?;
        self.check_more(bytes)?;
        self.len += indices.len();
        let data = self.owned();
        data.reserve(bytes);
        for index in indices {
            let index = index.to_usize().filter(|index| *index < items.len);
            let start = index.ok_or_else(|| outside(items.len))? * width;
            data.extend_from_slice(bounds::slice(source, start..start + width, "dictionary")?);
        }
        Ok(())
    }

    /// Makes room for `count` more values. The caller has compared the count with bytes in hand.
    pub(crate) fn reserve(&mut self, count: usize) {
        let bytes = count.saturating_mul(self.width);
        self.owned().reserve(bytes);
    }

    /// The bytes.
    pub(crate) fn finish(self) -> Buffer {
        self.shared.unwrap_or_else(|| self.data.into())
    }

    fn check_more(&self, bytes: usize) -> Result<()> {
        check_room(self.as_slice().len(), bytes, self.limit)
    }

    /// The bytes as ours alone; shared ones are copied first.
    fn owned(&mut self) -> &mut MutableBuffer {
        if let Some(shared) = self.shared.take() {
            self.data.reserve(shared.len().saturating_mul(2));
            self.data.extend_from_slice(shared.as_slice());
        }
        &mut self.data
    }
}

/// `bytes` as an Arrow buffer: as they are if they start at a multiple of `alignment`, else a copy.
pub(crate) fn typed_or_copy(bytes: Bytes, alignment: usize) -> Buffer {
    if bytes.as_ptr().align_offset(alignment) == 0 {
        return Buffer::from(bytes);
    }
    Buffer::from_slice_ref(&bytes)
}
