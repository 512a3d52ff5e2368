//! Parquet files.

use std::fs::File;
use std::path::Path;

use anyhow::Result;
use arrow_schema::ArrowError;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::{Batches, Look, Progress};

pub(super) fn look(path: &Path) -> Result<Look> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    let metadata = builder.metadata();
    let rows = counted(metadata.file_metadata().num_rows());
    let bytes: u64 = metadata.row_groups().iter().map(|group| counted(group.total_byte_size())).sum();
    Ok(Look {
        schema: builder.schema().as_ref().clone(),
        row_bytes: bytes.checked_div(rows),
        rows: Some(rows),
    })
}

pub(super) fn read(path: &Path, batch_rows: usize, progress: Progress) -> Result<Batches, ArrowError> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(batch_rows);
    let total = counted(builder.metadata().file_metadata().num_rows());
    let reader = builder.build()?;
    let mut done = 0u64;
    // Columns are read at many places at once, so the bar follows the rows.
    Ok(Box::new(reader.inspect(move |batch| {
        if let Ok(batch) = batch {
            let share = |rows: u64| u128::from(size) * u128::from(rows.min(total)) / u128::from(total.max(1));
            let before = share(done);
            done += batch.num_rows() as u64;
            progress.add(u64::try_from(share(done) - before).unwrap_or(0));
        }
    })))
}

/// Parquet counts in signed numbers; a negative one is as good as none.
fn counted(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
