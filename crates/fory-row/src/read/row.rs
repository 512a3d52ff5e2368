use crate::layout::{FieldLayout, RowLayout};
use crate::raw::{self, Slot};
use crate::{Cell, Error, ErrorKind, FromCell, Layout, Result, ValueRef};

/// A row, or a struct in one: bytes whose length was checked, of which values are read one by one.
///
/// Fields are known by their position in the schema, in both formats, or by their name.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    bytes: &'a [u8],
    layout: &'a RowLayout,
}

/// What a field is known by: its position in the schema (`usize`) or its name (`&str`). A position is faster.
pub trait FieldIndex: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn position_in(self, fields: &FieldNames<'_>) -> Result<usize>;
}

/// The names of fields, for [`FieldIndex`].
#[derive(Debug)]
pub struct FieldNames<'a>(&'a RowLayout);

mod sealed {
    pub trait Sealed {}
    impl Sealed for usize {}
    impl Sealed for &str {}
    impl Sealed for &String {}
}

impl Layout {
    /// Opens the row `bytes`, which are its own and nothing behind it.
    #[inline]
    pub fn row<'a>(&'a self, bytes: &'a [u8]) -> Result<Row<'a>> {
        Row::open(bytes, self.root())
    }
}

impl<'a> Row<'a> {
    #[inline]
    pub(crate) fn open(bytes: &'a [u8], layout: &'a RowLayout) -> Result<Self> {
        raw::check_row(bytes, layout.geometry.fixed_end)?;
        Ok(Self { bytes, layout })
    }

    /// The value of a field, and `None` where it is null.
    #[inline]
    pub fn get<T: FromCell<'a>>(&self, field: impl FieldIndex) -> Result<Option<T>> {
        let field = self.layout.find(field)?;
        match self.cell(field) {
            Some(cell) => match T::from_cell(cell) {
                Ok(value) => Ok(Some(value)),
                Err(error) => Err(error.in_field(&field.name)),
            },
            None => Ok(None),
        }
    }

    /// The value of a field of any type, with [`ValueRef::Null`] for null.
    pub fn value(&self, field: impl FieldIndex) -> Result<ValueRef<'a>> {
        Ok(self.get(field)?.unwrap_or(ValueRef::Null))
    }

    /// Whether a field is null.
    #[inline]
    pub fn is_null(&self, field: impl FieldIndex) -> Result<bool> {
        Ok(self.null(self.layout.find(field)?))
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        self.layout.fields.len()
    }

    /// Never: there are no rows without fields.
    pub fn is_empty(&self) -> bool {
        self.layout.fields.is_empty()
    }

    /// The names of the fields, in the order of the schema.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        self.layout.fields.iter().map(|field| field.name.as_str())
    }

    /// All values, in the order of the schema.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Result<ValueRef<'a>>> + use<'a> {
        let row = *self;
        (0..row.len()).map(move |index| row.value(index))
    }

    /// Its bytes. What follows the fixed region belongs to it, too.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) const fn layout(&self) -> &'a RowLayout {
        self.layout
    }

    #[inline]
    pub(crate) fn null(&self, field: &FieldLayout) -> bool {
        raw::is_null(self.bytes, &self.layout.geometry, field.bit)
    }

    #[inline]
    pub(crate) fn cell(&self, field: &'a FieldLayout) -> Option<Cell<'a>> {
        if self.null(field) {
            return None;
        }
        let slot = Slot::new(self.bytes, field.slot, self.layout.geometry.fixed_end);
        Some(Cell { slot, layout: &field.value })
    }
}

impl RowLayout {
    #[inline]
    pub(crate) fn find(&self, field: impl FieldIndex) -> Result<&FieldLayout> {
        let index = self.index(field)?;
        self.fields.get(index).ok_or_else(|| no_position(index, self.fields.len()))
    }

    #[inline]
    pub(crate) fn index(&self, field: impl FieldIndex) -> Result<usize> {
        field.position_in(&FieldNames(self))
    }
}

impl FieldIndex for usize {
    #[inline]
    fn position_in(self, _: &FieldNames<'_>) -> Result<usize> {
        Ok(self)
    }
}

impl FieldIndex for &str {
    #[inline]
    fn position_in(self, fields: &FieldNames<'_>) -> Result<usize> {
        fields.0.position(self).ok_or_else(|| no_name(self, &fields.0.fields))
    }
}

impl FieldIndex for &String {
    fn position_in(self, fields: &FieldNames<'_>) -> Result<usize> {
        self.as_str().position_in(fields)
    }
}

#[cold]
fn no_position(index: usize, len: usize) -> Error {
    Error::new(ErrorKind::Type, format!("there is no field {index}: the row has {len}"))
}

#[cold]
fn no_name(name: &str, fields: &[FieldLayout]) -> Error {
    const SHOWN: usize = 20;
    let names = fields.iter().take(SHOWN).map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ");
    let more = if fields.len() > SHOWN { ", …" } else { "" };
    Error::new(ErrorKind::Type, format!("there is no field {name}; there are {names}{more}"))
}
