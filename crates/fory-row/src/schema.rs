//! What rows hold. Nothing in the bytes of a row names a field or a type: writer and reader have the schema.

mod hash;
mod serialised;
mod storable;

use std::collections::HashSet;

use crate::{Error, ErrorKind, Result};

pub(crate) use hash::{START as HASH_START, hash_field, step as hash_step};

/// The greatest depth of a schema that [`Schema::new`] takes: a field of the row is at depth 1.
pub const MAX_DEPTH: usize = 64;
/// The greatest number of fields, at all depths together, that [`Schema::new`] takes.
pub const MAX_FIELDS: usize = 65_536;

// Rust types with parts take these into a hash without making a DataType.
pub(crate) const LIST_ID: u8 = 22;
pub(crate) const MAP_ID: u8 = 24;
pub(crate) const STRUCT_ID: u8 = 27;

/// The fields of a row, in their declared order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Schema {
    fields: Vec<Field>,
}

/// A value with a name: a member of a row or a struct, the element of a list, the key or value of a map.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name, which is not stored in rows.
    pub name: String,
    /// What it holds.
    pub data_type: DataType,
    /// Whether it may be null. The compact layout depends on it, the standard one does not; writers refuse a
    /// null where it is false.
    pub nullable: bool,
}

/// The types of the row format.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DataType {
    /// One byte, 0 or 1.
    Bool,
    /// 8 bits, signed.
    Int8,
    /// 16 bits, signed.
    Int16,
    /// 32 bits, signed.
    Int32,
    /// 64 bits, signed.
    Int64,
    /// IEEE 754 binary16.
    Float16,
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary64.
    Float64,
    /// Days since 1970-01-01.
    Date32,
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp,
    /// Microseconds.
    Duration,
    /// A decimal number of at most `precision` digits, `scale` of them behind the point.
    Decimal {
        /// 1 to 38.
        precision: u8,
        /// 0 to `precision`.
        scale: u8,
    },
    /// Text.
    Utf8,
    /// Bytes.
    Binary,
    /// Bytes of one length, which is at least 1. Only in the compact format.
    FixedBinary(u32),
    /// Any number of elements. Whether they may be null matters only in the compact format.
    List(Box<Field>),
    /// Entries of a key and a value, in the order they were written. Keys are never null, values always may be.
    Map(Box<Field>, Box<Field>),
    /// A row in the row.
    Struct(Vec<Field>),
}

/// How deep and how large a schema may be: decoding recurses as deep as the schema, so that one from outside
/// needs a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaLimits {
    /// The greatest depth; a field of the row is at depth 1.
    pub depth: usize,
    /// The greatest number of fields at all depths together.
    pub fields: usize,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self { depth: MAX_DEPTH, fields: MAX_FIELDS }
    }
}

impl Schema {
    /// A schema of `fields`, which are at least one, with names that differ, at all levels.
    pub fn new(fields: Vec<Field>) -> Result<Self> {
        Self::with_limits(fields, SchemaLimits::default())
    }

    /// The same with other limits than [`MAX_DEPTH`] and [`MAX_FIELDS`].
    pub fn with_limits(fields: Vec<Field>, limits: SchemaLimits) -> Result<Self> {
        let mut left = limits.fields;
        check_struct(&fields, limits.depth, &mut left)?;
        Ok(Self { fields })
    }

    /// The fields, in their declared order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The position of the field `name`.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

impl Field {
    /// A field.
    pub fn new(name: impl Into<String>, data_type: DataType, nullable: bool) -> Self {
        Self { name: name.into(), data_type, nullable }
    }
}

impl DataType {
    /// A list of elements of a type, which are nullable or not.
    pub fn list(element: Self, nullable: bool) -> Self {
        Self::List(Box::new(Field::new("item", element, nullable)))
    }

    /// A map.
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(Field::new("key", key, false)), Box::new(Field::new("value", value, true)))
    }

    /// Its name, as schemas in JSON have it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float16 => "float16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Date32 => "date32",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::Decimal { .. } => "decimal",
            Self::Utf8 => "utf8",
            Self::Binary => "binary",
            Self::FixedBinary(_) => "fixed_binary",
            Self::List(_) => "list",
            Self::Map(..) => "map",
            Self::Struct(_) => "struct",
        }
    }

    /// The number that stands for it in schema hashes and serialised schemas.
    pub const fn id(&self) -> u8 {
        match self {
            Self::Bool => 1,
            Self::Int8 => 2,
            Self::Int16 => 3,
            Self::Int32 => 4,
            Self::Int64 => 6,
            Self::Float16 => 17,
            Self::Float32 => 19,
            Self::Float64 => 20,
            Self::Utf8 => 21,
            Self::List(_) => LIST_ID,
            Self::Map(..) => MAP_ID,
            Self::Struct(_) => STRUCT_ID,
            Self::Duration => 37,
            Self::Timestamp => 38,
            Self::Date32 => 39,
            Self::Decimal { .. } => 40,
            Self::Binary | Self::FixedBinary(_) => 41,
        }
    }
}

fn check_struct(fields: &[Field], depth: usize, left: &mut usize) -> Result<()> {
    if fields.is_empty() {
        return Err(Error::new(ErrorKind::Schema, "a row or struct without fields"));
    }
    let mut names = HashSet::with_capacity(fields.len());
    for field in fields {
        if !names.insert(field.name.as_str()) {
            return Err(
                Error::new(ErrorKind::Schema, "another field has the same name").in_field(&field.name)
            );
        }
        check_field(field, depth, left).map_err(|error| error.in_field(&field.name))?;
    }
    Ok(())
}

fn check_field(field: &Field, depth: usize, left: &mut usize) -> Result<()> {
    let Some(below) = depth.checked_sub(1) else {
        return Err(Error::new(ErrorKind::Limit, "deeper than the greatest depth of a schema"));
    };
    let Some(rest) = left.checked_sub(1) else {
        return Err(Error::new(ErrorKind::Limit, "more fields than a schema may have"));
    };
    *left = rest;
    let wrong = |reason: &str| Err(Error::new(ErrorKind::Schema, reason));
    match &field.data_type {
        DataType::Decimal { precision, scale } => {
            if !(1..=38).contains(precision) || scale > precision {
                return Err(Error::new(
                    ErrorKind::Schema,
                    format!(
                        "decimal({precision}, {scale}) needs a precision of 1 to 38 and a scale of at most it"
                    ),
                ));
            }
            Ok(())
        }
        DataType::FixedBinary(0) => wrong("fixed_binary of width 0"),
        // The widths of a row are added up in 31 bits.
        DataType::FixedBinary(width) if *width > MAX_FIXED_BINARY => wrong("fixed_binary wider than 16 MiB"),
        DataType::List(element) => check_field(element, below, left),
        DataType::Map(key, value) => {
            if key.nullable {
                return wrong("the key of a map cannot be nullable");
            }
            if !value.nullable {
                return wrong("the value of a map is always nullable");
            }
            check_field(key, below, left)?;
            check_field(value, below, left)
        }
        DataType::Struct(fields) => check_struct(fields, below, left),
        _ => Ok(()),
    }
}

const MAX_FIXED_BINARY: u32 = 16 << 20;
