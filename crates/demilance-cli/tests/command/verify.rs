use serde_json::Value;

use crate::run::{Place, rows, write_parquet};

/// A table of two versions, and its data files, oldest first.
fn table() -> (Place, Vec<String>) {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 2000));
    let mut files: Vec<String> = vec![];
    for mode in ["create", "append"] {
        place.ok(&format!("import a.parquet t.lance --mode {mode}"));
        let listed = std::fs::read_dir(place.path("t.lance/data")).unwrap();
        let listed = listed.map(|entry| format!("t.lance/data/{}", entry.unwrap().file_name().display()));
        let new = listed.filter(|file| !files.contains(file)).collect::<Vec<_>>();
        files.extend(new);
    }
    (place, files)
}

/// Flips a bit of the byte that is `from_end` before the end of `file`.
fn flip(place: &Place, file: &str, from_end: usize) {
    let mut bytes = std::fs::read(place.path(file)).unwrap();
    let at = bytes.len() - from_end;
    bytes[at] ^= 1;
    std::fs::write(place.path(file), bytes).unwrap();
}

#[test]
fn what_is_right_has_one_line() {
    let (place, files) = table();
    let line = place.ok("verify t.lance");
    assert!(
        line.starts_with("t.lance: no problems; 4,000 rows of 12 columns in 2 files, 12 pages, "),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);
    let line = place.ok("verify t.lance --version 1");
    assert!(line.starts_with("t.lance: no problems; 2,000 rows of 6 columns in 1 file, 6 pages, "), "{line}");
    let line = place.ok(&format!("verify {}", files[0]));
    assert!(
        line.starts_with(&format!("{}: no problems; 2,000 rows of 6 columns in 1 file", files[0])),
        "{line}"
    );
    let value: Value = serde_json::from_str(&place.ok("verify t.lance --json")).unwrap();
    assert_eq!(value["problems"].as_array().unwrap().len(), 0);
    assert_eq!(
        (value["rows"].as_u64(), value["files"].as_u64(), value["pages"].as_u64()),
        (Some(4000), Some(2), Some(12))
    );
}

#[test]
fn each_problem_is_a_line_and_the_code_says_it() {
    let (place, files) = table();
    // The size of the metadata of column 0 in one file; the last byte of the other.
    flip(&place, &files[0], 40 + 16 + 5 * 16 + 2);
    let bytes = std::fs::read(place.path(&files[1])).unwrap();
    std::fs::write(place.path(&files[1]), &bytes[..bytes.len() - 1]).unwrap();
    place.write("t.lance/data/other.lance", "x");

    let outcome = place.call(["verify", "t.lance"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let text = outcome.text();
    let lines = text.lines().collect::<Vec<_>>();
    assert!(lines[0].starts_with(&format!("{}: column 0, bytes ", files[0])), "{text}");
    assert!(lines.iter().any(|line| line.starts_with(&format!("{}: ", files[1]))), "{text}");
    assert!(lines.contains(&"note: t.lance/data/other.lance: no version refers to it"), "{text}");
    let problems = lines.len() - 2;
    let last = lines.last().unwrap();
    assert!(last.starts_with(&format!("t.lance: {problems} problems, 1 note; 4,000 rows ")), "{text}");

    let outcome = place.call(["verify", "t.lance", "--json"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let value: Value = serde_json::from_str(&outcome.text()).unwrap();
    assert_eq!(value["problems"].as_array().unwrap().len(), problems);
    assert_eq!(value["problems"][0]["path"], files[0]);
    assert_eq!(value["problems"][0]["kind"], "corrupt");
    assert_eq!(value["problems"][0]["column"], 0);
    assert_eq!(value["notes"][0]["kind"], "unreferenced");

    // The first version does not have the file that is cut off.
    let outcome = place.call(["verify", "t.lance", "--version", "1"]);
    assert_eq!(outcome.code, Some(1));
    assert!(!outcome.text().contains(&files[1]));
    std::fs::remove_file(place.path(&files[0])).unwrap();
    let outcome = place.call(["verify", "t.lance", "--version", "1"]);
    assert_eq!(outcome.code, Some(1));
    let line = format!("{}: a file that the manifest lists is not there", files[0]);
    assert_eq!(outcome.text().lines().next(), Some(line.as_str()));
}

#[test]
fn checksums_find_what_decodes_to_a_wrong_value() {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 2000));
    for table in ["with", "without"] {
        let option = if table == "with" { "--checksums" } else { "" };
        place.ok(&format!("import a.parquet {table} {option}"));
        let file = std::fs::read_dir(place.path(&format!("{table}/data"))).unwrap().next().unwrap().unwrap();
        let (path, name) = (file.path(), file.file_name());
        let line = place.ok(&format!("verify {table}"));
        assert_eq!(line.contains("in 1 file, all with checksums, 6 pages"), table == "with", "{line}");
        let mut bytes = std::fs::read(&path).unwrap();
        // In the values of the first column.
        bytes[200] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        place.ok(&format!("cat {table} --columns id --format json"));
        let places = [table.to_string(), format!("{table}/data/{}", name.display())];
        if table == "without" {
            place.ok("verify without");
            places.iter().for_each(|path| {
                place.ok(&format!("cat {path} --verify-checksums --format json"));
            });
            continue;
        }
        let outcome = place.call(["verify", "with"]);
        assert_eq!(outcome.code, Some(1));
        assert!(outcome.text().contains("field id, column 0, page 0, bytes "), "{}", outcome.text());
        assert!(outcome.text().contains("the CRC32C is "), "{}", outcome.text());
        let value: Value = serde_json::from_str(&place.call(["verify", "with", "--json"]).text()).unwrap();
        assert_eq!((&value["checksummed"], &value["problems"][0]["kind"]), (&1.into(), &"checksum".into()));
        for path in places {
            let error = place.error(&format!("cat {path} --verify-checksums --rows 1 --columns id"));
            assert!(error.contains("the CRC32C is "), "{error}");
            place.ok(&format!("cat {path} --verify-checksums --columns text --format json"));
        }
    }
}

#[test]
fn a_decode_budget_bounds_what_few_bytes_become() {
    let place = Place::new();
    // The second row is 2 MB, which zstd makes some hundred bytes of.
    place.write("a.jsonl", &format!("{{\"text\":\"x\"}}\n{{\"text\":\"{}\"}}\n", "0".repeat(2_000_000)));
    place.ok("import a.jsonl t.lance --compression zstd");
    let file = std::fs::read_dir(place.path("t.lance/data")).unwrap().next().unwrap().unwrap();
    for path in ["t.lance".to_string(), format!("t.lance/data/{}", file.file_name().display())] {
        for enough in ["", "--decode-budget 3MB", "--decode-budget 2.5mib", "--decode-budget unlimited"] {
            assert!(place.ok(&format!("cat {path} --format json {enough}")).len() > 2_000_000);
            assert!(place.ok(&format!("verify {path} {enough}")).contains("no problems"), "{enough}");
        }
        for reading in ["", "--rows 1"] {
            let error = place.error(&format!("cat {path} --format json --decode-budget 1MB {reading}"));
            assert!(
                error.contains("field text: page 0: ") && error.ends_with("(--decode-budget SIZE)"),
                "{error}"
            );
        }
        let outcome = place.call(["verify", &path, "--decode-budget", "1MB"]);
        assert_eq!(outcome.code, Some(1));
        let text = outcome.text();
        assert!(text.contains("page 0") && text.contains("more than the budget of 1"), "{text}");
        let json = place.call(["verify", &path, "--decode-budget", "1MB", "--json"]).text();
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["problems"][0]["kind"], "over budget");
    }
    let outcome = place.call(["verify", "t.lance", "--decode-budget", "much"]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("neither a size such as 512MB"), "{}", outcome.stderr);
}

#[test]
fn what_is_no_table_and_no_file_is_refused() {
    let (place, files) = table();
    assert!(place.error("verify x.lance").contains("x.lance: no such table or file"));
    assert!(place.error("verify t.lance/data").contains("not a Lance table"));
    assert!(place.error("verify t.lance --version 9").contains("version 9"));
    assert!(place.error(&format!("verify {} --version 1", files[0])).contains("no versions"));
    let outcome = place.call(["verify", "a.parquet"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.text().starts_with("a.parquet: bytes "), "{outcome:?}");
}
