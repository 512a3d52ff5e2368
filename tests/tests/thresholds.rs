//! Values on both sides of every threshold of the writer, as round trips and through the reference: chunks of 32 KiB and
//! of 4096 values, values of 128 and 256 bytes, dictionaries of 256 items, level counts around powers of two, long rows
//! and strings, dictionaries that change, slices, batches of unlike sizes, null fixed-size lists.

use std::sync::Arc;

use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::types::{Int8Type, Int16Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Float32Array,
    Int16Array, Int32Array, Int64Array, LargeStringArray, ListArray, PrimitiveArray, RecordBatch,
    StringArray, StructArray, UInt8Array, new_empty_array,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema};
use demilance_tests::draw::{Draw, Nulls, Texture};
use demilance_tests::ours;
use demilance_tests::ours::Shape;
use demilance_tests::trial::{self, Trial};
use demilance_tests::types::{columns_of, list};
use lance_file::Version;

/// One column in batches.
struct Case {
    name: String,
    batches: Vec<ArrayRef>,
    /// When pages are closed.
    page_bytes: u64,
    /// The layout that is asked for.
    layout: Option<&'static str>,
}

impl Case {
    fn of(name: impl Into<String>, batches: Vec<ArrayRef>) -> Self {
        Self { name: name.into(), batches, page_bytes: 8 << 20, layout: None }
    }
}

fn case(name: impl Into<String>, array: impl Array + 'static) -> Case {
    Case::of(name, vec![Arc::new(array)])
}

#[test]
fn version_2_0() {
    check(Version::V2_0);
}

#[test]
fn version_2_1() {
    check(Version::V2_1);
}

#[test]
fn version_2_2() {
    check(Version::V2_2);
}

fn check(version: Version) {
    let mut draw = Draw::new(41);
    let mut cases = vec![];
    cases.extend(counts());
    cases.extend(widths());
    cases.extend(long_strings());
    cases.extend(distinct());
    cases.extend(levels());
    cases.extend(levels_beside_values());
    cases.extend(long_rows());
    cases.extend(dictionaries());
    cases.extend(dictionaries_of_one());
    cases.extend(fixed_size_lists());
    cases.extend(emptiness());
    cases.extend(slices(&mut draw, version));
    let trials = cases.into_iter().map(|case| {
        let shape = Shape { page_bytes: case.page_bytes, ..Shape::of(version) };
        let key = |layout: &str| ("lance-encoding:structural-encoding".to_string(), layout.to_string());
        let field = Field::new("x", case.batches[0].data_type().clone(), true);
        let field = field.with_metadata(case.layout.map(key).into_iter().collect());
        Trial::of_field(format!("{version} {}", case.name), field, case.batches, shape)
    });
    ours::none_wrong(trial::wrong(trials.collect(), &mut draw));
}

/// Numbers that no codec makes smaller.
fn noise(count: usize) -> impl Iterator<Item = u64> {
    let next =
        |at: usize| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ (at as u64) << 40;
    (0..count).map(move |at| next(at).wrapping_mul(0xbf58_476d_1ce4_e5b9))
}

/// Numbers of values around the end of a chunk, of each width.
fn counts() -> Vec<Case> {
    let mut cases = vec![];
    for count in [1, 2, 1023, 1024, 1025, 2045, 2046, 2047, 2048, 4095, 4096, 4097, 8191, 8192, 8193] {
        cases.push(case(
            format!("{count} bytes"),
            UInt8Array::from_iter_values(noise(count).map(|n| n as u8)),
        ));
        cases.push(case(
            format!("{count} ints"),
            Int32Array::from_iter_values(noise(count).map(|n| n as i32)),
        ));
        cases.push(case(
            format!("{count} longs"),
            Int64Array::from_iter_values(noise(count).map(|n| n as i64)),
        ));
        cases.push(case(
            format!("{count} packed"),
            Int64Array::from_iter((0..count).map(|at| (at % 5 != 0).then_some(at as i64 % 1000))),
        ));
        cases.push(case(
            format!("{count} in runs"),
            Int32Array::from_iter((0..count).map(|at| (at / 255 % 4 != 3).then_some(at as i32 / 255))),
        ));
    }
    for count in [32_768, 65_535, 65_536, 65_537] {
        let bits = BooleanArray::from_iter(noise(count).map(|n| (n % 7 != 0).then_some(n % 2 == 0)));
        cases.push(case(format!("{count} bits"), bits));
    }
    cases
}

/// Values around the width from which each is a record of its own.
fn widths() -> Vec<Case> {
    let mut cases = vec![];
    for width in [1, 8, 127, 128, 129, 255, 256, 257, 4093, 8186, 8187] {
        let bytes: Vec<u8> = noise(300 * width).map(|n| n as u8).collect();
        for nulls in [false, true] {
            let there: NullBuffer = (0..300).map(|at| !nulls || at % 3 != 1).collect();
            let there = nulls.then_some(there);
            let array = FixedSizeBinaryArray::new(width as i32, bytes.clone().into(), there);
            cases.push(case(format!("width {width}, nulls {nulls}"), array));
        }
        let text =
            |at: usize| "é".repeat(width / 2) + &"x".repeat(width % 2) + if at == 7 { "y" } else { "" };
        let texts = StringArray::from_iter((0..300).map(|at| (at % 4 != 2).then(|| text(at))));
        cases.push(case(format!("strings of {width} bytes"), texts));
    }
    cases
}

fn long_strings() -> Vec<Case> {
    let mut cases = vec![];
    for length in [4094, 8190, 16_383, 32_767, 32_768, 32_769, 65_535, 65_536, 70_001] {
        let text: String = noise(length).map(|n| char::from(b'!' + (n % 90) as u8)).collect();
        let texts = [Some(text.as_str()), None, Some(""), Some(&text[1..]), Some("short"), Some(&text)];
        cases.push(case(format!("{length} bytes in a string"), StringArray::from_iter(texts)));
        let large = LargeStringArray::from_iter(texts.into_iter().cycle().take(20));
        cases.push(case(format!("{length} bytes in a large string"), large));
        let items = StringArray::from_iter(texts);
        let lists = lists_of(Arc::new(items), [2, 0, 3, 1], Some(vec![true, false, true, true].into()));
        cases.push(case(format!("{length} bytes in a string of a list"), lists));
    }
    cases
}

/// So many distinct values.
fn distinct() -> Vec<Case> {
    let mut cases = vec![];
    for items in [1, 2, 99, 100, 101, 255, 256, 257, 511, 512, 513] {
        let texts = (0..1500).map(|at| (at % 9 != 4).then(|| format!("value {}", at * 31 % items)));
        cases.push(case(format!("{items} strings"), StringArray::from_iter(texts)));
        let longs = (0..1500).map(|at| i64::from(at * 31 % items) << 33);
        cases.push(case(format!("{items} longs"), Int64Array::from_iter_values(longs)));
    }
    for items in [65_535, 65_536, 65_537] {
        let longs = (0..4 * items).map(|at| (at / 4) << 20);
        cases.push(case(format!("{items} longs"), Int64Array::from_iter_values(longs)));
    }
    cases
}

fn lists_of(
    items: ArrayRef,
    lengths: impl IntoIterator<Item = usize>,
    nulls: Option<NullBuffer>,
) -> ListArray {
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    ListArray::new(field, OffsetBuffer::from_lengths(lengths), items, nulls)
}

/// Lists whose entries are as many.
fn levels() -> Vec<Case> {
    let mut cases = vec![];
    for power in [1, 3, 8, 9, 10, 11, 12, 15, 16] {
        for entries in [(1_usize << power) - 1, 1 << power, (1 << power) + 1] {
            // Every fifth is an empty list, the others have two items.
            let rows = entries * 5 / 9;
            let mut lengths: Vec<usize> = (0..rows).map(|row| if row % 5 == 4 { 0 } else { 2 }).collect();
            let made: usize = lengths.iter().map(|length| (*length).max(1)).sum();
            lengths.push(entries.saturating_sub(made).max(1));
            let count = lengths.iter().sum();
            let items = Int32Array::from_iter((0..count).map(|at| (at % 11 != 3).then_some(at as i32)));
            let nulls: NullBuffer = lengths.iter().enumerate().map(|(row, _)| row % 7 != 5).collect();
            let lists = lists_of(Arc::new(items), lengths.clone(), Some(nulls));
            cases.push(case(format!("{entries} entries"), lists));
            let runs = StringArray::from_iter((0..count).map(|at| (at / 300 % 2 == 0).then_some("same")));
            cases.push(case(format!("{entries} entries in runs"), lists_of(Arc::new(runs), lengths, None)));
        }
    }
    cases
}

/// Values that take half of a chunk of 32 KiB, and so many levels between them that these take the other half: rows of an
/// item, each followed by empty and null lists.
fn levels_beside_values() -> Vec<Case> {
    let mut cases = vec![];
    let rows = |items: ArrayRef, gap: usize, nulls: bool| {
        let len = items.len();
        let lengths = || (0..len * (gap + 1)).map(|row| usize::from(row % (gap + 1) == gap / 2));
        let there: NullBuffer =
            lengths().enumerate().map(|(row, length)| length > 0 || row % 2 == 0).collect();
        lists_of(items, lengths(), nulls.then_some(there))
    };
    for nulls in [false, true] {
        for gap in [1000, 14_563, 20_000, 30_000] {
            let what = format!("with gaps of {gap}, nulls {nulls}");
            for width in [8152, 8192] {
                let bytes: Vec<u8> = noise(6 * width).map(|n| n as u8).collect();
                let array =
                    rows(Arc::new(FixedSizeBinaryArray::new(width as i32, bytes.into(), None)), gap, nulls);
                let name = format!("{width} bytes {what}");
                cases.push(Case { layout: Some("miniblock"), ..case(name, array) });
            }
            for (dimension, holes) in [(65_536, false), (32_761, true), (48_000, true)] {
                let bits = noise(6 * dimension).map(|n| (!holes || n % 5 != 0).then_some(n % 3 == 0));
                let item = Arc::new(Field::new("item", DataType::Boolean, true));
                let bits: ArrayRef = Arc::new(BooleanArray::from_iter(bits));
                let bits = FixedSizeListArray::new(item, dimension as i32, bits, None);
                cases.push(case(
                    format!("{dimension} bits {what}, item nulls {holes}"),
                    rows(Arc::new(bits), gap, nulls),
                ));
            }
        }
    }
    cases
}

fn long_rows() -> Vec<Case> {
    let lengths = [3, 100_000, 0, 2];
    let nulls = || Some(NullBuffer::from(vec![true, true, false, true]));
    let count = lengths.iter().sum::<usize>();
    let ints = Int64Array::from_iter((0..count as i64).map(|at| (at % 100 != 7).then_some(at * at)));
    let texts = StringArray::from_iter_values((0..count).map(|at| format!("item {}", at * 7919 % 10_007)));
    let inner: Vec<usize> = (0..count).map(|at| usize::from(at % 3 == 0)).collect();
    let inner_items = Int32Array::from_iter_values(0..inner.iter().sum::<usize>() as i32);
    let inner = lists_of(Arc::new(inner_items), inner, None);
    let pages = |case: Case| Case { page_bytes: 10_000, ..case };
    vec![
        case("100,000 ints in a row", lists_of(Arc::new(ints.clone()), lengths, nulls())),
        pages(case("100,000 ints in a row, of many pages", lists_of(Arc::new(ints), lengths, nulls()))),
        case("100,000 strings in a row", lists_of(Arc::new(texts), lengths, nulls())),
        case("100,000 short lists in a row", lists_of(Arc::new(inner), lengths, nulls())),
    ]
}

fn keyed<K: ArrowDictionaryKeyType>(items: std::ops::Range<usize>, rows: usize) -> ArrayRef {
    let values = StringArray::from_iter_values(items.clone().map(|item| format!("word {item}")));
    let key = |row: usize| (row % 6 != 1).then(|| K::Native::usize_as(row * 7 % items.len()));
    let keys = PrimitiveArray::<K>::from_iter((0..rows).map(key));
    Arc::new(DictionaryArray::new(keys, Arc::new(values)))
}

/// Dictionaries that change from batch to batch, and come back. All of their items together can be keys: a batch that is
/// read from several pages has one dictionary.
fn dictionaries() -> Vec<Case> {
    let bytes =
        || [0..5, 0..5, 3..63, 64..100, 0..1, 0..5].map(|items| keyed::<Int8Type>(items, 150)).to_vec();
    let shorts = [0..255, 0..256, 0..257, 1000..4000].map(|items| keyed::<Int16Type>(items, 1000)).to_vec();
    let lists = bytes().into_iter().map(|words| -> ArrayRef {
        let lengths = (0..75).map(|row| if row % 4 == 1 { 0 } else { 2 }).collect::<Vec<_>>();
        Arc::new(lists_of(words, lengths, None))
    });
    vec![
        Case::of("changing dictionaries", bytes()),
        Case { page_bytes: 100, ..Case::of("changing dictionaries, small pages", bytes()) },
        Case::of("large dictionaries", shorts),
        Case::of("changing dictionaries in lists", lists.collect()),
    ]
}

/// Dictionaries of one number over and over, which packs to no bit: as one vector, as several, and of each width.
fn dictionaries_of_one() -> Vec<Case> {
    let mut cases = vec![];
    for items in [1, 2, 1000, 1024, 1025, 5000, 70_000] {
        let keys = || Int32Array::from_iter((0..300).map(|row| (row % 7 != 3).then_some(row % items as i32)));
        for (number, words) in [(0, "zeros"), (1, "ones")] {
            let values: [ArrayRef; 4] = [
                Arc::new(UInt8Array::from(vec![number as u8; items])),
                Arc::new(Int16Array::from(vec![number; items])),
                Arc::new(Int32Array::from(vec![i32::from(number); items])),
                Arc::new(Int64Array::from(vec![i64::from(number); items])),
            ];
            for values in values {
                let name = format!("{items} {words} of {} in a dictionary", values.data_type());
                cases.push(case(name, DictionaryArray::new(keys(), values)));
            }
        }
    }
    cases
}

fn fixed_size_lists() -> Vec<Case> {
    let mut cases = vec![];
    let item = || Arc::new(Field::new("item", DataType::Float32, true));
    for (dimension, rows) in [(1, 5000), (3, 3000), (63, 200), (64, 200), (65, 200), (2047, 9)] {
        for item_nulls in [false, true] {
            let values = noise(dimension * rows).map(|n| (!item_nulls || n % 5 != 0).then_some(n as f32));
            let values = Arc::new(Float32Array::from_iter(values));
            let patterns: [&dyn Fn(usize) -> bool; 4] =
                [&|row| row != 0, &|row| row + 1 != rows, &|row| row % 2 == 0, &|_| false];
            for (pattern, there) in patterns.into_iter().enumerate() {
                let nulls: NullBuffer = (0..rows).map(there).collect();
                let vectors = FixedSizeListArray::new(item(), dimension as i32, values.clone(), Some(nulls));
                let name = format!("vectors of {dimension}, item nulls {item_nulls}, pattern {pattern}");
                cases.push(case(name, vectors));
            }
        }
    }
    cases
}

fn emptiness() -> Vec<Case> {
    let strings = || -> ArrayRef { Arc::new(StringArray::from(vec![""; 5000])) };
    let none = || -> ArrayRef { Arc::new(Int32Array::from(Vec::<i32>::new())) };
    let empty_lists = lists_of(none(), vec![0; 3000], None);
    let of_empty = lists_of(Arc::new(empty_lists.clone()), [1, 2999], None);
    let some: NullBuffer = (0..3000).map(|row| row % 2 == 0).collect();
    let seven = |rows: i32| Int32Array::from_iter((0..rows).map(|row| (row % 100 != 6).then_some(7)));
    let words = (0..5000).map(|row| (row % 70 < 60).then_some("the same word"));
    let nothing = new_empty_array(&list(DataType::Utf8));
    vec![
        case("empty strings", strings()),
        case("empty lists", empty_lists),
        case("lists of empty lists", of_empty),
        case("empty and null lists", lists_of(none(), vec![0; 3000], Some(some))),
        case("lists of empty strings", lists_of(strings(), [0, 5000], None)),
        case("no rows", nothing),
        case("few of one value", seven(150)),
        case("one value and nulls", seven(5000)),
        case("one word and nulls", StringArray::from_iter(words)),
        case("lists of one value", lists_of(Arc::new(seven(6000)), vec![3; 2000], None)),
    ]
}

/// Every type in batches of unlike sizes that begin in the middle of arrays.
fn slices(draw: &mut Draw, version: Version) -> Vec<Case> {
    let columns = columns_of(version).into_iter();
    // What is null in structs has no place in version 2.0, and packed structs none in our later files.
    let plain = columns.filter(|column| {
        !column.name.starts_with("packed")
            && (version > Version::V2_0 || !matches!(column.kind, DataType::Struct(_)))
            && !column.name.contains("pair")
            && !column.name.contains("deep")
    });
    plain
        .map(|column| {
            let texture = if column.texture == Texture::Long { Texture::Few } else { column.texture };
            let nulls = if version == Version::V2_0 { Nulls::None } else { Nulls::Some };
            let array = draw.array(&column.kind, 1400, nulls, texture);
            let sizes = [1, 700, 0, 3, 65, 512];
            let mut start = 37;
            let batches = sizes.map(|rows| {
                start += rows + 1;
                array.slice(start - rows, rows)
            });
            Case { page_bytes: 3000, ..Case::of(format!("slices of {}", column.name), batches.to_vec()) }
        })
        .collect()
}

/// A struct whose members and itself are sliced apart from each other.
#[test]
fn a_struct_of_slices() {
    let ints: ArrayRef = Arc::new(Int32Array::from_iter((0..100).map(|at| (at % 3 != 0).then_some(at))));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..100).map(|at| at.to_string())));
    let members = vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true)];
    let nulls: NullBuffer = (0..60).map(|row| row % 5 != 2).collect();
    let pair = StructArray::new(members.into(), vec![ints.slice(13, 60), texts.slice(40, 60)], Some(nulls));
    let schema = Arc::new(Schema::new(vec![Field::new("x", pair.data_type().clone(), true)]));
    let column: ArrayRef = Arc::new(pair.slice(7, 50));
    let batches = [RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap()];
    for version in [Version::V2_1, Version::V2_2] {
        let wrong = ours::run(async {
            let bytes = ours::written(&schema, &batches, Shape::of(version)).await.unwrap();
            let file = ours::open_bytes(bytes).await.unwrap();
            ours::compare(&file, &schema, &batches, &[49, 0, 2, 3]).await
        });
        ours::none_wrong(wrong);
    }
}
