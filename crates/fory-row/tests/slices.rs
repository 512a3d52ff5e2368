//! Lists as slices of numbers, read and written.

use std::fmt::Debug;

use fory_row::{
    ArrayRef, DataType, ErrorKind, Field, Format, FromCell, Layout, Primitive, Result, Schema, Timestamp,
};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn layout(element: DataType, format: Format) -> Result<Layout> {
    Layout::new(Schema::new(vec![Field::new("v", DataType::list(element, true), false)])?, format)
}

fn check<T: Primitive + PartialEq + Debug>(element: DataType, values: &[T]) -> Outcome {
    for format in Format::ALL {
        let layout = layout(element.clone(), format)?;
        let mut row = vec![];
        layout.write_row(&mut row, |row| row.list_of("v", values))?;
        let mut bytes = vec![0; row.len() + 16];
        let mut seen = 0;
        for shift in 0..8 {
            let to = bytes.get_mut(shift..shift + row.len()).ok_or("short")?;
            to.copy_from_slice(&row);
            let view = layout.row(bytes.get(shift..shift + row.len()).ok_or("short")?)?;
            let list = view.get::<ArrayRef<'_>>(0)?.ok_or("null")?;
            if let Some(slice) = list.as_slice::<T>() {
                assert_eq!(slice, values);
                seen += 1;
            }
        }
        // At one of as many addresses as the numbers have bytes.
        assert_eq!(
            seen,
            if cfg!(target_endian = "big") { 0 } else { 8 / size_of::<T>() },
            "{element:?} {format}"
        );
    }
    Ok(())
}

#[test]
fn lists_are_slices_where_they_are_aligned() -> Outcome {
    check(DataType::Int8, &[1_i8, -1])?;
    check(DataType::Int8, &[1_u8, 255])?;
    check(DataType::Int16, &[1_i16, -2, 3])?;
    check(DataType::Int32, &[1_i32, i32::MIN])?;
    check(DataType::Date32, &[-719_162_i32])?;
    check(DataType::Int64, &[i64::MAX])?;
    check(DataType::Timestamp, &[1_700_000_000_000_000_i64, -1])?;
    check(DataType::Duration, &[-1_i64])?;
    check(DataType::Float16, &[0x3c00_u16])?;
    check(DataType::Float32, &[1.5_f32])?;
    check(DataType::Float64, &[-0.5_f64, 0.0])
}

#[test]
fn what_is_no_such_number_is_no_slice() -> Outcome {
    fn refused<T: Primitive + for<'a> FromCell<'a>>(element: DataType, zero: T) -> Outcome {
        let layout = layout(element, Format::Standard)?;
        let mut bytes = vec![];
        let written = layout.write_row(&mut bytes, |row| row.list_of("v", &[zero]));
        let error = written.err().ok_or("it was written")?;
        assert_eq!((error.kind(), error.path().as_str()), (ErrorKind::Type, "v"));
        layout.write_row(&mut bytes, |row| row.list("v", 0, |_| Ok(())))?;
        let list = layout.row(&bytes)?.get::<ArrayRef<'_>>(0)?.ok_or("null")?;
        assert!(list.as_slice::<T>().is_none());
        Ok(())
    }
    refused(DataType::Bool, 0_i8)?;
    refused(DataType::Int32, 0_i64)?;
    refused(DataType::Float32, 0_i32)?;
    refused(DataType::Timestamp, 0_f64)?;
    refused(DataType::Int16, 0_i8)
}

#[test]
fn nulls_keep_a_list_from_being_a_slice() -> Outcome {
    let layout = layout(DataType::Timestamp, Format::Standard)?;
    let mut bytes = vec![];
    layout.write_row(&mut bytes, |row| {
        row.list("v", 2, |list| {
            list.extend_from_slice(&[7_i64])?;
            list.push(None::<Timestamp>)
        })
    })?;
    let list = layout.row(&bytes)?.get::<ArrayRef<'_>>(0)?.ok_or("null")?;
    assert!(list.as_slice::<i64>().is_none());
    assert_eq!(list.get::<Timestamp>(0)?, Some(Timestamp(7)));
    Ok(())
}
