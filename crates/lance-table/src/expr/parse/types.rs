//! The names of types, as in `CAST(a AS DECIMAL(10, 2))`.

use arrow_schema::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DECIMAL256_MAX_SCALE, DataType, TimeUnit,
};
use sqlparser::tokenizer::Token as Lexed;

use super::Parser;
use crate::Result;

impl Parser<'_> {
    /// The type that comes next.
    pub(super) fn data_type(&mut self) -> Result<DataType> {
        let at = self.at();
        let Some(name) = self.word(0).map(str::to_ascii_lowercase) else {
            return Err(self.unexpected("the name of a type"));
        };
        self.skip(1);
        let signed = match name.as_str() {
            "tinyint" => Some((DataType::Int8, DataType::UInt8)),
            "smallint" => Some((DataType::Int16, DataType::UInt16)),
            "int" | "integer" => Some((DataType::Int32, DataType::UInt32)),
            "bigint" => Some((DataType::Int64, DataType::UInt64)),
            _ => None,
        };
        if let Some((signed, unsigned)) = signed {
            return Ok(if self.accept_word("unsigned") { unsigned } else { signed });
        }
        Ok(match name.as_str() {
            "boolean" | "bool" => DataType::Boolean,
            "float" | "real" => DataType::Float32,
            "double" => {
                self.accept_word("precision");
                DataType::Float64
            }
            "string" | "text" | "varchar" => DataType::Utf8,
            "binary" | "bytea" | "varbinary" => DataType::Binary,
            "date" => DataType::Date32,
            "time" => DataType::Time64(TimeUnit::Microsecond),
            "timestamp" | "datetime" => {
                let digits = self.numbers()?;
                let unit = match digits.as_slice() {
                    [0] => TimeUnit::Second,
                    [3] => TimeUnit::Millisecond,
                    [] | [6] => TimeUnit::Microsecond,
                    [9] => TimeUnit::Nanosecond,
                    _ => return Err(self.problem(at, "a timestamp has 0, 3, 6 or 9 digits")),
                };
                DataType::Timestamp(unit, None)
            }
            "decimal" | "numeric" => {
                let (precision, scale) = match self.numbers()?.as_slice() {
                    [] => (38, 10),
                    [precision] => (*precision, 0),
                    [precision, scale] => (*precision, *scale),
                    _ => return Err(self.problem(at, "a decimal has a precision and a scale")),
                };
                let decimal = decimal(precision, scale);
                let limit = format!(
                    "a decimal has 1 to {DECIMAL256_MAX_PRECISION} digits, and no more behind the point"
                );
                decimal.ok_or_else(|| self.problem(at, limit))?
            }
            _ => {
                let known = "BOOLEAN, TINYINT, SMALLINT, INT and BIGINT, each also UNSIGNED, FLOAT, DOUBLE, \
                             DECIMAL(p, s), STRING, BINARY, DATE, TIME, TIMESTAMP(digits)";
                return Err(self.problem(at, format!("no type {name}; there are {known}")));
            }
        })
    }

    /// Numbers in brackets, if there are any.
    fn numbers(&mut self) -> Result<Vec<u8>> {
        let mut numbers = vec![];
        if !self.accept(&Lexed::LParen) {
            return Ok(numbers);
        }
        loop {
            let number = match self.peek() {
                Some(Lexed::Number(digits, false)) => digits.parse().ok(),
                _ => None,
            };
            numbers.push(number.ok_or_else(|| self.unexpected("a small number"))?);
            self.skip(1);
            if !self.accept(&Lexed::Comma) {
                self.expect(&Lexed::RParen, "a comma or a closing bracket")?;
                return Ok(numbers);
            }
        }
    }
}

fn decimal(precision: u8, scale: u8) -> Option<DataType> {
    let scale = i8::try_from(scale).ok().filter(|scale| *scale <= DECIMAL256_MAX_SCALE)?;
    let fits = u8::try_from(scale).is_ok_and(|scale| scale <= precision);
    match precision {
        1..=DECIMAL128_MAX_PRECISION if fits => Some(DataType::Decimal128(precision, scale)),
        1..=DECIMAL256_MAX_PRECISION if fits => Some(DataType::Decimal256(precision, scale)),
        _ => None,
    }
}

/// The name of a type as it is parsed; of one that has no name, that of Arrow.
pub(in crate::expr) fn name(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INT",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "TINYINT UNSIGNED",
        DataType::UInt16 => "SMALLINT UNSIGNED",
        DataType::UInt32 => "INT UNSIGNED",
        DataType::UInt64 => "BIGINT UNSIGNED",
        DataType::Float32 => "FLOAT",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 => "STRING",
        DataType::Binary => "BINARY",
        DataType::Date32 => "DATE",
        DataType::Time64(TimeUnit::Microsecond) => "TIME",
        DataType::Timestamp(TimeUnit::Second, None) => "TIMESTAMP(0)",
        DataType::Timestamp(TimeUnit::Millisecond, None) => "TIMESTAMP(3)",
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP(6)",
        DataType::Timestamp(TimeUnit::Nanosecond, None) => "TIMESTAMP(9)",
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            return format!("DECIMAL({precision}, {scale})");
        }
        other => return other.to_string(),
    };
    name.to_string()
}
