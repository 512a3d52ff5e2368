//! The worked examples of `docs/format/encoding.md`: §5.5 (levels), §6.3 (a chunk), §7.2 and §10.9 (records),
//! §8.2 (constants).

use std::sync::Arc;

use arrow_array::types::Int16Type;
use arrow_array::{
    BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, Int32Array, ListArray, StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use lance_footer::Version;

use super::number::number;
use super::*;
use crate::proto::full_zip_layout::Details;
use crate::proto::page_layout::Layout;
use crate::proto::{ConstantLayout, FullZipLayout, MiniBlockLayout};
use crate::{Layer, field_writer};

const NULLABLE: Layer = Layer::Item { nullable: true };
const VALID: Layer = Layer::Item { nullable: false };
const BOTH: Layer = Layer::List { nullable: true, emptyable: true };
const EMPTYABLE: Layer = Layer::List { nullable: false, emptyable: true };

fn ints(values: impl IntoIterator<Item = Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from_iter(values))
}

fn list(items: ArrayRef, lengths: &[usize], nulls: Option<Vec<bool>>) -> ArrayRef {
    let field = Field::new("item", items.data_type().clone(), true);
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(field.into(), offsets, items, nulls.map(NullBuffer::from)))
}

fn structs(member: &str, values: ArrayRef, nulls: Option<Vec<bool>>) -> ArrayRef {
    let field = Field::new(member, values.data_type().clone(), true);
    Arc::new(StructArray::new(vec![field].into(), vec![values], nulls.map(NullBuffer::from)))
}

fn path(array: &ArrayRef) -> LeafPath {
    let field = Field::new("x", array.data_type().clone(), true);
    leaf_paths(&field, &Rules::of(Version::V2_2).unwrap(), None).unwrap().remove(0)
}

struct Leveled {
    layers: Vec<Layer>,
    repetition: Option<Vec<u16>>,
    definition: Option<Vec<u16>>,
    values: usize,
}

fn levels(array: &ArrayRef) -> Leveled {
    let path = &path(array);
    let shredded = Shredded::new(&[LeafBatch::new(array, path).unwrap()], path).unwrap();
    let numbered = number(shredded.codes, shredded.entries, path).unwrap();
    Leveled {
        layers: numbered.numbering.layers().to_vec(),
        repetition: shredded.repetition,
        definition: numbered.definition,
        values: shredded.values.iter().map(|block| block.len()).sum(),
    }
}

#[test]
fn a_structs() {
    // [{m: {i: 1}}, null, {m: null}, {m: {i: null}}]
    let m = structs("i", ints([Some(1), None, None, None]), Some(vec![true, false, false, true]));
    let got = levels(&structs("m", m, Some(vec![true, false, true, true])));
    assert_eq!(got.layers, [NULLABLE; 3]);
    assert_eq!(got.repetition, None);
    assert_eq!(got.definition.unwrap(), [0, 3, 2, 1]);
    assert_eq!(got.values, 4);
}

/// `[[1, 2], null, [], [null, 5], [6]]`, with garbage below the null.
fn one_list() -> ArrayRef {
    let items = ints([Some(1), Some(2), Some(7), None, Some(5), Some(6)]);
    list(items, &[2, 1, 0, 2, 1], Some(vec![true, false, true, true, true]))
}

#[test]
fn b_one_list() {
    let got = levels(&one_list());
    assert_eq!(got.layers, [NULLABLE, BOTH]);
    assert_eq!(got.repetition.unwrap(), [1, 0, 1, 1, 1, 0, 1]);
    assert_eq!(got.definition.unwrap(), [0, 0, 2, 3, 1, 0, 0]);
    assert_eq!(got.values, 5);
}

#[test]
fn c_two_lists() {
    // [[[0, 1], [], [2]], [[3], null], [], null, [[4]]]
    let inner =
        list(ints((0..5).map(Some)), &[2, 0, 1, 1, 0, 1], Some(vec![true, true, true, true, false, true]));
    let got = levels(&list(inner, &[3, 2, 0, 0, 1], Some(vec![true, true, true, false, true])));
    assert_eq!(got.layers, [VALID, BOTH, BOTH]);
    assert_eq!(got.repetition.unwrap(), [2, 0, 1, 1, 2, 1, 2, 2, 2]);
    assert_eq!(got.definition.unwrap(), [0, 0, 2, 0, 0, 1, 4, 3, 0]);
    assert_eq!(got.values, 5);
}

#[test]
fn d_three_lists() {
    // [[[0, 1], [], [2]], [[3]], []], [], [[[4]]]
    let inner = list(ints((0..5).map(Some)), &[2, 0, 1, 1, 1], None);
    let middle = list(inner, &[3, 1, 0, 1], None);
    let got = levels(&list(middle, &[3, 0, 1], None));
    assert_eq!(got.layers, [VALID, EMPTYABLE, EMPTYABLE, EMPTYABLE]);
    assert_eq!(got.repetition.unwrap(), [3, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(got.definition.unwrap(), [0, 0, 1, 0, 0, 2, 3, 0]);
    assert_eq!(got.values, 5);
}

#[test]
fn e_list_of_struct() {
    // [[{a: 1}, null, {a: null}], null, []]
    let items = structs("a", ints([Some(1), None, None]), Some(vec![true, false, true]));
    let got = levels(&list(items, &[3, 0, 0], Some(vec![true, false, true])));
    assert_eq!(got.layers, [NULLABLE, NULLABLE, BOTH]);
    assert_eq!(got.repetition.unwrap(), [1, 0, 0, 1, 1]);
    assert_eq!(got.definition.unwrap(), [0, 2, 1, 3, 4]);
    assert_eq!(got.values, 3);
}

#[test]
fn f_struct_of_list() {
    // [{l: [1, null]}, null, {l: null}, {l: []}], with garbage below the nulls.
    let l = list(ints([Some(1), None, Some(7), Some(7)]), &[2, 1, 1, 0], Some(vec![true, true, false, true]));
    let got = levels(&structs("l", l, Some(vec![true, false, true, true])));
    assert_eq!(got.layers, [NULLABLE, BOTH, NULLABLE]);
    assert_eq!(got.repetition.unwrap(), [1, 0, 1, 1, 1]);
    assert_eq!(got.definition.unwrap(), [0, 1, 4, 2, 3]);
    assert_eq!(got.values, 2);
}

#[test]
fn levels_for_the_reference() {
    // [null, {l: [1]}]: the list below the null gets a level for null.
    let l = list(ints([Some(1)]), &[0, 1], None);
    let nullable = Layer::List { nullable: true, emptyable: false };
    let got = levels(&structs("l", l, Some(vec![false, true])));
    assert_eq!(got.layers, [VALID, nullable, NULLABLE]);
    assert_eq!(got.definition.unwrap(), [2, 0]);
    // [{l: [1]}, {l: [1, 2]}]: levels even if nothing is missing, and a bit for them in each record.
    let l = list(ints([Some(1), Some(1), Some(2)]), &[1, 2], None);
    let array = structs("l", l, None);
    let got = levels(&array);
    assert_eq!(got.layers, [VALID, nullable, NULLABLE]);
    assert_eq!(got.definition.unwrap(), [0, 0, 0]);
    assert_eq!(full_zip(&array).0.bits_def, 1);
}

fn pages(array: &ArrayRef, version: Version) -> Vec<EncodedPage> {
    let field = Field::new("x", array.data_type().clone(), true);
    let options = WriterOptions { version, ..WriterOptions::default() };
    let mut writer = field_writer(&field, &options).unwrap();
    let mut jobs = writer.push(array.clone()).unwrap();
    jobs.extend(writer.finish().unwrap());
    jobs.into_iter().flat_map(|job| job.run().unwrap()).collect()
}

fn page(array: &ArrayRef, version: Version) -> (Layout, Vec<Vec<u8>>) {
    let page = pages(array, version).remove(0);
    let layout = PageLayout::decode(page.encoding.as_slice()).unwrap().layout.unwrap();
    (layout, page.buffers.iter().map(|parts| parts.concat()).collect())
}

fn mini_block(array: &ArrayRef, version: Version) -> (MiniBlockLayout, Vec<Vec<u8>>) {
    match page(array, version) {
        (Layout::MiniBlockLayout(layout), buffers) => (layout, buffers),
        other => panic!("{other:?}"),
    }
}

fn constant(array: &ArrayRef) -> (ConstantLayout, Vec<Vec<u8>>) {
    match page(array, Version::V2_2) {
        (Layout::ConstantLayout(layout), buffers) => (layout, buffers),
        other => panic!("{other:?}"),
    }
}

/// The full-zip page of `array`, whatever its width.
fn full_zip(array: &ArrayRef) -> (FullZipLayout, Vec<Vec<u8>>) {
    let path = &path(array);
    let shredded = Shredded::new(&[LeafBatch::new(array, path).unwrap()], path).unwrap();
    let page = page::Page::new(shredded, path).unwrap();
    let records = full_zip::FullZip::new(&page, &page.values, &path.settings).unwrap().unwrap();
    let (layout, buffers) = records.encode().unwrap();
    let Layout::FullZipLayout(layout) = layout else { panic!("{layout:?}") };
    (layout, buffers.iter().map(|parts| parts.concat()).collect())
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

#[test]
fn a_chunk_of_a_list() {
    let (layout, buffers) = mini_block(&one_list(), Version::V2_1);
    assert!(!layout.has_large_chunk);
    assert_eq!((layout.num_items, layout.num_buffers, layout.repetition_index_depth), (5, 1, 1));
    assert_eq!(buffers[0], hex("7000"));
    let chunk = "0700 0e00 0e00 1400
        0100 0000 0100 0100 0100 0000 0100 0000
        0000 0000 0200 0300 0100 0000 0000 0000
        01000000 02000000 00000000 05000000 06000000 00000000";
    // The filler of the null is what the array had there.
    assert_eq!(buffers[1], hex(chunk));
    assert_eq!(buffers[2], hex("0500000000000000 0000000000000000"));

    let (layout, buffers) = mini_block(&one_list(), Version::V2_2);
    assert!(layout.has_large_chunk);
    assert_eq!(buffers[0], hex("80000000"));
    assert_eq!(buffers[1][..16], hex("0700 0e00 0e00 14000000 000000000000"));
}

#[test]
fn records_of_fixed_width() {
    let (layout, buffers) = full_zip(&one_list());
    assert_eq!((layout.bits_rep, layout.bits_def), (1, 2));
    assert_eq!((layout.num_items, layout.num_visible_items), (7, 5));
    assert_eq!(layout.details, Some(Details::BitsPerValue(32)));
    assert_eq!(
        buffers[0],
        hex("04 01000000 | 00 02000000 | 06 | 07 | 05 00000000 | 00 05000000 | 04 06000000")
    );
    assert_eq!(buffers[1], hex("00 0a 0b 0c 16 1b"));
}

#[test]
fn records_of_strings() {
    // [["a", "bb"], null, [], [null, ""], ["ccc"]]
    let items = StringArray::from(vec![Some("a"), Some("bb"), None, Some(""), Some("ccc")]);
    let array = list(Arc::new(items), &[2, 0, 0, 2, 1], Some(vec![true, false, true, true, true]));
    let (layout, buffers) = full_zip(&array);
    assert_eq!((layout.bits_rep, layout.bits_def), (1, 2));
    assert_eq!(layout.details, Some(Details::BitsPerOffset(32)));
    assert_eq!(
        buffers[0],
        hex("04 01000000 61 | 00 02000000 6262 | 06 | 07 | 05 | 00 00000000 | 04 03000000 636363")
    );
    assert_eq!(buffers[1], hex("00 0d 0e 0f 15 1d"));
}

#[test]
fn fixed_size_lists_with_null_items() {
    // [[1, 2], [null, 4], null]
    let values =
        [Some(vec![Some(1), Some(2)]), Some(vec![None, Some(4)]), None::<Vec<Option<i16>>>].into_iter();
    let array = FixedSizeListArray::from_iter_primitive::<Int16Type, _, _>(values, 2);
    let array: ArrayRef = Arc::new(array);
    let (layout, buffers) = full_zip(&array);
    assert_eq!(layout.details, Some(Details::BitsPerValue(40)));
    assert_eq!(buffers[0][..12], hex("00 03 0100 0200 | 00 02 0000 0400"));
    assert_eq!((buffers[0][12], buffers[0].len()), (1, 18));

    let (layout, buffers) = mini_block(&array, Version::V2_1);
    assert_eq!(layout.num_buffers, 2);
    // 3 entries | definition | bitmap | items
    assert_eq!(buffers[1][..8], hex("0300 0600 0100 0c00"));
    assert_eq!(buffers[1][8..14], hex("0000 0000 0100"));
    assert_eq!(buffers[1][16] & 0x0f, 0x0b);
    assert_eq!(buffers[1][24..32], hex("0100 0200 0000 0400"));
}

#[test]
fn constants() {
    let array: ArrayRef = Arc::new(StringArray::from(vec![Some("hi"), Some("hi"), None]));
    let (layout, buffers) = constant(&array);
    assert_eq!(layout.inline_value, None);
    assert_eq!(buffers[0], hex("02000000 08000000 02000000 00000000 02000000 6869"));
    assert_eq!(buffers[1..], [vec![], hex("0000 0000 0100")]);

    let (layout, buffers) = constant(&ints([Some(7); 5]));
    assert_eq!(layout.inline_value.unwrap(), hex("07000000"));
    assert!(buffers.is_empty());

    let (layout, buffers) = constant(&ints([None; 5]));
    assert_eq!((layout.layers, layout.inline_value), (vec![3], None));
    assert!(buffers.is_empty());
    // 2.1 has no constant values.
    mini_block(&ints([Some(7); 5]), Version::V2_1);
}

#[test]
fn constants_are_for_few_levels() {
    let rows = |rows: i32| ints((0..rows).map(|row| (row % 100 != 7).then_some(7)));
    assert!(matches!(page(&rows(250), Version::V2_2), (Layout::ConstantLayout(_), _)));
    let size = |array: &ArrayRef| page(array, Version::V2_2).1.iter().map(Vec::len).sum::<usize>();
    // Levels of 16 bits each would take 200 kB.
    assert!(size(&rows(100_000)) < 20_000, "{}", size(&rows(100_000)));
    let lists = list(ints((0..40_000).map(|_| Some(7))), &vec![4; 10_000], None);
    assert!(size(&lists) < 8000, "{}", size(&lists));
    // Without levels there is nothing smaller.
    assert_eq!(size(&ints((0..100_000).map(|_| Some(7)))), 0);
}

#[test]
fn big_batches_are_cut_at_rows() {
    let array = ints((0..100_000).map(Some));
    let field = Field::new("x", array.data_type().clone(), true);
    let options = WriterOptions { page_bytes: 65_536, ..WriterOptions::default() };
    let mut writer = field_writer(&field, &options).unwrap();
    let mut jobs = writer.push(array.slice(0, 10)).unwrap();
    jobs.extend(writer.push(array.slice(10, 99_990)).unwrap());
    jobs.extend(writer.finish().unwrap());
    let pages: Vec<_> = jobs.into_iter().flat_map(|job| job.run().unwrap()).collect();
    let mut row = 0;
    for page in &pages {
        assert_eq!(page.priority, row);
        assert!(page.length <= 16_384 * 3 / 2, "{}", page.length);
        row += page.length;
    }
    assert_eq!((row, pages.len()), (100_000, 6));
}

#[test]
fn a_run_of_missing_lists_splits_the_page() {
    // One value in the middle of 200,000 null lists.
    let rows = 200_000;
    let lengths: Vec<usize> = (0..rows).map(|row| usize::from(row == 100_000)).collect();
    let array = list(ints([Some(1)]), &lengths, Some(lengths.iter().map(|length| *length == 1).collect()));
    let pages = pages(&array, Version::V2_1);
    assert!(pages.len() > 1);
    assert_eq!(pages.iter().map(|page| page.length).sum::<u64>(), rows);
    // 1 bit of repetition and 1 of definition.
    assert!(pages.iter().all(|page| page.length <= 65_535));
}

fn structs_of(members: Vec<DataType>) -> DataType {
    let member = |(index, kind)| Field::new(format!("m{index}"), kind, true);
    DataType::Struct(members.into_iter().enumerate().map(member).collect())
}

#[test]
fn g_fixed_size_list_of_struct() {
    // [[{a:1}, null], null, [{a:null}, {a:4}]]
    let a = structs(
        "a",
        ints([Some(1), None, Some(7), Some(8), None, Some(4)]),
        Some(vec![true, false, true, true, true, true]),
    );
    let item = Field::new("item", a.data_type().clone(), true);
    let nulls = NullBuffer::from(vec![true, false, true]);
    let array: ArrayRef = Arc::new(FixedSizeListArray::new(item.into(), 2, a, Some(nulls)));
    let found = levels(&array);
    assert_eq!(found.layers, [NULLABLE; 3]);
    assert_eq!((found.repetition, found.values), (None, 6));
    assert_eq!(found.definition.unwrap(), [0, 2, 3, 3, 1, 0]);
    let pages = pages(&array, Version::V2_2);
    assert_eq!((pages.len(), pages[0].length), (1, 6));
    // A slice begins in the middle of the items; and where nothing is null there are levels for null still.
    let found = levels(&array.slice(2, 1));
    assert_eq!(found.definition.unwrap(), [1, 0]);
    assert_eq!(found.layers, [NULLABLE; 3]);
}

#[test]
fn pages_that_cannot_be_name_their_leaf_once() {
    let wide = |gap: usize| {
        // Two take more than a chunk; lists without items between them make several pages.
        let items = FixedSizeBinaryArray::new(20_000, vec![7; 160_000].into(), None);
        let lengths: Vec<_> = (0..2 * gap).map(|row| usize::from(row % gap < 4)).collect();
        list(Arc::new(items), &lengths, None)
    };
    let empty: ArrayRef = Arc::new(StructArray::new_empty_fields(3, Some(vec![true, false, true].into())));
    let bits: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    let bits = FixedSizeListArray::new(Arc::new(Field::new("item", DataType::Boolean, true)), 3, bits, None);
    let long = "writing values so long that two take a chunk of";
    for (array, layout, wanted) in [
        (structs("m", wide(4), None), Some("miniblock"), format!("m.item: {long}")),
        (wide(60_000), Some("miniblock"), format!("item: {long}")),
        (structs("m", empty, None), None, "m: writing a struct without members that is null".into()),
        (structs("m", Arc::new(bits), None), Some("fullzip"), "m: writing full-zip pages of values".into()),
    ] {
        let key = |layout: &str| ("lance-encoding:structural-encoding".to_string(), layout.to_string());
        let field = Field::new("x", array.data_type().clone(), true);
        let field = field.with_metadata(layout.map(key).into_iter().collect());
        let options = WriterOptions { version: Version::V2_1, ..WriterOptions::default() };
        let mut writer = field_writer(&field, &options).unwrap();
        let mut jobs = writer.push(array).unwrap();
        jobs.extend(writer.finish().unwrap());
        let error = jobs.into_iter().find_map(|job| job.run().err()).expect(&wanted).to_string();
        assert!(error.starts_with(&format!("unsupported: {wanted}")), "{error}");
    }
}

#[test]
fn what_cannot_be_stored_is_named() {
    let refused = |data_type: DataType| {
        let error = field_writer(&Field::new("x", data_type, true), &WriterOptions::default()).err().unwrap();
        error.to_string()
    };
    assert!(refused(DataType::Utf8View).contains("Utf8View"));
    assert!(refused(DataType::Decimal32(5, 1)).contains("Decimal32"));
    assert!(refused(DataType::Interval(arrow_schema::IntervalUnit::YearMonth)).contains("Interval"));
    let lists = DataType::new_list(DataType::Utf8View, true);
    assert_eq!(
        refused(DataType::Struct(vec![Field::new("y", lists, true)].into())),
        "unsupported: y.item: writing Utf8View; convert it to the plain type"
    );
    // What the reader refuses to walk down is not written.
    let deep = (0..100).fold(DataType::Int8, |inner, _| DataType::new_list(inner, true));
    assert!(refused(deep).contains("more than 100 types"));
    let deep = (0..33).fold(DataType::Int8, |inner, _| DataType::new_fixed_size_list(inner, 1, true));
    assert!(refused(deep).contains("more than 32 fixed-size lists"));
    assert!(refused(DataType::new_fixed_size_list(DataType::Utf8, 2, true)).contains("Utf8"));

    // What the reference cannot read is not written.
    let pairs = DataType::new_fixed_size_list(structs_of(vec![DataType::Int8]), 2, true);
    assert!(
        refused(DataType::new_list(pairs.clone(), true)).contains("fixed-size lists of structs in lists")
    );
    let lists = structs_of(vec![DataType::new_list(DataType::Int8, true)]);
    assert!(refused(DataType::new_fixed_size_list(lists, 2, true)).contains("with lists in them"));
    assert!(refused(structs_of(vec![pairs.clone(), DataType::Int8])).contains("next to other members"));
    let inner = structs_of(vec![pairs.clone(), DataType::Int8]);
    let options = WriterOptions::default();
    let inside = Field::new("x", DataType::new_fixed_size_list(inner, 3, true), true);
    assert!(field_writer(&inside, &options).is_ok());
    let old = WriterOptions { version: Version::V2_1, ..options };
    let error = field_writer(&Field::new("x", pairs, true), &old).err().unwrap();
    assert!(error.to_string().contains("before file version 2.2"), "{error}");

    let field = Field::new("x", DataType::Int32, false);
    let mut writer = field_writer(&field, &WriterOptions::default()).unwrap();
    assert!(writer.push(ints([Some(1), None])).unwrap().is_empty());
    let error = writer.finish().unwrap().remove(0).run().unwrap_err();
    assert_eq!(error.to_string(), "unsupported: writing nulls where the schema says that there are none");
}
