//! Values worked out from those of a row, as text and by the model.

use super::predicate::{Place, literal};
use super::value::{Kind, Value};

/// An expression.
#[derive(Debug, Clone)]
pub enum Formula {
    Literal(Value),
    Copy(Place),
    /// An integer and another.
    Plus(Place, i64),
    Upper(Place),
    /// The value, or another where it is null.
    Or(Place, Value),
    IsNull(Place),
}

impl Formula {
    /// What it gives for a row.
    pub fn of(&self, row: &[Value]) -> Value {
        match self {
            Self::Literal(value) => value.clone(),
            Self::Copy(place) => place.value(row).clone(),
            Self::Plus(place, more) => match place.value(row) {
                Value::Int(number) => Value::Int(number + more),
                _ => Value::Null,
            },
            Self::Upper(place) => match place.value(row) {
                Value::Text(text) => Value::Text(text.to_uppercase()),
                _ => Value::Null,
            },
            Self::Or(place, other) => match place.value(row) {
                Value::Null => other.clone(),
                value => value.clone(),
            },
            Self::IsNull(place) => Value::Bool(*place.value(row) == Value::Null),
        }
    }

    /// As a filter or an expression has it.
    pub fn text(&self) -> String {
        match self {
            Self::Literal(value) => literal(value),
            Self::Copy(place) => place.path.clone(),
            Self::Plus(place, more) => format!("CAST({} AS BIGINT) + {more}", place.path),
            Self::Upper(place) => format!("upper({})", place.path),
            Self::Or(place, other) => format!("coalesce({}, {})", place.path, literal(other)),
            Self::IsNull(place) => format!("{} IS NULL", place.path),
        }
    }

    /// The type of a column that is made by it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Literal(_) | Self::IsNull(_) => Kind::Bool,
            Self::Copy(place) | Self::Or(place, _) => place.kind.clone(),
            Self::Plus(..) => Kind::Int64,
            Self::Upper(_) => Kind::Text,
        }
    }
}
