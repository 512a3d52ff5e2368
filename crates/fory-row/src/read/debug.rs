//! Views in messages for programmers: what they are, and of rows the values without parts.
//!
//! Nothing nested is shown, so that the text of hostile rows, whose references overlap, is as short as that of others.

use std::fmt::{Debug, Formatter, Result};

use crate::inspect::text;
use crate::{ArrayRef, MapRef, Row};

impl Debug for Row<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let values = self.values().map(|value| match value {
            Ok(value) => text::of(value),
            Err(error) => error.to_string(),
        });
        f.debug_map().entries(self.names().zip(values).map(|(name, value)| (name, Verbatim(value)))).finish()
    }
}

impl Debug for ArrayRef<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("ArrayRef")
            .field("element", &self.element().value.name())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl Debug for MapRef<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("MapRef")
            .field("key", &self.keys().element().value.name())
            .field("value", &self.values().element().value.name())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Text without quotes.
struct Verbatim(String);

impl Debug for Verbatim {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::{DataType, Field, Format, Layout, Result, Schema};

    #[test]
    fn a_row_shows_its_values() -> Result<()> {
        let list = DataType::list(DataType::Int8, false);
        let layout = Layout::new(
            Schema::new(vec![
                Field::new("id", DataType::Int64, false),
                Field::new("name", DataType::Utf8, true),
                Field::new("none", DataType::Bool, true),
                Field::new("list", list, false),
                Field::new("map", DataType::map(DataType::Int8, DataType::Bool), false),
                Field::new("struct", DataType::Struct(vec![Field::new("ok", DataType::Bool, false)]), false),
                Field::new("wrong", DataType::Bool, false),
            ])?,
            Format::Compact,
        )?;
        let mut bytes = vec![];
        layout.write_row(&mut bytes, |row| {
            row.set("id", 7_i64)?;
            row.set("name", "n".repeat(50).as_str())?;
            row.list_of("list", &[1_i8, 2])?;
            row.map("map", 1, |keys| keys.push(1_i8), |values| values.push(true))?;
            row.row("struct", |row| row.set("ok", true))?;
            row.set("wrong", true)
        })?;
        let wrong = layout.root().field(6).map(|field| field.slot).unwrap_or_default();
        if let Some(byte) = bytes.get_mut(wrong) {
            *byte = 9;
        }
        let row = layout.row(&bytes)?;
        let name = "n".repeat(40);
        assert_eq!(
            format!("{row:?}"),
            format!(
                "{{\"id\": 7, \"name\": \"{name}\"… (50 bytes), \"none\": null, \"list\": 2 elements, \
                 \"map\": 1 entry, \"struct\": 1 field, \"wrong\": malformed row: field wrong: a bool of 9 instead \
                 of 0 or 1}}"
            )
        );
        assert_eq!(
            format!("{:?}", row.value("map")?),
            "Map(MapRef { key: \"int8\", value: \"bool\", len: 1, .. })"
        );
        assert_eq!(format!("{:?}", row.value("list")?), "List(ArrayRef { element: \"int8\", len: 2, .. })");
        Ok(())
    }
}
