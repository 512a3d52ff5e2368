//! Properties of rows of any schema.

use demilance_tests::any_row::{self, same};
use demilance_tests::row_bytes;
use fory_row::{
    ArrayWriter, DataType, DecodeOptions, Field, Format, Layout, MapRef, Result, Row, RowWriter, Value,
    ValueRef,
};
use proptest::prelude::*;

/// Nesting of the schemas: a field of a struct of a list of a list, or the like.
const DEPTH: u32 = 4;

fn encoded(layout: &Layout, row: &Value) -> Vec<u8> {
    let mut bytes = vec![];
    layout.encode(row, &mut bytes).unwrap();
    bytes
}

proptest! {
    #![proptest_config(any_row::config(300))]

    /// Into a buffer that has held other rows, behind others: the bytes are the same, and as many as computed before.
    #[test]
    fn what_is_encoded_is_decoded(
        (layout, rows) in any_row::format().prop_flat_map(|format| any_row::rows(format, DEPTH, 4)),
        dirt: u8,
    ) {
        let mut reused = vec![dirt; 1000];
        reused.clear();
        for row in &rows {
            let bytes = encoded(&layout, row);
            prop_assert_eq!(bytes.len(), layout.encoded_len(row)?);
            let start = reused.len();
            layout.encode(row, &mut reused)?;
            prop_assert_eq!(&reused[start..], &bytes);
            // No byte more than once.
            let options = DecodeOptions { expansion: 2, slack: 0 };
            let decoded = layout.decode_with(&bytes, options)?;
            prop_assert!(same(&decoded, row), "{:?}", decoded);
        }
    }

    #[test]
    fn the_order_of_the_calls_does_not_show(
        (layout, rows) in any_row::format().prop_flat_map(|format| any_row::rows(format, DEPTH, 1)),
        seed: u64,
    ) {
        let mut order = Order(seed);
        for row in &rows {
            let mut bytes = b"before".to_vec();
            layout.write_row(&mut bytes, |writer| write(writer, layout.schema().fields(), row, &mut order))?;
            prop_assert_eq!(&bytes[6..], encoded(&layout, row));
        }
    }

    #[test]
    fn what_is_read_lazily_is_what_is_decoded(
        (layout, rows) in any_row::format().prop_flat_map(|format| any_row::rows(format, DEPTH, 2)),
        shift in 0_usize..9,
    ) {
        for row in &rows {
            let mut buffer = vec![0xa5; shift];
            buffer.extend(encoded(&layout, row));
            // Nothing behind the row is read, and nothing depends on where it stands.
            let end = buffer.len();
            buffer.extend([0xff; 32]);
            let view = layout.row(&buffer[shift..end])?;
            let read = lazily(ValueRef::Struct(view))?;
            prop_assert!(same(&read, row), "{:?}", read);
        }
    }

    /// A value that does not fit, somewhere inside, leaves no trace.
    #[test]
    fn a_failure_leaves_the_buffer_as_it_was(
        (layout, rows) in any_row::format().prop_flat_map(|format| any_row::rows(format, DEPTH, 1)),
        seed: u64,
    ) {
        let mut spoilt = rows[0].clone();
        spoil(&mut spoilt, &mut Order(seed));
        let mut bytes = b"before".to_vec();
        prop_assert!(layout.encode(&spoilt, &mut bytes).is_err(), "{:?}", spoilt);
        prop_assert_eq!(&bytes, b"before");
        layout.encode(&rows[0], &mut bytes)?;
        prop_assert_eq!(&bytes[6..], encoded(&layout, &rows[0]));
    }

    /// Tolerated surplus: memory of its own in the slots of nulls, and behind values.
    #[test]
    fn bytes_without_meaning_are_not_read(
        (layout, rows) in any_row::rows(Format::Standard, DEPTH, 2),
        dirt: u8,
    ) {
        for row in &rows {
            let mut bytes = encoded(&layout, row);
            for (_, range) in row_bytes::unread(layout.schema(), &bytes) {
                // As they are written: zero.
                prop_assert!(bytes[range.clone()].iter().all(|byte| *byte == 0));
                bytes[range].fill(dirt);
            }
            let decoded = layout.decode(&bytes)?;
            prop_assert!(same(&decoded, row), "{:?}", decoded);
            let read = lazily(ValueRef::Struct(layout.row(&bytes)?))?;
            prop_assert!(same(&read, row), "{:?}", read);
        }
    }

    /// What is cut off is missed, unless nobody reads it.
    #[test]
    fn rows_that_are_cut_off_are_errors(
        (layout, rows) in any_row::format().prop_flat_map(|format| any_row::rows(format, DEPTH, 1)),
        cut: prop::sample::Index,
    ) {
        let bytes = encoded(&layout, &rows[0]);
        let bytes = &bytes[..cut.index(bytes.len())];
        let eager = layout.decode(bytes);
        let lazy = layout.row(bytes).and_then(|row| lazily(ValueRef::Struct(row)));
        prop_assert_eq!(eager.is_ok(), lazy.is_ok(), "{:?} {:?}", eager, lazy);
        if let Ok(decoded) = eager {
            // Padding at the end, or none of a variable length: nothing else may be missing.
            prop_assert!(same(&decoded, &rows[0]), "{:?}", decoded);
        }
    }
}

/// An order of calls, drawn from a seed.
struct Order(u64);

impl Order {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn of(&mut self, len: usize) -> Vec<usize> {
        let mut order = (0..len).collect::<Vec<_>>();
        for last in (1..len).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

/// Puts what no field takes somewhere into a value.
fn spoil(value: &mut Value, order: &mut Order) {
    match value {
        Value::Struct(values) | Value::List(values) if !values.is_empty() => {
            let index = order.below(values.len());
            spoil(&mut values[index], order);
        }
        Value::Map(entries) if !entries.is_empty() => {
            let index = order.below(entries.len());
            let (key, value) = &mut entries[index];
            spoil(if order.below(2) == 0 { key } else { value }, order);
        }
        other => *other = Value::Struct(vec![]),
    }
}

/// Writes the members of `row` in any order, by position or by name; nulls at times by leaving them out.
fn write(writer: &mut RowWriter<'_>, fields: &[Field], row: &Value, order: &mut Order) -> Result<()> {
    let Value::Struct(values) = row else { panic!("{row:?}") };
    for index in order.of(fields.len()) {
        let (field, value) = (&fields[index], &values[index]);
        match (&field.data_type, value) {
            (_, Value::Null) if order.below(2) == 0 => {}
            (DataType::List(element), Value::List(values)) => match numbers(values) {
                Some(numbers) if element.data_type == DataType::Int32 => writer.list_of(index, &numbers)?,
                _ => writer.list(index, values.len(), |list| push_all(list, element, values, order))?,
            },
            (DataType::Map(key, value), Value::Map(entries)) => {
                let (keys, values): (Vec<_>, Vec<_>) = entries.iter().cloned().unzip();
                let mut other = Order(order.0);
                writer.map(
                    field.name.as_str(),
                    entries.len(),
                    |list| push_all(list, key, &keys, order),
                    |list| push_all(list, value, &values, &mut other),
                )?;
            }
            (DataType::Struct(fields), row @ Value::Struct(_)) => {
                writer.row(&field.name, |writer| write(writer, fields, row, order))?;
            }
            (_, value) => set(value, |scalar| writer.set(index, scalar))?,
        }
    }
    Ok(())
}

fn push_all(list: &mut ArrayWriter<'_>, element: &Field, values: &[Value], order: &mut Order) -> Result<()> {
    values.iter().try_for_each(|value| match (&element.data_type, value) {
        (DataType::List(element), Value::List(values)) => {
            list.push_list(values.len(), |list| push_all(list, element, values, order))
        }
        (DataType::Map(key, value), Value::Map(entries)) => {
            let (keys, values): (Vec<_>, Vec<_>) = entries.iter().cloned().unzip();
            let mut other = Order(order.0);
            list.push_map(
                entries.len(),
                |list| push_all(list, key, &keys, order),
                |list| push_all(list, value, &values, &mut other),
            )
        }
        (DataType::Struct(fields), row @ Value::Struct(_)) => {
            list.push_row(|writer| write(writer, fields, row, order))
        }
        (_, value) => set(value, |scalar| list.push(scalar)),
    })
}

/// Gives a value without parts to a writer, as the type that it has in Rust.
fn set(value: &Value, write: impl FnOnce(fory_row::Scalar<'_>) -> Result<()>) -> Result<()> {
    match value {
        Value::Null => write(None::<i32>.into()),
        Value::Bool(value) => write((*value).into()),
        Value::Int8(value) => write((*value).into()),
        Value::Int16(value) => write((*value).into()),
        Value::Int32(value) => write((*value).into()),
        Value::Int64(value) => write((*value).into()),
        Value::Float16(value) => write((*value).into()),
        Value::Float32(value) => write((*value).into()),
        Value::Float64(value) => write((*value).into()),
        Value::Date(value) => write((*value).into()),
        Value::Timestamp(value) => write((*value).into()),
        Value::Duration(value) => write((*value).into()),
        Value::Decimal(value) => write((*value).into()),
        Value::Utf8(value) => write(value.into()),
        Value::Binary(value) => write(value.into()),
        other => panic!("{other:?} has parts"),
    }
}

fn numbers(values: &[Value]) -> Option<Vec<i32>> {
    values.iter().map(|value| if let Value::Int32(number) = value { Some(*number) } else { None }).collect()
}

/// Reads all of a value through the views.
fn lazily(value: ValueRef<'_>) -> Result<Value> {
    match value {
        ValueRef::List(list) => {
            let values = list.iter::<ValueRef<'_>>().map(|value| lazily(value?.unwrap_or(ValueRef::Null)));
            values.collect::<Result<_>>().map(Value::List)
        }
        ValueRef::Map(map) => entries(map).map(Value::Map),
        ValueRef::Struct(row) => members(row).map(Value::Struct),
        other => Value::from_ref(other, DecodeOptions { expansion: 1, slack: 0 }),
    }
}

fn members(row: Row<'_>) -> Result<Vec<Value>> {
    let nulls = (0..row.len()).map(|index| row.is_null(index)).collect::<Result<Vec<_>>>()?;
    let values = row.values().map(|value| lazily(value?)).collect::<Result<Vec<_>>>()?;
    let names = row.names().map(|name| lazily(row.value(name)?)).collect::<Result<Vec<_>>>()?;
    assert!(values.iter().zip(&names).all(|(a, b)| same(a, b)), "{values:?} {names:?}");
    assert!(values.iter().zip(nulls).all(|(value, null)| null == (*value == Value::Null)));
    Ok(values)
}

fn entries(map: MapRef<'_>) -> Result<Vec<(Value, Value)>> {
    let entries = map.iter::<ValueRef<'_>, ValueRef<'_>>().map(|entry| {
        let (key, value) = entry?;
        Ok((lazily(key)?, lazily(value.unwrap_or(ValueRef::Null))?))
    });
    entries.collect()
}
