//! Which encodings are written, where pages end, what is refused.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Int8Array, Int16Array, Int32Array,
    LargeStringArray, ListArray, NullArray, StringArray, StructArray, UInt16Array, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use lance_footer::{Column, ColumnKind, Extent, Page, Result, Rows, Version, run_on_slice};

use crate::describe::describe_page;
use crate::{Compression, EncodedPage, WriterOptions, field_writer, open_field};

fn options(page_bytes: u64) -> WriterOptions {
    WriterOptions { version: Version::V2_0, page_bytes, ..WriterOptions::default() }
}

/// The pages of `arrays`, and the columns and bytes that they make.
fn written(field: &Field, arrays: &[ArrayRef], options: &WriterOptions) -> Result<(Vec<Column>, Vec<u8>)> {
    let mut writer = field_writer(field, options)?;
    let mut jobs = vec![];
    for array in arrays {
        jobs.extend(writer.push(Arc::clone(array))?);
    }
    jobs.extend(writer.finish()?);
    let (mut columns, mut bytes) = (vec![], vec![]);
    for job in jobs {
        for EncodedPage { leaf, length, priority, buffers, encoding } in job.run()? {
            assert_eq!(priority, 0);
            let empty = Column { kind: ColumnKind::Values, pages: vec![], buffers: vec![] };
            columns.resize(columns.len().max(leaf + 1), empty);
            let mut extents = vec![];
            for parts in buffers {
                let start = bytes.len() as u64;
                parts.iter().for_each(|part| bytes.extend_from_slice(part));
                extents.push(Extent::between(start, bytes.len() as u64).unwrap());
            }
            columns[leaf].pages.push(Page { length, priority, buffers: extents, encoding: encoding.into() });
        }
    }
    Ok((columns, bytes))
}

/// Writes `arrays` and reads them again; what each page of each column is, and its length.
fn check(field: &Field, arrays: &[ArrayRef], options: &WriterOptions) -> Vec<Vec<(String, u64)>> {
    let (columns, bytes) = written(field, arrays, options).unwrap();
    let described = columns.iter().map(|column| {
        let pages = column.pages.iter();
        let pages = pages.map(|page| (describe_page(&page.encoding, Version::V2_0).to_string(), page.length));
        pages.collect()
    });
    let described = described.collect();
    let columns: Vec<_> = columns.into_iter().map(Arc::new).collect();
    let reader = open_field(field, &columns, Version::V2_0, &Arc::default()).unwrap();
    let rows = Rows::range(0..reader.rows());
    let loaded = run_on_slice(reader.load(&rows, None).unwrap(), &bytes.into()).unwrap();
    let read = loaded.decode(0..rows.len(), &mut crate::Allowance::default()).unwrap();
    let parts: Vec<_> = arrays.iter().map(AsRef::as_ref).collect();
    let wanted = arrow_select::concat::concat(&parts).unwrap();
    if let DataType::Dictionary(_, value) = field.data_type() {
        let plain = |array: &ArrayRef| arrow_cast_to(array, value);
        assert_eq!(plain(&read).as_ref(), plain(&wanted).as_ref());
    } else {
        assert_eq!(read.as_ref(), wanted.as_ref());
    }
    described
}

/// A dictionary's values, one a row.
fn arrow_cast_to(array: &ArrayRef, value: &DataType) -> ArrayRef {
    use arrow_array::cast::AsArray;
    let dictionary = array.as_any_dictionary();
    let keys = dictionary.normalized_keys();
    let valid = array.logical_nulls().unwrap_or_else(|| NullBuffer::new_valid(array.len()));
    let keys = keys.iter().zip(&valid).map(|(key, valid)| valid.then_some(*key as u64));
    let keys: arrow_array::UInt64Array = keys.collect();
    let taken = arrow_select::take::take(dictionary.values(), &keys, None).unwrap();
    assert_eq!(taken.data_type(), value);
    taken
}

fn field(data_type: DataType) -> Field {
    Field::new("x", data_type, true)
}

fn with(data_type: DataType, key: &str, value: &str) -> Field {
    field(data_type).with_metadata([(format!("lance-encoding:{key}"), value.to_string())].into())
}

fn ints(values: impl IntoIterator<Item = Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from_iter(values))
}

fn texts(values: impl IntoIterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(values))
}

fn one(name: &str, length: u64) -> Vec<(String, u64)> {
    vec![(name.into(), length)]
}

#[test]
fn numbers_bits_and_nulls() {
    let whole = ints((0..5).map(Some));
    let holes = ints([Some(1), None, Some(3)]);
    let pages = check(&field(DataType::Int32), &[whole.clone(), whole.slice(1, 3)], &options(1000));
    assert_eq!(pages, [one("no-nulls(flat)", 8)]);
    let pages = check(&field(DataType::Int32), &[whole.clone(), holes.slice(1, 2)], &options(1000));
    assert_eq!(pages, [one("some-nulls(validity: flat, flat)", 7)]);
    let pages = check(&field(DataType::Int32), &[new_null_array(&DataType::Int32, 4)], &options(1000));
    assert_eq!(pages, [one("all-nulls", 4)]);
    let pages = check(&field(DataType::Null), &[Arc::new(NullArray::new(4))], &options(1000));
    assert_eq!(pages, [one("all-nulls", 4)]);
    let bits: ArrayRef = Arc::new(BooleanArray::from((0..21).map(|at| at % 3 == 0).collect::<Vec<_>>()));
    let pages = check(&field(DataType::Boolean), &[bits.slice(3, 11), bits], &options(1000));
    assert_eq!(pages, [one("no-nulls(flat)", 32)]);
    assert!(written(&field(DataType::Int32), &[], &options(1000)).unwrap().0.is_empty());
    // Rows of a large array are shared out, and small ones wait until there are enough.
    let pages = check(&field(DataType::Int32), &[ints((0..100).map(Some))], &options(100));
    assert_eq!(pages[0].iter().map(|page| page.1).collect::<Vec<_>>(), [50, 50]);
    let pages = check(&field(DataType::Int32), &vec![whole; 7], &options(50));
    assert_eq!(pages[0].iter().map(|page| page.1).collect::<Vec<_>>(), [15, 15, 5]);
}

#[test]
fn vectors() {
    let items = Arc::new(Int16Array::from(vec![Some(1), Some(2), None, Some(4), Some(5), Some(6)]));
    let item = Arc::new(Field::new("item", DataType::Int16, true));
    let nulls = NullBuffer::from(vec![true, false, true]);
    let vectors: ArrayRef = Arc::new(FixedSizeListArray::new(item, 2, items, Some(nulls)));
    let field = field(vectors.data_type().clone());
    let pages = check(&field, &[vectors.slice(1, 2), vectors], &options(1000));
    let name = "some-nulls(validity: flat, fixed-size-list(some-nulls(validity: flat, flat)))";
    assert_eq!(pages, [one(name, 5)]);
}

#[test]
fn few_distinct_strings_are_a_dictionary() {
    let few =
        |rows: i32, distinct| texts((0..rows).map(|at| (at % 7 != 3).then(|| format!("{}", at % distinct))));
    let utf8 = field(DataType::Utf8);
    let dictionary =
        "dictionary(indices: no-nulls(flat), dictionary: binary(indices: no-nulls(flat), bytes: flat))";
    let binary = "binary(indices: no-nulls(flat), bytes: flat)";
    let big = options(1 << 20);
    assert_eq!(check(&utf8, &[few(100, 20)], &big), [one(dictionary, 100)]);
    assert_eq!(check(&utf8, &[few(60, 20), few(60, 30)], &big), [one(dictionary, 120)]);
    assert_eq!(check(&utf8, &[few(99, 20)], &big), [one(binary, 99)]);
    assert_eq!(check(&utf8, &[few(10_000, 99)], &big), [one(dictionary, 10_000)]);
    assert_eq!(check(&utf8, &[few(10_000, 100)], &big), [one(binary, 10_000)]);
    assert_eq!(check(&utf8, &[new_null_array(&DataType::Utf8, 100)], &big), [one(dictionary, 100)]);
    assert_eq!(check(&utf8, &[new_null_array(&DataType::Utf8, 5)], &big), [one(binary, 5)]);
    let large: ArrayRef = Arc::new(LargeStringArray::from(vec!["a"; 200]));
    assert_eq!(check(&field(DataType::LargeUtf8), &[large], &big), [one(binary, 200)]);
}

#[test]
fn strings_are_compressed_if_that_is_asked_for() {
    let many = || {
        [
            texts((0..300).map(|at| (at % 9 != 2).then(|| format!("the {at}th text of many like it")))),
            texts([None, Some(String::new())]),
        ]
    };
    let large: [ArrayRef; 1] =
        [Arc::new(LargeStringArray::from_iter_values((0..200).map(|at| at.to_string())))];
    let check = |field: &Field, arrays: &[ArrayRef], options: &WriterOptions| {
        check(field, arrays, options).remove(0).remove(0).0
    };
    for (scheme, name) in [
        ("zstd", "binary(indices: no-nulls(flat), bytes: flat[zstd])"),
        ("lz4", "binary(indices: no-nulls(flat), bytes: flat[lz4])"),
        ("none", "binary(indices: no-nulls(flat), bytes: flat)"),
        ("fsst", "fsst(binary(indices: no-nulls(flat), bytes: flat))"),
    ] {
        assert_eq!(check(&with(DataType::Utf8, "compression", scheme), &many(), &options(1 << 20)), name);
        let all = WriterOptions { compression: Some(scheme.parse().unwrap()), ..options(1 << 20) };
        assert_eq!(check(&field(DataType::Utf8), &many(), &all), name);
        // What a field says goes before what all have.
        let none = with(DataType::Utf8, "compression", "none");
        assert_eq!(check(&none, &many(), &all), "binary(indices: no-nulls(flat), bytes: flat)");
        let small = ints([Some(1)]);
        assert_eq!(check(&field(DataType::Int32), &[small], &all), "no-nulls(flat)");
        // The reference has no symbol tables for large strings, nor for pages without strings.
        let plain = "binary(indices: no-nulls(flat), bytes: flat)";
        let name = if scheme == "fsst" { plain } else { name };
        assert_eq!(check(&with(DataType::LargeUtf8, "compression", scheme), &large, &options(1 << 20)), name);
        let nulls = new_null_array(&DataType::Utf8, 5);
        assert_eq!(check(&with(DataType::Utf8, "compression", scheme), &[nulls], &options(1 << 20)), name);
    }
    let level = Some(Compression::Zstd { level: Some(7) });
    let (columns, _) =
        written(&field(DataType::Utf8), &many(), &WriterOptions { compression: level, ..options(1 << 20) })
            .unwrap();
    let tree = describe_page(&columns[0].pages[0].encoding, Version::V2_0);
    assert!(tree.parts[1].1.facts.contains(&("level", "7".to_string())), "{tree:?}");
}

#[test]
fn dictionaries_become_one() {
    let dictionary = |keys: Vec<Option<i8>>, values: &[Option<&str>]| -> ArrayRef {
        let values = Arc::new(StringArray::from(values.to_vec()));
        Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(keys), values))
    };
    let field = field(DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into()));
    let name =
        "dictionary(indices: no-nulls(flat), dictionary: binary(indices: no-nulls(flat), bytes: flat))";
    let arrays = [
        dictionary(vec![Some(0), None, Some(1)], &[Some("a"), Some("b")]),
        dictionary(vec![Some(1), Some(0), Some(2)], &[Some("b"), Some("c"), None]),
        dictionary(vec![None; 2], &[]),
    ];
    assert_eq!(check(&field, &arrays, &options(1 << 20)), [one(name, 8)]);
    // Readers put pages together, and then keys have names for no more.
    let many = |start: i32| {
        let values: Vec<_> = (start..start + 100).map(|at| at.to_string()).collect();
        dictionary(
            (0..100).map(Some).collect(),
            &values.iter().map(|text| Some(text.as_str())).collect::<Vec<_>>(),
        )
    };
    let error = written(&field, &[many(0), many(100)], &options(1 << 20)).err().unwrap().to_string();
    assert!(error.contains("more than 128 distinct values"), "{error}");
    written(&field, &[many(0), many(28)], &options(1 << 20)).unwrap();
    // Those that leave no key for null are pages of their own.
    let half = |start: i32, null: bool| {
        let values: Vec<_> = (start..start + 64).map(|at| at.to_string()).collect();
        let keys = (0..64).map(Some).chain(null.then_some(None)).collect();
        dictionary(keys, &values.iter().map(|text| Some(text.as_str())).collect::<Vec<_>>())
    };
    assert_eq!(check(&field, &[half(0, false), half(64, false)], &options(1 << 20)), [one(name, 128)]);
    let (columns, _) = written(&field, &[half(0, false), half(64, true)], &options(1 << 20)).unwrap();
    assert_eq!(columns[0].pages.iter().map(|page| page.length).collect::<Vec<_>>(), [64, 65]);

    let full: Vec<_> = (0..128).map(|at| at.to_string()).collect();
    let full: Vec<_> = full.iter().map(|text| Some(text.as_str())).collect();
    let error = written(&field, &[dictionary(vec![Some(0), None], &full)], &options(1000)).err().unwrap();
    assert_eq!(
        error.to_string(),
        "unsupported: a null beside 128 values, of which keys of Int8 name no more"
    );
    check(&field, &[dictionary(vec![Some(0), Some(127)], &full)], &options(1000));
    let ints = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![Some(1), None]),
        Arc::new(UInt16Array::from(vec![7, 8])),
    );
    let pages = check(&super::tests::field(ints.data_type().clone()), &[Arc::new(ints)], &options(1000));
    let name = "dictionary(indices: no-nulls(flat), dictionary: some-nulls(validity: flat, flat))";
    assert_eq!(pages, [one(name, 2)]);
}

#[test]
fn a_dictionary_is_in_no_more_pages_than_keys_need() {
    let words =
        || -> ArrayRef { Arc::new(StringArray::from_iter_values((0..1000).map(|at| format!("word {at}")))) };
    let of = |words: &ArrayRef, keys: std::ops::Range<i32>| -> ArrayRef {
        let keys = Int32Array::from_iter_values(keys.map(|at| at % 1000));
        Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::clone(words)))
    };
    let shared = words();
    let lengths = |arrays: &[ArrayRef]| {
        let field = field(arrays[0].data_type().clone());
        let pages = check(&field, arrays, &options(4000));
        pages[0].iter().map(|page| page.1).collect::<Vec<_>>()
    };
    // Items are 8 kB, keys 4 bytes.
    assert_eq!(lengths(&[of(&shared, 0..900)]), [900]);
    assert_eq!(lengths(&[of(&shared, 0..300), of(&shared, 300..600), of(&words(), 600..900)]), [900]);
    assert_eq!(lengths(&[of(&shared, 0..600), of(&shared, 0..600), of(&shared, 0..600)]), [1200, 600]);
    // Others make a page full.
    let others: ArrayRef = Arc::new(StringArray::from_iter_values((0..1000).map(|at| format!("other {at}"))));
    assert_eq!(lengths(&[of(&shared, 0..9), of(&others, 0..9), of(&others, 0..9)]), [18, 9]);
    let lists = list(&[2; 300], of(&shared, 0..600), &[true; 300]);
    let pages = check(&field(lists.data_type().clone()), &[lists], &options(4000));
    assert_eq!(pages[1].len(), 1, "{pages:?}");
}

fn list(lengths: &[usize], items: ArrayRef, valid: &[bool]) -> ArrayRef {
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(item, offsets, items, Some(NullBuffer::from(valid.to_vec()))))
}

#[test]
fn items_end_with_their_lists() {
    let lists = || list(&[2, 1, 0, 1], ints((0..4).map(Some)), &[true, true, false, true]);
    let none = || list(&[0, 0, 0, 0], ints([]), &[true, false, true, true]);
    let field = field(lists().data_type().clone());
    let offsets = "list(offsets: no-nulls(flat))";
    let pages = check(&field, &[lists(), lists()], &options(1000));
    assert_eq!(pages, [one(offsets, 8), one("no-nulls(flat)", 8)]);
    // A page of 4 lists is full; items without lists are a page that is empty.
    let pages = check(&field, &[lists(), none(), lists().slice(1, 2)], &options(31));
    let lengths = |pages: &[(String, u64)]| pages.iter().map(|page| page.1).collect::<Vec<_>>();
    assert_eq!(lengths(&pages[0]), [4, 4, 2]);
    assert_eq!(lengths(&pages[1]), [4, 0, 1]);
    assert_eq!(pages[1][1].0, "all-nulls");
    // Items may have more pages than their lists.
    let long = list(&[30, 30], ints((0..60).map(Some)), &[true, true]);
    let pages = check(&field, &[long.slice(0, 1), long.slice(1, 1), lists()], &options(100));
    assert_eq!(lengths(&pages[0]), [6]);
    assert_eq!(lengths(&pages[1]), [30, 30, 4]);

    let nested = list(&[1, 3], lists(), &[true, true]);
    let field = super::tests::field(nested.data_type().clone());
    let pages = check(&field, &[nested.clone(), nested.slice(1, 1)], &options(15));
    assert_eq!(pages.iter().map(|pages| lengths(pages)).collect::<Vec<_>>(), [[2, 1], [4, 3], [4, 2]]);
}

#[test]
fn what_lies_under_null_lists_is_left_out() {
    let pair = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
    let valid = NullBuffer::from(vec![true, false, true, true]);
    let pairs: ArrayRef = Arc::new(StructArray::new(pair, vec![ints((0..4).map(Some))], Some(valid)));
    // The struct that is null is in a list that is null.
    let lists = list(&[1, 2, 1], pairs.clone(), &[true, false, true]);
    let pages = check(&field(lists.data_type().clone()), &[lists], &options(1000));
    assert_eq!(pages[1..], [one("struct", 2), one("no-nulls(flat)", 2)]);
    let lists = list(&[1, 2, 1], pairs, &[true, true, true]);
    let error = written(&field(lists.data_type().clone()), &[lists], &options(1000)).err().unwrap();
    let what = "item: a struct that is null, which file version 2.0 cannot hold; write 2.1 or later";
    assert_eq!(error.to_string(), format!("unsupported: {what}"));
}

#[test]
fn structs_have_one_page_however_many_rows() {
    let fields =
        Fields::from(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true)]);
    let pair = |first: i32| -> ArrayRef {
        let numbers = ints((first..first + 10).map(Some));
        let names = texts((first..first + 10).map(|at| Some(at.to_string())));
        Arc::new(StructArray::new(fields.clone(), vec![numbers, names], None))
    };
    let field = field(DataType::Struct(fields.clone()));
    let pages = check(&field, &[pair(0), pair(10), pair(20)], &options(50));
    assert_eq!(pages[0], one("struct", 30));
    assert!(pages[1].len() > 1 && pages[2].len() > 1, "{pages:?}");
    // Also none.
    let (columns, _) = written(&field, &[], &options(50)).unwrap();
    assert_eq!(columns.len(), 1);
    assert_eq!((columns[0].pages.len(), columns[0].pages[0].length), (1, 0));
}

#[test]
fn packed_structs() {
    let vector = DataType::new_fixed_size_list(DataType::Int16, 2, true);
    let fields = Fields::from(vec![Field::new("a", DataType::Int8, true), Field::new("v", vector, true)]);
    let items: ArrayRef = Arc::new(Int16Array::from_iter_values(0..8));
    let item = Arc::new(Field::new("item", DataType::Int16, true));
    let vectors: ArrayRef = Arc::new(FixedSizeListArray::new(item, 2, items, None));
    let bytes = |values: Vec<Option<i8>>| -> ArrayRef { Arc::new(Int8Array::from(values)) };
    let rows =
        StructArray::new(fields.clone(), vec![bytes((0..4).map(Some).collect()), vectors.clone()], None);
    let rows: ArrayRef = Arc::new(rows);
    let field = with(rows.data_type().clone(), "packed", "true");
    let pages = check(&field, &[rows.clone(), rows.slice(1, 2)], &options(1000));
    let name = "packed-struct(member: no-nulls(flat), member: no-nulls(fixed-size-list(no-nulls(flat))))";
    assert_eq!(pages, [one(name, 6)]);

    let error =
        |field: &Field, rows: ArrayRef| written(field, &[rows], &options(1000)).err().unwrap().to_string();
    let holes = StructArray::new(fields, vec![bytes(vec![None, Some(1), None, None]), vectors], None);
    assert!(error(&field, Arc::new(holes)).contains("a: a null in a packed struct"));
    let of = |data_type| DataType::Struct(Fields::from(vec![Field::new("m", data_type, true)]));
    for data_type in
        [DataType::Utf8, DataType::Boolean, DataType::new_fixed_size_list(DataType::Boolean, 8, true)]
    {
        let field = with(of(data_type), "packed", "true");
        let error = field_writer(&field, &options(1000)).err().unwrap().to_string();
        assert!(error.contains("m: ") && error.contains("in a packed struct"), "{error}");
    }
    let field = with(of(DataType::Int8), "packed", "false");
    assert!(field_writer(&field, &options(1000)).is_err());
}

#[test]
fn what_cannot_be_held_is_refused_with_the_member() {
    let refused = |data_type: DataType| {
        let item = Field::new("item", data_type, true);
        let field = field(DataType::List(item.into()));
        field_writer(&field, &options(1000)).err().unwrap().to_string()
    };
    for data_type in [
        DataType::FixedSizeBinary(0),
        DataType::Decimal32(5, 1),
        DataType::Utf8View,
        DataType::new_fixed_size_list(DataType::Utf8, 2, true),
        DataType::new_fixed_size_list(DataType::new_list(DataType::Int8, true), 2, true),
        DataType::Map(Field::new("entries", DataType::Struct(Fields::empty()), false).into(), false),
    ] {
        let error = refused(data_type.clone());
        assert!(error.starts_with("unsupported: item: "), "{data_type}: {error}");
    }
    let deep = (0..100).fold(DataType::Int8, |inner, _| DataType::new_list(inner, true));
    assert!(refused(deep).contains("more than 100 types"));

    let strict = Field::new("x", DataType::Int32, false);
    let error = written(&strict, &[ints([None])], &options(1000)).err().unwrap();
    assert_eq!(error.to_string(), "unsupported: a null in a field that is not nullable");
    let other = written(&strict, &[texts([None])], &options(1000)).err().unwrap();
    assert_eq!(other.to_string(), "unsupported: writing Utf8 to a field of Int32");
}
