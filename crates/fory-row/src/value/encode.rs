use crate::geometry::MAX_IMAGE;
use crate::layout::{ElementLayout, RowLayout, ValueLayout};
use crate::scalar::DECIMAL_LEN;
use crate::write::{ArrayWriter, RowWriter};
use crate::{Error, ErrorKind, Format, Layout, Result, Value};

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
        let fields = members(row)?;
        buffer.reserve(self.root().encoded_len(fields)?);
        self.write_row(buffer, |writer| write_fields(writer, self.root(), fields))
    }

    /// The bytes of `row`, a [`Value::Struct`], once encoded.
    pub fn encoded_len(&self, row: &Value) -> Result<usize> {
        match self.root().encoded_len(members(row)?)? {
            len if len <= MAX_IMAGE => Ok(len),
            _ => Err(Error::value("a row of more than 2 GiB")),
        }
    }
}

fn members(row: &Value) -> Result<&[Value]> {
    match row {
        Value::Struct(fields) => Ok(fields),
        _ => Err(Error::new(ErrorKind::Type, "a row is a Value::Struct")),
    }
}

fn write_fields(writer: &mut RowWriter<'_>, layout: &RowLayout, values: &[Value]) -> Result<()> {
    check_members(layout, values)?;
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

fn check_members(layout: &RowLayout, values: &[Value]) -> Result<()> {
    if values.len() == layout.fields.len() {
        return Ok(());
    }
    let (given, fields) = (values.len(), layout.fields.len());
    Err(Error::new(ErrorKind::Type, format!("{given} values for a struct of {fields} fields")))
}

#[cold]
fn wrong(layout: &ValueLayout) -> Error {
    Error::new(ErrorKind::Type, format!("a value of another type was written to a {}", layout.name()))
}

// The length formulas. They saturate: what is too large is refused by the writers, and by `encoded_len`.

impl RowLayout {
    fn encoded_len(&self, values: &[Value]) -> Result<usize> {
        check_members(self, values)?;
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
            let variable =
                self.value.variable_len(self.shape.format, value).map_err(|e| e.in_element(index))?;
            Ok(len.saturating_add(variable))
        })
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
            (Self::Map(map), Value::Map(entries)) => {
                let keys = map.keys.encoded_len(entries.iter().map(|(key, _)| key))?;
                let values = map.values.encoded_len(entries.iter().map(|(_, value)| value))?;
                keys.saturating_add(values).saturating_add(8)
            }
            (Self::Struct(row), Value::Struct(values)) => match self.width(format) {
                Some(_) => 0,
                None => row.encoded_len(values)?,
            },
            (layout, _) if layout.width(format).is_some() => 0,
            (layout, _) => return Err(wrong(layout)),
        })
    }
}
