use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field as ArrowField, Fields, Schema as ArrowSchema, SchemaRef};
use fory_row::{DataType as RowType, DecodeOptions, Field, Format, Frame, Image, Layout, Rows, Schema};

use crate::{Dataset, Error, Result};

/// Rows are made batches of in parts of about so many bytes, so that no array passes the offsets of its type.
const PART: usize = 256 << 20;

/// How rows of a table are taken. All columns in the standard format, if nothing else is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowOptions {
    /// The format of the rows.
    pub format: Format,
    /// The dotted paths of the fields that rows have, in this order; all of the table if `None`.
    pub columns: Option<Vec<String>>,
}

impl Default for RowOptions {
    fn default() -> Self {
        Self { format: Format::Standard, columns: None }
    }
}

/// Rows of a table as bytes, and the layout by which they are read.
#[derive(Debug, Clone)]
pub struct TakenRows {
    layout: Layout,
    rows: Rows,
}

impl TakenRows {
    /// What the rows hold, and how. Whoever reads them needs its [`Layout::schema`] or [`Layout::hash`].
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The rows, without frames, in the order asked.
    pub const fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Each row in a frame, as the encoders of other languages have it. Frames with a size, one behind the other, are a
    /// stream that [`RowStreamReader`](fory_row::RowStreamReader) reads.
    pub fn framed(&self, frame: Frame) -> Result<Rows> {
        if frame.image() != Image::Row {
            return Err(Error::invalid(format!("rows in frames of the kind {frame}")));
        }
        let mut buffer = vec![];
        let mut framed = Rows::default();
        for row in &self.rows {
            buffer.clear();
            frame.write(self.layout.hash(), &mut buffer, |buffer| {
                buffer.extend_from_slice(row);
                Ok(())
            })?;
            framed.push(&buffer);
        }
        Ok(framed)
    }

    /// Layout and rows.
    pub fn into_parts(self) -> (Layout, Rows) {
        (self.layout, self.rows)
    }
}

impl Dataset {
    /// How rows of the table are laid out that have all its columns: what [`Self::take_rows`] gives and what
    /// [`Self::append_rows`] takes. An error if there is no row type for a column.
    ///
    /// There is none for blobs: what is read of a table says where their values are, in numbers without a sign.
    pub fn row_layout(&self, format: Format) -> Result<Layout> {
        layout(&self.table().batch_schema(), format)
    }

    /// The rows at `rows` as rows of the Fory format, ready to be sent. Rows are counted as in [`Self::take`].
    ///
    /// Columns become fields as [`Schema::from_arrow`](fory_row::Schema::from_arrow) says: a fixed-size list is a list, a
    /// dictionary its values, a time whole microseconds. A column that rows have no type for, such as one of
    /// blobs, is an error, unless other columns are asked for.
    ///
    /// ```
    /// use demilance::{Dataset, RowOptions, WriteOptions};
    /// use demilance::arrow::record_batch;
    /// use demilance::io::Store;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let batch = record_batch!(("frame", Int64, [0, 1, 2]), ("speed", Float32, [0.0, 0.5, 0.25]))?;
    /// let table = Dataset::write_to(Store::memory(), batch, WriteOptions::default()).await?;
    ///
    /// let taken = table.take_rows(&[2, 0], RowOptions::default()).await?;
    /// let row = taken.rows().get(0).ok_or("two rows")?;
    /// assert_eq!(taken.layout().row(row)?.get::<f32>("speed")?, Some(0.25));
    ///
    /// let table = table.append_rows(taken.layout(), taken.rows()).await?;
    /// assert_eq!(table.count_rows(), 5);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn take_rows(&self, rows: &[u64], options: RowOptions) -> Result<TakenRows> {
        let RowOptions { format, columns } = options;
        // Of no rows first, so that nothing is read if there is no row type for a column.
        let none = self.table().take(&[], columns.as_deref(), false).await?;
        let layout = layout(&none.schema(), format)?;
        let batch = self.table().take(rows, columns.as_deref(), false).await?;
        let rows = layout.encode_batch(&batch)?;
        Ok(TakenRows { layout, rows })
    }

    /// Adds rows of the Fory format, which have `layout`, to the table, and gives the version that has them.
    ///
    /// Fields go by name into the columns; nullable columns may be missing. A value becomes of the type of its column
    /// if it fits: a list of the right length a fixed-size list, a number that is not negative one without a sign. All
    /// rows are read before the first is written: a row that is malformed, or has a value that does not fit, is an
    /// error with its number and its field, and the table stays as it was.
    pub async fn append_rows<'r>(
        &self,
        layout: &Layout,
        rows: impl IntoIterator<Item = &'r [u8]>,
    ) -> Result<Self> {
        let batches = batches(&self.schema(), layout, rows)?;
        self.append(batches).await
    }
}

fn layout(schema: &ArrowSchema, format: Format) -> Result<Layout> {
    Ok(Layout::new(Schema::from_arrow(schema)?.storable(format), format)?)
}

/// All rows as batches with columns of the table.
fn batches<'r>(
    table: &ArrowSchema,
    layout: &Layout,
    rows: impl IntoIterator<Item = &'r [u8]>,
) -> Result<Vec<RecordBatch>> {
    let fields = members(table.fields(), layout.schema().fields(), "")?;
    let schema = SchemaRef::from(ArrowSchema::new(fields));
    let mut batches = vec![];
    let (mut part, mut bytes, mut before) = (vec![], 0_usize, 0);
    for row in rows {
        bytes = bytes.saturating_add(row.len());
        part.push(row);
        if bytes >= PART {
            batches.push(batch(layout, &part, before, &schema)?);
            before += part.len();
            bytes = 0;
            part.clear();
        }
    }
    if !part.is_empty() || batches.is_empty() {
        batches.push(batch(layout, &part, before, &schema)?);
    }
    Ok(batches)
}

fn batch(layout: &Layout, rows: &[&[u8]], before: usize, schema: &SchemaRef) -> Result<RecordBatch> {
    let read = layout.decode_batch_as(rows.iter().copied(), schema, DecodeOptions::default());
    Ok(read.map_err(|error| match error.row() {
        Some(row) => error.in_row(before + row),
        None => error,
    })?)
}

/// The fields of `table` that rows have; or an error if rows have one that the table does not have.
fn members(table: &Fields, rows: &[Field], above: &str) -> Result<Fields> {
    if let Some(field) = rows.iter().find(|field| !table.iter().any(|own| *own.name() == field.name)) {
        let names = table.iter().map(|own| own.name().as_str()).collect::<Vec<_>>().join(", ");
        return Err(Error::invalid(format!(
            "field {:?} of the rows is not in the table, which has: {names}",
            format!("{above}{}", field.name)
        )));
    }
    let found = table.iter().filter_map(|own| {
        let field = rows.iter().find(|field| field.name == *own.name())?;
        Some(member(own, field, above))
    });
    found.collect()
}

/// The field `own` of the table with those members that rows have.
fn member(own: &Arc<ArrowField>, rows: &Field, above: &str) -> Result<Arc<ArrowField>> {
    let above = format!("{above}{}.", own.name());
    let data_type = match (own.data_type(), &rows.data_type) {
        (DataType::Struct(fields), RowType::Struct(members_of)) => {
            DataType::Struct(members(fields, members_of, &above)?)
        }
        (DataType::List(item), RowType::List(element)) => DataType::List(member(item, element, &above)?),
        (DataType::LargeList(item), RowType::List(element)) => {
            DataType::LargeList(member(item, element, &above)?)
        }
        (DataType::FixedSizeList(item, size), RowType::List(element)) => {
            DataType::FixedSizeList(member(item, element, &above)?, *size)
        }
        (DataType::Map(entries, sorted), RowType::Map(key, value)) => match entries.data_type() {
            DataType::Struct(fields) => match fields.as_ref() {
                [own_key, own_value] => {
                    let fields = [member(own_key, key, &above)?, member(own_value, value, &above)?];
                    let fields = DataType::Struct(fields.into_iter().collect());
                    DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(fields)), *sorted)
                }
                _ => own.data_type().clone(),
            },
            _ => own.data_type().clone(),
        },
        // Whether the types go together is seen when rows are read.
        (data_type, _) => data_type.clone(),
    };
    Ok(Arc::new(own.as_ref().clone().with_data_type(data_type)))
}
