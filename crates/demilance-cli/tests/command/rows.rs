//! Rows that other implementations wrote, through the command.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::run::Place;

/// Golden images of every kind of frame, and some of every kind of type.
const CASES: &[&str] = &[
    "std_mixed",
    "cmp_mixed",
    "std_decimal",
    "cmp_low_list_decimal",
    "std_map_str_int",
    "cmp_map_int_fixed",
    "cmp_sort_mix",
    "std_list_var",
    "std_rand_5",
    "cmp_rand_18",
    "cmp_enc_hash",
    "py_enc_hash_overflow",
    "std_top_array_fixed",
    "cmp_top_array_fixed_size",
    "std_top_map_var",
    "cmp_top_map_var",
];

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/row")
}

fn cases(list: &str) -> Vec<Value> {
    let list: Value = serde_json::from_slice(&std::fs::read(golden().join(list)).unwrap()).unwrap();
    list["cases"].as_array().unwrap().clone()
}

/// A place with the schema of a case, and the words that every call takes.
fn place(case: &Value) -> (Place, String) {
    let place = Place::new();
    place.write("schema.json", &case["schema"].to_string());
    let (format, kind) = (case["format"].as_str().unwrap(), case["kind"].as_str().unwrap());
    (place, format!("--schema schema.json --format {format} --kind {kind}"))
}

fn file(case: &Value) -> PathBuf {
    golden().join(case["file"].as_str().unwrap())
}

#[test]
fn golden_rows_are_decoded_and_encoded_again() {
    let all = cases("manifest.json");
    for id in CASES {
        let case = all.iter().find(|case| case["id"] == *id).unwrap_or_else(|| panic!("no case {id}"));
        let (place, form) = place(case);
        let file = file(case);
        let text = place.ok(&format!("rows decode {form} {}", file.display()));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), case["value"], "{id}");

        place.ok(&format!("rows decode {form} {} -o row.json", file.display()));
        place.ok(&format!("rows encode {form} row.json -o row.bin"));
        let bytes = std::fs::read(&file).unwrap();
        assert_eq!(std::fs::read(place.path("row.bin")).unwrap(), bytes, "{id}");
        assert_eq!(place.call(format!("rows encode {form} row.json").split(' ')).stdout, bytes, "{id}");

        if let Some(hash) = case["schema_hash"].as_i64() {
            let format = case["format"].as_str().unwrap();
            let found = place.ok(&format!("rows hash --schema schema.json --format {format}"));
            assert_eq!(found, format!("{hash}\n"), "{id}");
        }
    }
}

#[test]
fn members_are_printed_in_the_order_of_the_schema() {
    let place = Place::new();
    place.write(
        "schema.json",
        r#"[{"name": "z", "nullable": true, "type": "int8"},
            {"name": "a", "nullable": true, "type": "struct", "fields": [
                {"name": "y", "nullable": false, "type": "int64"}, {"name": "b", "nullable": false, "type": "bool"}]},
            {"name": "m", "nullable": true, "type": "utf8"}]"#,
    );
    let row = r#"{"z":1,"a":{"y":-2,"b":true},"m":"é"}"#;
    place.write("row.json", row);
    for format in ["standard", "compact"] {
        place.ok(&format!("rows encode --schema schema.json --format {format} row.json -o row.bin"));
        let text = place.ok(&format!("rows decode --schema schema.json --format {format} row.bin"));
        assert_eq!(text, format!("{row}\n"));
    }
}

#[test]
fn stdin_and_stdout_are_dashes() {
    let place = Place::new();
    place.write("schema.json", r#"[{"name": "v", "nullable": true, "type": "int16"}]"#);
    let pipe = |words: &str, input: &[u8]| {
        let mut command = place.command();
        command.args(words.split(' ')).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap().stdout
    };
    let bytes = pipe("rows encode --schema schema.json --format compact - -o -", b"{\"v\": -2}");
    assert_eq!(bytes, [0xfe, 0xff, 0]);
    let json = pipe("rows decode --schema schema.json --format compact -", &bytes);
    assert_eq!(json, b"{\"v\":-2}\n");
}

#[test]
fn inspect_says_what_every_byte_is() {
    let all = cases("manifest.json");
    let case = |id: &str| all.iter().find(|case| case["id"] == id).unwrap();
    let (place, form) = place(case("cmp_arr_int"));
    let file = file(case("cmp_arr_int")).display().to_string();
    let text = place.ok(&format!("rows inspect {form} {file}"));
    assert_eq!(
        text,
        "   0  20 00 00 00 10 00 00 00  ; xs: 32 bytes at offset 0x10
   8  00 00 00 00 00 00 00 00  ; bitmap: no nulls; padding
  16  03 00 00 00 01 00 00 00  ; xs: 3 elements; xs[0..2] = 1, -2
  24  fe ff ff ff 03 00 00 00  ; xs[2] = 3
  32  00 00 00 00 00 00 00 00  ; padding; 12 bytes that nothing refers to
  40  00 00 00 00 00 00 00 00
"
    );
    let regions: Value =
        serde_json::from_str(&place.ok(&format!("rows inspect {form} {file} --json"))).unwrap();
    let first = json!({"offset": 0, "size": 8, "field": "xs", "kind": "reference", "value": "32 bytes at offset 0x10"});
    assert_eq!(regions[0], first);
    let sizes = regions.as_array().unwrap().iter().map(|region| region["size"].as_u64().unwrap());
    assert_eq!(sizes.sum::<u64>(), 48);
}

#[test]
fn malformed_rows_are_refused_in_one_line() {
    for case in cases("malformed.json") {
        let (place, form) = place(&case);
        let file = file(&case).display().to_string();
        for command in ["decode", "inspect"] {
            let line = place.error(&format!("rows {command} {form} {file}"));
            assert!(line.starts_with(&format!("error: {file}: ")), "{line}");
        }
        place.error(&format!("rows decode {form} {file} -o row.json"));
        assert!(!place.path("row.json").exists());
    }
}

#[test]
fn errors_name_file_field_and_contradiction() {
    let place = Place::new();
    place.write("schema.json", r#"[{"name": "v", "nullable": false, "type": "int16"}]"#);
    place.write("array.json", r#"[{"name": "v", "nullable": false, "type": "list"}]"#);
    place.write("broken.json", "[{");
    place.write("row.json", r#"{"v": 40000}"#);
    place.write("good.json", r#"{"v": 4}"#);
    place.write("null.json", "{}");
    place.write("more.json", r#"{"v": 1, "w": 2}"#);
    place.write("short.bin", "abc");
    place.write("other.bin", "01234567ab");
    for (words, line) in [
        ("rows decode --schema none.json short.bin", "none.json: No such file or directory"),
        ("rows decode --schema broken.json short.bin", "broken.json: is not JSON"),
        ("rows hash --schema array.json", "array.json: schema: field v: element is missing"),
        ("rows decode --schema schema.json none.bin", "none.bin: No such file or directory"),
        ("rows decode --schema schema.json short.bin", "short.bin: malformed row: 3 bytes are shorter"),
        (
            "rows decode --schema schema.json --format compact --kind row_with_hash other.bin",
            "other.bin: schema hash: the row was written with a schema of hash 3978425819141910832",
        ),
        (
            "rows decode --schema schema.json --kind array short.bin",
            "short.bin: wrong type: the first field of the schema is not a list",
        ),
        ("rows encode --schema schema.json row.json", "row.json: wrong value: field v: 40000 is no int16"),
        (
            "rows encode --schema schema.json null.json",
            "null.json: wrong value: field v: null, and not nullable",
        ),
        (
            "rows encode --schema schema.json more.json",
            "more.json: wrong type: there is no field w; there are v",
        ),
        ("rows encode --schema schema.json short.bin", "short.bin: is not JSON"),
        ("rows decode --schema - -", "schema and input cannot both come from stdin"),
        (
            "rows encode --schema schema.json good.json -o none/a.bin",
            "none/a.bin: there is no directory none",
        ),
    ] {
        let found = place.error(words);
        assert!(found.starts_with(&format!("error: {line}")), "{words}\n{found}");
    }
    for words in [
        "rows",
        "rows decode short.bin",
        "rows decode --schema schema.json",
        "rows decode --schema schema.json --format wide short.bin",
        "rows decode --schema schema.json --kind row_with_size short.bin",
    ] {
        assert_eq!(place.call(words.split(' ')).code, Some(2), "{words}");
    }
    for words in
        ["rows --help", "rows decode --help", "rows encode --help", "rows inspect --help", "rows hash --help"]
    {
        let help = place.ok(words);
        assert!(help.contains("demilance rows"), "{help}");
    }
}
