//! Arrays of any nesting, written and read in memory: the scan gives what was written, and any rows in any
//! order are the same rows of the scan.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::cast_possible_truncation)]

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray, FixedSizeBinaryArray,
    FixedSizeListArray, Float32Array, Int8Array, Int64Array, LargeListArray, LargeStringArray, ListArray,
    NullArray, StringArray, StructArray, UInt16Array, UInt32Array, new_empty_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use bytes::Bytes;
use lance_encoding::{Allowance, Loaded, Rows, Version, WriterOptions, field_writer, leaf_count, open_field};
use lance_footer::{
    Alignment, Container, ContainerWriter, Extent, Gather, Open, PageRecord, Step, run_on_slice,
};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(seed in any::<u64>()) {
        let mut draw = Draw(StdRng::seed_from_u64(seed));
        let data_type = draw.data_type(3);
        let rows = *draw.pick(&[1, 2, 7, 100, 1025, 3000]);
        let array = draw.array(&data_type, rows);
        let version = *draw.pick(&[Version::V2_1, Version::V2_2]);
        let options = WriterOptions { version, page_bytes: *draw.pick(&[300, 5_000, 8 << 20]), ..Default::default() };
        let what = format!("{data_type}, {rows} rows, {options:?}");
        let parts = draw.parts(&array);
        check(&mut draw, &array, &parts, &options, &what);
    }
}

#[test]
fn sizes_and_nulls() {
    for data_type in leaf_types() {
        for rows in [1, 1024, 1025, 4097] {
            for nulls in [0.0, 0.3, 1.0] {
                for version in [Version::V2_1, Version::V2_2] {
                    let mut draw = Draw(StdRng::seed_from_u64(rows as u64));
                    let array = draw.leaf(&data_type, rows, nulls);
                    let options = WriterOptions { version, ..WriterOptions::default() };
                    let what = format!("{data_type}, {rows} rows, {nulls} nulls, {version}");
                    check(&mut draw, &array, std::slice::from_ref(&array), &options, &what);
                }
            }
        }
    }
}

/// Wide members are read straight to their place, narrow ones are put in order, and both make one struct.
#[test]
fn structs_of_wide_and_narrow_members() {
    let wide = DataType::new_fixed_size_list(DataType::Float32, 80, true);
    let inner = DataType::Struct(Fields::from(vec![Field::new("text", DataType::LargeUtf8, true)]));
    let types = [DataType::Binary, DataType::Int64, wide, inner, DataType::FixedSizeBinary(300)];
    let members: Vec<_> = types
        .iter()
        .enumerate()
        .map(|(at, data_type)| Field::new(format!("m{at}"), data_type.clone(), true))
        .collect();
    for seed in 0..24 {
        let mut draw = Draw(StdRng::seed_from_u64(seed));
        let rows = 700;
        // None, some, or only wide members have nulls; so has the struct.
        let share = |of: u64| if seed & of == 0 { 0.0 } else { 0.2 };
        let long = |at: usize| format!("{at:0300}");
        let texts =
            LargeStringArray::from_iter((0..rows).map(|at| (seed & 1 == 0 || at % 5 != 0).then(|| long(at))));
        let values: Vec<ArrayRef> = vec![
            Arc::new(BinaryArray::from_iter(
                (0..rows).map(|at| (seed & 1 == 0 || at % 3 != 0).then(|| long(at))),
            )),
            draw.leaf(&DataType::Int64, rows, share(2)),
            draw.leaf(&types[2], rows, share(1)),
            Arc::new(StructArray::new(
                Fields::from(vec![Field::new("text", DataType::LargeUtf8, true)]),
                vec![Arc::new(texts)],
                draw.nulls(rows, share(8)),
            )),
            draw.leaf(&types[4], rows, 0.0),
        ];
        let nulls = draw.nulls(rows, share(4));
        let array: ArrayRef = Arc::new(StructArray::new(Fields::from(members.clone()), values, nulls));
        let version = if seed < 16 { Version::V2_2 } else { Version::V2_1 };
        let options =
            WriterOptions { version, page_bytes: *draw.pick(&[20_000, 8 << 20]), ..Default::default() };
        let parts = draw.parts(&array);
        check(&mut draw, &array, &parts, &options, &format!("seed {seed}"));
    }
}

/// What wide values cost is decided by how they are asked for: packed, in the order of the take, without lengths.
#[test]
fn wide_values_are_asked_for_in_their_final_order() {
    // Bytes that no codec makes fewer of.
    let mut random = StdRng::seed_from_u64(1);
    let images = (0..100_usize).map(|row| (0..300 + row).map(|_| random.random()).collect::<Vec<u8>>());
    let images: ArrayRef = Arc::new(BinaryArray::from_iter_values(images));
    let member = Field::new("image", DataType::Binary, true);
    let nested = StructArray::new(Fields::from(vec![member]), vec![images.clone()], None);
    for array in [images, Arc::new(nested)] {
        let field = Field::new("x", array.data_type().clone(), true);
        let (file, container) = write(&field, &[array], &WriterOptions::default());
        let reader = open_field(&field, &container.columns, Version::V2_2, &Arc::default()).unwrap();
        let rows = Rows::from_indices(&[7, 30, 99]);
        run_on_slice(reader.prepare(&rows).unwrap().unwrap(), &file).unwrap();
        let mut machine = reader.load(&rows, Some([2, 0, 2, 1].into())).unwrap();
        let Step::Fetch(asks) = machine.step(vec![]).unwrap() else { panic!("nothing is asked for") };
        let [ask] = asks.as_slice() else { panic!("{asks:?}") };
        assert_eq!(ask.gather, Gather::Packed);
        assert_eq!(ask.extents.iter().map(Extent::len).collect::<Vec<_>>(), [399, 307, 399, 330]);
    }
}

#[test]
fn no_rows_are_no_pages() {
    for data_type in leaf_types() {
        let array = new_empty_array(&data_type);
        let options = WriterOptions::default();
        let field = Field::new("x", data_type, true);
        let (_, container) = write(&field, &[array], &options);
        assert!(container.columns.iter().all(|column| column.pages.is_empty()));
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let mut draw = Draw(StdRng::seed_from_u64(5));
    let data_type = draw.data_type(3);
    let array = draw.array(&data_type, 3000);
    let field = Field::new("x", data_type, true);
    let (one, _) = write(&field, std::slice::from_ref(&array), &WriterOptions::default());
    let (other, _) = write(&field, &[array], &WriterOptions::default());
    assert_eq!(one, other);
}

/// Writes `parts`, which are `array`, and reads all of it, ranges of it, and rows here and there.
fn check(draw: &mut Draw, array: &ArrayRef, parts: &[ArrayRef], options: &WriterOptions, what: &str) {
    let field = Field::new("x", array.data_type().clone(), true);
    let (file, container) = write(&field, parts, options);
    let columns: Vec<_> = container.columns.clone();
    let reader = open_field(&field, &columns, options.version, &Arc::default()).unwrap();
    let rows = array.len() as u64;
    assert_eq!(reader.rows(), rows, "{what}");

    let load = |wanted: &Rows, order: Option<Arc<[u32]>>| -> Arc<dyn Loaded> {
        if let Some(machine) = reader.prepare(wanted).unwrap() {
            run_on_slice(machine, &file).unwrap();
        }
        run_on_slice(reader.load(wanted, order).unwrap(), &file).unwrap()
    };
    let decode =
        |loaded: &Arc<dyn Loaded>| loaded.decode(0..loaded.rows(), &mut Allowance::default()).unwrap();

    let all = load(&Rows::range(0..rows), None);
    same(&decode(&all), array, &format!("{what}: all"));
    let middle = draw.0.random_range(0..=rows);
    for part in [0..middle, middle..rows] {
        let wanted = array.slice(part.start as usize, (part.end - part.start) as usize);
        same(
            &all.decode(part.clone(), &mut Allowance::default()).unwrap(),
            &wanted,
            &format!("{what}: {part:?} of all"),
        );
        let loaded = load(&Rows::range(part.clone()), None);
        same(&decode(&loaded), &wanted, &format!("{what}: {part:?}"));
    }

    let asked: Vec<u64> = (0..draw.0.random_range(1..40)).map(|_| draw.0.random_range(0..rows)).collect();
    let wanted = Rows::from_indices(&asked);
    let sorted: Vec<u64> = wanted.ranges().iter().cloned().flatten().collect();
    let order = asked.iter().map(|row| sorted.binary_search(row).unwrap() as u32);
    let loaded = load(&wanted, Some(order.collect()));
    same(&decode(&loaded), &rows_of(array, &asked), &format!("{what}: rows {asked:?}"));
    let loaded = load(&wanted, None);
    same(&decode(&loaded), &rows_of(array, &sorted), &format!("{what}: rows {sorted:?}"));
}

fn rows_of(array: &ArrayRef, rows: &[u64]) -> ArrayRef {
    let rows: Vec<_> = rows.iter().map(|row| array.slice(*row as usize, 1)).collect();
    let rows: Vec<_> = rows.iter().map(|row| row.as_ref()).collect();
    arrow_select::concat::concat(&rows).unwrap()
}

fn same(got: &ArrayRef, wanted: &ArrayRef, what: &str) {
    assert_eq!(got.data_type(), wanted.data_type(), "{what}");
    if got != wanted {
        let mut text = String::new();
        let differ = (0..wanted.len())
            .filter(|row| *row >= got.len() || got.slice(*row, 1).as_ref() != wanted.slice(*row, 1).as_ref());
        for row in differ.take(3) {
            let got = (row < got.len()).then(|| got.slice(row, 1));
            let _ = write!(text, "\nrow {row}: {got:?} instead of {:?}", wanted.slice(row, 1));
        }
        // Keys that look up the same in another dictionary are the same.
        assert!(text.is_empty() && got.len() == wanted.len(), "{what}: {text}");
    }
}

fn write(field: &Field, arrays: &[ArrayRef], options: &WriterOptions) -> (Bytes, Container) {
    let mut writer = field_writer(field, options).unwrap();
    let mut jobs = vec![];
    for array in arrays {
        jobs.extend(writer.push(array.clone()).unwrap());
    }
    jobs.extend(writer.finish().unwrap());
    let leaves = u32::try_from(leaf_count(field)).unwrap();
    let mut container = ContainerWriter::new(options.version, Alignment::Bytes64, leaves);
    let mut file = vec![];
    for page in jobs.into_iter().flat_map(|job| job.run().unwrap()) {
        let buffers = page.buffers.iter().map(|parts| {
            file.resize(file.len().next_multiple_of(64), 0);
            let start = file.len() as u64;
            parts.iter().for_each(|part| file.extend_from_slice(part));
            Extent::between(start, file.len() as u64).unwrap()
        });
        let buffers = buffers.collect();
        let record =
            PageRecord { length: page.length, priority: page.priority, buffers, encoding: page.encoding };
        container.page(page.leaf as u32, record).unwrap();
    }
    let end = container.finish(file.len() as u64, &[]).unwrap();
    file.extend_from_slice(&end);
    let file = Bytes::from(file);
    let container = run_on_slice(Open::new(file.len() as u64, Open::TAIL), &file).unwrap();
    (file, container)
}

fn leaf_types() -> Vec<DataType> {
    let dictionary = |values| DataType::Dictionary(Box::new(DataType::Int8), Box::new(values));
    vec![
        DataType::Null,
        DataType::Boolean,
        DataType::Int8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::Int64,
        DataType::Float32,
        DataType::Decimal128(20, 3),
        DataType::FixedSizeBinary(3),
        DataType::FixedSizeBinary(300),
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Binary,
        DataType::new_fixed_size_list(DataType::Float32, 3, true),
        DataType::new_fixed_size_list(DataType::Float32, 80, true),
        DataType::new_fixed_size_list(DataType::Boolean, 5, true),
        DataType::new_fixed_size_list(DataType::new_fixed_size_list(DataType::Int8, 2, true), 2, true),
        dictionary(DataType::Utf8),
    ]
}

/// Random types and arrays.
struct Draw(StdRng);

impl Draw {
    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.0.random_range(0..from.len())]
    }

    fn data_type(&mut self, depth: u32) -> DataType {
        match self.0.random_range(0..10) {
            0..4 if depth > 0 => {
                let members = (0..self.0.random_range(1..4))
                    .map(|member| Field::new(format!("m{member}"), self.data_type(depth - 1), true));
                DataType::Struct(Fields::from(members.collect::<Vec<_>>()))
            }
            4..6 if depth > 0 => DataType::new_list(self.data_type(depth - 1), true),
            6 if depth > 0 => DataType::new_large_list(self.data_type(depth - 1), true),
            _ => self.pick(&leaf_types()).clone(),
        }
    }

    fn nulls(&mut self, len: usize, share: f64) -> Option<NullBuffer> {
        let valid: Vec<bool> = (0..len).map(|_| !self.0.random_bool(share)).collect();
        (share > 0.0).then(|| NullBuffer::from(valid))
    }

    fn array(&mut self, data_type: &DataType, len: usize) -> ArrayRef {
        let share = *self.pick(&[0.0, 0.0, 0.1, 0.5, 1.0]);
        match data_type {
            DataType::Struct(members) => {
                let values = members.iter().map(|member| self.array(member.data_type(), len)).collect();
                Arc::new(StructArray::new(members.clone(), values, self.nulls(len, share)))
            }
            DataType::List(item) => {
                let lengths = self.lengths(len);
                let items = self.array(item.data_type(), lengths.iter().sum());
                let offsets = OffsetBuffer::from_lengths(lengths);
                Arc::new(ListArray::new(item.clone(), offsets, items, self.nulls(len, share)))
            }
            DataType::LargeList(item) => {
                let lengths = self.lengths(len);
                let items = self.array(item.data_type(), lengths.iter().sum());
                let offsets = OffsetBuffer::from_lengths(lengths);
                Arc::new(LargeListArray::new(item.clone(), offsets, items, self.nulls(len, share)))
            }
            leaf => self.leaf(leaf, len, share),
        }
    }

    fn lengths(&mut self, len: usize) -> Vec<usize> {
        let (empty, longest) = (*self.pick(&[0.0, 0.2, 0.9, 1.0]), *self.pick(&[2, 4, 9]));
        let mut length = || if self.0.random_bool(empty) { 0 } else { self.0.random_range(1..longest) };
        (0..len).map(|_| length()).collect()
    }

    fn leaf(&mut self, data_type: &DataType, len: usize, share: f64) -> ArrayRef {
        let nulls = self.nulls(len, share);
        // Small numbers are packed, the same ones are a constant.
        let bound = *self.pick(&[1_u64, 100, 60_000, u64::MAX]);
        let mut numbers = || (0..len).map(|_| self.0.random_range(0..bound)).collect::<Vec<_>>();
        match data_type {
            DataType::Null => Arc::new(NullArray::new(len)),
            DataType::Boolean => {
                let bits = numbers().iter().map(|number| number % 2 == 1).collect();
                Arc::new(BooleanArray::new(bits, nulls))
            }
            DataType::Int8 => {
                let values = numbers().iter().map(|number| *number as i8).collect();
                Arc::new(Int8Array::new(values, nulls))
            }
            DataType::UInt16 => {
                let values = numbers().iter().map(|number| *number as u16).collect();
                Arc::new(UInt16Array::new(values, nulls))
            }
            DataType::UInt32 => {
                let values = numbers().iter().map(|number| *number as u32).collect();
                Arc::new(UInt32Array::new(values, nulls))
            }
            DataType::Int64 => {
                let values = numbers().iter().map(|number| *number as i64).collect();
                Arc::new(Int64Array::new(values, nulls))
            }
            DataType::Float32 => {
                let values = numbers().iter().map(|number| *number as f32).collect();
                Arc::new(Float32Array::new(values, nulls))
            }
            DataType::Decimal128(precision, scale) => {
                let values = numbers().iter().map(|number| i128::from(*number) << 3).collect();
                let array = Decimal128Array::new(values, nulls);
                Arc::new(array.with_precision_and_scale(*precision, *scale).unwrap())
            }
            DataType::FixedSizeBinary(width) => {
                let bytes: Vec<u8> =
                    numbers().iter().flat_map(|number| vec![*number as u8; *width as usize]).collect();
                Arc::new(FixedSizeBinaryArray::new(*width, bytes.into(), nulls))
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary => self.strings(data_type, len, nulls),
            DataType::FixedSizeList(item, dimension) => {
                let share = *self.pick(&[0.0, 0.3]);
                let items = self.leaf(item.data_type(), len * *dimension as usize, share);
                Arc::new(FixedSizeListArray::new(item.clone(), *dimension, items, nulls))
            }
            DataType::Dictionary(_, values) => {
                let size = self.0.random_range(1..20);
                let values = self.strings(values, size, None);
                let keys = (0..len).map(|_| self.0.random_range(0..size) as i8).collect();
                Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::new(keys, nulls), values))
            }
            other => panic!("no values of {other}"),
        }
    }

    fn strings(&mut self, data_type: &DataType, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        let (lengths, same) = (*self.pick(&[1, 20, 20, 400]), self.0.random_bool(0.1));
        let mut value = || -> Option<String> {
            let length = if same { lengths } else { self.0.random_range(0..=lengths) };
            Some((0..length).map(|at| char::from(b'a' + ((at * 7 + length) % 26) as u8)).collect())
        };
        // Nulls have strings below them too.
        let values: StringArray = (0..len).map(|_| value()).collect();
        let (offsets, bytes, _) = values.into_parts();
        match data_type {
            DataType::Utf8 => Arc::new(StringArray::new(offsets, bytes, nulls)),
            DataType::LargeUtf8 => {
                let offsets = OffsetBuffer::from_lengths(offsets.lengths());
                Arc::new(LargeStringArray::new(offsets, bytes, nulls))
            }
            _ => Arc::new(BinaryArray::new(offsets, bytes, nulls)),
        }
    }

    /// `array` in pieces.
    fn parts(&mut self, array: &ArrayRef) -> Vec<ArrayRef> {
        let mut cuts: Vec<_> =
            (0..self.0.random_range(0..4)).map(|_| self.0.random_range(0..=array.len())).collect();
        cuts.extend([0, array.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|cut| array.slice(cut[0], cut[1] - cut[0])).collect()
    }
}
