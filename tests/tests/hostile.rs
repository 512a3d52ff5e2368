//! Broken files: a file that is cut off or has a wrong byte gives an error or data, and never a panic, never a
//! huge allocation, never an endless loop.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use demilance_tests::draw::Draw;
use demilance_tests::watch::Watch;
use demilance_tests::{fixture, ours};
use futures::TryStreamExt;
use lance_file::{Rows, ScanOptions};
use lance_io::Store;
use lance_table::Table;

/// One wrong byte in this many places of each file, and as many again in the metadata at the end, which are small
/// and decide everything. `DEMILANCE_FLIPS` sets another number, `DEMILANCE_SEED` other places.
const FLIPS: usize = 120;

#[test]
fn files_that_are_cut_off() {
    let mut draw = Draw::new(6);
    let watch = Watch::start();
    for (name, bytes) in files() {
        // Each of the last bytes, where the metadata are, and some of the others.
        let near = (bytes.len().saturating_sub(300)..bytes.len()).collect::<Vec<_>>();
        let far = (0..40).map(|_| draw.below(bytes.len())).collect::<Vec<_>>();
        for length in near.into_iter().chain(far).chain(0..41) {
            let cut = bytes.slice(..length.min(bytes.len()));
            watch.run(read(cut), || format!("{name} cut off after {length} bytes"));
        }
    }
    watch.finish();
}

#[test]
fn files_with_a_wrong_byte() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let mut draw = Draw::new(number("DEMILANCE_SEED").unwrap_or(7));
    let flips = number("DEMILANCE_FLIPS").map_or(FLIPS, |flips| flips as usize);
    let watch = Watch::start();
    for (name, bytes) in files() {
        let tail = bytes.len().min(2000);
        let anywhere = (0..flips).map(|_| draw.below(bytes.len())).collect::<Vec<_>>();
        let behind = (0..flips).map(|_| bytes.len() - 1 - draw.below(tail)).collect::<Vec<_>>();
        for at in anywhere.into_iter().chain(behind) {
            let mut broken = bytes.to_vec();
            // One bit, all bits, or any byte.
            let flip = match draw.below(3) {
                0 => 1 << draw.below(8),
                1 => 0xff,
                _ => 1 + draw.below(255) as u8,
            };
            broken[at] ^= flip;
            watch.run(read(broken.into()), || format!("{name} with byte {at} ^ {flip:#04x}"));
        }
    }
    watch.finish();
}

#[test]
fn tables_with_a_wrong_byte() {
    let mut draw = Draw::new(8);
    let watch = Watch::start();
    for fixture in fixture::tables() {
        let files = below(&fixture.path, &fixture.path);
        for (broken, bytes) in &files {
            // Data files have tests of their own.
            let places = if broken.starts_with("data/") { 3 } else { 40 };
            for _ in 0..places {
                let at = draw.below(bytes.len());
                let flip = 1 + draw.below(255) as u8;
                let cut = draw.chance(20);
                let mut wrong = bytes.to_vec();
                wrong[at] ^= flip;
                if cut {
                    wrong.truncate(at);
                }
                let files = files.iter().map(|(name, bytes)| {
                    (name.clone(), if name == broken { Bytes::from(wrong.clone()) } else { bytes.clone() })
                });
                let how = if cut { "cut off at".to_string() } else { format!("^ {flip:#04x} at") };
                watch.run(read_table(files.collect()), || {
                    format!("{}/{broken} {how} byte {at}", fixture.name)
                });
            }
        }
    }
    watch.finish();
}

/// The files below `directory`, with paths from `root`.
fn below(root: &Path, directory: &Path) -> Vec<(String, Bytes)> {
    let mut files = vec![];
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(below(root, &path));
        } else {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            files.push((name, std::fs::read(&path).unwrap().into()));
        }
    }
    files.sort();
    files
}

async fn read_table(files: Vec<(String, Bytes)>) {
    let store = Store::memory();
    for (name, bytes) in files {
        store.put(&name, bytes).await.unwrap();
    }
    let Ok(table) = Table::open(store, None).await else { return };
    let _ = table.versions().await;
    let _ = table.transaction().await;
    let options = lance_table::ScanOptions { limit: Some(10_000), with_row_id: true, ..Default::default() };
    if let Ok(stream) = table.scan(options) {
        let _ = stream.try_fold((), |(), _| async { Ok(()) }).await;
    }
    let rows = table.rows();
    let _ = table.take(&[rows.saturating_sub(1), 0, rows / 2], None, true).await;
}

fn files() -> Vec<(String, Bytes)> {
    let read = |path: &PathBuf| Bytes::from(std::fs::read(path).unwrap());
    fixture::files()
        .into_iter()
        .map(|file| (format!("{} {}", file.name, file.version), read(&file.path)))
        // The largest files have nothing that the others do not have, and take long.
        .filter(|(_, bytes)| bytes.len() < 150_000)
        .collect()
}

/// Scans the first rows and takes some, as far as there are any. Errors are what is expected.
async fn read(bytes: Bytes) {
    let Ok(file) = ours::open_bytes(bytes).await else { return };
    let rows = file.rows();
    let all =
        ScanOptions { rows: Some(Rows::range(0..rows.min(3000))), batch_rows: 1000, ..Default::default() };
    let scan = async {
        let stream = file.scan(all).map_err(drop)?;
        stream.map_err(drop).try_fold((), |(), _| async { Ok(()) }).await
    };
    if scan.await.is_ok() {
        let _ = take(&file, rows).await;
        return;
    }
    // One field that fails must not hide the others.
    for name in file.schema().names() {
        let Ok(projection) = file.schema().project(&[name]) else { continue };
        let options = ScanOptions { projection: Some(projection.clone()), ..Default::default() };
        let options = ScanOptions { rows: Some(Rows::range(0..rows.min(3000))), ..options };
        if let Ok(stream) = file.scan(options) {
            let _ = stream.try_fold((), |(), _| async { Ok(()) }).await;
        }
        let _ = file.take(&[rows.saturating_sub(1), 0, rows / 2], &projection).await;
    }
}

async fn take(file: &lance_file::FileReader, rows: u64) -> Result<(), lance_file::FileError> {
    file.take(&[rows.saturating_sub(1), 0, rows / 2, rows / 3, 0], file.schema()).await.map(drop)
}
