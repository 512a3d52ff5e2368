//! Rows to record batches.

mod append;
mod builder;
mod cells;
mod finish;

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::BLOCK;
use crate::raw::check_row;
use crate::value::Budget;
use crate::{DecodeOptions, Error, Layout, Result};
use builder::members;

impl Layout {
    /// The batch of `rows`, with the columns of [`Schema::to_arrow`](crate::Schema::to_arrow), read a column at a time.
    ///
    /// ```
    /// use fory_row::{DataType, Field, Format, Layout, Schema};
    /// use arrow_array::cast::AsArray;
    /// use arrow_array::types::Int64Type;
    /// let schema = Schema::new(vec![Field::new("id", DataType::Int64, false)])?;
    /// let layout = Layout::new(schema, Format::Standard)?;
    /// let mut rows = vec![vec![], vec![]];
    /// for (id, row) in (7i64..).zip(&mut rows) {
    ///     layout.write_row(row, |row| row.set("id", id))?;
    /// }
    /// let batch = layout.decode_batch(rows.iter().map(Vec::as_slice))?;
    /// assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[7, 8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode_batch<'r>(&self, rows: impl IntoIterator<Item = &'r [u8]>) -> Result<RecordBatch> {
        let schema = Arc::new(self.schema().to_arrow());
        self.decode_batch_as(rows, &schema, DecodeOptions::default())
    }

    /// The batch of `rows` with the columns of `schema`, which are found among the fields by name: all of them or some,
    /// in any order.
    ///
    /// A column may have any type that [`Schema::from_arrow`](crate::Schema::from_arrow) makes the type of its field of,
    /// but no dictionary and no map with sorted keys; and FixedSizeBinary for binary. A value that it cannot hold is
    /// an error with its row and field: a negative number where the type has no sign, a list of another length than
    /// that of a FixedSizeList, a time that is not a whole number of seconds, a null where the column takes none.
    ///
    /// `options` bound what the rows together expand to; what null structs and lists of a fixed size take in Arrow
    /// in each row is not counted.
    pub fn decode_batch_as<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r [u8]>,
        schema: &SchemaRef,
        options: DecodeOptions,
    ) -> Result<RecordBatch> {
        let layout = self.root();
        let fixed_end = layout.geometry.fixed_end;
        let mut columns = members(schema.fields(), layout)?;
        let mut len = 0_usize;
        let mut checked = vec![];
        for (index, row) in rows.into_iter().enumerate() {
            check_row(row, fixed_end).map_err(|error| error.in_row(index))?;
            len = len.saturating_add(row.len());
            checked.push(Some(row));
        }
        let absent = columns.iter().map(|(_, column)| column.absent()).fold(0, usize::saturating_add);
        let slack = options.slack.saturating_add(checked.len().saturating_mul(absent));
        let mut budget = Budget::new(DecodeOptions { slack, ..options }, len);

        let block = (BLOCK / (len / checked.len().max(1)).max(1)).max(1);
        for (ordinal, rows) in checked.chunks(block).enumerate() {
            budget.spend(rows.len().saturating_mul(fixed_end))?;
            append::append_rows(&mut columns, rows, layout, &mut budget)
                .map_err(|fault| fault.error.in_row(ordinal * block + fault.image))?;
        }
        let arrays = columns.into_iter().zip(schema.fields()).map(|((_, column), field)| {
            column.finish().map_err(|late| {
                let late = late.in_field(field.name());
                late.error.in_row(late.index)
            })
        });
        let options = RecordBatchOptions::new().with_row_count(Some(checked.len()));
        RecordBatch::try_new_with_options(schema.clone(), arrays.collect::<Result<_>>()?, &options)
            .map_err(|error| Error::value(error.to_string()))
    }
}
