use std::fmt;
use std::marker::PhantomData;

use zerocopy::FromBytes;

use crate::error::Step;
use crate::geometry::{ElementShape, MAX_IMAGE, Widths};
use crate::raw::{RawArray, Slot};
use crate::read::{Primitive, no_element};
use crate::schema::{LIST_ID, hash_step};
use crate::typed::{FromRow, Image, RowType};
use crate::value::Budget;
use crate::{DataType, Error, Result, RowFormat, Standard};

/// A list of a row, of which elements are read one by one.
pub struct List<'a, T, F = Standard> {
    raw: RawArray<'a>,
    element: PhantomData<fn() -> (T, F)>,
}

/// The elements of a [`List`], in order.
pub struct ListIter<'a, T, F = Standard> {
    list: List<'a, T, F>,
    next: usize,
    nulls: bool,
}

/// How elements of type `T` are laid out.
#[inline]
pub(crate) const fn shape<T: RowType, F: RowFormat>() -> ElementShape {
    F::FORMAT.element(T::WIDTHS, T::NULLABLE)
}

impl<'a, T: RowType, F: RowFormat> List<'a, T, F> {
    #[inline]
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self> {
        RawArray::open(bytes, shape::<T, F>()).map(Self::from_raw)
    }

    #[inline]
    pub(crate) const fn from_raw(raw: RawArray<'a>) -> Self {
        Self { raw, element: PhantomData }
    }

    /// The number of elements.
    #[inline]
    pub const fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Result<T::View<'a, F>> {
        if index >= self.len() {
            return Err(no_element(index, self.len()));
        }
        self.element(index, true, Step::Element)
    }

    /// The elements in order.
    #[inline]
    pub fn iter(&self) -> ListIter<'a, T, F> {
        ListIter { list: *self, next: 0, nulls: self.raw.has_nulls() }
    }

    /// The elements as they lie there, without a copy: `None` where one is null, where their address is not a
    /// multiple of the alignment of `T` (compact arrays are often not aligned), and on big-endian machines.
    pub fn as_slice(&self) -> Option<&'a [T]>
    where
        T: Primitive,
    {
        if cfg!(target_endian = "big") || self.raw.has_nulls() {
            return None;
        }
        <[T]>::ref_from_bytes(self.raw.elements()).ok()
    }

    pub(crate) const fn raw(&self) -> &RawArray<'a> {
        &self.raw
    }

    /// Element `index`, which is there. It can only be null where `nulls` says so.
    #[inline]
    pub(crate) fn element(
        &self,
        index: usize,
        nulls: bool,
        step: fn(usize) -> Step,
    ) -> Result<T::View<'a, F>> {
        let view = if nulls && self.raw.is_null(index) {
            T::null_view::<F>()
        } else {
            T::view::<F>(self.raw.slot(index))
        };
        match view {
            Ok(view) => Ok(view),
            Err(error) => Err(error.within(step(index))),
        }
    }
}

impl<'a, T: RowType, F: RowFormat> Iterator for ListIter<'a, T, F> {
    type Item = Result<T::View<'a, F>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        if index == self.list.len() {
            return None;
        }
        self.next = index + 1;
        Some(self.list.element(index, self.nulls, Step::Element))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.list.len() - self.next;
        (left, Some(left))
    }
}

impl<T: RowType, F: RowFormat> ExactSizeIterator for ListIter<'_, T, F> {}

impl<'a, T: RowType, F: RowFormat> IntoIterator for List<'a, T, F> {
    type Item = Result<T::View<'a, F>>;
    type IntoIter = ListIter<'a, T, F>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: RowType, F: RowFormat> IntoIterator for &List<'a, T, F> {
    type Item = Result<T::View<'a, F>>;
    type IntoIter = ListIter<'a, T, F>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

// Derived, these would ask the same of the elements, of which a view holds none.

impl<T, F> Clone for List<'_, T, F> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, F> Copy for List<'_, T, F> {}

impl<T, F> fmt::Debug for List<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List").field("len", &self.raw.len()).finish_non_exhaustive()
    }
}

impl<T, F> Clone for ListIter<'_, T, F> {
    fn clone(&self) -> Self {
        Self { list: self.list, ..*self }
    }
}

impl<T, F> fmt::Debug for ListIter<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListIter").field("list", &self.list).field("next", &self.next).finish_non_exhaustive()
    }
}

/// The bytes of the array image of `values`, each `T`.
#[inline]
pub(crate) fn array_len<'v, T: RowType + 'v, F: RowFormat>(
    shape: ElementShape,
    values: impl ExactSizeIterator<Item = &'v T>,
) -> usize {
    let Some(geometry) = shape.array(values.len()) else { return MAX_IMAGE.saturating_add(1) };
    values.fold(geometry.fixed_end(), |len, value| len.saturating_add(value.variable_len::<F>()))
}

/// Appends the array image of `values`; gives its size.
#[inline]
pub(crate) fn write_array<'v, T: RowType + 'v, F: RowFormat>(
    image: &mut Image<'_>,
    shape: ElementShape,
    values: impl ExactSizeIterator<Item = &'v T>,
    step: fn(usize) -> Step,
) -> Result<usize> {
    let Some(geometry) = shape.array(values.len()) else {
        return Err(Error::value("a list of more than 2 GiB"));
    };
    image.append(geometry.fixed_end(), |array| {
        // The count has 8 bytes in the standard format, of which the upper 4 are zero.
        array.put(0, u32::try_from(values.len()).unwrap_or(u32::MAX).to_le_bytes())?;
        let mut slot = geometry.elements;
        for (index, value) in values.enumerate() {
            if value.is_null() {
                array.set_bit(geometry.bitmap, index)?;
            } else if let Err(error) = value.write::<F>(array, slot) {
                return Err(error.within(step(index)));
            }
            slot += shape.stride();
        }
        Ok(())
    })
}

/// Decodes the elements of an array.
#[inline]
pub(crate) fn elements<'a, T: FromRow<'a>, F: RowFormat>(
    raw: &RawArray<'a>,
    budget: &mut Budget,
    step: fn(usize) -> Step,
    mut take: impl FnMut(T),
) -> Result<()> {
    let nulls = raw.has_nulls();
    for index in 0..raw.len() {
        let value = if nulls && raw.is_null(index) {
            T::from_null()
        } else {
            T::from_slot::<F>(raw.slot(index), budget)
        };
        match value {
            Ok(value) => take(value),
            Err(error) => return Err(error.within(step(index))),
        }
    }
    Ok(())
}

macro_rules! list {
    ($([$($n:ident)?] $type:ty;)*) => {$(
        impl<T: RowType $(, const $n: usize)?> RowType for $type {
            type View<'a, F: RowFormat> = List<'a, T, F>;
            const WIDTHS: Widths = Widths::VARIABLE;
            const DEPTH: usize = T::DEPTH + 1;

            fn data_type() -> DataType {
                DataType::list(T::data_type(), T::NULLABLE)
            }

            #[inline]
            fn hash<F: RowFormat>(hash: i64) -> i64 {
                // What is in lists and maps is hashed as declared, in both formats.
                T::hash::<Standard>(hash_step(hash, LIST_ID))
            }

            #[inline]
            fn variable_len<F: RowFormat>(&self) -> usize {
                array_len::<T, F>(shape::<T, F>(), self.iter())
            }

            #[inline]
            fn write<F: RowFormat>(&self, image: &mut Image<'_>, slot: usize) -> Result<()> {
                let at = image.end();
                let size = write_array::<T, F>(image, shape::<T, F>(), self.iter(), Step::Element)?;
                image.refer(slot, at, size)
            }

            #[inline]
            fn view<F: RowFormat>(slot: Slot<'_>) -> Result<Self::View<'_, F>> {
                List::open(slot.payload()?)
            }
        }
    )*};
}

list! {
    [] Vec<T>;
    [N] [T; N];
}

impl<'a, T: FromRow<'a>> FromRow<'a> for Vec<T> {
    #[inline]
    fn from_slot<F: RowFormat>(slot: Slot<'a>, budget: &mut Budget) -> Result<Self> {
        vec_of::<T, F>(List::<T, F>::open(slot.payload()?)?.raw(), budget)
    }
}

impl<'a, T: FromRow<'a>, const N: usize> FromRow<'a> for [T; N] {
    fn from_slot<F: RowFormat>(slot: Slot<'a>, budget: &mut Budget) -> Result<Self> {
        let list = List::<T, F>::open(slot.payload()?)?;
        let wrong = |len| Error::malformed(format!("a list of {len} elements instead of {N}"));
        if list.len() != N {
            return Err(wrong(list.len()));
        }
        vec_of::<T, F>(list.raw(), budget)?.try_into().map_err(|values: Vec<T>| wrong(values.len()))
    }
}

#[inline]
fn vec_of<'a, T: FromRow<'a>, F: RowFormat>(raw: &RawArray<'a>, budget: &mut Budget) -> Result<Vec<T>> {
    budget.spend_array(raw)?;
    let mut values = budget.vec(raw.len());
    elements::<T, F>(raw, budget, Step::Element, |value| values.push(value))?;
    Ok(values)
}
