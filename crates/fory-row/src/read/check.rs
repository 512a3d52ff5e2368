use crate::layout::ValueLayout;
use crate::value::Budget;
use crate::{ArrayRef, DecodeOptions, Image, Layout, MapRef, Result, Row, ValueRef};

impl Layout {
    /// Checks every value of an image, as a decode would, and makes none of them. What passes is decoded without an
    /// error, and no getter fails on it.
    ///
    /// ```
    /// use fory_row::{DataType, Field, Format, Image, Layout, Schema};
    /// let schema = Schema::new(vec![Field::new("ok", DataType::Bool, false)])?;
    /// let layout = Layout::new(schema, Format::Compact)?;
    /// assert!(layout.check(Image::Row, &[1]).is_ok());
    /// let error = layout.check(Image::Row, &[2]).unwrap_err();
    /// assert_eq!(error.to_string(), "malformed row: field ok: a bool of 2 instead of 0 or 1");
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn check(&self, image: Image, bytes: &[u8]) -> Result<()> {
        self.check_with(image, bytes, DecodeOptions::default())
    }

    /// The same with another budget.
    pub fn check_with(&self, image: Image, bytes: &[u8], options: DecodeOptions) -> Result<()> {
        let budget = &mut Budget::new(options, bytes.len());
        match image {
            Image::Row => check_row(self.row(bytes)?, budget),
            Image::Array => check_list(self.array(bytes)?, budget),
            Image::Map => check_map(self.map(bytes)?, budget),
        }
    }
}

fn check_value(value: ValueRef<'_>, budget: &mut Budget) -> Result<()> {
    match value {
        ValueRef::Utf8(text) => budget.spend(text.len()),
        ValueRef::Binary(bytes) => budget.spend(bytes.len()),
        ValueRef::List(list) => check_list(list, budget),
        ValueRef::Map(map) => check_map(map, budget),
        ValueRef::Struct(row) => check_row(row, budget),
        _ => Ok(()),
    }
}

fn check_row(row: Row<'_>, budget: &mut Budget) -> Result<()> {
    let layout = row.layout();
    budget.spend_row(&layout.geometry)?;
    layout.fields.iter().enumerate().try_for_each(|(index, field)| {
        let value = row.value(index)?;
        check_value(value, budget).map_err(|error| error.in_field(&field.name))
    })
}

fn check_list(list: ArrayRef<'_>, budget: &mut Budget) -> Result<()> {
    budget.spend_array(list.raw())?;
    if list.element().value.is_number() {
        return Ok(());
    }
    (0..list.len()).try_for_each(|index| {
        let value = list.value(index)?;
        check_value(value, budget).map_err(|error| list.element().within(index, error))
    })
}

fn check_map(map: MapRef<'_>, budget: &mut Budget) -> Result<()> {
    check_list(map.keys(), budget)?;
    check_list(map.values(), budget)
}

impl ValueLayout {
    /// Whether all bytes are a value.
    const fn is_number(&self) -> bool {
        matches!(
            self,
            Self::Int8
                | Self::Int16
                | Self::Int32
                | Self::Int64
                | Self::Float16
                | Self::Float32
                | Self::Float64
                | Self::Date32
                | Self::Timestamp
                | Self::Duration
        )
    }
}
