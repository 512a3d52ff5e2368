//! Rows of many fields.

use fory_row::{DataType, Field, Format, Layout, Result, Schema};

fn layout(fields: usize, format: Format) -> Result<Layout> {
    let field = |index: usize| Field::new(format!("f{}", index * 7919 % fields), DataType::Int32, true);
    Layout::new(Schema::new((0..fields).map(field).collect())?, format)
}

/// Below, at and above what is searched in another way.
#[test]
fn fields_are_found_by_name() -> Result<()> {
    for fields in [1, 2, 15, 16, 17, 18, 100, 2001] {
        let layout = layout(fields, Format::Compact)?;
        let mut bytes = vec![];
        layout.write_row(&mut bytes, |row| {
            (0..fields).rev().try_for_each(|index| {
                let value = i32::try_from(index).unwrap_or_default();
                row.set(&format!("f{index}"), value)
            })
        })?;
        let row = layout.row(&bytes)?;
        for index in 0..fields {
            let name = format!("f{index}");
            assert_eq!(row.get::<i32>(&name)?, i32::try_from(index).ok(), "{name} of {fields}");
            assert_eq!(layout.schema().index_of(&name), row.names().position(|other| other == name));
        }
        for name in ["", "f", "f-1", "g", &format!("f{fields}")] {
            let error = row.get::<i32>(name).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(
                error.starts_with(&format!("wrong type: there is no field {name}; there are f0")),
                "{error}"
            );
        }
    }
    Ok(())
}
