//! The images that a batch becomes, before they are bytes, and how values are visited that belong into them.

use super::column::Column;
use crate::{Error, Result};

/// The bytes of the size of the keys, in front of a map.
pub(super) const KEYS_SIZE: usize = 8;

/// A row, struct or array that is being made. Values of arrays go into it: one for each field of a row or struct,
/// and the elements of an array.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Image {
    /// Which value of the arrays is the first.
    pub(super) first: usize,
    /// How many there are; 1 for a row or struct.
    pub(super) len: usize,
    /// Which of the images around is the one that this one is in.
    pub(super) owner: usize,
    /// Which of its elements this is; 0 in rows and structs.
    pub(super) at: usize,
    /// Its bytes.
    pub(super) size: usize,
    /// Its first byte.
    pub(super) start: usize,
    /// Where its next variable data go.
    pub(super) cursor: usize,
    /// The first element of an array, counted from `start`.
    pub(super) elements: usize,
}

/// An error, and in which element of which image of those at hand it was met.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) image: usize,
    pub(super) at: usize,
    pub(super) error: Error,
}

/// The images that the values of one column are, if they are any, and those below them.
#[derive(Debug)]
pub(super) enum Nested {
    /// Values without parts.
    None,
    Structs(Vec<Image>, Vec<Nested>),
    Lists(Vec<Image>, Box<Nested>),
    Maps(Box<[(Vec<Image>, Nested); 2]>),
}

/// Rows or structs of which one starts as far from the next as any, and whose values are neighbours in the arrays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Even {
    /// Which value of the arrays is that of the first.
    pub(super) first: usize,
    /// How many there are.
    pub(super) len: usize,
    /// The first byte of the first.
    pub(super) start: usize,
    /// The bytes from one to the next.
    pub(super) step: usize,
}

impl Image {
    /// An error about this image, as seen from those around it.
    #[cold]
    pub(super) fn fault(&self, error: Error) -> Fault {
        Fault { image: self.owner, at: self.at, error }
    }
}

impl Fault {
    /// The same error as seen from the images that those at hand are in; `within` says which of the elements it was.
    #[cold]
    pub(super) fn out_of(self, images: &[Image], within: impl FnOnce(Error, usize) -> Error) -> Self {
        let owner = images.get(self.image).copied().unwrap_or_default();
        Self { image: owner.owner, at: owner.at, error: within(self.error, self.at) }
    }

    #[cold]
    pub(super) fn in_field(mut self, name: &str) -> Self {
        self.error = self.error.in_field(name);
        self
    }
}

impl Even {
    pub(super) fn of(images: &[Image]) -> Option<Self> {
        let [first, second, rest @ ..] = images else { return None };
        let step = second.start.checked_sub(first.start).filter(|step| *step > 0)?;
        let mut last = second;
        let even = second.first == first.first + 1
            && rest.iter().all(|image| {
                let next = image.first == last.first + 1 && image.start == last.start + step;
                last = image;
                next
            });
        even.then_some(Self { first: first.first, len: images.len(), start: first.start, step })
    }

    /// Writes one value into each of the slots at `slot`.
    #[inline]
    pub(super) fn write<const N: usize>(
        self,
        slab: &mut [u8],
        slot: usize,
        values: impl ExactSizeIterator<Item = [u8; N]>,
    ) {
        let from = slab.get_mut(self.start + slot..).unwrap_or_default();
        let mut values = values.take(self.len);
        let mut slots = from.chunks_exact_mut(self.step);
        // The last row may not be as long as a step, since it begins at the slot.
        for (to, value) in slots.by_ref().zip(values.by_ref()) {
            if let Some(to) = to.first_chunk_mut() {
                *to = value;
            }
        }
        if let (Some(to), Some(value)) = (slots.into_remainder().first_chunk_mut(), values.next()) {
            *to = value;
        }
    }
}

/// Calls `f` for each value of `column` that belongs into `images` and is not null, with its place in the values of
/// the column.
#[inline]
pub(super) fn each(
    images: &mut [Image],
    column: &Column,
    mut f: impl FnMut(&mut Image, Element) -> Result<()>,
) -> Result<(), Fault> {
    for (ordinal, image) in images.iter_mut().enumerate() {
        for at in 0..image.len {
            let index = image.first + at;
            if !column.is_null(index) {
                let element = Element { image: ordinal, at, value: column.place(index) };
                f(image, element).map_err(|error| Fault { image: ordinal, at, error })?;
            }
        }
    }
    Ok(())
}

/// Which value is visited.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    /// The ordinal of its image.
    pub(super) image: usize,
    /// Which element of the image it is.
    pub(super) at: usize,
    /// Its place in the values of the column.
    pub(super) value: usize,
}
