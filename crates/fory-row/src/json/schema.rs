use serde_json::{Map, Value as Json, json};

use super::shown;
use crate::{DataType, Error, ErrorKind, Field, Result, Schema, SchemaLimits};

impl Schema {
    /// Reads a schema from an array of fields. A field has `name`, `nullable` and `type`; by its type it has
    /// `element` too, or `key` and `value`, or `fields`, or `precision` and `scale`, or `width`. Keys of maps are
    /// taken as not nullable and values of maps as nullable, whatever is said there.
    ///
    /// ```
    /// use fory_row::{DataType, Field, Schema};
    /// let json = serde_json::json!([
    ///     {"name": "id", "nullable": false, "type": "int64"},
    ///     {"name": "xs", "nullable": true, "type": "list",
    ///      "element": {"name": "item", "nullable": false, "type": "float32"}},
    /// ]);
    /// let schema = Schema::from_json(&json)?;
    /// assert_eq!(schema, Schema::new(vec![
    ///     Field::new("id", DataType::Int64, false),
    ///     Field::new("xs", DataType::list(DataType::Float32, false), true),
    /// ])?);
    /// assert_eq!(schema.to_json(), json);
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn from_json(json: &Json) -> Result<Self> {
        Self::new(read_fields(json, SchemaLimits::default().depth)?)
    }

    /// The schema as [`Schema::from_json`] reads it.
    pub fn to_json(&self) -> Json {
        write_fields(self.fields())
    }
}

fn read_fields(json: &Json, depth: usize) -> Result<Vec<Field>> {
    let Json::Array(fields) = json else {
        return Err(wrong(format!("{} instead of an array of fields", shown(json))));
    };
    fields.iter().map(|field| read_field(field, None, depth)).collect()
}

/// Reads a field, which may go without a name where it is `part` of a list or map.
fn read_field(json: &Json, part: Option<&str>, depth: usize) -> Result<Field> {
    let Json::Object(json) = json else {
        return Err(wrong(format!("{} instead of an object with name, nullable and type", shown(json))));
    };
    let name = match (json.get("name"), part) {
        (Some(Json::String(name)), _) => name.as_str(),
        // As everywhere else.
        (None, Some("element")) => "item",
        (None, Some(part)) => part,
        (Some(other), _) => return Err(wrong(format!("the name of a field is {}", shown(other)))),
        (None, None) => return Err(wrong("a field without a name")),
    };
    read_typed(json, name, part, depth).map_err(|error| error.in_field(part.unwrap_or(name)))
}

fn read_typed(json: &Map<String, Json>, name: &str, part: Option<&str>, depth: usize) -> Result<Field> {
    let Some(below) = depth.checked_sub(1) else {
        return Err(Error::new(ErrorKind::Limit, "deeper than the greatest depth of a schema"));
    };
    let nullable = match (part, json.get("nullable")) {
        (_, Some(Json::Bool(nullable))) => *nullable,
        (_, Some(other)) => return Err(wrong(format!("nullable is {}", shown(other)))),
        (Some("key" | "value"), None) => true,
        (_, None) => return Err(wrong("nullable is missing: true or false")),
    };
    let nullable = match part {
        Some("key") => false,
        Some("value") => true,
        _ => nullable,
    };
    let (data_type, members) = read_type(json, below)?;
    let known = |key: &str| ["name", "nullable", "type"].contains(&key) || members.contains(&key);
    if let Some(key) = json.keys().find(|key| !known(key)) {
        let name = data_type.name();
        return Err(wrong(format!("{key:?} is no part of a field of type {name}")));
    }
    Ok(Field::new(name, data_type, nullable))
}

/// The type of a field, and the members besides name, nullable and type that it has.
fn read_type(json: &Map<String, Json>, below: usize) -> Result<(DataType, &'static [&'static str])> {
    let name = match json.get("type") {
        Some(Json::String(name)) => name.as_str(),
        Some(other) => return Err(wrong(format!("type is {}", shown(other)))),
        None => return Err(wrong("type is missing")),
    };
    let part = |key: &str| read_field(member(json, key)?, Some(key), below).map(Box::new);
    Ok(match name {
        "bool" => (DataType::Bool, &[]),
        "int8" => (DataType::Int8, &[]),
        "int16" => (DataType::Int16, &[]),
        "int32" => (DataType::Int32, &[]),
        "int64" => (DataType::Int64, &[]),
        "float16" => (DataType::Float16, &[]),
        "float32" => (DataType::Float32, &[]),
        "float64" => (DataType::Float64, &[]),
        "date32" => (DataType::Date32, &[]),
        "timestamp" => (DataType::Timestamp, &[]),
        "duration" => (DataType::Duration, &[]),
        "utf8" => (DataType::Utf8, &[]),
        "binary" => (DataType::Binary, &[]),
        "fixed_binary" => (DataType::FixedBinary(number(json, "width")?), &["width"]),
        "decimal" => {
            let (precision, scale) = (number(json, "precision")?, number(json, "scale")?);
            (DataType::Decimal { precision, scale }, &["precision", "scale"])
        }
        "list" => (DataType::List(part("element")?), &["element"]),
        "map" => (DataType::Map(part("key")?, part("value")?), &["key", "value"]),
        "struct" => (DataType::Struct(read_fields(member(json, "fields")?, below)?), &["fields"]),
        other => return Err(wrong(format!("there is no type {}", shown(&other.into())))),
    })
}

fn member<'j>(json: &'j Map<String, Json>, key: &str) -> Result<&'j Json> {
    json.get(key).ok_or_else(|| wrong(format!("{key} is missing")))
}

fn number<T: TryFrom<u64>>(json: &Map<String, Json>, key: &str) -> Result<T> {
    let json = member(json, key)?;
    let number = json.as_u64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| wrong(format!("{key} is {}", shown(json))))
}

fn write_fields(fields: &[Field]) -> Json {
    fields.iter().map(write_field).collect()
}

fn write_field(field: &Field) -> Json {
    let mut json = Map::new();
    let mut put = |key: &str, value: Json| json.insert(key.into(), value);
    put("name", field.name.as_str().into());
    put("nullable", field.nullable.into());
    put("type", field.data_type.name().into());
    match &field.data_type {
        DataType::Decimal { precision, scale } => {
            put("precision", json!(precision));
            put("scale", json!(scale));
        }
        DataType::FixedBinary(width) => {
            put("width", json!(width));
        }
        DataType::List(element) => {
            put("element", write_field(element));
        }
        DataType::Map(key, value) => {
            put("key", write_field(key));
            put("value", write_field(value));
        }
        DataType::Struct(fields) => {
            put("fields", write_fields(fields));
        }
        _ => {}
    }
    Json::Object(json)
}

fn wrong(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Schema, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named() {
        let field = |more: &str| format!(r#"[{{"name":"a","nullable":true{more}}}]"#);
        for (text, reason) in [
            ("{}".into(), "schema: an object instead of an array of fields"),
            ("[]".into(), "schema: a row or struct without fields"),
            ("[1]".into(), "schema: 1 instead of an object with name, nullable and type"),
            (r#"[{"nullable":true,"type":"bool"}]"#.into(), "schema: a field without a name"),
            (r#"[{"name":"a","type":"bool"}]"#.into(), "schema: field a: nullable is missing: true or false"),
            (field(""), "schema: field a: type is missing"),
            (field(r#","type":"int"#), ""),
            (field(r#","type":"int""#), r#"schema: field a: there is no type "int""#),
            (
                field(r#","type":"bool","width":1"#),
                r#"schema: field a: "width" is no part of a field of type bool"#,
            ),
            (field(r#","type":"decimal","precision":-1,"scale":0"#), "schema: field a: precision is -1"),
            (
                field(r#","type":"decimal","precision":4,"scale":5"#),
                "schema: field a: decimal(4, 5) needs a precision of 1 to 38 and a scale of at most it",
            ),
            (field(r#","type":"list""#), "schema: field a: element is missing"),
            (
                field(r#","type":"list","element":{"type":"int8"}"#),
                "schema: field a.element: nullable is missing: true or false",
            ),
            (field(r#","type":"struct","fields":[]"#), "schema: field a: a row or struct without fields"),
        ] {
            let Ok(json) = serde_json::from_str(&text) else {
                assert_eq!(reason, "", "{text}");
                continue;
            };
            let error = Schema::from_json(&json).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some(reason), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded_before_it_is_recursed_into() {
        let lists = |depth: usize| {
            let field = |data_type| json!({"name": "a", "nullable": true, "type": data_type});
            let list = |element, _| {
                let mut list = field("list");
                list["element"] = element;
                list
            };
            json!([(1..depth).fold(field("bool"), list)])
        };
        assert!(Schema::from_json(&lists(64)).is_ok());
        let error = Schema::from_json(&lists(65)).err().map(|error| error.kind());
        assert_eq!(error, Some(ErrorKind::Limit));
    }

    #[test]
    fn parts_without_names_have_those_of_all_schemas() -> Result<()> {
        let json = json!([
            {"name": "l", "nullable": true, "type": "list", "element": {"nullable": false, "type": "int8"}},
            {"name": "m", "nullable": true, "type": "map", "key": {"type": "int8"}, "value": {"type": "int8"}},
        ]);
        let fields = vec![
            Field::new("l", DataType::list(DataType::Int8, false), true),
            Field::new("m", DataType::map(DataType::Int8, DataType::Int8), true),
        ];
        assert_eq!(Schema::from_json(&json)?, Schema::new(fields)?);
        Ok(())
    }

    #[test]
    fn what_maps_say_of_nulls_is_put_right() -> Result<()> {
        let json = json!([{"name": "m", "nullable": true, "type": "map",
            "key": {"name": "key", "nullable": true, "type": "int8"},
            "value": {"name": "value", "nullable": false, "type": "int8"}}]);
        let schema = Schema::from_json(&json)?;
        let map = DataType::map(DataType::Int8, DataType::Int8);
        assert_eq!(schema, Schema::new(vec![Field::new("m", map, true)])?);
        Ok(())
    }
}
