//! Schemas of rows and of Arrow.

use arrow_schema::{DataType as ArrowType, Field as ArrowField, Fields, Schema as ArrowSchema, TimeUnit};

use crate::{DataType, Error, ErrorKind, Field, MAX_DEPTH, Result, Schema};

/// The widest that `fixed_binary` can be.
const MAX_FIXED_BINARY: i32 = 16 << 20;

impl Schema {
    /// The schema of rows for the columns of an Arrow schema. Names and nullability stay; metadata are not looked at.
    ///
    /// | Arrow | rows |
    /// |---|---|
    /// | Boolean, Int8 … Int64, Float16 … Float64, Date32 | the same |
    /// | UInt8, UInt16, UInt32 | int16, int32, int64 |
    /// | Date64 | date32: whole days |
    /// | Timestamp of any unit and zone, Duration | timestamp, duration: whole microseconds |
    /// | Decimal32 … Decimal256 with at most 38 digits and a scale of 0 to that | decimal |
    /// | Utf8, LargeUtf8, Utf8View | utf8 |
    /// | Binary, LargeBinary, BinaryView | binary |
    /// | FixedSizeBinary | fixed_binary, which [`Self::storable`] makes binary where it must be |
    /// | List, LargeList, FixedSizeList | list |
    /// | Map, Struct | the same; the values of a map become nullable |
    /// | Dictionary | the type of its values |
    ///
    /// All else is [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported): there is no row type for it.
    ///
    /// ```
    /// use fory_row::{DataType, Field, Schema};
    /// use arrow_schema::{DataType as ArrowType, Field as ArrowField, Schema as ArrowSchema};
    /// let columns = ArrowSchema::new(vec![ArrowField::new("name", ArrowType::LargeUtf8, true)]);
    /// assert_eq!(Schema::from_arrow(&columns)?.fields(), [Field::new("name", DataType::Utf8, true)]);
    /// # Ok::<(), fory_row::Error>(())
    /// ```
    pub fn from_arrow(schema: &ArrowSchema) -> Result<Self> {
        Self::new(from_fields(schema.fields(), MAX_DEPTH)?)
    }

    /// The Arrow schema that is the plainest for it: the one that [`Self::from_arrow`] makes it of again.
    pub fn to_arrow(&self) -> ArrowSchema {
        ArrowSchema::new(to_fields(self.fields()))
    }
}

fn from_fields(fields: &Fields, depth: usize) -> Result<Vec<Field>> {
    fields.iter().map(|field| from_field(field, depth)).collect()
}

fn from_field(field: &ArrowField, depth: usize) -> Result<Field> {
    let data_type = from_type(field.data_type(), depth).map_err(|error| error.in_field(field.name()))?;
    Ok(Field::new(field.name(), data_type, field.is_nullable()))
}

/// The row type for values of `data_type`, which is at most `depth` deep.
pub(super) fn from_type(data_type: &ArrowType, depth: usize) -> Result<DataType> {
    let Some(below) = depth.checked_sub(1) else {
        return Err(Error::new(ErrorKind::Limit, "deeper than the greatest depth of a schema"));
    };
    let list = |element: &ArrowField| Ok(DataType::List(Box::new(from_field(element, below)?)));
    match data_type {
        ArrowType::Boolean => Ok(DataType::Bool),
        ArrowType::Int8 => Ok(DataType::Int8),
        ArrowType::Int16 | ArrowType::UInt8 => Ok(DataType::Int16),
        ArrowType::Int32 | ArrowType::UInt16 => Ok(DataType::Int32),
        ArrowType::Int64 | ArrowType::UInt32 => Ok(DataType::Int64),
        ArrowType::Float16 => Ok(DataType::Float16),
        ArrowType::Float32 => Ok(DataType::Float32),
        ArrowType::Float64 => Ok(DataType::Float64),
        ArrowType::Date32 | ArrowType::Date64 => Ok(DataType::Date32),
        ArrowType::Timestamp(..) => Ok(DataType::Timestamp),
        ArrowType::Duration(_) => Ok(DataType::Duration),
        ArrowType::Decimal32(precision, scale)
        | ArrowType::Decimal64(precision, scale)
        | ArrowType::Decimal128(precision, scale)
        | ArrowType::Decimal256(precision, scale) => match u8::try_from(*scale) {
            Ok(scale) if scale <= *precision && (1..=38).contains(precision) => {
                Ok(DataType::Decimal { precision: *precision, scale })
            }
            _ => Err(no_row_type(data_type)),
        },
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => Ok(DataType::Utf8),
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => Ok(DataType::Binary),
        ArrowType::FixedSizeBinary(width) => match u32::try_from(*width) {
            Ok(wide) if (1..=MAX_FIXED_BINARY).contains(width) => Ok(DataType::FixedBinary(wide)),
            _ => Err(no_row_type(data_type)),
        },
        ArrowType::List(element) | ArrowType::LargeList(element) => list(element),
        ArrowType::FixedSizeList(element, size) if *size >= 0 => list(element),
        ArrowType::Map(entries, _) => match entries.data_type() {
            ArrowType::Struct(fields) => match fields.as_ref() {
                [key, value] => {
                    let (mut key, mut value) = (from_field(key, below)?, from_field(value, below)?);
                    (key.nullable, value.nullable) = (false, true);
                    Ok(DataType::Map(Box::new(key), Box::new(value)))
                }
                _ => Err(no_row_type(data_type)),
            },
            _ => Err(no_row_type(data_type)),
        },
        ArrowType::Struct(fields) if !fields.is_empty() => Ok(DataType::Struct(from_fields(fields, below)?)),
        ArrowType::Dictionary(_, values) => from_type(values, below),
        _ => Err(no_row_type(data_type)),
    }
}

#[cold]
fn no_row_type(data_type: &ArrowType) -> Error {
    Error::unsupported(format!("rows have no type for {data_type} of Arrow"))
}

fn to_fields(fields: &[Field]) -> Fields {
    fields.iter().map(to_field).collect()
}

pub(super) fn to_field(field: &Field) -> ArrowField {
    ArrowField::new(&field.name, to_type(&field.data_type), field.nullable)
}

fn to_type(data_type: &DataType) -> ArrowType {
    match data_type {
        DataType::Bool => ArrowType::Boolean,
        DataType::Int8 => ArrowType::Int8,
        DataType::Int16 => ArrowType::Int16,
        DataType::Int32 => ArrowType::Int32,
        DataType::Int64 => ArrowType::Int64,
        DataType::Float16 => ArrowType::Float16,
        DataType::Float32 => ArrowType::Float32,
        DataType::Float64 => ArrowType::Float64,
        DataType::Date32 => ArrowType::Date32,
        DataType::Timestamp => ArrowType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Duration => ArrowType::Duration(TimeUnit::Microsecond),
        DataType::Decimal { precision, scale } => {
            ArrowType::Decimal128(*precision, i8::try_from(*scale).unwrap_or(i8::MAX))
        }
        DataType::Utf8 => ArrowType::Utf8,
        DataType::Binary => ArrowType::Binary,
        DataType::FixedBinary(width) => ArrowType::FixedSizeBinary(i32::try_from(*width).unwrap_or(i32::MAX)),
        DataType::List(element) => ArrowType::List(to_field(element).into()),
        DataType::Map(key, value) => {
            let entries = ArrowType::Struct([to_field(key), to_field(value)].into_iter().collect());
            ArrowType::Map(ArrowField::new("entries", entries, false).into(), false)
        }
        DataType::Struct(fields) => ArrowType::Struct(to_fields(fields)),
    }
}
