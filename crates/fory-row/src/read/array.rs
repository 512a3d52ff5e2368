use zerocopy::{FromBytes, Immutable};

use crate::layout::ElementLayout;
use crate::raw::RawArray;
use crate::{Cell, Error, ErrorKind, FromCell, Layout, Result, ValueRef};

/// A list: an array image whose count was checked against its bytes.
#[derive(Clone, Copy)]
pub struct ArrayRef<'a> {
    raw: RawArray<'a>,
    element: &'a ElementLayout,
}

/// The elements of an [`ArrayRef`], in order, as values of one type.
#[derive(Debug)]
pub struct Elements<'a, T> {
    array: ArrayRef<'a>,
    next: usize,
    value: std::marker::PhantomData<fn() -> T>,
}

/// Numbers that an array can be seen as, or written from, a slice of.
///
/// | slices of | are lists of |
/// |---|---|
/// | `i8`, `u8` | int8; as `u8` they are bytes: a `byte[]` of Java is such a list |
/// | `i16` | int16 |
/// | `i32` | int32; date32, as days |
/// | `i64` | int64; timestamp and duration, as microseconds |
/// | `f32`, `f64` | float32, float64 |
/// | `u16` | float16, as bits |
pub trait Primitive: FromBytes + Immutable + Copy + sealed::Sealed {
    /// The types of such elements, the first one for errors.
    #[doc(hidden)]
    const NAMES: &'static [&'static str];
    #[doc(hidden)]
    fn write_le(values: &[Self], to: &mut [u8]);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! primitive {
    ($($type:ty => $($name:literal)|+),* $(,)?) => {$(
        impl sealed::Sealed for $type {}
        impl Primitive for $type {
            const NAMES: &'static [&'static str] = &[$($name),+];

            #[inline]
            fn write_le(values: &[Self], to: &mut [u8]) {
                for (value, to) in values.iter().zip(to.chunks_exact_mut(size_of::<Self>())) {
                    to.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
    )*};
}

primitive! {
    i8 => "int8",
    u8 => "int8",
    i16 => "int16",
    i32 => "int32" | "date32",
    i64 => "int64" | "timestamp" | "duration",
    f32 => "float32",
    f64 => "float64",
    u16 => "float16",
}

impl Layout {
    /// Opens a top-level array: the first field of the schema is the list that it is an image of.
    pub fn array<'a>(&'a self, bytes: &'a [u8]) -> Result<ArrayRef<'a>> {
        let element = self.first_list()?;
        Ok(ArrayRef::new(RawArray::open(bytes, element.shape)?, element))
    }
}

impl<'a> ArrayRef<'a> {
    pub(crate) const fn new(raw: RawArray<'a>, element: &'a ElementLayout) -> Self {
        Self { raw, element }
    }

    /// The number of elements.
    pub const fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `index`, and `None` where it is null.
    #[inline]
    pub fn get<T: FromCell<'a>>(&self, index: usize) -> Result<Option<T>> {
        match self.cell(index)? {
            Some(cell) => match T::from_cell(cell) {
                Ok(value) => Ok(Some(value)),
                Err(error) => Err(self.element.within(index, error)),
            },
            None => Ok(None),
        }
    }

    /// Element `index` of any type, with [`ValueRef::Null`] for null.
    pub fn value(&self, index: usize) -> Result<ValueRef<'a>> {
        Ok(self.get(index)?.unwrap_or(ValueRef::Null))
    }

    /// Whether element `index` is null.
    pub fn is_null(&self, index: usize) -> Result<bool> {
        self.check(index)?;
        Ok(self.raw.is_null(index))
    }

    /// Whether any element is null.
    pub fn has_nulls(&self) -> bool {
        self.raw.has_nulls()
    }

    /// All elements in order, `None` for those that are null.
    pub const fn iter<T: FromCell<'a>>(&self) -> Elements<'a, T> {
        Elements { array: *self, next: 0, value: std::marker::PhantomData }
    }

    /// The elements as they lie there, without a copy: `None` where `T` does not stand for their type, where one is
    /// null, where their address is not a multiple of the alignment of `T` (compact arrays are often not
    /// aligned), and on big-endian machines.
    ///
    /// ```
    /// use fory_row::{ArrayRef, DataType, Field, Format, Layout, Schema};
    /// let schema = Schema::new(vec![Field::new("joints", DataType::list(DataType::Float32, false), false)])?;
    /// let layout = Layout::new(schema, Format::Standard)?;
    /// let mut bytes = vec![];
    /// layout.write_row(&mut bytes, |row| row.list_of("joints", &[0.5f32, 1.5]))?;
    /// let joints = layout.row(&bytes)?.get::<ArrayRef>("joints")?.ok_or("null")?;
    /// if let Some(joints) = joints.as_slice::<f32>() {
    ///     assert_eq!(joints, [0.5, 1.5]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_slice<T: Primitive>(&self) -> Option<&'a [T]> {
        let same = T::NAMES.contains(&self.element.value.name());
        if cfg!(target_endian = "big") || !same || self.raw.has_nulls() {
            return None;
        }
        <[T]>::ref_from_bytes(self.raw.elements()).ok()
    }

    /// The image, with what may follow the elements.
    pub const fn bytes(&self) -> &'a [u8] {
        self.raw.bytes()
    }

    pub(crate) const fn raw(&self) -> &RawArray<'a> {
        &self.raw
    }

    pub(crate) const fn element(&self) -> &'a ElementLayout {
        self.element
    }

    #[inline]
    fn cell(&self, index: usize) -> Result<Option<Cell<'a>>> {
        self.check(index)?;
        Ok(self.cell_unchecked(index))
    }

    /// The place of element `index`, which is there.
    #[inline]
    fn cell_unchecked(&self, index: usize) -> Option<Cell<'a>> {
        if self.raw.is_null(index) {
            return None;
        }
        Some(Cell { slot: self.raw.slot(index), layout: &self.element.value })
    }

    #[inline]
    fn check(&self, index: usize) -> Result<()> {
        if index < self.len() { Ok(()) } else { Err(no_element(index, self.len())) }
    }
}

impl<'a, T: FromCell<'a>> Iterator for Elements<'a, T> {
    type Item = Result<Option<T>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        if index == self.array.len() {
            return None;
        }
        self.next = index + 1;
        Some(self.array.get(index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.array.len() - self.next;
        (left, Some(left))
    }
}

impl<'a, T: FromCell<'a>> ExactSizeIterator for Elements<'a, T> {}

impl<T> Clone for Elements<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

#[cold]
pub(crate) fn no_element(index: usize, len: usize) -> Error {
    Error::new(ErrorKind::Type, format!("there is no element {index}: the list has {len}"))
}
