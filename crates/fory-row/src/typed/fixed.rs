use crate::geometry::Widths;
use crate::raw::Slot;
use crate::read::read_bool;
use crate::scalar::DECIMAL_LEN;
use crate::typed::{FromRow, Image, RowType};
use crate::value::Budget;
use crate::{DataType, Date, Decimal, Duration, Float16, Result, RowFormat, Timestamp};

/// Types whose values all have one width: `read` makes a value of a slot, `bytes` the bytes of a value.
macro_rules! fixed {
    ($($type:ty, $width:literal, $data_type:expr, $read:expr, $bytes:expr;)*) => {$(
        impl RowType for $type {
            type View<'a, F: RowFormat> = Self;
            const WIDTHS: Widths = Widths::fixed($width);

            fn data_type() -> DataType {
                $data_type
            }

            #[inline]
            fn variable_len<F: RowFormat>(&self) -> usize {
                0
            }

            #[inline]
            fn write<F: RowFormat>(&self, image: &mut Image<'_>, slot: usize) -> Result<()> {
                let bytes: [u8; $width] = $bytes(self);
                image.put(slot, bytes)
            }

            #[inline]
            fn view<F: RowFormat>(slot: Slot<'_>) -> Result<Self> {
                $read(slot)
            }
        }

        impl FromRow<'_> for $type {
            #[inline]
            fn from_slot<F: RowFormat>(slot: Slot<'_>, _: &mut Budget) -> Result<Self> {
                $read(slot)
            }
        }
    )*};
}

fixed! {
    bool, 1, DataType::Bool, read_bool, |value: &bool| [u8::from(*value)];
    i8, 1, DataType::Int8, |slot: Slot<'_>| slot.fixed().map(i8::from_le_bytes), |value: &i8| value.to_le_bytes();
    i16, 2, DataType::Int16, |slot: Slot<'_>| slot.fixed().map(i16::from_le_bytes), |value: &i16| value.to_le_bytes();
    i32, 4, DataType::Int32, |slot: Slot<'_>| slot.fixed().map(i32::from_le_bytes), |value: &i32| value.to_le_bytes();
    i64, 8, DataType::Int64, |slot: Slot<'_>| slot.fixed().map(i64::from_le_bytes), |value: &i64| value.to_le_bytes();
    f32, 4, DataType::Float32, |slot: Slot<'_>| slot.fixed().map(f32::from_le_bytes), |value: &f32| value.to_le_bytes();
    f64, 8, DataType::Float64, |slot: Slot<'_>| slot.fixed().map(f64::from_le_bytes), |value: &f64| value.to_le_bytes();
    Float16, 2, DataType::Float16,
        |slot: Slot<'_>| slot.fixed().map(|bytes| Float16(u16::from_le_bytes(bytes))),
        |value: &Float16| value.0.to_le_bytes();
    Date, 4, DataType::Date32,
        |slot: Slot<'_>| slot.fixed().map(|bytes| Date(i32::from_le_bytes(bytes))),
        |value: &Date| value.0.to_le_bytes();
    Timestamp, 8, DataType::Timestamp,
        |slot: Slot<'_>| slot.fixed().map(|bytes| Timestamp(i64::from_le_bytes(bytes))),
        |value: &Timestamp| value.0.to_le_bytes();
    Duration, 8, DataType::Duration,
        |slot: Slot<'_>| slot.fixed().map(|bytes| Duration(i64::from_le_bytes(bytes))),
        |value: &Duration| value.0.to_le_bytes();
}

/// What Java takes for a `BigDecimal` without further notice.
const PRECISION: u8 = 38;
const SCALE: u8 = 18;

impl RowType for Decimal {
    type View<'a, F: RowFormat> = Self;
    const WIDTHS: Widths = Widths::VARIABLE;

    fn data_type() -> DataType {
        DataType::Decimal { precision: PRECISION, scale: SCALE }
    }

    fn variable_len<F: RowFormat>(&self) -> usize {
        DECIMAL_LEN
    }

    fn write<F: RowFormat>(&self, image: &mut Image<'_>, slot: usize) -> Result<()> {
        image.payload(slot, &self.to_stored(PRECISION, SCALE)?)
    }

    fn view<F: RowFormat>(slot: Slot<'_>) -> Result<Self> {
        Self::from_stored(slot.payload()?, PRECISION, SCALE)
    }
}

impl FromRow<'_> for Decimal {
    fn from_slot<F: RowFormat>(slot: Slot<'_>, budget: &mut Budget) -> Result<Self> {
        budget.spend(DECIMAL_LEN)?;
        Self::view::<F>(slot)
    }
}
