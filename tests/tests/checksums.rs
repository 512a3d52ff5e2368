//! Files with checksums: whichever bit is wrong, it is found.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BinaryArray, Int64Array, ListArray, RecordBatch, StringArray};
use bytes::Bytes;
use demilance_tests::draw::Draw;
use demilance_tests::ours::{self, Shape};
use demilance_tests::{same, verified};
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use lance_file::{
    Alignment, FileReader, FileWriter, OpenOptions, ScanOptions, Schema, Version, WriteOptions,
};
use lance_footer::{Answer, Ask, ChecksumKind, Checksums, Extent};
use lance_io::{Counting, IoError, MemoryFile, ReadAt, Store};
use lance_table::{Table, WriteMode};

/// One column of each layout, and few rows.
fn batch(rows: i32) -> RecordBatch {
    let numbers = 0..rows;
    let lists = numbers.clone().map(|n| (n % 5 != 2).then(|| (0..n % 3).map(|n| (n != 1).then_some(n))));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(numbers.clone().map(i64::from).collect::<Int64Array>())),
        (
            "text",
            Arc::new(numbers.clone().map(|n| (n % 4 != 0).then(|| format!("{n}"))).collect::<StringArray>()),
        ),
        ("long", Arc::new(numbers.clone().map(|n| Some(vec![n as u8; 130])).collect::<BinaryArray>())),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
        ("constant", Arc::new(numbers.map(|_| 7).collect::<Int64Array>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn file(batch: &RecordBatch, version: Version, alignment: Alignment, checksums: bool) -> Bytes {
    let shape = Shape { alignment, checksums, ..Shape::of(version) };
    ours::run(ours::written(&batch.schema(), std::slice::from_ref(batch), shape)).unwrap()
}

#[test]
fn files_with_checksums_are_right() {
    for version in Version::ALL {
        for alignment in [Alignment::Bytes64, Alignment::Bytes4096] {
            for rows in [0, 1, 8, 3000] {
                let batch = batch(rows);
                let [without, with] = [false, true].map(|sums| file(&batch, version, alignment, sums));
                let (verified, lines) = ours::run(verified::bytes(with.clone()));
                assert!(lines.is_empty(), "{version} {alignment:?} {rows}: {lines:#?}");
                assert_eq!((verified.checksummed, verified.rows), (1, rows as u64));
                let (verified, _) = ours::run(verified::bytes(without.clone()));
                assert_eq!(verified.checksummed, 0);
                ours::run(async {
                    let file = ours::open_bytes(with).await.unwrap();
                    ours::check_layout(&with_bytes(&file).await, file.container(), alignment).unwrap();
                    let read = ours::compare(&file, &batch.schema(), std::slice::from_ref(&batch), &[]).await;
                    assert!(read.is_empty(), "{read:?}");
                });
            }
        }
    }
}

#[test]
fn files_without_columns_have_checksums() {
    ours::run(async {
        let store = Store::memory();
        for version in Version::ALL {
            let sink = store.create("a.lance", Alignment::Bytes64).await.unwrap();
            let options = WriteOptions { version, checksums: true, ..Default::default() };
            let schema = Schema::from_arrow(&arrow_schema::Schema::empty()).unwrap();
            FileWriter::new(sink, schema, options).unwrap().finish().await.unwrap();
            let file = store.read_all("a.lance").await.unwrap();
            assert!(open(file.clone()).await.unwrap().is_verified());
            let (verified, lines) = verified::bytes(file).await;
            assert_eq!((verified.checksummed, lines), (1, vec![]), "{version}");
            store.delete("a.lance").await.unwrap();
        }
    });
}

async fn with_bytes(file: &FileReader) -> Bytes {
    let all = lance_footer::Ask::slices(vec![Extent::new(0, file.source().size()).unwrap()]);
    let answers = file.source().read(vec![all]).await.unwrap();
    lance_footer::Answer::only_slices(answers, 1).unwrap().remove(0)
}

/// The table of checksums of a file, and where it lies.
fn table(file: &Bytes) -> (Extent, Checksums) {
    ours::run(async {
        let opened = ours::open_bytes(file.clone()).await.unwrap();
        let extent = *opened.container().global_buffers.last().unwrap();
        (extent, Checksums::parse(&file[extent.offset() as usize..extent.end() as usize]).unwrap())
    })
}

#[test]
fn every_byte_is_in_an_entry_or_zero() {
    for version in Version::ALL {
        for alignment in [Alignment::Bytes64, Alignment::Bytes4096] {
            let file = file(&batch(40), version, alignment, true);
            let (own, table) = table(&file);
            assert_eq!(table.file_size, file.len() as u64);
            assert!(table.zeros_between);
            let inside = |at: u64| {
                let within = |extent: Extent| extent.offset() <= at && at < extent.end();
                within(own) || table.entries.iter().any(|entry| within(entry.extent))
            };
            let stray = (0..file.len()).filter(|at| !inside(*at as u64) && file[*at] != 0).count();
            assert_eq!(stray, 0, "{version} {alignment:?}");
            let count = |kind| table.entries.iter().filter(|entry| entry.kind == kind).count();
            let columns = if version == Version::V2_0 { 6 } else { 5 };
            assert_eq!(count(ChecksumKind::ColumnMetadata), columns);
            for kind in [
                ChecksumKind::GlobalBuffer,
                ChecksumKind::CmoTable,
                ChecksumKind::GboTable,
                ChecksumKind::Footer,
            ] {
                assert_eq!(count(kind), 1, "{kind:?}");
            }
            assert!(count(ChecksumKind::PageBuffer) >= 8);
        }
    }
}

#[test]
fn global_buffers_of_the_caller_have_checksums() {
    ours::run(async {
        let batch = batch(5);
        let store = Store::memory();
        let schema = Schema::from_arrow(&batch.schema()).unwrap();
        let sink = store.create("a.lance", Alignment::Bytes64).await.unwrap();
        let options = WriteOptions { checksums: true, ..Default::default() };
        let mut writer = FileWriter::new(sink, schema, options).unwrap();
        assert_eq!(writer.global_buffer(Bytes::from_static(b"of mine")).await.unwrap(), 1);
        writer.push(&batch).await.unwrap();
        writer.finish().await.unwrap();
        let file = store.read_all("a.lance").await.unwrap();
        let opened = ours::open_bytes(file.clone()).await.unwrap();
        assert_eq!(opened.container().global_buffers.len(), 3);
        assert_eq!(opened.global_buffer(1).await.unwrap(), "of mine");
        let (verified, lines) = verified::bytes(file.clone()).await;
        assert_eq!((verified.checksummed, lines), (1, vec![]));
        let at = file.windows(7).position(|bytes| bytes == b"of mine").unwrap();
        let mut broken = file.to_vec();
        broken[at] ^= 1;
        let (_, lines) = verified::bytes(broken.into()).await;
        assert!(
            matches!(lines.as_slice(), [line] if line.contains("global buffer 1 is corrupt")),
            "{lines:?}"
        );
    });
}

/// What a bit of a file belongs to.
fn kind_of(at: u64, own: Extent, table: &Checksums) -> &'static str {
    let within = |extent: Extent| extent.offset() <= at && at < extent.end();
    match table.entries.iter().find(|entry| within(entry.extent)).map(|entry| entry.kind) {
        Some(ChecksumKind::PageBuffer) => "page",
        Some(ChecksumKind::ColumnMetadata) => "column metadata",
        Some(ChecksumKind::GlobalBuffer) => "schema",
        Some(ChecksumKind::CmoTable) => "CMO table",
        Some(ChecksumKind::GboTable) => "GBO table",
        Some(ChecksumKind::Footer) => "footer",
        Some(_) => "other",
        None if within(own) => "checksum table",
        None => "padding",
    }
}

/// Every bit of the smallest file that has a page of each layout, flipped by itself: verifying finds it, wherever it
/// is. Reading it does too, of whatever is read, or gives what was written.
fn every_flipped_bit_is_found(version: Version) {
    let batch = batch(3);
    let file = file(&batch, version, Alignment::Bytes64, true);
    let (own, table) = table(&file);
    let schema = ours::run(ours::open_bytes(file.clone())).unwrap().schema().clone();
    let expected = ours::run(ways(&file, &schema));
    let flips = Arc::new(Flips { file, own, table, schema, expected });
    assert_eq!(flips.expected.iter().filter(|way| way.is_err()).count(), 0, "{:?}", flips.expected);
    let (wrong, flipped) = ours::run(async {
        let bits = (0..flips.file.len()).collect::<Vec<_>>();
        let work = bits.chunks(bits.len().div_ceil(8)).map(|bytes| {
            let (flips, bytes) = (Arc::clone(&flips), bytes.to_vec());
            tokio::spawn(async move { flips.run(&bytes).await })
        });
        let (mut wrong, mut flipped) = (vec![], BTreeMap::new());
        for work in work.collect::<Vec<_>>() {
            let (more, counts) = work.await.unwrap();
            wrong.extend(more);
            counts.into_iter().for_each(|(what, count)| *flipped.entry(what).or_insert(0) += count);
        }
        (wrong, flipped)
    });
    println!("{version}: {} bytes, {flipped:?} bits flipped", flips.file.len());
    assert_eq!(flipped.values().sum::<usize>(), flips.file.len() * 8);
    assert_eq!(flipped.len(), 8);
    ours::none_wrong(wrong);
}

#[test]
fn every_flipped_bit_of_version_2_0() {
    every_flipped_bit_is_found(Version::V2_0);
}

#[test]
fn every_flipped_bit_of_version_2_1() {
    every_flipped_bit_is_found(Version::V2_1);
}

#[test]
fn every_flipped_bit_of_version_2_2() {
    every_flipped_bit_is_found(Version::V2_2);
}

struct Flips {
    file: Bytes,
    own: Extent,
    table: Checksums,
    schema: Schema,
    /// What all ways to read the file give.
    expected: Vec<Result<RecordBatch, String>>,
}

impl Flips {
    async fn run(&self, bytes: &[usize]) -> (Vec<String>, BTreeMap<&'static str, usize>) {
        let (mut wrong, mut flipped) = (vec![], BTreeMap::new());
        for (byte, bit) in bytes.iter().flat_map(|byte| (0..8).map(|bit| (*byte, bit))) {
            let what = kind_of(byte as u64, self.own, &self.table);
            *flipped.entry(what).or_insert(0) += 1;
            let mut broken = self.file.to_vec();
            broken[byte] ^= 1 << bit;
            let broken = Bytes::from(broken);
            let (verified, lines) = verified::bytes(broken.clone()).await;
            assert_eq!(verified.problems, lines.len() as u64);
            if lines.is_empty() {
                wrong.push(format!("bit {bit} of byte {byte} of {what}: not found by verifying"));
            }
            for (way, (actual, expected)) in
                ways(&broken, &self.schema).await.iter().zip(&self.expected).enumerate()
            {
                match (actual, expected) {
                    // All that has a checksum is read; padding is not.
                    (Err(_), _) if what != "padding" => {}
                    (Ok(actual), Ok(expected)) if actual == expected && what == "padding" => {}
                    _ => {
                        wrong.push(format!("bit {bit} of byte {byte} of {what}: way {way} gives {actual:?}"))
                    }
                }
            }
        }
        (wrong, flipped)
    }
}

/// What several ways to read all columns of a file give: rows one by one, random rows; and the same as a table has
/// it, where the schema is known from elsewhere.
async fn ways(file: &Bytes, schema: &Schema) -> Vec<Result<RecordBatch, String>> {
    let mut results = vec![];
    for schema in [None, Some(schema.clone())] {
        let options = OpenOptions { verify_checksums: true, tail: 100, schema, ..Default::default() };
        let source = Arc::new(MemoryFile::new("a.lance", file.clone()));
        let opened = FileReader::open_with(source, options).await.map_err(|error| error.to_string());
        match opened {
            Ok(opened) => {
                results.push(ours::scan(&opened, opened.schema(), 1).await);
                results.push(ours::take(&opened, &[2, 0, 1, 2], opened.schema()).await);
            }
            Err(error) => results.extend([Err(error.clone()), Err(error)]),
        }
    }
    results
}

/// With 4096 bytes there is a lot of padding, and a place for a table to hide in.
#[test]
fn flipped_bits_of_wide_files_are_found() {
    let file = file(&batch(3), Version::V2_2, Alignment::Bytes4096, true);
    let (own, table) = table(&file);
    let mut silent = vec![];
    ours::run(async {
        for byte in 0..file.len() {
            let what = kind_of(byte as u64, own, &table);
            let bits = match what {
                "GBO table" => 0..8,
                "padding" if byte % 97 != 0 => 0..0,
                _ => byte as u32 % 8..byte as u32 % 8 + 1,
            };
            for bit in bits {
                let mut broken = file.to_vec();
                broken[byte] ^= 1 << bit;
                let (_, lines) = verified::bytes(broken.into()).await;
                if lines.is_empty() {
                    silent.push(format!("bit {bit} of byte {byte} of {what}"));
                }
            }
        }
    });
    ours::none_wrong(silent);
}

async fn open(file: Bytes) -> Result<FileReader, String> {
    let options = OpenOptions { verify_checksums: true, tail: 100, ..Default::default() };
    let source = Arc::new(MemoryFile::new("a.lance", file));
    FileReader::open_with(source, options).await.map_err(|error| error.to_string())
}

/// A bit in each buffer of large pages: reads of anything in that buffer are errors, reads of other columns are not.
#[test]
fn no_row_of_a_corrupt_buffer_is_given() {
    let batch = batch(60_000);
    for version in Version::ALL {
        let shape = Shape { checksums: true, ..Shape::of(version) };
        ours::run(async {
            let file = ours::written(&batch.schema(), std::slice::from_ref(&batch), shape).await.unwrap();
            let opened = open(file.clone()).await.unwrap();
            let columns = &opened.container().columns;
            let buffers = columns.iter().flat_map(|column| &column.pages).flat_map(|page| &page.buffers);
            for buffer in buffers.filter(|buffer| !buffer.is_empty()) {
                let mut broken = file.to_vec();
                broken[(buffer.end() - 1) as usize] ^= 0x10;
                let broken = Bytes::from(broken);
                let mut found = 0;
                for field in batch.schema().fields() {
                    // Each by itself, so that no read of another one found it before.
                    let again = open(broken.clone()).await.unwrap();
                    let projection = again.schema().project(&[field.name()]).unwrap();
                    let scanned = ours::scan(&again, &projection, 1000).await;
                    let again = open(broken.clone()).await.unwrap();
                    let taken = ours::take(&again, &[59_999, 5, 31_000], &projection).await;
                    assert_eq!(scanned.is_err(), taken.is_err(), "{version} {} {buffer:?}", field.name());
                    found += usize::from(scanned.is_err());
                    for error in [scanned.err(), taken.err()].into_iter().flatten() {
                        assert!(error.contains("CRC32C"), "{error}");
                    }
                }
                assert_eq!(found, 1, "{version} {buffer:?}");
            }
            let rows = [59_999, 3, 59_999];
            assert_eq!(
                ours::compare(&opened, &batch.schema(), std::slice::from_ref(&batch), &rows).await,
                [""; 0]
            );
        });
    }
}

/// What was found to be right is not read again for that.
#[test]
fn buffers_are_checked_once() {
    let batch = batch(60_000);
    let shape = Shape { checksums: true, ..Shape::of(Version::V2_2) };
    ours::run(async {
        let file = ours::written(&batch.schema(), std::slice::from_ref(&batch), shape).await.unwrap();
        let bytes = async |verify_checksums: bool, again: bool| {
            let source = Arc::new(Counting::new(Arc::new(MemoryFile::new("a.lance", file.clone()))));
            let options = OpenOptions { verify_checksums, ..Default::default() };
            let opened = FileReader::open_with(source.clone(), options).await.unwrap();
            for row in if again { vec![7, 50_000] } else { vec![7] } {
                source.reset();
                opened.take(&[row], opened.schema()).await.unwrap();
            }
            source.bytes()
        };
        assert!(bytes(true, false).await > file.len() as u64 / 2);
        assert_eq!(bytes(true, true).await, bytes(false, true).await);
    });
}

/// A source whose reads take turns with other tasks, as those of a disk or an object store do.
#[derive(Debug)]
struct Slow(Arc<dyn ReadAt>);

impl ReadAt for Slow {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn path(&self) -> &str {
        self.0.path()
    }

    fn read(&self, asks: Vec<Ask>) -> BoxFuture<'_, Result<Vec<Answer>, IoError>> {
        async move {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            self.0.read(asks).await
        }
        .boxed()
    }
}

/// However many parts of a scan are on their way at the same time, a buffer is read for its checksum once.
#[test]
fn scans_read_no_buffer_twice_to_check_it() {
    let rows = 60_000;
    let numbers = |step: u64| (0..rows).map(move |n: u64| n.wrapping_mul(step) as i64);
    let texts = numbers(0x9e37_79b9_7f4a_7c15).map(|n| Some(format!("{n:x}")));
    let lists = numbers(0x2545_f491_4f6c_dd1d)
        .map(|n| Some((0..n % 4).map(move |item| Some(n as i32 ^ item as i32))));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(numbers(0xd605_1a25_3c1b_e9d5).collect::<Int64Array>())),
        ("text", Arc::new(texts.collect::<StringArray>())),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    for version in Version::ALL {
        let shape = Shape { checksums: true, ..Shape::of(version) };
        ours::run(async {
            let file = ours::written(&batch.schema(), std::slice::from_ref(&batch), shape).await.unwrap();
            let scanned = async |verify_checksums| {
                let source =
                    Arc::new(Counting::new(Arc::new(Slow(Arc::new(MemoryFile::new("a", file.clone()))))));
                let options = OpenOptions { verify_checksums, ..Default::default() };
                let opened = FileReader::open_with(source.clone(), options).await.unwrap();
                source.reset();
                let options = ScanOptions { batch_bytes: 64 << 10, ..Default::default() };
                let batches = opened.scan(options).unwrap().try_collect::<Vec<_>>().await.unwrap();
                assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>() as u64, rows);
                source.bytes()
            };
            let (plain, checked) = (scanned(false).await, scanned(true).await);
            let most = plain + file.len() as u64;
            assert!(checked <= most, "{version}: {checked} bytes, {plain} without checks, of {}", file.len());
        });
    }
}

fn append() -> lance_table::WriteOptions {
    lance_table::WriteOptions { mode: WriteMode::Append, ..Default::default() }
}

/// What is appended has checksums if that was said when the table was made, or is said now.
#[test]
fn tables_keep_to_checksums() {
    let said = [None, Some(false), Some(true)];
    ours::run(async {
        for first in said {
            for version in Version::ALL {
                let store = Store::memory();
                let options = lance_table::WriteOptions {
                    checksums: first,
                    version: Some(version),
                    ..Default::default()
                };
                let mut table = Table::write(store.clone(), vec![batch(9)].into(), options).await.unwrap();
                let habit = first == Some(true);
                let mut expected = u64::from(habit);
                for (step, next) in [None, Some(true), None, Some(false), None].into_iter().enumerate() {
                    let options = lance_table::WriteOptions { checksums: next, ..append() };
                    let rows = vec![batch(3)].into();
                    table = match step % 2 {
                        0 => table.write_after(rows, options).await.unwrap(),
                        _ => Table::write(store.clone(), rows, options).await.unwrap(),
                    };
                    expected += u64::from(next.unwrap_or(habit));
                    let (verified, lines, _) = verified::table(&store, None).await;
                    assert_eq!(
                        (verified.checksummed, lines),
                        (expected, vec![]),
                        "{version} {first:?} {step}"
                    );
                }
                // A table that is replaced keeps its way, too, unless another one is said.
                let mode = WriteMode::Overwrite;
                for (next, expected) in
                    [(None, u64::from(habit)), (Some(true), 1), (None, 1), (Some(false), 0)]
                {
                    let options = lance_table::WriteOptions { mode, checksums: next, ..Default::default() };
                    Table::write(store.clone(), vec![batch(2)].into(), options).await.unwrap();
                    assert_eq!(verified::table(&store, None).await.0.checksummed, expected, "{next:?}");
                }
            }
        }
    });
}

#[test]
fn tables_are_checked_when_that_is_asked_for() {
    ours::run(async {
        let store = Store::memory();
        let options = lance_table::WriteOptions { checksums: Some(true), ..Default::default() };
        let batch = batch(1000);
        Table::write(store.clone(), vec![batch.clone()].into(), options).await.unwrap();
        let checked = lance_table::OpenOptions { verify_checksums: true, ..Default::default() };
        let table = Table::open_with(store.clone(), checked).await.unwrap();
        let more = lance_table::WriteOptions { checksums: Some(false), ..append() };
        // Files without checksums beside others.
        let table = table.write_after(vec![batch.clone()].into(), more).await.unwrap();
        let expected = same::whole(&batch.schema(), &[batch.clone(), batch.clone()]).unwrap();
        ours::compare_table(&table, &expected, &[1999, 0, 1000, 7]).await.unwrap();
        let (verified, problems, _) = verified::table(&store, None).await;
        assert_eq!((verified.files, verified.checksummed, problems), (2, 1, vec![]));

        let name = format!("data/{}", table.fragments()[0].files()[0].path);
        let mut file = store.read_all(&name).await.unwrap().to_vec();
        // A value of the first column.
        file[80] ^= 1;
        store.put(&name, file.into()).await.unwrap();
        let trusting = Table::open(store.clone(), None).await.unwrap();
        assert!(ours::scan_table(&trusting).await.is_ok());
        let checked = Table::open_with(store.clone(), checked).await.unwrap();
        let more = append();
        // Versions that come from one that is checked are checked as well.
        let later = checked.write_after(vec![batch.slice(0, 1)].into(), more).await.unwrap();
        for table in [checked, later] {
            let error = ours::scan_table(&table).await.unwrap_err();
            assert!(error.contains(&name) && error.contains("CRC32C"), "{error}");
            assert!(ours::take_table(&table, &[999]).await.is_err());
            assert!(ours::take_table(&table, &[1000]).await.is_ok());
        }
        let (_, problems, _) = verified::table(&store, None).await;
        assert!(
            matches!(problems.as_slice(), [line] if line.contains("buffer 1 of page 0 of column 0")),
            "{problems:?}"
        );
    });
}

#[test]
fn files_without_checksums_are_read_as_ever() {
    ours::run(async {
        for checksums in [false, true] {
            let batch = batch(100);
            let shape = Shape { checksums, ..Shape::of(Version::V2_1) };
            let file = ours::written(&batch.schema(), std::slice::from_ref(&batch), shape).await.unwrap();
            assert_eq!(open(file.clone()).await.unwrap().is_verified(), checksums);
            assert!(!ours::open_bytes(file).await.unwrap().is_verified());
        }
    });
}

/// Tables that are signed, but make no sense: an error or what was written, and never a panic.
#[test]
fn any_table_is_read() {
    let mut draw = Draw::new(6);
    for version in Version::ALL {
        let batch = batch(3);
        let sound = file(&batch, version, Alignment::Bytes64, true);
        let (own, table) = table(&sound);
        let expected = same::whole(&batch.schema(), std::slice::from_ref(&batch)).unwrap();
        let mut read = 0;
        for _ in 0..300 {
            let mut table = table.clone();
            for _ in 0..1 + draw.below(3) {
                let other = table.entries[draw.below(table.entries.len())];
                let at = draw.below(table.entries.len());
                let entry = &mut table.entries[at];
                let shift = |draw: &mut Draw, number: u64| match draw.below(4) {
                    0 => number.wrapping_add(draw.below(200) as u64),
                    1 => number.wrapping_sub(draw.below(200) as u64),
                    2 => 0,
                    _ => u64::MAX >> draw.below(64),
                };
                match draw.below(6) {
                    0 => *entry = other,
                    1 => entry.crc ^= 1 << draw.below(32),
                    2 => entry.kind = [ChecksumKind::Other(99), ChecksumKind::Footer][draw.below(2)],
                    3 => table.file_size = shift(&mut draw, table.file_size),
                    4 => drop(table.entries.remove(at)),
                    _ => {
                        let (offset, len) = (entry.extent.offset(), entry.extent.len());
                        let extent = Extent::new(shift(&mut draw, offset), shift(&mut draw, len));
                        entry.extent = extent.unwrap_or(entry.extent);
                    }
                }
            }
            // An entry that is missing leaves the end of the room to the bytes that were there.
            let bytes = table.to_bytes().unwrap();
            let mut changed = sound.to_vec();
            changed[own.offset() as usize..][..bytes.len()].copy_from_slice(&bytes);
            let changed = Bytes::from(changed);
            ours::run(async {
                let (_, lines) = verified::bytes(changed.clone()).await;
                let Ok(opened) = open(changed).await else {
                    assert!(!lines.is_empty());
                    return;
                };
                let Ok(scanned) = ours::scan(&opened, opened.schema(), 2).await else { return };
                read += 1;
                same::check(&scanned, &expected).unwrap();
            });
        }
        println!("{version}: {read} of 300 tables were as good");
        assert!((1..200).contains(&read), "{read}");
    }
}
