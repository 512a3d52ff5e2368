use crate::geometry::Widths;
use crate::raw::Slot;
use crate::read::read_str;
use crate::typed::{FromRow, Image, RowType};
use crate::value::Budget;
use crate::{DataType, Format, Result, RowFormat};

/// Types that are bytes behind a reference: `$bytes` gives them, `$read` makes the view of a slot.
macro_rules! payload {
    ($(($($life:lifetime)?) $type:ty, $view:ty, $data_type:expr, $bytes:expr, $read:expr;)*) => {$(
        impl<$($life)?> RowType for $type {
            type View<'a, F: RowFormat> = $view;
            const WIDTHS: Widths = Widths::VARIABLE;

            fn data_type() -> DataType {
                $data_type
            }

            #[inline]
            fn variable_len<F: RowFormat>(&self) -> usize {
                Format::padded(self.len())
            }

            #[inline]
            fn write<F: RowFormat>(&self, image: &mut Image<'_>, slot: usize) -> Result<()> {
                image.payload(slot, $bytes(self))
            }

            #[inline]
            fn view<F: RowFormat>(slot: Slot<'_>) -> Result<Self::View<'_, F>> {
                $read(slot)
            }
        }
    )*};
}

payload! {
    () String, &'a str, DataType::Utf8, String::as_bytes, read_str;
    ('s) &'s str, &'a str, DataType::Utf8, |text: &&'s str| text.as_bytes(), read_str;
    () Vec<u8>, &'a [u8], DataType::Binary, Vec::as_slice, Slot::payload;
    ('s) &'s [u8], &'a [u8], DataType::Binary, |bytes: &&'s [u8]| *bytes, Slot::payload;
}

impl FromRow<'_> for String {
    #[inline]
    fn from_slot<F: RowFormat>(slot: Slot<'_>, budget: &mut Budget) -> Result<Self> {
        let text = read_str(slot)?;
        budget.spend(text.len())?;
        Ok(text.into())
    }
}

impl<'a> FromRow<'a> for &'a str {
    #[inline]
    fn from_slot<F: RowFormat>(slot: Slot<'a>, budget: &mut Budget) -> Result<Self> {
        let text = read_str(slot)?;
        budget.spend(text.len())?;
        Ok(text)
    }
}

impl FromRow<'_> for Vec<u8> {
    #[inline]
    fn from_slot<F: RowFormat>(slot: Slot<'_>, budget: &mut Budget) -> Result<Self> {
        let bytes = slot.payload()?;
        budget.spend(bytes.len())?;
        Ok(bytes.into())
    }
}

impl<'a> FromRow<'a> for &'a [u8] {
    #[inline]
    fn from_slot<F: RowFormat>(slot: Slot<'a>, budget: &mut Budget) -> Result<Self> {
        let bytes = slot.payload()?;
        budget.spend(bytes.len())?;
        Ok(bytes)
    }
}
