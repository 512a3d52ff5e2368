//! Few bytes that stand for many: what comes out of them is bounded, and what is asked for comes at once.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, ListArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use demilance_tests::bombs::{self, Bomb, flat, full_zip, variable, words, zeros, zstd};
use demilance_tests::edit::Parts;
use demilance_tests::ours::{self, Shape};
use futures::{StreamExt, TryStreamExt};
use lance_encoding::proto::array::array_encoding::ArrayEncoding as ArrayKind;
use lance_encoding::proto::page_layout::Layout;
use lance_encoding::proto::{ConstantLayout, RepDefLayer, array};
use lance_file::{DecodeBudget, FileError, FileReader, FormatError, OpenOptions, ScanOptions, Version};
use lance_io::{MemoryFile, Store};
use lance_table::{Table, WriteOptions};
use prost::Message;

/// Bytes that a test may take, much less than what the files say.
const MEMORY: u64 = 700 << 20;

fn written(fields: Vec<Field>, columns: Vec<ArrayRef>) -> Bytes {
    written_in(Version::V2_2, fields, columns)
}

fn written_in(version: Version, fields: Vec<Field>, columns: Vec<ArrayRef>) -> Bytes {
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
    ours::run(ours::written(&schema, &[batch], Shape::of(version))).unwrap()
}

async fn open(file: &Bytes, budget: DecodeBudget) -> FileReader {
    let source = Arc::new(MemoryFile::new("a.lance", file.clone()));
    FileReader::open_with(source, OpenOptions { budget, ..Default::default() }).await.unwrap()
}

/// Runs `work` on this thread alone, and fails if it takes too much.
fn bounded<T>(work: impl Future<Output = T>) -> T {
    bounded_by(MEMORY, work)
}

/// The same where it may take `memory` bytes.
fn bounded_by<T>(memory: u64, work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (mut output, mut work) = (None, Some(work));
    let measured = allocation_counter::measure(|| output = work.take().map(|work| runtime.block_on(work)));
    assert!(measured.bytes_max < memory, "{} bytes", measured.bytes_max);
    output.unwrap()
}

#[test]
fn a_page_of_2_to_60_rows_is_read_lazily() {
    let rows = 1_u64 << 60;
    let nullable = |name: &str, data_type| Field::new(name, data_type, true);
    let file = written(
        vec![
            nullable("n", DataType::Int32),
            nullable("none", DataType::Utf8),
            nullable("flag", DataType::Boolean),
        ],
        vec![
            Arc::new(Int32Array::from(vec![7; 100])),
            Arc::new(StringArray::new_null(100)),
            Arc::new(arrow_array::BooleanArray::from(vec![true; 100])),
        ],
    );
    let mut parts = Parts::of(&file);
    parts.descriptor.length = rows;
    for column in 0..3 {
        assert_eq!(parts.columns[column].pages.len(), 1);
        parts.page(column, 0).length = rows;
    }
    let file = parts.file();
    bounded(async {
        let file = open(&file, DecodeBudget::default()).await;
        assert_eq!(file.rows(), rows);
        let batches: Vec<_> =
            file.scan(ScanOptions::default()).unwrap().take(200).try_collect().await.unwrap();
        assert!(batches.iter().all(|batch| batch.num_rows() == 8192), "{:?}", batches[0].num_rows());
        let batch = file.take(&[1 << 59, rows - 1, 0, 1 << 59], file.schema()).await.unwrap();
        assert_eq!(batch.column(0).as_primitive::<Int32Type>().values(), &[7; 4]);
        assert_eq!(batch.column(1).null_count(), 4);
        assert!(batch.column(2).as_boolean().value(3));
        // However many rows a batch may have.
        let options = ScanOptions { batch_rows: u32::MAX, ..Default::default() };
        let mut stream = file.scan(options).unwrap();
        for _ in 0..3 {
            let batch = stream.next().await.unwrap().unwrap();
            assert!(batch.get_array_memory_size() < 100 << 20, "{}", batch.num_rows());
        }
    });
}

/// A file with one string column of `rows` rows, in a page of this layout and these buffers.
fn strings(rows: u64, layout: Layout, buffers: &[&[u8]]) -> Bytes {
    column(Field::new("text", DataType::Binary, true), rows, layout, buffers)
}

/// The same with a column of another type.
fn column(field: Field, rows: u64, layout: Layout, buffers: &[&[u8]]) -> Bytes {
    let row = arrow_array::new_null_array(field.data_type(), 1);
    let mut parts = Parts::of(&written(vec![field], vec![row]));
    parts.descriptor.length = rows;
    set_buffers(&mut parts, 0, rows, buffers);
    parts.edit_layout(0, 0, |old| old.layout = Some(layout));
    parts.file()
}

#[test]
fn a_long_constant_makes_small_batches() {
    // The Arrow buffers of one string: their number and sizes, the offsets, the bytes.
    let mut value = words(&[2, 8, 1 << 20, 0, 1 << 20]);
    value.resize(value.len() + (1 << 20), b'x');
    let layers = vec![RepDefLayer::RepdefAllValidItem.into()];
    let layout = Layout::ConstantLayout(ConstantLayout { layers, ..Default::default() });
    let file = strings(1000, layout, &[&value]);
    bounded(async {
        let file = open(&file, DecodeBudget::default()).await;
        let mut stream = file.scan(ScanOptions::default()).unwrap().take(20);
        while let Some(batch) = stream.next().await {
            let rows = batch.unwrap().num_rows();
            assert!(rows <= 64, "{rows}");
        }
        // A take cannot make less of it.
        let rows: Vec<u64> = (0..1000).collect();
        let error = file.take(&rows, file.schema()).await.unwrap_err();
        assert!(error.is_over_budget(), "{error}");
        assert!(error.to_string().contains("field text: page 0: values"), "{error}");
        let error = file.take(&[5; 1000], file.schema()).await.unwrap_err();
        assert!(error.is_over_budget(), "{error}");
        assert_eq!(file.take(&[5; 100], file.schema()).await.unwrap().num_rows(), 100);
    });
}

/// A file of strings, each so many times 128 KiB of zeros.
fn bombs(blocks: &[usize]) -> Bytes {
    let mut records = vec![];
    let mut starts = vec![0];
    for blocks in blocks {
        let frame = zeros(*blocks);
        records.extend(words(&[frame.len() as u32]));
        records.extend(frame);
        starts.push(records.len() as u32);
    }
    let layout = full_zip(blocks.len(), 0, zstd(variable(32)));
    strings(blocks.len() as u64, layout, &[&records, &words(&starts)])
}

#[test]
fn what_a_few_bytes_decompress_to_is_bounded() {
    // 48 MiB each: a batch has one row.
    let file = bombs(&[384; 12]);
    assert!(file.len() < 100_000);
    bounded(async {
        let file = open(&file, DecodeBudget::default()).await;
        let mut stream = file.scan(ScanOptions::default()).unwrap();
        let mut batches = 0;
        while let Some(batch) = stream.next().await {
            let batch = batch.unwrap();
            assert_eq!((batch.num_rows(), batch.column(0).as_binary::<i32>().value(0).len()), (1, 48 << 20));
            batches += 1;
        }
        assert_eq!(batches, 12);
        let rows: Vec<u64> = (0..12).collect();
        let error = file.take(&rows, file.schema()).await.unwrap_err();
        assert!(error.is_over_budget(), "{error}");
        assert_eq!(file.take(&[9], file.schema()).await.unwrap().num_rows(), 1);
    });
}

#[test]
fn a_row_over_the_budget_is_told_with_its_place() {
    // The third row has 1 GiB.
    let file = &bombs(&[1, 1, 8192, 1]);
    bounded(async {
        let scanned = |budget| async move {
            let mut stream = open(file, budget).await.scan(ScanOptions::default()).unwrap();
            let mut rows = 0;
            while let Some(batch) = stream.next().await {
                match batch {
                    Ok(batch) => rows += batch.num_rows(),
                    Err(error) => return (rows, Some(error)),
                }
            }
            (rows, None)
        };
        let (rows, error) = scanned(DecodeBudget::default()).await;
        let Some(FileError::Format { source: FormatError::OverBudget { what, needed, allowed }, .. }) =
            &error
        else {
            panic!("{error:?}")
        };
        assert_eq!((rows, what.as_str()), (2, "field text: page 0: zstd data"));
        assert!(*needed > 256 << 20 && *allowed >= 256 << 20, "{error:?}");
        let (rows, error) = scanned(DecodeBudget { per_byte: 8, constant: 1 << 16 }).await;
        assert_eq!((rows, error.is_some_and(|error| error.is_over_budget())), (0, true));
    });
    // Whoever trusts a file gets all of it.
    let file = bombs(&[1, 1, 3072, 1]);
    ours::run(async {
        let trusting = open(&file, DecodeBudget::UNLIMITED).await;
        assert_eq!(trusting.take(&[2], trusting.schema()).await.unwrap().num_rows(), 1);
        let careful = open(&file, DecodeBudget::default()).await;
        assert!(careful.take(&[2], careful.schema()).await.unwrap_err().is_over_budget());
    });
}

/// Says that the only page of a column of version 2.0 has this encoding.
fn set_array_encoding(parts: &mut Parts, column: usize, kind: ArrayKind) {
    let encoding = array::ArrayEncoding { array_encoding: Some(kind) };
    parts.edit_encoding(column, 0, |any| any.value = encoding.encode_to_vec().into());
}

fn page_flat(buffer: u32, bits: u64, scheme: Option<&str>) -> Option<Box<array::ArrayEncoding>> {
    let buffer = Some(array::Buffer { buffer_index: buffer, buffer_type: 0 });
    let compression = scheme.map(|scheme| array::Compression { scheme: scheme.into(), level: None });
    let flat = array::Flat { bits_per_value: bits, buffer, compression };
    Some(Box::new(array::ArrayEncoding { array_encoding: Some(ArrayKind::Flat(flat)) }))
}

/// Gives the only page of a column these buffers, and as many rows.
fn set_buffers(parts: &mut Parts, column: usize, length: u64, buffers: &[&[u8]]) {
    let offsets: Vec<u64> = buffers.iter().map(|buffer| parts.append(buffer)).collect();
    let page = parts.page(column, 0);
    page.length = length;
    page.buffer_offsets = offsets;
    page.buffer_sizes = buffers.iter().map(|buffer| buffer.len() as u64).collect();
}

#[test]
fn a_long_list_of_nulls_of_version_2_0_is_bounded() {
    let dictionary = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    let vectors = DataType::new_fixed_size_list(DataType::Boolean, 100, true);
    // And how many bits each takes.
    let types = [
        (DataType::Boolean, 1),
        (DataType::Int32, 32),
        (DataType::Utf8, 32),
        (DataType::LargeBinary, 64),
        (dictionary, 64),
        (vectors, 100),
    ];
    for (item, bits) in types {
        let list = arrow_array::new_null_array(&DataType::new_large_list(item.clone(), true), 1);
        let field = Field::new("list", list.data_type().clone(), true);
        let file = written_in(Version::V2_0, vec![field], vec![list]);
        for items in [1_u64 << 30, 1 << 31] {
            if items * (bits + 1) < 1 << 32 {
                continue;
            }
            let file = list_of_nulls(&file, items);
            bounded(async {
                let file = open(&file, DecodeBudget::default()).await;
                let scanned = file.scan(ScanOptions::default()).unwrap().next().await.unwrap();
                let taken = file.take(&[0], file.schema()).await;
                for error in [scanned.unwrap_err(), taken.unwrap_err()] {
                    assert!(error.is_over_budget(), "{items} of {item}: {error}");
                }
            });
        }
    }
}

#[test]
fn more_items_than_a_list_of_version_2_0_can_have_are_refused() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
    let field = Field::new("list", list.data_type().clone(), true);
    let file = written_in(Version::V2_0, vec![field], vec![Arc::new(list)]);
    for items in [1_u64 << 30, 1 << 31, 1 << 34, 1 << 60] {
        let file = list_of_nulls(&file, items);
        bounded(async {
            let file = open(&file, DecodeBudget::default()).await;
            let error = file.take(&[0], file.schema()).await.unwrap_err();
            assert_eq!(error.is_over_budget(), items < 1 << 31, "{items}: {error}");
        });
    }
}

#[test]
fn nothing_takes_no_memory_however_much_there_is_of_it() {
    let list = arrow_array::new_null_array(&DataType::new_large_list(DataType::Null, true), 1);
    let field = Field::new("list", list.data_type().clone(), true);
    let file = list_of_nulls(&written_in(Version::V2_0, vec![field], vec![list]), 1 << 30);
    bounded_by(1 << 20, async {
        let file = open(&file, DecodeBudget::default()).await;
        let taken = file.take(&[0], file.schema()).await.unwrap();
        assert_eq!(taken.column(0).as_list::<i64>().value_length(0), 1 << 30);
    });
}

/// `file`, of version 2.0, with one list of as many nulls.
fn list_of_nulls(file: &Bytes, items: u64) -> Bytes {
    let mut parts = Parts::of(file);
    set_buffers(&mut parts, 0, 1, &[&items.to_le_bytes()]);
    let offsets = page_flat(0, 64, None);
    let list = array::List { offsets, null_offset_adjustment: items + 1, num_items: items };
    set_array_encoding(&mut parts, 0, ArrayKind::List(Box::new(list)));
    set_buffers(&mut parts, 1, items, &[]);
    let nulls = array::nullable::Nullability::AllNulls(array::AllNull {});
    let nullable = array::Nullable { nullability: Some(nulls) };
    set_array_encoding(&mut parts, 1, ArrayKind::Nullable(Box::new(nullable)));
    parts.file()
}

#[test]
fn long_strings_of_a_dictionary_of_version_2_0_make_small_batches() {
    let text = Field::new("text", DataType::Utf8, true);
    let file = written_in(Version::V2_0, vec![text], vec![Arc::new(StringArray::from(vec!["x"]))]);
    let mut parts = Parts::of(&file);
    let (rows, len) = (10_000_u64, 4_u64 << 20);
    parts.descriptor.length = rows;
    set_buffers(
        &mut parts,
        0,
        rows,
        &[&vec![1; rows as usize], &len.to_le_bytes(), &vec![b'x'; len as usize]],
    );
    let items = array::Binary {
        indices: page_flat(1, 64, None),
        bytes: page_flat(2, 8, None),
        null_adjustment: len + 1,
    };
    let items = array::ArrayEncoding { array_encoding: Some(ArrayKind::Binary(Box::new(items))) };
    let dictionary = array::Dictionary {
        indices: page_flat(0, 8, None),
        items: Some(Box::new(items)),
        num_dictionary_items: 1,
    };
    set_array_encoding(&mut parts, 0, ArrayKind::Dictionary(Box::new(dictionary)));
    let file = parts.file();
    bounded(async {
        let file = open(&file, DecodeBudget::default()).await;
        let mut stream = file.scan(ScanOptions::default()).unwrap();
        for _ in 0..20 {
            let rows = stream.next().await.unwrap().unwrap().num_rows();
            assert!(rows <= 8, "{rows}");
        }
        assert_eq!(file.take(&[7; 10], file.schema()).await.unwrap().num_rows(), 10);
        assert!(file.take(&[7; 1000], file.schema()).await.unwrap_err().is_over_budget());
    });
}

#[test]
fn what_bytes_of_version_2_0_decompress_to_is_bounded() {
    let text = Field::new("text", DataType::Utf8, true);
    let file = written_in(Version::V2_0, vec![text], vec![Arc::new(StringArray::from(vec!["x"]))]);
    let len = 1_u64 << 30;
    let mut parts = Parts::of(&file);
    let bytes = [&len.to_le_bytes()[..], &zeros(8192)].concat();
    set_buffers(&mut parts, 0, 1, &[&len.to_le_bytes(), &bytes]);
    let binary = array::Binary {
        indices: page_flat(0, 64, None),
        bytes: page_flat(1, 8, Some("zstd")),
        null_adjustment: len + 1,
    };
    set_array_encoding(&mut parts, 0, ArrayKind::Binary(Box::new(binary)));
    let file = parts.file();
    bounded(async {
        let file = open(&file, DecodeBudget::default()).await;
        let scanned = file.scan(ScanOptions::default()).unwrap().next().await.unwrap();
        let taken = file.take(&[0], file.schema()).await;
        assert!(scanned.unwrap_err().is_over_budget() && taken.unwrap_err().is_over_budget());
    });
}

#[test]
fn tables_have_a_budget() {
    let texts = StringArray::from_iter_values((0..1000).map(|_| "0".repeat(10_000)));
    let batch = RecordBatch::try_from_iter([("text", Arc::new(texts) as ArrayRef)]).unwrap();
    ours::run(async {
        let store = Store::memory();
        let options = WriteOptions {
            compression: Some(lance_file::Compression::Zstd { level: None }),
            version: Some(Version::V2_2),
            ..Default::default()
        };
        Table::write(store.clone(), vec![batch].into(), options).await.unwrap();
        let rows: Vec<u64> = (0..1000).collect();
        let table = async |budget| {
            let options = lance_table::OpenOptions { budget, ..Default::default() };
            Table::open_with(store.clone(), options).await.unwrap()
        };
        let rich = table(DecodeBudget::default()).await;
        assert_eq!(rich.take(&rows, None, false).await.unwrap().num_rows(), 1000);
        // Less than what comes out of compressed bytes, and less than what is kept of it: 10 MB.
        for constant in [1 << 20, 6 << 20] {
            let poor = table(DecodeBudget { per_byte: 8, constant }).await;
            // However often it is tried.
            for _ in 0..3 {
                let error = poor.take(&rows, None, false).await.unwrap_err().to_string();
                assert!(error.contains("field text: page 0") && error.contains("the budget of"), "{error}");
            }
        }
    });
}

#[test]
fn levels_over_the_budget_are_told_with_their_place() {
    // Half a GiB of levels, all 0, in 16 KiB.
    let rows = 1_u64 << 28;
    let layout = Layout::ConstantLayout(ConstantLayout {
        layers: vec![RepDefLayer::RepdefNullableItem.into()],
        def_compression: Some(zstd(flat(16))),
        num_def_values: rows,
        ..Default::default()
    });
    let file = strings(rows, layout, &[&[], &zeros(4096)]);
    bounded(async {
        let file = open(&file, DecodeBudget::default()).await;
        let error = file.take(&[3], file.schema()).await.unwrap_err();
        assert!(error.is_over_budget(), "{error}");
        assert!(error.to_string().contains("field text: page 0: levels"), "{error}");
    });
}

#[test]
fn bombs_are_refused_before_they_go_off() {
    for bomb in bombs::all() {
        let Bomb { name, field, rows, layout, buffers, taken, budget, memory, too_much } = bomb;
        let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
        let file = column(field, rows, layout, &buffers);
        bounded_by(memory, async {
            let file = open(&file, budget).await;
            let rows: Vec<u64> = taken.map_or_else(|| (0..rows).collect(), |row| vec![row]);
            // However often it is tried.
            for _ in 0..2 {
                let error = file.take(&rows, file.schema()).await.unwrap_err();
                assert_eq!(error.is_over_budget(), too_much, "{name}: {error}");
                assert!(error.to_string().contains("field x"), "{name}: {error}");
            }
        });
    }
}

#[test]
fn descriptions_of_blobs_have_a_budget() {
    let (rows, layout, buffers) = bombs::empty_blobs(1000);
    let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
    let file = column(Field::new("x", DataType::LargeBinary, true), rows, layout, &buffers);
    bounded_by(16 << 20, async {
        let file = open(&file, DecodeBudget { per_byte: 8, constant: 1 << 20 }).await;
        // The second time as the first.
        for _ in 0..2 {
            let mut stream = file.scan(ScanOptions::default()).unwrap();
            let error = loop {
                if let Err(error) = stream.next().await.unwrap() {
                    break error;
                }
            };
            assert!(error.is_over_budget() && error.to_string().contains("field x: page 0"), "{error}");
        }
        // Those that are held are still there.
        assert_eq!(file.take(&[7, 4000], file.schema()).await.unwrap().num_rows(), 2);
        assert!(file.take(&[rows - 1], file.schema()).await.unwrap_err().is_over_budget());
    });
}
