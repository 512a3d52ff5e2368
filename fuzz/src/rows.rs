//! Rows of the Fory format.
//!
//! ```text
//! rows        format, 1 byte │ length of the schema, u16 │ serialised schema │ row
//! row_schema  serialised schema
//! ```
//!
//! `fixed_binary` is not reached: serialised schemas have no width for it.

use fory_row::{ErrorKind, Format, Frame, Image, Layout, Result, Row, Schema, SchemaLimits, Value, ValueRef};

/// Deeper schemas have nothing new in them.
const LIMITS: SchemaLimits = SchemaLimits { depth: 6, fields: 200 };
/// Values that a lazy reader looks at before it gives up.
const STEPS: usize = 20_000;

/// Reads a row with a schema, both from `input`; panics where eager and lazy reading, or reading and writing, disagree.
pub fn row(input: &[u8]) {
    let Some((format, rest)) = input.split_first() else { return };
    let Some((len, rest)) = rest.split_first_chunk() else { return };
    let Some((schema, row)) = rest.split_at_checked(u16::from_le_bytes(*len).into()) else { return };
    let format = if format & 1 == 0 { Format::Standard } else { Format::Compact };
    let Ok(schema) = Schema::deserialize_with(schema, LIMITS) else { return };
    let Ok(layout) = Layout::new(schema, format) else { return };

    let mut steps = STEPS;
    let walked = layout.row(row).and_then(|row| walk(row, &mut steps));
    let decoded = layout.decode(row);
    assert_eq!(layout.check(Image::Row, row).is_ok(), decoded.is_ok());
    match (walked, decoded) {
        (_, Ok(_)) if steps == 0 => {}
        (Ok(()), Ok(value)) => again(&layout, &value, row),
        (Err(error), Ok(value)) => panic!("decoded to {value:?}, and lazily: {error}"),
        (Ok(()), Err(error)) if steps > 0 && error.kind() != ErrorKind::Limit => {
            panic!("read lazily, and decoded: {error}")
        }
        (_, Err(_)) => assert!(layout.inspect(Frame::Row, row).is_err()),
    }
}

/// What was accepted can be written, unless the schema forbids a null, and is the same then.
fn again(layout: &Layout, value: &Value, row: &[u8]) {
    let _ = layout.inspect(Frame::Row, row);
    let mut bytes = vec![];
    match layout.encode(value, &mut bytes) {
        Ok(()) => {
            let mut second = vec![];
            let read = layout.decode(&bytes).unwrap_or_else(|error| panic!("{value:?} and then {error}"));
            layout.encode(&read, &mut second).unwrap_or_else(|error| panic!("{value:?} and then {error}"));
            // As bytes, since what is no number is not equal to itself.
            assert_eq!(second, bytes);
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Value, "{error}"),
    }
}

fn walk(row: Row<'_>, steps: &mut usize) -> Result<()> {
    row.values().try_for_each(|value| if *steps == 0 { Ok(()) } else { visit(value?, steps) })
}

fn visit(value: ValueRef<'_>, steps: &mut usize) -> Result<()> {
    *steps = steps.saturating_sub(1);
    match value {
        ValueRef::List(list) => list.iter::<ValueRef<'_>>().try_for_each(|value| {
            if *steps == 0 { Ok(()) } else { visit(value?.unwrap_or(ValueRef::Null), steps) }
        }),
        ValueRef::Map(map) => map.iter::<ValueRef<'_>, ValueRef<'_>>().try_for_each(|entry| {
            if *steps == 0 {
                return Ok(());
            }
            let (key, value) = entry?;
            visit(key, steps)?;
            visit(value.unwrap_or(ValueRef::Null), steps)
        }),
        ValueRef::Struct(row) => walk(row, steps),
        _ => Ok(()),
    }
}

/// Reads a serialised schema, and what was read once more in each form.
pub fn schema(input: &[u8]) {
    let Ok(schema) = Schema::deserialize(input) else { return };
    let json = schema.to_json();
    assert_eq!(Schema::from_json(&json).ok().as_ref(), Some(&schema));
    // Packed names can be empty, and no empty name can be written.
    if let Ok(bytes) = schema.serialize() {
        assert_eq!(Schema::deserialize(&bytes).ok().as_ref(), Some(&schema));
    }
    for format in [Format::Standard, Format::Compact] {
        let _ = Layout::new(schema.clone(), format).map(|layout| layout.hash());
    }
}
