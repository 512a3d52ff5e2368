//! Verifying tables: what is right is found right, and of each kind of contradiction there is a line that says it.

use std::path::Path;

use arrow_array::{RecordBatch, record_batch};
use bytes::Bytes;
use demilance_tests::manifest::edit;
use demilance_tests::{fixture, ours, verified};
use lance_footer::Version;
use lance_io::Store;
use lance_table::verify::{VerifyOptions, verify};
use lance_table::{CommitOptions, Expr, Table, WriteMode, WriteOptions, proto};
use prost::Message;

#[test]
fn tables_of_the_reference_are_right() {
    let wrong = ours::run(async {
        let mut wrong = vec![];
        for fixture in fixture::tables() {
            let store = Store::local(&fixture.path);
            for version in &fixture.versions {
                let (verified, lines, notes) = verified::table(&store, Some(version.version)).await;
                assert_eq!(verified.rows, version.rows, "{} {}", fixture.name, version.version);
                let lines = lines.into_iter().chain(notes);
                wrong.extend(lines.map(|line| format!("{} {}: {line}", fixture.name, version.version)));
            }
            let (verified, lines, notes) = verified::table(&store, None).await;
            assert_eq!(verified.rows, fixture.versions.last().unwrap().rows, "{}", fixture.name);
            wrong.extend(lines.into_iter().chain(notes).map(|line| format!("{}: {line}", fixture.name)));
        }
        wrong
    });
    ours::none_wrong(wrong);
}

/// All files below `path`, in a store in memory.
async fn copied(path: &Path) -> Store {
    let store = Store::memory();
    let mut directories = vec![path.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let file = entry.unwrap().path();
            if file.is_dir() {
                directories.push(file);
                continue;
            }
            let name = file.strip_prefix(path).unwrap().to_str().unwrap().to_string();
            store.put(&name, std::fs::read(&file).unwrap().into()).await.unwrap();
        }
    }
    store
}

fn batch() -> RecordBatch {
    record_batch!(("id", Int32, [1, 2, 3]), ("x", Float64, [0.5, 1.5, 2.5])).unwrap()
}

/// Two versions, two fragments.
async fn table(store: &Store) -> Table {
    Table::write(store.clone(), batch().into(), WriteOptions::default()).await.unwrap();
    let more = WriteOptions { mode: WriteMode::Append, ..Default::default() };
    Table::write(store.clone(), batch().into(), more).await.unwrap()
}

#[test]
fn our_own_tables_are_right() {
    ours::run(async {
        let store = Store::memory();
        table(&store).await;
        let (verified, lines, notes) = verified::table(&store, None).await;
        assert!(lines.is_empty() && notes.is_empty(), "{lines:?} {notes:?}");
        assert_eq!((verified.files, verified.rows, verified.columns, verified.pages), (2, 6, 4, 4));
        edit(&store, 2, |_| {}).await;
        assert!(verified::table(&store, None).await.1.is_empty());
    });
}

type Edit = fn(&mut proto::Manifest);

#[test]
fn contradictions_of_manifests() {
    let cases: &[(&str, Edit, &[&str])] = &[
        (
            "unknown flags",
            |m| m.reader_feature_flags |= 1 << 40,
            &["_versions/", "unsupported", "flag bit 40"],
        ),
        ("the version", |m| m.version = 9, &["_versions/", "manifest is corrupt", "version 9"]),
        ("field ids", |m| m.fields[1].id = 0, &["_versions/", "field id 0 (\"x\") is there twice"]),
        ("parents", |m| m.fields[0].parent_id = 7, &["_versions/", "parent 7"]),
        (
            "types",
            |m| m.fields[0].logical_type = "int64".into(),
            &["data/", "field id, column 0", "int64", "int32"],
        ),
        ("fragment ids", |m| m.fragments[1].id = 0, &["_versions/", "fragment id 0 is there twice"]),
        ("the highest id", |m| m.max_fragment_id = Some(0), &["_versions/", "fragment id 1, but at most 0"]),
        ("rows", |m| m.fragments[1].physical_rows = 4, &["data/", "3 rows, but the manifest says 4"]),
        (
            "sizes",
            |m| m.fragments[0].files[0].file_size_bytes += 1,
            &["data/", "bytes, but the manifest says"],
        ),
        (
            "columns",
            |m| m.fragments[0].files[0].column_indices = vec![0, 2],
            &["data/", "field 1 is said to be in column 2, but there are 2"],
        ),
        (
            "columns that are the same",
            |m| m.fragments[0].files[0].column_indices = vec![1, 1],
            &["data/", "field id, column 1", "its type is int32 in the table, but double in the file"],
        ),
        (
            "fields without columns",
            |m| m.fragments[0].files[0].column_indices.truncate(1),
            &["_versions/", "2 fields, but 1 columns"],
        ),
        (
            "fields in two columns",
            |m| m.fragments[0].files[0].fields = vec![1, 1],
            &["_versions/", "fragment 0 is corrupt", "field 1 is in two"],
        ),
        (
            "versions of files",
            |m| m.fragments[0].files[0].file_minor_version = 1,
            &["data/", "it has version 2.2, but the manifest says 2.1"],
        ),
        (
            "versions of files in the table",
            |m| m.data_format.as_mut().unwrap().version = "2.1".into(),
            &["data/", "it has version 2.2 in a table of version 2.1"],
        ),
        ("unknown versions", |m| m.fragments[0].files[0].file_minor_version = 9, &["_versions/", "2.9"]),
        ("paths", |m| m.fragments[0].files[0].path = "../x.lance".into(), &["../x.lance", "dot"]),
        (
            "missing files",
            |m| m.fragments[0].files[0].path = "x.lance".into(),
            &["data/x.lance", "not there"],
        ),
        ("base paths", |m| m.fragments[0].files[0].base_id = Some(3), &["base path 3"]),
        (
            "deletion files",
            |m| {
                m.fragments[0].deletion_file =
                    Some(proto::DeletionFile { num_deleted_rows: 1, ..Default::default() })
            },
            &["_deletions/0-0-0.arrow", "not there"],
        ),
        (
            "transactions",
            |m| m.transaction_section = Some(1),
            &["_versions/", "its transaction is not a message"],
        ),
        (
            "transactions of others",
            |m| m.transaction_file = "0-x.txn".into(),
            &["note: ", "_transactions/0-x.txn", "not there"],
        ),
    ];
    let wrong = ours::run(async {
        let mut wrong = vec![];
        for (name, change, words) in cases {
            let store = Store::memory();
            table(&store).await;
            edit(&store, 2, change).await;
            let (_, lines, notes) = verified::table(&store, Some(2)).await;
            wrong.extend(check(name, lines, notes, words));
        }
        wrong
    });
    ours::none_wrong(wrong);
}

#[test]
fn contradictions_of_deletion_files() {
    type Change = fn(&mut proto::DataFragment);
    let cases: &[(&str, &str, Change, &[&str])] = &[
        (
            "counts of deleted rows",
            "deletes-2.2",
            |fragment| fragment.deletion_file.as_mut().unwrap().num_deleted_rows += 1,
            &["_deletions/", "deletion file is corrupt", "but the manifest says"],
        ),
        (
            "an unknown kind of deletion file",
            "deletes-2.2",
            |fragment| fragment.deletion_file.as_mut().unwrap().file_type = 7,
            &["unsupported: deletion file type 7"],
        ),
    ];
    let wrong = ours::run(async {
        let mut wrong = vec![];
        for (name, fixture, change, words) in cases {
            let fixture = fixture::tables().into_iter().find(|table| table.name == *fixture).unwrap();
            let version = fixture.versions.last().unwrap().version;
            let store = copied(&fixture.path).await;
            edit(&store, version, |manifest| {
                let with = |fragment: &&mut proto::DataFragment| fragment.deletion_file.is_some();
                change(manifest.fragments.iter_mut().find(with).unwrap());
            })
            .await;
            let (_, lines, notes) = verified::table(&store, None).await;
            wrong.extend(check(name, lines, notes, words));
        }
        wrong
    });
    ours::none_wrong(wrong);
}

/// Gives the rows of the table that [`table`] makes stable ids: 0 to 2 and 3 to 5.
fn with_row_ids(manifest: &mut proto::Manifest) {
    manifest.reader_feature_flags |= 2;
    manifest.writer_feature_flags |= 2;
    manifest.next_row_id = 6;
    for (number, fragment) in (0_u64..).zip(&mut manifest.fragments) {
        set_ids(fragment, 3 * number..3 * number + 3, number + 1);
    }
}

fn set_ids(fragment: &mut proto::DataFragment, ids: std::ops::Range<u64>, version: u64) {
    use proto::data_fragment::{CreatedAtVersionSequence as Created, RowIdSequence as Stored};
    use proto::u64_segment::{Range, Segment};
    let range = |start, end| proto::U64Segment { segment: Some(Segment::Range(Range { start, end })) };
    let sequence = proto::RowIdSequence { segments: vec![range(ids.start, ids.end)] };
    fragment.row_id_sequence = Some(Stored::InlineRowIds(sequence.encode_to_vec().into()));
    let run = proto::RowDatasetVersionRun { span: Some(range(0, ids.end - ids.start)), version };
    let versions = proto::RowDatasetVersionSequence { runs: vec![run] };
    fragment.created_at_version_sequence =
        Some(Created::InlineCreatedAtVersions(versions.encode_to_vec().into()));
}

/// A null is one only in a row that is not deleted.
#[test]
fn nulls_in_columns_that_are_never_null() {
    for (version, deleted, counted, wrong) in Version::ALL.into_iter().flat_map(|version| {
        [
            (version, "x IS NULL", true, 0),
            (version, "id = 2", true, 1),
            (version, "id = 3", true, 2),
            (version, "false", true, 2),
            // Where the manifest does not say how many rows there are, nobody can tell which are left.
            (version, "id = 3", false, 2),
        ]
    }) {
        let lines = ours::run(async {
            let store = Store::memory();
            let rows = record_batch!(
                ("id", Int32, [1, 2, 3, 4]),
                ("x", Float64, [Some(0.5), None, Some(1.5), None])
            );
            let options = WriteOptions { version: Some(version), page_bytes: 1, ..Default::default() };
            let table = Table::write(store.clone(), rows.unwrap().into(), options).await.unwrap();
            let deleted = Expr::parse(deleted).unwrap();
            table.delete(&deleted, &CommitOptions::default()).await.unwrap();
            edit(&store, 2, |manifest| {
                manifest.fields[1].nullable = false;
                if !counted {
                    manifest.fragments[0].physical_rows = 0;
                }
            })
            .await;
            verified::table(&store, None).await.1
        });
        let found = lines.iter().filter(|line| line.contains("nulls in a field that is not nullable"));
        let count = |line: &String| {
            let (before, _) = line.split_once(" nulls in").unwrap();
            before.rsplit(' ').next().unwrap().parse::<usize>().unwrap()
        };
        assert_eq!(found.clone().map(count).sum::<usize>(), wrong, "{version}, {deleted}: {lines:?}");
        assert!(!counted || found.count() == lines.len(), "{version}, {deleted}: {lines:?}");
    }
}

#[test]
fn contradictions_of_row_ids() {
    let cases: &[(&str, Edit, &[&str])] = &[
        (
            "ids that are used twice",
            |m| set_ids(&mut m.fragments[1], 2..5, 2),
            &["two rows have the row id 2"],
        ),
        ("the next id", |m| m.next_row_id = 5, &["fragment 1: row id sequence", "row id 5", "said to be 5"]),
        (
            "too few ids",
            |m| set_ids(&mut m.fragments[1], 3..5, 2),
            &["fragment 1: row id sequence", "2 ids for 3 rows"],
        ),
        (
            "versions to come",
            |m| set_ids(&mut m.fragments[0], 0..3, 3),
            &["fragment 0: created-at", "version 3"],
        ),
        (
            "no ids",
            |m| m.fragments[0].row_id_sequence = None,
            &["row ids are stable, but fragment 0 has none"],
        ),
    ];
    let wrong = ours::run(async {
        let mut wrong = vec![];
        let whole: (&str, Edit, &[&str]) = ("nothing", |_| {}, &[]);
        for (name, change, words) in std::iter::once(&whole).chain(cases) {
            let store = Store::memory();
            table(&store).await;
            edit(&store, 2, |manifest| {
                with_row_ids(manifest);
                change(manifest);
            })
            .await;
            let (_, lines, notes) = verified::table(&store, Some(2)).await;
            match words {
                [] => assert!(lines.is_empty() && notes.is_empty(), "{lines:?}"),
                words => wrong.extend(check(name, lines, notes, words)),
            }
        }
        wrong
    });
    ours::none_wrong(wrong);
}

fn check(name: &str, lines: Vec<String>, notes: Vec<String>, words: &[&str]) -> Option<String> {
    let lines: Vec<_> =
        lines.into_iter().chain(notes.into_iter().map(|note| format!("note: {note}"))).collect();
    let said = lines.iter().any(|line| words.iter().all(|word| line.contains(word)));
    (!said || lines.len() > 6).then(|| format!("{name}: {words:?}\n    {}", lines.join("\n    ")))
}

#[test]
fn files_that_are_damaged_or_left_over() {
    ours::run(async {
        let store = Store::memory();
        let made = table(&store).await;
        let lost = made.fragments()[0].files()[0].path.clone();
        let broken = made.fragments()[1].files()[0].path.clone();
        store.delete(&format!("data/{lost}")).await.unwrap();
        let mut bytes = store.read_all(&format!("data/{broken}")).await.unwrap().to_vec();
        bytes.truncate(bytes.len() - 1);
        store.put(&format!("data/{broken}"), bytes.into()).await.unwrap();
        store.put("data/other.lance", Bytes::from_static(b"x")).await.unwrap();
        store.put("_deletions/0-1-2.bin", Bytes::from_static(b"x")).await.unwrap();
        let (verified, lines, notes) = verified::table(&store, None).await;
        let starts = |lines: &[String], expected: &[String]| {
            assert_eq!(lines.len(), expected.len(), "{lines:#?}");
            for (line, start) in lines.iter().zip(expected) {
                assert!(line.starts_with(start), "{line} does not start with {start}");
            }
        };
        starts(
            &lines,
            &[
                format!("data/{lost}: a file that the manifest lists is not there"),
                format!("data/{broken}: "),
                format!("data/{broken}: bytes "),
            ],
        );
        starts(
            &notes,
            &["data/other.lance: no version refers".into(), "_deletions/0-1-2.bin: no version".into()],
        );
        assert_eq!((verified.problems, verified.rows), (3, 6));

        // A version that cannot be read: it is told, and what it refers to is not known.
        store.put("_versions/18446744073709551614.manifest", Bytes::from_static(b"x")).await.unwrap();
        let (_, lines, notes) = verified::table(&store, None).await;
        assert!(
            lines.last().unwrap().starts_with("_versions/18446744073709551614.manifest: manifest is corrupt")
        );
        assert!(notes.is_empty());
        store.put("_versions/18446744073709551613.manifest", Bytes::from_static(b"x")).await.unwrap();
        let (_, lines, _) = verified::table(&store, None).await;
        assert!(
            matches!(lines.as_slice(), [line] if line.contains("18446744073709551613.manifest: manifest is"))
        );
        store.put("_versions/7.manifest", Bytes::from_static(b"x")).await.unwrap();
        let (_, lines, _) = verified::table(&store, None).await;
        assert!(matches!(lines.as_slice(), [line] if line.contains("mixes V1 and V2")));
    });
}

/// What only a branch needs, or a version outside of the history, is not left over.
#[test]
fn files_of_branches_are_needed() {
    ours::run(async {
        let store = Store::memory();
        let made = table(&store).await;
        let branch = made.create_branch("b", &CommitOptions::default()).await.unwrap();
        let overwrite = WriteOptions { mode: WriteMode::Overwrite, ..WriteOptions::default() };
        Table::write(store.clone(), vec![batch()].into(), overwrite).await.unwrap();
        let old = store.read_all("_versions/18446744073709551613.manifest").await.unwrap();
        for version in [1, 2] {
            store.delete(&format!("_versions/{}.manifest", u64::MAX - version)).await.unwrap();
        }
        let of_first = |notes: &[String]| notes.iter().filter(|note| note.starts_with("data/")).count();
        for (store, what) in [(&store, "table"), (branch.store(), "branch")] {
            let (verified, lines, notes) = verified::table(store, None).await;
            assert_eq!((verified.problems, of_first(&notes)), (0, 0), "{what}: {lines:?} {notes:?}");
        }
        branch.delete_branch("b", true).await.unwrap();
        let (_, _, notes) = verified::table(&store, None).await;
        let files = made.fragments().iter().map(|fragment| fragment.files().len()).sum::<usize>();
        assert_eq!(of_first(&notes), files, "{notes:?}");
        store.put("_versions/d9223372036854775809.manifest", old).await.unwrap();
        let (_, _, notes) = verified::table(&store, None).await;
        assert_eq!(of_first(&notes), 0, "{notes:?}");
    });
}

#[test]
fn there_must_be_a_table() {
    ours::run(async {
        let mut nothing = |_| {};
        let store = Store::memory();
        let error = verify(&store, VerifyOptions::default(), &mut nothing).await.unwrap_err();
        assert!(matches!(error, lance_table::TableError::NotFound { .. }), "{error}");
        table(&store).await;
        let options = VerifyOptions { version: Some(3), ..Default::default() };
        let error = verify(&store, options, &mut nothing).await.unwrap_err();
        assert!(matches!(error, lance_table::TableError::NotFound { .. }), "{error}");
    });
}
