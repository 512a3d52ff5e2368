//! Types as people write them: `int32`, `list<float>`, `fixed_size_list<float>[64]`, `struct<x: float, y: float>`.
//!
//! Also understood are the names that tables store, such as `timestamp:us:UTC`, and those that Arrow's libraries print.

use std::sync::Arc;

use demilance::arrow::{DataType, Field};
use demilance::file::LogicalType;

/// What help says about types.
pub(crate) const HELP: &str = "\
Types: bool, int8 to int64, uint8 to uint64, float16, float (32 bits), double (64 bits), string, large_string, binary,
large_binary, date, time32[ms], time64[us], timestamp[us], timestamp[us, UTC], duration[ms], decimal(10, 2),
fixed_size_binary[16], dictionary<int16, string>, list<float>, fixed_size_list<float>[64] or float[64],
struct<x: float, label: string>, map<string, int32>; or as tables store them, such as timestamp:us:UTC.";

/// The type that `text` names.
pub(crate) fn parse(text: &str) -> Result<DataType, String> {
    let text = text.trim();
    // What tables store has colons where people have brackets.
    if let Ok(LogicalType::Leaf(data_type)) = LogicalType::parse(text) {
        return Ok(data_type);
    }
    let mut parser = Parser { rest: text, depth: 0 };
    match parser.data_type() {
        Ok(data_type) if parser.rest.is_empty() => Ok(data_type),
        Ok(_) => Err(format!("{:?} is left over after the type", parser.rest)),
        Err(reason) => text.parse::<DataType>().map_err(|_| reason),
    }
}

/// How deep types may nest.
const MAX_DEPTH: usize = 32;

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn data_type(&mut self) -> Result<DataType, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("types nest at most {MAX_DEPTH} deep"));
        }
        let mut data_type = self.simple()?;
        // A number in brackets behind any type makes a fixed-size list of it.
        while self.accept('[') {
            let size = self.size()?;
            self.expect(']')?;
            data_type = DataType::FixedSizeList(item(data_type), size);
        }
        self.depth -= 1;
        Ok(data_type)
    }

    fn simple(&mut self) -> Result<DataType, String> {
        let word = self.word("a type")?.to_ascii_lowercase();
        if let Some(data_type) = plain(&word) {
            return Ok(data_type);
        }
        match word.as_str() {
            "list" | "large_list" => {
                let inner = self.one_inner()?;
                Ok(if word == "list" {
                    DataType::List(item(inner))
                } else {
                    DataType::LargeList(item(inner))
                })
            }
            "fixed_size_list" => {
                self.expect('<')?;
                let inner = self.data_type()?;
                // The size may stand in the angle brackets, too.
                let size = if self.accept(',') { Some(self.size()?) } else { None };
                self.expect('>')?;
                let size = match size {
                    Some(size) => size,
                    None => self.bracketed_size()?,
                };
                Ok(DataType::FixedSizeList(item(inner), size))
            }
            "struct" => self.members(),
            "map" => {
                let (key, value) = self.two_inner()?;
                let fields = vec![Field::new("key", key, false), Field::new("value", value, true)];
                let entries = Field::new("entries", DataType::Struct(fields.into()), false);
                Ok(DataType::Map(Arc::new(entries), false))
            }
            "dictionary" | "dict" => {
                let (index, value) = self.two_inner()?;
                Ok(DataType::Dictionary(Box::new(index), Box::new(value)))
            }
            "fixed_size_binary" => Ok(DataType::FixedSizeBinary(self.bracketed_size()?)),
            "decimal" | "decimal128" | "decimal256" => self.decimal(&word),
            "time32" | "time64" | "duration" | "timestamp" => self.time(&word),
            _ => Err(format!(
                "no type {word:?}; there are int32, float, double, string, list<float> and more, see --help"
            )),
        }
    }

    fn members(&mut self) -> Result<DataType, String> {
        self.expect('<')?;
        let mut members = vec![];
        loop {
            let name = self.word("the name of a member")?.to_string();
            self.expect(':')?;
            members.push(Field::new(name, self.data_type()?, true));
            if !self.accept(',') {
                self.expect('>')?;
                return Ok(DataType::Struct(members.into()));
            }
        }
    }

    fn decimal(&mut self, word: &str) -> Result<DataType, String> {
        self.expect('(')?;
        let precision = self.number()?;
        let scale = if self.accept(',') { self.number()? } else { 0 };
        self.expect(')')?;
        let (stored, bits) = match (word, precision) {
            ("decimal256", _) | ("decimal", 39..) => (256, 256),
            _ => (128, 128),
        };
        // How many digits there may be is known where types are stored.
        match LogicalType::parse(&format!("decimal:{stored}:{precision}:{scale}")) {
            Ok(LogicalType::Leaf(data_type)) => Ok(data_type),
            _ => {
                Err(format!("no decimal of {bits} bits has {precision} digits with {scale} behind the point"))
            }
        }
    }

    fn time(&mut self, word: &str) -> Result<DataType, String> {
        let (open, close) = if self.rest.trim_start().starts_with('(') { ('(', ')') } else { ('[', ']') };
        self.expect(open)?;
        let unit = self.word("a unit: s, ms, us or ns")?;
        let zone = match self.accept(',') {
            true => {
                let end = self.rest.find(close).unwrap_or(self.rest.len());
                let (zone, rest) = self.rest.split_at(end);
                self.rest = rest;
                Some(zone.trim().trim_start_matches("tz=").trim_matches(['"', '\'']))
            }
            false => None,
        };
        self.expect(close)?;
        let stored = match (word, zone) {
            ("timestamp", zone) => format!("timestamp:{unit}:{}", zone.unwrap_or("-")),
            (_, None) => format!("{word}:{unit}"),
            (_, Some(_)) => return Err(format!("a {word} has no time zone")),
        };
        match LogicalType::parse(&stored) {
            Ok(LogicalType::Leaf(data_type)) => Ok(data_type),
            _ => Err(format!("no {word} has the unit {unit}")),
        }
    }

    fn one_inner(&mut self) -> Result<DataType, String> {
        self.expect('<')?;
        let inner = self.data_type()?;
        self.expect('>')?;
        Ok(inner)
    }

    fn two_inner(&mut self) -> Result<(DataType, DataType), String> {
        self.expect('<')?;
        let first = self.data_type()?;
        self.expect(',')?;
        let second = self.data_type()?;
        self.expect('>')?;
        Ok((first, second))
    }

    fn bracketed_size(&mut self) -> Result<i32, String> {
        self.expect('[')?;
        let size = self.size()?;
        self.expect(']')?;
        Ok(size)
    }

    fn size(&mut self) -> Result<i32, String> {
        match self.number()? {
            0 => Err("a size must be 1 or more".into()),
            size => i32::try_from(size).map_err(|_| format!("the size {size} is too large")),
        }
    }

    fn number(&mut self) -> Result<u32, String> {
        let digits = self.word("a number")?;
        digits.parse().map_err(|_| format!("a number is wanted where there is {digits:?}"))
    }

    fn word(&mut self, what: &str) -> Result<&'t str, String> {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end == 0 {
            return Err(match rest.chars().next() {
                Some(next) => format!("{what} is wanted where there is {next:?}"),
                None => format!("{what} is missing at the end"),
            });
        }
        let (word, rest) = rest.split_at(end);
        self.rest = rest.trim_start();
        Ok(word)
    }

    fn accept(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        match self.accept(wanted) {
            true => Ok(()),
            false if self.rest.is_empty() => Err(format!("{wanted:?} is missing at the end")),
            false => Err(format!("{wanted:?} is wanted where there is {:?}", self.rest)),
        }
    }
}

/// The type that is called `word`, all in small letters, and nothing more.
fn plain(word: &str) -> Option<DataType> {
    Some(match word {
        "null" => DataType::Null,
        "bool" | "boolean" => DataType::Boolean,
        "int8" | "tinyint" => DataType::Int8,
        "int16" | "smallint" => DataType::Int16,
        "int32" | "int" | "integer" => DataType::Int32,
        "int64" | "bigint" | "long" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float16" | "halffloat" | "half" => DataType::Float16,
        "float32" | "float" => DataType::Float32,
        "float64" | "double" => DataType::Float64,
        "string" | "utf8" | "text" | "str" => DataType::Utf8,
        "large_string" | "large_utf8" | "largeutf8" => DataType::LargeUtf8,
        "binary" | "bytes" => DataType::Binary,
        "large_binary" | "largebinary" => DataType::LargeBinary,
        "date" | "date32" => DataType::Date32,
        "date64" => DataType::Date64,
        _ => return None,
    })
}

fn item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit;

    use super::*;

    #[test]
    fn types_of_many_spellings() {
        let vector = |data_type, size| DataType::FixedSizeList(item(data_type), size);
        let pose = vec![Field::new("x", DataType::Float32, true), Field::new("label", DataType::Utf8, true)];
        for (text, expected) in [
            ("int32", DataType::Int32),
            ("Int32", DataType::Int32),
            (" float ", DataType::Float32),
            ("double", DataType::Float64),
            ("Utf8", DataType::Utf8),
            ("list<float>", DataType::List(item(DataType::Float32))),
            ("LIST < list<int8> >", DataType::List(item(DataType::List(item(DataType::Int8))))),
            ("fixed_size_list<float>[64]", vector(DataType::Float32, 64)),
            ("fixed_size_list<float, 64>", vector(DataType::Float32, 64)),
            ("fixed_size_list:float:64", vector(DataType::Float32, 64)),
            ("float[64]", vector(DataType::Float32, 64)),
            ("int8[2][3]", vector(vector(DataType::Int8, 2), 3)),
            ("struct<x: float, label: string>", DataType::Struct(pose.into())),
            ("decimal(10, 2)", DataType::Decimal128(10, 2)),
            ("decimal(50)", DataType::Decimal256(50, 0)),
            ("timestamp[us]", DataType::Timestamp(TimeUnit::Microsecond, None)),
            ("timestamp(ns)", DataType::Timestamp(TimeUnit::Nanosecond, None)),
            (
                "timestamp[us, Europe/Berlin]",
                DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Berlin".into())),
            ),
            ("timestamp[ms, tz=UTC]", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))),
            ("timestamp:us:UTC", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
            ("time32[ms]", DataType::Time32(TimeUnit::Millisecond)),
            ("duration[s]", DataType::Duration(TimeUnit::Second)),
            ("date", DataType::Date32),
            ("fixed_size_binary[16]", DataType::FixedSizeBinary(16)),
            (
                "dictionary<int16, string>",
                DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8)),
            ),
            ("Timestamp(µs)", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ] {
            assert_eq!(parse(text).as_ref(), Ok(&expected), "{text}");
        }
        assert!(matches!(parse("map<string, int32>"), Ok(DataType::Map(_, false))));
    }

    #[test]
    fn what_is_no_type_is_told() {
        for (text, reason) in [
            ("", "a type is missing at the end"),
            ("flaot", "no type \"flaot\""),
            ("list", "'<' is missing at the end"),
            ("list<float", "'>' is missing at the end"),
            ("list<float>>", "\">\" is left over"),
            ("float[0]", "a size must be 1 or more"),
            ("float[99999999999]", "a number is wanted"),
            ("time32[us]", "no time32 has the unit us"),
            ("decimal(99)", "no decimal of 256 bits has 99 digits"),
            ("struct<x float>", "':' is wanted where there is \"float>\""),
            ("duration[s, UTC]", "a duration has no time zone"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(parse(&"list<".repeat(10_000)).is_err());
    }
}
