//! Reads training batches and says what they cost.

use std::time::Instant;

use anyhow::{Result, bail};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Fields};
use demilance::io::Counts;
use demilance::table::Table;

use super::random::Random;
use crate::{place, quantity};

/// Opens the table and takes random rows from it: whole rows, other whole rows, and without their images.
pub(super) async fn read(location: &str, rows: u64, random: &mut Random) -> Result<()> {
    let (store, counts) = place::store(location)?.counted();
    let start = Instant::now();
    let table = Table::open(store, None).await?;
    let total = table.rows();
    if total == 0 {
        bail!("{location}: no rows to read");
    }
    let version = table.version();
    crate::print(&format!(
        "  open       version {version}, {}: {}\n",
        quantity::of(total, "row"),
        cost(&counts, start)
    ))?;

    let what = quantity::of(rows, "random row");
    for name in ["batch", "again"] {
        let picked = pick(random, rows, total);
        counts.reset();
        let start = Instant::now();
        let batch = table.take(&picked, None, false).await?;
        let cost = cost(&counts, start);
        crate::print(&format!("  {name}      {what}, {}: {cost}\n", columns(&batch)))?;
    }

    let mut small = Vec::new();
    let mut images = 0;
    for (path, data_type) in leaves(table.arrow_schema().fields(), "") {
        match is_binary(&data_type) {
            true => images += 1,
            false => small.push(path),
        }
    }
    if images > 0 && !small.is_empty() {
        let picked = pick(random, rows, total);
        counts.reset();
        let start = Instant::now();
        let batch = table.take(&picked, Some(&small), false).await?;
        let cost = cost(&counts, start);
        crate::print(&format!("  no images  {what}, {}: {cost}\n", columns(&batch)))?;
    }
    Ok(())
}

/// Random numbers of rows.
pub(super) fn pick(random: &mut Random, rows: u64, total: u64) -> Vec<u64> {
    (0..rows).map(|_| random.below(total)).collect()
}

fn cost(counts: &Counts, start: Instant) -> String {
    let time = quantity::time(start.elapsed());
    let requests = quantity::of(counts.requests(), "request");
    format!("{requests}, {} in {time}", quantity::bytes(counts.bytes()))
}

/// `7 columns with 256 images of 1.9 MB`.
fn columns(batch: &RecordBatch) -> String {
    let count = leaves(batch.schema().fields(), "").len() as u64;
    let mut text = quantity::of(count, "column");
    let (mut images, mut bytes) = (0, 0);
    for column in batch.columns() {
        payload(column, &mut images, &mut bytes);
    }
    if images > 0 {
        text.push_str(&format!(" with {} of {}", quantity::of(images, "image"), quantity::bytes(bytes)));
    }
    text
}

/// The fields with the members of structs in their place, by path.
pub(super) fn leaves(fields: &Fields, before: &str) -> Vec<(String, DataType)> {
    let mut found = Vec::new();
    for field in fields {
        let path = format!("{before}{}", field.name());
        match field.data_type() {
            DataType::Struct(members) => found.extend(leaves(members, &format!("{path}."))),
            other => found.push((path, other.clone())),
        }
    }
    found
}

pub(super) const fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary)
}

/// Adds the number of binary values and their bytes.
fn payload(column: &ArrayRef, count: &mut u64, bytes: &mut u64) {
    let mut add = |length: usize| {
        *count += 1;
        *bytes += length as u64;
    };
    match column.data_type() {
        DataType::Binary => column.as_binary::<i32>().iter().flatten().for_each(|value| add(value.len())),
        DataType::LargeBinary => {
            column.as_binary::<i64>().iter().flatten().for_each(|value| add(value.len()))
        }
        DataType::Struct(_) => {
            for member in column.as_struct().columns() {
                payload(member, count, bytes);
            }
        }
        _ => {}
    }
}
