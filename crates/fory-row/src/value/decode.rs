use crate::geometry::RowGeometry;
use crate::raw::RawArray;
use crate::{ArrayRef, Error, ErrorKind, Image, Layout, MapRef, Result, Row, Value, ValueRef};

/// How much a decode may make of the bytes it is given.
///
/// References of hostile rows may overlap, so that a few bytes expand to many values. No known writer makes such
/// rows: honest rows are visited once, and the budget is that many bytes and more. Getters need none. Structs that
/// stand in place in compact rows have no bytes of their own: what is made of these is bounded by the depth of the
/// schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeOptions {
    /// As many times the length of the input may be visited …
    pub expansion: usize,
    /// … and as many bytes besides.
    pub slack: usize,
}

impl Default for DecodeOptions {
    /// 4 × the input and 64 KiB.
    fn default() -> Self {
        Self { expansion: 4, slack: 64 << 10 }
    }
}

/// What is left of the bytes that a decode may visit. As every value has a byte at least, it bounds their number, too.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    left: usize,
}

impl Budget {
    /// The budget for an input of `len` bytes.
    pub fn new(options: DecodeOptions, len: usize) -> Self {
        Self { left: len.saturating_mul(options.expansion).saturating_add(options.slack) }
    }

    /// A vector for `count` values, with memory for all of them where the budget would pay for that: a Rust value can
    /// be much larger than its slot, so that a count that fits the bytes can still ask for far too much.
    #[inline]
    pub(crate) fn vec<T>(&self, count: usize) -> Vec<T> {
        Vec::with_capacity(count.min(self.left / size_of::<T>().max(1)))
    }

    /// Takes `bytes` from it, or fails.
    #[inline]
    pub fn spend(&mut self, bytes: usize) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(spent()),
        }
    }

    /// Takes the fixed region of a row from it. The bytes of a struct in place are those of its container, which were
    /// counted.
    #[inline]
    pub fn spend_row(&mut self, row: &RowGeometry) -> Result<()> {
        if row.inline.is_some() { Ok(()) } else { self.spend(row.fixed_end) }
    }

    /// Takes all of an array but its variable data from it: before anything is made that is as large as the count says.
    #[inline]
    pub(crate) fn spend_array(&mut self, array: &RawArray<'_>) -> Result<()> {
        self.spend(array.geometry().elements_end)
    }
}

#[cold]
fn spent() -> Error {
    Error::new(ErrorKind::Limit, "the values are more than the bytes can honestly hold: references overlap")
}

impl Layout {
    /// Decodes a whole row.
    pub fn decode(&self, bytes: &[u8]) -> Result<Value> {
        self.decode_with(bytes, DecodeOptions::default())
    }

    /// The same with another budget.
    pub fn decode_with(&self, bytes: &[u8], options: DecodeOptions) -> Result<Value> {
        self.decode_image(Image::Row, bytes, options)
    }

    /// Decodes a whole image: a row, or the list or map which is the first field of the schema.
    pub fn decode_image(&self, image: Image, bytes: &[u8], options: DecodeOptions) -> Result<Value> {
        let budget = &mut Budget::new(options, bytes.len());
        match image {
            Image::Row => Value::from_row(self.row(bytes)?, budget),
            Image::Array => Value::from_array(self.array(bytes)?, budget).map(Value::List),
            Image::Map => Value::from_map(self.map(bytes)?, budget),
        }
    }
}

impl Value {
    /// Decodes what a view shows, within `options` of the bytes of the view.
    pub fn from_ref(value: ValueRef<'_>, options: DecodeOptions) -> Result<Self> {
        let len = match value {
            ValueRef::List(list) => list.bytes().len(),
            ValueRef::Map(map) => map.keys().bytes().len().saturating_add(map.values().bytes().len()),
            ValueRef::Struct(row) => row.bytes().len(),
            ValueRef::Utf8(text) => text.len(),
            ValueRef::Binary(bytes) => bytes.len(),
            _ => 0,
        };
        Self::owned(value, &mut Budget::new(options, len))
    }

    fn owned(value: ValueRef<'_>, budget: &mut Budget) -> Result<Self> {
        Ok(match value {
            ValueRef::Null => Self::Null,
            ValueRef::Bool(value) => Self::Bool(value),
            ValueRef::Int8(value) => Self::Int8(value),
            ValueRef::Int16(value) => Self::Int16(value),
            ValueRef::Int32(value) => Self::Int32(value),
            ValueRef::Int64(value) => Self::Int64(value),
            ValueRef::Float16(value) => Self::Float16(value),
            ValueRef::Float32(value) => Self::Float32(value),
            ValueRef::Float64(value) => Self::Float64(value),
            ValueRef::Date(value) => Self::Date(value),
            ValueRef::Timestamp(value) => Self::Timestamp(value),
            ValueRef::Duration(value) => Self::Duration(value),
            ValueRef::Decimal(value) => Self::Decimal(value),
            ValueRef::Utf8(value) => {
                budget.spend(value.len())?;
                Self::Utf8(value.into())
            }
            ValueRef::Binary(value) => {
                budget.spend(value.len())?;
                Self::Binary(value.into())
            }
            ValueRef::List(list) => Self::List(Self::from_array(list, budget)?),
            ValueRef::Map(map) => Self::from_map(map, budget)?,
            ValueRef::Struct(row) => Self::from_row(row, budget)?,
        })
    }

    fn from_row(row: Row<'_>, budget: &mut Budget) -> Result<Self> {
        let layout = row.layout();
        budget.spend_row(&layout.geometry)?;
        let fields = layout.fields.iter().enumerate().map(|(index, field)| {
            let value = row.value(index)?;
            Self::owned(value, budget).map_err(|error| error.in_field(&field.name))
        });
        fields.collect::<Result<_>>().map(Self::Struct)
    }

    fn from_array(list: ArrayRef<'_>, budget: &mut Budget) -> Result<Vec<Self>> {
        budget.spend_array(list.raw())?;
        let mut values = budget.vec(list.len());
        for index in 0..list.len() {
            let value = list.value(index)?;
            values.push(Self::element(list, index, value, budget)?);
        }
        Ok(values)
    }

    /// An element of `list`.
    fn element(list: ArrayRef<'_>, index: usize, value: ValueRef<'_>, budget: &mut Budget) -> Result<Self> {
        Self::owned(value, budget).map_err(|error| list.element().within(index, error))
    }

    fn from_map(map: MapRef<'_>, budget: &mut Budget) -> Result<Self> {
        let (keys, values) = (map.keys(), map.values());
        budget.spend_array(keys.raw())?;
        budget.spend_array(values.raw())?;
        let mut entries = budget.vec(map.len());
        for index in 0..map.len() {
            let key = Self::element(keys, index, map.key(index)?, budget)?;
            entries.push((key, Self::element(values, index, values.value(index)?, budget)?));
        }
        Ok(Self::Map(entries))
    }
}
