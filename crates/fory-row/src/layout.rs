//! A schema worked out for one format: where each field is.

use crate::error::Step;
use crate::geometry::{self, ElementShape, FieldShape, RowGeometry, Widths};
use crate::schema::{Field, hash_step};
use crate::{DataType, Error, ErrorKind, Format, Result, Schema};

/// A schema in one of the formats, worked out once: what rows are read and written with.
///
/// ```
/// use fory_row::{DataType, Field, Format, Layout, Schema};
/// let schema = Schema::new(vec![
///     Field::new("id", DataType::Int64, false),
///     Field::new("name", DataType::Utf8, true),
/// ])?;
/// let layout = Layout::new(schema, Format::Compact)?;
/// let mut bytes = vec![];
/// layout.write_row(&mut bytes, |row| {
///     row.set("name", "arm")?;
///     row.set("id", 7i64)
/// })?;
/// let row = layout.row(&bytes)?;
/// assert_eq!(row.get::<i64>("id")?, Some(7));
/// assert_eq!(row.get::<&str>(1)?, Some("arm"));
/// # Ok::<(), fory_row::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Layout {
    schema: Schema,
    format: Format,
    hash: i64,
    root: RowLayout,
}

/// Where the fields of a row or struct are.
#[derive(Debug, Clone)]
pub(crate) struct RowLayout {
    pub(crate) format: Format,
    pub(crate) geometry: RowGeometry,
    /// In their declared order.
    pub(crate) fields: Vec<FieldLayout>,
    /// Positions in `fields`, in the order of the bytes.
    pub(crate) order: Vec<usize>,
    /// Positions in `fields`, in the order of their names.
    by_name: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct FieldLayout {
    pub(crate) name: String,
    pub(crate) nullable: bool,
    /// First byte of the slot, counted from the start of the row.
    pub(crate) slot: usize,
    /// Bit in the bitmap of nulls.
    pub(crate) bit: usize,
    pub(crate) value: ValueLayout,
}

/// How one value is stored.
#[derive(Debug, Clone)]
pub(crate) enum ValueLayout {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Float16,
    Float32,
    Float64,
    Date32,
    Timestamp,
    Duration,
    Decimal { precision: u8, scale: u8 },
    Utf8,
    Binary,
    FixedBinary(usize),
    List(Box<ElementLayout>),
    Map(Box<MapLayout>),
    Struct(Box<RowLayout>),
}

#[derive(Debug, Clone)]
pub(crate) struct ElementLayout {
    pub(crate) shape: ElementShape,
    pub(crate) value: ValueLayout,
    /// What errors call one of them: element, key or value.
    pub(crate) step: fn(usize) -> Step,
}

#[derive(Debug, Clone)]
pub(crate) struct MapLayout {
    pub(crate) keys: ElementLayout,
    pub(crate) values: ElementLayout,
}

impl Layout {
    /// Works `schema` out for `format`.
    pub fn new(schema: Schema, format: Format) -> Result<Self> {
        let root = RowLayout::new(schema.fields(), format)?;
        let hash = root.hash(schema.fields());
        Ok(Self { schema, format, hash, root })
    }

    /// What rows hold.
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// How they are laid out.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// The schema hash that framed rows carry. That of a compact row is taken in the order of its bytes.
    pub const fn hash(&self) -> i64 {
        self.hash
    }

    /// The positions in the schema of the fields, in the order in which rows have them.
    pub fn stored_order(&self) -> &[usize] {
        &self.root.order
    }

    /// The bytes of the smallest row: one without variable data.
    pub const fn fixed_len(&self) -> usize {
        self.root.geometry.fixed_end
    }

    pub(crate) const fn root(&self) -> &RowLayout {
        &self.root
    }
}

impl RowLayout {
    fn new(fields: &[Field], format: Format) -> Result<Self> {
        let values = fields
            .iter()
            .map(|field| {
                ValueLayout::new(&field.data_type, format).map_err(|error| error.in_field(&field.name))
            })
            .collect::<Result<Vec<_>>>()?;
        let shapes = fields
            .iter()
            .zip(&values)
            .map(|(field, value)| FieldShape { width: value.width(format), nullable: field.nullable })
            .collect::<Vec<_>>();
        let order = stored_order(&shapes, format);
        let mut slots = vec![0; fields.len()];
        let mut bits = vec![0; fields.len()];
        let Some(geometry) = geometry::place(format, &shapes, &order, &mut slots, &mut bits) else {
            return Err(Error::new(ErrorKind::Schema, "the fixed region of a row is larger than 2 GiB"));
        };
        let fields = fields
            .iter()
            .zip(values)
            .zip(slots.into_iter().zip(bits))
            .map(|((field, value), (slot, bit))| FieldLayout {
                name: field.name.clone(),
                nullable: field.nullable,
                slot,
                bit,
                value,
            })
            .collect::<Vec<FieldLayout>>();
        let mut by_name = (0..fields.len()).collect::<Vec<_>>();
        by_name.sort_by_key(|&index| fields.get(index).map(|field| field.name.as_str()));
        Ok(Self { format, geometry, fields, order, by_name })
    }

    /// The schema hash of `fields`, which are those of this row, in the order of the bytes. Structs directly in
    /// it are taken in their order too; the contents of lists and maps are not sorted.
    fn hash(&self, fields: &[Field]) -> i64 {
        self.hash_from(crate::schema::HASH_START, fields)
    }

    fn hash_from(&self, start: i64, fields: &[Field]) -> i64 {
        let in_order =
            self.order.iter().filter_map(|&index| Some((fields.get(index)?, self.fields.get(index)?)));
        in_order.fold(start, |hash, (field, layout)| match (&field.data_type, &layout.value) {
            (DataType::Struct(fields), ValueLayout::Struct(row)) => {
                row.hash_from(hash_step(hash, field.data_type.id()), fields)
            }
            _ => crate::schema::hash_field(hash, field),
        })
    }

    pub(crate) fn field(&self, index: usize) -> Option<&FieldLayout> {
        self.fields.get(index)
    }

    /// The position of the field `name`.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        // Few names are compared faster than searched.
        const FEW: usize = 16;
        if self.fields.len() <= FEW {
            return self.fields.iter().position(|field| field.name == name);
        }
        let named = |index: &usize| self.fields.get(*index).map(|field| field.name.as_str());
        let found = self.by_name.binary_search_by(|index| named(index).cmp(&Some(name))).ok()?;
        self.by_name.get(found).copied()
    }
}

fn stored_order(shapes: &[FieldShape], format: Format) -> Vec<usize> {
    let mut order = (0..shapes.len()).collect::<Vec<_>>();
    if format == Format::Compact {
        order.sort_by_key(|&index| shapes.get(index).map(|shape| geometry::sort_key(shape.slot())));
    }
    order
}

impl ValueLayout {
    pub(crate) fn new(data_type: &DataType, format: Format) -> Result<Self> {
        Ok(match data_type {
            DataType::Bool => Self::Bool,
            DataType::Int8 => Self::Int8,
            DataType::Int16 => Self::Int16,
            DataType::Int32 => Self::Int32,
            DataType::Int64 => Self::Int64,
            DataType::Float16 => Self::Float16,
            DataType::Float32 => Self::Float32,
            DataType::Float64 => Self::Float64,
            DataType::Date32 => Self::Date32,
            DataType::Timestamp => Self::Timestamp,
            DataType::Duration => Self::Duration,
            DataType::Decimal { precision, scale } => Self::Decimal { precision: *precision, scale: *scale },
            DataType::Utf8 => Self::Utf8,
            DataType::Binary => Self::Binary,
            DataType::FixedBinary(width) if format == Format::Compact => Self::FixedBinary(
                usize::try_from(*width).map_err(|_| Error::unsupported("fixed_binary as wide"))?,
            ),
            // Java's own standard rows and arrays disagree about it.
            DataType::FixedBinary(_) => {
                return Err(Error::unsupported("fixed_binary in the standard format: use binary"));
            }
            DataType::List(element) => {
                Self::List(Box::new(ElementLayout::new(element, format, Step::Element)?))
            }
            DataType::Map(key, value) => Self::Map(Box::new(MapLayout {
                keys: ElementLayout::new(key, format, Step::Key)?,
                values: ElementLayout::new(value, format, Step::Value)?,
            })),
            DataType::Struct(fields) => Self::Struct(Box::new(RowLayout::new(fields, format)?)),
        })
    }

    /// The bytes in a slot, `None` for references.
    pub(crate) fn width(&self, format: Format) -> Option<usize> {
        format.width(match self {
            Self::Bool | Self::Int8 => Widths::fixed(1),
            Self::Int16 | Self::Float16 => Widths::fixed(2),
            Self::Int32 | Self::Float32 | Self::Date32 => Widths::fixed(4),
            Self::Int64 | Self::Float64 | Self::Timestamp | Self::Duration => Widths::fixed(8),
            Self::FixedBinary(width) => Widths { standard: None, compact: Some(*width) },
            Self::Decimal { .. } | Self::Utf8 | Self::Binary | Self::List(_) | Self::Map(_) => {
                Widths::VARIABLE
            }
            Self::Struct(row) => Widths { standard: None, compact: row.geometry.inline },
        })
    }

    /// Its name, for errors.
    pub(crate) const fn name(&self) -> &'static str {
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
            Self::Map(_) => "map",
            Self::Struct(_) => "struct",
        }
    }
}

impl ElementLayout {
    fn new(element: &Field, format: Format, step: fn(usize) -> Step) -> Result<Self> {
        let value =
            ValueLayout::new(&element.data_type, format).map_err(|error| error.in_field(&element.name))?;
        let shape = ElementShape { format, width: value.width(format), nullable: element.nullable };
        Ok(Self { shape, value, step })
    }

    /// The same error, met inside of one of them.
    #[cold]
    pub(crate) fn within(&self, index: usize, error: Error) -> Error {
        error.within((self.step)(index))
    }
}
