//! Arrow arrays in the making.

use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder, i256};
use arrow_schema::{DataType as ArrowType, Field as ArrowField, Fields, TimeUnit};

use super::cells::Cell;
use crate::arrow::column::wrong_type;
use crate::arrow::number::Change;
use crate::layout::{ElementLayout, RowLayout, ValueLayout};
use crate::{Error, ErrorKind, Result};

/// One array that is being built.
#[derive(Debug)]
pub(super) struct Builder {
    pub(super) data_type: ArrowType,
    pub(super) nulls: Nulls,
    pub(super) values: Values,
}

/// Which values are null.
#[derive(Debug)]
pub(super) struct Nulls {
    pub(super) builder: NullBufferBuilder,
    pub(super) nullable: bool,
}

#[derive(Debug)]
pub(super) enum Values {
    Bool(BooleanBufferBuilder),
    /// Numbers that Arrow has as rows do, by their width.
    Number1(Vec<u8>),
    Number2(Vec<u16>),
    Number4(Vec<u32>),
    Number8(Vec<u64>),
    /// Numbers that rows have a wider type for.
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    Date64(Vec<i64>),
    /// Times that rows have another unit for.
    Time(Change, Vec<i64>),
    /// Decimals of so many digits.
    Decimal32(u8, Vec<i32>),
    Decimal64(u8, Vec<i64>),
    Decimal128(u8, Vec<i128>),
    Decimal256(u8, Vec<i256>),
    Payload(Offsets, Vec<u8>),
    Utf8View(StringViewBuilder),
    BinaryView(BinaryViewBuilder),
    /// Bytes of one width.
    FixedBinary(usize, Vec<u8>),
    List(Offsets, Box<Builder>),
    FixedList(usize, Box<Builder>),
    Map(Offsets, Box<[Builder; 2]>),
    /// The members, and which field of the layout each is.
    Struct(Vec<(usize, Builder)>),
}

/// Where values or lists end, and a 0 in front.
#[derive(Debug)]
pub(super) enum Offsets {
    Small(Vec<i32>),
    Large(Vec<i64>),
}

impl Builder {
    /// A builder for the field `target` of Arrow out of values that rows have as `layout`.
    pub(super) fn new(target: &ArrowField, layout: &ValueLayout) -> Result<Self> {
        let values = Values::new(target.data_type(), layout)?;
        let nulls = Nulls { builder: NullBufferBuilder::new(0), nullable: target.is_nullable() };
        Ok(Self { data_type: target.data_type().clone(), nulls, values })
    }

    fn item(target: &ArrowField, element: &ElementLayout) -> Result<Self> {
        Self::new(target, &element.value).map_err(|error| error.in_field(target.name()))
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.nulls.builder.len()
    }

    /// About the bytes that a value takes which is not there.
    pub(super) fn absent(&self) -> usize {
        let bytes = match &self.values {
            Values::Bool(_) | Values::Number1(_) | Values::UInt8(_) => 1,
            Values::Number2(_) | Values::UInt16(_) => 2,
            Values::Number4(_) | Values::UInt32(_) | Values::Decimal32(..) => 4,
            Values::Number8(_) | Values::Date64(_) | Values::Time(..) | Values::Decimal64(..) => 8,
            Values::Decimal128(..) | Values::Utf8View(_) | Values::BinaryView(_) => 16,
            Values::Decimal256(..) => 32,
            Values::Payload(..) | Values::List(..) | Values::Map(..) => 8,
            Values::FixedBinary(width, _) => *width,
            Values::FixedList(size, item) => item.absent().saturating_mul(*size),
            Values::Struct(members) => {
                members.iter().map(|(_, member)| member.absent()).fold(0, usize::saturating_add)
            }
        };
        bytes.saturating_add(1)
    }
}

impl Values {
    fn new(target: &ArrowType, layout: &ValueLayout) -> Result<Self> {
        use ArrowType as A;
        use ValueLayout as V;

        let wrong = || wrong_type(target, layout);
        Ok(match (target, layout) {
            (A::Boolean, V::Bool) => Self::Bool(BooleanBufferBuilder::new(0)),
            (A::Int8, V::Int8) => Self::Number1(vec![]),
            (A::Int16, V::Int16) | (A::Float16, V::Float16) => Self::Number2(vec![]),
            (A::Int32, V::Int32) | (A::Float32, V::Float32) | (A::Date32, V::Date32) => Self::Number4(vec![]),
            (A::Int64, V::Int64)
            | (A::Float64, V::Float64)
            | (A::Timestamp(TimeUnit::Microsecond, _), V::Timestamp)
            | (A::Duration(TimeUnit::Microsecond), V::Duration) => Self::Number8(vec![]),
            (A::Decimal32(digits, scale), V::Decimal { scale: stored, .. }) if same(*scale, *stored) => {
                Self::Decimal32(*digits, vec![])
            }
            (A::Decimal64(digits, scale), V::Decimal { scale: stored, .. }) if same(*scale, *stored) => {
                Self::Decimal64(*digits, vec![])
            }
            (A::Decimal128(digits, scale), V::Decimal { scale: stored, .. }) if same(*scale, *stored) => {
                Self::Decimal128(*digits, vec![])
            }
            (A::Decimal256(digits, scale), V::Decimal { scale: stored, .. }) if same(*scale, *stored) => {
                Self::Decimal256(*digits, vec![])
            }
            (A::Utf8, V::Utf8) | (A::Binary, V::Binary) => Self::Payload(Offsets::small(), vec![]),
            (A::LargeUtf8, V::Utf8) | (A::LargeBinary, V::Binary) => Self::Payload(Offsets::large(), vec![]),
            (A::Utf8View, V::Utf8) => Self::Utf8View(StringViewBuilder::new()),
            (A::BinaryView, V::Binary) => Self::BinaryView(BinaryViewBuilder::new()),
            (A::FixedSizeBinary(width), V::FixedBinary(_) | V::Binary) => {
                let width = usize::try_from(*width).map_err(|_| wrong())?;
                if matches!(layout, V::FixedBinary(stored) if *stored != width) {
                    return Err(wrong());
                }
                Self::FixedBinary(width, vec![])
            }
            (A::List(item), V::List(element)) => {
                Self::List(Offsets::small(), Box::new(Builder::item(item, element)?))
            }
            (A::LargeList(item), V::List(element)) => {
                Self::List(Offsets::large(), Box::new(Builder::item(item, element)?))
            }
            (A::FixedSizeList(item, size), V::List(element)) => {
                let size = usize::try_from(*size).map_err(|_| wrong())?;
                Self::FixedList(size, Box::new(Builder::item(item, element)?))
            }
            (A::Map(_, true), V::Map(_)) => {
                return Err(Error::unsupported("rows do not say whether the keys of their maps are sorted"));
            }
            (A::Map(entries, false), V::Map(map)) => {
                let A::Struct(fields) = entries.data_type() else { return Err(wrong()) };
                let [key, value] = fields.as_ref() else { return Err(wrong()) };
                let builders = [Builder::item(key, &map.keys)?, Builder::item(value, &map.values)?];
                Self::Map(Offsets::small(), Box::new(builders))
            }
            (A::Struct(fields), V::Struct(row)) => Self::Struct(members(fields, row)?),
            (A::Dictionary(..), _) => {
                return Err(Error::unsupported(
                    "values of rows are not made a dictionary of: ask for plain ones",
                ));
            }
            _ => match Change::new(target, layout).ok_or_else(wrong)? {
                Change::UInt8 => Self::UInt8(vec![]),
                Change::UInt16 => Self::UInt16(vec![]),
                Change::UInt32 => Self::UInt32(vec![]),
                Change::Date64 => Self::Date64(vec![]),
                unit => Self::Time(unit, vec![]),
            },
        })
    }
}

fn same(scale: i8, stored: u8) -> bool {
    i16::from(scale) == i16::from(stored)
}

/// A builder for each of `targets`, whose values are found in rows by name.
pub(super) fn members(targets: &Fields, layout: &RowLayout) -> Result<Vec<(usize, Builder)>> {
    let members = targets.iter().map(|target| {
        let of = |index: usize| {
            let field = layout.field(index).ok_or_else(|| no_field(layout))?;
            Ok((index, Builder::new(target, &field.value)?))
        };
        layout.index(target.name().as_str()).and_then(of).map_err(|error| error.in_field(target.name()))
    });
    members.collect()
}

#[cold]
fn no_field(layout: &RowLayout) -> Error {
    Error::new(ErrorKind::Type, format!("rows have {} fields", layout.fields.len()))
}

impl Nulls {
    /// A value is there.
    #[inline]
    pub(super) fn some<T>(&mut self, value: T) -> T {
        self.builder.append_non_null();
        value
    }

    /// No value is there, and another stands for it.
    #[inline]
    pub(super) fn none<T: Default>(&mut self, cell: Cell<'_>) -> Result<T> {
        if self.nullable {
            self.builder.append_null();
        } else if matches!(cell, Cell::Absent) {
            self.builder.append_non_null();
        } else {
            return Err(null());
        }
        Ok(T::default())
    }

    /// `count` values are there.
    pub(super) fn all(&mut self, count: usize) {
        self.builder.append_n_non_nulls(count);
    }
}

#[cold]
fn null() -> Error {
    Error::value("null, and not nullable")
}

impl Offsets {
    fn small() -> Self {
        Self::Small(vec![0])
    }

    fn large() -> Self {
        Self::Large(vec![0])
    }

    #[inline]
    pub(super) fn push(&mut self, end: usize) -> Result<()> {
        match self {
            Self::Small(ends) => ends.push(i32::try_from(end).map_err(|_| too_many())?),
            Self::Large(ends) => ends.push(i64::try_from(end).map_err(|_| too_many())?),
        }
        Ok(())
    }
}

#[cold]
fn too_many() -> Error {
    Error::new(
        ErrorKind::Limit,
        "more than 2^31 - 1 bytes or items in one array: take fewer rows at once, or a large type",
    )
}
