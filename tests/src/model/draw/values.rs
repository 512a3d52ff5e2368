//! Draws schemas and rows.

use lance_footer::Version;

use crate::draw::Draw;
use crate::model::value::{Column, Kind, Value};

/// Keys are less, so that rows meet.
pub const KEYS: i64 = 40;
const TEXTS: [&str; 8] =
    ["", "a", "b", "it's", "größe", "日本", "a longer text, of more than sixteen bytes", "%_"];
const FLOATS: [f64; 8] = [0.0, -0.0, 0.5, -2.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1024.0];

/// The columns of a new table. The first is an integer, and the second one or a text.
pub fn columns(draw: &mut Draw, version: Version) -> Vec<Column> {
    let key = if draw.chance(50) { Kind::Int64 } else { Kind::Int32 };
    let other = if draw.chance(50) { Kind::Text } else { Kind::Int16 };
    let mut columns = vec![Column::new("k", key), Column::new("t", other)];
    for number in 0..1 + draw.below(4) {
        columns.push(column(draw, format!("c{number}"), version, 0));
    }
    columns
}

/// A column of any type.
pub fn column(draw: &mut Draw, name: String, version: Version, depth: usize) -> Column {
    let kind = kind(draw, version, depth);
    // Files of 2.0 do not say where structs are null.
    let known = version != Version::V2_0 || !matches!(kind, Kind::Struct(_));
    let nullable = known && draw.chance(85);
    Column { name, kind, nullable }
}

fn kind(draw: &mut Draw, version: Version, depth: usize) -> Kind {
    match draw.below(if depth < 2 { 15 } else { 9 }) {
        // Of truth values in structs that may be null, the reference cannot write a slice.
        0 if depth == 0 => Kind::Bool,
        0 | 1 => Kind::Int16,
        2 => Kind::Int32,
        3 => Kind::Int64,
        4 => Kind::Float32,
        5 => Kind::Float64,
        6 | 7 => Kind::Text,
        8 => Kind::Time,
        9 => Kind::Word,
        10 | 11 => Kind::List(Box::new(column(draw, "item".into(), version, depth + 1))),
        12 => Kind::Vector(1 + draw.below(4) as i32),
        _ => {
            let count = 1 + draw.below(3);
            let members = (0..count).map(|at| column(draw, format!("m{at}"), version, depth + 1));
            Kind::Struct(members.collect())
        }
    }
}

/// Whether there is a struct in it.
pub fn has_struct(kind: &Kind) -> bool {
    match kind {
        Kind::Struct(_) => true,
        Kind::List(item) => has_struct(&item.kind),
        _ => false,
    }
}

/// Rows of `columns`.
pub fn rows(draw: &mut Draw, columns: &[Column], count: usize) -> Vec<Vec<Value>> {
    (0..count).map(|_| columns.iter().map(|column| value(draw, column)).collect()).collect()
}

/// A value of `column`.
pub fn value(draw: &mut Draw, column: &Column) -> Value {
    if column.nullable && draw.chance(20) {
        return Value::Null;
    }
    let float = |draw: &mut Draw| Value::Float(FLOATS[draw.below(FLOATS.len())].to_bits());
    match &column.kind {
        Kind::Bool => Value::Bool(draw.chance(50)),
        Kind::Int16 | Kind::Int32 | Kind::Int64 => Value::Int(draw.below(KEYS as usize) as i64 - 5),
        Kind::Time => Value::Int(1_700_000_000_000_000 + draw.below(1 << 40) as i64),
        Kind::Float32 | Kind::Float64 => float(draw),
        Kind::Text | Kind::Word => Value::Text(TEXTS[draw.below(TEXTS.len())].into()),
        Kind::List(item) => {
            let count = draw.below(4);
            Value::List((0..count).map(|_| value(draw, item)).collect())
        }
        Kind::Vector(size) => Value::List((0..*size).map(|_| float(draw)).collect()),
        Kind::Struct(members) => Value::Struct(members.iter().map(|member| value(draw, member)).collect()),
    }
}
