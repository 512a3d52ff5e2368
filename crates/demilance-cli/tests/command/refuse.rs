use crate::run::{Place, rows, write_parquet};

fn table() -> Place {
    let place = Place::new();
    write_parquet(&place.path("a.parquet"), &rows(0, 10));
    place.ok("import a.parquet t.lance");
    place
}

fn assert_says(line: &str, parts: &[&str]) {
    for part in parts {
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
}

#[test]
fn missing_things_are_named() {
    let place = table();
    assert_says(&place.error("cat none.lance"), &["none.lance", "no such table or file"]);
    assert_says(&place.error("info none.lance"), &["none.lance"]);
    assert_says(&place.error("inspect none.lance"), &["none.lance"]);
    assert_says(&place.error("import none.parquet x.lance"), &["none.parquet"]);
    assert_says(&place.error("import a.parquet none.lance --mode append"), &["none.lance"]);
    assert_says(&place.error("cat t.lance --version 9"), &["t.lance", "9"]);
    assert_says(&place.error("cat t.lance -o none/a.csv"), &["none/a.csv", "no directory none"]);
    assert_says(&place.error("demo --from none"), &["none"]);
    assert_says(&place.error("import a.parquet a.parquet"), &["a.parquet", "is a file"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    assert_says(&place.error("cat empty"), &["empty", "not a Lance table"]);
    assert_says(&place.error("import empty x.lance"), &["empty", "no file"]);
    assert!(!place.path("x.lance").exists());
    assert!(!place.path("none.lance").exists());
}

#[test]
fn unknown_columns_are_named_with_the_table() {
    let place = table();
    assert_says(&place.error("cat t.lance --columns id,wheel"), &["t.lance", "wheel"]);
    assert_says(&place.error("cat t.lance --columns both.y"), &["t.lance", "both.y"]);
    assert_says(&place.error("cat t.lance --columns wheel --rows 1"), &["t.lance", "wheel"]);
}

#[test]
fn rows_must_exist() {
    let place = table();
    assert_says(&place.error("cat t.lance --rows 3,10"), &["t.lance", "no row 10", "there are 10"]);
    assert_says(&place.error("cat t.lance --rows 0-18446744073709551614"), &["t.lance", "no row"]);
}

#[test]
fn unknown_kinds_of_files_are_refused() {
    let place = table();
    place.write("a.xlsx", "x");
    place.write("a.arrow", "not arrow");
    place.write("a.parquet", "not parquet");
    place.write("a.jsonl", "not json\n");
    place.write("empty.csv", "");
    assert_says(&place.error("import a.xlsx x.lance"), &["a.xlsx", "unknown kind", ".parquet"]);
    for source in ["a.arrow", "a.parquet", "a.jsonl", "empty.csv"] {
        assert_says(&place.error(&format!("import {source} x.lance")), &[&format!("error: {source}: ")]);
    }
    assert_says(&place.error("cat a.xlsx"), &["a.xlsx"]);
    assert_says(&place.error("inspect a.csv"), &["a.csv"]);
    assert!(!place.path("x.lance").exists());
}

#[test]
fn schemas_that_do_not_agree_name_file_and_field() {
    let place = table();
    place.write("a.csv", "x,y\n1,2\n");
    place.write("b.csv", "x,y\n1,text\n");
    place.write("c.csv", "x\n1\n");
    let line = place.error("import a.csv b.csv x.lance");
    assert_says(&line, &["error: b.csv: ", "\"y\"", "Utf8", "Int64", "a.csv"]);
    assert_says(&place.error("import a.csv c.csv x.lance"), &["error: c.csv: ", "\"y\""]);
    assert_says(&place.error("import a.csv t.lance --mode append"), &["error: a.csv: ", "t.lance"]);
    assert!(!place.path("x.lance").exists());
}

#[test]
fn bad_values_name_file_and_field() {
    let place = table();
    let good = "1\n".repeat(5000);
    place.write("a.csv", &format!("x\n{good}text\n"));
    assert_says(&place.error("import a.csv x.lance"), &["error: a.csv: ", "\"x\"", "text"]);
    let good = "{\"x\":1}\n".repeat(5000);
    place.write("a.jsonl", &format!("{good}{{\"y\":1}}\n"));
    assert_says(&place.error("import a.jsonl x.lance"), &["error: a.jsonl: ", "'y'"]);
    // Nothing that looks like a table is left.
    let outcome = place.call(["cat", "x.lance"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
}

#[test]
fn wrong_usage_has_its_own_code() {
    let place = table();
    for words in [
        "",
        "fly",
        "import a.parquet",
        "import a.parquet x.lance --mode maybe",
        "import a.parquet x.lance --file-version 2.3",
        "import a.parquet x.lance --compression zip",
        "import a.parquet x.lance --compression lz4:3",
        "import a.parquet x.lance --compression zstd:23",
        "import a.parquet x.lance --align 512",
        "import a.parquet x.lance --max-rows-per-fragment 0",
        "cat t.lance --rows 5-4",
        "cat t.lance --rows a",
        "cat t.lance --limit -1",
        "cat t.lance --format xml",
        "demo --batch 0",
    ] {
        let outcome = place.call(words.split_whitespace());
        assert_eq!(outcome.code, Some(2), "{words}: {outcome:?}");
    }
    for words in ["--help", "--version", "cat --help", "import --help", "demo --help"] {
        assert_eq!(place.call(words.split_whitespace()).code, Some(0), "{words}");
    }
}

#[test]
fn broken_files_are_refused_in_one_line() {
    let place = table();
    let file = std::fs::read_dir(place.path("t.lance/data")).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&file).unwrap();
    for length in [0, 1, 39, 40, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(place.path("cut.lance"), &bytes[..length]).unwrap();
        for command in ["cat", "info", "inspect"] {
            assert_says(&place.error(&format!("{command} cut.lance")), &["cut.lance"]);
        }
    }
}
