//! Byte strings.

use std::sync::Arc;

use arrow_array::types::ByteArrayType;
use arrow_array::{ArrayRef, GenericByteArray, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, OffsetBuffer};
use lance_footer::{FormatError, Result};

use super::check_room;
use crate::bounds;
use crate::kernel::bitpack::Word;

/// An offset of an Arrow string array.
pub(crate) trait Offset: ArrowNativeType {
    /// From a position, if it fits.
    fn at(position: usize) -> Option<Self>;
}

impl Offset for i32 {
    fn at(position: usize) -> Option<Self> {
        Self::try_from(position).ok()
    }
}

impl Offset for i64 {
    fn at(position: usize) -> Option<Self> {
        Self::try_from(position).ok()
    }
}

/// Byte strings, one after the other, and where each ends.
#[derive(Debug)]
pub(crate) struct VariableValues<O> {
    /// One more than there are strings; starts with 0.
    offsets: Vec<O>,
    data: Vec<u8>,
    /// Bytes that there may be.
    limit: usize,
}

impl<O: Offset> VariableValues<O> {
    /// None yet, which may take `limit` bytes.
    pub(crate) fn within(limit: usize) -> Self {
        Self { offsets: vec![O::default()], data: vec![], limit }
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
        self.offsets.len() - 1
    }

    /// Appends one string.
    pub(crate) fn append(&mut self, value: &[u8]) -> Result<()> {
        self.data.extend_from_slice(value);
        self.close()
    }

    /// Makes room for `count` strings of `bytes` bytes in all, which must be bounded by bytes in hand.
    pub(crate) fn reserve(&mut self, count: usize, bytes: usize) {
        self.offsets.reserve(count);
        self.data.reserve(bytes);
    }

    /// Appends strings that lie one after the other in `data`, whose first byte is at `first` as `ends` count:
    /// `ends` are checked to be monotone and to end with the data.
    pub(crate) fn append_run(
        &mut self,
        data: &[u8],
        first: usize,
        ends: impl Iterator<Item = usize>,
    ) -> Result<()> {
        let base = self.data.len();
        // The last end is the largest if they are monotone; so this one check covers all.
        let limit = base.checked_add(data.len()).and_then(O::at).ok_or_else(too_long)?.as_usize();
        let mut previous = first;
        for end in ends {
            let position = base.wrapping_add(end.wrapping_sub(first));
            if end < previous || position > limit {
                return Err(FormatError::corrupt(
                    "string offsets",
                    "they are not monotone within their bytes",
                ));
            }
            previous = end;
            self.offsets.push(O::usize_as(position));
        }
        if previous.wrapping_sub(first) != data.len() {
            return Err(FormatError::corrupt("string offsets", "they do not end with their bytes"));
        }
        self.data.extend_from_slice(data);
        Ok(())
    }

    /// Appends a string that `write` puts at the end of the buffer that it is given.
    pub(crate) fn append_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = self.data.len();
        write(&mut self.data)?;
        debug_assert!(self.data.len() >= start);
        self.close()
    }

    /// Appends a string for each of `coded`, which `decode` writes to the front of the slice that it is given,
    /// telling its length. That takes `longest` bytes, for which there must be room.
    pub(crate) fn append_decoded<'a>(
        &mut self,
        coded: impl Iterator<Item = Result<&'a [u8]>>,
        longest: usize,
        decode: impl Fn(&[u8], &mut [u8]) -> Result<usize>,
    ) -> Result<()> {
        let mut end = self.data.len();
        self.data.resize(end.saturating_add(longest), 0);
        for coded in coded {
            end += decode(coded?, self.data.get_mut(end..).unwrap_or_default())?;
            self.offsets.push(O::at(end).ok_or_else(too_long)?);
        }
        self.data.truncate(end);
        Ok(())
    }

    /// Appends `count` empty strings.
    pub(crate) fn append_empty(&mut self, count: usize) -> Result<()> {
        self.reserve_unstored(count, 0)?;
        let end = self.offsets.last().copied().unwrap_or_default();
        self.offsets.resize(self.offsets.len() + count, end);
        Ok(())
    }

    /// Appends the strings of `items` that `indices` name.
    pub(crate) fn append_gathered<I: Word>(&mut self, items: &Self, indices: &[I]) -> Result<()> {
        // It pays where there are more indices than items, and only few of these take no memory to speak of.
        let few = items.len() <= indices.len().min(Short::MOST_ITEMS);
        let shorts = if few { Short::items(items) } else { None };
        match shorts {
            Some(shorts) => self.gather(
                indices,
                |index| shorts.get(index),
                |item| item.len,
                |item, data| data.extend_from_slice(&item.bytes),
            ),
            None => self.gather(
                indices,
                |index| items.get(index),
                |item| item.len(),
                |item, data| data.extend_from_slice(item),
            ),
        }
    }

    /// Appends the item of each of `indices`, of length `len`, which `append` appends, perhaps with something after it.
    fn gather<I: Word, T>(
        &mut self,
        indices: &[I],
        item: impl Fn(usize) -> Option<T>,
        len: impl Fn(&T) -> usize,
        append: impl Fn(&T, &mut Vec<u8>),
    ) -> Result<()> {
        let item = |index: &I| index.to_usize().and_then(&item);
        // First the sizes, so that nothing is written for which there is no room. The loops have no way out, by which
        // they are faster.
        let (mut bytes, mut inside) = (0_usize, true);
        for index in indices {
            match item(index) {
                Some(item) => bytes = bytes.saturating_add(len(&item)),
                None => inside = false,
            }
        }
        if !inside {
            return Err(FormatError::corrupt("dictionary", "an index is not within its items"));
        }
        self.reserve_unstored(indices.len(), bytes)?;
        let data = &mut self.data;
        // The last may be copied with what is after it.
        data.reserve(bytes.saturating_add(Short::MOST));
        self.offsets.extend(indices.iter().map(|index| {
            if let Some(item) = item(index) {
                let end = data.len() + len(&item);
                append(&item, data);
                data.truncate(end);
            }
            // All of them fit, since the last does.
            O::usize_as(data.len())
        }));
        Ok(())
    }

    /// Appends `count` times `value`.
    pub(crate) fn append_repeated(&mut self, value: &[u8], count: usize) -> Result<()> {
        let bytes = bounds::product(value.len(), count, "values")?;
        self.reserve_unstored(count, bytes)?;
        for _ in 0..count {
            self.append(value)?;
        }
        Ok(())
    }

    /// As an array, whose checks are cheaper than those of any array data.
    pub(crate) fn finish_as<T>(self, nulls: Option<NullBuffer>) -> Result<ArrayRef>
    where
        T: ByteArrayType<Offset = O>,
        O: OffsetSizeTrait,
    {
        // They start with 0 and never go back.
        let offsets = OffsetBuffer::new(self.offsets.into());
        let array = GenericByteArray::<T>::try_new(offsets, Buffer::from_vec(self.data), nulls);
        Ok(Arc::new(array.map_err(super::invalid)?))
    }

    /// Offsets and bytes.
    pub(crate) fn finish(self) -> Vec<Buffer> {
        vec![Buffer::from_vec(self.offsets), Buffer::from_vec(self.data)]
    }

    /// Bytes that they take.
    pub(crate) fn weight(&self) -> usize {
        size_of_val(self.offsets.as_slice()) + self.data.len()
    }

    /// Makes room for `count` strings of `bytes` bytes in all, of which the file has fewer.
    fn reserve_unstored(&mut self, count: usize, bytes: usize) -> Result<()> {
        self.data.len().checked_add(bytes).and_then(O::at).ok_or_else(too_long)?;
        check_room(self.weight(), bytes.saturating_add(count.saturating_mul(size_of::<O>())), self.limit)?;
        self.reserve(count, bytes);
        Ok(())
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        let start = self.offsets.get(index)?.as_usize();
        let end = self.offsets.get(index.checked_add(1)?)?.as_usize();
        self.data.get(start..end)
    }

    fn close(&mut self) -> Result<()> {
        self.offsets.push(O::at(self.data.len()).ok_or_else(too_long)?);
        Ok(())
    }
}

/// A short item of a dictionary, which is copied with what is after it, whatever its length: a load and a store.
#[derive(Debug, Clone, Copy)]
struct Short {
    bytes: [u8; Self::MOST],
    len: usize,
}

impl Short {
    const MOST: usize = 16;
    /// So many of them stay in a cache.
    const MOST_ITEMS: usize = 1 << 14;

    /// All of `items`, if each of them is short.
    fn items<O: Offset>(items: &VariableValues<O>) -> Option<Vec<Self>> {
        if items.data.len() > items.len().saturating_mul(Self::MOST) {
            return None;
        }
        (0..items.len()).map(|index| Self::new(items.get(index)?)).collect()
    }

    fn new(item: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::MOST];
        bytes.get_mut(..item.len())?.copy_from_slice(item);
        Some(Self { bytes, len: item.len() })
    }
}

/// The error of strings that 32-bit offsets cannot hold.
pub(crate) fn too_long() -> FormatError {
    FormatError::unsupported(
        "more than 2 GiB of strings in one array of 32-bit offsets; read fewer rows at once",
    )
}

/// `positions` as offsets from the first of them.
pub(crate) fn offsets<O: Offset>(positions: &[usize]) -> Result<Buffer> {
    let first = positions.first().copied().unwrap_or_default();
    let offsets = positions.iter().map(|position| position.checked_sub(first).and_then(O::at));
    Ok(Buffer::from_vec(offsets.collect::<Option<Vec<O>>>().ok_or_else(too_long)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_checked() {
        let mut values = VariableValues::<i32>::within(usize::MAX);
        values.append(b"x").unwrap();
        values.append_run(b"abc", 10, [11, 11, 13].into_iter()).unwrap();
        assert_eq!(values.offsets, [0, 1, 2, 2, 4]);
        for ends in [[9, 11, 13], [11, 12, 14], [12, 11, 13], [11, 12, 12], [0, usize::MAX, 13]] {
            let mut values = VariableValues::<i32>::within(usize::MAX);
            values.append(b"x").unwrap();
            assert!(values.append_run(b"abc", 10, ends.into_iter()).is_err(), "{ends:?}");
        }
    }
}
