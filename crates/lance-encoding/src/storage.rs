//! What the value stream of a leaf consists of.

use arrow_schema::{DataType, Field, FieldRef, Fields};
use lance_footer::{FormatError, Result};

use crate::bounds;
use crate::field::at_member;

/// The shape of the values of a leaf, whatever they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Storage {
    /// No values at all: the null type, and structs without members.
    Nothing,
    /// Values of the same number of bits: 1, or whole bytes.
    Fixed { bits: usize },
    /// Byte strings; wide ones have 64-bit offsets.
    Variable { wide: bool },
    /// Lists of the same length.
    List { len: usize, items: Box<Self> },
    /// Indices into a dictionary of values.
    Dictionary { values: Box<Self> },
    /// The members of a packed struct: values and lists of these, side by side.
    Packed { members: Vec<Self> },
}

impl Storage {
    /// The shape in which values of `data_type`, the type of a leaf, are stored.
    pub(crate) fn of(data_type: &DataType) -> Result<Self> {
        let bits = match data_type {
            DataType::Null => return Ok(Self::Nothing),
            DataType::Struct(members) if members.is_empty() => return Ok(Self::Nothing),
            DataType::Boolean => 1,
            DataType::FixedSizeBinary(width) => bounds::product(length(*width)?, 8, "schema")?,
            DataType::Utf8 | DataType::Binary => return Ok(Self::Variable { wide: false }),
            DataType::LargeUtf8 | DataType::LargeBinary => return Ok(Self::Variable { wide: true }),
            DataType::FixedSizeList(item, len) => {
                let items = Box::new(Self::of(item.data_type())?);
                if !matches!(*items, Self::Fixed { .. } | Self::List { .. }) {
                    return Err(unsupported(data_type));
                }
                return Ok(Self::List { len: length(*len)?, items });
            }
            DataType::Dictionary(_, values) => {
                let values = Box::new(Self::of(values)?);
                if !matches!(*values, Self::Fixed { .. } | Self::Variable { .. }) {
                    return Err(unsupported(data_type));
                }
                return Ok(Self::Dictionary { values });
            }
            DataType::Decimal128(..) => 128,
            DataType::Decimal256(..) => 256,
            DataType::Interval(_) | DataType::Decimal32(..) | DataType::Decimal64(..) => {
                return Err(unsupported(data_type));
            }
            other => {
                bounds::product(other.primitive_width().ok_or_else(|| unsupported(other))?, 8, "schema")?
            }
        };
        Ok(Self::Fixed { bits })
    }

    /// The shape of a packed struct of these `members`, of which there is at least one. An error names the member that
    /// cannot be packed.
    pub(crate) fn packed(members: &Fields) -> Result<Self> {
        let member = |member: &Field| match Self::of(member.data_type())? {
            storage @ (Self::Fixed { .. } | Self::Variable { .. } | Self::List { .. }) => Ok(storage),
            _ => Err(FormatError::unsupported(format!("{} in a packed struct", member.data_type()))),
        };
        let named = |field: &FieldRef| member(field).map_err(|error| at_member(error, field.name()));
        Ok(Self::Packed { members: members.iter().map(named).collect::<Result<_>>()? })
    }

    /// Bits of one value, if all values have the same number.
    pub(crate) fn bits(&self) -> Option<usize> {
        match self {
            Self::Fixed { bits } => Some(*bits),
            Self::List { len, items } => items.bits()?.checked_mul(*len),
            _ => None,
        }
    }

    /// To how many bytes Arrow wants the values to be aligned.
    pub(crate) fn alignment(&self) -> usize {
        match self {
            // A width that is not a power of two is a fixed-size binary, whose values are bytes.
            Self::Fixed { bits } if bits.is_power_of_two() => (bits / 8).clamp(1, 16),
            Self::List { items, .. } => items.alignment(),
            _ => 1,
        }
    }
}

fn length(number: i32) -> Result<usize> {
    usize::try_from(number).map_err(|_| FormatError::corrupt("schema", format!("a length of {number}")))
}

fn unsupported(data_type: &DataType) -> FormatError {
    FormatError::unsupported(format!("a column of type {data_type}"))
}
