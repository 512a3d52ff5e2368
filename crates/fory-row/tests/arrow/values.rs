//! Single values out of arrays, read slowly and plainly.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use fory_row::{Date, Decimal, Duration, Float16, Timestamp, Value};

pub(crate) fn row(batch: &RecordBatch, index: usize) -> Value {
    Value::Struct(batch.columns().iter().map(|column| value(column, index)).collect())
}

fn micros(value: i64, unit: TimeUnit) -> i64 {
    let micros = match unit {
        TimeUnit::Second => i128::from(value) * 1_000_000,
        TimeUnit::Millisecond => i128::from(value) * 1_000,
        TimeUnit::Microsecond => value.into(),
        TimeUnit::Nanosecond => i128::from(value).div_euclid(1_000),
    };
    i64::try_from(micros).unwrap()
}

fn time(array: &dyn Array, index: usize) -> i64 {
    let data = array.to_data();
    data.buffer::<i64>(0)[index]
}

pub(crate) fn value(array: &dyn Array, index: usize) -> Value {
    use DataType as D;
    if array.is_null(index) {
        return Value::Null;
    }
    let list = |items: &dyn Array| Value::List((0..items.len()).map(|index| value(items, index)).collect());
    let decimal = |unscaled: i128, scale: i8| {
        Value::Decimal(Decimal::new(unscaled, u8::try_from(scale).unwrap()).unwrap())
    };
    match array.data_type() {
        D::Boolean => Value::Bool(array.as_boolean().value(index)),
        D::Int8 => Value::Int8(array.as_primitive::<Int8Type>().value(index)),
        D::Int16 => Value::Int16(array.as_primitive::<Int16Type>().value(index)),
        D::Int32 => Value::Int32(array.as_primitive::<Int32Type>().value(index)),
        D::Int64 => Value::Int64(array.as_primitive::<Int64Type>().value(index)),
        D::UInt8 => Value::Int16(array.as_primitive::<UInt8Type>().value(index).into()),
        D::UInt16 => Value::Int32(array.as_primitive::<UInt16Type>().value(index).into()),
        D::UInt32 => Value::Int64(array.as_primitive::<UInt32Type>().value(index).into()),
        D::Float16 => Value::Float16(Float16(array.as_primitive::<Float16Type>().value(index).to_bits())),
        D::Float32 => Value::Float32(array.as_primitive::<Float32Type>().value(index)),
        D::Float64 => Value::Float64(array.as_primitive::<Float64Type>().value(index)),
        D::Date32 => Value::Date(Date(array.as_primitive::<Date32Type>().value(index))),
        D::Date64 => {
            let millis = array.as_primitive::<Date64Type>().value(index);
            Value::Date(Date(i32::try_from(millis.div_euclid(86_400_000)).unwrap()))
        }
        D::Timestamp(unit, _) => Value::Timestamp(Timestamp(micros(time(array, index), *unit))),
        D::Duration(unit) => Value::Duration(Duration(micros(time(array, index), *unit))),
        D::Decimal32(_, scale) => decimal(array.as_primitive::<Decimal32Type>().value(index).into(), *scale),
        D::Decimal64(_, scale) => decimal(array.as_primitive::<Decimal64Type>().value(index).into(), *scale),
        D::Decimal128(_, scale) => decimal(array.as_primitive::<Decimal128Type>().value(index), *scale),
        D::Decimal256(_, scale) => {
            decimal(array.as_primitive::<Decimal256Type>().value(index).to_i128().unwrap(), *scale)
        }
        D::Utf8 => Value::Utf8(array.as_string::<i32>().value(index).into()),
        D::LargeUtf8 => Value::Utf8(array.as_string::<i64>().value(index).into()),
        D::Utf8View => Value::Utf8(array.as_string_view().value(index).into()),
        D::Binary => Value::Binary(array.as_binary::<i32>().value(index).into()),
        D::LargeBinary => Value::Binary(array.as_binary::<i64>().value(index).into()),
        D::BinaryView => Value::Binary(array.as_binary_view().value(index).into()),
        D::FixedSizeBinary(_) => Value::Binary(array.as_fixed_size_binary().value(index).into()),
        D::List(_) => list(&array.as_list::<i32>().value(index)),
        D::LargeList(_) => list(&array.as_list::<i64>().value(index)),
        D::FixedSizeList(..) => list(&array.as_fixed_size_list().value(index)),
        D::Map(..) => {
            let entries = array.as_map().value(index);
            let entry = |index| (value(entries.column(0), index), value(entries.column(1), index));
            Value::Map((0..entries.len()).map(entry).collect())
        }
        D::Struct(_) => {
            Value::Struct(array.as_struct().columns().iter().map(|column| value(column, index)).collect())
        }
        D::Dictionary(..) => {
            let array = array.as_any_dictionary();
            value(array.values(), array.normalized_keys()[index])
        }
        other => panic!("{other}"),
    }
}
