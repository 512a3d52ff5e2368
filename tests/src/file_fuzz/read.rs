//! Reading in every way that a caller has.

use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use lance_file::describe::describe;
use lance_file::{FileReader, OpenOptions, Rows, ScanOptions, Schema};
use lance_io::MemoryFile;
use rand::RngExt;
use rand::rngs::StdRng;

use crate::verified;

/// At most so many rows are scanned.
const SCANNED: u64 = 100_000;

/// What came of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the file could be opened.
    pub opened: bool,
    /// Whether all that was asked for could be read.
    pub read: bool,
    /// What must not be.
    pub wrong: Vec<String>,
}

/// Opens a file, scans its first rows and takes some; verifies it now and then. Errors are what is expected.
pub(super) async fn read(bytes: Bytes, rng: &mut StdRng) -> Outcome {
    let mut outcome = Outcome::default();
    if rng.random_range(0..10) == 0 {
        verified::bytes(bytes.clone()).await;
    }
    let options = OpenOptions { verify_checksums: rng.random_bool(0.5), ..Default::default() };
    let source = Arc::new(MemoryFile::new("a.lance", bytes));
    let Ok(file) = FileReader::open_with(source, options).await else { return outcome };
    outcome.opened = true;
    std::hint::black_box(describe(&file));
    let whole = file.schema().clone();
    let (scanned, taken) = (scan(&file, &whole, rng).await, take(&file, &whole, rng).await);
    outcome.read = scanned.is_some() && taken.is_some();
    // A field that fails must not hide the others.
    if !outcome.read && whole.fields.len() > 1 {
        for field in &whole.fields {
            let Ok(one) = whole.project(&[&field.name]) else { continue };
            scan(&file, &one, rng).await;
            take(&file, &one, rng).await;
        }
    }
    outcome
}

async fn scan(file: &FileReader, projection: &Schema, rng: &mut StdRng) -> Option<()> {
    let options = ScanOptions {
        projection: Some(projection.clone()),
        rows: Some(Rows::range(0..file.rows().min(SCANNED))),
        batch_rows: [7, 1000, 8192, 8192, u32::MAX][rng.random_range(0..5)],
        ..Default::default()
    };
    let stream = file.scan(options).ok()?;
    stream.try_for_each(|_| async { Ok(()) }).await.ok()
}

async fn take(file: &FileReader, projection: &Schema, rng: &mut StdRng) -> Option<()> {
    let rows = file.rows();
    if rows == 0 {
        return Some(());
    }
    let last = rows - 1;
    let mut wanted = vec![last, 0, rows / 2, rows / 3, 0];
    wanted.extend((0..rng.random_range(0..20)).map(|_| rng.random_range(0..rows)));
    if rng.random_bool(0.5) {
        wanted.sort_unstable();
        wanted.dedup();
    }
    file.take(&wanted, projection).await.ok().map(drop)
}
