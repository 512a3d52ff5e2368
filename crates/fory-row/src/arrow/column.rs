//! Arrow arrays as rows are made of them: looked at once, and checked against the layout.

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::{Array, GenericByteViewArray, GenericListArray, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use std::ops::Range;

use super::number::Change;
use crate::layout::{ElementLayout, RowLayout, ValueLayout};
use crate::{Error, ErrorKind, Result};

/// The values of one array.
#[derive(Debug)]
pub(super) struct Column {
    /// `None` where no value is null.
    pub(super) nulls: Option<NullBuffer>,
    /// Of a dictionary array, the place of each value in `values`.
    pub(super) keys: Option<Vec<usize>>,
    pub(super) values: Values,
}

#[derive(Debug)]
pub(super) enum Values {
    Bool(BooleanBuffer),
    /// Numbers of `width` bytes, in the order of bytes of the machine.
    Number {
        width: usize,
        bytes: Buffer,
    },
    /// Numbers that rows have another type or unit for.
    Changed {
        change: Change,
        bytes: Buffer,
    },
    /// Integers of `width` bytes.
    Decimal {
        width: usize,
        bytes: Buffer,
    },
    /// Bytes of one width, which stand in the slot.
    FixedBinary {
        width: usize,
        bytes: Buffer,
    },
    /// Text and bytes.
    Payload(Payload),
    List {
        spans: Spans,
        items: Box<Column>,
    },
    Map {
        spans: Spans,
        keys: Box<Column>,
        values: Box<Column>,
    },
    /// One column for each field of the layout.
    Struct(Vec<Column>),
}

#[derive(Debug)]
pub(super) enum Payload {
    Small(Bytes<i32>),
    Large(Bytes<i64>),
    Utf8View(arrow_array::StringViewArray),
    BinaryView(arrow_array::BinaryViewArray),
    Fixed(FixedBytes),
}

#[derive(Debug)]
pub(super) struct Bytes<O: ArrowNativeType> {
    offsets: OffsetBuffer<O>,
    data: Buffer,
}

#[derive(Debug)]
pub(super) struct FixedBytes {
    width: usize,
    data: Buffer,
}

/// Text or bytes of any array.
pub(super) trait Payloads {
    fn bytes(&self, index: usize) -> &[u8];
    fn len(&self, index: usize) -> usize;
}

/// Which items are those of each list.
#[derive(Debug)]
pub(super) enum Spans {
    Small(OffsetBuffer<i32>),
    Large(OffsetBuffer<i64>),
    Fixed(usize),
}

/// The columns of the fields of `layout`, found by their names.
pub(super) fn columns<'a>(
    layout: &RowLayout,
    find: impl Fn(&str) -> Option<&'a dyn Array>,
) -> Result<Vec<Column>> {
    let columns = layout.fields.iter().map(|field| {
        let array =
            find(&field.name).ok_or_else(|| Error::new(ErrorKind::Type, "there is no such column"))?;
        Column::new(array, &field.value)
    });
    let in_field =
        columns.zip(&layout.fields).map(|(column, field)| column.map_err(|e| e.in_field(&field.name)));
    in_field.collect()
}

impl Column {
    /// The values of `array` for rows that have them as `layout`.
    pub(super) fn new(array: &dyn Array, layout: &ValueLayout) -> Result<Self> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let values = Self::new(dictionary.values(), layout)?;
            // The keys of an array without values are all null.
            let keys = if dictionary.values().is_empty() {
                vec![0; array.len()]
            } else {
                dictionary.normalized_keys()
            };
            let keys = match &values.keys {
                Some(inner) => keys.iter().map(|key| inner.get(*key).copied().unwrap_or_default()).collect(),
                None => keys,
            };
            return Ok(Self { nulls: some_null(array.logical_nulls()), keys: Some(keys), ..values });
        }
        let values = Values::new(array, layout)?;
        Ok(Self { nulls: some_null(array.nulls().cloned()), keys: None, values })
    }

    #[inline]
    pub(super) fn is_null(&self, index: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(index))
    }

    /// Where the value of `index` is in `values`.
    #[inline]
    pub(super) fn place(&self, index: usize) -> usize {
        match &self.keys {
            Some(keys) => keys.get(index).copied().unwrap_or_default(),
            None => index,
        }
    }
}

fn some_null(nulls: Option<NullBuffer>) -> Option<NullBuffer> {
    nulls.filter(|nulls| nulls.null_count() > 0)
}

impl Values {
    fn new(array: &dyn Array, layout: &ValueLayout) -> Result<Self> {
        use ArrowType as A;
        use ValueLayout as V;

        let data_type = array.data_type();
        let wrong = || wrong_type(data_type, layout);
        match (data_type, layout) {
            (A::Boolean, V::Bool) => {
                Ok(Self::Bool(array.as_boolean_opt().ok_or_else(wrong)?.values().clone()))
            }
            (A::Int8, V::Int8)
            | (A::Int16, V::Int16)
            | (A::Int32, V::Int32)
            | (A::Int64, V::Int64)
            | (A::Float16, V::Float16)
            | (A::Float32, V::Float32)
            | (A::Float64, V::Float64)
            | (A::Date32, V::Date32)
            | (A::Timestamp(TimeUnit::Microsecond, _), V::Timestamp)
            | (A::Duration(TimeUnit::Microsecond), V::Duration) => {
                let width = data_type.primitive_width().ok_or_else(wrong)?;
                Ok(Self::Number { width, bytes: flat(array, width).ok_or_else(wrong)? })
            }
            (A::Decimal32(_, scale), V::Decimal { scale: stored, .. })
            | (A::Decimal64(_, scale), V::Decimal { scale: stored, .. })
            | (A::Decimal128(_, scale), V::Decimal { scale: stored, .. })
            | (A::Decimal256(_, scale), V::Decimal { scale: stored, .. })
                if i16::from(*scale) == i16::from(*stored) =>
            {
                let width = data_type.primitive_width().ok_or_else(wrong)?;
                Ok(Self::Decimal { width, bytes: flat(array, width).ok_or_else(wrong)? })
            }
            (A::Utf8, V::Utf8) | (A::Binary, V::Binary) => {
                Ok(Self::Payload(Payload::Small(byte_array::<i32>(array).ok_or_else(wrong)?)))
            }
            (A::LargeUtf8, V::Utf8) | (A::LargeBinary, V::Binary) => {
                Ok(Self::Payload(Payload::Large(byte_array::<i64>(array).ok_or_else(wrong)?)))
            }
            (A::Utf8View, V::Utf8) => {
                Ok(Self::Payload(Payload::Utf8View(array.as_string_view_opt().ok_or_else(wrong)?.clone())))
            }
            (A::BinaryView, V::Binary) => {
                Ok(Self::Payload(Payload::BinaryView(array.as_binary_view_opt().ok_or_else(wrong)?.clone())))
            }
            (A::FixedSizeBinary(width), V::FixedBinary(stored))
                if usize::try_from(*width).is_ok_and(|width| width == *stored) =>
            {
                Ok(Self::FixedBinary { width: *stored, bytes: flat(array, *stored).ok_or_else(wrong)? })
            }
            (A::FixedSizeBinary(width), V::Binary) => {
                let width = usize::try_from(*width).map_err(|_| wrong())?;
                let data = flat(array, width).ok_or_else(wrong)?;
                Ok(Self::Payload(Payload::Fixed(FixedBytes { width, data })))
            }
            (A::List(_), V::List(element)) => list::<i32>(array, element, Spans::Small).ok_or_else(wrong)?,
            (A::LargeList(_), V::List(element)) => {
                list::<i64>(array, element, Spans::Large).ok_or_else(wrong)?
            }
            (A::FixedSizeList(_, size), V::List(element)) => {
                let lists = array.as_fixed_size_list_opt().ok_or_else(wrong)?;
                let size = usize::try_from(*size).map_err(|_| wrong())?;
                let items = Column::new(lists.values(), &element.value)?;
                Ok(Self::List { spans: Spans::Fixed(size), items: Box::new(items) })
            }
            (A::Map(..), V::Map(map)) => {
                let maps = array.as_map_opt().ok_or_else(wrong)?;
                Ok(Self::Map {
                    spans: Spans::Small(maps.offsets().clone()),
                    keys: Box::new(Column::new(maps.keys(), &map.keys.value)?),
                    values: Box::new(Column::new(maps.values(), &map.values.value)?),
                })
            }
            (A::Struct(_), V::Struct(row)) => {
                let members = array.as_struct_opt().ok_or_else(wrong)?;
                let find = |name: &str| members.column_by_name(name).map(|array| array.as_ref());
                Ok(Self::Struct(columns(row, find)?))
            }
            _ => {
                let change = Change::new(data_type, layout).ok_or_else(wrong)?;
                Ok(Self::Changed { change, bytes: flat(array, change.width()).ok_or_else(wrong)? })
            }
        }
    }
}

fn list<O: OffsetSizeTrait>(
    array: &dyn Array,
    element: &ElementLayout,
    spans: impl FnOnce(OffsetBuffer<O>) -> Spans,
) -> Option<Result<Values>> {
    let lists: &GenericListArray<O> = array.as_list_opt()?;
    let items = Column::new(lists.values(), &element.value);
    Some(items.map(|items| Values::List { spans: spans(lists.offsets().clone()), items: Box::new(items) }))
}

fn byte_array<O: OffsetSizeTrait>(array: &dyn Array) -> Option<Bytes<O>> {
    if let Some(text) = array.as_string_opt() {
        return Some(Bytes { offsets: text.offsets().clone(), data: text.values().clone() });
    }
    let bytes = array.as_binary_opt()?;
    Some(Bytes { offsets: bytes.offsets().clone(), data: bytes.values().clone() })
}

/// The bytes of values of one width.
fn flat(array: &dyn Array, width: usize) -> Option<Buffer> {
    let data = array.to_data();
    let (start, len) = (data.offset().checked_mul(width)?, data.len().checked_mul(width)?);
    let buffer = data.buffers().first()?;
    (start.checked_add(len)? <= buffer.len()).then(|| buffer.slice_with_length(start, len))
}

#[cold]
pub(super) fn wrong_type(data_type: &ArrowType, layout: &ValueLayout) -> Error {
    Error::new(ErrorKind::Type, format!("{data_type} of Arrow does not go with {} of rows", layout.name()))
}

impl<O: ArrowNativeType> Payloads for Bytes<O> {
    #[inline]
    fn bytes(&self, index: usize) -> &[u8] {
        self.data.get(span(&self.offsets, index)).unwrap_or_default()
    }

    #[inline]
    fn len(&self, index: usize) -> usize {
        span(&self.offsets, index).len()
    }
}

impl Payloads for FixedBytes {
    #[inline]
    fn bytes(&self, index: usize) -> &[u8] {
        let start = index.saturating_mul(self.width);
        self.data.get(start..start.saturating_add(self.width)).unwrap_or_default()
    }

    #[inline]
    fn len(&self, _: usize) -> usize {
        self.width
    }
}

impl<T: ByteViewType> Payloads for GenericByteViewArray<T> {
    #[inline]
    fn bytes(&self, index: usize) -> &[u8] {
        self.value(index).as_ref()
    }

    #[inline]
    fn len(&self, index: usize) -> usize {
        // The low half of a view is the length, whatever the rest is.
        self.views().get(index).map_or(0, |view| (view & u128::from(u32::MAX)).as_usize())
    }
}

impl Payloads for Payload {
    #[inline]
    fn bytes(&self, index: usize) -> &[u8] {
        match self {
            Self::Small(bytes) => bytes.bytes(index),
            Self::Large(bytes) => bytes.bytes(index),
            Self::Utf8View(views) => views.bytes(index),
            Self::BinaryView(views) => views.bytes(index),
            Self::Fixed(bytes) => bytes.bytes(index),
        }
    }

    #[inline]
    fn len(&self, index: usize) -> usize {
        match self {
            Self::Small(bytes) => bytes.len(index),
            Self::Large(bytes) => bytes.len(index),
            Self::Utf8View(views) => Payloads::len(views, index),
            Self::BinaryView(views) => Payloads::len(views, index),
            Self::Fixed(bytes) => bytes.len(index),
        }
    }
}

impl Spans {
    /// The items of list `index`.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Range<usize> {
        match self {
            Self::Small(offsets) => span(offsets, index),
            Self::Large(offsets) => span(offsets, index),
            Self::Fixed(size) => {
                let start = index.saturating_mul(*size);
                start..start.saturating_add(*size)
            }
        }
    }
}

#[inline]
fn span<O: ArrowNativeType>(offsets: &[O], index: usize) -> Range<usize> {
    match offsets.get(index..) {
        Some([start, end, ..]) => start.as_usize()..end.as_usize(),
        _ => 0..0,
    }
}
