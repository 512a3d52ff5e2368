//! The golden rows in `data/row`: images written by the implementations in Java, Python and Rust.

use fory_row::{
    ArrayRef, DataType, Date, Decimal, Duration, Field, Float16, Frame, Image, Layout, MapRef, Result, Row,
    Schema, Timestamp, Value,
};
use serde_json::Value as Json;

/// One image, with what it holds.
#[derive(Debug, Clone)]
pub struct Golden {
    /// What it is for.
    pub id: String,
    /// What stands in front of it.
    pub frame: Frame,
    /// Its schema in its format.
    pub layout: Layout,
    /// The whole file.
    pub bytes: Vec<u8>,
    /// Its entry in the manifest.
    pub json: Json,
}

/// All images of `manifest.json`.
pub fn all() -> Vec<Golden> {
    cases("manifest.json")
}

/// The images that have to be refused.
pub fn malformed() -> Vec<Golden> {
    cases("malformed.json")
}

/// The bytes of one of the files.
pub fn read(file: &str) -> Vec<u8> {
    std::fs::read(crate::package().join("data/row").join(file)).unwrap()
}

/// One of the lists.
pub fn listing(name: &str) -> Json {
    serde_json::from_slice(&read(name)).unwrap()
}

fn cases(name: &str) -> Vec<Golden> {
    let listing = listing(name);
    let cases = listing["cases"].as_array().unwrap().iter();
    cases
        .map(|json| {
            let text = |key: &str| json[key].as_str().unwrap().to_string();
            let schema = Schema::from_json(&json["schema"]).unwrap();
            Golden {
                id: text("id"),
                frame: text("kind").parse().unwrap(),
                layout: Layout::new(schema, text("format").parse().unwrap()).unwrap(),
                bytes: read(&text("file")),
                json: json.clone(),
            }
        })
        .collect()
}

impl Golden {
    /// What it is an image of, and the bytes in front of the image.
    pub fn image(&self) -> (Image, usize) {
        (self.frame.image(), self.frame.prefix_len())
    }

    /// The image without its frame.
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.frame.prefix_len()..]
    }

    /// What was written.
    pub fn value(&self) -> Value {
        self.layout.value_from_json(self.image().0, &self.json["value"]).unwrap()
    }

    /// What is read: where the producer stored another value than it was given, that one.
    pub fn read_value(&self) -> Value {
        match self.json.get("reader_value") {
            Some(json) => self.layout.value_from_json(self.image().0, json).unwrap(),
            None => self.value(),
        }
    }

    /// The whole file as the rules of the format have it; `None` where the producer did something else that is not
    /// known as bytes.
    pub fn canonical(&self) -> Option<Vec<u8>> {
        match (&self.json["canonical_file"], &self.json["writer_exact"]) {
            (Json::String(file), _) => Some(read(file)),
            (_, Json::Bool(false)) => None,
            _ => Some(self.bytes.clone()),
        }
    }

    /// Overwrites the bytes without meaning by zeros.
    pub fn mask(&self, bytes: &mut [u8]) {
        for range in self.json["undefined"].as_array().into_iter().flatten() {
            let number = |index: usize| usize::try_from(range[index].as_u64().unwrap()).unwrap();
            bytes[number(0)..number(0) + number(1)].fill(0);
        }
    }

    /// Whether only the expansion budget refuses it.
    pub fn is_expansion(&self) -> bool {
        self.json["expect"] == "budget"
    }
}

/// Reads every value of an image with the getter of its type.
pub fn read_by_getters(layout: &Layout, image: Image, bytes: &[u8]) -> Result<Value> {
    let first = &layout.schema().fields()[0].data_type;
    match (image, first) {
        (Image::Row, _) => from_row(layout.row(bytes)?, layout.schema().fields()),
        (Image::Array, DataType::List(element)) => from_list(layout.array(bytes)?, element).map(Value::List),
        (Image::Map, DataType::Map(key, value)) => from_map(layout.map(bytes)?, key, value),
        _ => panic!("no {image:?} in {first:?}"),
    }
}

/// Reads the value at `$at` of a row or list as the type that `$field` has.
macro_rules! typed {
    ($from:expr, $at:expr, $field:expr) => {
        match &$field.data_type {
            DataType::Bool => $from.get::<bool>($at)?.map(Value::Bool),
            DataType::Int8 => $from.get::<i8>($at)?.map(Value::Int8),
            DataType::Int16 => $from.get::<i16>($at)?.map(Value::Int16),
            DataType::Int32 => $from.get::<i32>($at)?.map(Value::Int32),
            DataType::Int64 => $from.get::<i64>($at)?.map(Value::Int64),
            DataType::Float16 => $from.get::<Float16>($at)?.map(Value::Float16),
            DataType::Float32 => $from.get::<f32>($at)?.map(Value::Float32),
            DataType::Float64 => $from.get::<f64>($at)?.map(Value::Float64),
            DataType::Date32 => $from.get::<Date>($at)?.map(Value::Date),
            DataType::Timestamp => $from.get::<Timestamp>($at)?.map(Value::Timestamp),
            DataType::Duration => $from.get::<Duration>($at)?.map(Value::Duration),
            DataType::Decimal { .. } => $from.get::<Decimal>($at)?.map(Value::Decimal),
            DataType::Utf8 => $from.get::<&str>($at)?.map(|text| Value::Utf8(text.into())),
            DataType::Binary | DataType::FixedBinary(_) => {
                $from.get::<&[u8]>($at)?.map(|bytes| Value::Binary(bytes.into()))
            }
            DataType::List(element) => match $from.get::<ArrayRef<'_>>($at)? {
                Some(list) => Some(Value::List(from_list(list, element)?)),
                None => None,
            },
            DataType::Map(key, value) => match $from.get::<MapRef<'_>>($at)? {
                Some(map) => Some(from_map(map, key, value)?),
                None => None,
            },
            DataType::Struct(fields) => match $from.get::<Row<'_>>($at)? {
                Some(row) => Some(from_row(row, fields)?),
                None => None,
            },
        }
    };
}

fn from_row(row: Row<'_>, fields: &[Field]) -> Result<Value> {
    assert_eq!(row.names().collect::<Vec<_>>(), fields.iter().map(|field| &field.name).collect::<Vec<_>>());
    let values = fields.iter().enumerate().map(|(index, field)| {
        let value = typed!(row, field.name.as_str(), field);
        assert_eq!(row.is_null(index)?, value.is_none());
        Ok(value.unwrap_or(Value::Null))
    });
    values.collect::<Result<_>>().map(Value::Struct)
}

fn from_list(list: ArrayRef<'_>, element: &Field) -> Result<Vec<Value>> {
    let mut nulls = false;
    let values = (0..list.len()).map(|index| {
        let value = typed!(list, index, element);
        assert_eq!(list.is_null(index)?, value.is_none());
        nulls |= value.is_none();
        Ok(value.unwrap_or(Value::Null))
    });
    let values = values.collect::<Result<_>>()?;
    assert_eq!(list.has_nulls(), nulls);
    Ok(values)
}

fn from_map(map: MapRef<'_>, key: &Field, value: &Field) -> Result<Value> {
    let keys = from_list(map.keys(), key)?;
    let values = from_list(map.values(), value)?;
    assert_eq!((keys.len(), values.len()), (map.len(), map.len()));
    Ok(Value::Map(keys.into_iter().zip(values).collect()))
}
