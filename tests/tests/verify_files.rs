//! Verifying files: what is right is found right, and of each kind of contradiction there is a line that says it.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, Int32Array, ListArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use demilance_tests::edit::{Parts, Tail};
use demilance_tests::ours::{self, Shape};
use demilance_tests::{fixture, verified};
use lance_encoding::proto::{RepDefLayer, page_layout::Layout};
use lance_file::Version;

#[test]
fn files_of_the_reference_are_right() {
    let wrong = ours::run(async {
        let mut wrong = vec![];
        for fixture in fixture::files() {
            let (verified, lines) = verified::path(&fixture.path).await;
            let name = format!("{} {}", fixture.name, fixture.version);
            assert_eq!(verified.bytes, std::fs::metadata(&fixture.path).unwrap().len(), "{name}");
            // What is not read cannot be checked, and that is said; anything else is wrong.
            let file = ours::open_path(&fixture.path).await.unwrap();
            let read = ours::scan(&file, file.schema(), 1000).await;
            let refused = read.is_err_and(|error| error.contains("unsupported: "));
            if refused {
                assert!(
                    !lines.is_empty() && lines.iter().all(|line| line.contains("unsupported: ")),
                    "{lines:?}"
                );
            } else {
                wrong.extend(lines.into_iter().map(|line| format!("{name}: {line}")));
            }
        }
        wrong
    });
    ours::none_wrong(wrong);
}

#[test]
fn other_versions_are_refused_by_name() {
    for (name, word) in [("2.3", "2.3"), ("legacy", "0.2")] {
        let (verified, lines) = ours::run(verified::path(&fixture::refused(name)));
        assert!(verified.problems > 0 && lines.iter().all(|line| line.contains(word)), "{name}: {lines:?}");
    }
}

/// Columns with a page layout and a kind of nesting each; 0 to 8:
/// id, text, long, dictionary, list, pairs.a, pairs.b, others.a, others.b.
fn sample() -> RecordBatch {
    let rows = 0..1000_i32;
    let lists = |skip: i32| {
        let lens = rows.clone().map(move |row| usize::from((row + skip) % 3 != 0) * (row % 4) as usize);
        OffsetBuffer::<i32>::from_lengths(lens)
    };
    let item = Arc::new(Field::new("item", DataType::Int32, true));
    let numbers = |offsets: &OffsetBuffer<i32>, step: usize| -> ArrayRef {
        let count = *offsets.last().unwrap() as usize;
        Arc::new((0..count).map(|n| (n % step != 0).then_some(n as i32)).collect::<Int32Array>())
    };
    let pairs = |skip: i32| -> ArrayRef {
        let offsets = lists(skip);
        let members = vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Int32, true)];
        let arrays = vec![numbers(&offsets, 3), numbers(&offsets, 5)];
        let structs = StructArray::new(members.into(), arrays, None);
        let item = Arc::new(Field::new("item", structs.data_type().clone(), true));
        Arc::new(ListArray::new(item, offsets, Arc::new(structs), None))
    };
    let offsets = lists(1);
    let valid = NullBuffer::from_iter(rows.clone().map(|row| row % 7 != 0));
    let words = ["red", "green", "blue"].map(Some);
    let keys = rows.clone().map(|row| Some(row % 3)).collect::<Int32Array>();
    let dictionary =
        DictionaryArray::<Int32Type>::try_new(keys, Arc::new(StringArray::from(words.to_vec()))).unwrap();
    let values = numbers(&offsets, 4);
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("id", Arc::new(rows.clone().collect::<Int32Array>()), false),
        (
            "text",
            Arc::new(
                rows.clone()
                    .map(|row| (row % 5 != 0).then(|| format!("text {row}")))
                    .collect::<StringArray>(),
            ),
            true,
        ),
        ("long", Arc::new(rows.clone().map(|row| Some(vec![row as u8; 300])).collect::<BinaryArray>()), true),
        ("dictionary", Arc::new(dictionary), true),
        ("list", Arc::new(ListArray::new(item, offsets, values, Some(valid))), true),
        ("pairs", pairs(0), true),
        ("others", pairs(1), true),
    ];
    let fields: Vec<_> = columns
        .iter()
        .map(|(name, array, nulls)| Field::new(*name, array.data_type().clone(), *nulls))
        .collect();
    let arrays = columns.into_iter().map(|(_, array, _)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// A file with two pages a column.
fn file(version: Version) -> Bytes {
    let batch = sample();
    let half = |start| {
        let batch = batch.slice(start, 500);
        Parts::of(&ours::run(ours::written(&batch.schema(), &[batch], Shape::of(version))).unwrap())
    };
    half(0).followed_by(&half(500)).file()
}

#[test]
fn our_own_files_are_right() {
    for version in [Version::V2_1, Version::V2_2] {
        let file = file(version);
        let (verified, lines) = ours::run(verified::bytes(file.clone()));
        assert!(lines.is_empty(), "{version}: {lines:#?}");
        assert_eq!((verified.files, verified.rows, verified.columns, verified.pages), (1, 1000, 9, 18));
    }
}

type Edit = fn(&mut Parts);
type EditTail = fn(&mut Tail);

#[test]
fn contradictions_of_the_container() {
    let whole = Parts::of(&file(Version::V2_2));
    let cases: &[(&str, EditTail, &[&str])] = &[
        (
            "count of global buffers",
            |tail| tail.globals = 900,
            &["bytes ", "footer is corrupt", "900 entries"],
        ),
        ("count of columns", |tail| tail.columns = 10, &["footer is corrupt", "10 entries"]),
        ("no schema", |tail| (tail.globals, tail.gbo) = (0, vec![]), &["footer is corrupt", "no schema"]),
        (
            "start of the metadata",
            |tail| tail.metadata = tail.cmo_start + 1,
            &["footer is corrupt", "start after"],
        ),
        (
            "metadata in front of where they start",
            |tail| tail.metadata += 1,
            &["column 0, ", "CMO table is corrupt", "entry 0"],
        ),
        (
            "metadata beyond their end",
            |tail| tail.cmo[8].1 += 1,
            &["column 8, ", "CMO table is corrupt", "entry 8"],
        ),
        ("metadata that overlap", |tail| tail.cmo[2] = tail.cmo[3], &["column 3, ", "overlap"]),
        ("an entry that overflows", |tail| tail.cmo[4].0 = u64::MAX, &["column 4, ", "CMO table is corrupt"]),
        (
            "a schema that is not there",
            |tail| tail.gbo[0].1 = 1 << 40,
            &["GBO table is corrupt", "global buffer 0", "beyond"],
        ),
        (
            "a schema that is not aligned",
            |tail| tail.gbo[0].0 += 1,
            &["GBO table is corrupt", "global buffer 0", "not aligned"],
        ),
        (
            "a schema that is no message",
            |tail| tail.gbo[0].1 -= 1,
            &["file descriptor is corrupt", "not a message"],
        ),
        (
            "a schema on top of pages",
            |tail| tail.gbo[0] = (0, 4),
            &[
                "column 0, page 0",
                "buffer 0 of page 0 of column 0 overlaps with global buffer 0 (the schema)",
            ],
        ),
    ];
    check(cases.iter().map(|(name, edit, words)| (*name, whole.file_with(edit), *words)));
}

#[test]
fn contradictions_of_columns_and_pages() {
    let whole = Parts::of(&file(Version::V2_2));
    let cases: &[(&str, Edit, &[&str])] = &[
        ("the version of other pages", |parts| parts.version = (0, 3), &["column 0", "PageLayout"]),
        (
            "more fields than columns",
            |parts| {
                let id = parts.descriptor.schema.as_mut().unwrap().fields[0].clone();
                let id = lance_file::proto::Field { id: 90, name: "more".into(), ..id };
                parts.descriptor.schema.as_mut().unwrap().fields.push(id);
            },
            &["schema is corrupt", "10 columns", "9"],
        ),
        (
            "an unknown type",
            |parts| parts.descriptor.schema.as_mut().unwrap().fields[0].logical_type = "int33".into(),
            &["\"id\"", "int33"],
        ),
        (
            "rows of the descriptor",
            |parts| parts.descriptor.length = 999,
            &["field id, column 0", "1000 rows", "999"],
        ),
        (
            "rows of a page",
            |parts| parts.page(1, 1).length = 499,
            &["field text, column 1", "999 rows", "1000"],
        ),
        ("lengths that overflow", |parts| parts.page(1, 1).length = u64::MAX, &["column 1", "overflow"]),
        (
            "the number of the first row",
            |parts| parts.page(2, 1).priority = 501,
            &["field long, column 2, page 1", "row 501", "500 rows"],
        ),
        ("no column encoding", |parts| parts.columns[3].encoding = None, &["column 3, ", "no encoding"]),
        ("no page encoding", |parts| parts.page(3, 0).encoding = None, &["column 3, page 0", "no encoding"]),
        (
            "a buffer beyond the file",
            |parts| parts.page(0, 1).buffer_sizes[0] = 1 << 50,
            &["column 0, page 1", "metadata of column 0 is corrupt", "beyond the file"],
        ),
        (
            "a buffer that is not aligned",
            |parts| parts.page(0, 1).buffer_offsets[0] += 1,
            &["column 0, page 1", "not aligned"],
        ),
        (
            "sizes without offsets",
            |parts| parts.page(0, 0).buffer_offsets.clear(),
            &["column 0, page 0", "buffer offsets but"],
        ),
        (
            "a buffer that reaches into the next",
            |parts| parts.page(0, 0).buffer_sizes[0] = 65,
            &[
                "column 0, page 0",
                "buffer 0 of page 0 of column 0 overlaps with buffer 1 of page 0 of column 0",
            ],
        ),
        (
            "a buffer that reaches into the schema",
            |parts| {
                let end = parts.data.len() as u64;
                let page = parts.page(0, 1);
                page.buffer_sizes[1] = end + 1 - page.buffer_offsets[1];
            },
            &["field id, column 0, page 1", "overlaps with buffer 0 of page 1 of column 1", "more"],
        ),
    ];
    check(cases.iter().map(|(name, edit, words)| {
        let mut parts = whole.clone();
        edit(&mut parts);
        (*name, parts.file(), *words)
    }));
}

#[test]
fn contradictions_within_pages() {
    let whole = Parts::of(&file(Version::V2_2));
    let cases: &[(&str, Edit, &[&str])] = &[
        (
            "a layout that is no message",
            |parts| parts.edit_encoding(1, 1, |any| any.value = Bytes::from_static(&[0xff])),
            &["field text, column 1, page 1, rows 500..1000", "page layout is corrupt"],
        ),
        (
            "an unknown layout",
            |parts| parts.edit_encoding(1, 1, |any| any.value = Bytes::new()),
            &["field text, column 1, page 1", "page layout is corrupt", "missing"],
        ),
        (
            "items of the layout",
            |parts| {
                parts.edit_layout(4, 0, |layout| match layout.layout.as_mut().unwrap() {
                    Layout::MiniBlockLayout(layout) => layout.num_items += 5000,
                    other => panic!("{other:?}"),
                });
            },
            &["field list.item, column 4, page 0, rows 0..500"],
        ),
        (
            "layers of the layout",
            |parts| {
                parts.edit_layout(4, 0, |layout| match layout.layout.as_mut().unwrap() {
                    Layout::MiniBlockLayout(layout) => {
                        layout.layers[0] = RepDefLayer::RepdefAllValidItem as i32
                    }
                    other => panic!("{other:?}"),
                });
            },
            &["field list.item, column 4, page 0", "a definition level of"],
        ),
        (
            "items of a dictionary",
            |parts| {
                parts.edit_layout(3, 1, |layout| match layout.layout.as_mut().unwrap() {
                    Layout::MiniBlockLayout(layout) => layout.num_dictionary_items -= 1,
                    other => panic!("{other:?}"),
                });
            },
            &["field dictionary, column 3, page 1"],
        ),
        (
            "bytes that are no UTF-8",
            |parts| {
                let chunk = parts.buffer(1, 0, 1);
                let at = chunk.windows(8).position(|bytes| bytes == b"text 321").unwrap();
                chunk[at] = 0xff;
            },
            &["field text, column 1, page 0", "values is corrupt", "UTF"],
        ),
        (
            "offsets that go down",
            |parts| {
                let chunk = parts.buffer(1, 0, 1);
                let at = chunk.windows(6).position(|bytes| bytes == b"text 1").unwrap();
                chunk[at - 8..at - 4].fill(0xff);
            },
            &["field text, column 1, page 0"],
        ),
        (
            "chunk sizes",
            |parts| parts.buffer(0, 1, 0)[1] ^= 0x40,
            &["field id, column 0, page 1, rows 500..1000", "chunk table is corrupt"],
        ),
        (
            "the repetition index of a mini-block page",
            |parts| parts.buffer(4, 1, 2)[0] ^= 1,
            &["field list.item, column 4, page 1", "repetition index is corrupt"],
        ),
        (
            "the repetition index of a full-zip page",
            |parts| parts.buffer(2, 0, 1)[9] ^= 0x80,
            &["field long, column 2, page 0"],
        ),
        (
            "nulls where none may be",
            |parts| parts.descriptor.schema.as_mut().unwrap().fields[1].nullable = false,
            &["field text, column 1, page 0", "100 nulls in a field that is not nullable"],
        ),
        (
            "columns that do not agree about lists",
            |parts| parts.columns.swap(6, 8),
            &["field pairs, rows 0..1000: "],
        ),
        (
            "the type of a field",
            |parts| parts.descriptor.schema.as_mut().unwrap().fields[0].logical_type = "int64".into(),
            &["field id, column 0, page 0", "cannot be of type Int64"],
        ),
    ];
    check(cases.iter().map(|(name, edit, words)| {
        let mut parts = whole.clone();
        edit(&mut parts);
        (*name, parts.file(), *words)
    }));
}

#[test]
fn contradictions_of_version_2_0() {
    type Case = (&'static str, &'static str, Edit, &'static [&'static str]);
    let cases: &[Case] = &[
        (
            "offsets of strings",
            "legacy_strings",
            |parts| parts.buffer(0, 0, 0)[7] = 1,
            &["field string, column 0, page 0, rows 0..150, bytes "],
        ),
        (
            "bytes that are no UTF-8",
            "legacy_strings",
            |parts| parts.buffer(1, 0, 1)[3] = 0xff,
            &["field large_string, column 1, page 0, ", "UTF"],
        ),
        (
            "rows of a page",
            "legacy_strings",
            |parts| parts.page(2, 0).length = 149,
            &["field binary, column 2: its pages have 149 rows, but the file descriptor says 150"],
        ),
        (
            "strings in a struct",
            "legacy_nested",
            |parts| parts.buffer(16, 0, 0)[7] = 1,
            &["field nested5.pair.name, column 16, rows 0..90: "],
        ),
        (
            "offsets of lists in a struct",
            "legacy_nested",
            |parts| parts.buffer(17, 0, 0)[7] = 1,
            &["field nested5.list.item.x, column 19, rows 0..90: "],
        ),
        (
            "an encoding that is no message",
            "legacy_nested",
            |parts| parts.edit_encoding(16, 0, |any| any.value = Bytes::from_static(&[0xff])),
            &["field nested5.pair.name, column 16, rows 0..90: "],
        ),
    ];
    let files = fixture::files();
    check(cases.iter().map(|(name, fixture, edit, words)| {
        let file = files.iter().find(|file| file.name == *fixture).unwrap();
        let mut parts = Parts::of(&std::fs::read(&file.path).unwrap());
        edit(&mut parts);
        (*name, parts.file(), *words)
    }));
}

/// Each file must give a line with all of the words.
fn check<'a>(cases: impl Iterator<Item = (&'a str, Bytes, &'a [&'a str])>) {
    let mut wrong = vec![];
    for (name, file, words) in cases {
        let (verified, lines) = ours::run(verified::bytes(file));
        assert_eq!(verified.problems, lines.len() as u64, "{name}");
        if !lines.iter().any(|line| words.iter().all(|word| line.contains(word))) {
            wrong.push(format!("{name}: none of these has {words:?}:\n    {}", lines.join("\n    ")));
        }
        // Whatever is wrong, the rest is not: a few lines tell it.
        if lines.len() > 12 {
            wrong.push(format!("{name}: {} lines:\n    {}", lines.len(), lines.join("\n    ")));
        }
    }
    ours::none_wrong(wrong);
}

/// Legal, however many there are: such pages are not decoded to the end.
#[test]
fn rows_without_bytes() {
    let constant = |name| (name, Arc::new(Int32Array::from(vec![7; 100])) as ArrayRef);
    let members = RecordBatch::try_from_iter([constant("a"), constant("b")]).unwrap();
    let both: ArrayRef = Arc::new(StructArray::from(members));
    let batch = RecordBatch::try_from_iter([constant("id"), ("both", both)]).unwrap();
    let file = ours::run(ours::written(&batch.schema(), &[batch], Shape::of(Version::V2_2))).unwrap();
    let mut parts = Parts::of(&file);
    const ROWS: u64 = 1 << 60;
    parts.descriptor.length = ROWS;
    for column in 0..3 {
        assert!(parts.page(column, 0).buffer_offsets.is_empty());
        parts.page(column, 0).length = ROWS;
    }
    let (verified, lines) = ours::run(verified::bytes(parts.file()));
    assert!(lines.is_empty(), "{lines:#?}");
    assert_eq!(verified.rows, ROWS);
    // But they are decoded.
    parts.edit_layout(2, 0, |layout| match layout.layout.as_mut().unwrap() {
        Layout::ConstantLayout(layout) => layout.inline_value = Some(Bytes::from_static(&[1, 2, 3])),
        other => panic!("{other:?}"),
    });
    let (_, lines) = ours::run(verified::bytes(parts.file()));
    assert!(
        matches!(lines.as_slice(), [line] if line.starts_with("field both.b, column 2, page 0, ")),
        "{lines:?}"
    );
}

#[test]
fn files_that_are_too_short() {
    for length in [0, 3, 39] {
        let (_, lines) = ours::run(verified::bytes(vec![7; length].into()));
        assert!(matches!(lines.as_slice(), [line] if line.contains("too few")), "{lines:?}");
    }
}

#[test]
fn one_problem_does_not_hide_another() {
    let mut parts = Parts::of(&file(Version::V2_1));
    parts.descriptor.length = 7;
    parts.page(0, 0).priority = 3;
    parts.edit_encoding(1, 0, |any| any.value = Bytes::new());
    parts.buffer(4, 1, 2)[0] ^= 1;
    parts.buffer(5, 0, 2)[0] ^= 1;
    let (_, lines) = ours::run(verified::bytes(parts.file()));
    for words in [
        "field id, column 0: its pages have 1000 rows",
        "field id, column 0, page 0, ",
        "field text, column 1, page 0, ",
        "field list.item, column 4, page 1, ",
        "field pairs.item.a, column 5, page 0, ",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(words)), "{words} is not in {lines:#?}");
    }
    // What a page of one column explains is not told again of the whole field.
    assert!(!lines.iter().any(|line| line.starts_with("field pairs,")), "{lines:#?}");
}

/// Scans do not look at where a page says that each row is. What is found right can be read row by row all the same.
#[test]
fn rows_that_are_not_where_a_page_says() {
    let texts = (0..30).map(|row| (row % 4 != 1).then(|| format!("{row:x}").repeat(300 + row)));
    let texts: StringArray = texts.collect();
    let lists = OffsetBuffer::from_lengths((0..30).map(|row| [1, 0, 2][row % 3]));
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    let lists = ListArray::new(item, lists, Arc::new(texts.clone()), None);
    let columns: [(&str, ArrayRef); 2] = [("texts", Arc::new(texts)), ("lists", Arc::new(lists))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    for version in [Version::V2_1, Version::V2_2] {
        let file =
            ours::run(ours::written(&batch.schema(), std::slice::from_ref(&batch), Shape::of(version)))
                .unwrap();
        let opened = ours::run(ours::open_bytes(file.clone())).unwrap();
        let (mut found, mut silent) = (0, vec![]);
        for column in &opened.container().columns {
            // The last buffer of a page of wide values.
            let positions = column.pages[0].buffers.last().unwrap();
            for byte in positions.offset()..positions.end() {
                let mut broken = file.to_vec();
                broken[byte as usize] ^= 1 << (byte % 8);
                let broken = Bytes::from(broken);
                let (_, lines) = ours::run(verified::bytes(broken.clone()));
                found += usize::from(!lines.is_empty());
                if lines.is_empty() {
                    let file = ours::run(ours::open_bytes(broken)).unwrap();
                    let wrong =
                        (0..30).filter(|row| ours::run(ours::take(&file, &[*row], file.schema())).is_err());
                    silent.extend(wrong.map(|row| format!("{version}: byte {byte}, row {row}")));
                }
            }
        }
        ours::none_wrong(silent);
        assert!(found > 50, "{found}");
    }
}
