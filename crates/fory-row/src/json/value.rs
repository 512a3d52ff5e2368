use serde_json::{Map, Number, Value as Json};

use super::shown;
use crate::layout::{ElementLayout, MapLayout, RowLayout, ValueLayout};
use crate::{Date, Duration, Error, ErrorKind, Float16, Image, Layout, Result, Timestamp, Value};

impl Layout {
    /// The value that `json` stands for: that of a row, or of the list or map which is the first field. Numbers are
    /// taken as the types that the schema has; a float32 is the nearest one.
    ///
    /// Members that an object does not have are null. Members that the schema does not have are an error, and so is
    /// what does not fit its type. Nulls where none can be are found when the value is encoded.
    ///
    /// ```
    /// use fory_row::{DataType, Field, Format, Image, Layout, Schema};
    /// let schema = Schema::new(vec![
    ///     Field::new("id", DataType::Int8, false),
    ///     Field::new("at", DataType::Timestamp, true),
    ///     Field::new("tags", DataType::map(DataType::Utf8, DataType::Binary), true),
    /// ])?;
    /// let layout = Layout::new(schema, Format::Standard)?;
    /// let json = serde_json::json!({"id": -7, "at": null, "tags": [["a", "00ff"], ["b", null]]});
    /// let row = layout.value_from_json(Image::Row, &json)?;
    /// let mut bytes = vec![];
    /// layout.encode(&row, &mut bytes)?;
    /// assert_eq!(layout.value_to_json(Image::Row, &layout.decode(&bytes)?)?, json);
    ///
    /// let wrong = layout.value_from_json(Image::Row, &serde_json::json!({"id": 128}));
    /// assert_eq!(wrong.unwrap_err().to_string(), "wrong value: field id: 128 is no int8");
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn value_from_json(&self, image: Image, json: &Json) -> Result<Value> {
        match image {
            Image::Row => read_struct(self.root(), json),
            Image::Array => read_list(self.first_list()?, json),
            Image::Map => read_map(self.first_map()?, json),
        }
    }

    /// The JSON that stands for `value`, as [`Layout::value_from_json`] reads it. Members are in the order of the schema
    /// where objects keep one, which is a feature of `serde_json`, `preserve_order`.
    pub fn value_to_json(&self, image: Image, value: &Value) -> Result<Json> {
        match (image, value) {
            (Image::Row, Value::Struct(values)) => write_struct(self.root(), values),
            (Image::Array, Value::List(values)) => write_list(self.first_list()?, values),
            (Image::Map, Value::Map(entries)) => write_map(self.first_map()?, entries),
            (image, _) => Err(Error::new(ErrorKind::Type, format!("the value is no {image:?}"))),
        }
    }
}

/// The least number above all float32 that are shown as whole ones.
const MAX_WHOLE: f32 = 9.0e15;

fn read(layout: &ValueLayout, json: &Json) -> Result<Value> {
    if json.is_null() {
        return Ok(Value::Null);
    }
    Ok(match layout {
        ValueLayout::Bool => Value::Bool(json.as_bool().ok_or_else(|| wrong(layout, json))?),
        ValueLayout::Int8 => Value::Int8(integer(layout, json)?),
        ValueLayout::Int16 => Value::Int16(integer(layout, json)?),
        ValueLayout::Int32 => Value::Int32(integer(layout, json)?),
        ValueLayout::Int64 => Value::Int64(integer(layout, json)?),
        ValueLayout::Date32 => Value::Date(Date(integer(layout, json)?)),
        ValueLayout::Timestamp => Value::Timestamp(Timestamp(integer(layout, json)?)),
        ValueLayout::Duration => Value::Duration(Duration(integer(layout, json)?)),
        ValueLayout::Float16 => {
            let bits = json.as_str().and_then(|text| bits(text, "f16:", 4));
            let bits = bits.and_then(|bits| u16::try_from(bits).ok());
            Value::Float16(Float16(bits.ok_or_else(|| wrong(layout, json))?))
        }
        ValueLayout::Float32 => Value::Float32(float32(json).ok_or_else(|| wrong(layout, json))?),
        ValueLayout::Float64 => Value::Float64(float64(json).ok_or_else(|| wrong(layout, json))?),
        ValueLayout::Decimal { scale, .. } => {
            let text = json.as_str().ok_or_else(|| wrong(layout, json))?;
            Value::Decimal(text.parse::<crate::Decimal>()?.rescale(*scale)?)
        }
        ValueLayout::Utf8 => Value::Utf8(json.as_str().ok_or_else(|| wrong(layout, json))?.into()),
        ValueLayout::Binary => Value::Binary(read_hex(layout, json)?),
        ValueLayout::FixedBinary(width) => {
            let bytes = read_hex(layout, json)?;
            if bytes.len() != *width {
                return Err(Error::value(format!("{} bytes for fixed_binary({width})", bytes.len())));
            }
            Value::Binary(bytes)
        }
        ValueLayout::List(element) => read_list(element, json)?,
        ValueLayout::Map(map) => read_map(map, json)?,
        ValueLayout::Struct(row) => read_struct(row, json)?,
    })
}

fn read_struct(layout: &RowLayout, json: &Json) -> Result<Value> {
    let Json::Object(members) = json else {
        return Err(Error::value(format!("{} instead of an object", shown(json))));
    };
    members.keys().try_for_each(|name| layout.index(name).map(drop))?;
    let fields = layout.fields.iter().map(|field| match members.get(&field.name) {
        Some(json) => read(&field.value, json).map_err(|error| error.in_field(&field.name)),
        None => Ok(Value::Null),
    });
    fields.collect::<Result<_>>().map(Value::Struct)
}

fn read_list(element: &ElementLayout, json: &Json) -> Result<Value> {
    let Json::Array(elements) = json else {
        return Err(Error::value(format!("{} instead of an array", shown(json))));
    };
    let elements = elements.iter().enumerate().map(|(index, json)| read_element(element, index, json));
    elements.collect::<Result<_>>().map(Value::List)
}

fn read_map(map: &MapLayout, json: &Json) -> Result<Value> {
    let Json::Array(entries) = json else {
        return Err(Error::value(format!("{} instead of an array of [key, value]", shown(json))));
    };
    let entries = entries.iter().enumerate().map(|(index, json)| {
        let Some([key, value]) = json.as_array().map(Vec::as_slice) else {
            let reason = format!("{} instead of [key, value]", shown(json));
            return Err(Error::value(reason).in_element(index));
        };
        Ok((read_element(&map.keys, index, key)?, read_element(&map.values, index, value)?))
    });
    entries.collect::<Result<_>>().map(Value::Map)
}

fn read_element(element: &ElementLayout, index: usize, json: &Json) -> Result<Value> {
    read(&element.value, json).map_err(|error| element.within(index, error))
}

fn integer<T: TryFrom<i64>>(layout: &ValueLayout, json: &Json) -> Result<T> {
    let number = json.as_i64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| wrong(layout, json))
}

fn float64(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64().filter(|number| number.is_finite()),
        Json::String(text) => special(text).or_else(|| bits(text, "f64:", 16).map(f64::from_bits)),
        _ => None,
    }
}

fn float32(json: &Json) -> Option<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "the nearest float32 is meant")]
    let nearest = |number: f64| number as f32;
    match json {
        Json::Number(number) => number.as_f64().map(nearest).filter(|number| number.is_finite()),
        Json::String(text) => match special(text) {
            // Its bits after a conversion are anyone's guess.
            Some(number) if number.is_nan() => Some(f32::NAN),
            Some(number) => Some(nearest(number)),
            None => bits(text, "f32:", 8).and_then(|bits| u32::try_from(bits).ok()).map(f32::from_bits),
        },
        _ => None,
    }
}

fn special(text: &str) -> Option<f64> {
    Some(match text {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        "-0.0" => -0.0,
        _ => return None,
    })
}

/// The number behind `prefix`, of so many hex digits.
fn bits(text: &str, prefix: &str, digits: usize) -> Option<u64> {
    let text = text.strip_prefix(prefix)?;
    let hex = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

fn read_hex(layout: &ValueLayout, json: &Json) -> Result<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = json.as_str().filter(|text| text.len() % 2 == 0).and_then(|text| {
        let pairs = text.as_bytes().chunks_exact(2);
        pairs.map(|pair| pair.iter().try_fold(0, |byte, hex| Some(byte << 4 | digit(*hex)?))).collect()
    });
    bytes.ok_or_else(|| wrong(layout, json))
}

#[cold]
fn wrong(layout: &ValueLayout, json: &Json) -> Error {
    let form = match layout {
        ValueLayout::Float16 => ", such as \"f16:3c00\"",
        ValueLayout::Decimal { .. } => ", such as \"12.50\"",
        ValueLayout::Binary | ValueLayout::FixedBinary(_) => ", which is text of hex digits",
        _ => "",
    };
    Error::value(format!("{} is no {}{form}", shown(json), layout.name()))
}

fn write(layout: &ValueLayout, value: &Value) -> Result<Json> {
    Ok(match (layout, value) {
        (_, Value::Null) => Json::Null,
        (ValueLayout::Bool, Value::Bool(value)) => (*value).into(),
        (ValueLayout::Int8, Value::Int8(value)) => (*value).into(),
        (ValueLayout::Int16, Value::Int16(value)) => (*value).into(),
        (ValueLayout::Int32, Value::Int32(value)) => (*value).into(),
        (ValueLayout::Int64, Value::Int64(value)) => (*value).into(),
        (ValueLayout::Date32, Value::Date(value)) => value.0.into(),
        (ValueLayout::Timestamp, Value::Timestamp(value)) => value.0.into(),
        (ValueLayout::Duration, Value::Duration(value)) => value.0.into(),
        (ValueLayout::Float16, Value::Float16(value)) => format!("f16:{:04x}", value.0).into(),
        (ValueLayout::Float32, Value::Float32(value)) => {
            let bits = value.to_bits();
            let usual = !value.is_nan() || bits == f32::NAN.to_bits();
            if usual { write_float32(*value) } else { format!("f32:{bits:08x}").into() }
        }
        (ValueLayout::Float64, Value::Float64(value)) => {
            let bits = value.to_bits();
            let usual = !value.is_nan() || bits == f64::NAN.to_bits();
            if usual { write_float(*value) } else { format!("f64:{bits:016x}").into() }
        }
        (ValueLayout::Decimal { .. }, Value::Decimal(value)) => value.to_string().into(),
        (ValueLayout::Utf8, Value::Utf8(text)) => text.as_str().into(),
        (ValueLayout::Binary | ValueLayout::FixedBinary(_), Value::Binary(bytes)) => write_hex(bytes).into(),
        (ValueLayout::List(element), Value::List(values)) => write_list(element, values)?,
        (ValueLayout::Map(map), Value::Map(entries)) => write_map(map, entries)?,
        (ValueLayout::Struct(row), Value::Struct(values)) => write_struct(row, values)?,
        _ => {
            let reason = format!("a value of another type stands for a {}", layout.name());
            return Err(Error::new(ErrorKind::Type, reason));
        }
    })
}

fn write_struct(layout: &RowLayout, values: &[Value]) -> Result<Json> {
    layout.check_members(values)?;
    let members = layout.fields.iter().zip(values).map(|(field, value)| {
        let json = write(&field.value, value).map_err(|error| error.in_field(&field.name))?;
        Ok((field.name.clone(), json))
    });
    members.collect::<Result<Map<_, _>>>().map(Json::Object)
}

fn write_list(element: &ElementLayout, values: &[Value]) -> Result<Json> {
    let elements = values.iter().enumerate().map(|(index, value)| write_element(element, index, value));
    elements.collect::<Result<_>>().map(Json::Array)
}

fn write_map(map: &MapLayout, entries: &[(Value, Value)]) -> Result<Json> {
    let entries = entries.iter().enumerate().map(|(index, (key, value))| {
        let (key, value) = (write_element(&map.keys, index, key)?, write_element(&map.values, index, value)?);
        Ok(Json::Array(vec![key, value]))
    });
    entries.collect::<Result<_>>().map(Json::Array)
}

fn write_element(element: &ElementLayout, index: usize, value: &Value) -> Result<Json> {
    write(&element.value, value).map_err(|error| element.within(index, error))
}

fn write_float(value: f64) -> Json {
    if value == 0.0 && value.is_sign_negative() {
        return "-0.0".into();
    }
    match Number::from_f64(value) {
        Some(number) => Json::Number(number),
        None if value.is_nan() => "NaN".into(),
        None if value > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// The exact number, which of a whole one has no point.
fn write_float32(value: f32) -> Json {
    #[expect(clippy::cast_possible_truncation, reason = "whole, and in the range")]
    let whole = |value: f32| value as i64;
    let negative_zero = value == 0.0 && value.is_sign_negative();
    match value.fract() == 0.0 && value.abs() < MAX_WHOLE && !negative_zero {
        true => whole(value).into(),
        false => write_float(value.into()),
    }
}

fn write_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{DataType, Field, Format, Schema};

    fn of_type(data_type: DataType) -> Result<Layout> {
        Layout::new(Schema::new(vec![Field::new("v", data_type, true)])?, Format::Compact)
    }

    #[test]
    fn values_there_and_back() -> Result<()> {
        let decimal = DataType::Decimal { precision: 5, scale: 2 };
        for (data_type, json) in [
            (DataType::Bool, json!(true)),
            (DataType::Int64, json!(i64::MIN)),
            (DataType::Int64, json!(i64::MAX)),
            (DataType::Float64, json!(5e-324)),
            (DataType::Float64, json!("NaN")),
            (DataType::Float64, json!("-Infinity")),
            (DataType::Float64, json!("f64:7ff8000000000001")),
            (DataType::Float32, json!("-0.0")),
            (DataType::Float32, json!(0.100_000_001_490_116_12)),
            (DataType::Float32, json!("f32:ffc00000")),
            (DataType::Float32, json!(-3)),
            (DataType::Float32, json!(16_777_216)),
            (DataType::Float32, json!(3.402_823_466_385_288_6e38)),
            (DataType::Float16, json!("f16:7e01")),
            (decimal.clone(), json!("-123.40")),
            (DataType::Utf8, json!("\u{0}é")),
            (DataType::Binary, json!("")),
            (DataType::FixedBinary(2), json!("0aff")),
            (DataType::list(DataType::Int8, true), json!([1, null, -1])),
            (DataType::map(DataType::Int8, decimal), json!([[1, null], [1, "0.00"]])),
        ] {
            let layout = of_type(data_type)?;
            let json = json!({ "v": json });
            let value = layout.value_from_json(Image::Row, &json)?;
            assert_eq!(layout.value_to_json(Image::Row, &value)?, json);
        }
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_named() -> Result<()> {
        for (data_type, json, reason) in [
            (DataType::Int8, json!({"v": 1.0}), "wrong value: field v: 1.0 is no int8"),
            (
                DataType::Int64,
                json!({"v": u64::MAX}),
                "wrong value: field v: 18446744073709551615 is no int64",
            ),
            (DataType::Float32, json!({"v": 1e39}), "wrong value: field v: 1e+39 is no float32"),
            (
                DataType::Float16,
                json!({"v": "f16:+c00"}),
                "wrong value: field v: \"f16:+c00\" is no float16, such as \"f16:3c00\"",
            ),
            (DataType::Utf8, json!({"v": 1}), "wrong value: field v: 1 is no utf8"),
            (
                DataType::Binary,
                json!({"v": "0g"}),
                "wrong value: field v: \"0g\" is no binary, which is text of hex digits",
            ),
            (
                DataType::Binary,
                json!({"v": "0é"}),
                "wrong value: field v: \"0é\" is no binary, which is text of hex digits",
            ),
            (
                DataType::FixedBinary(2),
                json!({"v": "00"}),
                "wrong value: field v: 1 bytes for fixed_binary(2)",
            ),
            (
                DataType::Decimal { precision: 5, scale: 1 },
                json!({"v": "1.25"}),
                "wrong value: field v: 1.25 does not fit a scale of 1",
            ),
            (
                DataType::list(DataType::Bool, true),
                json!({"v": [true, 0]}),
                "wrong value: field v[1]: 0 is no bool",
            ),
            (
                DataType::map(DataType::Bool, DataType::Bool),
                json!({"v": [[true, 1]]}),
                "wrong value: field v.value[0]: 1 is no bool",
            ),
            (
                DataType::map(DataType::Bool, DataType::Bool),
                json!({"v": [[true]]}),
                "wrong value: field v[0]: an array of 1 instead of [key, value]",
            ),
            (DataType::Bool, json!({"w": true}), "wrong type: there is no field w; there are v"),
            (DataType::Bool, json!([true]), "wrong value: an array of 1 instead of an object"),
        ] {
            let error = of_type(data_type)?.value_from_json(Image::Row, &json).err();
            assert_eq!(error.map(|error| error.to_string()).as_deref(), Some(reason));
        }
        Ok(())
    }
}
