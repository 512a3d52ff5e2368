use crate::geometry::MAX_IMAGE;
use crate::layout::{ElementLayout, MapLayout, RowLayout, ValueLayout};
use crate::scalar::DECIMAL_LEN;
use crate::write::{ArrayWriter, RowWriter};
use crate::{Error, ErrorKind, Format, Image, Layout, Result, Value};

impl Layout {
    /// Appends `row`, a [`Value::Struct`], to `buffer`. A failure leaves the buffer as it was.
    ///
    /// ```
    /// use fory_row::{DataType, Field, Format, Layout, Schema, Value};
    /// let schema = Schema::new(vec![Field::new("xs", DataType::list(DataType::Int8, true), false)])?;
    /// let layout = Layout::new(schema, Format::Compact)?;
    /// let row = Value::Struct(vec![Value::List(vec![Value::Int8(1), Value::Null])]);
    /// let mut bytes = vec![];
    /// layout.encode(&row, &mut bytes)?;
    /// assert_eq!(bytes.len(), layout.encoded_len(&row)?);
    /// assert_eq!(layout.decode(&bytes)?, row);
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn encode(&self, row: &Value, buffer: &mut Vec<u8>) -> Result<()> {
        self.encode_image(Image::Row, row, buffer)
    }

    /// The bytes of `row`, a [`Value::Struct`], once encoded.
    pub fn encoded_len(&self, row: &Value) -> Result<usize> {
        self.image_len(Image::Row, row)
    }

    /// Appends an image of `value` to `buffer`: of a [`Value::Struct`], [`Value::List`] or [`Value::Map`]. A failure
    /// leaves the buffer as it was.
    pub fn encode_image(&self, image: Image, value: &Value, buffer: &mut Vec<u8>) -> Result<()> {
        buffer.reserve(self.image_len(image, value)?);
        match (image, value) {
            (Image::Row, Value::Struct(values)) => {
                self.write_row(buffer, |writer| write_fields(writer, self.root(), values))
            }
            (Image::Array, Value::List(values)) => {
                let element = self.first_list()?;
                self.write_array(buffer, values.len(), |list| push_all(list, element, values))
            }
            (Image::Map, Value::Map(entries)) => {
                let map = self.first_map()?;
                self.write_map(
                    buffer,
                    entries.len(),
                    |keys| entries.iter().try_for_each(|(key, _)| push(keys, &map.keys, key)),
                    |values| entries.iter().try_for_each(|(_, value)| push(values, &map.values, value)),
                )
            }
            (image, _) => Err(no_image(image)),
        }
    }

    /// The bytes of an image of `value`.
    pub fn image_len(&self, image: Image, value: &Value) -> Result<usize> {
        let len = match (image, value) {
            (Image::Row, Value::Struct(values)) => self.root().encoded_len(values)?,
            (Image::Array, Value::List(values)) => self.first_list()?.encoded_len(values.iter())?,
            (Image::Map, Value::Map(entries)) => self.first_map()?.encoded_len(entries)?,
            (image, _) => return Err(no_image(image)),
        };
        if len <= MAX_IMAGE { Ok(len) } else { Err(crate::write::too_large()) }
    }
}

#[cold]
fn no_image(image: Image) -> Error {
    let (image, variant) = match image {
        Image::Row => ("row", "Struct"),
        Image::Array => ("array", "List"),
        Image::Map => ("map", "Map"),
    };
    Error::new(ErrorKind::Type, format!("the value of a {image} is a Value::{variant}"))
}

fn write_fields(writer: &mut RowWriter<'_>, layout: &RowLayout, values: &[Value]) -> Result<()> {
    layout.check_members(values)?;
    for (index, (field, value)) in layout.fields.iter().zip(values).enumerate() {
        match (&field.value, value) {
            (ValueLayout::List(element), Value::List(values)) => {
                writer.list(index, values.len(), |list| push_all(list, element, values))?;
            }
            (ValueLayout::Map(map), Value::Map(entries)) => writer.map(
                index,
                entries.len(),
                |keys| entries.iter().try_for_each(|(key, _)| push(keys, &map.keys, key)),
                |values| entries.iter().try_for_each(|(_, value)| push(values, &map.values, value)),
            )?,
            (ValueLayout::Struct(row), Value::Struct(values)) => {
                writer.row(index, |writer| write_fields(writer, row, values))?;
            }
            (layout, value) => match value.scalar() {
                Some(scalar) => writer.set(index, scalar)?,
                None => return Err(wrong(layout).in_field(&field.name)),
            },
        }
    }
    Ok(())
}

pub(crate) fn push_all(list: &mut ArrayWriter<'_>, element: &ElementLayout, values: &[Value]) -> Result<()> {
    values.iter().try_for_each(|value| push(list, element, value))
}

pub(crate) fn push(list: &mut ArrayWriter<'_>, element: &ElementLayout, value: &Value) -> Result<()> {
    match (&element.value, value) {
        (ValueLayout::List(element), Value::List(values)) => {
            list.push_list(values.len(), |list| push_all(list, element, values))
        }
        (ValueLayout::Map(map), Value::Map(entries)) => list.push_map(
            entries.len(),
            |keys| entries.iter().try_for_each(|(key, _)| push(keys, &map.keys, key)),
            |values| entries.iter().try_for_each(|(_, value)| push(values, &map.values, value)),
        ),
        (ValueLayout::Struct(row), Value::Struct(values)) => {
            list.push_row(|writer| write_fields(writer, row, values))
        }
        (layout, value) => match value.scalar() {
            Some(scalar) => list.push(scalar),
            None => Err(wrong(layout)),
        },
    }
}

#[cold]
fn wrong(layout: &ValueLayout) -> Error {
    Error::new(ErrorKind::Type, format!("a value of another type was written to a {}", layout.name()))
}

// The length formulas. They saturate: what is too large is refused by the writers, and by `encoded_len`.

impl RowLayout {
    pub(crate) fn check_members(&self, values: &[Value]) -> Result<()> {
        if values.len() == self.fields.len() {
            return Ok(());
        }
        let (given, fields) = (values.len(), self.fields.len());
        Err(Error::new(ErrorKind::Type, format!("{given} values for a struct of {fields} fields")))
    }

    fn encoded_len(&self, values: &[Value]) -> Result<usize> {
        self.check_members(values)?;
        self.fields.iter().zip(values).try_fold(self.geometry.fixed_end, |len, (field, value)| {
            let variable =
                field.value.variable_len(self.format, value).map_err(|e| e.in_field(&field.name))?;
            Ok(len.saturating_add(variable))
        })
    }
}

impl ElementLayout {
    pub(crate) fn encoded_len<'v>(&self, values: impl ExactSizeIterator<Item = &'v Value>) -> Result<usize> {
        let Some(geometry) = self.shape.array(values.len()) else { return Ok(usize::MAX) };
        values.enumerate().try_fold(geometry.fixed_end(), |len, (index, value)| {
            let variable = self.value.variable_len(self.shape.format, value);
            let variable = variable.map_err(|error| self.within(index, error))?;
            Ok(len.saturating_add(variable))
        })
    }
}

impl MapLayout {
    fn encoded_len(&self, entries: &[(Value, Value)]) -> Result<usize> {
        let keys = self.keys.encoded_len(entries.iter().map(|(key, _)| key))?;
        let values = self.values.encoded_len(entries.iter().map(|(_, value)| value))?;
        Ok(keys.saturating_add(values).saturating_add(8))
    }
}

impl ValueLayout {
    /// The bytes of `value` outside of its slot.
    fn variable_len(&self, format: Format, value: &Value) -> Result<usize> {
        Ok(match (self, value) {
            (_, Value::Null) => 0,
            (Self::Utf8, Value::Utf8(text)) => Format::padded(text.len()),
            (Self::Binary, Value::Binary(bytes)) => Format::padded(bytes.len()),
            (Self::Decimal { .. }, Value::Decimal(_)) => DECIMAL_LEN,
            (Self::List(element), Value::List(values)) => element.encoded_len(values.iter())?,
            (Self::Map(map), Value::Map(entries)) => map.encoded_len(entries)?,
            (Self::Struct(row), Value::Struct(values)) => match self.width(format) {
                Some(_) => 0,
                None => row.encoded_len(values)?,
            },
            (layout, _) if layout.width(format).is_some() => 0,
            (layout, _) => return Err(wrong(layout)),
        })
    }
}
