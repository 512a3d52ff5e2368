use serde_json::Value;

use crate::run::{Place, rows, write_parquet};

/// A table of three versions, of 20, 30 and 40 rows.
fn table() -> Place {
    let place = Place::new();
    for (file, first, count) in [("a", 0, 20), ("b", 20, 10), ("c", 30, 10)] {
        write_parquet(&place.path(&format!("{file}.parquet")), &rows(first, count));
        place.ok(&format!(
            "import {file}.parquet t.lance --mode {}",
            if file == "a" { "create" } else { "append" }
        ));
    }
    place
}

fn json(place: &Place, words: &str) -> Value {
    serde_json::from_str(&place.ok(words)).unwrap()
}

#[test]
fn versions_have_a_line_each() {
    let place = table();
    place.ok("tag create t.lance first --version 1");
    let text = place.ok("versions t.lance");
    let lines = text.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].starts_with("version  time "), "{text}");
    assert!(lines[1].starts_with("      1  20") && lines[1].contains("Z  overwrite  "), "{text}");
    assert!(lines[1].ends_with("  first") && lines[3].contains("  append "), "{text}");
    let versions = json(&place, "versions t.lance --json");
    let of = |key: &str| versions.as_array().unwrap().iter().map(|v| v[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("rows"), [20, 30, 40]);
    assert_eq!(of("files"), [1, 2, 3]);
    assert_eq!(of("tags"), [Value::from(vec!["first"]), Value::Array(vec![]), Value::Array(vec![])]);
    let time = versions[1]["time"].as_str().unwrap();
    assert_eq!(place.ok(&format!("count t.lance --as-of {time}")), "30\n");
    assert_eq!(place.ok("count t.lance --as-of 9999-01-01"), "40\n");
    let error = place.error("count t.lance --as-of 2001-01-01T10:00");
    assert!(error.contains("t.lance: version of that time or before not found"), "{error}");
}

#[test]
fn the_life_of_a_tag() {
    let place = table();
    assert_eq!(place.ok("tags t.lance"), "t.lance: no tags\n");
    assert_eq!(place.ok("tag create t.lance v1 --version 2"), "t.lance: tag v1 is version 2\n");
    assert!(place.error("tag create t.lance v1").contains("there is a tag \"v1\" already"));
    assert!(place.error("tag create t.lance a/b").contains("cannot be the name of a tag"));
    assert!(place.error("tag create t.lance v9 --version 9").contains("version 9 not found"));
    for command in ["count", "info", "verify", "cat"] {
        let options = if command == "cat" { "--format json --columns id" } else { "" };
        let text = place.ok(&format!("{command} t.lance --tag v1 {options}"));
        assert!(text.contains("30") || text.lines().count() == 30, "{command}: {text}");
        let error = place.error(&format!("{command} t.lance --tag vl {options}"));
        assert!(error.ends_with("there is no tag \"vl\"; did you mean v1?"), "{error}");
    }
    assert_eq!(place.ok("tag update t.lance v1"), "t.lance: tag v1 is version 3, and was version 2\n");
    assert_eq!(json(&place, "tags t.lance --json")[0]["version"], 3);
    assert!(place.ok("tags t.lance").starts_with("tag  branch  version  created "));
    assert_eq!(place.ok("tag delete t.lance v1"), "t.lance: tag v1 is gone; it was version 3\n");
    assert!(place.error("tag delete t.lance v1").contains("there are none"));
    place.write("t.lance/_refs/tags/odd.json", "{");
    assert!(place.error("tags t.lance").contains("_refs/tags/odd.json: tag is corrupt"));
    // Together they say two things.
    let outcome = place.call(["cat", "t.lance", "--tag", "a", "--version", "1"]);
    assert_eq!(outcome.code, Some(2));
}

#[test]
fn the_life_of_a_branch() {
    let place = table();
    assert_eq!(place.ok("branches t.lance"), "t.lance: no branches\n");
    assert_eq!(
        place.ok("branch create t.lance exp/a --version 1"),
        "t.lance: branch exp/a begins at version 1; no data were copied\n"
    );
    place.ok("import b.parquet t.lance/tree/exp/a --mode append");
    assert_eq!(place.ok("count t.lance --branch exp/a"), "30\n");
    assert_eq!(place.ok("count t.lance"), "40\n");
    assert!(place.ok("verify t.lance --branch exp/a").contains("no problems; 30 rows"));
    assert_eq!(json(&place, "info t.lance --branch exp/a --json")["branch"], "exp/a");
    assert!(
        place
            .ok("info t.lance --branch exp/a")
            .contains(": table, version 2 of branch exp/a (one of 2 versions)")
    );
    // From inside of it, too.
    let mut inside = place.command();
    let outcome =
        inside.current_dir(place.path("t.lance/tree/exp")).args(["branches", "a"]).output().unwrap();
    assert!(String::from_utf8(outcome.stdout).unwrap().contains("exp/a"));
    assert_eq!(json(&place, "versions t.lance --branch exp/a --json")[0]["operation"], "clone");
    assert_eq!(
        place.ok("tag create t.lance best --branch exp/a"),
        "t.lance: tag best is version 2 of branch exp/a\n"
    );
    assert_eq!(place.ok("count t.lance --tag best"), "30\n");
    assert!(place.ok("branches t.lance").lines().nth(1).unwrap().starts_with("exp/a   version 1  20"));
    let error = place.error("branch delete t.lance exp/a");
    assert!(error.ends_with("branch \"exp/a\": it is needed by tag best"), "{error}");
    place.ok("tag delete t.lance best");
    place.ok("branch delete t.lance exp/a");
    assert!(place.error("count t.lance --branch exp/a").contains("there is no branch \"exp/a\""));
    assert!(place.error("branch delete t.lance exp/a --force").contains("there is no branch"));
}

#[test]
fn restored_cloned_and_compared() {
    let place = table();
    let text = place.ok("restore t.lance --version 1");
    assert!(
        text.starts_with("t.lance: version 4 is version 1 again\nwrote no data; does without 2 data files ("),
        "{text}"
    );
    assert!(text.contains(", 20 rows); left untouched 1 file ("), "{text}");
    assert_eq!(place.ok("count t.lance"), "20\n");
    assert_eq!(place.call(["restore", "t.lance"]).code, Some(2));
    assert!(place.error("restore t.lance --version 9").contains("version 9 not found"));

    place.ok("tag create t.lance big --version 3");
    let text = place.ok("clone t.lance u.lance --tag big");
    assert_eq!(text, "u.lance: version 3 of t.lance, 40 rows; no data were copied\n");
    assert_eq!(place.ok("count u.lance"), "40\n");
    assert!(!place.path("u.lance/data").exists());
    assert!(place.error("clone t.lance u.lance").contains("there is a table already"));

    let text = place.ok("diff t.lance 1 big");
    let lines = text.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "t.lance: version 1 to version 3");
    assert_eq!(lines[1], "rows      40, 20 more: +20 -0");
    assert_eq!(lines[2], "fragments 1 kept, 2 added, 0 gone");
    assert!(lines[3].starts_with("+ data/") && lines[3].ends_with(" 10 rows, fragment 1"), "{text}");
    assert!(lines[5].starts_with("1 file (") && lines[5].ends_with(" in both"), "{text}");
    let value = json(&place, "diff t.lance 3 4 --json");
    assert_eq!((&value["kept"]["files"], value["gone"].as_array().unwrap().len()), (&1.into(), 2));
    assert!(place.error("diff t.lance 1 9").contains("version 9 not found"));
    assert!(place.error("diff t.lance 1 none").contains("there is no tag \"none\""));
    assert!(place.ok("migrate t.lance").contains("nothing to do"));
    let file = std::fs::read_dir(place.path("t.lance/data")).unwrap().next().unwrap().unwrap();
    let file = format!("t.lance/data/{}", file.file_name().display());
    for words in
        ["versions", "tags", "tag create FILE x", "restore --version 1", "count --tag a", "verify --branch b"]
    {
        let (command, rest) = words.split_once(' ').unwrap_or((words, ""));
        let words = match rest.contains("FILE") {
            true => format!("{command} {}", rest.replace("FILE", &file)),
            false => format!("{command} {file} {rest}"),
        };
        let error = place.error(&words);
        assert!(error.contains("versions"), "{words}: {error}");
    }
}
