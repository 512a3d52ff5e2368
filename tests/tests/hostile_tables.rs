//! Broken tables: whatever is wrong with a manifest, a transaction, a deletion file, a tag or a branch, each operation gives
//! an error or does what it should, and an operation that fails leaves everything as it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use demilance::{Dataset, DatasetBuilder};
use demilance_tests::draw::Draw;
use demilance_tests::files::Files;
use demilance_tests::watch::Watch;
use demilance_tests::{crash, manifest, ours};
use lance_io::Store;
use lance_table::Manifest;
use lance_table::proto::{self, DataFragment, DeletionFile};
use serde_json::{Value, json};

/// The newest version of the table.
const NEWEST: u64 = 3;

/// Of the places at which a file is changed, one of so many is read, and one of twenty times as many operated on.
/// `DEMILANCE_FLIPS` sets the number of those that are read, or with `all` does every operation for each place.
const READ: usize = 1000;

async fn base() -> Files {
    let store = Store::memory();
    crash::make(store.clone()).await;
    let table = Dataset::builder("").store(store.clone()).load().await.unwrap();
    table.create_branch("other").await.unwrap();
    Files::of(&store).await
}

/// What a reader finds: for each version, tag and branch how many rows, or why it cannot be read.
struct Found {
    newest: demilance::Result<usize>,
    /// By the words for it: a version that has a number, the tag, the branch.
    named: BTreeMap<String, demilance::Result<usize>>,
}

async fn rows(table: DatasetBuilder) -> demilance::Result<usize> {
    let batches = table.load().await?.scan().collect().await?;
    Ok(batches.iter().map(RecordBatch::num_rows).sum())
}

/// All that is only read of the table in `store`: versions, references, rows, some by their place.
async fn read(store: &Store) -> Found {
    let table = || Dataset::builder("").store(store.clone());
    let mut named = BTreeMap::new();
    for version in 1..=NEWEST {
        named.insert(format!("version {version}"), rows(table().version(version)).await);
    }
    named.insert("the tag".into(), rows(table().tag(crash::TAG)).await);
    named.insert("the branch".into(), rows(table().branch("other")).await);
    if let Ok(table) = table().load().await {
        let _ = table.versions().await;
        let _ = table.tags().await;
        let _ = table.branches().await;
        let _ = table.table().transaction().await;
        let rows = table.count_rows();
        let _ = table.take(&[rows.saturating_sub(1), 0, rows / 2]).await;
    }
    Found { newest: rows(table()).await, named }
}

impl Found {
    /// What `later` cannot read any more of what is to stay after `operation`, or reads otherwise.
    fn lost(&self, operation: &str, later: &Self) -> Vec<String> {
        let mut lost = vec![];
        // A version that is restored is taken as it is, and the one before is still there.
        if let (Ok(_), Err(error), true) = (&self.newest, &later.newest, operation != "restore") {
            lost.push(format!("it could be read before, and cannot any more: {error}"));
        }
        for (name, before) in &self.named {
            // What is neither tagged nor the newest is what clean-up removes.
            let may_go = operation == "clean up" && name.starts_with("version");
            match (before, &later.named[name]) {
                (Ok(before), Ok(after)) if before != after => {
                    lost.push(format!("{name} has {after} rows instead of {before}"));
                }
                (Ok(_), Err(error)) if !may_go => lost.push(format!("{name} is lost: {error}")),
                _ => {}
            }
        }
        lost
    }
}

/// Does each of `operations` on a copy of `files`. Gives what is wrong.
async fn operate(files: &Files, operations: &[&str]) -> Vec<String> {
    let before = read(&files.store().await).await;
    let mut wrong = vec![];
    for operation in operations.iter().copied() {
        let store = files.store().await;
        let result = crash::run(operation, store.clone()).await;
        let after = Files::of(&store).await;
        for (path, bytes) in &files.0 {
            match after.0.get(path) {
                Some(now) if now != bytes => wrong.push(format!("{operation}: {path} has other bytes")),
                None if !crash::removes(operation, path) => {
                    wrong.push(format!("{operation}: {path} is gone"));
                }
                _ => {}
            }
        }
        let lost = before.lost(operation, &read(&store).await);
        wrong
            .extend(lost.into_iter().map(|lost| format!("{operation}, {:?}: {lost}", result.as_ref().err())));
        if let Err(error) = result {
            // Ids that were set aside for a compaction are a version of their own.
            let own = |path: &&String| operation == "compact" && path.starts_with('_');
            let left = after.0.keys().filter(|path| !files.0.contains_key(*path) && !own(path));
            wrong.extend(left.map(|path| format!("{operation}: {path} is left after: {error}")));
        }
    }
    wrong
}

/// Does each of `operations` on each of `cases`.
fn check(operations: &[&str], cases: impl IntoIterator<Item = (String, Files)>) {
    let watch = Watch::start();
    for (what, files) in cases {
        let work = async {
            for wrong in operate(&files, operations).await {
                watch.note(format!("{what}: {wrong}"));
            }
        };
        watch.run(work, || what.clone());
    }
    watch.finish();
}

#[test]
fn cut_off_or_with_a_wrong_byte() {
    let files = ours::run(base());
    let mut cases = vec![];
    for path in files.0.keys().filter(|path| !path.starts_with("data/")) {
        let len = files.0[path].len();
        cases.extend((0..len).map(|at| (path, at, None)));
        cases.extend((0..len).flat_map(|at| [1, 0x10, 0x80, 0xff].map(|flip| (path, at, Some(flip)))));
    }
    let flips = std::env::var("DEMILANCE_FLIPS").unwrap_or_default();
    let all = flips == "all";
    let (mut draw, read_of) = (Draw::new(9), flips.parse().unwrap_or(READ));
    if !all {
        cases = (0..read_of).map(|_| cases[draw.below(cases.len())]).collect();
    }
    let watch = Watch::start();
    for (number, (path, at, flip)) in cases.into_iter().enumerate() {
        let mut bytes = files.0[path].to_vec();
        match flip {
            None => bytes.truncate(at),
            Some(flip) => bytes[at] ^= flip,
        }
        let what = || match flip {
            None => format!("{path} cut off after {at} bytes"),
            Some(flip) => format!("{path} with byte {at} ^ {flip:#04x}"),
        };
        let broken = files.with(path, bytes);
        let work = async {
            if !all && number % 20 != 0 {
                return drop(read(&broken.store().await).await);
            }
            for wrong in operate(&broken, &crash::OPERATIONS).await {
                watch.note(format!("{}: {wrong}", what()));
            }
        };
        watch.run(work, what);
    }
    watch.finish();
}

type Edit = fn(&mut proto::Manifest);

/// Changes of a manifest, by what they do.
fn edits() -> Vec<(&'static str, Edit)> {
    fn first(manifest: &mut proto::Manifest) -> &mut DataFragment {
        &mut manifest.fragments[0]
    }
    fn deletion(manifest: &mut proto::Manifest) -> &mut DeletionFile {
        manifest.fragments[0].deletion_file.as_mut().unwrap()
    }
    vec![
        ("version 0", |manifest| manifest.version = 0),
        ("version 2", |manifest| manifest.version = 2),
        ("the highest version", |manifest| manifest.version = u64::MAX),
        ("no fields", |manifest| manifest.fields.clear()),
        ("two fields with one id", |manifest| manifest.fields[1].id = manifest.fields[0].id),
        ("two fields with one name", |manifest| manifest.fields[1].name = manifest.fields[0].name.clone()),
        ("a field that is its own parent", |manifest| manifest.fields[0].parent_id = manifest.fields[0].id),
        ("a field below one that is not there", |manifest| manifest.fields[1].parent_id = 77),
        ("a field with a negative id", |manifest| manifest.fields[1].id = -5),
        ("the highest field id", |manifest| manifest.fields[1].id = i32::MAX),
        ("a field without a type", |manifest| manifest.fields[1].logical_type.clear()),
        ("a field of an unknown type", |manifest| manifest.fields[1].logical_type = "quaternion".into()),
        ("a huge fixed size", |manifest| {
            manifest.fields[0].logical_type = format!("fixed_size_list:int64:{}", i32::MAX);
        }),
        ("a field without a name", |manifest| manifest.fields[1].name.clear()),
        ("fragments twice", |manifest| manifest.fragments.extend(manifest.fragments.clone())),
        ("fragments the other way round", |manifest| manifest.fragments.reverse()),
        ("no fragments", |manifest| manifest.fragments.clear()),
        ("a fragment with the highest id", |manifest| first(manifest).id = u64::MAX),
        ("a fragment with the highest small id", |manifest| first(manifest).id = u64::from(u32::MAX)),
        ("a fragment without rows", |manifest| first(manifest).physical_rows = 0),
        ("a fragment with one row too many", |manifest| first(manifest).physical_rows += 1),
        ("a fragment with the most rows", |manifest| first(manifest).physical_rows = u64::MAX),
        ("all fragments with the most rows", |manifest| {
            manifest.fragments.iter_mut().for_each(|fragment| fragment.physical_rows = u64::MAX);
        }),
        ("a fragment without files", |manifest| first(manifest).files.clear()),
        ("a file twice", |manifest| {
            let file = first(manifest).files[0].clone();
            first(manifest).files.push(file);
        }),
        ("a file that is not there", |manifest| first(manifest).files[0].path = "none.lance".into()),
        ("a file without a name", |manifest| first(manifest).files[0].path.clear()),
        ("a file outside", |manifest| first(manifest).files[0].path = "../../etc/passwd".into()),
        ("a file with a root", |manifest| first(manifest).files[0].path = "/etc/passwd".into()),
        ("the manifest as a file", |manifest| {
            first(manifest).files[0].path = format!("../_versions/{}.manifest", u64::MAX - NEWEST);
        }),
        ("a file without fields", |manifest| first(manifest).files[0].fields.clear()),
        ("a file with a field more", |manifest| first(manifest).files[0].fields.push(9)),
        ("a file with a field less", |manifest| {
            first(manifest).files[0].fields.pop();
        }),
        ("a file with fields twice", |manifest| first(manifest).files[0].fields = vec![0, 0]),
        ("a file whose fields are replaced", |manifest| first(manifest).files[0].fields = vec![-2, -2]),
        ("a file with strange fields", |manifest| first(manifest).files[0].fields = vec![i32::MIN, i32::MAX]),
        ("columns the other way round", |manifest| first(manifest).files[0].column_indices.reverse()),
        ("columns beyond", |manifest| first(manifest).files[0].column_indices = vec![100, i32::MAX]),
        ("negative columns", |manifest| first(manifest).files[0].column_indices = vec![-1, i32::MIN]),
        ("no columns", |manifest| first(manifest).files[0].column_indices.clear()),
        ("a file version from afar", |manifest| first(manifest).files[0].file_major_version = u32::MAX),
        ("a file of the oldest version", |manifest| {
            (first(manifest).files[0].file_major_version, first(manifest).files[0].file_minor_version) =
                (0, 2);
        }),
        ("a file without a size", |manifest| first(manifest).files[0].file_size_bytes = 0),
        ("a file of one byte", |manifest| first(manifest).files[0].file_size_bytes = 1),
        ("a huge file", |manifest| first(manifest).files[0].file_size_bytes = u64::MAX),
        ("a file elsewhere", |manifest| first(manifest).files[0].base_id = Some(7)),
        ("deletions of nothing", |manifest| deletion(manifest).num_deleted_rows = 0),
        ("deletions of too many", |manifest| deletion(manifest).num_deleted_rows = u64::MAX),
        ("deletions of all", |manifest| deletion(manifest).num_deleted_rows = 10),
        ("deletions that are not there", |manifest| deletion(manifest).id += 1),
        ("deletions of an unknown kind", |manifest| deletion(manifest).file_type = 9),
        ("deletions of another kind", |manifest| deletion(manifest).file_type = 1),
        ("deletions elsewhere", |manifest| deletion(manifest).base_id = Some(7)),
        ("no highest fragment", |manifest| manifest.max_fragment_id = None),
        ("a low highest fragment", |manifest| manifest.max_fragment_id = Some(0)),
        ("the highest fragment", |manifest| manifest.max_fragment_id = Some(u32::MAX)),
        ("the highest fragment but one", |manifest| manifest.max_fragment_id = Some(u32::MAX - 1)),
        ("no time", |manifest| manifest.timestamp = None),
        ("a time before all", |manifest| {
            manifest.timestamp = Some(proto::Timestamp { seconds: i64::MIN, nanos: i32::MIN });
        }),
        ("a time after all", |manifest| {
            manifest.timestamp = Some(proto::Timestamp { seconds: i64::MAX, nanos: i32::MAX });
        }),
        ("no data format", |manifest| manifest.data_format = None),
        ("another data format", |manifest| {
            manifest.data_format.as_mut().unwrap().file_format = "parquet".into();
        }),
        ("a data format from afar", |manifest| {
            manifest.data_format.as_mut().unwrap().version = "99999999999.1".into();
        }),
        ("a data format without sense", |manifest| manifest.data_format.as_mut().unwrap().version.clear()),
        ("no transaction", |manifest| manifest.transaction_file.clear()),
        ("a transaction outside", |manifest| manifest.transaction_file = "../../../etc/passwd".into()),
        ("an index section beyond", |manifest| manifest.index_section = Some(u64::MAX)),
        ("an index section that is none", |manifest| manifest.index_section = Some(1)),
        ("a transaction section beyond", |manifest| manifest.transaction_section = Some(u64::MAX)),
        ("a transaction section that is none", |manifest| manifest.transaction_section = Some(1)),
        ("bases with one id", |manifest| {
            let base = || proto::BasePath { id: 1, path: "memory://x".into(), ..Default::default() };
            manifest.base_paths = vec![base(), base()];
        }),
        ("a base without a path", |manifest| {
            manifest.base_paths = vec![proto::BasePath { id: 1, ..Default::default() }];
            manifest.fragments[0].files[0].base_id = Some(1);
        }),
        ("a branch in the table itself", |manifest| manifest.branch = Some("trial".into())),
        ("a branch outside", |manifest| manifest.branch = Some("../..".into())),
        ("row ids of one fragment", |manifest| {
            use proto::data_fragment::RowIdSequence;
            manifest.fragments[0].row_id_sequence =
                Some(RowIdSequence::InlineRowIds(Bytes::from_static(b"\xff")));
        }),
        ("stable row ids without any", |manifest| manifest.reader_feature_flags |= 2),
        ("the highest row id", |manifest| manifest.next_row_id = u64::MAX),
        ("a fragment tree", |manifest| manifest.fragment_tree = Some(Bytes::from_static(b"x"))),
        ("the highest field id ever", |manifest| manifest.max_allocated_field_id = Some(i32::MAX)),
        ("unknown clusterings", |manifest| manifest.clustering = vec![Bytes::from_static(b"\xff\xff")]),
    ]
}

/// `files` with the manifest of `version` changed.
fn edited(files: &Files, version: u64, edit: Edit) -> Files {
    ours::run(async {
        let store = files.store().await;
        manifest::edit(&store, version, edit).await;
        Files::of(&store).await
    })
}

#[test]
fn manifests_that_contradict_themselves() {
    let files = ours::run(base());
    let cases = edits().into_iter().map(|(what, edit)| (what.to_string(), edited(&files, NEWEST, edit)));
    check(&crash::OPERATIONS, cases);
}

/// That only some look at.
#[test]
fn old_manifests_that_contradict_themselves() {
    let files = ours::run(base());
    let edits = edits().into_iter().filter(|(what, _)| !what.starts_with("deletions"));
    let cases = edits.map(|(what, edit)| (what.to_string(), edited(&files, 2, edit)));
    check(&["append", "restore", "tag", "clean up"], cases);
}

fn arrow_file(name: &str, array: ArrayRef, nullable: bool) -> Bytes {
    let field = Field::new(name, array.data_type().clone(), nullable);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array]).unwrap();
    let mut writer = FileWriter::try_new(vec![], &schema).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap().into()
}

#[test]
fn deletion_files_of_other_shapes() {
    let files = ours::run(base());
    let path = files.0.keys().find(|path| path.starts_with("_deletions/")).unwrap().clone();
    let numbers = |numbers: Vec<u32>| -> ArrayRef { Arc::new(UInt32Array::from(numbers)) };
    let shapes = [
        ("rows beyond", arrow_file("row_id", numbers(vec![3, 4, 4_000_000_000]), false)),
        ("too few rows", arrow_file("row_id", numbers(vec![3]), false)),
        ("rows twice", arrow_file("row_id", numbers(vec![3, 3, 4]), false)),
        ("no rows", arrow_file("row_id", numbers(vec![]), false)),
        ("all rows", arrow_file("row_id", numbers((0..10).collect()), false)),
        ("another name", arrow_file("x", numbers(vec![3, 4, 5]), false)),
        ("may be null", arrow_file("row_id", numbers(vec![3, 4, 5]), true)),
        ("nulls", arrow_file("row_id", Arc::new(UInt32Array::from(vec![Some(3), None, Some(5)])), true)),
        ("wide numbers", arrow_file("row_id", Arc::new(UInt64Array::from(vec![3, 4, u64::MAX])), false)),
        ("signed numbers", arrow_file("row_id", Arc::new(Int32Array::from(vec![3, -4, 5])), false)),
        ("a bitmap", bitmap(&[3, 4, 5])),
        ("nothing", Bytes::new()),
        ("something else", Bytes::from_static(b"ARROW1\0\0ARROW1")),
    ];
    check(
        &crash::OPERATIONS,
        shapes.map(|(what, bytes)| (format!("deletions: {what}"), files.with(&path, bytes))),
    );
}

/// A roaring bitmap of `rows`, all below 65536.
fn bitmap(rows: &[u16]) -> Bytes {
    let mut bytes = vec![];
    // One container, an array, of which the first entry is 16 bytes from the beginning.
    for number in [12346_u32, 1, (rows.len() as u32 - 1) << 16, 16] {
        bytes.extend(number.to_le_bytes());
    }
    rows.iter().for_each(|row| bytes.extend(row.to_le_bytes()));
    bytes.into()
}

#[test]
fn bitmaps_of_other_shapes() {
    let files = ours::run(base());
    let old = files.0.keys().find(|path| path.starts_with("_deletions/")).unwrap().clone();
    let path = old.replace(".arrow", ".bin");
    let whole = bitmap(&[3, 4, 5]);
    let edited = edited(&files, NEWEST, |manifest| {
        manifest.fragments[0].deletion_file.as_mut().unwrap().file_type = 1;
    });
    let sound = edited.with(&path, whole.clone());
    assert_eq!(ours::run(async { read(&sound.store().await).await.newest.unwrap() }), 46);
    let number = |at: usize, number: u32| {
        let mut bytes = whole.to_vec();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        Bytes::from(bytes)
    };
    let mut shapes = vec![
        ("no rows".to_string(), bitmap(&[3, 4, 5]).slice(..16)),
        ("rows beyond".into(), bitmap(&[3, 4, 60_000])),
        ("rows that descend".into(), bitmap(&[5, 4, 3])),
        ("rows twice".into(), bitmap(&[3, 3, 3])),
        ("too few rows".into(), bitmap(&[3])),
        ("many containers".into(), number(4, u32::MAX)),
        ("65536 containers".into(), number(4, 65_536)),
        ("a large container".into(), number(8, 0xffff_0000)),
        ("a container beyond".into(), number(8, 0x0002_ffff)),
        ("runs".into(), number(0, 12347)),
        ("an offset beyond".into(), number(12, u32::MAX)),
    ];
    shapes.extend((0..whole.len()).map(|len| (format!("{len} bytes"), whole.slice(..len))));
    check(
        &crash::OPERATIONS,
        shapes.into_iter().map(|(what, bytes)| (format!("bitmap: {what}"), edited.with(&path, bytes))),
    );
}

#[test]
fn references_of_other_shapes() {
    let files = ours::run(base());
    let odd = || {
        let big = json!(1e300);
        vec![
            json!(null),
            json!(-1),
            json!(1.5),
            big,
            json!(u64::MAX),
            json!("1"),
            json!([]),
            json!({"a": 1}),
            json!(true),
        ]
    };
    let mut cases = vec![];
    for path in [files.only("_refs/tags/", ".json"), files.only("_refs/branches/", ".json")] {
        let whole: Value = serde_json::from_slice(&files.0[&path]).unwrap();
        for key in whole.as_object().unwrap().keys() {
            for value in odd() {
                let mut changed = whole.clone();
                let what = format!("{path}: {key} = {value}");
                changed[key] = value;
                cases.push((what, files.with(&path, changed.to_string())));
            }
            let mut without = whole.clone();
            without.as_object_mut().unwrap().remove(key);
            cases.push((format!("{path}: no {key}"), files.with(&path, without.to_string())));
        }
        for text in ["", "null", "[]", "7", "{", "{}", "\u{feff}{}", &"[".repeat(100_000), "{\"version\":1"] {
            let what = format!("{path}: {}", &text[..text.len().min(12)]);
            cases.push((what, files.with(&path, text.to_string())));
        }
    }
    check(&["append", "tag", "branch", "clean up"], cases);
}

/// Each bit in each word: whether the table is read, and whether it is written, and if not which name the error has.
#[test]
fn flags_of_the_future() {
    const READ: [u32; 14] = [0, 1, 2, 3, 4, 5, 7, 8, 10, 11, 14, 15, 17, 99];
    const WRITTEN: [u32; 9] = [0, 1, 2, 3, 4, 5, 7, 8, 15];
    let files = ours::run(base());
    ours::run(async {
        for bit in 0..64_u32 {
            for (word, set) in [("reader", [true, false]), ("writer", [false, true]), ("both", [true, true])]
            {
                let store = files.store().await;
                manifest::edit(&store, NEWEST, |manifest| {
                    manifest.reader_feature_flags |= u64::from(set[0]) << bit;
                    manifest.writer_feature_flags |= u64::from(set[1]) << bit;
                })
                .await;
                let before = Files::of(&store).await;
                let flag = format!("flag bit {bit}");
                let named = |what: &str, error: &dyn std::fmt::Display| {
                    let text = error.to_string();
                    assert!(text.contains(&flag), "{word}, {what} with {flag}: {text}");
                };
                // Some bits must be in both words, and some say that there is something else, which is missing.
                let contradicts =
                    matches!((bit, word), (8 | 10 | 14 | 16, "reader" | "writer")) || matches!(bit, 1 | 15);
                let opened = Dataset::builder("").store(store.clone()).load().await;
                match opened {
                    Ok(_) => {
                        assert!(!contradicts && (!set[0] || READ.contains(&bit)), "{word}: {flag} is read")
                    }
                    Err(error) if contradicts && READ.contains(&bit) => {
                        assert!(!error.to_string().is_empty())
                    }
                    Err(error) => {
                        assert!(set[0] && !READ.contains(&bit) || contradicts, "{word}, {flag}: {error}");
                        named("reading", &error);
                    }
                }
                for operation in crash::OPERATIONS {
                    // A name needs no new version, and older ones can be had.
                    if operation == "tag" {
                        continue;
                    }
                    let store = before.store().await;
                    let allowed = !contradicts
                        && (!set[0] || READ.contains(&bit))
                        && (!set[1] || WRITTEN.contains(&bit));
                    match crash::run(operation, store.clone()).await {
                        Ok(()) => assert!(allowed, "{word}: {operation} with {flag}"),
                        Err(error) => {
                            assert!(!allowed, "{word}: {operation} with {flag}: {error}");
                            assert_eq!(Files::of(&store).await, before, "{operation} with {flag}");
                            if !contradicts {
                                named(operation, &error);
                            }
                        }
                    }
                }
            }
        }
    });
}

/// Fields that nobody knows yet, in each message.
#[test]
fn unknown_fields() {
    let files = ours::run(base());
    let path = format!("_versions/{:020}.manifest", u64::MAX - NEWEST);
    let file = &files.0[&path];
    let end = file.len() - 16;
    let position = u64::from_le_bytes(file[end..end + 8].try_into().unwrap()) as usize;
    // Field 3000 as a number, bytes and 8 bytes.
    let unknown: [&[u8]; 3] =
        [b"\xc0\xbb\x01\x07", b"\xc2\xbb\x01\x03abc", b"\xc1\xbb\x01\0\0\0\0\0\0\0\x01"];
    let cases = unknown.iter().map(|more| {
        let mut message = file[position + 4..end].to_vec();
        message.extend(*more);
        let mut bytes = file[..position].to_vec();
        bytes.extend((message.len() as u32).to_le_bytes());
        bytes.extend(message);
        bytes.extend(&file[end..]);
        assert!(Manifest::parse(&Bytes::from(bytes.clone())).is_ok());
        (format!("an unknown field {more:?}"), files.with(&path, bytes))
    });
    check(&crash::OPERATIONS, cases);
}
