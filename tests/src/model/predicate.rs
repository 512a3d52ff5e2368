//! Conditions on rows, as filter text and worked out on values.

use std::cmp::Ordering;
use std::fmt;

use super::value::{Column, Kind, Value};

/// A condition.
#[derive(Debug, Clone)]
pub enum Predicate {
    Always(bool),
    Compare(Place, &'static str, Value),
    IsNull(Place, bool),
    In(Place, Vec<Value>),
    Between(Place, Value, Value),
    /// The text begins so.
    Begins(Place, String),
    Not(Box<Predicate>),
    And(Box<Predicate>, Box<Predicate>),
    Or(Box<Predicate>, Box<Predicate>),
}

/// A column or a member of a struct.
#[derive(Debug, Clone)]
pub struct Place {
    /// The dotted path.
    pub path: String,
    /// Where it is: the index of the column, and of the members in each other.
    pub at: Vec<usize>,
    pub kind: Kind,
    pub nullable: bool,
    /// Whether a struct around it may be null. There the reference has some value, or none, of which filters and expressions
    /// then say what is not so.
    pub hidden: bool,
}

impl Place {
    /// All columns and members of structs.
    pub fn all(columns: &[Column]) -> Vec<Self> {
        let mut places = vec![];
        within(columns, "", &[], false, &mut places);
        places
    }

    /// All but those that the reference gets wrong.
    pub fn plain(columns: &[Column]) -> Vec<Self> {
        Self::all(columns).into_iter().filter(|place| !place.hidden).collect()
    }

    /// Its value in a row.
    pub fn value<'a>(&self, row: &'a [Value]) -> &'a Value {
        let mut value = &row[self.at[0]];
        for at in &self.at[1..] {
            match value {
                Value::Struct(members) => value = &members[*at],
                _ => return &Value::Null,
            }
        }
        value
    }

    /// Where its value is in a row; none if that is in a struct that is null.
    pub fn value_mut<'a>(&self, row: &'a mut [Value]) -> Option<&'a mut Value> {
        let mut value = &mut row[self.at[0]];
        for at in &self.at[1..] {
            match value {
                Value::Struct(members) => value = &mut members[*at],
                _ => return None,
            }
        }
        Some(value)
    }

    /// Whether it is a column of the table.
    pub fn is_top(&self) -> bool {
        self.at.len() == 1
    }
}

fn within(columns: &[Column], above: &str, at: &[usize], null_above: bool, places: &mut Vec<Place>) {
    for (index, column) in columns.iter().enumerate() {
        let path = format!("{above}{}", column.name);
        let at = [at, &[index]].concat();
        let (kind, nullable) = (column.kind.clone(), column.nullable);
        let hidden = null_above;
        places.push(Place { path: path.clone(), at: at.clone(), kind, nullable, hidden });
        if let Kind::Struct(members) = &column.kind {
            within(members, &format!("{path}."), &at, null_above || nullable, places);
        }
    }
}

impl Predicate {
    /// Whether it is true of a row; none if that is not known because of a null.
    pub fn of(&self, row: &[Value]) -> Option<bool> {
        match self {
            Self::Always(truth) => Some(*truth),
            Self::Compare(place, op, literal) => compare(place.value(row), literal).map(|order| match *op {
                "=" => order.is_eq(),
                "<>" => order.is_ne(),
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            }),
            Self::IsNull(place, wanted) => Some((*place.value(row) == Value::Null) == *wanted),
            Self::In(place, values) => {
                let found = values.iter().map(|value| compare(place.value(row), value));
                found.map(|order| order.map(Ordering::is_eq)).fold(Some(false), or)
            }
            Self::Between(place, from, to) => {
                let value = place.value(row);
                Some(compare(value, from)?.is_ge() && compare(value, to)?.is_le())
            }
            Self::Begins(place, start) => match place.value(row) {
                Value::Text(text) => Some(text.starts_with(start.as_str())),
                _ => None,
            },
            Self::Not(inner) => inner.of(row).map(|truth| !truth),
            Self::And(one, other) => and(one.of(row), other.of(row)),
            Self::Or(one, other) => or(one.of(row), other.of(row)),
        }
    }

    /// Whether it is true, and not only unknown.
    pub fn holds(&self, row: &[Value]) -> bool {
        self.of(row) == Some(true)
    }

    /// The text, with `prefix` before each column.
    pub fn text(&self, prefix: &str) -> String {
        match self {
            Self::Always(truth) => truth.to_string(),
            Self::Compare(place, op, value) => format!("{prefix}{} {op} {}", place.path, literal(value)),
            Self::IsNull(place, true) => format!("{prefix}{} IS NULL", place.path),
            Self::IsNull(place, false) => format!("{prefix}{} IS NOT NULL", place.path),
            Self::In(place, values) => {
                let values = values.iter().map(literal).collect::<Vec<_>>().join(", ");
                format!("{prefix}{} IN ({values})", place.path)
            }
            Self::Between(place, from, to) => {
                format!("{prefix}{} BETWEEN {} AND {}", place.path, literal(from), literal(to))
            }
            Self::Begins(place, start) => format!("{prefix}{} LIKE '{start}%'", place.path),
            Self::Not(inner) => format!("NOT ({})", inner.text(prefix)),
            Self::And(one, other) => format!("({}) AND ({})", one.text(prefix), other.text(prefix)),
            Self::Or(one, other) => format!("({}) OR ({})", one.text(prefix), other.text(prefix)),
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(""))
    }
}

/// A value as filter text has it.
pub fn literal(value: &Value) -> String {
    match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(bits) => format!("{:?}", f64::from_bits(*bits)),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        _ => "NULL".into(),
    }
}

fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Float(one), Value::Float(other)) => {
            Some(f64::from_bits(*one).total_cmp(&f64::from_bits(*other)))
        }
        (one, other) => Some(one.cmp(other)),
    }
}

const fn and(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    and(one.map(|truth| !truth), other.map(|truth| !truth)).map(|truth| !truth)
}
