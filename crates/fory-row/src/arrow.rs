//! Record batches of Arrow as rows, and rows as record batches, a column at a time.

mod column;
mod image;
mod measure;
mod number;
mod read;
mod rows;
mod schema;
mod view;
mod write;

use arrow_array::RecordBatch;

pub use rows::{Rows, RowsIter};
pub use view::BatchRows;

use crate::geometry::MAX_IMAGE;
use crate::write::too_large;
use crate::{Error, Layout, Result};
use column::{Column, columns};
use image::Image;

/// About the bytes of rows that are written a column at a time before the next ones are: what stays in the nearer caches.
const BLOCK: usize = 64 << 10;
/// The rows of the first block, whose size nobody knows.
const FIRST_BLOCK: usize = 64;

impl Layout {
    /// The rows of a batch, written a column at a time.
    ///
    /// Columns are found by the names of the fields, members of structs too; those that are no field are not looked
    /// at. A column has the type that [`Schema::from_arrow`](crate::Schema::from_arrow) makes the type of its field
    /// of, or FixedSizeBinary for binary. Nanoseconds are floored to microseconds and Date64 to days. A value that
    /// rows cannot hold is an error with its row and field: a null in a field that takes none, a time out of range, a
    /// decimal of too many digits, a row of more than 2 GiB.
    ///
    /// ```
    /// use fory_row::{Format, Layout, Schema};
    /// use arrow_array::record_batch;
    /// let batch = record_batch!(("joint", Utf8, ["hip", "knee"]), ("angle", Float32, [0.5, -0.25]))?;
    /// let layout = Layout::new(Schema::from_arrow(&batch.schema())?, Format::Compact)?;
    /// let rows = layout.encode_batch(&batch)?;
    /// let knee = rows.get(1).ok_or("two rows")?;
    /// assert_eq!(layout.row(knee)?.get::<f32>("angle")?, Some(-0.25));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode_batch(&self, batch: &RecordBatch) -> Result<Rows> {
        let mut rows = Rows::default();
        self.encode_batch_to(batch, &mut rows)?;
        Ok(rows)
    }

    /// The same, added to `rows`. A failure leaves them as they were.
    pub fn encode_batch_to(&self, batch: &RecordBatch, rows: &mut Rows) -> Result<()> {
        let columns = columns(self.root(), |name| Some(batch.column_by_name(name)?.as_ref()))?;
        let before = rows.len();
        let fixed = batch.num_rows().saturating_mul(self.fixed_len());
        let encoded = rows.reserve(batch.num_rows(), fixed).and_then(|()| {
            let (mut at, mut count) = (0, FIRST_BLOCK);
            while at < batch.num_rows() {
                count = count.min(batch.num_rows() - at);
                let bytes = self.encode_block(&columns, at, count, rows)?;
                at += count;
                count = (count.saturating_mul(BLOCK) / bytes.max(1)).max(1);
            }
            Ok(())
        });
        if encoded.is_err() {
            rows.truncate(before);
        }
        encoded
    }

    /// Adds `count` rows from row `at` on, and gives their bytes.
    fn encode_block(&self, columns: &[Column], at: usize, count: usize, rows: &mut Rows) -> Result<usize> {
        let layout = self.root();
        let size = layout.geometry.fixed_end;
        let images = (at..at + count).map(|first| Image { first, len: 1, size, ..Image::default() });
        let mut images = images.collect::<Vec<_>>();
        let mut nested = measure::measure_row(columns, layout, &mut images)
            .map_err(|fault| fault.error.in_row(at + fault.image))?;

        let start = rows.as_bytes().len();
        let mut end = start;
        for image in &mut images {
            if image.size > MAX_IMAGE {
                return Err(too_large().in_row(image.first));
            }
            (image.start, image.cursor) = (end, end + size);
            end = end.checked_add(image.size).ok_or_else(too_large)?;
        }
        rows.reserve(count, end - start)?;
        let slab = rows.grow(images.iter().map(|image| image.start + image.size));
        write::write_row(slab, columns, layout, &mut images, &mut nested)
            .map_err(|fault| fault.error.in_row(at + fault.image))?;
        match images.iter().find(|image| image.cursor != image.start + image.size) {
            None => Ok(end - start),
            Some(image) => Err(Error::value("a row is not as long as it was to be").in_row(image.first)),
        }
    }
}
