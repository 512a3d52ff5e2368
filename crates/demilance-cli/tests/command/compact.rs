use serde_json::Value;

use crate::run::Place;

/// A table of three versions with fragments of 400, 400 and 200 rows each.
fn table() -> Place {
    let place = Place::new();
    for (part, mode) in ["create", "append", "append"].into_iter().enumerate() {
        let lines = (0..1000).map(|i| format!("{},row {i}\n", part * 1000 + i)).collect::<String>();
        place.write("a.csv", &format!("id,name\n{lines}"));
        place.ok(&format!("import a.csv t.lance --mode {mode} --max-rows-per-fragment 400"));
    }
    place
}

fn files(place: &Place) -> usize {
    std::fs::read_dir(place.path("t.lance/data")).unwrap().count()
}

#[test]
fn a_dry_run_says_what_would_be_done() {
    let place = table();
    let said = place.ok("compact t.lance --dry-run --target-rows 1000 --plan-out plan.json");
    let lines = said.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "t.lance: would compact 9 of 9 fragments into 3, from version 3");
    assert!(lines[1].starts_with("  fragments 0 to 2: 3 files, "), "{said}");
    assert!(lines[1].ends_with(", 1,000 rows: 1 fragment of 1,000 rows"), "{said}");
    assert_eq!(lines[4], "left untouched nothing");
    let plan: Value = serde_json::from_slice(&std::fs::read(place.path("plan.json")).unwrap()).unwrap();
    assert_eq!((plan["version"].as_u64(), plan["tasks"].as_array().unwrap().len()), (Some(3), 3));
    assert_eq!((files(&place), place.ok("count t.lance").as_str()), (9, "3000\n"));
}

#[test]
fn what_is_compacted_is_said_and_cleaned_up() {
    let place = table();
    let said = place.ok("compact t.lance --target-rows 500 --checksums --message tidy");
    let lines = said.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "t.lance: compacted 9 fragments into 5 fragments of 3,000 rows in all, version 5");
    assert!(lines[1].starts_with("wrote 5 data files ("), "{said}");
    assert!(lines[1].contains("; does without 9 data files ("), "{said}");
    assert!(place.ok("verify t.lance --version 5").contains("no problems"));
    assert_eq!(place.ok("cat t.lance --limit 3 --format csv"), "id,name\n0,row 0\n1,row 1\n2,row 2\n");
    let again = place.ok("compact t.lance --target-rows 500");
    assert_eq!(again, "t.lance: nothing to compact in 5 fragments, version 5\n");

    place.ok("tag create t.lance first --version 1");
    let refused = place.error("cleanup t.lance --keep 1");
    assert!(refused.contains("nothing was removed: version 1 (first)"), "{refused}");
    let said = place.ok("cleanup t.lance --keep 1 --keep-tagged --dry-run");
    assert!(said.starts_with("t.lance: would remove 3 versions and 9 files ("), "{said}");
    assert_eq!(said.matches("version 4 is the last that needs it").count(), 7, "{said}");
    assert!(said.contains("version 1 stays because of tag first\n"), "{said}");
    assert_eq!(files(&place), 14);
    let said = place.ok("cleanup t.lance --keep 1 --keep-tagged");
    assert!(said.starts_with("t.lance: removed 3 versions and 9 files ("), "{said}");
    assert!(said.contains("\n  data         6 files ("), "{said}");
    assert_eq!((files(&place), place.ok("count t.lance --tag first").as_str()), (8, "1000\n"));
    let said = place.ok("cleanup t.lance --older-than 0s --keep-tagged");
    assert!(said.starts_with("t.lance: removed nothing\nversion 1 stays"), "{said}");
}

#[test]
fn young_files_of_no_version_are_left() {
    let place = table();
    place.write("t.lance/data/gone.lance", "12345");
    let said = place.ok("cleanup t.lance");
    assert!(said.contains("; of these 1 file (5 B) are of no version, but younger than 7 days"), "{said}");
    let said = place.ok("cleanup t.lance --delete-unverified --dry-run");
    assert!(said.contains("- data/gone.lance  5 B  no version needs it\n"), "{said}");
    assert!(place.ok("cleanup t.lance --delete-unverified").contains("removed 0 versions and 1 file (5 B)"));
    assert!(!place.path("t.lance/data/gone.lance").exists());
}

#[test]
fn wrong_options_are_refused() {
    let place = table();
    for words in ["compact t.lance --target-rows 0", "compact t.lance --threshold=-1"] {
        assert!(place.error(words).starts_with("error: "), "{words}");
    }
    assert!(place.error("compact missing.lance").contains("missing.lance"));
    assert!(place.error("cleanup a.csv").contains("a.csv"));
    for words in
        ["compact t.lance --target-bytes much", "cleanup t.lance --keep 0", "cleanup t.lance --older-than 7"]
    {
        assert_eq!(place.call(words.split_whitespace()).code, Some(2), "{words}");
    }
}
